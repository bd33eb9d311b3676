"""Let the tools of a skill run only the bytes that their user allowed, checked in the call.

A tool is made when it is listed and called later; the files of its skill may change in between, also by the agent's own
tools, and its user may end trust. So each call makes a sealed copy of the skill and compares it: with the bytes that
the role was loaded with for a skill that the role names, and with the trust record for a discovered skill. What runs is
the copy.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prowess._internal.files import is_inside, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.errors import ConfigError, SkillError
from prowess.session import Trust
from prowess.skill import read_integrity, sealed_copy

from .policy import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.catalog import Entry
    from prowess.skill import SealedCopy

__all__ = ["DiscoveredSkill", "LoadedFolder", "path_in_copy", "word_in_copy"]


@contextmanager
def _errors_as_refusals() -> Iterator[None]:
    try:
        yield
    except SkillError as error:
        raise RefusedError(str(error), hint=error.hint) from None


class LoadedFolder(Frozen):
    """A folder that shares the role's trust: its bytes are those that the role was loaded with."""

    folder: str
    digest: str

    @classmethod
    def load(cls, folder: str) -> LoadedFolder:
        """Return the folder as it is now.

        Raises:
            ConfigError: it has no integrity digest.
        """
        try:
            return cls(folder=folder, digest=read_integrity(folder).digest)
        except SkillError as error:
            raise ConfigError(f"nothing in {quoted(folder)} can be run: {error}", hint=error.hint) from None

    def check(self) -> None:
        """Check that the folder has not changed; see `SealedSkill.check`."""
        with _errors_as_refusals():
            self._check_digest(read_integrity(self.folder).digest)

    @contextmanager
    def copy(self, *, contained: bool) -> Iterator[SealedCopy]:
        """Copy the folder if it has not changed; see `SealedSkill.copy`."""
        with _errors_as_refusals(), sealed_copy(self.folder, self._check_digest, contained=contained) as copy:
            yield copy

    def _check_digest(self, digest: str) -> None:
        if digest != self.digest:
            name = quoted(os.path.basename(self.folder))
            raise RefusedError(f"{name} has changed since the role was loaded: review it, then start the role again")


class DiscoveredSkill(Frozen):
    """A skill that its user trusts, with the digest of the bytes that its tools were read from."""

    entry: Entry
    digest: str

    def check(self) -> None:
        """Check that the user trusts the skill; see `SealedSkill.check`."""
        denial = Trust().denial_reason(self.entry)
        if denial is not None:
            raise RefusedError(denial)

    @contextmanager
    def copy(self, *, contained: bool) -> Iterator[SealedCopy]:
        """Copy the skill if its user trusts it; see `SealedSkill.copy`."""
        with (
            _errors_as_refusals(),
            Trust().sealed_copy(self.entry, digest=self.digest, contained=contained) as copy,
        ):
            yield copy


def path_in_copy(path: str, folder: str, copy: str | None) -> str:
    """Return the path in a sealed copy for a path in the folder it was made of; other paths are returned unchanged.

    Args:
        path: relative paths are returned unchanged, too.
        folder: the folder, without links.
        copy: its copy, or `None`.
    """
    if copy is None or not os.path.isabs(path):
        return path
    # First as it is written: a link that is put there now must not lead out of the copy.
    for inner in (os.path.normpath(path), real_path(path)):
        if is_inside(inner, folder):
            return os.path.normpath(os.path.join(copy, os.path.relpath(inner, folder)))
    return path


def word_in_copy(word: str, cwd: str, folder: str, copy: str | None) -> str:
    """Return a word of a command line; if it is the path of something in a folder, the path in its sealed copy.

    Args:
        word: the word; a relative path begins at `cwd`.
        cwd: the working directory, without links. Inside the folder, the copy is the working directory.
        folder: the folder, without links.
        copy: its copy, or `None`.
    """
    if is_inside(cwd, folder):
        return path_in_copy(word, folder, copy)
    path = os.path.join(cwd, word)
    mapped = path_in_copy(path, folder, copy)
    return word if mapped == path else mapped
