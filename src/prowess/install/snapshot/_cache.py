"""Keep the data of snapshots in the cache folder, for all processes, and refresh it with one conditional request.

    CACHE/snapshots/KEY/current.json        the digest, size and ETag of the current data; its time is that of the check
    CACHE/snapshots/KEY/snapshot-HEX.bin    the data, which never changes
    CACHE/snapshots/KEY/lock                locked by the process that refreshes

The digest of the data is compared when it is fetched. What replaces a snapshot is complete and readable, or the last
one stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import unquote

from prowess._internal.file_status import is_own_file
from prowess._internal.fs import CREATE_FLAGS, READ_FLAGS, atomic_replace, open_fd
from prowess._internal.locked import locked
from prowess._internal.ownership import own_folder
from prowess._internal.text import PATH_LIMIT, quoted, without_secrets
from prowess.errors import ConfigError, InstallError, ProwessError
from prowess.lock import os_errors

from ._file import SnapshotFile
from ._places import (
    MAX_POINTER_BYTES,
    POINTER,
    FolderPlace,
    HttpPlace,
    data_name,
    is_bucket,
    is_registry,
    parse_pointer,
    sha256_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from ._places import Place, Pointer

_CURRENT, _LOCK = "current.json", "lock"
_DATA = re.compile(r"\.?snapshot-[0-9a-f]{64}\.bin").fullmatch


class CachedSnapshot:
    """The data of one snapshot.

    Args:
        place: where it is.
        folder: the folder of the cache; `None` to keep nothing.
    """

    def __init__(self, place: Place, folder: str | None) -> None:
        self._place = place
        key = hashlib.sha256(place.origin.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._folder = folder and os.path.join(folder, "snapshots", key)

    def open(self, max_age: float) -> tuple[SnapshotFile, str, ProwessError | None]:
        """Return the snapshot, its digest, and why it could not be refreshed.

        Args:
            max_age: seconds since the last check after which the place is asked whether there is a newer one.

        Raises:
            InstallError: there is no snapshot, and it cannot be fetched.
            ConfigError: the same, because of the settings of this machine.
        """
        if self._folder is None:
            return self._open_unkept()
        try:
            known = self._open_current(max_age)
        except InstallError:  # it is damaged, so a better one is looked for
            known = None
        if known is not None:
            return (*known, None)
        try:
            known = self._open_current(None)
        except InstallError:
            known = None
        try:
            with self._locked(self._folder, wait=known is None) as is_locked:
                if known is not None and not is_locked:
                    return (*known, None)  # another process is refreshing it
                # Another process may have refreshed it meanwhile.
                return (*(self._open_current(max_age) or self._refresh(self._folder)), None)
        except (InstallError, ConfigError) as error:
            if known is None:
                raise
            return (*known, error)

    def _open_current(self, max_age: float | None) -> tuple[SnapshotFile, str] | None:
        """Return the kept snapshot, if it was checked in the last `max_age` seconds."""
        for _ in range(3):  # another process may replace the data before it is opened
            current = self._current(max_age)
            if current is None:
                return None
            with suppress(OSError):
                return self._open_data(current), current.sha256
        return None

    def _current(self, max_age: float | None) -> Pointer | None:
        try:
            path = os.path.join(self._folder or "", _CURRENT)
            with open_fd(path, READ_FLAGS) as fd:
                status = os.fstat(fd)
                if not is_own_file(path, status) or status.st_size > MAX_POINTER_BYTES:
                    return None
                data = os.read(fd, MAX_POINTER_BYTES)
            if max_age is not None and not 0 <= time.time() - status.st_mtime <= max_age:
                return None
            return parse_pointer(data, self._place.origin)
        except (OSError, InstallError):
            return None

    def _open_data(self, pointer: Pointer) -> SnapshotFile:
        """Map the data.

        Raises:
            OSError: it is missing or not what it was.
            InstallError: it is damaged.
        """
        path = os.path.join(self._folder or "", data_name(pointer.sha256))
        status = os.stat(path, follow_symlinks=False)
        if not is_own_file(path, status) or status.st_size != pointer.size:
            raise OSError("it was changed")
        return SnapshotFile(path, self._name)

    @property
    def _name(self) -> str:
        return f"the snapshot {quoted(self._place.origin, PATH_LIMIT)}"

    def _refresh(self, folder: str) -> tuple[SnapshotFile, str]:
        """Ask whether there is a newer snapshot, and fetch it.

        Raises:
            InstallError: that failed.
        """
        current = self._current(None)
        if current is not None and not os.path.isfile(os.path.join(folder, data_name(current.sha256))):
            current = None
        found = self._place.read(POINTER, MAX_POINTER_BYTES, current.etag if current else None)
        pointer = current if found is None else parse_pointer(found.data, self._place.origin, found.etag or "")
        if pointer is None:
            raise InstallError(f"{self._name} did not change, but was never fetched", hint="try again")
        with self._keeping():
            try:
                file = self._open_data(pointer)
            except (OSError, InstallError):
                file = self._fetch(folder, pointer)
            text = json.dumps({**pointer.as_dict(), "etag": pointer.etag or None})
            atomic_replace(os.path.join(folder, _CURRENT), text.encode())
            _remove_others(folder, data_name(pointer.sha256))
        return file, pointer.sha256

    def _fetch(self, folder: str, pointer: Pointer) -> SnapshotFile:
        """Fetch the data, and keep it if it is what the pointer says.

        Raises:
            InstallError: it is not, or cannot be fetched.
            OSError: it cannot be written.
        """
        name = data_name(pointer.sha256)
        staged = os.path.join(folder, f".{name}")  # removed below, or by the next process if this one is killed
        with suppress(FileNotFoundError):
            os.unlink(staged)
        try:
            file = self._download(pointer, staged)
            os.replace(staged, os.path.join(folder, name))
        except BaseException:
            with suppress(OSError):
                os.unlink(staged)
            raise
        return file

    def _download(self, pointer: Pointer, path: str) -> SnapshotFile:
        """Write the data to a new file, and return it if its digest is right.

        Raises:
            InstallError: it cannot be fetched, or is not what the pointer says.
            OSError: it cannot be written.
        """
        with open_fd(path, CREATE_FLAGS) as fd:
            self._place.download(data_name(pointer.sha256), fd, pointer.size)
        if sha256_of(path) != pointer.sha256:
            hint = "try again; if that does not help, ask who makes it to make it again"
            raise InstallError(f"the data of {self._name} does not have the digest that it names", hint=hint)
        return SnapshotFile(path, self._name)

    def _open_unkept(self) -> tuple[SnapshotFile, str, None]:
        """Fetch the snapshot for this process alone.

        Raises:
            InstallError: it cannot be fetched.
        """
        import tempfile

        found = self._place.read(POINTER, MAX_POINTER_BYTES)
        pointer = parse_pointer(b"" if found is None else found.data, self._place.origin)
        with self._keeping(), tempfile.TemporaryDirectory(prefix="prowess-snapshot-") as folder:
            return self._download(pointer, os.path.join(folder, "data")), pointer.sha256, None  # the open file stays

    @contextmanager
    def _locked(self, folder: str, *, wait: bool) -> Iterator[bool]:
        """Let one process at a time refresh the snapshot; yield whether it is this one.

        Raises:
            InstallError: the folder cannot be written.
        """
        with ExitStack() as stack:
            with self._keeping():
                own_folder(folder, os.path.dirname(os.path.dirname(folder)))
                is_locked = stack.enter_context(locked(folder, _LOCK, wait=wait))
            yield is_locked

    def _keeping(self) -> AbstractContextManager[None]:
        hint = "make room on the disk, or set `PROWESS_CACHE_DIR` to a folder that you can write to"
        return os_errors(f"{self._name} cannot be kept", hint)


def _remove_others(folder: str, kept: str) -> None:
    """Remove the data of older snapshots; processes that have it open keep it."""
    with os.scandir(folder) as files:
        for file in files:
            if file.name != kept and _DATA(file.name):
                with suppress(OSError):
                    os.unlink(file.path)


def find_place(url: str) -> Place:
    """Return where a snapshot is.

    Args:
        url: `https://`, `s3://`, `gs://`, `az://`, `oci://` or `file://`, or the path of a folder.

    Raises:
        ConfigError: the URL is invalid, or of another kind.
    """
    scheme, colon, _ = url.partition("://")
    if not colon or scheme == "file":
        return FolderPlace(_folder(url) if colon else url)
    if scheme in ("https", "http"):
        return HttpPlace(url)
    if is_bucket(url):
        from ._buckets import BucketPlace

        return BucketPlace(url)
    if is_registry(url):
        from ._registry import RegistryPlace

        return RegistryPlace(url)
    hint = "use `https://`, `s3://`, `gs://`, `az://`, `oci://`, `file://`, or the path of a folder"
    raise ConfigError(f"{quoted(without_secrets(url), PATH_LIMIT)} is not the URL of a snapshot", hint=hint)


def _folder(url: str) -> str:
    """Return the path of a `file://` URL.

    Raises:
        ConfigError: it has another host.
    """
    host, slash, path = url.partition("://")[2].partition("/")
    if host not in ("", "localhost") or not slash:
        raise ConfigError(
            f"{quoted(without_secrets(url), PATH_LIMIT)} is not a file of this machine", hint="write `file:///PATH`"
        )
    return unquote(f"/{path}")
