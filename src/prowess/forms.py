"""a YAML or JSON file -> its fields, each of the type it should have, and all that is wrong with it

For files that people write for Prowess. Nothing is guessed: a key that is not known, a value of another type, a text
where a number should be is a finding with its place. Text is whatever its author typed, with quotes or without.
"""

from __future__ import annotations

import math
import re

from ._yaml import Node, NotYamlError, read_node
from .findings import Finding, finding, near_names, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Form", "Report", "json_value", "read_json", "read_yaml", "read_yaml_list"]

MAX_BYTES = 256 * 1024
"""Of one file."""
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})").fullmatch
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?").fullmatch
_MAX_DIGITS = 400
"""Of a number: Python takes very long ones for an attack, and so do we."""
_A = {"null": "empty", "bool": "true or false", "number": "a number", "text": "text", "list": "a list", "map": "a map"}


class Report:
    """Takes down what is wrong with one file."""

    def __init__(self, path: str, code: str) -> None:
        self.path, self.code = path, code
        self.findings: list[Finding] = []

    def say(self, message: str, node: Node | None = None, hint: str | None = None) -> None:
        """Add a finding at a value's place."""
        line, column = (None, None) if node is None else (node.line, node.column)
        self.findings.append(finding(self.code, message, path=self.path, line=line, column=column, hint=hint))


def read_yaml(data: bytes, report: Report) -> Form | None:
    """Read a YAML file that is a map; None where it is not, which is reported."""
    node = _yaml(data, report)
    return None if node is None else _top(node, report)


def read_yaml_list(data: bytes, report: Report) -> list[Form]:
    """Read a YAML file that is a list of maps; what is not is left out and reported."""
    node = _yaml(data, report)
    if node is None:
        return []
    if node.kind != "list":
        report.say(f"the file is {_A[node.kind]}, not a list", node, "begin each of its parts with a dash")
        return []
    forms = []
    for at, item in enumerate(node.items):
        if item.kind == "map":
            forms.append(Form(item, report, f"[{at}]"))
        else:
            report.say(f"`[{at}]` is {_A[item.kind]}, not `key: value` lines", item)
    return forms


def _yaml(data: bytes, report: Report) -> Node | None:
    """Read a YAML file; None where it is empty or cannot be read, which is reported."""
    text = _decoded(data, report)
    if text is None:
        return None
    try:
        node = read_node(text)
    except NotYamlError as error:
        place = Node(kind="text", line=error.line + 1, column=error.column + 1)
        report.say(error.message.replace("the front matter", "the file", 1), place)
        return None
    if node is None:
        report.say("the file is empty")
    return node


def read_json(data: bytes, report: Report) -> Form | None:
    """Read a JSON file that is a map; None where it is not, which is reported."""
    import json

    text = _decoded(data, report)
    if text is None:
        return None
    try:
        node = _node(
            json.loads(text, object_pairs_hook=_Pairs, parse_constant=_refused, parse_int=_Number, parse_float=_Number)
        )
    except json.JSONDecodeError as error:
        place = Node(kind="text", line=error.lineno, column=error.colno)
        report.say(f"the file is not JSON: {error.msg.lower()}", place)
        return None
    except RecursionError:
        report.say("the file is not JSON: it nests too deep")
        return None
    except ValueError as error:
        report.say(f"the file is not JSON: {error}")
        return None
    return _top(node, report)


def _decoded(data: bytes, report: Report) -> str | None:
    if len(data) > MAX_BYTES:
        report.say(f"the file is larger than {MAX_BYTES // 1024} KiB", hint="split it")
        return None
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        report.say(f"byte {data[error.start]:#04x} at offset {error.start} is not UTF-8", hint="save the file as UTF-8")
        return None


def _top(node: Node, report: Report) -> Form | None:
    if node.kind != "map":
        report.say(f"the file is {_A[node.kind]}, not `key: value` lines", node)
        return None
    return Form(node, report)


class _Pairs(tuple):  # type: ignore[type-arg]
    """What stands in a JSON object."""

    __slots__ = ()


def _refused(word: str) -> str:
    raise ValueError(f"{word} is no value of JSON")


class _Number(str):
    """A number of JSON, as it is typed."""

    __slots__ = ()


def _node(value: Any) -> Node:
    """Make nodes without places of what JSON says.

    Raises:
        ValueError: a key stands twice.
    """
    if isinstance(value, _Pairs):
        names = [key for key, _ in value]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"the key {quoted(twice[0])} stands twice")
        keys = tuple(Node(kind="text", text=name) for name in names)
        return Node(kind="map", keys=keys, items=tuple(_node(item) for _, item in value))
    if isinstance(value, list):
        return Node(kind="list", items=tuple(map(_node, value)))
    if value is None:
        return Node(kind="null", text="null", plain=True)
    if isinstance(value, bool):
        return Node(kind="bool", text=str(value).lower(), plain=True)
    return Node(
        kind="number" if isinstance(value, _Number) else "text", text=str(value), plain=isinstance(value, _Number)
    )


class Form:
    """A map in a file, of which each key is asked for by its type."""

    def __init__(self, node: Node, report: Report, where: str = "") -> None:
        self.node, self.report, self.where = node, report, where
        self._values = dict(zip((key.text for key in node.keys), node.items, strict=True))

    def only(self, *names: str) -> None:
        """Report keys other than these."""
        for key in self.node.keys:
            if key.text not in names:
                near = near_names(key.text, names)
                hint = f"did you mean {quoted(near[0])}?" if near else f"the keys here are {', '.join(names)}"
                self.report.say(f"the key {quoted(self.path(key.text))} is not known", key, hint)

    def path(self, name: str) -> str:
        """Return the path of a key inside the file."""
        return f"{self.where}.{name}" if self.where else name

    def get(self, name: str, *, needed: bool = False, null: bool = True) -> Node | None:
        """Return what a key holds, None where it is not there.

        Args:
            name: of the key.
            needed: whether it is reported as missing.
            null: whether an empty value stands for none at all.
        """
        node = self._values.get(name)
        if node is None or (null and node.kind == "null"):
            if needed:
                self.report.say(f"there is no {quoted(self.path(name))}", node or self.node, f"add `{name}:`")
            return None
        return node

    def wrong(self, name: str, node: Node, wanted: str, hint: str | None = None) -> None:
        """Report a value of another type."""
        said = _A[node.kind] if not node.text else f"{_A[node.kind]} ({quoted(node.text)})"
        self.report.say(f"{quoted(self.path(name))} is {said}, not {wanted}", node, hint)

    def text(self, name: str, *, needed: bool = False) -> str | None:
        """Return a text: any scalar, as it is typed."""
        node = self.get(name, needed=needed)
        if node is None:
            return None
        if node.kind in ("list", "map"):
            self.wrong(name, node, "text")
            return None
        return node.text

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty where there is none."""
        node = self.get(name)
        if node is None:
            return ()
        if node.kind != "list":
            self.wrong(name, node, "a list of texts", f"write it below `{name}:`, after a dash")
            return ()
        for at, item in enumerate(node.items):
            if item.kind in ("list", "map") or (item.kind == "null" and not item.text):
                self.wrong(f"{name}[{at}]", item, "text")
        return tuple(item.text for item in node.items if item.kind not in ("list", "map"))

    def texts_by_name(self, name: str) -> dict[str, str]:
        """Return a map of texts; empty where there is none."""
        node = self.get(name)
        if node is None:
            return {}
        if node.kind != "map":
            self.wrong(name, node, "a map of texts")
            return {}
        found = {}
        for key, item in zip(node.keys, node.items, strict=True):
            if item.kind in ("list", "map", "null"):
                self.wrong(f"{name}.{key.text}", item, "text", "put it in quotes")
            else:
                found[key.text] = item.text
        return found

    def truth(self, name: str) -> bool | None:
        """Return true or false; None where there is neither."""
        node = self.get(name)
        if node is None:
            return None
        if not node.plain or node.text not in ("true", "false"):
            self.wrong(name, node, "true or false", "write it as `true` or `false`, without quotes")
            return None
        return node.text == "true"

    def integer(self, name: str, low: int, high: int) -> int | None:
        """Return a whole number; None where there is none."""
        node = self.get(name)
        if node is None:
            return None
        if node.kind != "number" or not _INTEGER(node.text) or not low <= int(node.text) <= high:
            self.wrong(name, node, f"a whole number from {low} to {high}", _unquoted(node))
            return None
        return int(node.text)

    def number(self, name: str, *, above: float, most: float) -> float | None:
        """Return a number; None where there is none."""
        node = self.get(name)
        if node is None:
            return None
        value = (
            float(node.text)
            if node.kind == "number" and _NUMBER(node.text) and len(node.text) < _MAX_DIGITS
            else math.nan
        )
        if not above < value <= most:
            self.wrong(name, node, f"a number above {above:g} and at most {most:g}", _unquoted(node))
            return None
        return value

    def form(self, name: str, *, needed: bool = False) -> Form | None:
        """Return the map below a key; None where there is none."""
        node = self.get(name, needed=needed)
        if node is None:
            return None
        if node.kind != "map":
            self.wrong(name, node, "a map", f"write `key: value` lines below `{name}:`")
            return None
        return Form(node, self.report, self.path(name))


def _unquoted(node: Node) -> str | None:
    return "write it without quotes" if node.kind == "text" and _NUMBER(node.text) else None


def json_value(node: Node) -> Any:
    """Return what a value means where JSON is meant: a plain scalar that is a literal of JSON has its type.

    Anything else is text: `012`, `yes`, `2024-01-01`.
    """
    if node.kind == "map":
        return {key.text: json_value(item) for key, item in zip(node.keys, node.items, strict=True)}
    if node.kind == "list":
        return [json_value(item) for item in node.items]
    if node.plain:
        if node.text in _LITERALS:
            return _LITERALS[node.text]
        if _INTEGER(node.text):
            return int(node.text)
        if _NUMBER(node.text) and len(node.text) < _MAX_DIGITS:
            import json

            value = json.loads(node.text)
            return value if not isinstance(value, float) or math.isfinite(value) else node.text
    return node.text


_LITERALS = {"true": True, "false": False, "null": None}
