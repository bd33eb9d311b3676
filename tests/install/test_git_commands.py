"""The commands of a team, with a server of git that asks for a password."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from support.git_server import GitServer, commit, git, make_repository, skill_text
from support.installing import Machine, make_machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.needs("git")]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return make_machine(tmp_path, monkeypatch, capsys)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    make_repository(tmp_path / "served/team.git", {"skills": {"pdf": {"SKILL.md": skill_text("pdf", "Old.\n")}}})
    with GitServer(tmp_path / "served") as server:
        server.behaviour.password = "s3cret"
        (tmp_path / "credentials").write_text(f"http://user:s3cret@127.0.0.1:{server.port}\n")
        config = tmp_path / "gitconfig"
        config.write_text(f'[credential]\n\thelper = "store --file={tmp_path}/credentials"\n')
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
        yield server


def test_a_team_gets_the_same_bytes_until_it_updates(
    server: GitServer, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second machine has an empty store, and the branch has moved meanwhile."""
    repository = server.folder / "team.git"
    old = git(repository, "rev-parse", "main")
    machine.run("add", f"{server.url}/team.git", "--yes")
    lock = machine.lock.read_bytes()
    assert old.encode() in lock
    new = commit(repository, {"skills": {"pdf": {"SKILL.md": skill_text("pdf", "New.\n")}}})

    shutil.rmtree(machine.project / ".agents")
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "second"))
    machine.run("install")
    machine.run("verify")
    assert machine.lock.read_bytes() == lock
    assert (machine.project / ".agents/skills/pdf/SKILL.md").read_text().endswith("Old.\n")

    machine.run("update", "--yes")
    machine.run("verify")
    assert new.encode() in machine.lock.read_bytes()
    assert (machine.project / ".agents/skills/pdf/SKILL.md").read_text().endswith("New.\n")
    for folder in (machine.project, tmp_path / "data", tmp_path / "second"):
        assert not [path for path in folder.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]


def test_a_server_that_changes_a_locked_commit_is_refused(server: GitServer, machine: Machine, tmp_path: Path) -> None:
    """It has another repository with the same URL, in which the locked commit does not exist."""
    machine.run("add", f"{server.url}/team.git", "--yes")
    shutil.rmtree(server.folder / "team.git")
    make_repository(server.folder / "team.git", {"skills": {"pdf": {"SKILL.md": skill_text("pdf", "Evil.\n")}}})
    for folder in (machine.project / ".agents", tmp_path / "data"):
        shutil.rmtree(folder)
    _, err = machine.run("install", code=1)
    assert machine.installed() == []
    assert "the source has no commit" in err
