"""the file beside a skills folder -> what was mounted there

    record = {"version": 1, "made": [FOLDER ...], "skills": [{"name", "source", "seal"} ...]}

It lies beside the copies, not in them, so that a copy is its source byte for byte. Anyone may have written it: what it
names leads nowhere else, and what it says is done only where the seal of the copy agrees.
"""

from __future__ import annotations

import os
import stat

from prowess._internal.files import read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS
from prowess._internal.text import describe_os_error, neutral
from prowess.errors import SkillMountError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "RecordedMount",
    "MountRecord",
    "is_file_name",
    "parse_json",
    "read_record",
    "record_file_name",
    "read_record_at",
    "parse_record",
    "read_small_file",
]

_MAX_RECORD_BYTES = 4 * 1024 * 1024


class RecordedMount(Frozen):
    """One row of the record."""

    name: str
    source: str
    """Where it was copied from, absolute."""
    seal: str
    """Of the copy, as `seal.seal` makes it: only what has it still is taken away or replaced."""

    def as_dict(self) -> dict[str, str]:
        """Return it in the shape of the record."""
        return {"name": self.name, "source": self.source, "seal": self.seal}


class MountRecord(Frozen):
    """What was mounted into one skills folder."""

    skills: tuple[RecordedMount, ...] = ()
    made: tuple[str, ...] = ()
    """Folders that were made for it, relative to the home, the outermost first."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of the file."""
        return {"version": 1, "made": [*self.made], "skills": [row.as_dict() for row in self.skills]}


def record_file_name(root: str) -> str:
    """Return the name of the record of a skills folder; it lies beside it."""
    return f".prowess-{os.path.basename(root)}.json"


def read_record(home: str, root: str) -> MountRecord:
    """Return what was mounted into a skills folder, as its record says.

    Raises:
        SkillMountError: the record cannot be believed.
    """
    above = os.path.join(home, os.path.dirname(root))
    try:
        fd = os.open(above, FOLDER_FLAGS)
    except OSError:
        return MountRecord()
    try:
        return read_record_at(fd, record_file_name(root), above)
    finally:
        os.close(fd)


def read_record_at(above: int, name: str, shown: str) -> MountRecord:
    """Return what a record says; an empty one where there is none.

    Args:
        above: a descriptor of the folder it is in.
        name: of its file.
        shown: the folder's path, for errors.

    Raises:
        SkillMountError: it cannot be believed.
    """
    data = read_small_file(above, name, os.path.join(shown, name))
    try:
        return MountRecord() if data is None else parse_record(parse_json(data))
    except (ValueError, RecursionError) as error:
        raise _invalid_record(os.path.join(shown, name), f"it is no record of mounts ({error})") from None


def _invalid_record(path: str, why: str) -> SkillMountError:
    words = f"the record of what was mounted cannot be believed: {neutral(path)}: {why}"
    return SkillMountError(words, hint="remove it: what was mounted then counts as made by hand")


def read_small_file(above: int, name: str, shown: str) -> bytes | None:
    """Return what a small file holds, None where there is none.

    Raises:
        SkillMountError: it is not a file, or too large.
    """
    try:
        fd = os.open(name, READ_FLAGS, dir_fd=above)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _invalid_record(shown, describe_os_error(error)) from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_RECORD_BYTES:
            raise _invalid_record(shown, "it is not a regular file of at most 4 MiB")
        return read_up_to(fd, _MAX_RECORD_BYTES)
    except SkillMountError:
        raise
    except OSError as error:
        raise _invalid_record(shown, describe_os_error(error)) from None
    finally:
        os.close(fd)


def parse_json(data: bytes) -> Any:
    """Return what JSON says.

    Raises:
        ValueError: it is none; or a RecursionError, where it nests too deep.
    """
    import json

    return json.loads(data.decode())


def parse_record(table: Any) -> MountRecord:
    """Make a record of what its file says.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(table, dict) or table.get("version") != 1:
        raise ValueError("its version is not 1")
    made, rows = table.get("made"), table.get("skills")
    if not isinstance(made, list) or not all(isinstance(path, str) and _is_relative_path(path) for path in made):
        raise ValueError("`made` is not a list of folders")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("`skills` is not a list of tables")
    skills = []
    for row in rows:
        values = [row.get(key) for key in ("name", "source", "seal")]
        if not all(isinstance(value, str) for value in values) or not is_file_name(values[0]):
            raise ValueError("a skill has no `name`, `source` or `seal`")
        skills.append(RecordedMount(name=values[0], source=values[1], seal=values[2]))
    return MountRecord(skills=tuple(skills), made=tuple(made))


def is_file_name(text: Any) -> bool:
    """Say whether a text names something in a folder, and nothing elsewhere."""
    if not isinstance(text, str) or text in ("", ".", "..") or "/" in text or "\0" in text:
        return False
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _is_relative_path(path: str) -> bool:
    return all(map(is_file_name, path.split("/")))
