"""Run git in a repository without reading or running anything that the repository configures.

Git runs the programs that a repository's configuration names (hooks, filters, monitors, helpers, programs for
signatures, diffs and connections) without asking, and the author of the folder chose them. So git never reads that
configuration: it gets a folder of ours as its `GIT_DIR` (`_git_folder`). The user's own configuration is not read
either, except for the author's name and email.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.sandbox import decode_output, find_user_program

from ._commands import run_command, scratch_folder
from ._git_config import parse_settings, write_settings
from ._git_folder import locate, read_small_file
from ._paths import resolve_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import ToolContext
    from prowess.sandbox import Result

__all__ = ["GitRepository"]

_SETTINGS = {
    "core.bare": "false",
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.untrackedCache": "false",
    # A split index would be written to two places.
    "core.splitIndex": "false",
    # With several threads, git would find the paths of the index by a table in it.
    "index.threads": "false",
    "core.logAllRefUpdates": "true",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    # A submodule's own repository, which may be anywhere, is not asked for its commit.
    "diff.ignoreSubmodules": "all",
    "diff.submodule": "short",
    "log.mailmap": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    # Git must not invent an author.
    "user.useConfigOnly": "true",
}
_GIT_ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    # Nothing is fetched, even in a partial clone.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
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

    def git(self, *arguments: str, writes: bool = False, stdin: bytes | None = None) -> str:
        """Run git and return its output.

        Args:
            arguments: the command of git and its arguments.
            writes: whether the command changes the repository.
            stdin: the standard input.

        Raises:
            ToolFailedError: git failed; the message contains git's own.
            RefusedError: the repository leads to files outside it.
        """
        done = self._run(arguments, writes=writes, stdin=stdin)
        return decode_output(done.stdout, done.stdout_size)

    def _run(self, arguments: tuple[str, ...], *, writes: bool = False, stdin: bytes | None = None) -> Result:
        folders = locate(self.folder, self.context.resolve_allowed)
        folders.check()
        if arguments[0] == "commit":
            folders.refuse_operation_in_progress()
        settings = self._author_settings() | folders.settings() | _SETTINGS
        is_extended = "extensions.objectformat" in settings
        settings["core.repositoryformatversion"] = "1" if is_extended else "0"
        program, needed = find_user_program("git", self.context.env)
        with scratch_folder() as scratch:
            git_folder = os.path.join(scratch, "git")
            os.mkdir(git_folder)
            hash_bytes = 32 if settings.get("extensions.objectformat") == "sha256" else 20
            folders.make_private_folder(git_folder, write_settings(settings), hash_bytes=hash_bytes)
            if writes:
                folders.make_log_folders()
            env = {
                "GIT_DIR": git_folder,
                "GIT_WORK_TREE": folders.tree,
                "GIT_OBJECT_DIRECTORY": f"{folders.common}/objects",
                # Git reads the bytes that were checked, unless it is to change them.
                "GIT_INDEX_FILE": f"{folders.own if writes else git_folder}/index",
            }
            done = run_command(
                [program, "--no-pager", *arguments],
                self.context,
                cwd=self.folder,
                timeout=self.timeout,
                max_output_bytes=self.max_output_bytes,
                env=_GIT_ENV | env,
                stdin=stdin,
                readable=(folders.tree, *folders.paths, *needed),
                writable=folders.paths if writes else (),
                scratch=scratch,
            )
            if writes and not done.exit_code and not done.timed_out:
                folders.take_head(git_folder)
        if done.timed_out:
            raise ToolFailedError(
                f"git took longer than {self.timeout:g} seconds; ask for less, for example with a path"
            )
        if done.exit_code:
            detail = decode_output(done.stderr[:_MAX_ERROR_BYTES] or done.stdout[:_MAX_ERROR_BYTES], 0)
            raise ToolFailedError(f"git failed (exit code {done.exit_code}): {detail}")
        return done

    def refuse_special_files(self, path: str) -> None:
        """Refuse to stage what git would store differently than the user's own git.

        Filters are not run, so git would stage the raw bytes. A repository inside this one is stored as its latest
        commit, and it may be anywhere.

        Raises:
            RefusedError: a file needs a filter, or a folder is a repository.
            ToolFailedError: there are too many files to check.
        """
        listed = self._run(("ls-files", "-z", "--modified", "--others", "--exclude-standard", "--", path))
        staged = self._run(("ls-files", "-z", "--stage", "--", path))
        if listed.stdout_size > len(listed.stdout) or staged.stdout_size > len(staged.stdout):
            raise ToolFailedError("too many files to add at once; add one of the folders")
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
        links = [os.fsdecode(line.split(b"\t", 1)[1]) for line in staged.stdout.split(b"\0") if line[:6] == b"160000"]
        for name in (*links, *names):
            if name in links or name.endswith("/") or os.path.lexists(os.path.join(self.folder, name, ".git")):
                file = quoted(name.rstrip("/"), PATH_LIMIT)
                raise RefusedError(f"{file} is a repository of its own, which is not added; add other files by name")
        if not names:
            return
        checked = self._run(("check-attr", "--stdin", "-z", "filter"), stdin=listed.stdout)
        fields = checked.stdout.split(b"\0")  # path, attribute, value; path, ...
        for encoded, value in zip(fields[::3], fields[2::3], strict=False):
            if value not in (b"unspecified", b"unset"):
                file = quoted(encoded.decode("utf-8", "replace"), PATH_LIMIT)
                raise RefusedError(f"{file} needs a filter (such as Git LFS), which is not run; ask the user to add it")

    def _author_settings(self) -> dict[str, str]:
        """Return the author's name and email from the user's own configuration."""
        env = self.context.env
        home = env.get("HOME") or os.path.expanduser("~")
        author: dict[str, str] = {}
        for file in (f"{env.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git/config", f"{home}/.gitconfig"):
            folder, name = os.path.split(real_path(file))
            try:
                settings = parse_settings(read_small_file(folder, name))
            except ToolFailedError:
                continue
            author |= {key: settings[key] for key in ("user.name", "user.email") if settings.get(key)}
        return author
