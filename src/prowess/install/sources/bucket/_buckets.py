"""List, read and write objects of a bucket, with a deadline for each call.

Run calls that may block forever in threads, and wait for them until a deadline.

The threads do not keep the process from ending: a call that never returns is left behind.

Open a bucket of a cloud, with the settings and credentials of its usual variables.

The library `obstore` speaks to the clouds. It follows redirects, and would send a session token along. So every host
but that of the endpoint is behind a proxy that does not exist.

Only the blocking functions of the library are used: after the others, its threads now and then abort a process that
ends (`obstore` 0.12.1 with Python 3.11). What the library says in its errors may contain parts of requests, with
credentials, and is never repeated.
"""

from __future__ import annotations

import os
import queue
import re
import socket
import threading
import time
from collections import deque
from contextlib import contextmanager
from functools import partial

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.fs import atomic_replace
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError, InstallError
from prowess.lock import os_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from obstore import GetResult

    _T = TypeVar("_T")
    Version = Mapping[str, str]


def run_calls(calls: Iterable[Callable[[], _T]], seconds: float, at_once: int = 1) -> Iterator[_T]:
    """Run calls, some at the same time, and yield their results in any order.

    Args:
        calls: to run.
        seconds: for all of them together.
        at_once: how many run at the same time.

    Raises:
        TimeoutError: they did not return in time.
        Exception: what the first call raised that failed; no further call begins.
    """
    waiting = deque(calls)
    count, deadline = len(waiting), time.monotonic() + seconds
    results: queue.SimpleQueue[tuple[_T | None, Exception | None]] = queue.SimpleQueue()
    free = threading.Semaphore(2 * at_once)  # results that were not taken yet need memory

    def work() -> None:
        while free.acquire():
            try:
                call = waiting.popleft()
            except IndexError:
                free.release()
                return
            try:
                results.put((call(), None))
            except Exception as error:  # noqa: BLE001 - raised where the results are read
                results.put((None, error))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(at_once, count))]
    for thread in threads:
        thread.start()
    try:
        for _ in range(count):
            try:
                result, error = results.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError from None
            free.release()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]
        for thread in threads:
            thread.join()
    finally:
        waiting.clear()
        free.release(at_once)


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
        from prowess._internal.installer import install_command

        raise ConfigError("buckets need the package `obstore`", hint=install_command("bucket")) from None
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


MAX_OBJECTS = 100_000
"""Objects below one URL; more are refused."""
_MAX_DEPTH = 64


class StoredObject(Frozen):
    """An object in a bucket."""

    key: str
    """Below the URL of the bucket, with `/`. Nothing else is known of its characters."""
    size: int
    tag: str
    """What the store says names the content (its ETag); empty in a folder."""
    executable: bool = False
    """Only files of a folder can be executable."""


class FolderBucket:
    """A folder that is used like a bucket, such as one that a team shares.

    Args:
        folder: absolute.
    """

    def __init__(self, folder: str) -> None:
        self.url = f"file://{folder}"
        self._folder = folder

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def objects(self) -> list[StoredObject]:
        """Return all files, in the order of their paths.

        Raises:
            InstallError: the folder cannot be read, or has too many files.
        """
        with os_errors(f"the folder {quoted(self._folder, PATH_LIMIT)} cannot be read", "check the path"):
            return sorted(self._list("", _MAX_DEPTH, [MAX_OBJECTS]), key=lambda item: item.key)

    def _list(self, above: str, depth: int, left: list[int]) -> Iterator[StoredObject]:
        with os.scandir(os.path.join(self._folder, above)) as found:
            entries = list(found)
        left[0] -= len(entries)
        if left[0] < 0 or depth == 0:
            problem = f"has more than {MAX_OBJECTS:,} files" if depth else "is too deep"
            raise InstallError(f"the folder {quoted(self._folder, PATH_LIMIT)} {problem}", hint="name a smaller one")
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from self._list(f"{above}{entry.name}/", depth - 1, left)
            else:  # a link is an object too, and refused when it is read
                status = entry.stat(follow_symlinks=False)
                yield StoredObject(
                    key=above + entry.name, size=status.st_size, tag="", executable=bool(status.st_mode & 0o100)
                )

    def read(self, objects: Sequence[StoredObject], done: Callable[[StoredObject, bytes], None]) -> None:
        """Read files, and call `done` with each and its content.

        Raises:
            InstallError: one cannot be read.
        """
        for item in objects:
            try:
                data = read_file(os.path.join(self._folder, item.key), limit=item.size)
            except UnreadableError as error:
                message = f"{quoted(item.key, PATH_LIMIT)} cannot be read: {error.message}"
                raise InstallError(message, hint=error.hint) from None
            done(item, data)

    def compare(self, key: str, data: bytes) -> tuple[Version | None, bool]:
        """Return an empty version if there is a file, `None` if it is missing, and whether it has exactly this content.

        Raises:
            InstallError: it cannot be read.
        """
        path = os.path.join(self._folder, key)
        if not os.path.lexists(path):
            return None, False
        try:
            return {}, read_file(path, limit=len(data)) == data
        except UnreadableError as error:
            if error.code == "file-too-large":
                return {}, False
            message = f"{quoted(key, PATH_LIMIT)} cannot be read: {error.message}"
            raise InstallError(message, hint=error.hint) from None

    def write(self, key: str, data: bytes, present: Version | None) -> None:  # noqa: ARG002
        """Write a file, in place of one that has the path.

        Raises:
            InstallError: it cannot be written.
        """
        with os_errors(f"cannot write {quoted(key, PATH_LIMIT)}"):
            os.makedirs(os.path.dirname(path := os.path.join(self._folder, key)), exist_ok=True)
            atomic_replace(path, data, mode=0o644)


_SECONDS = 600.0
"""For one listing, or for all objects that are read together."""
_AT_ONCE = 8
"""Objects that are read at the same time."""


def open_bucket(url: str) -> CloudBucket | FolderBucket:
    """Return the bucket of a URL, such as `s3://bucket/skills`; its path is percent-encoded.

    Raises:
        ConfigError: `obstore` is not installed, or a variable of the cloud is missing or invalid.
    """
    from urllib.parse import unquote

    scheme, _, rest = url.partition("://")
    if scheme == "file":
        return FolderBucket(unquote(rest) or "/")
    name, _, path = rest.partition("/")
    return CloudBucket(url, open_store(scheme, name, os.environ), unquote(path).strip("/"))


class CloudBucket:
    """A bucket of a cloud, or a part of it.

    Args:
        url: for messages.
        store: of `obstore`, and a socket that is closed with it.
        prefix: of the keys, without `/` at its end.
    """

    def __init__(self, url: str, store: tuple[Any, socket.socket], prefix: str) -> None:
        self.url = url
        self._store, self._nothing = store
        self._prefix = f"{prefix}/" if prefix else ""

    def close(self) -> None:
        """Close what was opened."""
        self._nothing.close()

    def objects(self) -> list[StoredObject]:
        """Return all objects, in the order of their keys.

        Raises:
            InstallError: they cannot be listed, or there are too many.
        """
        return self._run(self._list)

    def read(self, objects: Sequence[StoredObject], done: Callable[[StoredObject, bytes], None]) -> None:
        """Read objects, and call `done` with each and its content, in any order.

        Raises:
            InstallError: one cannot be read, or is not what was listed.
        """
        calls = [partial(self._read, item) for item in objects]
        with self._errors():
            for item, data in run_calls(calls, _SECONDS, _AT_ONCE):
                done(item, data)

    def get(self, key: str, limit: int, write: Callable[[bytes], None], unless: str | None = None) -> str | None:
        """Read one object in blocks; return its ETag, or `None` if it still has the ETag `unless`.

        Raises:
            InstallError: it cannot be read, or has more bytes than the limit; a part may have been written.
        """
        return self._run(partial(self._get, key, limit, write, unless))

    def compare(self, key: str, data: bytes) -> tuple[Version | None, bool]:
        """Return the version of an object, `None` if it is missing, and whether it has exactly this content.

        Raises:
            InstallError: it cannot be read.
        """
        return self._run(partial(self._compare, key, data))

    def write(self, key: str, data: bytes, present: Version | None) -> None:
        """Write an object in place of a version, or a new one, if the store still has that version, or none.

        Stores that know no conditional writes replace any version.

        Raises:
            InstallError: it cannot be written, or another version was written meanwhile.
        """
        self._run(partial(self._write, key, data, present))

    def put(self, objects: Mapping[str, str]) -> None:
        """Write files as objects, several at the same time, whatever the bucket has there.

        Args:
            objects: the path of the file of each key.

        Raises:
            InstallError: one cannot be read or written; others may have been written.
        """
        calls = [partial(self._put, key, path) for key, path in objects.items()]
        with self._errors():
            for _ in run_calls(calls, _SECONDS, _AT_ONCE):
                pass

    def _list(self) -> list[StoredObject]:
        import obstore

        found: list[StoredObject] = []
        for page in obstore.list(self._store, prefix=self._prefix or None, chunk_size=1000):
            for item in page:
                key = item["path"]
                if key == self._prefix[:-1]:
                    continue  # the marker that some programs write for a folder
                if not key.startswith(self._prefix):
                    raise InstallError(f"{self.url} lists {quoted(key, PATH_LIMIT)}, which is outside")
                key = key[len(self._prefix) :]
                found.append(StoredObject(key=key, size=item["size"], tag=_plain_tag(item["e_tag"])))
            if len(found) > MAX_OBJECTS:
                raise InstallError(f"{self.url} has more than {MAX_OBJECTS:,} objects", hint="name a folder with fewer")
        return sorted(found, key=lambda item: item.key)

    def _read(self, item: StoredObject) -> tuple[StoredObject, bytes]:
        import obstore

        result = obstore.get(self._store, self._prefix + item.key)
        if (result.meta["size"], _plain_tag(result.meta["e_tag"])) == (item.size, item.tag):
            data = _read_up_to(result, item.size)
            if len(data) == item.size:
                return item, data
        raise InstallError(
            f"{quoted(item.key, PATH_LIMIT)} in {self.url} changed while it was read", hint="run the command again"
        )

    def _put(self, key: str, path: str) -> None:
        import obstore

        with open(path, "rb") as file:
            obstore.put(self._store, self._prefix + key, file.read(), use_multipart=False)

    def _get(self, key: str, limit: int, write: Callable[[bytes], None], unless: str | None) -> str | None:
        import obstore
        from obstore.exceptions import NotModifiedError

        try:
            options: Any = {"if_none_match": unless} if unless else None
            result = obstore.get(self._store, self._prefix + key, options=options)
        except NotModifiedError:
            return None
        size = 0
        for chunk in result.stream(min_chunk_size=1 << 20):
            size += len(chunk)
            if size > limit:
                raise InstallError(f"{quoted(key, PATH_LIMIT)} in {self.url} has more than {limit:,} bytes")
            write(bytes(chunk))
        return result.meta["e_tag"] or ""

    def _compare(self, key: str, data: bytes) -> tuple[Version | None, bool]:
        import obstore

        try:
            result = obstore.get(self._store, self._prefix + key)
        except FileNotFoundError:
            return None, False
        meta = result.meta
        version = {name: text for name, text in (("e_tag", meta["e_tag"]), ("version", meta["version"])) if text}
        return version, meta["size"] == len(data) and _read_up_to(result, len(data)) == data

    def _write(self, key: str, data: bytes, present: Version | None) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        mode: Any = "create" if present is None else {**present} or "overwrite"
        try:
            obstore.put(self._store, self._prefix + key, data, mode=mode, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            # The answer to an attempt that succeeded may have been lost.
            if not self._compare(key, data)[1]:
                raise

    def _run(self, call: Callable[[], _T]) -> _T:
        with self._errors():
            [result] = run_calls([call], _SECONDS)
        return result

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise errors of the store without their text."""
        from obstore.exceptions import BaseError

        try:
            yield
        except TimeoutError:
            raise InstallError(f"{self.url} did not answer in {_SECONDS:,.0f} seconds") from None
        except (BaseError, OSError, ValueError) as error:
            problem, hint = _describe(error)
            raise InstallError(f"{self.url} {problem}", hint=hint) from None


def _read_up_to(result: GetResult, size: int) -> bytes:
    """Return the content of an object, a little more than `size` bytes if there is more."""
    data = bytearray()
    for chunk in result.stream(min_chunk_size=1 << 20):
        data += chunk
        if len(data) > size:
            break
    return bytes(data)


_ACCESS = "check the name of the bucket, and the variables with the credentials"
_STATUSES = {
    301: ("is in another region", "set `AWS_REGION` to the region of the bucket"),
    400: ("refuses the request", "check the region and the endpoint"),
    401: ("denies access", _ACCESS),
    403: ("denies access", _ACCESS),
    404: ("does not exist", "check the name of the bucket"),
    412: ("was changed meanwhile", "run the command again"),
}


def _describe(error: Exception) -> tuple[str, str | None]:
    """Return what an error of `obstore` means, and what to do, without its text."""
    from obstore import exceptions

    text = str(error)
    if isinstance(error, FileNotFoundError):
        return _STATUSES[404]
    if isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
        return _STATUSES[403]
    if isinstance(error, exceptions.AlreadyExistsError | exceptions.PreconditionError):
        return _STATUSES[412]
    if isinstance(error, exceptions.InvalidPathError):
        return "has an object whose key is not a path", "name a folder without it, or rename it"
    if "Received redirect without LOCATION" in text:
        return _STATUSES[301]
    if found := re.search(r"status code: (\d{3})", text):
        status = int(found[1])
        return _STATUSES.get(status, (f"answers with the HTTP status {status}", None))
    if "InvalidCertificate" in text:
        return "has a certificate that is not trusted", "`AWS_CA_BUNDLE` names the file of further authorities"
    if "HttpError" in text:
        return "cannot be reached, or redirects to another host", "check the endpoint and the connection"
    return "cannot be used: its answer is invalid, or its credentials are", _ACCESS


def _plain_tag(tag: str | None) -> str:
    """Return an ETag without quotation marks: some servers leave them out of listings."""
    return (tag or "").removeprefix("W/").strip('"')
