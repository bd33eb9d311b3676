"""`prowess init`: a project's skills folder with an example."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from prowess.catalog._check import check
from prowess.cli import main
from prowess.skill import load

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_example_is_a_skill_to_delete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It passes `check`, and its first line says to delete it."""
    assert main(["init", "--cwd", str(tmp_path), "--home", str(tmp_path)]) == 0
    path = tmp_path / ".agents/skills/example/SKILL.md"
    out, err = capsys.readouterr()
    assert out == f"{path}\n"
    assert err.startswith("created an example skill; read it, then delete it\n")
    assert check(path, policy="spec") == ()
    assert load(str(path)).body.startswith("<!-- delete me: ")


def test_a_second_time_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever has become of the example since."""
    command = ["init", "--cwd", str(tmp_path), "--home", str(tmp_path), "--json"]
    assert main(command) == 0
    path = tmp_path / ".agents/skills/example/SKILL.md"
    answer = {"name": "example", "path": str(path), "host": None, "created": True, "state": "active"}
    first = json.loads(capsys.readouterr().out)
    assert {**first, **answer} == first
    path.write_text("---\nname: example\ndescription: Mine.\n---\nMine.\n")
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == {**first, "created": False}
    assert path.read_text().endswith("Mine.\n")


def test_a_host_gets_its_own_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For `infer`, skills are off until its settings enable them; the line and a hint say so."""
    assert main(["init", "--host", "infer", "--cwd", str(tmp_path), "--home", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}/.infer/skills/example/SKILL.md\n"
    assert "\nit is not seen by infer\n" in err
    assert err.endswith("; set INFER_AGENT_SKILLS_ENABLED=true to switch them on\n")
    assert check(tmp_path / ".infer", hosts=["infer"]) == ()


def test_init_as_a_process(tmp_path: Path) -> None:
    """An existing folder without a skill is not overwritten."""
    (tmp_path / ".agents/skills/example").mkdir(parents=True)
    command = [sys.executable, "-m", "prowess", "init"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {tmp_path}/.agents/skills/example already exists\n")
