"""Remember which skills a source had at a revision, so that they can be added again without a network.

    DATA/store/sources/HEX.json    {"source": URL, "revision": COMMIT, "all": true,
                                    "skills": {PATH: {"name", "digest", "extra"}}}

Only a revision that names its content forever is remembered: a commit of git, or the digest of an artifact. The skills
themselves are in the store; one that was swept is forgotten.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.fs import atomic_replace
from prowess.errors import InstallError

from ._fetched import Fetched, FetchedSkill
from ._store import SOURCES
from ._tree import read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ._source import Source
    from ._store import OpenStore

__all__ = ["pinned_revision", "recall", "remember"]

_KINDS = ("git", "oci")
_REVISION = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}|sha256:[0-9a-f]{64}").fullmatch
_MAX_BYTES = 8 << 20


def pinned_revision(source: Source, revision: str | None) -> str | None:
    """Return the revision of a source if it names its content forever, or `None`."""
    chosen = source.ref if revision is None else revision
    return chosen if chosen is not None and source.kind in _KINDS and _REVISION(chosen) else None


def remember(
    source: Source,
    fetched: Fetched,
    digests: Iterable[tuple[FetchedSkill, str]],
    opened: OpenStore,
    *,
    all_skills: bool,
) -> None:
    """Remember the skills of a source, with their tree digests; nothing else depends on it, so failing is no error.

    Args:
        source: where they were fetched from.
        fetched: what was fetched.
        digests: the skills that are in the store now.
        opened: the store.
        all_skills: whether these are all skills of the source.
    """
    import json

    revision = pinned_revision(source, fetched.revision)
    if revision is None:
        return
    path = _path(source, revision, opened)
    known = _read(path, source, revision) or {"skills": {}}
    skills = known["skills"]
    for skill, digest in digests:
        skills[skill.path] = {"name": skill.name, "digest": digest, "extra": dict(skill.extra)}
    content = {
        "source": source.url,
        "revision": revision,
        "all": all_skills or known.get("all") is True,
        "skills": dict(sorted(skills.items())),
    }
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        atomic_replace(path, json.dumps(content).encode())
    except (OSError, ValueError):
        return


def recall(source: Source, opened: OpenStore, only: Sequence[str], revision: str | None) -> Fetched | None:
    """Return the skills of a source if the store has all that are wanted, or `None`.

    Args:
        source: where they are.
        opened: the store.
        only: the names of those that are wanted; by default all.
        revision: as `fetch` gets it.
    """
    pinned = pinned_revision(source, revision)
    if pinned is None:
        return None
    known = _read(_path(source, pinned, opened), source, pinned)
    if known is None or not (only or known["all"]):
        return None
    below = f"{source.path}/" if source.path else ""
    skills = []
    for path, skill in known["skills"].items():
        if f"{path}/".startswith(below) and (not only or skill["name"] in only):
            try:
                folder = opened.get(skill["digest"])
                if folder is None or read_tree(folder).digest != skill["digest"]:
                    return None
            except InstallError:
                return None
            skills.append(FetchedSkill(name=skill["name"], path=path, folder=folder, extra=skill["extra"]))
    if not skills or {*only} - {skill.name for skill in skills}:
        return None
    return Fetched(skills=tuple(skills), revision=pinned)


def _path(source: Source, revision: str, opened: OpenStore) -> str:
    import hashlib

    name = hashlib.sha256(f"{source.kind} {source.url} {revision}".encode()).hexdigest()
    return os.path.join(opened.folder, SOURCES, f"{name}.json")


def _read(path: str, source: Source, revision: str) -> dict[str, Any] | None:
    """Return what is known of a revision; `None` if that is nothing, or the file is damaged."""
    import json

    try:
        known = json.loads(read_file(path, _MAX_BYTES))
        if (known["source"], known["revision"]) != (source.url, revision) or not isinstance(known["all"], bool):
            return None
        for path_in_source, skill in known["skills"].items():
            texts = (path_in_source, skill["name"], skill["digest"], *skill["extra"], *skill["extra"].values())
            if not all(isinstance(text, str) for text in texts):
                return None
    except (UnreadableError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return known if isinstance(known, dict) else None
