"""Evaluations in a folder: they go on after they were stopped, and are judged again anywhere."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.evals import Command, _record, _recorded, read_record
from prowess.evals._plan import pairs_of
from support.recorded_evals import AGENT, SKILL, content, edit, greet, record

if TYPE_CHECKING:
    from collections.abc import Callable

Output = tuple[int, str, str]


@pytest.fixture(scope="module")
def recorded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a record with four runs of the skill beside it."""
    top = tmp_path_factory.mktemp("once")
    greet(top, 6)
    record(top, top / "run1", most=4)
    return top / "run1"


@pytest.fixture
def recorded(recorded_once: Path, tmp_path: Path) -> Path:
    """Return a copy of it that can be changed."""
    return Path(shutil.copytree(recorded_once, tmp_path / "run1"))


def data_of(output: Output) -> Any:
    assert output[0] == 0, output[2]
    return json.loads(output[1])


RUN = ("./greet", "--via", AGENT, "--runs", "2")


def test_a_record_is_judged_again_without_the_skill(run: Callable[..., Output], tmp_path: Path) -> None:
    """With the same verdict, also in another folder; nothing runs."""
    first = data_of(run(*RUN, "--out", "run1", "--json"))
    numbers = [pair.number + pair.case for pair in pairs_of(read_record(str(tmp_path / "run1")).plan)]
    ended = [number for number in numbers if number % 9]
    won = sum(number % 4 > 0 for number in ended)
    assert first["helps"]["pairs"] == {"won": won, "lost": 0, "tied": len(ended) - won}
    assert first["runs"] == {"done": 2 * len(ended), "failed": 24 - 2 * len(ended)}
    assert 5 < won < len(ended) < 12
    shutil.copytree(tmp_path / "run1", tmp_path / "elsewhere/copy")
    shutil.rmtree(tmp_path / "greet")
    again = run("--replay", "run1", "--json")
    assert run("--replay", "elsewhere/copy", "--json") == again
    assert run("--replay", "run1")[:2] == run("--replay", "elsewhere/copy")[:2]
    for name in ("run1", "elsewhere/copy"):
        assert run("--replay", name, "--export", f"html={name}.html", "--export", f"junit={name}.xml")[0] == 0
    for end in ("html", "xml"):
        assert (tmp_path / f"run1.{end}").read_bytes() == (tmp_path / f"elsewhere/copy.{end}").read_bytes()
    replayed = data_of(again)
    assert replayed["found"] is replayed["sound"]["findings"] is None
    for key in ("plan", "helps", "exposure", "runs", "chosen"):
        assert replayed[key] == first[key]


def test_an_evaluation_goes_on_where_it_stopped(run: Callable[..., Output], tmp_path: Path) -> None:
    """A run that is there does not run again, and the other run of its pair does."""
    log = tmp_path / "log"
    agent = f"echo $PROWESS_RUN_SEED >> {log}; {AGENT}"
    run("./greet", "--via", agent, "--runs", "2", "--out", "whole")
    assert len(log.read_text().splitlines()) == 24
    log.write_text("")
    run("./greet", "--via", agent, "--runs", "2", "--max-runs", "10", "--out", "part")
    assert len(log.read_text().splitlines()) == 10
    shutil.rmtree(tmp_path / "part/runs/00002-with")
    (tmp_path / "part/runs/.00005-with").mkdir()
    (tmp_path / "part/manifest.json").unlink()
    assert run("--replay", "part")[0] == 2
    edit(tmp_path / "part/local.json", lambda local: local.update(max_runs=None))
    assert run("--resume", "part")[0] == 0
    assert len(log.read_text().splitlines()) == 10 + 1 + 14
    assert content(tmp_path / "part") == content(tmp_path / "whole")


def test_a_record_that_cannot_be_written_goes_on_later(
    run: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk ends the evaluation, and so does Ctrl-C; the runs that are there stay."""
    write, left = _record.write_synced, [9]

    def fill(path: str, data: bytes) -> None:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= "runs" in path
        write(path, data)

    run(*RUN, "--out", "whole")
    with monkeypatch.context() as patch:
        patch.setattr(_record, "write_synced", fill)
        code, output, errors = run(*RUN, "--out", "run1")
    assert (code, output) == (2, "")
    assert "no space left on device" in errors.lower()
    assert "free disk space" in errors
    with monkeypatch.context() as patch:
        patch.setattr(Command, "run", interrupt)
        code, _, errors = run("--resume", "run1")
    assert code == 130
    assert "go on with `prowess eval --resume run1`" in errors
    assert run("--resume", "run1")[0] == 0
    assert content(tmp_path / "run1") == content(tmp_path / "whole")


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_nothing_of_a_model_is_loaded_for_a_record(recorded: Path) -> None:
    """Neither a network nor a key is needed."""
    unwanted = ("socket", "ssl", "asyncio", "pydantic_ai", "prowess.net", "prowess.agent", "prowess.adapters")
    program = f"import sys\nfrom prowess.cli import main\ncode = main(['eval', '--replay', {str(recorded)!r}])\n"
    program += f"print([name for name in {unwanted!r} if name in sys.modules], code, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stderr.splitlines()[-1] == "[] 0"


def test_a_damaged_run_is_named_when_an_evaluation_goes_on(run: Callable[..., Output], tmp_path: Path) -> None:
    """Without its folder it runs again."""
    run(*RUN, "--max-runs", "4", "--out", "run1")
    (tmp_path / "run1/runs/00001-with/trajectory.json").write_text("{}")
    code, _, errors = run("--resume", "run1")
    assert code == 2
    assert "00001-with/trajectory.json` is damaged" in errors
    shutil.rmtree(tmp_path / "run1/runs/00001-with")
    assert run("--resume", "run1")[0] == 0


def test_a_changed_skill_ends_its_record(run: Callable[..., Output], tmp_path: Path) -> None:
    """Also changed cases; and another agent."""
    run(*RUN, "--max-runs", "4", "--out", "run1")
    (tmp_path / "greet/more.md").write_text("x")
    assert "the skill or its cases are not those of" in run("--resume", "run1")[2]
    (tmp_path / "greet/more.md").unlink()
    assert run("--resume", "run1")[0] == 0
    assert "is of another agent: " in run("--resume", "run1", "--via", "echo")[2]
    assert "cannot change" in run("--resume", "run1", "--runs", "7")[2]
    (tmp_path / "greet/evals/evals.json").write_text('{"evals": [{"prompt": "a", "assertions": ["b"]}]}')
    assert run("--resume", "run1")[0] == 2


def test_a_copied_record_does_not_say_what_to_run(run: Callable[..., Output], tmp_path: Path) -> None:
    """Anyone may have written its command; with one that the user types it goes on."""
    run(*RUN, "--max-runs", "4", "--out", "run1")
    shutil.copytree(tmp_path / "run1", tmp_path / "copy")
    code, _, errors = run("--resume", "copy")
    assert code == 2
    assert "was copied" in errors
    assert run("--resume", "copy", "./greet", "--via", AGENT, "--json")[0] == 0
    assert len(read_record(str(tmp_path / "copy")).runs) == 24


def test_a_folder_has_one_evaluation(run: Callable[..., Output], tmp_path: Path) -> None:
    """One that has something else is refused, and one in which another evaluation runs."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("mine")
    assert "is not empty" in run(*RUN, "--out", "other")[2]
    assert "the record would be in the skill" in run(*RUN, "--out", "greet/run")[2]
    assert not (tmp_path / "greet/run").exists()
    (tmp_path / "empty").mkdir()
    assert run(*RUN, "--max-runs", "2", "--out", "empty")[0] == 0
    code, _, errors = run(*RUN, "--out", "empty")
    assert code == 2
    assert "go on with it by `prowess eval --resume empty`" in errors
    with _record._locked(str(tmp_path / "empty")):
        for words in (("--resume", "empty"), (*RUN, "--out", "empty")):
            assert "another evaluation is running in" in run(*words)[2]


def test_a_start_that_was_killed_starts_again(run: Callable[..., Output], tmp_path: Path) -> None:
    """What it left is no evaluation, and is removed."""
    run(*RUN, "--max-runs", "2", "--out", "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "part")
    for name in ("local.json", "manifest.json", "cases/2/given.txt"):
        (tmp_path / "part" / name).unlink()
    (tmp_path / "part/.local.json.0123456789abcdef.tmp").write_text("{")
    assert "no evaluation has begun in" in run("--resume", "part")[2]
    assert run(*RUN, "--max-runs", "2", "--out", "part")[0] == 0
    assert content(tmp_path / "part") == content(tmp_path / "whole")


def change_plan(plan: dict[str, Any]) -> None:
    plan["plan"]["cases"][0]["prompt"] = "Another task"


def other_version(plan: dict[str, Any]) -> None:
    plan["plan"]["version"] = 2


CHANGES: dict[str, tuple[str, Callable[[Any], object] | None, str]] = {
    "plan": ("plan.json", change_plan, "plan.json"),
    "agent": ("plan.json", lambda plan: plan["agent"].update(name="gpt"), "plan.json"),
    "version": ("plan.json", other_version, "another version of Prowess made it"),
    "no plan": ("plan.json", None, "has no plan.json"),
    "unfinished": ("manifest.json", None, "has not ended"),
    "manifest": ("manifest.json", lambda manifest: manifest.update(files=[1]), "manifest.json"),
    "grades": ("runs/00000-with/run.json", lambda run: run.update(grades=[True] * 3), "runs/00000-with/run.json"),
    "a lost run": ("runs/00001-without/run.json", None, "runs/00001-without/run.json"),
    "an answer": ("runs/00000-with/trajectory.json", lambda it: it["steps"].pop(), "runs/00000-with/trajectory.json"),
    "a time": ("runs/00000-with/time.json", lambda time: time.update(seconds=0.5), "runs/00000-with/time.json"),
    "a file": ("runs/00000-with/files/out.txt", None, "runs/00000-with/files/out.txt"),
    "a file of a case": ("cases/0/given.txt", None, "cases/0/given.txt"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_edited_record_has_no_verdict(name: str, run: Callable[..., Output], recorded: Path) -> None:
    """The file is named, in one line and a hint."""
    path, change, expected = CHANGES[name]
    if change is None:
        (recorded / path).unlink()
    else:
        edit(recorded / path, change)
    code, output, errors = run("--replay", "run1")
    assert (code, output) == (2, "")
    assert expected in errors.splitlines()[0]
    assert len(errors.splitlines()) == 3


@pytest.mark.parametrize("name", ["plan.json", "manifest.json", "run.json", "trajectory.json", "time.json", "out.txt"])
def test_a_record_that_is_cut_has_no_verdict(name: str, run: Callable[..., Output], recorded: Path) -> None:
    """At any byte: nothing crashes."""
    path = next(recorded.rglob(name))
    data = path.read_bytes()
    for size in range(0, len(data) - 1, max(len(data) // 7, 1)):
        path.write_bytes(data[:size])
        code, output, errors = run("--replay", "run1")
        assert (code, output) == (2, "")
        assert errors.startswith("error: ")


def test_a_link_in_a_record_is_not_followed(run: Callable[..., Output], recorded: Path, tmp_path: Path) -> None:
    (recorded / "runs").rename(tmp_path / "runs")
    (recorded / "runs").symlink_to(tmp_path / "runs")
    assert "is damaged" in run("--replay", "run1")[2]


def test_secrets_are_removed_before_they_are_written(
    run: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of variables, and what looks like a secret; in answers, errors, files and the command."""
    known, unknown = "correct-horse-battery", "ghp_" + "q7Rz2Wm9Kx" * 4
    monkeypatch.setenv("DEPLOY_PASSWORD", known)
    agent = f"echo {known} {unknown}; echo {known} >&2; echo token {unknown} > out.txt; echo x > .env"
    data = data_of(run("./greet", "--via", agent, "--max-runs", "2", "--out", "run1", "--json"))
    assert data["runs"]["done"] == 2
    files = {path: path.read_bytes() for path in (tmp_path / "run1").rglob("*") if path.is_file()}
    assert not [path for path, data in files.items() if known.encode() in data or unknown.encode() in data]
    folder = tmp_path / "run1/runs/00000-with"
    assert (folder / "files/out.txt").read_text() == "token [a token of GitHub removed]\n"
    about = json.loads((folder / "run.json").read_text())
    assert about["files"][".env"] is None
    assert about["whole"] is False
    assert "the command has a secret, so it is not recorded" in run("--resume", "run1")[2]
    assert run("--resume", "run1", "--via", agent)[0] == 0
    monkeypatch.setenv("DEPLOY_PASSWORD", "Greet 0 and all")
    evals = tmp_path / "greet/evals/evals.json"
    evals.write_text(evals.read_text().replace("Greet 0", "Greet 0 and all"))
    assert "a case has the value of an environment variable" in run(*RUN, "--out", "run2")[2]


def test_what_a_run_leaves_is_bounded(
    run: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regular files alone, without the skill; what is not kept is named."""
    monkeypatch.setattr(_record, "_MOST_FILES", 2)
    monkeypatch.setattr(_record, "MOST_FILE_BYTES", 1_000)
    agent = f"ln -s /etc/passwd link; mkfifo pipe; echo x >> {SKILL}/SKILL.md; head -c 2000 /dev/zero > big; "
    agent += "for n in a b c; do echo $n > $n; done; printf 'caf\\351' > \"$(printf 'caf\\351')\""
    run("./greet", "--via", agent, "--max-runs", "2", "--out", "run1")
    folder = tmp_path / "run1/runs/00000-with"
    about = json.loads((folder / "run.json").read_text())
    assert [*about["files"]] == ["a", "b", "big", "c", "caf\udce9"]
    assert [path for path, digest in about["files"].items() if digest] == ["a", "b"]
    assert about["unchanged"] == ["given.txt", "gone.txt"]
    assert sorted(path.name for path in (folder / "files").iterdir()) == ["a", "b"]
    assert run("--replay", "run1")[0] == 0


def test_the_trajectory_is_of_the_format(recorded: Path) -> None:
    value = json.loads((recorded / "runs/00000-with/trajectory.json").read_text())
    assert value["schema_version"] == "ATIF-v1.7"
    assert [(step["step_id"], step["source"]) for step in value["steps"]] == [(1, "user"), (2, "agent")]
    assert value["steps"][0]["message"].startswith("Greet ")


def test_each_known_value_of_a_run_is_kept() -> None:
    """A new attribute of a run needs a place in its record."""
    from prowess.evals import Ran

    assert {*Ran._fields()} == {*_recorded.RUN_FIELDS, "answer", "errors", "steps", "seconds"}
