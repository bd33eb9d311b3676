"""A registry of containers of the tests' own, from the packages of the system, on the loopback address."""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from prowess.install.sources import parse_source
from prowess.install.sources.oci import open_registry
from support.growth import END
from support.processes import wait_until
from support.programs import require
from support.raw_http import RawServer, Request, answer

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Registry",
    "digest_of_tag",
    "log_in",
    "private_registry",
    "registry",
    "start_registry",
    "start_token_registry",
]

USER, PASSWORD = "tester", "secret"
_HTPASSWD = "tester:$2y$05$JkkQuNh8B6.MM93ldGYYoeuYIUoQNamhps8ectHZi1nCmqjL/qFxy\n"
"""The password above, as `htpasswd -nbB` writes it."""


class Registry:
    """A running registry."""

    def __init__(self, port: int, settings: Path) -> None:
        self.host = f"127.0.0.1:{port}"
        self._settings = settings
        self._repositories = 0

    def collect_garbage(self) -> None:
        """Remove the manifests without a tag, and the blobs that no manifest names."""
        command = [_program(), "garbage-collect", "--delete-untagged", str(self._settings)]
        subprocess.run(command, check=True, capture_output=True)

    def new_repository(self) -> str:
        """Return the name of a repository that no other test uses."""
        self._repositories += 1
        return f"{self.host}/tests/skill{self._repositories}"


def _program() -> str:
    return shutil.which("docker-registry") or "registry"  # as Debian and Fedora call it


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class TokenServer(RawServer):
    """Gives a token for what is asked for, as registries with users have one.

    Args:
        folder: to write the certificate into that the registry trusts.
    """

    def __init__(self, folder: Path) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding

        self._key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
        today = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder(name, name, self._key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(today).not_valid_after(today + dt.timedelta(days=1))
        certificate = builder.sign(self._key, hashes.SHA256())
        self._header = {"typ": "JWT", "alg": "ES256", "x5c": [_base64(certificate.public_bytes(Encoding.DER), False)]}
        (folder / "token.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
        super().__init__(self._respond)

    def _respond(self, request: Request) -> bytes:
        credentials = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        scope = parse_qs(urlsplit(request.target).query)["scope"][0]
        kind, name, actions = scope.split(":")
        allowed = actions.split(",") if request.headers.get("authorization") == f"Basic {credentials}" else ["pull"]
        claims = {"iss": "tests", "sub": USER, "aud": "tests", "exp": 1 << 32, "nbf": 0, "iat": 0, "jti": "1"}
        access = {"type": kind, "name": name, "actions": allowed}
        return answer(json.dumps({"token": self._sign({**claims, "access": [access]})}).encode())

    def _sign(self, claims: dict[str, object]) -> str:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        text = ".".join(_base64(json.dumps(part).encode()) for part in (self._header, claims))
        signature = self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256()))
        numbers = b"".join(number.to_bytes(32, "big") for number in utils.decode_dss_signature(signature))
        return f"{text}.{_base64(numbers)}"


def _base64(data: bytes, url: bool = True) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode() if url else base64.b64encode(data).decode()


@contextmanager
def start_token_registry() -> Iterator[Registry]:
    """Start a registry whose users get tokens from another server: without credentials they may only read."""
    with tempfile.TemporaryDirectory(prefix="registry-") as folder, TokenServer(Path(folder)) as tokens:
        settings = f"{{realm: '{tokens.url}/token', service: tests, issuer: tests, rootcertbundle: {folder}/token.pem}}"
        with start_registry(auth=f"auth:\n  token: {settings}\n") as running:
            yield running


@contextmanager
def start_registry(*, private: bool = False, auth: str = "") -> Iterator[Registry]:
    """Start a registry, and stop it at the end.

    Args:
        private: whether it asks for a user and a password.
        auth: other settings of its access control.
    """
    folder = Path(tempfile.mkdtemp(prefix="registry-"))
    port = _free_port()
    settings = f"version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {folder}/data}}\n"
    settings += f"http: {{addr: '127.0.0.1:{port}'}}\n"
    settings += auth
    if private:
        (folder / "htpasswd").write_text(_HTPASSWD, encoding="utf-8")
        settings += f"auth:\n  htpasswd: {{realm: tests, path: {folder}/htpasswd}}\n"
    (folder / "settings.yml").write_text(settings, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "OTEL_TRACES_EXPORTER": "none"}
    command = [_program(), "serve", str(folder / "settings.yml")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait_until_ready(port, process, folder / "log")
        yield Registry(port, folder / "settings.yml")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(END)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    def is_ready() -> bool:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(is_ready)


def log_in(monkeypatch: pytest.MonkeyPatch, folder: Path, registry: Registry, password: str = PASSWORD) -> None:
    """Let the programs of a test use a private registry."""
    file = folder / "auth.json"
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    file.write_text(json.dumps({"auths": {registry.host: {"auth": auth}}}), encoding="utf-8")
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(file))


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


def digest_of_tag(place: str) -> str | None:
    """Return the digest that a tag of a repository leads to now, `HOST/REPOSITORY:TAG`."""
    source = parse_source(f"oci://{place.removeprefix('oci://')}")
    with open_registry(source.url) as repository:
        stored = repository.manifest(source.ref or "latest")
    return None if stored is None else stored.digest
