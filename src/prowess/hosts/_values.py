"""a field of the front matter -> what a client takes it for

Most clients are written in JavaScript, and what a value is worth there decides what becomes of a skill.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.skill import Field, Value

__all__ = ["value_kind", "value_matches", "javascript_string", "javascript_literal"]


def value_kind(value: Field | None) -> str:
    """Name what a field holds: `missing`, `null`, `empty`, `blank`, `text`, `number`, `bool`, `list` or `map`."""
    if value is None:
        return "missing"
    if value.kind == "text" and not str(value.value).strip():
        return "blank" if value.value else "empty"
    return value.kind


def javascript_string(value: Field) -> str:
    """Write a value as JavaScript's `String()` does, which is what most clients are written in."""
    if isinstance(value.value, tuple):
        return ",".join(_item_text(item) for item in value.value)
    return value.value if isinstance(value.value, str) else "[object Object]"


def _item_text(item: Value) -> str:
    if isinstance(item, tuple):
        return ",".join(_item_text(inner) for inner in item)
    return item if isinstance(item, str) else "[object Object]"


def javascript_literal(text: str) -> str:
    """Write a number or boolean of YAML 1.2 as JavaScript writes what it is worth: `1.50` is `1.5`."""
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
            # Of a large number JavaScript writes the digits that tell it apart, and zeros.
            digits = repr(size).split("e")[0].replace(".", "").ljust(len(digits), "0")
        return f"{'-' if number < 0 else ''}{digits}"
    return repr(number).replace("inf", "Infinity").replace("e-0", "e-")


_TRUTHY_WORDS = frozenset(("1", "true", "yes", "on"))


def value_matches(value: Field | None, wanted: str) -> bool:
    """Say whether a field has the value a flag asks for; see `host.Flag`."""
    if value is None:
        return False
    if wanted == "present":
        items = value.value if isinstance(value.value, tuple) else (value.value,)
        return any(bool(item) and str(item).strip() != "" for item in items)
    if wanted in ("truthy", "falsy"):
        return (str(value.value).strip().lower() in _TRUTHY_WORDS) is (wanted == "truthy")
    if wanted == "globs":
        items = value.value if isinstance(value.value, tuple) else (value.value,) if value.kind == "text" else ()
        globs = [item.strip().removesuffix("/**") for item in items if isinstance(item, str)]
        return any(glob not in ("", "**") for glob in globs)
    if wanted == "not-bool":
        return value.kind != "bool"
    if wanted == "not-map":
        return value.kind not in ("map", "null")
    if wanted == "not-list":
        return value.kind not in ("list", "null")
    if wanted == "not-text":
        return value.kind not in ("text", "null")
    if wanted == "not-texts":
        texts = isinstance(value.value, tuple) and all(isinstance(item, str) for item in value.value)
        return value.kind != "text" and not texts
    word = value.value if isinstance(value.value, str) else ""
    if value.kind == "bool":
        return word.lower() == wanted.lstrip("~")
    return wanted.startswith("~") and value.kind == "text" and word == wanted[1:]
