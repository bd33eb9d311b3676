"""Read what a client's user has set about skills: which are off, whether skills are on, which folders are trusted.

The host's file says where the settings are, and the client's module reads those that it alone has. A settings file that
cannot be used is a finding, never a failure.
"""

from __future__ import annotations

import os

from prowess._internal.files import expand_home
from prowess._internal.text import quoted
from prowess.clients import of_client
from prowess.filesystem import Filesystem, git_root

from ._client_arguments import ClientArguments
from ._named_folders import NamedFolder, listed_folders
from ._settings_files import ARGUMENTS, Places, SettingsFiles, settings_layers
from ._settings_values import find_wrong_type, merge_files, merge_union, name_matcher, parse_bool, texts_of
from ._user_settings import NamedSkill, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from prowess.filesystem import Question
    from prowess.hosts import Host, Root

    from ._settings_files import SettingsLayer

_MAX_PATTERNS = 1000
"""Patterns of names that count for one host."""
_MAX_PATTERN_LENGTH = 256
"""Characters of a pattern; no shown name is longer."""
_MAX_NAMED_FOLDERS = 1000
"""Directories that the settings may name for one root."""


def find_hiding_setting(
    host: Host, question: Question, *, project: str, names: Collection[str], paths: Collection[str]
) -> NamedSkill | None:
    """Return what hides a skill in the settings.

    Args:
        host: whose settings.
        question: where its client is started.
        project: the git root, or the working directory without one.
        names: of the skill.
        paths: of the skill's folder and SKILL.md.
    """
    reader = SettingsReader(host, question, project, Filesystem())
    folded = {name.lower() for name in names}
    for item in of_client(host.name, hiding_settings)(reader):
        absolute = os.path.normpath(os.path.join(os.path.dirname(item.file), expand_home(item.written, question.home)))
        matches = (
            item.written in names
            or item.folded in folded
            or absolute in paths
            or (item.is_pattern and any(map(name_matcher(item.written), names)))
        )
        if matches and item.effect != "on":
            return item
    return None


# ── what a client may do in its own way ──────────────────────────────────────────────────────────────────────────────


def read_arguments(reader: SettingsReader) -> None:
    """Read the arguments that set what a settings file could say, as the content of the file `@arguments`."""
    reader.files.add_table(ARGUMENTS, {})


def is_on_by_default() -> bool:
    """Return whether skills are enabled without any setting."""
    return True


def counted_layers(reader: SettingsReader, layers: Sequence[SettingsLayer]) -> Iterable[SettingsLayer]:
    """Return the settings files that count, out of those that may be there, with the files of folders among them."""
    return layers


def find_project(reader: SettingsReader) -> str:
    """Return the root of the project, which settings may move."""
    return reader.project


def is_trusted_file(reader: SettingsReader, layer: SettingsLayer) -> bool:
    """Return whether a settings file has the trust that it needs to count."""
    return not layer.rules.needs_trust or reader.trust == "trusted"


def words_of_own_trust(reader: SettingsReader, folder: str) -> Iterator[tuple[str, str]]:
    """Yield what only this client reads about the trust of a folder: a source, and `trusted`, `untrusted` or `unknown`.

    The first answer that is not `unknown` counts, after arguments and before the client's default.
    """
    yield from ()


def check_merged(reader: SettingsReader) -> None:
    """Check what all files say together."""


def read_own_settings(reader: SettingsReader) -> None:
    """Read the settings and arguments that only this client has."""


def apply_role(reader: SettingsReader, role: str) -> None:
    """Apply what a role of InitRunner says of skills."""


def named_skills(reader: SettingsReader) -> Iterator[NamedSkill]:
    """Yield the skills that the settings name, highest precedence first; of equal names the first counts."""
    for setting in reader.host.settings:
        if setting.form == "names":
            for path, value in reader.values(setting.key, setting.files, setting.merge):
                for name in texts_of(value):
                    cure = f"remove {quoted(name)} from `{setting.key}`"
                    yield NamedSkill(key=setting.key, file=path, written=name, effect="off", cure=cure)


def hiding_settings(reader: SettingsReader) -> Iterator[NamedSkill]:
    """Yield what may hide a skill."""
    return of_client(reader.host.name, named_skills)(reader)


class SettingsReader:
    """Collects what the settings files, variables and arguments of one host say."""

    def __init__(self, host: Host, question: Question, project: str, filesystem: Filesystem) -> None:
        self.host, self.question, self.project = host, question, project
        self.cwd, self.home, self.env = question.cwd, question.home, question.env
        self.files = SettingsFiles(host, question, filesystem)
        self.arguments = ClientArguments(host, question.client_args)
        self.trust = "unknown"
        self.found: dict[str, Any] = {"enabled": of_client(host.name, is_on_by_default)()}
        """The fields of `Settings` that are known so far."""
        self._switch_found = False
        self._void_files: set[str] = set()
        self.trusted: dict[str, bool] = {}
        """Whether a path is trusted, of those that the client has been asked about."""
        self.variables: dict[str, str] = {}
        """Environment variables that settings replace."""
        of_client(host.name, read_arguments)(self)
        has_git = git_root(self.cwd, host.git_marker, filesystem) is not None
        self.layers = self._layers(has_git=has_git)
        self.project = of_client(host.name, find_project)(self)
        if self.project != project:
            self.layers = self._layers(has_git=has_git)

    def _layers(self, *, has_git: bool) -> tuple[SettingsLayer, ...]:
        places = Places(question=self.question, project=self.project, has_git=has_git, arguments=self.arguments.values)
        layers = tuple(of_client(self.host.name, counted_layers)(self, settings_layers(self.host, places)))
        self.files.rules |= {layer.path: layer.rules for layer in layers}
        return layers

    def read(self) -> Settings:
        """Read everything, and return what it says."""
        # Trust comes first: some files count only in a trusted project.
        self.trust, self.found["trust_source"] = self.trust_of(self.project)
        self._check_files()
        for setting in self.host.settings:
            if setting.form == "switch":
                for path, value in self.values(setting.key, setting.files, setting.merge):
                    self.apply_switch(setting.key, path, parse_bool(value))
            elif setting.form == "budget":
                for _, value in self.values(setting.key, setting.files, setting.merge):
                    self.apply_number("budget_limit", value, setting.part)
        self._apply_named_skills()
        of_client(self.host.name, read_own_settings)(self)
        enabled = self.files.read_bool_variable(self.host.switch_variable)
        if enabled is not None:
            self.found |= {"enabled": enabled, "enabled_source": self.host.switch_variable}
        folders: dict[str, tuple[NamedFolder, ...]] = {}
        for root in self.host.roots:
            if root.setting or root.argument:
                folders[root.named_by] = self._named_folders(root)
        if self.question.role is not None:
            of_client("initrunner", apply_role)(self, self.question.role)
        return Settings(
            **self.found,
            trust=self.trust,
            folders=folders,
            chosen_plugins=self.arguments.chosen_plugins(),
            findings=(*self.arguments.findings, *self.files.findings),
        )

    # ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def values(self, key: str, files: tuple[str, ...] = (), merge: str = "join") -> Iterator[tuple[str, Any]]:
        """Yield the values of a key that count, each with its file, highest precedence first.

        Args:
            key: a dotted key.
            files: the names of the settings files; empty for all that are not `apart`.
            merge: as in `Setting.merge`; a merged table is yielded once, with the highest file, and the lists of a
                union are yielded lowest first; `union-single` has an empty list below the lowest file.
        """
        if merge in ("union", "union-single"):
            tables = [(layer.path, self.files.table(layer.path)) for layer in self.layers if self.counts(layer, files)]
            yield from merge_union(reversed(tables), key, single=merge == "union-single")
            return
        found = [
            (layer.path, value)
            for layer in self.layers
            if self.counts(layer, files)
            and layer.may_have(key)
            and (value := self._value(layer.path, key)) is not None
            and not self._has_wrong_type(layer, key, value)
        ]
        if merge == "deep" and found:
            found = [(found[0][0], merge_files(found))]
        yield from found[:1] if merge == "first" else found

    def first_value(self, key: str, types: type | tuple[type, ...], *files: str) -> tuple[str, Any]:
        """Return the highest value of a key that has one of some types, and its file; empty and `None` without any."""
        found = ((path, value) for path, value in self.values(key, files) if isinstance(value, types))
        return next(found, ("", None))

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

    def counts(self, layer: SettingsLayer, files: tuple[str, ...] = ()) -> bool:
        """Return whether a settings file counts where those with some names do, or without names the usual ones."""
        if layer.name not in files if files else layer.rules.apart:
            return False
        return layer.path not in self._void_files and of_client(self.host.name, is_trusted_file)(self, layer)

    # ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _check_files(self) -> None:
        """Check all files but those that are read for trust alone."""
        trust = {name for item in self.host.settings if item.form == "trust" for name in item.files}
        for layer in self.layers:
            if not (layer.rules.apart and layer.name in trust):
                self._check_file(layer)
        of_client(self.host.name, check_merged)(self)

    def _check_file(self, layer: SettingsLayer) -> None:
        """Note whether a file that the client cannot read is void, or keeps the client from starting."""
        if not self.counts(layer, (layer.name,)):
            return
        stops = self.files.problem(layer.path) == "stops"
        if stops:
            self.stop(layer.path)
        if layer.rules.wrong_type in ("void", "stops") and not layer.rules.apart:
            types = {key: word for key, word in self.host.settings_types.items() if layer.may_have(key)}
            self.check_types(layer, types, stops=stops or layer.rules.wrong_type == "stops")

    def check_types(self, layer: SettingsLayer, types: Mapping[str, str], *, stops: bool) -> None:
        """Check the types of a file: if one is wrong, the file is void, and may keep the client from starting."""
        wrong = find_wrong_type(self.files.table(layer.path), types)
        if wrong is not None:
            self._void_files.add(layer.path)
            effect = "the agent refuses to start" if stops else "the agent ignores the whole file"
            self.files.report(layer.path, f"{quoted(wrong)} has the wrong type, so {effect}")
            if stops:
                self.stop(layer.path)

    def stop(self, path: str) -> None:
        """Note that a file keeps the client from starting."""
        self.found |= {"enabled": False, "enabled_source": path}
        self._switch_found = True

    # ── trust ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def trust_of(self, folder: str) -> tuple[str, str]:
        """Return the trust of a folder, and what says so: an argument, a variable, a file, or the default."""
        given = [item for item, _ in reversed(self.arguments.with_effect("trusted", "untrusted"))]
        if given:
            return given[0].effect, given[0].name
        answers = of_client(self.host.name, words_of_own_trust)(self, folder)
        found = next(((trust, source) for source, trust in answers if trust != "unknown"), None)
        if found is not None:
            return found
        default = self.host.trust_default
        return default, "" if default == "unknown" else "default"

    def trust_values(self, key: str, files: tuple[str, ...] = (), merge: str = "join") -> Iterator[tuple[str, Any]]:
        """Yield the values of a key, after a check of the files that are read for trust alone."""
        for layer in self.layers:
            if layer.rules.apart and layer.name in files:
                self._check_file(layer)
        yield from self.values(key, files, merge)

    def folder_trust_switch(self) -> tuple[str, bool | None]:
        """Return the file with the client's switch for trust in folders, and what it says; `None` if nothing."""
        key, files = self.host.trust_switch, self.host.trust_switch_files
        path, value = next(self.trust_values(key, files, "first"), ("", None))
        return path, parse_bool(value)

    # ── what they say ────────────────────────────────────────────────────────────────────────────────────────────────

    def apply_switch(self, key: str, path: str, answer: bool | None) -> None:
        """Apply a switch of all skills; the highest one counts, and `None` is neither on nor off."""
        if answer is None:
            self.files.report(path, f"`{key}` is neither true nor false")
        elif not self._switch_found:
            self.found |= {"enabled": answer, "enabled_source": path}
            self._switch_found = True

    def apply_number(self, field: str, value: object, part: float = 1) -> None:
        """Use a number, or a part of it, as a limit; the first one counts."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.found.setdefault(field, max(1, int(value * part)))

    def hide_catalog(self, source: str) -> None:
        """Note that a file or an argument hides all skills from the model; the first one counts."""
        if source:
            self.found.setdefault("catalog_off", source)

    def hide_without_tool(self, *needed: str, source: str = "", tools: Sequence[str] | None = None) -> None:
        """Hide all skills from the model if arguments leave it none of the tools that load skills.

        Args:
            needed: the tools, one of which it needs.
            source: the file or argument that says which tools it has, if one does.
            tools: those that it has then; all that are needed by default.
        """
        tools = needed if tools is None else tools
        for argument, values in self.arguments.with_effect("tools"):
            source, tools = argument.name, _names(values)
        for argument, values in self.arguments.with_effect("not-tools")[-1:]:
            excluded = _names(values)
            if set(excluded).intersection(tools):
                source, tools = argument.name, [tool for tool in tools if tool not in excluded]
        if not set(tools).intersection(needed):
            self.hide_catalog(source)

    def _apply_named_skills(self) -> None:
        effects: dict[str, tuple[str, str]] = {}
        folded: dict[str, tuple[str, str]] = {}
        patterns: dict[str, list[tuple[str, str, str]]] = {}
        for item in of_client(self.host.name, named_skills)(self):
            if item.is_pattern and len(item.written) <= _MAX_PATTERN_LENGTH:
                patterns.setdefault(item.key, []).append((item.written, item.effect, item.file))
            elif not item.is_pattern:
                effects.setdefault(item.written, (item.effect, item.file))
                if item.folded:
                    folded.setdefault(item.folded, (item.effect, item.file))
        counted: list[tuple[str, str, str]] = []
        for found in patterns.values():
            room = _MAX_PATTERNS - len(counted)
            if len(found) > room:
                self.files.report(found[0][2], f"only {_MAX_PATTERNS:,} patterns of names count")
            counted = found[:room] + counted
        self.found |= {"effects": effects, "folded_effects": folded, "patterns": tuple(counted)}

    def _named_folders(self, root: Root) -> tuple[NamedFolder, ...]:
        """Return the directories that settings or arguments name for a root."""
        named = [NamedFolder(value, "") for value in self.arguments.values(root.argument)] if root.argument else []
        for path, value in self.values(root.setting, root.setting_files, root.merge) if root.setting else ():
            folders = of_client(self.host.name, listed_folders)(value)
            if len(named) + len(folders) > _MAX_NAMED_FOLDERS:
                folders = folders[: _MAX_NAMED_FOLDERS - len(named)]
                self.files.report(path, f"only {_MAX_NAMED_FOLDERS:,} folders of `{root.setting}` count")
            named += [NamedFolder(folder, path) for folder in folders]
        return tuple(item for item in named if "\0" not in item.folder)


def _names(values: Sequence[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]
