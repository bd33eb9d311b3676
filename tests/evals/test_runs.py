"""Runs of a program with the skill and without it, and how they are graded."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess import sandbox
from prowess.cli import main
from prowess.errors import ConfigError
from prowess.evals import (
    Arms,
    Command,
    Grader,
    Outcome,
    Ran,
    _agents,
    _grade,
    _runs,
    judge_runs,
    make_plan,
    read_evals,
    run_pairs,
)
from prowess.evals._grade import grade, grade_all
from support.git_server import git
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

SKILL = ".agents/skills/greet"
ANY_PYTHON = {"type": "file-exists", "path": "*.py"}
AGENT = f"if [ -f {SKILL}/SKILL.md ]; then echo good day; else echo hi; fi"


def evals_of(top: Path, cases: list[dict[str, Any]], files: dict[str, str] | None = None) -> Any:
    """Return the evals of a skill with some cases and files."""
    folder = top / "greet"
    skill(folder)
    for name, text in {**(files or {}), "evals/evals.json": json.dumps({"evals": cases})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    evals = read_evals(str(folder))
    assert evals.findings == ()
    return evals


def cases(count: int, **more: Any) -> list[dict[str, Any]]:
    expected = [{"type": "contains", "value": "good day"}]
    return [{"prompt": f"Greet {number}", "assertions": expected, **more} for number in range(count)]


def evaluate(command: str, evals: Any, runs: int, seed: int = 0, *, other: str | None = None, **limits: Any) -> Outcome:
    """Return what the runs of a command show."""
    plan = make_plan(evals, runs, seed, other=other)
    return judge_runs(plan, run_pairs(Command(command), Arms(evals, other), plan, **limits))


def passes(graders: list[Grader], ran: Ran, folder: str, skill: str) -> bool:
    return all(grade(graders, ran, folder, skill))


def test_a_skill_that_changes_the_result_helps(tmp_path: Path) -> None:
    """Eleven pairs in a row are enough, of whatever is planned."""
    outcome = evaluate(AGENT, evals_of(tmp_path, cases(8)), 5, 0)
    assert (outcome.pairs.verdict, outcome.cases.verdict) == ("helps", "helps")
    assert (outcome.pairs.won, outcome.planned, outcome.done, outcome.installed) == (11, 40, 22, 11)


def test_each_pair_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ran before."""
    looks = []
    monkeypatch.setattr(_runs, "is_shown_early", lambda *counts, **_: looks.append(counts))
    evaluate(AGENT, evals_of(tmp_path, cases(4)), 2)
    assert looks == [(number, 0) for number in range(1, 9)]


def test_a_skill_that_changes_nothing_shows_no_difference(tmp_path: Path) -> None:
    """With as many pairs as can show one; the answers are the same in both arms."""
    outcome = evaluate("cat", evals_of(tmp_path, cases(7)), 7, 0)
    assert (outcome.pairs.verdict, outcome.pairs.tied) == ("no-difference-shown", 49)
    assert outcome.cases.verdict == "not-enough-runs"
    outcome = evaluate("cat", evals_of(tmp_path, cases(2)), 2, 0)
    assert (outcome.pairs.verdict, outcome.pairs.more) == ("not-enough-runs", 45)


def test_each_run_has_fresh_files_and_nothing_of_the_user(tmp_path: Path) -> None:
    """What a run changes, the next one does not see; its own cases are hidden."""
    log = tmp_path / "log"
    program = (
        f"cat > prompt; (find . -type f | sort; cat evals/in.txt; echo HOME=$HOME; env) >> {log}; "
        f"echo changed > evals/in.txt; rm -rf {SKILL}; echo x >> $HOME/old; cat $HOME/old"
    )
    files = {"evals/in.txt": "fresh\n", "scripts/a.sh": "#!/bin/sh\n"}
    graded = cases(1, files=["evals/in.txt"])
    outcome = evaluate(program, evals_of(tmp_path, graded, files), 3, 0)
    assert outcome.done == 6
    lines = log.read_text().splitlines()
    assert lines.count("fresh") == 6
    assert "changed" not in lines
    found = {line for line in lines if line.startswith("./")}
    assert found == {"./evals/in.txt", "./prompt", f"./{SKILL}/SKILL.md", f"./{SKILL}/scripts/a.sh"}
    assert lines.count(f"./{SKILL}/SKILL.md") == 3
    homes = {line for line in lines if line.startswith("HOME=")}
    assert len(homes) == 6
    assert f"HOME={os.path.expanduser('~')}" not in homes
    assert not any(os.path.exists(home.removeprefix("HOME=")) for home in homes)


def test_nothing_of_a_run_outlives_it(tmp_path: Path) -> None:
    """Also in a session of its own; and what it prints is bounded."""
    pids = tmp_path / "pids"
    left = f"setsid sh -c 'echo $$ >> {pids}; echo 1 > begun; exec sleep 600' >/dev/null 2>&1"
    program = f"({left} &); until [ -s begun ]; do :; done; head -c 3000000 /dev/zero"
    outcome = evaluate(program, evals_of(tmp_path, cases(1)), 1, 0)
    assert (outcome.done, outcome.failed) == (2, 0)
    ended = pids.read_text().split()
    assert len(ended) == 2
    assert not any(is_alive(int(pid)) for pid in ended)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_run_that_fails_is_no_pair(tmp_path: Path) -> None:
    """And its reason is kept; it is no failed case."""
    outcome = evaluate(f"[ -d {SKILL} ] || {{ echo out of credit >&2; exit 3; }}", evals_of(tmp_path, cases(2)), 2)
    assert (outcome.done, outcome.failed, outcome.pairs.difference) == (4, 4, None)
    assert (outcome.first_failure, outcome.pairs.verdict) == ("out of credit", "not-enough-runs")


def test_a_failed_run_does_not_take_the_end_from_the_plan(tmp_path: Path) -> None:
    """The pairs that ended are judged as planned, at the end of the plan alone."""
    log = tmp_path / "log"
    log.write_text("")
    # One pair loses a run; six pairs in a row are enough at the end, and not before it.
    program, evals = f"echo >> {log}; test $(wc -l < {log}) -ne 3 || exit 1; {AGENT}", evals_of(tmp_path, cases(7))
    outcome = evaluate(program, evals, 1)
    assert (outcome.failed, outcome.done, outcome.planned) == (1, 13, 7)
    assert (outcome.pairs.verdict, outcome.pairs.won) == ("helps", 6)
    log.write_text("")
    outcome = evaluate(program, evals, 2, most=14)
    assert (outcome.failed, outcome.pairs.verdict, outcome.pairs.won) == (1, "not-enough-runs", 6)


@pytest.mark.parametrize("folder", [".", "$HOME"])
def test_a_run_that_writes_too_much_fails(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its folder, or in its home."""
    monkeypatch.setattr(_agents, "MOST_RUN_FILES", 50)
    program = f"cd {folder}; for n in $(seq 200); do echo > $n; done; echo good day; sleep 600"
    outcome = evaluate(program, evals_of(tmp_path, cases(1)), 1, 0)
    assert (outcome.done, outcome.failed) == (0, 2)
    assert outcome.first_failure == "it wrote too many files, or too large ones"
    assert evaluate("for n in $(seq 20); do echo > $n; done", evals_of(tmp_path, cases(1)), 1, 0).failed == 0


def test_a_run_that_is_cut_off_by_the_time_of_all_does_not_count(tmp_path: Path) -> None:
    """Neither as done nor as failed, and no further pair begins."""
    log = tmp_path / "log"
    outcome = evaluate(f"echo begun >> {log}; sleep 600", evals_of(tmp_path, cases(3)), 3, 0, seconds=1)
    assert (outcome.done, outcome.failed, outcome.installed, outcome.planned) == (0, 0, 0, 9)
    assert outcome.pairs.verdict == "not-enough-runs"
    assert not log.exists() or log.read_text() == "begun\n"


def test_the_order_follows_the_seed(tmp_path: Path) -> None:
    """Of the cases and of the arms; each run has its number."""
    evals, orders = evals_of(tmp_path, cases(6)), list[list[str]]()
    for seed in (1, 1, 2):
        log = tmp_path / f"log{len(orders)}"
        evaluate(f"(cat; echo; test -d {SKILL}; echo $? $PROWESS_RUN_SEED) >> {log}", evals, 2, seed, most=20)
        orders.append(log.read_text().splitlines())
    assert orders[0] == orders[1] != orders[2]
    assert len(orders[0]) == 40
    assert [line.split()[1] for line in orders[0][1::2]] == [str(number // 2) for number in range(20)]
    assert {line.split()[0] for line in orders[0][1::4]} == {"0", "1"}


@pytest.mark.parametrize("place", [SKILL, ".claude/skills/hello"])
def test_a_case_that_brings_the_skill_is_refused_before_the_first_run(place: str, tmp_path: Path) -> None:
    """The arm without the skill would have it after all."""
    bring = [{"path": f"{place}/SKILL.md", "content": "---\nname: greet\ndescription: A copy.\n---\nDo it.\n"}]
    with pytest.raises(ConfigError, match="is found in"):
        Arms(evals_of(tmp_path, [*cases(1), *cases(1, files=bring)]))
    assert not (tmp_path / "ran").exists()


def test_a_skill_that_no_agent_would_load_is_refused(tmp_path: Path) -> None:
    evals = evals_of(tmp_path, cases(1))
    (tmp_path / "greet/SKILL.md").write_text("---\nname: greet\n---\nDo it.\n")
    with pytest.raises(ConfigError, match="an agent would not load `greet`"):
        Arms(evals)


def test_files_that_do_not_fit_into_one_folder_are_an_error(tmp_path: Path) -> None:
    """Whatever they are called; nothing runs."""
    for paths in (["a", "a/b"], [".agents"], ["."], ["a\0b"]):
        files = [{"path": path, "content": "x"} for path in paths]
        with pytest.raises(ConfigError, match="the files of case `1` cannot be written"):
            Arms(evals_of(tmp_path / str(len(paths)), cases(1, files=files)))


def test_a_skill_is_compared_with_an_older_version(tmp_path: Path) -> None:
    """And refused if both are the same."""
    evals = evals_of(tmp_path, cases(8), {"words.txt": "good day\n"})
    old = tmp_path / "old"
    skill(old, name="greet")
    (old / "words.txt").write_text("hi\n")
    (old / "evals").mkdir()
    (old / "evals/evals.json").write_text("[]")
    outcome = evaluate(f"cat {SKILL}/words.txt; ls {SKILL}", evals, 2, other=str(old))
    assert (outcome.pairs.verdict, outcome.pairs.won, outcome.failed) == ("helps", 11, 0)
    (old / "words.txt").write_text("good day\n")
    (old / "SKILL.md").write_bytes((tmp_path / "greet/SKILL.md").read_bytes())
    with pytest.raises(ConfigError, match="the files of both versions are the same"):
        Arms(evals, str(old))


@pytest.mark.needs("git")
def test_a_skill_is_compared_with_an_older_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of that name wins; which of both it is, is a message."""
    evals_of(tmp_path, cases(6), {"words.txt": "hi\n"})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "1")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    (tmp_path / "greet/words.txt").write_text("good day\n")
    monkeypatch.chdir(tmp_path)
    line = ["eval", "./greet", "--runs", "2", "--via", f"cat {SKILL}/words.txt", "--json", "--against"]
    assert main([*line, "HEAD"]) == 0
    captured = capsys.readouterr()
    assert f"`--against` is the commit {commit}" in captured.err
    data = json.loads(captured.out)
    assert (data["plan"]["arms"], data["helps"]["on_these_cases"]) == (["with", "against"], "helps")
    assert main([*line, "HEAD~7"]) == 2
    assert "no such folder, and the repository has no commit `HEAD~7`" in capsys.readouterr().err
    skill(tmp_path / "HEAD", name="greet")
    assert main([*line, "HEAD"]) == 0
    assert f"is the folder {tmp_path}/HEAD" in capsys.readouterr().err


def test_both_arms_can_have_the_other_skills_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One arm lacks only the skill that is evaluated; files of the others are no output."""
    log = tmp_path / "log"
    top = tmp_path / "skills"
    evals_of(top, [*cases(1), {"prompt": "Write", "assertions": [ANY_PYTHON]}], {"scripts/a.py": ""})
    for name in ("wave", "nod"):
        skill(top / name)
    (top / "nod/b.py").write_text("")
    (top / "nod/evals").mkdir()
    (top / "nod/evals/evals.json").write_text("[]")
    monkeypatch.chdir(tmp_path)
    assert main(["eval", "skills/greet", "--all", "--runs", "1", "--via", f"ls -R .agents >> {log}", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["plan"]["neighbours"], data["helps"]["pairs"]["tied"]) == (2, 2)
    lines = log.read_text().splitlines()
    assert (lines.count("greet"), lines.count("wave"), lines.count("nod"), lines.count("evals")) == (2, 4, 4, 0)
    alone = make_plan(read_evals(str(top / "greet")), 1, 0)
    assert data["plan"]["digest"] != alone.digest
    skill(top / "more/wave")
    assert main(["eval", "skills/greet", "--all", "--via", "cat"]) == 2
    assert "two skills have a folder with the same name" in capsys.readouterr().err


def test_files_of_cases_are_hidden_wherever_they_are(tmp_path: Path) -> None:
    """In both arms, also if the older version has them."""
    evals_of(tmp_path, cases(1))
    old, log = tmp_path / "old", tmp_path / "log"
    for folder in (tmp_path / "greet", old):
        skill(folder, name="greet")
        (folder / "tests").mkdir()
        for name in ("mine.json", "data.json"):
            (folder / "tests" / name).write_text(json.dumps({"evals": cases(1)}))
    (old / "words.txt").write_text("hi")
    for top in (tmp_path / "greet", old):
        evals = read_evals(str(tmp_path / "greet"), str(top / "tests/mine.json"))
        log.write_text("")
        evaluate(f"ls {SKILL} {SKILL}/tests >> {log}", evals, 1, other=str(old))
        assert log.read_text().split().count("data.json") == 2
        assert "mine.json" not in log.read_text()


def test_a_skill_does_not_differ_from_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both arms have it; without a command there is nothing to compare."""
    evals_of(tmp_path, cases(7))
    monkeypatch.chdir(tmp_path)
    assert main(["eval", "./greet", "--null", "--via", AGENT, "--runs", "7", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["plan"]["arms"] == ["with", "with"]
    assert (data["helps"]["on_these_cases"], data["helps"]["pairs"]["tied"]) == ("no-difference-shown", 49)
    for options in (["--null"], ["--all"], ["--against", "greet"], ["--null", "--against", "greet", "--via", "cat"]):
        assert main(["eval", "./greet", *options]) == 2
    assert main(["eval", "./greet", "--against", "missing", "--via", "cat"]) == 2
    assert "no such folder, and " in capsys.readouterr().err
    assert main(["eval", "./greet", "--against", ".", "--via", "cat"]) == 2
    assert "no skill in" in capsys.readouterr().err


def test_cases_for_a_judge_alone_cannot_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evals_of(tmp_path, [{"prompt": "Greet", "assertions": ["It is polite"]}])
    monkeypatch.chdir(tmp_path)
    assert main(["eval", "./greet", "--via", "true"]) == 2
    assert "no case has a grader that needs no judge" in capsys.readouterr().err


OUTPUT = "Total: 12\nGood day\n"
GRADES = [
    ("output-contains", {"text": "Good day"}, True),
    ("output-contains", {"text": "good day"}, False),
    ("output-not-contains", {"text": "Bad"}, True),
    ("output-matches", {"text": r"Total: \d+"}, True),
    ("output-matches", {"text": r"(?<sum>\d\d)"}, True),
    ("output-matches", {"text": r"^Good"}, False),
    ("output-not-matches", {"text": r"Total: \d+"}, False),
    ("file-exists", {"path": "out/*.txt"}, True),
    ("file-exists", {"path": "*.pdf"}, False),
    ("file-not-exists", {"path": "*.pdf"}, True),
    ("file-contains", {"path": "out/a.txt", "text": "Ada"}, True),
    ("file-contains", {"path": "missing", "text": "Ada"}, False),
    ("file-not-contains", {"path": "out/a.txt", "text": "Ada"}, False),
    ("file-matches", {"path": "out/*", "text": "A.a"}, True),
    ("file-matches", {"path": "link", "text": "root"}, False),
    ("file-not-matches", {"path": "out/*", "text": "Bob"}, True),
    ("exit-success", {}, True),
    ("expected", {"config": {"stdout_contains": ("Good day",), "exit_code": 0}}, True),
    ("expected", {"config": {"not_contains": ("Good day",), "exit_code": 0}}, False),
]


def result(stdout: str) -> Ran:
    return Ran(answer=stdout.encode())


@pytest.mark.parametrize(("kind", "fields", "passed"), GRADES)
def test_a_run_is_graded_by_code(kind: str, fields: dict[str, Any], passed: bool, tmp_path: Path) -> None:
    """What it printed, and the regular files that it left."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.txt").write_text("Ada\n")
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert passes([Grader(kind=kind, **fields)], result(OUTPUT), str(tmp_path), SKILL) is passed


def test_a_run_without_an_answer_does_not_succeed(tmp_path: Path) -> None:
    assert not passes([Grader(kind="exit-success")], result(" \n"), str(tmp_path), SKILL)


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    [
        (r"(?<=: )(?<sum>\d+)", "Total: 12", True),
        (r"(?<!: )(?<sum>12)", "Total: 12", False),
        (r"a\(?<b", "a(<b", True),  # an escaped parenthesis, and one that may be missing
        (r"[(?<x]=P", "x=P", True),
        (r"^[(?<x]$", "P", False),
    ],
)
def test_a_pattern_that_is_valid_can_run(pattern: str, text: str, is_found: bool, tmp_path: Path) -> None:
    """Names of groups beside lookbehinds, and what only looks like a name."""
    assertions = [{"type": "regex", "pattern": pattern}]
    (case,) = evals_of(tmp_path, [{"prompt": "Add", "assertions": assertions}]).cases
    assert passes(case.graders, result(text), str(tmp_path / "greet"), SKILL) is is_found


def test_each_file_is_searched_alone(tmp_path: Path) -> None:
    """The start and the end of a pattern are those of each file."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name}{name}")
    for pattern, is_found in (("^bb$", True), ("a.?b", False), ("^aabb$", False)):
        grader = Grader(kind="file-matches", path="*", text=f"(?s){pattern}")
        assert passes([grader], result(""), str(tmp_path), SKILL) is is_found


def test_a_file_of_the_skill_is_no_output(tmp_path: Path) -> None:
    """Only one arm has it."""
    graded = [{"prompt": f"Write {number}", "assertions": [ANY_PYTHON]} for number in range(7)]
    evals = evals_of(tmp_path, graded, {"scripts/a.py": "pass\n"})
    outcome = evaluate("true", evals, 2, 0)
    assert (outcome.pairs.won, outcome.pairs.tied) == (0, 14)
    outcome = evaluate(f"cp {SKILL}/scripts/a.py b.py || true", evals, 2, 0)
    assert outcome.pairs.verdict == "helps"


def test_a_folder_that_a_program_replaced_by_a_link_has_no_files(tmp_path: Path) -> None:
    """Nothing outside is graded or kept."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.py").touch()
    evals = evals_of(tmp_path, cases(1, assertions=[ANY_PYTHON, {"type": "command", "command": "test -e a.py"}]))
    program = f'mv "$PWD" "$PWD.old"; ln -s {tmp_path}/outside "$PWD"'
    plan = make_plan(evals, 1, 0)
    for run in run_pairs(Command(program), Arms(evals), plan):
        assert (run.ran.failure, run.grades) == ("", (False, False))


def test_a_pattern_that_takes_too_long_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it should be found or not."""
    monkeypatch.setattr(_grade, "_PATTERN_SECONDS", 0.5)
    for kind in ("output-matches", "output-not-matches"):
        slow = [Grader(kind=kind, text="(a+)+$")]
        assert not passes(slow, result("a" * 60 + "!"), str(tmp_path), SKILL)


def test_the_patterns_of_many_runs_are_searched_by_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that takes too long, or ends the program, fails alone."""
    programs: list[object] = []

    def counted(*args: Any, **named: Any) -> Any:
        programs.append(args)
        return sandbox.run(*args, **named)

    monkeypatch.setattr(_grade, "run", counted)
    monkeypatch.setattr(_grade, "_PATTERN_SECONDS", 0.5)
    plain, slow = Grader(kind="output-matches", text="^[0-4]$"), Grader(kind="output-not-matches", text="(a+)+$")
    runs: list[Any] = [((plain,), result(str(number)), {}) for number in range(8)]
    runs.insert(5, ((slow, plain), result("a" * 60 + "!"), {}))
    expected = [(True,)] * 5 + [(False, False)] + [(False,)] * 3
    assert [*grade_all(runs)] == expected
    assert len(programs) == 1
    monkeypatch.setattr(_grade, "_MOST_BATCH", 2)
    assert [*grade_all(runs)] == expected
    assert len(programs) == 6
    programs.clear()
    ending = _grade._SEARCH.replace("    try:", "    if '+' in pattern: sys.exit()\n    try:")
    monkeypatch.setattr(_grade, "_SEARCH", ending)
    monkeypatch.setattr(_grade, "_MOST_BATCH", 100)
    assert [*grade_all(runs)] == expected
    assert len(programs) == 2


def test_a_plan_has_a_largest_size(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="101 cases with 1,000 runs are more than 100,000 pairs"):
        make_plan(evals_of(tmp_path, cases(101)), 1_000, 0)


def test_the_command_says_both_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And its exit code follows `--fail-on` alone."""
    evals_of(tmp_path, cases(7))
    monkeypatch.chdir(tmp_path)
    line = ["eval", "./greet", "--runs", "2", "--via"]
    assert main([*line, AGENT]) == 0
    assert "on these cases: it helps\n  11 pairs of 14: 11 won, 0 lost, 0 tied\n" in capsys.readouterr().out
    assert main([*line, f"test ! -d {SKILL} && echo good day || echo no", "--fail-on", "harms", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["helps"]["on_these_cases"] == data["helps"]["on_tasks_like_these"] == "harms"
    assert data["helps"]["pairs"] == {"won": 0, "lost": 11, "tied": 0}
    assert data["exposure"] == {"installed": 11, "offered": None, "used": None}
    assert data["runs"] == {"done": 22, "failed": 0}
    for verdict, code in (("harms", 0), ("not-shown", 1)):
        assert main([*line, "echo good day", "--max-runs", "4", "--fail-on", verdict, "--json"]) == code
        data = json.loads(capsys.readouterr().out)
        assert (data["helps"]["on_these_cases"], data["runs"]["done"]) == ("not-enough-runs", 4)


def test_a_plan_without_an_end_stops_at_the_first_sign_or_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight pairs in a row are enough then; without a limit it does not start."""
    evals_of(tmp_path, cases(3))
    monkeypatch.chdir(tmp_path)
    line = ["eval", "./greet", "--open-ended", "--json", "--via"]
    assert main([*line, "touch ran"]) == 2
    assert "`--open-ended` needs a limit" in capsys.readouterr().err
    assert main([*line, AGENT, "--max-time", "600"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["plan"]["open_ended"], data["helps"]["on_these_cases"], data["helps"]["pairs"]["won"]) == (
        True,
        "helps",
        8,
    )
    assert main([*line, "cat", "--max-runs", "10"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["helps"]["pairs"]["tied"], data["helps"]["on_these_cases"]) == (5, "not-enough-runs")
    assert main(["eval", "./greet", "--open-ended", "--max-runs", "4"]) == 2


def test_invalid_cases_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evals_of(tmp_path, cases(2))
    (tmp_path / "greet/evals/evals.json").write_text('{"evals": [{"prompt": "a", "files": ["missing"]}]}')
    monkeypatch.chdir(tmp_path)
    touch = shlex.join([sys.executable, "-c", f"open({str(tmp_path / 'ran')!r}, 'w')"])
    assert main(["eval", "./greet", "--via", touch]) == 2
    assert "a file of evals is invalid, so nothing runs" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()
