"""Read the mount record: the file beside a skills folder that says what Prowess mounted there.

    record = {"version": 1, "made": [FOLDER ...], "skills": [{"name", "source", "seal"} ...]}

It is not inside the copies, so that a copy is identical to its source. Anyone may have written it. So its paths cannot
lead out of the home, and Prowess acts on it only if the integrity digest (`seal`) of the copy matches.
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

__all__ = [
    "MountRecord",
    "RecordedMount",
    "is_file_name",
    "parse_json",
    "parse_record",
    "read_record",
    "read_record_at",
    "read_small_file",
    "record_file_name",
]

_MAX_RECORD_BYTES = 4 * 1024 * 1024


class RecordedMount(Frozen):
    """A skill in the mount record."""

    name: str
    source: str
    """The absolute path it was copied from."""
    integrity: str
    """The integrity digest of the copy. A copy with another one has changed, and is neither replaced nor removed."""

    def as_dict(self) -> dict[str, str]:
        """Return it in the shape of the record."""
        return {"name": self.name, "source": self.source, "seal": self.integrity}


class MountRecord(Frozen):
    """The content of the mount record of a skills folder."""

    skills: tuple[RecordedMount, ...] = ()
    created: tuple[str, ...] = ()
    """Folders that were created for it, relative to the home, the outermost first."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of the file."""
        return {"version": 1, "made": [*self.created], "skills": [skill.as_dict() for skill in self.skills]}


def record_file_name(root: str) -> str:
    """Return the file name of the mount record, which is in the same folder as the skills folder."""
    return f".prowess-{os.path.basename(root)}.json"


def read_record(home: str, root: str) -> MountRecord:
    """Return the mount record of a skills folder; an empty one if it is missing.

    Raises:
        SkillMountError: the record is invalid.
    """
    folder = os.path.join(home, os.path.dirname(root))
    try:
        fd = os.open(folder, FOLDER_FLAGS)
    except OSError:
        return MountRecord()
    try:
        return read_record_at(fd, record_file_name(root), folder)
    finally:
        os.close(fd)


def read_record_at(dir_fd: int, name: str, display_folder: str) -> MountRecord:
    """Return a mount record in an open folder; an empty one if it is missing.

    Args:
        dir_fd: a descriptor of the folder.
        name: the file name of the record.
        display_folder: the path of the folder, for errors.

    Raises:
        SkillMountError: the record is invalid.
    """
    path = os.path.join(display_folder, name)
    data = read_small_file(dir_fd, name, path)
    try:
        return MountRecord() if data is None else parse_record(parse_json(data))
    except ValueError as error:
        raise _invalid_record(path, str(error)) from None


def _invalid_record(path: str, reason: str) -> SkillMountError:
    message = f"the mount record is invalid: {neutral(path)}: {reason}"
    return SkillMountError(message, hint="remove it; then Prowess leaves alone the skills that are mounted there now")


def read_small_file(dir_fd: int, name: str, display_path: str) -> bytes | None:
    """Return the content of a file in an open folder; `None` if it is missing.

    Raises:
        SkillMountError: it is not a regular file, or larger than 4 MiB.
    """
    try:
        fd = os.open(name, READ_FLAGS, dir_fd=dir_fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _invalid_record(display_path, describe_os_error(error)) from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_RECORD_BYTES:
            raise _invalid_record(display_path, "it is not a regular file of at most 4 MiB")
        return read_up_to(fd, _MAX_RECORD_BYTES)
    except SkillMountError:
        raise
    except OSError as error:
        raise _invalid_record(display_path, describe_os_error(error)) from None
    finally:
        os.close(fd)


def parse_json(data: bytes) -> object:
    """Parse JSON.

    Raises:
        ValueError: it is not valid JSON, or nests too deep.
    """
    import json

    try:
        value: object = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is not valid JSON") from None
    return value


def parse_record(table: object) -> MountRecord:
    """Make a mount record from its JSON.

    Raises:
        ValueError: a field is missing or has an invalid value.
    """
    if not isinstance(table, dict) or table.get("version") != 1:
        raise ValueError("its version is not 1")
    created, entries = table.get("made"), table.get("skills")
    if not isinstance(created, list) or not all(isinstance(path, str) and _is_relative_path(path) for path in created):
        raise ValueError("`made` is not a list of folders")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("`skills` is not a list of objects")
    skills = []
    for entry in entries:
        values = [entry.get(key) for key in ("name", "source", "seal")]
        if not all(isinstance(value, str) for value in values) or not is_file_name(values[0]):
            raise ValueError("a skill has no `name`, `source` or `seal`")
        skills.append(RecordedMount(name=values[0], source=values[1], integrity=values[2]))
    return MountRecord(skills=tuple(skills), created=tuple(created))


def is_file_name(text: object) -> bool:
    """Return whether a value is the name of a file inside a folder, and not a path that leads elsewhere."""
    if not isinstance(text, str) or text in ("", ".", "..") or "/" in text or "\0" in text:
        return False
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _is_relative_path(path: str) -> bool:
    return all(map(is_file_name, path.split("/")))
