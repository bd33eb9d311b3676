"""Check skills: findings, and which of them a project accepts."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._accepted import (
        Accepted as Accepted,
        Baseline as Baseline,
        ReportedFinding as ReportedFinding,
        accept_findings as accept_findings,
        read_baseline as read_baseline,
    )
    from ._changes import (
        Changes as Changes,
        Invisible as Invisible,
        SkillChange as SkillChange,
        find_changes as find_changes,
    )
    from ._check import Report as Report, absolute_paths as absolute_paths, check as check, report as report
    from ._check_file import (
        check_file as check_file,
        entry_findings as entry_findings,
        evaluate_path as evaluate_path,
        find_skill_files as find_skill_files,
    )
    from ._examples import (
        ExampleDescription as ExampleDescription,
        example_descriptions as example_descriptions,
        similar_descriptions as similar_descriptions,
    )
    from ._ignore_rules import (
        IgnoreRule as IgnoreRule,
        ProjectRules as ProjectRules,
        option_rules as option_rules,
        project_rules as project_rules,
        read_code as read_code,
        selected_codes as selected_codes,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
