"""The temporary folders of this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prowess.errors import SandboxError
from prowess.sandbox._runtime import runtime_folder
from support.commands import run_shell


def test_a_temporary_folder_with_a_colon_is_an_error(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `:` separates folders on PATH: a command would find another Python, or no Python."""
    (tmp_path / "a:b").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "a:b"))
    monkeypatch.setattr("prowess.sandbox._runtime._folders", {})
    with pytest.raises(SandboxError, match=r"no `python` for commands in .*a:b.*: PATH cannot contain `:`") as caught:
        run_shell("python3 -V", tmp_path, sandbox=sandbox)
    assert caught.value.hint == "set `TMPDIR` to a folder without `:` in its path"
    assert not list((tmp_path / "a:b").iterdir())


def test_stale_temporary_folders_are_removed_after_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new one, one with another name, and a file stay."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("prowess.sandbox._runtime._folders", {})
    for name in ("prowess-case-0123456789abcdef", "prowess-run-0123456789abcde0", "prowess-case-mine"):
        (tmp_path / name / "inner").mkdir(parents=True)
    for name in ("prowess-case-0123456789abcdef", "prowess-case-mine"):
        os.utime(tmp_path / name, (1, 1))
    (tmp_path / "prowess-run-0123456789abcdef").write_text("")
    os.utime(tmp_path / "prowess-run-0123456789abcdef", (1, 1))
    made = Path(runtime_folder())
    assert sorted(path.name for path in tmp_path.iterdir() if path != made) == [
        "prowess-case-mine",
        "prowess-run-0123456789abcde0",
        "prowess-run-0123456789abcdef",
    ]
