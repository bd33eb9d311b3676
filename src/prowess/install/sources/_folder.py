"""Fetch skills from a folder of this machine, or from a `.skill` or `.zip` file.

A skill is copied into the store's temporary folder while it is read for its digest, each file opened from the
descriptor of its folder and never through a link.
"""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.fs import FOLDER_FLAGS, open_fd, remove_tree
from prowess._internal.inside import has_link
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.checks import find_skill_files
from prowess.errors import InstallError, SkillNotFoundError
from prowess.find import find_repository_skills
from prowess.lock import copy_tree
from prowess.skill import load

from ._fetched import MAX_SKILLS, Fetched, FetchedSkill, resolve_names
from .archive_file import is_archive_file, unpack_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.findings import Finding

    from ._fetched import Wanted


_MAX_BYTES = 1 << 30
"""Of all skills that are copied, as of a repository."""


def fetch(wanted: Wanted) -> Fetched:
    """Copy the skills of a folder or an archive, each without its repository.

    Raises:
        InstallError: the folder cannot be read.
    """
    top = wanted.source.url
    if is_archive_file(top):
        top = unpack_file(top, wanted.opened.new_folder())
    if not os.path.isdir(top):
        problem = "is not a folder" if os.path.lexists(top) else "does not exist"
        raise InstallError(f"the folder {quoted(top, PATH_LIMIT)} {problem}", hint="check the path")
    found, findings = ([*_known_skills(top, wanted.paths)], []) if wanted.paths else find_skills(top)
    names = resolve_names(wanted.names, found)
    if {name for name, _ in found}.issuperset(names) and names:  # or the error names what there is
        found = [(name, path) for name, path in found if name in names]
    plugins = _plugins(top) if wanted.is_choice else {}
    if len(found) > MAX_SKILLS:
        message = f"the folder {quoted(top, PATH_LIMIT)} has more than {MAX_SKILLS:,} skills"
        raise InstallError(message, hint="name the folder of those that you want")
    target, bytes_left = wanted.opened.new_folder(), _MAX_BYTES
    skills: list[FetchedSkill] = []
    with open_fd(target, FOLDER_FLAGS) as fd:
        for number, (name, path) in enumerate(found):
            wanted.tell(f"copying {number + 1:,} of {len(found):,}")
            plugin = plugins.get(os.path.join(top, path, SKILL_FILE), "")
            skill = FetchedSkill(name=name, path=path, folder=os.path.join(target, str(number)), plugin=plugin)
            try:
                tree = copy_tree(os.path.join(top, path), fd, str(number), skipped=(".git",))
                skills.append(skill.with_changes(tree=tree))
            except InstallError as error:
                skills.append(skill.with_changes(problem=error))
                remove_tree(skill.folder)
            else:
                bytes_left -= tree.size
            if bytes_left < 0:
                message = f"the skills in {quoted(top, PATH_LIMIT)} have more than {_MAX_BYTES >> 20:,} MiB"
                raise InstallError(message, hint="name the skills that you want")
    return Fetched(skills=tuple(skills), revision=None, findings=tuple(findings))


def _known_skills(top: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and path of the skills at known places, without a search: a lock may name any folder, as `/`."""
    for path in dict.fromkeys(paths):
        file = os.path.join(top, path, SKILL_FILE)
        if not os.path.isabs(path) and ".." not in path.split("/") and not has_link(top, path) and os.path.isfile(file):
            yield load(file).name or os.path.basename(os.path.abspath(os.path.dirname(file))), path


def _plugins(top: str) -> dict[str, str]:
    """Return the plugin of each SKILL.md below a folder that a manifest declares."""
    found = find_repository_skills(top, home_too=True)
    return {
        os.path.join(top, os.path.relpath(skill.path, found.top)): skill.plugin
        for skill in found.skills
        if skill.plugin
    }


def find_skills(top: str) -> tuple[list[tuple[str, str]], list[Finding]]:
    """Find the skills in and below a folder, but not inside of another skill.

    Returns:
        The name of each skill and the path of its folder relative to `top`, with `/`, empty for `top`; sorted by path.
        The name is that of the front matter, or that of the folder without one. And the problems of finding skills.
    """
    try:
        files, findings = find_skill_files(top)
    except SkillNotFoundError as error:
        raise InstallError(str(error), hint=error.hint) from None
    found: list[tuple[str, str]] = []
    skills: set[str] = set()
    for file in files:
        folder, name = os.path.split(file)
        path = "" if folder == top else os.path.relpath(folder, top).replace(os.sep, "/")
        parts = path.split("/")
        above = {"", *("/".join(parts[:count]) for count in range(1, len(parts)))} - {path}
        if name == SKILL_FILE and above.isdisjoint(skills):
            skills.add(path)
            found.append((load(file).name or os.path.basename(os.path.abspath(folder)), path))
    return found, [item for item in findings if item.code != "file-missing"]


def skill_in(folder: str, path: str) -> str:
    """Return the folder of the only skill in what was unpacked.

    Args:
        folder: with what an archive contains.
        path: of the archive, for messages.

    Raises:
        InstallError: it has no skill, or several.
    """
    found, _ = find_skills(folder)
    if len(found) != 1:
        names = ", ".join(quoted(name) for name, _ in found[:10])
        problem = f"contains {len(found):,} skills: {names}" if found else f"contains no {SKILL_FILE}"
        raise InstallError(f"{quoted(path, PATH_LIMIT)} {problem}", hint="name an archive of one skill")
    return os.path.join(folder, *found[0][1].split("/")) if found[0][1] else folder
