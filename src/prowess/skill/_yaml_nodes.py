"""Parse a whole YAML file into nodes with positions.

For the files that people write for Prowess: test cases, roles, scripts of models. Anchors, aliases, tags, duplicate
keys and keys that are not text are errors, as in a front matter.
"""

from __future__ import annotations

import re

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted

from ._yaml import MAX_DEPTH, MAX_EVENTS, YamlSyntaxError, replace_line_breaks, scalar_kind, yaml_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._yaml import Mark


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
    import yaml

    documents = 0
    open_collections: list[tuple[Any, list[Node]]] = []
    top: Node | None = None
    text, placeholders = replace_line_breaks(text)
    for number, event in enumerate(yaml_events(text), 1):
        mark = event.start_mark
        if number > max_events:
            raise _syntax_error(f"the front matter has more than {max_events:,} YAML events", mark, "split the file")
        _check_allowed(event)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _syntax_error("the front matter has more than one YAML document", mark, "write a file for each")
            continue
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(open_collections) >= MAX_DEPTH:
                message = f"the front matter nests more than {MAX_DEPTH} levels"
                raise _syntax_error(message, mark, "use fewer levels")
            open_collections.append((event, []))
            continue
        if isinstance(event, yaml.ScalarEvent):
            node = _scalar_node(event, placeholders)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            node = _collection_node(*open_collections.pop())
        else:
            continue
        if open_collections:
            open_collections[-1][1].append(node)
        else:
            top = node
    return None if top is None or (top.kind == "null" and not top.text) else top


def _syntax_error(message: str, mark: Mark, hint: str = "") -> YamlSyntaxError:
    return YamlSyntaxError(message, mark.line, mark.column, hint)


def _check_allowed(event: Any) -> None:
    if getattr(event, "anchor", None) is not None:
        hint = "write the value itself, or put it in quotes"
        raise _syntax_error("YAML anchors and aliases are not allowed", event.start_mark, hint)
    if getattr(event, "tag", None) is not None:
        hint = "remove the tag, or put the value in quotes"
        raise _syntax_error(f"the tag {quoted(event.tag)} is not allowed", event.start_mark, hint)


def _scalar_node(event: Any, placeholders: Mapping[int, str]) -> Node:
    mark = event.start_mark
    plain = event.style in (None, "")
    text = event.value.translate(placeholders) if placeholders else event.value
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise _syntax_error("the front matter contains a lone surrogate", mark, "remove the escape")
    kind = scalar_kind(text) if plain else "text"
    return Node(kind=kind, text=text, plain=plain, line=mark.line + 1, column=mark.column + 1)


def _collection_node(start: Any, nodes: list[Node]) -> Node:
    """Return a list or a map of the nodes in it.

    Raises:
        YamlSyntaxError: a key is repeated, or is not text.
    """
    import yaml

    line, column = start.start_mark.line + 1, start.start_mark.column + 1
    if isinstance(start, yaml.SequenceStartEvent):
        return Node(kind="list", items=tuple(nodes), line=line, column=column)
    seen: set[str] = set()
    for key in nodes[::2]:
        position = (key.line or 1) - 1, (key.column or 1) - 1
        if key.kind in ("list", "map"):
            raise YamlSyntaxError("the front matter has a list or a map as a key", *position)
        if key.text in seen:
            raise YamlSyntaxError(f"duplicate key {quoted(key.text)}", *position, "remove one of them")
        seen.add(key.text)
    return Node(kind="map", keys=tuple(nodes[::2]), items=tuple(nodes[1::2]), line=line, column=column)
