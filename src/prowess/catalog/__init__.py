"""Find the skills that a host sees from a directory, and say which win and why.

Start with `discover`, which returns a `Catalog` of `Entry` values; `render` writes the block for a model, and `check`
returns findings. This package knows no command, no conversation and no model.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._accepted import (
        Accepted as Accepted,
        ReportedFinding as ReportedFinding,
        accept_findings as accept_findings,
    )
    from ._baseline import Baseline as Baseline, read_baseline as read_baseline
    from ._catalog import (
        Catalog as Catalog,
        entries_named as entries_named,
        entry_at as entry_at,
        mapped_readers as mapped_readers,
        skills_in_text as skills_in_text,
    )
    from ._check import Report as Report, check as check, report as report
    from ._check_file import (
        check_file as check_file,
        entry_findings as entry_findings,
        evaluate_path as evaluate_path,
        find_skill_files as find_skill_files,
    )
    from ._compare import (
        ABSENT as ABSENT,
        ComparedSkill as ComparedSkill,
        Comparison as Comparison,
        View as View,
        compare as compare,
        compare_catalogs as compare_catalogs,
    )
    from ._count_losses import count_losses as count_losses
    from ._discover import catalog_output as catalog_output, discover as discover
    from ._entry import (
        AWAITS_TRUST as AWAITS_TRUST,
        REACHABLE as REACHABLE,
        Entry as Entry,
        State as State,
        with_digest as with_digest,
    )
    from ._filesystem import Filesystem as Filesystem
    from ._filesystem_provider import FilesystemSkillProvider as FilesystemSkillProvider
    from ._fingerprints import (
        FINGERPRINT_BYTES as FINGERPRINT_BYTES,
        fingerprint as fingerprint,
        fingerprint_paths as fingerprint_paths,
        newest_time as newest_time,
    )
    from ._ignore_rules import IgnoreRule as IgnoreRule, option_rules as option_rules, project_rules as project_rules
    from ._kept_table import KeptTable as KeptTable
    from ._live import LiveCatalog as LiveCatalog, live_catalog as live_catalog
    from ._loss_groups import Cure as Cure, LossGroup as LossGroup, group_losses as group_losses
    from ._losses import Loss as Loss
    from ._many import (
        ManyReaders as ManyReaders,
        ManySkills as ManySkills,
        SkillTable as SkillTable,
    )
    from ._mount_cures import (
        mount_argument as mount_argument,
        mount_command as mount_command,
        mount_folder as mount_folder,
    )
    from ._mount_rules import mount_blockers as mount_blockers
    from ._places import KINDS as KINDS
    from ._project import git_root as git_root
    from ._prompt import (
        FORMATS as FORMATS,
        LEVELS as LEVELS,
        Prompt as Prompt,
        estimate_tokens as estimate_tokens,
        render as render,
    )
    from ._provided_skills import join_catalogs as join_catalogs
    from ._providers import FilesProvider as FilesProvider, SkillProvider as SkillProvider
    from ._recorded_output import recorded_output as recorded_output
    from ._repository import (
        RepositorySkill as RepositorySkill,
        RepositorySkills as RepositorySkills,
        SkippedFolders as SkippedFolders,
        find_repository_skills as find_repository_skills,
        with_linked_skills as with_linked_skills,
    )
    from ._roots import ScanRoot as ScanRoot, find_scan_roots as find_scan_roots
    from ._search import (
        MAX_BODY_CHARS as MAX_BODY_CHARS,
        MAX_QUERY_WORDS as MAX_QUERY_WORDS,
        Hit as Hit,
        Index as Index,
        SkillReader as SkillReader,
        searched_terms as searched_terms,
    )
    from ._search_semantic import Ranker as Ranker, installed_ranker as installed_ranker
    from ._settings_layers import settings_layers as settings_layers
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "_accepted": ("Accepted", "ReportedFinding", "accept_findings"),
            "_baseline": ("Baseline", "read_baseline"),
            "_catalog": ("Catalog", "entries_named", "entry_at", "mapped_readers", "skills_in_text"),
            "_check": ("Report", "check", "report"),
            "_check_file": ("check_file", "entry_findings", "evaluate_path", "find_skill_files"),
            "_compare": (
                "ABSENT",
                "ComparedSkill",
                "Comparison",
                "View",
                "compare",
                "compare_catalogs",
            ),
            "_count_losses": ("count_losses",),
            "_discover": ("catalog_output", "discover"),
            "_entry": ("AWAITS_TRUST", "Entry", "REACHABLE", "State", "with_digest"),
            "_filesystem": ("Filesystem",),
            "_filesystem_provider": ("FilesystemSkillProvider",),
            "_fingerprints": ("FINGERPRINT_BYTES", "fingerprint", "fingerprint_paths", "newest_time"),
            "_ignore_rules": ("IgnoreRule", "option_rules", "project_rules"),
            "_kept_table": ("KeptTable",),
            "_live": ("LiveCatalog", "live_catalog"),
            "_loss_groups": ("Cure", "LossGroup", "group_losses"),
            "_losses": ("Loss",),
            "_many": ("ManyReaders", "ManySkills", "SkillTable"),
            "_mount_cures": ("mount_argument", "mount_command", "mount_folder"),
            "_mount_rules": ("mount_blockers",),
            "_places": ("KINDS",),
            "_prompt": ("FORMATS", "LEVELS", "Prompt", "estimate_tokens", "render"),
            "_provided_skills": ("join_catalogs",),
            "_providers": ("FilesProvider", "SkillProvider"),
            "_repository": (
                "RepositorySkill",
                "RepositorySkills",
                "SkippedFolders",
                "find_repository_skills",
                "with_linked_skills",
            ),
            "_project": ("git_root",),
            "_recorded_output": ("recorded_output",),
            "_roots": ("ScanRoot", "find_scan_roots"),
            "_settings_layers": ("settings_layers",),
            "_search": ("Hit", "Index", "MAX_BODY_CHARS", "MAX_QUERY_WORDS", "SkillReader", "searched_terms"),
            "_search_semantic": ("Ranker", "installed_ranker"),
        },
    )
