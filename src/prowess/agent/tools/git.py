"""`git`: tools that show a repository and, if allowed, add and commit.

`_git_repository` keeps git from reading anything in a repository's own files that makes it run programs or leave the
repository. Nothing that a model gives can become an option: references and paths follow `--end-of-options` and `--`,
and paths are literal.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.git_settings import parse_settings, write_settings
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.sandbox import decode_output, find_user_program

from ._commands import run_command, scratch_folder
from ._git_folder import locate, read_small_file
from ._making import Argument, make_agent_tool
from ._paths import resolve_folder, split_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prowess.agent.policy import AgentTool, ToolContext
    from prowess.sandbox import Result

__all__ = ["GitRepository", "tools"]

_DIFF_OPTIONS = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
_NO_SUBMODULES = "--ignore-submodules=all"
"""Do not look into the working trees of submodules: their repositories may be anywhere."""
_LOG_FORMAT = "--format=commit %H%nAuthor: %an <%ae>%nDate:   %ad%n%n%w(0,4,4)%B"
_MAX_REF_CHARS = 500
_MAX_COMMITS = 1000
_RANGE = re.compile(r"[\w./~^@-]*?\.{2,3}[\w./~^@-]*", re.ASCII)
"""Certainly two commits, and not one that is found by its message."""
_CONTROL_CHARS = re.compile(r"[\x00-\x1f\x7f]")


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tools for a repository.

    Raises:
        ConfigError: the folder does not exist, or the policy does not allow it.
    """
    repository = GitRepository.from_options(options, context)
    path = Argument("string", "a file or folder in the repository; by default all of it")
    ref = Argument("string", "a commit, branch or range such as `HEAD~3..HEAD`; by default the uncommitted changes")
    commit = Argument("string", "a commit, tag, or `COMMIT:FILE`", needed=True)
    count = Argument("integer", f"the number of commits, at most {_MAX_COMMITS:,}", 20)
    file = Argument("string", "a file in the repository", needed=True)
    specifications: list[tuple[str, str, dict[str, Argument], Callable[..., str]]] = [
        ("git_status", "Show the branch and the changed, staged and untracked files.", {}, _status),
        (
            "git_diff",
            "Show uncommitted changes, or the changes since a commit or in a range.",
            {"ref": ref, "path": path},
            _diff,
        ),
        ("git_log", "Show the latest commits.", {"count": count, "path": path}, _log),
        ("git_show", "Show a commit with its changes, or a file as it was in one.", {"ref": commit}, _show),
        (
            "git_changed_files",
            "List the changed files, or those that differ since a commit or in a range.",
            {"ref": ref},
            _changed_files,
        ),
        ("git_blame", "Show the commit that each line of a committed file comes from.", {"path": file}, _blame),
    ]
    if not options["read_only"]:
        message = Argument("string", "the commit message", needed=True)
        specifications += [
            ("git_add", "Stage a file or folder.", {"path": path.with_changes(needed=True)}, _add),
            ("git_commit", "Commit the staged changes, without running hooks.", {"message": message}, _commit),
        ]
    return tuple(
        make_agent_tool("git", name, description, arguments, partial(function, repository))
        for name, description, arguments, function in specifications
    )


def _status(repository: GitRepository) -> str:
    return repository.git("status", "--short", "--branch", _NO_SUBMODULES, "--no-ahead-behind", "--", ".")


def _diff(repository: GitRepository, ref: str | None, path: str | None) -> str:
    # With two names and no path, git would compare files anywhere on the machine.
    return (
        repository.git("diff", *_diff_options(ref), *_ref_arguments(ref), "--", _path_argument(repository, path))
        or "no differences"
    )


def _log(repository: GitRepository, count: int, path: str | None) -> str:
    if not 1 <= count <= _MAX_COMMITS:
        raise ToolFailedError(f"`count` must be from 1 to {_MAX_COMMITS:,}")
    command = ("log", f"--max-count={count}", "--no-show-signature", "--no-color", "--date=iso-strict", _LOG_FORMAT)
    return repository.git(*command, "--", _path_argument(repository, path)) or "no commits"


def _show(repository: GitRepository, ref: str) -> str:
    command = ("show", *_diff_options(".."), "--no-show-signature", "--date=iso-strict", _LOG_FORMAT)
    return repository.git(*command, *_ref_arguments(ref), "--") or "no output"


def _changed_files(repository: GitRepository, ref: str | None) -> str:
    if ref is None:
        output = repository.git("status", "--short", _NO_SUBMODULES, "--untracked-files=all", "--", ".")
    else:
        output = repository.git("diff", *_diff_options(ref), "--name-status", *_ref_arguments(ref), "--", ".")
    return output or "no changed files"


def _blame(repository: GitRepository, path: str) -> str:
    # HEAD, because git would read a file of the working tree through a link.
    return (
        repository.git("blame", "--no-textconv", "--date=short", "HEAD", "--", _path_argument(repository, path))
        or "no output"
    )


def _add(repository: GitRepository, path: str) -> str:
    argument = _path_argument(repository, path)
    repository.refuse_special_files(argument)
    repository.git("add", "--", argument, writes=True)
    return repository.git("status", "--short", _NO_SUBMODULES, "--", argument) or f"{quoted(path)} has no changes"


def _commit(repository: GitRepository, message: str) -> str:
    command = ("commit", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "--no-status", "--file=-")
    return repository.git(*command, writes=True, stdin=message.encode())


def _diff_options(ref: str | None) -> tuple[str, ...]:
    """Return the options of a comparison; only one of two commits shows changed submodules."""
    return (*_DIFF_OPTIONS, "--ignore-submodules=none" if ref and _RANGE.fullmatch(ref) else _NO_SUBMODULES)


def _ref_arguments(ref: str | None) -> tuple[str, ...]:
    """Return the arguments for a commit or a range.

    Raises:
        RefusedError: git could read it as something else.
    """
    if ref is None:
        return ()
    parts = re.split(r"\.{2,3}", ref)
    if not ref or len(ref) > _MAX_REF_CHARS or not any(parts) or len(parts) > 2 or _CONTROL_CHARS.search(ref):
        raise RefusedError(f"invalid commit {quoted(ref)}; give one like `HEAD~2`, `main` or `v1..v2`")
    for part in parts:
        # `git diff` would read `/etc/passwd` and `a/../..` as files; `^a` and `-a` have other meanings.
        if part.startswith(("-", "/", ".", "^")) or part.endswith("/"):
            raise RefusedError(f"invalid commit {quoted(ref)}; give one like `HEAD~2`, `main` or `v1..v2`")
    return "--end-of-options", ref


def _path_argument(repository: GitRepository, path: str | None) -> str:
    """Return a path as an argument for git, relative to the folder it runs in."""
    if path is None:
        return "."
    return "/".join(split_path(path, repository.folder)) or "."


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
        with scratch_folder(contained=self.context.contained) as scratch:
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
                readable=(folders.tree, *folders.paths),
                needed=needed,
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
