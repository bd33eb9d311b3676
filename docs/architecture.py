# ruff: noqa: INP001 - a script, not a package
"""Generate the picture of the rooms, the list of modules and the table of findings in `architecture.md`.

`docs/generate.py` runs it. A room is a package or a single module directly in `src/prowess`.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import grimp

from prowess.findings import CODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SOURCE = Path(__file__).parent.parent / "src/prowess"
LAYERS = Path(__file__).parent.parent / ".importlinter"


def rooms() -> list[str]:
    """Return the rooms from top to bottom, as the layers of `.importlinter` list them."""
    lines = LAYERS.read_text(encoding="utf-8").split("layers =\n")[1].split("\n\n")[0].splitlines()
    return [room.strip() for line in lines for room in line.split("|")]


def room_imports() -> dict[str, set[str]]:
    """Return the rooms that each room imports, imports for type checkers included."""
    graph = grimp.build_graph("prowess", exclude_type_checking_imports=False, cache_dir=None)
    imports: dict[str, set[str]] = {room: set() for room in rooms()}
    for module in graph.modules - {"prowess"}:
        room = module.split(".")[1]
        for imported in graph.find_modules_directly_imported_by(module) - {"prowess"}:
            imports[room].add(imported.split(".")[1])
    return {room: imported - {room} for room, imported in imports.items()}


def essential_imports(imports: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the imports that no chain of other imports implies, so that the picture stays readable."""

    def reachable(room: str) -> set[str]:
        return imports[room].union(*(reachable(imported) for imported in imports[room]))

    return {
        room: imported - set().union(*(reachable(other) for other in imported)) for room, imported in imports.items()
    }


def picture() -> str:
    """Return the rooms and their imports as a Mermaid diagram."""
    imports = essential_imports(room_imports())
    lines = []
    for room in rooms():
        arrows = " & ".join(_node(imported) for imported in rooms() if imported in imports[room])
        lines.append(f'    {_node(room)}["{_file_name(room)}"]{f" --> {arrows}" if arrows else ""}')
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```", ""])


def _node(room: str) -> str:
    return f"room_{room.strip('_')}"  # not the bare name: it may be a keyword of Mermaid


def _file_name(room: str) -> str:
    return f"{room}/" if (SOURCE / room).is_dir() else f"{room}.py"


def module_list() -> str:
    """Return every module below its room, with its purpose and its public names."""
    imports = room_imports()
    lines = [_module_line(SOURCE / "__init__.py")]
    lines += [_module_line(SOURCE / f"{room}.py") for room in rooms() if not (SOURCE / room).is_dir()]
    for room in rooms():
        if (SOURCE / room).is_dir():
            names = _in_code(other for other in rooms() if other in imports[room])
            lines += ["", f"### {room}/", "", _docstring(SOURCE / room / "__init__.py")]
            lines += [f"Imports {names or 'no other room'}.", "", *_room_lines(SOURCE / room)]
    return "\n".join([*lines, ""])


def _room_lines(folder: Path) -> list[str]:
    """Return the lines of the modules of a room, those of its subpackages last."""
    files = [file for file in folder.rglob("*.py") if file.name != "__init__.py"]
    return [_module_line(file) for file in sorted(files, key=lambda file: (file.parent != folder, str(file)))]


def _module_line(file: Path) -> str:
    name = str(file.relative_to(SOURCE))
    public = _in_code(_public_names(file))
    return f"- [`{name}`](../src/prowess/{name}): {_purpose(file)}{f' Has {public}.' if public else ''}"


def _public_names(file: Path) -> list[str]:
    """Return the public classes and functions that a module defines."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in tree.body if isinstance(node, definitions) and not node.name.startswith("_")]


def _docstring(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def _purpose(file: Path) -> str:
    """Return the first paragraph of a module's docstring as a sentence."""
    sentence = " ".join(_docstring(file).split("\n\n")[0].split())
    return sentence if sentence.endswith(".") else f"{sentence}."


NOT_FIRST = ("skill/_fix.py", "catalog/_check.py", "catalog/_discover.py", "catalog/_lazy.py")
"""Modules that name codes of findings which others report."""


def finding_list() -> str:
    """Return the codes of findings with the modules that name them, those of lower rooms first.

    Codes with the same modules share a row.
    """
    modules: dict[str, list[str]] = {code: [] for code in CODES}
    for room in ["skill", *reversed(rooms())]:
        for file in sorted(SOURCE.glob(f"{room}.py")) + sorted((SOURCE / room).rglob("*.py")):
            name = str(file.relative_to(SOURCE))
            if name not in ("findings.py", "hosts/_tables.py", "skill/_client_fields.py"):
                for code in _texts(file) & CODES.keys():
                    modules[code] += [] if name in modules[code] else [name]
    codes: dict[tuple[str, ...], list[str]] = {}
    for code, names in modules.items():
        codes.setdefault(tuple(sorted(names, key=NOT_FIRST.__contains__)), []).append(code)
    rows = [f"| {_in_code(group)} | {_in_code(names)} |" for names, group in codes.items()]
    return "\n".join(["| codes | modules |", "|---|---|", *rows, ""])


def _in_code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _texts(file: Path) -> set[str]:
    """Return the string literals of a module."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


PARTS = (picture, module_list, finding_list)
"""What is written between the marks of `architecture.md`, in order."""
