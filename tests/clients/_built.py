"""Trees that are already built: folders with a `manifest.json`.

    {SCENARIO: {"home": PATH, "cwd": PATH, "variants": {VARIANT: PATH}, "args": [...], "env": {...}, "etc": PATH}}

All paths are relative to the manifest's folder; the last three keys may be missing.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clients._places import bound, copy_tree, is_inside
from clients._trees import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clients._probe import Probe


@dataclass(frozen=True, kw_only=True)
class BuiltTree:
    """A scenario of a manifest."""

    name: str
    about: str
    clients: tuple[str, ...]
    """Those that are asked; nothing means all."""
    folder: Path
    """The folder of the manifest."""
    data: dict[str, Any]

    def is_for(self, client: str) -> bool:
        """Say whether a client is asked about it."""
        return not self.clients or client in self.clients

    @contextmanager
    def placed(self, fresh: Path, probe: Probe) -> Iterator[Tree]:
        """Copy it to the empty folder `fresh`, and show the copy in its place, since its files may name that."""
        top, copy = self.top(), fresh / "tree"
        copy_tree(top, copy)
        with ExitStack() as stack:
            if is_inside():
                stack.enter_context(bound(copy, top))
                copy = top
            yield self.tree(copy, top, probe)

    def top(self) -> Path:
        """Return the folder that all of the tree is in: the one with the scenario's name, or else a common one."""
        named = [self.data["home"], self.data["cwd"], *self.data["variants"].values()]
        paths = [os.path.normpath(self.folder / path) for path in named]
        usual = self.folder / self.name
        return usual if all(Path(path).is_relative_to(usual) for path in paths) else Path(os.path.commonpath(paths))

    def tree(self, place: Path, top: Path, probe: Probe) -> Tree:
        """Return the tree as it is at a place; `top` is where it was built."""

        def path(text: str) -> Path:
            return place / os.path.relpath(os.path.normpath(self.folder / text), top)

        tree = Tree(place, probe.client, probe.project, probe.user)
        tree.home, tree.cwd = path(self.data["home"]), path(self.data["cwd"])
        tree.args, tree.env = tuple(self.data.get("args", ())), dict(self.data.get("env", {}))
        tree.variants = {variant: path(file) for variant, file in self.data["variants"].items()}
        if "etc" in self.data:
            tree.etc = path(self.data["etc"])
        return tree


def built_trees(folder: Path, clients: list[str]) -> list[BuiltTree]:
    """Return the trees of `folder/manifest.json`, which are for all clients, and of `folder/CLIENT/manifest.json`."""
    found = []
    for client in (None, *clients):
        place = folder if client is None else folder / client
        if (place / "manifest.json").is_file():
            manifest = json.loads((place / "manifest.json").read_text("utf-8"))
            only = () if client is None else (client,)
            found += [
                BuiltTree(name=name, about=data.get("doc", ""), clients=only, folder=place, data=data)
                for name, data in manifest.items()
            ]
    return found
