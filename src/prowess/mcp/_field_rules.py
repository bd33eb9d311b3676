"""Check the fields of front matter that other clients check too: they refuse a whole list for one skill.

The rules are those of agentskills.io ("Frontmatter").
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

__all__ = ["FIELD_HINTS", "field_problems"]

_MAX_CHARACTERS = {"name": 64, "description": 1024, "compatibility": 500}
FIELD_HINTS: Mapping[str, str] = {
    "name": "write a text of at most 64 characters",
    "description": "write a text of 1 to 1,024 characters",
    "license": "write a text, or remove it",
    "compatibility": "write a text of 1 to 500 characters, or remove it",
    "metadata": 'write texts, as in `version: "1.0"`, since some clients fail on the whole list otherwise',
}
"""What to do about each field that breaks a rule."""


def field_problems(frontmatter: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each field that breaks a rule, with the reason.

    Args:
        frontmatter: with the types of JSON.
    """
    for field, most in _MAX_CHARACTERS.items():
        value = frontmatter.get(field)
        if field == "compatibility" and field not in frontmatter:
            continue
        if not isinstance(value, str):
            yield field, f"its `{field}` is not text"
        elif not value.strip():
            yield field, f"its `{field}` is empty"
        elif len(value) > most:
            yield field, f"its `{field}` has more than {most:,} characters"
    # Clients accept a license without a value, but none that is not text.
    if not isinstance(frontmatter.get("license"), str | None):
        yield "license", "its `license` is not text"
    metadata = frontmatter.get("metadata", {})
    if not isinstance(metadata, dict):
        yield "metadata", "its `metadata` is not a map"
    elif not all(isinstance(value, str) for value in metadata.values()):
        yield "metadata", "its `metadata` has a value that is not text"
