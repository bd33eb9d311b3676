"""Find the skills that an agent may activate: those of its host, and those of the servers that its role names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess._internal.files import real_path
from prowess._internal.text import quoted
from prowess.catalog import State, discover
from prowess.errors import ConfigError

from .role import server_labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.catalog import Catalog, Entry, SkillProvider

    from .role import LoadedSkill, Role

__all__ = ["discover_skills"]


def discover_skills(
    role: Role, explicit: tuple[LoadedSkill, ...], dirs: tuple[str, ...], home: str, env: Mapping[str, str]
) -> tuple[Catalog | None, list[str]]:
    """Return the skills that the role does not name one by one, and notes for the user.

    They are what the host finds, unless the role switches that off, and those of the servers that the role names.
    """
    labels = server_labels(role.skills)
    if not role.auto_skills_enabled and not labels:
        return None, []
    servers: list[SkillProvider] = []
    try:
        if labels:
            from prowess.mcp import configured_servers

            servers = [server for label in labels for server in configured_servers(home, env=env, only=label).values()]
        catalog = discover(
            role.folder, host="initrunner", home=home, skill_dirs=dirs, env=env, role=role.path, providers=servers
        )
    except ConfigError as error:
        return None, [str(error)]
    if not role.auto_skills_enabled:
        catalog = catalog.with_changes(skills=tuple(entry for entry in catalog.skills if entry.path in catalog.readers))
    explicit_paths = {real_path(skill.path) for skill in explicit}
    skills = _fill_free_slots(
        [entry for entry in catalog.skills if real_path(entry.real) not in explicit_paths], role.max_skills
    )
    notes = [f"{quoted(entry.name)} is left out: {entry.reason}" for entry in skills if entry.state is State.DISABLED]
    notes += [
        f"{quoted(entry.name)} in {entry.path} is shadowed: {entry.reason}"
        for entry in skills
        if entry.state is State.SHADOWED
    ]
    notes += [item.message for item in catalog.findings if item.code in ("server-failed", "server-skill")]
    return catalog.with_changes(skills=skills), notes


def _fill_free_slots(skills: list[Entry], max_skills: int) -> tuple[Entry, ...]:
    """Activate skills over the limit in place of those that the role names."""
    free = max_skills - sum(entry.state is State.ACTIVE for entry in skills)
    filled = []
    for entry in skills:
        if free > 0 and entry.state is State.DISABLED and entry.rule == "max_skills":
            entry, free = entry.with_changes(state=State.ACTIVE, reason=None, rule="active"), free - 1
        filled.append(entry)
    return tuple(filled)
