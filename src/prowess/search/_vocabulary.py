"""Read the words of messages from `vocabulary.txt`: which to leave out, which to count less, and which are related."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _read_sections() -> dict[str, str]:
    """Return the text of all sections of a name together; the package may be in an archive."""
    loader: Any = __spec__.loader
    text = loader.get_data(os.path.join(os.path.dirname(__file__), "vocabulary.txt")).decode()
    sections: dict[str, str] = {}
    for name, words in re.findall(r"(?m)^\[(.+)\].*\n((?:.+\n)+)", text):
        sections[name] = sections.get(name, "") + words
    return sections


_SECTIONS = _read_sections()
STOP_WORDS = frozenset(_SECTIONS["stop words"].split())
"""Words that are not searched beside others, in eleven languages."""
EVERYDAY_WORDS = frozenset(_SECTIONS["everyday words"].split())
"""Words of nearly every conversation in English."""
COMMON_WORDS = frozenset(_SECTIONS["common words"].split())
"""Words of many conversations in English."""
RELATED_WORDS = tuple(group.split() for group in _SECTIONS["related words"].split(";"))
"""Words that people use for the same thing; each of a group counts a little where another one is asked for."""
