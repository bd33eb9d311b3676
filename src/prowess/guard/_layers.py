"""Say whether a layer can be put over a folder of the user, and describe it for the sandbox."""

from __future__ import annotations

import os
from contextlib import contextmanager

from prowess._internal.files import is_inside
from prowess._internal.fs import FOLDER_FLAGS, open_fd
from prowess._internal.layers import has_mounts_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess._internal.layers import Layer

_without_layers: set[tuple[int, str]] = set()
"""Devices of folders, and folders for temporary files, between which layers do not work."""


def can_have_layer(folder: str, temporary: str) -> bool:
    """Return whether a layer over a folder probably works.

    Args:
        folder: absolute, without links.
        temporary: the folder for temporary files, in one of which the layer keeps what is written.
    """
    status = os.stat(folder)
    return (
        (status.st_dev, temporary) not in _without_layers
        and not is_inside(temporary, folder)
        # A layer copies a file before it is changed; only root can copy what belongs to others.
        and (not os.geteuid() or (status.st_uid, status.st_gid) == (os.geteuid(), os.getegid()))
        and not has_mounts_inside(folder)
    )


def remember_layer_failure(folder: str, temporary: str) -> None:
    """Remember that a layer over a folder did not work."""
    _without_layers.add((os.stat(folder).st_dev, temporary))


@contextmanager
def open_layer(folder: str, changes: str, work: str) -> Iterator[tuple[int, Layer]]:
    """Yield a folder, open, and the layer over it.

    Args:
        folder: absolute, without links.
        changes: the folder that gets what is written.
        work: an empty folder beside it, which the system needs.
    """
    with open_fd(folder, FOLDER_FLAGS) as fd:
        status = os.fstat(fd)
        yield fd, (os.fsencode(folder), status.st_dev, status.st_ino, os.fsencode(changes), os.fsencode(work))
