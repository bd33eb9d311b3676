"""Read and write `answers/CLIENT.json`: what a client answered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clients._trees import HERE

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = HERE / "answers"


def answers_file(client: str, folder: Path = FOLDER) -> Path:
    """Return the file with the answers of a client."""
    return folder / f"{client}.json"


def load_answers(client: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return `{client, version, date, project, user, trees: {TREE: {VARIANT: cell}}}`; the trees may be empty."""
    try:
        loaded: dict[str, Any] = json.loads(answers_file(client, folder).read_text("utf-8"))
    except FileNotFoundError:
        return {"client": client, "version": None, "date": None, "trees": {}}
    return loaded


def recorded_clients(folder: Path = FOLDER) -> list[str]:
    """Return the clients whose answers are recorded."""
    return sorted(file.stem for file in folder.glob("*.json"))


def save_answers(answers: dict[str, Any], folder: Path = FOLDER) -> None:
    """Write them with a cell in each line, so that a change is easy to read."""
    lines = [f' "{key}": {_json(answers[key])},' for key in ("client", "version", "date", "project", "user")]
    trees = []
    for tree, cells in sorted(answers["trees"].items()):
        rows = [f"   {_json(variant)}: {_json(cell)}" for variant, cell in cells.items()]
        trees.append(f"  {_json(tree)}: {{\n" + ",\n".join(rows) + "\n  }" if rows else f"  {_json(tree)}: {{}}")
    text = "\n".join(["{", *lines, ' "trees": {', ",\n".join(trees), " }", "}"])
    folder.mkdir(parents=True, exist_ok=True)
    file = answers_file(answers["client"], folder)
    new = file.with_suffix(".new")
    new.write_text(text + "\n", "utf-8")
    new.replace(file)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # A client can show half of a surrogate pair, which UTF-8 cannot say.
    return text if text.isprintable() else json.dumps(value)
