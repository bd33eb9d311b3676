"""Write what a host saw as bytes for the cache, load it again, and bring it up to date after a few files have changed.

    result = skills findings host_rules fronts

A skill is a tuple of the attributes in `_FIELDS`, its findings (`None` if not known) and its requirements. Equal texts
are one object, in the file too, and of a loaded tuple only what its entry does not hold stays in memory. A front is
front matter without the description, if that alone decided all but the latter. What is not stored is read from the disk
when a caller asks for it.
"""

from __future__ import annotations

import marshal
from operator import attrgetter

from ._entry import PLACE_FIELDS, Entry, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from prowess.cache import Recorded
    from prowess.filesystem import Filesystem
    from prowess.findings import Finding
    from prowess.hosts import Host

    from ._evaluate import Evaluator, Reading
    from ._resolve import ResolvedSkills

_FIELDS = (*PLACE_FIELDS, "description")
_FIELDS_OF_CLEAN = (*_FIELDS, "findings")
_STATE, _REAL, _SCOPE, _DESCRIPTION = map(_FIELDS.index, ("state", "real", "scope", "description"))
_PATH, _RULE = map(_FIELDS.index, ("path", "rule"))
_COUNT = len(_FIELDS)
_STATES = {str(state): state for state in State}
_values = attrgetter(*_FIELDS)


def encode_catalog(resolved: ResolvedSkills, host_rules: Collection[str], read_closely: Collection[str]) -> bytes:
    """Return what a host saw as bytes.

    Args:
        resolved: what it saw.
        host_rules: as in `Catalog.host_rules`.
        read_closely: paths of files of which more was asked than the fast path reads.
    """
    skills, fronts = [], []
    for entry in resolved.skills:
        evaluator: Evaluator
        reading: Reading
        evaluator, reading = entry.source
        values = list(_values(entry))
        values[_STATE] = str(entry.state)
        same = dict(zip(values, values, strict=True))
        values = [same[value] for value in values]
        findings = entry.get_if_loaded("findings")
        findings = evaluator.known_findings(reading) if findings is None else findings
        requirements = None if reading.is_plain else entry.requirements.as_dict()
        tables = None if findings is None else tuple(item.as_dict() for item in findings)
        skills.append((*values, tables, requirements))
        is_decisive = reading.is_plain and entry.path not in read_closely and entry.real not in read_closely
        fast_fields = reading.item.fast_fields
        fronts.append(_without_description(fast_fields[3]) if is_decisive and fast_fields else b"")
    general = [item.as_dict() for item in resolved.findings]
    return marshal.dumps((skills, general, sorted(host_rules), marshal.dumps(fronts)))


class RecordedCatalog:
    """What a host saw, from the cache.

    Args:
        recorded: the cached result.
        host: the host's name.
        resolve_now: reads the disk, for what was not stored.
    """

    def __init__(self, recorded: Recorded, host: str, resolve_now: Callable[[], ResolvedSkills]) -> None:
        skills, findings, host_rules, _ = marshal.loads(recorded.data)  # noqa: S302 - as its file
        recorded.data = b""  # no longer needed: a third of the memory
        self.host_rules = frozenset(host_rules)
        """`template` and `budget`, if the host has its own for the block that a model gets."""
        for number, row in enumerate(skills):
            skills[number] = self._entry(row)
        self.skills: tuple[Entry, ...] = tuple(skills)
        self.findings = _findings(findings)
        self._recorded, self._host, self._resolve_now = recorded, host, resolve_now
        self._current: ResolvedSkills | None = None
        self._current_entries: dict[str, Entry] = {}

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        values = [*row[:_COUNT]]
        values[_STATE] = _STATES[values[_STATE]]
        if row[_COUNT] == ():
            source = row[_PATH] if row[-1] is None else (row[_PATH], *row[_COUNT:])
            return Entry.from_values(self, source, (*values, ()), _FIELDS_OF_CLEAN)
        return Entry.from_values(self, (row[_PATH], *row[_COUNT:]), values, _FIELDS)

    def known_fingerprints(self) -> Mapping[str, bytes]:
        """Return the fingerprints of the files, by path, as they were when the cache was checked."""
        return self._recorded.known_fingerprints()

    def load_field(self, source: str | tuple[Any, ...] | None, name: str) -> Any:
        """Return a field of the catalog (`None`) or of a skill: its path, or that with findings and requirements."""
        if source is None:
            return self._load_host() if name == "host" else getattr(self._resolved(), name)
        path, findings, requirements = (source, (), None) if isinstance(source, str) else source
        if name == "findings" and findings is not None:
            return _findings(findings)
        if name == "requirements":
            from prowess.skill import Requirements

            return Requirements(**{key: tuple(texts) for key, texts in (requirements or {}).items()})
        if not self._current_entries:
            self._current_entries = {entry.path: entry for entry in self._resolved().skills}
        entry = self._current_entries.get(path)
        if entry is not None:
            return getattr(entry, name)
        from prowess.skill import load

        skill = load(path)  # it was removed after the cache was checked
        return skill if name == "skill" else skill.findings

    def _load_host(self) -> Host:
        from prowess.hosts import load_host

        return load_host(self._host)

    def _resolved(self) -> ResolvedSkills:
        """Return what the host sees now."""
        if self._current is None:
            self._current = self._resolve_now()
        return self._current


def refresh(recorded: Recorded, host: str, filesystem: Filesystem) -> bytes | None:
    """Return a result after the content of a few files has changed, or `None` if that takes a new walk.

    All that the host decided of these skills must follow from front matter that the fast path reads, and the new front
    matter must differ in nothing but the description.

    Args:
        recorded: the result, with files that have changed.
        host: whose result it is.
        filesystem: with a record of fingerprints.
    """
    from prowess.clients.settings import Settings
    from prowess.hosts import load_host, measure_text

    from ._evaluate import Evaluator

    skills, *rest, fronts = marshal.loads(recorded.data)  # noqa: S302 - as its file
    fronts = marshal.loads(fronts)  # noqa: S302
    rules = load_host(host)
    evaluator, shown = Evaluator(rules, Settings(), filesystem), rules.description_rules
    numbers = {row[_REAL]: number for number, row in enumerate(skills)}
    # A budget makes the description of one skill depend on those of the others. One that was cut to fit may have become
    # what was left of it.
    is_cut = rules.budget.limit and any(row[_RULE] == "budget" for row in skills)
    limit = shown.limit if rules.settings else 0
    for path in recorded.changed_files():
        number = numbers.get(path)
        if number is None or not fronts[number] or len(numbers) < len(skills):
            return None
        new = filesystem.read_fast(path, whole=rules.reading.whole_file)
        if new is None or _without_description(new[3]) != fronts[number] or not evaluator.reads_plainly(new):
            return None
        row = [*skills[number]]
        row[_COUNT] = None
        description, _ = evaluator.shown_description(new[1], row[_SCOPE])
        if limit and measure_text(new[1], shown.unit) > limit:
            return None  # its user may have set another one
        if rules.budget.limit and (is_cut or description != row[_DESCRIPTION]):
            return None
        row[_DESCRIPTION] = description
        skills[number] = tuple(row)
    return marshal.dumps((skills, *rest, marshal.dumps(fronts)))


def _without_description(front: bytes) -> bytes:
    # Not compiled on import, which takes longer than all else that a cached command does.
    import re

    return re.sub(rb"(?m)^description:[^\n]*\n(?:  [^\n]*\n)*", b"", front, count=1)


def _findings(tables: Sequence[dict[str, Any]]) -> tuple[Finding, ...]:
    if not tables:
        return ()
    from prowess.findings import Finding, Severity

    return tuple(Finding(**{**table, "severity": Severity(table["severity"])}) for table in tables)
