"""YAML -> fields of a front matter, or nodes of a whole file

The only file that knows YAML: every scalar is the text its author typed, and what a skill must not use is a problem.
"""

from __future__ import annotations

import re

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeAlias

__all__ = [
    "MAX_DEPTH",
    "MAX_EVENTS",
    "Field",
    "Node",
    "YamlSyntaxError",
    "Problem",
    "FrontmatterReader",
    "Value",
    "scalar_kind",
    "parse_yaml_node",
]

MAX_DEPTH = 64
MAX_EVENTS = 20_000

Value: TypeAlias = "str | tuple[Value, ...] | Mapping[str, Value]"
"""What a field can hold: text, a list, or a map; every scalar is the text its author typed."""

Problem: TypeAlias = tuple[str, int, int, str, str]
"""Code, 0-based line and column within the front matter, message, hint."""

_MAX_TOTAL_EVENTS = 4 * MAX_EVENTS
"""YAML events over all attempts at one front matter: a long one with many mistakes is given up before it takes long."""
_MAX_ALIAS_CHARS = 64 * 1024
"""Characters that aliases repeat, all in all; past that they stay empty."""
_SEPARATE_FILE_HINT = "keep data in a file beside SKILL.md"


class Field(Frozen):
    """One top-level entry of the front matter."""

    value: Value
    kind: str
    """What YAML 1.2 makes of it: `text`, `null`, `bool`, `number`, `list` or `map`. Quoted scalars are `text`."""
    line: int
    """1-based, of the key, in the file."""
    column: int
    source: str = ""
    """The line as it stands in the file, without its newline."""


_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))
_NUMBER = (
    r"0o[0-7]+|0x[0-9a-fA-F]+|\.(?:nan|NaN|NAN)"
    r"|[-+]?(?:(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))"
)


def scalar_kind(text: str) -> str:
    """Name what YAML 1.2's core schema makes of a plain scalar."""
    if text in _NULL:
        return "null"
    if text in _BOOL:
        return "bool"
    return "number" if text[0] in "+-.0123456789" and re.fullmatch(_NUMBER, text) else "text"


class YamlSyntaxError(Exception):
    """Where YAML gave up: a 0-based line and column within the front matter."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def _events(front: str) -> Iterator[Any]:
    import yaml

    # The C parser where PyYAML was built with it: about fifteen times as fast, the same events.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.parse(front, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if error.problem == "found unexpected end of stream":
            # A quote that nothing closes is mended where it is opened, not where the text ends.
            mark = error.context_mark or mark
        words = " ".join(part for part in (error.problem, error.context) if part) or "it is not valid YAML"
        line, column = (mark.line, mark.column) if mark is not None else (0, 0)
        raise YamlSyntaxError(f"the front matter is not valid YAML: {words}", line, column) from None
    except yaml.YAMLError as error:
        words = getattr(error, "reason", None) or "it is not valid YAML"
        raise YamlSyntaxError(f"the front matter is not valid YAML: {words}", 0, 0) from None
    except (ValueError, OverflowError, RecursionError):
        # Number escapes past what a character can be: PyYAML's pure reader lets these through.
        raise YamlSyntaxError("the front matter is not valid YAML: it cannot be read", 0, 0) from None


# YAML 1.1 ends a line at these; YAML 1.2, and so everyone else, has them as text.
_YAML_1_1_LINE_BREAKS = "\x85\u2028\u2029"


def _placeholders(text: str) -> dict[int, str]:
    """Return characters that a text does not hold, for those that YAML 1.1 breaks lines at; fewer than all fit in."""
    used = set(text)
    spare = (number for number in range(0xF0000, 0xFFFFE) if chr(number) not in used)
    return dict(zip(spare, _YAML_1_1_LINE_BREAKS, strict=False))


class FrontmatterReader:
    """Reads front matter, as often as repairs need it, until it has cost too much."""

    def __init__(self, source: list[str]) -> None:
        self._source = source
        self._events_left = _MAX_TOTAL_EVENTS
        self._replaced_breaks: dict[int, str] = {}

    def read(self, lines: list[str]) -> tuple[dict[str, Field], list[Problem]]:
        """Read lines of YAML.

        Raises:
            YamlSyntaxError: they are not YAML, or too much was read already.
        """
        front = "\n".join(lines)
        restore: dict[int, str] = {}
        if any(mark in front for mark in _YAML_1_1_LINE_BREAKS):
            restore = self._replaced_breaks = self._replaced_breaks or _placeholders(front)
            for number, mark in restore.items():
                front = front.replace(mark, chr(number))
        return _compose_fields(self._limit_events(_events(front)), self._source, restore)

    def can_read(self, lines: list[str]) -> bool:
        """Tell whether lines are YAML."""
        try:
            self.read(lines)
        except YamlSyntaxError:
            return False
        return True

    def _limit_events(self, events: Iterator[Any]) -> Iterator[Any]:
        for event in events:
            self._events_left -= 1
            if self._events_left < 0:
                mark = event.start_mark
                raise YamlSyntaxError("the front matter has too many mistakes to be repaired", mark.line, mark.column)
            yield event


class _OpenCollection:
    """A list or map that is still being read."""

    __slots__ = ("column", "items", "key", "line", "start")

    def __init__(self, items: Any, start: Any) -> None:
        self.items = items
        self.start = start
        self.key: str | None = None
        """The key that waits for its value."""
        self.line = self.column = 0


def _compose_fields(
    stream: Iterator[Any], sources: list[str], restore: Mapping[int, str]
) -> tuple[dict[str, Field], list[Problem]]:
    """Build the fields from YAML events, noting every feature that a skill must not use.

    Args:
        stream: the events.
        sources: the lines of the file's front matter.
        restore: what to put back into the scalars.
    """
    import yaml

    fields: dict[str, Field] = {}
    problems: list[Problem] = []
    anchors: dict[str, str] = {}
    stack: list[_OpenCollection] = []
    events = documents = copied = 0

    def problem(code: str, mark: Any, message: str, hint: str = "") -> None:
        problems.append((code, mark.line, mark.column, message, hint))

    def place(value: Value, kind: str, mark: Any) -> None:
        """Put a finished node where it belongs."""
        frame = stack[-1]
        if isinstance(frame.items, list):
            frame.items.append(value)
        elif frame.key is None:
            if not isinstance(value, str):
                raise YamlSyntaxError("the front matter has a list or a map as a key", mark.line, mark.column)
            if value in frame.items:
                problem("yaml-duplicate-key", mark, f"the key {quoted(value)} stands twice", "remove one of them")
            frame.key, frame.line, frame.column = value, mark.line, mark.column
        else:
            if frame.items is fields:
                text = sources[frame.line] if frame.line < len(sources) else ""
                fields[frame.key] = Field(
                    value=value, kind=kind, line=frame.line + 2, column=frame.column + 1, source=text
                )
            else:
                frame.items[frame.key] = value
            frame.key = None

    for event in stream:
        mark = event.start_mark
        events += 1
        if events > MAX_EVENTS:
            problem(
                "yaml-too-long", mark, f"the front matter has more than {MAX_EVENTS:,} YAML events", _SEPARATE_FILE_HINT
            )
            break
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent):
            if anchor not in anchors:
                raise YamlSyntaxError(f"the alias {quoted(f'*{anchor}')} has no anchor", mark.line, mark.column)
            problem("yaml-alias", mark, f"the alias {quoted(f'*{anchor}')} is not allowed", "write the value out")
            copied += len(anchors[anchor])
            place(anchors[anchor] if copied <= _MAX_ALIAS_CHARS else "", "text", mark)
            continue
        if anchor is not None:
            # An alias of a list or a map stays empty: repeated inside each other they would outgrow any memory.
            anchors[anchor] = getattr(event, "value", "")
            hint = "write the value without it, or in quotes"
            problem("yaml-anchor", mark, f"the anchor {quoted(f'&{anchor}')} is not allowed", hint)
        tag = getattr(event, "tag", None)
        if tag is not None:
            hint = "remove the tag, or put the value in quotes"
            problem("yaml-tag", mark, f"the tag {quoted(tag)} is not allowed", hint)
        if isinstance(event, yaml.ScalarEvent):
            value = event.value.translate(restore) if restore else event.value
            kind = scalar_kind(value) if event.style in (None, "") and tag != "tag:yaml.org,2002:str" else "text"
            if stack:
                place(value, kind, mark)
            elif value:
                problem(
                    "yaml-not-mapping", mark, "the front matter is text, not `key: value` lines", "write `name: ...`"
                )
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(stack) >= MAX_DEPTH:
                problem(
                    "yaml-too-deep", mark, f"the front matter nests more than {MAX_DEPTH} levels", _SEPARATE_FILE_HINT
                )
                break
            if isinstance(event, yaml.SequenceStartEvent):
                if not stack:
                    problem(
                        "yaml-not-mapping",
                        mark,
                        "the front matter is a list, not `key: value` lines",
                        "remove the dash",
                    )
                stack.append(_OpenCollection([], mark))
            else:
                stack.append(_OpenCollection({} if stack else fields, mark))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            ended = stack.pop()
            items = ended.items
            if not stack:
                continue
            if isinstance(items, list):
                place(tuple(items), "list", ended.start)
            else:
                place(items, "map", ended.start)
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1 or event.explicit:
                raise YamlSyntaxError("the front matter holds more than one YAML document", mark.line, mark.column)
    return fields, problems


# ── whole files of Prowess's own: test cases, roles, scripts of models ───────────────────────────────────────────────


class Node(Frozen):
    """A value in a YAML file, with its place."""

    kind: str
    """What YAML 1.2 makes of it, as in `Field.kind`."""
    text: str = ""
    """Of a scalar, as its author typed it."""
    plain: bool = False
    """Whether a scalar stands without quotes."""
    items: tuple[Node, ...] = ()
    """Of a list; of a map its values."""
    keys: tuple[Node, ...] = ()
    """Of a map, one for each of `items`."""
    line: int | None = None
    """1-based; None where the file is not YAML and does not tell."""
    column: int | None = None


def parse_yaml_node(text: str) -> Node | None:
    """Read a whole YAML file that is one document; None where it is empty.

    Anchors, aliases, tags, keys that stand twice and keys that are no text are refused, as in a front matter.

    Raises:
        YamlSyntaxError: it is not YAML, uses one of these, or is larger than a front matter may be.
    """
    import yaml

    events = 0
    documents = 0
    stack: list[tuple[Any, list[Node]]] = []
    top: Node | None = None
    restore = _placeholders(text) if any(mark in text for mark in _YAML_1_1_LINE_BREAKS) else {}
    for number, mark in restore.items():
        text = text.replace(mark, chr(number))
    for event in _events(text):
        mark = event.start_mark
        events += 1
        if events > MAX_EVENTS:
            raise YamlSyntaxError(f"the front matter has more than {MAX_EVENTS:,} YAML events", mark.line, mark.column)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise YamlSyntaxError("the front matter uses a YAML anchor or alias", mark.line, mark.column)
        if getattr(event, "tag", None) is not None:
            raise YamlSyntaxError(f"the tag {quoted(event.tag)} is not allowed", mark.line, mark.column)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise YamlSyntaxError("the front matter holds more than one YAML document", mark.line, mark.column)
            continue
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(stack) >= MAX_DEPTH:
                raise YamlSyntaxError(f"the front matter nests more than {MAX_DEPTH} levels", mark.line, mark.column)
            stack.append((event, []))
            continue
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style in (None, "")
            value = event.value.translate(restore) if restore else event.value
            if not value.isascii() and re.search("[\ud800-\udfff]", value):
                raise YamlSyntaxError("the front matter holds half a character", mark.line, mark.column)
            kind = scalar_kind(value) if plain else "text"
            node = Node(kind=kind, text=value, plain=plain, line=mark.line + 1, column=mark.column + 1)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            node = _make_collection(*stack.pop())
        else:
            continue
        if stack:
            stack[-1][1].append(node)
        else:
            top = node
    return None if top is None or (top.kind == "null" and not top.text) else top


def _make_collection(start: Any, nodes: list[Node]) -> Node:
    """Make a list or a map of what was read in it.

    Raises:
        YamlSyntaxError: a key stands twice, or is no text.
    """
    import yaml

    line, column = start.start_mark.line + 1, start.start_mark.column + 1
    if isinstance(start, yaml.SequenceStartEvent):
        return Node(kind="list", items=tuple(nodes), line=line, column=column)
    seen: set[str] = set()
    for key in nodes[::2]:
        place = (key.line or 1) - 1, (key.column or 1) - 1
        if key.kind in ("list", "map"):
            raise YamlSyntaxError("the front matter has a list or a map as a key", *place)
        if key.text in seen:
            raise YamlSyntaxError(f"the key {quoted(key.text)} stands twice", *place)
        seen.add(key.text)
    return Node(kind="map", keys=tuple(nodes[::2]), items=tuple(nodes[1::2]), line=line, column=column)
