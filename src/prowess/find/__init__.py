"""Find where skills may be, and which are there."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._git_index import index_paths as index_paths, tracked_skill_paths as tracked_skill_paths
    from ._gitignore import GitIgnore as GitIgnore, IgnoreFile as IgnoreFile, ignore_files_above as ignore_files_above
    from ._repository import (
        KINDS as KINDS,
        RepositorySkill as RepositorySkill,
        RepositorySkills as RepositorySkills,
        SkippedFolders as SkippedFolders,
        find_repository_skills as find_repository_skills,
        with_linked_skills as with_linked_skills,
    )
    from ._roots import ScanRoot as ScanRoot, find_scan_roots as find_scan_roots
    from ._scan import FoundSkill as FoundSkill, scan as scan
    from ._skipped import wrong_case_finding as wrong_case_finding
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
