"""Match names with patterns of a settings file: `*` is any text, `?` one character."""

from __future__ import annotations

import re
from fnmatch import translate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def name_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test of names for a pattern: `*` is any text, `?` one character, and ` *` at its end is optional."""
    pattern = pattern.replace("\\", "/")
    patterns = [pattern, pattern[:-2]] if pattern.endswith(" *") else [pattern]
    regexes = [re.compile(translate(item.replace("[", "[[]"))) for item in patterns]
    return lambda name: any(regex.match(name.replace("\\", "/")) for regex in regexes)
