"""Find the directories that a host scans.

They are upwards from the working directory, below the user's home, named by variables, or nested below the project.
Only `.git` and the names of packages are read here.
"""

from __future__ import annotations

import os

from prowess._internal.files import UnreadableError, expand_home
from prowess._internal.frozen import Frozen
from prowess.hosts import Host, Root

from ._filesystem import Filesystem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["ScanRoot", "git_root", "find_scan_roots"]

_MAX_NESTED_FOLDERS = 2000
"""Folders below the project that are searched for nested skills folders."""


class ScanRoot(Frozen, kw_only=False):
    """A root of a host, on this machine."""

    path: str
    scope: str
    root: Root
    namespace: str | None = None
    nested: str | None = None
    """The folder of a nested skills folder, relative to the project."""
    project_folder: str | None = None
    """The project folder it belongs to, if any."""
    level: int = 0
    """How many folders above the working directory it belongs to."""
    user_named: bool = False
    """Whether the user named it, so that it is reported if it is missing."""


def git_root(directory: str, marker: str = "exists", filesystem: Filesystem | None = None) -> str | None:
    """Return the nearest directory at or above this one with a `.git` folder or a worktree's `.git` file.

    Args:
        directory: an absolute path.
        marker: `exists`; `head` if a `.git` folder needs a HEAD; or `valid` if the client asks git.
        filesystem: what was read so far.
    """
    filesystem = filesystem or Filesystem()
    while True:
        path = os.path.join(directory, ".git")
        kind = filesystem.kind(path)
        if kind and (
            marker == "exists"
            or (
                _is_repository(path, kind, filesystem)
                if marker == "valid"
                else kind != "d" or filesystem.kind(f"{path}/HEAD") != ""
            )
        ):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def _is_repository(path: str, kind: str, filesystem: Filesystem) -> bool:
    """Return whether `.git` is a repository's folder, or a worktree's file that points to one."""
    if kind == "f":
        try:
            text = filesystem.data(path, 4096).decode("utf-8", "replace")
        except UnreadableError:
            return False
        target = text.removeprefix("gitdir:").strip()
        path = os.path.join(os.path.dirname(path), target) if text.startswith("gitdir:") and target else ""
        return bool(path) and filesystem.kind(os.path.join(path, "HEAD")) == "f"
    return all(filesystem.kind(os.path.join(path, name)) for name in ("HEAD", "objects", "refs"))


def _ancestors(cwd: str, top: str | None) -> list[str]:
    """Return the folders from `cwd` up to `top`, nearest first; up to the file system's root if `top` is `None`."""
    levels = [cwd]
    while levels[-1] != top:
        parent = os.path.dirname(levels[-1])
        if parent == levels[-1]:
            break
        levels.append(parent)
    return levels


def find_scan_roots(
    host: Host,
    cwd: str,
    home: str,
    *,
    skill_dirs: Iterable[str] = (),
    env: Mapping[str, str],
    use_home_variables: bool = True,
    filesystem: Filesystem | None = None,
) -> tuple[ScanRoot, ...]:
    """Return the directories a host scans, highest precedence first, whether or not they exist.

    Args:
        host: whose roots.
        cwd: the working directory, without links.
        home: the user's home.
        skill_dirs: directories the user named.
        env: the environment.
        use_home_variables: whether variables that move a client's folders (`CODEX_HOME`, ...) count.
        filesystem: what was read so far; needed for nested folders and packages.
    """
    filesystem = filesystem or Filesystem()
    top = git_root(cwd, host.git_marker, filesystem)
    home_variables = env if use_home_variables else {}
    result: list[ScanRoot] = []
    for block in _root_blocks(host):
        marked = git_root(cwd, block[0].git_marker, filesystem) if block[0].git_marker else top
        folders = _project_folders(block[0], cwd, marked)
        if block[0].home_stops and home in folders:
            folders = folders[: folders.index(home)]
        levels = list(enumerate(folders))
        pairs = [(up, level, root) for up, level in levels for root in block]
        if not host.levels_first:
            pairs = [(up, level, root) for root in block for up, level in levels]
        for up, level, root in pairs:
            if not (root.not_home and level == home):
                expanded = _expand_root(root, level, home, skill_dirs, home_variables, env, filesystem)
                result += [scan_root.with_changes(level=up) for scan_root in expanded] if up else expanded
        for root in block:
            if root.nested != "no":
                result += _nested_roots(root, top or cwd if root.walk == "project" else cwd, filesystem)
    return tuple(result)


def _root_blocks(host: Host) -> Iterator[list[Root]]:
    """Yield the host's roots. Adjacent ones that walk upwards in the same way come together, level by level."""
    roots = list(host.roots)
    if not any(root.path == "@skill-dir" for root in roots):
        pattern = roots[0] if roots else Root(path="", scope="extra")
        roots.append(pattern.with_changes(path="@skill-dir", scope="extra", walk="none", nested="no"))
    index = 0
    while index < len(roots):
        block = [roots[index]]
        index += 1
        while index < len(roots) and block[0].walk != "none" and _shares_walk(block[0], roots[index]):
            block.append(roots[index])
            index += 1
        yield block


def _shares_walk(first: Root, other: Root) -> bool:
    same = all(getattr(first, name) == getattr(other, name) for name in ("scope", "walk", "without_git", "git_marker"))
    return same and not (other.path.startswith(("~", "/", "$", "@")))


def _project_folders(root: Root, cwd: str, top: str | None) -> list[str]:
    if root.walk == "project":
        return [top or cwd]
    if root.walk == "filesystem-root" or (root.walk == "git-root" and not top and root.without_git != "none"):
        return _ancestors(cwd, None)
    return _ancestors(cwd, top) if root.walk == "git-root" and top else [cwd]


def _expand_root(
    root: Root,
    level: str,
    home: str,
    skill_dirs: Iterable[str],
    home_variables: Mapping[str, str],
    env: Mapping[str, str],
    filesystem: Filesystem,
) -> Iterator[ScanRoot]:
    """Yield the directories of one root."""
    path = root.path
    if path == "@skill-dir":
        own = root if root.own != "no" else root.with_changes(own="yes")
        for directory in skill_dirs:
            yield ScanRoot(
                os.path.abspath(os.path.join(level, os.path.expanduser(directory))), root.scope, own, user_named=True
            )
        return
    if path.startswith("$"):
        variable, _, fallback = path[1:].partition("|")
        variable, slash, rest = variable.partition("/")
        if not slash and not fallback:
            for directory in filter(None, env.get(variable, "").split(root.separator)):
                yield ScanRoot(os.path.abspath(os.path.join(level, directory)), root.scope, root, user_named=True)
            return
        value = home_variables.get(variable)
        path = os.path.join(value, rest) if value else fallback
    path = expand_home(path, home)
    project_folder = None if os.path.isabs(path) else level
    path = os.path.join(level, path)
    if "*" not in path:
        yield ScanRoot(os.path.normpath(path), root.scope, root, project_folder=project_folder)
        return
    before, _, after = path.partition("*")
    try:
        names = [name for name, letter in filesystem.listing(before) if letter in "dl"]
    except OSError:
        return
    for name in names:
        if not name.startswith("."):
            yield ScanRoot(
                os.path.normpath(before + name + after), root.scope, root, namespace=name, project_folder=project_folder
            )


def _nested_roots(root: Root, project: str, filesystem: Filesystem) -> Iterator[ScanRoot]:
    """Yield the skills folders below the project, except the project's own."""
    first = root.path.split("/", 1)[0]
    waiting, seen = [project], 0
    while waiting and seen < _MAX_NESTED_FOLDERS:
        directory = waiting.pop(0)
        seen += 1
        try:
            entries = filesystem.listing(directory)
        except OSError:
            continue
        if directory != project and root.nested == "active" and any(name == "SKILL.md" for name, _ in entries):
            continue  # a folder inside a skill belongs to the skill
        for name, letter in entries:
            if name == first and directory != project:
                path = os.path.join(directory, root.path)
                if filesystem.kind(path) == "d":
                    yield ScanRoot(
                        path, root.scope, root, nested=os.path.relpath(directory, project), project_folder=directory
                    )
            elif letter == "d" and not name.startswith(".") and name not in root.skip:
                waiting.append(os.path.join(directory, name))
