"""Completion in bash, zsh and fish: each completes commands, options and names, and no name is evaluated."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.cli._commands import COMMANDS
from prowess.cli._parser import command_parser
from prowess.findings import CODES
from prowess.hosts import host_names
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SHELLS = [
    pytest.param("bash", ["bash", "--norc", "--noprofile", "-i"], id="bash"),
    pytest.param("zsh", ["zsh", "-f", "-i"], id="zsh", marks=pytest.mark.needs("zsh")),
    pytest.param("fish", ["fish", "--no-config", "-i"], id="fish", marks=pytest.mark.needs("fish")),
]
SETUP = {
    "bash": "source {script}\n",
    "zsh": "autoload -Uz compinit; compinit -u -D; source {script}\n",
    "fish": "source {script}\n",
}
HOSTILE = [
    "a$(touch pwned)",
    "b`touch pwned`",
    "c;touch pwned;",
    "d'e'$(touch pwned)",
    'f"g"$(touch pwned)',
    "h i",
    "j&touch pwned",
    "k|touch pwned",
    "l>pwned",
    "m*?[a]",
    "n{1,2}",
    "o\\$(touch pwned)",
    "p!q",
    "r#s",
    "t~",
    "~u",
    "v:w",
    "x@y",
    "z=1",
    "%percent",
    "é漢",
]
"""Names of skills, each with another first character."""
LEFT_OUT = ["-option", "--host", "new\nline", "tab\there", "esc\x1b[31m", "bidi\u202ename"]
"""Names that cannot be typed as one plain argument."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with skills of these names."""
    for number, name in enumerate([*HOSTILE, *LEFT_OUT]):
        folder = tmp_path / f"project/.agents/skills/skill-{number}"
        folder.mkdir(parents=True)
        text = f"---\nname: {json.dumps(name)}\ndescription: Does it.\n---\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    (tmp_path / ".pi").mkdir()  # the only agent on this machine; others change some names
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "project"


def run_shell(shell: str, argv: list[str], lines: Sequence[str], project: Path) -> list[list[str]]:
    """Type lines into an interactive shell and return the arguments of each `prowess` that it started."""
    programs, log = project.parent / "bin", project.parent / "log"
    programs.mkdir()
    (programs / "prowess").write_text(
        f'#!/bin/sh\nif [ "$1" = completion ]; then exec "{sys.executable}" -m prowess "$@"; fi\n'
        f"printf '%s\\0' \"$@\" >>'{log}'; echo >>'{log}'\n"
    )
    (programs / "prowess").chmod(0o755)
    script = project.parent / f"script.{shell}"
    with script.open("w") as file:
        subprocess.run([sys.executable, "-m", "prowess", "completion", shell], stdout=file, check=True)
    process, fd = pty.fork()
    if process == 0:
        os.chdir(project)
        env = {"PATH": f"{programs}:/usr/bin:/bin", "TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": str(project.parent)}
        os.execvpe(argv[0], argv, env)  # noqa: S606
    typed = SETUP[shell].format(script=script) + "".join(f"{line}\n" for line in lines) + "exit\n"
    os.set_blocking(fd, False)
    data, output = typed.encode(), b""
    with suppress(OSError):  # the shell has ended
        while True:
            readable, writable, _ = select.select([fd], [fd] if data else [], [])
            if writable:
                data = data[os.write(fd, data[:200]) :]
            if readable:
                output += os.read(fd, 65536)
    os.close(fd)
    os.waitpid(process, 0)
    assert log.exists(), output.decode("utf-8", "replace")
    return [line.decode().split("\0") for line in log.read_bytes().removesuffix(b"\0\n").split(b"\0\n")]


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "argv"), SHELLS)
def test_a_shell_completes_hostile_names_without_evaluating_them(shell: str, argv: list[str], project: Path) -> None:
    """After a unique first character and Tab, the command gets the name, character by character."""
    before = {*os.listdir(project)}
    starts = [name[0] if name[0] != "~" else "\\~" for name in HOSTILE]
    ran = run_shell(shell, argv, [f"prowess why {start}\t" for start in starts], project)
    assert ran == [["why", name] for name in HOSTILE]
    assert {*os.listdir(project)} == before


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "argv"), SHELLS)
def test_a_shell_completes_commands_options_and_values(shell: str, argv: list[str], project: Path) -> None:
    """After the first letters of each."""
    lines = {
        "prowess li\t": ["list"],
        "prowess val\t": ["validate"],
        "prowess list --dig\t": ["list", "--digest"],
        "prowess list --host clau\t": ["list", "--host", "claude-code"],
        "prowess list --host=clau\t": ["list", "--host=claude-code"],
        "prowess hosts cod\t": ["hosts", "codex"],
        "prowess list --host pi@\t": ["list", "--host", "pi@0.7"],
        "prowess list --host=pi@\t": ["list", "--host=pi@0.7"],
        "prowess check --format sa\t": ["check", "--format", "sarif"],
        "prowess list --color=al\t": ["list", "--color=always"],
        "prowess why --json r\t --host ge\t": ["why", "--json", "r#s", "--host", "gemini-cli"],
        "prowess test --case x r\t": ["test", "--case", "x", "r#s"],
        "prowess why nothing\t": ["why", "nothing"],
        "prowess new li\t": ["new", "li"],
        "prowess exec -- pwd li\t": ["exec", "--", "pwd", "li"],
        "prowess why v:\t": ["why", "v:w"],
        "prowess why x@\t": ["why", "x@y"],
        "prowess why z=\t": ["why", "z=1"],
    }
    assert run_shell(shell, argv, [*lines], project) == [*lines.values()]


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "argv"), SHELLS)
def test_names_after_a_quote_are_not_evaluated(shell: str, argv: list[str], project: Path) -> None:
    """A name that is plain within quotes is completed, others may stay as typed."""
    before = {*os.listdir(project)}
    quotes = ['"', "'"]
    lines = [f"prowess why {quote}h\t" for quote in quotes]
    # bash adds nothing to these; the others add the name and the quote.
    closing = {'"': '"', "'": "'"} if shell == "bash" else {}
    lines += [f"prowess why {quote}{start}\t{closing.get(quote, '')}" for quote in quotes for start in "abcdfo"]
    ran = run_shell(shell, argv, lines, project)
    assert ran[:2] == [["why", "h i"]] * 2
    assert [arguments[1][0] for arguments in ran[2:]] == [*"abcdfo"] * 2
    assert {*os.listdir(project)} == before


def test_names_are_one_argument_each(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names with control characters, and those that look like an option, are left out."""
    monkeypatch.chdir(project)
    assert main(["completion", "--names", "skills"]) == 0
    assert capsys.readouterr().out.splitlines() == sorted(HOSTILE)


def test_names_are_those_of_all_agents_on_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A skill that only Copilot finds has a name, too."""
    skill(tmp_path / ".github/skills/only-copilot")
    monkeypatch.chdir(tmp_path)
    assert main(["completion", "--names", "skills"]) == 0
    assert capsys.readouterr().out == "only-copilot\n"


@pytest.mark.parametrize(("kind", "names"), [("hosts", [*host_names()]), ("codes", [*CODES])], ids=["hosts", "codes"])
def test_names_of_agents_and_findings(kind: str, names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One a line."""
    assert main(["completion", "--names", kind]) == 0
    assert capsys.readouterr().out.splitlines() == names


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_has_every_command_and_every_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is made of the parsers."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        parser = command_parser(command)
        options = [name for action in parser._actions for name in action.option_strings if name != "--names"]
        written = (
            options
            if shell != "fish"
            else [f" -l {name[2:]} " if name[1] == "-" else f" -s {name[1]} " for name in options]
        )
        assert command in script
        assert [name for name in written if name not in script] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing argument: SHELL\n\nhint: use one of bash, zsh, fish"),
        (["fsh"], "unknown shell `fsh`\n\nhint: did you mean `fish`?"),
        (["\x1b"], "unknown shell `\\x1b`\n\nhint: use one of bash, zsh, fish"),
    ],
    ids=["missing", "near", "hostile"],
)
def test_an_unknown_shell_is_an_error(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the shells."""
    assert main(["completion", *arguments]) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n")
