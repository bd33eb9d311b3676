"""Case -> Result

Deterministic tests of skills, each in a contained process and a fresh copy of its skill; and a model that follows a
script, for tests of agents. `plugin` makes the same cases items of pytest.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._cases import Case, Suite, load_suite
    from ._expect import Failure
    from ._runner import CaseResult, SkillResult, TestReport, run_tests
    from ._scripted_model import Call, ScriptedModel, Step

__all__ = [
    "Call",
    "Case",
    "CaseResult",
    "Failure",
    "ScriptedModel",
    "SkillResult",
    "Step",
    "Suite",
    "TestReport",
    "load_suite",
    "run_tests",
]

_NAMES_BY_MODULE = {
    "case": ("Case", "Suite", "load_suite"),
    "expect": ("Failure",),
    "runner": ("CaseResult", "SkillResult", "TestReport", "run_tests"),
    "script": ("Call", "ScriptedModel", "Step"),
}


def __getattr__(name: str) -> object:
    """Load a name on first use: pytest loads this package for its plugin wherever Prowess is installed."""
    from importlib import import_module

    for home, names in _NAMES_BY_MODULE.items():
        if name in names:
            value: object = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
