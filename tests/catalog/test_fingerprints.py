"""What was looked at, and whether it is still so."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.files import UnreadableError
from prowess.catalog._filesystem import Filesystem
from prowess.catalog._fingerprints import (
    FINGERPRINT_BYTES,
    fingerprint,
    fingerprint_path,
    fingerprint_paths,
    kind,
    link_kind,
    newest_time,
)
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog._fingerprints import Fingerprints


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
            fingerprint_path(path, os.stat)
    assert link_kind(f"{top}/round") == "l"


def test_marks_of_many_are_the_marks_of_each(top: Path) -> None:
    """Each of the same length; of links, or of what they lead to."""
    paths = [str(top / name) for name in ("folder", "file", "pipe", "to-folder")]
    assert fingerprint_paths(paths) == b"".join(map(fingerprint_path, paths))
    assert (
        fingerprint_paths(paths[-1:], os.stat) == fingerprint_paths(paths[:1], os.stat) != fingerprint_paths(paths[-1:])
    )
    assert [len(fingerprint_path(path)) for path in paths] == [FINGERPRINT_BYTES] * 4
    assert fingerprint_paths([]) == fingerprint_path(f"{top}/nothing") == fingerprint_path("nul\0") == b""
    for path, error in ((f"{top}/nothing", OSError), ("nul\0", ValueError)):
        with pytest.raises(error):
            fingerprint_paths([path])


@pytest.mark.parametrize("field", ["st_mode", "st_ino", "st_dev", "st_size", "st_mtime_ns", "st_ctime_ns"])
def test_each_part_of_a_state_has_a_part_in_its_mark(top: Path, field: str) -> None:
    """One that no mark holds gives none, and so is taken for what is not there: it is never believed."""
    status: Any = os.stat(top / "file")
    names = [name for name in dir(status) if name.startswith("st_")]
    values = {name: getattr(status, name) for name in names}
    assert fingerprint(SimpleNamespace(**values)) == fingerprint(status)  # type: ignore[arg-type]
    assert fingerprint(SimpleNamespace(**{**values, field: values[field] + 1})) != fingerprint(status)  # type: ignore[arg-type]
    assert fingerprint(SimpleNamespace(**{**values, field: 1 << 63})) == b""  # type: ignore[arg-type]


def test_the_newest_time_is_that_of_content_or_of_state(top: Path) -> None:
    """Whichever is later, of whichever file."""
    os.utime(top / "file", ns=(0, 1))
    changed = os.stat(top / "file").st_ctime_ns
    assert newest_time(fingerprint_path(str(top / "file"))) == changed
    os.utime(top / "pipe", ns=(0, changed + 10**12))
    assert newest_time(fingerprint_paths([str(top / "file"), str(top / "pipe")])) == changed + 10**12
    assert newest_time(b"") == 0


# ── what a disk notes ────────────────────────────────────────────────────────────────────────────────────────────────


def watched(filesystem: Filesystem) -> Fingerprints:
    fingerprints = filesystem.record_fingerprints()
    assert filesystem.fingerprints is fingerprints
    return fingerprints


def test_every_look_at_the_disk_is_noted(top: Path) -> None:
    """Present or absent, by what was asked: of a file, a folder, a kind, a path without links."""
    path = str(skill(top / "folder/a"))
    absent = f"{top}/nothing"
    filesystem = Filesystem()
    fingerprints = watched(filesystem)
    filesystem.kind(f"{top}/to-folder")
    filesystem.link_kind(f"{top}/to-folder")
    filesystem.real(f"{top}/to-folder")
    filesystem.listing(f"{top}/to-folder")
    filesystem.read_fast(path)
    filesystem.skill(path, whole=True)
    filesystem.skill(f"{absent}/SKILL.md")
    filesystem.yaml(f"{absent}/openai.yaml")
    filesystem.yaml(f"{absent}/openai.yaml")
    filesystem.data(f"{top}/file", 10)
    filesystem.text(f"{top}/file")
    for call in (filesystem.listing, lambda name: filesystem.data(name, 10)):
        with pytest.raises((OSError, UnreadableError)):
            call(absent)
    filesystem.digest(path)
    assert fingerprints.complete
    assert fingerprints.kinds == {f"{top}/to-folder": "d"}
    assert fingerprints.links == {f"{top}/to-folder": "l"}
    assert fingerprints.real_paths == {f"{top}/to-folder": os.path.realpath(top / "folder")}
    folder = os.path.dirname(path)
    assert fingerprints.folders == {
        f"{top}/to-folder": fingerprint_path(f"{top}/folder"),
        f"{top}/file": fingerprint_path(f"{top}/file"),
        absent: b"",
        folder: fingerprint_path(folder),
    }
    assert fingerprints.files == {
        path: fingerprint_path(path),
        f"{absent}/SKILL.md": b"",
        f"{absent}/openai.yaml": b"",
        f"{top}/file": fingerprint_path(f"{top}/file"),
    }


READS: dict[str, Any] = {
    "listing": lambda filesystem, path: filesystem.listing(os.path.dirname(path)),
    "glance": lambda filesystem, path: filesystem.read_fast(path),
    "skill": lambda filesystem, path: filesystem.skill(path),
    "whole skill": lambda filesystem, path: filesystem.skill(path, whole=True),
    "table": lambda filesystem, path: filesystem.yaml(path),
    "files": lambda filesystem, path: filesystem.files(path),
    "digest": lambda filesystem, path: filesystem.digest(path),
}


@pytest.mark.parametrize("read", [*READS])
def test_what_was_remembered_without_a_note_makes_the_notes_incomplete(top: Path, read: str) -> None:
    """What is read with one is noted for everybody who asks later."""
    path = str(skill(top / "folder/a"))
    filesystem = Filesystem()
    READS[read](filesystem, path)
    assert not watched(filesystem).complete
    filesystem = Filesystem()
    first = watched(filesystem)
    READS[read](filesystem, path)
    second = watched(filesystem)
    READS[read](filesystem, path)
    assert first.complete
    assert second.complete
    assert (first.files, first.folders) == (second.files, second.folders)
    assert first.files or first.folders


@pytest.mark.parametrize("read", [*READS])
def test_a_note_tells_what_was_seen_not_what_is_there_by_now(top: Path, read: str) -> None:
    """A file that goes, or another that comes with all its folders, does not become what was looked at."""
    path = str(skill(top / "folder/a"))
    filesystem = Filesystem()
    first = watched(filesystem)
    READS[read](filesystem, path)
    (top / "folder").rename(top / "away")
    second = watched(filesystem)
    READS[read](filesystem, path)
    assert (first.files, first.folders) == (second.files, second.folders)
    assert all(first.files.values())


def test_two_looks_that_saw_different_things_make_the_notes_incomplete(top: Path) -> None:
    """What was decided may rest on either."""
    filesystem = Filesystem()
    fingerprints = watched(filesystem)
    filesystem.kind(f"{top}/new")
    filesystem.kind(f"{top}/new")
    before = fingerprints.complete
    (top / "new").mkdir()
    filesystem.kind(f"{top}/new")
    assert (before, fingerprints.complete) == (True, False)
    path = str(skill(top / "folder/a"))
    filesystem = Filesystem()
    fingerprints = watched(filesystem)
    filesystem.skill(path)
    skill(top / "folder/a", description="another")
    filesystem.text(path)
    assert not fingerprints.complete


@pytest.mark.parametrize("where", ["folder", "file", "size"])
def test_a_copy_that_could_not_be_seen_whole_makes_the_notes_incomplete(
    top: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Whether two skills are the same is then not told."""
    path = str(skill(top / "folder/a"))
    (top / "folder/a/inner").mkdir()
    (top / "folder/a/inner/data").write_text("x")
    filesystem = Filesystem()
    fingerprints = watched(filesystem)
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
        filesystem._digest_bytes_left = 1
    filesystem.digest(path)
    assert not fingerprints.complete
