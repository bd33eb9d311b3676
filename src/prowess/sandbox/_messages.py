"""Pass requests and replies between the caller's process and a supervisor.

message = length marshal(dict)
length  = 8 bytes, big-endian
"""

from __future__ import annotations

import marshal

from prowess._internal.fs import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypedDict

    from prowess._internal.layers import Layer

    from ._control_groups import Group

    class Request(TypedDict):
        """A command to start."""

        path: bytes
        """Of the program."""
        argv: list[bytes]
        env: dict[bytes, bytes]
        """All of its environment."""
        cwd: bytes
        stdin: bytes
        bwrap_files: dict[int, bytes]
        """What bwrap reads from its descriptors; empty without bwrap."""
        layers: tuple[Layer, ...]
        """Layers over folders that get what the command writes there."""
        network: dict[str, Any] | None
        """The fields of `NetworkRules` for its proxy; `None` for no proxy."""
        limits: dict[str, int]
        """By the names in `_launch.LIMITS`."""
        needs_group: bool
        """Whether a control group must count its memory."""
        group: Group | None
        """The control group that counts its memory; the caller's choice while the request is made."""
        tmpfs: tuple[bytes, ...]
        """Where file systems in memory are in the sandbox."""
        scratch: bytes
        """A folder on a disk whose size counts; empty without one."""
        folders: dict[bytes, tuple[int, int | None]]
        """Folders whose files have limits: their bytes, and their number."""
        timeout: float
        """Seconds."""
        output: int
        """Bytes of each stream that are kept."""

    class Reply(TypedDict):
        """How a command ended."""

        error: int
        """The error number of the system if the command could not be started, else 0."""
        layer_error: int
        """The error number of the system if a layer could not be made, else 0."""
        network_error: str
        """Why the command was not given the network; empty if it was, or needed none."""
        status: int
        """Its exit code; below 0 the number of the signal that ended it."""
        timed_out: bool
        stdout: bytes
        stderr: bytes
        sizes: tuple[int, int]
        """Bytes written to each stream, kept or not."""
        duration: float
        """Seconds."""
        killed: int
        """Processes that were still running when the command had ended."""
        refused_hosts: list[str]
        """Why its proxy refused hosts, each reason once."""
        out_of_memory: bool
        """Whether a process was killed because of the limit of memory."""
        out_of_space: bool
        """Whether it was killed because a folder had too many files or bytes."""
        has_survivors: bool
        """Whether a process could not be killed in time."""


LENGTH_BYTES = 8


def send_message(fd: int, message: Mapping[str, object]) -> None:
    """Write a message to a pipe.

    Raises:
        OSError: the other process is gone.
    """
    data = marshal.dumps(dict(message))
    write_all(fd, len(data).to_bytes(LENGTH_BYTES, "big") + data)


def decode(data: bytes | memoryview) -> Any:
    """Decode the bytes of a request or a reply."""
    return marshal.loads(data)  # noqa: S302 - from a process that Prowess started, or that started this one


def make_request(**values: object) -> Request:
    """Return a request with some values; the others say that a command needs nothing of the kind."""
    request: Request = {
        "path": b"",
        "argv": [],
        "env": {},
        "cwd": b"/",
        "stdin": b"",
        "bwrap_files": {},
        "layers": (),
        "network": None,
        "limits": {},
        "needs_group": False,
        "group": None,
        "tmpfs": (),
        "scratch": b"",
        "folders": {},
        "timeout": 0.0,
        "output": 0,
    }
    request.update(values)  # type: ignore[typeddict-item]
    return request
