"""Plain settings of git configurations are read as git reads them, and nothing is followed."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from prowess._internal.git_settings import parse_includes, parse_settings, write_settings

if TYPE_CHECKING:
    from pathlib import Path

VALID = {
    "plain": "[user]\n\tname = Ann Bee\n\temail=a@e.com\n",
    "comment": "# x\n[user] ; y\n\tname = Ann # z\n",
    "quotes": '[user]\n\tname = " Ann #1 "  \n',
    "escapes": '[user]\n\tname = "A\\"n\\\\n" \\t x\n',
    "continued": "[user]\n\tname = Ann \\\n  Bee\n",
    "last": "[user]\nname = A\n[user]\nname = B\n",
    "capitals": "[USER]\nNAME = A\n",
    "same-line": "[user] name = A\n",
    "subsection": '[remote "a]\\"b"]\nurl = x\n[user]\nname = A\n',
    "crlf": "[user]\r\nname = A\r\n",
}


@pytest.mark.needs("git")
@pytest.mark.parametrize("case", VALID)
def test_settings_are_read_as_git_reads_them(case: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(VALID[case], newline="")
    command = ["git", "config", "--file", str(file), "--get", "user.name"]
    expected = subprocess.run(command, capture_output=True, text=True, check=True).stdout[:-1]
    assert parse_settings(file.read_bytes())["user.name"] == expected


@pytest.mark.parametrize("text", ["[core", "x\x00y", '[user]\nname = "A\n', "[user]\nname = \\q\n", "[user]\n1 = x\n"])
def test_an_invalid_file_has_no_settings(text: str) -> None:
    assert parse_settings(b"[a]\nb = c\n" + text.encode()) == {}


def test_nothing_is_included(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("[user]\nname = A\n")
    text = f'[include]\npath = {tmp_path}/other\n[includeIf "gitdir:/"]\npath = {tmp_path}/other\n'
    assert parse_settings(text.encode()) == {"include.path": f"{tmp_path}/other"}
    assert parse_includes(text.encode()) == [f"{tmp_path}/other"] * 2


def test_written_settings_are_read_again() -> None:
    """Whatever their value is; control characters are left out."""
    settings = {"user.name": ' "A" \\ # ; B ', "core.x": "", "a.b": "\u00fc"}
    assert parse_settings(write_settings(settings).encode()) == settings
    assert write_settings({"a.b.c": "x\n[evil]\ny"}) == '[a "b"]\n\tc = "x[evil]y"\n'
