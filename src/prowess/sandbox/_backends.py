"""a choice + this machine -> what contains a command

    auto       what a try shows to work: bwrap on Linux, seatbelt on macOS
    bwrap      bubblewrap: namespaces of the kernel
    seatbelt   sandbox-exec
    none       nothing: limits and the end of the whole tree only

That bwrap works is remembered until the next start of the machine, in the folder of the cache; that it does not is
tried again each time. A memory that is damaged, foreign or of other circumstances counts for nothing.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress

from prowess._internal.frozen import Frozen
from prowess._internal.text import nearest_names, neutral, quoted
from prowess._internal.user_dirs import cache_folder
from prowess.errors import SandboxError

from ._profiles import Confinement, bwrap_arguments, seatbelt_profile
from ._supervisors import run_supervised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._process_tree import Request

__all__ = ["CHOICES", "Backend", "find_backend", "forget_probe"]

CHOICES = ("auto", "bwrap", "seatbelt", "none")
_SEATBELT = "/usr/bin/sandbox-exec"
_PROBE_CACHE_FILE = "sandbox"
"""The file in the folder of the cache."""
_PROBE_TIMEOUT = 10.0
"""Seconds that a try may take."""
_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_working: set[bytes] = set()
"""Circumstances in which this process saw bwrap work."""


class Backend(Frozen):
    """What contains a command."""

    name: str
    """`bwrap`, `seatbelt` or `none`."""
    path: str = ""
    """Of its program."""

    def command_words(self, confinement: Confinement, argv: list[str]) -> tuple[list[str], bytes]:
        """Return the words that run a command inside, and those bwrap reads from descriptor 3: `ps` shows no variable.

        Args:
            confinement: what the command may see and do.
            argv: the command, with the path of its program.
        """
        if self.name == "bwrap":
            told = b"".join(os.fsencode(word) + b"\0" for word in bwrap_arguments(confinement))
            return [self.path, "--args", "3", "--", *argv], told
        if self.name == "seatbelt":
            return [self.path, "-p", seatbelt_profile(confinement), *argv], b""
        return argv, b""


def find_backend(choice: str = "auto", *, trusted: bool = False) -> Backend:
    """Return what contains commands on this machine.

    Args:
        choice: one of `CHOICES`.
        trusted: the user has said that the command may run: `auto` then does without where there is nothing.

    Raises:
        SandboxError: it is not there or does not work, or there is no such choice.
    """
    if choice not in CHOICES:
        near = nearest_names(str(choice), CHOICES)
        hint = f"did you mean `{near[0]}`?" if near else f"choose one of {', '.join(CHOICES)}"
        raise SandboxError(f"there is no sandbox {quoted(str(choice))}", hint=hint)
    if sys.platform == "win32":
        raise SandboxError("commands of skills are not run on Windows yet", hint="run Prowess in WSL")
    if choice == "none":
        return Backend(name="none")
    own = "seatbelt" if sys.platform == "darwin" else "bwrap"
    if choice not in ("auto", own):
        raise SandboxError(f"`{choice}` is not of this system", hint=f"choose `--sandbox {own}`")
    try:
        return _seatbelt() if own == "seatbelt" else _bwrap()
    except SandboxError:
        if choice == "auto" and trusted:
            return Backend(name="none")
        raise


def forget_probe(works: Backend) -> None:
    """Take back that a backend works."""
    _working.clear()
    if works.name == "bwrap" and (folder := cache_folder(os.environ)):
        with suppress(OSError):
            os.unlink(os.path.join(folder, _PROBE_CACHE_FILE))


def _seatbelt() -> Backend:
    if not os.access(_SEATBELT, os.X_OK):
        raise SandboxError(f"`{_SEATBELT}` is not there", hint=_NO_SANDBOX_HINT)
    return Backend(name="seatbelt", path=_SEATBELT)


_NO_SANDBOX_HINT = "look at the skill, and if you trust it type `--sandbox none`"


def _bwrap() -> Backend:
    path = _which("bwrap")
    if path is None:
        raise SandboxError(
            "nothing on this machine contains a stranger's command: `bwrap` is not on PATH",
            hint=f"install bubblewrap (`apt install bubblewrap`), or {_NO_SANDBOX_HINT}",
        )
    found = Backend(name="bwrap", path=path)
    now = _probe_key(path)
    if now in _working:
        return found
    folder = cache_folder(os.environ)
    if folder is None or _read_probe_cache(folder) != now:
        _probe(found)
        if folder is not None:
            with suppress(OSError, ValueError):
                _write_probe_cache(folder, now)
    _working.add(now)
    return found


def _which(name: str) -> str | None:
    """Return the path of a program; a relative folder on PATH, which a project could fill, does not count."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _probe(found: Backend) -> None:
    """Contain a command that does nothing.

    Raises:
        SandboxError: that did not work.
    """
    confinement = Confinement(cwd="/", env={}, readable=(), writable=(), network=False)
    argv, args = found.command_words(confinement, ["/bin/sh", "-c", "exit 7"])
    command_words = [os.fsencode(word) for word in argv]
    request: Request = {
        "path": command_words[0],
        "argv": command_words,
        "env": {},
        "cwd": b"/",
        "stdin": b"",
        "args": args,
        "limits": {"core": 0},
        "timeout": _PROBE_TIMEOUT,
        "output": 4096,
        "contained": True,
    }
    reply = run_supervised(request, b"PROWESS_TRY=")
    error, status, timed_out, stderr = reply["error"], reply["status"], reply["timed_out"], reply["stderr"]
    if error or timed_out or status != 7:
        said = (
            os.strerror(error).lower() if error else stderr.decode("utf-8", "replace").strip().removeprefix("bwrap: ")
        )
        said = "it took too long" if timed_out else said or f"it ended with {status}"
        raise SandboxError(
            f"`bwrap` does not work here: {neutral(said[:300])}",
            hint="allow it to make user namespaces (in Docker: `--security-opt seccomp=unconfined`), "
            f"or {_NO_SANDBOX_HINT}",
        )


# ── the memory ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _probe_key(path: str) -> bytes:
    """Return all that has a part in whether bwrap works: this start of the machine, the program, the user."""
    status = os.stat(path)
    parts: list[object] = ["prowess-sandbox 1", os.fsencode(path), status.st_dev, status.st_ino, status.st_size]
    parts += [status.st_mtime_ns, status.st_ctime_ns, os.geteuid(), os.getegid()]
    for space in ("user", "mnt", "pid"):
        try:
            parts.append(os.stat(f"/proc/self/ns/{space}").st_ino)
        except OSError:
            parts.append("-")
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            parts.append(file.read(64).strip())
    except (OSError, ValueError):
        parts.append(os.urandom(8).hex())  # nothing is remembered where nothing tells one start from the next
    return repr(parts).encode() + b"\n"


def _read_probe_cache(folder: str) -> bytes:
    """Return what was written down; nothing if it is not the user's own."""
    with suppress(OSError, ValueError):
        if not _is_owned(os.lstat(folder), stat.S_ISDIR):
            return b""
        fd = os.open(os.path.join(folder, _PROBE_CACHE_FILE), os.O_RDONLY | _OPEN_FLAGS)
        try:
            return os.read(fd, 8192) if _is_owned(os.fstat(fd), stat.S_ISREG) else b""
        finally:
            os.close(fd)
    return b""


def _write_probe_cache(folder: str, now: bytes) -> None:
    """Write down that bwrap works now, beside its place, and move it there in one step.

    Raises:
        OSError: it cannot be written.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if not _is_owned(os.lstat(folder), stat.S_ISDIR):
        return
    place = os.path.join(folder, _PROBE_CACHE_FILE)
    staged = f"{place}.{os.getpid()}.{os.urandom(4).hex()}"
    fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN_FLAGS, 0o600)
    try:
        try:
            os.write(fd, now)
        finally:
            os.close(fd)
        os.replace(staged, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(staged)
        raise


def _is_owned(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Say whether something is of a kind and the user's, and nobody else may write there."""
    return is_kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
