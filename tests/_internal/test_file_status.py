"""The owner, the permissions and the fingerprint of a file."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from prowess._internal.file_status import describe_file_type, is_own_file, ownership_problem, stat_fingerprint

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (stat.S_IFREG, "a regular file"),
        (stat.S_IFDIR | 0o755, "a folder"),
        (stat.S_IFIFO, "a FIFO"),
        (stat.S_IFLNK, "a link"),
        (0, "something else"),
    ],
)
def test_the_type_of_a_file_has_a_name(mode: int, words: str) -> None:
    assert describe_file_type(mode) == words


def test_a_file_that_others_may_write_to_is_not_private(tmp_path: Path) -> None:
    """Mode 600 and mode 644 are."""
    path = tmp_path / "file"
    path.write_text("x")
    problems = []
    for mode in (0o600, 0o644, 0o664, 0o646):
        path.chmod(mode)
        problems.append(ownership_problem(str(path), path.stat()))
    assert problems == [None, None, "writable", "writable"]
    assert not is_own_file(str(path), path.stat())


def test_a_file_of_another_user_is_not_private() -> None:
    status = os.stat_result((stat.S_IFREG | 0o600, 1, 1, 1, os.geteuid() + 1, 0, 0, 0, 0, 0))
    assert (ownership_problem("/x", status), is_own_file("/x", status)) == ("owner", False)


def test_an_own_file_has_the_type_that_is_asked_for(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "link").symlink_to(tmp_path)
    assert is_own_file(str(tmp_path), tmp_path.lstat(), stat.S_ISDIR)
    assert not is_own_file(str(tmp_path), tmp_path.lstat())
    assert not is_own_file(str(tmp_path / "link"), (tmp_path / "link").lstat(), stat.S_ISDIR)


def test_a_fingerprint_changes_with_the_file(tmp_path: Path) -> None:
    """With its content, its mode, and when another file takes its name."""
    path = tmp_path / "file"
    path.write_text("x")
    fingerprints = [stat_fingerprint(path.stat())]
    assert stat_fingerprint(path.stat()) == fingerprints[0]
    path.write_text("xx")
    fingerprints.append(stat_fingerprint(path.stat()))
    path.chmod(0o755)
    fingerprints.append(stat_fingerprint(path.stat()))
    (tmp_path / "other").write_text("xx")
    (tmp_path / "other").rename(path)
    fingerprints.append(stat_fingerprint(path.stat()))
    assert len(set(fingerprints)) == 4
