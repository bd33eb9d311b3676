"""`prowess mount`: skills come into a home, all of them or none, and go again."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from prowess.cli import main
from support.skills import skill

MOUNT = import_module("prowess.mount._apply")


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with two skills that agents find, and three in other folders."""
    top = tmp_path.resolve()
    project = top / "project"
    (project / ".git").mkdir(parents=True)
    pdf = skill(project / ".agents/skills/pdf", "pdf", "Fills forms.").parent
    (pdf / "scripts").mkdir()
    (pdf / "scripts/fill.py").write_text("print(1)\n" * 500)
    skill(project / ".agents/skills/xls", "xls", "Adds up.")
    skill(project / "lib/review", "review", "Reviews.")
    skill(project / "lib/a=b", "a=b", "Odd.")
    (project / "lib/notes.md").write_text("---\nname: my-notes\ndescription: Notes.\n---\nNote.\n")
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(top / "own"))
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    return top


def run(top: Path, *arguments: str, host: str = "claude-code") -> int:
    return main(["mount", *arguments, "--to", str(top / "home"), "--host", host])


def there(top: Path) -> list[str]:
    """Return all that is in the home."""
    return sorted(str(path.relative_to(top / "home")) for path in (top / "home").rglob("*"))


# ── mounting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("count", "shown"),
    [(1, "1 byte"), (999, "999 bytes"), (1_000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB")],
)
def test_sizes_are_short(count: int, shown: str) -> None:
    """And never `1000.0 kB`."""
    from prowess.cli._output import format_size

    assert format_size(count) == shown


# ── removing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_source_behind_a_link_that_cannot_be_read_is_not_mounted_there(
    top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `/proc/1/root`; it is an error of the user, not a bug."""
    assert run(top, "lib/review") == 0
    (top / "project/link").symlink_to(top)

    def refuse(path: Any, **_options: Any) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "readlink", refuse)
    assert run(top, "--remove", "./link") == 2
    assert "was not mounted in" in capsys.readouterr().err


# ── signals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_the_home_as_it_was(
    number: int, code: int, top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between two copies, with an older skill to replace; a second signal changes nothing; no message."""
    assert run(top, "pdf") == 0
    skill(top / "project/.agents/skills/pdf", "pdf", "Changed.")
    before = there(top), (top / "home/.claude/skills/pdf/SKILL.md").read_text()
    real, copied = MOUNT.copy_tree, []

    def copy(*arguments: Any) -> Any:
        copied.append(real(*arguments))
        if len(copied) == 2:
            try:
                os.kill(os.getpid(), number)
            finally:
                if number == signal.SIGTERM:
                    os.kill(os.getpid(), number)
        return copied[-1]

    monkeypatch.setattr(MOUNT, "copy_tree", copy)
    capsys.readouterr()
    assert run(top, "pdf", "xls", "lib/review") == code
    assert capsys.readouterr() == ("", "")
    assert (there(top), (top / "home/.claude/skills/pdf/SKILL.md").read_text()) == before
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what a process does with a signal")
def test_a_signal_ends_the_wait_for_another_process(top: Path) -> None:
    """As a separate process, which waits for a locked folder."""
    (top / "home/.claude").mkdir(parents=True)
    lock = os.open(top / "home/.claude", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    command = [sys.executable, "-m", "prowess", "mount", "pdf", "--to", str(top / "home"), "--host", "claude-code"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None:  # until it has come so far as to handle signals, each would just kill it
            status = Path(f"/proc/{process.pid}/status").read_text()
            if int(status.split("SigCgt:")[1].split()[0], 16) >> (signal.SIGTERM - 1) & 1:
                break
            time.sleep(0.01)
        process.terminate()
        assert process.communicate() == (b"", b"")
        assert process.returncode == 143
    os.close(lock)
    assert there(top) == [".claude"]


def test_a_handler_of_the_caller_s_stays(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that runs commands in its own process has its own handlers."""
    caught: list[int] = []
    real = MOUNT.copy_tree

    def copy(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return real(*arguments)

    monkeypatch.setattr(MOUNT, "copy_tree", copy)
    before = signal.signal(signal.SIGTERM, lambda number, _: caught.append(number))
    try:
        assert run(top, "pdf") == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught == [signal.SIGTERM]


def test_another_thread_can_mount(top: Path) -> None:
    """Which cannot handle signals."""
    from threading import Thread

    codes: list[int] = []
    thread = Thread(target=lambda: codes.append(run(top, "pdf")))
    thread.start()
    thread.join()
    assert codes == [0]
