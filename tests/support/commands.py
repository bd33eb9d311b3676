"""Run shell lines and Python code as commands of a sandbox."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess.sandbox import run

if TYPE_CHECKING:
    from prowess.sandbox import Result

RUNS = int(os.environ.get("PROWESS_SANDBOX_RUNS", "24"))
"""Commands that leave processes behind; 500 for the full measurement."""
SOURCE = Path(__file__).parents[2] / "src"


def run_shell(line: str, cwd: Path, **options: Any) -> Result:
    """Run a line of shell, without a sandbox by default."""
    return run(["/bin/sh", "-c", line], cwd=cwd, **{"sandbox": "none", **options})


def run_python(code: str, cwd: Path, **options: Any) -> Result:
    """Run Python code, without a sandbox by default."""
    return run(["python3", "-c", code], cwd=cwd, **{"sandbox": "none", **options})
