"""Role + model -> answers

A role is an agent in one YAML file: its model, its skills, its tools. What it is made of is read and joined without any
framework; `build` makes an agent of Pydantic AI of it, and what speaks to people or programs lies above that.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._explained import explain_assembly, format_explanation
    from ._threads import wait_for_threads

__all__ = ["explain_assembly", "format_explanation", "wait_for_threads"]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {"_explained": ("explain_assembly", "format_explanation"), "_threads": ("wait_for_threads",)},
    )
