# ruff: noqa: INP001 - a script, not a package
"""The code -> the pages of docs/ that are made from it. `make docs` writes them; tests compare."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from prowess.cli import COMMANDS, main

DOCS = Path(__file__).parent


def help_page() -> str:
    """Return `help.md`: what `--help` prints, for the whole and for each command."""
    parts = ["# The command line\n\nThis page is made by `make docs` from what `--help` prints.\n"]
    for arguments in ([], *([name] for name in COMMANDS)):
        command = " ".join(["prowess", *arguments])
        parts.append(f"## `{command}`\n\n```text\n$ {command} --help\n{_printed([*arguments, '--help'])}```\n")
    return "\n".join(parts)


def _printed(arguments: list[str]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(arguments)
    return out.getvalue()


PAGES = {"help.md": help_page}
"""Page to what makes it."""


if __name__ == "__main__":
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
