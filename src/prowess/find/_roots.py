"""Find the directories that a host scans.

They are upwards from the working directory, below the user's home, named by variables, or nested below the project.
Only the names of packages are read here.
"""

from __future__ import annotations

import os

from prowess._internal.files import expand_home
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral
from prowess._internal.variable_paths import moved_path, usual_path, variable_path
from prowess.clients.plugins import CommandPlace
from prowess.clients.settings import PathPatterns, is_switched_on
from prowess.filesystem import Filesystem, ancestors, git_root, marked_root
from prowess.hosts import Host, Root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prowess.clients.plugins import InstalledPlugin
    from prowess.clients.settings import Settings
    from prowess.filesystem import Question

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
    patterns: tuple[PathPatterns, ...] = ()
    """What switches its skills off and on by their paths."""
    bounds: tuple[str, ...] = ()
    """Folders that links inside must not leave; empty for the bounds of the root's rules."""
    plugin: str = ""
    """The plugin that it belongs to, if any."""
    label: str = ""
    """What it is called if it is one file that is a skill; empty for a folder."""
    description: str = ""
    """What is shown instead of the description of that file; empty for that."""
    off: str = ""
    """Why the client does not read it although it is there, such as a plugin that is switched off."""
    list_only: str = ""
    """Why only the client's own list has its skills, not its model; empty if both have."""
    variables: Mapping[str, str] = EMPTY
    """What `${NAME}` is in the names and descriptions of its skills."""
    user_named: bool = False
    """Whether the user named it, so that it is reported if it is missing."""

    @property
    def is_late(self) -> bool:
        """Whether the client reads it only when it works in its folder."""
        return self.nested is not None and self.root.nested == "deferred"


def find_scan_roots(
    host: Host,
    question: Question,
    *,
    settings: Settings | None = None,
    plugins: Mapping[str, Iterable[InstalledPlugin]] = EMPTY,
    filesystem: Filesystem | None = None,
) -> tuple[ScanRoot, ...]:
    """Return the directories a host scans, highest precedence first, whether or not they exist.

    Args:
        host: whose roots.
        question: where its client is started.
        settings: what the host's settings and arguments say, which may name further directories.
        plugins: the installed plugins, by the name of their table.
        filesystem: what was read so far; needed for nested folders and packages.
    """
    filesystem = filesystem or Filesystem()
    cwd, home, variables = question.cwd, question.home, question.variables
    markers = settings.root_markers if settings is not None else None
    top = git_root(cwd, host.git_marker, filesystem) if markers is None else marked_root(cwd, markers, filesystem)
    result: list[ScanRoot] = []
    only_named = settings.only_named if settings is not None else frozenset()
    unread = settings.unread_scopes if settings is not None else frozenset()
    for block in _root_blocks(host):
        if block[0].scope in unread:
            continue
        if block[0].scope in only_named and not block[0].argument:
            continue
        if block[0].setting or block[0].argument:
            result += _named_roots(block[0], cwd, top or cwd, home, settings, filesystem)
            continue
        if block[0].plugins:
            result += _plugin_roots(block[0], plugins.get(block[0].plugins, ()))
            continue
        own_marker = block[0].git_marker if markers is None else ""
        marked = git_root(cwd, own_marker, filesystem) if own_marker else top
        folders = _project_folders(block[0], cwd, marked)
        if block[0].home_stops and home in folders:
            folders = folders[: folders.index(home)]
        further = _further_folders(host, block[0], cwd, folders, filesystem) if markers is None else []
        levels = list(enumerate([*folders, *further]))
        pairs = [(up, level, root) for up, level in levels for root in block]
        if not host.levels_first:
            pairs = [(up, level, root) for root in block for up, level in levels]
        for up, level, root in pairs:
            if not (root.not_home and level == home) and not _is_moved(root, home, variables):
                expanded = _expand_root(root, level, question, filesystem)
                reason = _BEYOND_ROOT if up >= len(folders) else ""
                result += [item.with_changes(level=up, list_only=reason) for item in expanded] if up else expanded
        for root in block:
            if root.nested != "no":
                result += _nested_roots(root, top or cwd if root.walk == "project" else cwd, filesystem)
    # What is not read, or only later, must not hide the same folder where it is.
    switched = _with_switches(result, settings, question.env)
    untrusted = settings is not None and settings.trust == "untrusted" and host.trust_hides
    return tuple(
        sorted(switched, key=lambda item: (bool(item.off) or (untrusted and item.scope == "project"), item.is_late))
    )


_BEYOND_ROOT = "it is above the git root at which the agent stops, so only its own list has it"


def _further_folders(host: Host, root: Root, cwd: str, folders: list[str], filesystem: Filesystem) -> list[str]:
    """Return the project folders above others in which only the client's own list looks."""
    if not host.list_git_marker or root.walk != "git-root" or root.git_marker:
        return []
    found = _project_folders(root, cwd, git_root(cwd, host.list_git_marker, filesystem))
    return found[len(folders) :] if found[: len(folders)] == folders else []


def _is_moved(root: Root, home: str, variables: Mapping[str, str]) -> bool:
    """Return whether a variable names another folder than the one with which the client reads the root."""
    folder = moved_path(root.unless_moved, variables)
    return folder is not None and os.path.normpath(folder) != expand_home(usual_path(root.unless_moved), home)


def _root_blocks(host: Host) -> Iterator[list[Root]]:
    """Yield the host's roots. Adjacent ones that walk upwards in the same way come together, level by level."""
    roots = list(host.roots)
    if not any(root.path == "@skill-dir" for root in roots):
        pattern = roots[0] if roots else Root(path="", scope="extra")
        roots.append(
            pattern.with_changes(
                path="@skill-dir", scope="extra", walk="none", nested="no", setting="", argument="", plugins=""
            )
        )
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
    apart = other.setting or other.argument or other.plugins or other.path.startswith(("~", "/", "$", "@"))
    return same and not apart


def _project_folders(root: Root, cwd: str, top: str | None) -> list[str]:
    if root.walk == "project":
        return [top or cwd]
    if root.walk == "filesystem-root" or (root.walk == "git-root" and not top and root.without_git != "none"):
        return ancestors(cwd, None)
    return ancestors(cwd, top) if root.walk == "git-root" and top else [cwd]


def _expand_root(root: Root, level: str, question: Question, filesystem: Filesystem) -> Iterator[ScanRoot]:
    """Yield the directories of one root."""
    path = root.path
    if path == "@skill-dir":
        own = root if root.own != "no" else root.with_changes(own="yes")
        for directory in question.skill_dirs:
            yield ScanRoot(
                os.path.abspath(os.path.join(level, os.path.expanduser(directory))), root.scope, own, user_named=True
            )
        return
    if path.startswith("$") and not set(path) & {"/", "|"}:
        named = question.env.get(path[1:], "").split(root.separator)
        for directory in filter(None, map(str.strip, named) if root.strips else named):
            yield ScanRoot(os.path.abspath(os.path.join(level, directory)), root.scope, root, user_named=True)
        return
    path = variable_path(path, question.variables, question.home)
    if not path:
        return
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


def _named_roots(
    root: Root, cwd: str, project: str, home: str, settings: Settings | None, filesystem: Filesystem
) -> Iterator[ScanRoot]:
    """Yield the directories that settings or arguments of the client name for a root."""
    if settings is None:
        return
    for named in settings.folders.get(root.named_by, ()):
        expands = root.tilde and (root.tilde_alone or named.folder != "~")
        directory = _plain_path(named.folder, home) if root.trims else named.folder
        directory = directory.strip() if root.strips else directory
        if root.strips and not directory:
            continue
        directory = expand_home(directory, home) if expands else directory
        if not os.path.isabs(directory):
            if root.relative_to == "none" and named.file:
                continue
            bases = {"project": project, "file": os.path.dirname(named.file), "home": home}
            base = bases.get(root.relative_to, cwd) if named.file or root.relative_to == "project" else cwd
            directory = os.path.join(base, directory)
        if root.in_project and not _is_in_project(named.folder, directory, project, filesystem):
            continue
        yield ScanRoot(os.path.normpath(os.path.join(directory, root.path)), root.scope, root)


def _is_in_project(written: str, directory: str, project: str, filesystem: Filesystem) -> bool:
    """Return whether a directory is written as a relative one, and is in the project, links resolved."""
    inside = os.path.join(project, "")
    whole = os.path.normpath(directory) + os.sep
    plain = not written.startswith(("/", "~"))
    return plain and whole.startswith(inside) and f"{filesystem.real(whole)}/".startswith(inside)


def _plain_path(text: str, home: str) -> str:
    """Return a path without white space around it, from a `file://` URL, or the home for `~`."""
    path = text.strip()
    if path == "~":
        return home
    if path.startswith("file:///"):
        from urllib.parse import unquote

        path = unquote(path.removeprefix("file://"))
    return path


def _plugin_roots(root: Root, plugins: Iterable[InstalledPlugin]) -> Iterator[ScanRoot]:
    """Yield the folders of skills of plugins."""
    for plugin in plugins:
        rules = root.with_changes(depth=0, own="yes") if plugin.own_only else root
        places = plugin.commands if root.files else map(CommandPlace, plugin.skill_folders)
        for place in places:
            yield ScanRoot(
                place.path,
                root.scope,
                rules,
                label=place.label,
                description=place.description,
                namespace=plugin.namespace,
                patterns=plugin.patterns,
                bounds=plugin.bounds,
                plugin=plugin.name,
                off=plugin.off,
                list_only=plugin.list_only,
                variables=plugin.variables,
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


# ── what switches them off ───────────────────────────────────────────────────────────────────────────────────────────


def _with_switches(
    scan_roots: Iterable[ScanRoot], settings: Settings | None, env: Mapping[str, str]
) -> Iterator[ScanRoot]:
    """Yield roots with what switches them, or some of their skills, off; `settings` are `None` if none count."""
    for scan_root in scan_roots:
        result = _with_patterns(scan_root, settings) if scan_root.root.switched_by else scan_root
        result = _switched_off(result, env) if scan_root.root.unless else result
        if settings is not None:
            result = _as_closed(_as_read(result, settings), settings.closed)
            if not result.off and (file := settings.scopes_off.get(result.scope)):
                off = f"the agent does not read skills of the scope `{result.scope}`, says {neutral(file)}"
                result = result.with_changes(off=off)
        yield result


def _with_patterns(scan_root: ScanRoot, settings: Settings | None) -> ScanRoot:
    """Return a root with the patterns of its settings."""
    root = scan_root.root
    found = settings and settings.path_patterns.get(" ".join((root.switched_by, *root.switching_files)))
    if not found:
        return scan_root
    file, patterns = found
    form, base = ("select", os.path.dirname(file)) if root.setting else ("switch", os.path.dirname(scan_root.path))
    return scan_root.with_changes(patterns=(PathPatterns(base=base, patterns=patterns, file=file, form=form),))


def _switched_off(scan_root: ScanRoot, env: Mapping[str, str]) -> ScanRoot:
    """Return a root, off if a variable says that the client does not read it."""
    variable = next((name for name in scan_root.root.unless if is_switched_on(name, env)), None)
    return scan_root.with_changes(off=f"the variable `{variable.partition('=')[0]}` is set") if variable else scan_root


def _as_closed(scan_root: ScanRoot, closed: Mapping[str, str]) -> ScanRoot:
    """Return a root, off if it is one of those that the settings close."""
    closable = scan_root.root.closable
    file = closed.get("closed", "") or (closed.get("partly", "") if closable == "partly" else "")
    if closable == "no" or not file or scan_root.off:
        return scan_root
    return scan_root.with_changes(off=f"managed settings keep the agent from reading it, says {neutral(file)}")


def _as_read(scan_root: ScanRoot, settings: Settings) -> ScanRoot:
    """Return a root as the settings leave it: those in some folders are not read. Paths are compared as written."""
    for folder, file in settings.unread_folders:
        inside = (scan_root.path + os.sep).startswith(os.path.join(folder, ""))
        if inside and not scan_root.off and not scan_root.root.files:
            return scan_root.with_changes(off=f"the agent reads no skills in {neutral(folder)}, says {neutral(file)}")
    return scan_root
