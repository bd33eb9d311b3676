"""Parse the YAML of a front matter into fields.

Every scalar is the text its author typed. YAML features that a skill must not use are problems. `_yaml_nodes` parses
whole files; no other module knows YAML.
"""

from __future__ import annotations

import re

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
_TEXT_TAG = "tag:yaml.org,2002:str"
_SCALAR_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "null"))
_SEPARATE_FILE_HINT = "keep data in a file beside SKILL.md"


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


def yaml_events(text: str) -> Iterator[Any]:
    """Yield the events of a YAML text.

    Raises:
        YamlSyntaxError: the text is not valid YAML.
    """
    import yaml

    # PyYAML's C parser, if it was built, yields the same events about fifteen times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.parse(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
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
        composer = _FieldComposer(self._source, placeholders)
        composer.compose(self._limit_events(yaml_events(front)))
        return composer.fields, composer.problems

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
    """A list or map whose end is not read yet."""

    __slots__ = ("column", "items", "key", "kinds", "line", "lines", "start")

    def __init__(self, items: Any, start: Mark) -> None:
        self.items = items
        self.start = start
        self.key: str | None = None
        """The key whose value comes next."""
        self.line = self.column = 0
        self.lines: dict[str, int] = {}
        """0-based line of each key."""
        self.kinds: list[str] = []
        """The types of the items of a list."""


class _FieldComposer:
    """Builds the fields from YAML events, and records each feature that a skill must not use."""

    def __init__(self, source: list[str], placeholders: Mapping[int, str]) -> None:
        self.fields: dict[str, Field] = {}
        self.problems: list[Problem] = []
        self._source = source
        self._placeholders = placeholders
        self._anchors: dict[str, str] = {}
        self._anchor_problems: dict[str, int] = {}
        self._open: list[_OpenCollection] = []
        self._alias_chars = 0

    def compose(self, events: Iterator[Any]) -> None:
        """Build the fields.

        Raises:
            YamlSyntaxError: the events are not those of one document, a key is a list or a map, or an alias has no
                anchor.
        """
        import yaml

        documents = 0
        for number, event in enumerate(events, 1):
            mark = event.start_mark
            if number > MAX_EVENTS:
                message = f"the front matter has more than {MAX_EVENTS:,} YAML events"
                self._report("yaml-too-long", mark, message, _SEPARATE_FILE_HINT)
                return
            if isinstance(event, yaml.AliasEvent):
                self._add_alias(event.anchor, mark)
                continue
            self._check_anchor_and_tag(event)
            if isinstance(event, yaml.ScalarEvent):
                self._add_scalar(event)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                if len(self._open) >= MAX_DEPTH:
                    message = f"the front matter nests more than {MAX_DEPTH} levels"
                    self._report("yaml-too-deep", mark, message, _SEPARATE_FILE_HINT)
                    return
                self._open_collection(mark, is_list=isinstance(event, yaml.SequenceStartEvent))
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                self._close_collection()
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1 or event.explicit:
                    message = "the front matter has more than one YAML document"
                    raise YamlSyntaxError(message, mark.line, mark.column, "remove this line")

    def _report(self, code: str, mark: Mark, message: str, hint: str) -> None:
        self.problems.append((code, mark.line, mark.column, message, hint))

    def _add_alias(self, anchor: str | None, mark: Mark) -> None:
        alias = quoted(f"*{anchor}")
        if anchor is None or anchor not in self._anchors:
            hint = "put the whole value in quotes"
            raise YamlSyntaxError(f"the alias {alias} has no anchor", mark.line, mark.column, hint)
        self._report("yaml-alias", mark, f"the alias {alias} is not allowed", f"write the value itself for {alias}")
        self._change_anchor_hint(anchor, alias)
        self._alias_chars += len(self._anchors[anchor])
        self._add(self._anchors[anchor] if self._alias_chars <= _MAX_ALIAS_CHARS else "", "text", mark)

    def _change_anchor_hint(self, anchor: str, alias: str) -> None:
        """Let the hint about an anchor say that its aliases need its value."""
        index = self._anchor_problems.pop(anchor, None)
        if index is not None:
            hint = f"write its value for each {alias}, and remove {quoted(f'&{anchor}')}"
            self.problems[index] = (*self.problems[index][:4], hint)

    def _check_anchor_and_tag(self, event: Any) -> None:
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            # An alias of a list or a map is empty: nested aliases could fill any memory.
            self._anchors[anchor] = getattr(event, "value", "")
            label = quoted(f"&{anchor}")
            hint = f"put the value in quotes, or remove {label}"
            self._anchor_problems[anchor] = len(self.problems)
            self._report("yaml-anchor", event.start_mark, f"the anchor {label} is not allowed", hint)
        tag = getattr(event, "tag", None)
        if tag is not None:
            is_text = tag == _TEXT_TAG
            hint = "put the value in quotes, without the tag" if is_text else "remove the tag, or put it in quotes"
            self._report("yaml-tag", event.start_mark, f"the tag {quoted(tag)} is not allowed", hint)

    def _add_scalar(self, event: Any) -> None:
        value = event.value.translate(self._placeholders) if self._placeholders else event.value
        is_plain = event.tag in _SCALAR_TAGS or (event.style in (None, "") and event.tag != _TEXT_TAG)
        if self._open:
            self._add(value, scalar_kind(value) if is_plain else "text", event.start_mark)
        elif value:
            message = "the front matter is text, not `key: value` lines"
            self._report("yaml-not-mapping", event.start_mark, message, "write `name:` and `description:` instead")

    def _open_collection(self, mark: Mark, *, is_list: bool) -> None:
        if is_list and not self._open:
            message = "the front matter is a list, not `key: value` lines"
            self._report(
                "yaml-not-mapping", mark, message, "remove the dashes, and write each field on a line of its own"
            )
        items: Any = [] if is_list else {} if self._open else self.fields
        self._open.append(_OpenCollection(items, mark))

    def _close_collection(self) -> None:
        closed = self._open.pop()
        if not self._open:
            return
        if isinstance(closed.items, list):
            self._add(tuple(closed.items), "list", closed.start, tuple(closed.kinds))
        else:
            self._add(closed.items, "map", closed.start)

    def _add(self, value: Value, kind: str, mark: Mark, kinds: tuple[str, ...] = ()) -> None:
        """Add a node to the innermost open collection: as a list's item, as a key, or as a key's value."""
        parent = self._open[-1]
        if isinstance(parent.items, list):
            parent.items.append(value)
            parent.kinds.append(kind)
        elif parent.key is None:
            if not isinstance(value, str):
                hint = "put the whole key in quotes"
                raise YamlSyntaxError("the front matter has a list or a map as a key", mark.line, mark.column, hint)
            if value in parent.items:
                # The last value counts, here and in most parsers, so the skill stays as it is without the other one.
                hint = f"remove the other one, in line {parent.lines[value] + 2}"
                self._report("yaml-duplicate-key", mark, f"duplicate key {quoted(value)}", hint)
            parent.lines[value] = mark.line
            parent.key, parent.line, parent.column = value, mark.line, mark.column
        else:
            if parent.items is self.fields:
                source = self._source[parent.line] if parent.line < len(self._source) else ""
                self.fields[parent.key] = Field(
                    value=value, kind=kind, line=parent.line + 2, column=parent.column + 1, source=source, kinds=kinds
                )
            else:
                parent.items[parent.key] = value
            parent.key = None
