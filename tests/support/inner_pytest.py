"""Run pytest in a new process that a warm one forks: it has imported pytest, and nothing that a test is about.

That takes a third of the processor time of `python -m pytest`. This file is also the program of the warm process.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import socket
import subprocess
import sys
from functools import cache
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def run_pytest(*arguments: str | Path, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `python -m pytest ARGUMENTS`; return its exit code and what it printed."""
    words = [os.fspath(argument) for argument in arguments]
    request = pickle.dumps((words, os.fspath(cwd), dict(env)))
    with TemporaryFile() as out, TemporaryFile() as err:
        socket.send_fds(_warm(), [len(request).to_bytes(4, "big")], [out.fileno(), err.fileno()])
        _warm().sendall(request)
        code = int.from_bytes(_warm().recv(4), "big", signed=True)
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(["pytest", *words], code, out.read().decode(), err.read().decode())


@cache
def _warm() -> socket.socket:
    """Start the warm process; return the connection to it.

    It has a place of its own for temporary folders: in the usual one, each pytest removes the old ones of all others.
    """
    ours, theirs = socket.socketpair()
    place = TemporaryDirectory(prefix="inner-pytest-")
    process = subprocess.Popen(
        [sys.executable, "-P", __file__, str(theirs.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        env={"PATH": os.environ["PATH"], "PYTEST_DEBUG_TEMPROOT": place.name},
    )
    theirs.close()

    @atexit.register
    def end() -> None:
        ours.close()
        process.wait()
        place.cleanup()

    return ours


def _next_request(connection: socket.socket) -> list[str]:
    """Answer requests with exit codes; return the arguments of one in the process that was forked for it."""
    words: list[str]
    while True:
        size, files, _, _ = socket.recv_fds(connection, 4, 2)
        if not size:
            os._exit(0)
        words, cwd, env = pickle.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))  # noqa: S301
        child = os.fork()
        if not child:
            break
        for file in files:
            os.close(file)
        connection.sendall(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]).to_bytes(4, "big", signed=True))
    connection.close()
    for number, file in enumerate(files, 1):
        os.dup2(file, number)
        os.close(file)
    place = os.environ["PYTEST_DEBUG_TEMPROOT"]
    os.environ.clear()
    os.environ.update({**env, "PYTEST_DEBUG_TEMPROOT": place})
    os.chdir(cwd)
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in env
    sys.path[:0] = [cwd, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    return words


if __name__ == "__main__":
    import pytest
    from _pytest.config import default_plugins

    for _name in default_plugins:
        __import__(f"_pytest.{_name}")
    gc.freeze()
    raise SystemExit(pytest.main(_next_request(socket.socket(fileno=int(sys.argv[1])))))
