"""Write the directory trees of `tests/clients`, for which real clients were asked what they see."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLIENTS = Path(__file__).parents[1] / "clients"


@dataclass(frozen=True, slots=True)
class BuiltTree:
    """A tree on disk."""

    home: Path
    cwd: Path
    skills: dict[str, Path]
    """Path of each variant of a skill by its key."""


def load_trees() -> dict[str, Any]:
    """Return the trees by name."""
    loaded: dict[str, Any] = json.loads((CLIENTS / "trees.json").read_text(encoding="utf-8"))
    return loaded


def extra_trees() -> dict[str, Any]:
    """Return more trees; the key `about` describes the file."""
    loaded: dict[str, Any] = json.loads((CLIENTS / "more.json").read_text(encoding="utf-8"))
    return loaded


def write_repository(path: Path) -> None:
    """Write the files by which git recognises a repository."""
    (path / "objects").mkdir(parents=True)
    (path / "refs").mkdir()
    (path / "HEAD").write_text("ref: refs/heads/main\n")


def build_tree(tree: dict[str, Any], root: Path, project: str, user: str) -> BuiltTree:
    """Write a tree below `root`; `{project}` and `{user}` in its paths become the folders of a client."""

    def path(text: str) -> Path:
        return root / text.replace("{project}", project).replace("{user}", user)

    for folder in (tree["home"], tree["cwd"], *tree.get("folders", ())):
        path(folder).mkdir(parents=True, exist_ok=True)
    for folder in tree.get("git", ()):
        write_repository(path(folder) / ".git")
    for folder in tree.get("git_file", ()):
        path(folder).mkdir(parents=True, exist_ok=True)
        write_repository(root / "gitdir")
        (path(folder) / ".git").write_text(f"gitdir: {root / 'gitdir'}\n")
    for name, content in tree.get("files", {}).items():
        file = path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            file.write_bytes(content.replace("{project-parent}", project.split("/", maxsplit=1)[0]).encode())
        else:
            file.write_bytes(base64.b64decode(content["base64"]))
    for name, target in tree.get("links", {}).items():
        link = path(name)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target.replace("{root}", str(root)).replace("{project}", project).replace("{user}", user))
    return BuiltTree(path(tree["home"]), path(tree["cwd"]), {key: path(value) for key, value in tree["skills"].items()})
