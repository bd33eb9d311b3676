"""Calls in threads: a cancelled one leaves no command running and starts no other one."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from prowess.agent._threads import run_in_thread, wait_for_threads
from prowess.errors import SandboxError
from prowess.sandbox import run
from support.commands import run_shell
from support.growth import END
from support.processes import processes_end, processes_with

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has /proc")


async def cancelled(call: Callable[[], object], ready: Callable[[], object]) -> None:
    """Start a call, and cancel it when it is ready."""
    task = asyncio.ensure_future(run_in_thread(call))
    async with asyncio.timeout(END):
        while not ready():
            await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.slow
def test_the_command_of_a_cancelled_call_is_stopped(tmp_path: Path) -> None:
    """It may have an hour left."""

    def ready() -> bool:
        return len(processes_with("66641")) > 1

    asyncio.run(cancelled(lambda: run_shell("setsid sleep 66641 & sleep 66641", tmp_path), ready))
    assert processes_end("66641")
    wait_for_threads()
    assert run_shell("echo well", tmp_path).stdout == b"well\n"


def test_a_cancelled_call_starts_no_command(tmp_path: Path) -> None:
    """As when it waited for the command of another run to end."""
    waiting, lock = threading.Event(), threading.Lock()
    errors: list[SandboxError] = []

    def call() -> None:
        waiting.set()
        with lock:
            try:
                run(["/bin/sh", "-c", f"echo late > {tmp_path}/file"], cwd=tmp_path, sandbox="none")
            except SandboxError as error:
                errors.append(error)

    with lock:
        asyncio.run(cancelled(call, waiting.is_set))
    wait_for_threads()
    assert [str(error) for error in errors] == ["the command was not started, because what it was for has ended"]
    assert not (tmp_path / "file").exists()


@pytest.mark.slow
def test_other_calls_continue(tmp_path: Path) -> None:
    """One that began before ends after the cancelled one."""
    line = "while ! test -e go; do sleep 0.01; done; echo well"

    async def both() -> bytes:
        other = asyncio.ensure_future(run_in_thread(lambda: run_shell(line, tmp_path).stdout))
        await cancelled(lambda: run_shell("sleep 66643", tmp_path), lambda: processes_with("66643"))
        (tmp_path / "go").touch()
        return await other

    assert asyncio.run(both()) == b"well\n"
    assert processes_end("66643")
    wait_for_threads()
