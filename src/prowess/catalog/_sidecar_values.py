"""Compare what a file beside SKILL.md says with what a flag of a host asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.frozen import EMPTY
from prowess.clients.settings import find_wrong_type, get_dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.filesystem import Filesystem
    from prowess.hosts import Flag


def sidecar_matches(filesystem: Filesystem, path: str, flag: Flag, types: Mapping[str, str] = EMPTY) -> bool:
    """Return whether a file beside SKILL.md sets what a flag asks for.

    Args:
        filesystem: reads the file.
        path: of SKILL.md.
        flag: with the file, and what must be in it.
        types: as in `Host.sidecar_types`.
    """
    file = os.path.join(os.path.dirname(path), *flag.file.split("/"))
    table = filesystem.typed_yaml(file) if types else filesystem.yaml(file)
    if types and find_wrong_type(table, types):
        return False
    for key, wanted in flag.when.items():
        value = get_dotted(table, key)
        if wanted == "invalid":
            matches = filesystem.has_invalid_yaml(file)
        else:
            matches = value is not None and _value_matches(value, wanted)
        if not matches:
            return False
    return True


def _value_matches(value: object, wanted: str) -> bool:
    """Return whether a value is what a flag asks for; `Flag.when` lists the words."""
    text = value.strip().lower() if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else None
    if wanted == "not-true":
        return text not in ("true", "yes", "on")
    if wanted == "not:map null":
        return not isinstance(value, Mapping) and text not in ("", "null", "~")
    if wanted.startswith("keys:"):
        return isinstance(value, Mapping) and not set(value) <= set(wanted.removeprefix("keys:").split())
    if wanted.startswith("lacks:"):
        words = wanted.removeprefix("lacks:").split()
        return isinstance(value, list | tuple) and bool(value) and not any(word in value for word in words)
    return text == wanted
