"""Case -> Result

Deterministic tests of skills, each in a contained process and a fresh copy of its skill; and a model that follows a
script, for tests of agents. `plugin` makes the same cases items of pytest.
"""

from __future__ import annotations

from .case import Case, Suite, load_suite
from .expect import Failure
from .runner import CaseResult, SkillResult, TestReport, run_tests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .script import Call, ScriptedModel, Step

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


def __getattr__(name: str) -> object:
    # Who runs cases needs no model.
    if name in ("Call", "ScriptedModel", "Step"):
        from . import script

        return getattr(script, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
