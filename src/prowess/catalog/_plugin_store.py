"""Read the file in which a client records which plugins, and which of their skills, are on in which folder.

`{"version": 2, "extensions": {SHA-256 OF THE SOURCE: {"name", "defaultActivation": "enabled", "workspaceOverrides":
{FOLDER: "disabled"}, "legacyPathRules": [RULE], "skillWorkspaceOverrides": {FOLDER: {SKILL: true}}}}}`. The client
writes its rules for folders into a second file too; if a person has changed that one since, the second file counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from prowess._internal.files import UnreadableError
from prowess._internal.frozen import EMPTY, Frozen

from ._json_files import read_json
from ._plugin_enablement import FolderRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._filesystem import Filesystem

__all__ = ["PluginStore", "read_plugin_store", "source_identity"]

_ID = re.compile(r"[a-f0-9]{64}")
_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_ACTIVATIONS = ("enabled", "disabled")
_GITHUB = re.compile(
    r"(?:(?i:[a-z][a-z0-9+.-]*://(?:[^/@]*@)?github\.com)/|/)?(?!git@)([^/?#:]+)/([^/?#]+?)(?:\.git)?(?:[?#].*)?"
)


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
            return rules.answer(name, (folder,)), rules.path
        word = record["workspaceOverrides"].get(folder)
        if word in _ACTIVATIONS:
            return word == "enabled", self.path
        on = record["defaultActivation"] == "enabled"
        if word != "inherit":
            own = FolderRules(path=self.path, rules={name: tuple(record.get("legacyPathRules", ()))})
            answer = own.answer(name, (folder,))
            on = on if answer is None else answer
        return on, self.path

    def skills(self, source: str, name: str, folder: str) -> Mapping[str, bool]:
        """Return which skills of a plugin are on or off in a folder, by name in lower case."""
        record = self._record(source, name)
        found: Mapping[str, bool] = record.get("skillWorkspaceOverrides", {}).get(folder, {}) if record else {}
        return found


def source_identity(install: Mapping[str, Any], name: str) -> str:
    """Return what makes a plugin the same plugin: where it was installed from, or its name."""
    source = install.get("source")
    identity = source if isinstance(source, str) and source else name
    if install.get("type") in ("git", "github-release") and (match := _GITHUB.fullmatch(identity)):
        identity = f"https://github.com/{match[1]}/{match[2]}"
    plugin = install.get("pluginName")
    return f"{identity}:{plugin}" if isinstance(plugin, str) and plugin else identity


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
