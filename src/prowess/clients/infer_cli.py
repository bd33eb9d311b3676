"""What the `infer` CLI alone does (observed with the version in its host file)."""

from __future__ import annotations

from itertools import accumulate

from prowess.clients.budget import LineCosts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.clients.budget import ModelCatalog


def shorten(catalog: ModelCatalog) -> list[str | None]:
    """Leave out the first skill that does not fit, and all after it."""
    totals = accumulate(LineCosts(catalog.host, catalog.skills).full())
    pairs = zip(catalog.skills, totals, strict=True)
    return [skill.description if total <= catalog.available else None for skill, total in pairs]
