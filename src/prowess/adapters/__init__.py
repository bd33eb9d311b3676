"""Adapt Prowess to agent frameworks, one module for each.

Front door: the module named after your framework, for example `prowess.adapters.langchain`. A framework is imported
with its module; if it is missing, the error names the extra to install. An adapter knows sessions, catalogs and
isolated homes, but no role, no command line and no other framework.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._extras import missing_extra as missing_extra
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
