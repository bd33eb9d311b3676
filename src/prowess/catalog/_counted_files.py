"""Decide which settings files of a host count, and give the values of their keys."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from functools import partial

from prowess._internal.text import quoted

from ._argument_settings import ARGUMENTS, argument_settings
from ._client_arguments import ClientArguments
from ._file_trust import file_trust, main_working_tree
from ._markdown_settings import find_markdown_files
from ._project import git_root, marked_root
from ._project_trust import trust_answers
from ._setting_values import merge_deep, merge_files
from ._settings_files import SettingsFiles, get_dotted, is_switched_on
from ._settings_layers import SettingsLayer, settings_layers
from ._settings_merge import merge_union
from ._settings_text import substitute
from ._settings_types import find_wrong_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from prowess.hosts import Host

    from ._filesystem import Filesystem

__all__ = ["CountedFiles", "TRUST_FORMS"]

TRUST_FORMS = ("folders", "folder-lists", "trust", "trusted", "file-trust")
"""Forms of settings that say which folders are trusted."""
_MAX_FILES = 1000
"""Settings files of one folder that count."""
_MAX_ROOT_MARKERS = 100
"""Names that may make a project's root."""


class CountedFiles:
    """The settings files of one host that count, and the values of their keys."""

    def __init__(
        self,
        host: Host,
        *,
        project: str,
        cwd: str,
        home: str,
        env: Mapping[str, str],
        home_variables: Mapping[str, str],
        client_args: Sequence[str],
        filesystem: Filesystem,
    ) -> None:
        self.host, self.project, self.cwd, self.home, self.env = host, project, cwd, home, env
        self.files = SettingsFiles(filesystem, env)
        self.files.aliases = host.settings_aliases
        self.arguments = ClientArguments(host, client_args)
        self._void_files: set[str] = set()
        self._trust_of_files: dict[str, str] = {}
        self._trust, self._trust_source = "unknown", ""
        self._trust_of_cwd = "unknown"
        self._agent = ""
        self._read_arguments()
        self.layers = self._layers(home_variables)
        self._wrong_markers = False
        self._root_markers = self._read_root_markers()
        if self._root_markers is not None:
            self.project = marked_root(cwd, self._root_markers, filesystem) or cwd
            self.layers = self._layers(home_variables)
        for _, values in self.arguments.with_effect("files", "sources"):
            names = {name.strip() for value in values for name in value.split(",")}
            self.layers = tuple(
                layer for layer in self.layers if (layer.rules.source or layer.name) in names or layer.rules.always
            )
        self._unread_scopes = frozenset(
            scope
            for _, values in self.arguments.with_effect("sources")
            for scope in ("project", "user")
            if scope not in {name.strip() for value in values for name in value.split(",")}
        )
        self._enabled, self._enabled_source, self._switch_found = host.enabled, "default", False

    def _read_arguments(self) -> None:
        """Read the settings that arguments make or name."""
        given = [value for _, values in self.arguments.with_effect("settings") for value in values[-1:]]
        if not given:
            versions = [rules.toml for rules in self.host.settings_files.values() if rules.path == ARGUMENTS]
            self.files.add_table(ARGUMENTS, argument_settings(self.arguments, *versions[:1]))
        elif given[-1].lstrip().startswith("{"):
            self.files.strict.add(ARGUMENTS)
            self.files.texts[ARGUMENTS] = given[-1]
        else:
            path = os.path.normpath(os.path.join(self.cwd, given[-1]))
            self.files.strict.add(path)
            self.files.add_table(ARGUMENTS, self.files.table(path))

    def _layers(self, home_variables: Mapping[str, str]) -> tuple[SettingsLayer, ...]:
        """Return the settings files that may count."""
        filesystem = self.files.filesystem
        has_git = git_root(self.cwd, self.host.git_marker, filesystem) is not None
        layers = settings_layers(
            self.host,
            project=self.project,
            cwd=self.cwd,
            home=self.home,
            env=home_variables,
            has_git=has_git,
            arguments=self.arguments.values,
        )
        return tuple(layer for found in layers if self._prepare(found) for layer in self._files_of(found))

    def _prepare(self, layer: SettingsLayer) -> bool:
        """Note how a settings file is read, and return whether it counts at all."""
        rules, path = layer.rules, layer.path
        self.files.rules[path] = rules
        if any(is_switched_on(name, self.env) for name in rules.unless):
            return False
        if rules.inline:
            self.files.texts[path] = self.env.get(path[1:], "")
        if rules.may_be_empty:
            self.files.may_be_empty.add(path)
        if rules.under:
            self.files.under[path] = rules.under
        if rules.substitutes:
            folder = self.cwd if rules.inline else os.path.dirname(path)
            self.files.prepare[path] = partial(
                substitute, folder=folder, home=self.home, env=self.env, filesystem=self.files.filesystem
            )
        return True

    def _files_of(self, layer: SettingsLayer) -> Iterator[SettingsLayer]:
        """Yield a layer, or if it is a folder, one for each of its files."""
        if "*" in os.path.basename(layer.path):
            for path in self._matching_files(layer.path):
                self.files.rules[path] = layer.rules
                yield layer.with_changes(path=path)
            return
        if not layer.rules.markdown:
            yield layer
            return
        for path, name in find_markdown_files(layer.path, self.files.filesystem):
            # A key is dotted, so a name with a dot is no part of one.
            if "." not in name:
                self.files.under[path] = f"{layer.rules.markdown}.{name}"
                yield layer.with_changes(path=path)

    def _matching_files(self, pattern: str) -> list[str]:
        """Return the files whose names match a pattern, the last one first."""
        folder, name = os.path.split(pattern)
        try:
            names = [item for item, _ in self.files.filesystem.listing(folder) if not item.startswith(".")]
        except OSError:
            return []
        names = [item for item in names if fnmatchcase(item, name)]
        if len(names) > _MAX_FILES:
            self.files.report(folder, f"only {_MAX_FILES:,} settings files of this folder count")
        paths = [os.path.join(folder, item) for item in sorted(names)[:_MAX_FILES]]
        return [path for path in reversed(paths) if self.files.filesystem.kind(path) != "d"]

    def values(self, key: str, files: tuple[str, ...] = (), merge: str = "join") -> Iterator[tuple[str, Any]]:
        """Yield the values of a key that count, each with its file, highest precedence first.

        Args:
            key: a dotted key.
            files: the names of the settings files; empty for all that are not `apart`.
            merge: as in `Setting.merge`; a merged table is yielded once, with the highest file, and the lists of a
                union are yielded lowest first.
        """
        if merge in ("union", "union-single"):
            tables = [(layer.path, self.files.table(layer.path)) for layer in self.layers if self._counts(layer, files)]
            yield from merge_union(reversed(tables), key, single=merge == "union-single")
            return
        found = [
            (layer.path, value)
            for layer in self.layers
            if self._counts(layer, files)
            and layer.may_have(key)
            and (value := self._value(layer.path, key)) is not None
            and not self._has_wrong_type(layer, key, value)
        ]
        if merge == "deep" and found:
            found = [(found[0][0], merge_files(found))]
        yield from found[:1] if merge == "first" else found

    def _value(self, path: str, key: str) -> Any:
        """Return the value of a key in one file: of several forms the first, and the others only if they are lists."""
        first, *others = key.split("|")
        value = self.files.value(path, first)
        lists = (item for form in others if isinstance(item := self.files.value(path, form), list | tuple))
        return next(lists, None) if value is None else value

    def _has_wrong_type(self, layer: SettingsLayer, key: str, value: object) -> bool:
        """Return whether a value does not count for its type, and report it."""
        if layer.rules.wrong_type != "key":
            return False
        types = {
            f"value{name.removeprefix(key)}": word
            for name, word in self.host.settings_types.items()
            if name == key or name.startswith(f"{key}.")
        }
        if find_wrong_type({"value": value}, types) is None:
            return False
        self.files.report(layer.path, f"{quoted(key)} has the wrong type, so the agent ignores it")
        return True

    def _counts(self, layer: SettingsLayer, files: tuple[str, ...]) -> bool:
        if layer.name not in files if files else layer.rules.apart:
            return False
        if layer.path in self._void_files or (layer.rules.not_untrusted and self._trust == "untrusted"):
            return False
        return not layer.rules.needs_trust or self._file_trust(layer) == "trusted"

    def _file_trust(self, layer: SettingsLayer) -> str:
        """Return the trust that a settings file has, which may differ from that of the working directory."""
        if layer.rules.trust_of == "cwd":
            return self._trust_of_cwd
        settings = [setting for setting in self.host.settings if setting.form == "file-trust"]
        if not settings:
            return self._trust
        if layer.path not in self._trust_of_files:
            folders = (layer.folder, self.project, main_working_tree(self.cwd, self.files.filesystem))
            found = (
                file_trust(item, (value for _, value in self.values(item.key, item.files, item.merge)), folders)
                for item in settings
            )
            self._trust_of_files[layer.path] = next((word for word in found if word != "unknown"), "unknown")
        return self._trust_of_files[layer.path]

    def _read_root_markers(self) -> tuple[str, ...] | None:
        """Return the names that make a project's root; `None` if no settings file says any."""
        key = self.host.root_markers
        names = tuple(layer.name for layer in self.layers if layer.folder is None) if key else ()
        for _, value in self.values(key, names, "first") if names else ():
            if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
                return tuple(value[:_MAX_ROOT_MARKERS])
            self._wrong_markers = True
        return None

    def _check_files(self) -> None:
        """Check all files but those that are read for trust alone."""
        trust = {name for item in self.host.settings if item.form in TRUST_FORMS for name in item.files}
        for layer in self.layers:
            if not (layer.rules.apart and layer.name in trust):
                self._check_file(layer)
        self._check_merged()

    def _check_file(self, layer: SettingsLayer) -> None:
        """Note whether a file that the client cannot read is void, or keeps the client from starting."""
        if not self._counts(layer, (layer.name,)):
            return
        stops = self.files.problem(layer.path) == "stops"
        types = layer.rules.types
        if not types and not layer.rules.apart:
            types = {key: word for key, word in self.host.settings_types.items() if layer.may_have(key)}
        if layer.rules.wrong_type in ("void", "stops"):
            wrong = find_wrong_type(self.files.table(layer.path), types)
            if wrong is not None:
                stops = stops or layer.rules.wrong_type == "stops"
                self._void_files.add(layer.path)
                effect = "the agent refuses to start" if stops else "the agent ignores the whole file"
                self.files.report(layer.path, f"{quoted(wrong)} has the wrong type, so {effect}")
        if stops:
            self._stop(layer.path)

    def _check_merged(self) -> None:
        """Note the same for what the files say together, if the client checks that."""
        counted = [
            layer for layer in self.layers if layer.rules.wrong_type == "stops-merged" and self._counts(layer, ())
        ]
        merged: Any = {}
        for layer in reversed(counted):
            merged = merge_deep(merged, self.files.table(layer.path))
        wrong = find_wrong_type(merged, self.host.settings_types)
        if counted and wrong is None and self._wrong_markers:
            wrong = self.host.root_markers
        if counted and wrong is not None:
            having = [layer.path for layer in counted if get_dotted(self.files.table(layer.path), wrong.split(".*")[0])]
            path = having[0] if having else counted[0].path
            self.files.report(path, f"{quoted(wrong)} has the wrong type, so the agent refuses to start")
            self._stop(path)

    def _stop(self, path: str) -> None:
        self._enabled, self._enabled_source, self._switch_found = False, path, True

    def _read_trust(self) -> None:
        """Decide whether the project is trusted, and the working directory if a file needs that."""
        self._trust, self._trust_source = self._trust_of_folder(self.project)
        self._trust_of_cwd = self._trust
        if self.cwd != self.project and any(layer.rules.trust_of == "cwd" for layer in self.layers):
            self._trust_of_cwd, _ = self._trust_of_folder(self.cwd)

    def _trust_of_folder(self, folder: str) -> tuple[str, str]:
        """Return the trust of a folder, and what says so: a variable, an argument, a file, a switch, or the default."""
        answers = trust_answers(
            self.host,
            project=folder,
            cwd=self.cwd,
            env=self.env,
            arguments=self.arguments,
            files=self.files,
            values=self._trust_values,
        )
        return next(((trust, source) for source, trust in answers if trust != "unknown"), ("unknown", ""))

    def _trust_values(self, key: str, files: tuple[str, ...] = (), merge: str = "join") -> Iterator[tuple[str, Any]]:
        """Yield the values of a key, after a check of the files that are read for trust alone."""
        for layer in self.layers:
            if layer.rules.apart and layer.name in files:
                self._check_file(layer)
        yield from self.values(key, files, merge)
