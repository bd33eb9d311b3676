"""Find skills that claim the same requests, by the words of their names and descriptions.

Two skills compete if their descriptions share much of what they say, and if neither name has a word that the other
lacks: skills of a family (`pdf-split`, `pdf-merge`) differ by their names. Words that fit most requests do not
count, nor does what a description says the skill is not for. Skills that name each other have settled it. The answer
depends on the two skills alone, and not on others in the catalog.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import lru_cache
from itertools import combinations

from prowess._internal.frozen import Frozen

from ._ranking import PostingTable, rank_rows, skill_impacts, weigh_query
from ._words import ordered_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet

_LEAST_SHARE = 0.3
"""The terms that both claim, as a share of those that one of them does: chosen on 2,598 published skills."""
_LEAST_SHARED = 3
"""Shared terms that are in neither name."""
_LEAST_START = 2
_MIN_NAME = 4
"""Characters of a name that is found wherever it is: a shorter one may be any word."""
_MIN_CATALOG = 10
"""Skills from which on words count that half of the descriptions have."""
_MAX_CHARS = 4096
"""Characters of a description that count."""
_MOST_OF_TERM = 60
"""Skills with a term of which each pair is looked at; of a more frequent one only neighbours are."""
_NEIGHBOURS = 8
_MAX_PAIRS = 1_000_000
"""Pairs that are looked at, those with rare terms first."""
_MAX_FOUND = 1_000
"""Pairs that are returned."""
MAX_COMPARED = 20_000
"""Skills that are compared; more are left out."""

_GENERIC = """
    able accomplish action activity add advanced advice agent ai all anything area assist assistance assistant
    automate automatically basic best better capability change code coding command common complete complex
    comprehensive create custom data day default deliver detail detailed develop developer development different
    do easily easy effective effectively efficient efficiently enable engineering enhance ensure everything
    example expert feature file find follow free full function functionality general generate generic good great
    guidance guide guideline handle help helper helpful high idea implement important improve include
    information input instruction intelligent issue item job kind language large level make manage many mention
    method model modern module multiple necessary need new operation option organize other output overall part
    people perform person plan possible powerful practice proactively problem procedure process product
    production productive productivity professional program programming project prompt proper provide purpose
    question quick quickly ready recommend related request require resource response result right robust role
    run script service set several simple skill smart smooth software solution solve someone special specialist
    specific standard start step stuff style sub success suggest suggestion support system task technique
    technology thing tip tool topic trigger type typical ultimate update use useful user utility valuable
    variety various way work workflow write
"""
"""Words that name no subject, chosen among those of many published descriptions."""
_OF_NAMES = """
    analysis architect assistant automation advanced basics builder configuration design developer development engineer
    engineering expert fundamentals generator guides helper implementation integration management manager master methods
    official optimization optimizer pattern patterns practices principles pro review reviewer specialist testing tool
    workflow
"""
"""Words of names that do not tell two skills of one subject apart."""
_TELL_APART = """
    add agent agents command convert create creating delete deploy edit generate hook implement install instruction
    instructions migrate new optimization plan planning plugin prompt remove review setup skill skills specification
    train update validate
"""
"""Words that tell two skills apart if each name has another one of them: `pdf-create` and `pdf-update`."""


class Claim(Frozen):
    """A skill that competes with others for requests."""

    key: str
    """What identifies it, such as its path."""
    name: str
    description: str
    body: str = ""
    """For the search; may be left out of all of them."""


class Overlap(Frozen):
    """Two skills that claim the same requests."""

    first: Claim
    """The one that the search prefers for the words that both claim."""
    second: Claim
    words: tuple[str, ...]
    """What both claim, as one of the descriptions writes it, the longest words first; untrusted text."""
    share: float
    """The terms that both claim, as a share of those that one of them does; 0 to 1."""


@lru_cache(maxsize=1)
def generic_terms() -> frozenset[str]:
    """Return the terms that fit most requests."""
    return frozenset(ordered_terms(_GENERIC))


@lru_cache(maxsize=1)
def _terms_of_names() -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms of names that do not tell skills apart, and those that do if both names have one."""
    return generic_terms() | frozenset(ordered_terms(_OF_NAMES)), frozenset(ordered_terms(_TELL_APART))


@lru_cache(maxsize=1)
def _without_negated() -> Callable[[str, str], str]:
    return re.compile(r"(?i)\b(?:do not|don['’]t|never|not|avoid|rather than|instead of|except)\b[^.;!?\n]{0,300}").sub


class _Terms:
    """What one skill claims."""

    __slots__ = ("all", "claimed", "described", "name")

    def __init__(self, claim: Claim) -> None:
        name = claim.name.replace("-", " ").replace("_", " ")
        description = _without_negated()(" ", claim.description[:_MAX_CHARS])
        self.name = frozenset(ordered_terms(name, whole=False))
        self.described = frozenset(ordered_terms(description, whole=False))
        self.all = self.name | self.described | frozenset(ordered_terms(f"{name} {description}"))
        self.claimed = (self.name | self.described) - generic_terms()


def find_overlaps(claims: Sequence[Claim], only: AbstractSet[str] | None = None) -> list[Overlap]:
    """Return the pairs of skills that claim the same requests, those that share most first.

    Args:
        claims: the skills, of which `MAX_COMPARED` are compared.
        only: the keys of some skills, of which one has to be in each pair; all by default.
    """
    claims = claims[:MAX_COMPARED] if only is None else _which_may_share(claims, only)
    terms = [_Terms(claim) for claim in claims]
    wanted = None if only is None else {row for row, claim in enumerate(claims) if claim.key in only}
    found: list[tuple[float, int, int]] = []
    for first, second in _candidates(terms, wanted):
        if claims[first].name == claims[second].name:  # an agent shows one of them
            continue
        if claims[second].key < claims[first].key:  # the answer does not depend on their order
            first, second = second, first
        share = _share(claims[first], claims[second], terms[first], terms[second])
        if share >= _LEAST_SHARE:
            found.append((share, first, second))
    found.sort(key=lambda item: (-item[0], claims[item[1]].key, claims[item[2]].key))
    preferred = _Preferred(claims)
    return [
        _overlap(share, claims[first], claims[second], terms[first], preferred)
        for share, first, second in found[:_MAX_FOUND]
    ]


def _which_may_share(claims: Sequence[Claim], only: AbstractSet[str]) -> list[Claim]:
    """Return the skills that may overlap with some of them, without splitting the texts of all others into terms.

    A word begins as its term does, but for the last two letters, as long as it is plain ASCII.
    """
    own = [claim for claim in claims if claim.key in only]
    starts = [{term[: max(_LEAST_START, len(term) - 2)] for term in _Terms(claim).claimed} for claim in own]
    found = list(own)
    for claim in claims:
        text = f"{claim.name} {claim.description[:_MAX_CHARS]}".lower()
        if claim.key not in only and (
            not text.isascii() or any(sum(start in text for start in of_own) >= _LEAST_SHARED for of_own in starts)
        ):
            found.append(claim)
    return found[:MAX_COMPARED]


def _share(one: Claim, other: Claim, terms: _Terms, other_terms: _Terms) -> float:
    """Return how much two skills claim together; 0 if a model can tell them apart."""
    shared = terms.claimed & other_terms.claimed
    if len(shared - terms.name - other_terms.name) < _LEAST_SHARED:
        return 0.0
    idle, tells_apart = _terms_of_names()
    if (terms.name - idle) - other_terms.all or (other_terms.name - idle) - terms.all:
        return 0.0
    if (terms.name & tells_apart) - other_terms.name and (other_terms.name & tells_apart) - terms.name:
        return 0.0
    if _names(one.description, other.name) or _names(other.description, one.name):
        return 0.0
    return len(shared) / len(terms.claimed | other_terms.claimed)


def _names(description: str, name: str) -> bool:
    """Return whether a description names another skill: by a name of several words, or as in `use pdf`."""
    text, name = description[:_MAX_CHARS].lower(), name.lower()
    if name not in text:
        return False
    if len(name) >= _MIN_NAME and ("-" in name or "_" in name):
        return True
    return re.search(rf"\b(?:use|see|prefer|try)\s+(?:the\s+)?[`'\"]?{re.escape(name)}\b", text) is not None


def common_terms(claims: Sequence[Claim]) -> frozenset[str]:
    """Return the terms that at least half of the descriptions of a catalog have; none if there are few skills."""
    claims = claims[:MAX_COMPARED]
    if len(claims) < _MIN_CATALOG:
        return frozenset()
    counts = Counter(term for claim in claims for term in _Terms(claim).described)
    return frozenset(term for term, count in counts.items() if 2 * count >= len(claims))


def _candidates(terms: Sequence[_Terms], wanted: set[int] | None) -> Iterator[tuple[int, int]]:
    """Yield pairs of skills that share terms, each once; the work is bounded whatever the terms are."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, item in enumerate(terms):
        for term in item.claimed:
            rows[term].append(row)
    counts: dict[tuple[int, int], int] = {}
    for term in sorted(
        (term for term, found in rows.items() if len(found) > 1), key=lambda term: (len(rows[term]), term)
    ):
        for pair in _pairs(rows[term], wanted):
            counts[pair] = counts.get(pair, 0) + 1
        if len(counts) > _MAX_PAIRS:
            break
    for pair, count in counts.items():
        if count > 1:
            yield pair


def _pairs(rows: Sequence[int], wanted: set[int] | None) -> Iterable[tuple[int, int]]:
    if wanted is not None:
        some = wanted.intersection(rows)
        return ((min(one, row), max(one, row)) for one in some for row in rows if row != one)
    if len(rows) <= _MOST_OF_TERM:
        return combinations(rows, 2)
    return ((row, other) for at, row in enumerate(rows) for other in rows[at + 1 : at + 1 + _NEIGHBOURS])


class _Preferred:
    """Says which of two skills the search finds first, with the texts of skills in pairs only."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._rows = {claim.key: row for row, claim in enumerate(claims)}
        self._impacts: dict[str, Mapping[str, int]] = {}

    def first(self, one: Claim, other: Claim, words: Sequence[str]) -> bool:
        """Return whether the search prefers the first one for these words; the earlier one if both are equal."""
        table = PostingTable()
        for row, claim in enumerate((one, other)):
            if claim.key not in self._impacts:
                self._impacts[claim.key] = skill_impacts(claim.name, claim.description, claim.body)
            table.add(row, self._impacts[claim.key])
        ranks = rank_rows(weigh_query(" ".join(words), table), table)
        return ranks.get(0, 0.0) >= ranks.get(1, 0.0)


def _overlap(share: float, one: Claim, other: Claim, terms: _Terms, preferred: _Preferred) -> Overlap:
    words = _words_of(other, terms.claimed)
    if not preferred.first(one, other, words):
        one, other = other, one
    return Overlap(first=one, second=other, words=words, share=share)


def _words_of(claim: Claim, terms: AbstractSet[str]) -> tuple[str, ...]:
    """Return the words of a description that are some terms, each once; the longest, which say most, first."""
    found: dict[str, str] = {}
    for word in re.findall(r"[^\W_][\w.+#'-]*", _without_negated()(" ", claim.description[:_MAX_CHARS])):
        for term in ordered_terms(word, whole=False):
            if term in terms:
                found.setdefault(term, word.strip(".'-").lower())
    return tuple(sorted(dict.fromkeys(found.values()), key=lambda word: (-len(word), word)))
