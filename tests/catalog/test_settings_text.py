"""Variables and files in the text of settings files."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
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


@pytest.mark.parametrize("text", ["{env:" * 200_000, "{file:" * 200_000, "//" + "{file:a}" * 200_000, "{" * 500_000])
def test_hostile_text_takes_bounded_time(tmp_path: Path, text: str) -> None:
    start = time.process_time()
    assert substituted(text, tmp_path) == text
    assert time.process_time() - start < 1


def test_a_text_with_its_variables_does_not_become_too_long(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too long"):
        substitute("{env:A}" * 10_000, folder="/", home="/", env={"A": "x" * 100_000}, filesystem=Filesystem())


def test_each_line_may_be_a_comment(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    text = '"{file:x}" // {file:x}\n// {file:x} {file:x}\n{file:x}'
    assert substituted(text, tmp_path) == '"1" // 1\n// {file:x} {file:x}\n1'


@pytest.mark.parametrize("text", ['{"permission": "{file:~/secret}"}', '{"a": {file:~/secret}}', '["{file:~/secret}"'])
def test_the_text_of_a_file_is_in_no_finding(tmp_path: Path, text: str) -> None:
    """A project may name any file of its user, and a report of it may be public."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home/secret").write_text("hunter2")
    (tmp_path / "opencode.json").write_text(text)
    found = discover(tmp_path, host="opencode", home=tmp_path / "home", env={})
    assert "hunter2" not in repr(found.findings)
    assert found.findings
