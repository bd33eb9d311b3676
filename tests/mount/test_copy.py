"""Measure skills and copy them: what is refused, and what a copy contains."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from endurance import content
from prowess._internal.files import MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES, skill_digest
from prowess.errors import SkillMountError
from prowess.mount import SkillMount, mount
from prowess.mount._copy import MAX_MOUNTED_FILES, copy_tree, measure_file, measure_folder
from prowess.skill import portable_digest
from support.files import opened_below, write_file
from support.mounting import HOST, SMALLER_HINT, refused
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def make_many(folder: Path, count: int) -> None:
    (folder / "many").mkdir()
    for number in range(count):
        (folder / f"many/{number}").touch()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_device_is_refused(top: Path, home: Path) -> None:
    """`cases/cli/mount-refused.md` has all other files that are refused."""
    skill(top / "pdf")
    try:
        os.mknod(top / "pdf/a", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no device can be made here")
    expected = [("SkillMountError", "TOP/pdf: `a` is a device", "remove it from the skill")]
    assert refused([SkillMount(top / "pdf")], home) == expected


def test_a_markdown_file_that_is_too_large_is_not_valid(top: Path, home: Path) -> None:
    os.truncate(skill(top / "pdf"), MAX_SKILL_FILE_BYTES + 1)
    ((kind, _, _),) = refused([SkillMount(top / "pdf")], home)
    assert kind == "SkillValidationError"


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("Read.me", "read.me"), id="case"),
        pytest.param(("e\u0301", "\u00e9"), id="normalisation"),
        pytest.param(("STRASSE", "stra\u00dfe"), id="case of another length"),
    ],
)
def test_names_that_some_file_systems_do_not_distinguish_are_refused(
    names: tuple[str, str], top: Path, home: Path
) -> None:
    """On macOS and Windows one of the two files would overwrite the other."""
    skill(top / "pdf")
    for name in names:
        write_file(top / "pdf/sub" / name, name)
    if len(os.listdir(top / "pdf/sub")) < 2:
        pytest.skip("this disk takes them for one")
    ((kind, message, hint),) = refused([SkillMount(top / "pdf")], home)
    sides = [
        f"TOP/pdf: `sub/{one}` and `{other}` differ only in case or Unicode form" for one, other in (names, names[::-1])
    ]
    assert (kind, hint) == ("SkillMountError", "rename one of them")
    assert message in sides


@pytest.mark.slow
def test_a_skill_exactly_at_all_limits_is_mounted(top: Path, home: Path) -> None:
    """1 MiB of Markdown, 10 MiB in total, 2,000 files."""
    skill(top / "pdf")
    make_many(top / "pdf", 1997)
    os.truncate(write_file(top / "pdf/a.md", ""), MAX_SKILL_FILE_BYTES)
    rest = MAX_SKILL_TOTAL_BYTES - MAX_SKILL_FILE_BYTES - (top / "pdf/SKILL.md").stat().st_size
    os.truncate(write_file(top / "pdf/raw", ""), rest)
    (mounted,) = mount([SkillMount(top / "pdf")], home, host=HOST).skills
    assert (mounted.files, mounted.bytes) == (2000, MAX_SKILL_TOTAL_BYTES)
    os.truncate(top / "pdf/raw", rest + 1)
    assert refused([SkillMount(top / "pdf", "xls")], home) == [
        ("SkillMountError", "TOP/pdf: the skill has 10,485,761 bytes; the limit is 10 MiB", SMALLER_HINT)
    ]


def test_at_most_twenty_problems_of_a_skill_are_reported(top: Path, home: Path) -> None:
    folder = skill(top / "pdf").parent
    for number in range(30):
        (folder / f"l{number}").symlink_to("x")
    os.truncate(write_file(folder / "big", ""), 11 << 30)
    assert len(refused([SkillMount(folder)], home)) == 20


SECRET = "a secret key"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A skill, a folder to copy it into, and a secret outside both."""
    work = tmp_path.resolve()
    skill(work / "pdf")
    for name in ("a.md", "b.md"):
        write_file(work / "pdf/sub" / name, name * 10)
    (work / "into").mkdir()
    write_file(work / "outside/a.md", SECRET)
    return work


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_is_measured_without_reading_a_file(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "read", None)
    tree = measure_folder(str(work / "pdf"))
    size = sum(file.stat().st_size for file in (work / "pdf").rglob("*") if file.is_file())
    assert (tree.source_folder, tree.files, tree.size, tree.problems) == (str(work / "pdf"), 3, size, ())
    assert [name for name, _ in tree.top.files] == ["SKILL.md"]
    ((name, sub),) = tree.top.folders
    assert (name, sorted(file for file, _ in sub.files), sub.folders) == ("sub", ["a.md", "b.md"], ())


def test_a_single_file_is_measured_under_its_new_name(work: Path) -> None:
    """And no other file of its folder."""
    tree = measure_file(str(work / "pdf/sub/a.md"), "SKILL.md")
    assert (tree.source_folder, dict(tree.names), tree.files, tree.size) == (
        str(work / "pdf/sub"),
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
def test_only_a_folder_is_measured(path: str, message: str, work: Path) -> None:
    """Not the target of a link."""
    (work / "link").symlink_to("pdf")
    with pytest.raises(SkillMountError) as error:
        measure_folder(str(work / path))
    assert str(error.value) == f"`{work}/{path}` {message}"


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
def test_a_file_replaced_just_before_it_is_opened_is_not_copied(row: str, work: Path) -> None:
    """Nothing of the replacement is read, and the home is not created."""
    name, change, message = SWAPPED[row]
    path = work / "pdf/sub" if name == "sub" else work / "pdf/sub" / name
    opens = [0]

    def when(given: Any, *_: Any, **more: Any) -> bool:
        opens[0] += given == name and more.get("dir_fd") is not None
        # A folder is opened when it is measured, too.
        return given == name and opens[0] == 1 + (name == "sub")

    before = content(work / "into")
    with just_before("open", when, lambda: change(path)), pytest.raises(SkillMountError) as error:
        mount([SkillMount(work / "pdf")], work / "into/home", host=HOST)
    assert str(error.value) == f"{work}/pdf: {message}"
    assert content(work / "into") == before


GROWING: dict[str, Callable[[Path], object]] = {
    "longer": lambda path: path.write_bytes(path.read_bytes() + bytes(1000)),
    "very long": lambda path: os.truncate(path, 11 << 30),
    "shorter": lambda path: os.truncate(path, 3),
    "other bytes": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}


@pytest.mark.parametrize("row", GROWING)
def test_a_file_that_changes_while_it_is_read_is_not_copied(row: str, work: Path) -> None:
    """No more than one byte beyond the measured size is read."""
    path = work / "pdf/sub/a.md"
    tree = measure_folder(str(work / "pdf"))
    sizes: list[int] = []
    real = os.read

    def counted(fd: int, size: int) -> bytes:
        data = real(fd, size)
        sizes.append(len(data))
        return data

    def is_it(fd: int, _: int) -> bool:
        return os.path.samestat(os.fstat(fd), path.stat())

    with (
        opened(work / "into") as into,
        patch.object(os, "read", counted),
        just_before("read", is_it, lambda: GROWING[row](path)),
        pytest.raises(SkillMountError) as error,
    ):
        copy_tree(tree, into, "pdf")
    assert str(error.value) == "`sub/a.md` changed while it was copied"
    assert sizes[-1] <= 41


def test_a_file_that_changes_after_it_was_read_is_not_copied(work: Path) -> None:
    path = work / "pdf/sub/a.md"
    tree = measure_folder(str(work / "pdf"))

    def when(_: int, data: bytes) -> bool:
        return bytes(data) == b"a.md" * 10

    with (
        opened(work / "into") as into,
        just_before("write", when, lambda: path.write_text("b" * 40)),
        pytest.raises(SkillMountError) as error,
    ):
        copy_tree(tree, into, "pdf")
    assert str(error.value) == "`sub/a.md` changed while it was copied"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_short_reads_and_writes_make_the_same_copy(size: int, work: Path) -> None:
    """A short write is continued, and a short read is not the end of a file."""
    tree = measure_folder(str(work / "pdf"))
    little: dict[str, Any] = {
        "read": lambda fd, most, read=os.read: read(fd, min(most, size)),
        "write": lambda fd, data, write=os.write: write(fd, data[:size]),
    }
    with opened(work / "into") as into, patch.multiple(os, **little):
        copied = copy_tree(tree, into, "pdf")
    assert copied.digest == skill_digest(str(work / "pdf")) == skill_digest(str(work / "into/pdf"))
    assert copied.integrity == portable_digest(str(work / "into/pdf"))


def test_an_existing_target_is_not_written_to(work: Path) -> None:
    """Not even if it is a link."""
    tree = measure_folder(str(work / "pdf"))
    (work / "into/pdf").symlink_to("../outside")
    before = content(work / "outside")
    with opened(work / "into") as into, pytest.raises(SkillMountError) as error:
        copy_tree(tree, into, "pdf")
    assert str(error.value) == "cannot copy the skill: file exists"
    assert content(work / "outside") == before


def test_no_descriptor_is_left_open(work: Path) -> None:
    """After a copy, and after one that failed half-way."""
    tree = measure_folder(str(work / "pdf"))
    mount([SkillMount(work / "pdf")], work / "home", host=HOST)
    assert opened_below(work) == []
    full = OSError(errno.ENOSPC, "No space left on device")
    with opened(work / "into") as into:
        assert opened_below(work) == [str(work / "into")]
        with patch.object(os, "write", side_effect=full), pytest.raises(SkillMountError):
            copy_tree(tree, into, "pdf")
    assert opened_below(work) == []


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def calls(work: Path, count: int) -> Counter[str]:
    """Mount a skill with this many files, and count the system calls by name."""
    folder = skill(work / str(count) / "pdf").parent
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
        mount([SkillMount(folder)], work / f"home{count}", host=HOST)
    return counted


def test_each_file_costs_two_opens_one_read_and_one_write(work: Path) -> None:
    """And two calls of `fstat`, before and after reading."""
    calls(work, 1)
    more = calls(work, 110)
    more.subtract(calls(work, 10))
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
