"""Adapt Prowess to agent frameworks, one module for each.

Front door: the module named after your framework, for example `prowess.adapters.langchain`. A framework is imported
with its module; if it is missing, the error names the extra to install. An adapter knows sessions, catalogs and
isolated homes, but no role, no command line and no other framework.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._extras import missing_extra

__all__ = ["missing_extra"]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(__name__, {"_extras": ("missing_extra",)})
