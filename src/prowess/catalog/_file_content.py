"""Read what the bytes of a file mean: how much of a SKILL.md is needed, a skill, a typed YAML value."""

from __future__ import annotations

from prowess.skill import (
    MAX_FRONTMATTER_BYTES,
    Skill,
    from_document,
    frontmatter_end,
    parse_frontmatter,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["bytes_needed", "decode_text", "is_clean_text", "parse_skill", "typed_value"]


_WIDE_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
"""Byte order marks and their encodings; a longer one comes before one that it begins with."""


def parse_skill(data: bytes, path: str, complete: bool, body: bool) -> Skill:
    document = parse_frontmatter(data, path, complete=complete)
    if not body and document.frontmatter is not None and len(document.body) > MAX_FRONTMATTER_BYTES:
        # Hundreds of bodies of 1 MiB take too much memory; their findings are already known.
        # One character still shows that there are instructions.
        shown = document.body.lstrip()[:1]
        document = document.with_changes(text=document.text[: -len(document.body)] + shown, body=shown)
    return from_document(document, path)


def bytes_needed(data: bytes) -> int:
    """Return the number of bytes that hold the front matter; all bytes if the file does not start with one."""
    end = data.find(b"\n---\n", 3)
    if end > 0 and data.startswith(b"---"):
        return end
    return frontmatter_end(data) if data.startswith((b"---", b"\xef\xbb\xbf---")) else len(data)


def decode_text(data: bytes, *, by_mark: bool) -> str:
    """Return the text of a file without its byte order mark, which may say that it is UTF-16 or UTF-32."""
    mark = next((mark for mark in _WIDE_MARKS if data.startswith(mark)), b"") if by_mark else b""
    if mark:
        return data.decode(_WIDE_MARKS[mark], "replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def is_clean_text(data: bytes) -> bool:
    """Return whether a whole file is UTF-8 without a NUL, so that its body has no findings."""
    if b"\0" in data:
        return False
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def typed_value(data: bytes) -> Any:
    from prowess.skill import YamlSyntaxError, parse_yaml_node

    try:
        node = parse_yaml_node(data.decode("utf-8-sig"))
    except (ValueError, YamlSyntaxError):
        return None
    return None if node is None else node.plain_value()
