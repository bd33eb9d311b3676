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
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    settings: dict[str, str] = {}
    section, position = "", 0
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif text[position] in "#;":
            position = (text + "\n").index("\n", position)
        elif match := _SECTION.match(text, position):
            section, position = "" if match[2] else match[1].lower(), match.end()
        elif match := _KEY.match(text, position):
            value, position = _read_value(text, match.end()) if match[2] else ("true", match.end())
            if value is None:
                return {}
            if section:
                settings[f"{section}.{match[1].lower()}"] = value
        else:
            return {}
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
