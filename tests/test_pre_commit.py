"""`.pre-commit-hooks.yaml`: its hooks run as pre-commit runs them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from prowess.cli import main
from support.files import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable

TOP = Path(__file__).parent.parent
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
GOOD = "---\nname: {}\ndescription: Does it when due.\n---\nDo it.\n"
BROKEN = "---\nname: {}\ndescription: Does: it when due\n---\nDo it.\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository, which is the working directory."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_hook(name: str, files: Iterable[str], *args: str) -> int:
    """Run a hook with the files it matches, as pre-commit does: the entry, `args`, and the paths of the files."""
    hook = HOOKS[name]
    matched = [file for file in files if re.search(hook["files"], file)]
    program, *command = shlex.split(hook["entry"])
    assert program == "prowess"
    return main([*command, *(args or hook.get("args", ())), *matched])


def test_every_hook_has_what_pre_commit_needs() -> None:
    """And installs Prowess itself."""
    assert list(HOOKS) == ["prowess-check", "prowess-check-fix"]
    for hook in HOOKS.values():
        assert set(hook) == {"id", "name", "description", "entry", "language", "files"}
        assert hook["language"] == "python"


@pytest.mark.parametrize(
    ("path", "matches"),
    [
        ("SKILL.md", True),
        ("a/b/SKILL.md", True),
        ("a/NOT-SKILL.md", False),
        ("a/SKILL.md.orig", False),
        ("a/SKILLxmd", False),
        ("SKILL.md/readme", False),
    ],
)
@pytest.mark.parametrize("name", HOOKS)
def test_hooks_are_for_skills(name: str, path: str, matches: bool) -> None:
    assert bool(re.search(HOOKS[name]["files"], path)) is matches


def test_the_hook_fails_for_a_broken_skill(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings fail with `args: [--strict]`."""
    write_file(repository / "skills/a/SKILL.md", GOOD.format("a"))
    write_file(repository / "skills/b c/SKILL.md", BROKEN.format("b"))
    write_file(repository / "skills/d/SKILL.md", "---\nname: d\n---\n")
    files = ["skills/a/SKILL.md", "README.md", "skills/b c/SKILL.md"]
    assert run_hook("prowess-check", files[:1], "--strict") == 0
    assert run_hook("prowess-check", files) == 0
    capsys.readouterr()
    assert run_hook("prowess-check", files, "--strict") == 1
    out, err = capsys.readouterr()
    assert "skills/b c/SKILL.md:3:14: warning" in out
    assert "2 skills checked" in err
    assert run_hook("prowess-check", ["skills/d/SKILL.md"]) == 1


def test_the_fixing_hook_changes_the_file(repository: Path) -> None:
    """pre-commit fails if a hook changes a file."""
    write_file(repository / "b/SKILL.md", BROKEN.format("b"))
    assert run_hook("prowess-check-fix", ["b/SKILL.md"], "--strict") == 0
    assert "'Does: it when due'" in (repository / "b/SKILL.md").read_text().replace('"', "'")


@pytest.mark.parametrize(
    "folder", ["-h", "--help", "--quiet", "--ignore=name-case", "--baseline=x", "--host=pi", "--fix"]
)
def test_a_folder_that_looks_like_an_option_fails(
    repository: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No name of a file makes the hook pass."""
    write_file(repository / f"{folder}/SKILL.md", "---\n")
    assert run_hook("prowess-check", [f"{folder}/SKILL.md"]) != 0
    assert "error: " in capsys.readouterr().err


def test_a_file_of_a_commit_is_no_baseline(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is called like the option names another file of the commit, which accepts all findings."""
    write_file(repository / "bad/SKILL.md", "---\n")
    main(["check", "--json", "bad/SKILL.md"])
    write_file(repository / "known/SKILL.md", capsys.readouterr().out)
    write_file(repository / "--baseline=known/SKILL.md", "x")
    assert run_hook("prowess-check", ["--baseline=known/SKILL.md", "bad/SKILL.md"]) == 2
    assert "it is a Markdown file" in capsys.readouterr().err


@pytest.mark.slow
def test_the_entry_is_installed() -> None:
    """As a program of the package."""
    program = Path(sys.executable).parent / "prowess"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("prowess ")
