"""Replace `{env:NAME}` and `{file:PATH}` in the text of a settings file, as some clients do before they read it."""

from __future__ import annotations

import os
import re

from prowess._internal.files import UnreadableError, expand_home
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._filesystem import Filesystem

__all__ = ["substitute"]

_MAX_FILE_BYTES = 64 * 1024
_MAX_FILES = 100
_MAX_LENGTH = 16 * 1024 * 1024
"""Characters of a text with its variables."""
_VARIABLE = re.compile(r"\{env:([^}]+)\}")
_FILE = re.compile(r"\{file:([^}]+)\}")


def substitute(text: str, *, folder: str, home: str, env: Mapping[str, str], filesystem: Filesystem) -> str:
    """Return a text with the values of variables, and with files as the inside of a JSON text.

    Args:
        text: of a settings file. A file that is named on a line with a comment (`//`) is left alone.
        folder: to which a relative path belongs.
        home: the user's home.
        env: the environment; a variable that is missing is empty.
        filesystem: what was read so far.

    Raises:
        ValueError: a file cannot be read, or there are too many.
    """
    import json

    # Behind the last brace, a search for the next one from each start would take quadratic time.
    last = text.rfind("}") + 1
    size = len(text) + sum(len(env.get(match[1], "")) for match in _VARIABLE.finditer(text, 0, last))
    if size > _MAX_LENGTH:
        raise ValueError("it is too long with the values of its variables")
    text = _VARIABLE.sub(lambda match: env.get(match[1], ""), text[:last]) + text[last:]
    parts, end, count = [], 0, 0
    is_comment, line = False, 0
    for match in _FILE.finditer(text, 0, text.rfind("}") + 1):
        parts.append(text[end : match.start()])
        line = text.rfind("\n", end, match.start()) + 1 or line
        if line >= end:
            is_comment = text[line : match.start()].lstrip().startswith("//")
        end = match.end()
        if is_comment:
            parts.append(match[0])
            continue
        count += 1
        if count > _MAX_FILES or "\0" in match[1]:
            raise ValueError(f"it names more than {_MAX_FILES} files, or one that is no path")
        try:
            data = filesystem.data(os.path.join(folder, expand_home(match[1], home)), _MAX_FILE_BYTES)
        except UnreadableError:
            raise ValueError(f"the file {quoted(match[1], 60)} that it names cannot be read") from None
        parts.append(json.dumps(data.decode(errors="replace").strip(), ensure_ascii=False)[1:-1])
    return "".join([*parts, text[end:]])
