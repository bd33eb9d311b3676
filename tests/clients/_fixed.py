"""Replace what differs from one recording to the next: paths, identifiers and times."""

from __future__ import annotations

import platform
import re
from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from clients._probe import TOP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HOME = "/home/ada"
FIRST_DAY = datetime(2026, 11, 2, 9, tzinfo=UTC)
"""When the client is started first; it is started once a day."""
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TIME = re.compile(
    r"\b(?P<text>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00))"
    r"|(?P<name>\b\d{4}-\d\d-\d\dT\d\d-\d\d(?:-\d\d\b(?:-\d{3}Z)?)?)"
    r"|(?P<milliseconds>(?<!\d)1[789]\d{11}(?:\.\d+)?(?!\d))|(?P<seconds>\b1[789]\d{8}(?:\.\d+)?\b)"
)


def day_of(start: int) -> str:
    """Return the day on which the client is started for the n-th time, counted from 0."""
    return f"{FIRST_DAY + timedelta(days=start):%Y-%m-%d}"


class Fixed:
    """What is written instead: the same everywhere in one recording."""

    def __init__(self, home: Path, starts: Sequence[float], identifiers: Sequence[str]) -> None:
        """Prepare to replace.

        Args:
            home: the home of the recording.
            starts: when the client was started each time, in seconds.
            identifiers: patterns of those that are no UUIDs; a group, or else all of it, is replaced.
        """
        # Claude Code also writes `-` for `_`, and pi nothing for the first `/`.
        names = [re.sub(other, "-", str(home)) for other in (r"\W", r"[\W_]")]
        new = re.sub(r"\W", "-", HOME)
        forms = {str(home): HOME, **dict.fromkeys(names, new), **dict.fromkeys([name[1:] for name in names], new[1:])}
        others = {str(home.parent): "/var/tmp/client", str(TOP): "/opt", platform.release(): "6.1.0"}
        self._paths = {**forms, **others}
        self._starts = starts
        self._patterns = [re.compile(pattern) for pattern in (_UUID, *identifiers)]
        self._known: dict[str, str] = {}
        self._moments: list[float] = []
        self._names: dict[str, str] = {}
        """Times in the names of files."""

    def files(self, files: Mapping[str, str]) -> dict[str, str]:
        """Return files by their paths, both with everything replaced."""
        moments = {moment for text in files.values() for found in _TIME.finditer(text) if (moment := _moment(found))}
        self._moments = sorted(moment for moment in moments if moment >= self._starts[0])
        for path, text in files.items():
            # The time in its name is the first one in it, but says less.
            first = next((found for found in _TIME.finditer(text) if found["text"]), None)
            for name in _TIME.finditer(path):
                if first is not None and name["name"]:
                    self._names[name[0]] = self._time(first, name[0])
        new = {path: self.text(text) for path, text in files.items()}
        return {self.text(path): text for path, text in new.items()}

    def text(self, text: str) -> str:
        """Return a text with everything replaced."""
        for old, value in self._paths.items():
            text = text.replace(old, value)
        text = _TIME.sub(lambda found: self._names.get(found[0]) or self._time(found), text)
        text = re.sub(r"\b\d{4}/\d\d/\d\d(?=/[a-z]+-(\d{4})-(\d\d)-(\d\d)T)", r"\1/\2/\3", text)
        for form in ("%Y-%m-%d", "%A, %B %-d, %Y"):
            text = text.replace(f"{datetime.fromtimestamp(self._starts[0], UTC):{form}}", f"{FIRST_DAY:{form}}")
        for pattern in self._patterns:
            text = pattern.sub(self._identified, text)
        return text

    def _identified(self, found: re.Match[str]) -> str:
        old = found[found.re.groups]
        return found[0].replace(old, self.identifier(old))

    def identifier(self, old: str) -> str:
        """Return another identifier of the same form, numbered in the order in which they are asked for."""
        if old not in self._known:
            if shortened := next((new for known, new in self._known.items() if known.startswith(old)), None):
                return shortened[: len(old)]
            number = f"{len(self._known) + 1:08x}"
            start = old.rpartition("_")[0]
            zeros = re.sub(r"\w", "0", old.removeprefix(f"{start}_"))
            new = number + zeros[8:] if len(zeros) >= 8 else number[-len(zeros) :]
            self._known[old] = f"{start}_{new}" if start else new
        return self._known[old]

    def _time(self, found: re.Match[str], name: str = "") -> str:
        """Return another time of the same form, or of the form that it has in the name of a file."""
        moment = _moment(found)
        if moment is None or moment < self._starts[0]:
            return name or found[0]
        day = max(bisect_right(self._starts, moment) - 1, 0)
        before = bisect_right(self._moments, self._starts[day])
        new = FIRST_DAY + timedelta(days=day, seconds=max(bisect_right(self._moments, moment) - before, 0) / 10)
        if name:
            return f"{new:%Y-%m-%dT%H-%M-%S}-{new.microsecond // 1000:03}Z"[: len(name)]
        if found["text"]:
            return f"{new:%Y-%m-%dT%H:%M:%S}.{new.microsecond // 1000:03}Z"
        return str(int(new.timestamp() * (1000 if found["milliseconds"] else 1)))


def _moment(found: re.Match[str]) -> float | None:
    """Return a time in seconds; nothing for one in the name of a file."""
    if found["text"]:
        return datetime.fromisoformat(found["text"]).timestamp()
    number = found["milliseconds"] or found["seconds"]
    return float(number) / (1000 if found["milliseconds"] else 1) if number else None
