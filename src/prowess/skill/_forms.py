"""Read the files that people write for Prowess: test cases, roles, scripts of models.

Each key is read by the type that it must have. Nothing is guessed: an unknown key, a value of another type, or text
where a number must be, is a finding with its position. Text is what its author typed, with or without quotes.
"""

from __future__ import annotations

import math
import re

from prowess._internal.text import did_you_mean, neutral, quoted
from prowess.findings import Finding, finding

from ._json_nodes import JSON_INTEGER, JSON_NUMBER, MAX_DIGITS, parse_json_node
from ._yaml import Node, YamlSyntaxError, parse_yaml_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

MAX_BYTES = 256 * 1024
"""Of one file."""
_MAX_FINDINGS = 50
"""Of one file; more would not be read."""
# YAML 1.2, "5.1. Character Set".
_NON_YAML_CHARACTER = "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_KIND_WORDS = {
    "null": "empty",
    "bool": "true or false",
    "number": "a number",
    "text": "text",
    "list": "a list",
    "map": "a map",
}


class FindingCollector:
    """Collects the findings of one file."""

    def __init__(self, path: str, code: str) -> None:
        self.path, self.code = path, code
        self.is_json = False
        """Whether the hints show JSON, not YAML."""
        self.findings: list[Finding] = []
        self.unused: list[tuple[str, Node, str]] = []
        """Keys that are read and not used: the path inside the file, the key, and what to use instead."""

    def add(self, message: str, node: Node | None = None, hint: str | None = None) -> None:
        """Add a finding at the position of a value."""
        if self.is_full:
            return
        line, column = (None, None) if node is None else (node.line, node.column)
        if len(self.findings) == _MAX_FINDINGS - 1:
            message, hint = "more problems are not shown", "fix the problems above, then check again"
        self.findings.append(finding(self.code, neutral(message), path=self.path, line=line, column=column, hint=hint))

    @property
    def is_full(self) -> bool:
        """Whether further findings are dropped."""
        return len(self.findings) >= _MAX_FINDINGS


def read_yaml_mapping(data: bytes, report: FindingCollector) -> MappingReader | None:
    """Return the map in a YAML file; if the file is not a map, report it and return `None`."""
    node = read_yaml_node(data, report)
    return None if node is None else _top_level_mapping(node, report)


def read_yaml_list(data: bytes, report: FindingCollector) -> list[MappingReader]:
    """Return the maps in a YAML file that is a list; report items that are not maps, and leave them out."""
    node = read_yaml_node(data, report)
    if node is None:
        return []
    if node.kind != "list":
        report.add(f"the file is {_describe_node(node)}, not a list", node, "begin each item with a dash")
        return []
    mappings = []
    for index, item in enumerate(node.items):
        if item.kind == "map":
            mappings.append(MappingReader(item, report, f"[{index}]"))
        else:
            message = f"`[{index}]` is {_describe_node(item)}, not `key: value` lines"
            report.add(message, item, "write `key: value` after its dash")
    return mappings


def read_yaml_node(data: bytes, report: FindingCollector) -> Node | None:
    """Return the contents of a YAML file; if it is empty or cannot be read, report it and return `None`."""
    text = _decode_utf8(data, report)
    if text is None or not _has_only_yaml_characters(text, report):
        return None
    try:
        node = parse_yaml_node(text)
    except YamlSyntaxError as error:
        message = error.message.replace("the front matter", "the file", 1)
        position = Node(kind="text", line=error.line + 1, column=error.column + 1)
        report.add(message, position, error.hint or "fix the YAML there")
        return None
    if node is None:
        report.add("the file is empty", hint="add its content, or remove the file")
    return node


def _has_only_yaml_characters(text: str, report: FindingCollector) -> bool:
    if text.isascii() and text.isprintable():
        return True
    bad = re.search(_NON_YAML_CHARACTER, text)
    if bad is None:
        return True
    line = text.count("\n", 0, bad.start()) + 1
    column = bad.start() - text.rfind("\n", 0, bad.start())
    hint = "remove it, or write it as an escape between double quotes"
    message = f"the character U+{ord(bad[0]):04X} is not allowed in YAML"
    report.add(message, Node(kind="text", line=line, column=column), hint)
    return False


def read_json_mapping(data: bytes, report: FindingCollector) -> MappingReader | None:
    """Return the map in a JSON file; if the file is not a map, report it and return `None`."""
    node = read_json_node(data, report)
    return None if node is None else _top_level_mapping(node, report)


def read_json_node(data: bytes, report: FindingCollector) -> Node | None:
    """Return the value in a JSON file; if it cannot be read, report it and return `None`."""
    import json

    report.is_json = True
    text = _decode_utf8(data, report)
    if text is None:
        return None
    try:
        return parse_json_node(text)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        position = Node(kind="text", line=error.lineno, column=error.colno)
        report.add(f"the file is not valid JSON: {reason}", position, "fix the JSON there")
    except RecursionError:
        report.add("the file is not valid JSON: too many levels", hint="use fewer levels")
    except ValueError as error:
        report.add(f"the file is not valid JSON: {error}", hint="fix the JSON")
    return None


def _decode_utf8(data: bytes, report: FindingCollector) -> str | None:
    if len(data) > MAX_BYTES:
        report.add(f"the file is larger than {MAX_BYTES // 1024} KiB", hint="split the file")
        return None
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        report.add(f"byte {data[error.start]:#04x} at offset {error.start} is not UTF-8", hint="save the file as UTF-8")
        return None


def _top_level_mapping(node: Node, report: FindingCollector) -> MappingReader | None:
    if node.kind != "map":
        what = "an object" if report.is_json else "`key: value` lines"
        report.add(f"the file is {_describe_node(node)}, not {what}", node, f"write {what}")
        return None
    return MappingReader(node, report)


def _describe_node(node: Node) -> str:
    return _KIND_WORDS[node.kind] if not node.text else f"{_KIND_WORDS[node.kind]} ({quoted(node.text)})"


class MappingReader:
    """A map in a file, whose keys are read by type."""

    def __init__(self, node: Node, report: FindingCollector, prefix: str = "") -> None:
        self.node, self.report, self.prefix = node, report, prefix
        self._values = dict(zip((key.text for key in node.keys), node.items, strict=True))

    def allow_only(self, *names: str, also: Container[str] = ()) -> None:
        """Report every other key as unknown; those of `also` are allowed and not suggested."""
        for key in self.node.keys:
            if self.report.is_full:
                break
            if key.text not in names and key.text not in also:
                hint = did_you_mean(key.text, names, f"the known keys are {', '.join(names)}")
                self.report.add(f"unknown key {quoted(self.key_path(key.text))}", key, hint)

    def key_path(self, name: str) -> str:
        """Return the path of a key inside the file."""
        return f"{self.prefix}.{name}" if self.prefix else name

    def get(self, name: str, *, required: bool = False, null_is_missing: bool = True) -> Node | None:
        """Return the value of a key, or `None` if it is missing.

        Args:
            name: of the key.
            required: whether to report a missing key.
            null_is_missing: whether a key without a value counts as missing.
        """
        node = self._values.get(name)
        if node is None or (null_is_missing and node.kind == "null"):
            if required:
                hint = f'add `"{name}": ...`' if self.report.is_json else f"add `{name}: ...`"
                self.report.add(f"missing key {quoted(self.key_path(name))}", node or self.node, hint)
            return None
        return node

    def report_wrong_type(self, name: str, node: Node, wanted: str, hint: str | None = None) -> None:
        """Report a value of another type."""
        self.report.add(f"{quoted(self.key_path(name))} is {_describe_node(node)}, not {wanted}", node, hint)

    def add_unused(self, name: str, instead: str) -> None:
        """Remember that a key has no effect.

        Args:
            name: of the key.
            instead: what to use in its place.
        """
        key = next(key for key in self.node.keys if key.text == name)
        self.report.unused.append((self.key_path(name), key, instead))

    def report_empty(self, *names: str) -> None:
        """Report those of these keys that have no value, not even `null`."""
        for name in names:
            node = self._values.get(name)
            if node is not None and node.kind == "null" and not node.text:
                hint = "write its value, or remove the key"
                self.report.add(f"{quoted(self.key_path(name))} is empty", node, hint)

    def get_text(self, name: str, *, required: bool = False) -> str | None:
        """Return any scalar as text, as its author typed it."""
        node = self.get(name, required=required)
        if node is None:
            return None
        if node.kind in ("list", "map"):
            self.report_wrong_type(name, node, "text", "put it in quotes")
            return None
        return node.text

    def get_texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; it is empty if the key is missing."""
        node = self.get(name)
        if node is None:
            return ()
        if node.kind != "list":
            self.report_wrong_type(name, node, "a list of texts", f"write it below `{name}:`, after a dash")
            return ()
        for index, item in enumerate(node.items):
            if item.kind in ("list", "map") or (item.kind == "null" and not item.text):
                self.report_wrong_type(f"{name}[{index}]", item, "text", "put it in quotes")
        return tuple(item.text for item in node.items if item.kind not in ("list", "map"))

    def get_text_map(self, name: str) -> dict[str, str]:
        """Return a map of texts; it is empty if the key is missing."""
        node = self.get(name)
        if node is None:
            return {}
        if node.kind != "map":
            self.report_wrong_type(name, node, "a map of texts")
            return {}
        texts = {}
        for key, item in zip(node.keys, node.items, strict=True):
            if item.kind in ("list", "map", "null"):
                self.report_wrong_type(f"{name}.{key.text}", item, "text", "put it in quotes")
            else:
                texts[key.text] = item.text
        return texts

    def get_bool(self, name: str) -> bool | None:
        """Return true or false, or `None` if the value is neither."""
        node = self.get(name)
        if node is None:
            return None
        if not node.plain or node.text not in ("true", "false"):
            self.report_wrong_type(name, node, "true or false", "write it as `true` or `false`, without quotes")
            return None
        return node.text == "true"

    def get_integer(self, name: str, low: int, high: int) -> int | None:
        """Return a whole number, or `None` if the value is not one."""
        node = self.get(name)
        if node is None:
            return None
        if node.kind != "number" or not JSON_INTEGER(node.text) or not low <= int(node.text) <= high:
            self.report_wrong_type(name, node, f"a whole number from {low} to {high}", _unquote_hint(node))
            return None
        return int(node.text)

    def get_number(self, name: str, *, minimum: float, maximum: float, inclusive: bool = False) -> float | None:
        """Return a number, or `None` if the value is not one.

        Args:
            name: of the key.
            minimum: the lower bound.
            maximum: the upper bound, which is allowed.
            inclusive: whether the lower bound is allowed too.
        """
        node = self.get(name)
        if node is None:
            return None
        is_number = node.kind == "number" and JSON_NUMBER(node.text) and len(node.text) < MAX_DIGITS
        value = float(node.text) if is_number else math.nan
        if not (minimum < value <= maximum or (inclusive and value == minimum)):
            bounds = f"from {minimum:g} to {maximum:g}" if inclusive else f"above {minimum:g} and at most {maximum:g}"
            self.report_wrong_type(name, node, f"a number {bounds}", _unquote_hint(node))
            return None
        return value

    def get_mapping(self, name: str, *, required: bool = False) -> MappingReader | None:
        """Return the map below a key, or `None` if the value is not one."""
        node = self.get(name, required=required)
        if node is None:
            return None
        if node.kind != "map":
            self.report_wrong_type(name, node, "a map", f"write `key: value` lines below `{name}:`")
            return None
        return MappingReader(node, self.report, self.key_path(name))


def _unquote_hint(node: Node) -> str | None:
    return "write it without quotes" if node.kind == "text" and JSON_NUMBER(node.text) else None
