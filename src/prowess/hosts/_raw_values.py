"""Look up values of the host files without building a host, which takes longer to load."""

from __future__ import annotations

from ._tables import TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT_HOST = "prowess"


_NAMES = (DEFAULT_HOST, *(name for name in sorted(TABLES) if name != DEFAULT_HOST))


def host_names() -> tuple[str, ...]:
    """Return the names of all hosts: `prowess` first, the others in alphabetical order."""
    return _NAMES


def raw_value(name: str, key: str) -> Any:
    """Return one value of a host's file as it is written, or `None` if it is missing; the host is not built.

    Raises:
        KeyError: no host has that name.
    """
    return TABLES[name].get(key)
