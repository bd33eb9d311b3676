"""What Qwen Code alone does (observed with 0.24.4).

It records which extensions, and which of their skills, are on in which folder: `{"version": 2, "extensions": {SHA-256
OF THE SOURCE: {"name", "defaultActivation": "enabled", "workspaceOverrides": {FOLDER: "disabled"}, "legacyPathRules":
[RULE], "skillWorkspaceOverrides": {FOLDER: {SKILL: true}}}}}`. It writes its rules for folders into a second file too,
the one that Gemini CLI has; if a person has changed that one since, the second file counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from prowess._internal.files import UnreadableError
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, quoted
from prowess.clients import reading as usual_reading, settings as usual
from prowess.clients.budget import LineCosts
from prowess.clients.plugins import ExtensionFinder, FolderRules
from prowess.clients.reading import JAVASCRIPT_SPACE, lines_to_parse, without_null_items
from prowess.clients.settings import (
    NamedSkill,
    contains,
    folders_with_trust,
    replace_variables,
    texts_of,
)
from prowess.filesystem import read_json
from prowess.skill import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.clients.budget import ModelCatalog
    from prowess.clients.plugins import InstalledPlugin, PluginCandidate
    from prowess.clients.settings import SettingsFiles, SettingsReader
    from prowess.filesystem import Filesystem
    from prowess.hosts import Root, SettingsFile
    from prowess.skill import Document, Value

_SCOPES = {"project": "project", "user": "user", "extension": "plugin"}
"""The client's words for scopes."""
_UNFINISHED = re.compile(r"\.(backup|installing)-[0-9]+-[0-9]+$").search


def parse_settings(files: SettingsFiles, path: str, data: bytes, rules: SettingsFile) -> Any:
    """Return what a settings file contains; `${NAME:-TEXT}` is a name like any other there."""
    table = usual.parse_settings(files, path, data, rules.with_changes(variables=False))
    return replace_variables(table, files.env, defaults=False) if rules.variables else table


def words_of_own_trust(reader: SettingsReader, folder: str) -> Iterator[tuple[str, str]]:
    """Yield what the switch for all folders, which is off, and the deepest folder say; of two the untrusted one."""
    source, on = reader.folder_trust_switch()
    if on is not True:
        yield "default" if on is None else source, "trusted"
    for path, table in reader.trust_values("", ("trusted-folders",)):
        deepest, answer = -1, "unknown"
        for _, spelled, trust in folders_with_trust(table, reader.cwd):
            spellings = (spelled, reader.files.filesystem.real(spelled))
            depths = [item.rstrip("/").count("/") for item in spellings if contains(item, reader.cwd)]
            depth = max(depths, default=-1)
            if depth > deepest or (depth == deepest >= 0 and trust == "untrusted"):
                deepest, answer = depth, trust
        yield path, answer
    yield source, "untrusted"


def named_skills(reader: SettingsReader) -> Iterator[NamedSkill]:
    """Yield the skills that are off, which are not loaded at all; `skills.enabled` keeps those of the defaults on."""
    for key in ("skills.disabled", "skills.defaultDisabled"):
        on = reader.values("skills.enabled", merge="union") if key == "skills.defaultDisabled" else ()
        kept = {_folded(name) for _, value in on for name in texts_of(value)}
        for path, value in reader.values(key, merge="union"):
            for name in texts_of(value):
                cure, folded = f"remove {quoted(name)} from `{key}`", _folded(name)
                if folded not in kept:
                    yield NamedSkill(key=key, file=path, written=name, effect="gone", cure=cure, folded=folded)


def _folded(name: str) -> str:
    return name.strip().lower()


def read_own_settings(reader: SettingsReader) -> None:
    """Read whose skills are not read at all."""
    reader.found["unread"] = {
        _SCOPES[word]: path
        for path, value in reader.values("skills.disabledLevels", merge="union")
        for word in texts_of(value)
        if word in _SCOPES
    }


def skips_folder(name: str) -> bool:
    """Return whether Qwen Code scans no folder with a name: one that it writes while it replaces an extension."""
    return _UNFINISHED(name) is not None


def reason_unread(root: Root, path: str, env: Mapping[str, str], unread: Mapping[str, str]) -> str:
    """Return what keeps Qwen Code from reading the folders of a scope: `skills.disabledLevels`."""
    file = unread.get(root.scope)
    return f"the agent does not read skills of the scope `{root.scope}`, says {neutral(file)}" if file else ""


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_STORE = "$QWEN_HOME/extension-store/state.json|~/.qwen/extension-store/state.json"
_GITHUB = re.compile(
    r"(?:(?i:[a-z][a-z0-9+.-]*://(?:[^/@]*@)?github\.com)/|/)?(?!git@)([^/?#:]+)/([^/?#]+?)(?:\.git)?(?:[?#].*)?"
)


_ID = re.compile(r"[a-f0-9]{64}")
_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_ACTIVATIONS = ("enabled", "disabled")


class PluginStore(Frozen):
    """What the client has recorded about its plugins."""

    path: str
    """The file; empty if it does not exist."""
    plugins: Mapping[str, Mapping[str, Any]] = EMPTY
    """The SHA-256 of a plugin's source to what is recorded about it."""
    by_rules: bool = False
    """Whether the second file counts in place of what is recorded about plugins."""
    by_name: Mapping[str, Mapping[str, Any]] = EMPTY
    """The same by the name of the plugin in lower case; the first of each name."""
    problem: str = ""
    """Why the client does not start; empty if it does."""

    def _record(self, source: str, name: str) -> Mapping[str, Any] | None:
        found = self.plugins.get(_sha256(source)) if self.plugins else None
        return self.by_name.get(name.lower()) if found is None else found

    def answer(self, source: str, name: str, folder: str, rules: FolderRules) -> tuple[bool | None, str]:
        """Return whether a plugin is on in a folder, and the file that says so; `None` if nothing says so.

        Args:
            source: where it was installed from, as in `source_identity`.
            name: of the plugin.
            folder: without links.
            rules: those of the second file.
        """
        record = self._record(source, name)
        if record is None or self.by_rules:
            return rules.answer(name, folder), rules.path
        word = record["workspaceOverrides"].get(folder)
        if word in _ACTIVATIONS:
            return word == "enabled", self.path
        on = record["defaultActivation"] == "enabled"
        if word != "inherit":
            own = FolderRules(path=self.path, rules={name: tuple(record.get("legacyPathRules", ()))})
            answer = own.answer(name, folder)
            on = on if answer is None else answer
        return on, self.path

    def skills(self, source: str, name: str, folder: str) -> Mapping[str, bool]:
        """Return which skills of a plugin are on or off in a folder, by name in lower case."""
        record = self._record(source, name)
        found: Mapping[str, bool] = record.get("skillWorkspaceOverrides", {}).get(folder, {}) if record else {}
        return found


def read_plugin_store(filesystem: Filesystem, path: str, rules: FolderRules) -> PluginStore:
    """Read the record, or the copy of the previous one if it is missing or invalid.

    Args:
        filesystem: what was read so far.
        path: of the file.
        rules: those of the second file.
    """
    invalid = False
    for name in (path, path.removesuffix(".json") + ".previous.json"):
        try:
            table = read_json(filesystem, name)
        except UnreadableError as error:
            invalid = invalid or error.code != "file-missing"
            continue
        except ValueError:
            invalid = True
            continue
        if not _is_valid(table):
            invalid = True
            continue
        changed = name == path and _hash(filesystem, rules.path) != table["legacyProjectionHash"]
        newer = changed and filesystem.modified_ns(rules.path) > filesystem.modified_ns(path)
        plugins = table["extensions"]
        by_name = {item["name"].lower(): item for item in reversed(plugins.values())}
        return PluginStore(path=name, plugins=plugins, by_name=by_name, by_rules=newer)
    return PluginStore(path="", problem="the record and its copy are invalid" if invalid else "")


def _hash(filesystem: Filesystem, path: str) -> str:
    """Return the SHA-256 of the second file, written without white space."""
    try:
        table = read_json(filesystem, path)
    except (UnreadableError, ValueError):
        table = {}
    import json

    return _sha256(json.dumps(table, ensure_ascii=False, separators=(",", ":")))


def _sha256(text: str) -> str:
    # Few users have such a file, and the module takes time to load.
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _is_valid(table: object) -> bool:
    if not isinstance(table, Mapping) or table.get("version") != 2:
        return False
    plugins, digest = table.get("extensions"), table.get("legacyProjectionHash")
    return (
        _is_count(table.get("generation"))
        and isinstance(digest, str)
        and _ID.fullmatch(digest) is not None
        and isinstance(plugins, Mapping)
        and all(_ID.fullmatch(key) and _is_valid_record(item) for key, item in plugins.items())
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_valid_record(record: object) -> bool:
    if not isinstance(record, Mapping):
        return False
    name, folders = record.get("name"), record.get("workspaceOverrides")
    rules, skills = record.get("legacyPathRules", []), record.get("skillWorkspaceOverrides", {})
    return (
        isinstance(name, str)
        and _NAME.fullmatch(name) is not None
        and _is_count(record.get("artifactGeneration", 0))
        and record.get("defaultActivation") in _ACTIVATIONS
        and isinstance(folders, Mapping)
        and all(word in (*_ACTIVATIONS, "inherit") for word in folders.values())
        and isinstance(rules, list)
        and all(isinstance(rule, str) for rule in rules)
        and isinstance(skills, Mapping)
        and all(
            isinstance(states, Mapping) and all(isinstance(on, bool) for on in states.values())
            for states in skills.values()
        )
    )


def source_identity(install: Mapping[str, Any], name: str) -> str:
    """Return what makes a plugin the same plugin: where it was installed from, or its name."""
    source = install.get("source")
    identity = source if isinstance(source, str) and source else name
    if install.get("type") in ("git", "github-release") and (match := _GITHUB.fullmatch(identity)):
        identity = f"https://github.com/{match[1]}/{match[2]}"
    plugin = install.get("pluginName")
    return f"{identity}:{plugin}" if isinstance(plugin, str) and plugin else identity


class Plugins(ExtensionFinder):
    """Finds its extensions."""

    fold = True

    def read_settings(self) -> None:
        """Read the record, and the skills that are on whatever it and their extension say."""
        super().read_settings()
        path = self.expand(_STORE)
        self.store = read_plugin_store(self.filesystem, path, self.folder_rules)
        if self.store.problem:
            self.stop(path, self.store.problem)
        lists = [
            names for _, names in self.reader.values("skills.enabled", (), "union") if isinstance(names, list | tuple)
        ]
        self.skills_on = {name.strip().lower() for names in lists for name in names if isinstance(name, str)}

    def on_invalid_rules(self, path: str, problem: str) -> None:
        """Refuse to start if the rules are invalid."""
        self.stop(path, problem)

    def may_be_plugin(self, path: str, letter: str) -> bool:
        """Refuse to start if the folder of an extension is a broken link."""
        if letter == "l" and not self.filesystem.kind(path):
            self.stop(path, "it is a broken link")
        return True

    def find_answer(self, name: str, source: str) -> tuple[bool | None, str]:
        """Return whether an extension is on, and the file that says so."""
        return self.store.answer(source, name, self.cwd, self.folder_rules)

    def source(self, candidate: PluginCandidate, name: str) -> str:
        """Return what an extension is recorded by."""
        return source_identity(candidate.install, name)

    def further(self, candidate: PluginCandidate, name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return which skills of an extension are off: its manifest says so, or the record."""
        states = {word.strip().lower(): on for word, on in manifest.get("skillStates", {}).items()}
        states |= self.store.skills(self.source(candidate, name), name, self.cwd)
        off = (skill for skill, on in states.items() if not on and f"{name}:{skill}".lower() not in self.skills_on)
        return {"skills_off": tuple(off)}

    def one_of_each_name(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Keep the last folder of each name, without case; names or sources that differ stop the client."""
        last = {item.name.lower(): item for item in sorted(found, key=lambda plugin: os.fsencode(plugin.place))}
        result = []
        for plugin in found:
            winner = last[plugin.name.lower()]
            if winner is plugin:
                result.append(plugin)
            elif (plugin.name, plugin.source) != (winner.name, winner.source):
                self.stop(plugin.place, f"{neutral(winner.place)} has the name {quoted(plugin.name)} too")
                result.append(plugin)
            else:
                off = f"{neutral(winner.place)} has the name of its plugin {quoted(plugin.name)} too, and wins"
                result.append(plugin.with_changes(off=off))
        return result


# ── names and descriptions ────────────────────────────────────────────────────────────────────────────────────────────


def when_to_use(value: Field) -> str:
    """Return what is added to a description, if it is text."""
    return f" — {value.value}" if value.kind == "text" and value.value else ""


def final_description(text: str, line: str, scope: str) -> tuple[str, str]:
    """Return a description and its first line, each with the scope."""
    return f"{text} ({scope})", f"{line} ({scope})"


# ── reading SKILL.md ──────────────────────────────────────────────────────────────────────────────────────────────────


_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|0[xX][0-9a-fA-F]+"
_LIST_AS_KEY = re.compile(r"(?m)^([^\s:#][^:\n]*:[ \t]+\[[^][\n]*\]):[ \t][^\n]*$")


def fields_as_read(fields: Mapping[str, Field], document: Document | None, *, is_valid: bool) -> Mapping[str, Field]:
    """Return the fields without nulls in lists, or read line by line if the YAML is invalid."""
    if document is not None and not is_valid:
        return _parse_values(lines_to_parse(document))
    return {key: without_null_items(value) for key, value in fields.items()}


def kind_of_list(value: Field) -> str:
    """Return what a list counts as that is written as text: `list`, `empty`, or `map` if that cannot be written."""
    items = value.value if isinstance(value.value, tuple) else ()
    if any(isinstance(item, Mapping) for item in items):
        return "map"
    return "list" if any(items) else "empty"


def write_flow_keys(front: str) -> str:
    """Return YAML in which nothing in brackets is a key: a table as text, a list without its value."""
    return _LIST_AS_KEY.sub(r"\1", usual_reading.write_flow_keys(front))


def _parse_values(lines: list[str]) -> dict[str, Field]:
    """Return one field a line; below a key without value, `  - ` begins a list item and other indented lines a map."""
    fields: dict[str, Field] = {}
    kept = [
        (number, line)
        for number, line in enumerate(lines)
        if line.strip(JAVASCRIPT_SPACE) and not line.strip(JAVASCRIPT_SPACE).startswith("#")
    ]
    key = ""
    items: list[Value] | None = None
    table: dict[str, Value] | None = None
    for index, (number, line) in enumerate(kept):
        if line.startswith("  - ") and key and table is None:
            items = [*(items or []), _parse_value(line[4:].strip(JAVASCRIPT_SPACE))[0]]
            kinds = ("text",) * len(items)
            fields[key] = Field(value=tuple(items), kind="list", line=number + 2, column=1, kinds=kinds)
            continue
        if items is not None:
            key, items = "", None
        if table is not None and line.startswith("  "):
            name, _, value = line.strip(JAVASCRIPT_SPACE).partition(":")
            table[name.strip(JAVASCRIPT_SPACE)] = _parse_value(value.strip(JAVASCRIPT_SPACE))[0]
            continue
        table = None
        name, colon, text = line.partition(":")
        if not colon:
            continue
        key, text = name.strip(JAVASCRIPT_SPACE), text.strip(JAVASCRIPT_SPACE)
        if text:
            typed, kind = _parse_value(text)
            if kind != "null":
                fields[key] = Field(value=typed, kind=kind, line=number + 2, column=1)
        else:
            following = kept[index + 1][1] if index + 1 < len(kept) else ""
            if following.startswith("  ") and not following.startswith("  - "):
                table = {}
                fields[key] = Field(value=table, kind="map", line=number + 2, column=1)
    return fields


def _parse_value(text: str) -> tuple[Value, str]:
    """Return a value of the `values` parser, and its kind."""
    if text in ("true", "false"):
        return text, "bool"
    if text == "null":
        return "", "null"
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\"), "text"
    return text, "number" if re.fullmatch(_NUMBER, text) else "text"


# ── the budget ────────────────────────────────────────────────────────────────────────────────────────────────────────


def shorten(catalog: ModelCatalog) -> list[str | None]:
    """Cut every description to its first line if not all fit."""
    fits = sum(LineCosts(catalog.host, catalog.skills).full()) <= catalog.available
    return catalog.descriptions() if fits else [*catalog.first_lines()]
