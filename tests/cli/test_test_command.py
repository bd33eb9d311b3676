"""`prowess test` runs and reports cases; exit codes 0, 1, 2 and 5."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from prowess.cli import main
from support.processes import processes_end
from support.skills import skill
from support.suites import write_suite

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


def test_the_text_tells_each_case_and_why_it_has_not_passed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the beginning of what it wrote; the duration only of slow cases."""
    cases: dict[str, Any] = {
        "1-good": "echo fine",
        "2-bad": {"command": "seq 30; echo oh >&2; exit 3", "stdout-contains": ["31"]},
        "3-none": {"command": "true", "files": ["x.csv"]},
        "4-slow": "echo so far; sleep 60",
    }
    write_suite(place(project), cases, {"timeout": 1})
    assert run(project) == 1
    out, err = capsys.readouterr()
    lines = "".join(f"    stdout | {number}\n" for number in range(1, 21))
    assert (
        re.sub(r"\d\.\d s", "T s", out)
        == f"""\
pdf  {place(project)}
  passed  1-good
  failed  2-bad
    exit-code: the exit code is 3, not 0
    stdout-contains: stdout does not contain `31`; the most similar line is 3: `3`
{lines}    stdout | ... and 10 lines more
    stderr | oh
  error   3-none
    files: `x.csv` does not exist in the skill
  timeout 4-slow  (T s)
    timeout: timed out after 1 s; the command and all its processes were ended
    stdout | so far
4 cases: 1 passed, 1 failed, 1 could not run, 1 timed out
"""
    )
    assert err == ""


def test_a_reason_why_no_case_runs_is_reported_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not with each case."""
    write_suite(place(project), {"a": "true", "b": "true"})
    os.mkfifo(place(project) / "pipe")
    assert run(project) == 1
    assert (
        capsys.readouterr().out
        == f"""\
pdf  {place(project)}
  error   a
    skill: cannot copy `pipe`: it is a FIFO (remove it from the skill)
  error   b
2 cases: 2 could not run
"""
    )


def test_the_json_is_as_it_was_promised(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All keys of each object, nothing on stderr."""
    write_suite(place(project), {"a": {"command": "echo {}", "stdout-json": {"x": 1}}})
    assert run(project, "--json") == 1
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert (list(data), err) == (["skills", "interrupted", "counts"], "")
    (one,) = data["skills"]
    (case,) = one["cases"]
    assert {key: one[key] for key in ("name", "path", "findings")} == {
        "name": "pdf",
        "path": str(place(project)),
        "findings": [],
    }
    assert 0 < case.pop("duration") < 30
    assert case == {
        "name": "a",
        "file": "tests/cases/a.yaml",
        "status": "failed",
        "exit_code": 0,
        "failures": [{"kind": "stdout-json", "message": case["failures"][0]["message"]}],
        "stdout": "{}\n",
        "stderr": "",
    }
    assert data["counts"] == {"skills": 1, "cases": 1, "passed": 0, "failed": 1, "error": 0, "timeout": 0}


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
        line for line in capsys.readouterr().out.splitlines() if line.startswith("  ") and ":" not in line
    ] == expected


def test_the_list_runs_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names with descriptions; in JSON with files."""
    folder = write_suite(place(project), {"a": f"touch {project}/ran", "b": "true"})
    (folder / "tests/cases/a.yaml").write_text(
        f"name: a\ndescription: About it.\ninput: {{command: touch {project}/ran}}\n"
    )
    assert run(project, "--list") == 0
    assert capsys.readouterr().out == f"pdf  {folder}\n  a  About it.\n  b\n"
    assert run(project, "--list", "--json") == 0
    cases = [
        {"name": "a", "file": "tests/cases/a.yaml", "description": "About it."},
        {"name": "b", "file": "tests/cases/b.yaml", "description": ""},
    ]
    wanted = {"skills": [{"name": "pdf", "path": str(folder), "cases": cases, "findings": []}]}
    assert json.loads(capsys.readouterr().out) == wanted
    assert not (project / "ran").exists()


def test_the_first_that_has_not_passed_may_end_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-x`, also called `--exitfirst`."""
    write_suite(place(project), {"a": "false", "b": f"touch {project}/ran"})
    for option in ("-x", "--exitfirst"):
        assert run(project, option, "--jobs", "1") == 1
        assert capsys.readouterr().out.endswith("1 case: 1 failed\n")
    assert not (project / "ran").exists()


# ── exit codes and selection ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("named", [[], ["pdf"], [".agents/skills/pdf"], ["./.agents"], [".agents/skills/pdf/SKILL.md"]])
def test_skills_are_named_or_found_below(named: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By what `activate` takes, by its path, or by a folder above it; without any, all below the working directory."""
    write_suite(place(project), {"a": "true"})
    assert run(project, *named) == 0
    assert capsys.readouterr() == (f"pdf  {place(project)}\n  passed  a\n1 case: 1 passed\n", "")


def test_a_linked_skill_is_tested_by_its_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Installers link skills into the folders of clients."""
    write_suite(project / "lib/pdf", {"a": "true"})
    place(project).parent.mkdir(parents=True)
    place(project).symlink_to(project / "lib/pdf")
    assert run(project, "pdf") == 0
    assert run(project, str(place(project))) == 0
    capsys.readouterr()


@pytest.mark.parametrize("form", [[], ["--json"], ["--list"]])
def test_a_skill_without_tests_is_5(form: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do; others that were named are run, and what is worse wins."""
    skill(place(project, "plain"))
    assert run(project, "plain", *form) == 5
    words = "has no tests; add cases as `tests/cases/NAME.yaml`"
    assert capsys.readouterr().err == f"{place(project, 'plain')} {words}\n"
    assert run(project, *form) == 5
    words = "has tests; add cases as `tests/cases/NAME.yaml` to the folder of one"
    assert capsys.readouterr().err == f"no skill in {project} {words}\n"
    write_suite(place(project), {"a": "true"})
    assert run(project, "plain", "pdf", *form) == 5
    write_suite(place(project, "bad"), {"a": "false"})
    if form != ["--list"]:
        assert run(project, "plain", "bad", *form) == 1
    capsys.readouterr()


def test_a_skill_that_is_only_known_by_its_path_is_headed_by_it_once(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_suite(tmp_path / "elsewhere/pdf", {"a": "true"})
    for form in ([], ["--list"]):
        assert run(project, str(folder), *form) == 0
        assert capsys.readouterr().out.splitlines()[0] == str(folder)


def test_skills_without_tests_below_a_folder_are_no_matter(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what is named must have some."""
    skill(place(project, "plain"))
    write_suite(place(project), {"a": "true"})
    assert run(project) == 0
    assert "plain" not in capsys.readouterr().out


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_file_that_is_wrong_is_2_and_other_skills_are_run(
    form: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its place and what is wrong; it is worse than a case that fails."""
    bad = write_suite(place(project, "bad"), {"a": f"touch {project}/ran"})
    (bad / "tests/cases/b.yaml").write_text("name: b\ninput: {command: x}\nexpceted: {}\n")
    write_suite(place(project), {"a": "false"})
    assert run(project, *form) == 2
    out, err = capsys.readouterr()
    if form:
        rows = {one["name"]: one for one in json.loads(out)["skills"]}
        assert [item["line"] for item in rows["bad"]["findings"]] == [3]
        assert (rows["bad"]["cases"], len(rows["pdf"]["cases"])) == ([], 1)
    else:
        assert f"{bad}/tests/cases/b.yaml:3:1: error: " in out
        assert "did you mean `expected`?" in out
        assert err == "1 skill not tested: a test file is invalid\n"
    assert not (project / "ran").exists()
    assert run(project, "--list", *form) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--jobs", "0"], "`--jobs` must be 1 or more\n\nhint: leave it out to use all processors"),
        (
            ["--jobs", "x"],
            "`--jobs` must be a whole number, not 'x'\n\nhint: run `prowess test --help` for its options",
        ),
        (["--sandbox", "bwarp"], "unknown sandbox `bwarp`\n\nhint: did you mean `bwrap`?"),
        (["--sandbox", ""], "unknown sandbox ``\n\nhint: use one of auto, bwrap, seatbelt, none"),
        (["--case", "zz"], "unknown case `zz`\n\nhint: `prowess test --list` shows the cases"),
        (["--case", "cas"], "unknown case `cas`\n\nhint: did you mean `case`?"),
        (["pfd"], "no skill is called `pfd` for host `prowess`\n\nhint: did you mean `pdf`?"),
        (["./nowhere"], "no such file or folder: `{}/nowhere`\n\nhint: check the path"),
        (["--junit", "no/where.xml"], "`--junit`: no such folder: {}/no\n\nhint: create it first"),
        (["--junit", "."], "`--junit`: this is a folder: {}/.\n\nhint: name a file"),
    ],
)
def test_wrong_use_is_2(arguments: list[str], message: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do instead, nothing on stdout and, but for the last, nothing run."""
    write_suite(place(project), {"case": "true"})
    assert run(project, *arguments) == 2
    assert capsys.readouterr() == ("", f"error: {message.format(project)}\n")


@pytest.mark.parametrize("which", ["a", "01-a", "01-a.yaml"])
def test_one_case_is_chosen(which: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By name, stem or file."""
    write_suite(place(project), {"01-a": {"name": "a", "command": "true"}, "02": {"name": "b", "command": "false"}})
    assert run(project, "--case", which) == 0
    assert capsys.readouterr().out.endswith("  passed  a\n1 case: 1 passed\n")


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


def test_a_junit_report_replaces_a_longer_one(project: Path) -> None:
    write_suite(place(project), {"a": "true"})
    (project / "report.xml").write_text("x" * 10_000)
    assert run(project, "--junit", "report.xml") == 0
    ET.parse(project / "report.xml")  # noqa: S314 - what we wrote ourselves


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
    cases = {"a": "true", "b": "false", "c": f"touch {project}/began; M={mark} setsid sleep 600 & M={mark} sleep 600"}
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
        until = time.monotonic() + 20
        while not (project / "began").exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(getattr(signal, name))
        out, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert err == "interrupted: cases that are not listed did not finish\n"
    if form:
        data = json.loads(out)
        assert data["interrupted"]
        assert [case["status"] for case in data["skills"][0]["cases"]] == ["passed", "failed"]
    else:
        assert out.splitlines()[1:] == [
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
        until = time.monotonic() + 20
        while not (project / "began").exists() and time.monotonic() < until:
            time.sleep(0.02)
        for _ in range(5):
            process.send_signal(signal.SIGINT)
            time.sleep(0.03)
        _, err = process.communicate(timeout=20)
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
