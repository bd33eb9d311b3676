"""Read files safely: follow no links, wait for nothing, and read no more than the limit."""

from __future__ import annotations

import errno
import os
import socket
import tracemalloc
from pathlib import Path

import pytest

from prowess import skill
from prowess._internal.files import (
    MAX_SKILL_FILE_BYTES,
    UnreadableError,
    display_path,
    read_file,
    read_head,
    read_up_to,
    real_path,
    real_path_or_none,
)
from prowess.skill._fences import frontmatter_end
from prowess.skill._frontmatter import MAX_FRONTMATTER_BYTES
from support.files import opened_below
from support.unreadable_links import refuse_to_read

LIMIT = MAX_FRONTMATTER_BYTES + 4096


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    # The path of a socket has at most about a hundred bytes, and that of a test has more: bind in its folder.
    folder = os.open(path.parent, os.O_RDONLY)
    previous = os.open(".", os.O_RDONLY)
    try:
        os.fchdir(folder)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.fchdir(previous)
        os.close(previous)
        os.close(folder)


def make_link(path: Path) -> None:
    (path.parent / "real.md").write_text("---\nname: x\n---\n")
    path.symlink_to("real.md")


def make_device_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_looping_link(path: Path) -> None:
    path.symlink_to(path.name)


def make_nothing(path: Path) -> None:
    pass


LINK = ("file-is-link", "it is a link, which is not followed")


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        pytest.param(make_fifo, "file-not-regular", "it is a FIFO, not a regular file", id="fifo"),
        pytest.param(make_socket, "file-not-regular", "it is a socket, not a regular file", id="socket"),
        pytest.param(Path.mkdir, "file-not-regular", "it is a folder, not a regular file", id="folder"),
        pytest.param(make_link, *LINK, id="link"),
        pytest.param(make_device_link, *LINK, id="link-to-device"),
        pytest.param(make_looping_link, *LINK, id="looping-link"),
        pytest.param(make_nothing, "file-missing", "no such file", id="nothing"),
    ],
)
def test_only_a_regular_file_is_read(tmp_path: Path, make: object, code: str, message: str) -> None:
    """Both readers and `skill.load` report the same, and none of them waits."""
    path = tmp_path / "SKILL.md"
    assert callable(make)
    make(path)
    for read in (lambda: read_file(str(path)), lambda: read_head(str(path), frontmatter_end, LIMIT)):
        with pytest.raises(UnreadableError) as caught:
            read()
        assert (caught.value.code, caught.value.message) == (code, message)
    assert [(item.code, item.message, item.path) for item in skill.load(str(path)).findings] == [
        (code, message, str(path))
    ]


def test_a_device_is_not_read() -> None:
    """`/dev/zero` never ends."""
    with pytest.raises(UnreadableError, match="it is a device, not a regular file"):
        read_file("/dev/zero")


def test_a_link_is_followed_on_request(tmp_path: Path) -> None:
    """For hosts that follow links. The target must still be a regular file."""
    make_link(tmp_path / "SKILL.md")
    assert read_file(str(tmp_path / "SKILL.md"), follow=True) == b"---\nname: x\n---\n"
    assert skill.load(str(tmp_path / "SKILL.md"), real=os.path.realpath(tmp_path / "SKILL.md")).name == "x"
    make_device_link(tmp_path / "zero.md")
    with pytest.raises(UnreadableError, match="it is a device"):
        read_file(str(tmp_path / "zero.md"), follow=True)


@pytest.mark.parametrize("name", [pytest.param("loop", id="itself"), pytest.param("loop/SKILL.md", id="in-the-path")])
def test_a_loop_of_links_is_unreadable(tmp_path: Path, name: str) -> None:
    make_looping_link(tmp_path / "loop")
    with pytest.raises(UnreadableError) as caught:
        read_file(str(tmp_path / name), follow=True)
    assert caught.value.code == "file-unreadable"
    assert caught.value.message == "it cannot be read: its links form a loop"


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        pytest.param(errno.EACCES, "file-unreadable", "it cannot be read: permission denied", id="permission"),
        pytest.param(errno.EIO, "file-unreadable", "it cannot be read: input/output error", id="disk"),
        pytest.param(errno.EMFILE, "file-unreadable", "it cannot be read: too many open files", id="descriptors"),
        pytest.param(errno.ENOTDIR, "file-missing", "no such file", id="not-a-folder"),
        pytest.param(errno.ENOENT, "file-missing", "no such file", id="missing"),
    ],
)
def test_system_errors_become_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str, message: str
) -> None:
    """Permissions do not matter to root, so the error is simulated."""

    def refuse(path: str, flags: int) -> int:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr("prowess._internal.files.os.open", refuse)
    with pytest.raises(UnreadableError) as caught:
        read_file(str(tmp_path / "SKILL.md"))
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize(
    "path", [pytest.param("a\0b", id="nul"), pytest.param("\ud800", id="surrogate"), pytest.param("", id="empty")]
)
def test_an_invalid_path_is_missing(path: str) -> None:
    with pytest.raises(UnreadableError, match="no such file"):
        read_file(path)


def test_a_name_that_is_too_long_is_unreadable() -> None:
    """The message of the system says why."""
    with pytest.raises(UnreadableError, match="it cannot be read: file name too long"):
        read_file("x" * 5000)


def test_a_file_of_one_mib_is_read_and_a_larger_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "SKILL.md"
    path.write_bytes(b"x" * MAX_SKILL_FILE_BYTES)
    assert len(read_file(str(path))) == MAX_SKILL_FILE_BYTES
    path.write_bytes(b"x" * (MAX_SKILL_FILE_BYTES + 1))
    for read in (lambda: read_file(str(path)), lambda: read_head(str(path), frontmatter_end, LIMIT)):
        with pytest.raises(UnreadableError) as caught:
            read()
        assert (caught.value.code, caught.value.message) == ("file-too-large", "it is larger than 1 MiB")
    with pytest.raises(UnreadableError, match="it is larger than 100 bytes"):
        read_file(str(path), 100)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: os.truncate(path, 1 << 40), id="sparse"),
        pytest.param(lambda path: path.write_bytes(b"---\n" + b"a: b\n" * (64 * 1024 * 1024 // 5)), id="64-MiB"),
    ],
)
def test_a_huge_file_is_not_read(tmp_path: Path, make: object) -> None:
    """It costs no memory, so no time."""
    path = tmp_path / "SKILL.md"
    path.touch()
    assert callable(make)
    make(path)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableError, match="larger than 1 MiB"):
            read_head(str(path), frontmatter_end, LIMIT)
        assert [item.code for item in skill.load(str(path)).findings] == ["file-too-large"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_a_file_that_grows_while_it_is_read_ends_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size when it was opened does not matter."""
    path = tmp_path / "SKILL.md"
    path.write_bytes(b"---\n")
    real, sizes = os.read, []

    def grow(fd: int, size: int) -> bytes:
        sizes.append(size)
        with path.open("ab") as file:
            file.write(b"x" * 300_000)
        return real(fd, size)

    monkeypatch.setattr("prowess._internal.files.os.read", grow)
    with pytest.raises(UnreadableError, match="larger than 1 MiB"):
        read_file(str(path))
    assert len(sizes) < 10


def test_a_regular_file_is_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size shows that nothing follows."""
    (tmp_path / "SKILL.md").write_bytes(b"x" * 5000)
    sizes: list[int] = []
    real_read = os.read

    def noting(fd: int, size: int) -> bytes:
        sizes.append(size)
        return real_read(fd, size)

    monkeypatch.setattr(os, "read", noting)
    assert read_file(str(tmp_path / "SKILL.md")) == b"x" * 5000
    assert sizes == [5001]


def test_a_file_of_proc_is_read_to_its_end() -> None:
    """Although its size is 0."""
    path = "/proc/self/status"
    if not os.path.exists(path):
        return
    assert b"Name:" in read_file(path)
    data, whole, _ = read_head(path, frontmatter_end, LIMIT)
    assert data.endswith(b"\n")
    assert whole


@pytest.mark.parametrize(
    ("data", "length", "whole"),
    [
        pytest.param(b"", 0, True, id="empty"),
        pytest.param(b"---\na: b\n---\nBody", 17, True, id="small"),
        pytest.param(b"---\na: b\n---\n" + b"x" * 100_000, 4096, False, id="ends-in-the-first-page"),
        pytest.param(b"---\n" + b"a: b\n" * 2000 + b"---\n" + b"x" * 100_000, 16384, False, id="ends-later"),
        pytest.param(b"---\n" + b"a: b\n" * 100_000, LIMIT, False, id="never-ends"),
        pytest.param(b"x" * 4096, 4096, True, id="exactly-a-page"),
    ],
)
def test_a_head_is_read_up_to_the_end_of_the_front_matter(
    tmp_path: Path, data: bytes, length: int, whole: bool
) -> None:
    """In steps, and at most to the limit."""
    path = tmp_path / "SKILL.md"
    path.write_bytes(data)
    head, is_whole, _ = read_head(str(path), frontmatter_end, LIMIT)
    assert (len(head), is_whole) == (length, whole)
    assert data.startswith(head)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """A file that cannot be read is closed, too."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"x" * 2000)
    for name in ("folder", "large", "missing"):
        with pytest.raises(UnreadableError):
            read_file(str(tmp_path / name), 1000)
    assert opened_below(tmp_path) == []


def test_at_most_one_byte_more_than_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    for limit, data in ((20, b"0123456789"), (10, b"0123456789"), (4, b"01234")):
        with path.open("rb", buffering=0) as file:
            assert read_up_to(file.fileno(), limit) == data


def test_the_real_path_of_a_link_that_cannot_be_read_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path.resolve() / "link"
    link.symlink_to(tmp_path / "target")
    assert real_path(link) == real_path_or_none(link) == os.path.realpath(tmp_path / "target")
    refuse_to_read(link, monkeypatch)
    assert (real_path(link / "x"), real_path_or_none(link / "x")) == (f"{link}/x", None)


@pytest.mark.parametrize(
    ("path", "cwd", "home", "shown"),
    [
        pytest.param("/home/me/work/a", "/home/me/work", "/home/me", "a", id="below-the-working-directory"),
        pytest.param("/home/me/a", "/home/me/work", "/home/me", "~/a", id="in-the-home"),
        pytest.param("/home/me", "/home/me/work", "/home/me", "~", id="the-home"),
        pytest.param("/home/me2/a", "/home/me/work", "/home/me", "/home/me2/a", id="a-home-with-a-longer-name"),
        pytest.param("/a", "/b", "/", "/a", id="the-root-as-home"),
    ],
)
def test_a_path_is_shown_relative_to_the_working_directory_or_the_home(
    path: str, cwd: str, home: str, shown: str
) -> None:
    assert display_path(path, cwd, home) == shown
