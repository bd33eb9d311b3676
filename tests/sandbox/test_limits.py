"""Limits of commands."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

import pytest

from prowess.sandbox import Limits
from support.commands import run_python, run_shell
from support.processes import processes_end

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.usefixtures("linux")
def test_limits_are_enforced(sandbox: str, tmp_path: Path) -> None:
    """Of memory, file size, open files and core files; a command cannot raise them."""
    limits = Limits(memory=200 * 1024 * 1024, file_size=100_000, descriptors=20)
    memory = run_python("bytearray(400_000_000)", tmp_path, sandbox=sandbox, limits=limits)
    assert b"MemoryError" in memory.stderr
    size = run_python(
        "import os; open(os.environ['HOME'] + '/x', 'wb').write(bytes(200_000))",
        tmp_path,
        sandbox=sandbox,
        limits=limits,
    )
    assert b"File too large" in size.stderr
    files = run_python("[open('/dev/null') for _ in range(30)]", tmp_path, sandbox=sandbox, limits=limits)
    assert b"Too many open files" in files.stderr
    names = "RLIMIT_DATA RLIMIT_FSIZE RLIMIT_NOFILE RLIMIT_CORE"
    code = (
        f"import time, resource as r; time.sleep(.05); print([r.getrlimit(getattr(r, n)) for n in '{names}'.split()])"
    )
    output = run_python(code, tmp_path, sandbox=sandbox, limits=limits).stdout.decode().strip()
    assert output == str([(n, n) for n in (200 * 1024 * 1024, 100_000, 20, 0)])


@pytest.mark.usefixtures("linux")
def test_processes_are_limited_for_a_user(tmp_path: Path) -> None:
    """Besides those that are running already. Root is not limited by the system."""
    code = (
        "import os\ntry:\n    for _ in range(2000):\n        if not os.fork(): os.execlp('sleep', 'sleep', '66606')\n"
        "except OSError: print('enough')"
    )
    if os.geteuid():
        assert run_python(code, tmp_path, limits=Limits(processes=20)).stdout == b"enough\n"
    output = run_python(
        "import resource as r; print(r.getrlimit(r.RLIMIT_NPROC)[0])", tmp_path, limits=Limits(processes=100)
    )
    assert 100 < int(output.stdout) < 100 + 30_000
    assert processes_end("66606")


def test_limits_of_the_caller_do_not_change(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE)
    run_shell("true", tmp_path, limits=Limits(descriptors=10))
    assert (resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE)) == before
    free = Limits(memory=None, file_size=None, descriptors=None, processes=None)
    assert run_shell("ulimit -d; ulimit -f", tmp_path, limits=free).stdout == b"unlimited\nunlimited\n"
