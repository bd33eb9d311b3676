"""Write down what is about to change in a project, so that the next process can undo it after a crash.

    journal = {"version": 1, "roots": [FOLDER ...], "created": [FOLDER ...], "lock": SHA256HEX | null,
               "lock_file": PATH, "replaces": BOOL,
               "changes": [{"root": INDEX, "name", "new": INODE | null, "old": INODE | null} ...]}

The inode numbers show which changes are done: after a change, the name belongs to `new`.
"""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False

__all__ = ["JOURNAL_FILE", "Change", "Journal", "inode", "parse_journal"]

JOURNAL_FILE = "journal.json"
"""The file in a staging folder."""


class Change(Frozen):
    """One skill that is added, replaced or removed in one folder."""

    root: int
    """The skills folder, as an index of `Journal.roots`."""
    name: str
    new: int | None
    """The inode of the new copy or link; `None` if the skill is removed."""
    old: int | None
    """The inode of what had the name before; `None` if the name was free."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of the file."""
        return {"root": self.root, "name": self.name, "new": self.new, "old": self.old}

    def is_done(self, current: int | None) -> bool:
        """Return whether the change is done, given the inode that has the name now."""
        return current == self.new if self.new is not None else current is None or current != self.old


class Journal(Frozen):
    """All changes of one transaction."""

    roots: tuple[str, ...]
    """The skills folders, relative to the project."""
    created: tuple[str, ...]
    """Folders that are created for them, relative to the project, the outermost first."""
    changes: tuple[Change, ...]
    lock: str | None
    """The SHA-256 of the new lock in hexadecimal; `None` if it is removed."""
    lock_file: str
    """The path of the lock, relative to the project if it is in there. Two locks may be about the home: the user's, and
    that of the home as a project."""
    replaces: bool
    """Whether the new lock differs from the old one. Then it is replaced last, and shows that all changes are done."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of the file."""
        return {
            "version": 1,
            "roots": [*self.roots],
            "created": [*self.created],
            "lock": self.lock,
            "lock_file": self.lock_file,
            "replaces": self.replaces,
            "changes": [change.as_dict() for change in self.changes],
        }


def parse_journal(data: bytes) -> Journal | None:
    """Parse a journal; `None` if it is incomplete (then no change has begun), or leads out of the project."""
    import json

    try:
        table = json.loads(data)
        journal = Journal(
            roots=tuple(table["roots"]),
            created=tuple(table["created"]),
            changes=tuple(Change(**change) for change in table["changes"]),
            lock=table["lock"],
            lock_file=table["lock_file"],
            replaces=table["replaces"],
        )
        return journal if _stays_inside(journal) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _stays_inside(journal: Journal) -> bool:
    """Return whether a journal is about names in folders of its project: others may have changed the file."""
    parts = {part for path in (*journal.roots, *journal.created) for part in path.split("/")}
    names = {change.name for change in journal.changes}
    return (
        not {"", ".", ".."} & (parts | names)
        and not any("/" in name for name in names)
        and all(0 <= change.root < len(journal.roots) for change in journal.changes)
        and "\0" not in "".join((*parts, *names, journal.lock_file))
    )


def inode(dir_fd: int, name: str) -> int | None:
    """Return the inode of a file or folder in an open folder; `None` if it or the folder (-1) is missing."""
    if dir_fd < 0:
        return None
    try:
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None
