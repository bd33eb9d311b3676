"""Check skills against each other: those that claim the same requests, and near copies.

What is compared of each skill is kept while it is checked, so that no body stays in memory. Pairs that compete for
requests are found by `prowess.search`; near copies share lines of their bodies, and then most runs of five words.
Skills count in pairs if one agent sees both, or if a repository offers both. An exact copy is another finding.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from time import gmtime, strftime
from zlib import crc32

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted, quoted_list
from prowess.findings import finding
from prowess.search import MAX_COMPARED, Claim, common_terms, find_overlaps

from ._routes import check_routes, is_general

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet

    from prowess.filesystem import Filesystem
    from prowess.findings import Finding
    from prowess.search import Overlap
    from prowess.skill import Skill

    SeenTogether = Callable[[str, str], bool]

_MAX_WORDS = 6
_MIN_LINE = 30
"""Bytes of a line that is compared: shorter ones are in many skills."""
_MAX_SKETCHED = 64 * 1024
"""Characters of a body whose lines are kept."""
_SKETCH = 64
"""Lines of a body that are kept: those with the lowest hashes, which are the same in a copy."""
_LEAST_LINES, _LINES_SHARED = 4, 0.35
"""Kept lines, and the share of them that two bodies have, from which on their words are compared."""
_LEAST_EQUAL = 0.7
"""The share of runs of five words from which on a body is a near copy."""
_MOST_OF_LINE = 60
"""Skills with a line of which each pair is looked at; of a more frequent one only neighbours are."""
_NEIGHBOURS = 8
_MAX_PAIRS = 1_000_000
_MAX_VERIFIED = 500
"""Pairs of bodies that are read again and compared word by word."""
_MAX_CHARS = 256 * 1024
_OLDER_NS = 24 * 3600 * 10**9
"""A difference of times of change that says which of two copies is older: a clone writes all files at once."""


class Compared(Frozen):
    """What is compared of one skill."""

    path: str
    name: str
    description: str
    version: tuple[int, ...]
    """Of `metadata.version`; empty if it is missing."""
    line: int
    column: int
    """Of the description."""
    lines: tuple[int, ...]
    """The sketch of the body."""


def compared(skill: Skill) -> Compared | None:
    """Return what is compared of a skill; `None` if the model does not choose it, or if it has no description."""
    field = skill.fields.get("description")
    if field is None or not skill.description or skill.disable_model_invocation or skill.path is None:
        return None
    body = skill.body[:_MAX_SKETCHED].encode("utf-8", "replace")
    lines = {crc32(line) for line in body.split(b"\n") if len(line) >= _MIN_LINE}
    return Compared(
        path=skill.path,
        name=skill.name or skill.folder,
        description=skill.description,
        version=_version(skill.metadata.get("version")),
        line=field.line,
        column=field.column,
        lines=tuple(sorted(lines)[:_SKETCH]),
    )


def _version(value: object) -> tuple[int, ...]:
    parts = str(value or "").removeprefix("v").split(".")[:4]
    return (
        tuple(int(part) for part in parts)
        if all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts)
        else ()
    )


def check_pairs(skills: Sequence[Compared], together: SeenTogether, filesystem: Filesystem) -> Iterator[Finding]:
    """Yield a finding for each group of skills that claim the same requests, and for each group of near copies.

    Args:
        skills: those that are checked, of which `MAX_COMPARED` are compared.
        together: tells whether one agent gets both skills with these paths.
        filesystem: reads the bodies of near copies again.
    """
    skills = skills[:MAX_COMPARED]
    by_path = {skill.path: skill for skill in skills}
    copies = [
        (equal, first, second)
        for equal, first, second in _near_copies(skills, filesystem)
        if together(first.path, second.path)
    ]
    yield from _copy_findings(copies, filesystem)
    known = {frozenset((first.path, second.path)) for _, first, second in copies}
    claims = [Claim(key=skill.path, name=skill.name, description=skill.description) for skill in skills]
    overlaps = [
        item
        for item in find_overlaps(claims)
        if frozenset((item.first.key, item.second.key)) not in known and together(item.first.key, item.second.key)
    ]
    yield from _overlap_findings(overlaps, by_path)
    yield from _general_findings(skills, common_terms(claims), filesystem)


def _general_findings(
    skills: Sequence[Compared], common: AbstractSet[str], filesystem: Filesystem
) -> Iterator[Finding]:
    """Report descriptions of words that half of the others have, which a file alone does not show."""
    for skill in skills if common else ():
        if is_general(skill.description, common):
            whole = filesystem.skill(skill.path, real=filesystem.real(skill.path))
            yield from (item for item in check_routes(whole, (), common) if item.code == "description-general")


# ── the same requests ────────────────────────────────────────────────────────────────────────────────────────────────


def _overlap_findings(overlaps: Sequence[Overlap], by_path: Mapping[str, Compared]) -> Iterator[Finding]:
    """Report each pair once: at the skill with most of them, and a group of connected skills as one cause."""
    causes = _groups((item.first.key, item.second.key) for item in overlaps)
    left = list(overlaps)
    while left:
        counts = Counter(key for item in left for key in (item.second.key, item.first.key))
        hub = max(counts, key=counts.__getitem__)
        own = [item for item in left if hub in (item.first.key, item.second.key)]
        left = [item for item in left if hub not in (item.first.key, item.second.key)]
        names = [(item.first if item.second.key == hub else item.second).name for item in own]
        words = quoted_list(own[0].words, _MAX_WORDS)
        skill = by_path[hub]
        message = (
            f"{quoted(skill.name)} claims the same requests as {quoted_list(names)}: both say {words}; "
            f"for these the search prefers {quoted(own[0].first.name)}"
        )
        hint = "say in each description when to use the other one, or make one skill of both"
        item = finding("skill-overlap", message, path=hub, line=skill.line, column=skill.column, hint=hint)
        yield item.with_changes(cause=causes[hub])


def _groups(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return for each path the first path of those that it is connected with."""
    parents: dict[str, str] = {}

    def root(path: str) -> str:
        while parents.setdefault(path, path) != path:
            parents[path] = path = parents[parents[path]]
        return path

    for first, second in pairs:
        one, other = sorted((root(first), root(second)))
        parents[other] = one
    return {path: root(path) for path in list(parents)}


# ── near copies ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _near_copies(skills: Sequence[Compared], filesystem: Filesystem) -> Iterator[tuple[float, Compared, Compared]]:
    """Yield pairs whose bodies are equal in large part, with the share; not those that are equal in all."""
    rows: dict[int, list[int]] = defaultdict(list)
    for row, skill in enumerate(skills):
        if len(skill.lines) >= _LEAST_LINES:
            for line in skill.lines:
                rows[line].append(row)
    counts: dict[tuple[int, int], int] = {}
    for line in sorted((line for line in rows if len(rows[line]) > 1), key=lambda line: (len(rows[line]), line)):
        found = rows[line]
        most = len(found) if len(found) <= _MOST_OF_LINE else _NEIGHBOURS
        for at, row in enumerate(found):
            for other in found[at + 1 : at + 1 + most]:
                counts[row, other] = counts.get((row, other), 0) + 1
        if len(counts) > _MAX_PAIRS:
            break
    verified = 0
    for (row, other), count in counts.items():
        one, two = skills[row], skills[other]
        if count < _LINES_SHARED * min(len(one.lines), len(two.lines)):
            continue
        verified += 1
        if verified > _MAX_VERIFIED:
            return
        equal = _equal_share(_body(one, filesystem), _body(two, filesystem))
        if equal >= _LEAST_EQUAL and not (one.name == two.name and _is_exact(one, two, filesystem)):
            yield equal, one, two


def _body(skill: Compared, filesystem: Filesystem) -> str:
    return filesystem.skill(skill.path, real=filesystem.real(skill.path), whole=True).body[:_MAX_CHARS]


def _is_exact(one: Compared, two: Compared, filesystem: Filesystem) -> bool:
    """Return whether two skills have the same files, as far as their names and sizes say, and the same SKILL.md."""
    return (
        filesystem.files(one.path) == filesystem.files(two.path)
        and one.description == two.description
        and (_body(one, filesystem) == _body(two, filesystem))
    )


def _equal_share(one: str, other: str) -> float:
    """Return the share of runs of five words that two texts have in common, of those that one of them has."""
    first, second = _runs(one), _runs(other)
    return len(first & second) / max(len(first | second), 1)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return set(zip(words, words[1:], words[2:], words[3:], words[4:], strict=False))


def _copy_findings(copies: Sequence[tuple[float, Compared, Compared]], filesystem: Filesystem) -> Iterator[Finding]:
    causes = _groups((first.path, second.path) for _, first, second in copies)
    for equal, first, second in sorted(copies, key=lambda item: (-item[0], item[1].path, item[2].path)):
        older, newer, why = _older(first, second, filesystem)
        folder = os.path.dirname(older.path)
        where = os.path.relpath(os.path.dirname(newer.path), folder)
        share = "all" if equal == 1.0 else f"{int(100 * equal)}%"
        message = f"{quoted(older.name)} is a near copy of {quoted(where, PATH_LIMIT)}: {share} of the body is equal"
        message += f", {_equal_files(older, newer, filesystem)}{why}"
        item = finding(
            "skill-near-copy",
            message,
            path=older.path,
            line=older.line,
            column=older.column,
            hint="make one skill of both, or let one name the other for what they share",
        )
        yield item.with_changes(cause=causes[older.path])


def _equal_files(one: Compared, other: Compared, filesystem: Filesystem) -> str:
    """Say how many of the files beside the bodies have the same name and size."""
    files = {item for item in filesystem.files(one.path) if item[0] != "SKILL.md"}
    others = {item for item in filesystem.files(other.path) if item[0] != "SKILL.md"}
    if not files | others:
        return "and neither has other files"
    return f"and {len(files & others):,} of {len(files | others):,} other files"


def _older(one: Compared, other: Compared, filesystem: Filesystem) -> tuple[Compared, Compared, str]:
    """Return two skills with the older one first, and what says so; the later path first if nothing does."""
    if one.version and other.version and one.version != other.version:
        older, newer = (one, other) if one.version < other.version else (other, one)
        versions = [".".join(map(str, item.version)) for item in (older, newer)]
        return older, newer, f"; it is older: version {versions[0]}, the other has {versions[1]}"
    times = {item.path: filesystem.modified_ns(item.path) for item in (one, other)}
    older, newer = (one, other) if times[one.path] < times[other.path] else (other, one)
    if times[newer.path] - times[older.path] < _OLDER_NS:
        return (one, other, "") if one.path > other.path else (other, one, "")
    days = [strftime("%Y-%m-%d", gmtime(times[item.path] // 10**9)) for item in (older, newer)]
    return older, newer, f"; it was changed on {days[0]}, the other on {days[1]}"
