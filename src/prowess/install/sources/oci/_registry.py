"""Talk to an OCI registry: challenges, tokens, credentials, and blobs checked by digest.

Talk to a registry of containers and other artifacts, over HTTP, as the OCI distribution specification says.

Parse what a registry asks for before it answers: the header `WWW-Authenticate`, and the token that it names.

    Bearer realm="https://auth.example.com/token",service="registry",scope="..."
    Basic realm="..."

The scope that a registry proposes is not used: a token is asked for this repository, and for what is done with it.

Find the credentials of a registry where container tools keep them.

    REGISTRY_AUTH_FILE                           if set, the only file
    $XDG_RUNTIME_DIR/containers/auth.json        of podman and skopeo
    ~/.config/containers/auth.json
    $DOCKER_CONFIG/config.json, ~/.docker/config.json

In a file, a helper of the registry comes first (`credHelpers`), then what is written for it or for a part of its
repositories (`auths`), then the helper of all registries (`credsStore`). A helper is a program, which no shell starts:
`docker-credential-NAME`. No secret is ever part of a message.

Nothing that a registry says of a digest counts: the digest of a manifest is that of its bytes, and a blob is compared
with the digest and size in the manifest. Credentials go to the registry, or to the server of tokens that belongs to it:
one of the same host and port, or one that is known for it; never to another one that the registry names, nor to where a
blob is redirected.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import re
import subprocess
import time
from contextlib import suppress
from urllib.parse import urlencode, urlsplit

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError, InstallError
from prowess.install.sources._fetched import digest_of
from prowess.net import HttpSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, BinaryIO, Self

    from prowess.net import HttpUrl, Response

_MAX_HEADER = 8 << 10
_MAX_TOKEN = 16 << 10
_PARAMETER = r"""\s*,?\s*([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))"""
_match_scheme = re.compile(r"\s*,?\s*([A-Za-z]+)(?=\s|$)").match
_match_parameter = re.compile(_PARAMETER).match
_is_token = re.compile(r"[\x21-\x7e]+").fullmatch


def parse_challenges(header: str) -> dict[str, dict[str, str]]:
    """Return the parameters of each scheme, both in lower case; nothing if the header is invalid or too long."""
    challenges: dict[str, dict[str, str]] = {}
    at = 0
    while len(header) <= _MAX_HEADER and (found := _match_scheme(header, at)):
        parameters = challenges.setdefault(found[1].lower(), {})
        at = found.end()
        while parameter := _match_parameter(header, at):
            quoted = re.sub(r"\\(.)", r"\1", parameter[2]) if parameter[2] is not None else parameter[3]
            parameters.setdefault(parameter[1].lower(), quoted)
            at = parameter.end()
    return challenges


def parse_token(body: bytes) -> str | None:
    """Return the token in the answer of a server of tokens, or `None`."""
    try:
        answer = json.loads(body)
        token = answer.get("token") or answer.get("access_token")
    except (ValueError, AttributeError, RecursionError):
        return None
    return token if isinstance(token, str) and len(token) <= _MAX_TOKEN and _is_token(token) else None


DOCKER_HUB = "docker.io"
_HUB_KEY = "https://index.docker.io/v1/"
"""How the Docker Hub is written in these files."""
_MAX_FILE = 1 << 20
_MAX_ANSWER = 1 << 16
_HELPER_SECONDS = 60.0
_HELPER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}").fullmatch
_NO_SECRET = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]").search


class Credentials:
    """A user name and password, or a token; none of them is shown."""

    __slots__ = ("identity_token", "password", "user")

    def __init__(self, user: str, password: str, identity_token: str | None = None) -> None:
        self.user, self.password, self.identity_token = user, password, identity_token

    def __repr__(self) -> str:
        return "Credentials(...)"

    def basic(self) -> str:
        """Return the value of the header `Authorization`."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode("ascii")


def find_credentials(registry: str, repository: str, env: Mapping[str, str]) -> Credentials | None:
    """Return the credentials of a repository, or `None` if the user has not logged in.

    Args:
        registry: its host, with the port.
        repository: its name there.
        env: the environment variables.

    Raises:
        ConfigError: a file is not valid.
    """
    for path in _files(env):
        content = _read(path)
        if content is not None and (found := _find(content, registry, repository, env, path)) is not None:
            return found
    return None


def _files(env: Mapping[str, str]) -> Iterator[str]:
    if env.get("REGISTRY_AUTH_FILE"):
        yield env["REGISTRY_AUTH_FILE"]
        return
    home = env.get("HOME") or os.path.expanduser("~")
    folders = (env.get("XDG_RUNTIME_DIR"), env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"))
    yield from (os.path.join(folder, "containers", "auth.json") for folder in folders if folder)
    yield os.path.join(env.get("DOCKER_CONFIG") or os.path.join(home, ".docker"), "config.json")


def _read(path: str) -> dict[str, Any] | None:
    try:
        data = read_file(path, _MAX_FILE, follow=True)
    except UnreadableError:
        return None
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        hint = "log in again with the tool that wrote it"
        raise ConfigError(f"the file {quoted(path, PATH_LIMIT)} is not valid JSON", hint=hint)
    return content


def _find(
    content: Mapping[str, Any], registry: str, repository: str, env: Mapping[str, str], path: str
) -> Credentials | None:
    helpers, auths = content.get("credHelpers"), content.get("auths")
    for key in _host_keys(registry):
        if isinstance(helpers, dict) and isinstance(name := helpers.get(key), str):
            return _ask_helper(name, key, env, path)
    parts = repository.split("/")
    keys = ["/".join([registry, *parts[:count]]) for count in range(len(parts), 0, -1)]
    for key in (*keys, *_host_keys(registry)):
        if isinstance(auths, dict) and isinstance(entry := auths.get(key), dict) and (found := _decode(entry)):
            return found
    store = content.get("credsStore")
    if isinstance(store, str) and store:
        key = _HUB_KEY if registry == DOCKER_HUB else registry
        return _ask_helper(store, key, env, path)
    return None


def _host_keys(registry: str) -> tuple[str, ...]:
    """Return how tools write a registry in their files."""
    more = (_HUB_KEY, "index.docker.io") if registry == DOCKER_HUB else ()
    return (registry, f"https://{registry}", f"https://{registry}/", f"https://{registry}/v1/", *more)


def _decode(entry: Mapping[str, Any]) -> Credentials | None:
    """Return what is written in a file."""
    token = entry.get("identitytoken")
    user = password = ""
    with suppress(ValueError, TypeError):
        user, _, password = base64.b64decode(entry.get("auth", ""), validate=True).decode().partition(":")
    if not user:
        user, password = str(entry.get("username") or ""), str(entry.get("password") or "")
    return _checked(user, password.rstrip("\0"), token)


def _ask_helper(name: str, key: str, env: Mapping[str, str], path: str) -> Credentials | None:
    program = _find_helper(name, env) if _HELPER_NAME(name) else None
    if program is None:
        hint = "install it, or log in again"
        message = f"{quoted(path, PATH_LIMIT)} names the helper {quoted(name)}, which is not installed"
        raise ConfigError(message, hint=hint)
    try:
        done = subprocess.run(
            [program, "get"],
            input=key.encode(),
            env=dict(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_HELPER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        raise ConfigError(f"the helper {quoted(program, PATH_LIMIT)} does not answer", hint="log in again") from None
    if done.returncode != 0:
        return None  # the user has not logged in
    try:
        answer = json.loads(done.stdout[:_MAX_ANSWER])
        user, secret = answer["Username"], answer["Secret"]
    except (ValueError, TypeError, KeyError, RecursionError):
        user = secret = None
    if not isinstance(user, str) or not isinstance(secret, str):
        raise ConfigError(f"the helper {quoted(program, PATH_LIMIT)} gave an invalid answer", hint="log in again")
    return _checked("", "", secret) if user == "<token>" else _checked(user, secret, None)


def _find_helper(name: str, env: Mapping[str, str]) -> str | None:
    """Return the path of a helper. A relative folder on PATH could be any project's, so it is not searched."""
    for folder in env.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, f"docker-credential-{name}")
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _checked(user: str, password: str, token: object) -> Credentials | None:
    """Return credentials that a header can contain."""
    token = token if isinstance(token, str) and token and token.isascii() and not _NO_SECRET(token) else None
    if _NO_SECRET(user + password) or ":" in user or not (user or token):
        return None
    return Credentials(user, password, token)


MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MAX_MANIFEST = 4 << 20
"""As registries have it."""
_MAX_TOKEN_ANSWER = 64 << 10
_SECONDS = 60.0
_BLOB_SECONDS = 600.0
_is_reference = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|sha256:[0-9a-f]{64}").fullmatch
_HUB_HOST = "registry-1.docker.io"
_NOT_FOUND = (400, 401, 403, 404)
_TOKEN_SERVERS = {
    DOCKER_HUB: "auth.docker.io",
    "registry.gitlab.com": "gitlab.com",
    "registry.digitalocean.com": "api.digitalocean.com",
}
"""The server of tokens of each registry whose tokens are from another host."""
TOKEN_SERVERS_VARIABLE = "PROWESS_TOKEN_SERVERS"  # noqa: S105 - no secret
"""The environment variable with further ones: `REGISTRY=HOST`, with ports if they have one, separated by blanks."""


class Descriptor(Frozen):
    """What a manifest says of a blob or of another manifest."""

    media_type: str
    digest: str
    size: int


class StoredManifest(Frozen):
    """A manifest or index, as a registry has it."""

    data: bytes
    digest: str
    """Of the bytes."""
    media_type: str
    """As the registry says; the manifest itself may say something else."""


class Registry:
    """A repository of a registry. Close it at the end.

    Args:
        registry: the host, with the port if it has one.
        repository: its name.
        push: whether blobs and manifests will be written.
        env: the environment variables, for credentials.

    Raises:
        InstallError: the host is invalid.
        ConfigError: a file with credentials is invalid.
    """

    def __init__(self, registry: str, repository: str, *, push: bool = False, env: Mapping[str, str]) -> None:
        self.name = f"{registry}/{repository}"
        is_hub = registry in (DOCKER_HUB, "index.docker.io", _HUB_HOST)
        registry = DOCKER_HUB if is_hub else registry
        repository = f"library/{repository}" if is_hub and "/" not in repository else repository
        scheme = "http" if _is_own_machine(registry) else "https"
        self._source = HttpSource(f"{scheme}://{_HUB_HOST if is_hub else registry}")
        self._path = f"/v2/{repository}"
        self._scope = f"repository:{repository}:{'pull,push' if push else 'pull'}"
        self._registry, self._repository, self._env = registry, repository, env
        self._authorization: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def manifest(self, reference: str, *, known: str | None = None) -> StoredManifest | None:
        """Return a manifest or index, or `None` if the repository has no such.

        Args:
            reference: a tag or digest.
            known: the digest of a manifest that the caller has; if the reference leads to it, `data` may be empty.

        Raises:
            InstallError: the reference is invalid, or the manifest cannot be read or has another digest.
        """
        if not _is_reference(reference):
            raise InstallError(f"invalid tag or digest {quoted(reference)}", hint="a digest begins with `sha256:`")
        headers = {"Accept": ", ".join((*MANIFEST_TYPES, *INDEX_TYPES))}
        if known is not None:
            headers["If-None-Match"] = f'"{known}"'
        response = self._request("GET", f"/manifests/{reference}", headers=headers, limit=MAX_MANIFEST)
        if response.status == 404:
            return None
        if response.status == 304 and known is not None:
            digest = known
        else:
            self._expect(response, 200, "read the manifest")
            digest = digest_of(response.body)
        if reference.startswith("sha256:") and digest != reference:
            raise InstallError(
                f"{quoted(self.name, 200)} sent {digest} in place of {reference}", hint="do not install from it"
            )
        kind = response.headers.get("content-type", "").partition(";")[0].strip()
        return StoredManifest(data=response.body, digest=digest, media_type=kind)

    def read_blob(self, blob: Descriptor, into: int) -> None:
        """Write a blob to an empty file that is open.

        Raises:
            InstallError: it cannot be read, or has another size or digest.
        """
        response = self._request(
            "GET", f"/blobs/{blob.digest}", limit=blob.size, into=into, immutable=True, to_other_hosts=True
        )
        self._expect(response, 200, "read a blob")
        if response.size != blob.size or f"sha256:{response.sha256}" != blob.digest:
            raise InstallError(
                f"{quoted(self.name, 200)} sent other bytes than those of {blob.digest}", hint="do not install from it"
            )

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def has_blob(self, digest: str) -> bool:
        """Return whether the repository has a blob."""
        return self._request("HEAD", f"/blobs/{digest}", limit=0).status == 200

    def write_blob(self, data: bytes | BinaryIO, digest: str) -> None:
        """Upload a blob in one piece.

        Args:
            data: its bytes, or a file.
            digest: of these.

        Raises:
            InstallError: the registry refuses it.
        """
        begun = self._request("POST", "/blobs/uploads/", body=b"", limit=MAX_MANIFEST)
        self._expect(begun, 202, "upload")
        location = begun.headers.get("location", "")
        url = _with_query(location, {"digest": digest})
        headers = {"Content-Type": "application/octet-stream"}
        done = self._request("PUT", url, is_path=False, headers=headers, body=data, limit=MAX_MANIFEST)
        self._expect(done, 201, "upload")

    def write_manifest(self, reference: str, data: bytes, media_type: str) -> None:
        """Write a manifest under a tag or its digest.

        Raises:
            InstallError: the registry refuses it.
        """
        headers = {"Content-Type": media_type}
        done = self._request("PUT", f"/manifests/{reference}", headers=headers, body=data, limit=MAX_MANIFEST)
        self._expect(done, 201, "write the manifest")

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _request(
        self,
        method: str,
        path: str,
        *,
        is_path: bool = True,
        headers: Mapping[str, str] | None = None,
        body: bytes | BinaryIO | None = None,
        limit: int,
        into: int | None = None,
        immutable: bool = False,
        to_other_hosts: bool = False,
    ) -> Response:
        """Send a request, and once more with credentials if the registry asks for them."""
        url = f"{self._path}{path}" if is_path else path
        for is_last in (False, True):
            sent = dict(headers or {})
            if self._authorization is not None:
                sent["Authorization"] = self._authorization
            response = self._source.request(
                method,
                url,
                headers=sent,
                body=body,
                limit=limit,
                deadline=time.monotonic() + (_BLOB_SECONDS if into is not None or body else _SECONDS),
                into=into,
                immutable=immutable,
                to_other_hosts=to_other_hosts,
            )
            if response.status != 401 or is_last:
                break
            self._authorization = self._authorize(response)
        return response

    def _authorize(self, response: Response) -> str:
        """Return the value of `Authorization` that a registry asks for.

        Raises:
            InstallError: the user has no credentials, or the server of tokens refuses them.
        """
        challenges = parse_challenges(response.headers.get("www-authenticate", ""))
        credentials = find_credentials(self._registry, self._repository, self._env)
        realm = challenges.get("bearer", {}).get("realm")
        if realm is not None:
            return f"Bearer {self._fetch_token(realm, challenges['bearer'].get('service'), credentials)}"
        if "basic" in challenges and credentials is not None and credentials.user:
            return credentials.basic()
        raise self._no_access()

    def _fetch_token(self, realm: str, service: str | None, credentials: Credentials | None) -> str:
        """Ask the server of tokens."""
        fields = {"scope": self._scope, **({"service": service} if service else {})}
        headers: dict[str, str] = {}
        body: bytes | None = None
        method, url = "GET", _with_query(realm, fields)
        if credentials is not None and credentials.identity_token is not None:
            fields |= {"grant_type": "refresh_token", "client_id": "prowess"}
            body = urlencode({**fields, "refresh_token": credentials.identity_token}).encode()
            method, url = "POST", realm
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        elif credentials is not None:
            headers["Authorization"] = credentials.basic()
        with HttpSource(realm, named=self._source.url.host) as source:
            if credentials is not None and not self._owns(source.url):
                raise self._no_known_server(source.url)
            deadline = time.monotonic() + _SECONDS
            response = source.request(
                method, url, headers=headers, body=body, limit=_MAX_TOKEN_ANSWER, deadline=deadline
            )
        if response.status in _NOT_FOUND:
            raise self._no_access()
        token = parse_token(response.body) if response.status == 200 else None
        if token is None:
            raise InstallError(f"{quoted(self._registry)} has a server of tokens that does not work", hint="try later")
        return token

    def _owns(self, url: HttpUrl) -> bool:
        """Return whether a server of tokens belongs to the registry, so that it may get the user's login."""
        if (url.host, url.port) == (self._source.url.host, self._source.url.port):
            return True
        known = {(self._registry, _TOKEN_SERVERS.get(self._registry))}
        for word in self._env.get(TOKEN_SERVERS_VARIABLE, "").lower().split():
            registry, _, server = word.partition("=")
            known.add((registry, server))
        return (self._registry, _host_and_port(url)) in known

    def _no_known_server(self, url: HttpUrl) -> InstallError:
        message = f"{quoted(self._registry)} wants your login to be sent to {quoted(_host_and_port(url))}"
        hint = f"if this is its server of tokens, set {TOKEN_SERVERS_VARIABLE}={self._registry}={_host_and_port(url)}"
        return InstallError(f"{message}, which is not known as its server of tokens", hint=hint)

    def _no_access(self) -> InstallError:
        return InstallError(
            f"{quoted(self.name, 200)} gives no access: it does not exist, or your credentials do not suffice",
            hint=f"log in with `docker login {self._registry}` or `podman login {self._registry}`",
        )

    def _expect(self, response: Response, status: int, action: str) -> None:
        if response.status in (401, 403):
            raise self._no_access()
        if response.status != status:
            hint = "try again later, or ask who runs the registry"
            raise InstallError(f"cannot {action} of {quoted(self.name, 200)}: HTTP status {response.status}", hint=hint)


def _host_and_port(url: HttpUrl) -> str:
    """Return the host of a URL, with its port if that is not the usual one."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return host if url.port == (443 if url.scheme == "https" else 80) else f"{host}:{url.port}"


def _with_query(url: str, fields: Mapping[str, str]) -> str:
    """Return a URL with further fields; it comes from a registry, and may be any text."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(fields)}"


def _is_own_machine(registry: str) -> bool:
    """Return whether a registry is on this machine, where it needs no TLS."""
    host = urlsplit(f"//{registry}").hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def open_registry(url: str, *, push: bool = False) -> Registry:
    """Open the repository of a URL such as `oci://registry.example.com/team/pdf`.

    Raises:
        ConfigError: a file with credentials is invalid.
        InstallError: its host is invalid.
    """
    registry, _, repository = url.removeprefix("oci://").partition("/")
    return Registry(registry, repository, push=push, env=os.environ)
