"""Run a command on the terminal: signals, exit codes and background processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess.isolation._foreground import Foreground
from support.fake_client import start_python
from support.processes import is_process_alive, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
RUN = """
import os, subprocess, sys, time
from prowess.isolation import _foreground as foreground
foreground.TERM_TIMEOUT = 0.3
def start():
    return subprocess.Popen(sys.argv[1:])
with foreground.Foreground() as watch:
    {before}
    code = watch.run(start)
print("code", code, "caught", watch.last_signal, flush=True)
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sub-reapers")
READY = "echo ready; "


def watched(script: str, *, before: str = "pass") -> subprocess.Popen[str]:
    """Start a process that runs a shell script with `Foreground`, and wait until the script is ready."""
    process = start_python(RUN.format(before=before), ENV, "sh", "-c", READY + script)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def remaining_output(process: subprocess.Popen[str]) -> str:
    """Return what it prints until it ends; `communicate` would lose data that `readline` has buffered."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        out, err = process.stdout.read(), process.stderr.read()
    assert err == ""
    return out


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 1", 1), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill $$", 143)],
)
def test_the_exit_code_is_that_of_the_command(script: str, code: int) -> None:
    """Or 128 plus the number of the signal that ended it."""
    with Foreground() as watch:
        assert watch.run(lambda: subprocess.Popen(["sh", "-c", script])) == code
    assert watch.last_signal is None


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT"])
def test_a_signal_is_forwarded(name: str) -> None:
    """The command decides what to do."""
    number = getattr(signal, f"SIG{name}")
    process = watched(f"trap 'echo got; exit 5' {name}; echo set; while :; do sleep 0.01; done")
    assert process.stdout is not None
    assert process.stdout.readline() == "set\n"
    process.send_signal(number)
    assert remaining_output(process) == f"got\ncode 5 caught {int(number)}\n"


@pytest.mark.parametrize("name", ["TERM", "HUP", "QUIT"])
def test_a_signal_ends_a_command_without_a_handler(name: str) -> None:
    """The exit code shows which."""
    number = getattr(signal, f"SIG{name}")
    process = watched("exec sleep 60")
    process.send_signal(number)
    assert remaining_output(process) == f"code {128 + number} caught {int(number)}\n"


def test_a_command_that_ignores_a_signal_is_killed() -> None:
    """After ten seconds; here earlier."""
    process = watched("trap '' TERM; echo set; while :; do sleep 0.01; done")
    assert process.stdout is not None
    assert process.stdout.readline() == "set\n"
    process.terminate()
    assert remaining_output(process) == "code 137 caught 15\n"


def test_a_command_that_handles_ctrl_c_continues() -> None:
    """For an agent it ends a turn: the command is not killed later."""
    process = watched("trap 'echo turn' INT; echo set; sleep 0.6 & wait $!; wait $!; exit 3")
    assert process.stdout is not None
    assert process.stdout.readline() == "set\n"
    process.send_signal(signal.SIGINT)
    assert remaining_output(process) == "turn\ncode 3 caught 2\n"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_before_the_start_starts_nothing(name: str) -> None:
    """Such as while a home is created."""
    process = start_python(RUN.format(before=f"os.kill(os.getpid(), foreground.signal.{name})"), ENV, "echo", "started")
    number = int(getattr(signal, name))
    assert remaining_output(process) == f"code {128 + number} caught {number}\n"


def test_a_signal_during_the_start_is_forwarded() -> None:
    code = RUN.replace("    return sub", "    os.kill(os.getpid(), foreground.signal.SIGINT)\n    return sub")
    process = start_python(code.format(before="pass"), ENV, "sleep", "60")
    assert remaining_output(process) == "code 130 caught 2\n"


@linux
def test_a_signal_that_interrupts_no_call_is_handled() -> None:
    """As one that arrives just before a call that blocks: here another thread gets it."""
    before = (
        "import signal, threading\n"
        "    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})"
    )
    process = watched("sleep 20; exit 3", before=before)
    process.send_signal(signal.SIGHUP)
    assert remaining_output(process) == "code 129 caught 1\n"


def test_an_ignored_signal_stays_ignored() -> None:
    """As under `nohup`."""
    before = "pass"
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + RUN.format(before=before)
    process = start_python(code, ENV, "sh", "-c", "echo ready; read line; exit 4", stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGHUP)
    assert process.stdin is not None
    process.stdin.close()
    assert remaining_output(process) == "code 4 caught None\n"


def test_signal_handlers_are_restored() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = [signal.getsignal(number) for number in numbers]
    with Foreground() as watch:
        watch.run(lambda: subprocess.Popen(["true"]))
    assert [signal.getsignal(number) for number in numbers] == before


FORKS = """
import os, signal, sys, time
{ignore}
printed, printing = os.pipe()
for _ in range(2):
    if os.fork():
        {stay}
    os.setsid()
print(os.getpid(), flush=True)
os.close(1)
{last}
time.sleep(60)
"""
IGNORE = "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)"
STAY, LAST = "os.close(printing); os.read(printed, 1); os._exit(0)", "os.close(printing)"
PYTHON = f"{sys.executable} -IS -c"
TREE = FORKS.format(ignore=IGNORE, stay="time.sleep(60)", last='open("STARTED", "w").close()')
BACKGROUND = {
    "in the background": "sleep 60 & echo $!",
    "in its own session": "setsid sh -c 'echo $$; echo > STARTED; exec sleep 60' & read line < STARTED",
    "forked twice": f"{PYTHON} '{FORKS.format(ignore='', stay=STAY, last=LAST)}'",
    "forked twice, ignoring signals": f"{PYTHON} '{FORKS.format(ignore=IGNORE, stay=STAY, last=LAST)}'",
    "a tree that ignores signals": f"{PYTHON} '{TREE}' & read line < STARTED",
}
"""What is run; the command goes on when the process in the background has said its number."""


@pytest.mark.slow
@linux
@pytest.mark.parametrize("how", BACKGROUND)
def test_background_processes_of_the_command_are_ended(how: str, tmp_path: Path) -> None:
    """However they were started."""
    os.mkfifo(tmp_path / "started")
    process = watched(BACKGROUND[how].replace("STARTED", f"{tmp_path}/started") + "; exit 6")
    first, last = remaining_output(process).splitlines()
    assert last == "code 6 caught None"
    assert not is_process_alive(int(first))


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@linux
def test_other_child_processes_are_left_alone(other: subprocess.Popen[bytes]) -> None:
    """Also one that ends meanwhile: its exit code belongs to its parent's code."""
    ended = subprocess.Popen(["sh", "-c", "exit 9"])
    wait_until(lambda: not is_process_alive(ended.pid))
    with Foreground() as watch:
        assert watch.run(lambda: subprocess.Popen(["sh", "-c", "sleep 60 & exit 2"])) == 2
    assert other.poll() is None
    assert ended.wait() == 9


TERMINAL = """
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen, typed = b"", False
while True:
    try:
        part = os.read(fd, 1000)
    except OSError:
        break
    if not part:
        break
    seen += part
    if b"ready" in seen and not typed:
        typed = True
        os.write(fd, b"\\x03")
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(seen.decode().replace("\\r", "").replace("^C", ""))
"""
COUNTS = """
import signal, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("ready", flush=True)
end = time.monotonic() + 0.5
while time.monotonic() < end:
    time.sleep(0.01)
print("times", len(got), flush=True)
"""


def test_ctrl_c_in_a_terminal_reaches_the_command_exactly_once() -> None:
    """The terminal sends it to both processes."""
    code = RUN.format(before="pass")
    process = start_python(TERMINAL, ENV, sys.executable, "-c", code, sys.executable, "-c", COUNTS)
    assert remaining_output(process) == "0\nready\ntimes 1\ncode 0 caught 2\n\n"
