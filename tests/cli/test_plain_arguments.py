"""Plain arguments are parsed without `argparse`, and as it parses them."""

from __future__ import annotations

from itertools import permutations

import pytest

from prowess.cli._arguments import PLAIN_COMMANDS, parse_plain_arguments
from prowess.cli._parser import command_parser

WORDS = (
    ("--json",), ("--no-cache",), ("--all",), ("--host", "codex"), ("--host", "-x"), ("--host", ""), ("--cwd", "a b"),
    ("--home", "/x"), ("--budget", "10"), ("--arguments", "a"), ("--format", "xml"), ("--level", "a=pin"),
    ("--host=codex",), ("--js",), ("pdf",), ("-h",), ("--",), ("--color", "never"), ("--rows",), ("--skill-dir", "s"),
    ("--servers",),
)  # fmt: skip


@pytest.mark.parametrize("command", PLAIN_COMMANDS)
def test_plain_arguments_give_what_the_parser_gives(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """For all orders of up to three words; what the parser refuses is not plain."""
    compared = 0
    for count in range(4):
        for words in permutations(WORDS, count):
            arguments = [part for word in words for part in word]
            plain = parse_plain_arguments(command, arguments)
            if plain is None:
                continue
            compared += 1
            parsed = vars(command_parser(command).parse_args(arguments))
            # A private note of the parser.
            assert vars(plain) == {key: value for key, value in parsed.items() if " " not in key}, arguments
    assert compared > 20
    capsys.readouterr()


@pytest.mark.parametrize("command", PLAIN_COMMANDS)
@pytest.mark.parametrize("words", [("--host", "a", "--host", "b"), ("--hos", "a"), ("--host",), ("--host", "")])
def test_what_is_not_plain_is_left_to_the_parser(command: str, words: tuple[str, ...]) -> None:
    name = () if command in ("list", "prompt") else ("pdf",)
    assert parse_plain_arguments(command, name) is not None
    assert parse_plain_arguments(command, [*name, *words]) is None
    assert parse_plain_arguments(command, ["pdf", "docx"]) is None
