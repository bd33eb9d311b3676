"""What git ignores, as git itself says it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from prowess.find import find_repository_skills
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = (
    "a",
    "A",
    "b/a",
    "a/b/c",
    "b/c",
    "b/x/c",
    "b/x/y/c",
    "build",
    "b/build",
    "x.tmp",
    "!a",
    "#a",
    "a b",
    "a*",
    "sub/a",
)


def git(top: Path, *arguments: str) -> str:
    """Run git without the settings of this machine and return what it prints."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-C", str(top), *arguments]
    return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout


@pytest.mark.needs("git")
@pytest.mark.parametrize(
    "rules",
    [
        "a",
        "/a",
        "a/",
        "A",
        "b/c",
        "/b/**/c",
        "**/c",
        "b/**",
        "b/*",
        "*.tmp",
        "*\n!/b\n!/b/c\n!/b/c/SKILL.md",
        "*\n!*/\n!SKILL.md\n/b/c",
        "a\n!a",
        "a\n!b/a",
        "b\n!b/c",
        "\\!a",
        "\\#a",
        "# a\n\n  \n",
        "a b",
        "a   ",
        "a\\*",
        "a[*]",
        "[ab]",
        "[!ab]",
        "[^ab]",
        "[a",
        "?",
        "b/?/c",
        "/*/c",
        "b**",
        "**",
        "/",
        "**/build/",
        "SKILL.md",
        "b/c/SKILL.md",
        "/SKILL.md",
        "*.md\n!b/**/SKILL.md",
        "\ufeffa",
        "a\r\nb/c\r",
    ],
)
@pytest.mark.parametrize("place", ["", "b/"])
def test_the_same_skills_as_git(tmp_path: Path, rules: str, place: str) -> None:
    """Git itself lists the files that it does not ignore."""
    git(tmp_path, "init", "-q")
    for folder in FOLDERS:
        skill(tmp_path / folder)
    (tmp_path / place / ".gitignore").write_text(rules, newline="")
    answer = git(tmp_path, "ls-files", "-z", "--others", "--exclude-standard", "*SKILL.md")
    found = find_repository_skills(tmp_path)
    assert sorted(os.path.relpath(item.path, found.top) for item in found.skills) == sorted(
        filter(None, answer.split("\0"))
    )


@pytest.mark.needs("git")
@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_tracked_skill_is_not_ignored(tmp_path: Path, version: str, object_format: str) -> None:
    """As in git; a skill beside it that is not tracked is."""
    git(tmp_path, "init", "-q", f"--object-format={object_format}")
    (tmp_path / ".gitignore").write_text("*-deploy\nSKILL.md\n")
    names = ("skills/a-deploy", "skills/b", f"skills/long-{'x' * 200}/c", "skills/\u00e4/d")
    for name in names:
        skill(tmp_path / name)
    for name in ("skills/e-deploy", "skills/f"):
        skill(tmp_path / name)
    (tmp_path / "new").touch()
    git(tmp_path, "add", "--force", *names)
    git(tmp_path, "add", *(["--intent-to-add"] if version == "3" else []), "new")  # that flag needs version 3
    git(tmp_path, "update-index", f"--index-version={version}")
    found = find_repository_skills(tmp_path)
    assert sorted(os.path.relpath(item.path, found.top) for item in found.skills) == [
        f"{name}/SKILL.md" for name in names
    ]


@pytest.mark.needs("git")
def test_a_file_of_a_virtual_environment_hides_no_tracked_skill(tmp_path: Path) -> None:
    """Nor the skill whose folder it is in."""
    git(tmp_path, "init", "-q")
    for folder in ("skills/a", "env/lib/b", "c"):
        skill(tmp_path / folder)
    for folder in ("skills", "env", "c"):
        (tmp_path / folder / "pyvenv.cfg").touch()
    git(tmp_path, "add", "skills")
    found = find_repository_skills(tmp_path)
    assert [os.path.relpath(item.path, found.top) for item in found.skills] == ["c/SKILL.md", "skills/a/SKILL.md"]


@pytest.mark.needs("git")
def test_git_is_not_started(tmp_path: Path) -> None:
    """The settings of a repository can name a program that git runs."""
    git(tmp_path, "init", "-q")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    program.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(program))
    (tmp_path / ".gitignore").write_text("a\n")
    skill(tmp_path / "a")
    assert find_repository_skills(tmp_path).skills == ()
    assert not (tmp_path / "was-run").exists()
    git(tmp_path, "status")
    assert (tmp_path / "was-run").exists()


@pytest.mark.needs("git")
def test_a_worktree_has_an_index_of_its_own(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "main")
    skill(tmp_path / "main/skills/a")
    (tmp_path / "main/.gitignore").write_text("skills\n")
    git(tmp_path / "main", "add", "--force", ".")
    git(tmp_path / "main", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a")
    git(tmp_path / "main", "worktree", "add", "-q", "../tree")
    assert len(find_repository_skills(tmp_path / "tree").skills) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"DIRC",
        b"DIRC" + (2).to_bytes(4) + (2**32 - 1).to_bytes(4),
        b"DIRC" + (4).to_bytes(4) + (2**32 - 1).to_bytes(4) + b"\xff" * 100_000,
        b"DIRC" + (2).to_bytes(4) + (2**32 - 1).to_bytes(4) + bytes(1_000_000),
        b"DIRC" + (9).to_bytes(4) + (1).to_bytes(4) + bytes(100),
    ],
)
def test_an_invalid_index_tracks_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index").write_bytes(data)
    (tmp_path / ".gitignore").write_text("a\n")
    skill(tmp_path / "a")
    assert find_repository_skills(tmp_path).skills == ()
