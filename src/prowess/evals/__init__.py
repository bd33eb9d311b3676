"""Say whether a skill helps: read the cases of its eval, find what they cannot show, and rank the skill among others.

Front door: `read_evals` (a folder in, `Evals` out), `find_weaknesses` and `measure_power` (level 0), `rank_skill`
(level 1), `run_pairs` (an agent and the two arms in, runs out), and `judge_runs`, the verdicts on runs.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._agents import Agent as Agent, Command as Command
    from ._arms import Arms as Arms, neighbours_of as neighbours_of
    from ._cases import EvalCase as EvalCase, Evals as Evals, Fixture as Fixture, Grader as Grader
    from ._chosen import Chosen as Chosen, judge_choices as judge_choices
    from ._clients import CLIENTS as CLIENTS, Client as Client
    from ._first_file import first_evals as first_evals
    from ._foreign import Foreign as Foreign, read_foreign as read_foreign
    from ._found import (
        Found as Found,
        Rank as Rank,
        rank_skill as rank_skill,
        rivals_of as rivals_of,
        shipped_crowd as shipped_crowd,
    )
    from ._graders import usable_graders as usable_graders
    from ._merge import Merged as Merged, write_record as write_record
    from ._model import Model as Model
    from ._outcome import (
        ConstantGrade as ConstantGrade,
        Measure as Measure,
        Outcome as Outcome,
        judge_runs as judge_runs,
    )
    from ._place import Ran as Ran
    from ._plan import DEFAULT_RUNS as DEFAULT_RUNS, Plan as Plan, make_plan as make_plan
    from ._read import read_evals as read_evals
    from ._record import Record as Record, new_record as new_record, old_record as old_record
    from ._recorded import (
        Recorded as Recorded,
        is_record as is_record,
        read_local as read_local,
        read_plan_file as read_plan_file,
        read_record as read_record,
        read_results as read_results,
    )
    from ._regrade import Regraded as Regraded, regrade as regrade
    from ._runs import Run as Run, run_pairs as run_pairs
    from ._sound import (
        Power as Power,
        check_evals as check_evals,
        find_weaknesses as find_weaknesses,
        measure_power as measure_power,
    )
    from ._statistics import (
        Difference as Difference,
        Verdict as Verdict,
        judge_cases as judge_cases,
        judge_measures as judge_measures,
        judge_pairs as judge_pairs,
        least_cases as least_cases,
    )
    from ._steps import with_trajectory as with_trajectory
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
