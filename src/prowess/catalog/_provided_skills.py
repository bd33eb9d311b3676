"""Add the skills of providers to a catalog."""

from __future__ import annotations

from prowess._internal.text import neutral, normalize_name

from ._entry import REACHABLE, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._catalog import Catalog
    from ._providers import SkillProvider

__all__ = ["add_providers"]


def add_providers(catalog: Catalog, providers: Iterable[SkillProvider]) -> Catalog:
    """Add the skills of providers; a skill of the catalog wins over a provider's skill of the same name."""
    skills = list(catalog.skills)
    readers: dict[str, SkillProvider] = {}
    real_paths = {entry.real for entry in skills}
    winners = {normalize_name(entry.name): entry for entry in reversed(skills) if entry.state in REACHABLE}
    for provider in providers:
        for entry in provider.list(catalog.cwd):
            if entry.real in real_paths:
                continue
            real_paths.add(entry.real)
            readers[entry.path] = provider
            winner = winners.setdefault(normalize_name(entry.name), entry) if entry.state in REACHABLE else entry
            if winner is not entry:
                reason = f"{neutral(winner.path)} wins: it comes first"
                state = State.SHADOWED
                entry = entry.with_changes(state=state, reason=reason, rule="name-shadowed", shadowed_by=winner.path)
            skills.append(entry)
    return catalog.with_changes(skills=tuple(skills), readers=readers)
