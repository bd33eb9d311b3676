"""Decide which folders of a repository are skills, and which of them are wanted.

Every folder with a `SKILL.md` is one, wherever it is, but in `.git` and `node_modules`. A skill inside the folder of
another one is a part of that, so a repository with a `SKILL.md` at its top is one skill; it can be named to be
installed alone.
"""

from __future__ import annotations

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, did_you_mean, quoted
from prowess.errors import InstallError, SkillNotFoundError
from prowess.findings import finding
from prowess.install._tree import LINK

from ._objects import SUBMODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from prowess.findings import Finding

    from ._objects import GitFiles

__all__ = ["MAX_SKILLS", "choose_skills", "files_of", "find_skill_folders", "report_skipped"]

MAX_SKILLS = 5_000
"""Skills of one source."""
_NOT_SEARCHED = frozenset((".git", "node_modules"))


class FoundSkill(Frozen):
    """A folder with a SKILL.md."""

    name: str
    folder: str
    """Its path; empty for the folder that was searched."""
    inside: str | None
    """The folder of the skill that it is a part of."""


def find_skill_folders(found: GitFiles) -> dict[str, str]:
    """Return each folder with a SKILL.md, and the object of that file.

    Raises:
        InstallError: there are too many.
    """
    folders = {}
    for path, (mode, oid) in found.files.items():
        folder, slash, name = path.rpartition("/")
        is_file = name == SKILL_FILE and mode not in (LINK, SUBMODULE)
        if is_file and (not slash or _NOT_SEARCHED.isdisjoint(folder.split("/"))):
            folders[folder] = oid
    if len(folders) > MAX_SKILLS:
        message = f"the source has more than {MAX_SKILLS:,} skills"
        raise InstallError(message, hint="name the folder of those that you want: `SOURCE:FOLDER`")
    return folders


def report_skipped(found: GitFiles, top: str) -> Iterator[Finding]:
    """Yield findings about what is not searched: submodules, links and folders that are too deep.

    Args:
        found: what was searched.
        top: its path in the repository.
    """
    before = f"{top}/" if top else ""
    for path, (mode, _) in found.files.items():
        name = path.rpartition("/")[2]
        if mode == SUBMODULE:
            message = "a submodule is not followed: it is another repository"
            yield finding("folder-link", message, path=before + path, hint="install its skills from that repository")
        elif name == SKILL_FILE and mode == LINK:
            yield finding("file-is-link", "SKILL.md is a link, which is not followed", path=before + path)
        elif name != SKILL_FILE and name.lower() == SKILL_FILE.lower():
            message = f"the file is called {quoted(name)}, not `{SKILL_FILE}`"
            yield finding("file-name-case", message, path=before + path, hint=f"rename it to `{SKILL_FILE}`")
    for path in found.unread:
        yield finding("folder-too-deep", "a folder is too deep to be searched", path=before + path)


def choose_skills(
    names: Mapping[str, str], found: GitFiles, wanted: Collection[str]
) -> tuple[dict[str, str], list[Finding]]:
    """Choose the skills to fetch.

    Args:
        names: the name of the skill in each folder.
        found: the files.
        wanted: names of skills; if empty, all are wanted.

    Returns:
        The folder of each name; and findings about copies, and skills in others.

    Raises:
        InstallError: a wanted skill is missing, or different skills have one name.
    """
    findings: list[Finding] = []
    by_name: dict[str, list[str]] = {}
    for folder in sorted(names, key=_preference):
        outer = next((above for above in _folders_above(folder) if above in names), None)
        if names[folder] in wanted or (not wanted and outer is None):
            by_name.setdefault(names[folder], []).append(folder)
        elif not wanted:
            message = f"the skill is a part of the skill {quoted(names[outer or ''])}"
            hint = "name it to install it alone"
            findings.append(finding("folder-skipped", message, path=folder, hint=hint))
    for name in wanted:
        if name not in by_name:
            hint = did_you_mean(name, names.values(), "`prowess add SOURCE` without a name shows all")
            raise SkillNotFoundError(f"the source has no skill {quoted(name)}", hint=hint)
    chosen = {}
    for name, folders in by_name.items():
        first, *others = folders
        for other in others:
            if found.folders[other] != found.folders[first]:
                shown = f"{quoted(first or '.', PATH_LIMIT)} and {quoted(other, PATH_LIMIT)}"
                hint = "name the folder of the one that you want: `SOURCE:FOLDER`"
                raise InstallError(f"two skills have the name {quoted(name)}: {shown}", hint=hint)
            message = f"the skill is an exact copy of {quoted(first or '.', PATH_LIMIT)}"
            findings.append(finding("skill-copy", message, path=other))
        chosen[name] = first
    return chosen, findings


def files_of(folders: Sequence[str], found: GitFiles) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the files of some folders without submodules, each by its path relative to its folder.

    Raises:
        InstallError: one has too many levels.
    """
    files: dict[str, dict[str, tuple[str, str]]] = {folder: {} for folder in folders}
    for path, entry in found.files.items():
        for folder in _folders_above(path):
            if folder in files and entry[0] != SUBMODULE:
                files[folder][path[len(folder) + 1 if folder else 0 :]] = entry
    for path in found.unread:
        for folder in _folders_above(path):
            if folder in files:
                message = f"the skill in {quoted(folder or '.', PATH_LIMIT)} has too many levels of folders"
                raise InstallError(message, hint="ask its author to use fewer")
    return files


def _folders_above(path: str) -> Iterator[str]:
    """Yield the folders that contain a path, the nearest first; the last is empty."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _preference(folder: str) -> tuple[bool, int, str]:
    """Sort the folders of equal skills: those of an agent, such as `.claude/skills`, are usually the copies."""
    parts = folder.split("/")
    return any(part.startswith(".") for part in parts), len(parts), folder
