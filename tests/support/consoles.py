"""Run the commands of a console block: those of Prowess in this process, others in a shell."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from prowess.cli import main
from support.conversations import ConversationCommands
from support.suites import without_durations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ENV = {
    "PATH": "/usr/bin:/bin",  # where no agent is installed
    "LANG": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{key}": value
        for who in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", "A"), ("EMAIL", "a@example.com"), ("DATE", "2026-01-02T03:04:05Z"))
    },
}
_PRELUDE = r"""
umask 022
skill() { # FOLDER [DESCRIPTION [MORE FIELDS [BODY]]]
    mkdir -p "$1"
    name=${1##*/}
    printf -- '---\nname: %s\ndescription: %s\n%b---\n%b\n' \
        "$name" "${2:-Does $name. Use it for $name.}" "${3:-}" "${4:-Do it.}" > "$1/SKILL.md"
}
"""


@dataclass(slots=True)
class Console:
    """A terminal in the project of a folder that has a home, too."""

    top: Path
    more_env: Mapping[str, str]
    whole_process: bool = False
    """Whether each command of Prowess runs in a process of its own."""
    cwd: str = ""
    env: dict[str, str] = field(default_factory=dict)
    conversation: ConversationCommands = field(init=False)

    def __post_init__(self) -> None:
        self.cwd = str(self.top / "project")
        own = {f"PROWESS_{name}_DIR": str(self.top / "own" / name.lower()) for name in ("CACHE", "DATA", "CONFIG")}
        self.env = {**_ENV, "UV_OFFLINE": "1", "HOME": str(self.top / "home"), **own, **self.more_env}
        self.conversation = ConversationCommands(self.top, self.env)

    def transcript(self, text: str) -> Iterator[str]:
        """Yield the lines of a console block with what its commands print now.

        Raises:
            ValueError: the block does not begin with a command.
        """
        if not text.startswith("$ "):
            raise ValueError("a console block begins with `$ ` and a command")
        for command in commands(text):
            yield from f"$ {command}".replace("\n", "\n> ").split("\n")
            yield from (line.rstrip() for line in self.run(command).split("\n")[:-1])

    def run(self, line: str) -> str:
        """Return what a command prints: stdout, stderr with `! ` before each line, and an exit code other than 0."""
        if line.startswith(("cd ", "export ")):
            name, *words = shlex.split(line)
            if name == "cd":
                self.cwd = os.path.normpath(os.path.join(self.cwd, *words))
            self.env.update(dict(word.split("=", 1) for word in words if name == "export"))
            return ""
        if (answer := self.conversation.run(line)) is not None:
            return self._placed(answer)
        command, *rest = line.split(" | ", maxsplit=1)
        if re.match(r"(\w+=\S* )*prowess( |$)", command):
            env = dict(self.env)
            command = re.sub(r"\$\((.*?)\)", lambda part: self._shell(part[1], env)[0].decode().strip(), command)
            arguments = shlex.split(command)
            while "=" in arguments[0]:
                name, _, env[name] = arguments.pop(0).partition("=")
            out, err, code = self._prowess(arguments[1:], env)
            if rest:
                out = self._shell(rest[0], env, out)[0]
        else:
            out, err, code = self._shell(line, self.env)
        text = out.decode("utf-8", "backslashreplace")
        text += "\N{RETURN SYMBOL}\n" if text and not text.endswith("\n") else ""
        text += "".join(f"! {part}\n" for part in err.decode().splitlines())
        return self._placed(text) + (f"[exit code {code}]\n" if code else "")

    def _placed(self, text: str) -> str:
        """Replace the times of a text by placeholders, and leave out durations."""
        text = without_durations(text).replace(time.strftime("%Y-%m-%d", time.gmtime()), "{today}")
        text = re.sub(r"[+-]?\d[\d,]*\.\d\d s\b", "{seconds}", text)  # of runs, in `prowess eval`
        return re.sub(r"\{today\}T\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "{now}", text)

    def _shell(self, line: str, env: Mapping[str, str], data: bytes = b"") -> tuple[bytes, bytes, int]:
        done = subprocess.run(
            ["/bin/sh", "-c", _PRELUDE + line], input=data, cwd=self.cwd, env=env, capture_output=True, check=False
        )
        return done.stdout, done.stderr, done.returncode

    def _prowess(self, arguments: list[str], env: Mapping[str, str]) -> tuple[bytes, bytes, int]:
        """Run a command of Prowess."""
        if self.whole_process:
            command = [sys.executable, "-m", "prowess", *arguments]
            env = {**env, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
            done = subprocess.run(command, cwd=self.cwd, env=env, input=b"", capture_output=True, check=False)
            return done.stdout, done.stderr, done.returncode
        buffers = [io.BytesIO() for _ in range(3)]
        streams = [io.TextIOWrapper(buffer, "utf-8", write_through=True) for buffer in buffers]
        if env.get("TTY"):
            streams[1].isatty = lambda: True  # type: ignore[method-assign]
        before, mask = os.getcwd(), os.umask(0o022)
        os.chdir(self.cwd)
        try:
            with (
                patch.dict(os.environ, env, clear=True),
                patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]),
            ):
                code = main(arguments)
        finally:
            os.chdir(before)
            os.umask(mask)
        return buffers[1].getvalue(), buffers[2].getvalue(), code


def commands(text: str) -> Iterator[str]:
    """Yield the commands of a console block. A line that begins with `> ` belongs to the command above it."""
    found: list[str] = []
    for line in text.split("\n"):
        if line.startswith("$ "):
            yield from found
            found = [line[2:]]
        elif line.startswith("> ") and found:
            found[0] += f"\n{line[2:]}"
    yield from found
