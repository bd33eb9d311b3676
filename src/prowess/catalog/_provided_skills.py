"""Add the skills of providers, or of other catalogs, to a catalog."""

from __future__ import annotations

from prowess._internal.text import neutral, normalize_name

from ._entry import REACHABLE, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeGuard

    from ._catalog import Catalog
    from ._entry import Entry
    from ._many import SkillTable
    from ._providers import SkillProvider


def add_providers(catalog: Catalog, providers: Iterable[SkillProvider]) -> Catalog:
    """Add the skills of providers; a skill of the catalog wins over a provider's skill of the same name.

    The skills of a `SkillTable` come after those of all other providers. Providers whose files are elsewhere are asked
    at the same time, since each may take until its timeout.
    """
    providers = tuple(providers)
    listed = _list_all(providers, catalog.cwd)
    tables: list[SkillTable] = [skills for _, skills in listed if is_table(skills)]
    single = ((provider, skills) for provider, skills in listed if not is_table(skills))
    added = _add(catalog, ((entry, provider) for provider, skills in single for entry in skills))
    if tables:
        from ._many import ManyReaders, ManySkills

        skills, readers = ManySkills(added.skills, tables), ManyReaders(added.readers, tables)
        added = added.with_changes(skills=skills, readers=readers)
    findings = [item for provider in providers for item in getattr(provider, "findings", ())]
    return added.with_changes(findings=(*added.findings, *findings)) if findings else added


def _list_all(providers: Sequence[SkillProvider], cwd: str) -> list[tuple[SkillProvider, Sequence[Entry]]]:
    """Return what each provider lists."""
    lists: dict[int, Sequence[Entry]] = {}
    errors: list[Exception] = []

    def ask(number: int, provider: SkillProvider) -> None:
        try:
            lists[number] = provider.list(cwd)
        except Exception as error:  # noqa: BLE001 - raised below, in the caller's thread
            errors.append(error)

    remote = [(number, provider) for number, provider in enumerate(providers) if hasattr(provider, "read_file")]
    if len(remote) > 1:
        import threading

        # Not those of a pool: an interrupted program would wait for them at its end.
        threads = [threading.Thread(target=ask, args=item, daemon=True) for item in remote]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    pairs = enumerate(providers)
    return [(provider, lists[number] if number in lists else provider.list(cwd)) for number, provider in pairs]


def join_catalogs(catalog: Catalog, others: Iterable[Catalog]) -> Catalog:
    """Add the skills of other catalogs; of skills with the same name, the one of the first catalog wins."""
    others = tuple(others)
    findings = dict.fromkeys(finding for source in (catalog, *others) for finding in source.findings)
    joined = _add(catalog, ((entry, other.readers.get(entry.path)) for other in others for entry in other.skills))
    return joined.with_changes(findings=tuple(findings))


def is_table(skills: object) -> TypeGuard[SkillTable]:
    """Return whether skills are looked up in a table."""
    return hasattr(skills, "rows_named")


def _add(catalog: Catalog, added: Iterable[tuple[Entry, SkillProvider | None]]) -> Catalog:
    """Add skills, each with the provider that reads it, or `None` if it is a file of this machine."""
    skills = list(catalog.skills)
    readers = dict(catalog.readers)
    real_paths = {entry.real for entry in skills}
    winners = {normalize_name(entry.name): entry for entry in reversed(skills) if entry.state in REACHABLE}
    for entry, provider in added:
        if entry.real in real_paths:
            continue
        real_paths.add(entry.real)
        if provider is not None:
            readers[entry.path] = provider
        winner = winners.setdefault(normalize_name(entry.name), entry) if entry.state in REACHABLE else entry
        if winner is not entry:
            reason = f"{neutral(winner.path)} wins: it comes first"
            state = State.SHADOWED
            entry = entry.with_changes(state=state, reason=reason, rule="name-shadowed", shadowed_by=winner.path)
        skills.append(entry)
    return catalog.with_changes(skills=tuple(skills), readers=readers)
