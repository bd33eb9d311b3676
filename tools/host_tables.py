# ruff: noqa: INP001 - a script, not a package
"""Write the modules `hosts/_tables.py` and `skill/_client_fields.py` from the host files.

Both are made when Prowess is installed or built (`hatch_build.py`), and before each task of the Makefile if a host file
is newer; git ignores them. This script imports nothing of Prowess, as that would need them.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from pprint import pformat
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent / "src/prowess"
MODULE = PACKAGE / "hosts/_tables.py"
HEAD = '''\
"""The tables of all host files.

`tools/host_tables.py` writes this module from `hosts/*.toml`: change those files, never this one. To parse TOML takes
longer than to start Python.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TABLES: Mapping[str, Mapping[str, Any]] = (
'''

FIELDS_MODULE = PACKAGE / "skill/_client_fields.py"
FIELDS_HEAD = '''\
"""The fields of single clients, and the agents that honour them.

`tools/host_tables.py` writes this module from `hosts/*.toml`: change those files, never this one. It is in this package
because a rule about a field must not load any host.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = (
'''
FIELDS_TAIL = '''\
)
"""Field to the agents that were seen to honour it, and those that only document it."""
'''
SPEC_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")


def tables() -> dict[str, Any]:
    """Return the tables of all host files by name, with tuples instead of lists."""
    files = sorted((PACKAGE / "hosts").glob("*.toml"))
    return {file.stem: lists_to_tuples(tomllib.loads(file.read_text(encoding="utf-8"))) for file in files}


def lists_to_tuples(value: Any) -> Any:
    """Return a value with tuples instead of lists, at every depth."""
    if isinstance(value, list):
        return tuple(map(lists_to_tuples, value))
    return {key: lists_to_tuples(item) for key, item in value.items()} if isinstance(value, dict) else value


def module() -> str:
    """Return the source of the module with the tables."""
    return f"{HEAD}{pformat(tables(), width=118, sort_dicts=False)}\n)\n"


def client_fields() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return each field that an agent honours: the agents that were seen to do so, and those that only document it.

    A field is in the table `[fields]` of the agent's file, or used by its flags or for its descriptions.
    """
    observed: dict[str, set[str]] = {}
    documented: dict[str, set[str]] = {}
    for name, table in tables().items():
        fields = table.get("fields", {})
        is_tried = "observed" in table or name == "prowess"  # whose own tests try it
        used = [key for flag in table.get("flags", ()) if "file" not in flag for key in _honoured_keys(flag["when"])]
        used += [key for key in table.get("description_rules", {}).get("append", ()) if key != "scope"]
        own = fields.get("documented", ()) if name == "prowess" else ()
        for key in (*fields.get("observed", ()), *own, *(used if is_tried else ())):
            observed.setdefault(key, set()).add(name)
        for key in (*fields.get("documented", ()), *(() if is_tried else used)):
            documented.setdefault(key, set()).add(name)
    return {
        key: (tuple(sorted(seen := observed.get(key, set()))), tuple(sorted(documented.get(key, set()) - seen)))
        for key in sorted(observed.keys() | documented.keys())
        if key not in SPEC_FIELDS
    }


def _honoured_keys(when: dict[str, str]) -> list[str]:
    """Return the fields whose value counts; a field whose type only must be right may have no effect."""
    return [key for key, wanted in when.items() if not wanted.startswith("not-") and "." not in key]


def fields_module() -> str:
    """Return the source of the module with the fields."""
    return f"{FIELDS_HEAD}{pformat(client_fields(), width=118)}\n{FIELDS_TAIL}"


def write_modules() -> tuple[Path, Path]:
    """Write both modules and return their paths; no reader ever sees a part of one."""
    for path, text in ((FIELDS_MODULE, fields_module()), (MODULE, module())):
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    return MODULE, FIELDS_MODULE


def are_current() -> bool:
    """Return whether both modules are at least as new as all files that they are made of."""
    sources = (Path(__file__), *(PACKAGE / "hosts").glob("*.toml"))
    newest = max(path.stat().st_mtime_ns for path in sources)
    return all(path.exists() and path.stat().st_mtime_ns >= newest for path in (MODULE, FIELDS_MODULE))


if __name__ == "__main__":
    write_modules()
