"""a folder -> the repository it lies in, and git without anything a repository can make it run

What a repository's configuration names (hooks, filters, monitors, helpers, programs for signatures, for differences
and for connections) is run by git without asking, and whoever made the folder chose it. So its configuration is read
first, by itself, and every key of which git makes a command is emptied in the call that follows. The user's own
configuration is not read at all.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted
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
"""Keys that name a command, or that want one to succeed; git writes sections and names in lower case."""
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
    # Above what any configuration says of protocols: nothing is fetched, also not what a partial clone lacks.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
_PROBE_KEY = "prowess.heard"
_MAX_CONFIG_BYTES = 90_000
_MAX_ERROR_BYTES = 4000
"""Bytes of git's words for what went wrong."""


class GitRepository(Frozen):
    """A repository, and how git is run in it."""

    folder: str
    """Where the configuration says, absolute and without links: paths begin here."""
    context: ToolContext
    timeout: float
    max_output_bytes: int
    """Bytes of output."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any], context: ToolContext) -> GitRepository:
        """Return the repository of a configuration; whether there is one is seen at each call.

        Raises:
            ConfigError: there is no such folder, or the policy does not open it.
        """
        folder = resolve_folder(context, options["repo_path"], "repo_path")
        return cls(
            folder=folder,
            context=context,
            timeout=options["timeout_seconds"],
            max_output_bytes=options["max_output_bytes"],
        )

    def git(
        self, *words: str, writes: bool = False, stdin: bytes | None = None, default_settings: Mapping[str, str] = EMPTY
    ) -> str:
        """Run git and return what it writes.

        Args:
            words: what it is told.
            writes: whether it changes the repository.
            stdin: what it reads.
            default_settings: settings for where the repository has none of its own.

        Raises:
            ToolFailedError: it failed; in its words.
        """
        done = self._run_checked(words, writes=writes, stdin=stdin, default_settings=default_settings)
        return decode_output(done.stdout, done.stdout_size)

    def _run_checked(
        self,
        words: tuple[str, ...],
        *,
        writes: bool = False,
        stdin: bytes | None = None,
        default_settings: Mapping[str, str] = EMPTY,
    ) -> Result:
        tree, folders = self._locate()
        keys = self._config_keys(tree, folders)
        if words[0] == "blame" and "blame.ignorerevsfile" in keys:
            # Git tells the first line of a file that is no list of commits, and no setting of ours takes it back.
            said = "the repository sets `blame.ignoreRevsFile`, which can name any file; use `git_log` with a path"
            raise RefusedError(said)
        settings = {key: value for key, value in default_settings.items() if key not in keys}
        settings |= {key: "" for key in keys if _COMMAND_KEYS.fullmatch(key.lower())}
        # The last one counts.
        settings |= _FIXED_SETTINGS
        done = self._run_git(
            words, tree, folders, settings, writes=writes, stdin=stdin, max_output_bytes=self.max_output_bytes
        )
        if done.timed_out:
            raise ToolFailedError(f"git took longer than {self.timeout:g} seconds; ask for less, as by a path")
        if done.exit_code:
            said = decode_output(done.stderr[:_MAX_ERROR_BYTES] or done.stdout[:_MAX_ERROR_BYTES], 0)
            raise ToolFailedError(f"git could not do it (exit code {done.exit_code}): {said}")
        return done

    def _run_git(
        self,
        words: tuple[str, ...],
        tree: str,
        folders: tuple[str, ...],
        settings: Mapping[str, str],
        *,
        max_output_bytes: int,
        writes: bool = False,
        stdin: bytes | None = None,
    ) -> Result:
        told = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings.items()):
            told |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        program, needed = find_program("git", self.context.env)
        return run_command(
            [program, "--no-pager", *words],
            self.context,
            cwd=self.folder,
            timeout=self.timeout,
            max_output_bytes=max_output_bytes,
            env={**_GIT_ENV, **told, "GIT_DIR": folders[0], "GIT_WORK_TREE": tree},
            stdin=stdin,
            readable=(tree, *folders, *needed),
            writable=folders if writes else (),
        )

    def _config_keys(self, tree: str, folders: tuple[str, ...]) -> frozenset[str]:
        """Return the keys of the repository's configuration.

        Raises:
            ToolFailedError: it cannot be read, or not by this git.
        """
        words = ("config", "--list", "--name-only", "--null")
        done = self._run_git(words, tree, folders, {_PROBE_KEY: "1"}, max_output_bytes=_MAX_CONFIG_BYTES)
        if done.exit_code != 0 or done.stdout_size > len(done.stdout):
            said = decode_output(done.stderr[:_MAX_ERROR_BYTES], 0) or "it is too large, or took too long"
            raise ToolFailedError(f"the repository's configuration cannot be read: {said}")
        keys = done.stdout.decode("utf-8", "surrogateescape").split("\0")
        if _PROBE_KEY not in keys:
            raise ToolFailedError("this git is too old to be used safely; 2.31 is the first that is not")
        return frozenset(keys) - {"", _PROBE_KEY}

    def _locate(self) -> tuple[str, tuple[str, ...]]:
        """Return the top folder of the repository, and git's own: the one of this tree first.

        Raises:
            ToolFailedError: there is no repository.
            RefusedError: it lies elsewhere.
        """
        tree = self.folder
        while not os.path.lexists(f"{tree}/.git"):
            above = os.path.dirname(tree)
            if above == tree:
                raise ToolFailedError(f"{quoted(self.folder, 200)} is in no git repository; go on without git")
            tree = above
        self._resolve_allowed(tree)
        own = f"{tree}/.git"
        if os.path.islink(own):
            raise RefusedError("the repository's `.git` is a link, which is not followed")
        if os.path.isdir(own):
            return tree, (own,)
        # A further working tree, or a submodule: a file says where git's folder is.
        own = self._resolve_allowed(os.path.join(tree, _read_first_line(tree, ".git").removeprefix("gitdir:").strip()))
        if not os.path.lexists(f"{own}/commondir"):
            return tree, (own,)
        return tree, (own, self._resolve_allowed(os.path.join(own, _read_first_line(own, "commondir"))))

    def _resolve_allowed(self, path: str) -> str:
        """Return a folder without links that the policy opens.

        Raises:
            RefusedError: it does not open this one.
        """
        policy = self.context.policy
        if not policy.roots and self.context.skill is not None:
            policy = policy.with_changes(roots=(self.context.folder,))
        if "\0" in path:
            raise RefusedError("the repository names a folder with a NUL character")
        return policy.resolve_in_roots(path) if policy.roots else os.path.realpath(path)

    def refuse_filters(self, path: str) -> None:
        """See to it that what is to be staged needs no filter: none is run, so that its raw bytes would be staged.

        Raises:
            ToolFailedError: something needs one.
        """
        listed = self._run_checked(("ls-files", "-z", "--modified", "--others", "--exclude-standard", "--", path))
        if listed.stdout_size > len(listed.stdout):
            raise ToolFailedError("these are too many files to add at once; add one of the folders")
        if not listed.stdout:
            return
        said = self._run_checked(("check-attr", "--stdin", "-z", "filter"), stdin=listed.stdout).stdout.split(b"\0")
        for name, value in zip(said[::3], said[2::3], strict=False):
            if value not in (b"unspecified", b"unset"):
                words = "goes through a filter (as of Git LFS), which is not run; let the user add it"
                raise RefusedError(f"{quoted(name.decode('utf-8', 'replace'), 200)} {words}")

    def author_settings(self) -> dict[str, str]:
        """Return who commits where the repository does not say, as the user's own configuration has it."""
        env = self.context.env
        home = env.get("HOME") or os.path.expanduser("~")
        author_settings = {"user.useconfigonly": "true"}
        for file in (f"{env.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git/config", f"{home}/.gitconfig"):
            real = os.path.realpath(file)
            for key in ("user.name", "user.email") if os.path.isfile(real) else ():
                said = self._config_value(real, key)
                if said:
                    author_settings[key] = said
        return author_settings

    def _config_value(self, file: str, key: str) -> str:
        """Return what a configuration says of a key."""
        program, needed = find_program("git", self.context.env)
        words = [program, "config", "--no-includes", "--file", file, "--get", key]
        readable = (file, *needed)
        done = run_command(
            words,
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
    with open_folder("/", parts) as fd, open_regular_file(fd, name, name) as (inner, _):
        return os.fsdecode(os.read(inner, 4096)).split("\n", 1)[0].strip()
