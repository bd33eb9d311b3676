# ruff: noqa: INP001 - a script, not a package
"""Write the manual page of `prowess` from the parsers of its commands."""

from __future__ import annotations

import re
from argparse import SUPPRESS, HelpFormatter
from textwrap import wrap
from typing import TYPE_CHECKING

from prowess import __version__
from prowess.cli._commands import COMMANDS
from prowess.cli._parser import command_parser

if TYPE_CHECKING:
    from argparse import Action, ArgumentParser
    from collections.abc import Iterator

_WIDTH = 66
"""Characters of a line before it is escaped."""
_DATE = "2026-11-22"
"""When the page last changed in a way that a reader should know about."""

_EXIT_STATUS = {
    "0": "success; for `list`, also if skills have findings",
    "1": "errors were found, or something failed",
    "2": "wrong use: an unknown command, option, skill or agent",
    "3": "a bug in Prowess",
    "130": "interrupted",
}
_ENVIRONMENT = {
    "PROWESS_SKILL_DIR": "a list of further folders of skills",
    "PROWESS_CACHE_DIR": "the folder of the cache",
    "PROWESS_NO_CACHE": "if it is 1, read every file again",
    "PROWESS_CONFIG_DIR": "the folder of the configuration and of the trust record",
    "PROWESS_SERVE_KEY": "the key that clients of `prowess run --serve` must send",
    "PROWESS_DEBUG": "if it is 1, show the traceback of a bug",
    "NO_COLOR, FORCE_COLOR": "no colour, or colour also in pipes and files; empty counts as not set",
}


def man_page() -> str:
    """Return the page in the macros of man(7)."""
    return "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    yield '.\\" `make docs` writes this page from the help of each command.'
    yield f'.TH PROWESS 1 "{_DATE}" "prowess {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "prowess \\- find Agent Skills, and show which agent loads which skill, and why"
    yield ".SH SYNOPSIS"
    yield ".B prowess"
    yield "\\fICOMMAND\\fR ..."
    yield ".SH DESCRIPTION"
    yield _text(
        "Prowess finds every Agent Skill that the agents on a machine would see, says why an agent does not load one, "
        "and checks, mounts, tests and runs skills. Data goes to standard output, all words to standard error."
    )
    yield ".SH COMMANDS"
    for name, description in COMMANDS.items():
        yield from _command(name, description)
    yield ".SH EXIT STATUS"
    yield from _definitions(_EXIT_STATUS)
    yield ".SH ENVIRONMENT"
    yield from _definitions(_ENVIRONMENT)


def _definitions(terms: dict[str, str]) -> Iterator[str]:
    for term, meaning in terms.items():
        yield ".TP"
        yield f"\\fB{_escape(term)}\\fR"
        yield _text(meaning)


def _command(name: str, description: str) -> Iterator[str]:
    parser: ArgumentParser = command_parser(name)
    yield f".SS prowess {name}"
    yield _text(f"{description[0].upper()}{description[1:]}.")
    yield ".PP"
    yield _text(" ".join(parser.format_usage().removeprefix("usage: ").split()))
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way
        if action.help != SUPPRESS:
            yield ".TP"
            yield f"\\fB{_escape(_term(action))}\\fR"
            yield _text(_help(action))
    if parser.epilog:
        yield ".PP"
        yield ".nf"
        yield from map(_escape, parser.epilog.splitlines())
        yield ".fi"


def _term(action: Action) -> str:
    """Return the names of an option and its value, as in the help."""
    if not action.option_strings:
        return str(action.metavar)
    value = HelpFormatter("")._format_args(action, str(action.dest).upper()) if action.nargs != 0 else ""  # noqa: SLF001
    return f"{', '.join(action.option_strings)} {value}".strip()


def _help(action: Action) -> str:
    return re.sub(r"%\((\w+)\)s", lambda match: str(getattr(action, match[1])), action.help or "").replace("%%", "%")


def _text(text: str) -> str:
    """Return a paragraph in short lines, as mandoc(1) wants them."""
    lines = wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_escape, lines))


def _escape(text: str) -> str:
    """Return a line in which troff sees no command; minus signs can be copied from the page."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{text}" if text.startswith((".", " ")) else text
