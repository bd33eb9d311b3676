"""What to install, by what a script that failed wrote."""

from __future__ import annotations

import sys

import pytest

from prowess.environments import missing_hints, require_program
from prowess.errors import SkillFileError

PWSH = "the program `pwsh` is missing: see https://learn.microsoft.com/powershell"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "ModuleNotFoundError: No module named 'docx.oxml'",
            "the Python package of the module `docx` is missing: `pip install python-docx`",
        ),
        (
            "ModuleNotFoundError: No module named 'scripts'",
            "the Python module `scripts` is missing; which package has it is not known",
        ),
        (
            "Error: Cannot find module 'pptxgenjs'",
            "the Node.js package `pptxgenjs` is missing: `npm install pptxgenjs`",
        ),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'soffice'",
            "the program `soffice` is missing: for example `apt install libreoffice`",
        ),
        (
            "x.sh: line 3: pdftoppm: command not found",
            "the program `pdftoppm` is missing: for example `apt install poppler-utils`",
        ),
        ("Error: spawn pandoc ENOENT", "the program `pandoc` is missing: for example `apt install pandoc`"),
        ("x.sh: 1: deno: not found", "the program `deno` is missing: see https://deno.com"),
        ("Error: `pdftk-no` CLI not found. `PowerShell` pwsh is not installed", PWSH),
        ("✗ pwsh CLI not found", PWSH),
        ("guard: pwsh not on PATH", PWSH),
        (
            "ImportError: cannot import name 'Old' from 'mcp.client' (/c/lib/python3/site-packages/mcp/client.py)",
            "the installed version of `mcp` has no `Old`: the script is for another version",
        ),
        ("x.sh: 1: nosuch: not found", "the program `nosuch` is missing: install it, or add its folder to PATH"),
    ],
)
def test_what_is_missing_is_named_with_its_package(text: str, hint: str) -> None:
    assert list(missing_hints(f"Traceback:\n{text}\n{text}\n".encode())) == [hint]


@pytest.mark.parametrize(
    "text",
    [
        "FileNotFoundError: [Errno 2] No such file or directory: 'orders.csv'",
        "FileNotFoundError: [Errno 2] No such file or directory: 'data/x'",
        "ModuleNotFoundError: No module named 'a b'",
        "Error: the column was not found",
        "sh not found",
        "ImportError: cannot import name 'x' from 'scripts.base' (/skill/scripts/base.py)",
    ],
)
def test_a_file_that_is_missing_is_no_program(text: str) -> None:
    assert list(missing_hints(text.encode())) == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="its syntax is newer")
def test_syntax_of_a_newer_python_is_named() -> None:
    text = b"SyntaxError: f-string expression part cannot include a backslash\n"
    (hint,) = missing_hints(text)
    assert hint.startswith("this is Python 3.11; a script for 3.12 or newer")


def test_a_program_that_is_missing_is_named_before_the_script_runs() -> None:
    with pytest.raises(SkillFileError, match=r"`x\.rb` needs `nosuch`") as failure:
        require_program("nosuch", "x.rb", is_found=False)
    assert failure.value.hint == "ask the user to install `nosuch`, or go on without the script"
    require_program("sh", "x.sh", is_found=False)
