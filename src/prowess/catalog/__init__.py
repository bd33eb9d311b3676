"""Find the skills that a host sees from a directory, and say which win and why.

Start with `discover`, which returns a `Catalog` of `Entry` values; `render` writes the block for a model, and `check`
returns findings. This package knows no command, no conversation and no model.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._catalog import Catalog
    from ._check import Report, check, check_file, entry_findings, evaluate_path, find_skill_files, report
    from ._discover import discover, new_filesystem
    from ._entry import REACHABLE, Entry, State, with_digest
    from ._filesystem import Filesystem
    from ._filesystem_provider import FilesystemSkillProvider
    from ._prompt import FORMATS, LEVELS, estimate_tokens, render
    from ._providers import SkillProvider
    from ._roots import ScanRoot, find_scan_roots, git_root
    from ._search import MAX_BODY_CHARS, MAX_QUERY_WORDS, Hit, Index, SkillReader

__all__ = [
    "Catalog",
    "Entry",
    "FORMATS",
    "Filesystem",
    "FilesystemSkillProvider",
    "Hit",
    "Index",
    "LEVELS",
    "MAX_BODY_CHARS",
    "MAX_QUERY_WORDS",
    "REACHABLE",
    "Report",
    "ScanRoot",
    "SkillProvider",
    "SkillReader",
    "State",
    "check",
    "check_file",
    "discover",
    "entry_findings",
    "estimate_tokens",
    "evaluate_path",
    "find_scan_roots",
    "find_skill_files",
    "git_root",
    "new_filesystem",
    "render",
    "report",
    "with_digest",
]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_catalog": ("Catalog",),
            "_check": (
                "Report",
                "check",
                "check_file",
                "entry_findings",
                "evaluate_path",
                "find_skill_files",
                "report",
            ),
            "_discover": (
                "discover",
                "new_filesystem",
            ),
            "_entry": (
                "Entry",
                "REACHABLE",
                "State",
                "with_digest",
            ),
            "_filesystem": ("Filesystem",),
            "_filesystem_provider": ("FilesystemSkillProvider",),
            "_prompt": (
                "FORMATS",
                "LEVELS",
                "estimate_tokens",
                "render",
            ),
            "_providers": ("SkillProvider",),
            "_roots": (
                "ScanRoot",
                "find_scan_roots",
                "git_root",
            ),
            "_search": (
                "Hit",
                "Index",
                "MAX_BODY_CHARS",
                "MAX_QUERY_WORDS",
                "SkillReader",
            ),
        },
    )
