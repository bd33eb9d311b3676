"""Ignore files below a skills folder, as pi reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.filesystem._ignore import IgnoreRules
from support.growth import calls_at_most

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("lines", "path", "left_out"),
    [
        pytest.param("foo", "foo", True, id="name"),
        pytest.param("foo", "a/foo", True, id="name-at-any-depth"),
        pytest.param("foo", "food", False, id="whole-name"),
        pytest.param("FOO", "foo", True, id="case"),
        pytest.param("/foo", "a/foo", True, id="a-leading-slash-means-nothing"),
        pytest.param("a/foo", "b/a/foo", False, id="an-inner-slash-anchors"),
        pytest.param("foo", "foo/below/it", True, id="what-lies-below"),
        pytest.param("foo\n!foo", "foo", False, id="taken-back"),
        pytest.param("foo\n!foo/in", "foo/in", True, id="not-below-what-is-left-out"),
        pytest.param("*", "x", True, id="star"),
        pytest.param("x*z", "xyz", True, id="inner-star"),
        pytest.param("x?z", "xz", False, id="question-mark"),
        pytest.param("x[!y]z", "xyz", False, id="class"),
        pytest.param("a/**", "a", False, id="inside-only"),
        pytest.param("a/**", "a/b/c", True, id="inside"),
        pytest.param("a/**/c", "a/c", True, id="none-between"),
        pytest.param("a/**/c", "a/x/y/c", True, id="two-between"),
        pytest.param("**/c", "a/b/c", True, id="leading-stars"),
        pytest.param("# foo", "# foo", False, id="comment"),
        pytest.param("\\!foo", "!foo", False, id="pi-loses-the-backslash-and-negates"),
        pytest.param("foo  ", "foo", True, id="blanks-at-the-end"),
        pytest.param("a*" * 40 + "b", "a" * 200, False, id="many-stars"),
    ],
)
def test_patterns_match_as_in_git(tmp_path: Path, lines: str, path: str, left_out: bool) -> None:
    """With pi's two differences."""
    (tmp_path / ".gitignore").write_text(lines)
    ignored = IgnoreRules()
    ignored.read(str(tmp_path), "")
    assert ignored(path, folder=True) is left_out


def test_an_ignore_file_in_a_folder_applies_to_that_folder(tmp_path: Path) -> None:
    """Its patterns are anchored to it; one that ends in a slash matches folders only."""
    (tmp_path / ".ignore").write_text("x\nlogs/\n")
    ignored = IgnoreRules()
    ignored.read(str(tmp_path), "sub")
    assert ignored("sub/x", folder=True)
    assert not ignored("sub/deep/x", folder=True)
    assert not ignored("x", folder=True)
    assert ignored("sub/logs", folder=True)
    assert not ignored("sub/logs", folder=False)


def test_no_ignore_file_takes_long(tmp_path: Path) -> None:
    """Blanks, stars, and rules that never match a deep path."""
    (tmp_path / ".gitignore").write_text("a" + " " * 50_000 + "b\n" + "*a" * 5000 + "\n")
    ignored = IgnoreRules()
    with calls_at_most(20_000_000):
        ignored.read(str(tmp_path), "")
        (tmp_path / ".gitignore").write_text("**/a/**/x*/**/b\n" * 1000)
        ignored.read(str(tmp_path), "")
        for depth in range(1, 300):
            ignored("/".join("d" * depth), folder=True)


def test_long_patterns_and_names_use_up_the_steps_sooner(tmp_path: Path) -> None:
    """A pattern without its last character at any place of a name is compared with all of them."""
    ignored: dict[str, int] = {}
    for pattern in ("*a", "*" + "a" * 250):
        rules = IgnoreRules()
        for last in ("a", "b", "c", "last"):
            (tmp_path / ".gitignore").write_text("\n".join([*[f"{pattern}b"] * 240, last]))
            rules.read(str(tmp_path), "")
        paths = (f"{number:04}{'a' * 250}/last" for number in range(5000))
        ignored[pattern] = sum(rules(path, folder=True) for path in paths)
    assert 0 < ignored["*" + "a" * 250] * 20 < ignored["*a"] < 5000
