"""Find and read the settings files of a client: JSON with comments, TOML or YAML."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import UnreadableError, expand_home
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess._internal.variable_paths import moved_path, usual_path
from prowess.clients import of_client
from prowess.filesystem import MAX_JSON_BYTES, ancestors, check_depth, parse_json
from prowess.findings import Finding, finding
from prowess.hosts import SettingsFile
from prowess.skill import parse_yaml_mapping

from ._settings_values import get_dotted, parse_bool
from ._settings_variables import replace_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from prowess.filesystem import Filesystem, Question
    from prowess.hosts import Host

ARGUMENTS = "@arguments"
"""The path of the settings file that consists of arguments."""
_ANY_FILE = SettingsFile(path="")
_MAX_SETTINGS_BYTES = 512 * 1024
"""The limit for TOML and YAML; JSON is parsed a hundred times faster."""
_MAX_TOML_KEY_COST = 2_000_000
"""The sum of the squares of the dots on each line of a TOML file: `tomllib` takes quadratic time for a dotted key."""


# ── where they are ───────────────────────────────────────────────────────────────────────────────────────────────────


class SettingsLayer(Frozen, kw_only=False):
    """One settings file of a host, whether or not it exists."""

    name: str
    """As the host's table calls it."""
    path: str
    """Absolute."""
    rules: SettingsFile
    folder: str | None = None
    """The project folder to which it belongs."""

    def may_have(self, key: str) -> bool:
        """Return whether a dotted key counts in this file."""
        return not self.rules.keys or key.partition(".")[0] in self.rules.keys


class Places(Frozen):
    """What says where settings files are."""

    question: Question
    """Where the client is started."""
    project: str
    """The git root, or the working directory without one."""
    has_git: bool = True
    """Whether the project is a git repository."""
    arguments: Callable[[str], list[str]] = lambda _: []
    """Returns the values of an argument of the client."""


def settings_layers(host: Host, places: Places) -> tuple[SettingsLayer, ...]:
    """Return where a host's settings files may be, highest precedence first."""
    paths = of_client(host.name, settings_paths)
    return tuple(
        SettingsLayer(name, path, rules, folder)
        for name, rules in host.settings_files.items()
        for path, folder in dict(paths(name, rules, places)).items()
    )


def settings_paths(name: str, rules: SettingsFile, places: Places) -> Iterator[tuple[str, str | None]]:
    """Yield the paths of one settings file, each with its project folder, the most important first.

    Args:
        name: of the file, in the host's table.
        rules: of the file.
        places: the folders that count.
    """
    path = rules.path
    if path == ARGUMENTS:
        yield path, None
        return
    if moved := moved_path(path, places.question.variables):
        yield os.path.join(places.question.cwd, moved), None
        return
    path = expand_home(usual_path(path), places.question.home)
    if os.path.isabs(path):
        yield path, None
    elif path:
        cwd, project = places.question.cwd, places.project
        folders = {"cwd": [cwd], "project": [project], "both": [cwd, project]}.get(rules.where)
        for folder in folders or ancestors(cwd, project):
            yield os.path.join(folder, path), folder


# ── what they contain ────────────────────────────────────────────────────────────────────────────────────────────────


class SettingsFiles:
    """Reads each settings file of a host once, and collects findings."""

    def __init__(self, host: Host, question: Question, filesystem: Filesystem) -> None:
        self.host, self.filesystem = host, filesystem
        self.cwd, self.home, self.env = question.cwd, question.home, question.env
        self.rules: dict[str, SettingsFile] = {}
        """How a file is read, by its path."""
        self.findings: list[Finding] = []
        self.texts: dict[str, str] = {}
        """The text of a settings file that is in a variable or an argument, by its path."""
        self.file_must_exist = False
        self._tables: dict[str, Mapping[str, Any]] = {}
        self._problems: dict[str, str] = {}

    def report(self, path: str, message: str) -> None:
        """Report a problem with a file."""
        hint = "fix the file; until then it is ignored"
        self.findings.append(finding("config-invalid", message, path=path, hint=hint))

    def read_bool_variable(self, name: str) -> bool | None:
        """Return the value of an environment variable; `None` if it is empty or invalid."""
        word = self.env.get(name, "").strip() if name else ""
        answer = parse_bool(word)
        if word and answer is None:
            message = f"the variable `{name}` is neither true nor false: {quoted(word)}"
            self.findings.append(finding("config-invalid", message, hint="set it to `true` or `false`"))
        return answer

    def value(self, path: str, key: str) -> Any:
        """Return the value of a dotted key in a file; `None` if it is missing."""
        return get_dotted(self.table(path), key)

    def table(self, path: str) -> Mapping[str, Any]:
        """Return the content of a file; empty if it is missing or invalid."""
        table = self._tables.get(path)
        if table is None:
            table = self._tables[path] = self._read_table(path)
        return table

    def add_table(self, path: str, table: Mapping[str, Any] | None, problem: str = "") -> None:
        """Use a table in place of a file; `None` is an invalid one, with which the client does what `problem` says."""
        self._tables[path] = table or {}
        if table is None:
            self._problems[path] = problem

    def problem(self, path: str) -> str:
        """Return what the client does because a file cannot be used, as `SettingsFile.invalid`; empty if it can."""
        self.table(path)
        return self._problems.get(path, "")

    def _read_table(self, path: str) -> Mapping[str, Any]:
        rules = self.rules.get(path, _ANY_FILE)
        try:
            # A settings file is often a link: people keep settings in a repository of dot files.
            text = self.texts.get(path)
            data = self.filesystem.data(path, _size_limit(path)) if text is None else text.encode(errors="replace")
        except UnreadableError as error:
            if error.code != "file-missing" or self.file_must_exist:
                # The client has no limit, so it reads what is too large here.
                effect = "ignored" if error.code == "file-too-large" else rules.invalid
                self._report_invalid(path, f"the settings cannot be read: {error.message}", effect)
            return {}
        if not data and rules.may_be_empty:
            return {}
        try:
            table = of_client(self.host.name, parse_settings)(self, path, data, rules)
        except (ValueError, RecursionError) as error:
            self._report_invalid(path, f"the settings cannot be read: {quoted(str(error), 120)}", rules.invalid)
            return {}
        if not isinstance(table, Mapping):
            self._report_invalid(path, "the settings are not a table of keys", rules.not_table or rules.invalid)
            return {}
        return dict(table)

    def _report_invalid(self, path: str, message: str, effect: str) -> None:
        self._problems[path] = effect
        self.report(path, message)


def _size_limit(path: str) -> int:
    return _MAX_SETTINGS_BYTES if path.endswith((".toml", ".yaml", ".yml")) else MAX_JSON_BYTES


def parse_settings(files: SettingsFiles, path: str, data: bytes, rules: SettingsFile) -> Any:
    """Return what a settings file contains, parsed as its name says.

    Args:
        files: all settings files of the client.
        path: its name says what it is.
        data: its content.
        rules: of the file.

    Raises:
        ValueError: the file is invalid.
        RecursionError: it is nested too deeply.
    """
    if path.endswith((".yaml", ".yml")):
        values, findings = parse_yaml_mapping(data, path)
        # A skill is repaired, settings are not: what a client cannot read there has no effect.
        errors = [item for item in findings if item.severity == "error" or item.code.startswith("repair-")]
        if errors:
            raise ValueError(errors[0].message)
        return values
    if path.endswith(".toml"):
        return parse_toml(data)
    # Clients replace bytes that are not UTF-8.
    text = data.decode("utf-8-sig" if rules.mark else "utf-8", "replace")
    table = parse_json(text, comments=rules.comments, commas=rules.trailing_commas)
    return replace_variables(table, files.env) if rules.variables else table


def parse_toml(data: bytes) -> dict[str, Any]:
    """Parse TOML 1.0 in bounded time.

    Raises:
        ValueError: it is invalid.
        RecursionError: it is nested too deeply.
    """
    import tomllib

    text = data.decode("utf-8-sig")
    if sum(line.count(".") ** 2 for line in text.split("\n")) > _MAX_TOML_KEY_COST:
        raise ValueError("its keys have too many parts")
    table = tomllib.loads(text)
    check_depth(table)
    return table
