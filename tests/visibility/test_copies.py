"""Skills that are copies of each other."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from prowess.filesystem import Filesystem
from prowess.visibility._copies import CopyFinder
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


class Counting(Filesystem):
    """Counts how often the files of a skill are asked for."""

    asked = 0

    def files(self, path: str) -> Any:
        """Count, and return them."""
        self.asked += 1
        return super().files(path)


@pytest.mark.parametrize("renamed", [False, True])
def test_each_of_many_skills_is_read_once(tmp_path: Path, renamed: bool) -> None:
    """Skills of one name, and skills that could be copies that `mount` renamed."""
    asked = []
    for count in (50, 100):
        filesystem = Counting()
        finder = CopyFinder(filesystem)
        for number in range(count):
            folder = tmp_path / f"{count}" / f"{number}" / "pdf"
            name = f"pdf{number}" if renamed and number % 2 else "pdf"
            path = str(skill(folder, name=name, description=f"Use when {number:05}."))
            assert finder.original(path, name) is None
            finder.add(path, name)
        asked.append(filesystem.asked)
    assert asked[1] < 2.5 * asked[0]


def test_the_first_of_several_copies_is_found(tmp_path: Path) -> None:
    """In the order in which they were added, whichever way they are copies."""
    name, renamed = ("tables", "pdf")
    original = skill(tmp_path / "a/pdf", name=name, description="Use when.")
    copies = [skill(tmp_path / f"{number}/pdf", name=renamed, description="Use when.") for number in range(3)]
    for order in itertools.permutations(copies):
        finder = CopyFinder(Filesystem())
        for path in order:
            finder.add(str(path), renamed)
        assert finder.original(str(original), name) == str(order[0])
        assert finder.original(str(order[1]), renamed) == str(order[0])
