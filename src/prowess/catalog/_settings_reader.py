"""Collect what the settings files, variables and arguments of one host say."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ._agents import chosen_agent
from ._counted_files import TRUST_FORMS, CountedFiles
from ._market_settings import market_setting
from ._name_filter import NameFilter, read_name_filter
from ._path_patterns import MAX_PATTERNS, is_pattern
from ._permission_rules import denies_tool, rules_table
from ._plugin_settings import read_plugin_setting
from ._setting_values import merge_deep, merge_files, skill_effects, unread_folders
from ._settings_entries import entry_rules
from ._settings_files import get_dotted, parse_bool, truth_of
from ._settings_types import find_wrong_type
from ._tools import hidden_by_tools
from ._user_settings import NamedFolder, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.hosts import Host, PluginRules, Root, Setting


__all__ = ["SettingsReader"]

_MAX_PATTERNS = 1000
"""Patterns of names that count for one host."""
_MAX_PATTERN_LENGTH = 256
"""Characters of a pattern; no shown name is longer."""
_MAX_NAMED_FOLDERS = 1000
"""Directories that the settings may name for one root."""
_ROLE_MAX_SKILLS = 200
"""InitRunner, "Auto-Discovered Skills": `max_skills: 50   # default: 50, max: 200`."""


class SettingsReader(CountedFiles):
    """Collects the settings of one host."""

    def __init__(self, host: Host, **given: Any) -> None:
        super().__init__(host, **given)
        self._effects: dict[str, tuple[str, str]] = {}
        self._folded_effects: dict[str, tuple[str, str]] = {}
        self._name_filter: NameFilter | None = None
        self._patterns: tuple[tuple[str, str, str], ...] = ()
        self._max_skills = host.max_skills
        self._folders: dict[str, tuple[NamedFolder, ...]] = {}
        self._entries: list[tuple[str, Any]] = []
        self._catalog_off, self._bundled = "", True
        self._closed: dict[str, str] = {}
        self._variables: dict[str, str] = {}
        self._budget_limit: int | None = None
        self._description_limit: int | None = None
        self._decided: set[str] = set()
        """The forms whose first value has been found."""
        self._unread_folders: dict[str, str] = {}
        self._scopes_off: dict[str, str] = {}

    def settings(self) -> Settings:
        """Return what was collected."""
        return Settings(
            enabled=self._enabled,
            enabled_source=self._enabled_source,
            effects=self._effects,
            folded_effects=self._folded_effects,
            name_filter=self._name_filter,
            patterns=self._patterns,
            trust=self._trust,
            trust_source=self._trust_source,
            max_skills=self._max_skills,
            entries=entry_rules(self._entries, cwd=self.cwd, home=self.home, filesystem=self.files.filesystem),
            catalog_off=self._catalog_off,
            closed=self._closed,
            budget_limit=self._budget_limit,
            bundled=self._bundled,
            project="" if self._root_markers is None else self.project,
            root_markers=self._root_markers,
            unread_scopes=self._unread_scopes,
            description_limit=self._description_limit,
            folders=self._folders,
            unread_folders=tuple(self._unread_folders.items()),
            scopes_off=self._scopes_off,
            path_patterns={
                " ".join((root.switched_by, *root.switching_files)): found
                for root in self.host.roots
                if root.switched_by and (found := self._patterns_of(root)) is not None
            },
            packages={name: self._packages(rules) for name, rules in self.host.plugins.items() if rules.sources},
            only_named=bool(self.arguments.with_effect("named")),
            plugins={
                name: read_plugin_setting(rules, self.values, self.arguments, trusted=self._trust == "trusted")
                for name, rules in self.host.plugins.items()
            },
            chosen_plugins=self.arguments.chosen_plugins(),
            market_folders={
                name: market_setting(
                    rules,
                    values=self.values,
                    arguments=self.arguments.values(rules.argument),
                    layers=self.layers,
                    project=self.project,
                    cwd=self.cwd,
                    home=self.home,
                )
                for name, rules in self.host.market_folders.items()
            },
            findings=(*self.arguments.findings, *self.files.findings),
        )

    # ── the files ────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self, role: str | None) -> Settings:
        """Read everything, and return what it says."""
        # Trust comes first: some files count only in a trusted project.
        self._read_trust()
        self._check_files()
        self._agent, no_agent = chosen_agent(self.host, self.arguments, self.values)
        for setting in self.host.settings:
            if setting.form not in TRUST_FORMS:
                for path, value in self.setting_values(setting):
                    self.apply(setting, path, value)
        self._name_filter = read_name_filter(self.host.settings, self.values, self.files.report)
        enabled = self.files.read_bool_variable(self.env, self.host.switch_variable)
        if enabled is not None:
            self._enabled, self._enabled_source = enabled, self.host.switch_variable
        for argument, _ in self.arguments.with_effect("off"):
            self._enabled, self._enabled_source = False, argument.name
        self._catalog_off = self._catalog_off or no_agent or hidden_by_tools(self.host, self.arguments, self.values)
        for root in self.host.roots:
            if root.setting or root.argument:
                self._add_folders(root)
        self._apply_arguments()
        name = self.host.budget.variable
        limit = (self._variables[name] if name in self._variables else self.env.get(name, "")) if name else ""
        if re.fullmatch("[1-9][0-9]{0,9}", limit):
            self._budget_limit = int(limit)
        if role is not None:
            self.apply_role(role)
        return self.settings()

    def setting_values(self, setting: Setting) -> Iterator[tuple[str, Any]]:
        """Yield the values of a setting that count, each with its file, highest precedence first."""
        key, over = (name.replace("{agent}", self._agent) for name in (setting.key, setting.over))
        if setting.form != "rules":
            yield from self.values(key, setting.files, "union-single" if setting.single else setting.merge)
            return
        high = [(path, rules_table(value)) for path, value in self.values(key, setting.files)]
        low = [(path, rules_table(value)) for path, value in self.values(over, setting.files)] if over else []
        if high or low:
            yield (high or low)[0][0], merge_deep(merge_files(low), merge_files(high)) if high else merge_files(low)

    def _add_folders(self, root: Root) -> None:
        """Note the directories that settings or arguments name for a root."""
        named = [NamedFolder(value, "") for value in self.arguments.values(root.argument)] if root.argument else []
        if root.setting:
            for path, value in self.values(root.setting, root.setting_files, root.merge):
                folders = [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
                if root.switched_by:
                    folders = [item for item in folders if not is_pattern(item)]
                if len(named) + len(folders) > _MAX_NAMED_FOLDERS:
                    folders = folders[: _MAX_NAMED_FOLDERS - len(named)]
                    self.files.report(path, f"only {_MAX_NAMED_FOLDERS:,} folders of `{root.setting}` count")
                named += [NamedFolder(folder, path) for folder in folders]
        # A path with a NUL is no path, and an empty one would be the folder that it is relative to.
        self._folders[root.named_by] = tuple(
            item for item in named if (item.folder or root.trims) and "\0" not in item.folder
        )

    def _patterns_of(self, root: Root) -> tuple[str, tuple[str, ...]] | None:
        """Return the settings file with patterns for the paths of a root's skills, and the patterns."""
        for path, value in self.values(root.switched_by, root.switching_files):
            if isinstance(value, list | tuple):
                texts = tuple(item for item in value if isinstance(item, str) and is_pattern(item))
                if len(texts) > MAX_PATTERNS:
                    self.files.report(path, f"only {MAX_PATTERNS:,} patterns of `{root.switched_by}` count")
                return (path, texts[:MAX_PATTERNS]) if texts else None
        return None

    def _packages(self, rules: PluginRules) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """Return the settings files that list packages, each with its entries."""
        found = []
        for name in rules.setting_files:
            found += [
                (path, tuple(value)) for path, value in self.values(rules.sources, (name,)) if isinstance(value, list)
            ]
        return tuple(found)

    def apply(self, setting: Setting, path: str, value: Any) -> None:
        """Apply the value that a file has for a setting."""
        if setting.form == "switch":
            self._apply_switch(setting, path, value)
        elif setting.form == "entries":
            top = f"{setting.key.partition('.')[0]}."
            types = {key: word for key, word in self.host.settings_types.items() if key.startswith(top)}
            if find_wrong_type(self.files.table(path), types) is None:
                self._entries.append((path, value))
        elif setting.form in ("catalog", "budget", "description", "bundled"):
            self._apply_to_catalog(setting, path, value)
        elif setting.form == "denied":
            self._catalog_off = self._catalog_off or (path if denies_tool(value, setting.tool) else "")
        elif setting.form == "closed":
            self._apply_closed(setting, path, value)
        elif setting.form == "variables":
            self._add_variables(value)
        elif setting.form == "unread":
            self._add_unread_folders(path, value)
        elif setting.form == "scopes":
            words = [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
            self._scopes_off |= {setting.effects[word]: path for word in words if word in setting.effects}
        elif setting.patterns or setting.form == "rules":
            self._add_patterns(setting, path, value)
        else:
            self._add_effects(setting, path, value)

    def _apply_closed(self, setting: Setting, path: str, value: Any) -> None:
        """Apply a setting that closes roots: lists are joined, of other values the highest counts."""
        if setting.form in self._decided:
            return
        if not isinstance(value, list | tuple):
            self._decided.add(setting.form)
            value = [] if value is False else setting.effects
        for effect in {setting.effects.get(word, "") for word in value if isinstance(word, str)} - {""}:
            self._closed.setdefault(effect, path)

    def _add_variables(self, value: Any) -> None:
        """Add environment variables of a settings file; those of a higher one are there already."""
        if isinstance(value, Mapping):
            texts = {name: str(text) for name, text in value.items() if isinstance(text, str | int | float)}
            self._variables = {**texts, **self._variables}

    def _apply_arguments(self) -> None:
        """Apply the arguments that say which tools the client has."""
        for argument, values in self.arguments.with_effect("denied-tools", "only-tools"):
            rules = [rule for value in values for rule in re.findall(r"(?:[^,\s(]|\([^)]*\)?)+", value)]
            denied = denies_tool(rules, argument.tool)
            if argument.effect == "only-tools":
                denied = not {argument.tool, "default"} & set(rules)
            if denied:
                self._catalog_off = self._catalog_off or argument.name

    def _apply_switch(self, setting: Setting, path: str, value: Any) -> None:
        answer = truth_of(value) if setting.any_value else parse_bool(value)
        if answer is None:
            self.files.report(path, f"`{setting.key}` is neither true nor false")
        elif not self._switch_found:
            self._enabled, self._enabled_source, self._switch_found = answer, path, True

    def _apply_to_catalog(self, setting: Setting, path: str, value: Any) -> None:
        """Apply what changes the catalog as a whole; the highest value of each form counts."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        is_limit = setting.form in ("budget", "description")
        if setting.form in self._decided or not (number if is_limit else isinstance(value, bool)):
            return
        self._decided.add(setting.form)
        if setting.form == "budget":
            self._budget_limit = max(1, int(value * setting.part))
        elif setting.form == "description":
            self._description_limit = max(1, int(value))
        elif setting.form == "bundled":
            self._bundled = value
        elif not value:
            self._catalog_off = path

    def _add_unread_folders(self, path: str, value: Any) -> None:
        folders = unread_folders(value, self.home)
        if len(folders) > _MAX_NAMED_FOLDERS:
            self.files.report(path, f"only {_MAX_NAMED_FOLDERS:,} folders of this list count")
        self._unread_folders |= dict.fromkeys(folders[:_MAX_NAMED_FOLDERS], path)

    def _add_patterns(self, setting: Setting, path: str, value: Any) -> None:
        effects = skill_effects(setting, value)
        patterns = [(name, effect, path) for name, effect in effects if len(name) <= _MAX_PATTERN_LENGTH]
        if len(self._patterns) + len(patterns) > _MAX_PATTERNS:
            patterns = patterns[: _MAX_PATTERNS - len(self._patterns)]
            self.files.report(path, f"only {_MAX_PATTERNS:,} patterns of names count")
        self._patterns = (*patterns, *self._patterns)

    def _add_effects(self, setting: Setting, path: str, value: Any) -> None:
        exceptions = [self.files.value(path, setting.unless)] if setting.unless else []
        if setting.unless and setting.merge == "union":
            exceptions = [value for _, value in self.values(setting.unless, setting.files, "union")]
        excepted = {name.strip().lower() for item in exceptions for name, _ in skill_effects(setting, item)}
        for name, effect in skill_effects(setting, value):
            if name.strip().lower() in excepted:
                continue
            self._effects.setdefault(name, (effect, path))
            if setting.fold:
                self._folded_effects.setdefault((name.strip() if setting.trim else name).lower(), (effect, path))

    def apply_role(self, role: str) -> None:
        """Apply `spec.auto_skills` of an InitRunner role."""
        self.files.file_must_exist = True
        table = self.files.table(role)
        if not isinstance(table.get("spec"), Mapping) and "auto_skills" in table:
            table = {"spec": table}
        value = get_dotted(table, "spec.auto_skills.enabled")
        if value is not None:
            enabled = parse_bool(value)
            if enabled is None:
                self.files.report(role, "`auto_skills.enabled` is neither true nor false")
            else:
                self._enabled, self._enabled_source = enabled, role
        limit = get_dotted(table, "spec.auto_skills.max_skills")
        if limit is not None:
            number = int(limit) if isinstance(limit, str) and re.fullmatch(r"[0-9]{1,9}", limit) else 0
            if 1 <= number <= _ROLE_MAX_SKILLS:
                self._max_skills = number
            else:
                self.files.report(role, f"`auto_skills.max_skills` is not a number from 1 to {_ROLE_MAX_SKILLS}")
