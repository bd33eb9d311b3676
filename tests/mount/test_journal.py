"""Recover from interrupted mounts, and ignore journals and staging folders that an attacker prepared."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from endurance import (
    HOST,
    ROOT,
    World,
    content,
    without_staging,
)
from prowess.errors import SkillMountError
from prowess.mount import mount
from support.mounting import STAGING, as_root
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def journal(*changes: Any, **more: Any) -> bytes:
    table = {"version": 1, "changes": [*changes], "record": {"version": 1, "made": [], "skills": []}}
    return json.dumps(table | more).encode()


JOURNALS: dict[str, bytes] = {
    "nothing": b"",
    "half of one": journal({"name": "kept", "new": None, "old": 1})[:40],
    "no text": b"\xff\xfe",
    "very deep": b"[" * 100_000,
    "a list": b"[]",
    "no changes": b"{}",
    "changes that are text": journal(changes="abc"),
    "changes that are a number": journal(changes=1),
    "changes that are lists": journal([]),
    "a change without a name": journal({"new": None, "old": None}),
    "a change with more": journal({"name": "kept", "new": None, "old": None, "x": 1}),
    "an inode that is text": journal({"name": "kept", "new": "1", "old": None}),
    "an inode that is true": journal({"name": "kept", "new": True, "old": None}),
    "an invalid record": journal(record=[]),
    "a record that leads out": journal(record={"version": 1, "made": ["../.."], "skills": []}),
    **{
        f"the name {name!r}": journal({"name": name, "new": 1, "old": None})
        for name in ("", ".", "..", "../..", "../../../outside", "/etc", "a/b", "a\0b", "\ud800", 1, None, ["x"])
    },
}


@pytest.mark.parametrize("row", JOURNALS)
def test_an_invalid_journal_changes_nothing(row: str, world: World, top: Path) -> None:
    """It is removed with its staging folder; the folders that it names stay, in the home and outside."""
    home = world.fresh("others", "planted/home")
    for folder in ("new", "old"):
        skill(home / STAGING / folder / "kept", body="planted")
    (home / STAGING / "journal.json").write_bytes(JOURNALS[row])
    skill(home.parent / "outside")
    outside = content(home.parent / "outside")
    mount(world.sources(1), home, host=HOST)
    assert content(home) == world.expected("v1")
    assert content(home.parent / "outside") == outside


def test_a_forged_journal_with_the_right_inode_removes_nothing(world: World) -> None:
    """Inode numbers are small: an attacker can list all of them."""
    home = world.fresh("others", "guessed/home")
    number = (home / ROOT / "kept").stat().st_ino
    guesses = [{"name": "kept", "new": one, "old": None} for one in range(number - 100, number + 100)]
    (home / STAGING).mkdir(parents=True)
    (home / STAGING / "journal.json").write_bytes(journal(*guesses))
    mount(world.sources(1), home, host=HOST)
    assert content(home) == world.expected("v1")


@pytest.mark.parametrize("row", ["5 MiB", "a FIFO", "a folder", "a link"])
def test_a_journal_that_cannot_be_read_stops_the_mount(row: str, world: World, top: Path) -> None:
    """It might be that of an interrupted mount. Nothing is mounted until it is removed."""
    home = world.fresh("others")
    (home / STAGING).mkdir()
    path = home / STAGING / "journal.json"
    if row == "5 MiB":
        path.write_bytes(bytes(5 << 20))
    elif row == "a FIFO":
        os.mkfifo(path)
    elif row == "a folder":
        path.mkdir()
    else:
        path.symlink_to(top / "x")
    before = content(home)
    with pytest.raises(SkillMountError) as error:
        mount(world.sources(1), home, host=HOST)
    assert str(error.value).startswith(f"cannot recover from an interrupted mount in {home}/{STAGING}: ")
    assert {path: what for path, what in content(home).items() if path in before} == before


def test_links_in_staging_folders_are_not_followed(world: World, top: Path) -> None:
    """Nor is a staging folder that is a link."""
    outside = top / "outside"
    skill(outside / "ink")
    before = content(outside)
    home = world.fresh("others")
    (home / ".claude/.prowess-staging-link").symlink_to(outside)
    (home / STAGING / "new").mkdir(parents=True)
    (home / STAGING / "new/ink").symlink_to(outside / "ink")
    (home / STAGING / "more").symlink_to(outside)
    (home / STAGING / "file").symlink_to(outside / "ink/SKILL.md")
    mount(world.sources(1), home, host=HOST)
    (home / ".claude/.prowess-staging-link").unlink()
    assert content(home) == world.expected("v1")
    assert content(outside) == before


@pytest.mark.parametrize("folder", ["new", "old"])
def test_links_inside_a_staging_folder_stop_recovery(folder: str, world: World, top: Path) -> None:
    """If there is a valid journal; without one the staging folder is removed."""
    home = world.fresh("others")
    (home / STAGING).mkdir()
    skill(top / "outside/ink")
    (home / STAGING / folder).symlink_to(top / "outside")
    (home / STAGING / "journal.json").write_bytes(journal({"name": "ink", "new": 1, "old": None}))
    before = content(home), content(top)
    with pytest.raises(SkillMountError, match="cannot recover from an interrupted mount"):
        mount(world.sources(1), home, host=HOST)
    assert (without_staging(content(home)), content(top)) == (without_staging(before[0]), before[1])
    (home / STAGING / "journal.json").unlink()
    mount(world.sources(1), home, host=HOST)
    assert (content(home), content(top)) == (world.expected("v1"), before[1])


@as_root
def test_the_staging_folder_of_another_user_is_left_alone(world: World) -> None:
    home = world.fresh("others")
    skill(home / STAGING / "new/ink")
    os.chown(home / STAGING, 65534, 65534)
    theirs = content(home / STAGING)
    mount(world.sources(1), home, host=HOST)
    assert content(home / STAGING) == theirs
