"""Hold what one host sees from one directory, and find a skill in it by name, path or digest."""

from __future__ import annotations

import os
from itertools import product

from prowess._internal.files import expand_home
from prowess._internal.frozen import EMPTY, LazyFrozen
from prowess._internal.text import PATH_LIMIT, nearest_names, neutral, normalize_name, quoted

from ._entry import REACHABLE, Entry, State, with_digests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from prowess.clients.settings import Settings
    from prowess.errors import AmbiguousSkillError, SkillNotFoundError
    from prowess.filesystem import Filesystem
    from prowess.find import ScanRoot
    from prowess.findings import Finding
    from prowess.hosts import Host

    from ._providers import SkillProvider

_PATH_STARTS = ("/", "./", "../", "~/")
"""What only a path begins with."""
_PATHS = (".", "..", "~")
_HEXADECIMAL = "0123456789abcdef"


class Catalog(LazyFrozen, not_compared=("scan_roots", "settings")):
    """What one host sees from one directory: skills with states, highest precedence first, and findings."""

    host: Host
    cwd: str
    """The directory it is seen from, absolute and without links."""
    home: str
    """The user's home, absolute."""
    skills: Sequence[Entry]
    """A tuple, unless a provider lists a `SkillTable`."""
    findings: tuple[Finding, ...]
    """The findings that belong to no single skill."""
    scan_roots: tuple[ScanRoot, ...]
    """The directories that were scanned, highest precedence first."""
    settings: Settings
    readers: Mapping[str, SkillProvider] = EMPTY
    """The provider that reads a skill, by the skill's path; skills that are files of this machine are not in it."""

    @property
    def counts(self) -> dict[str, int]:
        """How many skills were found, and how many are in each state; the states add up to `found`."""
        counts = {"found": len(self.skills), **{str(state): 0 for state in State}}
        for entry in self.skills:
            counts[entry.state] += 1
        return counts

    @property
    def active(self) -> tuple[Entry, ...]:
        """The skills whose name and description the model gets."""
        return tuple(entry for entry in self.skills if entry.state is State.ACTIVE)

    @property
    def host_rules(self) -> frozenset[str]:
        """`template` and `budget`, if the host has its own for the block that a model gets.

        A catalog from the cache knows this without loading its host.
        """
        if self.get_if_loaded("host") is None:
            loader, _ = self.source
            return frozenset(loader.host_rules)
        return host_rules(self.host)

    def explain(self, reference: str) -> tuple[Entry, ...]:
        """Return every skill that a reference matches, with its digest, the winner first.

        Raises:
            SkillNotFoundError: no skill matches; the error suggests similar names.
        """
        candidates = self.candidates(reference)
        if not candidates:
            raise self.not_found_error(reference)
        return candidates

    def candidates(self, reference: str, filesystem: Filesystem | None = None) -> tuple[Entry, ...]:
        """Return the same as `explain`; nothing if no skill matches. `filesystem` records what is read for digests."""
        candidates = self._candidates(reference, filesystem)
        order = {state: at for at, state in enumerate(REACHABLE)}
        key = normalize_name(reference)
        candidates.sort(key=lambda entry: (order.get(entry.state, len(order)), normalize_name(entry.name) != key))
        return tuple(with_digests(candidates, filesystem))

    def resolve(self, reference: str) -> Entry:
        """Return the one skill that a reference matches, an active skill before others of the same name.

        A reference is `name`, `scope:name`, `package:name`, a path or the start of a digest.

        Raises:
            SkillNotFoundError: no skill matches.
            AmbiguousSkillError: several skills match, and no rule chooses.
        """
        candidates = self._candidates(reference)
        # A match of the name is preferred to a match of the folder or of the name inside a package.
        key = normalize_name(reference)
        named = [entry for entry in candidates if normalize_name(entry.name) == key]
        for state, entries in product((State.ACTIVE, State.USER_ONLY, None), (named, candidates)):
            matches = [entry for entry in entries if state is None or entry.state is state]
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise _ambiguous_error(reference, matches)
        raise self.not_found_error(reference)

    def _candidates(self, reference: str, filesystem: Filesystem | None = None) -> list[Entry]:
        """Return all skills that a reference may match: by name, by scope and name, by path or by digest."""
        # A skill may have the name `./other`; such a reference is the path of a skill all the same.
        if reference in _PATHS or reference.startswith(_PATH_STARTS):
            return self._entries_at(reference)
        key = normalize_name(reference)
        exact = [entry for entry in entries_named(self.skills, key) if key in entry.names]
        if exact:
            return exact
        scope, colon, rest = reference.partition(":")
        if colon and not rest.startswith("//"):
            if scope == "sha256" and rest:
                return self._entries_with_digest(rest.lower(), filesystem)
            inner = normalize_name(rest)
            named = entries_named(self.skills, inner)
            return [entry for entry in named if entry.scope == scope and inner in entry.names]
        if by_path := self._entries_at(reference):
            return by_path
        if hasattr(self.skills, "at") and (remote := self.skills.at(reference)) is not None:
            return [remote]
        if 8 <= len(reference) <= 64 and not reference.strip(_HEXADECIMAL):  # `re` takes longer to load
            return self._entries_with_digest(reference, filesystem)
        return []

    def _entries_at(self, reference: str) -> list[Entry]:
        """Return the skills of a file or folder, or of a server, by their path."""
        paths = reference, os.path.abspath(os.path.join(self.cwd, expand_home(reference, self.home)))
        local = getattr(self.skills, "entries", self.skills)
        return [entry for entry in local if entry.path in paths or os.path.dirname(entry.path) in paths]

    def _entries_with_digest(self, prefix: str, filesystem: Filesystem | None) -> list[Entry]:
        """Return the skills whose digest starts with a prefix."""
        start = f"sha256:{prefix}"
        digests = [entry.digest or "" for entry in with_digests(self.skills, filesystem)]
        return [entry for entry, digest in zip(self.skills, digests, strict=True) if digest.startswith(start)]

    def not_found_error(self, reference: str) -> SkillNotFoundError:
        """Return the error for a reference that matches no skill; it suggests similar names."""
        from prowess.errors import SkillNotFoundError

        names = list(dict.fromkeys(_skill_names(self.skills)))
        near = nearest_names(reference, names)
        option = "" if self.host.name == "prowess" else f" --host {self.host.name}"
        hint = (
            "did you mean " + " or ".join(quoted(name, PATH_LIMIT) for name in near) + "?"
            if near
            else f"`prowess list{option}` shows all skills"
        )
        return SkillNotFoundError(f"no skill is called {quoted(reference)} for host `{self.host.name}`", hint=hint)


# `_many` is not loaded for the tuples of most catalogs, so its sequence is recognized by its methods.


def entries_named(skills: Sequence[Entry], name: str) -> Sequence[Entry]:
    """Return all skills that a normalized name may mean; those of a `SkillTable` are looked up."""
    named: Callable[[str], Sequence[Entry]] | None = getattr(skills, "named", None)
    return skills if named is None else named(name)


def entry_at(skills: Sequence[Entry], path: str) -> Entry | None:
    """Return the skill with a path; those of a `SkillTable` are looked up."""
    at: Callable[[str], Entry | None] | None = getattr(skills, "at", None)
    return next((entry for entry in skills if entry.path == path), None) if at is None else at(path)


def skills_in_text(skills: Sequence[Entry], text: str) -> Sequence[Entry]:
    """Return the skills that a text may name; those of a `SkillTable` are looked up."""
    in_text: Callable[[str], Sequence[Entry]] | None = getattr(skills, "in_text", None)
    return skills if in_text is None else in_text(text)


def mapped_readers(readers: Mapping[str, Any], change: Callable[[Any], Any]) -> Mapping[str, Any]:
    """Return readers of which each is changed by a function; those of a `SkillTable` without a list of their paths."""
    mapped: Callable[[Callable[[Any], Any]], Mapping[str, Any]] | None = getattr(readers, "mapped", None)
    return {path: change(reader) for path, reader in readers.items()} if mapped is None else mapped(change)


def _skill_names(skills: Sequence[Entry]) -> Iterable[str]:
    names: Callable[[], Iterable[str]] | None = getattr(skills, "names", None)
    return (entry.name for entry in skills) if names is None else names()


def host_rules(host: Host) -> frozenset[str]:
    """Return `template` and `budget`, if a host has its own for the block that a model gets."""
    rules = {"template": bool(host.template.entry), "budget": bool(host.budget.limit)}
    return frozenset(name for name, has_rule in rules.items() if has_rule)


def _ambiguous_error(reference: str, candidates: list[Entry]) -> AmbiguousSkillError:
    """Return the error for a reference that matches several skills."""
    from prowess.errors import AmbiguousSkillError

    shown = "".join(f"\n  {neutral(entry.scope)}:{neutral(entry.name)}  {neutral(entry.path)}" for entry in candidates)
    return AmbiguousSkillError(
        f"{quoted(reference)} matches {len(candidates)} skills:{shown}",
        candidates=[entry.path for entry in candidates],
        hint="use the path of one of them",
    )
