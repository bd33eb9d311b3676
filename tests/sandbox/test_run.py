"""Commands: what they get, what is kept of their output, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import CHOICES, Limits, _supervisors as supervisors, run
from prowess.sandbox._runtime import runtime_folder
from support.commands import SOURCE, run_python, run_shell
from support.growth import END, ends


def test_a_command_gets_the_base_variables_and_the_given_ones(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No variable of the caller."""
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
    """Under both names, with the packages of its environment."""
    code = "import sys, yaml; print(sys.version)"
    for name in ("python", "python3"):
        done = run_shell(f"{name} -c '{code}'", tmp_path, sandbox=sandbox)
        assert (done.stdout.decode().strip(), done.exit_code) == (sys.version, 0), done.stderr
    assert b"yaml" not in run_shell("python -c 'import yaml'", tmp_path, sandbox=sandbox, python=True).stderr


def test_input_is_empty_unless_it_is_given(sandbox: str, tmp_path: Path) -> None:
    """It is neither a terminal nor the input of the caller."""
    code = "import sys; data = sys.stdin.buffer.read(); print(len(data), data[-1:], sys.stdin.isatty())"
    assert run_python(code, tmp_path, sandbox=sandbox).stdout == b"0 b'' False\n"
    assert run_python(code, tmp_path, sandbox=sandbox, stdin=b"a" * 3_000_000 + b"z").stdout == b"3000001 b'z' False\n"


def test_there_is_no_terminal(sandbox: str, tmp_path: Path) -> None:
    """The command has its own session and group."""
    code = "import os\ntry: os.open('/dev/tty', os.O_RDWR)\nexcept OSError as error: print('no', os.getpgid(0))"
    done = run_python(code, tmp_path, sandbox=sandbox)
    assert done.stdout.startswith(b"no ")
    assert int(done.stdout.split()[1]) != os.getpgid(0)


def test_open_files_of_the_caller_are_not_inherited(sandbox: str, tmp_path: Path) -> None:
    """Not even inheritable ones."""
    taken, given = os.pipe()
    os.set_inheritable(given, True)
    try:
        supervisors._close_all_after_fork()  # so that a new supervisor is started now
        done = run_shell("ls /proc/self/fd" if sys.platform == "linux" else "ls /dev/fd", tmp_path, sandbox=sandbox)
    finally:
        os.close(taken)
        os.close(given)
    assert done.stdout.split() == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize(
    ("line", "code"),
    [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("nosuchcommand 2>/dev/null", 127)],
)
def test_exit_codes(line: str, code: int, sandbox: str, tmp_path: Path) -> None:
    """128 plus its number for a signal."""
    done = run_shell(line, tmp_path, sandbox=sandbox)
    assert (done.exit_code, done.timed_out, done.killed, done.backend) == (code, False, 0, sandbox)


def test_no_signal_is_ignored_or_blocked(tmp_path: Path) -> None:
    """Whatever the caller does with its own signals."""
    # Python itself ignores two of them.
    code = (
        "import signal as s\n"
        "print([n for n in range(1, 32) if s.getsignal(n) == s.SIG_IGN and n not in (s.SIGPIPE, s.SIGXFSZ)])\n"
        "print(s.pthread_sigmask(0, []))"
    )
    old = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        supervisors._close_all_after_fork()
        assert run_python(code, tmp_path).stdout == b"[]\nset()\n"
    finally:
        signal.signal(signal.SIGUSR1, old)
    assert run_shell("yes | head -1; echo", tmp_path).stderr == b""


def test_a_program_with_a_slash_is_relative_to_the_working_directory(sandbox: str, tmp_path: Path) -> None:
    script = tmp_path / "hello"
    script.write_text("#!/bin/sh\necho hello $1 from $(pwd)\n")
    script.chmod(0o755)
    done = run(["./hello", "you"], cwd=tmp_path, sandbox=sandbox)
    assert done.stdout == f"hello you from {tmp_path}\n".encode()


def test_the_beginning_of_each_stream_is_kept_and_the_rest_is_counted(sandbox: str, tmp_path: Path) -> None:
    """To the exact byte."""
    line = "head -c 300000 /dev/zero; head -c 70 /dev/zero >&2; printf end"
    done = run_shell(line, tmp_path, sandbox=sandbox, limits=Limits(output=100))
    assert (done.stdout, done.stdout_size) == (bytes(100), 300003)
    assert (done.stderr, done.stderr_size) == (bytes(70), 70)
    assert run_shell("printf abc", tmp_path, limits=Limits(output=0)).stdout == b""


@pytest.mark.slow
@pytest.mark.usefixtures("linux")
def test_a_gigabyte_of_output_is_bounded_in_memory_and_time(sandbox: str, tmp_path: Path) -> None:
    """It is read as fast as it is written, and 1 MiB of it is kept."""
    with ends():
        done = run_shell("head -c 1000000000 /dev/zero", tmp_path, sandbox=sandbox)
        assert (done.exit_code, done.stdout_size, len(done.stdout)) == (0, 1_000_000_000, 1024 * 1024)
    for supervisor in supervisors._ALL:
        status = Path(f"/proc/{supervisor._pid}/status").read_text()
        assert int(status.split("VmHWM:")[1].split()[0]) < 64 * 1024


@pytest.mark.slow
def test_endless_output_ends_with_the_timeout(sandbox: str, tmp_path: Path) -> None:
    """Also from a process that outlives its parent."""
    for line, seconds in (("exec cat /dev/zero", 0.5), ("cat /dev/zero & exit 0", END)):
        with ends():
            done = run_shell(line, tmp_path, sandbox=sandbox, limits=Limits(timeout=seconds))
        assert done.timed_out is line.startswith("exec")
        assert len(done.stdout) <= 1024 * 1024


def test_a_command_may_close_its_streams(sandbox: str, tmp_path: Path) -> None:
    """It still runs to its end."""
    done = run_shell("exec <&- >&- 2>&-; sleep 0.2", tmp_path, sandbox=sandbox)
    assert done.exit_code == 0
    assert done.duration >= 0.2


def test_a_command_need_not_read_its_input(sandbox: str, tmp_path: Path) -> None:
    """However large it is."""
    done = run_shell("sleep 0.1; echo done", tmp_path, sandbox=sandbox, stdin=b"x" * 20_000_000)
    assert (done.stdout, done.exit_code) == (b"done\n", 0)


def test_a_scratch_folder_is_removed_whatever_is_in_it(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the command removed its permissions; the targets of its links stay."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "kept").mkdir()
    line = f"mkdir -p $HOME/a/b; touch $HOME/a/b/c; ln -s {tmp_path}/kept $HOME/l; chmod 0 $HOME/a/b $HOME/a $HOME"
    assert run_shell(line, tmp_path, sandbox=sandbox).exit_code == 0
    assert [path.name for path in (tmp_path / "temporary").iterdir() if "-run-" in path.name] == []
    assert (tmp_path / "kept").is_dir()


def test_a_program_that_is_not_readable_in_the_sandbox_is_an_error(bwrap: str, tmp_path: Path) -> None:
    """It exists outside of it."""
    (tmp_path / "skill").mkdir()
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    with pytest.raises(SandboxError, match=r"`\.\./tool` cannot be started in the sandbox: execvp .*/tool: No such"):
        run(["../tool"], cwd=tmp_path / "skill", sandbox=bwrap)


def test_the_example_of_the_page_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (SOURCE.parent / "docs/sandbox.md").read_text()
    code = page.split("```python\n")[1].split("```")[0].replace('"examples"', repr(str(SOURCE)))
    exec(code, {})  # noqa: S102 - our own page
    assert f"prints `{capsys.readouterr().out.strip()}`" in page


def test_every_limit_and_sandbox_is_on_the_page() -> None:
    page = (SOURCE.parent / "docs/sandbox.md").read_text()
    assert [name for name in Limits._field_names if f"\n| `{name}` | " not in page] == []
    assert [name for name in CHOICES if f"\n| `{name}` | " not in page] == []


def test_importing_run_loads_no_heavy_module() -> None:
    code = f"import sys; sys.path.append({str(SOURCE)!r}); import prowess.sandbox._run; print(*sys.modules)"
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
