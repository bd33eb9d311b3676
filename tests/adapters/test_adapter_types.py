"""What an adapter returns has the types that its framework takes: strict mypy accepts a user's program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.lines import lines
from support.proofs import short_or_long

TOP = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("typed_programs.md")
ADAPTERS = ("claude_agent_sdk", *short_or_long((), ("openai_agents", "pydantic_ai", "langchain")))


@pytest.mark.slow
@pytest.mark.proof
def test_strict_mypy_accepts_a_user_of_an_adapter(tmp_path: Path) -> None:
    """The framework's types say what it takes; one run reads what programs share once. Short: one framework."""
    files = [tmp_path / f"use_{adapter}.py" for adapter in ADAPTERS]
    for adapter, file in zip(ADAPTERS, files, strict=True):
        file.write_text("\n".join(lines(PROGRAMS, adapter)), encoding="utf-8")
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "mypy.ini",
        "--cache-dir",
        str(tmp_path),
        *map(str, files),
    ]
    env = {**os.environ, "MYPYPATH": str(TOP / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == f"Success: no issues found in {short_or_long('1 source file', '4 source files')}\n"
