"""Remove mounted skills."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from endurance import content
from prowess.errors import (
    SkillNotFoundError,
)
from prowess.mount import SkillMount, mount, unmount
from support.mounting import (
    HOST,
    ROOT,
    varied_skill,
)
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def test_mounted_skills_are_removed_and_nothing_else(top: Path, home: Path) -> None:
    """With the last skill the created folders and the record are removed."""
    mounts = [SkillMount(varied_skill(top / "pdf")), SkillMount(skill(top / "ink").parent)]
    mount(mounts[:1], home, host=HOST)
    one = content(home)
    mount(mounts, home, host=HOST)
    assert unmount(["ink", "ink"], home, host=HOST) == (str(home / ROOT / "ink"),)
    assert content(home) == one
    assert unmount(None, home, host=HOST) == (str(home / ROOT / "pdf"),)
    assert os.listdir(home) == []


def test_folders_that_existed_before_or_are_not_empty_stay(top: Path, home: Path) -> None:
    (home / ROOT).mkdir(parents=True)
    before = content(home)
    mounts = [SkillMount(skill(top / "pdf").parent)]
    mount(mounts, home, host=HOST)
    unmount(None, home, host=HOST)
    assert content(home) == before
    other = top / "other"
    mount(mounts, other, host=HOST)
    skill(other / ROOT / "hand")
    unmount(None, other, host=HOST)
    assert sorted(content(other)) == ["", ".claude", ROOT, f"{ROOT}/hand", f"{ROOT}/hand/SKILL.md"]


def test_a_skill_that_was_not_mounted_is_not_removed(top: Path, home: Path) -> None:
    """With or without a home, a record or a folder of that name. All such names are reported."""
    where = f"TOP/home/{ROOT}"
    home.parent.mkdir(exist_ok=True)
    for prepare in (lambda: None, home.mkdir, lambda: skill(home / ROOT / "hand")):
        prepare()
        before = content(top)
        with pytest.raises(SkillNotFoundError) as error:
            unmount(["hand", "../x"], home, host=HOST)
        assert str(error.value).replace(str(top), "TOP") == (
            "2 problems; nothing was removed:\n"
            f"  `hand` was not mounted in {where} (only skills that Prowess mounted can be removed)\n"
            f"  `../x` was not mounted in {where} (only skills that Prowess mounted can be removed)"
        )
        assert unmount(None, home, host=HOST) == unmount((), home, host=HOST) == ()
        assert content(top) == before
    mount([SkillMount(skill(top / "pdf").parent)], home, host=HOST)
    with pytest.raises(SkillNotFoundError) as error:
        unmount(["pdff"], home, host=HOST)
    assert error.value.hint == "did you mean `pdf`?"
