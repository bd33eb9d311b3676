"""The skills and the lock of a project change together, at whatever step a change fails or is killed."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from endurance import Content, Steps, content, in_child, killed
from interruptions import (
    CHANGES,
    LOCK,
    ROOTS,
    CommandProjects,
    Projects,
    add,
    commands_killed_at_random,
    killed_at_random,
    killed_at_steps,
    remove,
    update,
    write,
)
from prowess.errors import InstallError
from prowess.install import is_interrupted, lock_project
from support.processes import in_new_process

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    return Projects(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "exchanged"), [("add", True), ("update", True), ("update", False), ("remove all", True)]
)
def test_a_process_killed_before_a_step_leaves_all_changes_or_none(
    name: str, exchanged: bool, projects: Projects
) -> None:
    """Every fourth step; `make shared` takes every step."""
    found = in_new_process(killed_at_steps, projects, name, every=4, exchanged=exchanged)
    assert {"old", "new", "done"} <= set(found)
    assert "".join(found).startswith("old")
    assert found == sorted(found, key=["old", "new", "done"].index)


@pytest.mark.slow
def test_what_the_user_changed_in_the_home_is_recovered_by_a_command_for_the_home_as_a_project(
    projects: Projects,
) -> None:
    """The two have locks of their own, and the one that counts is that of the change."""
    data = projects.top / "data"
    for at in range(1, 1000, 5):
        home = projects.fresh("remove")
        (home / LOCK).rename(data / LOCK)
        before = content(home)

        def die(home: Path = home, at: int = at) -> None:
            with (
                killed(at).watched(),
                lock_project(str(home), str(data / LOCK), str(data)) as locked,
                locked.staging() as staging,
            ):
                staging.commit(None, [(root, name) for root in ROOTS for name in ("ink", "pen")])

        code = in_child(die)
        with lock_project(str(home), str(home / LOCK), str(data)):
            pass
        now = content(home)
        assert now == (before if (data / LOCK).exists() else content(projects.top / "others")), at
        if code == 0:
            return
        with suppress(FileNotFoundError):
            (data / LOCK).unlink()


def test_a_process_killed_while_it_writes_leaves_all_changes_or_none(projects: Projects) -> None:
    assert len(in_new_process(killed_at_steps, projects, "update", half=True)) > 1


def test_commands_killed_at_random_leave_all_changes_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten; `make shared` kills two hundred and fifty. Then the same command succeeds."""
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    assert sum(in_new_process(commands_killed_at_random, CommandProjects(tmp_path), 10, 20).values()) == 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["update mounted", "add mounted", "remove mounted"])
def test_a_killed_command_leaves_mounted_copies_as_the_lock_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock, the installed skills, the copies and their records change together, or not at all."""
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    found = in_new_process(killed_at_steps, CommandProjects(tmp_path), name, every=23)
    assert {"old", "done"} <= {*found}


def test_processes_killed_at_random_leave_all_changes_or_none(projects: Projects) -> None:
    """Twenty; `make shared` kills five hundred."""
    assert sum(in_new_process(killed_at_random, projects, 20, 20).values()) == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"), [("update", errno.ENOSPC), ("add", errno.EACCES), ("remove all", errno.EROFS)], ids=str
)
def test_a_change_that_fails_at_any_step_changes_nothing(name: str, number: int, projects: Projects) -> None:
    """One step fails; what undoes the changes works again, as renames do on a full disk."""
    for at in range(1, 1000, 3):
        project = projects.fresh(name)
        before = content(project)

        def fail(step: str, rest: Any) -> None:
            if rest[0] == 0:
                raise OSError(number, os.strerror(number))

        steps = Steps(at, fail, ("open", "mkdir", "rename", "replace", "write", "renameat2"))
        try:
            with steps.watched():
                CHANGES[name][1](project)
        except (InstallError, OSError):
            assert content(project) == before, f"step {at}"
        else:
            # What cannot be removed after a change is left to the next process; an empty folder stays.
            projects.recover()
            assert files(project) == {path: what for path, what in projects.after[name].items() if what[0] == "file"}
        if steps.count < at:
            return
    raise AssertionError("the change never finishes")


def files(folder: Path) -> Content:
    """Return the files in a folder."""
    return {path: what for path, what in content(folder).items() if what[0] == "file"}


@pytest.mark.parametrize(
    "values",
    [
        {"roots": ["../added/.agents/skills"]},
        {"changes": [{"root": 0, "name": "../../../added/.agents/skills/ink"}]},
        {"created": ["../empty"]},
        {"changes": [{"root": 9}]},
        {"changes": [{"name": 1}]},
        {"roots": [1]},
        {"file": "\0"},
    ],
    ids=str,
)
def test_a_journal_that_others_changed_cannot_lead_out_of_the_project(values: Any, projects: Projects) -> None:
    """A user may have committed the folder of a change that was interrupted."""
    project = projects.fresh("update")
    (projects.top / "empty").mkdir()
    (projects.top / "data/transactions").mkdir(exist_ok=True)
    (projects.top / "data/transactions/0123").touch()
    number = (projects.top / "added/.agents/skills/ink").stat().st_ino
    victim = {"root": 0, "name": "ink", "new": number, "old": None, "seal": None}
    values = {key: [victim | item for item in value] if key == "changes" else value for key, value in values.items()}
    journal = {"version": 1, "roots": [".agents/skills"], "created": [], "changes": [victim]}
    (project / ".prowess-install-0123").mkdir()
    table = journal | {"digest": "x", "file": LOCK, "replaces": True} | values
    (project / ".prowess-install-0123/journal.json").write_text(json.dumps(table))
    before = content(projects.top / "added")
    projects.recover()
    assert (projects.top / "empty").exists()
    assert content(projects.top / "added") == content(project) == before


def test_a_staging_folder_of_a_repository_does_not_count(projects: Projects) -> None:
    """Its journal could name any folder in the project, and guess inode numbers."""
    project = projects.fresh("update")
    skill = project / ".agents/skills/hand"
    staging = project / ".prowess-install-0123456789abcdef"
    (staging / "new/0").mkdir(parents=True)
    journal = {
        "version": 1,
        "roots": [".agents/skills"],
        "created": [],
        "digest": "x",
        "file": LOCK,
        "replaces": True,
        "changes": [{"root": 0, "name": "hand", "new": skill.stat().st_ino, "old": None, "seal": None}],
    }
    (staging / "journal.json").write_text(json.dumps(journal))
    before = content(project)
    with lock_project(str(project), str(project / LOCK), str(projects.top / "data")):
        pass
    assert content(project) == before


def test_an_interrupted_change_is_noticed(projects: Projects) -> None:
    project = projects.fresh("add")
    assert not is_interrupted(str(project))

    def die() -> None:
        with lock_project(str(project), str(project / LOCK), str(projects.top / "data")) as locked, locked.staging():
            os._exit(9)

    assert in_child(die) == 9
    assert is_interrupted(str(project))
    add(project)
    assert not is_interrupted(str(project))


def test_a_second_process_waits_and_says_so(projects: Projects, monkeypatch: pytest.MonkeyPatch) -> None:
    project = projects.fresh("add")
    monkeypatch.setattr("prowess.install._project._QUIET", 0.0)
    monkeypatch.setattr("prowess.install._project._TIMEOUT", 0.1)
    announced: list[bool] = []
    data = str(projects.top / "data")
    second = lock_project(str(project), str(project / LOCK), data, waiting=lambda: announced.append(True))
    error = pytest.raises(InstallError, match="another process is changing the skills")
    with lock_project(str(project), str(project / LOCK), data), error as caught, second:
        pass
    assert announced == [True]
    assert caught.value.hint == "wait until it has finished, or stop it"


def test_processes_at_once_leave_whole_skills(projects: Projects) -> None:
    project = projects.fresh("add")
    pids = []
    for number in range(4):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                for _ in range(5):
                    (add, update)[number % 2](project)
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 4
    versions = {path.read_text() for path in project.glob(".*/skills/*/scripts/run.sh")}
    assert versions == {"echo 1\n" if (project / LOCK).read_text() == "one\n" else "echo 2\n"}


@pytest.mark.parametrize("link", [".agents", ".agents/skills"])
def test_nothing_is_written_through_a_link(link: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/skills").mkdir(parents=True)
    project = tmp_path / "project"
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InstallError, match="is or contains a link"):
        add(project)
    assert sorted(content(tmp_path / "elsewhere")) == ["", "skills"]
    assert not (project / ".claude").exists()


def test_a_name_that_was_taken_meanwhile_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()

    def add_late() -> None:
        data = str(tmp_path / "data")
        with lock_project(str(project), str(project / LOCK), data) as locked, locked.staging() as staging:
            staging.place("skills", "ink")
            write(project / staging.name / "new/0", "ink", 1)
            make_journal = staging._journal

            def taken(*args: Any) -> Any:
                journal = make_journal(*args)
                (project / "skills/ink").mkdir(parents=True)
                return journal

            monkeypatch.setattr(staging, "_journal", taken)
            staging.commit("x\n")

    with pytest.raises(InstallError, match="nothing was changed"):
        add_late()
    assert sorted(content(project)) == ["", "skills", "skills/ink"]


def test_the_lock_may_be_elsewhere(tmp_path: Path) -> None:
    project = tmp_path / "home"
    project.mkdir()
    data = tmp_path / "data"
    with lock_project(str(project), str(data / LOCK), str(data)) as locked, locked.staging() as staging:
        staging.place(".agents/skills", "ink")
        write(project / staging.name / "new/0", "ink", 1)
        staging.commit("x\n")
    assert (tmp_path / "data/skills-lock.json").read_text() == "x\n"
    assert sorted(path.name for path in project.iterdir()) == [".agents"]


def test_a_removal_leaves_no_empty_folder_and_all_other_files(projects: Projects) -> None:
    project = projects.fresh("remove")
    remove(project)
    assert content(project) == content(projects.top / "others")
    remove_all = projects.fresh("remove all")
    remove(remove_all)
    assert sorted(content(remove_all)) == [""]
