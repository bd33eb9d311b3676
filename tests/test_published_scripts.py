"""The program that runs the scripts of published skills counts those that start, and prints the reason of the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from published_scripts import main
from support.files import write_files
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.needs("bwrap")
def test_scripts_that_start_are_counted_and_the_rest_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module of a package is called as the answer for its file says."""
    files = {
        "scripts/__init__.py": "",
        "scripts/base.py": "VALUE = 1\n",
        "scripts/module.py": "from .base import VALUE\n",
        "scripts/refuses.py": "import sys\nsys.exit('unknown option: --help')\n",
        "scripts/lacks.py": "import lacking\n",
        "scripts/starts.sh": "nosuchprogram\n",
    }
    write_files(skill(tmp_path / "skills/pdf").parent, files)
    assert main([str(tmp_path / "skills")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "  pdf/scripts/lacks.py: hint: the Python module `lacking` is missing; which package has it is not known",
        "  pdf/scripts/starts.sh: hint: the program `nosuchprogram` is missing: install it, or add its folder to PATH",
        "skills: 3 of 5 scripts start (60%)",
    ]
