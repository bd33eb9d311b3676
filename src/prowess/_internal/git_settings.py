"""Read and write the settings of a git configuration, as `section.key`, without following anything."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(\s+"(?:[^"\\\n]|\\.)*")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*(=[ \t]*)?")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


def parse_settings(data: bytes) -> dict[str, str]:
    """Return the settings of a configuration as `section.key`, in lower case; the last value counts.

    Sections with a subsection, such as `[remote "origin"]`, are left out. An invalid file has no settings.
    """
    return {f"{section}.{key}": value for section, has_subsection, key, value in _parse(data) if not has_subsection}


def parse_includes(data: bytes) -> list[str]:
    """Return the paths of the files that a configuration includes, on any condition."""
    return [value for section, _, key, value in _parse(data) if section in ("include", "includeif") and key == "path"]


def _parse(data: bytes) -> list[tuple[str, bool, str, str]]:
    """Return each setting: its section, whether that has a subsection, its key and its value."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    settings: list[tuple[str, bool, str, str]] = []
    section, has_subsection, position = "", False, 0
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif text[position] in "#;":
            position = (text + "\n").index("\n", position)
        elif match := _SECTION.match(text, position):
            section, has_subsection, position = match[1].lower(), bool(match[2]), match.end()
        elif match := _KEY.match(text, position):
            value, position = _read_value(text, match.end()) if match[2] else ("true", match.end())
            if value is None:
                return []
            if section:
                settings.append((section, has_subsection, match[1].lower(), value))
        else:
            return []
    return settings


def _read_value(text: str, position: int) -> tuple[str | None, int]:
    """Return a value and the position after it; the value is `None` if it is invalid."""
    value, in_quotes, kept = "", False, 0
    while position < len(text) and (character := text[position]) != "\n":
        position += 1
        if character == "\\":
            following = text[position : position + 1]
            position += 1
            if following != "\n":
                if following not in _ESCAPES:
                    return None, position
                value += _ESCAPES[following]
                kept = len(value)
        elif character == '"':
            in_quotes = not in_quotes
            kept = len(value)
        elif character in "#;" and not in_quotes:
            position = (text + "\n").index("\n", position)
        else:
            value += character
            if in_quotes or not character.isspace():
                kept = len(value)
    return (None if in_quotes else value[:kept]), position


def write_settings(settings: Mapping[str, str]) -> str:
    """Return the text of a configuration with these settings, each `section.key` or `section.subsection.key`."""
    lines = []
    for name, value in settings.items():
        section, _, key = name.partition(".")
        subsection, _, key = key.rpartition(".")
        title = f'{section} "{subsection}"' if subsection else section
        # A control character cannot be written.
        text = "".join(character for character in value if character.isprintable())
        text = text.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'[{title}]\n\t{key} = "{text}"\n')
    return "".join(lines)
