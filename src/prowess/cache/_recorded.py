"""Keep results and outputs in files, and return one only if nothing that it depends on has changed.

A file holds what one question was answered with, and every file, folder, link and variable that had a part in it. If
one of these is no longer the same, the disk is read again; where only the content of a few files has changed, the
caller may bring a result up to date. A result is stored only if what it depends on changed some time ago, so that no
later change can have the same time stamp.

Two things go unnoticed: a forged file of a process that can write as the user, and so could change the skills as well;
and a change that the system does not show yet, such as one through a memory mapping that was written to before, or on
another machine of a network file system.
"""

from __future__ import annotations

import os

from prowess._internal.file_status import SETTLE_NS, owner_and_writers
from prowess._internal.files import real_path
from prowess.filesystem import FINGERPRINT_BYTES, Fingerprints, fingerprint_paths, kind, link_kind, newest_time

from ._files import read_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    Table: TypeAlias = dict[str, str]
    Dependencies: TypeAlias = tuple[
        tuple[str, ...], bytes, tuple[str, ...], bytes, Table, Table, Table, Table, dict[str, str | None]
    ]
    """Files and their fingerprints, folders and theirs, then what was returned by `kind`, `link_kind` (empty for a file
    that did not exist), `real_path` and `owner_and_writers`, and the environment variables."""

_KIND = "catalog"
"""The first word of the files' names."""
_CHECKED_AT_ONCE = 256
"""Files; after so many, the rest is not looked at if too many have changed."""
_MAX_CHANGED = 100
"""Files of which a result may be brought up to date; beyond that, reading the disk is simpler."""


class Recorded:
    """A result, and what it depends on."""

    __slots__ = ("changed", "data", "dependencies")

    def __init__(self, data: bytes, dependencies: Dependencies, changed: tuple[int, ...] = ()) -> None:
        self.data, self.dependencies = data, dependencies
        self.changed = changed
        """The numbers of files that have changed since; the result is not valid before it was brought up to date."""

    def changed_files(self) -> list[str]:
        """Return the paths of the files that have changed since."""
        return [self.dependencies[0][number] for number in self.changed]

    def known_fingerprints(self) -> dict[str, bytes]:
        """Return the fingerprints of the files that have not changed, by path."""
        known = _by_path(*self.dependencies[:2])
        for path in self.changed_files():
            del known[path]
        return known

    def record(self) -> tuple[Fingerprints, Mapping[str, str | None]]:
        """Return all that it depends on: what was read, and environment variables."""
        recorded = Fingerprints()
        recorded.files, recorded.folders = self.known_fingerprints(), _by_path(*self.dependencies[2:4])
        recorded.kinds, recorded.links, recorded.real_paths, recorded.owners, variables = self.dependencies[4:]
        return recorded, variables


class Cache:
    """The results of one user, in one folder.

    Args:
        folder: the cache's folder; created when a result is stored.
        settle_ns: nanoseconds, instead of `SETTLE_NS`.
    """

    def __init__(self, folder: str, *, settle_ns: int | None = None) -> None:
        self.folder, self.settle_ns = folder, SETTLE_NS if settle_ns is None else settle_ns

    def load(self, key: Sequence[str], env: Mapping[str, str], *, outdated: bool = False) -> Recorded | None:
        """Return the result for a key if nothing that it depends on has changed.

        Args:
            key: all that the result is for.
            env: the environment.
            outdated: whether the content of a few files may have changed.
        """
        try:
            dependencies, data = read_value(self.folder, _KIND, key)
            changed = _changed_files(*dependencies[:2]) if _are_unchanged(dependencies, env) else None
        except (OSError, ValueError, TypeError, OverflowError):  # the third one without a result
            return None
        if changed is None or (changed and not outdated):
            return None
        return Recorded(data, dependencies, tuple(changed))

    def store(
        self,
        key: Sequence[str],
        fingerprints: Fingerprints,
        variables_read: Mapping[str, str | None],
        started_ns: int,
        data: bytes,
    ) -> bool:
        """Store a result, unless something that it depends on changed a moment ago. Never raises.

        Args:
            key: all that the result is for.
            fingerprints: what was read.
            variables_read: the environment variables that were read.
            started_ns: when reading began, in nanoseconds of the system's clock.
            data: the result.

        Returns:
            Whether it was stored.
        """
        if not self.is_settled(fingerprints, started_ns):
            return False
        links, kinds = {**fingerprints.links}, {**fingerprints.kinds}
        files, folders = _existing(fingerprints.files, links), _existing(fingerprints.folders, kinds)
        if files is None or folders is None:
            return False
        dependencies = (
            *(tuple(files), b"".join(files.values()), tuple(folders), b"".join(folders.values())),
            *(kinds, links, fingerprints.real_paths, fingerprints.owners, dict(variables_read)),
        )
        return self.store_again(key, dependencies, data)

    def is_settled(self, fingerprints: Fingerprints, started_ns: int) -> bool:
        """Return whether a result may be stored: nothing that it depends on changed a moment before it was read."""
        return fingerprints.complete and fingerprints.newest_time() <= started_ns - self.settle_ns

    def store_again(self, key: Sequence[str], dependencies: Dependencies, data: bytes) -> bool:
        """Store what depends on the same as a result that was loaded; return whether it was stored. Never raises."""
        from ._writing import write_value

        return write_value(self.folder, _KIND, key, (dependencies, data))

    def update(self, key: Sequence[str], recorded: Recorded, fingerprints: Fingerprints, started_ns: int) -> bool:
        """Store a result that was brought up to date, as `store` does. Never raises.

        Args:
            key: all that the result is for.
            recorded: as `load` returned it, with new data.
            fingerprints: what was read for that.
            started_ns: when reading began, in nanoseconds of the system's clock.
        """
        files, states, *rest = recorded.dependencies
        current = {number: fingerprints.files.get(files[number], b"") for number in recorded.changed}
        if not fingerprints.complete or not all(current.values()):
            return False
        if newest_time(b"".join(current.values())) > started_ns - self.settle_ns:
            return False
        updated = bytearray(states)
        for number, state in current.items():
            updated[number * FINGERPRINT_BYTES : (number + 1) * FINGERPRINT_BYTES] = state
        return self.store_again(key, (files, bytes(updated), *rest), recorded.data)  # type: ignore[arg-type]


def _existing(recorded: Mapping[str, bytes], missing: Table) -> dict[str, bytes] | None:
    """Return the fingerprints of paths that existed, and add the others to `missing`; `None` if one was removed."""
    for path, state in recorded.items():
        if not state and missing.setdefault(path, ""):
            return None
    return {path: state for path, state in recorded.items() if state}


def _by_path(paths: Sequence[str], states: bytes) -> dict[str, bytes]:
    parts = (states[at : at + FINGERPRINT_BYTES] for at in range(0, len(states), FINGERPRINT_BYTES))
    return dict(zip(paths, parts, strict=True))


def _are_unchanged(dependencies: Dependencies, env: Mapping[str, str]) -> bool:
    """Return whether all but the files is the same.

    Raises:
        OSError: a path cannot be read.
        ValueError: a path is invalid.
        OverflowError: a number is too large for a fingerprint.
    """
    _, _, folders, states, kinds, links, real_paths, owners, variables = dependencies
    return (
        all(env.get(name) == value for name, value in variables.items())
        and fingerprint_paths(folders, os.stat) == states
        and all(kind(path) == known for path, known in kinds.items())
        and all(link_kind(path) == known for path, known in links.items())
        and all(real_path(path) == known for path, known in real_paths.items())
        and all(owner_and_writers(path) == known for path, known in owners.items())
    )


def _changed_files(paths: Sequence[str], stored: bytes) -> list[int] | None:
    """Return the numbers of the files whose fingerprints are not those that were stored; `None` if they are many.

    Raises:
        OSError: a path does not exist or cannot be read.
        ValueError: a path is invalid.
        OverflowError: a number is too large for a fingerprint.
    """
    changed: list[int] = []
    size = FINGERPRINT_BYTES
    for first in range(0, len(paths), _CHECKED_AT_ONCE):
        current = fingerprint_paths(paths[first : first + _CHECKED_AT_ONCE])
        known = stored[first * size : first * size + len(current)]
        if current != known:
            places = range(0, len(current), size)
            changed += [first + at // size for at in places if current[at : at + size] != known[at : at + size]]
            if len(changed) > _MAX_CHANGED:
                return None
    return changed
