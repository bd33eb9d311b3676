"""what a command may see and do -> the words of bwrap or sandbox-exec

Both begin with nothing and are told what is there: system folders, this Python, and what the caller names. Nothing
here looks at a project.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from ._frozen import Frozen
from .outfit import outfit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Walls", "bwrap_words", "seatbelt_profile"]

_LINKED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders that many systems have as links into `/usr`."""
_SYSTEM = ("/usr", "/nix/store", "/gnu/store", "/run/current-system")
_ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "mime.types"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "pki/ca-trust", "crypto-policies"),
    *("fonts", "magic", "static"),
)
"""What programs read in `/etc` that is nobody's secret."""
_ETC_NETWORK = ("resolv.conf", "services", "protocols", "gai.conf", "host.conf")
_MADE_UP = ("passwd", "group", "hosts")
_MAC_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer/CommandLineTools", "/private/etc/ssl"),
    *("/private/var/db/dyld", "/private/var/db/timezone", "/opt/homebrew", "/Library/Preferences/Logging"),
)
_MAC_FILES = ("/", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/fd", "/dev/dtracehelper")
_MAC_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
)
_MAC_NETWORK = ("com.apple.dnssd.service", "com.apple.SystemConfiguration.configd", "com.apple.trustd.agent")


class Walls(Frozen):
    """What a command may see and do; all paths are absolute."""

    cwd: str
    env: Mapping[str, str]
    """All variables of the command."""
    readable: tuple[str, ...]
    """Files and folders beside those of the system; `cwd` is there only if it is one of these or of `writable`."""
    writable: tuple[str, ...]
    network: bool
    """Whether there is the caller's network."""


def bwrap_words(walls: Walls) -> list[str]:
    """Return what bwrap is told, without the command."""
    words = [
        *("--unshare-all", "--new-session", "--cap-drop", "ALL", "--clearenv"),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 - one of its own
        # Root owns the settings of the kernel in it, and may write them without any capability.
        *("--remount-ro", "/proc"),
        *_system_words(),
    ]
    if walls.network:
        words.append("--share-net")
        for name in _ETC_NETWORK:
            words += ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    made_up = outfit()
    for name in _MADE_UP:
        there = name == "hosts" and walls.network and os.path.exists("/etc/hosts")
        words += ("--ro-bind", f"/etc/{name}" if there else f"{made_up}/etc/{name}", f"/etc/{name}")
    mounts = dict.fromkeys((made_up, *_pythons(), *_both(walls.readable)), "--ro-bind")
    mounts.update(dict.fromkeys(_both(walls.writable), "--bind"))
    # What lies inside another comes after it.
    for path in sorted(mounts, key=lambda path: path.rstrip("/").count("/")):
        words += (mounts[path], path, path)
    words += ("--remount-ro", "/", "--chdir", walls.cwd)
    for name, value in walls.env.items():
        words += ("--setenv", name, value)
    return words


@cache
def _system_words() -> tuple[str, ...]:
    words: list[str] = []
    for path in _SYSTEM:
        if os.path.isdir(path):
            words += ("--ro-bind", path, path)
    for path in _LINKED:
        if os.path.islink(path):
            words += ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            words += ("--ro-bind", path, path)
    for name in _ETC:
        if os.path.exists(f"/etc/{name}"):
            words += ("--ro-bind", f"/etc/{name}", f"/etc/{name}")
    return tuple(words)


@cache
def _pythons() -> tuple[str, ...]:
    """Return the folders this Python consists of, where they are no system folders."""
    home = os.path.realpath(os.path.expanduser("~"))
    found: list[str] = []
    for prefix in _both((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)):
        # A Python that was put right into a home, or into `/`, must not bring the rest of it along.
        whole = not _within(home, prefix)
        parts = (prefix,) if whole else [os.path.join(prefix, name) for name in ("bin", "lib", "lib64")]
        found += [path for path in parts if os.path.isdir(path) and not _within(path, "/usr")]
    return tuple(dict.fromkeys(found))


def _both(paths: Sequence[str]) -> Iterator[str]:
    """Yield paths as they are given, and without links where that differs."""
    for path in paths:
        yield path
        real = os.path.realpath(path)
        if real != path:
            yield real


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# ── macOS ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def seatbelt_profile(walls: Walls) -> str:
    """Return the profile for sandbox-exec, which wants paths without links."""
    read = dict.fromkeys(os.path.realpath(path) for path in (*walls.readable, *walls.writable, *_pythons(), outfit()))
    write = dict.fromkeys(os.path.realpath(path) for path in walls.writable)
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        _allow("mach-lookup", "global-name", _MAC_SERVICES),
        _allow("file-read*", "literal", _MAC_FILES),
        _allow("file-read*", "subpath", (*_MAC_SYSTEM, *read)),
        _allow("file-write-data", "literal", ("/dev/null", "/dev/zero")),
    ]
    if write:
        lines.append(_allow("file-write*", "subpath", tuple(write)))
    if walls.network:
        lines += ["(allow network*)", "(allow system-socket)", _allow("mach-lookup", "global-name", _MAC_NETWORK)]
        lines.append(_allow("file-read*", "literal", ("/private/etc/hosts", "/private/etc/resolv.conf")))
    return "\n".join((*lines, ""))


def _allow(what: str, kind: str, names: Sequence[str]) -> str:
    quoted = ('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names)
    return f"(allow {what} {' '.join(f'({kind} {name})' for name in quoted)})"
