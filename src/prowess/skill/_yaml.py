"""Parse YAML into nodes with positions: whole files, and the fields of a front matter.

Every scalar is the text its author typed. In the files that people write for Prowess (test cases, roles, scripts of
models), anchors, aliases, tags, duplicate keys and keys that are not text are errors. In a front matter most of them
are problems, and the rest of it is read all the same. No other module knows YAML.
"""

from __future__ import annotations

import re
from itertools import islice

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Protocol, TypeAlias

    class Mark(Protocol):
        """The 0-based position of a YAML event."""

        line: int
        column: int

    _Raw: TypeAlias = tuple[str, str, bool, tuple[Any, ...], tuple[Any, ...], int, int]
    """The kind, text, `plain`, items and keys of a node, and its 0-based line and column: a value of tuples, which are
    made in a tenth of the time."""


MAX_DEPTH = 64
MAX_EVENTS = 20_000

Value: TypeAlias = "str | tuple[Value, ...] | Mapping[str, Value]"
"""The value of a field: text, a list, or a map; every scalar is the text its author typed."""

Problem: TypeAlias = tuple[str, int, int, str, str]
"""Code, 0-based line and column within the front matter, message, hint."""

_MAX_TOTAL_EVENTS = 4 * MAX_EVENTS
"""YAML events over all attempts to repair one front matter, so that many mistakes in a long one do not take long."""
_MAX_ALIAS_CHARS = 64 * 1024
"""Characters that all aliases of one front matter may repeat; further aliases are empty."""
_TOO_DEEP = "exceeded maximum nesting depth"
"""The C parser's words for more than 1,000 levels (libyaml 0.2.5 as PyYAML 6.0.4 has it)."""
_TEXT_TAG = "tag:yaml.org,2002:str"
_SCALAR_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "null"))
_SEPARATE_FILE_HINT = "keep data in a file beside SKILL.md"


_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))
_NUMBER = (
    r"0o[0-7]+|0x[0-9a-fA-F]+|\.(?:nan|NaN|NAN)"
    r"|[-+]?(?:(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))"
)


def scalar_kind(text: str) -> str:
    """Return the type of a plain scalar in YAML 1.2's core schema."""
    if text in _NULL:
        return "null"
    if text in _BOOL:
        return "bool"
    return "number" if text[0] in "+-.0123456789" and re.fullmatch(_NUMBER, text) else "text"


class YamlSyntaxError(Exception):
    """Text that is not valid YAML, or uses YAML that is not allowed; `line` and `column` are 0-based."""

    def __init__(self, message: str, line: int, column: int, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


def yaml_events(text: str, *, pure: bool = False) -> Iterator[Any]:
    """Yield the events of a YAML text.

    Args:
        text: the YAML.
        pure: whether to read it with PyYAML's parser in Python.

    Raises:
        YamlSyntaxError: the text is not valid YAML.
    """
    import yaml

    # PyYAML's C parser, if it was built, yields the same events about fifteen times as fast.
    loader = yaml.SafeLoader if pure else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    yielded = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            yield event
            yielded += 1
    except yaml.MarkedYAMLError as error:
        if error.problem == _TOO_DEEP and not pure:
            # From PyYAML 6.0.4 on, the C parser fails at 1,000 levels before it has yielded those that it read ahead.
            yield from islice(yaml_events(text, pure=True), yielded, None)
            return
        mark = error.problem_mark or error.context_mark
        if error.problem == "found unexpected end of stream":
            # An unclosed quote is fixed where it opens, not where the text ends.
            mark = error.context_mark or mark
        reason = " ".join(part for part in (error.problem, error.context) if part)
        line, column = (mark.line, mark.column) if mark is not None else (0, 0)
        raise YamlSyntaxError(_syntax_message(reason), line, column) from None
    except yaml.YAMLError as error:
        raise YamlSyntaxError(_syntax_message(getattr(error, "reason", None)), 0, 0) from None
    except (ValueError, OverflowError, RecursionError):
        # PyYAML's pure parser does not catch an escape with a number larger than any character's.
        raise YamlSyntaxError(_syntax_message("an escape or a nesting is out of range"), 0, 0) from None


def _syntax_message(reason: str | None) -> str:
    return f"the front matter is not valid YAML{f': {reason}' if reason else ''}"


# YAML 1.1 ends a line at these; in YAML 1.2, and so for every other reader, they are text.
_YAML_1_1_LINE_BREAKS = "\x85\u2028\u2029"


def replace_line_breaks(text: str, placeholders: Mapping[int, str] | None = None) -> tuple[str, Mapping[int, str]]:
    """Replace the characters at which only YAML 1.1 breaks lines.

    Args:
        text: the YAML.
        placeholders: of an earlier call, to use again.

    Returns:
        The text, and the placeholders in it: the number of each to the character it replaces, for `str.translate`.
    """
    if not any(mark in text for mark in _YAML_1_1_LINE_BREAKS):
        return text, {}
    if not placeholders:
        used = set(text)
        unused = (number for number in range(0xF0000, 0xFFFFE) if chr(number) not in used)
        placeholders = dict(zip(unused, _YAML_1_1_LINE_BREAKS, strict=False))
    for number, mark in placeholders.items():
        text = text.replace(mark, chr(number))
    return text, placeholders


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Node(Frozen):
    """A value in a YAML or JSON file, with its position."""

    kind: str
    """Its type in YAML 1.2, as in `Field.kind`."""
    text: str = ""
    """Of a scalar, as its author typed it."""
    plain: bool = False
    """Whether a scalar has no quotes."""
    items: tuple[Node, ...] = ()
    """The items of a list, or the values of a map."""
    keys: tuple[Node, ...] = ()
    """The keys of a map, one for each of `items`."""
    line: int | None = None
    """1-based; `None` if unknown, in JSON that is not YAML."""
    column: int | None = None

    def plain_value(self) -> Any:
        """Return the value as Python has it: a dictionary, a list, text, a number, a boolean or `None`."""
        if self.kind == "map":
            return {key.text: item.plain_value() for key, item in zip(self.keys, self.items, strict=True)}
        if self.kind == "list":
            return [item.plain_value() for item in self.items]
        if self.kind == "bool":
            return self.text.lower() == "true"
        # What number it is does not matter here, and a long one would take long to read.
        return {"null": None, "number": 0}.get(self.kind, self.text)


def parse_yaml_node(text: str, *, max_events: int = MAX_EVENTS) -> Node | None:
    """Return the one document of a YAML file, or `None` if the file is empty.

    Args:
        text: of the file.
        max_events: a limit for the parts of the file.

    Raises:
        YamlSyntaxError: the text is not YAML, uses a feature that is not allowed, or is larger than a front matter may
            be.
    """
    text, placeholders = replace_line_breaks(text)
    top = _Composer(placeholders, strict=True, max_events=max_events).compose(yaml_events(text))
    return None if top is None or top[:2] == ("null", "") else _node(top)


def _node(raw: _Raw) -> Node:
    kind, text, plain, items, keys, line, column = raw
    items, keys = tuple(map(_node, items)), tuple(map(_node, keys))
    return Node(kind=kind, text=text, plain=plain, items=items, keys=keys, line=line + 1, column=column + 1)


class _OpenCollection:
    """A list or map whose end is not read yet."""

    __slots__ = ("is_list", "lines", "nodes", "start")

    def __init__(self, start: Mark, *, is_list: bool) -> None:
        self.start, self.is_list = start, is_list
        self.nodes: list[_Raw] = []
        """The items of a list; the keys and values of a map in turns."""
        self.lines: dict[str, int] = {}
        """0-based line of each key."""

    def node(self) -> _Raw:
        """Return what is read of it."""
        start = self.start
        if self.is_list:
            return "list", "", False, tuple(self.nodes), (), start.line, start.column
        items = tuple(self.nodes[1::2])
        return "map", "", False, items, tuple(self.nodes[: 2 * len(items) : 2]), start.line, start.column


class _Composer:
    """Builds nodes from YAML events.

    Args:
        placeholders: as `replace_line_breaks` returns them.
        strict: whether a feature that is not allowed is an error; otherwise it is one of `problems`, and aliases have
            the text of their anchors.
        max_events: a limit for the parts of the text.
    """

    def __init__(self, placeholders: Mapping[int, str], *, strict: bool, max_events: int = MAX_EVENTS) -> None:
        self.problems: list[Problem] = []
        self._placeholders, self._strict, self._max_events = placeholders, strict, max_events
        self._anchors: dict[str, str] = {}
        self._anchor_problems: dict[str, int] = {}
        self._open: list[_OpenCollection] = []
        self._top: _Raw | None = None
        self._alias_chars = 0

    def compose(self, events: Iterator[Any]) -> _Raw | None:
        """Return the document; as far as it was read if it is too long or too deep.

        Raises:
            YamlSyntaxError: the events are not those of one document, a key is a list or a map, an alias has no anchor,
                or a feature is not allowed.
        """
        import yaml

        scalar, starts = yaml.ScalarEvent, (yaml.MappingStartEvent, yaml.SequenceStartEvent)
        ends = yaml.MappingEndEvent, yaml.SequenceEndEvent
        documents = 0
        for number, event in enumerate(events, 1):
            mark, kind = event.start_mark, type(event)
            if number > self._max_events:
                message = f"the front matter has more than {self._max_events:,} YAML events"
                self._report("yaml-too-long", mark.line, mark.column, message, _SEPARATE_FILE_HINT, "split the file")
                break
            if kind is scalar:
                if event.anchor is not None or event.tag is not None:
                    self._check_anchor_and_tag(event.anchor, event.tag, event.value, mark)
                self._add_scalar(event)
            elif kind in starts:
                self._check_anchor_and_tag(event.anchor, event.tag, "", mark)
                if len(self._open) >= MAX_DEPTH:
                    message = f"the front matter nests more than {MAX_DEPTH} levels"
                    self._report(
                        "yaml-too-deep", mark.line, mark.column, message, _SEPARATE_FILE_HINT, "use fewer levels"
                    )
                    break
                self._open_collection(mark, is_list=kind is yaml.SequenceStartEvent)
            elif kind in ends:
                self._add(self._open.pop().node())
            elif kind is yaml.AliasEvent:
                self._add_alias(event.anchor, mark)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1 or (event.explicit and not self._strict):
                    message = "the front matter has more than one YAML document"
                    hint = "write a file for each" if self._strict else "remove this line"
                    raise YamlSyntaxError(message, mark.line, mark.column, hint)
        return self._open[0].node() if self._open else self._top

    def _open_collection(self, mark: Mark, *, is_list: bool) -> None:
        if is_list and not self._open and not self._strict:
            message = "the front matter is a list, not `key: value` lines"
            hint = "remove the dashes, and write each field on a line of its own"
            self._report("yaml-not-mapping", mark.line, mark.column, message, hint)
        self._open.append(_OpenCollection(mark, is_list=is_list))

    def _report(self, code: str, line: int, column: int, message: str, hint: str, strict_hint: str = "") -> None:
        if self._strict:
            raise YamlSyntaxError(message, line, column, strict_hint)
        self.problems.append((code, line, column, message, hint))

    def _check_anchor_and_tag(self, anchor: str | None, tag: str | None, value: str, mark: Mark) -> None:
        if anchor is not None:
            self._refuse_anchor(mark)
            # An alias of a list or a map is empty: nested aliases could fill any memory.
            self._anchors[anchor] = value
            label = quoted(f"&{anchor}")
            hint = f"put the value in quotes, or remove {label}"
            self._anchor_problems[anchor] = len(self.problems)
            self._report("yaml-anchor", mark.line, mark.column, f"the anchor {label} is not allowed", hint)
        if tag is not None:
            is_text = tag == _TEXT_TAG
            hint = "put the value in quotes, without the tag" if is_text else "remove the tag, or put it in quotes"
            strict_hint = "remove the tag, or put the value in quotes"
            message = f"the tag {quoted(tag)} is not allowed"
            self._report("yaml-tag", mark.line, mark.column, message, hint, strict_hint)

    def _refuse_anchor(self, mark: Mark) -> None:
        if self._strict:
            hint = "write the value itself, or put it in quotes"
            raise YamlSyntaxError("YAML anchors and aliases are not allowed", mark.line, mark.column, hint)

    def _add_alias(self, anchor: str | None, mark: Mark) -> None:
        self._refuse_anchor(mark)
        alias = quoted(f"*{anchor}")
        if anchor is None or anchor not in self._anchors:
            hint = "put the whole value in quotes"
            raise YamlSyntaxError(f"the alias {alias} has no anchor", mark.line, mark.column, hint)
        hint = f"write the value itself for {alias}"
        self._report("yaml-alias", mark.line, mark.column, f"the alias {alias} is not allowed", hint)
        index = self._anchor_problems.pop(anchor, None)
        if index is not None:  # the hint about the anchor says that its aliases need its value
            hint = f"write its value for each {alias}, and remove {quoted(f'&{anchor}')}"
            self.problems[index] = (*self.problems[index][:4], hint)
        self._alias_chars += len(self._anchors[anchor])
        text = self._anchors[anchor] if self._alias_chars <= _MAX_ALIAS_CHARS else ""
        self._add(("text", text, False, (), (), mark.line, mark.column))

    def _add_scalar(self, event: Any) -> None:
        mark = event.start_mark
        text = event.value.translate(self._placeholders) if self._placeholders else event.value
        if self._strict and not text.isascii() and re.search("[\ud800-\udfff]", text):
            message = "the front matter contains a lone surrogate"
            raise YamlSyntaxError(message, mark.line, mark.column, "remove the escape")
        if text and not self._open and not self._strict:
            message = "the front matter is text, not `key: value` lines"
            self._report(
                "yaml-not-mapping", mark.line, mark.column, message, "write `name:` and `description:` instead"
            )
        plain = event.tag in _SCALAR_TAGS or (event.style in (None, "") and event.tag != _TEXT_TAG)
        kind = scalar_kind(text) if plain else "text"
        self._add((kind, text, plain, (), (), mark.line, mark.column))

    def _add(self, node: _Raw) -> None:
        """Add a node to the innermost open collection."""
        if not self._open:
            self._top = node
            return
        parent = self._open[-1]
        if not parent.is_list and len(parent.nodes) % 2 == 0:
            self._check_key(node, parent.lines)
        parent.nodes.append(node)

    def _check_key(self, node: _Raw, lines: dict[str, int]) -> None:
        kind, text, _, _, _, line, column = node
        if kind in ("list", "map"):
            hint = "" if self._strict else "put the whole key in quotes"
            raise YamlSyntaxError("the front matter has a list or a map as a key", line, column, hint)
        if text in lines:
            # The last value counts, here and in most parsers, so the skill stays as it is without the other one.
            hint = f"remove the other one, in line {lines[text] + 2}"
            self._report(
                "yaml-duplicate-key", line, column, f"duplicate key {quoted(text)}", hint, "remove one of them"
            )
        lines[text] = line


# ── front matter ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Field(Frozen):
    """One top-level entry of the front matter."""

    value: Value
    kind: str
    """Its type in YAML 1.2: `text`, `null`, `bool`, `number`, `list` or `map`. A quoted scalar is `text`."""
    line: int
    """1-based, of the key, in the file."""
    column: int
    source: str = ""
    """The line of the file, without its newline."""
    kinds: tuple[str, ...] = ()
    """The types of the items of a list."""


class FrontmatterReader:
    """Parses front matter as often as repairs need it, up to a limit of YAML events in all."""

    def __init__(self, source: list[str]) -> None:
        self._source = source
        self._events_left = _MAX_TOTAL_EVENTS
        self._placeholders: Mapping[int, str] = {}

    def read(self, lines: list[str]) -> tuple[dict[str, Field], list[Problem]]:
        """Return the fields of lines of YAML, and the problems in them.

        Raises:
            YamlSyntaxError: the lines are not YAML, or the limit of events is reached.
        """
        front, placeholders = replace_line_breaks("\n".join(lines), self._placeholders)
        self._placeholders = placeholders or self._placeholders
        composer = _Composer(placeholders, strict=False)
        top = composer.compose(self._limit_events(yaml_events(front)))
        kind, _, _, items, keys, *_ = top or ("null", "", False, (), ())
        fields = {}
        for key, item in zip(keys, items, strict=True) if kind == "map" else ():
            _, name, _, _, _, line, column = key
            source = self._source[line] if line < len(self._source) else ""
            fields[name] = _field(item, line + 2, column + 1, source)
        return fields, composer.problems

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


def _field(node: _Raw, line: int, column: int, source: str) -> Field:
    kind, _, _, items, *_ = node
    kinds = tuple(item[0] for item in items) if kind == "list" else ()
    return Field(value=_value(node), kind=kind, line=line, column=column, source=source, kinds=kinds)


def _value(node: _Raw) -> Value:
    kind, text, _, items, keys, _, _ = node
    if kind == "map":
        return {key[1]: _value(item) for key, item in zip(keys, items, strict=True)}
    return tuple(map(_value, items)) if kind == "list" else text
