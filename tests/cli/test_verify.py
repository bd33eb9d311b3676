from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    [None, "{", "<<<<<<< x\n", "{}", "\udc80", "[" * 100_000],
    ids=["missing", "no JSON", "conflict", "no lock", "no text", "deep"],
)
def test_the_path_of_a_project_forges_no_line_and_no_command(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "a\nFORGED \x1b[31m $(touch x)"
    (project / ".git").mkdir(parents=True)
    if text is not None:
        (project / "skills-lock.json").write_text(text, errors="surrogateescape")
    for command in ("verify", "install", "lock"):
        assert main([command, "--cwd", str(project)]) in (1, 2)
        _, err = capsys.readouterr()
        assert "FORGED" in err
        assert "\x1b" not in err
        assert "\nFORGED" not in err
        for shown in re.findall("`(git [^`]*)`", err):
            assert "$" not in "".join(re.split("'[^']*'", shown))
