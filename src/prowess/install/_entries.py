"""Convert between lock entries and sources, fetch locked skills, and remember what a pinned revision contains.

Find out from the entries of a lock where skills come from, fetch them, and write such entries.

Source + FetchedSkill + Tree -> LockedSkill -> Source

Fetch the skills of a lock from their sources, those of one source and version at a time.
"""

from __future__ import annotations

import os
import re
import shlex

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted
from prowess.capabilities import find_capabilities
from prowess.errors import InstallError, ProwessError, SkillNotFoundError
from prowess.lock import LINK_KEY, SOURCE_KINDS, LockedSkill, computed_hash
from prowess.skill import load

from ._lock_sources import LockSources
from .sources import Fetched, FetchedSkill, Wanted, fetch, parse_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._places import Installation
    from ._store import StoredTree
    from .sources import Source

_GITHUB = re.compile(r"https://github\.com/([^/]+/[^/]+)\.git").fullmatch
_GITLAB = re.compile(r"https://gitlab\.com/(.+)\.git").fullmatch
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._+/=-]{0,199}").fullmatch
_COMMIT = re.compile(r"[0-9a-f]{7,64}|sha256:[0-9a-f]{64}").fullmatch
_VERSION_TAG = re.compile(r"(?:.*[^A-Za-z0-9])?v?[0-9]+(?:\.[0-9]+)*(?:[-+.].*)?").fullmatch


def entry_for(
    source: Source,
    skill: FetchedSkill,
    fetched: Fetched,
    stored: StoredTree,
    *,
    folder: str,
    hosts: tuple[str, ...] = (),
    link: bool = False,
) -> LockedSkill:
    """Return the entry of the lock for a skill that was fetched now.

    Args:
        source: where it was fetched from.
        skill: what was fetched.
        fetched: all that was fetched with it.
        stored: its files.
        folder: the folder of the lock, to which a path is relative.
        hosts: the agents into whose folders it is installed.
        link: whether it is installed as a link.
    """
    text, kind, url = _written_source(source, folder)
    other: dict[str, Any] = {key: value for key, value in skill.extra.items() if key != "wellKnownDigest"}
    return LockedSkill(
        name=skill.name,
        source=text,
        source_type=kind,
        source_url=url,
        ref=source.ref,
        skill_path=f"{skill.path}/SKILL.md" if skill.path else "SKILL.md",
        computed_hash=skill.computed_hash or computed_hash(stored.folder),
        well_known_digest=skill.extra.get("wellKnownDigest"),
        revision=fetched.revision,
        tree_digest=stored.tree.digest,
        files={file.path: f"{file.mode} sha256:{file.sha256}" for file in stored.tree.files},
        hosts=hosts,
        other_prowess={**other, **({LINK_KEY: True} if link else {}), **_capabilities(stored)} or EMPTY,
    )


CAPABILITIES_KEY = "capabilities"
"""The key inside `prowess` of an entry with what the version mentions and declares; older readers keep it as it is."""


def _capabilities(stored: StoredTree) -> dict[str, Any]:
    """Return the capabilities of a skill as its entry keeps them; empty if that is nothing."""
    value = find_capabilities(load(os.path.join(stored.folder, SKILL_FILE))).to_value()
    return {CAPABILITIES_KEY: value} if len(value) > 1 else {}


def _written_source(source: Source, folder: str) -> tuple[str, str, str | None]:
    """Return `source`, `sourceType` and `sourceUrl` of an entry."""
    if source.kind == "folder":
        path = os.path.relpath(source.url, folder).replace(os.sep, "/")
        return (path if path == "." or path.startswith("../") or path == ".." else f"./{path}"), "local", None
    if found := _GITHUB(source.url):
        return found[1], "github", None
    if found := _GITLAB(source.url):
        return found[1], "gitlab", source.url
    if source.kind == "well-known":
        return source.url.partition("://")[2].partition("/")[0], "well-known", source.url
    if source.kind == "oci":
        return source.url.removeprefix("oci://"), "oci", source.url
    return source.url, source.kind, source.url


def source_of(skill: LockedSkill, folder: str) -> Source:
    """Return where the skill of an entry comes from, without its own folder in a repository.

    Args:
        skill: the entry.
        folder: the folder of the lock, absolute.

    Raises:
        InstallError: the entry names no source that can be used.
    """
    name = quoted(skill.name)
    kind = SOURCE_KINDS.get(skill.source_type)
    if kind is None:
        hint = "`npx skills install` installs it" if skill.source_type == "node_modules" else "update Prowess"
        raise InstallError(f"{name} comes from {quoted(skill.source_type)}, which is not supported", hint=hint)
    if skill.revision is not None and not _REVISION(skill.revision):
        raise InstallError(f"the lock has an invalid revision for {name}", hint="restore the lock")
    text = skill.source_text(folder)
    source = parse_source(text)
    if source.kind != kind:
        message = (
            f"the lock says that {name} comes from {quoted(skill.source_type)}, but {quoted(text)} is another kind"
        )
        raise InstallError(message, hint="restore the lock, or install the skill again")
    return source


def is_pinned(skill: LockedSkill) -> bool:
    """Return whether a skill stays at one version.

    That is a commit, a digest, a tag of git like `v1.2`, or any tag of a registry but `latest`.
    """
    if skill.ref is None:
        return False
    if skill.source_type == "oci":
        return skill.ref != "latest"
    return bool(_COMMIT(skill.ref) or _VERSION_TAG(skill.ref) or skill.ref.startswith("refs/tags/"))


def same_source(one: LockedSkill, other: LockedSkill) -> bool:
    """Return whether two entries are about the same skill of the same source, perhaps in different versions."""
    if None not in (one.skill_path, other.skill_path) and one.skill_path != other.skill_path:
        return False
    urls = {(skill.source_url or skill.source).lower().removesuffix(".git") for skill in (one, other)}
    return len(urls) == 1 and one.source_type == other.source_type


class FetchedEntry(Frozen):
    """A skill of the lock that was fetched from its source now."""

    entry: LockedSkill
    source: Source
    skill: FetchedSkill
    fetched: Fetched
    stored: StoredTree


def fetch_locked(
    skills: Sequence[LockedSkill],
    where: Installation,
    problems: list[ProwessError],
    *,
    gone: list[LockedSkill] | None = None,
) -> list[FetchedEntry]:
    """Fetch skills of the lock, those of one source and version at a time.

    Args:
        skills: the entries.
        where: they are locked.
        problems: gets what cannot be fetched.
        gone: gets the skills that their sources do not have any more. If it is given, what the sources have now is
            fetched, not the locked revisions.
    """
    groups: dict[tuple[str, str | None], tuple[Source, list[LockedSkill]]] = {}
    for skill in skills:
        try:
            source = source_of(skill, where.target.lock_folder)
        except ProwessError as error:
            problems.append(error)
        else:
            groups.setdefault((source.plain, skill.revision if gone is None else None), (source, []))[1].append(skill)
    found: list[FetchedEntry] = []
    for (_, revision), (source, entries) in groups.items():
        names = tuple(entry.name for entry in entries)
        known = [None if entry.skill_path is None else entry.skill_path.rpartition("/")[0] for entry in entries]
        wanted = Wanted(
            source=source,
            opened=where.opened,
            only=names,
            paths=() if None in known else tuple(path for path in known if path is not None),
            revision=revision,
            progress=where.progress,
        )
        try:
            if where.target.scope == "project":  # the lock of the user is the user's own
                (where.sources or LockSources(os.environ)).check(source, names, where.target.root)
            try:
                fetched = fetch(wanted)
            except SkillNotFoundError:
                if gone is None:
                    raise
                fetched = fetch(wanted.with_changes(only=()))
            missing = gone if gone is not None else []
            found += _match(wanted, entries, fetched, problems, missing)
            if gone is None:
                problems += [_lost(source, entry) for entry in missing]
        except ProwessError as error:
            problems.append(error)
    return found


def _match(
    wanted: Wanted,
    entries: Sequence[LockedSkill],
    fetched: Fetched,
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
                stored[skill.folder] = skill.put_into(wanted.opened)
        except InstallError as error:
            problems.append(error)
            continue
        found.append(
            FetchedEntry(entry=entry, source=wanted.source, skill=skill, fetched=fetched, stored=stored[skill.folder])
        )
    return found


def _lost(source: Source, entry: LockedSkill) -> InstallError:
    message = f"{quoted(source.text)} has no skill {quoted(entry.name)} where the lock says"
    return InstallError(message, hint=f"`prowess remove {shlex.quote(entry.name)}`, or restore the lock")
