"""Describe the objects of a snapshot, what its pointer says, and the errors of objects that cannot be read."""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError

__all__ = ["Pointer", "StoredObject", "too_large", "unreadable"]


class StoredObject(Frozen):
    """An object of a snapshot."""

    data: bytes
    etag: str | None
    """What changes when the object does; `None` if that is not known."""


class Pointer(Frozen):
    """What names the current data of a snapshot."""

    sha256: str
    """In hexadecimal."""
    size: int
    """Bytes of the data."""
    etag: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the pointer as its file has it."""
        return {"version": 1, "sha256": self.sha256, "size": self.size}


def unreadable(origin: str, name: str, reason: str) -> InstallError:
    """Return the error for an object that cannot be read."""
    message = f"cannot read {name} of the snapshot {quoted(origin, PATH_LIMIT)}: {reason}"
    return InstallError(message, hint="check the URL, and that a snapshot was written there")


def too_large(origin: str, name: str, limit: int) -> InstallError:
    """Return the error for an object that is larger than it may be."""
    message = f"{name} of the snapshot {quoted(origin, PATH_LIMIT)} has more than {limit:,} bytes"
    return InstallError(message, hint="ask who makes it to make it again")
