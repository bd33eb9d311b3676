"""Define what the settings, variables and arguments of one host say."""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

from ._settings_entries import EntryRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from prowess.findings import Finding

    from ._market_settings import MarketSetting
    from ._name_filter import NameFilter

__all__ = ["NamedFolder", "PluginSetting", "Settings"]


class NamedFolder(Frozen, kw_only=False):
    """A directory of skills that a settings file or an argument names."""

    folder: str
    """As it is written there."""
    file: str
    """The settings file; empty for an argument."""


class PluginSetting(Frozen):
    """Which plugins the settings switch on and off."""

    answers: Mapping[str, tuple[bool, str]] = EMPTY
    """Id of a plugin to whether it is on, and the file that says so; first those of the lowest file."""
    off: str = ""
    """The file that switches all of them off; empty if none does."""
    markets: tuple[tuple[str, Any], ...] = ()
    """File to what it says about marketplaces, the most important first."""
    named: tuple[str, ...] = ()
    """Folders of plugins that an argument names."""
    allowed: tuple[str, tuple[Any, ...]] | None = None
    """The file with expressions for the sources of plugins, and those expressions."""
    git_blocked: str = ""
    """The file that blocks plugins from repositories; empty if none does."""
    skills_on: frozenset[str] = frozenset()
    """`PLUGIN:SKILL` in lower case for the skills that are on, whatever their plugin says."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The plugins that the settings name, in order."""
        return tuple(self.answers)

    def answer(self, plugin: str) -> tuple[bool | None, str]:
        """Return whether a plugin is on, and the file that says so; `None` if the settings do not name it."""
        return self.answers.get(plugin, (None, ""))


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
    closed: Mapping[str, str] = EMPTY
    """`closed` and `partly` to the file that keeps the client from reading such roots."""
    budget_limit: int | None = None
    """In place of the host's own."""
    description_limit: int | None = None
    """In place of the host's own."""
    unread_scopes: frozenset[str] = frozenset()
    """Scopes whose roots an argument leaves out."""
    bundled: bool = True
    """Whether the client has its own skills."""
    project: str = ""
    """The root of the project, if settings say what makes one."""
    root_markers: tuple[str, ...] | None = None
    """The names that make a project's root; `None` for `.git`."""
    folders: Mapping[str, tuple[NamedFolder, ...]] = EMPTY
    """`named_by` of a root to the directories that are named for it."""
    path_patterns: Mapping[str, tuple[str, tuple[str, ...]]] = EMPTY
    """`named_by` or `switching` of a root to the settings file with patterns for its skills, and those patterns."""
    packages: Mapping[str, tuple[tuple[str, tuple[Any, ...]], ...]] = EMPTY
    """Table of plugins to the settings files that list packages, each with its entries."""
    only_named: bool = False
    """Whether only the directories count that arguments name."""
    plugins: Mapping[str, PluginSetting] = EMPTY
    """Table of plugins to what the settings say about them."""
    market_folders: Mapping[str, MarketSetting] = EMPTY
    """The same for tables of marketplaces."""
    unread_folders: tuple[tuple[str, str], ...] = ()
    """Folders in which no root is read, absolute and with their links, each with the file that says so."""
    hidden_folders: Mapping[str, str] = EMPTY
    """The folders whose own SKILL.md is not read, since they are plugins that are switched off, with the reason."""
    scopes_off: Mapping[str, str] = EMPTY
    """Scopes whose folders are not read, each with the file that says so."""
    chosen_plugins: frozenset[str] | None = None
    """The names of the only plugins that count, in lower case, if an argument chooses them."""
    findings: tuple[Finding, ...] = ()
