"""Write a skill as the text of its SKILL.md.

`parse(render(skill)) == skill`, whatever characters its fields contain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ._skill import FALSE_WORDS, TRUE_WORDS, split_tools
from ._yaml import Value, scalar_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._skill import Skill


def render(skill: Skill) -> str:
    """Return the text of a SKILL.md: the fields of the specification first, then the other fields in order."""
    values: dict[str, Value | bool] = {}

    def put(key: str, value: Value | bool | None) -> None:
        if value is not None and value != () and value != {}:
            values[key] = value

    put("name", skill.name)
    put("description", skill.description)
    put("license", skill.license)
    put("compatibility", skill.compatibility)
    required = {key: names for key in ("env", "bins", "packages") if (names := getattr(skill.requirements, key))}
    if "packages" in required and skill.compatibility is None and "compatibility" not in skill.extra:
        put("compatibility", {"requires": required.pop("packages")})  # the form of UAAPS, which others read too
    put("metadata", skill.metadata)
    line = " ".join(skill.allowed_tools)
    fits_on_line = line and tuple(split_tools(line)) == skill.allowed_tools
    put("allowed-tools", line if fits_on_line else skill.allowed_tools)
    put("disable-model-invocation", True if skill.disable_model_invocation else None)
    put("user-invocable", None if skill.user_invocable else False)
    for key in ("context", "agent", "model"):
        put(key, getattr(skill, key))
    put("argument-hint", skill.argument_hint)
    put("paths", skill.paths)
    if skill.tools != "":
        put("tools", skill.tools)
    else:
        values["tools"] = ""
    put("requires", required)
    values.update(skill.extra)
    lines = ["---"]
    for key, item in values.items():
        lines += _render_entry(key, item, 0)
    return "\n".join([*lines, "---", skill.body])


# It does not begin with a digit: `1:30`, `1_000` and `2026-11-01` are not text in YAML 1.1.
_PLAIN_SCALAR = r"[A-Za-z_/](?:[A-Za-z0-9_/.,()+;!?'\"%&*@~^=<>-]|:(?=[^ ])|(?<! ) (?=[^ #]))*"
_YAML_BOOLEANS = TRUE_WORDS | FALSE_WORDS | {"y", "n"}
"""Words that some YAML parsers read as true or false."""
_MAX_IMPLICIT_KEY = 128
"""Characters; a YAML key may take 1,024 bytes of its line, and an escaped character takes up to ten."""


def _render_entry(key: str, value: Value | bool, depth: int) -> Iterator[str]:
    name = scalar_line(key)
    if len(name) > _MAX_IMPLICIT_KEY:
        yield f"{'  ' * depth}? {name}"
        name = ""
    start = f"{'  ' * depth}{name}:"
    if isinstance(value, bool):
        yield f"{start} {'true' if value else 'false'}"
    elif isinstance(value, str):
        yield f"{start} {scalar_line(value)}"
    elif not value:
        yield f"{start} {'{}' if isinstance(value, Mapping) else '[]'}"
    else:
        yield start
        yield from _render_items(value, depth + 1)


def _render_items(value: Value, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _render_entry(key, item, depth)
        return
    for item in value:
        dash = f"{'  ' * depth}-"
        if isinstance(item, str):
            yield f"{dash} {scalar_line(item)}"
        elif not item:
            yield f"{dash} {'{}' if isinstance(item, Mapping) else '[]'}"
        else:
            # Indented two columns more than the dash, with the first line next to it.
            first, *rest = _render_items(item, depth + 1)
            yield f"{dash} {first.lstrip(' ')}"
            yield from rest


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_MUST_ESCAPE = (
    '[\\\\"\x00-\x1f\x7f-\x9f\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f'
    "\ud800-\udfff\ufeff\ufffe\uffff\U000e0000-\U000e0fff]"
)


def scalar_line(text: str) -> str:
    """Return text as a scalar that every YAML parser reads as the same text."""
    if (
        re.fullmatch(_PLAIN_SCALAR, text)
        and not text.endswith(":")
        and scalar_kind(text) == "text"
        and text.lower() not in _YAML_BOOLEANS
    ):
        return text

    def escape(match: re.Match[str]) -> str:
        number = ord(match[0])
        if match[0] in _ESCAPES:
            return _ESCAPES[match[0]]
        if number > 0xFFFF:
            return f"\\U{number:08X}"
        return f"\\x{number:02X}" if number < 0x100 else f"\\u{number:04X}"

    return '"' + re.sub(_MUST_ESCAPE, escape, text) + '"'
