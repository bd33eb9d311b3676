"""a repository -> tools that tell what is in it, and add and commit where that is allowed

A repository's own files decide what git runs (see `git_repository`), so all of that is switched off. Nothing that a
model gives is an option: references and paths stand behind `--end-of-options` and `--`, and paths mean themselves.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from prowess.agent.arguments import Argument, agent_tool
from prowess.agent.beneath import parts_of
from prowess.agent.git_repository import Repository
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prowess.agent.policy import AgentTool, Around

__all__ = ["tools"]

_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty")
_FORMAT = "--format=commit %H%nAuthor: %an <%ae>%nDate:   %ad%n%n%w(0,4,4)%B"
_LONGEST_REF = 500
_MOST_COMMITS = 1000
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def tools(options: Mapping[str, Any], around: Around) -> tuple[AgentTool, ...]:
    """Make the tools of a repository.

    Raises:
        ConfigError: there is no such folder, or the policy does not open it.
    """
    there = Repository.at(options, around)
    path = Argument("string", "of a file or folder in the repository; all of it if left out")
    ref = Argument("string", "a commit, branch or range, as in `HEAD~3..HEAD`; what is not committed if left out")
    commit = Argument("string", "a commit, tag, or `COMMIT:FILE`", needed=True)
    count = Argument("integer", f"commits at most, up to {_MOST_COMMITS:,}", 20)
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
        ("git_changed_files", "Name the files that are changed, or that differ in a range.", {"ref": ref}, _changed),
        ("git_blame", "Show which commit each line of a committed file comes from.", {"path": file}, _blame),
    ]
    if not options["read_only"]:
        message = Argument("string", "what the commit does", needed=True)
        made += [
            ("git_add", "Stage a file or folder.", {"path": path.but(needed=True)}, _add),
            ("git_commit", "Commit what is staged. No hooks are run.", {"message": message}, _commit),
        ]
    return tuple(
        agent_tool("git", name, words, arguments, partial(function, there)) for name, words, arguments, function in made
    )


def _status(there: Repository) -> str:
    return there.git("status", "--short", "--branch", "--ignore-submodules=dirty", "--no-ahead-behind", "--", ".")


def _diff(there: Repository, ref: str | None, path: str | None) -> str:
    # With nothing but two names git would compare files anywhere: so there is always a path.
    return there.git("diff", *_PLAIN, *_ref(ref), "--", _path(there, path)) or "no differences"


def _log(there: Repository, count: int, path: str | None) -> str:
    if not 1 <= count <= _MOST_COMMITS:
        raise ToolFailedError(f"`count` must be from 1 to {_MOST_COMMITS:,}")
    words = ("log", f"--max-count={count}", "--no-show-signature", "--no-color", "--date=iso-strict", _FORMAT)
    return there.git(*words, "--", _path(there, path)) or "no commits"


def _show(there: Repository, ref: str) -> str:
    words = ("show", *_PLAIN, "--no-show-signature", "--date=iso-strict", _FORMAT)
    return there.git(*words, *_ref(ref), "--") or "it is empty"


def _changed(there: Repository, ref: str | None) -> str:
    if ref is None:
        said = there.git("status", "--short", "--ignore-submodules=dirty", "--untracked-files=all", "--", ".")
    else:
        said = there.git("diff", *_PLAIN, "--name-status", *_ref(ref), "--", ".")
    return said or "no files are changed"


def _blame(there: Repository, path: str) -> str:
    # What is committed: git would read a file of the working tree through a folder that is a link.
    return there.git("blame", "--no-textconv", "--date=short", "HEAD", "--", _path(there, path)) or "it is empty"


def _add(there: Repository, path: str) -> str:
    named = _path(there, path)
    there.refuse_filters(named)
    there.git("add", "--", named, writes=True)
    return there.git("status", "--short", "--ignore-submodules=dirty", "--", named) or f"{quoted(path)} is as committed"


def _commit(there: Repository, message: str) -> str:
    words = ("commit", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "--no-status", "--file=-")
    return there.git(*words, writes=True, stdin=message.encode(), usual=there.author())


def _ref(ref: str | None) -> tuple[str, ...]:
    """Return what names a commit or a range, as git is given it.

    Raises:
        RefusedError: it would be something else to git.
    """
    if ref is None:
        return ()
    parts = re.split(r"\.{2,3}", ref)
    if not ref or len(ref) > _LONGEST_REF or not any(parts) or len(parts) > 2 or _CONTROL.search(ref):
        raise RefusedError(f"{quoted(ref)} names no commit; give one like `HEAD~2`, `main` or `v1..v2`")
    for part in parts:
        # `/etc/passwd` and `a/../..` would be files to `git diff`, and `^a` and `-a` other things to all.
        if part.startswith(("-", "/", ".", "^")) or part.endswith("/"):
            raise RefusedError(f"{quoted(ref)} names no commit; give one like `HEAD~2`, `main` or `v1..v2`")
    return "--end-of-options", ref


def _path(there: Repository, path: str | None) -> str:
    """Return a path in the repository, as git is given it: relative to the folder it starts in."""
    if path is None:
        return "."
    return "/".join(parts_of(path, there.folder)) or "."
