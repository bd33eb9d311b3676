"""`prowess add`, from a folder or a repository to the project and its lock."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.hosts import DEFAULT_HOST, host_names, load_host, raw_value
from prowess.lock import read_lock
from support.files import write_file
from support.installing import Machine, make_machine, repository
from support.proofs import short_or_long
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return make_machine(tmp_path, monkeypatch, capsys)


# ── refused ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_commit_is_asked_again_whatever_the_store_says(machine: Machine) -> None:
    """Earlier versions read a note there that maps a commit to trees of the store."""
    source = repository(machine)
    command = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(command, cwd=machine.source, check=True, capture_output=True, text=True).stdout.strip()
    machine.run("add", f"{source}#{commit}", "csv", "pdf", "--yes")
    locked = read_lock(str(machine.lock)).skills
    url = source.removeprefix("git+")
    note = machine.home.parent / "data/store/sources" / hashlib.sha256(f"git {url} {commit}".encode()).hexdigest()
    note.parent.mkdir(exist_ok=True)
    evil: dict[str, Any] = {"name": "pdf", "digest": locked["csv"].tree_digest, "extra": {}}
    content = {"source": url, "revision": commit, "all": True, "skills": {"skills/pdf": evil}}
    note.with_suffix(".json").write_text(json.dumps(content))
    machine.run("remove", "pdf", "--yes")
    machine.run("add", f"{source}#{commit}", "pdf", "--yes")
    assert read_lock(str(machine.lock)).skills["pdf"].tree_digest == locked["pdf"].tree_digest
    machine.source.rename(machine.source.with_name("gone"))
    machine.run("add", f"{source}#{commit}", "pdf", "--yes", code=1)


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


# ── the choice of skills ─────────────────────────────────────────────────────────────────────────────────────────────

MARKETPLACE = {
    "name": "office",
    "plugins": [{"name": "tables", "source": "./", "skills": ["./skills/csv", "./skills/xls"]}],
}
LIST = """\
1  bad  Does bad. Use it for bad.
2  doc  Writes letters.
3  pdf  Does pdf. Use it for pdf.
tables:
4  csv  Does csv. Use it for csv.
5  xls  Does xls. Use it for xls.
"""


@pytest.fixture
def office(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A source with five skills, two of them in a plugin of a marketplace, and a user at a terminal."""
    skill(machine.source / "skills/doc", description="Writes letters.")
    for name in ("xls", "bad"):
        skill(machine.source / "skills" / name)
    write_file(machine.source / ".claude-plugin/marketplace.json", json.dumps(MARKETPLACE))
    monkeypatch.setattr("prowess.cli.installed._plans.can_ask", lambda: True)
    monkeypatch.setattr("prowess.cli.installed.add.can_ask", lambda: True)
    return machine


@pytest.mark.parametrize("kind", ["folder", "git"])
@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("3", ["pdf"]),
        ("2-3, 5", ["doc", "pdf", "xls"]),
        ("tables", ["csv", "xls"]),
        ("PDF 4", ["csv", "pdf"]),
        ("4-99", ["csv", "xls"]),
        ("all", ["bad", "csv", "doc", "pdf", "xls"]),
        ("", []),
    ],
)
def test_a_user_chooses_by_number_name_and_plugin(
    office: Machine, monkeypatch: pytest.MonkeyPatch, kind: str, answer: str, names: list[str]
) -> None:
    source = repository(office) if kind == "git" else "../source"
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\ny\n"))
    out, err = office.run("add", source, code=0 if names else 1)
    assert out.startswith(LIST)
    assert office.installed() == names == [*(read_lock(str(office.lock)).skills)]
    assert err.endswith("nothing was installed\n") == (not names)


def test_a_word_that_is_no_name_is_searched_for(office: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("letters\n0\nletters xyz\ndoes tables\n5\nn\n"))
    out, _ = office.run("add", "../source", code=1)
    assert out.removeprefix(LIST).startswith(
        "2  doc  Writes letters.\n"
        "no skill has `0` in its name or description\n"
        "no skill has `letters xyz` in its name or description\n"
        "tables:\n4  csv  Does csv. Use it for csv.\n5  xls  Does xls. Use it for xls.\n"
        "../source: 1 skill\nxls: new\n"
    )
    assert office.installed() == []


def test_of_many_skills_the_first_are_listed_and_a_name_in_dispute_is_left_out(
    office: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        skill(office.source / f"skills/s{number:02}")
    skill(office.source / "other/s00", description="Another one.")
    monkeypatch.setattr("sys.stdin", io.StringIO("s0\ns01\ny\n"))
    out, _ = office.run("add", repository(office))
    assert out.startswith("PLUGIN  SKILLS\ntables  2\n\n  1  bad ")
    assert "\n... and 89 more skills\n" in out
    assert len(re.findall("^ +[0-9]+  s0[0-9] ", out, re.MULTILINE)) == 9 + 9
    assert "two skills have the name `s00`: `other/s00` and `skills/s00`" in out
    assert office.installed() == ["s01"]


@pytest.mark.parametrize("more", [["--yes"], ["--dry-run"], ["--yes", "--json"], ["pdf"]])
def test_nothing_is_to_choose_where_the_command_says_it(
    office: Machine, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    _, err = office.run("add", "../source", *more)
    assert "which?" not in err


# ── who sees what was added ──────────────────────────────────────────────────────────────────────────────────────────

MARKS = {
    name: next(mark for mark in raw_value(name, "found_by") if mark.startswith("~"))
    for name in host_names()
    if name != DEFAULT_HOST and raw_value(name, "found_by")
}
"""The folder in the home by which each agent is found."""


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize("first", MARKS)
def test_of_each_pair_of_agents_no_one_loses_what_is_added(
    first: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan, the first screen, `list`, `why` and `check` say the same, and `remove` leaves nothing behind.

    The short form tries every third pair.
    """
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("INFER_AGENT_SKILLS_ENABLED", "true")
    monkeypatch.chdir(machine.project)
    for second in sorted(name for name in MARKS if name > first)[:: short_or_long(3, 1)]:
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
