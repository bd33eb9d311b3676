"""The folder that `make demo` leaves: the commands of the README work in it, and a second run restores it."""

from __future__ import annotations

import os
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

from prowess.cli import main
from prowess.cli._commands import COMMANDS
from support.programs import require
from support.skills import skill

TOP = Path(__file__).parent.parent
DEMO: dict[str, Any] = runpy.run_path(str(TOP / "examples/demo.py"))
README = (TOP / "README.md").read_text(encoding="utf-8")
EXAMPLES = {
    "read NAME FILE": "read csv-profile assets/report.md",
    "new NAME": "new my-skill",
    "NAME": "csv-profile",
    "[PATH...]": ".agents/skills/csv-profile",
    "[DIR]": ".",
    "-o FILE": "-o report.html",
    "QUERY": "commit",
    "mount SKILL... --to DIR": "mount csv-profile --to ../agent",
    "[SKILL...]": "csv-profile --list",
    "eval SKILL": "eval csv-profile",
    "trust SKILL": "trust csv-profile",
    "-- COMMAND": "--json -- true",
    "run ROLE": "run roles/table-helper.yaml --dry-run",
    "ROLE": "roles/table-helper.yaml",
    "SHELL": "bash",
}
"""The value for each word in capitals."""
WHOLE = {
    "add": "add ../source --yes",
    "add SOURCE [SKILL...]": "add ../source notes --yes",
    "update [SKILL...]": "update notes --dry-run",
    "remove SKILL...": "remove csv-profile --yes",
    "publish SKILL DEST": "publish .agents/skills/csv-profile oci://registry.example/csv-profile --dry-run",
    "usage [SKILL...]": "usage commit-message",
    "index DIR -o OUT": "index .agents/skills -o ../site",
}
"""What is run for commands that need a source, or a place to write to."""


def commands() -> list[str]:
    """Return every command of the README, with values for words in capitals."""
    found = re.findall(r"^\$ (prowess .*)$|`(prowess [^`]+)`", README, re.MULTILINE)
    lines = []
    for line in dict.fromkeys(first or second for first, second in found):
        if line == "prowess --help":
            continue  # tests/cli/test_help.py reads that page
        if line.removeprefix("prowess ") in WHOLE:
            lines.append(f"prowess {WHOLE[line.removeprefix('prowess ')]}")
            continue
        for word, value in EXAMPLES.items():
            line = line.replace(word, value) if re.search(r"[A-Z]{2}", line) and "What did" not in line else line
        # A model would need a key; what it would be sent does not.
        lines.append(f"{line} --dry-run" if "-p " in line else line)
    return lines


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Path:
    assert DEMO["place"](tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo/project")
    monkeypatch.setenv("HOME", str(tmp_path / "demo/home"))
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    skill(tmp_path / "demo/source/notes")
    return tmp_path / "demo"


@pytest.mark.parametrize("line", commands())
@pytest.mark.usefixtures("demo")
def test_each_command_of_the_readme_works_there(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    """As it is written, with an example for each word in capitals."""
    name, *arguments = shlex.split(line)[1:]
    assert name in COMMANDS
    if name == "test":
        require("bwrap")
    if name == "update":
        assert main(["add", "../source", "--yes"]) == 0
    # Here is no terminal to ask on.
    code = main([name, *arguments, *(["--yes"] if name == "trust" else [])])
    out, err = capfd.readouterr()
    assert code in ((0, 1) if name == "check" else (0,)), out + err


def test_the_readme_has_commands() -> None:
    """All of them, and each once more in text or output."""
    assert {line.split()[1] for line in commands()} == {*COMMANDS}


def tree(folder: Path) -> dict[str, bytes | str | None]:
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def test_a_second_run_restores_what_the_demo_made_and_nothing_else(demo: Path) -> None:
    before = tree(demo)
    (demo / "project/.agents/skills/csv-profile/SKILL.md").write_text("broken")
    (demo / "project/.claude/skills/csv-profile").unlink()
    own = demo / "project/.agents/skills/mine/SKILL.md"
    own.parent.mkdir()
    own.write_text("mine")
    assert DEMO["place"](demo)
    assert own.read_text() == "mine"
    after = tree(demo)
    assert {name: after[name] for name in before} == before
    assert {*after} - {*before} == {"project/.agents/skills/mine", "project/.agents/skills/mine/SKILL.md"}


def test_another_folder_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert not DEMO["place"](tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert "move it away" in capsys.readouterr().err


def test_a_changed_list_removes_nothing_outside(tmp_path: Path) -> None:
    """The list is in a folder that anything may write."""
    (tmp_path / "outside").write_text("mine")
    assert DEMO["place"](tmp_path / "demo")
    (tmp_path / "demo/.made-by-the-demo").write_text(f"../outside\n{tmp_path}/outside\n")
    assert DEMO["place"](tmp_path / "demo")
    assert (tmp_path / "outside").read_text() == "mine"
