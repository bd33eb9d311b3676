"""Names of protected files are recognised in every spelling that some file system accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from prowess.agent.protected import KINDS, folder_kinds, name_kind
from prowess.hosts import host_names, load_host

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (".git", "git"),
        (".GIT", "git"),
        (".git.", "git"),
        (".git . ", "git"),
        (".g\u200cit", "git"),
        ("\uff0egit", "git"),
        (".git::$INDEX_ALLOCATION", "git"),
        ("a\\.git", "git"),
        ("GIT~1", "git"),
        ("git~12", "git"),
        (".git\\hooks", "git"),
        (".git\ufe0f", "git"),
        (".G\u0130T", "git"),
        (".gi\udcfft", "git"),
        ("Skill.MD", "skill"),
        ("\u017fkill.md", "skill"),
        ("\uff33KILL.md", "skill"),
        ("CLAUDE~1", "agents"),
        ("VSCODE~1", "editor"),
        ("SITECU~1.PY", "python"),
        ("Claude.md", "instructions"),
        ("review.Instructions.md", "instructions"),
        ("evil.pth", "python"),
        ("x.cpython-311.pyc", "bytecode"),
        ("CONFTEST.PY", "pytest"),
        (".ENVRC", "shell"),
        (".eslintrc.cjs", "linters"),
        ("Lefthook-local.yml", "git"),
        ("x.code-workspace", "editor"),
        (".HG", "git"),
        ("rust-toolchain.toml", "packages"),
        (".helix", "editor"),
        (".ghci", "shell"),
        (".woodpecker.yaml", "ci"),
    ],
)
def test_a_name_is_recognised_in_every_spelling(name: str, kind: str) -> None:
    assert name_kind(name) == kind


@pytest.mark.parametrize(
    "name",
    ["git", "main.py", "README.md", "gitignore", ".gitignore", "Makefile", "package.json", "test_a.py", "a~1", ""],
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
