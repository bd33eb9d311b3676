"""Say which skills compete with others for the same requests at an agent that sees both."""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess.catalog import State
from prowess.search import Claim, find_overlaps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Set as AbstractSet

    from prowess.catalog import Catalog


class Contender(Frozen):
    """A skill, and the agents whose models see it."""

    claim: Claim
    hosts: frozenset[str]


class Competitor(Frozen):
    """A skill that claims the same requests as another one."""

    name: str
    """Untrusted text, as the words are."""
    path: str
    words: tuple[str, ...]
    """What both claim, the words that say most first."""
    is_preferred: bool
    """Whether the search finds it before the other one for these words."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        return {"name": self.name, "path": self.path, "words": [*self.words], "preferred": self.is_preferred}

    def describe(self, shown: int = 6) -> str:
        """Return it in words, with so many of those that both claim."""
        from prowess._internal.text import quoted, quoted_list

        which = f"; the search prefers {quoted(self.name)}" if self.is_preferred else ""
        return f"{quoted(self.name)}: both say {quoted_list(self.words, shown)}{which}"


def contenders_of(catalogs: Mapping[str, Catalog]) -> dict[str, Contender]:
    """Return the skills that the models of some agents see, by their paths without links."""
    hosts: dict[str, set[str]] = {}
    claims: dict[str, Claim] = {}
    for host, catalog in catalogs.items():
        for entry in catalog.skills:
            if entry.state is State.ACTIVE:
                hosts.setdefault(entry.real, set()).add(host)
                if entry.real not in claims:
                    name = entry.frontmatter_name or entry.folder
                    claims[entry.real] = Claim(key=entry.path, name=name, description=entry.description)
    return {real: Contender(claim=claims[real], hosts=frozenset(found)) for real, found in hosts.items()}


def find_competitors(
    contenders: Mapping[str, Contender], only: AbstractSet[str] | None = None
) -> dict[str, tuple[Competitor, ...]]:
    """Return the competitors of skills, those that claim most of the same first.

    Args:
        contenders: the skills, by any key.
        only: the keys of those that are asked about; all by default.
    """
    claims = [item.claim.with_changes(key=key) for key, item in contenders.items()]
    found: dict[str, list[Competitor]] = {}
    for overlap in find_overlaps(claims, only):
        pair = (overlap.first.key, overlap.second.key)
        if not contenders[pair[0]].hosts & contenders[pair[1]].hosts:
            continue
        for key, other in (pair, pair[::-1]):
            if only is None or key in only:
                competitor = contenders[other].claim
                found.setdefault(key, []).append(
                    Competitor(
                        name=competitor.name,
                        path=competitor.key,
                        words=overlap.words,
                        is_preferred=other == pair[0],
                    )
                )
    return {key: tuple(items) for key, items in found.items()}
