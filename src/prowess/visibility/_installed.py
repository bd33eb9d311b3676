"""Find the skills that a lock installed, and work out the command that installs them for another agent too.

A copy beside a lock would stay as it is when `prowess update` changes the skill, and be left when `prowess remove`
removes it. So the cure for a skill of a lock is `prowess add`, and a fix of its text is made in its source.
"""

from __future__ import annotations

import os
import re
import shlex
from functools import cached_property, partial

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, normalize_name, quoted
from prowess._internal.user_dirs import data_folder
from prowess.errors import ConfigError
from prowess.filesystem import Filesystem
from prowess.findings import finding
from prowess.hosts import load_host, skills_folder
from prowess.skill import is_portable_name

from ._mount_cures import MountTarget, cwd_option, fix_command, home_option, is_typable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Literal

    from prowess.filesystem import Question
    from prowess.findings import Finding
    from prowess.lock import LockedSkill

    Scope = Literal["project", "user"]


NOT_INSTALLED = "not-installed"
"""The code of a finding of `lock_findings` about a skill."""
LOCK_INVALID = "lock-invalid"
"""The code of one about a lock."""


class InstalledSkill(Frozen):
    """A skill that a lock installed."""

    entry: LockedSkill
    scope: Scope
    root: str
    """The project or the home, absolute and without links."""
    lock_folder: str

    @property
    def lock_file(self) -> str:
        """The lock."""
        from prowess.lock import LOCK_FILE

        return os.path.join(self.lock_folder, LOCK_FILE)

    @property
    def folders(self) -> list[str]:
        """The folders in which it is installed, absolute."""
        from prowess.lock import folders_of

        return [os.path.join(self.root, folder, self.entry.folder) for folder in folders_of(self.entry, self.scope)]

    @property
    def file(self) -> str:
        """Its SKILL.md in the first of these folders."""
        return os.path.join(self.folders[0], SKILL_FILE)

    @property
    def source_file(self) -> str:
        """Its SKILL.md in a source that is a folder of this machine, absolute; empty for any other source."""
        if self.entry.source_type != "local":
            return ""
        return os.path.join(self.entry.source_text(self.lock_folder), self.entry.skill_path or SKILL_FILE)

    @property
    def is_local_link(self) -> bool:
        """Whether links to its source are installed, a folder of this machine."""
        return self.entry.is_link and bool(self.source_file)

    def source(self, cwd: str) -> str:
        """Return its source as people type it in a folder; empty if it cannot be typed."""
        text = self.entry.source_text(self.lock_folder, inside=True)
        if self.entry.source_type == "local" and self.scope == "project":
            text = os.path.relpath(text, cwd)
            text = text if text.startswith(".") else f"./{text}"
        can_be_typed = is_typable(text) and is_portable_name(self.entry.name)
        return shlex.quote(text) if can_be_typed and not text.startswith("-") else ""

    def is_missing(self, folder: str, filesystem: Filesystem) -> bool:
        """Return whether the lock installs it into a folder, absolute, which is not there, or a link to nothing."""
        return folder in self.folders and not filesystem.kind(folder)

    def scope_for(self, host: str) -> Scope:
        """Return for whom it is installed for an agent: for the user, if that agent has no folder in projects."""
        return "project" if self.scope == "project" and skills_folder(host, "project") else "user"

    def options(self, host: str, home: str) -> str:
        """Return the options of `prowess add` that it is installed with, each after a blank."""
        link = " --link" if self.entry.is_link else ""
        return f"{link}{self.global_option(self.scope_for(host), home)}"

    @staticmethod
    def global_option(scope: Scope, home: str) -> str:
        """Return the options for the lock of the user, each after a blank."""
        return f" --global{home_option(home)}" if scope == "user" else ""

    def target(self, host: str, home: str) -> MountTarget:
        """Return where it would be for an agent."""
        scope = self.scope_for(host)
        return MountTarget(
            source=self.folders[0],
            name=self.entry.folder,
            base=self.root if scope == self.scope else home,
            root=skills_folder(host, scope) or "",
        )

    def steps(self, host: str, *, cwd: str, filesystem: Filesystem) -> Iterator[str]:
        """Yield what `prowess add` needs done by hand first, as sentences."""
        from prowess.lock import is_unchanged

        name = neutral(self.entry.name)
        if not self.source(cwd):
            yield f"`prowess remove` {name}, and add it again from its source, as another tool wrote the lock"
        elif self.source_file and not filesystem.kind(self.source_file):
            yield f"bring its source back: {neutral(self.source_file)} does not exist"
        for folder in self.folders:
            kind = filesystem.link_kind(folder)
            if kind == "d":
                filesystem.files(os.path.join(folder, SKILL_FILE))  # what decides is recorded
            if kind and not is_unchanged(folder, self.entry):
                yield f"save your changes of {neutral(folder)} elsewhere, and undo them with `prowess install --force`"
                break
        walks = {root.walk for root in load_host(host).roots if root.path == skills_folder(host, "project")}
        if self.scope_for(host) == "project" and walks == {"none"} and cwd != self.root:
            yield f"start the agent in {neutral(self.root)}, as it searches no folder above its own"


class InstalledSkills:
    """The skills of the lock of a project, and of that of its user."""

    def __init__(self, question: Question, filesystem: Filesystem) -> None:
        """Prepare; a lock is read when it is first needed.

        Args:
            question: what the agents are asked.
            filesystem: records what was read.
        """
        self._question, self._filesystem = question, filesystem
        self._invalid: list[Finding] = []

    def read(self) -> None:
        """Read the locks now: later they may be other ones than those that the agents' answers belong to."""
        _ = self._skills

    def at(self, folder: str) -> InstalledSkill | None:
        """Return the skill that a lock installed into a folder, or from it."""
        found = self._by_folder
        if not found:
            return None
        return found.get(folder) or found.get(self._filesystem.real(folder))

    def findings(self) -> tuple[Finding, ...]:
        """Return a finding for each lock that is invalid, and for each skill that is in none of its folders."""
        cwd, home = self._question.cwd, self._question.home
        skills = self._skills
        found = [*self._invalid]
        for skill in skills:
            if all(skill.is_missing(folder, self._filesystem) for folder in skill.folders):
                name, options = neutral(skill.entry.name), skill.global_option(skill.scope, home)
                message = f"the lock names {quoted(skill.entry.name)}, which is not installed"
                hint = f"`{install_command([shlex.quote(name)], cwd=cwd, options=options)}`"
                found.append(finding(NOT_INSTALLED, message, path=skill.lock_file, hint=hint))
        return tuple(found)

    def how_to_change(self, path: str) -> str:
        """Return how the SKILL.md of a skill of a lock is changed; empty for another one, and for what a lock links to.

        Args:
            path: of the file, absolute.
        """
        skill, cwd = self.at(os.path.dirname(path)), self._question.cwd
        if (
            skill is None
            or skill.is_local_link
            or self._filesystem.real(path) == self._filesystem.real(skill.source_file or os.sep)
        ):
            return ""
        update = update_command(skill, cwd=cwd, home=self._question.home)
        file = skill.source_file
        if file and is_typable(file) and self._filesystem.kind(file) == "f":
            return f"`{fix_command([file], cwd)} && {update}` fixes it in its source"
        return f"change it in its source, {skill.source(cwd) or neutral(skill.entry.source)}; then `{update}`"

    def named(self, name: str, base: str) -> InstalledSkill | None:
        """Return the skill of the lock of a project or home that has a name; `verify` expects it under that name.

        Args:
            name: of the folder of a skill.
            base: the project or home.
        """
        for skill in self._skills:
            if normalize_name(skill.entry.folder) == normalize_name(name) and skill.root == self._filesystem.real(base):
                return skill
        return None

    @cached_property
    def _skills(self) -> tuple[InstalledSkill, ...]:
        return (*self._read(),)

    @cached_property
    def _by_folder(self) -> dict[str, InstalledSkill]:
        result: dict[str, InstalledSkill] = {}
        skills = self._skills
        for skill in skills:
            for folder in skill.folders:
                result.setdefault(folder, skill)
        for skill in skills:
            if skill.source_file:
                result.setdefault(os.path.dirname(skill.source_file), skill)
        return result

    def _read(self) -> Iterator[InstalledSkill]:
        """Yield the skills of both locks; an invalid lock, which every command for locks refuses, is a finding."""
        from prowess.lock import LOCK_FILE, find_project

        question, data = self._question, data_folder(self._question.env)
        filesystem = self._filesystem
        project = find_project(question.cwd, filesystem.link_kind, filesystem.is_own_project)
        places: list[tuple[Scope, str, str]] = [("project", project, "")]
        if data is not None:
            places.append(("user", self._filesystem.real(question.home), data))
        for scope, root, folder in places:
            file = os.path.join(folder or root, LOCK_FILE)
            if not self._filesystem.link_kind(file):
                continue
            from prowess.lock import read_lock

            try:
                lock = read_lock(file, partial(self._filesystem.data, follow=False))
            except ConfigError as error:
                self._invalid.append(_invalid_lock(file, error))
                continue
            for entry in lock.skills.values():
                skill = InstalledSkill(entry=entry, scope=scope, root=root, lock_folder=os.path.dirname(file))
                if _is_known(skill):
                    yield skill


def stays_behind(source: str, copy: str, question: Question) -> bool:
    """Return whether a copy of an installed skill stays as it is when `prowess update` changes that skill.

    Args:
        source: the folder of the skill that was copied.
        copy: the folder of the copy.
        question: where the locks are.
    """
    filesystem = Filesystem()
    installed = InstalledSkills(question, filesystem).at(source)
    return installed is not None and not filesystem.real(copy).startswith(os.path.join(installed.root, ""))


def _is_known(skill: InstalledSkill) -> bool:
    """Return whether all agents that the lock names for a skill are known, and have folders."""
    try:
        return bool(skill.folders)
    except ConfigError:
        return False


def add_command(source: str, names: Iterable[str], hosts: Iterable[str], *, cwd: str, options: str = "") -> str:
    """Return the command that installs skills for more agents.

    Args:
        source: as `InstalledSkill.source` returns it.
        names: of the skills.
        hosts: the agents.
        cwd: the working directory, absolute.
        options: more options, each after a blank.
    """
    chosen = "".join(f" --host {host}" for host in hosts)
    return f"prowess add {source} {' '.join(names)}{chosen}{options}{cwd_option(cwd)}"


def install_command(names: Iterable[str], *, cwd: str, options: str = "") -> str:
    """Return the command that installs skills as they are locked; the arguments are those of `add_command`."""
    return f"prowess install {' '.join(names)}{options}{cwd_option(cwd)}"


_PLACE = re.compile(r"(?:(\d+):(?:(\d+):)?)? ?(.*)", re.DOTALL)
"""The line and the column of an error in a lock, if it has these, and its message."""


def _invalid_lock(file: str, error: ConfigError) -> Finding:
    """Return the finding that a lock cannot be read, from the error with which other commands refuse it."""
    place = _PLACE.match(str(error).removeprefix(f"{neutral(file)}:"))
    line, column, message = place.groups() if place else (None, None, str(error))
    return finding(
        LOCK_INVALID,
        message,
        path=file,
        line=int(line) if line else None,
        column=int(column) if column else None,
        hint=error.hint,
    )


def lock_findings(question: Question, filesystem: Filesystem) -> tuple[Finding, ...]:
    """Return a finding for each lock that is invalid, and for each skill that a lock names and that is not there.

    Args:
        question: where the agents are started.
        filesystem: records what was read.
    """
    return InstalledSkills(question, filesystem).findings()


def is_about(item: Finding, name: str) -> bool:
    """Return whether a finding of `lock_findings` is about a skill of a name."""
    return item.code == NOT_INSTALLED and item.message.startswith(f"the lock names {quoted(name)},")


def update_command(skill: InstalledSkill, *, cwd: str, home: str) -> str:
    """Return the command that brings an installed skill up to date with its source."""
    options = skill.global_option(skill.scope, home)
    return f"prowess update {shlex.quote(neutral(skill.entry.name))}{options}{cwd_option(cwd)}"
