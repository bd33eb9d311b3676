"""Run git in a repository without running anything that the repository configures.

Git runs the programs that a repository's configuration names (hooks, filters, monitors, helpers, programs for
signatures, diffs and connections) without asking, and the author of the folder chose them. So a first call of git lists
the configuration's keys, and the next call overrides every key that names a command with an empty value. The user's own
configuration is not read, except for the author's name and email.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.agent.policy import RefusedError, ToolFailedError

from ._commands import decode_output, find_program, run_command
from ._paths import open_folder, open_regular_file, resolve_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import ToolContext
    from prowess.sandbox import Result

__all__ = ["GitRepository"]

_COMMAND_KEYS = re.compile(
    r"(?:alias|hook|pager|browser|mergetool|difftool|credential)\..*|.*(?:command|textconv|clean|smudge|process|required"
    r"|driver|program|cmd|helper|editor|pager|askpass|hookspath|fsmonitor|proxy|uploadpack|receivepack|vcs|external)",
    re.ASCII | re.DOTALL,
)
"""Keys that name a command, or require one to succeed; git writes sections and names in lower case."""
_FIXED_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.untrackedCache": "false",
    "diff.external": "",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "status.submoduleSummary": "false",
    "diff.submodule": "short",
    "log.showSignature": "false",
    "diff.orderFile": os.devnull,
    "commit.gpgSign": "false",
    "commit.template": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_GIT_ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    # These override the configuration: nothing is fetched, even in a partial clone.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
_PROBE_KEY = "prowess.heard"
_MAX_CONFIG_BYTES = 90_000
_MAX_ERROR_BYTES = 4000
"""Bytes of git's own error message."""


class GitRepository(Frozen):
    """A repository to run git in."""

    folder: str
    """The folder of the configuration, absolute and without links; paths are relative to it."""
    context: ToolContext
    timeout: float
    max_output_bytes: int

    @classmethod
    def from_options(cls, options: Mapping[str, Any], context: ToolContext) -> GitRepository:
        """Return the repository of a configuration; each call checks that it exists.

        Raises:
            ConfigError: the folder does not exist, or the policy does not allow it.
        """
        folder = resolve_folder(context, options["repo_path"], "repo_path")
        return cls(
            folder=folder,
            context=context,
            timeout=options["timeout_seconds"],
            max_output_bytes=options["max_output_bytes"],
        )

    def git(
        self,
        *arguments: str,
        writes: bool = False,
        stdin: bytes | None = None,
        default_settings: Mapping[str, str] = EMPTY,
    ) -> str:
        """Run git and return its output.

        Args:
            arguments: the command of git and its arguments.
            writes: whether the command changes the repository.
            stdin: the standard input.
            default_settings: settings to use unless the repository has its own.

        Raises:
            ToolFailedError: git failed; the message contains git's own.
        """
        done = self._run_checked(arguments, writes=writes, stdin=stdin, default_settings=default_settings)
        return decode_output(done.stdout, done.stdout_size)

    def _run_checked(
        self,
        arguments: tuple[str, ...],
        *,
        writes: bool = False,
        stdin: bytes | None = None,
        default_settings: Mapping[str, str] = EMPTY,
    ) -> Result:
        tree, folders = self._locate()
        keys = self._config_keys(tree, folders)
        if arguments[0] == "blame" and "blame.ignorerevsfile" in keys:
            # If the file is not a list of commits, git shows its first line, and no setting prevents that.
            raise RefusedError(
                "the repository sets `blame.ignoreRevsFile`, which can name any file; use `git_log` with a path"
            )
        settings = {key: value for key, value in default_settings.items() if key not in keys}
        settings |= {key: "" for key in keys if _COMMAND_KEYS.fullmatch(key.lower())}
        # Later settings override earlier ones.
        settings |= _FIXED_SETTINGS
        done = self._run_git(
            arguments, tree, folders, settings, writes=writes, stdin=stdin, max_output_bytes=self.max_output_bytes
        )
        if done.timed_out:
            raise ToolFailedError(
                f"git took longer than {self.timeout:g} seconds; ask for less, for example with a path"
            )
        if done.exit_code:
            detail = decode_output(done.stderr[:_MAX_ERROR_BYTES] or done.stdout[:_MAX_ERROR_BYTES], 0)
            raise ToolFailedError(f"git failed (exit code {done.exit_code}): {detail}")
        return done

    def _run_git(
        self,
        arguments: tuple[str, ...],
        tree: str,
        folders: tuple[str, ...],
        settings: Mapping[str, str],
        *,
        max_output_bytes: int,
        writes: bool = False,
        stdin: bytes | None = None,
    ) -> Result:
        config_env = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings.items()):
            config_env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        program, needed = find_program("git", self.context.env)
        return run_command(
            [program, "--no-pager", *arguments],
            self.context,
            cwd=self.folder,
            timeout=self.timeout,
            max_output_bytes=max_output_bytes,
            env={**_GIT_ENV, **config_env, "GIT_DIR": folders[0], "GIT_WORK_TREE": tree},
            stdin=stdin,
            readable=(tree, *folders, *needed),
            writable=folders if writes else (),
        )

    def _config_keys(self, tree: str, folders: tuple[str, ...]) -> frozenset[str]:
        """Return the keys of the repository's configuration.

        Raises:
            ToolFailedError: it cannot be read, or git is too old.
        """
        arguments = ("config", "--list", "--name-only", "--null")
        done = self._run_git(arguments, tree, folders, {_PROBE_KEY: "1"}, max_output_bytes=_MAX_CONFIG_BYTES)
        if done.exit_code != 0 or done.stdout_size > len(done.stdout):
            detail = decode_output(done.stderr[:_MAX_ERROR_BYTES], 0) or "it is too large, or reading it took too long"
            raise ToolFailedError(f"cannot read the repository's configuration: {detail}")
        keys = done.stdout.decode("utf-8", "surrogateescape").split("\0")
        if _PROBE_KEY not in keys:
            raise ToolFailedError("this version of git is too old to use safely; git 2.31 or later is needed")
        return frozenset(keys) - {"", _PROBE_KEY}

    def _locate(self) -> tuple[str, tuple[str, ...]]:
        """Return the top folder of the repository, and git's own folders, this working tree's first.

        Raises:
            ToolFailedError: the folder is not in a repository.
            RefusedError: the policy does not allow one of the folders.
        """
        tree = self.folder
        while not os.path.lexists(f"{tree}/.git"):
            above = os.path.dirname(tree)
            if above == tree:
                raise ToolFailedError(
                    f"{quoted(self.folder, PATH_LIMIT)} is not in a git repository; go on without git"
                )
            tree = above
        self._resolve_allowed(tree)
        git_folder = f"{tree}/.git"
        if os.path.islink(git_folder):
            raise RefusedError("the repository's `.git` is a link, and links are not followed")
        if os.path.isdir(git_folder):
            return tree, (git_folder,)
        # In another working tree, or a submodule, a file names git's folder.
        named_folder = _read_first_line(tree, ".git").removeprefix("gitdir:").strip()
        git_folder = self._resolve_allowed(os.path.join(tree, named_folder))
        if not os.path.lexists(f"{git_folder}/commondir"):
            return tree, (git_folder,)
        common_folder = self._resolve_allowed(os.path.join(git_folder, _read_first_line(git_folder, "commondir")))
        return tree, (git_folder, common_folder)

    def _resolve_allowed(self, path: str) -> str:
        """Return the path of a folder that the policy allows, without links.

        Raises:
            RefusedError: the policy does not allow it.
        """
        if "\0" in path:
            raise RefusedError("the repository names a folder with a NUL character")
        return self.context.resolve_allowed(path)

    def refuse_filters(self, path: str) -> None:
        """Refuse to stage files that need a filter: filters are not run, so git would stage the raw bytes.

        Raises:
            RefusedError: a file needs a filter.
            ToolFailedError: there are too many files to check.
        """
        listed = self._run_checked(("ls-files", "-z", "--modified", "--others", "--exclude-standard", "--", path))
        if listed.stdout_size > len(listed.stdout):
            raise ToolFailedError("too many files to add at once; add one of the folders")
        if not listed.stdout:
            return
        checked = self._run_checked(("check-attr", "--stdin", "-z", "filter"), stdin=listed.stdout)
        fields = checked.stdout.split(b"\0")  # path, attribute, value; path, ...
        for name, value in zip(fields[::3], fields[2::3], strict=False):
            if value not in (b"unspecified", b"unset"):
                file = quoted(name.decode("utf-8", "replace"), PATH_LIMIT)
                raise RefusedError(f"{file} needs a filter (such as Git LFS), which is not run; ask the user to add it")

    def author_settings(self) -> dict[str, str]:
        """Return the settings for the author from the user's own configuration."""
        env = self.context.env
        home = env.get("HOME") or os.path.expanduser("~")
        settings = {"user.useconfigonly": "true"}
        for file in (f"{env.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git/config", f"{home}/.gitconfig"):
            real = os.path.realpath(file)
            for key in ("user.name", "user.email") if os.path.isfile(real) else ():
                value = self._config_value(real, key)
                if value:
                    settings[key] = value
        return settings

    def _config_value(self, file: str, key: str) -> str:
        """Return the value of a key in a configuration file, or an empty text."""
        program, needed = find_program("git", self.context.env)
        arguments = [program, "config", "--no-includes", "--file", file, "--get", key]
        readable = (file, *needed)
        done = run_command(
            arguments,
            self.context,
            cwd=self.folder,
            timeout=self.timeout,
            max_output_bytes=1000,
            env=_GIT_ENV,
            readable=readable,
        )
        return "" if done.exit_code else done.stdout.decode("utf-8", "replace").strip()


def _read_first_line(folder: str, name: str) -> str:
    """Return the first line of a small file."""
    parts = [part for part in folder.split("/") if part]
    with open_folder("/", parts) as fd, open_regular_file(fd, name, name) as (file_fd, _):
        return os.fsdecode(os.read(file_fd, 4096)).split("\n", 1)[0].strip()
