"""Choose the sandbox of this machine, and check that it works.

    auto       bwrap on Linux, seatbelt on macOS, if a probe shows that it works
    bwrap      bubblewrap: namespaces of the kernel
    seatbelt   sandbox-exec
    none       no sandbox: limits and the end of all processes only

That bwrap works is remembered until the machine restarts, in the folder of the cache; that it does not is tried again
each time. A remembered result that is damaged, another user's, or of other circumstances is ignored.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress

from prowess._internal.file_status import is_own_file
from prowess._internal.files import is_inside, real_path, real_path_or_none
from prowess._internal.frozen import Frozen
from prowess._internal.fs import READ_FLAGS, atomic_replace, open_fd
from prowess._internal.ownership import own_folder
from prowess._internal.text import did_you_mean, neutral, quoted
from prowess._internal.user_dirs import cache_folder
from prowess.errors import SandboxError

from ._messages import make_request
from ._profiles import Confinement, bwrap_arguments, seatbelt_profile
from ._seccomp import filter_program
from ._supervisors import run_supervised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._messages import Reply

CHOICES = ("auto", "bwrap", "seatbelt", "none")
_SEATBELT = "/usr/bin/sandbox-exec"
_PROBE_CACHE_FILE = "sandbox"
"""In the folder of the cache."""
_PROBE_TIMEOUT = 10.0
"""Seconds that a probe may take."""
_PROBE_EXIT_CODE = 7
_UNTRUSTED_HINT = "review the skill and, if you trust it, type `--sandbox none`"
_working: set[bytes] = set()
"""Circumstances in which bwrap worked in this process."""


class Backend(Frozen):
    """A sandbox."""

    name: str
    """`bwrap`, `seatbelt` or `none`."""
    path: str = ""
    """Of its program."""

    def command_words(self, confinement: Confinement, argv: list[str]) -> tuple[list[str], dict[int, bytes]]:
        """Return the command line that runs a command inside, and what bwrap reads from descriptors, by their numbers.

        These are its other arguments, so that `ps` shows no variable of the command, and the filter of system calls,
        without which bwrap does not start it. Both are empty without bwrap.

        Args:
            confinement: what the command may see and do.
            argv: the command, with the path of its program.

        Raises:
            SandboxError: there is no filter of system calls for this machine.
        """
        if self.name == "bwrap":
            arguments = b"".join(os.fsencode(word) + b"\0" for word in bwrap_arguments(confinement))
            files = {
                3: arguments,
                6: filter_program(
                    unix_sockets=confinement.unix_sockets is not None,
                    shared_memory=confinement.counted_memory,
                    group_bits=confinement.group_bits,
                ),
            }
            return [self.path, "--args", "3", "--seccomp", "6", "--", *argv], files
        if self.name == "seatbelt":
            return [self.path, "-p", seatbelt_profile(confinement), *argv], {}
        return argv, {}


def find_backend(choice: str = "auto", *, trusted: bool = False) -> Backend:
    """Return the sandbox for commands on this machine.

    Args:
        choice: one of `CHOICES`.
        trusted: the user allowed the command to run: `auto` then returns `none` if no sandbox is available.

    Raises:
        SandboxError: the sandbox is missing, does not work, or is unknown.
    """
    if choice not in CHOICES:
        hint = did_you_mean(str(choice), CHOICES, f"choose one of {', '.join(CHOICES)}")
        raise SandboxError(f"unknown sandbox {quoted(str(choice))}", hint=hint)
    if sys.platform == "win32":
        raise SandboxError("Prowess cannot run commands of skills on Windows yet", hint="use Prowess in WSL")
    if choice == "none":
        return Backend(name="none")
    native = "seatbelt" if sys.platform == "darwin" else "bwrap"
    if choice not in ("auto", native):
        raise SandboxError(f"the sandbox `{choice}` does not exist on this system", hint=f"use `--sandbox {native}`")
    try:
        return _find_seatbelt() if native == "seatbelt" else _find_bwrap()
    except SandboxError:
        if choice == "auto" and trusted:
            return Backend(name="none")
        raise


def forget_probe(backend: Backend) -> None:
    """Forget that a sandbox works."""
    _working.clear()
    if backend.name == "bwrap" and (folder := cache_folder(os.environ)):
        with suppress(OSError):
            os.unlink(os.path.join(folder, _PROBE_CACHE_FILE))


def _find_seatbelt() -> Backend:
    if not os.access(_SEATBELT, os.X_OK):
        raise SandboxError(f"no sandbox available: `{_SEATBELT}` is missing", hint=_UNTRUSTED_HINT)
    return Backend(name="seatbelt", path=_SEATBELT)


def _find_bwrap() -> Backend:
    path = _which("bwrap")
    if path is None:
        raise SandboxError(
            "no sandbox available: `bwrap` is not on PATH",
            hint=f"install bubblewrap (`apt install bubblewrap`), or {_UNTRUSTED_HINT}",
        )
    backend = Backend(name="bwrap", path=path)
    key = _probe_key(path)
    if key in _working:
        return backend
    folder = cache_folder(os.environ)
    if folder is None or _read_probe_cache(folder) != key:
        _probe(backend)
        if folder is not None:
            with suppress(OSError, ValueError):
                _write_probe_cache(folder, key)
    _working.add(key)
    return backend


def _which(name: str) -> str | None:
    """Return the path of a program; what a project could contain does not count.

    That is a relative folder on PATH, and anything inside the working directory, unless that contains the user's home.
    """
    here, home = real_path(os.curdir), real_path(os.path.expanduser("~"))
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            real = real_path_or_none(path)
            in_project = real is None or is_inside(path, here) or is_inside(real, here)
            if not in_project or is_inside(home, here):
                return path
    return None


def _probe(backend: Backend) -> None:
    """Run a command that does nothing.

    Raises:
        SandboxError: this does not work.
    """
    confinement = Confinement(cwd="/", env={}, readable=(), writable=(), network=False)
    words, files = backend.command_words(confinement, ["/bin/sh", "-c", f"exit {_PROBE_EXIT_CODE}"])
    argv = [os.fsencode(word) for word in words]
    request = make_request(
        path=argv[0], argv=argv, bwrap_files=files, limits={"core": 0}, timeout=_PROBE_TIMEOUT, output=4096
    )
    reply = run_supervised(request, b"PROWESS_TRY=")
    if reply["error"] or reply["timed_out"] or reply["status"] != _PROBE_EXIT_CODE:
        allow = "allow it to create user namespaces (in Docker: `--security-opt seccomp=unconfined`)"
        message = f"no sandbox available: `bwrap` does not work here: {_probe_problem(reply)}"
        raise SandboxError(message, hint=f"{allow}, or {_UNTRUSTED_HINT}")


def _probe_problem(reply: Reply) -> str:
    if reply["timed_out"]:
        return "it took too long"
    if reply["error"]:
        return os.strerror(reply["error"]).lower()
    output = reply["stderr"].decode("utf-8", "replace").strip().removeprefix("bwrap: ")
    return neutral(output[:300]) or f"it ended with {reply['status']}"


# ── the result of the probe ──────────────────────────────────────────────────────────────────────────────────────────


def _probe_key(path: str) -> bytes:
    """Return everything that decides whether bwrap works: the start of the machine, the program, the user."""
    status = os.stat(path)
    parts: list[object] = ["prowess-sandbox 3", os.fsencode(path), status.st_dev, status.st_ino, status.st_size]
    parts += [status.st_mtime_ns, status.st_ctime_ns, os.geteuid(), os.getegid()]
    for namespace in ("user", "mnt", "pid"):
        try:
            parts.append(os.stat(f"/proc/self/ns/{namespace}").st_ino)
        except OSError:
            parts.append("-")
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            parts.append(file.read(64).strip())
    except (OSError, ValueError):
        parts.append(os.urandom(8).hex())  # a restart could not be noticed, so nothing is remembered
    return repr(parts).encode() + b"\n"


def _read_probe_cache(folder: str) -> bytes:
    """Return the remembered key; empty if the file is not the user's own."""
    with suppress(OSError, ValueError):
        path = os.path.join(folder, _PROBE_CACHE_FILE)
        if is_own_file(folder, os.lstat(folder), stat.S_ISDIR):
            with open_fd(path, READ_FLAGS) as fd:
                return os.read(fd, 8192) if is_own_file(path, os.fstat(fd)) else b""
    return b""


def _write_probe_cache(folder: str, key: bytes) -> None:
    """Remember that bwrap works.

    Raises:
        OSError: the file cannot be written.
    """
    own_folder(folder)
    atomic_replace(os.path.join(folder, _PROBE_CACHE_FILE), key)
