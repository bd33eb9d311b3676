"""a repository -> tools that tell what is in it, and add and commit where that is allowed

A repository's own files decide what git runs (see `git_repository`), so all of that is switched off. Nothing that a
model gives is an option: references and paths stand behind `--end-of-options` and `--`, and paths mean themselves.
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

_DIFF_OPTIONS = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty")
_LOG_FORMAT = "--format=commit %H%nAuthor: %an <%ae>%nDate:   %ad%n%n%w(0,4,4)%B"
_MAX_REF_CHARS = 500
_MAX_COMMITS = 1000
_CONTROL_CHARS = re.compile(r"[\x00-\x1f\x7f]")


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tools of a repository.

    Raises:
        ConfigError: there is no such folder, or the policy does not open it.
    """
    repository = GitRepository.from_options(options, context)
    path = Argument("string", "of a file or folder in the repository; all of it if left out")
    ref = Argument("string", "a commit, branch or range, as in `HEAD~3..HEAD`; what is not committed if left out")
    commit = Argument("string", "a commit, tag, or `COMMIT:FILE`", needed=True)
    count = Argument("integer", f"commits at most, up to {_MAX_COMMITS:,}", 20)
    file = Argument("string", "of a file in the repository", needed=True)
    made: list[tuple[str, str, dict[str, Argument], Callable[..., str]]] = [
        ("git_status", "Show the branch and what is changed, staged and untracked.", {}, _status),
        (
            "git_diff",
            "Show what is changed, or differs from a commit or in a range.",
            {"ref": ref, "path": path},
            _diff,
        ),
        ("git_log", "Show the latest commits.", {"count": count, "path": path}, _log),
        ("git_show", "Show a commit with its changes, or a file as it was in one.", {"ref": commit}, _show),
        (
            "git_changed_files",
            "Name the files that are changed, or that differ in a range.",
            {"ref": ref},
            _changed_files,
        ),
        ("git_blame", "Show which commit each line of a committed file comes from.", {"path": file}, _blame),
    ]
    if not options["read_only"]:
        message = Argument("string", "what the commit does", needed=True)
        made += [
            ("git_add", "Stage a file or folder.", {"path": path.with_changes(needed=True)}, _add),
            ("git_commit", "Commit what is staged. No hooks are run.", {"message": message}, _commit),
        ]
    return tuple(
        make_agent_tool("git", name, words, arguments, partial(function, repository))
        for name, words, arguments, function in made
    )


def _status(repository: GitRepository) -> str:
    return repository.git("status", "--short", "--branch", "--ignore-submodules=dirty", "--no-ahead-behind", "--", ".")


def _diff(repository: GitRepository, ref: str | None, path: str | None) -> str:
    # With nothing but two names git would compare files anywhere: so there is always a path.
    return (
        repository.git("diff", *_DIFF_OPTIONS, *_ref_arguments(ref), "--", _path_argument(repository, path))
        or "no differences"
    )


def _log(repository: GitRepository, count: int, path: str | None) -> str:
    if not 1 <= count <= _MAX_COMMITS:
        raise ToolFailedError(f"`count` must be from 1 to {_MAX_COMMITS:,}")
    words = ("log", f"--max-count={count}", "--no-show-signature", "--no-color", "--date=iso-strict", _LOG_FORMAT)
    return repository.git(*words, "--", _path_argument(repository, path)) or "no commits"


def _show(repository: GitRepository, ref: str) -> str:
    words = ("show", *_DIFF_OPTIONS, "--no-show-signature", "--date=iso-strict", _LOG_FORMAT)
    return repository.git(*words, *_ref_arguments(ref), "--") or "it is empty"


def _changed_files(repository: GitRepository, ref: str | None) -> str:
    if ref is None:
        said = repository.git("status", "--short", "--ignore-submodules=dirty", "--untracked-files=all", "--", ".")
    else:
        said = repository.git("diff", *_DIFF_OPTIONS, "--name-status", *_ref_arguments(ref), "--", ".")
    return said or "no files are changed"


def _blame(repository: GitRepository, path: str) -> str:
    # What is committed: git would read a file of the working tree through a folder that is a link.
    return (
        repository.git("blame", "--no-textconv", "--date=short", "HEAD", "--", _path_argument(repository, path))
        or "it is empty"
    )


def _add(repository: GitRepository, path: str) -> str:
    named = _path_argument(repository, path)
    repository.refuse_filters(named)
    repository.git("add", "--", named, writes=True)
    return (
        repository.git("status", "--short", "--ignore-submodules=dirty", "--", named)
        or f"{quoted(path)} is as committed"
    )


def _commit(repository: GitRepository, message: str) -> str:
    words = ("commit", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "--no-status", "--file=-")
    return repository.git(*words, writes=True, stdin=message.encode(), default_settings=repository.author_settings())


def _ref_arguments(ref: str | None) -> tuple[str, ...]:
    """Return what names a commit or a range, as git is given it.

    Raises:
        RefusedError: it would be something else to git.
    """
    if ref is None:
        return ()
    parts = re.split(r"\.{2,3}", ref)
    if not ref or len(ref) > _MAX_REF_CHARS or not any(parts) or len(parts) > 2 or _CONTROL_CHARS.search(ref):
        raise RefusedError(f"{quoted(ref)} names no commit; give one like `HEAD~2`, `main` or `v1..v2`")
    for part in parts:
        # `/etc/passwd` and `a/../..` would be files to `git diff`, and `^a` and `-a` other things to all.
        if part.startswith(("-", "/", ".", "^")) or part.endswith("/"):
            raise RefusedError(f"{quoted(ref)} names no commit; give one like `HEAD~2`, `main` or `v1..v2`")
    return "--end-of-options", ref


def _path_argument(repository: GitRepository, path: str | None) -> str:
    """Return a path in the repository, as git is given it: relative to the folder it starts in."""
    if path is None:
        return "."
    return "/".join(split_path(path, repository.folder)) or "."
