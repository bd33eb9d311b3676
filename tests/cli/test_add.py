"""`prowess add`, from a folder or a repository to the project and its lock."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.hosts import DEFAULT_HOST, host_names, load_host, raw_value
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


# ── who sees what was added ──────────────────────────────────────────────────────────────────────────────────────────

MARKS = {
    name: next(mark for mark in raw_value(name, "found_by") if mark.startswith("~"))
    for name in host_names()
    if name != DEFAULT_HOST and raw_value(name, "found_by")
}
"""The folder in the home by which each agent is found."""


@pytest.mark.slow
@pytest.mark.parametrize("first", MARKS)
def test_of_each_pair_of_agents_no_one_loses_what_is_added(
    first: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan, the first screen, `list`, `why` and `check` say the same, and `remove` leaves nothing behind."""
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("INFER_AGENT_SKILLS_ENABLED", "true")
    monkeypatch.chdir(machine.project)
    for second in sorted(name for name in MARKS if name > first):
        shutil.rmtree(machine.home)
        for name in (first, second):
            os.makedirs(os.path.expanduser(MARKS[name]), exist_ok=True)
        planned = machine.json("add", "../source", "--yes")["skills"]
        kinds = {host: Counter(skill["hosts"][host]["kind"] for skill in planned) for host in planned[0]["hosts"]}
        checked, listed, why = (machine.json(*command) for command in (("check",), ("list",), ("why", "pdf")))
        assert not any(checked["lost"].values())
        # The folder of one agent may be the sign of another one.
        assert {host: checked["kinds"][host] for host in kinds} == kinds
        assert listed["kinds"] == {DEFAULT_HOST: {"seen": 2}, **checked["kinds"]}
        (pdf,) = (skill for skill in planned if skill["name"] == "pdf")
        assert [why["hosts"][host]["kind"] for host in kinds] == [pdf["hosts"][host]["kind"] for host in kinds]
        assert main([]) == 0
        screen = machine.capsys.readouterr().out
        for host, counts in kinds.items():
            assert re.search(rf"^{re.escape(load_host(host).title)} +{counts['seen']}\b", screen, re.MULTILINE)
        machine.run("verify")
        machine.run("remove", "pdf", "csv", "--yes")
        assert [path for path in machine.project.rglob("*") if path.name in ("pdf", "csv")] == []
