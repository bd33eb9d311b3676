"""Write down what is about to change in a folder, so that the next process can undo it after a crash.

    journal = {"version": 1, "roots": [FOLDER ...], "created": [FOLDER ...],
               "file": PATH, "digest": SHA256HEX | null, "replaces": BOOL,
               "changes": [{"root": INDEX, "name", "new": INODE | null, "old": INODE | null, "seal"} ...]}

The inode numbers show which changes are done: after a change, the name belongs to `new`.
"""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Change(Frozen):
    """One entry that is added, replaced or removed in one folder."""

    root: int
    """The folder, as an index of `Journal.roots`."""
    name: str
    new: int | None
    """The inode of the new entry; `None` if it is removed."""
    old: int | None
    """The inode of what had the name before; `None` if the name was free."""
    seal: str | None
    """What `LockedFolder.seal_of` returns for the new entry: another one is left alone."""

    def is_done(self, current: int | None) -> bool:
        """Return whether the change is done, given the inode that has the name now."""
        return current == self.new if self.new is not None else current is None or current != self.old


class Journal(Frozen):
    """All changes of one transaction."""

    roots: tuple[str, ...]
    """The folders with entries that change, relative to the locked folder."""
    created: tuple[str, ...]
    """Folders that are created for them, relative to the locked folder, the outermost first."""
    changes: tuple[Change, ...]
    file: str
    """The path of the file that says what is there, relative to the locked folder or absolute. Two such files may be
    about one folder: the lock of the user's skills, and that of the home as a project."""
    digest: str | None
    """The SHA-256 of its new content in hexadecimal; `None` if it is removed."""
    replaces: bool
    """Whether its content changes. Then it is replaced last, and shows that all changes are done."""

    def to_json(self) -> bytes:
        """Return the content of the journal's file."""
        import json

        table = {name: getattr(self, name) for name in _FIELDS}
        changes = [{name: getattr(change, name) for name in _CHANGE_FIELDS} for change in self.changes]
        return json.dumps({"version": 1, **table, "changes": changes}).encode()


_FIELDS = ("roots", "created", "file", "digest", "replaces")
_CHANGE_FIELDS = ("root", "name", "new", "old", "seal")


def parse_journal(data: bytes) -> Journal | None:
    """Parse a journal; `None` if it is incomplete (then no change has begun), or leads out of its folder."""
    import json

    try:
        table = json.loads(data)
        changes = tuple(Change(**change) for change in table["changes"])
        fields = {name: table[name] for name in _FIELDS}
        for name in ("roots", "created"):
            fields[name] = tuple(fields[name])
        journal = Journal(changes=changes, **fields)
        return journal if _is_valid(journal) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _is_valid(journal: Journal) -> bool:
    """Return whether a journal is about names in its folder: others may have changed the file."""
    parts = {part for path in (*journal.roots, *journal.created) for part in path.split("/")}
    return (
        all(map(is_file_name, parts))
        and "\0" not in journal.file
        and all(_is_valid_change(change, len(journal.roots)) for change in journal.changes)
    )


def _is_valid_change(change: Change, roots: int) -> bool:
    numbers: tuple[Any, ...] = (change.new, change.old)
    return (
        is_file_name(change.name)
        and type(change.root) is int
        and 0 <= change.root < roots
        and all(number is None or type(number) is int for number in numbers)
    )


def is_file_name(text: object) -> bool:
    """Return whether a value is the name of a file inside a folder, and not a path that leads elsewhere."""
    if not isinstance(text, str) or text in ("", ".", "..") or "/" in text or "\0" in text:
        return False
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def inode(dir_fd: int, name: str) -> int | None:
    """Return the inode of a file or folder in an open folder; `None` if it or the folder (-1) is missing."""
    if dir_fd < 0:
        return None
    try:
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None
