"""Temporary folders that are removed even if their process was killed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prowess._internal.tempdirs import TemporaryDirectory

if TYPE_CHECKING:
    from pathlib import Path


def test_only_names_that_a_process_gives_are_removed(tmp_path: Path) -> None:
    """Another folder may begin with the same word."""
    names = ("prowess-x-notes", "prowess-x-ABCDEFGH", "prowess-x-12345678.old", "prowess-x-abc", "prowess-x-abcd1234")
    for name in names:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    TemporaryDirectory("prowess-x-", str(tmp_path)).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[:-1])
