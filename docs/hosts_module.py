# ruff: noqa: INP001 - a script, not a package
"""Write `src/prowess/hosts/_tables.py` from the host files; `make docs` runs it.

This script imports nothing of Prowess, so it works even if the module is missing or broken.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from pprint import pformat
from typing import Any

PACKAGE = Path(__file__).parent.parent / "src/prowess"
MODULE = PACKAGE / "hosts/_tables.py"
HEAD = '''\
"""The tables of all host files.

`make docs` writes this module from `hosts/*.toml`: change those files, never this one. To parse TOML takes longer than
to start Python.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["TABLES"]

TABLES: Mapping[str, Mapping[str, Any]] = (
'''


def tables() -> dict[str, Any]:
    """Return the tables of all host files by name, with tuples instead of lists."""
    files = sorted((PACKAGE / "hosts").glob("*.toml"))
    return {file.stem: _lists_to_tuples(tomllib.loads(file.read_text(encoding="utf-8"))) for file in files}


def _lists_to_tuples(value: Any) -> Any:
    """Return a value with tuples instead of lists, at every depth."""
    if isinstance(value, list):
        return tuple(map(_lists_to_tuples, value))
    return {key: _lists_to_tuples(item) for key, item in value.items()} if isinstance(value, dict) else value


def module() -> str:
    """Return the source of the module."""
    return f"{HEAD}{pformat(tables(), width=118, sort_dicts=False)}\n)\n"


if __name__ == "__main__":
    MODULE.write_text(module(), encoding="utf-8")
