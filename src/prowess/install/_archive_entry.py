"""Describe what an archive contains, and the limits of reading one: shared by tar and zip."""

from __future__ import annotations

from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Entry", "Limits", "bad_archive", "decode_name", "refused_entry"]

BLOCK = 1 << 16


class Limits(Frozen):
    """How much may come out of an archive."""

    entries: int = 2 * MAX_SKILL_FILES
    """Files, folders and everything else it lists."""
    size: int = MAX_DIGEST_BYTES
    """Bytes of all files."""
    ratio: int = 200
    """Bytes that come out of one byte of the archive; what is small may be more."""

    @property
    def unpacked(self) -> int:
        """Bytes that may be decompressed: the files, and a head for each."""
        return self.size + 1024 * (self.entries + 64)

    def check_ratio(self, packed: int, unpacked: int) -> None:
        """Check how much came out of how much.

        Raises:
            InstallError: it is too much.
        """
        if unpacked > self.unpacked:
            raise bad_archive(f"it contains more than {self.size:,} bytes")
        if unpacked > _SMALL and unpacked > packed * self.ratio:
            raise bad_archive(f"it is more than {self.ratio} times as large when unpacked")


_SMALL = 8 << 20


class Entry(Frozen):
    """A file or folder in an archive."""

    path: str
    """With `/`, without a `./` before it or a `/` at its end; empty for the folder that all are in."""
    is_folder: bool
    is_executable: bool = False
    size: int = 0
    write_to: Callable[[Callable[[bytes], object]], None] | None = None
    """Gives the content in blocks; called at once if at all, as the next entry follows in the stream."""


def bad_archive(problem: str) -> InstallError:
    """Return the error for an archive that is damaged or breaks a rule."""
    return InstallError(f"invalid archive: {problem}", hint="ask the author of the skill to publish it again")


def refused_entry(name: str, problem: str) -> InstallError:
    """Return the error for something in an archive that is not allowed."""
    return bad_archive(f"{quoted(name, PATH_LIMIT)} {problem}")


def decode_name(raw: bytes) -> tuple[str, bool]:
    """Return a path of an archive as text, and whether it ends like a folder's.

    Raises:
        InstallError: it is not UTF-8, or absolute.
    """
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise refused_entry(raw.decode("ascii", "backslashreplace"), "has a name that is not UTF-8") from None
    if name.startswith("/"):
        raise refused_entry(name, "is an absolute path")
    ends_like_folder = name.endswith("/") or name == "."
    name = name.removeprefix("./").removesuffix("/")
    return "" if name == "." else name, ends_like_folder
