"""Run the tests of skills, and test agents without a real model.

Front door: `run_tests` (paths in, `TestReport` out), `load_suite` (the cases of one skill) and `ScriptedModel` (a model
that follows a script). `plugin` lets pytest run the same cases. This package may not know roles or agents; it runs
commands only through `prowess.sandbox`.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._cases import Case, Suite, load_suite
    from ._expect import Failure
    from ._junit import junit_xml
    from ._results import STATUSES, CaseResult, SkillResult, TestReport
    from ._runner import find_suites, run_suites, run_tests
    from ._scripted_model import Call, ScriptedModel, Step

__all__ = [
    "Call",
    "Case",
    "CaseResult",
    "Failure",
    "STATUSES",
    "ScriptedModel",
    "SkillResult",
    "Step",
    "Suite",
    "TestReport",
    "find_suites",
    "junit_xml",
    "load_suite",
    "run_suites",
    "run_tests",
]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_cases": (
                "Case",
                "Suite",
                "load_suite",
            ),
            "_expect": ("Failure",),
            "_junit": ("junit_xml",),
            "_results": (
                "CaseResult",
                "STATUSES",
                "SkillResult",
                "TestReport",
            ),
            "_runner": (
                "find_suites",
                "run_suites",
                "run_tests",
            ),
            "_scripted_model": (
                "Call",
                "ScriptedModel",
                "Step",
            ),
        },
    )
