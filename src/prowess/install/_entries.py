"""Write the entry of the lock for a fetched skill, and find out from an entry where its skill comes from.

Source + FetchedSkill + Tree -> LockedSkill -> Source
"""

from __future__ import annotations

import os
import re

from prowess._internal.frozen import EMPTY
from prowess._internal.text import quoted
from prowess.errors import InstallError

from ._computed_hash import computed_hash
from ._lock import LockedSkill
from ._source import parse_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._fetched import Fetched, FetchedSkill
    from ._source import Source
    from ._store import StoredTree

__all__ = ["LINK_KEY", "entry_for", "is_pinned", "same_source", "source_of"]

LINK_KEY = "link"
"""The key inside `prowess` of an entry whose skill is installed as a link."""
_KINDS = {
    "github": "git",
    "gitlab": "git",
    "git": "git",
    "oci": "oci",
    "bucket": "bucket",
    "well-known": "well-known",
    "local": "folder",
}
"""The kind of source for each `sourceType` of a lock."""
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
        computed_hash=skill.noted.computed_hash if skill.noted else computed_hash(stored.folder),
        well_known_digest=skill.extra.get("wellKnownDigest"),
        revision=fetched.revision,
        tree_digest=stored.tree.digest,
        files={file.path: f"{file.mode} sha256:{file.sha256}" for file in stored.tree.files},
        hosts=hosts,
        other_prowess={**other, **({LINK_KEY: True} if link else {})} or EMPTY,
    )


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
    kind = _KINDS.get(skill.source_type)
    if kind is None:
        hint = "`npx skills install` installs it" if skill.source_type == "node_modules" else "update Prowess"
        raise InstallError(f"{name} comes from {quoted(skill.source_type)}, which is not supported", hint=hint)
    if skill.revision is not None and not _REVISION(skill.revision):
        raise InstallError(f"the lock has an invalid revision for {name}", hint="restore the lock")
    text = os.path.normpath(os.path.join(folder, skill.source)) if kind == "folder" else _source_text(skill, kind)
    source = parse_source(text)
    if source.kind != kind:
        message = (
            f"the lock says that {name} comes from {quoted(skill.source_type)}, but {quoted(text)} is another kind"
        )
        raise InstallError(message, hint="restore the lock, or install the skill again")
    return source


def _source_text(skill: LockedSkill, kind: str) -> str:
    url = skill.source_url or skill.source
    ref = skill.ref or ""
    if kind == "oci":
        return f"{url}{'@' if ref.startswith('sha256:') else ':' if ref else ''}{ref}"
    if kind == "git" and "://" in url and not url.endswith(".git") and skill.source_type == "git":
        url = f"git+{url}" if not url.startswith("ssh://") else url
    return f"{url}#{ref}" if ref else url


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
