"""A script of the skill `pages`, and how models run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess import Scripts, Trust

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = Scripts(sandbox="none", timeout=20)
"""As an adapter takes them; the machine needs no sandbox."""
RUN: Any = [("run_skill_script", {"skill": "pages", "script": "count.sh", "args": ["3"], "input": "x"})]
READ: Any = [("read_script_file", {"path": "ok.txt"})]


def write_script(folder: Path) -> Trust:
    """Write `count.sh`, which prints its argument and writes `ok.txt`; return the trust record of a user."""
    script = '#!/bin/sh\necho "pages: $1"\necho done > ok.txt\n'
    (folder / ".agents/skills/pages/count.sh").write_text(script, encoding="utf-8")
    return Trust(str(folder.parent / "trust.json"))
