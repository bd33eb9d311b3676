"""Write a skill as it was at a commit of the repository that it is in.

Only the objects of the repository are read: nothing is checked out, fetched or run.
"""

from __future__ import annotations

import os

from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError

from ._repository import GitLimits, GitProcess, GitRepository, OutputReader, git_environment
from ._skills import FileReader, ObjectReader, files_of

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
        found = reader.list_files(commit, path)
        if found is None or "SKILL.md" not in found.files:
            message = f"the commit {quoted(revision)} has no skill in {quoted(path or '.', PATH_LIMIT)}"
            raise InstallError(message, hint="check out that commit elsewhere, and name the folder of the skill in it")
        files = files_of([""], found)[""]
        FileReader(repository, reader, is_part=False).write_skill(target, files, path or ".")
    return commit


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
