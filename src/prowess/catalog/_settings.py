"""files + environment -> Settings

What a client's user has set about skills: which are off, whether they are on at all, which folders are trusted. Where
to look is in the host's file; a settings file that cannot be used is a finding, never a failure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from prowess._internal.files import UnreadableError, expand_home
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted
from prowess.findings import Finding, finding
from prowess.skill import parse_yaml_mapping

from ._filesystem import Filesystem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from prowess.hosts import Host, Setting

__all__ = ["Settings", "read_settings"]

_MAX_SETTINGS_BYTES = 512 * 1024
_MAX_TOML_KEY_COST = 2_000_000
"""In a TOML file: the squares of how many dots stand on each line, as `tomllib` takes the square of a key's parts."""
_MAX_PATTERNS = 1000
_MAX_PATTERN_LENGTH = 256
"""Patterns of names that one host heeds, and the characters of one: no name that is shown is longer."""
_TRUE = frozenset(("true", "1", "yes", "on"))
_FALSE = frozenset(("false", "0", "no", "off"))


class Settings(Frozen):
    """What a host's settings say here."""

    enabled: bool = True
    enabled_source: str = "the default"
    """The variable or file that decided, for reasons."""
    effects: Mapping[str, tuple[str, str]] = EMPTY
    """Skill name to (`off`, `gone`, `name-only` or `user-only`; the file that says so)."""
    folded_effects: Mapping[str, tuple[str, str]] = EMPTY
    """The same by lower-case name, where the host compares so."""
    patterns: tuple[tuple[str, str, str], ...] = ()
    """Pattern of names, effect, file; the last that fits counts."""
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
        host: whose.
        project: the git root, or the working directory without one.
        cwd: the working directory.
        home: the user's home.
        env: the environment.
        role: an InitRunner role file, whose `spec.auto_skills` counts.
        filesystem: what was seen so far.
    """
    reader = _SettingsReader(filesystem or Filesystem())
    enabled, enabled_source = host.enabled, "the default"
    effects: dict[str, tuple[str, str]] = {}
    folded_effects: dict[str, tuple[str, str]] = {}
    disabled_paths: dict[str, str] = {}
    trust, trust_source = "unknown", ""
    switched = False
    patterns: tuple[tuple[str, str, str], ...] = ()
    for row in host.settings:
        for path in _settings_paths(row.file, cwd if row.only_cwd else project, cwd, home, env):
            value = reader.value(path, row.key)
            if value is None:
                continue
            if row.form == "switch":
                answer = _parse_bool(value)
                if answer is None:
                    reader.report(path, f"`{row.key}` is neither true nor false")
                elif not switched:
                    enabled, enabled_source, switched = answer, path, True
            elif row.form == "folders":
                if isinstance(value, Mapping) and trust == "unknown":
                    trust, trust_source = _folder_trust(row, value, cwd), path
            else:
                taken_back = reader.value(path, row.unless) if row.unless else None
                back = {name.strip().lower() for name, _ in _skill_effects(row, taken_back)}
                if row.patterns:
                    named = [
                        (name, effect, path)
                        for name, effect in _skill_effects(row, value)
                        if len(name) <= _MAX_PATTERN_LENGTH
                    ]
                    if len(patterns) + len(named) > _MAX_PATTERNS:
                        named = named[: _MAX_PATTERNS - len(patterns)]
                        reader.report(path, f"of the patterns of names only {_MAX_PATTERNS:,} are heeded")
                    patterns = (*named, *patterns)
                    continue
                for name, effect in _skill_effects(row, value):
                    if name.strip().lower() in back:
                        continue
                    if row.form == "entries" and (os.sep in name or name.startswith("~")):
                        disabled_paths[
                            os.path.normpath(os.path.join(os.path.dirname(path), expand_home(name, home)))
                        ] = path
                    else:
                        effects.setdefault(name, (effect, path))
                        if row.fold:
                            folded_effects.setdefault(name.strip().lower(), (effect, path))
    if host.trust_switch and trust == "unknown":
        for row in host.settings:
            for path in _settings_paths(row.file, project, cwd, home, env):
                if row.form != "folders" and _parse_bool(reader.value(path, host.trust_switch)) is False:
                    trust, trust_source = "trusted", path
    if (answer := reader.read_bool_variable(env, host.switch_variable)) is not None:
        enabled, enabled_source = answer, host.switch_variable
    if (answer := reader.read_bool_variable(env, host.trust_variable)) is not None:
        trust, trust_source = ("trusted" if answer else "untrusted"), host.trust_variable
    max_skills = host.max_skills
    if role is not None:
        enabled, enabled_source, max_skills = _role_settings(reader, role, enabled, enabled_source, max_skills)
    return Settings(
        enabled=enabled,
        enabled_source=enabled_source,
        effects=effects,
        folded_effects=folded_effects,
        patterns=patterns,
        disabled_paths=disabled_paths,
        trust=trust,
        trust_source=trust_source,
        max_skills=max_skills,
        findings=tuple(reader.findings),
    )


_ROLE_MAX_SKILLS = 200
"""InitRunner, "Auto-Discovered Skills": `max_skills: 50   # default: 50, max: 200`."""


def _role_settings(
    reader: _SettingsReader, role: str, enabled: bool, enabled_source: str, max_skills: int
) -> tuple[bool, str, int]:
    """Read `spec.auto_skills` of an InitRunner role."""
    reader.file_must_exist = True
    table = reader.table(role)
    if not isinstance(table.get("spec"), Mapping) and "auto_skills" in table:
        table = {"spec": table}
    answer = _get_dotted(table, "spec.auto_skills.enabled")
    if answer is not None:
        truth = _parse_bool(answer)
        if truth is None:
            reader.report(role, "`auto_skills.enabled` is neither true nor false")
        else:
            enabled, enabled_source = truth, role
    limit = _get_dotted(table, "spec.auto_skills.max_skills")
    if limit is not None:
        number = int(limit) if isinstance(limit, str) and re.fullmatch(r"[0-9]{1,9}", limit) else 0
        if 1 <= number <= _ROLE_MAX_SKILLS:
            max_skills = number
        else:
            reader.report(role, f"`auto_skills.max_skills` is not a number from 1 to {_ROLE_MAX_SKILLS}")
    return enabled, enabled_source, max_skills


def _settings_paths(file: str, project: str, cwd: str, home: str, env: Mapping[str, str]) -> list[str]:
    """Return where a settings file may be, the one that counts most first."""
    if file.startswith("$"):
        variable, _, file = file[1:].partition("|")
        variable, _, rest = variable.partition("/")
        if value := env.get(variable):
            return [os.path.join(value, rest)]
    file = expand_home(file, home)
    return list(dict.fromkeys((os.path.join(cwd, file), os.path.join(project, file))))


def _parse_bool(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def _skill_effects(row: Setting, value: Any) -> list[tuple[str, str]]:
    """Return the skills a value names, each with what becomes of it."""
    if row.form == "names" and isinstance(value, list | tuple):
        return [(name, row.effects.get("off", "off")) for name in value if isinstance(name, str)]
    if row.form == "effects" and isinstance(value, Mapping):
        return [
            (name, row.effects[word]) for name, word in value.items() if isinstance(word, str) and word in row.effects
        ]
    if row.form == "entries" and isinstance(value, list):
        last = {
            name: item.get("enabled")
            for item in value
            if isinstance(item, Mapping) and isinstance(name := item.get("name") or item.get("path"), str)
        }
        return [(name, "off") for name, on in last.items() if on is False]
    return []


def _folder_trust(row: Setting, value: Mapping[str, Any], cwd: str) -> str:
    """Return what the nearest folder at or above the working directory is trusted as."""
    directory = cwd
    while True:
        word = value.get(directory)
        if isinstance(word, str) and word in row.effects:
            return row.effects[word]
        parent = os.path.dirname(directory)
        if parent == directory:
            return "unknown"
        directory = parent


def _get_dotted(table: Any, key: str) -> Any:
    for part in filter(None, key.split(".")):
        if not isinstance(table, Mapping):
            return None
        table = table.get(part)
    return table


# What nothing closes reaches to the end of the file: to look for its end from each place anew would take for ever.
_COMMENT = r'(?s)("(?:[^"\\]+|\\.)*(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)'
_TRAILING_COMMA = r'(?s)("(?:[^"\\]+|\\.)*(?:"|\Z))|,(?=\s*[}\]])'


class _SettingsReader:
    """Reads each settings file once, and notes what is wrong with it."""

    def __init__(self, filesystem: Filesystem) -> None:
        self.filesystem = filesystem
        self.findings: list[Finding] = []
        self.file_must_exist = False
        self._tables: dict[str, Mapping[str, Any]] = {}

    def report(self, path: str, message: str) -> None:
        self.findings.append(
            finding("config-invalid", message, path=path, hint="mend the file; until then it is ignored")
        )

    def read_bool_variable(self, env: Mapping[str, str], name: str) -> bool | None:
        """Return what an environment variable says; one that is empty says nothing."""
        word = env.get(name, "").strip() if name else ""
        answer = _parse_bool(word)
        if word and answer is None:
            words = f"the variable `{name}` is neither true nor false: {quoted(word)}"
            self.findings.append(finding("config-invalid", words, hint="set it to `true` or `false`"))
        return answer

    def value(self, path: str, key: str) -> Any:
        return _get_dotted(self.table(path), key)

    def table(self, path: str) -> Mapping[str, Any]:
        if path not in self._tables:
            self._tables[path] = {}
            try:
                # A settings file may well be a link: people keep them in a repository of dot files.
                data = self.filesystem.data(path, _MAX_SETTINGS_BYTES)
            except UnreadableError as error:
                if error.code != "file-missing" or self.file_must_exist:
                    self.report(path, f"the settings cannot be read: {error.message}")
                return {}
            try:
                table = _parse_settings(path, data)
            except (ValueError, RecursionError) as error:
                self.report(path, f"the settings cannot be read: {quoted(str(error), 120)}")
                return {}
            if isinstance(table, Mapping):
                self._tables[path] = table
            else:
                self.report(path, "the settings are not a table of keys")
        return self._tables[path]


def _parse_settings(path: str, data: bytes) -> Any:
    if path.endswith((".yaml", ".yml")):
        values, findings = parse_yaml_mapping(data, path)
        # A skill is repaired, settings are not: what a client cannot read there has no effect.
        errors = [item for item in findings if item.severity == "error" or item.code.startswith("repair-")]
        if errors:
            raise ValueError(errors[0].message)
        return values
    text = data.decode("utf-8-sig")
    if path.endswith(".toml"):
        import tomllib

        if sum(line.count(".") ** 2 for line in text.split("\n")) > _MAX_TOML_KEY_COST:
            raise ValueError("its keys have too many parts")
        return tomllib.loads(text)
    import json

    try:
        return json.loads(text)
    except ValueError:
        # Several clients read comments and trailing commas in theirs.
        plain = re.sub(_COMMENT, lambda match: match[1] or " ", text)
        return json.loads(re.sub(_TRAILING_COMMA, lambda match: match[1] or "", plain))
