"""Fetch the skills of a lock from their sources, those of one source and version at a time."""

from __future__ import annotations

import shlex

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.errors import InstallError, ProwessError, SkillNotFoundError

from ._entries import source_of
from ._source import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._fetched import Fetched, FetchedSkill
    from ._lock import LockedSkill
    from ._source import Source
    from ._store import OpenStore, StoredTree

__all__ = ["FetchedEntry", "fetch_locked"]


class FetchedEntry(Frozen):
    """A skill of the lock that was fetched from its source now."""

    entry: LockedSkill
    source: Source
    skill: FetchedSkill
    fetched: Fetched
    stored: StoredTree


def fetch_locked(
    skills: Sequence[LockedSkill],
    folder: str,
    opened: OpenStore,
    problems: list[ProwessError],
    *,
    gone: list[LockedSkill] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[FetchedEntry]:
    """Fetch skills of the lock, those of one source and version at a time.

    Args:
        skills: the entries.
        folder: the folder of the lock.
        opened: the store.
        problems: gets what cannot be fetched.
        gone: gets the skills that their sources do not have any more. If it is given, what the sources have now is
            fetched, not the locked revisions.
        progress: is called with what is being done.
    """

    def fetch(source: Source, entries: Sequence[LockedSkill], revision: str | None) -> Fetched:
        only = tuple(entry.name for entry in entries)
        return fetcher(source.kind)(source, opened, only=only, revision=revision, progress=progress)

    groups: dict[tuple[str, str | None], tuple[Source, list[LockedSkill]]] = {}
    for skill in skills:
        try:
            source = source_of(skill, folder)
        except ProwessError as error:
            problems.append(error)
        else:
            groups.setdefault((source.plain, skill.revision if gone is None else None), (source, []))[1].append(skill)
    found: list[FetchedEntry] = []
    for (_, revision), (source, entries) in groups.items():
        try:
            try:
                fetched = fetch(source, entries, revision)
            except SkillNotFoundError:
                if gone is None:
                    raise
                fetched = fetch(source, (), revision)
            missing = gone if gone is not None else []
            found += _match(source, entries, fetched, opened, problems, missing)
            if gone is None:
                problems += [_lost(source, entry) for entry in missing]
        except ProwessError as error:
            problems.append(error)
    return found


def _match(
    source: Source,
    entries: Sequence[LockedSkill],
    fetched: Fetched,
    opened: OpenStore,
    problems: list[ProwessError],
    missing: list[LockedSkill],
) -> list[FetchedEntry]:
    """Return the fetched skill of each entry, in the store."""
    by_path = {skill.path: skill for skill in fetched.skills}
    by_name = {skill.name: skill for skill in reversed(fetched.skills)}
    stored: dict[str, StoredTree] = {}
    found: list[FetchedEntry] = []
    for entry in entries:
        path = None if entry.skill_path is None else entry.skill_path.rpartition("/")[0]
        skill = by_name.get(entry.name) if path is None else by_path.get(path)
        if skill is None:
            missing.append(entry)
            continue
        try:
            if skill.folder not in stored:
                stored[skill.folder] = opened.add(skill.folder, skill.tree)
        except InstallError as error:
            problems.append(InstallError(f"{quoted(entry.name)}: {error}", hint=error.hint))
            continue
        found.append(
            FetchedEntry(entry=entry, source=source, skill=skill, fetched=fetched, stored=stored[skill.folder])
        )
    return found


def _lost(source: Source, entry: LockedSkill) -> InstallError:
    message = f"{quoted(source.text)} has no skill {quoted(entry.name)} where the lock says"
    return InstallError(message, hint=f"`prowess remove {shlex.quote(entry.name)}`, or restore the lock")
