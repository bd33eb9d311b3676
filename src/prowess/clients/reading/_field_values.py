"""Tell what a client takes a field of the front matter for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ._javascript import javascript_globs
from ._line_parsers import JAVASCRIPT_SPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.findings import Finding
    from prowess.skill import Document, Field, Skill

_NULLS = ("null", "Null", "NULL", "~", "")


def without_null_items(value: Field) -> Field:
    """Return a field without the nulls of a list: `null`, `~` and nothing."""
    if not isinstance(value.value, tuple) or not any(item in _NULLS for item in value.value):
        return value
    pairs = [(item, kind) for item, kind in zip(value.value, value.kinds, strict=True) if item not in _NULLS]
    return value.with_changes(value=tuple(item for item, _ in pairs), kinds=tuple(kind for _, kind in pairs))


def value_kind(value: Field | None, white_space: str = JAVASCRIPT_SPACE) -> str:
    """Name what a field holds: `missing`, `null`, `empty`, `blank`, `text`, `number`, `bool`, `list` or `map`.

    Args:
        value: the field.
        white_space: the characters that a `blank` text consists of.
    """
    if value is None:
        return "missing"
    if value.kind == "text" and not str(value.value).strip(white_space):
        return "blank" if value.value else "empty"
    return value.kind


_LAX_TRUE = frozenset(("1", "1.0", "on", "t", "true", "y", "yes"))
_LAX_FALSE = frozenset(("0", "0.0", "off", "f", "false", "n", "no"))
"""What pydantic takes for a boolean."""
_TRUTHY_WORDS = frozenset(("1", "true", "yes", "on"))


def field_or_entry(fields: Mapping[str, Field], key: str) -> Field | None:
    """Return a field, or for `FIELD.KEY` the entry of a field that is a table; `None` if it is missing."""
    name, dot, entry = key.partition(".")
    field = fields.get(name)
    if not dot or field is None:
        return field
    value = field.value.get(entry) if isinstance(field.value, Mapping) else None
    if value is None:
        return None
    kind = "map" if isinstance(value, Mapping) else "list" if isinstance(value, tuple) else "text"
    return field.with_changes(value=value, kind=kind, kinds=())


def value_matches(value: Field | None, wanted: str) -> bool:
    """Tell whether a field has the value that a flag requires; `Flag.when` lists the words for it."""
    if value is None or wanted == "absent":
        return wanted == "absent" and (value is None or value.kind == "null")
    if wanted == "present" and value.kind == "null":
        return False
    if wanted == "present":
        items = value.value if isinstance(value.value, tuple) else (value.value,)
        return any(bool(item) and str(item).strip() != "" for item in items)
    if wanted in ("truthy", "falsy"):
        return (str(value.value).strip().lower() in _TRUTHY_WORDS) is (wanted == "truthy")
    if wanted == "globs":
        globs = [glob.removesuffix("/**") for glob in javascript_globs(value)]
        return any(glob not in ("", "**") for glob in globs)
    word, colon, rest = wanted.partition(":")
    if colon:
        if word in ("is", "other"):
            return (value.kind == "text" and str(value.value).strip() in rest.split()) is (word == "is")
        if word == "found":
            items = value.value if isinstance(value.value, tuple) else (value.value,)
            return any(isinstance(item, str) and re.search(rest, item.strip(JAVASCRIPT_SPACE)) for item in items)
        return value_kind(value) not in rest.split()
    if wanted in ("lax-true", "not-lax-bool"):
        text = str(value.value).lower() if value.kind in ("bool", "text", "number") else ""
        return text in _LAX_TRUE if wanted == "lax-true" else text not in _LAX_TRUE | _LAX_FALSE
    if wanted == "not-texts":
        return value.kind != "text" and (value.kind != "list" or not set(value.kinds) <= {"text"})
    word = value.value if isinstance(value.value, str) else ""
    if value.kind == "bool":
        return word.lower() == wanted.lstrip("~")
    return wanted.startswith("~") and value.kind == "text" and word == wanted[1:]


# ── what single clients do ───────────────────────────────────────────────────────────────────────────────────────────


def fields_as_read(fields: Mapping[str, Field], document: Document | None, *, is_valid: bool) -> Mapping[str, Field]:
    """Return the fields of front matter as a client sees them.

    Args:
        fields: by their names.
        document: in which they are; `None` for plain ones, of which there may be more.
        is_valid: whether the client's YAML parser accepts the front matter.
    """
    return fields


def are_plain_keys(keys: frozenset[str]) -> bool:
    """Return whether the client sees fields with these names as they are."""
    return True


def kind_of_list(value: Field) -> str:
    """Return what a list counts as where text is expected, as `value_kind`."""
    return "list"


def rejects_finding(problem: Finding, skill: Skill) -> bool:
    """Return whether a finding rejects a skill, if its code does."""
    return True


def is_usable_body(text: str) -> bool:
    """Return whether a client loads a skill with this body."""
    return True


def refuses_file(text: str) -> bool:
    """Return whether a client rejects a loose Markdown file that it could read as a body."""
    return False
