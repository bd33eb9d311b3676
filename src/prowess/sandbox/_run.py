"""argv -> a contained process

The one way a script or a test of a skill is started: with its own environment, no terminal, limits, an end for all that
comes from it, and walls around it where the machine has them (`backend`).
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.fs import remove_tree
from prowess._internal.text import neutral, quoted
from prowess.errors import SandboxError

from ._backends import CHOICES, Backend, find_backend, forget_probe
from ._profiles import Confinement
from ._runtime import make_temp_folder, runtime_folder
from ._supervisors import run_supervised, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ._process_tree import Reply, Request

    Path = str | os.PathLike[str]

__all__ = ["CHOICES", "SYSTEM_PATH", "Backend", "Limits", "Result", "find_backend", "run", "stop"]

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where commands are looked for, after `python` and `python3`."""
_MIB = 1024 * 1024
_MAX_LIMIT = 2**62
"""Of any limit: what the system can count."""
_MAX_TIMEOUT = 10_000_000
"""Seconds, some four months."""
_MAX_SHOWN = 200
"""Characters of a path in a message."""
_HINTS = {
    errno.ENOENT: "see its first line: the program after `#!` is not there",
    errno.ENOEXEC: "begin it with a line like `#!/bin/sh`, or name its interpreter, as in `python3 FILE`",
    errno.E2BIG: "put long arguments into a file or into its input",
    errno.EACCES: "mend the permissions of it and of its folders",
    errno.EAGAIN: "wait until less is running, or allow more `processes`",
}


class Limits(Frozen):
    """What a command may use. `None` is no limit of ours; the system's own stay."""

    timeout: float = 30.0
    """Seconds for all that comes from it, above 0."""
    memory: int | None = 2048 * _MIB
    """Bytes of data of each process. What is only set aside and not used does not count."""
    file_size: int | None = 256 * _MIB
    """Bytes of each file that is written."""
    descriptors: int | None = 1024
    """Open files of each process."""
    processes: int | None = 512
    """Processes and threads beside what ran already. Does not hold for root, nor on macOS."""
    output: int = _MIB
    """Bytes of standard output, and as many of standard error, that are kept; the rest is counted."""


class Result(Frozen):
    """How a command ended."""

    exit_code: int | None
    """128 and its number for a signal; None where the time was up."""
    timed_out: bool
    stdout: bytes
    """Its beginning: `Limits.output` bytes at most."""
    stderr: bytes
    """Its beginning, as well."""
    stdout_size: int
    """Bytes that were written, kept or not."""
    stderr_size: int
    duration: float
    """Seconds from its start until nothing of it was left."""
    killed: int
    """Processes, besides the command itself, that still ran when it had ended or its time was up."""
    backend: str
    """What contained it: `bwrap`, `seatbelt` or `none`."""


def run(
    argv: Sequence[Path],
    *,
    cwd: Path,
    env: Mapping[str, str] = EMPTY,
    stdin: bytes | None = None,
    limits: Limits | None = None,
    readable: Iterable[Path] = (),
    writable: Iterable[Path] = (),
    network: bool = False,
    sandbox: str | Backend = "auto",
    trusted: bool = False,
    scratch: Path | None = None,
    python: bool = True,
) -> Result:
    """Run a command to its end; nothing of it is left when this returns or raises.

    Its environment is `PATH` with system folders, `LANG=C.UTF-8`, `HOME` and `TMPDIR`, the scratch folder, and `env`:
    nothing of this process's own. Threads may run several at once.

    Args:
        argv: the command, without a shell; a program without `/` is looked for on `PATH`, another from `cwd`.
        cwd: the working directory, which can be read.
        env: more variables, or others.
        stdin: what it reads; None or nothing is the end of its input.
        limits: `Limits()` if None.
        readable: files and folders that can be read, where there are walls.
        writable: files and folders that can be changed, where there are walls.
        network: whether there is one, where there are walls.
        sandbox: one of `CHOICES`, or what `backend` returned.
        trusted: the user has said that it may run: `auto` then does without walls where there are none.
        scratch: a folder that can be changed, as home and for temporary files; None for a new one, removed afterwards.
        python: whether `python` and `python3` are this Python.

    Raises:
        SandboxError: nothing contains it here, it cannot be started, or an argument makes no sense.
    """
    limits = Limits() if limits is None else limits
    words, more, numbers = _check_argv(argv), _check_env(env), _system_limits(limits)
    if stdin is not None and not isinstance(stdin, bytes):
        raise SandboxError("`stdin` must be bytes", hint="encode it: `text.encode()`")
    folder = _existing_path(cwd, "the working directory")
    if not os.path.isdir(folder):
        raise SandboxError(f"the working directory {quoted(folder, _MAX_SHOWN)} is not a folder", hint="name a folder")
    read = (folder, *(_existing_path(path, "what is to be readable") for path in readable))
    write = tuple(_existing_path(path, "what is to be writable") for path in writable)
    chosen = sandbox if isinstance(sandbox, Backend) else find_backend(sandbox, trusted=trusted)
    place = make_temp_folder("run") if scratch is None else _existing_path(scratch, "the scratch folder")
    variables = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "HOME": place, "TMPDIR": place, **more}
    try:
        if python:
            variables["PATH"] = f"{runtime_folder()}/bin:{variables['PATH']}"
        program = _find_program(words[0], folder, variables["PATH"])
        confinement = Confinement(cwd=folder, env=variables, readable=read, writable=(place, *write), network=network)
        told, args = chosen.command_words(confinement, [program, *words[1:]])
        walled = chosen.name == "bwrap"
        if walled:
            # LD_PRELOAD would reach bwrap before there is a wall; what is inside gets its variables from `args`.
            variables, folder = {"HOME": place}, "/"
        elif told[0] == program:
            told[0] = words[0]
        request: Request = {
            "path": os.fsencode(program if chosen.name == "none" else chosen.path),
            "argv": [os.fsencode(word) for word in told],
            "env": {os.fsencode(name): os.fsencode(value) for name, value in variables.items()},
            "cwd": os.fsencode(folder),
            "stdin": stdin or b"",
            "args": args,
            "limits": numbers,
            "timeout": float(limits.timeout),
            "output": limits.output,
            "contained": walled,
        }
        reply = run_supervised(request, b"HOME=" + os.fsencode(place) + b"\0")
    finally:
        if scratch is None:
            _remove_scratch(place)
    return _result(words[0], chosen, reply)


def _result(name: str, chosen: Backend, reply: Reply) -> Result:
    """Return how a command ended.

    Raises:
        SandboxError: it was never started, or would not end.
    """
    status, timed_out, stdout, stderr = reply["status"], reply["timed_out"], reply["stdout"], reply["stderr"]
    if error := reply["error"]:
        hint = _HINTS.get(error, "see whether it runs in a terminal")
        raise SandboxError(f"{quoted(name)} cannot be started: {os.strerror(error).lower()}", hint=hint)
    if reply["left"]:
        raise SandboxError(f"something that {quoted(name)} started cannot be killed", hint="look for it with `ps`")
    if chosen.name == "bwrap" and status == 1 and stderr.startswith(b"bwrap: ") and not (timed_out or stdout):
        said = neutral(stderr[7:500].decode("utf-8", "replace").strip())
        if said.startswith("execvp "):
            hint = "name the folders it needs as readable, and see its first line for a program that is not there"
            raise SandboxError(f"{quoted(name)} cannot be started where it is contained: {said}", hint=hint)
        forget_probe(chosen)
        raise SandboxError(f"`bwrap` could not contain {quoted(name)}: {said}", hint="see whether all paths are there")
    return Result(
        exit_code=None if timed_out else 128 - status if status < 0 else status,
        timed_out=timed_out,
        stdout=stdout,
        stderr=stderr,
        stdout_size=reply["sizes"][0],
        stderr_size=reply["sizes"][1],
        duration=reply["duration"],
        killed=reply["killed"],
        backend=chosen.name,
    )


def _remove_scratch(place: str) -> None:
    """Remove a scratch folder; mostly nothing is in it."""
    try:
        os.rmdir(place)
    except OSError:
        with suppress(OSError):
            remove_tree(place)


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_argv(argv: Sequence[Path]) -> list[str]:
    if isinstance(argv, (str, bytes, os.PathLike)):
        raise SandboxError(
            "a command must be a list of words", hint='for a command line give `["/bin/sh", "-c", line]`'
        )
    words = [os.fspath(word) if isinstance(word, os.PathLike) else word for word in argv]
    if not words or not words[0]:
        raise SandboxError("there is no command", hint="name a program, as in `python3 scripts/run.py`")
    for word in words:
        _check_text(word, "a word of the command")
    return words


def _check_env(env: Mapping[str, str]) -> dict[str, str]:
    for name, value in env.items():
        _check_text(name, "the name of a variable")
        if not name or "=" in name:
            raise SandboxError(
                f"{quoted(name)} cannot be the name of a variable", hint="leave out `=`; one letter is the least"
            )
        _check_text(value, f"the variable {quoted(name)}")
    return dict(env)


def _check_text(value: object, what: str) -> None:
    """See to it that a text can be handed to a program.

    Raises:
        SandboxError: it cannot.
    """
    if not isinstance(value, str):
        raise SandboxError(f"{what} must be text, not {type(value).__name__}", hint="put it between quotes")
    if "\0" in value:
        raise SandboxError(f"{what} holds a NUL character", hint="no program can be given one; put it into a file")
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        raise SandboxError(f"{what} holds half a character", hint="remove the lone surrogate") from None


def _system_limits(limits: Limits) -> dict[str, int]:
    """Return the limits the system is to keep.

    Raises:
        SandboxError: one of all limits is no number, or makes no sense.
    """
    timeout: object = limits.timeout
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < _MAX_TIMEOUT:
        raise SandboxError(
            f"`timeout` cannot be {neutral(repr(timeout)[:40])}", hint="give a number of seconds above 0, as in 30"
        )
    numbers = {"core": 0}
    for name in ("memory", "file_size", "descriptors", "processes", "output"):
        value = getattr(limits, name)
        if value is None and name != "output":
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not (name != "output") <= value < _MAX_LIMIT:
            hint = "give a whole number above 0" + (", or None for no limit" if name != "output" else "")
            raise SandboxError(f"`{name}` cannot be {neutral(repr(value)[:40])}", hint=hint)
        if name != "output":
            numbers[name] = value
    return numbers


def _existing_path(path: Path, what: str) -> str:
    """Return a path as it is from the root.

    Raises:
        SandboxError: nothing is there, or it would be all there is.
    """
    text = os.fspath(path)
    _check_text(text, what)
    found = os.path.abspath(text)
    if not os.path.exists(found):
        raise SandboxError(
            f"{what} is not there: {quoted(found, _MAX_SHOWN)}", hint="see whether it was moved or misspelt"
        )
    if os.path.realpath(found) == "/":
        raise SandboxError(f"{what} cannot be `/`", hint="name the folder that is needed")
    return found


def _find_program(name: str, cwd: str, path: str) -> str:
    """Find the program of a command.

    Raises:
        SandboxError: there is none, or it may not be run.
    """
    if "/" in name:
        places = [os.path.join(cwd, name)]
    else:
        places = [os.path.join(cwd, folder, name) for folder in path.split(":")]
    files = [place for place in places if os.path.isfile(place)]
    for place in files:
        if os.access(place, os.X_OK):
            return place
    if files:
        words = f"{quoted(name, _MAX_SHOWN)} may not be run"
        raise SandboxError(words, hint="type `chmod +x` for it, or name its interpreter, as in `python3 FILE`")
    if "/" in name:
        raise SandboxError(
            f"there is no program {quoted(name, _MAX_SHOWN)}", hint="its path begins in the working directory"
        )
    raise SandboxError(
        f"there is no command {quoted(name, _MAX_SHOWN)} on PATH", hint="install it, or name it with its path"
    )
