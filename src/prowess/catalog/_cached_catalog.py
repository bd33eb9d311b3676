"""Load a catalog from the cache.

Names, descriptions and states are stored, and other attributes if they differ from those of most skills. The rest is
read from the disk when a caller asks for it.

    columns      = names descriptions paths root_numbers clean_flags scan_roots host_rules fronts
    paths        = empty if the skills' files are all that was opened, in the same order
    root_numbers = for each skill the number of its scan root, from 0
    clean_flags  = for each skill "1" (no findings), "0" (its findings are in `extra`) or "" (findings not known)
    scan_roots   = for each scan root its path, scope, namespace, and its path without links if that is another one
    host_rules   = "template" and "budget", if the host has its own
    fronts       = for each skill its front matter without the description, if that alone decided all but the latter
    extra        = empty, or JSON: `odd` (numbers of skills: their unusual attributes), `findings` (of no single skill)
"""

from __future__ import annotations

import os

from ._entry import Entry, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from prowess.findings import Finding

    from ._cache import CachedResult
    from ._resolve import ResolvedSkills

__all__ = [
    "CLEAN_FLAGS",
    "COLUMN_ATTRIBUTES",
    "DESCRIPTIONS",
    "EMPTY_REQUIREMENTS",
    "FRONTS",
    "PATHS",
    "ROOT_NUMBERS",
    "SCAN_ROOTS",
    "UNUSUAL_ATTRIBUTES",
    "CachedCatalog",
    "path_without_links",
    "without_namespace",
]

UNUSUAL_ATTRIBUTES = ("alias", "frontmatter_name", "real", "state", "reason", "rule", "shadowed_by")
"""Attributes that are stored if they differ from those of most skills."""
COLUMN_ATTRIBUTES = ("name", "description")
"""Attributes that have a column. A text with a NUL, which a column cannot hold, is stored in `extra`."""
EMPTY_REQUIREMENTS: dict[str, list[str]] = {"env": [], "bins": [], "packages": []}
NAMES, DESCRIPTIONS, PATHS, ROOT_NUMBERS, CLEAN_FLAGS, SCAN_ROOTS, HOST_RULES, FRONTS = range(8)
"""The numbers of the columns."""
_NAME_ATTRIBUTES = ("alias", "frontmatter_name", "folder")
_TEXT: frozenset[object] = frozenset((str,))
_TEXT_OR_NONE, _NUMBER = frozenset((str, type(None))), frozenset((int, type(None)))
_UNUSUAL_TYPES: Mapping[str, Collection[object]] = {
    "name": _TEXT,
    "description": _TEXT,
    "requirements": frozenset((dict,)),
    "alias": _TEXT_OR_NONE,
    "frontmatter_name": _TEXT_OR_NONE,
    "real": _TEXT,
    "state": _TEXT,
    "reason": _TEXT_OR_NONE,
    "rule": _TEXT,
    "shadowed_by": _TEXT_OR_NONE,
    "findings": frozenset((list,)),
}
_NOTHING_UNUSUAL: Mapping[str, Any] = {}
_HOST_RULES = frozenset(("template", "budget"))
_STATES, _CLEAN_FLAGS = frozenset(State), frozenset(("", "0", "1"))
_FINDING_TYPES: Mapping[str, Collection[object]] = {
    "code": _TEXT,
    "severity": _TEXT,
    "path": _TEXT_OR_NONE,
    "line": _NUMBER,
    "column": _NUMBER,
    "message": _TEXT,
    "hint": _TEXT_OR_NONE,
}


class CachedCatalog:
    """What a host saw, from the cache.

    Args:
        cached: the cached result.
        host: the host's name.
        resolve_now: reads the disk, for what was not stored.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, RecursionError: the result is not what `encode_columns` writes.
    """

    def __init__(self, cached: CachedResult, host: str, resolve_now: Callable[[], ResolvedSkills]) -> None:
        if len(cached.column_lengths) != FRONTS + 1:
            raise ValueError("wrong number of columns")
        self.names, paths, scan_roots = map(cached.column, (NAMES, PATHS, SCAN_ROOTS))
        self.root_numbers, self.clean_flags = cached.column(ROOT_NUMBERS), cached.column(CLEAN_FLAGS)
        self.paths = paths or list(cached.files if self.names else ())
        counts = [*map(len, (self.names, self.paths, self.root_numbers, self.clean_flags))]
        lengths = {cached.column_lengths[DESCRIPTIONS], cached.column_lengths[FRONTS], *counts}
        if len(lengths) != 1:
            raise ValueError("columns of different length")
        rows = zip(scan_roots[::4], scan_roots[1::4], scan_roots[2::4], scan_roots[3::4], strict=True)
        self.scan_roots = {str(at): scan_root for at, scan_root in enumerate(rows)}
        self.host_rules = frozenset(cached.column(HOST_RULES))
        """`template` and `budget`, if the host has its own for the block that a model gets."""
        if not self.host_rules <= _HOST_RULES:
            raise ValueError("unknown rule of a host")
        self._cached = cached
        self._descriptions: list[str] = []
        self._without_description: list[Entry] = []
        self._without_names: list[Entry] = []
        self._host, self._resolve_now = host, resolve_now
        self._current: ResolvedSkills | None = None
        self._current_entries: dict[str, Entry] = {}
        self._unusual_groups: list[tuple[list[int], dict[str, Any]]] = []
        self.unusual: dict[int, dict[str, Any]] = {}
        self.findings: tuple[Finding, ...] = ()
        if cached.extra:
            self._read_extra(cached.extra)
        self._validate()

    def _read_extra(self, extra: bytes) -> None:
        import json

        table = json.loads(extra)
        _check_types(table, {"odd": frozenset((dict,)), "findings": frozenset((list,))})
        self._unusual_groups = [
            ([*map(int, numbers.split(" "))], attributes) for numbers, attributes in table["odd"].items()
        ]
        self.unusual = {at: attributes for numbers, attributes in self._unusual_groups for at in numbers}
        for item in table["findings"]:
            _check_finding(item)
        self.findings = _make_findings(table["findings"])

    def _validate(self) -> None:
        """Check all of the result now, so that no attribute fails later.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: the result is not what `encode_columns` writes.
        """
        count = len(self.names)
        if not self.scan_roots.keys() >= set(self.root_numbers) or not set(self.clean_flags) <= _CLEAN_FLAGS:
            raise ValueError("unknown scan root or flag")
        with_findings = 0
        for numbers, attributes in self._unusual_groups:
            if not 0 <= min(numbers) <= max(numbers) < count or attributes.get("state", "active") not in _STATES:
                raise ValueError("unknown skill or state")
            _check_types(attributes, {name: _UNUSUAL_TYPES[name] for name in attributes})
            for texts in attributes.get("requirements", EMPTY_REQUIREMENTS).values():
                if type(texts) is not list or not all(type(text) is str for text in texts):
                    raise ValueError("invalid requirements")
            findings = attributes.get("findings", ())
            if any(bool(findings) != (self.clean_flags[at] == "0") for at in numbers):
                raise ValueError("a clean skill has findings")
            with_findings += len(numbers) if findings else 0
            for item in findings:
                _check_finding(item)
        if with_findings != self.clean_flags.count("0"):
            raise ValueError("findings are missing")

    def skills(self) -> tuple[Entry, ...]:
        """Return the entries."""
        active = State.ACTIVE
        entries = [Entry.lazily_active(self, at, name) for at, name in enumerate(self.names)]
        for numbers, attributes in self._unusual_groups:
            if "state" in attributes or "name" in attributes:
                state = State(attributes.get("state", active))
                for at in numbers:
                    entries[at] = Entry.from_loader(self, at, name=attributes.get("name", self.names[at]), state=state)
        self._without_description, self._without_names = entries, entries
        return tuple(entries)

    @property
    def descriptions(self) -> list[str]:
        """The descriptions of all skills, split when a caller asks for the first of them."""
        if not self._descriptions:
            self._descriptions = self._split_descriptions()
            # A caller that asks for one mostly asks for all, so all entries get theirs at once.
            for at, entry in enumerate(self._without_description):
                attributes = self.unusual.get(at, _NOTHING_UNUSUAL)
                _set_attribute(entry, "description", attributes.get("description", self._descriptions[at]))
            self._without_description = []
            self._cached.replace_column(DESCRIPTIONS, self._descriptions)  # which frees the column
        return self._descriptions

    def _split_descriptions(self) -> list[str]:
        try:
            return self._descriptions or self._cached.column(DESCRIPTIONS)
        except ValueError:  # written by hand, with a valid checksum
            return [""] * len(self.names)

    def searched_columns(self) -> tuple[list[Any], ...]:
        """Return the real paths, both names, the descriptions and the roots of skills, without loading entries."""
        roots = [self.scan_roots[number][0] for number in self.root_numbers]
        real_paths = [*map(self._real_path, range(len(self.names)))]
        descriptions = self._split_descriptions().copy()
        columns: list[list[Any]] = [real_paths, [*self.names], [None] * len(self.names), descriptions, roots]
        for at, unusual in self.unusual.items():
            for column, name in zip(columns, ("real", "name", "alias", "description"), strict=False):
                column[at] = unusual.get(name, column[at])
        return tuple(columns)

    def known_fingerprints(self) -> dict[str, bytes]:
        """Return the fingerprints of the files, by path, as they were when the cache was checked."""
        return self._cached.fingerprints()

    def _load_names(self) -> None:
        """Give all entries the names by which a user may look for them: who asks for those of one asks for all."""
        namespaces = {number: namespace or None for number, (_, _, namespace, _) in self.scan_roots.items()}
        rows = zip(self._without_names, self.names, self.paths, self.root_numbers, strict=True)
        for at, (entry, name, path, root_number) in enumerate(rows):
            unusual, namespace = self.unusual.get(at, _NOTHING_UNUSUAL), namespaces[root_number]
            own_name = name if namespace is None else without_namespace(name, namespace)
            _set_attribute(entry, "alias", unusual.get("alias"))
            _set_attribute(entry, "frontmatter_name", unusual.get("frontmatter_name", own_name))
            _set_attribute(entry, "folder", os.path.basename(os.path.dirname(path)))
        self._without_names = []

    def load_field(self, number: int | None, name: str) -> Any:
        """Return a field of the catalog, or of the skill with a number."""
        if number is not None:
            return self._load_attribute(number, name)
        if name == "host":
            from prowess.hosts import load_host

            return load_host(self._host)
        return getattr(self.current, name)

    @property
    def current(self) -> ResolvedSkills:
        """What the host sees now."""
        if self._current is None:
            self._current = self._resolve_now()
        return self._current

    def current_entry(self, path: str) -> Entry | None:
        """Return the entry of a skill as the host sees it now."""
        if not self._current_entries:
            self._current_entries = {entry.path: entry for entry in self.current.skills}
        return self._current_entries.get(path)

    def _load_attribute(self, number: int, name: str) -> Any:
        """Return an attribute of a skill's entry."""
        if name == "path":
            return self.paths[number]
        if name in _NAME_ATTRIBUTES and self._without_names:
            self._load_names()
        unusual = self.unusual.get(number, _NOTHING_UNUSUAL)
        if name == "description":
            return unusual[name] if name in unusual else self.descriptions[number]
        if name in ("root", "scope", "namespace"):
            root, scope, namespace, _ = self.scan_roots[self.root_numbers[number]]
            return {"root": root, "scope": scope, "namespace": namespace or None}[name]
        if name == "folder":
            return os.path.basename(os.path.dirname(self.paths[number]))
        if name == "digest":
            return None
        if name == "requirements":
            from prowess.skill import Requirements

            requirements = unusual.get(name, {})
            return Requirements(**{key: tuple(texts) for key, texts in requirements.items()})
        if name == "findings" and self.clean_flags[number]:
            return _make_findings(unusual.get("findings", ()))
        if name in UNUSUAL_ATTRIBUTES:
            if name in unusual:
                return unusual[name]
            if name == "frontmatter_name":
                return without_namespace(self.names[number], self._load_attribute(number, "namespace"))
            return {"real": self._real_path(number), "rule": "found"}.get(name)
        entry = self.current_entry(self.paths[number])
        return self._read_removed(number, name) if entry is None else getattr(entry, name)

    def _real_path(self, number: int) -> str:
        """Return the path of a skill without links, unless it is unusual."""
        path = self.paths[number]
        root, _, _, real_root = self.scan_roots[self.root_numbers[number]]
        return path_without_links(path, root, real_root)

    def _read_removed(self, number: int, name: str) -> Any:
        """Return the skill, or the findings, of an entry that was removed after the cache was checked."""
        from prowess.skill import load

        skill = load(self.paths[number])
        return skill if name == "skill" else skill.findings


def path_without_links(path: str, root: str, real_root: str) -> str:
    """Return the path of a skill without links; `real_root` is that of its root, empty if that has no links."""
    return f"{real_root}{path.removeprefix(root)}" if real_root else path


def without_namespace(name: str, namespace: str | None) -> str:
    """Return a name without its namespace."""
    return name if namespace is None else name.removeprefix(f"{namespace}:")


def _check_types(table: dict[str, Any], types: Mapping[str, Collection[object]]) -> None:
    """Check that a table has exactly these keys, with values of these types.

    Raises:
        ValueError: it has not.
    """
    if type(table) is not dict or table.keys() != types.keys():
        raise ValueError("wrong keys")
    for name, value in table.items():
        if type(value) not in types[name]:
            raise ValueError("wrong type of value")


def _check_finding(table: dict[str, Any]) -> None:
    from prowess.findings import CODES, Severity

    _check_types(table, _FINDING_TYPES)
    positions = (table["line"], table["column"])
    if (
        table["code"] not in CODES
        or table["severity"] not in list(Severity)
        or any(at is not None and at < 1 for at in positions)
    ):
        raise ValueError("invalid finding")


def _make_findings(tables: Sequence[dict[str, Any]]) -> tuple[Finding, ...]:
    if not tables:
        return ()
    from prowess.findings import Finding, Severity

    return tuple(Finding(**{**table, "severity": Severity(table["severity"])}) for table in tables)


_set_attribute = object.__setattr__
