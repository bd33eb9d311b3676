"""A registry of containers of the tests' own, from the packages of the system, on the loopback address."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.programs import require

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PASSWORD", "USER", "Registry", "private_registry", "registry", "start_registry"]

USER, PASSWORD = "tester", "secret"
_HTPASSWD = "tester:$2y$05$JkkQuNh8B6.MM93ldGYYoeuYIUoQNamhps8ectHZi1nCmqjL/qFxy\n"
"""The password above, as `htpasswd -nbB` writes it."""


class Registry:
    """A running registry."""

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"
        self._repositories = 0

    def new_repository(self) -> str:
        """Return the name of a repository that no other test uses."""
        self._repositories += 1
        return f"{self.host}/tests/skill{self._repositories}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def start_registry(*, private: bool = False) -> Iterator[Registry]:
    """Start a registry, and stop it at the end.

    Args:
        private: whether it asks for a user and a password.
    """
    folder = Path(tempfile.mkdtemp(prefix="registry-"))
    port = _free_port()
    settings = f"version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {folder}/data}}\n"
    settings += f"http: {{addr: '127.0.0.1:{port}'}}\n"
    if private:
        (folder / "htpasswd").write_text(_HTPASSWD, encoding="utf-8")
        settings += f"auth:\n  htpasswd: {{realm: tests, path: {folder}/htpasswd}}\n"
    (folder / "settings.yml").write_text(settings, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "OTEL_TRACES_EXPORTER": "none"}
    program = shutil.which("docker-registry") or "registry"  # as Debian and Fedora call it
    command = [program, "serve", str(folder / "settings.yml")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait_until_ready(port, process, folder / "log")
        yield Registry(port)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text(encoding="utf-8")
        time.sleep(0.02)
    raise TimeoutError("the registry does not start")


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    """Give the tests of a module one registry."""
    require("docker-registry")
    with start_registry() as running:
        yield running


@pytest.fixture(scope="module")
def private_registry() -> Iterator[Registry]:
    """Give the tests of a module one registry that asks for a user and a password."""
    require("docker-registry")
    with start_registry(private=True) as running:
        yield running
