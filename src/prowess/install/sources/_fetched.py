"""Say what is wanted of a source of skills, and describe what it gave: the skills, and the revision of the source."""

from __future__ import annotations

import hashlib
from functools import partial

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import PATH_LIMIT, nearest_names, quoted, quoted_list
from prowess.errors import AmbiguousSkillError, InstallError, SkillNotFoundError
from prowess.lock import os_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from prowess.findings import Finding
    from prowess.install._store import OpenStore, StoredTree
    from prowess.lock import Tree

    from ._source import Source


_KINDS = {
    "git": "git",
    "oci": "oci",
    "bucket": "bucket",
    "well-known": "site",
    "folder": "_folder",
}
"""Each kind of source, and the module whose `fetch` reads it."""


MAX_SKILLS = 5_000
"""Skills of one source."""


class Wanted(Frozen):
    """What is fetched from a source, and where to."""

    source: Source
    """A folder with its absolute path."""
    opened: OpenStore
    """The store, in whose temporary folders skills are put."""
    only: tuple[str, ...] = ()
    """The names of the skills; without any, all are fetched, or the one that the source names."""
    paths: tuple[str, ...] = ()
    """The folders of the skills in the source, with `/`, if a lock says them; a folder is not searched then."""
    revision: str | None = None
    """What is fetched in place of what the source has now: a commit, or the digest of a manifest. Folders, buckets and
    sites only have what they have now, so a caller who wants what is in a lock compares the digests."""
    progress: Callable[[str], None] | None = None
    """Called with what is being done."""
    is_choice: bool = False
    """Whether a user chooses: then the plugins of skills are found out, and what cannot be fetched is left out."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the wanted skills, each once; all if empty."""
        return tuple(dict.fromkeys(self.only or filter(None, (self.source.skill,))))

    def tell(self, text: str) -> None:
        """Say what is being done."""
        if self.progress is not None:
            self.progress(text)


class FetchedSkill(Frozen):
    """A skill that was fetched into a temporary folder of the store."""

    name: str
    """From its front matter."""
    path: str
    """Its folder in the source, with `/`, such as `skills/pdf`; empty if the source is the skill."""
    folder: str
    """Its folder on this machine, absolute."""
    plugin: str = ""
    """The plugin of a marketplace file, or of its own manifest, that it belongs to, if that was asked for."""
    extra: Mapping[str, str] = EMPTY
    """Further fields of the lock that only this kind of source has, such as `wellKnownDigest`."""
    tree: Tree | None = None
    """All its files, if they are known without reading them."""
    computed_hash: str | None = None
    """What the tool `skills` writes into its lock, if that is known without reading them."""
    problem: InstallError | None = None
    """Why it is not complete; a skill that is not wanted does no harm."""

    def put_into(self, opened: OpenStore) -> StoredTree:
        """Check the skill, and move it into the store.

        Raises:
            InstallError: something in it is not allowed, or it cannot be stored.
        """
        try:
            if self.problem is not None:
                raise self.problem
            return opened.add(self.folder, self.tree)
        except InstallError as error:
            raise InstallError(f"{quoted(self.name)}: {error}", hint=error.hint) from None


class Fetched(Frozen):
    """What a source gave."""

    skills: tuple[FetchedSkill, ...]
    revision: str | None
    """What names exactly this content: a commit of git, the digest of a manifest; `None` if the source has no such."""
    is_tag: bool = False
    """Whether a tag that should not move names it: of git, or of a registry but `latest`."""
    findings: tuple[Finding, ...] = ()
    """What was left out, and why."""


def fetch(wanted: Wanted) -> Fetched:
    """Fetch skills of a source into temporary folders of the store.

    Raises:
        ConfigError: a setting of this machine is missing or invalid: credentials, or a library.
        InstallError: the source cannot be read, what it has is no skill, or breaks a rule.
        SkillNotFoundError: the source has no skill of a name.
    """
    from importlib import import_module

    fetched: Fetched = import_module(f".{_KINDS[wanted.source.kind]}", __package__).fetch(wanted)
    return fetched


_MAX_NAMED = 10


def resolve_names(wanted: Iterable[str], found: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the names of wanted skills, each once; a skill is also found by the name of its folder.

    Args:
        wanted: names, or names of folders. One that matches nothing is returned as it is.
        found: the name of each skill of the source, and the path of its folder, with `/`.

    Raises:
        AmbiguousSkillError: several skills, none of which has the name, are in folders of that name.
    """
    found = [*found]
    names, folders = {name for name, _ in found}, dict[str, dict[str, None]]()
    for name, path in found:
        folders.setdefault(path.rpartition("/")[2], {})[name] = None
    resolved: dict[str, None] = {}
    for word in wanted:
        matches = [word] if word in names else [*folders.get(word, [word])]
        if len(matches) > 1:
            shown = ", ".join(map(quoted, sorted(matches)[:_MAX_NAMED]))
            message = f"{quoted(word)} is the folder of {len(matches):,} skills: {shown}"
            raise AmbiguousSkillError(message, candidates=matches, hint="give the name of one of them")
        resolved[matches[0]] = None
    return tuple(resolved)


def check_wanted(names: Iterable[str], known: Collection[str], where: str) -> None:
    """Check that a source has all wanted skills.

    Args:
        names: of the wanted ones.
        known: the names of those that it has.
        where: the source, in messages.

    Raises:
        SkillNotFoundError: it lacks some; all of these are named, and similar ones.
    """
    if missing := [name for name in names if name not in known]:
        shown = f"it has {quoted_list(sorted(known), _MAX_NAMED)}" if known else "check the source"
        near = dict.fromkeys(near for name in missing for near in nearest_names(name, known)[:1])
        skills = "skill" if len(missing) == 1 else "skills"
        hint = f"did you mean {', '.join(quoted(name, PATH_LIMIT) for name in near)}?" if near else shown
        raise SkillNotFoundError(f"{where} has no {skills} {', '.join(map(quoted, missing))}", hint=hint)


def digest_of(data: bytes) -> str:
    """Return the digest of bytes, as locks and registries write it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def digest_of_lines(lines: Iterable[str]) -> str:
    """Return a digest of texts, in any order."""
    return digest_of("".join(sorted(lines)).encode())


write_errors = partial(os_errors, "cannot write a fetched file", "make room on the disk")
"""Raise errors of the system as one that says that a fetched file could not be written."""
