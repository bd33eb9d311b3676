"""Case -> Result

Deterministic tests of skills, each in a contained process and a fresh copy of its skill; and a model that follows a
script, for tests of agents. `plugin` makes the same cases items of pytest.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._cases import Case, Suite, load_suite
    from ._expect import Failure
    from ._junit import junit_xml
    from ._runner import STATUSES, CaseResult, SkillResult, TestReport, find_suites, run_suites, run_tests
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
            "_runner": (
                "CaseResult",
                "STATUSES",
                "SkillResult",
                "TestReport",
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
