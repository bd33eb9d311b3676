"""Find the credentials of a registry where container tools keep them.

    REGISTRY_AUTH_FILE                           if set, the only file
    $XDG_RUNTIME_DIR/containers/auth.json        of podman and skopeo
    ~/.config/containers/auth.json
    $DOCKER_CONFIG/config.json, ~/.docker/config.json

In a file, a helper of the registry comes first (`credHelpers`), then what is written for it or for a part of its
repositories (`auths`), then the helper of all registries (`credsStore`). A helper is a program, which no shell starts:
`docker-credential-NAME`. No secret is ever part of a message.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from contextlib import suppress

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

__all__ = ["DOCKER_HUB", "Credentials", "find_credentials"]

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
