# ruff: noqa: INP001 - a script, not a package
"""Generate the picture of the rooms in `architecture.md`.

`docs/generate.py` runs it. A room is a package or a single module directly in `src/prowess`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import grimp

if TYPE_CHECKING:
    from collections.abc import Mapping

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


PARTS = (picture,)
"""What is written between the marks of `architecture.md`, in order."""
