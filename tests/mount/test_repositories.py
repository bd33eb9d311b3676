"""A repository inside a skill is found under every name by which a system would find it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from prowess.errors import SkillMountError, SkillValidationError
from prowess.isolation import EphemeralHome, IsolationConfig
from prowess.mount import SkillConfig, SkillMount, mount, validate_skill
from support.mounting import HOST, write_file
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {
    "upper case": ".GIT",
    "mixed case": ".Git",
    "short name of Windows": "GIT~1",
    "another short name": "git~12",
    "dot at the end": ".git.",
    "blanks at the end": ".git . ",
    "stream of NTFS": ".git::$INDEX_ALLOCATION",
    "backslash": ".git\\hooks",
    "zero-width non-joiner": ".g\u200cit",
    "byte order mark": "\ufeff.git",
    "soft hyphen": ".gi\u00adt",
    "variation selector": ".git\ufe0f",
    "full width": "\uff0e\uff47\uff49\uff54",
    "dotted capital I": ".G\u0130T",
    "bytes that are not UTF-8": ".gi\udcfft",
    "Mercurial": ".hg",
    "Sapling": ".SL",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_other_spellings_of_a_repository_are_refused(name: str, tmp_path: Path) -> None:
    """Another system, or git on it, takes each of them for the same."""
    folder = skill(tmp_path / "pdf").parent
    write_file(folder / "a" / name / "config", "[core]\n")
    with pytest.raises(SkillValidationError, match="is a repository"):
        validate_skill(folder)
    with pytest.raises(SkillMountError, match="is a repository"):
        mount([SkillMount(folder)], tmp_path / "home", host=HOST)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "names",
    [("HEAD", "objects/x", "refs/x"), ("head", "Objects/x", "REFS/x"), ("HEAD", "commondir")],
    ids=["plain", "other case", "shared objects"],
)
@pytest.mark.parametrize("place", ["", "a/b"])
def test_a_bare_repository_is_refused(names: tuple[str, ...], place: str, tmp_path: Path) -> None:
    """Git finds it without a `.git`."""
    folder = skill(tmp_path / "pdf").parent
    for name in names:
        write_file(folder / place / name, "x")
    with pytest.raises(SkillValidationError, match="is a bare git repository"):
        validate_skill(folder)
    with pytest.raises(SkillMountError, match="is a bare git repository"):
        mount(SkillConfig((SkillMount(folder),), validate_on_mount=False), tmp_path / "home", host=HOST)


@pytest.mark.needs("git")
def test_what_git_itself_makes_is_refused(tmp_path: Path) -> None:
    """A clone, a bare clone, a worktree."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    top = skill(tmp_path / "pdf").parent
    subprocess.run([*git, "init", "-q", top], check=True)
    subprocess.run([*git, "-C", top, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    for number, command in enumerate((["clone", "-q"], ["clone", "-q", "--bare"])):
        folder = skill(tmp_path / f"s{number}").parent
        subprocess.run([*git, *command, top, folder / "inner"], check=True)
    subprocess.run([*git, "-C", top, "worktree", "add", "-q", tmp_path / "s2"], check=True)
    skill(tmp_path / "s2")
    for folder in (top, *(tmp_path / f"s{number}" for number in range(3))):
        with pytest.raises(SkillMountError, match="repository"):
            mount([SkillMount(folder)], tmp_path / "home", host=HOST)


def test_an_isolated_home_takes_no_repository(tmp_path: Path) -> None:
    """`prowess exec` and the adapters make such homes."""
    folder = skill(tmp_path / "pdf").parent
    write_file(folder / ".git/hooks/pre-commit", "#!/bin/sh\n")
    config = IsolationConfig(skills=SkillConfig((SkillMount(folder),)))
    with pytest.raises(SkillMountError, match=r"`\.git` is a repository"), EphemeralHome(config, host=HOST):
        pass


def test_files_that_only_mention_git_are_mounted(tmp_path: Path) -> None:
    folder = skill(tmp_path / "pdf").parent
    names = (".gitignore", ".gitattributes", ".github/x", "git", "git.md", ".gitx", "x.git", "HEAD", "objects/x", "a~1")
    for name in names:
        write_file(folder / name, "x")
    validate_skill(folder)
    (mounted,) = mount([SkillMount(folder)], tmp_path / "home", host=HOST).skills
    assert mounted.files == len(names) + 1
