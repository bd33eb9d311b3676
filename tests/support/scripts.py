"""A script of the skill `pages`, and the option that runs scripts without a sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess import Scripts, Trust
from support.growth import END

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = Scripts(sandbox="none", timeout=END)
"""As an adapter takes them; the machine needs no sandbox."""


def write_script(folder: Path) -> Trust:
    """Write `count.sh`, which prints its argument and writes `ok.txt`; return the trust record of a user."""
    script = '#!/bin/sh\necho "pages: $1"\necho done > ok.txt\n'
    (folder / ".agents/skills/pages/count.sh").write_text(script, encoding="utf-8")
    return Trust(str(folder.parent / "trust.json"))
