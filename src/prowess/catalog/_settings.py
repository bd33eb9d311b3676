"""Read what a client's user has set about skills: which are off, whether skills are on, which folders are trusted.

The host's file says where the settings are. A settings file that cannot be used is a finding, never a failure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from prowess._internal.files import expand_home
from prowess._internal.frozen import EMPTY, Frozen

from ._filesystem import Filesystem
from ._settings_files import SettingsFiles, get_dotted, parse_bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from prowess.findings import Finding
    from prowess.hosts import Host, Setting

__all__ = ["Settings", "find_hiding_setting", "read_settings"]

_MAX_PATTERNS = 1000
"""Patterns of names that count for one host."""
_MAX_PATTERN_LENGTH = 256
"""Characters of a pattern; no shown name is longer."""
_ROLE_MAX_SKILLS = 200
"""InitRunner, "Auto-Discovered Skills": `max_skills: 50   # default: 50, max: 200`."""


class Settings(Frozen):
    """What a host's settings say."""

    enabled: bool = True
    enabled_source: str = "default"
    """The variable or file that decided, for reasons."""
    effects: Mapping[str, tuple[str, str]] = EMPTY
    """Skill name to (`off`, `gone`, `name-only` or `user-only`; the file that says so)."""
    folded_effects: Mapping[str, tuple[str, str]] = EMPTY
    """The same by lower-case name, if the host compares so."""
    patterns: tuple[tuple[str, str, str], ...] = ()
    """Pattern of names, effect and file; the last that matches counts."""
    disabled_paths: Mapping[str, str] = EMPTY
    """SKILL.md path or folder to the file that switches it off."""
    trust: str = "unknown"
    """Of the project: `trusted`, `untrusted` or `unknown`."""
    trust_source: str = ""
    max_skills: int = 0
    """0 is no limit."""
    findings: tuple[Finding, ...] = ()


def read_settings(
    host: Host,
    *,
    project: str,
    cwd: str,
    home: str,
    env: Mapping[str, str],
    role: str | None = None,
    filesystem: Filesystem | None = None,
) -> Settings:
    """Read a host's settings.

    Args:
        host: whose settings.
        project: the git root, or the working directory without one.
        cwd: the working directory.
        home: the user's home.
        env: the environment.
        role: an InitRunner role file, whose `spec.auto_skills` counts.
        filesystem: what was read so far.
    """
    reader = _SettingsReader(host, project, cwd, home, env, filesystem or Filesystem())
    applied_keys: set[str] = set()
    for setting in host.settings:
        if setting.first_only and setting.key in applied_keys:
            continue
        for path in reader.paths(setting, cwd if setting.only_cwd else project):
            value = reader.files.value(path, setting.key)
            if value is not None:
                applied_keys.add(setting.key)
                reader.apply(setting, path, value)
    reader.apply_trust_switch()
    reader.apply_variables()
    if role is not None:
        reader.apply_role(role)
    return reader.settings()


def find_hiding_setting(
    host: Host,
    *,
    project: str,
    cwd: str,
    home: str,
    env: Mapping[str, str],
    names: Collection[str],
    paths: Collection[str],
) -> tuple[Setting, str, str] | None:
    """Return the setting that hides a skill, its file, and how the skill is written there.

    Args:
        host: whose settings.
        project: the git root, or the working directory without one.
        cwd: the working directory.
        home: the user's home.
        env: the environment.
        names: of the skill.
        paths: of the skill's folder and SKILL.md.
    """
    reader = _SettingsReader(host, project, cwd, home, env, Filesystem())
    folded = {name.lower() for name in names}
    for setting in host.settings:
        for file in reader.paths(setting, cwd if setting.only_cwd else project):
            for written, effect in _skill_effects(setting, reader.files.value(file, setting.key)):
                absolute = os.path.normpath(os.path.join(os.path.dirname(file), expand_home(written, home)))
                matches = (
                    written in names
                    or (setting.fold and written.strip().lower() in folded)
                    or absolute in paths
                    or (setting.patterns and any(fnmatchcase(name, written) for name in names))
                )
                if matches and effect != "on":
                    return setting, file, written
    return None


class _SettingsReader:
    """Collects the settings of one host."""

    def __init__(
        self, host: Host, project: str, cwd: str, home: str, env: Mapping[str, str], filesystem: Filesystem
    ) -> None:
        self.host, self.project, self.cwd, self.home, self.env = host, project, cwd, home, env
        self.files = SettingsFiles(filesystem)
        self._enabled, self._enabled_source, self._switch_found = host.enabled, "default", False
        self._effects: dict[str, tuple[str, str]] = {}
        self._folded_effects: dict[str, tuple[str, str]] = {}
        self._patterns: tuple[tuple[str, str, str], ...] = ()
        self._disabled_paths: dict[str, str] = {}
        self._trust, self._trust_source = "unknown", ""
        self._max_skills = host.max_skills

    def settings(self) -> Settings:
        """Return what was collected."""
        return Settings(
            enabled=self._enabled,
            enabled_source=self._enabled_source,
            effects=self._effects,
            folded_effects=self._folded_effects,
            patterns=self._patterns,
            disabled_paths=self._disabled_paths,
            trust=self._trust,
            trust_source=self._trust_source,
            max_skills=self._max_skills,
            findings=tuple(self.files.findings),
        )

    def paths(self, setting: Setting, project: str) -> list[str]:
        """Return where a settings file may be, the most important path first."""
        file = setting.file
        if file.startswith("$"):
            variable, _, file = file[1:].partition("|")
            variable, _, rest = variable.partition("/")
            if value := self.env.get(variable):
                return [os.path.join(value, rest)]
        file = expand_home(file, self.home)
        return list(dict.fromkeys((os.path.join(self.cwd, file), os.path.join(project, file))))

    def apply(self, setting: Setting, path: str, value: Any) -> None:
        """Apply the value that a file has for a setting."""
        if setting.form == "switch":
            self._apply_switch(setting, path, value)
        elif setting.form == "folders":
            if isinstance(value, Mapping) and self._trust == "unknown":
                self._trust, self._trust_source = _folder_trust(setting, value, self.cwd), path
        elif setting.patterns:
            self._add_patterns(setting, path, value)
        else:
            self._add_effects(setting, path, value)

    def _apply_switch(self, setting: Setting, path: str, value: Any) -> None:
        answer = parse_bool(value)
        if answer is None:
            self.files.report(path, f"`{setting.key}` is neither true nor false")
        elif not self._switch_found:
            self._enabled, self._enabled_source, self._switch_found = answer, path, True

    def _add_patterns(self, setting: Setting, path: str, value: Any) -> None:
        patterns = [
            (name, effect, path) for name, effect in _skill_effects(setting, value) if len(name) <= _MAX_PATTERN_LENGTH
        ]
        if len(self._patterns) + len(patterns) > _MAX_PATTERNS:
            patterns = patterns[: _MAX_PATTERNS - len(self._patterns)]
            self.files.report(path, f"only {_MAX_PATTERNS:,} patterns of names count")
        self._patterns = (*patterns, *self._patterns)

    def _add_effects(self, setting: Setting, path: str, value: Any) -> None:
        exceptions = self.files.value(path, setting.unless) if setting.unless else None
        excepted = {name.strip().lower() for name, _ in _skill_effects(setting, exceptions)}
        for name, effect in _skill_effects(setting, value):
            if name.strip().lower() in excepted:
                continue
            if setting.form == "entries" and (os.sep in name or name.startswith("~")):
                folder = os.path.dirname(path)
                self._disabled_paths[os.path.normpath(os.path.join(folder, expand_home(name, self.home)))] = path
                continue
            self._effects.setdefault(name, (effect, path))
            if setting.fold:
                self._folded_effects.setdefault(name.strip().lower(), (effect, path))

    def apply_trust_switch(self) -> None:
        """Trust the project if the user has switched off trust."""
        if not self.host.trust_switch or self._trust != "unknown":
            return
        for path in self._paths_of_switches():
            if parse_bool(self.files.value(path, self.host.trust_switch)) is False:
                self._trust, self._trust_source = "trusted", path

    def _paths_of_switches(self) -> Iterator[str]:
        for setting in self.host.settings:
            if setting.form != "folders":
                yield from self.paths(setting, self.project)

    def apply_variables(self) -> None:
        """Apply the host's environment variables, which win over files."""
        host = self.host
        enabled = self.files.read_bool_variable(self.env, host.switch_variable)
        if enabled is not None:
            self._enabled, self._enabled_source = enabled, host.switch_variable
        trusted = self.files.read_bool_variable(self.env, host.trust_variable)
        if trusted is not None:
            self._trust, self._trust_source = ("trusted" if trusted else "untrusted"), host.trust_variable

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


def _skill_effects(setting: Setting, value: Any) -> list[tuple[str, str]]:
    """Return the skills that a value names, each with its effect."""
    if setting.form == "names" and isinstance(value, list | tuple):
        return [(name, setting.effects.get("off", "off")) for name in value if isinstance(name, str)]
    if setting.form == "effects" and isinstance(value, Mapping):
        return [
            (name, setting.effects[word])
            for name, word in value.items()
            if isinstance(word, str) and word in setting.effects
        ]
    if setting.form == "entries" and isinstance(value, list):
        enabled = {
            name: item.get("enabled")
            for item in value
            if isinstance(item, Mapping) and isinstance(name := item.get("name") or item.get("path"), str)
        }
        return [(name, "off") for name, on in enabled.items() if on is False]
    return []


def _folder_trust(setting: Setting, value: Mapping[str, Any], cwd: str) -> str:
    """Return the trust of the nearest listed folder at or above the working directory."""
    directory = cwd
    while True:
        word = value.get(directory)
        if isinstance(word, str) and word in setting.effects:
            return setting.effects[word]
        parent = os.path.dirname(directory)
        if parent == directory:
            return "unknown"
        directory = parent
