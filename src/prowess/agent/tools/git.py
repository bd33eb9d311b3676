"""`git`: tools that show a repository and, if allowed, add and commit.

`_git_repository` keeps git from reading anything in a repository's own files that makes it run programs or leave the
repository. Nothing that a model gives can become an option: references and paths follow `--end-of-options` and `--`,
and paths are literal.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from prowess._internal.text import quoted
from prowess.agent.policy import RefusedError, ToolFailedError

from ._arguments import Argument, make_agent_tool
from ._git_repository import GitRepository
from ._paths import split_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prowess.agent.policy import AgentTool, ToolContext

__all__ = ["tools"]

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
