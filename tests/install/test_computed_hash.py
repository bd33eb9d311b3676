from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from prowess.install import computed_hash
from prowess.install._computed_hash import NotComparableError, sort_as_skills_does

if TYPE_CHECKING:
    from pathlib import Path


def test_paths_are_sorted_as_localecompare_sorts() -> None:
    """In the order of the root collation: punctuation, digits, letters without case; then small letters first."""
    expected = [
        "_a",
        "-a",
        "a",
        "A",
        "a b",
        "a_b",
        "a-b",
        "A-b",
        "a.b",
        "a/b",
        "a1",
        "a10",
        "a2",
        "ab",
        "b",
        "B",
        "SKILL.md",
    ]
    assert sort_as_skills_does(sorted(expected)) == expected
    assert sort_as_skills_does(expected[::-1]) == expected


def test_other_characters_do_not_matter_after_a_difference() -> None:
    assert sort_as_skills_does(["SKILL.md", "assets/é.png", "日本.md"][:2]) == ["assets/é.png", "SKILL.md"]


@pytest.mark.parametrize(
    "paths",
    [
        ["é", "f"],
        ["a/é", "a/e"],
        ["ab", "ac\u0327"],
        ["l\u00b7a", "m"],
        ["a\tb", "ab"],
        ["é", "E\u0301"],
        ["a\\b"],
        ["a", "a\udce9"],
    ],
)
def test_an_order_that_is_unknown_is_not_guessed(paths: list[str]) -> None:
    """An accent may belong to the letter before it, and some letters are one together."""
    with pytest.raises(NotComparableError):
        sort_as_skills_does(paths)


def test_the_hash_is_over_paths_and_bytes(tmp_path: Path) -> None:
    """Of regular files, in the order of their paths: not of links, nor below `.git` and `node_modules`."""
    for path in ("SKILL.md", "a.md", "B.md", "a/x", "sub/node_modules/y", ".git/z", ".hidden"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"content of {path}")
    (tmp_path / "link").symlink_to("a.md")
    os.mkfifo(tmp_path / "fifo")
    digest = hashlib.sha256()
    for path in (".hidden", "a.md", "a/x", "B.md", "SKILL.md"):
        digest.update(f"{path}content of {path}".encode())
    assert computed_hash(str(tmp_path)) == digest.hexdigest()


def test_the_hash_of_names_in_an_unknown_order_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "é").write_text("")
    assert computed_hash(str(tmp_path)) == hashlib.sha256("é".encode()).hexdigest()
    (tmp_path / "f").write_text("")
    assert computed_hash(str(tmp_path)) is None
