"""Find out what a skill can do: the facts that a person must know, and what it mentions and declares."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._capabilities import (
        Capabilities as Capabilities,
        find_capabilities as find_capabilities,
        from_value as from_value,
    )
    from ._difference import Difference as Difference, difference as difference, joined as joined
    from ._facts import OWASP as OWASP, Fact as Fact, fact_findings as fact_findings, find_facts as find_facts
    from ._files import read_files as read_files
    from ._secrets import find_secret as find_secret, remove_secrets as remove_secrets
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
