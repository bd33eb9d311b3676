"""Resolve the paths of host files that a variable of the environment may move: `$VARIABLE/rest|usual`."""

from __future__ import annotations

import os

from .files import expand_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def moved_path(path: str, variables: Mapping[str, str]) -> str | None:
    """Return what `$VARIABLE/rest|usual` is where the variable has a value: `rest` below it; `None` elsewhere."""
    if not path.startswith("$"):
        return None
    variable, _, rest = path[1:].partition("|")[0].partition("/")
    value = variables.get(variable)
    return (os.path.join(value, rest) if rest else value) if value else None


def usual_path(path: str) -> str:
    """Return what `$VARIABLE/rest|usual` is where the variable has no value; empty if it is nothing then."""
    return path.partition("|")[2] if path.startswith("$") else path


def variable_path(path: str, variables: Mapping[str, str], home: str) -> str:
    """Return where a path of a host file is; empty if its variable has no value and it has no usual place.

    `~` in the value of a variable is no home: a shell would have replaced it.
    """
    return moved_path(path, variables) or expand_home(usual_path(path), home)
