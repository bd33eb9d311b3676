"""Write files of a test, and see which ones are open."""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_file(path: Path, text: str | bytes) -> Path:
    """Write a file, and the folders that contain it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_files(top: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files by their paths below a folder, and return the folder."""
    for path, text in files.items():
        write_file(top / path, text)
    return top


def opened_below(folder: Path) -> list[str]:
    """Return the files and folders below a folder that this process has open.

    The number of all its descriptors is no such measure: what other tests left open is closed at any time.
    """
    paths = []
    for fd in os.listdir("/dev/fd"):
        with suppress(OSError):  # the one that lists the folder, and those of no file
            if sys.platform == "darwin":
                paths.append(os.fsdecode(fcntl.fcntl(int(fd), fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))
            else:
                paths.append(os.readlink(f"/proc/self/fd/{fd}"))
    return [path for path in paths if path.startswith(os.path.realpath(folder))]
