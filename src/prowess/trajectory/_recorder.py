"""Collect what is kept of one session while its records are read."""

from __future__ import annotations

import os
import re
from html import unescape

from prowess._internal.files import SKILL_FILE, expand_home, folder_name

from ._commands import files_of_command
from ._lines import description_level
from ._session import Activation, FileRead, Offer, RecordedSession, ScriptRun, utc_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_MAX_TEXT = 4096
"""Characters of a name or a path."""
_MAX_ITEMS = 10_000
"""Skills, files and scripts of one session, each."""
_MAX_ANSWERS = 100_000
_MAX_TOKENS = 10**9
"""Of one answer."""


_find_entries = re.compile(r"<skill>(.*?)</skill>", re.DOTALL).findall
_find_field = re.compile(r"<(name|description|location)>(.*?)</\1>", re.DOTALL).findall


class Recorder:
    """What is known of one session so far. Whatever a record has in a field may be of any type."""

    def __init__(self, agent: str, session: str, home: str) -> None:
        self.agent, self.id, self.home = agent, session, home
        self.version, self.cwd, self.origin = "", "", ""
        self.parent: str | None = None
        self.has_messages = False
        """Whether something was said; a file without it is no session."""
        self.has_catalog = False
        self.skipped = 0
        self._times: list[str] = []
        self._offers: dict[tuple[str, str | None], Offer] = {}
        self._activations: dict[str, Activation] = {}
        self._files: dict[tuple[str, str], FileRead] = {}
        self._scripts: dict[tuple[str, str], ScriptRun] = {}
        self._answers: dict[str, tuple[str, str, int, int, int]] = {}

    def set_once(self, **values: Any) -> None:
        """Set attributes that are empty so far."""
        for name, value in values.items():
            if not getattr(self, name) and isinstance(value, str) and "\0" not in value:
                setattr(self, name, value[:_MAX_TEXT])

    def at(self, time: object) -> None:
        """Say what time the records that follow have."""
        if found := utc_time(time):
            self._times[:] = [*self._times[:2], found] if self._times else [found] * 3
            self._times[:2] = [min(self._times[0], found), max(self._times[1], found)]

    @property
    def now(self) -> str:
        """The time of the last record that had one."""
        return self._times[2] if self._times else ""

    def offer(self, name: object, path: object = None, description: str = "full") -> None:
        """Add a skill of the catalog; a second catalog adds to the first."""
        self.has_catalog = True
        if isinstance(name, str) and 0 < len(name) <= _MAX_TEXT and len(self._offers) < _MAX_ITEMS:
            path = self.path(path) if path else None
            self._offers.setdefault((name, path), Offer(name=name, path=path, description=description))

    def activate(self, key: str, name: object, path: object, by: str) -> None:
        """Add a skill that was used, or the path of one that was added without it."""
        found = self.path(path) if path else None
        if (known := self._activations.get(key)) is not None:
            if known.path is None:
                self._activations[key] = known.with_changes(path=found)
            return
        name = name if isinstance(name, str) and name else folder_name(found or "")
        if name and len(self._activations) < _MAX_ITEMS:
            item = Activation(id=key, name=name[:_MAX_TEXT], path=found, by=by, time=self.now)
            self._activations[key] = item

    def is_used(self, key: str) -> bool:
        """Return whether a skill was added with a key."""
        return key in self._activations

    def read(self, key: str, path: object) -> None:
        """Add a file that was read."""
        if (found := self.path(path)) and len(self._files) < _MAX_ITEMS:
            self._files.setdefault((key, found), FileRead(id=key, path=found, time=self.now))

    def run(self, key: str, command: object, exit_code: object, cwd: object = "") -> list[str]:
        """Add what a command that has ended read and ran, and return the SKILL.md files among what it read."""
        if not isinstance(command, str) or not isinstance(exit_code, int):
            return []
        skills = []
        for how, path in files_of_command(command, cwd if isinstance(cwd, str) and cwd else self.cwd, self.home):
            if how == "read" and exit_code == 0:
                self.read(key, path)
                skills += [path] if os.path.basename(path) == SKILL_FILE else []
            elif how == "run":
                self.add_script(key, path, exit_code)
        return skills

    def add_script(self, key: str, path: object, exit_code: object) -> None:
        """Add a script that has ended."""
        if (found := self.path(path)) and isinstance(exit_code, int) and len(self._scripts) < _MAX_ITEMS:
            item = ScriptRun(id=key, path=found, exit=exit_code, time=self.now)
            self._scripts.setdefault((key, found), item)

    def answer(
        self, key: str, *, got: Iterable[object], cached: object, wrote: Iterable[object], total: object = 0
    ) -> None:
        """Add the tokens of an answer of the model; of an answer that is recorded again the larger numbers count.

        Args:
            key: of the answer.
            got: the parts of what the model got, those from a cache as well.
            cached: how many of them were in a cache.
            wrote: the parts of what it wrote.
            total: of what it got and wrote, if thoughts may be in this only.
        """
        key, read = key[:_MAX_TEXT], sum(map(_count, got))
        _, time, *known = self._answers.get(key, (key, self.now, 0, 0, 0))
        written = max(sum(map(_count, wrote)), _count(total) - read)
        if key in self._answers or len(self._answers) < _MAX_ANSWERS:
            self._answers[key] = key, time, max(known[0], read), max(known[1], _count(cached)), max(known[2], written)

    def offered_as(self, path: str) -> str | None:
        """Return the name under which the catalog has a SKILL.md."""
        return next((offer.name for offer in self._offers.values() if offer.path == path), None)

    def path(self, path: object, cwd: str = "") -> str | None:
        """Return a path or a `file` address of a record as an absolute path; `None` if it is invalid."""
        if not isinstance(path, str) or not path or len(path) > _MAX_TEXT or "\0" in path:
            return None
        if path.startswith("file://"):
            from urllib.parse import unquote

            path = unquote(path.removeprefix("file://"))
        return os.path.normpath(os.path.join(cwd or self.cwd or "/", expand_home(path, self.home)))

    def session(self) -> RecordedSession | None:
        """Return the session; `None` if nothing was said in it."""
        if not self.has_messages:
            return None
        used = [os.path.dirname(item.path) + os.sep for item in self._activations.values() if item.path]

        def is_of_skill(path: str) -> bool:
            parts = path.split(os.sep)
            return parts[-1] != SKILL_FILE and ("skills" in parts or "skill" in parts or path.startswith(tuple(used)))

        first, last, _ = self._times or ["", "", ""]
        return RecordedSession(
            agent=self.agent,
            version=self.version,
            id=self.id,
            parent=self.parent,
            origin=self.origin,
            cwd=self.cwd,
            first=first,
            last=last,
            catalog=tuple(self._offers.values()) if self.has_catalog else None,
            activations=tuple(self._activations.values()),
            files=tuple(item for item in self._files.values() if is_of_skill(item.path)),
            scripts=tuple(item for item in self._scripts.values() if is_of_skill(item.path)),
            answers=tuple(self._answers.values()),
            skipped=self.skipped,
        )


def _count(value: object) -> int:
    """Return a number of tokens of a record; 0 if it is something else."""
    return value if type(value) is int and 0 <= value <= _MAX_TOKENS else 0


def offer_xml(text: str, recorder: Recorder, *, has_paths: bool) -> None:
    """Add the skills of a catalog in the form of agentskills.io.

    Args:
        text: with `<available_skills>`.
        recorder: gets the skills.
        has_paths: whether a location is the path of a SKILL.md.
    """
    recorder.has_catalog = True
    for entry in _find_entries(text.partition("<available_skills>")[2]):
        fields = {name: unescape(value).strip() for name, value in _find_field(entry)}
        path = fields.get("location") if has_paths else None
        recorder.offer(fields.get("name"), path, description_level(fields.get("description", "")))
