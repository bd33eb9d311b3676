from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from support.installing import make_machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    [None, "{", "<<<<<<< x\n", "{}", "\udc80", "[" * 100_000],
    ids=["missing", "no JSON", "conflict", "no lock", "no text", "deep"],
)
def test_the_path_of_a_project_forges_no_line_and_no_command(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "a\nFORGED \x1b[31m $(touch x)"
    (project / ".git").mkdir(parents=True)
    if text is not None:
        (project / "skills-lock.json").write_text(text, errors="surrogateescape")
    for command in ("verify", "install", "lock"):
        assert main([command, "--cwd", str(project)]) in (1, 2)
        _, err = capsys.readouterr()
        assert "FORGED" in err
        assert "\x1b" not in err
        assert "\nFORGED" not in err
        for shown in re.findall("`(git [^`]*)`", err):
            assert "$" not in "".join(re.split("'[^']*'", shown))


CHANGES = {
    "changed": "echo x >> SKILL.md",
    "extra": "touch new.md",
    "missing file": "rm SKILL.md",
    "missing": "rm -r ../pdf",
    "mode": "chmod 755 SKILL.md",
    "type": "rm SKILL.md; ln -s /etc/passwd SKILL.md",
    "folder": "rm SKILL.md; mkdir SKILL.md",
    "a file for the skill": "rm -r ../pdf; echo x > ../pdf",
    "writable": "chmod -R o+w .",
    "writable above": "chmod o+w ../..",
    "all of it writable": "chmod -R o+w ../..",
    "special": "chmod u+s SKILL.md",
    "special and more": "chmod 7777 SKILL.md scripts/run.sh; chmod o+w ..",
    "link to nothing": "rm -r ../pdf; ln -s /nowhere ../pdf",
    "link that leads out": "mv ../pdf ../../../../mine; ln -s ../../../../mine ../pdf",
    "changed and writable": "echo x >> SKILL.md; chmod -R o+w ../..",
}


@pytest.mark.parametrize("has_store", [True, False])
@pytest.mark.parametrize("case", CHANGES)
def test_what_the_hint_says_ends_the_differences(
    case: str, has_store: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At most two commands, each as it is printed; also where the store and the word about the source are missing."""
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    machine = make_machine(tmp_path, monkeypatch, capsys)
    machine.run("add", "../source", "--yes")
    if not has_store:
        shutil.rmtree(tmp_path / "data")
        shutil.rmtree(tmp_path / "config")
    subprocess.run(["sh", "-c", CHANGES[case]], cwd=machine.project / ".agents/skills/pdf", check=True)
    for _ in range(2):
        _, err = machine.run("verify", code=1)
        (command,) = re.findall("^hint: `([^`]*)`", err, re.MULTILINE)
        if command.startswith("prowess "):
            assert main(shlex.split(command)[1:]) == 0, command
            capsys.readouterr()
        else:
            subprocess.run(["sh", "-c", command], check=True)
        if main(["verify", "--cwd", str(machine.project), "--home", str(machine.home)]) == 0:
            return
        capsys.readouterr()
    machine.run("verify")
