"""Find the directories that a host scans.

They are upwards from the working directory, below the user's home, named by variables, or nested below the project.
Only the names of packages are read here.
"""

from __future__ import annotations

import os

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.variable_paths import variable_path
from prowess.clients import of_client
from prowess.clients.plugins import CommandPlace
from prowess.clients.settings import Settings, named_directory
from prowess.filesystem import Filesystem, ancestors, git_root, marked_root
from prowess.hosts import Host, Root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prowess.clients.pi import PathPatterns
    from prowess.clients.plugins import InstalledPlugin
    from prowess.filesystem import Question

_MAX_NESTED_FOLDERS = 2000
"""Folders below the project that are searched for nested skills folders."""


_NO_SETTINGS = Settings()


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
    settings: Settings = _NO_SETTINGS,
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
    cwd, home = question.cwd, question.home
    named_roots, reads_root = of_client(host.name, named_directory), of_client(host.name, is_read)
    markers = settings.root_markers
    # What another user has put above the working directory is skipped when it is found there, with a finding.
    if markers is None:
        top = git_root(cwd, host.git_marker, filesystem, of_any_user=True)
    else:
        top = marked_root(cwd, markers, filesystem, of_any_user=True)
    result: list[ScanRoot] = []
    for block in _root_blocks(host):
        is_left_out = block[0].scope in settings.only_named and not block[0].argument
        if is_left_out or block[0].scope in settings.unread_scopes:
            continue
        if block[0].setting or block[0].argument:
            for named in settings.folders.get(block[0].named_by, ()):
                directory = named_roots(block[0], named, question, top or cwd, filesystem)
                if directory is not None:
                    path = os.path.normpath(os.path.join(directory, block[0].path))
                    result.append(ScanRoot(path, block[0].scope, block[0]))
            continue
        if block[0].plugins:
            result += _plugin_roots(block[0], plugins.get(block[0].plugins, ()))
            continue
        marker = of_client(host.name, git_marker_of)(host, block[0]) if markers is None else host.git_marker
        marked = top if marker == host.git_marker else git_root(cwd, marker, filesystem, of_any_user=True)
        folders = of_client(host.name, folders_read)(block[0], _project_folders(block[0], cwd, marked), question)
        further = of_client(host.name, folders_listed)(block[0], folders, question, filesystem)
        levels = list(enumerate([*folders, *further]))
        for up, level, root in of_client(host.name, places_of)(levels, block):
            if not (root.not_home and level == home) and reads_root(root, question):
                expanded = _expand_root(host, root, level, question, filesystem)
                reason = _BEYOND_ROOT if up >= len(folders) else ""
                result += [item.with_changes(level=up, list_only=reason) for item in expanded] if up else expanded
        for root in block:
            if root.nested != "no":
                result += _nested_roots(root, top or cwd if root.walk == "project" else cwd, filesystem)
    # What is not read, or only later, must not hide the same folder where it is.
    switched = _with_switches(host, result, settings, question)
    untrusted = settings.trust == "untrusted" and host.trust_hides
    return tuple(
        sorted(switched, key=lambda item: (bool(item.off) or (untrusted and item.scope == "project"), item.is_late))
    )


_BEYOND_ROOT = "it is above the git root at which the agent stops, so only its own list has it"


# ── what a client may do in its own way ──────────────────────────────────────────────────────────────────────────────


def is_read(root: Root, question: Question) -> bool:  # noqa: ARG001
    """Return whether the client reads a root at all."""
    return True


def git_marker_of(host: Host, root: Root) -> str:  # noqa: ARG001
    """Return what makes a git root for a root, as `git_marker` of its host."""
    return host.git_marker


def folders_read(root: Root, folders: list[str], question: Question) -> list[str]:  # noqa: ARG001
    """Return the project folders that the client reads, out of those from the working directory upwards."""
    return folders


def folders_listed(root: Root, folders: list[str], question: Question, filesystem: Filesystem) -> list[str]:  # noqa: ARG001
    """Return the folders above the project folders of a root in which only the client's own list looks."""
    return []


def places_of(levels: list[tuple[int, str]], roots: list[Root]) -> list[tuple[int, str, Root]]:
    """Return where roots that walk upwards may be, highest precedence first: all of a nearer folder come first.

    Args:
        levels: the project folders, each with how far up it is.
        roots: those of the host.
    """
    return [(up, level, root) for up, level in levels for root in roots]


def split_paths(text: str) -> list[str]:
    """Return the directories in a variable with a list of paths."""
    return text.split(os.pathsep)


def path_patterns(root: Root, path: str, settings: Settings) -> tuple[PathPatterns, ...]:  # noqa: ARG001
    """Return what switches skills of a root off and on by their paths.

    Args:
        root: the root.
        path: where it is.
        settings: of the client's user.
    """
    return ()


def reason_unread(root: Root, path: str, env: Mapping[str, str], unread: Mapping[str, str]) -> str:  # noqa: ARG001
    """Return why the client does not read a root, of which its findings tell; empty if it does.

    Args:
        root: the root.
        path: where it is.
        env: the environment.
        unread: what the settings say, as in `Settings`.
    """
    return ""


# ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _root_blocks(host: Host) -> Iterator[list[Root]]:
    """Yield the host's roots. Adjacent ones that walk upwards in the same way come together, level by level."""
    roots = list(host.roots) or [Root(path="@skill-dir", scope="extra")]
    index = 0
    while index < len(roots):
        block = [roots[index]]
        index += 1
        while index < len(roots) and block[0].walk != "none" and _shares_walk(block[0], roots[index]):
            block.append(roots[index])
            index += 1
        yield block


def _shares_walk(first: Root, other: Root) -> bool:
    same = all(getattr(first, name) == getattr(other, name) for name in ("scope", "walk", "without_git"))
    apart = other.setting or other.argument or other.plugins or other.path.startswith(("~", "/", "$", "@"))
    return same and not apart


def _project_folders(root: Root, cwd: str, top: str | None) -> list[str]:
    if root.walk == "project":
        return [top or cwd]
    if root.walk == "filesystem-root" or (root.walk == "git-root" and not top and root.without_git != "none"):
        return ancestors(cwd, None)
    return ancestors(cwd, top) if root.walk == "git-root" and top else [cwd]


def _expand_root(host: Host, root: Root, level: str, question: Question, filesystem: Filesystem) -> Iterator[ScanRoot]:
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
        named = of_client(host.name, split_paths)(question.env.get(path[1:], ""))
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
    for name, letter in filesystem.listing_or_none(before) or ():
        if letter in "dl" and not name.startswith("."):
            yield ScanRoot(
                os.path.normpath(before + name + after), root.scope, root, namespace=name, project_folder=project_folder
            )


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
        entries = filesystem.listing_or_none(directory) or ()
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
    host: Host, scan_roots: Iterable[ScanRoot], settings: Settings, question: Question
) -> Iterator[ScanRoot]:
    """Yield roots with what switches them, or some of their skills, off."""
    patterns_of, reason_of = of_client(host.name, path_patterns), of_client(host.name, reason_unread)
    for scan_root in scan_roots:
        patterns = patterns_of(scan_root.root, scan_root.path, settings)
        off = scan_root.off or reason_of(scan_root.root, scan_root.path, question.env, settings.unread)
        if patterns or off != scan_root.off:
            scan_root = scan_root.with_changes(off=off, patterns=patterns or scan_root.patterns)
        yield scan_root
