"""What was looked at, and whether it is still so."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from prowess.disk import Disk
from prowess.files import UnreadableError
from prowess.looks import MARK_BYTES, kind, link_kind, mark, mark_of, marks, newest
from skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.looks import Looks


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to-folder").symlink_to("folder")
    (tmp_path / "to-nothing").symlink_to("nothing")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "through", "itself"),
    [
        ("folder", "d", "d"),
        ("file", "f", "f"),
        ("pipe", "?", "?"),
        ("to-folder", "d", "l"),
        ("to-nothing", "", "l"),
        ("nothing", "", ""),
        ("file/below", "", ""),
        ("nul\0", "", ""),
    ],
)
def test_kinds_are_letters(top: Path, name: str, through: str, itself: str) -> None:
    """Through links and not; nothing is an empty text, also where it could not even be asked for."""
    path = f"{top}/{name}"
    assert (kind(path), link_kind(path)) == (through, itself)


def test_what_may_not_be_looked_at_has_no_kind_and_no_mark(top: Path) -> None:
    """A link that leads to itself, a name that is too long."""
    (top / "round").symlink_to("round")
    for path in (f"{top}/round", f"{top}/{'x' * 5000}"):
        with pytest.raises(OSError, match=r"."):
            kind(path)
        with pytest.raises(OSError, match=r"."):
            mark_of(path, os.stat)
    assert link_kind(f"{top}/round") == "l"


def test_marks_of_many_are_the_marks_of_each(top: Path) -> None:
    """Each of the same length; of links, or of what they lead to."""
    paths = [str(top / name) for name in ("folder", "file", "pipe", "to-folder")]
    assert marks(paths) == b"".join(map(mark_of, paths))
    assert marks(paths[-1:], os.stat) == marks(paths[:1], os.stat) != marks(paths[-1:])
    assert [len(mark_of(path)) for path in paths] == [MARK_BYTES] * 4
    assert marks([]) == mark_of(f"{top}/nothing") == mark_of("nul\0") == b""
    for path, error in ((f"{top}/nothing", OSError), ("nul\0", ValueError)):
        with pytest.raises(error):
            marks([path])


@pytest.mark.parametrize("field", ["st_mode", "st_ino", "st_dev", "st_size", "st_mtime_ns", "st_ctime_ns"])
def test_each_part_of_a_state_has_a_part_in_its_mark(top: Path, field: str) -> None:
    """One that no mark holds gives none, and so is taken for what is not there: it is never believed."""
    status: Any = os.stat(top / "file")
    names = [name for name in dir(status) if name.startswith("st_")]
    values = {name: getattr(status, name) for name in names}
    assert mark(SimpleNamespace(**values)) == mark(status)  # type: ignore[arg-type]
    assert mark(SimpleNamespace(**{**values, field: values[field] + 1})) != mark(status)  # type: ignore[arg-type]
    assert mark(SimpleNamespace(**{**values, field: 1 << 63})) == b""  # type: ignore[arg-type]


def test_the_newest_time_is_that_of_content_or_of_state(top: Path) -> None:
    """Whichever is later, of whichever file."""
    os.utime(top / "file", ns=(0, 1))
    changed = os.stat(top / "file").st_ctime_ns
    assert newest(mark_of(str(top / "file"))) == changed
    os.utime(top / "pipe", ns=(0, changed + 10**12))
    assert newest(marks([str(top / "file"), str(top / "pipe")])) == changed + 10**12
    assert newest(b"") == 0


# ── what a disk notes ────────────────────────────────────────────────────────────────────────────────────────────────


def watched(disk: Disk) -> Looks:
    looks = disk.watch()
    assert disk.looks is looks
    return looks


def test_every_look_at_the_disk_is_noted(top: Path) -> None:
    """Present or absent, by what was asked: of a file, a folder, a kind, a path without links."""
    path = str(skill(top / "folder/a"))
    absent = f"{top}/nothing"
    disk = Disk()
    looks = watched(disk)
    disk.kind(f"{top}/to-folder")
    disk.link_kind(f"{top}/to-folder")
    disk.real(f"{top}/to-folder")
    disk.listing(f"{top}/to-folder")
    disk.glanced(path)
    disk.skill(path, whole=True)
    disk.skill(f"{absent}/SKILL.md")
    disk.yaml(f"{absent}/openai.yaml")
    disk.yaml(f"{absent}/openai.yaml")
    disk.data(f"{top}/file", 10)
    disk.text(f"{top}/file")
    for call in (disk.listing, lambda name: disk.data(name, 10)):
        with pytest.raises((OSError, UnreadableError)):
            call(absent)
    disk.digest(path)
    assert looks.complete
    assert looks.kinds == {f"{top}/to-folder": "d"}
    assert looks.links == {f"{top}/to-folder": "l"}
    assert looks.reals == {f"{top}/to-folder": os.path.realpath(top / "folder")}
    folder = os.path.dirname(path)
    assert looks.folders == {
        f"{top}/to-folder": mark_of(f"{top}/folder"),
        f"{top}/file": mark_of(f"{top}/file"),
        absent: b"",
        folder: mark_of(folder),
    }
    assert looks.files == {
        path: mark_of(path),
        f"{absent}/SKILL.md": b"",
        f"{absent}/openai.yaml": b"",
        f"{top}/file": mark_of(f"{top}/file"),
    }


READS: dict[str, Any] = {
    "listing": lambda disk, path: disk.listing(os.path.dirname(path)),
    "glance": lambda disk, path: disk.glanced(path),
    "skill": lambda disk, path: disk.skill(path),
    "whole skill": lambda disk, path: disk.skill(path, whole=True),
    "table": lambda disk, path: disk.yaml(path),
    "files": lambda disk, path: disk.files(path),
    "digest": lambda disk, path: disk.digest(path),
}


@pytest.mark.parametrize("read", [*READS])
def test_what_was_remembered_without_a_note_makes_the_notes_incomplete(top: Path, read: str) -> None:
    """What is read with one is noted for everybody who asks later."""
    path = str(skill(top / "folder/a"))
    disk = Disk()
    READS[read](disk, path)
    assert not watched(disk).complete
    disk = Disk()
    first = watched(disk)
    READS[read](disk, path)
    second = watched(disk)
    READS[read](disk, path)
    assert first.complete
    assert second.complete
    assert (first.files, first.folders) == (second.files, second.folders)
    assert first.files or first.folders


@pytest.mark.parametrize("read", [*READS])
def test_a_note_tells_what_was_seen_not_what_is_there_by_now(top: Path, read: str) -> None:
    """A file that goes, or another that comes with all its folders, does not become what was looked at."""
    path = str(skill(top / "folder/a"))
    disk = Disk()
    first = watched(disk)
    READS[read](disk, path)
    (top / "folder").rename(top / "away")
    second = watched(disk)
    READS[read](disk, path)
    assert (first.files, first.folders) == (second.files, second.folders)
    assert all(first.files.values())


def test_two_looks_that_saw_different_things_make_the_notes_incomplete(top: Path) -> None:
    """What was decided may rest on either."""
    disk = Disk()
    looks = watched(disk)
    disk.kind(f"{top}/new")
    disk.kind(f"{top}/new")
    before = looks.complete
    (top / "new").mkdir()
    disk.kind(f"{top}/new")
    assert (before, looks.complete) == (True, False)
    path = str(skill(top / "folder/a"))
    disk = Disk()
    looks = watched(disk)
    disk.skill(path)
    skill(top / "folder/a", description="another")
    disk.text(path)
    assert not looks.complete


@pytest.mark.parametrize("where", ["folder", "file", "size"])
def test_a_copy_that_could_not_be_seen_whole_makes_the_notes_incomplete(
    top: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Whether two skills are the same is then not told."""
    path = str(skill(top / "folder/a"))
    (top / "folder/a/inner").mkdir()
    (top / "folder/a/inner/data").write_text("x")
    disk = Disk()
    looks = watched(disk)
    listed, opened = os.scandir, os.open

    def scandir(name: Any) -> Any:
        if where == "folder" and str(name).endswith("inner"):
            raise OSError(24, "Too many open files")
        return listed(name)

    def open_(name: Any, *rest: Any) -> int:
        if where == "file" and str(name).endswith("data"):
            raise OSError(24, "Too many open files")
        return opened(name, *rest)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "open", open_)
    if where == "size":
        disk._left = 1
    disk.digest(path)
    assert not looks.complete
