"""Run commands of Prowess on a project whose home is beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prowess.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def run_in(command: str, project: Path, *arguments: str) -> int:
    """Return the exit code of a command."""
    return main([command, *arguments, "--cwd", str(project), "--home", str(project.parent / "home")])


def json_in(command: str, project: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what a command prints with `--json`; it must succeed, and print nothing else."""
    assert run_in(command, project, *arguments, "--json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)
