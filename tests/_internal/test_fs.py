"""Renaming by descriptor: two things change places, or one gets a name that nothing has."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

import pytest

from endurance import content
from prowess._internal import fs as renames
from prowess._internal.fs import exchange_names, rename_no_replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Two open folders, of which the first holds `a` with a file, the second `b`, which is empty."""
    (tmp_path / "one/a").mkdir(parents=True)
    (tmp_path / "one/a/file").write_text("x")
    (tmp_path / "two/b").mkdir(parents=True)
    one, two = (os.open(tmp_path / name, os.O_RDONLY) for name in ("one", "two"))
    yield one, two
    os.close(one)
    os.close(two)


def fails(_: object, *more: object) -> int:
    """What a file system says that does not know the call."""
    import ctypes

    ctypes.set_errno(errno.EINVAL)
    return -1


@pytest.fixture(params=["the system's call", "no such call", "a file system without it"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With what the system has, and where it has nothing."""
    if request.param == "no such call":
        monkeypatch.setattr(renames, "_renameat2", lambda: None)
    elif request.param == "a file system without it":
        monkeypatch.setattr(renames, "_renameat2", lambda: fails)
    return str(request.param)


def test_two_folders_change_places_in_one_step(sides: tuple[int, int], tmp_path: Path, way: str) -> None:
    """Where that can be done, and else nothing is done and the caller is told."""
    before = content(tmp_path)
    can = way == "the system's call"
    assert exchange_names(sides[0], "a", sides[1], "b") is can
    if not can:
        assert content(tmp_path) == before
        return
    assert sorted(content(tmp_path)) == ["", "one", "one/a", "two", "two/b", "two/b/file"]
    exchange_names(sides[0], "a", sides[1], "b")
    assert content(tmp_path) == before


@pytest.mark.parametrize("names", [("a", "none"), ("none", "b"), ("a", "b" * 300)], ids=repr)
def test_an_exchange_with_nothing_fails(names: tuple[str, str], sides: tuple[int, int], tmp_path: Path) -> None:
    """And says so; it is not taken for one that this system cannot do."""
    before = content(tmp_path)
    with pytest.raises(OSError, match=r"No such file|too long") as error:
        exchange_names(sides[0], names[0], sides[1], names[1])
    assert error.value.errno in (errno.ENOENT, errno.ENAMETOOLONG)
    assert content(tmp_path) == before


def test_a_new_name_is_given(sides: tuple[int, int], tmp_path: Path, way: str) -> None:
    """From one folder into the other, with all that is inside."""
    rename_no_replace(sides[0], "a", sides[1], "c")
    assert sorted(content(tmp_path)) == ["", "one", "two", "two/b", "two/c", "two/c/file"]


@pytest.mark.parametrize("there", ["an empty folder", "a file", "a link to nothing"])
def test_a_name_that_something_has_is_not_given(there: str, sides: tuple[int, int], tmp_path: Path, way: str) -> None:
    """Not even that of an empty folder, which a plain rename would replace."""
    if there != "an empty folder":
        (tmp_path / "two/b").rmdir()
        if there == "a file":
            (tmp_path / "two/b").write_text("y")
        else:
            (tmp_path / "two/b").symlink_to("nowhere")
    before = content(tmp_path)
    with pytest.raises(FileExistsError):
        rename_no_replace(sides[0], "a", sides[1], "b")
    assert content(tmp_path) == before


def test_what_is_not_there_cannot_be_renamed(sides: tuple[int, int], way: str) -> None:
    """The system's own error comes through."""
    with pytest.raises(FileNotFoundError):
        rename_no_replace(sides[0], "none", sides[1], "c")


@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
def test_names_are_bytes_to_the_system(sides: tuple[int, int], tmp_path: Path, way: str) -> None:
    """Also those that are no text."""
    rename_no_replace(sides[0], "a", sides[1], os.fsdecode(b"\xff"))
    assert os.path.isdir(os.fsencode(tmp_path) + b"/two/\xff")
