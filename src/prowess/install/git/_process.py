"""Run one command of git, and stop it when it uses more than a source may.

What git writes comes from the server too, so messages are shown without control characters, and without
the user and password of a URL.
"""

from __future__ import annotations

import os
import re
import selectors
import shlex
import signal
import subprocess
from contextlib import suppress
from time import monotonic

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

__all__ = ["GitError", "GitLimits", "GitProcess", "OutputReader"]

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_READ_SIZE = 1 << 20
_INTERVAL = 0.1
"""Seconds between two measurements of what has arrived."""
_MAX_STDERR = 1 << 24
_KEPT_STDERR = 1 << 14
_SHOWN_LINES, _SHOWN_CHARS = 4, 600
_PROMPT_TIMEOUT = 300.0
"""Seconds that a user has to answer the prompt for a password."""
_KILL_TIMEOUT = 2.0
_PAGE = 4096


class GitError(InstallError):
    """Git failed; `stderr` is what it wrote."""

    def __init__(self, message: str, *, hint: str | None = None, stderr: str = "") -> None:
        super().__init__(message, hint=hint)
        self.stderr = stderr


class GitLimits(Frozen):
    """How much one source may use."""

    size: int = 1 << 30
    """Bytes that are fetched, and bytes of the files that are written."""
    output: int = 1 << 26
    """Bytes of what git answers, such as a list of references."""
    memory: int = 2 << 30
    """Bytes of memory of git's processes; bounded on Linux."""
    idle: float = 60.0
    """Seconds without anything new."""
    total: float = 1800.0
    """Seconds of one command."""


class GitProcess:
    """A process of git, which is killed at the end of the block.

    Args:
        command: with its arguments.
        env: the environment.
        folder: the working directory.
        stdin: the standard input; `None` for a pipe.
        own_group: whether it has no terminal, and a process group for all that it starts.

    Raises:
        InstallError: it cannot be started.
    """

    def __init__(
        self, command: tuple[str, ...], env: Mapping[str, str], folder: str, stdin: bytes | None, *, own_group: bool
    ) -> None:
        self._own_group = own_group and os.name == "posix"
        try:
            self.process = subprocess.Popen(
                command,
                env=env,
                cwd=folder,
                stdin=subprocess.DEVNULL if stdin == b"" else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=self._own_group,
            )
        except FileNotFoundError:
            raise InstallError("the command git is missing", hint="install git") from None
        except OSError as error:
            raise InstallError(
                f"git cannot be started: {describe_os_error(error)}", hint="run `git --version`"
            ) from None
        if stdin and self.process.stdin is not None:
            with suppress(OSError), self.process.stdin as pipe:
                pipe.write(stdin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _kill(self) -> None:
        """End git and what it started. On a terminal git is in the group of this process, and ends its helpers."""
        if self._own_group:
            with suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        elif self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(_KILL_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class OutputReader:
    """Reads what a process writes to its end.

    Args:
        process: the process.
        url: of the source, for messages.
        limits: what the process may use.
        fetched_size: returns the bytes that have arrived on the disk.
        progress: called with lines about them.
        prompts: whether the user may be asked for a password.
    """

    def __init__(
        self,
        process: GitProcess,
        url: str,
        limits: GitLimits,
        fetched_size: Callable[[], int],
        *,
        progress: Callable[[str], None] | None = None,
        prompts: bool = False,
    ) -> None:
        self._process, self._url, self._limits = process.process, url, limits
        self._fetched_size, self._progress = fetched_size, progress
        self._first_timeout = max(limits.idle, _PROMPT_TIMEOUT) if prompts else limits.idle
        self._output: list[bytes] = []
        self._sizes = {"stdout": 0, "stderr": 0}
        self._errors = b""

    def read(self) -> bytes:
        """Return the standard output.

        Raises:
            GitError: the command failed, or uses too much.
        """
        begin = checked = changed = monotonic()
        arrived = 0
        with selectors.DefaultSelector() as selector:
            for name in self._sizes:
                selector.register(getattr(self._process, name), selectors.EVENT_READ, name)
            while selector.get_map():
                for key, _ in selector.select(_INTERVAL):
                    if data := os.read(key.fd, _READ_SIZE):
                        self._add(key.data, data)
                    else:
                        selector.unregister(key.fileobj)
                if (now := monotonic()) - checked < _INTERVAL:
                    continue
                checked = now
                if (size := self._check_size()) != arrived:
                    arrived, changed = size, now
                self._check_time(now - changed, now - begin, is_first=not arrived)
                # A process that git leaves behind, such as a cache of credentials, may keep the streams open.
                if self._process.poll() is not None and not selector.select(0):
                    break
        if self._process.wait() != 0:
            raise self._failure()
        self._check_size()
        return b"".join(self._output)

    def _add(self, stream: str, data: bytes) -> None:
        self._sizes[stream] += len(data)
        if stream == "stdout":
            self._output.append(data)
            self._check_size()
            return
        self._errors = (self._errors + data)[-_KEPT_STDERR:]
        if self._progress is not None and (found := re.findall(rb"Receiving objects: *([0-9]{1,3})%", data)):
            self._progress(f"receiving {found[-1].decode('ascii')}%")

    def _check_size(self) -> int:
        """Return the bytes that have arrived.

        Raises:
            GitError: these are too many, or need too much memory.
        """
        limits, fetched = self._limits, self._fetched_size()
        if fetched > limits.size:
            hint = "name the skills that you want, or their folder: `SOURCE:FOLDER`"
            raise self._stopped(f"the source has more than {limits.size >> 20:,} MiB", hint)
        if self._sizes["stdout"] > limits.output or self._sizes["stderr"] > _MAX_STDERR:
            raise self._stopped("the server does not end its answer", "check the URL")
        if _memory_of(self._process.pid) > limits.memory:
            raise self._stopped("git needs too much memory for what the server sends", "check the URL")
        return fetched + sum(self._sizes.values())

    def _check_time(self, idle: float, total: float, *, is_first: bool) -> None:
        """Stop a process that takes too long.

        Raises:
            GitError: it does.
        """
        limits = self._limits
        if idle > (allowed := self._first_timeout if is_first else limits.idle):
            raise self._stopped(f"the server sent nothing for {allowed:g} seconds", "try again later")
        if total > limits.total:
            raise self._stopped(f"the server did not send all in {limits.total:g} seconds", "try again later")

    def _stopped(self, message: str, hint: str) -> GitError:
        return GitError(f"{message}: {quoted(self._url, PATH_LIMIT)}", hint=hint)

    def _failure(self) -> GitError:
        text = _CREDENTIALS.sub("", self._errors.decode("utf-8", "replace"))
        lines = [line.strip() for line in re.split(r"[\0\r\n]+", text) if line.strip()]
        said = [line for line in lines if not _NOISE.match(line)]
        shown = neutral("; ".join(said[-_SHOWN_LINES:]))[:_SHOWN_CHARS]
        message = f"git cannot read {quoted(self._url, PATH_LIMIT)}: {shown or f'exit code {self._process.returncode}'}"
        return GitError(message, hint=_hint(text, self._url), stderr=text)


_NOISE = re.compile(
    r"warning:|hint:|Please make sure you have|and the repository exists|remote: Total "
    r"|(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Resolving|Unpacking|Updating) "
)
"""Lines that git adds to its reason."""
_HINTS = (
    (r"could not read (?:Username|Password)|Authentication failed|Permission denied|HTTP Basic", "log in: {command}"),
    (r"Host key verification failed", "connect once with ssh, which then knows the host"),
    (r"find remote ref|not our ref|no such remote ref", "check the branch, tag or commit after the `#`"),
    (r"unknown option", "install git 2.29 or newer"),
    (
        r"Could not resolve host|Couldn't connect|Failed to connect|Connection refused|timed out",
        "check the host and the network",
    ),
    (r"[Rr]epository .*not found|does not appear to be a git|not exist|error: 404", "check the URL: {command}"),
    (r"dubious ownership", "the repository belongs to another user; see `safe.directory` in `git help config`"),
    (r"transport '.*' not allowed", "change the setting `url.….insteadOf` of git, which replaces the URL"),
)
"""What a message of git contains, and what to do then."""


def _hint(text: str, url: str) -> str:
    command = f"try `git ls-remote {shlex.quote(url)}`"
    return next((hint.format(command=command) for pattern, hint in _HINTS if re.search(pattern, text)), command)


def _memory_of(pid: int) -> int:
    """Return the memory that a process and all below it use for themselves; 0 where the system does not report it."""
    total = 0
    waiting = [pid]
    for _ in range(1000):
        if not waiting:
            break
        current = waiting.pop()
        with suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{current}/statm", encoding="ascii") as file:
                _, resident, shared = file.read().split()[:3]
            total += (int(resident) - int(shared)) * _PAGE
            with open(f"/proc/{current}/task/{current}/children", encoding="ascii") as file:
                waiting.extend(map(int, file.read().split()))
    return total
