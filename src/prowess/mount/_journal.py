"""Write down what a mount is about to change, so that the next process can finish it or undo it after a crash.

    journal = {"version": 1, "changes": [{"name", "new": INODE | null, "old": INODE | null} ...], "record": record}

The inode numbers show which changes are done: after a change, the name belongs to `new`.
"""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen

from ._record import MountRecord, is_file_name, parse_json, parse_record

TYPE_CHECKING = False

__all__ = ["JOURNAL_FILE", "Change", "Journal", "inode", "parse_journal"]

JOURNAL_FILE = "journal.json"
"""The file in a staging folder."""


class Change(Frozen):
    """One skill that is mounted, replaced or removed."""

    name: str
    new: int | None
    """The inode of the new copy; `None` if the skill is removed."""
    old: int | None
    """The inode of the folder that had the name before; `None` if the name was free."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of the file."""
        return {"name": self.name, "new": self.new, "old": self.old}

    def is_done(self, current: int | None) -> bool:
        """Return whether the change is done, given the inode that has the name now."""
        return current == self.new if self.new is not None else current is None or current != self.old


class Journal(Frozen):
    """All changes of one mount, and the mount record after them."""

    changes: tuple[Change, ...]
    record: MountRecord

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of the file."""
        changes = [change.as_dict() for change in self.changes]
        return {"version": 1, "changes": changes, "record": self.record.as_dict()}


def parse_journal(data: bytes) -> Journal | None:
    """Parse a journal; `None` if it is incomplete or invalid.

    An incomplete journal means that no change has begun. An invalid one was not written by Prowess.
    """
    try:
        table = parse_json(data)
        if not isinstance(table, dict):
            return None
        changes = table["changes"]
        record = parse_record(table["record"])
        if not all(_is_change(change) for change in changes):
            return None
    except (ValueError, KeyError, TypeError):
        return None
    return Journal(changes=tuple(Change(**change) for change in changes), record=record)


def _is_change(change: object) -> bool:
    return (
        isinstance(change, dict)
        and change.keys() == {"name", "new", "old"}
        and is_file_name(change["name"])
        and all(change[key] is None or type(change[key]) is int for key in ("new", "old"))
    )


def inode(dir_fd: int, name: str) -> int | None:
    """Return the inode of a file or folder in an open folder; `None` if it is missing."""
    try:
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None
