"""Recognise by its name what runs or is obeyed without anyone starting it: tools and scripts must not write it.

Names are compared as the most lenient file systems do (`plain_file_name`), and also in the short form of Windows.
"""

from __future__ import annotations

import re
from functools import lru_cache

from prowess._internal.file_names import is_bare_repository, plain_file_name, windows_file_names

from ._table import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


_SHORT = re.compile(r"([^~]{1,6})~[0-9]+(?:\.([^.]*))?")


def name_kind(name: str, parent: str = "") -> str | None:
    """Return the kind of a file or folder by its name.

    Args:
        name: one part of a path.
        parent: the part before it.
    """
    kind = next(filter(None, map(_name_kind, windows_file_names(name))), None)
    if kind is None and name.isascii() and "md" not in name.lower():
        return None
    if kind is None and plain_file_name(name).endswith(".md") and plain_file_name(parent) == "skills":
        return "skill"
    return kind


@lru_cache(10_000)
def _name_kind(name: str) -> str | None:
    plain = plain_file_name(name)
    for suffix, kind in _SUFFIXES.items():
        if plain.endswith(suffix):
            return kind
    for prefix, kind in _PREFIXES.items():
        if plain.startswith(prefix):
            return kind
    if match := _SHORT.fullmatch(plain):
        return _SHORT_NAMES.get((match[1], match[2] or ""))
    return _NAMES.get(plain)


def folder_kinds(names: Collection[str]) -> Iterator[str]:
    """Yield the kinds of a folder that contains files and folders with these names."""
    if is_bare_repository(names):
        yield "git"
    plain = {plain_file_name(name) for name in names}
    if "skill.md" in plain:
        yield "skill"
    if "pyvenv.cfg" in plain:
        yield "python"


def _short_name(name: str) -> tuple[str, str]:
    """Return the beginning and the extension of the short form that Windows gives a long name."""
    base, dot, extension = name.lstrip(".").rpartition(".")
    if not dot:
        base, extension = extension, ""
    base = re.sub(r"[^a-z0-9_$%'@!(){}^#&-]", "_", base.replace(".", "").replace(" ", ""))
    return base[:6], extension[:3]


_NAMES = {name.casefold(): kind for kind, entry in KINDS.items() for name in entry.names if "*" not in name}
_PREFIXES = {name[:-1].casefold(): kind for kind, entry in KINDS.items() for name in entry.names if name[-1] == "*"}
_SUFFIXES = {name[1:].casefold(): kind for kind, entry in KINDS.items() for name in entry.names if name[0] == "*"}
_SHORT_NAMES = {_short_name(name): kind for name, kind in {**_PREFIXES, **_NAMES}.items()}
