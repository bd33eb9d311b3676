"""Fingerprints of files and paths, and the record of what was read."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.files import UnreadableError
from prowess.filesystem._filesystem import Filesystem
from prowess.filesystem._fingerprints import (
    FINGERPRINT_BYTES,
    fingerprint,
    fingerprint_path,
    fingerprint_paths,
    has_name,
    kind,
    link_kind,
    newest_time,
)
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.filesystem._fingerprints import Fingerprints


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
    """With links followed or not; empty for a path that does not exist or is invalid."""
    path = f"{top}/{name}"
    assert (kind(path), link_kind(path)) == (through, itself)


def test_an_unreadable_path_is_an_error(top: Path) -> None:
    """A link to itself, a name that is too long."""
    (top / "round").symlink_to("round")
    for path in (f"{top}/round", f"{top}/{'x' * 5000}"):
        with pytest.raises(OSError, match=r"."):
            kind(path)
        with pytest.raises(OSError, match=r"."):
            fingerprint_path(path, os.stat)
    assert link_kind(f"{top}/round") == "l"


def test_fingerprints_of_many_paths_are_those_of_each(top: Path) -> None:
    """All have the same length; of links, or of their targets."""
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
def test_each_field_of_a_status_changes_the_fingerprint(top: Path, field: str) -> None:
    """A number too large for a fingerprint gives an empty one, which is never stored."""
    status: Any = os.stat(top / "file")
    names = [name for name in dir(status) if name.startswith("st_")]
    values = {name: getattr(status, name) for name in names}
    same, changed, huge = values, {**values, field: values[field] + 1}, {**values, field: 1 << 63}
    statuses: list[Any] = [SimpleNamespace(**fields) for fields in (same, changed, huge)]
    fingerprints = [fingerprint(one) for one in statuses]
    assert fingerprints[0] == fingerprint(status)
    assert fingerprints[1] != fingerprint(status)
    assert fingerprints[2] == b""


def test_the_newest_time_is_of_content_or_status(top: Path) -> None:
    """Whichever is later, of any file."""
    os.utime(top / "file", ns=(0, 1))
    changed = os.stat(top / "file").st_ctime_ns
    assert newest_time(fingerprint_path(str(top / "file"))) == changed
    os.utime(top / "pipe", ns=(0, changed + 10**12))
    assert newest_time(fingerprint_paths([str(top / "file"), str(top / "pipe")])) == changed + 10**12
    assert newest_time(b"") == 0


# ── what is recorded ────────────────────────────────────────────────────────────────────────────────────────────────


def record(filesystem: Filesystem) -> Fingerprints:
    fingerprints = filesystem.record_fingerprints()
    assert filesystem.fingerprints is fingerprints
    return fingerprints


def test_every_read_is_recorded(top: Path) -> None:
    """Of a file, a folder, a kind or a path without links, whether it exists or not."""
    path = str(skill(top / "folder/a"))
    absent = f"{top}/nothing"
    filesystem = Filesystem()
    fingerprints = record(filesystem)
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
    "fast path": lambda filesystem, path: filesystem.read_fast(path),
    "skill": lambda filesystem, path: filesystem.skill(path),
    "whole skill": lambda filesystem, path: filesystem.skill(path, whole=True),
    "table": lambda filesystem, path: filesystem.yaml(path),
    "files": lambda filesystem, path: filesystem.files(path),
    "digest": lambda filesystem, path: filesystem.digest(path),
}


@pytest.mark.parametrize("read", [*READS])
def test_a_read_without_a_record_makes_the_record_incomplete(top: Path, read: str) -> None:
    """A read with a record is in every later record too."""
    path = str(skill(top / "folder/a"))
    filesystem = Filesystem()
    READS[read](filesystem, path)
    assert not record(filesystem).complete
    filesystem = Filesystem()
    first = record(filesystem)
    READS[read](filesystem, path)
    second = record(filesystem)
    READS[read](filesystem, path)
    assert first.complete
    assert second.complete
    assert (first.files, first.folders) == (second.files, second.folders)
    assert first.files or first.folders


@pytest.mark.parametrize("read", [*READS])
def test_a_fingerprint_is_of_what_was_read_not_of_what_exists_now(top: Path, read: str) -> None:
    """A file that is removed or replaced later does not change the record."""
    path = str(skill(top / "folder/a"))
    filesystem = Filesystem()
    first = record(filesystem)
    READS[read](filesystem, path)
    (top / "folder").rename(top / "away")
    second = record(filesystem)
    READS[read](filesystem, path)
    assert (first.files, first.folders) == (second.files, second.folders)
    assert all(first.files.values())


def test_two_different_observations_make_the_record_incomplete(top: Path) -> None:
    """The result may depend on either."""
    filesystem = Filesystem()
    fingerprints = record(filesystem)
    filesystem.kind(f"{top}/new")
    filesystem.kind(f"{top}/new")
    before = fingerprints.complete
    (top / "new").mkdir()
    filesystem.kind(f"{top}/new")
    assert (before, fingerprints.complete) == (True, False)
    path = str(skill(top / "folder/a"))
    filesystem = Filesystem()
    fingerprints = record(filesystem)
    filesystem.skill(path)
    skill(top / "folder/a", description="another")
    filesystem.text(path)
    assert not fingerprints.complete


@pytest.mark.parametrize("limit", ["folder", "file", "size"])
def test_an_incomplete_digest_makes_the_record_incomplete(
    top: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """Whether two skills are identical is then unknown."""
    path = str(skill(top / "folder/a"))
    (top / "folder/a/inner").mkdir()
    (top / "folder/a/inner/data").write_text("x")
    filesystem = Filesystem()
    fingerprints = record(filesystem)
    listed, opened = os.scandir, os.open

    def scandir(name: Any) -> Any:
        if limit == "folder" and str(name).endswith("inner"):
            raise OSError(24, "Too many open files")
        return listed(name)

    def open_(name: Any, *rest: Any) -> int:
        if limit == "file" and str(name).endswith("data"):
            raise OSError(24, "Too many open files")
        return opened(name, *rest)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "open", open_)
    if limit == "size":
        filesystem._digest_bytes_left = 1
    filesystem.digest(path)
    assert not fingerprints.complete


@pytest.mark.parametrize("name", ["SKILL.md", "skill.MD", "\u017fkill.md"])
def test_a_name_is_in_a_listing_in_any_case(name: str) -> None:
    """Some file systems find `skill.md` if they are asked for `SKILL.md`."""
    assert has_name((("a", "d"), (name, "f")), "SKILL.md")
    assert not has_name(((f"{name}.txt", "f"), ("SKILL-md", "f")), "SKILL.md")
