"""`prowess add`, from a folder or a repository to the project and its lock."""

from __future__ import annotations

import io
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from prowess.lock import read_lock
from support.installing import Machine, make_machine, repository
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return make_machine(tmp_path, monkeypatch, capsys)


# ── refused ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_commit_whose_skills_are_in_the_store_needs_no_source(machine: Machine) -> None:
    source = repository(machine)
    command = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(command, cwd=machine.source, check=True, capture_output=True, text=True).stdout.strip()
    machine.run("add", source, "pdf", "--yes")
    machine.source.rename(machine.source.with_name("gone"))
    machine.run("remove", "pdf")
    machine.run("add", source, "pdf", "--yes", code=1)
    machine.run("add", f"{source}#{commit}", "csv", "--yes", code=1)
    machine.run("add", f"{source}#{commit}", "pdf", "--yes")
    assert machine.installed() == ["pdf"]
    assert read_lock(str(machine.lock)).skills["pdf"].revision == commit


def test_commands_at_once_lose_nothing(machine: Machine) -> None:
    for number in range(4):
        skill(machine.source / f"skills/s{number}")

    pids = []
    for number in range(4):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                machine.run("add", "../source", f"s{number}", "--yes")
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 4
    assert machine.installed() == [*read_lock(str(machine.lock)).skills] == ["s0", "s1", "s2", "s3"]


def test_the_answer_no_installs_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prowess.cli.installed._plans.can_ask", lambda: True)
    monkeypatch.setattr("prowess.cli.installed.add.can_ask", lambda: True)
    for answer, code, names in (("n\n", 1, []), ("", 1, []), ("y\n", 0, ["pdf"])):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        _, err = machine.run("add", "../source", "pdf", code=code)
        assert "install `pdf`? [y/N]" in err
        assert machine.installed() == names
