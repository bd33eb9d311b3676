"""Commands are contained: what they get, what they may use, how they end, and what is left of them: nothing."""

from __future__ import annotations

import os
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import Limits, Result, find_backend, run, stop
from prowess.sandbox import _backends as backends
from prowess.sandbox import _supervisors as process
from prowess.sandbox._profiles import Confinement, seatbelt_profile
from prowess.sandbox._runtime import runtime_folder
from support.suites import require_backend

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")

RUNS = int(os.environ.get("PROWESS_SANDBOX_RUNS", "24"))
"""Runs that leave processes behind; 500 for the full figure."""
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(autouse=True)
def _own_temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What callers leave that are killed here goes with the tests."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))


@pytest.fixture(params=["none", "bwrap"])
def sandbox(request: pytest.FixtureRequest) -> str:
    return require_backend(request.param)


@pytest.fixture
def bwrap() -> str:
    return require_backend("bwrap")


@pytest.fixture
def linux() -> None:
    if sys.platform != "linux":
        pytest.skip("told from /proc")


def slack() -> float:
    """Return the seconds that may pass beyond a limit: 2, and more on a machine with more to do than it can."""
    return 2 + max(0.0, os.getloadavg()[0] / (os.cpu_count() or 1) - 1)


def sh(line: str, cwd: Path, **named: Any) -> Result:
    named.setdefault("sandbox", "none")
    return run(["/bin/sh", "-c", line], cwd=cwd, **named)


def py(code: str, cwd: Path, **named: Any) -> Result:
    named.setdefault("sandbox", "none")
    return run(["python3", "-c", code], cwd=cwd, **named)


def running(mark: str) -> list[int]:
    """Return the processes with a word on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes() and "Z" not in (entry / "stat").read_text():
                    found.append(int(entry.name))
    return found


def gone(mark: str, within: float = 1.0) -> bool:
    """Say whether nothing with a word on its command line runs after a while."""
    until = time.monotonic() + within
    while running(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


# ── what a command gets ──────────────────────────────────────────────────────────────────────────────────────────────


def test_the_environment_is_the_base_and_what_was_given(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the caller's own."""
    monkeypatch.setenv("SECRET_TOKEN", "caller's")
    code = "import os; print(dict(os.environ))"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = run(["python", "-c", code], cwd=tmp_path, env={"GREETING": "hei"}, sandbox=sandbox, scratch=scratch)
    found: dict[str, str] = eval(done.stdout)  # noqa: S307 - our own output
    found.pop("LC_CTYPE", None)
    assert found.pop("PWD", str(tmp_path)) == str(tmp_path)
    assert found == {
        "PATH": f"{runtime_folder()}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "GREETING": "hei",
    }


def test_python_is_this_python(sandbox: str, tmp_path: Path) -> None:
    """By both names, with the packages of its environment."""
    code = "import sys, yaml; print(sys.version)"
    for name in ("python", "python3"):
        done = sh(f"{name} -c '{code}'", tmp_path, sandbox=sandbox)
        assert (done.stdout.decode().strip(), done.exit_code) == (sys.version, 0), done.stderr
    assert b"yaml" not in sh("python -c 'import yaml'", tmp_path, sandbox=sandbox, python=True).stderr


def test_without_an_input_there_is_its_end(sandbox: str, tmp_path: Path) -> None:
    """Neither a terminal nor the caller's input; with one, all of it arrives."""
    code = "import sys; data = sys.stdin.buffer.read(); print(len(data), data[-1:], sys.stdin.isatty())"
    assert py(code, tmp_path, sandbox=sandbox).stdout == b"0 b'' False\n"
    assert py(code, tmp_path, sandbox=sandbox, stdin=b"a" * 3_000_000 + b"z").stdout == b"3000001 b'z' False\n"


def test_there_is_no_terminal(sandbox: str, tmp_path: Path) -> None:
    """The command has a session and a group of its own."""
    code = "import os\ntry: os.open('/dev/tty', os.O_RDWR)\nexcept OSError as error: print('no', os.getpgid(0))"
    done = py(code, tmp_path, sandbox=sandbox)
    assert done.stdout.startswith(b"no ")
    assert int(done.stdout.split()[1]) != os.getpgid(0)


def test_nothing_the_caller_has_open_is_passed_on(sandbox: str, tmp_path: Path) -> None:
    """Not even what is inheritable."""
    taken, given = os.pipe()
    os.set_inheritable(given, True)
    try:
        process._close_all_after_fork()  # so that a new supervisor is started now
        done = sh("ls /proc/self/fd" if sys.platform == "linux" else "ls /dev/fd", tmp_path, sandbox=sandbox)
    finally:
        os.close(taken)
        os.close(given)
    assert done.stdout.split() == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize(
    ("line", "code"),
    [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("nosuchcommand 2>/dev/null", 127)],
)
def test_exit_codes(line: str, code: int, sandbox: str, tmp_path: Path) -> None:
    """128 and its number for a signal."""
    done = sh(line, tmp_path, sandbox=sandbox)
    assert (done.exit_code, done.timed_out, done.killed, done.backend) == (code, False, 0, sandbox)


def test_signals_are_as_a_program_expects_them(tmp_path: Path) -> None:
    """None is ignored or blocked, whatever the caller does with its own."""
    # Python itself ignores two of them.
    code = (
        "import signal as s\n"
        "print([n for n in range(1, 32) if s.getsignal(n) == s.SIG_IGN and n not in (s.SIGPIPE, s.SIGXFSZ)])\n"
        "print(s.pthread_sigmask(0, []))"
    )
    old = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        process._close_all_after_fork()
        assert py(code, tmp_path).stdout == b"[]\nset()\n"
    finally:
        signal.signal(signal.SIGUSR1, old)
    assert sh("yes | head -1; echo", tmp_path).stderr == b""


def test_a_script_is_run_from_the_working_directory(sandbox: str, tmp_path: Path) -> None:
    """A path with `/` begins there."""
    script = tmp_path / "hello"
    script.write_text("#!/bin/sh\necho hello $1 from $(pwd)\n")
    script.chmod(0o755)
    done = run(["./hello", "you"], cwd=tmp_path, sandbox=sandbox)
    assert done.stdout == f"hello you from {tmp_path}\n".encode()


# ── what it writes ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_beginning_of_each_stream_is_kept_and_the_rest_is_counted(sandbox: str, tmp_path: Path) -> None:
    """Up to the byte."""
    line = "head -c 300000 /dev/zero; head -c 70 /dev/zero >&2; printf end"
    done = sh(line, tmp_path, sandbox=sandbox, limits=Limits(output=100))
    assert (done.stdout, done.stdout_size) == (bytes(100), 300003)
    assert (done.stderr, done.stderr_size) == (bytes(70), 70)
    assert sh("printf abc", tmp_path, limits=Limits(output=0)).stdout == b""


def test_a_flood_of_a_gigabyte_is_bounded_in_memory_and_time(sandbox: str, tmp_path: Path, linux: None) -> None:
    """It is read as fast as it comes: the command is not held up, and 1 MiB of it stays."""
    before = time.monotonic()
    done = sh("head -c 1000000000 /dev/zero", tmp_path, sandbox=sandbox)
    assert (done.exit_code, done.stdout_size, len(done.stdout)) == (0, 1_000_000_000, 1024 * 1024)
    assert time.monotonic() - before < 20
    for supervisor in process._ALL:
        status = Path(f"/proc/{supervisor._pid}/status").read_text()
        assert int(status.split("VmHWM:")[1].split()[0]) < 64 * 1024


def test_a_flood_without_an_end_ends_with_the_time(sandbox: str, tmp_path: Path) -> None:
    """Also from a process that stays when its parent has ended."""
    for line in ("exec cat /dev/zero", "cat /dev/zero & exit 0"):
        before = time.monotonic()
        done = sh(line, tmp_path, sandbox=sandbox, limits=Limits(timeout=0.5))
        assert time.monotonic() - before < 0.5 + slack()
        assert done.timed_out is line.startswith("exec")
        assert len(done.stdout) <= 1024 * 1024


def test_a_command_may_close_its_streams(sandbox: str, tmp_path: Path) -> None:
    """It is waited for all the same."""
    done = sh("exec <&- >&- 2>&-; sleep 0.2", tmp_path, sandbox=sandbox)
    assert done.exit_code == 0
    assert done.duration >= 0.2


def test_a_command_need_not_read_its_input(sandbox: str, tmp_path: Path) -> None:
    """However large it is."""
    done = sh("sleep 0.1; echo done", tmp_path, sandbox=sandbox, stdin=b"x" * 20_000_000)
    assert (done.stdout, done.exit_code) == (b"done\n", 0)


# ── how it ends ──────────────────────────────────────────────────────────────────────────────────────────────────────

LEAVERS = {
    "background": "sleep {n} & exit 3",
    "double-fork": "(sh -c 'sleep {n} & sleep {n}' &) ; exit 3",
    "new-session": "setsid sleep {n} & exit 3",
    "double-fork-new-session": "(setsid sh -c 'sleep {n} & exec setsid sleep {n}' &) ; sleep 0.01; exit 3",
    "no-environment": "env -i setsid sh -c 'sleep {n}; :' & exit 3",
    "ignores-term": "(trap '' TERM HUP INT; setsid sleep {n} &) ; exit 3",
    "holds-the-pipe": "setsid sh -c 'while :; do echo still here; sleep 0.01; done # {n}' & exit 3",
    "stopped": "setsid sh -c 'kill -STOP $$ # {n}' & sleep 0.01; exit 3",
}


def test_nothing_is_left_of_what_a_command_left_running(sandbox: str, tmp_path: Path, linux: None) -> None:
    """In whatever way it got away; and the command counts. Some outlive the time as well."""
    longest = 0.0
    for number in range(RUNS):
        name, line = list(LEAVERS.items())[number % len(LEAVERS)]
        mark = f"777{number:05}"
        slow = number % 10 == 9
        line = line.format(n=mark)
        limits = Limits(timeout=0.2 if slow else 30)
        before = time.monotonic()
        done = sh(line.replace("exit 3", f"sleep {mark}") if slow else line, tmp_path, sandbox=sandbox, limits=limits)
        took = time.monotonic() - before
        longest = max(longest, took - (0.2 if slow else 0))
        assert gone(mark), name
        assert done.exit_code == (None if slow else 3), name
        assert done.killed >= 1, name
        assert took < (0.2 if slow else 0) + slack(), name
    print(f"\n{sandbox}: {RUNS} runs, at most {longest:.2f} s beyond the limit")


def test_what_ends_by_itself_in_a_moment_was_not_left_running(sandbox: str, tmp_path: Path) -> None:
    """As the other half of a pipe does, or a shell's process substitution."""
    done = sh("(sleep 0.01; echo late) & exit 0", tmp_path, sandbox=sandbox)
    assert (done.stdout, done.killed, done.exit_code) == (b"late\n", 0, 0)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("sleep 66601", id="sleeps"),
        pytest.param("trap '' TERM HUP INT; while :; do sleep 66601; done", id="ignores-term"),
        pytest.param("while :; do :; done # 66601", id="spins"),
        pytest.param("setsid sleep 66601 & sleep 66601", id="another-session"),
        pytest.param("kill -STOP $$ # 66601", id="stopped"),
    ],
)
def test_the_time_holds_for_the_whole_tree(line: str, sandbox: str, tmp_path: Path, linux: None) -> None:
    """At most 2 s more, and nothing is left."""
    before = time.monotonic()
    done = sh(line, tmp_path, sandbox=sandbox, limits=Limits(timeout=0.3))
    assert time.monotonic() - before < 0.3 + slack()
    assert (done.exit_code, done.timed_out) == (None, True)
    assert gone("66601")


def test_a_command_is_asked_to_end_before_it_is_killed(sandbox: str, tmp_path: Path) -> None:
    """So that it can clean up."""
    line = "trap 'echo cleaned; exit 9' TERM; echo began; sleep 60 & wait"
    done = sh(line, tmp_path, sandbox=sandbox, limits=Limits(timeout=0.3))
    assert (done.stdout, done.exit_code, done.timed_out) == (b"began\ncleaned\n", None, True)


BOMB = """
import os, sys, time
end = time.monotonic() + 20
for _ in range(int(sys.argv[2])):
    os.fork()
    if sys.argv[1] == "sessions":
        try: os.setsid()
        except OSError: pass
while time.monotonic() < end:  # each gets away as often as it can
    pid = os.fork()
    if pid:
        os._exit(0)
    if sys.argv[1] == "sessions":
        os.setsid()
    time.sleep(float(sys.argv[3]))
"""
BOMB_SIZE = ("7", "0.002") if RUNS >= 500 else ("4", "0.01")
"""Doublings, and seconds between two; the large one fills a machine, and other tests beside it would find no room."""


BOMBS = [("one-group", "none"), ("one-group", "bwrap"), ("sessions", "bwrap")]
if RUNS >= 500:
    BOMBS.append(("sessions", "none"))


@pytest.mark.parametrize(("kind", "name"), BOMBS)
def test_a_bomb_is_put_out(kind: str, name: str, tmp_path: Path, linux: None) -> None:
    """Processes that change their numbers all the time, in one group or each in a session of its own.

    Without walls the latter may be quicker than any kill; then that is told. It is tried in `make endurance` alone.
    """
    sandbox = require_backend(name)
    before = time.monotonic()
    try:
        done = run(["python3", "-c", BOMB, kind, *BOMB_SIZE], cwd=tmp_path, sandbox=sandbox, limits=Limits(timeout=1))
    except SandboxError as error:
        if (kind, sandbox) != ("sessions", "none") or "cannot be killed" not in str(error):
            raise
        assert gone("and each gets away", 30)
        return
    assert time.monotonic() - before < 1 + slack()
    assert gone("and each gets away")
    assert done.timed_out or done.killed or sandbox == "bwrap"  # where they are too quick to be counted


CALLER = """
import sys, threading
sys.path.insert(0, {source!r})
from prowess.sandbox import run
print("ready", flush=True)
run(["/bin/sh", "-c", "setsid sleep 66602 & sleep 66602"], cwd="/", sandbox={sandbox!r})
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_when_the_caller_ends_so_does_all(number: int, sandbox: str, tmp_path: Path, linux: None) -> None:
    """Ctrl-C comes out as `KeyboardInterrupt` when nothing is left; and a caller that is killed leaves nothing."""
    code = CALLER.format(source=str(SOURCE), sandbox=sandbox).replace('cwd="/"', f"cwd={str(tmp_path)!r}")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as caller:
        until = time.monotonic() + 10
        while len([pid for pid in running("66602") if pid != caller.pid]) < 3 and time.monotonic() < until:
            time.sleep(0.02)
        caller.send_signal(number)
        _, stderr = caller.communicate(timeout=10)
        assert gone("66602", 3)
    assert (b"KeyboardInterrupt" in stderr) is (number == signal.SIGINT)


def test_a_supervisor_that_is_killed_leaves_nothing(tmp_path: Path, linux: None) -> None:
    """A command can do so without walls; it is told, and the next one runs."""
    with pytest.raises(SandboxError, match="the command was stopped, and all it had started"):
        sh("setsid sleep 66603 & kill -9 $PPID; sleep 66603", tmp_path)
    assert gone("66603")
    assert sh("echo well", tmp_path).stdout == b"well\n"


def test_a_supervisor_that_is_killed_from_outside_leaves_nothing(sandbox: str, tmp_path: Path, linux: None) -> None:
    """Neither before nor behind the walls."""

    def kill() -> None:
        while len(running("66609")) < 3:
            time.sleep(0.01)
        for supervisor in tuple(process._ALL):
            os.kill(supervisor._pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(SandboxError, match="the command was stopped"):
        sh("setsid sleep 66609 & sleep 66609", tmp_path, sandbox=sandbox)
    killer.join()
    assert gone("66609")


def test_a_supervisor_that_was_killed_while_it_waited_is_replaced(tmp_path: Path) -> None:
    """Nobody is told."""
    assert sh("echo one", tmp_path).stdout == b"one\n"
    for supervisor in tuple(process._ALL):
        os.kill(supervisor._pid, signal.SIGKILL)
    time.sleep(0.1)
    assert sh("echo two", tmp_path).stdout == b"two\n"


def test_threads_do_not_disturb_each_other(sandbox: str, tmp_path: Path, linux: None) -> None:
    """Each has its own answer; what one leaves running is killed and what another runs is not."""

    def one(number: int) -> tuple[int | None, bytes, bool]:
        line = (
            f"setsid sleep 66604 & sleep 0.1; printf {number}; exit {number}"
            if number % 2
            else f"sleep 0.3; printf {number}"
        )
        done = sh(line, tmp_path, sandbox=sandbox)
        return done.exit_code, done.stdout, done.killed > 0

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(one, range(18)))
    assert found == [(n if n % 2 else 0, str(n).encode(), bool(n % 2)) for n in range(18)]
    assert gone("66604")


def test_the_callers_own_children_are_left_alone(tmp_path: Path) -> None:
    """They are neither killed nor waited for."""
    with subprocess.Popen(["/bin/sh", "-c", "sleep 0.3; exit 5"]) as own:
        assert sh("setsid sleep 60 & exit 0", tmp_path).killed == 1
        assert own.wait() == 5


def test_stop_ends_what_other_threads_run(sandbox: str, tmp_path: Path, linux: None) -> None:
    """Each is told."""
    told = []

    def one() -> None:
        try:
            sh("setsid sleep 66605 & sleep 66605", tmp_path, sandbox=sandbox)
        except SandboxError as error:
            told.append(str(error))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 10
    while len(running("66605")) < (9 if sandbox == "none" else 15) and time.monotonic() < until:
        time.sleep(0.01)
    stop()
    for thread in threads:
        thread.join(5)
    assert told == ["the command was stopped, and all it had started"] * 3
    assert sh("echo next", tmp_path, sandbox=sandbox).stdout == b"next\n"
    assert gone("66605")


def test_a_process_that_was_forked_has_supervisors_of_its_own(tmp_path: Path) -> None:
    """As `multiprocessing` makes them."""
    assert sh("echo parent", tmp_path).stdout == b"parent\n"
    code = (
        f"import os, sys\nsys.path.insert(0, {str(SOURCE)!r})\nfrom prowess.sandbox import run\n"
        "def go(): return run(['/bin/sh', '-c', 'echo $PPID'], cwd='/usr', sandbox='none').stdout\n"
        "one = go()\npid = os.fork()\nif not pid:\n    os._exit(0 if go() != one else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), go() == one)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 True\n"


def test_a_caller_without_standard_streams_can_run_commands(tmp_path: Path) -> None:
    """As a daemon does."""
    code = (
        f"import os, sys\nsys.path.insert(0, {str(SOURCE)!r})\nos.closerange(0, 3)\nfrom prowess.sandbox import run\n"
        "done = run(['/bin/cat'], cwd='/usr', stdin=b'abc', sandbox='none')\nos._exit(len(done.stdout))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 3


# ── what it may use ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_limits_hold(sandbox: str, tmp_path: Path, linux: None) -> None:
    """Of memory, file size, open files and core files; and they cannot be raised again."""
    limits = Limits(memory=200 * 1024 * 1024, file_size=100_000, descriptors=20)
    memory = py("bytearray(400_000_000)", tmp_path, sandbox=sandbox, limits=limits)
    assert b"MemoryError" in memory.stderr
    size = py(
        "import os; open(os.environ['HOME'] + '/x', 'wb').write(bytes(200_000))",
        tmp_path,
        sandbox=sandbox,
        limits=limits,
    )
    assert b"File too large" in size.stderr
    files = py("[open('/dev/null') for _ in range(30)]", tmp_path, sandbox=sandbox, limits=limits)
    assert b"Too many open files" in files.stderr
    names = "RLIMIT_DATA RLIMIT_FSIZE RLIMIT_NOFILE RLIMIT_CORE"
    code = (
        f"import time, resource as r; time.sleep(.05); print([r.getrlimit(getattr(r, n)) for n in '{names}'.split()])"
    )
    told = py(code, tmp_path, sandbox=sandbox, limits=limits).stdout.decode().strip()
    assert told == str([(n, n) for n in (200 * 1024 * 1024, 100_000, 20, 0)])


def test_processes_are_limited_for_a_user(tmp_path: Path, linux: None) -> None:
    """So many beside what runs already. The system lets root have more."""
    code = (
        "import os\ntry:\n    for _ in range(2000):\n        if not os.fork(): os.execlp('sleep', 'sleep', '66606')\n"
        "except OSError: print('enough')"
    )
    if os.geteuid():
        assert py(code, tmp_path, limits=Limits(processes=20)).stdout == b"enough\n"
    told = py("import resource as r; print(r.getrlimit(r.RLIMIT_NPROC)[0])", tmp_path, limits=Limits(processes=100))
    assert 100 < int(told.stdout) < 100 + 30_000
    assert gone("66606")


def test_the_callers_limits_stay_as_they_are(tmp_path: Path) -> None:
    """Whatever a command got."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE)
    sh("true", tmp_path, limits=Limits(descriptors=10))
    assert (resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE)) == before
    free = Limits(memory=None, file_size=None, descriptors=None, processes=None)
    assert sh("ulimit -d; ulimit -f", tmp_path, limits=free).stdout == b"unlimited\nunlimited\n"


def test_temporary_files_where_no_python_can_be_found_are_told(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `:` separates folders on PATH: another Python would have run, or none."""
    (tmp_path / "a:b").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "a:b"))
    monkeypatch.setattr("prowess.sandbox._runtime._folders", {})
    with pytest.raises(SandboxError, match=r"commands find no `python` in .*a:b") as caught:
        sh("python3 -V", tmp_path, sandbox=sandbox)
    assert caught.value.hint == "point `TMPDIR` at a folder without `:` in its path"
    assert not list((tmp_path / "a:b").iterdir())


def test_a_scratch_folder_is_removed_whatever_is_in_it(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the command took away its own right to do so; what its links lead to stays."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "kept").mkdir()
    line = f"mkdir -p $HOME/a/b; touch $HOME/a/b/c; ln -s {tmp_path}/kept $HOME/l; chmod 0 $HOME/a/b $HOME/a $HOME"
    assert sh(line, tmp_path, sandbox=sandbox).exit_code == 0
    assert [path.name for path in (tmp_path / "temporary").iterdir() if "-run-" in path.name] == []
    assert (tmp_path / "kept").is_dir()


def test_folders_that_were_left_behind_go_after_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whoever makes the next one; what is young, another's name or no folder stays."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("prowess.sandbox._runtime._folders", {})
    for name in ("prowess-case-0123456789abcdef", "prowess-run-0123456789abcde0", "prowess-case-mine"):
        (tmp_path / name / "inner").mkdir(parents=True)
    for name in ("prowess-case-0123456789abcdef", "prowess-case-mine"):
        os.utime(tmp_path / name, (1, 1))
    (tmp_path / "prowess-run-0123456789abcdef").write_text("")
    os.utime(tmp_path / "prowess-run-0123456789abcdef", (1, 1))
    made = Path(runtime_folder())
    assert sorted(path.name for path in tmp_path.iterdir() if path != made) == [
        "prowess-case-mine",
        "prowess-run-0123456789abcde0",
        "prowess-run-0123456789abcdef",
    ]


# ── walls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_home_cannot_be_read(bwrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's keys nor that there are any."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_ed25519").write_text("secret")
    (tmp_path / "skill").mkdir()
    line = f"cat {home}/.ssh/id_ed25519 || ls {home} ~/.ssh || cat /etc/shadow || ls /home /var /proc/1/root/home"
    done = sh(line, tmp_path / "skill", sandbox=bwrap)
    assert (done.stdout, done.exit_code) == (b"", 2)
    assert done.stderr.count(b"No such file or directory") >= 5, done.stderr


def test_only_what_is_writable_can_be_written(bwrap: str, tmp_path: Path) -> None:
    """The scratch folder, what was named, and nothing else that stays."""
    for name in ("skill", "named", "scratch"):
        (tmp_path / name).mkdir()
    (tmp_path / "skill/SKILL.md").write_text("as it was")
    places = [".", "/", "/etc", "/usr", "/usr/bin", runtime_folder(), runtime_folder() + "/bin", sys.prefix]
    line = f"for at in {' '.join(places)}; do touch $at/new 2>/dev/null && echo $at; done; echo x >SKILL.md"
    line += f"; rm -f SKILL.md; touch {tmp_path}/new; touch {tmp_path}/named/new $HOME/new /tmp/new && echo well"
    where: dict[str, Any] = {"writable": [tmp_path / "named"], "scratch": tmp_path / "scratch"}
    done = sh(line, tmp_path / "skill", sandbox=bwrap, **where)
    assert done.stdout == b"well\n", done
    assert (tmp_path / "skill/SKILL.md").read_text() == "as it was"
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("new")) == ["named/new", "scratch/new"]
    assert not Path("/tmp/new").exists()


def test_a_working_directory_can_be_writable(bwrap: str, tmp_path: Path) -> None:
    """As tests want it, which run in a copy."""
    assert sh("echo x >out; cat out", tmp_path, sandbox=bwrap, writable=[tmp_path]).stdout == b"x\n"
    assert (tmp_path / "out").read_text() == "x\n"


def test_what_is_readable_can_be_read_through_links(bwrap: str, tmp_path: Path) -> None:
    """A link that is named is where it was named, and so is what it leads to."""
    (tmp_path / "skill").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.txt").write_text("a")
    (tmp_path / "link").symlink_to("data")
    line = f"cat {tmp_path}/link/a.txt {tmp_path}/data/a.txt; touch {tmp_path}/link/b || ls {tmp_path}"
    done = sh(line, tmp_path / "skill", sandbox=bwrap, readable=[tmp_path / "link"])
    assert done.stdout.split() == [b"aadata", b"link", b"skill"]


def test_there_is_no_network(bwrap: str, tmp_path: Path) -> None:
    """Not even the loopback of the caller; with `network` there is."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = (
            f"import socket\nfor at in (('127.0.0.1', {port}), ('192.0.2.1', 80)):\n try:\n"
            "  socket.create_connection(at, 1); print('open')\n except OSError as error: print(type(error).__name__)"
        )
        assert py(code, tmp_path, sandbox=bwrap).stdout == b"ConnectionRefusedError\nOSError\n"
        assert py(code, tmp_path, sandbox=bwrap, network=True).stdout.startswith(b"open\n")


def test_an_abstract_socket_of_the_caller_cannot_be_reached(bwrap: str, tmp_path: Path) -> None:
    """They are in no folder, but in the network."""
    import socket

    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0prowess-66607")
        server.listen()
        code = "import socket; socket.socket(socket.AF_UNIX).connect('\\0prowess-66607')"
        assert b"ConnectionRefusedError" in py(code, tmp_path, sandbox=bwrap).stderr
        assert py(code, tmp_path, sandbox="none").exit_code == 0


def test_the_callers_processes_and_environment_cannot_be_seen(
    bwrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor signalled."""
    monkeypatch.setenv("SECRET_TOKEN", "caller's")
    code = (
        "import os\n"
        "pids = [p for p in os.listdir('/proc') if p.isdecimal()]\n"
        "print(len(pids), [p for p in pids if b'SECRET' in open(f'/proc/{p}/environ', 'rb').read()])\n"
        f"try: os.kill({os.getpid()}, 0)\nexcept OSError as error: print(type(error).__name__)"
    )
    done = py(code, tmp_path, sandbox=bwrap)
    assert done.stdout == b"2 []\nProcessLookupError\n", done


def test_no_capability_is_left(bwrap: str, tmp_path: Path) -> None:
    """Nothing can be mounted over."""
    done = sh(
        "grep -E 'Cap(Eff|Prm|Bnd)' /proc/self/status | cut -f2 | sort -u; mount -t tmpfs x /tmp",
        tmp_path,
        sandbox=bwrap,
    )
    assert done.stdout == b"0000000000000000\n"
    assert done.exit_code != 0


def test_the_settings_of_the_kernel_cannot_be_changed(bwrap: str, tmp_path: Path) -> None:
    """Root owns them, and needs no capability to write them; nor is there a way round in namespaces of one's own."""
    code = """if True:
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        os.mkdir("/tmp/proc")
        for at in ("/proc", "/proc", "/tmp/proc"):
            for name in ("kernel/core_pattern", "vm/swappiness"):
                try:
                    with open(f"{at}/sys/{name}", "r+"):
                        print(f"{at}/sys/{name} can be written")
                except OSError:
                    pass
            if os.getpid() != 1:
                libc.unshare(0x10000000 | 0x20000 | 0x20000000)  # a user, mounts and processes
                if os.fork():
                    os.wait()
                    os._exit(0)
                libc.mount(b"proc", b"/tmp/proc", b"proc", 0, None)
                libc.mount(None, b"/proc", None, 32, None)
        with open("/dev/stdout", "w") as file:
            file.write("looked\\n")
    """
    done = py(code, tmp_path, sandbox=bwrap)
    assert done.stdout == b"looked\n", done


def test_what_a_case_sets_does_not_reach_the_one_who_builds_the_walls(bwrap: str, tmp_path: Path) -> None:
    """A library that is to be loaded first is loaded inside only; and nobody reads variables off `ps`."""
    env = {"LD_PRELOAD": "/nowhere/evil.so", "API_KEY": "66608"}
    done = sh("cat /proc/1/cmdline; tr '\\0' '\\n' </proc/1/environ; echo $API_KEY", tmp_path, sandbox=bwrap, env=env)
    outside, _, inside = done.stdout.rpartition(b"HOME=")
    assert b"LD_PRELOAD" not in inside
    assert b"66608" not in outside.replace(b"$API_KEY", b"")
    assert done.stdout.endswith(b"\n66608\n")


def test_bwrap_costs_at_most_15_ms_a_command(bwrap: str, tmp_path: Path) -> None:
    """At the median over no walls, measured side by side; as many times more as there is more to do than processors."""
    overs: list[float] = []
    limit = 0.015 * (slack() - 1)
    while len(overs) < 5 and min(overs, default=1) >= limit:  # the machine may have had something else to do
        times: dict[str, list[float]] = {"none": [], bwrap: []}
        for _ in range(max(20, RUNS // 2)):
            for name, taken in times.items():
                before = time.perf_counter()
                run(["/bin/true"], cwd=tmp_path, sandbox=name)
                taken.append(time.perf_counter() - before)
        overs.append(statistics.median(times[bwrap]) - statistics.median(times["none"]))
    print(f"\nbwrap: {min(overs) * 1000:.1f} ms over none")
    assert min(overs) < limit


def test_a_command_costs_little_more_than_bare_python(tmp_path: Path) -> None:
    """Processor time of 150 commands that do nothing, with those who watch them, against `subprocess.run`."""

    def used() -> float:
        own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime

    def finish() -> None:
        for supervisor in tuple(process._ALL):
            supervisor.end(b"HOME=/nobody's\0")
        process._IDLE.clear()

    ratios = []
    for _ in range(3):
        finish()
        begun = used()
        for _ in range(150):
            run(["/bin/true"], cwd=tmp_path, sandbox="none", scratch=tmp_path)
        finish()
        middle = used()
        for _ in range(150):
            subprocess.run(["/bin/true"], capture_output=True, stdin=subprocess.DEVNULL, cwd=tmp_path, check=True)
        ratios.append((middle - begun) / (used() - middle))
    print(f"\nnone: processor time {min(ratios):.2f} to {max(ratios):.2f} times that of subprocess.run")
    assert min(ratios) < 2


# ── which backend ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Nothing was tried yet; the list gets a word for each try."""
    tries: list[str] = []
    real = backends._probe

    def tried(found: backends.Backend) -> None:
        tries.append(found.path)
        real(found)

    monkeypatch.setattr(backends, "_probe", tried)
    monkeypatch.setattr(backends, "_working", set())
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    return tries


def refused(choice: str = "auto", **named: Any) -> tuple[str, str | None]:
    with pytest.raises(SandboxError) as caught:
        find_backend(choice, **named)
    return str(caught.value), caught.value.hint


@pytest.mark.usefixtures("linux")
def test_without_bwrap_auto_refuses_and_says_what_to_do(
    unknown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the user trusts runs without walls."""
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = "nothing on this machine contains a stranger's command: `bwrap` is not on PATH"
    remedy = (
        "install bubblewrap (`apt install bubblewrap`), or look at the skill, and if you trust it type `--sandbox none`"
    )
    assert refused() == (reason, remedy)
    assert refused("bwrap", trusted=True) == (reason, remedy)
    assert find_backend(trusted=True).name == "none"
    assert unknown == []


@pytest.mark.usefixtures("linux")
def test_a_bwrap_that_does_not_work_is_none(
    unknown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own words are told, and it is tried anew each time: somebody may mend it."""
    fake = tmp_path / "bin/bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))
    reason, hint = refused()
    assert reason == "`bwrap` does not work here: No permissions to create new namespace"
    assert hint is not None
    assert hint.startswith("allow it to make user namespaces")
    refused()
    assert len(unknown) == 2
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("linux")
def test_a_folder_of_the_project_brings_no_bwrap(
    unknown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative folder on PATH would be the project's."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\nexit 7\n")
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".:")
    assert "not on PATH" in refused()[0]


def test_that_bwrap_works_is_remembered(bwrap: str, unknown: list[str], tmp_path: Path) -> None:
    """For this start of the machine, this program and this user, across processes."""
    assert find_backend().name == find_backend().name == "bwrap"
    backends._working.clear()
    assert find_backend().name == "bwrap"
    assert len(unknown) == 1
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["sandbox"]


@pytest.mark.parametrize("damage", ["empty", "cut", "bit", "other", "folder", "link", "writable", "no-folder"])
def test_a_memory_that_is_damaged_or_foreign_counts_for_nothing(
    damage: str, bwrap: str, unknown: list[str], tmp_path: Path
) -> None:
    """It is tried again, and nothing is raised."""
    find_backend()
    backends._working.clear()
    file = tmp_path / "cache/sandbox"
    data = file.read_bytes()
    if damage in ("empty", "cut", "bit", "other"):
        broken = {"empty": b"", "cut": data[:-5], "bit": bytes([data[0] ^ 1]) + data[1:], "other": b"\xff" * 9000}
        file.write_bytes(broken[damage])
    elif damage == "writable":
        file.chmod(0o666)
    else:
        file.unlink()
        if damage == "folder":
            file.mkdir()
        elif damage == "link":
            (tmp_path / "elsewhere").write_bytes(data)
            file.symlink_to(tmp_path / "elsewhere")
        else:
            file.parent.rmdir()
            file.parent.write_text("a file")
    assert find_backend().name == "bwrap"
    assert len(unknown) == 2


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("bwarp", ("there is no sandbox `bwarp`", "did you mean `bwrap`?")),
        ("", ("there is no sandbox ``", "choose one of auto, bwrap, seatbelt, none")),
        ("seatbelt", ("`seatbelt` is not of this system", "choose `--sandbox bwrap`")),
    ],
)
@pytest.mark.usefixtures("linux")
def test_a_choice_that_is_none_is_told(choice: str, told: tuple[str, str]) -> None:
    """With the nearest one."""
    assert refused(choice) == told


def test_the_profile_of_seatbelt(tmp_path: Path) -> None:
    """Begins with nothing; paths are quoted and without links."""
    (tmp_path / 'a"b').mkdir()
    (tmp_path / "link").symlink_to(tmp_path / 'a"b')
    confinement = Confinement(cwd="/", env={}, readable=("/usr",), writable=(str(tmp_path / "link"),), network=False)
    profile = seatbelt_profile(confinement)
    real = os.path.realpath(tmp_path)
    assert profile.startswith("(version 1)\n(deny default)\n")
    assert f'(allow file-write* (subpath "{real}/a\\"b"))\n' in profile
    assert "network" not in profile
    assert profile.count("(") == profile.count(")")
    assert "(allow network*)\n" in seatbelt_profile(confinement.with_changes(network=True))
    assert "file-write*" not in seatbelt_profile(confinement.with_changes(writable=()))


# ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────

BAD: list[tuple[dict[str, Any], str]] = [
    ({"argv": []}, "there is no command"),
    ({"argv": [""]}, "there is no command"),
    ({"argv": "ls -l"}, "a command must be a list of words"),
    ({"argv": ["nosuch-command"]}, "there is no command `nosuch-command` on PATH"),
    ({"argv": ["./nosuch"]}, "there is no program `./nosuch`"),
    ({"argv": ["./plain"]}, "`./plain` may not be run"),
    ({"argv": ["./empty"]}, "`./empty` cannot be started: exec format error"),
    ({"argv": ["./lost"]}, "`./lost` cannot be started: no such file or directory"),
    ({"argv": ["./folder"]}, "there is no program `./folder`"),
    ({"argv": ["ls", "a\0b"]}, "a word of the command holds a NUL character"),
    ({"argv": ["ls", "\ud800"]}, "a word of the command holds half a character"),
    ({"argv": ["ls", "x" * 5_000_000]}, "`ls` cannot be started: argument list too long"),
    ({"argv": ["ls", 1]}, "a word of the command must be text, not int"),
    ({"env": {"A": "a\0b"}}, "the variable `A` holds a NUL character"),
    ({"env": {"A=B": "a"}}, "`A=B` cannot be the name of a variable"),
    ({"env": {"": "a"}}, "`` cannot be the name of a variable"),
    ({"env": {"A": 1}}, "the variable `A` must be text, not int"),
    ({"stdin": "text"}, "`stdin` must be bytes"),
    ({"readable": ["/nowhere"]}, "what is to be readable is not there: `/nowhere`"),
    ({"writable": ["/"]}, "what is to be writable cannot be `/`"),
    ({"scratch": "/nowhere"}, "the scratch folder is not there: `/nowhere`"),
    ({"cwd": "/nowhere"}, "the working directory is not there: `/nowhere`"),
    ({"cwd": "/etc/passwd"}, "the working directory `/etc/passwd` is not a folder"),
    *(({"limits": Limits(timeout=value)}, f"`timeout` cannot be {value!r}") for value in (0, -1, True)),
    *(({"limits": Limits(timeout=float(value))}, f"`timeout` cannot be {value}") for value in ("nan", "inf")),
    ({"limits": Limits(timeout="30")}, "`timeout` cannot be '30'"),  # type: ignore[arg-type]
    ({"limits": Limits(memory=0)}, "`memory` cannot be 0"),
    ({"limits": Limits(output=-1)}, "`output` cannot be -1"),
    ({"limits": Limits(descriptors=True)}, "`descriptors` cannot be True"),
    ({"limits": Limits(processes=2**70)}, f"`processes` cannot be {2**70}"),
]


@pytest.mark.parametrize(("given", "told"), BAD, ids=[told[:50] for _, told in BAD])
def test_bad_input_is_told(given: dict[str, Any], told: str, tmp_path: Path) -> None:
    """In one sentence, with what to do; nothing is left in the folder for temporary files."""
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    for name, text in (("empty", "echo"), ("lost", "#!/nowhere/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    named: dict[str, Any] = {"argv": ["ls"], "cwd": tmp_path, "sandbox": "none", **given}
    with pytest.raises(SandboxError) as caught:
        run(named.pop("argv"), **named)
    assert str(caught.value) == told
    assert caught.value.hint


def test_a_program_that_cannot_be_seen_inside_is_told(bwrap: str, tmp_path: Path) -> None:
    """It is there, but not where it is contained."""
    (tmp_path / "skill").mkdir()
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    with pytest.raises(
        SandboxError, match=r"`\.\./tool` cannot be started where it is contained: execvp .*/tool: No such"
    ):
        run(["../tool"], cwd=tmp_path / "skill", sandbox=bwrap)


def test_the_example_of_its_page_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/sandbox.md."""
    page = (SOURCE.parent / "docs/sandbox.md").read_text()
    code = page.split("```python\n")[1].split("```")[0].replace('"examples"', repr(str(SOURCE)))
    exec(code, {})  # noqa: S102 - our own page
    assert f"prints `{capsys.readouterr().out.strip()}`" in page


def test_every_limit_and_field_has_its_word_on_the_page() -> None:
    """With its default."""
    page = (SOURCE.parent / "docs/sandbox.md").read_text()
    assert [name for name in Limits._field_names if f"\n| `{name}` | " not in page] == []
    assert [name for name in backends.CHOICES if f"\n| `{name}` | " not in page] == []


def test_loading_it_costs_little() -> None:
    """Neither `subprocess` nor what else is heavy."""
    code = f"import sys; sys.path.append({str(SOURCE)!r}); import prowess.sandbox; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "asyncio",
        "ctypes",
        "dataclasses",
        "multiprocessing",
        "select",
        "shutil",
        "signal",
        "socket",
        "subprocess",
    }
    assert heavy & set(done.stdout.split()) == set()
