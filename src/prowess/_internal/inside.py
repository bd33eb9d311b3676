"""Decide whether a path is inside a folder, and open or make folders in another one, never outside it.

Links on the way are followed as long as they stay inside. The folder is then opened part by part without following any,
so that a folder that is replaced by a link meanwhile leads nowhere else.
"""

from __future__ import annotations

import os

from prowess._internal.files import is_inside
from prowess._internal.fs import FOLDER_FLAGS, SUPPORTS_DIR_FD, open_or_make_folder
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted


class OutsideError(Exception):
    """A path leads out of a folder, or a link on the way leads nowhere."""


def has_link(folder: str, path: str) -> bool:
    """Return whether a path in a folder, with `/`, is a link or behind one; the folder itself does not count."""
    inner = folder
    for part in path.split("/") if path else ():
        inner = os.path.join(inner, part)
        if os.path.islink(inner):
            return True
    return False


def real_path_inside(top: str, path: str) -> str:
    """Return the real path of a path in a folder; neither the path nor the parts above it need to exist.

    Args:
        top: the folder; links above it and in its own name do not matter.
        path: a path below it, absolute.

    Raises:
        OutsideError: a link leads out of the folder, or to nothing.
    """
    try:
        return _real_path_inside(top, path)
    except OSError as error:  # a link that was removed meanwhile
        message = f"{quoted(path, PATH_LIMIT)} cannot be resolved: {describe_os_error(error)}"
        raise OutsideError(message) from None


def _real_path_inside(top: str, path: str) -> str:
    real_top, inner = os.path.realpath(top), top
    for part in os.path.relpath(path, top).split(os.sep):
        inner = os.path.join(inner, part)
        if not os.path.islink(inner):
            continue
        real = os.path.realpath(inner)
        where = f"{quoted(inner, PATH_LIMIT)} is a link to {quoted(real, PATH_LIMIT)}"
        if not is_inside(real, real_top):
            raise OutsideError(f"{where}, outside {quoted(top, PATH_LIMIT)}")
        if not os.path.exists(inner):
            raise OutsideError(f"{where}, which does not exist")
    real = os.path.realpath(path)
    if not is_inside(real, real_top):  # `..`, or a link that appeared meanwhile
        raise OutsideError(f"{quoted(path, PATH_LIMIT)} is outside {quoted(top, PATH_LIMIT)}")
    return real


def open_or_make_inside(top: str, path: str) -> int:
    """Return a descriptor of a folder inside another one, and make it and those above it if they are missing.

    Raises:
        OutsideError: a link leads out of the folder, or to nothing.
        OSError: the folder cannot be opened or made, or a part became a link meanwhile.
    """
    assert SUPPORTS_DIR_FD  # noqa: S101 - callers check it
    real_top, real = os.path.realpath(top), real_path_inside(top, path)
    fd = os.open(real_top, FOLDER_FLAGS)
    try:
        for part in os.path.relpath(real, real_top).split(os.sep):
            inner, _ = open_or_make_folder(part, fd)
            os.close(fd)
            fd = inner
    except BaseException:
        os.close(fd)
        raise
    return fd
