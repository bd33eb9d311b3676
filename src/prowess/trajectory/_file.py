"""Write a trajectory while its conversation goes on: a file of ATIF that is complete after each step."""

from __future__ import annotations

import errno
import json
import os
import stat
from contextlib import suppress

from prowess._internal.fs import NO_LINK_FLAGS, give_to_caller_of_sudo, write_all
from prowess._internal.locked import lock_fd
from prowess._internal.text import describe_os_error, quoted
from prowess.errors import ConfigError

from ._places import UnreadableSessionError, check_status
from .atif import MAX_BYTES, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | NO_LINK_FLAGS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_MAX_TEXT = 65_536
"""Characters of one text that are recorded."""
_MAX_TEXTS = MAX_BYTES // 2
"""Bytes of a file after which texts are left out, so that what was used is still recorded."""
_END = b'\n],"final_metrics":'
_MAX_END = 512
"""Bytes after the last step."""


class TrajectoryFile:
    """The file of one conversation: one line for each step, and an end that each new step replaces.

    Nothing is kept in memory, so several processes may continue a conversation, one after the other or at once.

    Args:
        path: of the file, or an existing folder, which gets a file for each conversation. A file that is there already
            is continued if it is of the same conversation; otherwise it stays as it is, and the conversation gets a
            file of its own beside it.

    Raises:
        ConfigError: the path is a link or no regular file, or its folder does not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.option = os.path.abspath(os.fspath(path))
        self.path: str | None = None
        """The file that was written last; `None` before the first step."""
        self._paths: dict[str, str] = {}
        folder = os.path.dirname(self.option)
        try:
            mode = os.lstat(self.option).st_mode
        except OSError:
            if not os.path.isdir(folder):
                message = f"the folder of the trajectory does not exist: {quoted(folder, limit=200)}"
                raise ConfigError(message, hint="create it, or name another file") from None
        else:
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                message = f"a trajectory cannot be written to {quoted(self.option, limit=200)}: not a regular file"
                raise ConfigError(message, hint="name another file")

    def add(
        self,
        conversation: str,
        agent: Mapping[str, object],
        first: Callable[[], Iterable[dict[str, Any]]],
        steps: Iterable[dict[str, Any]],
        tokens: tuple[int, int] = (0, 0),
    ) -> None:
        """Add steps to the file of a conversation.

        Args:
            conversation: its ID, of letters and digits.
            agent: `agent` of ATIF, for a new file.
            first: returns the steps with which a new file begins; called for such a file only.
            steps: to add, without `step_id`.
            tokens: that these steps took, of prompts and of answers.

        Raises:
            OSError: the file cannot be written; it has what it had before.
        """
        head = f'{{"schema_version":"{VERSION}","session_id":"{conversation}","agent":'.encode()
        fd = self._open(conversation, head)
        try:
            size = os.fstat(fd).st_size
            if size:
                at, end = _end_of(fd, size)
                metrics = json.loads(end.removeprefix(_END).rstrip(b"}\n") + b"}")
                lines = []
            else:
                at, end, metrics = 0, b"", {}
                lines = [head + _json(agent) + b',"steps":[']
                steps = [*first(), *steps]
            number = int(metrics.get("total_steps", 0))
            for step in steps:
                number += 1
                text = _json({"step_id": number, **_cut(step, 0 if at > _MAX_TEXTS else _MAX_TEXT)})
                lines.append((b",\n" if number > 1 else b"\n") + text)
            names = ("total_prompt_tokens", "total_completion_tokens")
            totals = {name: metrics.get(name, 0) + count for name, count in zip(names, tokens, strict=True)}
            data = b"".join(lines) + _END + _json({**totals, "total_steps": number}) + b"}\n"
            if at + len(data) > MAX_BYTES:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), self.path)
            try:
                _write_at(fd, at, data)
            except OSError:
                with suppress(OSError):
                    _write_at(fd, at, end)
                    os.ftruncate(fd, at + len(end))
                raise
        except (ValueError, TypeError, AttributeError):
            raise OSError(errno.EINVAL, "the file is damaged", self.path) from None
        finally:
            os.close(fd)

    def _open(self, conversation: str, head: bytes) -> int:
        """Open and lock the file of a conversation: the one that was asked for, or one beside it.

        Raises:
            OSError: neither can be used.
        """
        if _is_folder(self.option):
            paths = [os.path.join(self.option, f"{conversation}.json")]
        else:
            stem, suffix = os.path.splitext(self.option)
            paths = [self.option, f"{stem}-{conversation[:8]}{suffix or '.json'}"]
        if (known := self._paths.get(conversation)) is not None:
            paths = [known]
        for path in paths:
            fd = os.open(path, _OPEN_FLAGS, 0o600)
            try:
                status = os.fstat(fd)
                check_status(path, status)
                lock_fd(fd)
                size = os.fstat(fd).st_size
                if not size:
                    give_to_caller_of_sudo(fd, os.path.dirname(path))
                if not size or _read_at(fd, 0, len(head)) == head:
                    self.path = self._paths[conversation] = path
                    return fd
                os.close(fd)
            except UnreadableSessionError as error:
                os.close(fd)
                raise OSError(errno.EPERM, str(error), path) from None
            except BaseException:
                with suppress(OSError):
                    os.close(fd)
                raise
        raise FileExistsError(errno.EEXIST, "the file has another trajectory", paths[-1])


def describe_failure(error: OSError) -> str:
    """Return why a trajectory is not complete, and what to do."""
    return f"the trajectory is not complete: {describe_os_error(error)}; write it to another file"


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _read_at(fd: int, at: int, size: int) -> bytes:
    os.lseek(fd, at, os.SEEK_SET)
    return os.read(fd, size)


def _write_at(fd: int, at: int, data: bytes) -> None:
    os.lseek(fd, at, os.SEEK_SET)
    write_all(fd, data)


def _end_of(fd: int, size: int) -> tuple[int, bytes]:
    """Return where the steps of a file end, and what follows.

    Raises:
        ValueError: the file is damaged.
    """
    start = max(0, size - _MAX_END)
    data = _read_at(fd, start, _MAX_END)
    at = data.rindex(_END)
    return start + at, data[at:]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")


def _cut(step: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """Return a step whose texts have at most so many characters each; longer arguments are left out."""
    step = {**step, "message": step["message"][:limit]}
    if "tool_calls" in step:
        calls = [
            {**call, "arguments": call["arguments"] if len(_json(call["arguments"])) <= limit else {}}
            for call in step["tool_calls"]
        ]
        results = [{**result, "content": result["content"][:limit]} for result in step["observation"]["results"]]
        step |= {"tool_calls": calls, "observation": {"results": results}}
    return step
