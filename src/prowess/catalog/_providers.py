"""Define what a source of skills must offer.

The file system is one source; any class with the same three methods is another.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol

    from typing_extensions import TypeVar

    from prowess.skill import Skill

    from ._entry import Entry

    Listed = TypeVar("Listed", default=Entry)
    Read_co = TypeVar("Read_co", default=Skill, covariant=True)
else:
    Listed = Read_co = object

    class Protocol:
        """Replace `typing.Protocol`, which takes long to import."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


class SkillProvider(Protocol[Listed, Read_co]):
    """A source of skills; `Listed` is the type of what it lists, `Read_co` the type of what it reads."""

    def list(self, cwd: str) -> Sequence[Listed]:
        """Return the skills seen from a directory, without their bodies, highest precedence first."""

    def read(self, skill: Listed, /) -> Read_co:
        """Return one of them with its body. Problems are in its findings."""

    def refresh(self, cwd: str) -> None:
        """Forget what was seen from a directory, so that the next `list` looks again."""


class FilesProvider(SkillProvider, Protocol):
    """A source of skills whose files are not on this machine."""

    def note(self, skill: Entry) -> str:
        """Return a sentence for the model that says where a skill is from."""

    def files(self, skill: Entry) -> Sequence[tuple[str, int]]:
        """Return the paths of a skill's files, relative to its folder, and their sizes. No file is read."""

    def read_file(self, skill: Entry, path: str) -> bytes:
        """Return the bytes of one of these files."""

    def copy(self, skill: Entry) -> AbstractContextManager[str]:
        """Yield a folder with a copy of all files, which is removed at the end."""
