"""Write values of YAML as JavaScript's `String()` does, for clients that do not check the type of a field."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.skill import Field, Value


def javascript_string(value: Field) -> str:
    """Return a value as JavaScript's `String()` writes it."""
    if isinstance(value.value, str):
        return value.value
    return _javascript_text(value.value, plain="'" not in value.source and '"' not in value.source)


_JAVASCRIPT_LITERAL = re.compile(
    r"(?i:true|false|[-+]?\.inf|\.nan)|0x[0-9a-fA-F]+|0o[0-7]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
)


def _javascript_text(value: Value, *, plain: bool) -> str:
    """Return a value in a list.

    Args:
        value: the item, or the whole list.
        plain: whether no text in the list is quoted, so that a number is one.
    """
    if isinstance(value, tuple):
        return ",".join(_javascript_text(item, plain=plain) for item in value)
    if not isinstance(value, str):
        return "[object Object]"
    if plain and _JAVASCRIPT_LITERAL.fullmatch(value):
        return javascript_literal(value)
    return "" if plain and value.lower() in ("null", "~") else value


def javascript_globs(value: Field) -> list[str]:
    """Return the patterns of a field: of texts in nested lists, each cut at the commas that are outside braces."""
    if isinstance(value.value, str) and value.kind != "text":
        return []
    plain = "'" not in value.source and '"' not in value.source
    return [
        part.strip()
        for text in _texts(value.value, plain=plain and not isinstance(value.value, str))
        for part in re.findall(r"(?:\{[^{}]*\}?|[^,{])+", text)
        if part.strip()
    ]


def _texts(value: Value, *, plain: bool) -> Iterator[str]:
    if isinstance(value, tuple):
        for item in value:
            yield from _texts(item, plain=plain)
    elif isinstance(value, str) and not (
        plain and (_JAVASCRIPT_LITERAL.fullmatch(value) or value.lower() in ("", "null", "~"))
    ):
        yield value


def javascript_literal(text: str) -> str:
    """Return a number or boolean of YAML 1.2 as JavaScript writes its value: `1.50` is `1.5`."""
    word = text.lower()
    if word in ("true", "false"):
        return word
    if word.lstrip("+-") in (".inf", ".nan"):
        return "NaN" if word == ".nan" else "-Infinity" if word[0] == "-" else "Infinity"
    try:
        number = float(int(text, 0)) if word.startswith(("0x", "0o")) else float(text)
    except OverflowError:
        return "Infinity"
    size = abs(number)
    if size < 1e21 and size == int(size):
        digits = str(int(size))
        if size >= 1e16:
            # JavaScript writes only as many digits of a large number as identify it, then zeros.
            digits = repr(size).split("e")[0].replace(".", "").ljust(len(digits), "0")
        return f"{'-' if number < 0 else ''}{digits}"
    return repr(number).replace("inf", "Infinity").replace("e-0", "e-")
