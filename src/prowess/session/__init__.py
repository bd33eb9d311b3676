"""Catalog + conversation -> activations

A session belongs to one conversation, not to an agent. It keeps a record of what was activated, not the text: the text
is rendered again when it is needed, so it need not be stored in any memory and outlives every compaction.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._activation import Activation, escape_tags
    from ._mentions import Mention, find_mentions
    from ._resources import read_text, resource_folder
    from ._session import ActivationRecord, Grants, Session, Tool
    from ._trust import Trust, TrustedSkill, needs_trust, trusted_folder

__all__ = [
    "Activation",
    "ActivationRecord",
    "Grants",
    "Mention",
    "Session",
    "Tool",
    "Trust",
    "TrustedSkill",
    "escape_tags",
    "find_mentions",
    "needs_trust",
    "read_text",
    "resource_folder",
    "trusted_folder",
]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_activation": (
                "Activation",
                "escape_tags",
            ),
            "_mentions": (
                "Mention",
                "find_mentions",
            ),
            "_resources": (
                "read_text",
                "resource_folder",
            ),
            "_session": (
                "ActivationRecord",
                "Grants",
                "Session",
                "Tool",
            ),
            "_trust": (
                "Trust",
                "TrustedSkill",
                "needs_trust",
                "trusted_folder",
            ),
        },
    )
