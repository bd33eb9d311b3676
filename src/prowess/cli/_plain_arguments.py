"""Parse plain arguments of the most frequent commands, without `argparse`.

To load `argparse` and to make a parser takes as long as the commands themselves. What is not plain here (an option
that is unknown, abbreviated, repeated, written with `=` or without its value) is left to the command's parser, which
reports the errors; a test compares both.
"""

from __future__ import annotations

import sys

from ._color import choose_color

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import SimpleNamespace
    from typing import Any

__all__ = ["PLAIN_COMMANDS", "parse_plain_arguments"]

_VALUES = {"--host": "host", "--cwd": "cwd", "--home": "home", "--budget": "budget", "--arguments": "arguments"}
_FLAGS = {"--json": "json", "--no-cache": "no_cache", "--all": "all"}
_DISCOVERY: Mapping[str, Any] = {
    **dict.fromkeys(("host", "cwd", "home", "role")),
    **dict.fromkeys(("no_cache", "json"), False),
}
PLAIN_COMMANDS: Mapping[str, Mapping[str, Any]] = {
    "activate": {**_DISCOVERY, "name": None, "arguments": None},
    "list": {**_DISCOVERY, "all": False, "rows": False, "digest": False, "servers": False},
    "prompt": {**_DISCOVERY, "format": None, "budget": None, "query": None, "level": ()},
    "why": {**_DISCOVERY, "name": None, "all": False},
}
"""The commands, each with its arguments and their values if they are not given."""
_Arguments: Any = type(sys.implementation)  # `SimpleNamespace`, without loading `types`
_SEVERAL_HOSTS = ("list", "why")


def parse_plain_arguments(command: str, arguments: Sequence[str]) -> SimpleNamespace | None:
    """Return the arguments as the command's parser does; `None` if they are not plain.

    Args:
        command: its name.
        arguments: what follows it.
    """
    defaults = PLAIN_COMMANDS.get(command)
    if defaults is None:
        return None
    found: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        key = _FLAGS.get(argument) or _VALUES.get(argument) or "name"
        value = next(rest, "-") if argument in _VALUES else argument
        if key not in defaults or key in found or (argument not in _FLAGS and value[:1] in ("", "-")):
            return None
        found[key] = value if argument not in _FLAGS else True
    if "name" in defaults and "name" not in found:
        return None
    if command in _SEVERAL_HOSTS and "host" in found:
        found["host"] = [found["host"]]
    choose_color("auto")
    lists: dict[str, list[str]] = {key: [] for key, value in defaults.items() if value == ()}
    result: SimpleNamespace = _Arguments(**{**defaults, **lists, "skill_dir": [], "client_arg": [], **found})
    return result
