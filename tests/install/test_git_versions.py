"""An older version of a skill is written as it was committed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install.sources.git import write_version
from support.git_server import git, skill_text

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.needs("git")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """A skill with three commits in a repository that would change files when they are checked out."""
    top = tmp_path / "project"
    folder = top / "skills/pdf"
    folder.mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    (top / ".gitattributes").write_text("* filter=evil eol=crlf\n")
    git(top, "config", "filter.evil.smudge", f"touch {tmp_path}/ran")
    git(top, "config", "core.hooksPath", str(tmp_path))
    for number in range(3):
        (folder / "SKILL.md").write_text(skill_text("pdf", f"Version {number}.\n"))
        (folder / "run.sh").write_text("#!/bin/sh\n")
        (folder / "run.sh").chmod(0o755)
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", str(number))
        if not number:
            git(top, "tag", "-a", "-m", "First", "v1")
    (folder / "SKILL.md").write_text(skill_text("pdf", "Not committed.\n"))
    return folder


@pytest.mark.parametrize(("revision", "version"), [("HEAD", 2), ("HEAD~1", 1), ("v1", 0), ("main@{1}", 1)])
def test_a_revision_is_written_as_it_was_committed(revision: str, version: int, skill: Path, tmp_path: Path) -> None:
    """Whatever git's settings do with files that are checked out; the working tree stays."""
    commit = write_version(str(skill), revision, str(tmp_path / "old"))
    assert commit == git(skill, "rev-parse", f"{revision}^{{commit}}").strip()
    assert sorted(os.listdir(tmp_path / "old")) == ["SKILL.md", "run.sh"]
    assert (tmp_path / "old/SKILL.md").read_text() == skill_text("pdf", f"Version {version}.\n")
    assert os.access(tmp_path / "old/run.sh", os.X_OK)
    assert "Not committed." in (skill / "SKILL.md").read_text()
    assert not (tmp_path / "ran").exists()


def test_the_beginning_of_a_commit_is_enough(skill: Path, tmp_path: Path) -> None:
    commit = git(skill, "rev-parse", "HEAD~2").strip()
    assert write_version(str(skill), commit[:8], str(tmp_path / "old")) == commit


def test_a_skill_at_the_top_of_its_repository_has_versions(tmp_path: Path) -> None:
    """Also in a second working tree of it."""
    top = tmp_path / "pdf"
    top.mkdir()
    git(top, "init", "-q")
    (top / "SKILL.md").write_text(skill_text("pdf"))
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "1")
    git(top, "worktree", "add", "-q", str(tmp_path / "second"))
    for number, folder in enumerate((top, tmp_path / "second")):
        write_version(str(folder), "HEAD", str(tmp_path / str(number)))
        assert os.listdir(tmp_path / str(number)) == ["SKILL.md"]


@pytest.mark.parametrize("revision", ["", "missing", "--help", "HEAD\nHEAD", "HEAD:skills", "a b", "x" * 300, "HEAD~9"])
def test_another_revision_is_an_error(revision: str, skill: Path, tmp_path: Path) -> None:
    with pytest.raises(InstallError, match=r"no commit|invalid revision") as caught:
        write_version(str(skill), revision, str(tmp_path / "old"))
    assert caught.value.hint
    assert not (tmp_path / "old").exists()


def test_a_commit_without_the_skill_is_an_error(skill: Path, tmp_path: Path) -> None:
    """So is a folder in no repository, and a link out of the skill."""
    other = skill.parent / "new"
    other.mkdir()
    with pytest.raises(InstallError, match="the commit `HEAD` has no skill in `skills/new`"):
        write_version(str(other), "HEAD", str(tmp_path / "old"))
    (skill / "link").symlink_to("../../../secret")
    git(skill, "add", "-A")
    git(skill, "commit", "-q", "-m", "link")
    with pytest.raises(InstallError, match="the skill in `skills/pdf`"):
        write_version(str(skill), "HEAD", str(tmp_path / "old"))
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(InstallError, match="is in no repository of git"):
        write_version(str(outside), "HEAD", str(tmp_path / "old"))
