"""Where the clients run: without a network, on fresh copies of trees, with a tree's own `/etc`.

All of it needs namespaces of Linux, which `unshare` makes. The observer starts itself again inside.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

INSIDE = "PROWESS_OBSERVER_INSIDE"
"""Is set in the environment of an observer that is in namespaces of its own."""


@cache
def namespaces() -> list[str]:
    """Return the start of a command that gets its own network, mounts and processes; nothing if that is impossible."""
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    for prefix in (command, [*command, "--map-root-user"]):
        try:
            tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
        except OSError:
            return []
        if tried.returncode == 0:
            return prefix
    return []


def is_inside() -> bool:
    """Say whether this process has no network but the loopback address, and may mount folders."""
    return os.environ.get(INSIDE) == "1"


def switch_loopback_on() -> None:
    """Make the loopback address of a new network namespace work."""
    flags, up = 0x8914, 0x1  # SIOCSIFFLAGS, IFF_UP
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        fcntl.ioctl(channel, flags, struct.pack("16sh", b"lo", up) + bytes(22))


@contextmanager
def bound(source: Path, target: Path) -> Iterator[None]:
    """Show the folder `source` at the place of `target`, for this process and those it starts."""
    if not is_inside():
        raise RuntimeError("folders are mounted only in the observer's own namespace")
    subprocess.run(["mount", "--bind", source, target], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", target], check=True, capture_output=True)


@contextmanager
def with_etc(etc: Path, scratch: Path) -> Iterator[None]:
    """Add what is in the folder `etc` to the machine's `/etc`."""
    machine, mixed = scratch / "etc-of-machine", scratch / "etc"
    machine.mkdir(parents=True)
    mixed.mkdir()
    with bound(Path("/etc"), machine):
        for entry in os.scandir("/etc"):
            if not os.path.lexists(etc / entry.name):
                (mixed / entry.name).symlink_to(machine / entry.name)
        shutil.copytree(etc, mixed, symlinks=True, dirs_exist_ok=True)
        with bound(mixed, Path("/etc")):
            yield


def turn_order(folder: Path) -> None:
    """Make the folders of a tree list their files in the opposite order, if the file system lists the newest first."""
    before = folder / ".before"  # inside, since the folder itself may be mounted
    before.mkdir()
    for entry in [entry for entry in folder.iterdir() if entry != before]:
        entry.rename(before / entry.name)
    for entry in sorted(before.iterdir()):
        copy_tree(entry, folder)
    shutil.rmtree(before)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder with its links and times; pipes and sockets are made anew."""
    subprocess.run(["cp", "-a", "--", source, target], check=True, capture_output=True)
