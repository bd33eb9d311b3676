"""Each case runs in a fresh copy and a sandbox; results are in the order of the cases."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from prowess.cli import main
from prowess.errors import ConfigError, SkillNotFoundError
from prowess.sandbox import stop
from prowess.testing import CaseResult, SkillResult, TestReport, load_suite, run_tests
from prowess.testing._runner import find_suites, run_suites
from support.files import write_file
from support.growth import calls_at_most, ends
from support.processes import processes_end, wait_until
from support.skills import skill
from support.suites import require_backend, snapshot, write_suite

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


@pytest.fixture(params=["none", "bwrap"])
def sandbox(request: pytest.FixtureRequest) -> str:
    return require_backend(request.param)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files; nothing may be left there but what the whole process has."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def left(place: Path) -> list[str]:
    return [name for name in os.listdir(place) if not name.startswith("prowess-runtime-")]


def results_of(
    folder: Path, cases: dict[str, Any], config: dict[str, Any] | None = None, **named: Any
) -> dict[str, CaseResult]:
    """Run the cases of a new skill; return what became of each."""
    report = run_tests(write_suite(folder, cases, config), **{"sandbox": "none", **named})
    (found,) = report.skills
    assert found.findings == ()
    return {one.case.name: one for one in found.cases}


def statuses(results: dict[str, CaseResult]) -> dict[str, str]:
    return {name: result.status for name, result in results.items()}


# ── where a command runs ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_command_runs_in_the_root_of_a_fresh_copy(tmp_path: Path, sandbox: str) -> None:
    """Not in the skill itself, but all is there as it is in the skill, under its name."""
    folder = write_suite(tmp_path / "pdf", {"a": "pwd; ls; cat scripts/x; ls tests"})
    write_file(folder / "scripts/x", "hei\n")
    (result,) = run_tests(folder, sandbox=sandbox).skills[0].cases
    where, *rest = result.stdout.splitlines()
    assert where.endswith("/pdf")
    assert where != str(folder)
    assert rest == ["SKILL.md", "scripts", "hei"]
    assert "tests" in result.stderr


def test_cases_do_not_see_each_other(tmp_path: Path, sandbox: str) -> None:
    """Not in the copy, not in the home, and not in the temporary directory."""
    leave = 'for at in . "$HOME"; do test ! -e $at/mark || exit 9; touch $at/mark || exit 8; done'
    cases = {f"c{number}": leave for number in range(6)}
    for jobs in (1, 3):
        results = results_of(tmp_path / f"s{jobs}", cases, sandbox=sandbox, jobs=jobs)
        assert set(statuses(results).values()) == {"passed"}


SPOIL = """set -e
echo more >> SKILL.md; rm -r scripts/inner; chmod 000 scripts/x; mv assets old; ln -s /etc/passwd assets
mkdir -p deep/er && touch deep/er/file && chmod 500 deep/er && chmod 000 deep; mkfifo fifo; chmod 555 . ; chmod 500 ..
"""


def test_the_skill_stays_clean(tmp_path: Path, place: Path, sandbox: str) -> None:
    """Whatever a case writes, deletes, renames or locks: names, modes, times and bytes are what they were."""
    folder = write_suite(tmp_path / "pdf", {"a": SPOIL, "b": "test -d scripts/inner -a -d assets -a ! -e deep"})
    for inner in ("scripts/inner", "assets"):
        write_file(folder / inner / "file", "x")
    (folder / "scripts/x").write_text("x")
    before = snapshot(folder)
    results = run_tests(folder, sandbox=sandbox, jobs=1).skills[0].cases
    assert [result.status for result in results] == ["passed", "passed"]
    assert snapshot(folder) == before
    assert left(place) == []


def test_in_a_sandbox_the_skill_itself_is_hidden(tmp_path: Path) -> None:
    """And all other files of this user."""
    (tmp_path / "secret").write_text("secret")
    command = f"ls {tmp_path}; cat {tmp_path}/secret; touch {tmp_path}/new; touch {tmp_path}/pdf/new"
    (result,) = results_of(tmp_path / "pdf", {"a": command}, sandbox=require_backend("bwrap")).values()
    assert set(result.stdout.split()) <= {"tmp"}  # below which its own home is
    assert sorted(os.listdir(tmp_path)) == ["pdf", "secret", "tmp"]
    assert not (tmp_path / "pdf/new").exists()


def test_a_case_cannot_make_the_cleanup_remove_other_files(tmp_path: Path, sandbox: str) -> None:
    """It replaces folders of its copy by links; the cleanup removes only the links."""
    spoil = (
        f'rm -r scripts; ln -s {tmp_path}/pdf/scripts scripts; cd "$HOME"; mv pdf moved; ln -s {tmp_path}/pdf pdf; :'
    )
    folder = write_suite(tmp_path / "pdf", {"a": spoil})
    write_file(folder / "scripts/x", "x")
    before = snapshot(folder)
    assert run_tests(folder, sandbox=sandbox).counts["passed"] == 1
    assert snapshot(folder) == before


@pytest.mark.parametrize("name", ["python", "python3"])
def test_python_always_resolves(name: str, tmp_path: Path, sandbox: str) -> None:
    """They are the Python that runs Prowess, even if the skill sets PATH to something else."""
    for number, config in enumerate(({}, {"env": {"PATH": ""}}, {"env": {"PATH": "/nowhere"}})):
        command = f"{name} -c 'import sys; print(sys.version)'"
        (result,) = results_of(tmp_path / f"s{number}", {"a": command}, config, sandbox=sandbox).values()
        assert result.stdout == f"{sys.version}\n"


def test_an_empty_path_has_no_other_commands(tmp_path: Path, sandbox: str) -> None:
    """A missing command is reported."""
    (result,) = results_of(tmp_path / "s", {"a": "ls"}, {"env": {"PATH": ""}}, sandbox=sandbox).values()
    assert (result.status, result.exit_code) == ("failed", 127)
    assert result.failures[0].message == "the exit code is 127 (command not found), not 0"


def test_the_command_reads_the_stdin_of_the_case(tmp_path: Path, sandbox: str) -> None:
    """Byte by byte; also if the command does not read it, and if it is larger than a pipe's buffer."""
    text = "ä\n" * 50_000
    cases = {"a": {"command": "wc -c", "stdin": text}, "b": {"command": "true", "stdin": text}}
    results = results_of(tmp_path / "s", cases, sandbox=sandbox)
    assert results["a"].stdout.strip() == "150000"
    assert results["b"].status == "passed"


def test_a_command_has_the_variables_of_the_config_and_none_of_the_caller_s(
    tmp_path: Path, sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Besides those that every contained command has."""
    monkeypatch.chdir(tmp_path)  # a relative folder of the cache is in it
    for name in ("OPENAI_API_KEY", "PYTHONPATH", "LD_PRELOAD_DECOY", "PROWESS_CACHE_DIR", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "decoy")
    (result,) = results_of(
        tmp_path / "s", {"a": "env"}, {"env": {"GREETING": "hei ä", "EMPTY": ""}}, sandbox=sandbox
    ).values()
    env = dict(line.split("=", 1) for line in result.stdout.splitlines())
    assert (env.pop("GREETING"), env.pop("EMPTY")) == ("hei ä", "")
    assert set(env) - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "LANG", "HOME", "TMPDIR"}
    assert "decoy" not in result.stdout


# ── what becomes of a case ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["nowhere.csv", "../beside", "/etc/passwd", "linked"])
def test_a_file_that_is_not_there_is_an_error_and_not_a_failure(path: str, tmp_path: Path) -> None:
    """Nothing is run: what is tested is not what was meant to be."""
    (tmp_path / "beside").write_text("x")
    folder = write_suite(tmp_path / "s", {"a": {"command": f"touch {tmp_path}/ran", "files": ["SKILL.md", path]}})
    (folder / "linked").symlink_to("../beside")
    report = run_tests(folder, sandbox="none")
    (result,) = report.skills[0].cases
    assert (result.status, result.exit_code, result.failures[0].kind) == ("error", None, "files")
    assert path in result.failures[0].message
    assert report.exit_code == 1
    assert not (tmp_path / "ran").exists()


def test_a_time_out_is_its_own_status(tmp_path: Path, sandbox: str) -> None:
    """It has no exit code, keeps what was written, and nothing of it is left."""
    mark = f"mark-{tmp_path.name}-{sandbox}"
    cases = {"a": {"command": f"echo begun; M={mark} sleep 600 & M={mark} sleep 600", "exit-code": 143}}
    with ends():
        (result,) = results_of(tmp_path / "s", cases, {"timeout": 0.4}, sandbox=sandbox).values()
        assert (result.status, result.exit_code, result.stdout) == ("timeout", None, "begun\n")
        assert [failure.kind for failure in result.failures] == ["timeout"]
    assert processes_end(mark)


def test_processes_left_running_are_killed_and_the_case_counts(tmp_path: Path, sandbox: str) -> None:
    """Even if it keeps the output open, or has its own session."""
    mark = f"mark-{tmp_path.name}-{sandbox}"
    command = f"M={mark} sleep 600 & (M={mark} setsid sleep 600 >/dev/null 2>&1 &); echo done"
    (result,) = results_of(
        tmp_path / "s", {"a": {"command": command, "stdout-contains": ["done"]}}, sandbox=sandbox
    ).values()
    assert (result.status, result.exit_code) == ("passed", 0)
    assert result.duration < 10
    assert processes_end(mark)


def test_a_flood_is_cut_and_counts(tmp_path: Path) -> None:
    """The first MiB of each output is kept and searched; if more is cut off, `not-contains` fails."""
    flood = "head -c 30000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2; echo END"
    cases = {
        "a": {"command": f"echo BEGIN; {flood}", "stdout-contains": ["BEGIN"]},
        "b": {"command": flood, "stdout-contains": ["END"]},
        "c": {"command": flood, "not-contains": ["END"]},
        "d": {"command": flood, "stdout-json": [1]},
    }
    results = results_of(tmp_path / "s", cases, jobs=2)
    assert statuses(results) == {"a": "passed", "b": "failed", "c": "failed", "d": "failed"}
    assert {len(result.stdout) for result in results.values()} == {1024 * 1024}
    assert {len(result.stderr) for result in results.values()} == {1024 * 1024}


def test_many_floods_do_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all cases together so much is kept; of those after that only the first lines, but they are judged by all."""
    monkeypatch.setattr("prowess.testing._runner._MAX_OUTPUT_CHARS", 250_000)
    flood = {"command": "head -c 100000 /dev/zero | tr '\\0' x; echo END", "stdout-contains": ["END"]}
    results = results_of(tmp_path / "s", {f"c{number}": flood for number in range(5)})
    assert set(statuses(results).values()) == {"passed"}
    assert [len(result.stdout) for result in results.values()] == [100_004, 100_004, 4_000, 4_000, 4_000]


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def sparse(folder: Path) -> None:
    with (folder / "huge").open("wb") as file:
        file.truncate(11 * 1024**3)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (pipe, "cannot copy `pipe`: it is a FIFO (remove it from the skill)"),
        (sparse, "the skill has more than 20,000 files or 512 MiB (remove files that the tests do not need)"),
    ],
)
def test_a_skill_that_cannot_be_copied_is_an_error_of_each_case(spoil: Any, words: str, tmp_path: Path) -> None:
    """And no hang; it is looked at once, not once for each case."""
    folder = write_suite(tmp_path / "s", {f"c{number}": "true" for number in range(50)})
    spoil(folder)
    report = run_tests(folder, sandbox="none", jobs=2)
    assert report.counts["error"] == 50
    assert {failure.message for one in report.skills[0].cases for failure in one.failures} == {words}
    assert {failure.kind for one in report.skills[0].cases for failure in one.failures} == {"skill"}


# ── files that are wrong ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wrong", ["tests/test-config.json", "tests/cases/z.yaml"])
def test_with_an_invalid_test_file_no_case_of_the_skill_runs(wrong: str, tmp_path: Path) -> None:
    """Others are run."""
    bad = write_suite(tmp_path / "skills/bad", {"a": f"touch {tmp_path}/ran"})
    (bad / wrong).write_text("{")
    write_suite(tmp_path / "skills/good", {"a": "true"})
    report = run_tests(tmp_path / "skills", sandbox="none")
    assert [(one.name, len(one.findings), len(one.cases)) for one in report.skills] == [("bad", 1, 0), ("good", 0, 1)]
    assert report.exit_code == 2
    assert not (tmp_path / "ran").exists()


# ── which cases ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("which", ["first", "01-first", "01-first.yaml", "tests/cases/01-first.yaml"])
def test_a_case_is_chosen_by_name_stem_or_file(which: str, tmp_path: Path) -> None:
    """One case is run."""
    folder = write_suite(
        tmp_path / "s", {"01-first": {"name": "first", "command": "true"}, "02": {"name": "two", "command": "false"}}
    )
    report = run_tests(folder, case=which, sandbox="none")
    assert [one.case.name for one in report.skills[0].cases] == ["first"]


def test_a_name_wins_over_the_stem_of_another(tmp_path: Path) -> None:
    """So that each case can be chosen by what the report calls it."""
    folder = write_suite(tmp_path / "s", {"a": {"name": "b", "command": "true"}, "b": {"name": "c", "command": "true"}})
    for which, name in (("b", "b"), ("c", "c"), ("a", "b"), ("b.yaml", "c")):
        report = run_tests(folder, case=which, sandbox="none")
        assert [one.case.name for one in report.skills[0].cases] == [name]


def test_a_case_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """With what may have been meant."""
    write_suite(tmp_path / "s", {"first": "true"})
    with pytest.raises(SkillNotFoundError, match="unknown case `frist`") as caught:
        run_tests(tmp_path, case="frist", sandbox="none")
    assert caught.value.hint == "did you mean `first`?"
    with pytest.raises(SkillNotFoundError) as caught:
        run_tests(tmp_path, case="zzz", sandbox="none")
    assert caught.value.hint == "`prowess test --list` shows the cases"


def test_a_case_of_many_skills_is_run_in_those_that_have_it(tmp_path: Path) -> None:
    """Skills without the case are left out; skills with findings are not, because it may be theirs."""
    write_suite(tmp_path / "a", {"x": "true", "y": "true"})
    write_suite(tmp_path / "b", {"y": "true"})
    write_suite(tmp_path / "c", {"x": "true"}, {"timeout": 0})
    report = run_tests(tmp_path, case="x", sandbox="none")
    assert [(one.name, len(one.cases), len(one.findings)) for one in report.skills] == [("a", 1, 0), ("c", 0, 1)]


def test_there_must_be_such_a_path_and_such_a_sandbox(tmp_path: Path) -> None:
    """Both are wrong use, before anything is run."""
    with pytest.raises(SkillNotFoundError, match="no such file or folder: `"):
        run_tests(tmp_path / "nowhere")
    write_suite(tmp_path / "s", {"a": f"touch {tmp_path}/ran"})
    with pytest.raises(ConfigError, match="unknown sandbox `bwarp`") as caught:
        run_tests(tmp_path, sandbox="bwarp")
    assert caught.value.hint == "did you mean `bwrap`?"
    assert not (tmp_path / "ran").exists()


def test_a_skill_that_is_named_twice_is_run_once(tmp_path: Path) -> None:
    """By its folder and by the one above it."""
    folder = write_suite(tmp_path / "s", {"a": "true"})
    assert run_tests([folder, tmp_path, str(folder / "SKILL.md")], sandbox="none").counts["cases"] == 1


def test_skills_without_tests_are_left_out(tmp_path: Path) -> None:
    """A report is of what was tested."""
    skill(tmp_path / "plain")
    write_suite(tmp_path / "empty", {})
    assert run_tests(tmp_path, sandbox="none") == TestReport()
    assert find_suites(str(tmp_path)) == []


# ── several at once, and the end ─────────────────────────────────────────────────────────────────────────────────────


def shape(report: TestReport) -> list[Any]:
    """Return a report without what depends on the time."""
    return [
        (one.name, one.path, [one.with_changes(duration=0.0) for one in one.cases], one.findings)
        for one in report.skills
    ]


def test_jobs_change_nothing_but_the_time(tmp_path: Path) -> None:
    """One, two or eight at once: the same report in the same order, whichever ends first."""
    for name in ("a", "b"):
        cases = {f"{number}": f"sleep 0.0{number % 3}; echo {number}; exit {number % 2}" for number in range(12)}
        write_suite(tmp_path / name, cases)
    reports = [run_tests(tmp_path, jobs=jobs, sandbox="none") for jobs in (1, 2, 8)]
    assert shape(reports[0]) == shape(reports[1]) == shape(reports[2])
    assert [one.case.name for one in reports[0].skills[0].cases] == [str(number) for number in range(12)]
    assert reports[0].counts == {"skills": 2, "cases": 24, "passed": 12, "failed": 12, "error": 0, "timeout": 0}


def test_jobs_are_at_once_and_no_more_of_them(tmp_path: Path) -> None:
    """Three of six: each sees how many others are there."""
    (tmp_path / "now").mkdir()
    command = f"touch {tmp_path}/now/$$; sleep 0.3; ls {tmp_path}/now | wc -l; sleep 0.1; rm {tmp_path}/now/$$"
    results = results_of(tmp_path / "s", {f"c{number}": command for number in range(6)}, jobs=3)
    assert 2 <= max(int(result.stdout) for result in results.values()) <= 3


def test_after_the_first_that_has_not_passed_none_is_begun(tmp_path: Path) -> None:
    """With `fail_fast`; the cases that ran are reported."""
    cases = {"a": "true", "b": "false", "c": f"touch {tmp_path}/ran"}
    report = run_tests(write_suite(tmp_path / "s", cases), fail_fast=True, sandbox="none")
    assert [one.status for one in report.skills[0].cases] == ["passed", "failed"]
    assert not report.interrupted
    assert not (tmp_path / "ran").exists()


def test_progress_is_reported_in_the_calling_thread(tmp_path: Path) -> None:
    """Each case once, all of them before the end."""
    seen: list[tuple[str, str, bool]] = []

    def progress(one: SkillResult, result: CaseResult) -> None:
        seen.append((one.name, result.case.name, threading.current_thread() is threading.main_thread()))

    run_tests(write_suite(tmp_path / "s", {"a": "true", "b": "false"}), progress=progress, jobs=2, sandbox="none")
    assert sorted(seen) == [("s", "a", True), ("s", "b", True)]


def test_an_error_of_progress_ends_all(tmp_path: Path, place: Path) -> None:
    """It is raised, and nothing runs any more."""
    mark = f"mark-{tmp_path.name}"

    def progress(*_: object) -> None:
        raise ZeroDivisionError

    folder = write_suite(tmp_path / "s", {"a": "true", "b": f"M={mark} sleep 600", "c": f"M={mark} sleep 600"})
    with pytest.raises(ZeroDivisionError):
        run_tests(folder, progress=progress, jobs=2, sandbox="none")
    assert processes_end(mark)
    assert left(place) == []


def test_a_bug_in_a_thread_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not lost with the thread."""
    monkeypatch.setattr("prowess.testing._runner.failures", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_tests(write_suite(tmp_path / "s", {"a": "true"}), sandbox="none")


def test_a_run_may_be_in_any_thread(tmp_path: Path) -> None:
    """Only the main thread gets signals."""
    folder = write_suite(tmp_path / "s", {"a": "true"})
    found: list[TestReport] = []
    thread = threading.Thread(target=lambda: found.append(run_tests(folder, sandbox="none")))
    thread.start()
    thread.join()
    assert found[0].counts["passed"] == 1


@pytest.mark.parametrize("jobs", [1, 4])
def test_an_interrupted_run_reports_finished_cases(jobs: int, tmp_path: Path, place: Path) -> None:
    """A running case is not reported as finished, and nothing of it is left."""
    mark = f"mark-{tmp_path.name}-{jobs}"
    cases = {
        "a": "true",
        "b": "false",
        **{f"c{n}": f"touch {tmp_path}/began{n}; M={mark} sleep 600 & M={mark} sleep 600" for n in range(9)},
    }
    folder = write_suite(tmp_path / "s", cases)

    def interrupt() -> None:
        wait_until(lambda: len([*tmp_path.glob("began*")]) == jobs)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    report = run_tests(folder, jobs=jobs, sandbox="none")
    thread.join()
    assert report.interrupted
    assert [(one.case.name, one.status) for one in report.skills[0].cases] == [("a", "passed"), ("b", "failed")]
    assert processes_end(mark)
    assert left(place) == []


# ── where nothing contains a command ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without bwrap, and a skill."""
    if sys.platform != "linux":
        pytest.skip("bwrap is of Linux")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    return write_suite(tmp_path / "s", {"a": f"touch {tmp_path}/ran", "b": "true"})


def test_without_a_sandbox_an_untrusted_skill_is_refused(bare: Path) -> None:
    """With the reason and the remedy; it is an error of its cases, and nothing is run."""
    report = run_tests(bare, jobs=2)
    assert [one.status for one in report.skills[0].cases] == ["error", "error"]
    assert {failure.as_dict()["kind"] for one in report.skills[0].cases for failure in one.failures} == {"sandbox"}
    assert report.skills[0].cases[0].failures[0].message == (
        "no sandbox available: `bwrap` is not on PATH (install bubblewrap "
        "(`apt install bubblewrap`), or review the skill and, if you trust it, type `--sandbox none`)"
    )
    assert not (bare.parent / "ran").exists()


def test_without_a_sandbox_a_trusted_skill_runs_until_it_changes(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trust is for these files only."""
    assert main(["trust", str(bare), "--yes"]) == 0
    assert run_tests(bare).counts["passed"] == 2
    (bare / "scripts").mkdir()
    (bare / "scripts/x").touch()
    assert run_tests(bare).counts["error"] == 2
    capsys.readouterr()


def test_without_a_sandbox_only_trusted_bytes_run(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not a case that was exchanged while it was read, and not a skill that changed since."""
    case, good = bare / "tests/cases/a.yaml", (bare / "tests/cases/a.yaml").read_text()
    assert main(["trust", str(bare), "--yes"]) == 0
    case.write_text(good.replace("ran", "evil"))
    suites = find_suites(str(bare))
    case.write_text(good)
    report = run_suites(suites, jobs=1)
    assert {one.case.name: one.status for one in report.skills[0].cases} == {"a": "error", "b": "passed"}
    assert "`tests/cases/a.yaml` changed" in report.skills[0].cases[0].failures[0].message
    assert not (bare.parent / "evil").exists()
    suites = find_suites(str(bare))
    (bare / "scripts").mkdir()
    assert run_suites(suites).counts["error"] == 2
    capsys.readouterr()


def test_trust_does_not_replace_a_sandbox_that_was_requested(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`bwrap` is bwrap; `none` needs no trust."""
    assert main(["trust", str(bare), "--yes"]) == 0
    assert run_tests(bare, sandbox="bwrap").counts["error"] == 2
    assert run_tests(bare, sandbox="none").counts["passed"] == 2
    capsys.readouterr()


def test_no_file_of_a_project_can_turn_the_sandbox_off(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by a program called bwrap, and not by a variable in its config."""
    (bare / "bwrap").write_text("#!/bin/sh\nexit 7\n")
    (bare / "bwrap").chmod(0o755)
    (bare / "tests/test-config.json").write_text('{"version": 1, "env": {"PATH": ".", "PROWESS_SANDBOX": "none"}}')
    assert run_tests(bare).counts["error"] == 2
    monkeypatch.chdir(bare)
    monkeypatch.setenv("PATH", ".:")
    assert run_tests(bare).counts["error"] == 2


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_report_is_in_the_shape_of_the_json(tmp_path: Path) -> None:
    """`skills` with their cases, and `counts`."""
    folder = write_suite(tmp_path / "s", {"a": {"command": "echo out; echo err >&2; exit 3", "stdout-contains": ["x"]}})
    report = run_tests(folder, sandbox="none").as_dict()
    skills: Any = report["skills"]
    ((case,),) = (one["cases"] for one in skills)
    assert isinstance(case.pop("duration"), float)
    assert report == {
        "skills": [
            {
                "name": "s",
                "path": str(folder),
                "cases": [
                    {
                        "name": "a",
                        "file": "tests/cases/a.yaml",
                        "status": "failed",
                        "exit_code": 3,
                        "failures": [
                            {"kind": "exit-code", "message": "the exit code is 3, not 0"},
                            {"kind": "stdout-contains", "message": "stdout does not contain `x`"},
                        ],
                        "stdout": "out\n",
                        "stderr": "err\n",
                    }
                ],
                "findings": [],
            }
        ],
        "interrupted": False,
        "counts": {"skills": 1, "cases": 1, "passed": 0, "failed": 1, "error": 0, "timeout": 0},
    }


def test_without_cases_no_thread_starts(tmp_path: Path) -> None:
    """And is not an error."""
    assert run_suites([], sandbox="none") == TestReport()
    assert run_suites([load_suite(write_suite(tmp_path / "s", {}))], sandbox="none").counts["cases"] == 0


# ── what it costs, counted ───────────────────────────────────────────────────────────────────────────────────────────


def test_commands_share_the_processes_that_watch_over_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs start two of them, however many cases there are."""
    stop()
    started: list[object] = []
    real = os.posix_spawn

    def counting(*given: Any, **named: Any) -> int:
        started.append(given[1])
        return real(*given, **named)

    monkeypatch.setattr(os, "posix_spawn", counting)
    results_of(tmp_path / "s", {f"c{number}": "true" for number in range(40)}, jobs=2)
    assert len(started) == 2


@pytest.mark.slow
def test_a_case_makes_two_folders_and_asks_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a trivial case more costs in this process: its home, its copy, and what is in it."""
    counts: dict[str, int] = {}
    for name in ("mkdir", "rmdir", "open", "unlink", "scandir", "symlink", "chmod"):
        real = getattr(os, name)

        def counting(*given: Any, _name: str = name, _real: Any = real, **named: Any) -> Any:
            counts[_name] = counts.get(_name, 0) + 1
            return _real(*given, **named)

        monkeypatch.setattr(os, name, counting)
    found = []
    for number in (1, 20, 60):  # the first run also makes what all commands share
        (one,) = find_suites(str(write_suite(tmp_path / f"s{number}", {f"c{n}": "true" for n in range(number)})))
        counts.clear()
        assert run_suites([one], sandbox="none").counts["passed"] == number
        found.append(dict(counts))
    each = {name: (found[2].get(name, 0) - found[1].get(name, 0)) / 40 for name in found[2]}
    assert {name: times for name, times in each.items() if times} == {"mkdir": 2, "rmdir": 2, "open": 3, "unlink": 1}


@pytest.mark.slow
def test_the_calling_thread_is_not_woken_for_each_case(tmp_path: Path) -> None:
    """The caller's thread looks twenty times a second."""
    folder = write_suite(tmp_path / "s", {f"c{number}": "true" for number in range(200)})
    with calls_at_most(400_000):
        assert run_tests(folder, sandbox="none", jobs=2).counts["passed"] == 200


def test_a_killed_run_leaves_nothing_running(tmp_path: Path) -> None:
    """The supervisor of a command notices that its caller has ended."""
    mark = f"mark-{tmp_path.name}"
    folder = write_suite(
        tmp_path / "s",
        {"a": f"M={mark} sleep 600; touch {tmp_path}/never", "b": f"touch {tmp_path}/began; M={mark} sleep 600"},
    )
    code = f"from prowess.testing import run_tests; run_tests({str(folder)!r}, sandbox='none', jobs=2)"
    source = str(Path(__file__).parents[2] / "src")
    with subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": source}) as process:
        wait_until((tmp_path / "began").exists)
        process.kill()
    assert processes_end(mark)
    assert not (tmp_path / "never").exists()


def test_the_folder_of_a_case_is_private_and_removed(tmp_path: Path, place: Path) -> None:
    """While a case runs, only its user has access."""
    (result,) = results_of(tmp_path / "s", {"a": 'stat -c "%a" "$HOME"'}).values()
    assert stat.S_IMODE(int(result.stdout, 8)) == 0o700
    assert left(place) == []
