"""Find the commit that a branch, a tag or the beginning of a commit means, and fetch it."""

from __future__ import annotations

import re

from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError

from ._process import GitError
from ._redirects import moved_url
from ._repository import REMOTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ._repository import GitRepository

    Answer = TypeVar("Answer")

__all__ = ["fetch_object", "newest_commit"]

_REF = re.compile(r"[^\W_][^\x00-\x20\x7f~^:?*\[\\]*")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}").fullmatch
_PART_OF_COMMIT = re.compile(r"[0-9a-f]{4,63}").fullmatch
_ALL_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_LINE = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\t([^\t]+)").fullmatch
_UNKNOWN = re.compile("find remote ref|no such remote ref|not our ref|unadvertised object")
_REDIRECT = re.compile("returned error: 30[12378]")
_HINT = "check the branch, tag or commit after the `#`"


def fetch_object(repository: GitRepository, ref: str | None, filters: str | None) -> str:
    """Fetch the content of one commit, and return the name of the commit or of a tag that points to it.

    Args:
        repository: gets the content; what was in it is removed.
        ref: a branch, a tag or a commit; by default the default branch.
        filters: what to leave out, as `git fetch --filter` has it.

    Raises:
        InstallError: the source has no such commit, or cannot be read.
    """
    _check_ref(ref)
    name = ref or "HEAD"
    options = () if filters is None else (f"--filter={filters}",)

    def fetch_one(name: str) -> str:
        repository.fetch("--depth=1", *options, REMOTE, name)
        fetched = repository.fetched_object()
        if fetched is None:
            raise InstallError(f"git fetched nothing from {quoted(repository.url, PATH_LIMIT)}", hint=_HINT)
        return fetched

    def fetch_history() -> str:
        repository.fetch(*options, REMOTE, *_ALL_REFS)
        return name

    try:
        return _begin(repository, lambda: fetch_one(name))
    except GitError as error:
        if (not _PART_OF_COMMIT(name) and not _COMMIT(name)) or not _UNKNOWN.search(error.stderr):
            raise
    if _COMMIT(name):  # the server only gives commits that it lists
        return _begin(repository, fetch_history)
    return fetch_one(_find_newest(name, _list_refs(repository, "--heads", "--tags")))


def newest_commit(repository: GitRepository, ref: str | None) -> str:
    """Return the commit that a branch or tag names now, without fetching it.

    Args:
        repository: what was in it is removed.
        ref: a branch or a tag, by default the default branch; a whole commit is returned.

    Raises:
        InstallError: the source has no such branch or tag, or cannot be read.
    """
    _check_ref(ref)
    if ref is not None and _COMMIT(ref):
        return ref
    places = ("",) if ref is None or ref.startswith("refs/") else ("refs/tags/", "refs/heads/")
    names = [f"{place}{ref or 'HEAD'}{end}" for place in places for end in ("^{}", "")]
    options = ("--heads", "--tags") if places != ("",) else ()
    listed = _begin(repository, lambda: _list_refs(repository, *options))
    refs = {name: oid for oid, name in listed}
    for name in names:
        if name in refs:
            return refs[name]
    if ref is None:
        raise InstallError(f"the repository {quoted(repository.url, PATH_LIMIT)} is empty", hint="commit to it first")
    if _PART_OF_COMMIT(ref):
        return _find_newest(ref, listed)
    raise InstallError(f"the source has no branch or tag {quoted(ref)}", hint=_HINT)


def _find_newest(name: str, listed: list[tuple[str, str]]) -> str:
    """Return the newest commit of a branch or tag that begins with a name.

    Raises:
        InstallError: there is not exactly one.
    """
    newest = {oid for oid, _ in listed if oid.startswith(name)}
    if len(newest) == 1:
        return newest.pop()
    problem = (
        "begins more than one commit"
        if newest
        else "is not a branch or tag, or the beginning of the newest commit of one"
    )
    raise InstallError(f"{quoted(name)} {problem}", hint="write the whole name of the commit: 40 digits")


def _check_ref(ref: str | None) -> None:
    """Check that git reads a ref as a name and nothing else.

    Raises:
        InstallError: it is invalid.
    """
    if ref is None:
        return
    is_strange = ".." in ref or "@{" in ref or "//" in ref or "/." in ref or ref.endswith(("/", ".", ".lock"))
    if is_strange or len(ref) > 255 or not _REF.fullmatch(ref) or not ref.isprintable():
        raise InstallError(f"invalid branch, tag or commit {quoted(ref)}", hint=_HINT)


def _begin(repository: GitRepository, action: Callable[[], Answer]) -> Answer:
    """Begin with an empty repository, and do something in it.

    Again if the source has the other kind of hash, or has another URL on the same server.
    """
    object_format, is_moved = "sha1", False
    while True:
        repository.begin(object_format)
        try:
            return action()
        except GitError as error:
            if "mismatched algorithms" in error.stderr and object_format == "sha1":
                object_format = "sha256"
            elif _REDIRECT.search(error.stderr) and not is_moved and (moved := moved_url(repository.url)):
                repository.url, is_moved = moved, True
            else:
                raise


def _list_refs(repository: GitRepository, *options: str) -> list[tuple[str, str]]:
    """Return the references of the source: the object, and the name.

    Raises:
        GitError: it cannot be read.
    """
    lines = repository.run("ls-remote", *options, REMOTE).decode("utf-8", "replace").split("\n")
    return [(found[1], found[2]) for found in map(_LINE, lines) if found]
