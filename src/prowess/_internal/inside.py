"""Decide whether a path is inside a folder, and open or make folders in another one, never outside it.

Links on the way are followed as long as they stay inside. The folder is then opened part by part without following any,
so that a folder that is replaced by a link meanwhile leads nowhere else.
"""

from __future__ import annotations

import os

from prowess._internal.files import is_inside
from prowess._internal.fs import FOLDER_FLAGS, SUPPORTS_DIR_FD, open_or_make_folder
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


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


def real_output_path(path: str, folders: Iterable[str] = ()) -> tuple[str, str | None]:
    """Return the real path of what a user names to be written, and the project in which that is.

    A link of a project may lead to any place in it, not out of it: it may be another person's. The project of a link is
    the repository around it, or else the working directory or one of `folders`. Outside of these all links are
    followed, and the project is `None`.

    Args:
        path: relative to the working directory, or absolute; it needs not exist.
        folders: further folders in which the command works.

    Raises:
        OutsideError: a link leads out of its project, or cannot be read.
    """
    try:
        here = os.getcwd()
        tops = [os.path.realpath(folder) for folder in (here, *folders)]
        place = os.sep if os.path.isabs(path) else tops[0]
        place, parts = os.path.splitdrive(path)[0] + place, os.path.splitdrive(path)[1].split(os.sep)
        for part in parts:
            inner = os.path.dirname(place) if part == os.pardir else os.path.normpath(os.path.join(place, part))
            if part != os.pardir and os.path.islink(inner):
                target, top = os.path.realpath(inner), _project_of(place, tops)
                if top is not None and not is_inside(target, top):
                    where = f"{quoted(inner, PATH_LIMIT)} is a link to {quoted(target, PATH_LIMIT)}"
                    raise OutsideError(f"{where}, outside {quoted(top, PATH_LIMIT)}")
                inner = target
            place = inner
    except OSError as error:
        message = f"{quoted(path, PATH_LIMIT)} cannot be resolved: {describe_os_error(error)}"
        raise OutsideError(message) from None
    return place, _project_of(os.path.dirname(place), tops)


def _project_of(folder: str, tops: Iterable[str]) -> str | None:
    """Return the repository around a folder, or else the first of other folders that contains it."""
    above = folder
    while not os.path.lexists(os.path.join(above, ".git")):
        parent = os.path.dirname(above)
        if parent == above:
            return next((top for top in tops if is_inside(folder, top)), None)
        above = parent
    return above


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
