"""a YAML or JSON file -> its fields, each of the type it should have, and all that is wrong with it

For files that people write for Prowess. Nothing is guessed: a key that is not known, a value of another type, a text
where a number should be is a finding with its place. Text is whatever its author typed, with quotes or without.
"""

from __future__ import annotations

import math
import re

from prowess._internal.text import nearest_names, neutral, quoted
from prowess.findings import Finding, finding

from ._yaml import Node, YamlSyntaxError, parse_yaml_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "MappingReader",
    "FindingCollector",
    "json_value",
    "read_json_mapping",
    "read_yaml_mapping",
    "read_yaml_list",
]

MAX_BYTES = 256 * 1024
"""Of one file."""
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})").fullmatch
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?").fullmatch
_MAX_DIGITS = 400
"""Of a number: Python takes very long ones for an attack, and so do we."""
_MAX_FINDINGS = 50
"""Of one file; nobody reads more."""
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
    """Takes down what is wrong with one file."""

    def __init__(self, path: str, code: str) -> None:
        self.path, self.code = path, code
        self.is_json = False
        """What the hints show how to write."""
        self.findings: list[Finding] = []

    def add(self, message: str, node: Node | None = None, hint: str | None = None) -> None:
        """Add a finding at a value's place."""
        if self.is_full:
            return
        line, column = (None, None) if node is None else (node.line, node.column)
        if len(self.findings) == _MAX_FINDINGS - 1:
            message, hint = "there is more that is wrong", "mend what is told so far, and look again"
        words = neutral(message)
        self.findings.append(finding(self.code, words, path=self.path, line=line, column=column, hint=hint))

    @property
    def is_full(self) -> bool:
        """Whether no more is taken down."""
        return len(self.findings) >= _MAX_FINDINGS


def read_yaml_mapping(data: bytes, report: FindingCollector) -> MappingReader | None:
    """Read a YAML file that is a map; None where it is not, which is reported."""
    node = _parse_yaml(data, report)
    return None if node is None else _top_level_mapping(node, report)


def read_yaml_list(data: bytes, report: FindingCollector) -> list[MappingReader]:
    """Read a YAML file that is a list of maps; what is not is left out and reported."""
    node = _parse_yaml(data, report)
    if node is None:
        return []
    if node.kind != "list":
        report.add(f"the file is {_describe_node(node)}, not a list", node, "begin each of its parts with a dash")
        return []
    forms = []
    for at, item in enumerate(node.items):
        if item.kind == "map":
            forms.append(MappingReader(item, report, f"[{at}]"))
        else:
            report.add(
                f"`[{at}]` is {_describe_node(item)}, not `key: value` lines", item, "write `key: value` after its dash"
            )
    return forms


def _parse_yaml(data: bytes, report: FindingCollector) -> Node | None:
    """Read a YAML file; None where it is empty or cannot be read, which is reported."""
    text = _decode_utf8(data, report)
    if text is None:
        return None
    if not text.isascii() or not text.isprintable():
        bad = re.search(_NON_YAML_CHARACTER, text)
        if bad is not None:
            line = text.count("\n", 0, bad.start()) + 1
            column = bad.start() - text.rfind("\n", 0, bad.start())
            hint = "remove it, or write it as an escape between double quotes"
            words = f"the character U+{ord(bad[0]):04X} is not allowed in YAML"
            report.add(words, Node(kind="text", line=line, column=column), hint)
            return None
    try:
        node = parse_yaml_node(text)
    except YamlSyntaxError as error:
        place = Node(kind="text", line=error.line + 1, column=error.column + 1)
        message = error.message.replace("the front matter", "the file", 1)
        report.add(
            message, place, next((hint for words, hint in _HINTS_BY_MESSAGE if words in message), "mend the file there")
        )
        return None
    if node is None:
        report.add("the file is empty", hint="write into it, or remove it")
    return node


_HINTS_BY_MESSAGE = (
    ("anchor or alias", "write the value out wherever it is meant, or put it in quotes"),
    ("the tag", "remove the tag, or put the value in quotes"),
    ("stands twice", "remove one of them"),
    ("more than one YAML document", "make a file of each"),
    ("YAML events", "split the file"),
    ("nests more than", "write it flatter"),
)
"""Words of a message, and what to do then."""


def read_json_mapping(data: bytes, report: FindingCollector) -> MappingReader | None:
    """Read a JSON file that is a map; None where it is not, which is reported."""
    import json

    report.is_json = True
    text = _decode_utf8(data, report)
    if text is None:
        return None
    try:
        node = _json_node(
            json.loads(
                text,
                object_pairs_hook=_JsonObject,
                parse_constant=_reject_constant,
                parse_int=_JsonNumber,
                parse_float=_JsonNumber,
            )
        )
    except json.JSONDecodeError as error:
        place = Node(kind="text", line=error.lineno, column=error.colno)
        words = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        report.add(f"the file is not JSON: {words}", place, "mend the file there")
        return None
    except RecursionError:
        report.add("the file is not JSON: it nests too deep", hint="write it flatter")
        return None
    except ValueError as error:
        report.add(f"the file is not JSON: {error}", hint="mend it")
        return None
    try:
        # JSON is YAML, but for a few texts, and YAML's parser tells places. Without them it is just as right.
        return _top_level_mapping(_with_positions(node, parse_yaml_node(text)), report)
    except YamlSyntaxError:
        return _top_level_mapping(node, report)


def _with_positions(node: Node, twin: Node | None) -> Node:
    """Give what JSON says the places of what YAML says."""
    if twin is None or len(node.items) != len(twin.items):
        return node
    items = tuple(map(_with_positions, node.items, twin.items))
    return node.with_changes(
        items=items, keys=tuple(map(_with_positions, node.keys, twin.keys)), line=twin.line, column=twin.column
    )


def _decode_utf8(data: bytes, report: FindingCollector) -> str | None:
    if len(data) > MAX_BYTES:
        report.add(f"the file is larger than {MAX_BYTES // 1024} KiB", hint="split it")
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


class _JsonObject(tuple):  # type: ignore[type-arg]
    """What stands in a JSON object."""

    __slots__ = ()


def _reject_constant(word: str) -> str:
    raise ValueError(f"{word} is no value of JSON")


class _JsonNumber(str):
    """A number of JSON, as it is typed."""

    __slots__ = ()


def _json_node(value: Any) -> Node:
    """Make nodes without places of what JSON says.

    Raises:
        ValueError: a key stands twice, or a text is none.
    """
    if isinstance(value, _JsonObject):
        names = [key for key, _ in value]
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise ValueError(f"the key {quoted(name)} stands twice")
            seen.add(name)
        keys = tuple(map(_text_node, names))
        return Node(kind="map", keys=keys, items=tuple(_json_node(item) for _, item in value))
    if isinstance(value, list):
        return Node(kind="list", items=tuple(map(_json_node, value)))
    if value is None:
        return Node(kind="null", text="null", plain=True)
    if isinstance(value, bool):
        return Node(kind="bool", text=str(value).lower(), plain=True)
    return Node(kind="number", text=str(value), plain=True) if isinstance(value, _JsonNumber) else _text_node(value)


def _text_node(text: str) -> Node:
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise ValueError(f"{quoted(text)} holds half a character")
    return Node(kind="text", text=text)


class MappingReader:
    """A map in a file, of which each key is asked for by its type."""

    def __init__(self, node: Node, report: FindingCollector, where: str = "") -> None:
        self.node, self.report, self.prefix = node, report, where
        self._values = dict(zip((key.text for key in node.keys), node.items, strict=True))

    def allow_only(self, *names: str) -> None:
        """Report keys other than these."""
        for key in self.node.keys:
            if self.report.is_full:
                break
            if key.text not in names:
                near = nearest_names(key.text, names)
                hint = f"did you mean {quoted(near[0])}?" if near else f"the keys here are {', '.join(names)}"
                self.report.add(f"the key {quoted(self.key_path(key.text))} is not known", key, hint)

    def key_path(self, name: str) -> str:
        """Return the path of a key inside the file."""
        return f"{self.prefix}.{name}" if self.prefix else name

    def get(self, name: str, *, required: bool = False, null_is_missing: bool = True) -> Node | None:
        """Return what a key holds, None where it is not there.

        Args:
            name: of the key.
            required: whether it is reported as missing.
            null_is_missing: whether an empty value stands for none at all.
        """
        node = self._values.get(name)
        if node is None or (null_is_missing and node.kind == "null"):
            if required:
                hint = f'add `"{name}": ...`' if self.report.is_json else f"add `{name}: ...`"
                self.report.add(f"there is no {quoted(self.key_path(name))}", node or self.node, hint)
            return None
        return node

    def report_wrong_type(self, name: str, node: Node, wanted: str, hint: str | None = None) -> None:
        """Report a value of another type."""
        self.report.add(f"{quoted(self.key_path(name))} is {_describe_node(node)}, not {wanted}", node, hint)

    def report_empty(self, *names: str) -> None:
        """Report keys among these that have nothing behind them, not even `null`."""
        for name in names:
            node = self._values.get(name)
            if node is not None and node.kind == "null" and not node.text:
                hint = "write its value, or remove the key; nothing is expected by it as it is"
                self.report.add(f"{quoted(self.key_path(name))} is empty", node, hint)

    def get_text(self, name: str, *, required: bool = False) -> str | None:
        """Return a text: any scalar, as it is typed."""
        node = self.get(name, required=required)
        if node is None:
            return None
        if node.kind in ("list", "map"):
            self.report_wrong_type(name, node, "text", "put it in quotes")
            return None
        return node.text

    def get_texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty where there is none."""
        node = self.get(name)
        if node is None:
            return ()
        if node.kind != "list":
            self.report_wrong_type(name, node, "a list of texts", f"write it below `{name}:`, after a dash")
            return ()
        for at, item in enumerate(node.items):
            if item.kind in ("list", "map") or (item.kind == "null" and not item.text):
                self.report_wrong_type(f"{name}[{at}]", item, "text", "put it in quotes")
        return tuple(item.text for item in node.items if item.kind not in ("list", "map"))

    def get_text_map(self, name: str) -> dict[str, str]:
        """Return a map of texts; empty where there is none."""
        node = self.get(name)
        if node is None:
            return {}
        if node.kind != "map":
            self.report_wrong_type(name, node, "a map of texts")
            return {}
        found = {}
        for key, item in zip(node.keys, node.items, strict=True):
            if item.kind in ("list", "map", "null"):
                self.report_wrong_type(f"{name}.{key.text}", item, "text", "put it in quotes")
            else:
                found[key.text] = item.text
        return found

    def get_bool(self, name: str) -> bool | None:
        """Return true or false; None where there is neither."""
        node = self.get(name)
        if node is None:
            return None
        if not node.plain or node.text not in ("true", "false"):
            self.report_wrong_type(name, node, "true or false", "write it as `true` or `false`, without quotes")
            return None
        return node.text == "true"

    def get_integer(self, name: str, low: int, high: int) -> int | None:
        """Return a whole number; None where there is none."""
        node = self.get(name)
        if node is None:
            return None
        if node.kind != "number" or not _INTEGER(node.text) or not low <= int(node.text) <= high:
            self.report_wrong_type(name, node, f"a whole number from {low} to {high}", _unquote_hint(node))
            return None
        return int(node.text)

    def get_number(self, name: str, *, above: float, most: float, closed: bool = False) -> float | None:
        """Return a number; None where there is none.

        Args:
            name: of the key.
            above: what it must be above, or at least where it is `closed`.
            most: what it may be at most.
            closed: whether it may be `above` itself.
        """
        node = self.get(name)
        if node is None:
            return None
        value = (
            float(node.text)
            if node.kind == "number" and _NUMBER(node.text) and len(node.text) < _MAX_DIGITS
            else math.nan
        )
        if not (above < value <= most or (closed and value == above)):
            wanted = (
                f"a number from {above:g} to {most:g}" if closed else f"a number above {above:g} and at most {most:g}"
            )
            self.report_wrong_type(name, node, wanted, _unquote_hint(node))
            return None
        return value

    def get_mapping(self, name: str, *, required: bool = False) -> MappingReader | None:
        """Return the map below a key; None where there is none."""
        node = self.get(name, required=required)
        if node is None:
            return None
        if node.kind != "map":
            self.report_wrong_type(name, node, "a map", f"write `key: value` lines below `{name}:`")
            return None
        return MappingReader(node, self.report, self.key_path(name))


def _unquote_hint(node: Node) -> str | None:
    return "write it without quotes" if node.kind == "text" and _NUMBER(node.text) else None


def json_value(node: Node, number: Callable[[str], Any] | None = None) -> Any:
    """Return what a value means where JSON is meant: a plain scalar that is a literal of JSON has its type.

    Anything else is text: `012`, `yes`, `2024-01-01`.

    Args:
        node: the value.
        number: makes a value of a number that is not whole, or has many digits; without, it is Python's, and what
            Python cannot hold is text.
    """
    if node.kind == "map":
        return {key.text: json_value(item, number) for key, item in zip(node.keys, node.items, strict=True)}
    if node.kind == "list":
        return [json_value(item, number) for item in node.items]
    if node.plain:
        if node.text in _JSON_LITERALS:
            return _JSON_LITERALS[node.text]
        if _INTEGER(node.text):
            return int(node.text)
        if _NUMBER(node.text):
            return (number or _python_number)(node.text)
    return node.text


_JSON_LITERALS = {"true": True, "false": False, "null": None}


def _python_number(text: str) -> float | str:
    if len(text) >= _MAX_DIGITS:
        return text
    value: float = float(text) if set(text) & set(".eE") else int(text)
    return value if math.isfinite(value) else text
