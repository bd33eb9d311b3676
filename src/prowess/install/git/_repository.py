"""Fetch with the git command into an empty repository of our own.

No content of a source decides what runs: there is no working tree, so no filter, attribute, hook or conversion of line
ends; submodules are not followed; no redirect is followed; only the transport that the source names is allowed, and
HTTPS and ssh, by which the user's settings may replace it. The user's configuration is read, since the helpers that
keep credentials are in it.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress

from prowess._internal.fs import remove_tree
from prowess._internal.text import describe_os_error
from prowess.errors import InstallError

from ._process import GitLimits, GitProcess, OutputReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

__all__ = ["REMOTE", "GitRepository"]

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
        self._env = _environment(env, protocol) | {"GIT_DIR": folder}
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
        try:
            for name in os.listdir(self.folder):
                path = os.path.join(self.folder, name)
                remove_tree(path) if os.path.isdir(path) else os.unlink(path)
            os.makedirs(self._packs)
            os.mkdir(os.path.join(self.folder, "refs"))
            with open(os.path.join(self.folder, "HEAD"), "x", encoding="ascii") as file:
                file.write("ref: refs/heads/main\n")
            self._write_configuration()
        except OSError as error:
            message = f"cannot prepare a folder for git: {describe_os_error(error)}"
            raise InstallError(message, hint="make room on the disk") from None

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
        try:
            with open(os.path.join(self.folder, "FETCH_HEAD"), encoding="utf-8", errors="replace") as file:
                name = file.readline(4096).partition("\t")[0]
        except OSError:
            return None
        return name if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name) else None

    def _fetched_size(self) -> int:
        """Return the bytes that have arrived."""
        size = 0
        with suppress(OSError), os.scandir(self._packs) as entries:
            for entry in entries:
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_size
        return size


def _environment(env: Mapping[str, str], protocol: str) -> dict[str, str]:
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
