from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install.sources import parse_source
from support.git_server import git, make_repository, skill_text
from support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prowess.install import Fetched

pytestmark = pytest.mark.needs("git")

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
FAKE = """#!/bin/sh
printf '%s\\n' "$@" >>"$0.log"
for command; do :; done
exec sh -c "$command"
"""
"""A program in place of ssh that runs the command on this machine."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "team.git", {"pdf": {"SKILL.md": skill_text("pdf")}})


@pytest.mark.parametrize("source", ["ssh://git@example.org:22{path}", "git@example.org:{path}"])
def test_a_repository_is_read_with_the_users_ssh(
    source: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetched: Callable[..., Fetched]
) -> None:
    """The setting of git for ssh is obeyed; ssh gets the host and one command."""
    program = tmp_path / "ssh"
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    monkeypatch.setenv("GIT_SSH_VARIANT", "ssh")
    parsed = parse_source(source.format(path=repository))
    found = fetched(parsed)
    assert [skill.name for skill in found.skills] == ["pdf"]
    assert found.revision == git(repository, "rev-parse", "main")
    words = Path(f"{program}.log").read_text().splitlines()
    assert "git@example.org" in words
    assert f"git-upload-pack '{repository}'" in words


@pytest.mark.slow
@pytest.mark.skipif(SSHD is None, reason="sshd is missing: apt-get install openssh-server")
def test_a_repository_is_read_from_a_real_ssh_server(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetched: Callable[..., Fetched]
) -> None:
    with _server(tmp_path) as (port, key):
        options = f"-i {key} -o IdentitiesOnly=yes -o UserKnownHostsFile={tmp_path}/known -F none"
        source = parse_source(f"ssh://{getpass.getuser()}@127.0.0.1:{port}{repository}")
        monkeypatch.setenv("GIT_SSH_COMMAND", f"ssh {options}")
        with pytest.raises(InstallError, match="Host key verification failed"):  # there is no terminal to ask on
            fetched(source)
        monkeypatch.setenv("GIT_SSH_COMMAND", f"ssh {options} -o StrictHostKeyChecking=accept-new")
        assert fetched(source).revision == git(repository, "rev-parse", "main")


@contextmanager
def _server(folder: Path) -> Iterator[tuple[int, Path]]:
    """Start sshd for this user on the loopback address; yield its port and the key of the user."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_bytes((folder / "user.pub").read_bytes())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "prohibit-password",
    }
    (folder / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    command = [str(SSHD), "-D", "-e", "-f", str(folder / "sshd_config")]
    with (folder / "sshd.log").open("wb") as log, subprocess.Popen(command, stderr=log) as server:
        try:
            wait_until(lambda: server.poll() is not None or b"Server listening" in (folder / "sshd.log").read_bytes())
            if server.poll() is not None:
                pytest.skip(f"sshd does not start: {(folder / 'sshd.log').read_text().strip()[:200]}")
            yield port, folder / "user"
        finally:
            server.terminate()
