"""Tell without parsing it that a skill which the fast path has read has no findings, whatever the host."""

from __future__ import annotations

import re

from prowess._internal.special_tokens import may_have_special_token
from prowess.skill import (
    DESCRIPTION_PLACEHOLDER,
    MAX_COMPATIBILITY,
    MAX_DESCRIPTION,
    RESERVED_WORDS,
    SPEC_FIELDS,
    YAML_LITERALS,
    fast_parse_table,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.skill import FastFrontmatter

_SIMPLE_FIELDS = frozenset(SPEC_FIELDS)
"""The fields that `has_simple_fields` checks."""
_PLAIN_TEXT = rb"[A-Za-z0-9][ !-;=?-Z\\-~]*\n"
"""One line of ASCII without the characters that may begin a special token or a tag."""
_TYPED = (
    rb"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)"
    rb"|\.(?:nan|NaN|NAN)|true|True|TRUE|false|False|FALSE|null|Null|NULL) *\n"
)
"""A value that is not text for YAML 1.2; the fast path has neither empty ones nor comments."""
_has_typed_value = re.compile(rb"\n  +[^\n:]+: +" + _TYPED).search
_is_simplest_frontmatter = re.compile(
    rb"---\nname: [a-z0-9-]*\ndescription: [ -;=?-Z\\-~]*\n(?:  [ -;=?-Z\\-~]*\n)*"
    rb"(?:license: %(text)s|metadata:\n(?:  [A-Za-z-]+: (?!%(typed)s)\"?%(text)s)+"
    rb"|compatibility: [A-Za-z][ !-;=?-Z\\-~]{0,400}\n"
    rb"|allowed-tools: (?=[A-Z])(?!True|False|Null|TRUE|FALSE|NULL)%(text)s)*"
    rb"---\n" % {b"text": _PLAIN_TEXT, b"typed": _TYPED}
).fullmatch
"""Whether the fast path's front matter has no findings but for lengths, the folder's name and reserved words.

It says so of most files, and several times as fast as `has_simple_fields`."""
_has_reserved_word = re.compile("|".join(RESERVED_WORDS)).search


def has_no_findings(fast_fields: FastFrontmatter, path: str) -> bool:
    """Return whether a skill of the fast path has no findings, whatever the host."""
    name, description, _, front = fast_fields
    # The newline of a block scalar counts too, though the fast path leaves it out.
    if (
        len(description) > MAX_DESCRIPTION - 2
        or not path.endswith(f"/{name}/SKILL.md")
        or _has_reserved_word(name) is not None
        or description.startswith(DESCRIPTION_PLACEHOLDER)
    ):
        return False
    return _is_simplest_frontmatter(front) is not None or (
        description.isascii()
        and description.replace("\n", "").isprintable()
        and "<" not in description
        and ">" not in description
        and has_simple_fields(front)
    )


def has_simple_fields(front: bytes) -> bool:
    """Return whether no field of a fast-path front matter has findings, name and description excepted."""
    table = fast_parse_table(front) or {"": ""}
    tools = table.get("allowed-tools", "Read")
    compatibility = table.get("compatibility", "any")
    return (
        _SIMPLE_FIELDS.issuperset(table)
        and table.get("license", "any") != ""
        and compatibility.strip() != ""
        and len(compatibility) <= MAX_COMPATIBILITY
        and tools[:1].isalpha()
        and tools.lower() not in YAML_LITERALS
        and ("metadata" not in table or (b"\nmetadata:\n  " in front and not _has_typed_value(front)))
        and b"\n  - " not in front
        and not may_have_special_token(front)
    )
