"""Write a skill, or all skills, as they were at a commit of the repository that they are in.

Only the objects of the repository are read: nothing is checked out, fetched or run.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import contextmanager

from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError

from ._repository import GitLimits, GitProcess, GitRepository, OutputReader, git_environment
from ._skills import FileReader, ObjectReader, files_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_MOST_REVISION = 255
"""Characters of a revision."""


def write_version(folder: str, revision: str, target: str) -> str:
    """Write a skill as it was at a commit, and return the name of the commit.

    Args:
        folder: the folder of the skill in a working tree.
        revision: as `git rev-parse` takes it: a branch, a tag, a commit, `HEAD~2`.
        target: a new folder.

    Raises:
        InstallError: the folder is in no repository, there is no such commit, it does not have the skill, or something
            in the skill is not allowed.
    """
    with _opened(folder, revision) as (repository, reader, commit, path):
        found = reader.list_files(commit, path)
        if found is None or "SKILL.md" not in found.files:
            message = f"the commit {quoted(revision)} has no skill in {quoted(path or '.', PATH_LIMIT)}"
            raise InstallError(message, hint="check out that commit elsewhere, and name the folder of the skill in it")
        files = files_of([""], found)[""]
        FileReader(repository, reader, is_part=False).write_skill(target, files, path or ".")
    return commit


def write_skills_of_version(top: str, revision: str, target: str) -> str:
    """Write what a repository had at a commit that matters for its skills, and return the name of the commit.

    That is all below a folder with a SKILL.md or a hidden folder, and files that declare plugins, lock skills or ignore
    files. The folder counts as a repository afterwards, without a history.

    Args:
        top: the top of a working tree.
        revision: as in `write_version`.
        target: a new folder.

    Raises:
        InstallError: the folder is in no repository, there is no such commit, or something in it is not allowed.
    """
    with _opened(top, revision) as (repository, reader, commit, path):
        found = reader.list_files(commit, path)
        files = {} if found is None else files_of([""], found)[""]
        folders = {posixpath.dirname(name) for name in files if posixpath.basename(name).lower() == "skill.md"} - {""}
        kept = {name: value for name, value in files.items() if _matters(name, folders)}
        FileReader(repository, reader, is_part=False).write_skill(target, kept, path or ".")
    os.makedirs(os.path.join(target, ".git"), exist_ok=True)
    return commit


_FILES = frozenset(
    (
        *("skill.md", "skills-lock.json", "pyproject.toml", ".gitignore", "plugin.json", "marketplace.json"),
        *("gemini-extension.json", "qwen-extension.json", "package.json"),
    )
)


def _matters(name: str, folders: Collection[str]) -> bool:
    """Return whether a file is one of a skill, or may say which skills there are."""
    *parents, last = name.split("/")
    if last.lower() in _FILES or any(part.startswith(".") for part in parents):
        return True
    return any("/".join(parents[:count]) in folders for count in range(1, len(parents) + 1))


@contextmanager
def _opened(folder: str, revision: str) -> Iterator[tuple[GitRepository, ObjectReader, str, str]]:
    """Yield the repository of a folder, a reader of its objects, a commit, and the path of the folder.

    Raises:
        InstallError: the folder is in no repository, or there is no such commit.
    """
    invalid = revision.startswith("-") or not revision.isprintable() or " " in revision
    if invalid or not 0 < len(revision) <= _MOST_REVISION:
        raise InstallError(f"invalid revision {quoted(revision)}", hint="name a branch, a tag or a commit")
    git_folder, path = _find_repository(folder)
    repository = GitRepository(git_folder, folder, "none", env=os.environ, limits=GitLimits())
    with repository.start("cat-file", "--batch") as process:
        reader = ObjectReader(process)
        try:
            commit = reader.commit(revision)
        except InstallError:
            hint = "name a branch, a tag or a commit; `git log` lists them"
            raise InstallError(f"the repository has no commit {quoted(revision)}", hint=hint) from None
        yield repository, reader, commit, path


def _find_repository(folder: str) -> tuple[str, str]:
    """Return the folder with the objects, and the path of a folder in the working tree.

    Raises:
        InstallError: it is in no repository.
    """
    command = ("git", "rev-parse", "--absolute-git-dir", "--show-prefix")
    try:
        with GitProcess(command, git_environment(os.environ, "none"), folder, b"", own_group=True) as process:
            output = OutputReader(process, folder, GitLimits(), lambda: 0).read()
    except InstallError as error:
        message = f"{quoted(folder, PATH_LIMIT)} is in no repository of git"
        raise InstallError(message, hint=f"name a folder; git says: {error}") from None
    git_folder, _, path = os.fsdecode(output).removesuffix("\n").partition("\n")
    return git_folder, path.rstrip("/")
