"""Render the catalog as the text that a model gets, under a budget."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._prompt import (
        FORMATS as FORMATS,
        LEVELS as LEVELS,
        Prompt as Prompt,
        estimate_tokens as estimate_tokens,
        render as render,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
