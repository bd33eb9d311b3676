"""Define what the settings, variables and arguments of one host say."""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from prowess.findings import Finding

    from ._named_folders import NamedFolder

    class NameFilter(Protocol):
        """Which skills stay, by their names."""

        def effect(self, name: str) -> tuple[str, str]:
            """Return the effect on a skill, as `NamedSkill.effect`, and the file that says so."""


class NamedSkill(Frozen):
    """A skill, or a pattern of names, that a setting names."""

    key: str
    """Of the setting."""
    file: str
    written: str
    """The name, pattern or path, as it is in the file."""
    effect: str
    """What becomes of the skill: `off` (listed as disabled), `gone` (no longer listed), `name-only`, `user-only` or
    `on`."""
    cure: str
    """What to change so that the skill is on."""
    folded: str = ""
    """The name in lower case, if the client compares so."""
    is_pattern: bool = False
    """Whether it is a pattern as `name_matcher` has it; of these the last one that matches counts."""


class EntryRules(Frozen):
    """Which skills are on and off; of several entries for one skill the last counts."""

    names: Mapping[str, tuple[int, bool, str]] = EMPTY
    """Name of a skill to the number of the last entry with it, whether that is on, and the file that says so."""
    paths: Mapping[str, tuple[int, bool, str]] = EMPTY
    """The same by the real path of a SKILL.md."""

    def off(self, name: str, real: str) -> str:
        """Return the file that switches a skill off; empty if none does."""
        found = [rule for rule in (self.names.get(name), self.paths.get(real)) if rule is not None]
        _, on, file = max(found, default=(0, True, ""))
        return "" if on else file


class Settings(Frozen):
    """What a host's settings say."""

    enabled: bool = True
    enabled_source: str = "default"
    """The variable or file that decided, for reasons."""
    effects: Mapping[str, tuple[str, str]] = EMPTY
    """Skill name to (`off`, `gone`, `name-only` or `user-only`; the file that says so)."""
    folded_effects: Mapping[str, tuple[str, str]] = EMPTY
    """The same by lower-case name, if the host compares so."""
    name_filter: NameFilter | None = None
    """The first list of patterns that says which skills stay."""
    patterns: tuple[tuple[str, str, str], ...] = ()
    """Pattern of names, effect and file; the last that matches counts."""
    trust: str = "unknown"
    """Of the project: `trusted`, `untrusted` or `unknown`."""
    trust_source: str = ""
    max_skills: int = 0
    """0 is no limit."""
    entries: EntryRules = EntryRules()
    """What lists of entries say."""
    catalog_off: str = ""
    """The file that hides all skills from the model; empty if none does."""
    budget_limit: int | None = None
    """In place of the host's own."""
    description_limit: int | None = None
    """In place of the host's own."""
    unread_scopes: frozenset[str] = frozenset()
    """Scopes whose roots an argument leaves out."""
    bundled: bool = True
    """Whether the client has its own skills."""
    root_markers: tuple[str, ...] | None = None
    """The names that make a project's root; `None` for `.git`."""
    folders: Mapping[str, tuple[NamedFolder, ...]] = EMPTY
    """`named_by` of a root to the directories that are named for it."""
    path_patterns: Mapping[str, tuple[str, tuple[str, ...]]] = EMPTY
    """Scope to the settings file with patterns for the skills of its roots, and those patterns."""
    only_named: frozenset[str] = frozenset()
    """Scopes of whose roots only those count that arguments name."""
    unread: Mapping[str, str] = EMPTY
    """What keeps the client from reading some roots, as its module names it, to the file that says so."""
    hidden_folders: Mapping[str, str] = EMPTY
    """The folders whose own SKILL.md is not read, since they are plugins that are switched off, with the reason."""
    chosen_plugins: frozenset[str] | None = None
    """The names of the only plugins that count, in lower case, if an argument chooses them."""
    findings: tuple[Finding, ...] = ()
