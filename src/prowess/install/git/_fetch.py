"""Fetch skills from a repository of git.

One commit is fetched, without its history. If only some skills are wanted, or only one folder, the lists of files come
first, and then only the files that are needed, where the server can do that. Files are written exactly as they were
committed.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError
from prowess.install._fetched import Fetched, FetchedSkill
from prowess.install._tree import check_paths
from prowess.skill import is_portable_name

from ._files import FileReader, RefusedPartError
from ._objects import ObjectReader
from ._process import GitError, GitLimits
from ._refs import fetch_object, newest_commit
from ._repository import GitRepository
from ._skills import choose_skills, files_of, find_skill_folders, report_skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.install._source import Source
    from prowess.install._store import OpenStore

__all__ = ["fetch", "newest"]

LIMITS = GitLimits()
_LARGE = 1 << 20
"""Files of more bytes are fetched only if a wanted skill contains them, where the server can do that."""
_USER = "[A-Za-z0-9_][A-Za-z0-9._-]*@"
_PROTOCOL = re.compile(rf"(https|http|file)://[^-]|(ssh)://(?:{_USER})?[^-@][^@/]*/")
_SCP = re.compile(rf"(?:{_USER})?(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]):(?!//)[^-:]")
_LOOPBACK = re.compile(r"http://(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]+)?/")


def fetch(
    source: Source,
    opened: OpenStore,
    *,
    only: Sequence[str] = (),
    revision: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Fetched:
    """Fetch skills into temporary folders of the store.

    Args:
        source: where they are.
        opened: the store.
        only: the names of those that are wanted; by default all.
        revision: the commit; by default the one that the source names now.
        progress: called with lines about what arrives.

    Raises:
        InstallError: the repository cannot be read, or something in it is not allowed.
    """
    _folder(source)  # before anything is fetched
    wanted = tuple(dict.fromkeys((*only, *((source.skill,) if source.skill else ()))))
    repository = _repository(source.url, opened.new_folder(), progress)
    filters = "blob:none" if wanted or source.path else f"blob:limit={_LARGE}"
    try:
        return _fetch(repository, source, opened, wanted, revision, filters)
    except RefusedPartError:
        return _fetch(repository, source, opened, wanted, revision, None)


def newest(source: Source) -> str:
    """Return the commit that a source names now, without fetching it.

    Raises:
        InstallError: the repository cannot be read, or has no such branch or tag.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="prowess-git-") as folder:
        return newest_commit(_repository(source.url, folder, None), source.ref)


def _repository(url: str, folder: str, progress: Callable[[str], None] | None) -> GitRepository:
    """Return an empty repository for a source.

    Raises:
        InstallError: git could read the URL as a command, or no such source is allowed.
    """
    found = _PROTOCOL.match(url)
    protocol = found[1] or found[2] if found else "ssh" if _SCP.match(url) else ""
    if not protocol or "::" in url.partition("/")[0] or not url.isprintable() or " " in url:
        hint = "use `https://`, `ssh://`, `git@HOST:PATH` or `file://`"
        shown = re.sub(r"(?<=://)[^/@\s]*@", "…@", url)  # a password is not repeated
        raise InstallError(f"this is not the URL of a repository: {quoted(shown, PATH_LIMIT)}", hint=hint)
    if "@" in url.partition("://")[2].partition("/")[0] and protocol != "ssh":
        raise InstallError("the URL of a repository contains a user name or password", hint="let git keep credentials")
    if protocol == "http" and not _LOOPBACK.match(url):
        hint = "use `https://`; `http://` is for servers on this machine"
        raise InstallError(f"the URL is not encrypted: {quoted(url, PATH_LIMIT)}", hint=hint)
    return GitRepository(folder, url, protocol, env=os.environ, limits=LIMITS, progress=progress)


def _fetch(
    repository: GitRepository,
    source: Source,
    opened: OpenStore,
    wanted: Sequence[str],
    revision: str | None,
    filters: str | None,
) -> Fetched:
    try:
        fetched = fetch_object(repository, revision or source.ref, filters)
    except GitError as error:
        # When git fetches a part, it forgets which faults to ignore.
        if filters is None or "fsck error" not in error.stderr:
            raise
        raise RefusedPartError from None
    with repository.start("cat-file", "--batch") as process:
        reader = ObjectReader(process)
        commit = reader.commit(fetched)
        if revision is not None and commit != revision:
            message = f"the source sent the commit {quoted(commit)}, not {quoted(revision)}"
            raise InstallError(message, hint="do not install from it")
        top = _folder(source)
        found = reader.list_files(commit, top)
        if found is None:
            raise InstallError(
                f"the source has no folder {quoted(top, PATH_LIMIT)}", hint="check the folder after the `:`"
            )
        work = FileReader(repository, reader, is_part=filters is not None)
        names = work.read_names(find_skill_folders(found), _repository_name(source))
        chosen, findings = choose_skills(names, found, wanted)
        if not chosen:
            raise InstallError(
                "the source has no skills: no folder has a `SKILL.md`", hint="check the URL and the folder"
            )
        files = files_of(list(chosen.values()), found)
        target = opened.new_folder()
        work.load(oid for of_skill in files.values() for _, oid in of_skill.values())
        skills = []
        for number, (name, folder) in enumerate(chosen.items()):
            path = os.path.join(target, name if is_portable_name(name) else f"{number}.skill")
            noted = work.write_skill(path, files[folder], folder or ".")
            in_source = "/".join(filter(None, (top, folder)))
            skills.append(FetchedSkill(name=name, path=in_source, folder=path, noted=noted))
    return Fetched(skills=tuple(skills), revision=commit, findings=(*report_skipped(found, top), *findings))


def _folder(source: Source) -> str:
    """Return the folder to search; the path of a SKILL.md means its folder.

    Raises:
        InstallError: it is not the path of a folder in a repository.
    """
    if not source.path:
        return ""
    check_paths([source.path])
    folder, _, name = source.path.rpartition("/")
    return folder if name == SKILL_FILE else source.path


def _repository_name(source: Source) -> str:
    """Return the name of the folder that was searched: the last one in the source."""
    return re.split("[/:]", (_folder(source) or source.url.removesuffix(".git")).rstrip("/"))[-1] or "skill"
