"""Run the tests of skills, and test agents without a real model.

Front door: `run_tests` (paths in, `TestReport` out), `load_suite` (the cases of one skill) and `ScriptedModel` (a model
that follows a script). `plugin` lets pytest run the same cases. This package may not know roles or agents; it runs
commands only through `prowess.sandbox`. `adapter_suite` returns the claims that an adapter of any framework must pass.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._adapter_suite import (
        Adapter as Adapter,
        AdapterClaim as AdapterClaim,
        Conversation as Conversation,
        adapter_suite as adapter_suite,
    )
    from ._cases import Case as Case, Suite as Suite, load_suite as load_suite, parse_expected as parse_expected
    from ._expect import Failure as Failure, decode_output as decode_output, failures as failures
    from ._junit import junit_xml as junit_xml
    from ._runner import (
        STATUSES as STATUSES,
        CaseResult as CaseResult,
        SkillResult as SkillResult,
        TestReport as TestReport,
        find_suites as find_suites,
        run_suites as run_suites,
        run_tests as run_tests,
    )
    from ._scripted_model import Call as Call, ScriptedModel as ScriptedModel, Step as Step
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
