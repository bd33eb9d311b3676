"""A folder with a role and a home, to run the role in a process of its own, also on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any, Protocol

from support.growth import END

TOP = Path(__file__).parents[2]
ROLE = "name: a\nprompt: You help.\nmodel: openai:m\n"
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class RoleFolder:
    """A folder with `role.yaml`."""

    def __init__(self, top: Path) -> None:
        self.top = top
        (top / "home").mkdir()
        (top / "tmp").mkdir()
        (top / "notes.txt").write_text("The sea is calm.\n")
        self.write_role()
        self.env = {
            "HOME": str(top / "home"),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(TOP / "src"),
            "TMPDIR": str(top / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "PROWESS_CONFIG_DIR": str(top / "config"),
            "PROWESS_NO_CACHE": "1",
            "SSL_CERT_FILE": os.environ["SSL_CERT_FILE"],
        }

    def write_role(self, more: str = "") -> None:
        """Write the role, with more keys."""
        file = self.top / "role.yaml"
        file.write_text(ROLE + more)
        os.utime(file, ns=(time.time_ns(), time.time_ns()))

    def write_script(self, *steps: Any) -> str:
        """Write what a scripted model does, and return the name of the model."""
        (self.top / "script.yaml").write_text(json.dumps(steps))
        return f"script:{self.top}/script.yaml"

    def argv(self, *arguments: str, role: str = "role.yaml") -> list[str]:
        """Return the command."""
        return [sys.executable, "-m", "prowess", "run", role, *arguments]

    def run(
        self, *arguments: str, stdin: str | None = None, role: str = "role.yaml", **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the command until it ends."""
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        done = subprocess.run(
            self.argv(*arguments, role=role),
            cwd=self.top,
            env=self.env | env,
            capture_output=True,
            text=True,
            check=False,
            **given,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start the command."""
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        return subprocess.Popen(self.argv(*arguments), cwd=self.top, env=self.env, **{**pipe, **options})


class Starts(Protocol):
    """What starts a command."""

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start the command."""


class Terminal:
    """The command on a pseudo-terminal, which also answers requests for the position of the cursor."""

    def __init__(self, folder: Starts, *arguments: str) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        self.process = folder.start(
            *arguments,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
            # Ctrl-C is a signal only from the process's controlling terminal.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(follower)

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._leader, text.encode())

    def read_until(self, words: str) -> str:
        """Return what the terminal shows until a text appears."""
        data = b""
        while words not in (text := _SEQUENCE.sub("", data.decode("utf-8", "replace"))):
            ready, _, _ = select.select([self._leader], [], [], END)
            assert ready, f"there is only {text!r}"
            try:
                part = os.read(self._leader, 65536)
            except OSError:
                part = b""
            assert part, f"it ended with {text!r}"
            data += part
            for _ in range(part.count(b"\x1b[6n")):
                self.type("\x1b[1;1R")
        return text

    def wait(self) -> int:
        """Return the exit code when the command has ended."""
        return self.process.wait()

    def close(self) -> None:
        """Kill the command if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._leader)
