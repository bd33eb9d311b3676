"""Give an application the files that scripts of a conversation wrote."""

from __future__ import annotations

import errno
import os
import stat

from prowess._internal.frozen import Frozen
from prowess._internal.fs import READ_FLAGS, open_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from ._work_folders import WorkFolder


class WrittenFile(Frozen):
    """A file that a script of a skill wrote in a conversation. The script chose its name and its bytes."""

    name: str
    """Its path in the working folder, with `/`; unsafe to show as it is."""
    size: int
    """Bytes."""
    digest: str
    """`sha256:` and 64 hexadecimal digits."""
    folder: str
    """The folder that contains it, absolute."""

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON can contain it."""
        return {"name": self.name, "size": self.size, "digest": self.digest, "folder": self.folder}

    def open(self) -> BufferedReader:
        """Open it for reading, as bytes. No link is followed.

        Raises:
            OSError: it was removed, or is no regular file by now.
        """
        fd = open_inside(self.folder, self.name.split("/"), READ_FLAGS)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name)
        return os.fdopen(fd, "rb")


def written_files(work: WorkFolder | None) -> Iterator[WrittenFile]:
    """Yield the files that scripts wrote and that are still there, those written last at the end."""
    if work is None:
        return
    import hashlib

    for name in work.written:
        made = WrittenFile(name=name, size=0, digest="", folder=work.path)
        try:
            with made.open() as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
        except OSError:
            continue
        yield made.with_changes(size=size, digest=f"sha256:{digest}")
