"""What git ignores, as git itself says it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import find_repository_skills
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
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "init", "-q", tmp_path], check=True, env=environment)
    for folder in FOLDERS:
        skill(tmp_path / folder)
    (tmp_path / place / ".gitignore").write_text(rules, newline="")
    command = ["git", "-C", str(tmp_path), "ls-files", "-z", "--others", "--exclude-standard", "*SKILL.md"]
    answer = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout
    found = find_repository_skills(tmp_path)
    assert sorted(os.path.relpath(item.path, found.top) for item in found.skills) == sorted(
        filter(None, answer.split("\0"))
    )
