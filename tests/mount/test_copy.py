"""Copy a measured skill: only what was measured is copied, with few system calls."""

from __future__ import annotations

import errno
import os
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from endurance import content
from prowess._internal.files import skill_digest
from prowess.errors import SkillMountError
from prowess.mount import SkillMount, mount
from prowess.mount._copy import copy_tree
from prowess.mount._measure import MAX_MOUNTED_FILES, measure_file, measure_folder
from prowess.skill._integrity import integrity_digest
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOST = "claude-code"
SECRET = "a secret key"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A skill, a folder to copy it into, and a secret outside both."""
    top = tmp_path.resolve()
    skill(top / "pdf")
    for name in ("a.md", "b.md"):
        (top / "pdf/sub").mkdir(exist_ok=True)
        (top / "pdf/sub" / name).write_text(name * 10)
    (top / "into").mkdir()
    (top / "outside").mkdir()
    (top / "outside/a.md").write_text(SECRET)
    return top


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_is_measured_without_reading_a_file(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "read", None)
    tree = measure_folder(str(top / "pdf"))
    size = sum(file.stat().st_size for file in (top / "pdf").rglob("*") if file.is_file())
    assert (tree.source_folder, tree.files, tree.size, tree.problems) == (str(top / "pdf"), 3, size, ())
    assert [name for name, _ in tree.top.files] == ["SKILL.md"]
    ((name, sub),) = tree.top.folders
    assert (name, sorted(file for file, _ in sub.files), sub.folders) == ("sub", ["a.md", "b.md"], ())


def test_a_single_file_is_measured_under_its_new_name(top: Path) -> None:
    """And no other file of its folder."""
    tree = measure_file(str(top / "pdf/sub/a.md"), "SKILL.md")
    assert (tree.source_folder, dict(tree.names), tree.files, tree.size) == (
        str(top / "pdf/sub"),
        {"a.md": "SKILL.md"},
        1,
        40,
    )
    assert [name for name, _ in tree.top.files] == ["a.md"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("none", "cannot be opened: no such file or directory", id="nothing"),
        pytest.param("link", "cannot be opened: not a directory", id="a link"),
        pytest.param("pdf/SKILL.md", "cannot be opened: not a directory", id="a file"),
    ],
)
def test_only_a_folder_is_measured(path: str, message: str, top: Path) -> None:
    """Not the target of a link."""
    (top / "link").symlink_to("pdf")
    with pytest.raises(SkillMountError) as error:
        measure_folder(str(top / path))
    assert str(error.value) == f"`{top}/{path}` {message}"


# ── changes after measuring ──────────────────────────────────────────────────────────────────────────────────────────


def swap(path: Path, make: Callable[[Path], object]) -> None:
    """Replace a file with something else."""
    path.rename(path.parent.parent.parent / "away")
    make(path)


SWAPPED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a file for a link out": (
        "a.md",
        lambda path: swap(path, lambda path: path.symlink_to("../../outside/a.md")),
        "`a.md` cannot be read: too many levels of symbolic links",
    ),
    "a file for another of its size": (
        "a.md",
        lambda path: swap(path, lambda path: path.write_text("A.MD" * 10)),
        "`a.md` changed while it was copied",
    ),
    "a file for a hard link to a secret": (
        "a.md",
        lambda path: swap(path, lambda path: os.link(path.parent.parent.parent / "outside/a.md", path)),
        "`a.md` changed while it was copied",
    ),
    "a file for a FIFO": (
        "a.md",
        lambda path: swap(path, os.mkfifo),
        "`a.md` changed while it was copied",
    ),
    "a file for a folder": ("a.md", lambda path: swap(path, os.mkdir), "`a.md` changed while it was copied"),
    "a file for nothing": ("a.md", os.unlink, "`a.md` cannot be read: no such file or directory"),
    "a file that grew": (
        "a.md",
        lambda path: path.write_text("more" * 100),
        "`a.md` changed while it was copied",
    ),
    "a file that shrank": ("a.md", lambda path: path.write_text(""), "`a.md` changed while it was copied"),
    "a file that became set-uid": (
        "a.md",
        lambda path: path.chmod(0o4755),
        "`a.md` changed while it was copied",
    ),
    "a folder for a link out": (
        "sub",
        lambda path: swapped_folder(path, link=True),
        "`sub` cannot be read: not a directory",
    ),
    "a folder for another": (
        "sub",
        lambda path: swapped_folder(path, link=False),
        "`sub` changed while it was copied",
    ),
}


def swapped_folder(path: Path, *, link: bool) -> None:
    path.rename(path.parent.parent / "away")
    if link:
        path.symlink_to("../outside")
    else:
        skill(path)


@contextmanager
def just_before(call: str, when: Callable[..., bool], change: Callable[[], object]) -> Iterator[None]:
    """Change something once, just before a system call."""
    real = getattr(os, call)
    done: list[bool] = []

    def hooked(*args: Any, **more: Any) -> Any:
        if not done and when(*args, **more):
            done.append(True)
            change()
        return real(*args, **more)

    with patch.object(os, call, hooked):
        yield
    assert done


@pytest.mark.parametrize("row", SWAPPED)
def test_a_file_replaced_just_before_it_is_opened_is_not_copied(row: str, top: Path) -> None:
    """Nothing of the replacement is read, and the home is not created."""
    name, change, message = SWAPPED[row]
    path = top / "pdf/sub" if name == "sub" else top / "pdf/sub" / name
    opens = [0]

    def when(given: Any, *_: Any, **more: Any) -> bool:
        opens[0] += given == name and more.get("dir_fd") is not None
        # A folder is opened when it is measured, too.
        return given == name and opens[0] == 1 + (name == "sub")

    before = content(top / "into")
    with just_before("open", when, lambda: change(path)), pytest.raises(SkillMountError) as error:
        mount([SkillMount(top / "pdf")], top / "into/home", host=HOST)
    assert str(error.value) == f"{top}/pdf: {message}"
    assert content(top / "into") == before


GROWING: dict[str, Callable[[Path], object]] = {
    "longer": lambda path: path.write_bytes(path.read_bytes() + bytes(1000)),
    "very long": lambda path: os.truncate(path, 11 << 30),
    "shorter": lambda path: os.truncate(path, 3),
    "other bytes": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}


@pytest.mark.parametrize("row", GROWING)
def test_a_file_that_changes_while_it_is_read_is_not_copied(row: str, top: Path) -> None:
    """No more than one byte beyond the measured size is read."""
    path = top / "pdf/sub/a.md"
    tree = measure_folder(str(top / "pdf"))
    sizes: list[int] = []
    real = os.read

    def counted(fd: int, size: int) -> bytes:
        data = real(fd, size)
        sizes.append(len(data))
        return data

    def is_it(fd: int, _: int) -> bool:
        return os.path.samestat(os.fstat(fd), path.stat())

    with (
        opened(top / "into") as into,
        patch.object(os, "read", counted),
        just_before("read", is_it, lambda: GROWING[row](path)),
        pytest.raises(SkillMountError) as error,
    ):
        copy_tree(tree, into, "pdf")
    assert str(error.value) == "`sub/a.md` changed while it was copied"
    assert sizes[-1] <= 41


def test_a_file_that_changes_after_it_was_read_is_not_copied(top: Path) -> None:
    path = top / "pdf/sub/a.md"
    tree = measure_folder(str(top / "pdf"))

    def when(_: int, data: bytes) -> bool:
        return bytes(data) == b"a.md" * 10

    with (
        opened(top / "into") as into,
        just_before("write", when, lambda: path.write_text("b" * 40)),
        pytest.raises(SkillMountError) as error,
    ):
        copy_tree(tree, into, "pdf")
    assert str(error.value) == "`sub/a.md` changed while it was copied"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_short_reads_and_writes_make_the_same_copy(size: int, top: Path) -> None:
    """A short write is continued, and a short read is not the end of a file."""
    tree = measure_folder(str(top / "pdf"))
    little: dict[str, Any] = {
        "read": lambda fd, most, read=os.read: read(fd, min(most, size)),
        "write": lambda fd, data, write=os.write: write(fd, data[:size]),
    }
    with opened(top / "into") as into, patch.multiple(os, **little):
        copied = copy_tree(tree, into, "pdf")
    assert copied.digest == skill_digest(str(top / "pdf")) == skill_digest(str(top / "into/pdf"))
    assert copied.integrity == integrity_digest(str(top / "into/pdf"))


def test_an_existing_target_is_not_written_to(top: Path) -> None:
    """Not even if it is a link."""
    tree = measure_folder(str(top / "pdf"))
    (top / "into/pdf").symlink_to("../outside")
    before = content(top / "outside")
    with opened(top / "into") as into, pytest.raises(SkillMountError) as error:
        copy_tree(tree, into, "pdf")
    assert str(error.value) == "cannot copy the skill: file exists"
    assert content(top / "outside") == before


def test_no_descriptor_is_left_open(top: Path) -> None:
    """After a copy, and after one that failed half-way."""

    def count() -> int:
        return len(os.listdir("/dev/fd"))

    tree, before = measure_folder(str(top / "pdf")), count()
    mount([SkillMount(top / "pdf")], top / "home", host=HOST)
    assert count() == before
    full = OSError(errno.ENOSPC, "No space left on device")
    with patch.object(os, "write", side_effect=full), pytest.raises(SkillMountError), opened(top / "into") as into:
        copy_tree(tree, into, "pdf")
    assert count() == before


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def calls(top: Path, count: int) -> Counter[str]:
    """Mount a skill with this many files, and count the system calls by name."""
    folder = skill(top / str(count) / "pdf").parent
    for number in range(count):
        (folder / f"{number}.txt").write_bytes(bytes(4096))
    counted: Counter[str] = Counter()

    def counting(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            counted[name] += 1
            return real(*args, **more)

        return call

    names = [
        "open",
        "close",
        "read",
        "write",
        "fstat",
        "fchmod",
        "stat",
        "lstat",
        "scandir",
        "mkdir",
        "rename",
        "replace",
    ]
    wrapped: dict[str, Any] = {name: counting(name, getattr(os, name)) for name in names}
    with patch.multiple(os, **wrapped):
        mount([SkillMount(folder)], top / f"home{count}", host=HOST)
    return counted


def test_each_file_costs_two_opens_one_read_and_one_write(top: Path) -> None:
    """And two calls of `fstat`, before and after reading."""
    calls(top, 1)
    more = calls(top, 110)
    more.subtract(calls(top, 10))
    assert {name: count / 100 for name, count in more.items() if count} == {
        "open": 2,
        "close": 2,
        "read": 1,
        "write": 1,
        "fstat": 2,
        "fchmod": 1,
    }


def test_the_limit_of_files_is_the_documented_one() -> None:
    assert MAX_MOUNTED_FILES == 2_000
