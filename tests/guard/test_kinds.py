"""Names of protected files are recognised in every spelling that some file system accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from prowess.guard import KINDS, folder_kinds, name_kind, suspect_names
from prowess.hosts import host_names, load_host

DOCS = Path(__file__).parents[2] / "docs"


SPELLINGS = {
    "git": (
        *(".git", ".GIT", ".git.", ".git . ", ".g\u200cit", "\uff0egit", ".git::$INDEX_ALLOCATION"),
        *("a\\.git", "GIT~1", "git~12", ".git\\hooks", ".git\ufe0f", ".G\u0130T", ".gi\udcfft"),
        *("Lefthook-local.yml", ".HG", ".huskyrc.js"),
    ),
    "skill": ("Skill.MD", "\u017fkill.md", "\uff33KILL.md"),
    "agents": ("CLAUDE~1", "hooks.json", ".lsp.json"),
    "editor": ("VSCODE~1", "x.code-workspace", ".helix"),
    "python": ("SITECU~1.PY", "evil.pth"),
    "instructions": ("Claude.md", "review.Instructions.md"),
    "bytecode": ("x.cpython-311.pyc",),
    "pytest": ("CONFTEST.PY", ".rspec", "jest.config.mjs"),
    "shell": (".ENVRC", ".envrc.local", ".ghci", ".mise.local.toml", ".mise", ".rvmrc"),
    "build": ("Cargo.toml", "build.rs", "CMakeLists.txt", "docker-compose.override.yml"),
    "linters": (".eslintrc.cjs",),
    "packages": ("rust-toolchain.toml",),
    "ci": (".woodpecker.yaml", ".readthedocs.yaml"),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in SPELLINGS.items() for name in names])
def test_a_name_is_recognised_in_every_spelling(kind: str, name: str) -> None:
    assert name_kind(name) == kind


@pytest.mark.parametrize(
    "name",
    ["git", "main.py", "README.md", "gitignore", ".gitignore", "make.py", "package.txt", "test_a.py", "a~1", ""],
)
def test_source_code_is_not_protected(name: str) -> None:
    """Its user runs it knowingly."""
    assert name_kind(name) is None


def test_a_skill_of_one_file_is_recognised_by_its_folder() -> None:
    for name, parent in (("a.md", "skills"), ("A.MD", "Skills"), ("\uff41.md", "skills"), ("a.md.", "skills")):
        assert name_kind(name, parent) == "skill"
    assert name_kind("a.md", "docs") is None


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (("HEAD", "objects", "refs"), ["git"]),
        (("head", "commondir"), ["git"]),
        (("objects", "refs"), []),
        (("Skill.md",), ["skill"]),
        (("pyvenv.cfg",), ["python"]),
        (("HEAD", "objects", "refs", "SKILL.md", "pyvenv.cfg"), ["git", "skill", "python"]),
    ],
)
def test_a_folder_is_recognised_by_what_it_contains(names: tuple[str, ...], kinds: list[str]) -> None:
    """Of several kinds, a role may allow one and not the others."""
    assert list(folder_kinds(names)) == kinds


def test_the_quick_search_suspects_every_name_with_a_kind() -> None:
    """In a folder with other names too."""
    names = [name.replace("*", "x") for kind in KINDS.values() for name in kind.names]
    names += [name for spellings in SPELLINGS.values() for name in spellings]
    assert {name for name in names if name_kind(name)} <= suspect_names([*names, "plain.txt"])
    for name in names:
        assert suspect_names(["a", name, "b"]) >= {name} or name_kind(name) is None
    assert suspect_names([]) == set()
    assert suspect_names(["main.py", "README", "a b.txt"]) == set()


@pytest.mark.parametrize("host", host_names())
def test_the_settings_of_every_host_are_protected(host: str) -> None:
    """`config.yaml` is not: other programs have a file of this name."""
    for file in load_host(host).settings_files.values():
        path = file.path.rpartition("|")[2].removeprefix("~/")
        if not path.startswith(("$", "@", "/")):
            assert path == "config.yaml" or any(map(name_kind, path.split("/")))


@pytest.mark.parametrize("host", host_names())
def test_the_folders_of_every_host_are_protected(host: str) -> None:
    """`skills` beside a role is not: everything with a `SKILL.md` in it is."""
    for root in load_host(host).roots:
        if root.scope in ("project", "package") and root.path:
            assert root.path == "skills" or any(map(name_kind, root.path.split("/")))


def test_every_kind_is_documented() -> None:
    page = (DOCS / "roles.md").read_text(encoding="utf-8")
    for name, kind in KINDS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` | `"))
        assert all(f"`{file}`" in row for file in kind.names)
        assert kind.why in row
