"""Find every SKILL.md of a repository, whether an agent sees it or not."""

from __future__ import annotations

import os
from functools import cache

from prowess._internal.files import SKILL_FILE, UnreadableError
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.clients.plugins import MANIFEST_FILES, PluginReader
from prowess.errors import SkillNotFoundError
from prowess.filesystem import MAX_FOLDERS, Filesystem, git_root, walk_folders
from prowess.hosts import host_names, raw_value

from ._git_index import tracked_skill_paths
from ._gitignore import GitIgnore, IgnoreFile, ignore_files_above
from ._skipped import wrong_case_finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from prowess.clients.plugins import Plugin
    from prowess.findings import Finding

_WANTED_FILES = frozenset((SKILL_FILE.lower(), ".gitignore", ".git", "pyvenv.cfg", *MANIFEST_FILES))
_EXAMPLES = 3
_PROGRESS_STEP = 200
"""Folders between two calls of `progress`."""


class RepositorySkill(Frozen):
    """One SKILL.md of a repository; in a folder for skills also a `skill.md`, which has a wrong file name."""

    path: str
    """Of the SKILL.md, absolute."""
    real: str
    """The same without links."""
    kind: str
    """`agent-folder`, `skills-folder`, `plugin`, `marketplace` or `other`."""
    place: str
    """The folder that contains this skill and those beside it, such as `.claude/skills`, absolute."""
    plugin: str | None = None
    """The name of the plugin or extension that it belongs to."""
    inside: str | None = None
    """The SKILL.md of the skill whose folder contains this one."""

    @property
    def is_misnamed(self) -> bool:
        """Whether the file is called `skill.md`."""
        return os.path.basename(self.path) != SKILL_FILE


class SkippedFolders(Frozen):
    """Folders that were not searched, for one reason."""

    reason: str
    count: int
    examples: tuple[str, ...]
    """The first few of them."""


class RepositorySkills(Frozen):
    """Every SKILL.md of a repository."""

    top: str
    """The folder that was searched, without links."""
    skills: tuple[RepositorySkill, ...]
    """Sorted by path."""
    findings: tuple[Finding, ...]
    """Folders that cannot be listed, limits, and files with names such as `skill.md`."""
    skipped: tuple[SkippedFolders, ...]
    folders: int
    """How many folders were searched."""


def find_repository_skills(
    top: str | os.PathLike[str],
    *,
    home_too: bool = False,
    progress: Callable[[int], None] | None = None,
    filesystem: Filesystem | None = None,
) -> RepositorySkills:
    """Return every SKILL.md in or below a folder, also those that no agent sees.

    Hidden folders are searched too. `.git`, `node_modules`, virtual environments, and other worktrees of the repository
    are not, and neither is what git ignores, except the skills folders of agents. Links to folders are not followed.

    Args:
        top: the folder, usually the top of a repository.
        home_too: whether to search the user's home too, or a folder that contains it. Without a `.git` it is no
            repository but contains others, so that otherwise nothing is found there.
        progress: called with the number of folders searched so far, now and then.
        filesystem: what was read so far.

    Raises:
        SkillNotFoundError: the folder does not exist, or is a file.
    """
    folder = os.path.abspath(top)
    if not os.path.isdir(folder):
        problem = "this is not a folder" if os.path.lexists(folder) else "no such folder"
        raise SkillNotFoundError(f"{problem}: {quoted(folder, PATH_LIMIT)}", hint="check the path")
    filesystem = filesystem or Filesystem()
    folder = filesystem.real(folder)
    if not home_too and _is_home(folder, filesystem):
        skipped = SkippedFolders(reason="home", count=1, examples=(folder,))
        return RepositorySkills(top=folder, skills=(), findings=(), skipped=(skipped,), folders=0)
    return _RepositoryWalk(folder, filesystem).run(progress)


def _is_home(folder: str, filesystem: Filesystem) -> bool:
    """Return whether a folder is the user's home or contains it, and not a repository."""
    home = filesystem.real_prefix(os.path.expanduser("~"))
    return home.startswith(os.path.join(folder, "")) and not filesystem.link_kind(os.path.join(folder, ".git"))


def with_linked_skills(found: RepositorySkills, paths: Mapping[str, str]) -> RepositorySkills:
    """Return the skills of a repository, with more that agents reach through links in it.

    Args:
        found: the skills of the repository.
        paths: their paths by the paths without links. Those that are known, or not below the top, are left out.
    """
    known = {item.real for item in found.skills}
    inside = os.path.join(found.top, "")
    more = {path: real for real, path in paths.items() if real not in known and path.startswith(inside)}
    placed = _classify(more, found.top, {})
    linked = (
        RepositorySkill(path=path, real=real, kind=placed[path].kind, place=placed[path].folder)
        for path, real in more.items()
    )
    skills = sorted((*found.skills, *linked), key=lambda item: item.path.split(os.sep))
    return found.with_changes(skills=tuple(skills))


class _RepositoryWalk:
    """One walk through a repository."""

    def __init__(self, top: str, filesystem: Filesystem) -> None:
        self.top, self.filesystem = top, filesystem
        self.findings: list[Finding] = []
        self.files: list[tuple[str, bool]] = []
        """Each SKILL.md, and whether it is a link."""
        self.plugins = PluginReader(top, self.findings, filesystem)
        self.skipped: dict[str, tuple[int, list[str]]] = {}
        self.ignore = GitIgnore(filesystem)
        self.repository = git_root(top, filesystem=filesystem)
        self.base = self._parts(top)
        self.tracked: frozenset[str] | None = None
        """The skills that git tracks; read when a path is ignored."""

    def run(self, progress: Callable[[int], None] | None) -> RepositorySkills:
        """Search all folders and return what was found."""
        rules: dict[str, tuple[IgnoreFile | None, bool]] = {self.top: (self._rules_above(), False)}
        count = 0
        for folder, folders, files in self._walk():
            count += 1
            if progress is not None and count % _PROGRESS_STEP == 0:
                progress(count)
            above, ignored = rules.pop(folder)
            if folder != self.top and (reason := self._reason_to_skip(folder, files)):
                self._skip(reason, folder)
                folders.clear()
                continue
            chain = self._read_rules(folder, files, above)
            below = self._folders_to_enter(folder, folders, chain, ignored=ignored)
            self.plugins.read_folder(folder, folders, files)
            folders[:] = below
            self._add_file(folder, files, chain, ignored=ignored)
            for name, is_ignored in below.items():
                rules[os.path.join(folder, name)] = chain, is_ignored
        return self._result(count)

    def _walk(self) -> Iterator[tuple[str, list[str], dict[str, bool]]]:
        return walk_folders(
            self.top, self.findings, files=_WANTED_FILES, max_folders=MAX_FOLDERS, filesystem=self.filesystem
        )

    # ── what git ignores ─────────────────────────────────────────────────────────────────────────────────────────────

    def _parts(self, path: str) -> tuple[str, ...]:
        """Return the parts of a path relative to the repository."""
        below = os.path.relpath(path, self.repository or self.top)
        return () if below == os.curdir else tuple(below.split(os.sep))

    def _rules_above(self) -> IgnoreFile | None:
        """Return the rules of the folders above the top; none if they ignore it, since the user named it."""
        rules: IgnoreFile | None = None
        if self.repository is None:
            return None
        for path, parts in ignore_files_above(self.top, self.repository):
            rules = self.ignore.read(path, len(parts), rules)
            if len(parts) < len(self.base) and self.ignore.ignores(rules, self.base[: len(parts) + 1], folder=True):
                return None
        return rules

    def _read_rules(self, folder: str, files: dict[str, bool], above: IgnoreFile | None) -> IgnoreFile | None:
        if self.repository is None or ".gitignore" not in files:
            return above
        return self.ignore.read(os.path.join(folder, ".gitignore"), len(self._parts(folder)), above)

    def _folders_to_enter(
        self, folder: str, names: list[str], rules: IgnoreFile | None, *, ignored: bool
    ) -> dict[str, bool]:
        """Return the folders to enter, each with whether git ignores it: an agent's folder may be ignored."""
        result = {}
        parts = self._parts(folder) if rules or ignored else ()
        for name in names:
            if name in (".git", "node_modules"):
                if name != ".git":
                    self._skip(name, os.path.join(folder, name))
                continue
            is_ignored = ignored or (rules is not None and self.ignore.ignores(rules, (*parts, name), folder=True))
            if is_ignored and not self._is_kept((*parts, name), partly=True):
                self._skip("ignored by git", os.path.join(folder, name))
            else:
                result[name] = is_ignored
        return result

    def _is_kept(self, parts: tuple[str, ...], *, partly: bool = False) -> bool:
        """Return whether a path counts that an ignore file names: an agent's skill, or one that git tracks."""
        return bool(_agent_folder_end(parts, partly=partly)) or self._is_tracked(parts)

    def _is_tracked(self, parts: tuple[str, ...]) -> bool:
        """Return whether git tracks a SKILL.md at or below a path."""
        if self.tracked is None:
            self.tracked = tracked_skill_paths(self.repository or self.top, self.filesystem)
        return "/".join(parts) in self.tracked

    def _reason_to_skip(self, folder: str, files: dict[str, bool]) -> str | None:
        """Return why a folder is not part of the repository: it is a virtual environment or another worktree.

        A publisher cannot hide skills that way: what git tracks counts.
        """
        if "pyvenv.cfg" in files and SKILL_FILE not in files and not self._is_tracked(self._parts(folder)):
            return "virtual environment"
        if ".git" not in files:
            return None
        try:
            text = self.filesystem.data(os.path.join(folder, ".git"), 4096, follow=False)
        except UnreadableError:
            return None
        return "worktree" if text.startswith(b"gitdir:") and b"/.git/worktrees/" in text else None

    # ── what was found ───────────────────────────────────────────────────────────────────────────────────────────────

    def _skip(self, reason: str, path: str) -> None:
        count, examples = self.skipped.get(reason, (0, []))
        if count < _EXAMPLES:
            examples.append(path)
        self.skipped[reason] = count + 1, examples

    def _add_file(self, folder: str, files: dict[str, bool], rules: IgnoreFile | None, *, ignored: bool) -> None:
        misnamed = sorted(name for name in files if name != SKILL_FILE and name.lower() == SKILL_FILE.lower())
        for name in [SKILL_FILE] if SKILL_FILE in files else misnamed:
            path = os.path.join(folder, name)
            parts = (*self._parts(folder), name) if rules or ignored else ()
            is_ignored = ignored or (rules is not None and self.ignore.ignores(rules, parts, folder=False))
            if is_ignored and not self._is_kept(parts):
                self._skip("ignored by git", path)
                continue
            self.files.append((path, files[name]))
            if name != SKILL_FILE:
                self.findings.append(wrong_case_finding(path, files))

    def _result(self, count: int) -> RepositorySkills:
        real_paths = {path: self.filesystem.real(path) if is_link else path for path, is_link in self.files}
        unique: dict[str, str] = {}
        # A link never replaces the file that it leads to.
        for path, _ in sorted(self.files, key=lambda item: (item[1], item[0].split(os.sep))):
            unique.setdefault(real_paths[path], path)
        paths = sorted(unique.values(), key=lambda path: path.split(os.sep))
        owners = {os.path.dirname(path): path for path in paths if os.path.basename(path) == SKILL_FILE}
        placed = _classify(paths, self.top, self.plugins.declared())
        # Outside of folders for skills, `skill.md` may be any document.
        paths = [path for path in paths if os.path.basename(path) == SKILL_FILE or placed[path].kind != "other"]
        return RepositorySkills(
            top=self.top,
            skills=tuple(
                RepositorySkill(
                    path=path,
                    real=real_paths[path],
                    kind=placed[path].kind,
                    place=placed[path].folder,
                    plugin=placed[path].plugin,
                    inside=_owner(path, self.top, owners),
                )
                for path in paths
            ),
            findings=tuple(self.findings),
            skipped=tuple(
                SkippedFolders(reason=reason, count=number, examples=tuple(examples))
                for reason, (number, examples) in sorted(self.skipped.items())
            ),
            folders=count,
        )


def _owner(path: str, top: str, owners: dict[str, str]) -> str | None:
    """Return the nearest SKILL.md in a folder above that of a skill."""
    folder = os.path.dirname(path)
    while folder != top and (parent := os.path.dirname(folder)) != folder:
        folder = parent
        if folder in owners:
            return owners[folder]
    return None


# ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────────

KINDS = ("agent-folder", "skills-folder", "plugin", "marketplace", "other")
"""The kinds of places."""
_SKILLS_NAMES = frozenset(("skills", "skill"))


class _Place(Frozen):
    """A folder of skills."""

    kind: str
    folder: str
    plugin: str | None = None


@cache
def _agent_folders() -> tuple[tuple[str, ...], ...]:
    """Return the skills folders of all agents in projects and homes, such as `.claude/skills`, as parts."""
    found = set()
    for name in host_names():
        for root in raw_value(name, "roots") or ():
            path = str(root.get("path", "")).rpartition("|")[2].removeprefix("~/")
            if path.startswith("."):
                found.add(tuple(path.split("/")))
    return tuple(sorted(found))


def _agent_folder_end(parts: Sequence[str], *, partly: bool = False) -> int:
    """Return after how many parts of a path the innermost skills folder of an agent ends; 0 if it has no such folder.

    Args:
        parts: of the path.
        partly: whether a path on the way to such a folder counts too: `.claude` for `.claude/skills`.
    """
    for start in range(len(parts) - 1, -1, -1):
        if not parts[start].startswith("."):
            continue
        for folder in _agent_folders():
            pairs = list(zip(folder, parts[start:], strict=False))
            if all(wanted in ("*", part) for wanted, part in pairs) and (partly or len(pairs) == len(folder)):
                return start + len(pairs)
        # A folder of an agent that Prowess does not know.
        if parts[start + 1 : start + 2] == ("skills",) and not parts[start].endswith("-plugin"):
            return start + 2
    return 0


def _classify(paths: Iterable[str], top: str, declared: Mapping[str, Plugin]) -> Mapping[str, _Place]:
    """Return the place of each SKILL.md.

    Of an agent's folder and a plugin, the innermost one counts; without them, the outermost folder called `skills`.

    Args:
        paths: of the SKILL.md files.
        top: the folder that was searched.
        declared: the plugin of each folder of skills that a manifest declares.
    """
    return {path: _place(path, top, declared) for path in paths}


def _place(path: str, top: str, declared: Mapping[str, Plugin]) -> _Place:
    skill_folder = os.path.dirname(path)
    parts = tuple(os.path.relpath(skill_folder, top).split(os.sep)) if skill_folder != top else ()
    agent_end = _agent_folder_end(parts)
    for end in range(len(parts), agent_end, -1):
        folder = os.path.join(top, *parts[:end])
        plugin = declared.get(folder)
        if plugin is not None:
            # A manifest may list each skill, which would make each a place of its own.
            place = os.path.dirname(folder) if end == len(parts) else folder
            return _Place(kind="marketplace" if plugin.marketplace else "plugin", folder=place, plugin=plugin.name)
    if agent_end:
        return _Place(kind="agent-folder", folder=os.path.join(top, *parts[:agent_end]))
    for end, part in enumerate(parts, 1):
        if part in _SKILLS_NAMES:
            return _Place(kind="skills-folder", folder=os.path.join(top, *parts[:end]))
    return _Place(kind="other", folder=os.path.join(top, *parts[:-1]))
