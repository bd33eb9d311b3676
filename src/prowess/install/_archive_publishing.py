"""Publish a skill as a `.skill` or `.zip` file of this machine."""

from __future__ import annotations

import os

from prowess._internal.files import MAX_DIGEST_BYTES, UnreadableError, read_file, real_path
from prowess._internal.fs import atomic_replace
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError

from .sources import digest_of
from .sources.archive_file import pack_zip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._publish import Publication, Published


def publish(publication: Publication) -> Published:
    """Write a skill as an archive, as `publish_skill` says.

    Raises:
        InstallError: it cannot be written, or another file is there that may not be replaced.
    """
    path = publication.place.url
    if publication.tags:
        raise InstallError("a file has no tags", hint="leave out `--tag`")
    packed = publication.packed
    data = packed.original or pack_zip(packed.archive)
    state = "planned" if publication.dry_run else _put(publication, path, data)
    return publication.published(state, publication.place.text, digest_of(data)).with_changes(size=len(data))


def _put(publication: Publication, path: str, data: bytes) -> str:
    """Write the archive unless it is there, and return the state."""
    try:
        present: bytes | None = read_file(path, MAX_DIGEST_BYTES, follow=True)
    except UnreadableError as error:
        if error.code != "file-missing" and os.path.lexists(path):
            problem = f"{quoted(path, PATH_LIMIT)} cannot be replaced: {error.message}"
            raise InstallError(problem, hint="publish to another path") from None
        present = None
    state = "unchanged" if present == data else "new" if present is None else "moved"
    if state == "moved" and not publication.may_move(os.path.basename(path)):
        problem = f"{quoted(path, PATH_LIMIT)} has other content"
        raise InstallError(problem, hint="replace it with `--force`, or publish to another path")
    if state != "unchanged":
        try:
            atomic_replace(real_path(path), data, mode=0o666)
        except OSError as error:
            problem = f"{quoted(path, PATH_LIMIT)} cannot be written: {describe_os_error(error)}"
            raise InstallError(problem, hint="check the folder") from None
    return state
