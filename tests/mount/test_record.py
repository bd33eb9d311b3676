"""Read the mount record, which anyone may have written."""

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
)
from prowess.errors import SkillMountError
from prowess.mount import mount, unmount
from prowess.mount._record import read_record
from support.mounting import RECORD

if TYPE_CHECKING:
    from pathlib import Path

ROW: dict[str, Any] = {"name": "ink", "source": "/x", "seal": "trust1:0"}
NO_NAMES: tuple[Any, ...] = (None, 1, "", "..", ".", "../x", "a/b", "a\0", "\ud800")
NO_ROWS: tuple[dict[str, Any], ...] = (*({"name": name} for name in NO_NAMES), {"source": None}, {"seal": 1})
NO_TABLES: tuple[Any, ...] = (None, {}, ["ink"])
DAMAGED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "it is not valid JSON"),
    "half of it": (b'{"version": 1, "ma', "it is not valid JSON"),
    "no JSON": (b"x", "it is not valid JSON"),
    "no text": (b"\xff", "it is not valid JSON"),
    "very deep": (b"[" * 100_000, "it is not valid JSON"),
    "another version": (json.dumps({"version": 2}).encode(), "its version is not 1"),
    "a list": (b"[]", "its version is not 1"),
    **{
        f"made is {made!r}": (
            json.dumps({"version": 1, "made": made, "skills": []}).encode(),
            "`made` is not a list of folders",
        )
        for made in (None, "x", [1], ["../.."], ["/etc"], ["a/../b"], [""], ["a//b"], ["a\0b"], ["\ud800"])
    },
    **{
        f"skills are {rows!r}": (
            json.dumps({"version": 1, "made": [], "skills": rows}).encode(),
            "`skills` is not a list of objects",
        )
        for rows in NO_TABLES
    },
    **{
        f"a row has {change!r}": (
            json.dumps({"version": 1, "made": [], "skills": [ROW | change]}).encode(),
            "a skill has no `name`, `source` or `seal`",
        )
        for change in NO_ROWS
    },
    "5 MiB": (b" " * (5 << 20), "it is not a regular file of at most 4 MiB"),
}


@pytest.mark.parametrize("row", DAMAGED)
def test_a_damaged_record_is_invalid(row: str, world: World) -> None:
    """Nothing is mounted, replaced or removed on its word, and it stays as it is."""
    data, why = DAMAGED[row]
    home = world.fresh("v1")
    (home / RECORD).write_bytes(data)
    before = content(home)
    for call in (
        lambda: mount(world.sources(2), home, host=HOST),
        lambda: unmount(None, home, host=HOST),
        lambda: unmount(["ink"], home, host=HOST),
        lambda: read_record(str(home), ROOT),
    ):
        with pytest.raises(SkillMountError) as error:
            call()
        message = f"the mount record is invalid: {home}/{RECORD}: "
        assert str(error.value).startswith(message)
        assert str(error.value).removeprefix(message) == why
        assert error.value.hint == "remove it; then Prowess leaves alone the skills that are mounted there now"
        assert content(home) == before


@pytest.mark.parametrize("kind", ["a link to one", "a link to itself", "a folder", "a FIFO"])
def test_a_record_that_is_not_a_regular_file_is_invalid(kind: str, world: World, top: Path) -> None:
    """The target of a link is neither read nor written."""
    home = world.fresh("v1")
    record = home / RECORD
    record.rename(top / "record")
    if kind == "a folder":
        record.mkdir()
    elif kind == "a FIFO":
        os.mkfifo(record)
    else:
        record.symlink_to(top / "record" if kind == "a link to one" else record.name)
    before = content(home), content(top)
    for call in (lambda: mount(world.sources(2), home, host=HOST), lambda: unmount(None, home, host=HOST)):
        with pytest.raises(SkillMountError, match="the mount record is invalid"):
            call()
        assert (content(home), content(top)) == before


def test_without_a_record_mounted_skills_are_left_alone(world: World) -> None:
    """As the hint says."""
    home = world.fresh("v1")
    (home / RECORD).unlink()
    before = content(home)
    with pytest.raises(SkillMountError, match="already exists, and Prowess did not mount it"):
        mount(world.sources(2), home, host=HOST)
    assert unmount(None, home, host=HOST) == ()
    assert content(home) == before


def test_a_record_removes_only_folders_on_the_way_to_the_skills(world: World, top: Path) -> None:
    """Not another empty folder of the user, and not one behind a link, if a forged record lists them."""
    home = top / "home"
    outside = top / "outside/empty"
    outside.mkdir(parents=True)
    (home / "mine").mkdir(parents=True)
    (home / "way").symlink_to("../outside")
    mount(world.sources(1), home, host=HOST)
    table = json.loads((home / RECORD).read_text())
    table["made"] += ["mine", "way/empty", ".claude/skills/x", ".clau"]
    (home / RECORD).write_text(json.dumps(table))
    unmount(None, home, host=HOST)
    assert sorted(content(top)) == ["", "home", "home/mine", "home/way", "outside", "outside/empty"]
