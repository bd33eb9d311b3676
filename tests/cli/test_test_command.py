"""`prowess test` runs and reports cases; exit codes 0, 1, 2 and 5."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from prowess.cli import main
from support.processes import processes_end, wait_until
from support.suites import without_durations, write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which the skills of `.agents/skills` are found."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    for name in ("tmp", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path.resolve() / "tmp"))
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    return top


def run(project: Path, *arguments: str) -> int:
    where = ["--cwd", str(project), "--home", str(project.parent / "home")]
    sandbox = [] if "--sandbox" in arguments else ["--sandbox", "none"]
    return main(["test", *arguments, *sandbox, *where])


def place(project: Path, name: str = "pdf") -> Path:
    return project / ".agents/skills" / name


# ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_hostile_words_cannot_touch_the_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a command writes, a skill's name, a folder's name and a description: in text, lists and JSON."""
    folder = place(project, "bad\x1b[2Jone")
    write_suite(folder, {"a": {"command": r"printf '\033[2J\302\233\342\200\256\n'; exit 1"}})
    file = folder / "tests/cases/b.yaml"
    file.write_text('{name: b, description: "\\e[2J\\u202E", input: {command: "true", files: ["\\e[2J"]}}')
    for form in ([], ["--json"], ["--list"], ["--list", "--json"]):
        run(project, *form)
        out, err = capsys.readouterr()
        assert out
        assert not {"\x1b", "\u202e", "\x9b"} & set(out + err)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2", "8"])
def test_jobs_do_not_change_the_report(jobs: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same lines in the same order."""
    write_suite(place(project), {f"{number}": f"exit {number % 2}" for number in range(11)})
    assert run(project, "--jobs", jobs) == 1
    expected = [f"  {'failed' if number % 2 else 'passed'}  {number}" for number in range(11)]
    assert [
        line
        for line in without_durations(capsys.readouterr().out).splitlines()
        if line.startswith("  ") and ":" not in line
    ] == expected


# ── exit codes and selection ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_junit_report_is_written_beside_the_others(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Relative to the working directory that was named; hostile output can be parsed."""
    write_suite(place(project), {"a": r"printf '\001]]>\377'; exit 1", "b": "true"})
    assert run(project, "--junit", "report.xml", "--json") == 1
    assert json.loads(capsys.readouterr().out)["counts"]["cases"] == 2
    top = ET.parse(project / "report.xml").getroot()  # noqa: S314 - what we wrote ourselves
    assert [(case.get("classname"), case.get("name")) for case in top.iter("testcase")] == [("pdf", "a"), ("pdf", "b")]
    assert top.findtext(".//system-out") == "\\u0001]]>\ufffd"


def test_a_junit_report_into_a_fifo_does_not_block(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a reader it is an error; a reader gets the report."""
    write_suite(place(project), {"a": "true"})
    os.mkfifo(project / "fifo")
    assert run(project, "--junit", "fifo") == 2
    assert "cannot write the report" in capsys.readouterr().err
    reader = os.open(project / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run(project, "--junit", "fifo") == 0
        assert os.read(reader, 1 << 16).startswith(b"<?xml")
    finally:
        os.close(reader)


# ── where nothing contains a command ─────────────────────────────────────────────────────────────────────────────────


def test_without_bwrap_an_untrusted_skill_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the reason and the remedy, until its user trusts it or types `--sandbox none`."""
    if sys.platform != "linux":
        pytest.skip("bwrap is of Linux")
    monkeypatch.setenv("PATH", str(project))
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(project.parent / "config"))
    write_suite(place(project), {"a": "true", "b": "true"})
    assert run(project, "--sandbox", "auto") == 1
    assert (
        capsys.readouterr().out
        == f"""\
pdf  {place(project)}
  error   a
    sandbox: no sandbox available: `bwrap` is not on PATH (install bubblewrap \
(`apt install bubblewrap`), or review the skill and, if you trust it, type `--sandbox none`)
  error   b
2 cases: 2 could not run
"""
    )
    assert run(project, "--sandbox", "none") == 0
    where = ["--cwd", str(project), "--home", str(project.parent / "home")]
    assert main(["trust", "pdf", "--yes", *where]) == 0
    assert run(project, "--sandbox", "auto") == 0
    assert run(project, "--sandbox", "bwrap") == 1
    capsys.readouterr()


# ── as a process ─────────────────────────────────────────────────────────────────────────────────────────────────────


def command(project: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "prowess", "test", "--sandbox", "none", "--cwd", str(project), *arguments]


def left(project: Path) -> list[str]:
    return os.listdir(project.parent / "tmp")


def test_nothing_is_left_when_it_ends(project: Path) -> None:
    """No folder, no process: also not what helps commands to find `python`."""
    write_suite(place(project), {f"c{number}": "python3 -c 'print(1)'; sleep 50 &" for number in range(3)})
    done = subprocess.run(command(project), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(project) == []
    assert processes_end(str(project.parent / "tmp"))


@pytest.fixture
def slow(project: Path) -> Iterator[tuple[Path, str]]:
    """A project with two cases that end and many that do not, and a word that those have in their environment."""
    mark = f"mark-{project.parent.name}"
    endless = f"M={mark} setsid sleep 600 & M={mark} sleep 600"
    cases = {"a": "true", "b": "false", **{f"c{n}": f"touch {project}/began{n}; {endless}" for n in range(3)}}
    write_suite(place(project), {**cases, **{f"d{number}": f"M={mark} sleep 600" for number in range(9)}})
    yield project, mark
    assert processes_end(mark)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_interrupted_run_reports_finished_cases(
    name: str, code: int, form: list[str], slow: tuple[Path, str]
) -> None:
    """Nothing is left running, and no folder; the JUnit report is written too."""
    project, mark = slow
    words = command(project, "--jobs", "3", "--junit", "report.xml", *form)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: len([*project.glob("began*")]) == 3)
        process.send_signal(getattr(signal, name))
        out, err = process.communicate()
    assert process.returncode == code
    assert err == "interrupted: cases that are not listed did not finish\n"
    if form:
        data = json.loads(out)
        assert data["interrupted"]
        assert [case["status"] for case in data["skills"][0]["cases"]] == ["passed", "failed"]
    else:
        assert without_durations(out).splitlines()[1:] == [
            *("  passed  a", "  failed  b", "    exit-code: the exit code is 1, not 0"),
            "2 cases: 1 passed, 1 failed",
        ]
    assert len(list(ET.parse(project / "report.xml").iter("testcase"))) == 2  # noqa: S314 - what we wrote ourselves
    assert left(project) == []
    assert processes_end(mark)


def test_interrupted_twice_it_still_leaves_nothing(slow: tuple[Path, str]) -> None:
    """There may be no report, but nothing is left running."""
    project, _ = slow
    with subprocess.Popen(command(project), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: [*project.glob("began*")])
        for _ in range(5):
            process.send_signal(signal.SIGINT)
            time.sleep(0.03)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert left(project) == []


def on_a_terminal(words: list[str]) -> tuple[int, str]:
    """Run a command whose stderr is a terminal; return its exit code and what that shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return process.returncode, shown.decode()


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(project: Path) -> None:
    """On one line, which is cleared in the end; not with `--json`, and not into a file."""
    write_suite(place(project), {"a": "true", "b": "false", "c": "sleep 0.2"})
    code, shown = on_a_terminal(command(project, "--jobs", "1"))
    assert code == 1
    assert "\r\x1b[K1 of 3 cases\r\x1b[K2 of 3 cases, 1 not passed\r\x1b[K3 of 3 cases, 1 not passed\r\x1b[K" in shown
    assert shown.endswith("\r\x1b[K")
    assert on_a_terminal(command(project, "--json")) == (1, "")
    done = subprocess.run(command(project), capture_output=True, check=False)
    assert done.stderr == b""


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(project: Path) -> None:
    """`prowess test | head` ends well."""
    write_suite(place(project), {f"c{number}": "seq 100; false" for number in range(50)})
    line = '"$@" | head -n 1'
    done = subprocess.run(["sh", "-c", line, "sh", *command(project)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(project) == []


def modules(*arguments: str) -> set[str]:
    """Return what is loaded when the command has run."""
    code = "import sys; from prowess.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-I", "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(done.stderr.split("\n")[-2].split())


HEAVY = {
    *("asyncio", "concurrent.futures", "dataclasses", "inspect", "logging", "multiprocessing", "pathlib", "pytest"),
    *("shutil", "subprocess", "tempfile", "typing", "xml", "ctypes", "socket", "random", "difflib", "tomllib"),
}


def test_it_loads_little(project: Path) -> None:
    """Nothing that is heavy, nothing that only pytest, JUnit or a model needs."""
    write_suite(place(project), {"a": "true"})
    loaded: Any = modules("test", "--sandbox", "none", "--cwd", str(project))
    assert loaded & HEAVY == set()
    assert not loaded & {"prowess.testing.plugin", "prowess.testing._junit", "prowess.testing._scripted_model"}
