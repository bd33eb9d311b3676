"""Open, write, replace and rename files safely; `test_fs_removal.py` tests removing."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

import pytest

from endurance import content
from prowess._internal import fs
from prowess._internal.fs import (
    FOLDER_FLAGS,
    atomic_replace,
    exchange_names,
    open_fd,
    open_inside,
    open_or_make_folder,
    rename_no_replace,
    replacement_file,
    write_all,
)
from support.files import opened_below, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_write_all_writes_more_than_a_pipe_takes_at_once() -> None:
    """`os.write` to a pipe may write only a part."""
    source, target = os.pipe()
    data = bytes(range(256)) * 4096
    pid = os.fork()
    if pid == 0:
        os.close(source)
        write_all(target, data)
        os._exit(0)
    os.close(target)
    with open(source, "rb") as file:
        assert file.read() == data
    os.waitpid(pid, 0)


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    """The old file is complete until the new one has its name."""
    path = tmp_path / "file"
    path.write_text("old")
    with replacement_file(str(path)) as fd:
        write_all(fd, b"new")
        assert path.read_text() == "old"
    assert [(item.name, item.read_text()) for item in tmp_path.iterdir()] == [("file", "new")]


@pytest.mark.parametrize("name", ["n" * 250, "\U0001f600" * 62], ids=["ascii", "four bytes"])
def test_a_file_with_a_long_name_is_replaced(tmp_path: Path, name: str) -> None:
    """The name of the new file is shorter than the system's limit of 255 bytes."""
    atomic_replace(str(tmp_path / name), b"new")
    assert [item.name for item in tmp_path.iterdir()] == [name]


def test_a_replaced_file_is_private_unless_a_mode_is_given(tmp_path: Path) -> None:
    atomic_replace(str(tmp_path / "private"), b"x")
    atomic_replace(str(tmp_path / "shared"), b"x", mode=0o640)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("private", "shared")] == [0o600, 0o640]


def test_a_failed_replacement_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacement_file(str(path)):
        raise KeyboardInterrupt
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        atomic_replace(str(tmp_path / "folder"), b"x")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["file", "folder"]
    assert path.read_text() == "old"


def test_a_replacement_left_by_a_killed_process_is_removed(tmp_path: Path) -> None:
    """It may be a link that someone else put there: it is removed, not followed."""
    (tmp_path / "other").write_text("other")
    (tmp_path / "file.new").symlink_to("other")
    with replacement_file(str(tmp_path / "file"), staged=str(tmp_path / "file.new")) as fd:
        write_all(fd, b"new")
    assert {item.name: item.read_text() for item in tmp_path.iterdir()} == {"file": "new", "other": "other"}


def test_a_file_in_an_open_folder_is_replaced_from_another(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    with (
        open_fd(str(tmp_path / "here"), FOLDER_FLAGS) as here,
        open_fd(str(tmp_path / "there"), FOLDER_FLAGS) as there,
        replacement_file("file", staged="staged", dir_fd=here, staged_dir_fd=there) as fd,
    ):
        write_all(fd, b"x")
        assert os.listdir(there) == ["staged"]
    assert sorted(content(tmp_path)) == ["", "here", "here/file", "there"]


@pytest.mark.parametrize("supported", [True, False], ids=["by-descriptor", "by-path"])
def test_a_file_inside_a_folder_is_opened_without_following_links(
    supported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on Windows, which has no descriptors of folders."""
    monkeypatch.setattr(fs, "SUPPORTS_DIR_FD", supported)
    write_file(tmp_path / "top/inner/file", "x")
    (tmp_path / "top/folder-link").symlink_to("inner")
    (tmp_path / "top/inner/file-link").symlink_to("file")
    top = str(tmp_path / "top")
    fd = open_inside(top, ["inner", "file"])
    assert os.read(fd, 10) == b"x"
    os.close(fd)
    for parts in (["folder-link", "file"], ["inner", "file-link"], ["inner", "missing"], ["inner", "file", "below"]):
        with pytest.raises(OSError, match=r"symbolic|No such|Not a directory"):
            open_inside(top, parts)


def test_no_descriptor_stays_open_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    with pytest.raises(FileNotFoundError):
        open_inside(str(tmp_path), ["a", "b", "c"])
    with pytest.raises(KeyError), open_fd(str(tmp_path), FOLDER_FLAGS):
        raise KeyError
    assert opened_below(tmp_path) == []


def test_a_missing_folder_is_made_once(tmp_path: Path) -> None:
    with open_fd(str(tmp_path), FOLDER_FLAGS) as top:
        for made in (True, False):
            fd, was_made = open_or_make_folder("new", top, 0o700)
            assert (was_made, os.fstat(fd).st_mode & 0o777) == (made, 0o700)
            os.close(fd)
        (tmp_path / "link").symlink_to("new")
        with pytest.raises(NotADirectoryError):
            open_or_make_folder("link", top)


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """Two open folders, of which the first holds `a` with a file, the second `b`, which is empty."""
    write_file(tmp_path / "one/a/file", "x")
    (tmp_path / "two/b").mkdir(parents=True)
    one, two = (os.open(tmp_path / name, os.O_RDONLY) for name in ("one", "two"))
    yield one, two
    os.close(one)
    os.close(two)


def unsupported(_: object, *more: object) -> int:
    """Fail like a file system without this call."""
    import ctypes

    ctypes.set_errno(errno.EINVAL)
    return -1


@pytest.fixture(params=["the system's call", "no such call", "a file system without it"])
def support(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the system call is supported."""
    if request.param == "no such call":
        monkeypatch.setattr(fs, "_renameat2", lambda: None)
    elif request.param == "a file system without it":
        monkeypatch.setattr(fs, "_renameat2", lambda: unsupported)
    return str(request.param)


def test_two_folders_are_exchanged_in_one_step(sides: tuple[int, int], tmp_path: Path, support: str) -> None:
    """Or nothing is done, and the result is false."""
    before = content(tmp_path)
    can = support == "the system's call"
    assert exchange_names(sides[0], "a", sides[1], "b") is can
    if not can:
        assert content(tmp_path) == before
        return
    assert sorted(content(tmp_path)) == ["", "one", "one/a", "two", "two/b", "two/b/file"]
    exchange_names(sides[0], "a", sides[1], "b")
    assert content(tmp_path) == before


@pytest.mark.parametrize("names", [("a", "none"), ("none", "b"), ("a", "b" * 300)], ids=repr)
def test_an_exchange_with_a_missing_folder_fails(
    names: tuple[str, str], sides: tuple[int, int], tmp_path: Path
) -> None:
    """That is not taken for a missing system call."""
    before = content(tmp_path)
    with pytest.raises(OSError, match=r"No such file|too long") as error:
        exchange_names(sides[0], names[0], sides[1], names[1])
    assert error.value.errno in (errno.ENOENT, errno.ENAMETOOLONG)
    assert content(tmp_path) == before


def test_a_folder_is_renamed(sides: tuple[int, int], tmp_path: Path, support: str) -> None:
    """From one open folder into another."""
    rename_no_replace(sides[0], "a", sides[1], "c")
    assert sorted(content(tmp_path)) == ["", "one", "two", "two/b", "two/c", "two/c/file"]


@pytest.mark.parametrize("existing", ["an empty folder", "a file", "a link to nothing"])
def test_renaming_never_replaces_anything(existing: str, sides: tuple[int, int], tmp_path: Path, support: str) -> None:
    """Not even an empty folder, which `os.rename` would replace."""
    if existing != "an empty folder":
        (tmp_path / "two/b").rmdir()
        if existing == "a file":
            (tmp_path / "two/b").write_text("y")
        else:
            (tmp_path / "two/b").symlink_to("nowhere")
    before = content(tmp_path)
    with pytest.raises(FileExistsError):
        rename_no_replace(sides[0], "a", sides[1], "b")
    assert content(tmp_path) == before


def test_renaming_a_missing_folder_fails(sides: tuple[int, int], support: str) -> None:
    with pytest.raises(FileNotFoundError):
        rename_no_replace(sides[0], "none", sides[1], "c")


@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
def test_a_name_that_is_not_utf_8_can_be_given(sides: tuple[int, int], tmp_path: Path, support: str) -> None:
    rename_no_replace(sides[0], "a", sides[1], os.fsdecode(b"\xff"))
    assert os.path.isdir(os.fsencode(tmp_path) + b"/two/\xff")
