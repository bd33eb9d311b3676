"""Long-lived commands: their streams are passed on, and everything ends with the program that talks to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import Limits, server_command
from prowess.sandbox._server_main import MAX_LOG_BYTES
from support.growth import END
from support.processes import processes_end, processes_with, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

ECHO = ["python3", "-c", "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)"]
STUBBORN = """
import os, signal, subprocess, sys, time
mark = sys.argv[1]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", code, mark], start_new_session=True)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def mark() -> Iterator[str]:
    """A word on the command lines of a test's processes."""
    word = f"mark-{time.monotonic_ns()}"
    yield word
    assert processes_end(word)


def start(words: list[str], log: Any = subprocess.DEVNULL) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
    )


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def write_line(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def close_input(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def test_a_command_talks_to_its_caller_until_its_input_ends(tmp_path: Path, sandbox: str) -> None:
    """It ends with its input, and its temporary folder is gone."""
    with server_command(ECHO, cwd=tmp_path, sandbox=sandbox) as words, start(words) as process:
        for number in range(3):
            write_line(process, f"line {number}")
            assert read_line(process) == f"LINE {number}"
        close_input(process)
        assert process.wait(END) == 0
    assert [name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("prowess-server")] == []


def test_variables_are_on_no_command_line(tmp_path: Path, sandbox: str) -> None:
    """The command gets those that it is given, and a home of its own."""
    code = "import os, sys; print(','.join(os.environ), os.environ['SECRET'], flush=True); sys.stdin.read()"
    secret = f"secret-{time.monotonic_ns()}"
    with (
        server_command(["python3", "-c", code], cwd=tmp_path, env={"SECRET": secret}, sandbox=sandbox) as words,
        start(words) as process,
    ):
        names, value = read_line(process).rsplit(" ", 1)
        assert value == secret
        assert set(names.split(",")) - {"PWD", "LC_CTYPE"} == {"HOME", "LANG", "PATH", "SECRET", "TMPDIR"}
        assert secret not in " ".join(words)
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    assert secret.encode() not in (entry / "cmdline").read_bytes()
                except OSError:
                    continue
        close_input(process)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["input", "term", "group"])
def test_everything_ends_with_the_supervisor(tmp_path: Path, sandbox: str, mark: str, how: str) -> None:
    """Also what left the session and ignores SIGTERM. With bwrap even if the supervisor is killed."""
    if how == "group" and sandbox == "none":
        pytest.skip("without a sandbox, no process can end the rest of a supervisor that was killed")
    with server_command(["python3", "-c", STUBBORN, mark], cwd=tmp_path, sandbox=sandbox) as words:
        process = start(words)
        assert read_line(process) == "ready"
        wait_until(lambda: len(processes_with(mark)) >= 4)
        if how == "input":
            close_input(process)
        else:
            os.killpg(process.pid, signal.SIGTERM if how == "term" else signal.SIGKILL)
        process.wait(END)
        assert processes_end(mark)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            if not stream.closed:
                stream.close()


CALLER = """
import os, subprocess, sys
from prowess.sandbox import Limits, server_command
with server_command(["python3", "-c", sys.argv[1], sys.argv[2]], cwd="/usr", sandbox=sys.argv[3]) as words:
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"ready\\n"
    child = os.fork() if sys.argv[4] == "fork" else 0
    if sys.argv[4] == "fork" and child == 0:
        import time
        time.sleep(30)  # it has the other end of the input
        os._exit(0)
    print(child, flush=True)
    process.wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize("inherited", ["alone", "fork"])
def test_everything_ends_when_the_caller_is_killed(tmp_path: Path, sandbox: str, mark: str, inherited: str) -> None:
    """Also if another process inherited the pipe to the command; no temporary folder of the command is left."""
    argv = [sys.executable, "-c", CALLER, STUBBORN, mark, sandbox, inherited]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        child = int(caller.stdout.readline())
        wait_until(lambda: len(processes_with(mark)) >= 5)
        caller.kill()
        caller.wait()
        wait_until(lambda: set(processes_with(mark)) <= {child})
        if child:
            os.kill(child, signal.SIGKILL)
    wait_until(lambda: not [name for name in os.listdir(os.environ["TMPDIR"]) if "prowess-server" in name])


def test_the_error_stream_is_bounded_and_its_end_is_kept(tmp_path: Path, sandbox: str) -> None:
    """A server that writes without end does not fill the disk."""
    code = "import sys\nfor _ in range(400): sys.stderr.write('x' * 50_000 + '\\n')\nsys.stderr.write('the end\\n')"
    with (
        tempfile.TemporaryFile("w+") as log,
        server_command(["python3", "-c", code], cwd=tmp_path, sandbox=sandbox) as words,
    ):
        with start(words, log) as process:
            assert process.wait(END) == 0
        assert os.fstat(log.fileno()).st_size <= MAX_LOG_BYTES
        log.seek(0)
        assert log.read().endswith("\nthe end\n")


def test_a_sandboxed_command_sees_neither_home_nor_network(tmp_path: Path, bwrap: str) -> None:
    """And it cannot write to what it reads."""
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text("secret")
    code = f"""
import os, socket, sys
def attempt(call):
    try:
        call()
    except OSError:
        return "no"
    return "yes"
print(attempt(lambda: open({str(tmp_path / "secret")!r})), attempt(lambda: open("new", "w")),
      attempt(lambda: socket.create_connection(("127.0.0.1", {_listening_port()}), 1)),
      attempt(lambda: open(os.path.expanduser("~/new"), "w")), flush=True)
"""
    with (
        server_command(["python3", "-c", code], cwd=tmp_path / "work", sandbox=bwrap) as words,
        start(words) as process,
    ):
        assert read_line(process) == "no no no yes"


def _listening_port() -> int:
    """Return the port of a socket that stays open for the test."""
    import socket

    server = socket.create_server(("127.0.0.1", 0))
    _OPEN.append(server)
    return int(server.getsockname()[1])


_OPEN: list[Any] = []


@pytest.fixture(autouse=True)
def _close_sockets() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.pop().close()


def test_a_missing_program_is_an_error(tmp_path: Path, sandbox: str) -> None:
    with (
        pytest.raises(SandboxError, match="command not found"),
        server_command(["no-such-program"], cwd=tmp_path, sandbox=sandbox),
    ):
        pytest.fail("it would start")


def test_a_long_lived_command_has_the_filter_and_the_limits(bwrap: str, tmp_path: Path) -> None:
    """As every other one; its home is in memory too."""
    code = """if True:
        import os, socket
        print([line.split()[1] for line in open("/proc/self/status") if line.startswith("Seccomp:")], flush=True)
        try: socket.socket(socket.AF_UNIX)
        except OSError as error: print(error.errno, flush=True)
        try:
            for at in ("/tmp", os.environ["HOME"]):
                with open(f"{at}/x", "wb", 0) as file:
                    for _ in range(240): file.write(bytes(1 << 20))
        except OSError: pass
        else: print("no limit", flush=True)
    """
    limits = Limits(memory=64 << 20)
    with server_command(["python3", "-c", code], cwd=tmp_path, sandbox=bwrap, limits=limits) as words:
        process = start(words)
        output, _ = process.communicate("")
    assert output.splitlines() == ["['2']", "97"]
