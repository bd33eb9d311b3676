"""Write skills to mount, and check what a mount refuses."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from endurance import content
from prowess.errors import SkillError
from prowess.mount import SkillConfig, SkillMount, mount
from support.files import write_file
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

HOST = "claude-code"
ROOT = ".claude/skills"
RECORD = ".claude/.prowess-skills.json"
STAGING = ".claude/.prowess-staging-x"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
DESCRIPTION_HINT = "add `description:` and say what the skill does and when to use it"
NAME_HINT = "use lower case letters, digits and single hyphens between them"
SMALLER_HINT = "remove files that the skill does not need"
MOVE_HINT = "move it away, or mount the skill under another name: `NAME=PATH`"
KEEP_HINT = "copy what you need from it, then remove the folder"


def skill_text(**given: str) -> str:
    """Write a SKILL.md with a name and a description, and other fields; an empty value leaves a field out."""
    lines = [f"{key}: {value}" for key, value in ({"name": "pdf", "description": "d"} | given).items() if value]
    return "\n".join(["---", *lines, "---", "", "Do it.", ""]).replace("allowed_tools", "allowed-tools")


def varied_skill(folder: Path) -> Path:
    """Write a skill with scripts, an empty folder and a binary file."""
    skill(folder)
    write_file(folder / "scripts/run.sh", "#!/bin/sh\n").chmod(0o775)
    write_file(folder / "references/a.md", "a").chmod(0o666)
    write_file(folder / "assets/raw.bin", bytes(range(256)) * 40).chmod(0o640)
    (folder / "assets/empty").mkdir()
    (folder / "assets/empty").chmod(0o777)
    return folder


def replace_with_link(path: Path, target: str, away: Path | None = None) -> None:
    """Put a link in place of a file, which is moved away or removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if away is not None:
        path.rename(away)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def removed(folder: Path) -> Path:
    """Remove a folder, and return its path."""
    shutil.rmtree(folder)
    return folder


def refused(mounts: list[SkillMount], home: Path, **more: Any) -> list[tuple[str, str, str | None]]:
    """Return all problems, each as type, message and hint; check that nothing was changed."""
    before = content(home.parent)
    with pytest.raises(SkillError) as error:
        mount(SkillConfig(tuple(mounts), **more), home, host=HOST)
    assert content(home.parent) == before
    assert type(error.value) is type(error.value.problems[0])
    top = str(home.parent)
    return [(type(one).__name__, str(one).replace(top, "TOP"), one.hint) for one in error.value.problems]
