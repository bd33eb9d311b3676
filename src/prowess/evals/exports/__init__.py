"""Write what an evaluation showed for other tools: values in, bytes out."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._inspect import inspect_task as inspect_task
    from ._results import WORDS as WORDS, by_case as by_case, grader_name as grader_name, result_of as result_of
    from ._summaries import badge as badge, junit as junit, markdown as markdown
    from ._workspace import workspace_files as workspace_files
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
