"""Run a command in a sandbox: the only way to start a script or a test of a skill.

The command has its own environment, no terminal, and limits; every process that comes from it is ended; and the sandbox
of the machine (`find_backend`) restricts what it can see and change.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.fs import remove_tree
from prowess._internal.text import neutral, quoted
from prowess.errors import SandboxError

from ._arguments import check_argv, check_env, check_input, existing_folder, existing_path, find_program
from ._backends import Backend, find_backend, forget_probe
from ._control_groups import is_usable
from ._limits import MAX_LIMIT, Limits, system_limits
from ._messages import make_request
from ._profiles import Confinement, tmpfs_folders
from ._programs import SYSTEM_PATH
from ._proxy_settings import proxy_variables
from ._runtime import make_temp_folder, runtime_folder
from ._sockets import check_sockets
from ._supervisors import run_supervised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypedDict, Unpack

    from prowess._internal.layers import Layer
    from prowess.net import NetworkRules

    from ._messages import Reply, Request

    Path = str | os.PathLike[str]

    class CommandOptions(TypedDict, total=False):
        """What a command gets, and what a sandbox lets it see and do; see `run`."""

        env: Mapping[str, str]
        limits: Limits | None
        readable: Iterable[Path]
        writable: Iterable[Path]
        read_only: Iterable[Path]
        layers: Iterable[Layer]
        network: bool | NetworkRules
        python: bool
        unix_sockets: Iterable[Path] | None


_START_HINTS = {
    errno.ENOENT: "check its first line: the program after `#!` does not exist",
    errno.ENOEXEC: "begin it with a line like `#!/bin/sh`, or name its interpreter, as in `python3 FILE`",
    errno.E2BIG: "pass long arguments in a file or as input",
    errno.EACCES: "fix the permissions of the program and of its folders",
    errno.EAGAIN: "wait until fewer processes are running, or raise the limit `processes`",
}


class LayerError(SandboxError):
    """A layer over a folder cannot be made on this system."""


class Result(Frozen):
    """How a command ended."""

    exit_code: int | None
    """128 plus its number for a signal; `None` after a timeout."""
    timed_out: bool
    stdout: bytes
    """The first `Limits.output` bytes."""
    stderr: bytes
    """The first `Limits.output` bytes."""
    stdout_size: int
    """Bytes that were written, kept or not."""
    stderr_size: int
    duration: float
    """Seconds from its start until nothing of it was left."""
    killed: int
    """Processes, besides the command itself, that were still running when it ended or its time was up."""
    out_of_memory: bool = False
    """Whether one of its processes was killed because all of it had more than `Limits.memory`."""
    out_of_space: bool = False
    """Whether it was killed because a folder had more than `Limits.folder_size` or `folder_files`."""
    backend: str
    """The sandbox it ran in: `bwrap`, `seatbelt` or `none`."""
    refused_hosts: tuple[str, ...] = ()
    """Why hosts were refused that it tried to reach; each reason once, at most 20."""


def run(
    argv: Sequence[Path],
    *,
    cwd: Path,
    stdin: bytes | None = None,
    sandbox: str | Backend = "auto",
    trusted: bool = False,
    scratch: Path | None = None,
    **options: Unpack[CommandOptions],
) -> Result:
    """Run a command to its end; nothing of it is left when this returns or raises.

    Its environment is `PATH` with system folders, `LANG=C.UTF-8`, `HOME` and `TMPDIR`, both the scratch folder, and
    `env`: no variable of this process. Several threads may run commands at once.

    Args:
        argv: the command, without a shell; a program without `/` is looked up on `PATH`, another one from `cwd`.
        cwd: the working directory, which is readable.
        stdin: its input; `None` is empty input.
        sandbox: one of `CHOICES`, or what `find_backend` returned.
        trusted: the user allowed the command to run: `auto` then runs it even if no sandbox is available.
        scratch: a folder it can change, for its home and temporary files; `None` for a new one, removed afterwards.
        options: `env`: more variables, or other values. `limits`: `Limits()` by default. `readable`, `writable`: files
            and folders that a sandbox lets it read, and change. `read_only`: those in `writable` that a sandbox does
            not let it change, move or remove. `layers`: folders in `writable`, each with the folder
            that gets what it writes there, for bwrap. `network`: the hosts that a sandbox lets it reach, through a
            proxy that its variables name; `True` for all public ones, `False` by default. Without a sandbox nothing
            limits the network. `python`: whether `python` and `python3` are this Python, as by default. `unix_sockets`:
            Unix sockets of other programs that bwrap lets it connect to; with `()` only those that it makes itself.
            Without it, it can make no Unix socket, except pairs that connect it with its own children.

    Raises:
        LayerError: a layer cannot be made on this system, and the command was not started.
        SandboxError: no sandbox is available, the command cannot be started, or an argument is invalid.
    """
    data = check_input(stdin)
    backend = sandbox if isinstance(sandbox, Backend) else find_backend(sandbox, trusted=trusted)
    in_memory = scratch is None and backend.name == "bwrap"
    if in_memory:
        scratch_folder = scratch_path()
    else:
        scratch_folder = (
            make_temp_folder("run", contained=backend.name != "none")
            if scratch is None
            else existing_path(scratch, "the scratch folder")
        )
    try:
        prepared = prepare(argv, cwd, backend, scratch_folder, in_memory=in_memory, **options)
        prepared.request["stdin"] = data
        reply = run_supervised(prepared.request, b"HOME=" + os.fsencode(scratch_folder) + b"\0")
    finally:
        if scratch is None and not in_memory:
            _remove_scratch(scratch_folder)
    return _result(prepared.name, prepared.backend, reply)


def scratch_path() -> str:
    """Return a new path for a scratch folder in memory, which does not exist outside of a sandbox."""
    return f"/prowess-run-{os.urandom(8).hex()}"


class Prepared(Frozen):
    """A command that can be started."""

    name: str
    backend: Backend
    request: Request


def prepare(
    argv: Sequence[Path],
    cwd: Path,
    backend: Backend,
    scratch: str,
    *,
    in_memory: bool,
    env: Mapping[str, str] = EMPTY,
    limits: Limits | None = None,
    readable: Iterable[Path] = (),
    writable: Iterable[Path] = (),
    read_only: Iterable[Path] = (),
    layers: Iterable[Layer] = (),
    network: bool | NetworkRules = False,
    python: bool = True,
    unix_sockets: Iterable[Path] | None = None,
) -> Prepared:
    """Check the arguments of a command, and return the request for it; see `run`.

    With `in_memory`, for bwrap only, the scratch folder is a file system in memory, under a path from `scratch_path`.

    Raises:
        SandboxError: no sandbox is available, the program does not exist, or an argument is invalid.
    """
    limits = limits or Limits()
    words, variables, numbers = check_argv(argv), check_env(env), system_limits(limits)
    folder = existing_folder(cwd, "the working directory")
    read = (folder, *(existing_path(path, "a readable path") for path in readable))
    write = tuple(existing_path(path, "a writable path") for path in writable)
    sockets = None if unix_sockets is None else check_sockets(unix_sockets)
    fixed = tuple(existing_path(path, "a read-only path") for path in read_only)
    layers = tuple(layers)
    variables = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "HOME": scratch, "TMPDIR": scratch, **variables}
    if python:
        variables["PATH"] = f"{runtime_folder()}/bin:{variables['PATH']}"
    proxy_rules, proxy_settings = _network(network, backend.name)
    variables |= proxy_settings
    needs_group = limits.memory is not None and is_usable()
    confinement = Confinement(
        cwd=folder,
        env=variables,
        readable=read,
        writable=write if in_memory else (scratch, *write),
        read_only=fixed,
        network=bool(network),
        unix_sockets=sockets,
        memory=limits.memory,
        scratch=scratch if in_memory else None,
        counted_memory=needs_group or limits.memory is None,
        # Where the user has set the bit, so that all files belong to one group, copying a folder sets it too.
        group_bits=any(os.stat(path).st_mode & stat.S_ISGID for path in write),
    )
    changes = {os.fsdecode(layer[0]): os.fsdecode(layer[3]) for layer in layers}
    program = find_program(words[0], folder, variables["PATH"])
    command, bwrap_files = backend.command_words(confinement, [program, *words[1:]])
    if backend.name == "bwrap":
        # A variable such as LD_PRELOAD must not reach bwrap itself; the command gets its variables from the arguments.
        variables, folder = {"HOME": scratch}, "/"
    elif command[0] == program:
        command[0] = words[0]
    request = make_request(
        path=os.fsencode(program if backend.name == "none" else backend.path),
        argv=[os.fsencode(word) for word in command],
        env={os.fsencode(name): os.fsencode(value) for name, value in variables.items()},
        cwd=os.fsencode(folder),
        bwrap_files=bwrap_files,
        layers=layers,
        network=proxy_rules,
        limits=numbers,
        needs_group=needs_group,
        tmpfs=tuple(map(os.fsencode, tmpfs_folders(confinement.scratch))) if backend.name == "bwrap" else (),
        scratch=b"" if in_memory else os.fsencode(scratch),
        folders=_limited_folders(limits, (changes.get(path, path) for path in write)),
        timeout=float(limits.timeout),
        output=limits.output,
    )
    return Prepared(name=words[0], backend=backend, request=request)


def _limited_folders(limits: Limits, folders: Iterable[str]) -> dict[bytes, tuple[int, int | None]]:
    """Return the bytes and the number of files that each folder may have."""
    if limits.folder_size is None and limits.folder_files is None:
        return {}
    size = MAX_LIMIT if limits.folder_size is None else limits.folder_size
    return {os.fsencode(folder): (size, limits.folder_files) for folder in folders}


def _network(network: bool | NetworkRules, backend: str) -> tuple[dict[str, object] | None, dict[str, str]]:
    """Return the rules for the proxy of a command, `None` for no proxy, and the variables that name it."""
    if not network or backend == "none":
        return None, {}
    from prowess.net import NetworkRules

    rules = NetworkRules() if network is True else network
    return rules.as_fields(), proxy_variables(rules, backend)


def _result(name: str, backend: Backend, reply: Reply) -> Result:
    """Return how a command ended.

    Raises:
        SandboxError: it was never started, or could not be ended.
    """
    status, timed_out, stdout, stderr = reply["status"], reply["timed_out"], reply["stdout"], reply["stderr"]
    if error := reply["layer_error"]:
        raise LayerError(f"a layer over a folder cannot be made: {os.strerror(error).lower()}")
    if error := reply["error"]:
        hint = _START_HINTS.get(error, "check whether it runs in a terminal")
        raise SandboxError(f"{quoted(name)} cannot be started: {os.strerror(error).lower()}", hint=hint)
    if reply["has_survivors"]:
        raise SandboxError(f"a process that {quoted(name)} started cannot be killed", hint="look for it with `ps`")
    if backend.name == "bwrap" and status == 1 and stderr.startswith(b"bwrap: ") and not (timed_out or stdout):
        raise _bwrap_error(name, backend, stderr)
    if reason := reply["network_error"]:
        hint = "allow bubblewrap to create user namespaces, or run it without the network"
        raise SandboxError(f"{quoted(name)} cannot be given the network: {reason}", hint=hint)
    return Result(
        exit_code=None if timed_out else 128 - status if status < 0 else status,
        timed_out=timed_out,
        stdout=stdout,
        stderr=stderr,
        stdout_size=reply["sizes"][0],
        stderr_size=reply["sizes"][1],
        duration=reply["duration"],
        killed=reply["killed"],
        out_of_memory=reply["out_of_memory"],
        out_of_space=reply["out_of_space"],
        backend=backend.name,
        refused_hosts=tuple(reply["refused_hosts"]),
    )


def _bwrap_error(name: str, backend: Backend, stderr: bytes) -> SandboxError:
    """Return the error for a command that bwrap did not start."""
    reason = neutral(stderr[7:500].decode("utf-8", "replace").strip())
    if reason.startswith("execvp "):
        hint = "make the folders it needs readable, and check that the program in its first line exists"
        return SandboxError(f"{quoted(name)} cannot be started in the sandbox: {reason}", hint=hint)
    forget_probe(backend)
    return SandboxError(f"`bwrap` cannot run {quoted(name)}: {reason}", hint="check that all paths exist")


def _remove_scratch(folder: str) -> None:
    """Remove a scratch folder, which is mostly empty."""
    try:
        os.rmdir(folder)
    except OSError:
        with suppress(OSError):
            remove_tree(folder)
