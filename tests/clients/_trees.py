"""Trees that the clients are asked about: documents, the ones of trees.json and more.json, and functions."""

from __future__ import annotations

import importlib.util
import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.documents import Document, tree_files
from support.trees import build_tree, write_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clients._probe import Probe
    from support.documents import Section

HERE = Path(__file__).parent
ARGUMENTS = {"mistral-vibe": ("--trust",), "pi": ("--approve",)}
"""Arguments for the trees in JSON, which do not set trust: without it, these clients read no file of a project."""
FUNCTION_ARGUMENTS = {"pi": ("--approve",)}
"""The same for tree functions."""


class Tree:
    """A tree that a function fills for one client.

    Attributes:
        home: the user's home.
        repo: the project.
        cwd: where the client is started; the project unless set.
        P: the client's skills folder in the project.
        U: the client's skills folder in the home.
        root: the folder that all of it is in.
        etc: what the client finds in `/etc` besides the machine's own files, if the folder is made.
        client: the name of the client.
        args: further arguments of the client.
        env: variables of the client.
        variants: the path of each SKILL.md that the client might reach, by its key.
    """

    def __init__(self, root: Path, client: str, project: str, user: str) -> None:
        self.root, self.client, self.project, self.user = root, client, project, user
        self.home, self.repo, self.etc = root / "home", root / "repo", root / "etc"
        self.P, self.U = self.repo / project, self.home / user
        self.cwd = self.repo
        self.args: Sequence[str] = FUNCTION_ARGUMENTS.get(client, ())
        self.env: dict[str, str] = {}
        self.variants: dict[str, Path] = {}
        for folder in (self.home, self.repo):
            folder.mkdir(parents=True, exist_ok=True)

    def git(self, folder: Path | None = None) -> None:
        """Make a folder, by default the project, a repository."""
        write_repository((folder or self.repo) / ".git")

    def skill(
        self,
        folder: Path | str,
        variant: str,
        *,
        name: str | None = None,
        desc: str | None = None,
        raw: str | bytes | None = None,
        fm: str = "",
        file: str = "SKILL.md",
        body: str = "Body.\n",
    ) -> Path:
        """Write a skill and name it as a variant; return its file.

        Args:
            folder: the skill's folder.
            variant: its key in the answers.
            name: its name, by default the variant's.
            desc: its description, by default one with the tag `[[variant]]`, by which answers are matched.
            raw: the whole file, instead of the other arguments.
            fm: further lines of front matter.
            file: the name of the file.
            body: what follows the front matter.
        """
        name = variant if name is None else name
        desc = f"Use for tests [[{variant}]]" if desc is None else desc
        path = Path(folder) / file
        self.write(path, raw if raw is not None else f"---\nname: {name}\ndescription: {desc}\n{fm}---\n{body}")
        if variant in self.variants:
            raise ValueError(f"two skills are called {variant!r}")
        self.variants[variant] = path
        return path

    def write(self, path: Path | str, content: str | bytes | Any) -> Path:
        """Write a text or a JSON value to a file, and return its path."""
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def link(self, path: Path | str, target: Path | str) -> None:
        """Make a link."""
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)


@dataclass(frozen=True, kw_only=True)
class TreeSource:
    """A tree by name."""

    name: str
    about: str
    """One line that says what the tree shows."""
    clients: tuple[str, ...]
    """Those that are asked; nothing means all."""
    fill: Callable[[Tree], None]
    origin: str = ""
    """The file that it comes from."""

    def build(self, root: Path, client: str, project: str, user: str) -> Tree:
        """Write the tree for a client with these skills folders in a project and a home; `root` is an empty folder."""
        tree = Tree(root, client, project, user)
        self.fill(tree)
        return tree

    @contextmanager
    def placed(self, fresh: Path, probe: Probe) -> Iterator[Tree]:
        """Write the tree into the empty folder `fresh`, for the client of a probe."""
        yield self.build(fresh / "tree", probe.client, probe.project, probe.user)

    def is_for(self, client: str) -> bool:
        """Say whether a client is asked about it."""
        return not self.clients or client in self.clients


_registered: list[TreeSource] = []


def tree(*clients: str) -> Callable[[Callable[[Tree], None]], Callable[[Tree], None]]:
    """Make a function a tree: its name is the tree's, its docstring says in one line what the tree shows.

    Args:
        clients: the clients that are asked about it; nothing means all.
    """

    def register(function: Callable[[Tree], None]) -> Callable[[Tree], None]:
        about = (function.__doc__ or "").strip().split("\n")[0]
        _registered.append(TreeSource(name=function.__name__, about=about, clients=clients, fill=function))
        return function

    return register


def python_trees(folder: Path) -> list[TreeSource]:
    """Return the trees that the Python files of a folder define, in order."""
    found = []
    for file in sorted(folder.glob("*.py")):
        if file.name.startswith("_"):
            continue
        _registered.clear()
        run_module(file)
        found += [replace(source, origin=file.name) for source in _registered]
    _registered.clear()
    return found


def run_module(file: Path) -> Any:
    """Import a Python file that is in no package, and return the module."""
    spec = importlib.util.spec_from_file_location(f"_observed_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def document_trees(folder: Path) -> list[TreeSource]:
    """Return the trees of the documents of a folder: sections with a block `tree`, and `question` for what is asked."""
    found = []
    for file in sorted(folder.glob("*.md")):
        document = Document.read(file)
        for section in document.sections:
            if section.own("tree"):
                asked = _asked(section)
                clients = tuple(asked.get("clients", [""])[0].split())
                about = section.prose(document)
                fill = _section_filler(section, asked)
                found.append(TreeSource(name=section.title, about=about, clients=clients, fill=fill, origin=file.name))
    return found


def _asked(section: Section) -> dict[str, list[str]]:
    """Return the lines `KEY: VALUE` of a block `question`, by key."""
    found: dict[str, list[str]] = {}
    for line in (line for block in section.own("question") for line in block.text.splitlines()):
        key, _, value = line.partition(": ")
        found.setdefault(key, []).append(value)
    return found


def _section_filler(section: Section, asked: dict[str, list[str]]) -> Callable[[Tree], None]:
    def fill(t: Tree) -> None:
        def filled(text: str) -> str:
            for name in ("root", "project", "user"):
                text = text.replace(f"{{{name}}}", str(getattr(t, name)))
            return text.replace("{parent}", str(t.root.parent))

        t.home, t.cwd = (t.root / asked.get(key, [usual])[0] for key, usual in (("home", "home"), ("cwd", "repo")))
        if t.cwd != t.repo:
            t.repo.rmdir()
        for file in tree_files(filled("\n".join(block.text for block in section.own("tree")))):
            file.write(t.root)
            if file.key is not None:
                t.variants[file.key] = t.root / file.path
        for line in asked.get("skill", ()):
            key, _, path = line.partition(" ")
            t.variants[key] = t.root / filled(path)
        if "clients" in asked:
            t.args = [filled(json.loads(f'"{value}"')) for value in asked.get("argument", ())]
        t.env = {name: filled(value) for name, _, value in (line.partition("=") for line in asked.get("env", ()))}

    return fill


def json_trees() -> list[TreeSource]:
    """Return the trees of trees.json and more.json, which all clients are asked about."""
    trees: dict[str, Any] = json.loads((HERE / "trees.json").read_text("utf-8"))
    trees |= json.loads((HERE / "more.json").read_text("utf-8"))["trees"]
    return [
        TreeSource(name=name, about=data["about"], clients=(), fill=_filler(data), origin="JSON")
        for name, data in trees.items()
    ]


def _filler(data: dict[str, Any]) -> Callable[[Tree], None]:
    def fill(t: Tree) -> None:
        t.repo.rmdir()
        t.home.rmdir()
        built = build_tree(data, t.root, t.project, t.user)
        t.home, t.cwd, t.args = built.home, built.cwd, ARGUMENTS.get(t.client, ())
        # Where a client's own folder is also a shared one, two keys are one file: only the first one is kept.
        for variant, path in built.skills.items():
            if path not in t.variants.values():
                t.variants[variant] = path

    return fill


def all_trees() -> dict[str, TreeSource]:
    """Return the trees of this repository by name."""
    found: dict[str, TreeSource] = {}
    for source in [*json_trees(), *document_trees(HERE / "trees"), *python_trees(HERE / "trees")]:
        if source.name in found:
            raise ValueError(
                f"two trees are called {source.name!r}: in {found[source.name].origin} and {source.origin}"
            )
        found[source.name] = source
    return found
