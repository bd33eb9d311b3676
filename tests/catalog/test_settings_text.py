"""Variables and files in the text of settings files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.catalog._filesystem import Filesystem
from prowess.catalog._settings_text import substitute

if TYPE_CHECKING:
    from pathlib import Path


def substituted(text: str, folder: Path) -> str:
    return substitute(text, folder=str(folder), home=str(folder / "home"), env={"A": "1"}, filesystem=Filesystem())


def test_variables_and_files_are_replaced(tmp_path: Path) -> None:
    """A file is trimmed, and written as the inside of a JSON text."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home/x").write_text(' say "hi"\n{env:A}\n')
    assert substituted('["{env:A}{env:B}", "{file:~/x}", "{file:}"]', tmp_path) == (
        r'["1", "say \"hi\"\n{env:A}", "{file:}"]'
    )


def test_a_file_in_a_comment_is_not_read(tmp_path: Path) -> None:
    text = '{\n  // {file:missing}\n  "a": 1 }'
    assert substituted(text, tmp_path) == text


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "large", "many", "nul"])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind in ("large", "many"):
        path.write_bytes(b"x" * (100_000 if kind == "large" else 1))
    with pytest.raises(ValueError, match="it names"):
        substituted("{file:x}" * (1000 if kind == "many" else 1) + ("{file:\0}" if kind == "nul" else ""), tmp_path)
