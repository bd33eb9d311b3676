"""Supervisors: callers, threads and forks, and what happens when a process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import CommandScope, _supervisors as supervisors, run, stop
from support.commands import SOURCE, run_shell
from support.growth import END
from support.processes import is_process_alive, processes_end, processes_with, wait_until

if TYPE_CHECKING:
    from pathlib import Path

spawn = os.posix_spawn

CALLER = """
import sys, threading
sys.path.insert(0, {source!r})
from prowess.sandbox import run
print("ready", flush=True)
run(["/bin/sh", "-c", "setsid sleep 66602 & sleep 66602"], cwd="/", sandbox={sandbox!r})
"""


@pytest.mark.slow
@pytest.mark.usefixtures("linux")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_commands_end_with_their_caller(number: int, sandbox: str, tmp_path: Path) -> None:
    """Ctrl-C raises `KeyboardInterrupt` once nothing is left; a caller that is killed leaves nothing either."""
    code = CALLER.format(source=str(SOURCE), sandbox=sandbox).replace('cwd="/"', f"cwd={str(tmp_path)!r}")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as caller:
        wait_until(lambda: len([pid for pid in processes_with("66602") if pid != caller.pid]) >= 3)
        caller.send_signal(number)
        _, stderr = caller.communicate(timeout=END)
        assert processes_end("66602")
    assert (b"KeyboardInterrupt" in stderr) is (number == signal.SIGINT)


@pytest.mark.usefixtures("linux")
def test_a_command_that_kills_its_supervisor_leaves_nothing(tmp_path: Path) -> None:
    """It can do so without a sandbox; the caller gets an error, and the next command runs."""
    with pytest.raises(SandboxError, match="the command was stopped, with everything it had started"):
        run_shell("setsid sleep 66603 & kill -9 $PPID; sleep 66603", tmp_path)
    assert processes_end("66603")
    assert run_shell("echo well", tmp_path).stdout == b"well\n"


@pytest.mark.usefixtures("linux")
def test_a_supervisor_killed_from_outside_leaves_nothing(sandbox: str, tmp_path: Path) -> None:
    """Neither inside nor outside of the sandbox."""

    def kill() -> None:
        wait_until(lambda: len(processes_with("66609")) >= 3)
        for supervisor in tuple(supervisors._ALL):
            os.kill(supervisor._pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(SandboxError, match="the command was stopped"):
        run_shell("setsid sleep 66609 & sleep 66609", tmp_path, sandbox=sandbox)
    killer.join()
    assert processes_end("66609")


def test_idle_supervisors_that_were_killed_are_replaced(tmp_path: Path) -> None:
    """Without an error."""
    with ThreadPoolExecutor(3) as threads:
        waiting = [
            threads.submit(run_shell, f"touch {number}; while ! test -e go; do sleep 0.01; done", tmp_path)
            for number in range(3)
        ]
        wait_until(lambda: len([*tmp_path.iterdir()]) == 3)
        (tmp_path / "go").touch()
    assert {one.result().exit_code for one in waiting} == {0}
    pids = [supervisor._pid for supervisor in supervisors._ALL]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_process_alive, pids)))
    assert run_shell("echo two", tmp_path).stdout == b"two\n"


@pytest.mark.slow
@pytest.mark.usefixtures("linux")
def test_threads_do_not_disturb_each_other(sandbox: str, tmp_path: Path) -> None:
    """Each gets its own result; what one command leaves running is killed, and other commands are not."""

    def one(number: int) -> tuple[int | None, bytes, bool]:
        line = (
            f"setsid sleep 66604 & sleep 0.1; printf {number}; exit {number}"
            if number % 2
            else f"sleep 0.3; printf {number}"
        )
        done = run_shell(line, tmp_path, sandbox=sandbox)
        return done.exit_code, done.stdout, done.killed > 0

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(one, range(18)))
    assert found == [(n if n % 2 else 0, str(n).encode(), bool(n % 2)) for n in range(18)]
    assert processes_end("66604")


def test_children_of_the_caller_are_neither_killed_nor_waited_for(tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/sh", "-c", "sleep 0.3; exit 5"]) as own:
        assert run_shell("setsid sleep 60 & exit 0", tmp_path).killed == 1
        assert own.wait() == 5


@pytest.mark.usefixtures("linux")
def test_stop_ends_the_commands_of_all_threads(sandbox: str, tmp_path: Path) -> None:
    """Each thread gets an error."""
    errors = []

    def one() -> None:
        try:
            run_shell("setsid sleep 66605 & sleep 66605", tmp_path, sandbox=sandbox)
        except SandboxError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(processes_with("66605")) >= (9 if sandbox == "none" else 15))
    stop()
    for thread in threads:
        thread.join(END)
    assert errors == ["the command was stopped, with everything it had started"] * 3
    assert run_shell("echo next", tmp_path, sandbox=sandbox).stdout == b"next\n"
    assert processes_end("66605")


def test_a_forked_process_starts_its_own_supervisors(tmp_path: Path) -> None:
    """As `multiprocessing` forks."""
    assert run_shell("echo parent", tmp_path).stdout == b"parent\n"
    code = (
        f"import os, sys\nsys.path.insert(0, {str(SOURCE)!r})\nfrom prowess.sandbox import run\n"
        "def go(): return run(['/bin/sh', '-c', 'echo $PPID'], cwd='/usr', sandbox='none').stdout\n"
        "one = go()\npid = os.fork()\nif not pid:\n    os._exit(0 if go() != one else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), go() == one)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 True\n"


def test_a_caller_without_standard_streams_can_run_commands(tmp_path: Path) -> None:
    """As a daemon runs."""
    code = (
        f"import os, sys\nsys.path.insert(0, {str(SOURCE)!r})\nos.closerange(0, 3)\nfrom prowess.sandbox import run\n"
        "done = run(['/bin/cat'], cwd='/usr', stdin=b'abc', sandbox='none')\nos._exit(len(done.stdout))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 3


def test_commands_in_a_row_share_one_supervisor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A start of Python for each would cost more than the command; `make bench` measures both."""
    monkeypatch.setattr(supervisors, "_IDLE", [])
    started: list[object] = []

    def count(*args: Any, **options: Any) -> int:
        started.append(args)
        return spawn(*args, **options)

    monkeypatch.setattr(os, "posix_spawn", count)
    for _ in range(10):
        run(["/bin/true"], cwd=tmp_path, sandbox="none", scratch=tmp_path)
    assert len(started) == 1
    for supervisor in supervisors._IDLE:
        supervisor.release()


@pytest.mark.slow
@pytest.mark.usefixtures("linux")
def test_a_scope_stops_all_its_commands_and_those_of_scopes_inside(tmp_path: Path) -> None:
    """And no others; later ones of the scope are not started."""
    scope, inner = CommandScope(), CommandScope()

    def inside(*scopes: CommandScope) -> None:
        with ExitStack() as stack:
            for one in scopes:
                stack.enter_context(one)
            run_shell("sleep 66657", tmp_path)

    def other() -> bytes:
        return run_shell("while ! test -e go; do sleep 0.01; done; echo well; : 66658", tmp_path).stdout

    with ThreadPoolExecutor(4) as threads:
        going = threads.submit(other)
        stopped = [threads.submit(inside, *scopes) for scopes in ((scope,), (scope, inner), (scope,))]
        wait_until(lambda: len(processes_with("66657")) >= 3 and processes_with("66658"))
        scope.stop()
        for one in stopped:
            with pytest.raises(SandboxError, match="the command was stopped"):
                one.result()
        assert processes_end("66657")
        with pytest.raises(SandboxError, match="the command was not started"):
            inside(scope)
        (tmp_path / "go").touch()
        assert going.result() == b"well\n"


@pytest.mark.usefixtures("linux")
def test_an_exception_that_ends_a_block_stops_the_commands_in_its_threads(tmp_path: Path) -> None:
    """Such as a cancellation; the end of a block stops nothing."""
    with ThreadPoolExecutor(2) as threads:
        with CommandScope():
            ended = threads.submit(copy_context().run, run_shell, "read line; echo 66659 well", tmp_path)
        assert ended.result().stdout == b"66659 well\n"
        with suppress(KeyboardInterrupt), CommandScope():
            stopped = threads.submit(copy_context().run, run_shell, "sleep 66659", tmp_path)
            wait_until(lambda: processes_with("66659"))
            raise KeyboardInterrupt
        with pytest.raises(SandboxError, match="the command was stopped"):
            stopped.result()
    assert processes_end("66659")
