"""Open a bucket of a cloud, with the settings and credentials of its usual variables.

The library `obstore` speaks to the clouds. It follows redirects, and would send a session token along. So every host
but that of the endpoint is behind a proxy that does not exist.
"""

from __future__ import annotations

import re
import socket

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

__all__ = ["open_store"]

_RETRIES = 8
"""Each after twice the time of the one before, up to two seconds."""
_MAX_CERTIFICATES = 4 << 20


class _Cloud(Frozen):
    """A kind of bucket, and where its settings come from."""

    store: str
    """The class of `obstore`."""
    endpoints: tuple[str, ...]
    """Variables that name another endpoint; the first that is set counts."""
    default: str
    """The endpoint without these variables. `{name}` is the value of `name_variables`."""
    name_variables: tuple[str, ...]
    name_default: str | None
    credentials: tuple[str, ...]
    """Without any of these variables, requests are not signed: public buckets need no signature."""
    token_hosts: Mapping[str, str]
    """Hosts that give credentials, and the variable that says that they are asked."""
    options: Mapping[str, str]


_CLOUDS = {
    "s3": _Cloud(
        store="S3Store",
        endpoints=("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
        default="https://s3.{name}.amazonaws.com",
        name_variables=("AWS_REGION", "AWS_DEFAULT_REGION"),
        name_default="us-east-1",
        credentials=("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"),
        token_hosts={"sts.{name}.amazonaws.com": "AWS_WEB_IDENTITY_TOKEN_FILE"},
        options={"region": "{name}"},
    ),
    "gs": _Cloud(
        store="GCSStore",
        endpoints=("GOOGLE_BASE_URL",),
        default="https://storage.googleapis.com",
        name_variables=(),
        name_default="",
        credentials=(
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_BEARER_TOKEN",
        ),
        token_hosts={"oauth2.googleapis.com": "", "accounts.google.com": "", "www.googleapis.com": ""},
        options={},
    ),
    "az": _Cloud(
        store="AzureStore",
        endpoints=("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
        default="https://{name}.blob.core.windows.net",
        name_variables=("AZURE_STORAGE_ACCOUNT_NAME",),
        name_default=None,
        credentials=(
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_MASTER_KEY",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_TOKEN",
            "AZURE_CLIENT_SECRET",
            "AZURE_STORAGE_CLIENT_SECRET",
            "AZURE_FEDERATED_TOKEN_FILE",
        ),
        token_hosts={"login.microsoftonline.com": ""},
        options={},
    ),
}


def open_store(scheme: str, bucket: str, env: Mapping[str, str]) -> tuple[Any, socket.socket]:
    """Return a store of `obstore`, and a socket that must stay open while it is used.

    Args:
        scheme: `s3`, `gs` or `az`.
        bucket: its name.
        env: variables of this process.

    Raises:
        ConfigError: `obstore` is not installed, or a variable is missing or invalid.
    """
    cloud = _CLOUDS[scheme]
    try:
        from obstore import exceptions, store as stores
    except ImportError:
        raise ConfigError("buckets need the package `obstore`", hint="pip install 'prowess[bucket]'") from None
    name = _first(env, cloud.name_variables) or cloud.name_default
    endpoint = _first(env, cloud.endpoints) or (None if name is None else cloud.default.format(name=name))
    if endpoint is None:
        raise ConfigError("the bucket has no account", hint=f"set `{cloud.name_variables[0]}`")
    host, is_plain = _check_endpoint(endpoint)
    hosts = [host, *(known.format(name=name) for known, key in cloud.token_hosts.items() if not key or env.get(key))]
    certificates = _read_certificates(env)
    nothing = socket.socket()
    nothing.bind(("127.0.0.1", 0))  # without `listen`: a connection to it fails, and no other program can have the port
    client: dict[str, Any] = {
        "allow_http": is_plain,
        "allow_invalid_certificates": False,
        "connect_timeout": "10s",
        "read_timeout": "60s",
        "timeout": "10min",
        "proxy_url": f"http://127.0.0.1:{nothing.getsockname()[1]}",
        "proxy_excludes": ",".join(hosts),
        **certificates,
    }
    options: dict[str, Any] = {key: value.format(name=name) for key, value in cloud.options.items()}
    if not _first(env, cloud.credentials):
        options["skip_signature"] = True
    try:
        opened = getattr(stores, cloud.store)(bucket, client_options=client, retry_config=_retries(), **options)
    except (exceptions.BaseError, OSError, TypeError, ValueError):  # its message may repeat a credential
        nothing.close()
        hint = f"check the variables that begin with `{cloud.credentials[0].partition('_')[0]}_`"
        raise ConfigError("the settings of the bucket are invalid", hint=hint) from None
    return opened, nothing


def _retries() -> dict[str, Any]:
    from datetime import timedelta

    backoff = {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=2), "base": 2}
    return {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=60), "backoff": backoff}


def _first(env: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((value for name in names if (value := env.get(name))), None)


def _check_endpoint(endpoint: str) -> tuple[str, bool]:
    """Return the host of an endpoint, and whether requests to it are not encrypted.

    Raises:
        ConfigError: it is invalid, or requests to another machine would not be encrypted.
    """
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        parts.port  # noqa: B018 - raises ValueError for an invalid one
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[A-Za-z0-9.:-]+", host) or parts.username:
        raise ConfigError("the endpoint of the bucket is invalid", hint="write it as `https://HOST`")
    if parts.scheme == "https":
        return host, False
    try:
        is_local = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if not is_local:
        raise ConfigError(
            f"the endpoint of the bucket on {quoted(host)} is not encrypted",
            hint="use `https://`; `http://` is for this machine only",
        )
    return host, True


def _read_certificates(env: Mapping[str, str]) -> dict[str, bytes]:
    """Return the option for further certificate authorities.

    Raises:
        ConfigError: they cannot be read.
    """
    path = env.get("AWS_CA_BUNDLE")
    try:
        return {"root_certificate": read_file(path, limit=_MAX_CERTIFICATES, follow=True)} if path else {}
    except UnreadableError as error:
        message = f"the certificates of `AWS_CA_BUNDLE` cannot be read: {error.message}"
        raise ConfigError(message, hint=error.hint) from None
