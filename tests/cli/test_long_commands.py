"""A long command on a terminal is several lines, and the same command when it is pasted."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from prowess._internal.text import display_width
from prowess.cli._output import wrap_command, wrap_for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 60
WORDS = st.lists(st.text("ab c'\"\\$;&é日", min_size=1, max_size=30).map(shlex.quote), min_size=1, max_size=30)


@pytest.fixture(scope="module", autouse=True)
def narrow_terminal() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(WIDTH))
        patch.setattr(sys.stdout, "isatty", lambda: True)
        yield


@given(WORDS)
def test_a_wrapped_command_has_the_same_words(words: list[str]) -> None:
    lines = wrap_command(f"    {' '.join(words)}")
    joined = "\n".join(lines).replace(" \\\n", "\n")  # what a shell does, and `shlex` does not
    assert shlex.split(joined) == shlex.split(" ".join(words))
    longest = max(map(display_width, words))
    assert all(display_width(line) <= max(WIDTH, longest + len("        ") + len(" \\")) for line in lines)


def test_a_shell_reads_the_same_command() -> None:
    names = [f"a-skill-with-a-long-name-{number}" for number in range(9)]
    command = f"printf '%s\\n' {' '.join(names)} 'it'\"'\"'s  one' && echo done"
    lines = wrap_command(f"    {command}")
    assert len(lines) > 9
    wrapped, whole = (
        subprocess.run(["/bin/sh", "-c", text], capture_output=True, check=True).stdout
        for text in ("\n".join(lines), command)
    )
    assert wrapped == whole


def test_a_comment_is_above_the_command_since_it_cannot_be_continued() -> None:
    command = f"    echo {'word ' * 20} ' # ' last  # `false` is a value, and the name differs from that of the folder"
    lines = wrap_command(command)
    assert lines[:2] == [
        "    # `false` is a value, and the name differs from that of",
        "    # the folder",
    ]
    found = subprocess.run(["/bin/sh", "-c", "\n".join(lines)], capture_output=True, check=True, text=True).stdout
    assert found.split() == ["word"] * 20 + ["#", "last"]


def test_what_is_in_back_ticks_stays_on_one_line() -> None:
    text = f"hint: {'words ' * 8}then type `prowess mount a-skill --project`, or another command"
    assert wrap_for_terminal(text, "  ") == [
        "hint: words words words words words words words words then",
        "  type `prowess mount a-skill --project`, or another command",
    ]


def test_a_short_command_and_one_through_a_pipe_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrap_command("    prowess check") == ["    prowess check"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    command = "    prowess mount " + "name " * 100
    assert wrap_command(command) == [command]
