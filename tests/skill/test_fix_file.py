"""Repair a file on disk: only the file that was read, only where it was found, and with everything it has."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.errors import SkillFileError
from prowess.skill import fix_file
from prowess.skill._fix import FixResult, fix
from support.races import flipped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions and links are those of POSIX")
BROKEN = b"---\nname: a\ndescription: @all\n---\nDo it.\n"
FIXED = b"---\nname: a\ndescription: '@all'\n---\nDo it.\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project/a/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(BROKEN)
    return path


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Change something after the file was read and before it is written."""

    def fix_later(data: bytes, *, folder: str) -> FixResult:
        change()
        return fix(data, folder=folder)

    monkeypatch.setattr("prowess.skill._fix_file.fix", fix_later)


def test_a_hard_link_is_refused(file: Path) -> None:
    """Replacing it would separate it from its other names; writing into it would change another file."""
    other = file.parent.parent / "other"
    os.link(file, other)
    with pytest.raises(SkillFileError, match="it is a hard link: it has 2 names"):
        fix_file(str(file))
    assert (file.read_bytes(), file.stat().st_ino) == (BROKEN, other.stat().st_ino)


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o555, 0o464])
def test_a_read_only_file_is_refused(mode: int, file: Path) -> None:
    """For root too, who may write it."""
    file.chmod(mode)
    with pytest.raises(SkillFileError, match="it is read-only") as error:
        fix_file(str(file))
    assert "chmod u+w" in str(error.value.hint)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (BROKEN, mode)
    assert os.listdir(file.parent) == ["SKILL.md"]


def test_a_file_without_problems_may_be_read_only(file: Path) -> None:
    file.write_bytes(FIXED)
    file.chmod(0o444)
    assert fix_file(str(file)) == (str(file), ())


def test_mode_owner_and_attributes_stay(file: Path) -> None:
    file.chmod(0o751)
    attributes = {}
    if os.geteuid() == 0:
        os.chown(file, 12345, 23456)
    try:
        os.setxattr(file, "user.note", b"keep")
        attributes = {"user.note": b"keep"}
    except (OSError, AttributeError):
        pass  # not supported here
    before = file.stat()
    assert fix_file(str(file)) == (str(file), ("quoted values",))
    after = file.stat()
    assert file.read_bytes() == FIXED
    assert [(status.st_mode, status.st_uid, status.st_gid) for status in (after, before)] == [
        (before.st_mode, before.st_uid, before.st_gid)
    ] * 2
    assert {name: os.getxattr(file, name) for name in attributes} == attributes
    assert os.listdir(file.parent) == ["SKILL.md"]


def test_a_file_that_changed_is_not_overwritten(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: file.write_bytes(BROKEN + b"More.\n"))
    with pytest.raises(SkillFileError, match="it changed while it was fixed"):
        fix_file(str(file))
    assert file.read_bytes() == BROKEN + b"More.\n"
    assert os.listdir(file.parent) == ["SKILL.md"]


def test_a_file_that_was_replaced_is_not_overwritten(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by a link either, whose target stays as it was."""
    outside = file.parent.parent.parent / "outside"
    outside.write_bytes(BROKEN)

    def replace() -> None:
        file.unlink()
        file.symlink_to(outside)

    meanwhile(monkeypatch, replace)
    with pytest.raises((SkillFileError, OSError)):
        fix_file(str(file))
    assert (file.is_symlink(), outside.read_bytes()) == (True, BROKEN)
    assert os.listdir(file.parent) == ["SKILL.md"]


def test_a_file_that_is_replaced_at_the_last_moment_comes_back(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last look at it and the exchange of names."""
    from prowess._internal.fs import exchange_names

    calls: list[object] = []

    def exchange(*arguments: object) -> bool:
        if not calls:
            (file.parent / "new").write_bytes(b"another")
            os.replace(file.parent / "new", file)
        calls.append(arguments)
        return exchange_names(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("prowess.skill._fix_file.exchange_names", exchange)
    try:
        fix_file(str(file))
    except SkillFileError:
        assert file.read_bytes() == b"another"
        assert os.listdir(file.parent) == ["SKILL.md"]
    else:
        pytest.skip("this file system cannot exchange names")


def test_no_link_below_the_top_is_followed(file: Path) -> None:
    project = file.parent.parent
    (project.parent / "outside").mkdir()
    file.parent.rename(project.parent / "outside/a")
    for name, target in (("a", "../outside/a"), ("b", "../outside")):
        (project / name).symlink_to(target)
    for path in (project / "a/SKILL.md", project / "b/a/SKILL.md"):
        with pytest.raises(SkillFileError, match="a folder in its path is a link"):
            fix_file(str(path), top=str(project))
    assert (project.parent / "outside/a/SKILL.md").read_bytes() == BROKEN


def test_the_top_may_be_a_link(file: Path) -> None:
    """The user typed its name."""
    link = file.parent.parent.parent / "link"
    link.symlink_to(file.parent.parent)
    assert fix_file(str(link / "a/SKILL.md"), top=str(link))[1] == ("quoted values",)
    assert file.read_bytes() == FIXED


@pytest.mark.slow
def test_a_folder_that_becomes_a_link_leads_nowhere(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread exchanges the folder for a link while the file is written, again and again."""
    project, outside = file.parent.parent, file.parent.parent.parent / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_bytes(b"outside")
    (project / "link").symlink_to(outside)
    written = 0

    def change_always(data: bytes, **_folder: str) -> FixResult:
        return FixResult(data=FIXED if data == BROKEN else BROKEN, changes=("changed it",))

    monkeypatch.setattr("prowess.skill._fix_file.fix", change_always)
    with flipped(project, "a", "link"):
        for _ in range(2_000):
            try:
                written += bool(fix_file(str(project / "a/SKILL.md"), top=str(project))[1])
            except OSError:
                continue
    assert written
    assert (outside / "SKILL.md").read_bytes() == b"outside"
    assert os.listdir(outside) == ["SKILL.md"]
