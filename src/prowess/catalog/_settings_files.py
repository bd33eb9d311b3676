"""Read the settings files of a client: JSON with comments, TOML or YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping

from prowess._internal.files import UnreadableError
from prowess._internal.frozen import EMPTY
from prowess._internal.text import quoted
from prowess.findings import Finding, finding
from prowess.hosts import SettingsFile
from prowess.skill import parse_yaml_mapping

from ._json_files import MAX_JSON_BYTES, check_depth, parse_json
from ._settings_variables import replace_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._filesystem import Filesystem

__all__ = ["SettingsFiles", "get_dotted", "is_switched_on", "parse_bool", "parse_toml", "truth_of"]

_ANY_FILE = SettingsFile(path="")

_MAX_SETTINGS_BYTES = 512 * 1024
"""The limit for TOML and YAML; JSON is parsed a hundred times faster."""
_MAX_TOML_KEY_COST = 2_000_000
"""The sum of the squares of the dots on each line of a TOML file: `tomllib` takes quadratic time for a dotted key."""
_TRUE = frozenset(("true", "1", "yes", "on"))
_FALSE = frozenset(("false", "0", "no", "off"))

_FRONT_MATTER = re.compile(rb"(?s)(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)\n---[ \t]*(?:\r?\n|\Z)")


class SettingsFiles:
    """Reads each settings file once, and collects findings."""

    def __init__(self, filesystem: Filesystem, env: Mapping[str, str] = EMPTY) -> None:
        self.filesystem, self.env = filesystem, env
        self.rules: dict[str, SettingsFile] = {}
        """How a file is read, by its path."""
        self.findings: list[Finding] = []
        self.file_must_exist = False
        self._tables: dict[str, Mapping[str, Any]] = {}
        self._problems: dict[str, str] = {}
        self._void_tables: set[str] = set()
        self.texts: dict[str, str] = {}
        """The text of a settings file that is in a variable, by the name of that variable."""
        self.prepare: dict[str, Callable[[str], str]] = {}
        """What is done with the text of a JSON file before it is read, by its path; it may raise `ValueError`."""
        self.strict: set[str] = set()
        """The files and arguments of JSON without comments, by path."""
        self.may_be_empty: set[str] = set()
        """The files that are valid if they are empty."""
        self.under: dict[str, str] = {}
        """The key whose value is the whole file, by its path."""
        self.aliases: Mapping[str, str] = EMPTY
        """Another name of a key at the top of a file to the key."""

    def report(self, path: str, message: str) -> None:
        """Report a problem with a file."""
        hint = "fix the file; until then it is ignored"
        self.findings.append(finding("config-invalid", message, path=path, hint=hint))

    def read_bool_variable(self, env: Mapping[str, str], name: str) -> bool | None:
        """Return the value of an environment variable; `None` if it is empty or invalid."""
        word = env.get(name, "").strip() if name else ""
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

    def add_table(self, path: str, table: Mapping[str, Any] | None) -> None:
        """Use a table in place of a file; `None` is an invalid one."""
        self._tables[path] = table or {}
        if table is None:
            self._void_tables.add(path)

    def problem(self, path: str) -> str:
        """Return what the client does because a file cannot be used, as `SettingsFile.invalid`; empty if it can."""
        self.table(path)
        if path in self._void_tables:
            return self.rules.get(path, _ANY_FILE).invalid
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
        if not data and path in self.may_be_empty:
            return {}
        try:
            table = _parse_settings(path, data, rules, self.prepare.get(path), comments=path not in self.strict)
            for part in reversed(list(filter(None, self.under.get(path, "").split(".")))):
                table = {part: table}
        except (ValueError, RecursionError) as error:
            self._report_invalid(path, f"the settings cannot be read: {quoted(str(error), 120)}", rules.invalid)
            return {}
        if not isinstance(table, Mapping):
            self._report_invalid(path, "the settings are not a table of keys", rules.not_table or rules.invalid)
            return {}
        if rules.variables:
            table = replace_variables(table, self.env, defaults=rules.variable_defaults)
        table = dict(table)
        if not self.aliases.keys().isdisjoint(table):
            # Of a key and its alias the last one counts, as of two equal keys.
            return {self.aliases.get(key, key): value for key, value in table.items()}
        return table

    def _report_invalid(self, path: str, message: str, effect: str) -> None:
        self._problems[path] = effect
        self.report(path, message)


def _size_limit(path: str) -> int:
    return _MAX_SETTINGS_BYTES if path.endswith((".toml", ".yaml", ".yml")) else MAX_JSON_BYTES


def parse_bool(value: object) -> bool | None:
    """Return the truth of a setting: true, false, or a word such as `on`; `None` for anything else."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def is_switched_on(variable: str, env: Mapping[str, str]) -> bool:
    """Return whether an environment variable means yes.

    Args:
        variable: its name, or `NAME=WORD|WORD` with the only words that do, in lower case.
        env: the environment.
    """
    name, equals, words = variable.partition("=")
    value = env.get(name, "")
    return value.lower() in words.split("|") if equals else parse_bool(value) is True


def truth_of(value: object) -> bool:
    """Return the truth of any value as in JavaScript; the text `false` is false."""
    return bool(value) and not (isinstance(value, str) and value.lower() == "false")


def get_dotted(table: Any, key: str) -> Any:
    """Return the value of a key such as `skills.disabled`; `None` if it is missing."""
    for part in filter(None, key.split(".")):
        if not isinstance(table, Mapping):
            return None
        table = table.get(part)
    return table


def parse_toml(data: bytes, version: str = "1.0") -> dict[str, Any]:
    """Parse TOML in bounded time.

    Args:
        data: what the file holds.
        version: of TOML, `1.0` or `1.1`.

    Raises:
        ValueError: it is invalid.
        RecursionError: it is nested too deeply.
    """
    import tomllib

    text = data.decode("utf-8-sig")
    if sum(line.count(".") ** 2 for line in text.split("\n")) > _MAX_TOML_KEY_COST:
        raise ValueError("its keys have too many parts")
    try:
        table = tomllib.loads(text)
    except ValueError:
        if version == "1.0":
            raise
        from ._toml_versions import as_toml_1_0  # few files need it

        table = tomllib.loads(as_toml_1_0(text))
    check_depth(table)
    return table


def _parse_settings(
    path: str, data: bytes, rules: SettingsFile, prepare: Callable[[str], str] | None, *, comments: bool
) -> Any:
    """Parse a file by its name.

    Args:
        path: its name says what it is.
        data: what it holds.
        rules: of the file.
        prepare: what is done with the text of JSON before it is read.
        comments: whether JSON may have comments and trailing commas.

    Raises:
        ValueError: the file is invalid.
        RecursionError: it is nested too deeply.
    """
    if path.endswith(".md"):
        front = _FRONT_MATTER.match(data)
        data = front[1] if front else b""
    if path.endswith((".yaml", ".yml", ".md")):
        values, findings = parse_yaml_mapping(data, path)
        # A skill is repaired, settings are not: what a client cannot read there has no effect.
        errors = [item for item in findings if item.severity == "error" or item.code.startswith("repair-")]
        if errors:
            raise ValueError(errors[0].message)
        return values
    if path.endswith(".toml"):
        return parse_toml(data, rules.toml)
    # Clients replace bytes that are not UTF-8.
    text = data.decode("utf-8-sig" if rules.mark else "utf-8", "replace")
    if prepare is not None:
        text = prepare(text)
    return parse_json(text, comments=comments and rules.comments, commas=rules.trailing_commas)
