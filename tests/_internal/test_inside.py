"""A path inside a folder is resolved and opened there, and nowhere else."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from prowess._internal.files import is_inside
from prowess._internal.inside import OutsideError, open_or_make_inside, real_path_inside

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a permission on Windows")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path.resolve() / "top"
    (top / "real/inner").mkdir(parents=True)
    (top.parent / "top-2").mkdir()
    return top


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("real", None),
        ("real/inner/..", None),
        ("../top/real", None),
        ("..", "outside"),
        ("../top-2", "outside"),
        ("/", "outside"),
        ("../missing", "outside"),
        ("missing", "does not exist"),
        ("link", "does not exist"),
        ("real\nx", "does not exist"),
    ],
)
def test_a_link_is_followed_only_inside(target: str, problem: str | None, top: Path) -> None:
    (top / "link").symlink_to(target)
    if problem is None:
        assert real_path_inside(str(top), str(top / "link/new/folder")) == str(top / "real/new/folder")
        return
    with pytest.raises(OutsideError, match=problem) as error:
        open_or_make_inside(str(top), str(top / "link/new"))
    assert "\n" not in str(error.value)
    assert sorted(os.listdir(top.parent)) == ["top", "top-2"]


def test_links_that_lead_out_one_after_the_other_are_found(top: Path) -> None:
    (top / "one").symlink_to("real/two")
    (top / "real/two").symlink_to("../../top-2")
    with pytest.raises(OutsideError, match="top-2"):
        real_path_inside(str(top), str(top / "one/x"))


@pytest.mark.parametrize("path", ["..", "real/../../top-2", "../top-2/x"])
def test_a_path_that_leaves_by_its_names_is_refused(path: str, top: Path) -> None:
    with pytest.raises(OutsideError, match="outside"):
        real_path_inside(str(top), f"{top}/{path}")


def test_missing_folders_are_made(top: Path) -> None:
    os.close(open_or_make_inside(str(top), str(top / "a/b/c")))
    assert (top / "a/b/c").is_dir()


def test_a_file_instead_of_a_folder_is_an_error(top: Path) -> None:
    (top / "a").touch()
    with pytest.raises(NotADirectoryError):
        open_or_make_inside(str(top), str(top / "a/b"))


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        ("/a", "/a", True),
        ("/a/b", "/a", True),
        ("/ab", "/a", False),
        ("/", "/a", False),
        ("/a", "/", True),
        ("/a/b", "/a/", True),
    ],
)
def test_a_path_is_inside_a_folder_by_whole_names(path: str, folder: str, expected: bool) -> None:
    assert is_inside(path, folder) is expected
