"""Work out the command that puts a skill where an agent looks, and what has to be done by hand before it.

A command is a promise, so everything because of which `mount` would refuse, or the agent would not show the copy, or
another agent would lose a skill, becomes a step that the user reads first.
"""

from __future__ import annotations

import os
import shlex
from functools import cache

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, normalize_name, quoted
from prowess.catalog import REACHABLE
from prowess.filesystem import git_root
from prowess.find import find_scan_roots
from prowess.hosts import load_host, skills_folder

from ._copies import name_of_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prowess.catalog import Catalog, Entry
    from prowess.filesystem import Filesystem, Question


class MountTarget(Frozen):
    """Where a mounted copy of a skill would be."""

    source: str
    """The folder of the skill; if that is a link, its target."""
    name: str
    """The name of the copy: the skill's own, if it is valid."""
    base: str
    """The home, or the folder of the project."""
    root: str
    """The agent's skills folder, relative to `base`."""
    is_linked_under_other_name: bool = False
    """Whether the folder is a link whose target has another name; `mount` compares that with the skill's own."""
    is_replaced: bool = False
    """Whether an older copy of the same skill is there, which `mount` replaces."""

    @property
    def folder(self) -> str:
        """The skills folder that gets the copy."""
        return os.path.join(self.base, self.root)

    @property
    def path(self) -> str:
        """The SKILL.md of the copy."""
        return os.path.join(self.folder, self.name, SKILL_FILE)

    def steps(self, display: Callable[[str], str], filesystem: Filesystem) -> list[str]:
        """Return what `mount` needs done by hand first, as sentences.

        Args:
            display: how a path is shown.
            filesystem: what was read so far.
        """
        steps = []
        if not is_typable(self.source):
            steps.append(f"rename {quoted(self.source)}, whose path has invisible characters")
        if filesystem.link_kind(os.path.join(self.source, SKILL_FILE)) == "l":
            steps.append(f"replace {neutral(display(os.path.join(self.source, SKILL_FILE)))}, a link, with the file")
        return [*steps, *self.place_steps(display, filesystem)]

    def place_steps(self, display: Callable[[str], str], filesystem: Filesystem) -> list[str]:
        """Return what is to be done where the copy would be, as sentences; the arguments are those of `steps`."""
        folder = self.base
        for part in self.root.split("/"):
            folder = os.path.join(folder, part)
            if (kind := filesystem.link_kind(folder)) not in ("", "d"):
                described = "a link, through which nothing is mounted," if kind == "l" else "not a folder,"
                return [f"replace {neutral(display(folder))}, {described} with a folder"]
        copy = os.path.dirname(self.path)
        if self.is_replaced:
            return []
        if filesystem.link_kind(self.path):  # another cure may name that skill
            return [f"give this skill or {neutral(display(copy))}, which is in its place, another name"]
        return [f"move {neutral(display(copy))} away"] if filesystem.link_kind(copy) else []


def mount_target(path: str, own_name: str | None, mount_folder: tuple[str, str], filesystem: Filesystem) -> MountTarget:
    """Return where a copy of a skill would be, for an agent that searches folders.

    Args:
        path: of its SKILL.md.
        own_name: the name in its front matter.
        mount_folder: of the agent, as `mount_folder` returns it.
        filesystem: what was read so far.
    """
    folder = os.path.dirname(path)
    source = filesystem.real(folder) if filesystem.link_kind(folder) == "l" else folder
    base, root = mount_folder
    return MountTarget(
        source=source,
        name=name_of_copy(own_name, os.path.basename(folder)),
        base=base,
        root=root,
        is_linked_under_other_name=os.path.basename(source) != os.path.basename(folder),
    )


def mount_folder(host: str, *, cwd: str, home: str, user: bool) -> tuple[str, str]:
    """Return the home or folder of the project that `mount` uses, and the skills folder relative to it.

    Args:
        host: the agent.
        cwd: the working directory, absolute.
        home: the user's home, absolute.
        user: whether the skill belongs to the user, not to the project.
    """
    root = None if user else skills_folder(host, "project")
    if root is None:
        return home, skills_folder(host, "user") or ""
    rules = load_host(host)
    walks = {each.walk for each in rules.roots if each.path == root}
    return cwd if walks == {"none"} else git_root(cwd, rules.git_marker) or cwd, root


class TakenNames:
    """The names of skills in the folders that agents search, with the copies that were proposed so far."""

    def __init__(self, catalogs: Mapping[str, Catalog], question: Question, filesystem: Filesystem) -> None:
        self.catalogs, self.question, self.filesystem = catalogs, question, filesystem
        self._roots: dict[str, list[str]] = {}
        self._entries: dict[str, dict[str, Entry]] = {}
        self._proposed: dict[str, dict[str, str]] = {}
        self._real_folder = cache(filesystem.real)

    def conflict(self, target: MountTarget, host: str, is_copy: Callable[[str], bool]) -> tuple[str, str | None] | None:
        """Return the path of a skill that a copy would hide, or be hidden by, and the agent that would lose it.

        The agent is `None` if both would have the same folder.

        Args:
            target: the copy.
            host: the agent that it is for; in its folders no other skill may have the name.
            is_copy: whether the skill at a path is the same as the one to copy.
        """
        taken = self.propose(target.name, target.folder, os.path.join(target.source, SKILL_FILE), is_copy)
        if taken is not None:
            return taken
        for name, catalog in self.catalogs.items():
            if catalog.host.collision == "keep-all" and name != host:
                continue
            entry = self._named(name).get(normalize_name(target.name))
            if entry is None or is_copy(entry.real):
                continue
            if name == host or self.comes_first(name, target.folder, entry.root):
                return entry.path, name
        return None

    def propose(
        self, name: str, folder: str, source: str, is_copy: Callable[[str], bool]
    ) -> tuple[str, str | None] | None:
        """Take a name for a skill after its cure, unless the cure of another one has it.

        Args:
            name: the name.
            folder: that will contain the folder of the skill.
            source: the path of its SKILL.md now.
            is_copy: whether the skill at a path is the same.

        Returns:
            The path of the other, and the agent that would have both; `None` in place of the agent if both would have
            the same folder.
        """
        proposed = self._proposed.setdefault(normalize_name(name), {})
        for other_folder, other in proposed.items():
            if other == source or is_copy(other):
                continue
            if folder == other_folder:
                return other, None
            for host, catalog in self.catalogs.items():
                if catalog.host.collision != "keep-all" and self._searches(host, folder, other_folder):
                    return other, host
        proposed.setdefault(folder, source)
        return None

    def path_of(self, host: str, name: str) -> str | None:
        """Return the path of the skill that an agent has under a name."""
        entry = self.entry_of(host, name)
        return None if entry is None else entry.path

    def entry_of(self, host: str, name: str) -> Entry | None:
        """Return the skill that an agent has under a name."""
        return self._named(host).get(normalize_name(name))

    def _named(self, host: str) -> dict[str, Entry]:
        if host not in self._entries:
            entries = self._entries[host] = {}
            for entry in self.catalogs[host].skills:
                if entry.state in REACHABLE:
                    entries.setdefault(normalize_name(entry.name), entry)
        return self._entries[host]

    def comes_first(self, host: str, folder: str, other: str) -> bool:
        """Return whether a skill in one folder may hide a skill of the same name in another one."""
        roots = self._roots_of(host)
        folder, other = self._real_folder(folder), self._real_folder(other)
        if folder not in roots:
            return False
        is_ordered = self.catalogs[host].host.collision == "first" and other in roots
        return not is_ordered or roots.index(folder) <= roots.index(other)

    def _searches(self, host: str, *folders: str) -> bool:
        """Return whether an agent searches all of some folders."""
        return set(map(self._real_folder, folders)) <= {*self._roots_of(host)}

    def _roots_of(self, host: str) -> list[str]:
        if host not in self._roots:
            found = find_scan_roots(self.catalogs[host].host, self.question, filesystem=self.filesystem)
            self._roots[host] = [self.filesystem.real(root.path) for root in found]
        return self._roots[host]


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def fix_command(paths: Iterable[str], cwd: str) -> str:
    """Return the command that fixes the text of skills.

    Args:
        paths: of their SKILL.md files.
        cwd: the working directory, absolute.
    """
    return f"prowess check --fix {' '.join(_shell_path(path, cwd) for path in paths)}{cwd_option(cwd)}"


def mount_command(skills: Iterable[str], host: str, *, cwd: str, home: str, user: bool, refusal: str = "") -> str:
    """Return the command that puts skills where an agent looks.

    Args:
        skills: arguments of `mount`, as `mount_argument` returns them.
        host: the agent.
        cwd: the working directory, absolute.
        home: the user's home, absolute.
        user: whether they belong to the user, not to the project.
        refusal: why `mount` refuses them as they are; empty if it does not.
    """
    scope = "--project" if not user and skills_folder(host, "project") else f"--to {_shell_home(home)}"
    more, reason = (" --no-validate", f"  # {neutral(refusal)}") if refusal else ("", "")
    return f"prowess mount {' '.join(skills)} {scope} --host {host}{more}{cwd_option(cwd)}{reason}"


def mount_argument(folder: str, cwd: str, name: str | None = None) -> str:
    """Return a folder as an argument of `mount`.

    Args:
        folder: that of a skill, or one that contains skills.
        cwd: the working directory, absolute.
        name: the name of the copy; that of the folder by default.
    """
    path = _shell_path(folder, cwd)
    return path if name is None or name == os.path.basename(folder) else f"{name}={path}"


def is_typable(path: str) -> bool:
    """Return whether a path can be shown as it is, so that a command that names it can be pasted."""
    return neutral(path) == path


def _shell_path(path: str, cwd: str) -> str:
    """Return a path as an argument of a command, relative to the working directory if it is below it."""
    if os.path.basename(path).lower() == SKILL_FILE.lower():  # the folder stays where it is if the file is renamed
        path = os.path.dirname(path)
    if path == cwd:
        return "."
    if path.startswith(cwd + os.sep):
        path = path[len(cwd) + 1 :]
        path = path if os.sep in path and not path.startswith(("-", "~")) else f".{os.sep}{path}"
    return shlex.quote(neutral(path))


def _shell_home(home: str) -> str:
    return "~" if home == os.path.expanduser("~") else shlex.quote(neutral(home))


def home_option(home: str) -> str:
    """Return the option for the home of a user, after a blank; empty for that of this user."""
    return f" --home {shlex.quote(neutral(home))}" if home != os.path.expanduser("~") else ""


def cwd_option(cwd: str) -> str:
    """Return the option for a working directory, after a blank; empty for that of this process."""
    return f" --cwd {shlex.quote(neutral(cwd))}" if cwd != _current_folder() else ""


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
