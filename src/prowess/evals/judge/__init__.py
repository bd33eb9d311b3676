"""Grade what code cannot: sentences and comparisons by a model, and the evaluators of `pydantic-evals`."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._asking import ModelAsk as ModelAsk
    from ._evaluators import Evaluators as Evaluators
    from ._judge import Judge as Judge, family_of as family_of, work_of as work_of
    from ._judging import Judging as Judging
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
