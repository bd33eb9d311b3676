# ruff: noqa: INP001 - a script, not a package
"""Write the modules `hosts/_tables.py` and `skill/_client_fields.py` from the host files, and `hosts/_key_docs.py`.

They are made when Prowess is installed or built (`hatch_build.py`), and before each task of the Makefile if a host file
or `hosts/_schema.py` is newer; git ignores them. This script imports nothing of Prowess, as that would need them.
"""

from __future__ import annotations

import ast
import os
import re
import tomllib
from inspect import cleandoc
from itertools import pairwise
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
DOCS_MODULE, SCHEMA = PACKAGE / "hosts/_key_docs.py", PACKAGE / "hosts/_schema.py"
DOCS_HEAD = '''\
"""What each key of a host file means.

`tools/host_tables.py` writes this module from the text below each field of `_schema.py`: change that, never this one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KEY_DOCS: Mapping[str, Mapping[str, tuple[str, object, Mapping[str, str]]]] = (
'''
DOCS_TAIL = '''\
)
"""Class of the schema and field to what the key means, its default (`None` if it is needed), and words for values."""
'''
MADE = (FIELDS_MODULE, DOCS_MODULE, MODULE)
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
    return [key for key, wanted in when.items() if not wanted.startswith(("not-", "not:")) and "." not in key]


def fields_module() -> str:
    """Return the source of the module with the fields."""
    return f"{FIELDS_HEAD}{pformat(client_fields(), width=118)}\n{FIELDS_TAIL}"


def key_docs() -> dict[str, dict[str, tuple[str, Any, dict[str, str]]]]:
    """Return the fields of each class of the schema, with their documentation, default and words for values."""
    tree = ast.parse(SCHEMA.read_text(encoding="utf-8"))
    return {
        cls.name: {
            node.target.id: _key_doc(node, after)
            for node, after in pairwise([*cls.body, ast.Pass()])
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        for cls in tree.body
        if isinstance(cls, ast.ClassDef)
    }


def _key_doc(node: ast.AnnAssign, after: ast.stmt) -> tuple[str, Any, dict[str, str]]:
    doc = ast.literal_eval(after.value) if isinstance(after, ast.Expr) else ""
    text, *items = (" ".join(part.split()) for part in re.split(r"\n- ", cleandoc(doc)))
    pairs = (item.partition(": ") if item[0] != "`" else item[1:].partition("`") for item in items)
    words = {value: after.removeprefix(": ") for value, _, after in pairs}
    is_table = isinstance(node.value, ast.Name | ast.Call)
    return text, {} if is_table else node.value and ast.literal_eval(node.value), words


def docs_module() -> str:
    """Return the source of the module with the documentation of keys."""
    return f"{DOCS_HEAD}{pformat(key_docs(), width=118, sort_dicts=False)}\n{DOCS_TAIL}"


def write_modules() -> tuple[Path, ...]:
    """Write the modules and return their paths; no reader ever sees a part of one."""
    for path, text in zip(MADE, (fields_module(), docs_module(), module()), strict=True):
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    return MADE


def are_current() -> bool:
    """Return whether the modules are at least as new as all files that they are made of."""
    sources = (Path(__file__), SCHEMA, *(PACKAGE / "hosts").glob("*.toml"))
    newest = max(path.stat().st_mtime_ns for path in sources)
    return all(path.exists() and path.stat().st_mtime_ns >= newest for path in MADE)


if __name__ == "__main__":
    write_modules()
