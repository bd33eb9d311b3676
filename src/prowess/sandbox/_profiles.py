"""Write what a command may see and do as arguments of bwrap or as a profile of sandbox-exec.

Both begin with nothing and add what is allowed: system folders, this Python, and what the caller names. Nothing here
looks at a project.
"""

from __future__ import annotations

import os
from functools import cache

from prowess._internal.files import is_inside, real_path
from prowess._internal.frozen import Frozen

from ._programs import hidden_parts, python_folders, system_folders
from ._proxy_settings import PORT_PLACEHOLDER
from ._runtime import own_devices, runtime_folder
from ._sockets import sockets_below, sockets_of_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_USR_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders that many systems have as links into `/usr`."""
_ETC_FILES = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "mime.types"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "pki/ca-trust", "crypto-policies"),
    *("fonts", "magic", "static"),
)
"""What programs read in `/etc` and what is not secret."""
_ETC_NETWORK_FILES = ("services", "protocols")
_GENERATED_ETC_FILES = ("passwd", "group", "hosts")
_MAC_SYSTEM = (
    *("/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer/CommandLineTools", "/private/etc/ssl"),
    *("/private/var/db/dyld", "/private/var/db/timezone", "/Library/Preferences/Logging"),
    *(f"/usr/{name}" for name in ("bin", "lib", "libexec", "sbin", "share", "standalone")),
    *(
        f"{top}/{name}"
        for top in ("/usr/local", "/opt/homebrew")
        for name in (
            *("bin", "sbin", "lib", "libexec", "share", "include", "opt", "Cellar", "Frameworks"),
            *("etc/ca-certificates", "etc/openssl@3"),
        )
    ),
)
"""What programs read of the system, and of Homebrew, whose `var` has databases."""
_MAC_FILES = ("/", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/fd", "/dev/dtracehelper")
_MAC_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
)
_MAC_NETWORK = ("com.apple.SystemConfiguration.configd", "com.apple.trustd.agent")


class Confinement(Frozen):
    """What a command may see and do; all paths are absolute."""

    cwd: str
    env: Mapping[str, str]
    """All variables of the command."""
    readable: tuple[str, ...]
    """Files and folders besides those of the system; `cwd` is readable only if it is in these or in `writable`."""
    writable: tuple[str, ...]
    network: bool
    """Whether the command may reach a proxy of Prowess; nothing leads to the network but that."""
    unix_sockets: tuple[str, ...] | None = None
    """The sockets it can reach by a path; `None` if it may not use Unix sockets at all."""
    read_only: tuple[str, ...] = ()
    """Files and folders in those of `writable` that cannot be changed, moved or removed."""
    memory: int | None = 2048 * 1024 * 1024
    """Bytes of each file system in memory; `None` for half of the machine's."""
    scratch: str | None = None
    """A new file system in memory under this path, for its home and temporary files."""
    counted_memory: bool = False
    """Whether a control group counts all of its memory; if not, it can share memory by files alone."""
    group_bits: bool = False
    """Whether it may set set-group-ID bits."""


def bwrap_arguments(confinement: Confinement) -> list[str]:
    """Return the arguments of bwrap, without the command."""
    words = [
        *("--unshare-all", "--new-session", "--cap-drop", "ALL", "--clearenv"),
        *("--proc", "/proc", "--dev", "/dev"),
        # It contains the settings of the kernel, which root may write without any capability.
        *("--remount-ro", "/proc"),
        *_system_arguments(),
    ]
    size = () if confinement.memory is None else ("--size", str(confinement.memory))
    for path in tmpfs_folders(confinement.scratch):
        words += (*size, "--tmpfs", path)
    devices = own_devices()
    if not confinement.counted_memory:
        # It reads the same, and cannot be mapped as memory that several processes share.
        devices["zero"] = devices.get("full", "/dev/full")
    for name, path in devices.items():
        words += ("--dev-bind", path, f"/dev/{name}")
    words += ("--remount-ro", "/dev")
    if confinement.network:
        for name in _ETC_NETWORK_FILES:
            words += ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    runtime = runtime_folder()
    for name in _GENERATED_ETC_FILES:
        words += ("--ro-bind", f"{runtime}/etc/{name}", f"/etc/{name}")
    hidden = hidden_parts((os.curdir, confinement.cwd))
    mounts = dict.fromkeys(hidden, "--tmpfs")
    mounts.update(dict.fromkeys((runtime, *python_folders(), *_with_real_paths(confinement.readable)), "--ro-bind"))
    mounts.update(dict.fromkeys(_with_real_paths(confinement.writable), "--bind"))
    visible = tuple(path for path, kind in mounts.items() if kind != "--tmpfs")
    _add_read_only(mounts, confinement)
    # A folder is mounted before what is inside it.
    empty = []
    for path in sorted(mounts, key=lambda path: path.rstrip("/").count("/")):
        if mounts[path] != "--tmpfs":
            words += (mounts[path], path, path)
        elif os.path.isdir(path):
            words += ("--tmpfs", path)
            empty.append(path)
        else:
            words += ("--ro-bind", "/dev/null", path)
    for path in empty:  # when the mounts inside have been made
        words += ("--remount-ro", path)
    words += _socket_arguments(confinement, visible)
    words += ("--remount-ro", "/", "--chdir", confinement.cwd)
    for name, value in confinement.env.items():
        words += ("--setenv", name, value)
    return words


def tmpfs_folders(scratch: str | None) -> tuple[str, ...]:
    """Return where a command in bwrap can write files in memory."""
    return ("/tmp", "/dev/shm", *(() if scratch is None else (scratch,)))  # noqa: S108 - new ones


def _socket_arguments(confinement: Confinement, visible: tuple[str, ...]) -> Iterator[str]:
    """Yield what shows the named sockets, and hides all others.

    Raises:
        SandboxError: there are too many files to look at.
    """
    if confinement.unix_sockets is None:
        return
    for path in confinement.unix_sockets:
        yield from ("--bind", path, path)
    own = (runtime_folder(), *python_folders())
    others = sockets_below(path for path in visible if path not in own)
    # The same socket can be seen under several paths.
    named = set(map(real_path, confinement.unix_sockets))
    for path in dict.fromkeys((*others, *sockets_of_python(python_folders()))):
        if real_path(path) not in named:
            yield from ("--ro-bind", "/dev/null", path)


def _add_read_only(mounts: dict[str, str], confinement: Confinement) -> None:
    """Add the mounts for what is read-only in a writable folder.

    The folders on the way to it become mounts too, because the system lets nothing move or remove a mount.
    """
    folders = {folder for path in confinement.read_only for folder in _folders_between(path, confinement.writable)}
    for folder in sorted(folders, key=len):
        above = os.path.dirname(folder)
        while above not in mounts:
            above = os.path.dirname(above)
        mounts.setdefault(folder, mounts[above])
    mounts.update(dict.fromkeys(confinement.read_only, "--ro-bind"))


def _folders_between(path: str, tops: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that contain a path and are in one of `tops`."""
    folders = []
    for top in tops:
        folder = os.path.dirname(path)
        while is_inside(folder, top) and folder != top:
            folders.append(folder)
            folder = os.path.dirname(folder)
    return tuple(folders)


@cache
def _system_arguments() -> tuple[str, ...]:
    words: list[str] = []
    for path in ("/proc/keys", "/proc/key-users"):  # names of the user's keys
        if os.path.exists(path):
            words += ("--ro-bind", "/dev/null", path)
    for path in system_folders():
        words += ("--ro-bind", path, path)
    for path in _USR_LINKS:
        if os.path.islink(path):
            words += ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            words += ("--ro-bind", path, path)
    for name in _ETC_FILES:
        if os.path.exists(f"/etc/{name}"):
            words += ("--ro-bind", f"/etc/{name}", f"/etc/{name}")
    return tuple(words)


def _with_real_paths(paths: Sequence[str]) -> Iterator[str]:
    """Yield paths as given, and their real paths if those differ."""
    for path in paths:
        yield path
        real = real_path(path)
        if real != path:
            yield real


# ── macOS ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def seatbelt_profile(confinement: Confinement) -> str:
    """Return the profile for sandbox-exec, in which paths have no links."""
    read = dict.fromkeys(
        real_path(path) for path in (*confinement.readable, *confinement.writable, *python_folders(), runtime_folder())
    )
    write = dict.fromkeys(real_path(path) for path in confinement.writable)
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        _rule("allow", "mach-lookup", "global-name", _MAC_SERVICES),
        _rule("allow", "file-read*", "literal", _MAC_FILES),
        _rule("allow", "file-read*", "subpath", (*_MAC_SYSTEM, *read)),
        _rule("allow", "file-write-data", "literal", ("/dev/null", "/dev/zero")),
    ]
    if write:
        lines.append(_rule("allow", "file-write*", "subpath", tuple(write)))
        lines.append("(deny file-write-setugid)")
    for path in confinement.read_only:
        # A later rule wins. The folders on the way to a path keep their names.
        lines.append(_rule("deny", "file-write*", "subpath", (real_path(path),)))
        if above := _folders_between(real_path(path), write):
            lines.append(_rule("deny", "file-write-unlink", "literal", above))
    if confinement.network:
        lines += [_rule("allow", "network-outbound", "remote ip", (f"localhost:{PORT_PLACEHOLDER}",))]
        lines += ["(allow system-socket)", _rule("allow", "mach-lookup", "global-name", _MAC_NETWORK)]
    return "\n".join((*lines, ""))


def _rule(action: str, operation: str, kind: str, names: Sequence[str]) -> str:
    quoted = ('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names)
    return f"({action} {operation} {' '.join(f'({kind} {name})' for name in quoted)})"
