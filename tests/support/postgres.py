"""A PostgreSQL server of the tests' own, from the packages of the system, on a socket that only they can reach."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.processes import wait_until
from support.programs import require

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Postgres", "postgres_server", "start_postgres"]

_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
"""Where systems install the server: it is not on `PATH`."""


class Postgres:
    """A running server."""

    def __init__(self, folder: Path, binaries: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.binaries, self.process, self._databases = folder, binaries, process, 0

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database."""
        return f"postgresql://tests@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """Create an empty database and return its URL."""
        self._databases += 1
        name = f"test{os.getpid()}_{self._databases}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def run(self, sql: str, database: str = "postgres") -> str:
        """Run SQL and return what psql prints, without heads."""
        command: list[str | Path] = [
            self.binaries / "psql",
            "-h",
            self.folder,
            "-U",
            "tests",
            "-XAtq",
            "-c",
            sql,
            database,
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.strip()


def _as_server_user(command: list[str | Path]) -> list[str | Path]:
    """Return a command that runs as a user who may run the server: root may not."""
    if sys.platform != "linux":
        return command
    # The server ends with the process of the tests, even if that is killed.
    root = ["--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    return ["setpriv", *root, "--pdeathsig=QUIT", *command]


def _find_binaries() -> Path:
    found = [path.parent for pattern in _FOLDERS for path in Path("/").glob(f"{pattern[1:]}/initdb")]
    on_path = shutil.which("initdb")
    return max(found, default=None) or Path(os.path.realpath(str(on_path))).parent


@contextmanager
def start_postgres(*settings: str) -> Iterator[Postgres]:
    """Start a server with settings such as `max_connections=20`, and stop it at the end."""
    binaries = _find_binaries()
    # A short path: that of a socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        if os.getuid() == 0:
            os.chown(folder, 65534, 65534)
        flags = ["-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        init: list[str | Path] = [binaries / "initdb", "-D", folder / "data", *flags]
        environment = {"PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C"}
        subprocess.run(_as_server_user(init), cwd=folder, env=environment, check=True, capture_output=True)
        options = [f"unix_socket_directories={folder}", "listen_addresses=", "fsync=off", *settings]
        start: list[str | Path] = [
            binaries / "postgres",
            "-D",
            folder / "data",
            *(word for option in options for word in ("-c", option)),
        ]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(_as_server_user(start), cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            server = Postgres(folder, binaries, process)
            _wait_until_ready(server)
            yield server
        finally:
            process.send_signal(signal.SIGQUIT)  # it ends at once
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(server: Postgres) -> None:
    ready: list[str | Path] = [server.binaries / "pg_isready", "-q", "-h", server.folder]

    def is_ready() -> bool:
        assert server.process.poll() is None, (server.folder / "log").read_text(encoding="utf-8")
        return subprocess.run(ready, check=False).returncode == 0

    wait_until(is_ready)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """Give all tests of a process one server."""
    require("postgres")
    with start_postgres() as server:
        yield server
