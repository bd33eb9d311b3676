"""Say why what a source has now may be older than what is installed, or something else under the same name.

locked entry + what was fetched -> history of git, tags, versions -> reasons for the user, who is asked
"""

from __future__ import annotations

import re

from prowess._internal.text import quoted
from prowess.skill import load

from .sources import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.lock import LockedSkill

    from ._places import Installation
    from .sources import Fetched, Source

_VERSION = re.compile(
    r"v?(\d{1,18}(?:\.\d{1,18}){0,9})(?:[-_.]?([A-Za-z][A-Za-z0-9.-]*|(?<=-)[0-9.]+))?(?:\+.*)?"
).fullmatch
_DATE = re.compile(r"(?<=^[0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_PARTS = re.compile(r"\d{1,18}|[a-z]+").findall
_SHOWN = 12
"""Digits of a commit that are shown."""


class HistoryCheck:
    """Compares what sources have now with what is locked; the history of each source is asked for once.

    Args:
        where: skills are installed.
    """

    def __init__(self, where: Installation) -> None:
        self._where = where
        self._known: dict[tuple[str, str, str], bool | None] = {}

    def reasons(
        self, old: LockedSkill, source: Source, fetched: Fetched, files: tuple[str | None, str]
    ) -> tuple[str, ...]:
        """Return why a version may be older than the locked one; nothing if it seems to be newer.

        Args:
            old: the entry of the lock.
            source: where the new version comes from.
            fetched: what was fetched from it.
            files: the SKILL.md of the locked version, `None` if it is gone, and that of the new one.
        """
        return (*self._moved(old, source, fetched), *_lower_version(*files))

    def _moved(self, old: LockedSkill, source: Source, fetched: Fetched) -> Iterator[str]:
        before, now = old.revision, fetched.revision
        if before is None or now is None or before == now:
            return
        if fetched.is_tag and old.ref == source.ref:
            yield f"the tag {quoted(source.ref or '')} has moved: it was {quoted(before[:_SHOWN])}"
        if source.kind != "git":
            return
        key = (source.url, now, before)
        if key not in self._known:
            from .sources.git import is_descendant

            wanted = Wanted(source=source, opened=self._where.opened, progress=self._where.progress)
            self._known[key] = is_descendant(wanted, now, before)
        if self._known[key] is None:
            yield f"it is unknown whether the commit comes after {quoted(before[:_SHOWN])}: the source does not say"
        elif not self._known[key]:
            yield f"the commit does not come after {quoted(before[:_SHOWN])}, which is locked"


def _lower_version(old_file: str | None, new_file: str) -> Iterator[str]:
    """Yield why the version in a SKILL.md is lower than before."""
    old, new = (None if file is None else _version_in(file) for file in (old_file, new_file))
    if old is None:
        return
    if new is None:
        yield f"it has no version any more; {quoted(old)} is installed"
    elif _number(old) and not _number(new):
        yield f"the version {quoted(new)} cannot be compared with {quoted(old)}, which is installed"
    elif is_lower(new, old):
        yield f"the version {quoted(new)} is lower than {quoted(old)}, which is installed"


def _version_in(file: str) -> str | None:
    skill = load(file)
    value = skill.metadata.get("version", skill.extra.get("version"))
    return value if isinstance(value, str) and value.strip() else None


def is_lower(version: str, other: str) -> bool:
    """Return whether a version is lower than another one; versions that cannot be compared are not."""
    first, second = _number(version), _number(other)
    return bool(first and second) and _key(first) < _key(second)  # type: ignore[arg-type]  # both are matches


def _number(version: str) -> re.Match[str] | None:
    return _VERSION(_DATE.sub(r".\1.\2", version.strip()))


def _key(found: re.Match[str]) -> tuple[object, ...]:
    """Return what versions are compared by: numbers without zeros at the end, then what comes before a release."""
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    parts = [(part.isalpha(), 0 if part.isalpha() else int(part), part) for part in _PARTS((found[2] or "").lower())]
    stage = 0 if parts and not parts[0][2].startswith("post") else 1 if not parts else 2
    return (numbers, stage, parts)
