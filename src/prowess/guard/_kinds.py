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
    from collections.abc import Collection, Iterable, Iterator, Sequence


_SHORT = re.compile(r"([^~]{1,6})~[0-9]+(?:\.([^.]*))?")
_ODD = re.compile(r"[^ -}]|[:\\]|[. ]$")
"""What a name contains if some file system reads another name in it, besides capitals."""
_COMPILED = (".so", ".pyd")
BARE_NAMES = ("head", "commondir", "objects", "refs")
"""Names in a repository without a working tree."""


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


def suspect_names(names: Sequence[str]) -> set[str]:
    """Return those names of a folder that may have a kind, or decide about that of the folder; quickly.

    All others are ordinary: for twenty thousand names, `name_kind` takes ten times as long.
    """
    if not names:
        return set()
    text = "/".join(names)
    odd = set() if text.isascii() and text.isprintable() else {name for name in names if _ODD.search(name)}
    if not odd and _may_be_odd(text):
        odd = {name for name in names if _ODD.search(name)}
    return odd | {
        name
        for name, low in zip(names, text.lower().split("/"), strict=True)
        if low in _WATCHED or low[:_START] in _STARTS or low.rpartition(".")[2] in _EXTENSIONS
    }


def _may_be_odd(text: str) -> bool:
    return any(part in text for part in ("~", ":", "\\", "./", " /")) or text.endswith((".", " "))


def folder_kinds(names: Collection[str]) -> Iterator[str]:
    """Yield the kinds of a folder that contains files and folders with these names."""
    if is_bare_repository(names):
        yield "git"
    plain = {plain_file_name(name) for name in names}
    if "skill.md" in plain:
        yield "skill"
    if "pyvenv.cfg" in plain:
        yield "python"


def is_compiled_module(name: str, names: Iterable[str]) -> bool:
    """Return whether Python may import a file as it is, because there are modules beside it.

    Args:
        name: of the file.
        names: of everything in its folder.
    """
    return plain_file_name(name).endswith(_COMPILED) and any(plain_file_name(other).endswith(".py") for other in names)


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
_WATCHED = frozenset((*_NAMES, *BARE_NAMES))
_START = min(map(len, _PREFIXES))
_STARTS = frozenset(prefix[:_START] for prefix in _PREFIXES)
_EXTENSIONS = frozenset((*(suffix.rpartition(".")[2] for suffix in _SUFFIXES), "yaml", "yml", "so", "pyd"))
