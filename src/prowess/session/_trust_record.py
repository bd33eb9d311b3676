"""Keep the record of trusted skills in the user's configuration folder.

    record = {"version": 1, "trusted": [{"seal": DIGEST, "name": ..., "path": ..., "since": ...}]}

A record that is not surely the user's own, or that is malformed, allows nothing and is never overwritten.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import contextmanager, suppress

from prowess._internal.file_status import ownership_problem
from prowess._internal.files import read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, NO_LINK_FLAGS, READ_FLAGS, open_fd, replacement_file, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess._internal.user_dirs import config_folder
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    TrustedSkills = tuple["TrustedSkill", ...]

__all__ = ["TrustRecord", "TrustedSkill", "parse_record", "quote_for_shell", "trust_file"]

MAX_RECORD_BYTES = 4 * 1024 * 1024
"""The size of the record at most: some ten thousand skills."""

_FILE_NAME = "trust.json"
_KEYS = ("seal", "name", "path", "since")
_DIGEST = re.compile(r"trust1:[0-9a-f]{64}").fullmatch
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch
_SHELL_SAFE = re.compile(r"[\w@%+=:,./-]+").fullmatch


REMOTE = ("mcp://", "snapshot+")
"""The starts of the path of a skill that is on a server or in a snapshot: `mcp://LABEL/URI`, `snapshot+URL/PATH`."""


class TrustedSkill(Frozen):
    """A skill that the user trusts."""

    digest: str
    """Its integrity digest when it was trusted; `seal` in the file."""
    name: str
    """The name its host used at that time."""
    path: str
    """Of its folder, absolute and without links; for a remote skill `mcp://LABEL/URI` or `snapshot+URL/PATH`."""
    since: str
    """`YYYY-MM-DD`, in UTC."""

    def as_dict(self) -> dict[str, str]:
        """Return it in the shape of the record and of `trust --json`."""
        return {"seal": self.digest, "name": self.name, "path": self.path, "since": self.since}


class TrustRecord:
    """The file with the trusted skills of one user.

    Args:
        file: its absolute path. Its folder is created when the first skill is trusted.
    """

    def __init__(self, file: str) -> None:
        self.file = file

    def load(self) -> TrustedSkills:
        """Return the trusted skills, in the order of the file.

        Raises:
            ConfigError: the record is invalid.
        """
        data = self._read()
        if data is None:
            return ()
        try:
            return parse_record(data)
        except _MalformedError as error:
            raise self._invalid_error(str(error)) from None
        except (ValueError, RecursionError):
            raise self._invalid_error("it is not JSON") from None

    def update(self, edit: Callable[[TrustedSkills], TrustedSkills]) -> None:
        """Replace the trusted skills in one step, under a lock that keeps out other processes and threads.

        Args:
            edit: takes the trusted skills and returns the new ones.

        Raises:
            ConfigError: the record is invalid or cannot be written; it stays as it is.
        """
        try:
            _make_folder(os.path.dirname(self.file))
            self._check_folder()
            with _file_lock(self.file + ".lock"):
                skills = self.load()
                edited = edit(skills)
                if edited != skills:
                    self._write(edited)
        except (OSError, RecursionError) as error:  # the latter if the folder is too deep to be created
            message = f"cannot write the trust record {neutral(self.file)}: {describe_os_error(error)}"
            raise ConfigError(message, hint="fix this, or set PROWESS_CONFIG_DIR to another folder") from None

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _read(self) -> bytes | None:
        """Return the content of the record; `None` if there is no record."""
        try:
            self._check_folder()
            fd = os.open(self.file, READ_FLAGS)
        except FileNotFoundError:
            return None
        except ConfigError:
            raise
        except (OSError, ValueError) as error:
            is_link = getattr(error, "errno", 0) in (errno.ELOOP, errno.EMLINK)
            reason = "it is a link" if is_link else f"it cannot be read: {describe_os_error(error)}"
            raise self._invalid_error(reason) from None
        try:
            self._check_owned(os.fstat(fd), regular=True)
            data = read_up_to(fd, MAX_RECORD_BYTES)
        except OSError as error:
            raise self._invalid_error(f"it cannot be read: {describe_os_error(error)}") from None
        finally:
            os.close(fd)
        if len(data) > MAX_RECORD_BYTES:
            raise self._invalid_error(f"it is larger than {MAX_RECORD_BYTES // 1024 // 1024} MiB")
        return data

    def _check_folder(self) -> None:
        self._check_owned(os.lstat(os.path.dirname(self.file)), regular=False)

    def _check_owned(self, status: os.stat_result, *, regular: bool) -> None:
        """Check that the file, or its folder, belongs to the user alone.

        Raises:
            ConfigError: it does not.
        """
        subject = "it" if regular else "its folder"
        if stat.S_ISLNK(status.st_mode):
            raise self._invalid_error(f"{subject} is a link")
        if not (stat.S_ISREG if regular else stat.S_ISDIR)(status.st_mode):
            raise self._invalid_error(f"{subject} is not a {'regular file' if regular else 'folder'}")
        problem = ownership_problem(status)
        if problem == "owner":
            raise self._invalid_error(f"{subject} belongs to another user")
        if problem == "writable":
            path = quote_for_shell(self.file if regular else os.path.dirname(self.file))
            hint = f"if its content is yours, type `chmod go-w {path}`; if not, remove it"
            raise self._invalid_error(f"other users can write to {subject}", hint)

    def _invalid_error(self, reason: str, hint: str | None = None) -> ConfigError:
        return ConfigError(
            f"the trust record is invalid: {neutral(self.file)}: {reason}",
            hint=hint or "fix or remove it, then trust your skills again with `prowess trust SKILL`",
        )

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _write(self, skills: TrustedSkills) -> None:
        import json

        table = {"version": 1, "trusted": [skill.as_dict() for skill in skills]}
        data = json.dumps(table, indent=2).encode() + b"\n"
        if len(data) > MAX_RECORD_BYTES:
            message = f"the trust record is full: {neutral(self.file)}"
            hint = "remove skills with `prowess trust --remove SKILL`; `prowess trust --list` shows them"
            raise ConfigError(message, hint=hint)
        # Only the holder of the lock writes: a file of this name was left by a process that was killed.
        with replacement_file(self.file, staged=f"{self.file}.new") as fd:
            write_all(fd, data)
            if sys.platform != "win32":
                os.fchmod(fd, 0o600)
            os.fsync(fd)
        if sys.platform != "win32":
            with open_fd(os.path.dirname(self.file), FOLDER_FLAGS) as folder_fd:
                os.fsync(folder_fd)


def trust_file(env: Mapping[str, str]) -> str:
    """Return the path of the trust record, in `PROWESS_CONFIG_DIR` or the system's folder for user settings.

    Raises:
        ConfigError: the user has no such folder, or `PROWESS_CONFIG_DIR` is a relative path: it would name another
            record in each project, and a project might bring one.
    """
    folder = config_folder(env)
    if folder is None:
        raise ConfigError(
            "no folder for the trust record: you have no home directory",
            hint="set PROWESS_CONFIG_DIR to a folder of yours",
        )
    if not os.path.isabs(folder):
        message = f"PROWESS_CONFIG_DIR is not an absolute path: {quoted(folder, PATH_LIMIT)}"
        raise ConfigError(message, hint="set it to an absolute path")
    return os.path.join(os.path.normpath(folder), _FILE_NAME)


def quote_for_shell(path: str) -> str:
    """Return a path as it is typed in a shell, without characters that change a terminal."""
    return neutral(path if _SHELL_SAFE(path) else "'" + path.replace("'", "'\"'\"'") + "'")


def _make_folder(folder: str) -> None:
    """Create a folder, and those above it, for the user alone."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        _make_folder(os.path.dirname(folder))
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)


@contextmanager
def _file_lock(path: str) -> Iterator[None]:
    """Lock a file against other processes and threads; the system releases it if the process dies."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK_FLAGS, 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(fd, msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


# ── the format ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _MalformedError(ValueError):
    """The content is JSON, but not a trust record."""


def parse_record(data: bytes) -> TrustedSkills:
    """Parse the content of a trust record.

    Raises:
        ValueError: it is not a trust record.
    """
    import json

    table = json.loads(data.decode(), object_pairs_hook=_reject_duplicate_keys)
    if not isinstance(table, dict) or table.keys() != {"version", "trusted"}:
        raise _MalformedError("it is not a trust record")
    if type(table["version"]) is not int or table["version"] != 1:
        raise _MalformedError(f"its version is {quoted(str(table['version']))}, and only version 1 is known")
    if not isinstance(table["trusted"], list):
        raise _MalformedError("`trusted` is not a list")
    return tuple(_parse_skill(number, row) for number, row in enumerate(table["trusted"], 1))


def _reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise _MalformedError("it has a duplicate key")
    return table


def _parse_skill(number: int, row: object) -> TrustedSkill:
    if not isinstance(row, dict) or row.keys() != {*_KEYS} or not all(isinstance(row[key], str) for key in _KEYS):
        raise _MalformedError(f"entry {number} must have exactly four texts: {', '.join(_KEYS)}")
    if (
        not _DIGEST(row["seal"])
        or not _DATE(row["since"])
        or not (os.path.isabs(row["path"]) or row["path"].startswith(REMOTE))
        or "\0" in row["path"]
    ):
        raise _MalformedError(f"entry {number} has an invalid `seal`, `path` or `since`")
    return TrustedSkill(digest=row["seal"], name=row["name"], path=row["path"], since=row["since"])
