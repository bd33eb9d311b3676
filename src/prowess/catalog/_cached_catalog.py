"""what a host saw here last <-> columns of text

Names, descriptions and states are kept, and what else is not as with most skills; the rest is asked of the disk again
when somebody asks for it.

    columns = names descriptions paths numbers clean places
    paths   = none where the skills' files are all that was opened, in the same order
    numbers = for each skill that of its place, from 0
    clean   = for each skill "1" (nothing is wrong with it), "0" (its findings are kept) or nothing (nobody asked)
    places  = for each place its root, scope and namespace
    more    = JSON: `odd` (number of a skill to what is not usual about it), `findings` (of no single skill), or nothing
"""

from __future__ import annotations

import os
import sys

from prowess._internal.files import package_folder
from prowess.findings import CODES, Finding, Severity

from ._entry import Entry, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from ._cache import CachedResult
    from ._precedence import ResolvedSkills

__all__ = ["CachedCatalog", "code_fingerprint", "encode_columns"]

_UNUSUAL_ATTRIBUTES = ("alias", "frontmatter_name", "real", "state", "reason", "rule", "shadowed_by")
"""Attributes that are kept where they are not what they are with most skills."""
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
_COLUMN_ATTRIBUTES = ("name", "description")
"""Attributes that have a column of their own, but for a text that a column cannot hold."""
_NOTHING_UNUSUAL: Mapping[str, Any] = {}
_EMPTY_REQUIREMENTS: dict[str, list[str]] = {"env": [], "bins": [], "packages": []}
_STATES, _SEVERITIES, _CLEAN_FLAGS = frozenset(State), frozenset(Severity), frozenset(("", "0", "1"))
_FINDING_TYPES: Mapping[str, Collection[object]] = {
    "code": _TEXT,
    "severity": _TEXT,
    "path": _TEXT_OR_NONE,
    "line": _NUMBER,
    "column": _NUMBER,
    "message": _TEXT,
    "hint": _TEXT_OR_NONE,
}


def _fingerprint_code() -> str:
    """Return the state of the source files of this package, at any depth, and of PyYAML's folder; empty if unknown."""
    states = []
    folders = [package_folder()]
    try:
        for folder in folders:  # grows as it is walked
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir():
                        folders.append(entry.path)
                    elif entry.name.endswith((".py", ".pyc")) and not folder.endswith("__pycache__"):
                        states.append(f"{entry.path}:{_fingerprint_status(entry.stat())}")
    except OSError:
        return ""
    yaml = [_fingerprint_path(os.path.join(path, "yaml")) for path in sys.path]
    about = [folders[0], sys.version, sys.getfilesystemencoding(), *filter(None, yaml)]
    return " ".join([*about, *sorted(states)]) if states else ""


def _fingerprint_path(path: str) -> str:
    try:
        return _fingerprint_status(os.stat(path))
    except (OSError, ValueError):
        return ""


def _fingerprint_status(status: os.stat_result) -> str:
    return f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


_CODE_FINGERPRINT = _fingerprint_code()
"""Of when this was imported: the code that runs goes on as it was if its files are replaced."""


def code_fingerprint() -> str:
    """Return what changes whenever this package, PyYAML or Python does: answers of other code are not believed.

    Empty where that cannot be told, as in a package that is run from an archive.
    """
    return _CODE_FINGERPRINT


def encode_columns(resolved: ResolvedSkills, files: list[str]) -> tuple[list[list[str]], bytes]:
    """Take apart what a host saw.

    Args:
        resolved: what it saw.
        files: paths of all files that were opened; mostly just the skills', which then need not be kept twice.

    Returns:
        What `Cache.keep` takes: the columns, and what belongs to none of them.
    """
    skills = resolved.skills
    scan_roots: dict[tuple[str, str, str | None], int] = {}
    root_numbers, clean_flags, unusual = [], [], {}
    for at, entry in enumerate(skills):
        scan_root = (entry.root, entry.scope, entry.namespace)
        root_numbers.append(str(scan_roots.setdefault(scan_root, len(scan_roots))))
        found = entry.get_if_loaded("findings")
        if found is None:
            loader, about = entry.source
            found = loader.known_findings(about)
        clean_flags.append("" if found is None else "0" if found else "1")
        rare = {
            name: value for name in _UNUSUAL_ATTRIBUTES if (value := getattr(entry, name)) != _usual_value(entry, name)
        }
        # A column cannot hold a NUL.
        rare.update((name, value) for name in _COLUMN_ATTRIBUTES if "\0" in (value := getattr(entry, name)))
        if (needs := entry.requirements.as_dict()) != _EMPTY_REQUIREMENTS:
            rare["requirements"] = needs
        if found:
            rare["findings"] = [item.as_dict() for item in found]
        if rare:
            unusual[at] = rare
    paths = [entry.path for entry in skills]
    columns = [
        [entry.name.replace("\0", "") for entry in skills],
        [entry.description.replace("\0", "") for entry in skills],
        [] if paths == files else paths,
        root_numbers,
        clean_flags,
        [part or "" for scan_root in scan_roots for part in scan_root],
    ]
    extra = b""
    if unusual or resolved.findings:
        import json

        general = [item.as_dict() for item in resolved.findings]
        extra = json.dumps({"odd": unusual, "findings": general}).encode()
    return columns, extra


def _usual_value(entry: Entry, name: str) -> object:
    """Return what an attribute is with most skills."""
    if name == "frontmatter_name":
        return _without_namespace(entry.name, entry.namespace)
    return {"real": entry.path, "state": State.ACTIVE, "rule": "found"}.get(name)


def _without_namespace(name: str, namespace: str | None) -> str:
    """Return a name without its namespace."""
    return name if namespace is None else name.removeprefix(f"{namespace}:")


class CachedCatalog:
    """What a host saw, from the cache.

    Args:
        cached: the cache's.
        host: its name.
        resolve_now: looks at the disk after all.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, RecursionError: the answer is not what `columns_of` makes.
    """

    def __init__(self, cached: CachedResult, host: str, resolve_now: Callable[[], ResolvedSkills]) -> None:
        if len(cached.column_lengths) != 6:
            raise ValueError("another number of columns")
        self.names, paths, self.root_numbers, self.clean_flags, scan_roots = map(cached.column, (0, 2, 3, 4, 5))
        self.paths = paths or list(cached.files if self.names else ())
        if (
            len({cached.column_lengths[1], *map(len, (self.names, self.paths, self.root_numbers, self.clean_flags))})
            != 1
        ):
            raise ValueError("columns of different length")
        self._answer = cached
        self._descriptions: list[str] = []
        self._without_description: list[Entry] = []
        rows = zip(scan_roots[::3], scan_roots[1::3], scan_roots[2::3], strict=True)
        self.scan_roots = {str(at): scan_root for at, scan_root in enumerate(rows)}
        self._host, self._resolve_now = host, resolve_now
        self._current: ResolvedSkills | None = None
        self._entries: dict[str, Entry] = {}
        self.unusual: dict[int, dict[str, Any]] = {}
        self.findings: tuple[Finding, ...] = ()
        if cached.extra:
            import json

            table = json.loads(cached.extra)
            _check_row(table, {"odd": frozenset((dict,)), "findings": frozenset((list,))})
            self.unusual = {int(at): rare for at, rare in table["odd"].items()}
            for row in table["findings"]:
                _check_finding(row)
            self.findings = tuple(map(_finding, table["findings"]))
        self._validate()

    def _validate(self) -> None:
        """Look through all of it now: whoever asks for an attribute later is not told that there is none.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: something is not as `columns_of` makes it.
        """
        count = len(self.names)
        if not self.scan_roots.keys() >= set(self.root_numbers) or not set(self.clean_flags) <= _CLEAN_FLAGS:
            raise ValueError("a place or a mark that is none")
        told = 0
        for at, rare in self.unusual.items():
            if not 0 <= at < count or rare.get("state", "active") not in _STATES:
                raise ValueError("a skill or a state that is none")
            _check_row(rare, {name: _UNUSUAL_TYPES[name] for name in rare})
            for needs in rare.get("requirements", _EMPTY_REQUIREMENTS).values():
                if type(needs) is not list or not all(type(need) is str for need in needs):
                    raise ValueError("other requirements")
            found = rare.get("findings", ())
            if bool(found) != (self.clean_flags[at] == "0"):
                raise ValueError("findings of a clean skill")
            told += bool(found)
            for row in found:
                _check_finding(row)
        if told != self.clean_flags.count("0"):
            raise ValueError("no findings of a skill that has some")

    def skills(self) -> tuple[Entry, ...]:
        """Return the entries."""
        active, unusual = State.ACTIVE, self.unusual
        entries = [Entry.lazily_active(self, at, name) for at, name in enumerate(self.names)]
        for at, rare in unusual.items():
            state = State(rare["state"]) if "state" in rare else active
            entries[at] = Entry.from_loader(self, at, name=rare.get("name", self.names[at]), state=state)
        self._without_description = entries
        return tuple(entries)

    @property
    def descriptions(self) -> list[str]:
        """The descriptions of all skills, taken apart when the first of them is asked for."""
        if not self._descriptions:
            try:
                self._descriptions = self._answer.column(1)
            except ValueError:  # somebody wrote it by hand, with a right checksum
                self._descriptions = [""] * len(self.names)
            # Whoever asks for one mostly asks for all: they are told at once.
            for at, entry in enumerate(self._without_description):
                _set_attribute(
                    entry,
                    "description",
                    self.unusual.get(at, _NOTHING_UNUSUAL).get("description", self._descriptions[at]),
                )
            self._without_description = []
        return self._descriptions

    def load_field(self, about: int | None, name: str) -> Any:
        """Return a field of the catalog, or of the skill of that number."""
        if about is not None:
            return self._attribute_of(about, name)
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
        if not self._entries:
            self._entries = {entry.path: entry for entry in self.current.skills}
        return self._entries.get(path)

    def _attribute_of(self, at: int, name: str) -> Any:
        """Return an attribute of a skill's entry."""
        if name == "path":
            return self.paths[at]
        rare = self.unusual.get(at, {})
        if name == "description":
            return rare[name] if name in rare else self.descriptions[at]
        if name in ("root", "scope", "namespace"):
            root, scope, namespace = self.scan_roots[self.root_numbers[at]]
            return {"root": root, "scope": scope, "namespace": namespace or None}[name]
        if name == "folder":
            return os.path.basename(os.path.dirname(self.paths[at]))
        if name == "digest":
            return None
        if name == "requirements":
            from prowess.skill import Requirements

            needs = rare.get(name, {})
            return Requirements(**{key: tuple(texts) for key, texts in needs.items()})
        if name == "findings" and self.clean_flags[at]:
            return tuple(map(_finding, rare.get("findings", ())))
        if name in _UNUSUAL_ATTRIBUTES:
            if name in rare:
                return rare[name]
            if name == "frontmatter_name":
                return _without_namespace(self.names[at], self._attribute_of(at, "namespace"))
            return {"real": self.paths[at], "rule": "found"}.get(name)
        entry = self.current_entry(self.paths[at])
        if entry is not None:
            return getattr(entry, name)
        return self._read_removed(at, name)

    def _read_removed(self, at: int, name: str) -> Any:
        """Tell the skill, or the findings, of one that was removed since its answer was found to be still so."""
        from prowess.skill import load

        skill = load(self.paths[at])
        return skill if name == "skill" else skill.findings


def _check_row(row: dict[str, Any], kinds: Mapping[str, Collection[object]]) -> None:
    """Look whether a row has these keys, with values of these types.

    Raises:
        ValueError: it has not.
    """
    if type(row) is not dict or row.keys() != kinds.keys():
        raise ValueError("another row")
    for name, value in row.items():
        if type(value) not in kinds[name]:
            raise ValueError("a value of another type")


def _check_finding(row: dict[str, Any]) -> None:
    _check_row(row, _FINDING_TYPES)
    positions = (row["line"], row["column"])
    if (
        row["code"] not in CODES
        or row["severity"] not in _SEVERITIES
        or any(at is not None and at < 1 for at in positions)
    ):
        raise ValueError("another finding")


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(**{**row, "severity": Severity(row["severity"])})


_set_attribute = object.__setattr__
