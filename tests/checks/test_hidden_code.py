"""Hidden files of a skill that may run, which `check` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess import check
from support.files import write_files
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({".hidden/run.sh": ""}, "hidden, and may run: `.hidden/run.sh`"),
        ({"scripts/.run": ""}, "hidden, and may run: `scripts/.run`"),
        ({".notes.txt": "#!/bin/sh\n"}, "hidden, and may run: `.notes.txt`"),
        ({f".{name}.py": "" for name in "edcba"}, "hidden, and may run: `.a.py`, `.b.py`, `.c.py` and 2 more"),
        ({"run.sh": "", ".notes.txt": "", ".gitignore": "", ".assets/a.png": ""}, None),
        ({".git/hooks/commit-msg": "#!/bin/sh\n"}, None),
        ({".env": "KEY=1\n", ".env.example": "KEY=\n"}, None),
    ],
    ids=["folder", "file", "first-line", "many", "data", "git", "variables"],
)
def test_hidden_code_is_named(tmp_path: Path, files: dict[str, str], message: str | None) -> None:
    folder = write_files(skill(tmp_path / "pdf").parent, files)
    found = [item for item in check(folder) if item.code == "code-hidden"]
    assert [item.message for item in found] == ([] if message is None else [message])
    assert all(item.path == str(folder / "SKILL.md") for item in found)


def test_a_hidden_file_that_may_be_executed_or_that_tools_name_is_code(tmp_path: Path) -> None:
    """As for `find_code`, which decides it."""
    more = "tools:\n- type: script\n  scripts: [{name: fill, path: .data/fill.txt}]\n"
    folder = write_files(skill(tmp_path / "pdf", more=more).parent, {".data/fill.txt": "", ".data/x.txt": ""})
    (folder / ".data/x.txt").chmod(0o755)
    (message,) = [item.message for item in check(folder) if item.code == "code-hidden"]
    assert message == "hidden, and may run: `.data/fill.txt`, `.data/x.txt`"
