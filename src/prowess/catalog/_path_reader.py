"""Ask the disk about paths once for one command: what they are, and which names a directory has."""

from __future__ import annotations

import os

from prowess._internal.files import real_path

from ._fingerprints import (
    NOT_FOUND_ERRORS,
    FingerprintRecorder,
    fingerprint,
    has_name,
    kind,
    link_kind,
    names_with_kinds,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Listing = tuple[tuple[str, str], ...]

__all__ = ["PathReader"]


class PathReader(FingerprintRecorder):
    """The paths and directories of the disk as one command has seen them."""

    def __init__(self) -> None:
        super().__init__()
        self._listings: dict[str, tuple[Listing | OSError, bytes]] = {}
        self._listed_as: dict[str, str] = {}
        """Real paths of directories to the paths that they were listed as, where these differ."""

    def kind(self, path: str) -> str:
        """Return the kind of a path, links followed: `d`, `f` or `?`; empty if it does not exist."""
        found = self._kind_or_empty(kind, path)
        if self.fingerprints is not None:
            self.record(self.fingerprints.kinds, path, found)
        return found

    def link_kind(self, path: str) -> str:
        """Return the kind of a path, `l` for a link; empty if it does not exist."""
        found = self._kind_or_empty(link_kind, path)
        if self.fingerprints is not None:
            self.record(self.fingerprints.links, path, found)
        return found

    def _kind_or_empty(self, kind_of: Callable[[str], str], path: str) -> str:
        """Return the kind of a path; empty if it cannot be read."""
        try:
            return kind_of(path)
        except OSError:
            self.mark_incomplete()
            return ""

    def real(self, path: str) -> str:
        """Return a path without links.

        Raises:
            ValueError: the path is invalid.
        """
        found = real_path(path)
        if self.fingerprints is not None:
            self.record(self.fingerprints.real_paths, path, found)
        return found

    def real_prefix(self, path: str) -> str:
        """Return what the paths inside a directory begin with, without links.

        Raises:
            ValueError: the path is invalid.
        """
        return os.path.join(self.real(path), "")

    def listing(self, path: str) -> Listing:
        """Return the sorted names in a directory, each with its kind: `d` folder, `f` file, `l` link or `?` other.

        Raises:
            OSError: the directory cannot be listed.
        """
        known = self._listings.get(path)
        if known is None:
            state = b""
            names: Listing | OSError
            try:
                if self.fingerprints is None:
                    self.read_unrecorded = True
                else:
                    state = fingerprint(os.stat(path))
                with os.scandir(path) as entries:
                    names = tuple(names_with_kinds(entries))
            except OSError as error:
                names = _fresh(error)
                if isinstance(error, FileNotFoundError):
                    state = b""
            except ValueError:
                names = FileNotFoundError(path)
            known = self._listings[path] = names, state
        found, state = known
        if self.fingerprints is not None:
            self.record(self.fingerprints.folders, path, state)
        if isinstance(found, OSError):
            if not isinstance(found, NOT_FOUND_ERRORS):
                self.mark_incomplete()
            raise _fresh(found)
        return found

    def listing_or_none(self, path: str) -> Listing | None:
        """Return the same as `listing`; `None` if the directory cannot be listed."""
        try:
            return self.listing(path)
        except OSError:
            return None

    def may_contain(self, folder: str, name: str) -> bool:
        """Return whether a folder may contain a name: false only if its listing is known and lacks it."""
        folder = self._listed_as.get(folder, folder)
        known = self._listings.get(folder)
        return known is None or isinstance(known[0], OSError) or has_name(self.listing(folder), name)

    def note_real_path(self, path: str, real: str) -> None:
        """Note the path without links of a directory that was listed, so that `may_contain` knows it by both."""
        if real != path:
            self._listed_as[real] = path


def _fresh(error: OSError) -> OSError:
    """Return a copy of an error without the frames in which it was raised, which would stay in memory."""
    return type(error)(*error.args)
