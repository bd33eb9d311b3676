"""Sealed copies: exactly the bytes that were checked, where no other process changes them."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SkillError
from prowess.skill import read_integrity, sealed_copy
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    """A skill with everything that a digest covers."""
    folder = tmp_path / "skills/pdf"
    skill(folder)
    (folder / "scripts/deep").mkdir(parents=True)
    (folder / "scripts/run").write_text("#!/bin/sh\necho run\n")
    (folder / "scripts/run").chmod(0o4755)
    (folder / "scripts/deep/data").write_bytes(bytes(range(256)) * 9000)
    (folder / "scripts/same").symlink_to("run")
    (folder / ".hidden").write_text("x")
    (folder / "empty").mkdir()
    return folder


def accept(_: str) -> None:
    """Accept every digest."""


def is_trusted(digest: str) -> Callable[[str], None]:
    """Return a check that accepts one digest."""

    def check(found: str) -> None:
        if found != digest:
            raise SkillError("not trusted")

    return check


@pytest.mark.parametrize(("contained", "refused"), [(False, 0o222), (True, 0o022)])
def test_a_copy_has_every_byte_and_link_and_is_read_only(pdf: Path, place: Path, contained: bool, refused: int) -> None:
    """Only its user can enter the folder; no file is set-uid. In a sandbox, the mount is what is read-only."""
    with sealed_copy(str(pdf), accept, contained=contained) as copy:
        top = Path(copy.folder)
        assert top.name == "pdf"
        assert place in top.parents
        assert copy.digest == read_integrity(str(pdf)).digest
        for path in sorted(pdf.rglob("*")):
            twin = top / path.relative_to(pdf)
            assert twin.is_symlink() == path.is_symlink()
            if not path.is_dir():
                assert twin.read_bytes() == path.read_bytes()
                assert stat.S_IMODE(twin.stat().st_mode) & (0o7000 | refused) == 0
            else:
                assert stat.S_IMODE(twin.stat().st_mode) & refused == 0
        assert os.access(top / "scripts/run", os.X_OK)
        assert stat.S_IMODE(place.iterdir().__next__().stat().st_mode) == 0o700
    assert list(place.iterdir()) == []


def test_compiled_files_count_and_are_not_copied(pdf: Path, place: Path) -> None:
    """Python would run them in place of the source that was reviewed."""
    before = read_integrity(str(pdf)).digest
    (pdf / "scripts/__pycache__").mkdir()
    (pdf / "scripts/__pycache__/run.cpython-311.pyc").write_bytes(b"\0" * 16)
    with sealed_copy(str(pdf), accept) as copy:
        assert copy.digest != before
        assert list(Path(copy.folder).rglob("__pycache__")) == []


@pytest.mark.parametrize("error", [SkillError("no"), KeyboardInterrupt(), SystemExit(143)])
def test_a_copy_is_removed_whatever_ends_the_block(pdf: Path, place: Path, error: BaseException) -> None:
    with pytest.raises(type(error)), sealed_copy(str(pdf), accept):
        raise error
    assert list(place.iterdir()) == []


def test_a_copy_that_is_not_accepted_is_removed(pdf: Path, place: Path) -> None:
    with pytest.raises(SkillError, match="not trusted"), sealed_copy(str(pdf), is_trusted("trust1:0")):
        pytest.fail("the copy was given out")
    assert list(place.iterdir()) == []


def damage(name: str) -> Callable[[Path], Any]:
    """Return a change of a skill that no digest can cover."""
    return {
        "link out": lambda folder: (folder / "out").symlink_to("/etc/passwd"),
        "link up": lambda folder: (folder / "up").symlink_to("../other"),
        "fifo": lambda folder: os.mkfifo(folder / "fifo"),
        "too large": lambda folder: os.truncate(_touched(folder / "large"), 65 * 1024 * 1024),
    }[name]


def _touched(path: Path) -> Path:
    path.touch()
    return path


@pytest.mark.parametrize("name", ["link out", "link up", "fifo", "too large"])
def test_what_no_digest_covers_is_not_copied(name: str, pdf: Path, place: Path) -> None:
    damage(name)(pdf)
    with pytest.raises(SkillError), sealed_copy(str(pdf), accept):
        pytest.fail("the copy was given out")
    assert list(place.iterdir()) == []


def test_the_link_to_a_skill_and_its_parents_may_be_exchanged(pdf: Path, place: Path, tmp_path: Path) -> None:
    """What counts are the bytes that were copied, not the path."""
    check = is_trusted(read_integrity(str(pdf)).digest)
    evil = tmp_path / "evil/pdf"
    skill(evil, body="Evil.")
    (tmp_path / "link").symlink_to(pdf.parent)
    with sealed_copy(str(tmp_path / "link/pdf"), check) as copy:
        assert "Evil." not in (Path(copy.folder) / "SKILL.md").read_text()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(evil.parent)
    with pytest.raises(SkillError, match="not trusted"), sealed_copy(str(tmp_path / "link/pdf"), check):
        pytest.fail("the copy was given out")


@pytest.mark.slow
def test_no_changed_byte_is_in_a_copy_that_was_accepted(pdf: Path, place: Path) -> None:
    """While another thread replaces, rewrites and extends the files as fast as it can."""
    good, file = (pdf / "scripts/run").read_bytes(), pdf / "scripts/run"
    status = file.stat()
    check = is_trusted(read_integrity(str(pdf)).digest)
    end = threading.Event()

    def flip() -> None:
        while not end.is_set():
            for content in (b"#!/bin/sh\necho bad\n", good + b"echo more\n", good):
                file.write_bytes(content)
                os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
                file.chmod(0o4755)
            end.wait(0.001)

    thread = threading.Thread(target=flip)
    thread.start()
    accepted = 0
    try:
        for _ in range(200):
            try:
                with sealed_copy(str(pdf), check) as copy:
                    accepted += 1
                    assert (Path(copy.folder) / "scripts/run").read_bytes() == good
            except SkillError:
                pass
    finally:
        end.set()
        thread.join()
    file.write_bytes(good)
    file.chmod(0o4755)
    with sealed_copy(str(pdf), check):
        accepted += 1
    assert accepted
