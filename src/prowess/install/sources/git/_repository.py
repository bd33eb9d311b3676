"""Fetch one commit into an empty repository, without running anything of the source.

Run git on an empty repository of our own, and fetch one commit of a source into it.

Run one command of git, and stop it when it uses more than a source may.

What git writes comes from the server too, so messages are shown without control characters, and without
the user and password of a URL.

No content of a source decides what runs: there is no working tree, so no filter, attribute, hook or conversion of line
ends; submodules are not followed; no redirect is followed; only the transport that the source names is allowed, and
HTTPS and ssh, by which the user's settings may replace it. The user's configuration is read, since the helpers that
keep credentials are in it.

Find where a server of git moved a repository. Git itself would follow a redirect to any host.

Find the commit that a branch, a tag or the beginning of a commit means, and fetch it.
"""

from __future__ import annotations

import os
import re
import selectors
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from time import monotonic

from prowess._internal.frozen import Frozen
from prowess._internal.fs import remove_tree
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import InstallError
from prowess.lock import os_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self, TextIO, TypeVar

    Answer = TypeVar("Answer")

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


REMOTE = "prowess-source"
"""The name of the source; no configuration of a user has such a remote."""
_HARMLESS_FAULTS = (
    "badDate",
    "badDateOverflow",
    "badEmail",
    "badName",
    "badTimezone",
    "gitmodulesParse",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "missingTaggerEntry",
    "multipleAuthors",
    "nulInCommit",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
)
"""What old tools wrote, and nothing here reads; git would refuse the repository."""
_SETTINGS = {
    "core": {
        "bare": "true",
        "bigFileThreshold": "16m",
        "fsmonitor": "false",
        "hooksPath": os.devnull,
        "repositoryFormatVersion": "1",
    },
    "fetch": {
        "fsckObjects": "true",
        "negotiationAlgorithm": "noop",
        "recurseSubmodules": "false",
        "showForcedUpdates": "false",
        "unpackLimit": "1",
        "writeCommitGraph": "false",
    },
    'fetch "fsck"': dict.fromkeys(_HARMLESS_FAULTS, "ignore"),
    "gc": {"auto": "0"},
    # The last two also end a download of which nothing is left but git.
    "http": {"followRedirects": "false", "lowSpeedLimit": "1", "lowSpeedTime": "60"},
    "maintenance": {"auto": "false"},
    "protocol": {"version": "2"},
    "submodule": {"recurse": "false"},
    "transfer": {"bundleURI": "false"},
}
_KEPT_VARIABLES = re.compile(
    r"GIT_(?:ASKPASS|CONFIG_(?:COUNT|GLOBAL|KEY_\d+|NOSYSTEM|SYSTEM|VALUE_\d+)|EXEC_PATH|HTTP_USER_AGENT"
    r"|PROXY_SSL_\w+|SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|TERMINAL_PROMPT)"
)
"""Variables of git that say how the user reaches servers. Others say where a repository is, or what to log."""


class GitRepository:
    """A repository with nothing in it but what is fetched from one source.

    Args:
        folder: an empty folder for it.
        url: of the source, without credentials.
        protocol: the transport of the URL, as git names it.
        env: the user's environment.
        limits: what a command may use.
        progress: called with lines about what arrives.
    """

    def __init__(
        self,
        folder: str,
        url: str,
        protocol: str,
        *,
        env: Mapping[str, str],
        limits: GitLimits,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.folder, self.url, self.limits = folder, url, limits
        self._progress = progress
        self._env = git_environment(env, protocol) | {"GIT_DIR": folder}
        self._prompts = self._env.get("GIT_TERMINAL_PROMPT") != "0"
        self._packs = os.path.join(folder, "objects", "pack")
        self._object_format = ""

    def begin(self, object_format: str = "sha1") -> None:
        """Write what makes the folder a repository; what was fetched before is removed.

        Args:
            object_format: the hash of its objects, `sha1` or `sha256`.

        Raises:
            InstallError: the folder cannot be written.
        """
        self._object_format = object_format
        with os_errors("cannot prepare a folder for git", "make room on the disk"):
            for name in os.listdir(self.folder):
                path = os.path.join(self.folder, name)
                remove_tree(path) if os.path.isdir(path) else os.unlink(path)
            os.makedirs(self._packs)
            os.mkdir(os.path.join(self.folder, "refs"))
            with open(os.path.join(self.folder, "HEAD"), "x", encoding="ascii") as file:
                file.write("ref: refs/heads/main\n")
            self._write_configuration()

    def _write_configuration(self) -> None:
        settings: dict[str, Mapping[str, str]] = {
            **_SETTINGS,
            "extensions": {"objectFormat": self._object_format},
            f'remote "{REMOTE}"': {"url": self.url},
        }
        lines = []
        for section, values in settings.items():
            lines.append(f"[{section}]\n")
            for key, value in values.items():
                text = value.replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'\t{key} = "{text}"\n')
        with open(os.path.join(self.folder, "config"), "w", encoding="utf-8") as file:
            file.writelines(lines)

    def fetch(self, *arguments: str, stdin: bytes = b"") -> None:
        """Run `git fetch`.

        Raises:
            GitError: it failed, or what arrives is too much or too slow.
        """
        with suppress(OSError):
            os.unlink(os.path.join(self.folder, "FETCH_HEAD"))
        options = ("--no-tags", "--no-auto-maintenance", "--no-recurse-submodules")
        progress = "--no-progress" if self._progress is None else "--progress"
        try:
            self.run("fetch", *options, progress, *arguments, stdin=stdin)
        finally:
            # After a part was fetched, git adds settings by which each later command would fetch the rest.
            self._write_configuration()

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git to its end, and return its output.

        Raises:
            GitError: it failed, or uses too much.
        """
        with GitProcess(("git", *arguments), self._env, self.folder, stdin, own_group=not self._prompts) as process:
            size, progress = self._fetched_size, self._progress
            return OutputReader(process, self.url, self.limits, size, progress=progress, prompts=self._prompts).read()

    def start(self, *arguments: str) -> GitProcess:
        """Start a command of git that talks over pipes, and not to the source.

        Raises:
            InstallError: git cannot be started.
        """
        env = {**self._env, "GIT_ALLOW_PROTOCOL": "none"}
        return GitProcess(("git", *arguments), env, self.folder, None, own_group=True)

    def fetched_object(self) -> str | None:
        """Return the name of the object that was fetched; it may be that of a tag."""
        name = self._fetch_head().partition("\t")[0]
        return name if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name) else None

    def fetched_tag(self) -> bool:
        """Return whether a tag was fetched by its name."""
        return self._fetch_head().split("\t")[-1].startswith("tag ")

    def _fetch_head(self) -> str:
        path = os.path.join(self.folder, "FETCH_HEAD")
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(4096)
        return ""

    def _fetched_size(self) -> int:
        """Return the bytes that have arrived."""
        size = 0
        with suppress(OSError), os.scandir(self._packs) as entries:
            for entry in entries:
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_size
        return size


def git_environment(env: Mapping[str, str], protocol: str) -> dict[str, str]:
    """Return the user's environment, without what leads git to another repository or prints requests."""
    kept = {
        name: value for name, value in env.items() if not name.startswith("GIT_") or _KEPT_VARIABLES.fullmatch(name)
    }
    kept |= {
        "GIT_ALLOW_PROTOCOL": ":".join(dict.fromkeys((protocol, "https", "ssh"))),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LANGUAGE": "C",
        "LC_ALL": "C",
    }
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        kept["GIT_TERMINAL_PROMPT"] = "0"
    return kept


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


_SUFFIX = "/info/refs"
_MAX_ANSWER = 1 << 20
_TIMEOUT = 30.0


def moved_url(url: str) -> str | None:
    """Return the new URL of a repository on the same server, or `None` if the server does not say so.

    No credentials are sent.

    Raises:
        InstallError: it is on another server, or the server cannot be reached.
    """
    from prowess.net import HttpSource  # takes as long to load as all the rest

    with HttpSource(url) as server:
        response = server.request(
            "GET",
            f"{url.rstrip('/')}{_SUFFIX}?service=git-upload-pack",
            headers={"Git-Protocol": "version=2"},
            limit=_MAX_ANSWER,
            deadline=time.monotonic() + _TIMEOUT,
        )
    moved = response.url.text.partition("?")[0]
    return moved.removesuffix(_SUFFIX) if moved.endswith(_SUFFIX) else None


_REF = re.compile(r"[^\W_][^\x00-\x20\x7f~^:?*\[\\]*")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}").fullmatch
_PART_OF_COMMIT = re.compile(r"[0-9a-f]{7,63}").fullmatch
_ALL_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_LINE = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\t([^\t]+)").fullmatch
_COMMITS_ONLY = "--filter=tree:0"
_UNKNOWN = re.compile("find remote ref|no such remote ref|not our ref|unadvertised object")
_REDIRECT = re.compile("returned error: 30[12378]")
_HINT = "check the branch, tag or commit after the `#`"


def fetch_object(repository: GitRepository, ref: str | None, filters: str | None) -> str:
    """Fetch the content of one commit, and return the name of the commit or of a tag that points to it.

    Args:
        repository: gets the content; what was in it is removed.
        ref: a branch, a tag or a commit; by default the default branch.
        filters: what to leave out, as `git fetch --filter` has it.

    Raises:
        InstallError: the source has no such commit, or cannot be read.
    """
    _check_ref(ref)
    name = ref or "HEAD"
    options = () if filters is None else (f"--filter={filters}",)

    def fetch_one(name: str) -> str:
        repository.fetch("--depth=1", *options, REMOTE, name)
        fetched = repository.fetched_object()
        if fetched is None:
            raise InstallError(f"git fetched nothing from {quoted(repository.url, PATH_LIMIT)}", hint=_HINT)
        return fetched

    def fetch_history() -> str:
        repository.fetch(*options, REMOTE, *_ALL_REFS)
        return name

    if _PART_OF_COMMIT(name) and not _COMMIT(name):
        newest = _find_newest(name, _begin(repository, lambda: _list_refs(repository, "--heads", "--tags")))
        return _begin(repository, lambda: fetch_one(newest))
    try:
        return _begin(repository, lambda: fetch_one(name))
    except GitError as error:
        if not _COMMIT(name) or not _UNKNOWN.search(error.stderr):
            raise
    return _begin(repository, fetch_history)  # the server only gives commits that it lists


def _find_newest(name: str, listed: list[tuple[str, str]]) -> str:
    """Return the newest commit of a branch or tag that begins with a name.

    Raises:
        InstallError: there is not exactly one, or a branch or tag has this name: its owner may have made it so that
            people install it instead of the commit.
    """
    whole = "write the whole name of the commit: 40 digits"
    for kind, ref in (("branch", f"refs/heads/{name}"), ("tag", f"refs/tags/{name}")):
        if any(ref == other for _, other in listed):
            message = f"{quoted(name)} may be the beginning of a commit, and a {kind} has this name too"
            raise InstallError(message, hint=f"{whole}; or `{ref}` for the {kind}")
    newest = {oid for oid, _ in listed if oid.startswith(name)}
    if len(newest) == 1:
        return newest.pop()
    problem = (
        "begins more than one commit"
        if newest
        else "is not a branch or tag, or the beginning of the newest commit of one"
    )
    raise InstallError(f"{quoted(name)} {problem}", hint=whole)


def is_later(repository: GitRepository, commit: str, earlier: str) -> bool | None:
    """Return whether an earlier commit is in the history of another one; `None` if the source does not say.

    Commits alone are fetched where the server can do that: first those since the date of the earlier one.

    Args:
        repository: gets the commits; what was in it is removed.
        commit: its name.
        earlier: the name of the other.

    Raises:
        InstallError: git is missing, or a folder cannot be written.
    """
    ways: list[tuple[str, ...]] = [()]
    with suppress(GitError, ValueError):
        _begin(repository, lambda: repository.fetch("--depth=1", _COMMITS_ONLY, REMOTE, earlier))
        date = int(repository.run("log", "-1", "--format=%ct", earlier))
        ways.insert(0, (f"--shallow-since=@{date - 1} +0000",))
    is_known = False
    for options in ways:
        with suppress(GitError):
            _begin(repository, partial(repository.fetch, *options, _COMMITS_ONLY, REMOTE, commit))
            is_known = not options
            # Prints those that no other one has in its history, and fails if one is missing.
            if repository.run("merge-base", "--independent", commit, earlier).split() == [commit.encode()]:
                return True
    return False if is_known else None


def _check_ref(ref: str | None) -> None:
    """Check that git reads a ref as a name and nothing else.

    Raises:
        InstallError: it is invalid.
    """
    if ref is None:
        return
    is_strange = ".." in ref or "@{" in ref or "//" in ref or "/." in ref or ref.endswith(("/", ".", ".lock"))
    if is_strange or len(ref) > 255 or not _REF.fullmatch(ref) or not ref.isprintable():
        raise InstallError(f"invalid branch, tag or commit {quoted(ref)}", hint=_HINT)


def _begin(repository: GitRepository, action: Callable[[], Answer]) -> Answer:
    """Begin with an empty repository, and do something in it.

    Again if the source has the other kind of hash, or has another URL on the same server.
    """
    object_format, is_moved = "sha1", False
    while True:
        repository.begin(object_format)
        try:
            return action()
        except GitError as error:
            if "mismatched algorithms" in error.stderr and object_format == "sha1":
                object_format = "sha256"
            elif _REDIRECT.search(error.stderr) and not is_moved and (moved := moved_url(repository.url)):
                repository.url, is_moved = moved, True
            else:
                raise


def _list_refs(repository: GitRepository, *options: str) -> list[tuple[str, str]]:
    """Return the references of the source: the object, and the name.

    Raises:
        GitError: it cannot be read.
    """
    lines = repository.run("ls-remote", *options, REMOTE).decode("utf-8", "replace").split("\n")
    return [(found[1], found[2]) for found in map(_LINE, lines) if found]
