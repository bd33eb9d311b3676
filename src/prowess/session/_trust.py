"""a skill + what its user allowed -> whether its tools and scripts may be used

A skill grants nothing by itself. What a project, a package or a folder named on the command line brings may be read;
its `tools:` and its scripts may be used only while the seal of its folder is on its user's record.

    record = {"version": 1, "trusted": [{"seal": ..., "name": ..., "path": ..., "since": ...}]}

Between the answer and the use of a file nothing is held still; whoever runs a file of the skill asks last.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import contextmanager, suppress
from time import gmtime, strftime

from prowess._internal.frozen import Frozen
from prowess._internal.text import describe_os_error, neutral, normalize_name, quoted
from prowess._internal.user_dirs import config_folder
from prowess.catalog import State
from prowess.errors import AmbiguousSkillError, ConfigError, SkillError, SkillNotFoundError
from prowess.skill import integrity_digest, read_integrity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prowess.catalog import Entry

    Rows = tuple["TrustedSkill", ...]

__all__ = ["Trust", "TrustedSkill", "trusted_folder", "needs_trust", "trust_file"]

MAX_RECORD_BYTES = 4 * 1024 * 1024
"""Of the record: some ten thousand skills."""
ALWAYS_TRUSTED_SCOPES = frozenset(("managed", "user", "system"))
"""Scopes whose skills the user or the administrator put there; all others need trust."""

_FILE_NAME = "trust.json"
_FIELDS = ("seal", "name", "path", "since")
_DIGEST = re.compile(r"trust1:[0-9a-f]{64}").fullmatch
_DIGEST_PREFIX = re.compile(r"(?:trust1:)?([0-9a-f]{8,64})").fullmatch
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch

_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_OPEN_FLAGS |= getattr(os, "O_BINARY", 0)


def needs_trust(entry: Entry) -> bool:
    """Say whether a skill's tools and scripts wait for its user's word."""
    return entry.scope not in ALWAYS_TRUSTED_SCOPES


def trusted_folder(entry: Entry) -> str:
    """Return the folder that is sealed for a skill, without links.

    Raises:
        SkillError: it has none: it is a single file among others.
    """
    folder, file = os.path.split(entry.path)
    if file.lower() != "skill.md":
        raise SkillError(
            f"{quoted(file)} has no folder of its own", hint="make it a folder that holds nothing else but its SKILL.md"
        )
    return os.path.realpath(folder)


# ── the record ───────────────────────────────────────────────────────────────────────────────────────────────────────


class TrustedSkill(Frozen):
    """What was trusted, when."""

    seal: str
    name: str
    """What the host called it then."""
    path: str
    """Of its folder, absolute and without links."""
    since: str
    """`YYYY-MM-DD`, in UTC."""

    def as_dict(self) -> dict[str, str]:
        """Return it in the shape of the record and of `trust --json`."""
        return {name: getattr(self, name) for name in _FIELDS}


class Trust:
    """What one user allowed.

    Args:
        file: of the record; `trust_file` says where it is by default. Its folder is made when something is trusted.

    Raises:
        ConfigError: there is no place for the record.
    """

    def __init__(self, file: str | None = None) -> None:
        self.file = trust_file(os.environ) if file is None else os.path.abspath(file)

    def allows(self, entry: Entry) -> bool:
        """Say whether a skill's tools and scripts may be used now. In doubt they may not; nothing is raised."""
        return self.denial_reason(entry) is None

    def denial_reason(self, entry: Entry) -> str | None:
        """Return why a skill's tools and scripts may not be used now, and what to do; None where they may."""
        if not needs_trust(entry):
            return None
        name = quoted(entry.name)
        try:
            folder = trusted_folder(entry)
            now = read_integrity(folder).digest
        except SkillError as error:
            return f"{name} cannot be trusted: {error}; {error.hint}"
        try:
            rows = self._rows()
        except ConfigError as error:
            return f"{name} is not trusted: {error}; {error.hint}"
        if any(row.seal == now for row in rows):
            return None
        typed = f"`prowess trust {_shell_quote(os.path.dirname(entry.path))}`"
        for row in rows:
            if row.path == folder:
                return f"{name} has changed since it was trusted on {row.since}: look at it again, then type {typed}"
        return f"{name} is not trusted: look at it, then type {typed}"

    def allow(self, entry: Entry, *, seal: str | None = None) -> TrustedSkill:
        """Put a skill on record as it is now, in place of what was trusted in the same folder before.

        Args:
            entry: the skill.
            seal: what its user was shown; anything else is not trusted in its place.

        Raises:
            SkillError: it is rejected, it cannot be sealed, or it is no longer what was shown.
            ConfigError: the record cannot be believed or written; it is left as it is.
        """
        if entry.state is State.REJECTED:
            hint = f"`prowess check {_shell_quote(entry.path)}` says what to mend"
            raise SkillError(f"{quoted(entry.name)} cannot be trusted: {entry.reason}", hint=hint)
        try:
            folder = trusted_folder(entry)
            now = read_integrity(folder).digest
        except SkillError as error:
            raise SkillError(f"{quoted(entry.name)} cannot be trusted: {error}", hint=error.hint) from None
        if seal is not None and seal != now:
            words = f"{quoted(entry.name)} is not trusted: it has changed since it was shown"
            raise SkillError(words, hint="look at it again")
        made = TrustedSkill(seal=now, name=entry.name, path=folder, since=strftime("%Y-%m-%d", gmtime()))

        def edit(rows: Rows) -> tuple[Rows, Rows]:
            for row in rows:
                if (row.seal, row.path) == (now, folder):
                    return rows, (row,)
            return (*(row for row in rows if row.path != folder), made), (made,)

        return self._update_record(edit)[0]

    def revoke(self, what: str | Entry) -> Rows:
        """Take a skill off the record, with all its copies, and return what was on it.

        Args:
            what: the skill; or the beginning of a seal, a path or a name on the record.

        Raises:
            SkillNotFoundError: it is not on record.
            AmbiguousSkillError: several skills on record have that name.
            ConfigError: the record cannot be believed or written; it is left as it is.
        """

        def edit(rows: Rows) -> tuple[Rows, Rows]:
            seals = {
                row.seal
                for row in (_rows_by_reference(rows, what) if isinstance(what, str) else _rows_of_skill(rows, what))
            }
            if not seals:
                name = quoted(what if isinstance(what, str) else what.name)
                raise SkillNotFoundError(f"{name} is not on record", hint="`prowess trust --list` shows what is")
            kept = tuple(row for row in rows if row.seal not in seals)
            return kept, tuple(row for row in rows if row.seal in seals)

        # First without a lock, for which a folder would have to be made.
        edit(self._rows())
        return self._update_record(edit)

    def all(self) -> Rows:
        """Return all that is on record, by name.

        Raises:
            ConfigError: the record cannot be believed.
        """
        return tuple(sorted(self._rows(), key=lambda row: (normalize_name(row.name), row.path)))

    # ── reading it ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _rows(self) -> Rows:
        data = self._read()
        if data is None:
            return ()
        try:
            return _parse_record(data)
        except (ValueError, RecursionError) as error:
            words = str(error) if isinstance(error, _MalformedError) else "it is not JSON"
            raise self._invalid_record_error(words) from None

    def _read(self) -> bytes | None:
        """Return what the record holds, None where there is none."""
        try:
            self._check_folder()
            fd = os.open(self.file, os.O_RDONLY | _OPEN_FLAGS)
        except FileNotFoundError:
            return None
        except ConfigError:
            raise
        except (OSError, ValueError) as error:
            link = getattr(error, "errno", 0) in (errno.ELOOP, errno.EMLINK)
            raise self._invalid_record_error(
                "it is a link" if link else f"it cannot be read: {describe_os_error(error)}"
            ) from None
        try:
            status = os.fstat(fd)
            self._check_owned(status, regular=True)
            parts, size = [], 0
            while size <= MAX_RECORD_BYTES and (part := os.read(fd, 1 << 20)):
                parts.append(part)
                size += len(part)
        except OSError as error:
            raise self._invalid_record_error(f"it cannot be read: {describe_os_error(error)}") from None
        finally:
            os.close(fd)
        if size > MAX_RECORD_BYTES:
            raise self._invalid_record_error(f"it is larger than {MAX_RECORD_BYTES // 1024 // 1024} MiB")
        return b"".join(parts)

    def _check_folder(self) -> None:
        self._check_owned(os.lstat(os.path.dirname(self.file)), regular=False)

    def _check_owned(self, status: os.stat_result, *, regular: bool) -> None:
        """See that a file, or the folder it is in, is the user's own.

        Raises:
            ConfigError: it is not.
        """
        it = "it" if regular else "its folder"
        if stat.S_ISLNK(status.st_mode):
            raise self._invalid_record_error(f"{it} is a link")
        if not (stat.S_ISREG if regular else stat.S_ISDIR)(status.st_mode):
            raise self._invalid_record_error(f"{it} is not a {'regular file' if regular else 'folder'}")
        if sys.platform != "win32":
            if status.st_uid != os.geteuid():
                raise self._invalid_record_error(f"{it} belongs to somebody else")
            if status.st_mode & 0o022:
                path = _shell_quote(self.file if regular else os.path.dirname(self.file))
                hint = f"if all in it is yours, type `chmod go-w {path}`; if not, remove it"
                raise self._invalid_record_error(f"others may write to {it}", hint)

    def _invalid_record_error(self, why: str, hint: str | None = None) -> ConfigError:
        return ConfigError(
            f"the record of what is trusted cannot be believed: {neutral(self.file)}: {why}",
            hint=hint or "mend or remove it, then trust again what you want to",
        )

    # ── writing it ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _update_record(self, edit: Callable[[Rows], tuple[Rows, Rows]]) -> Rows:
        """Put the record that `edit` makes of this one in its place, while no other process does.

        Args:
            edit: given all rows, returns all that are to be, and what to return.

        Raises:
            ConfigError: the record cannot be believed or written; it is left as it is.
        """
        try:
            _make_folder(os.path.dirname(self.file))
            self._check_folder()
            with _file_lock(self.file + ".lock"):
                rows = self._rows()
                new, result = edit(rows)
                if new != rows:
                    self._write(new)
        except (OSError, RecursionError) as error:  # the latter for folders too deep to be made
            words = f"the record of what is trusted cannot be written: {neutral(self.file)}: {describe_os_error(error)}"
            raise ConfigError(words, hint="mend that, or name another folder in PROWESS_CONFIG_DIR") from None
        return result

    def _write(self, rows: Rows) -> None:
        import json

        table = {"version": 1, "trusted": [row.as_dict() for row in rows]}
        data = json.dumps(table, indent=2).encode() + b"\n"
        if len(data) > MAX_RECORD_BYTES:
            words = f"the record of what is trusted is full: {neutral(self.file)}"
            raise ConfigError(words, hint="`prowess trust --list` shows it, `prowess trust --remove SKILL` makes room")
        # Whoever holds the lock is alone: what lies there was left by a process that was killed.
        staged = f"{self.file}.new"
        with suppress(FileNotFoundError):
            os.unlink(staged)
        fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN_FLAGS, 0o600)
        try:
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(fd, left) :]
                if sys.platform != "win32":
                    os.fchmod(fd, 0o600)
                os.fsync(fd)
            finally:
                os.close(fd)
            os.replace(staged, self.file)
        except BaseException:
            with suppress(OSError):
                os.unlink(staged)
            raise
        if sys.platform != "win32":
            fd = os.open(os.path.dirname(self.file), os.O_RDONLY | _OPEN_FLAGS)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


def trust_file(env: Mapping[str, str]) -> str:
    """Return the path of the trust record, in `PROWESS_CONFIG_DIR` or the system's folder for user settings.

    Raises:
        ConfigError: the user has no such folder, or `PROWESS_CONFIG_DIR` is a relative path: that would name another
            record in each project, and a project might bring one.
    """
    folder = config_folder(env)
    if folder is None:
        hint = "name a folder of yours in PROWESS_CONFIG_DIR"
        raise ConfigError("there is no place for the record of what is trusted: you have no home", hint=hint)
    if not os.path.isabs(folder):
        hint = "write out the whole path"
        raise ConfigError(f"PROWESS_CONFIG_DIR is not an absolute path: {quoted(folder, 200)}", hint=hint)
    return os.path.join(os.path.normpath(folder), _FILE_NAME)


def _make_folder(folder: str) -> None:
    """Make a folder, and those above it, for the user alone."""
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
    """Keep other processes and threads out; a process that dies lets go."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o600)
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


class _MalformedError(ValueError):
    """It is JSON, but not a record."""


def _parse_record(data: bytes) -> Rows:
    """Read the record.

    Raises:
        ValueError: it is not one.
    """
    import json

    table = json.loads(data.decode(), object_pairs_hook=_reject_duplicate_keys)
    if not isinstance(table, dict) or table.keys() != {"version", "trusted"}:
        raise _MalformedError("it is not a record of what is trusted")
    if type(table["version"]) is not int or table["version"] != 1:
        raise _MalformedError(f"its version is {quoted(str(table['version']))}, and only version 1 is known")
    if not isinstance(table["trusted"], list):
        raise _MalformedError("`trusted` is not a list")
    return tuple(_parse_row(number, row) for number, row in enumerate(table["trusted"], 1))


def _reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise _MalformedError("a key stands twice")
    return table


def _parse_row(number: int, row: object) -> TrustedSkill:
    if not isinstance(row, dict) or row.keys() != {*_FIELDS} or not all(isinstance(row[name], str) for name in _FIELDS):
        raise _MalformedError(f"entry {number} does not have the four texts {', '.join(_FIELDS)}")
    if not _DIGEST(row["seal"]) or not _DATE(row["since"]) or not os.path.isabs(row["path"]) or "\0" in row["path"]:
        raise _MalformedError(f"entry {number} has a seal, a path or a day that is none")
    return TrustedSkill(**row)


def _rows_of_skill(rows: Rows, entry: Entry) -> Rows:
    """Return what is on record of a skill: what was trusted in its folder, and what has the same bytes now."""
    try:
        folder = trusted_folder(entry)
    except SkillError:
        return ()
    now = integrity_digest(folder)
    return tuple(row for row in rows if row.path == folder or row.seal == now)


def _rows_by_reference(rows: Rows, reference: str) -> Rows:
    """Return what is on record under a name, a path or the beginning of a seal.

    Raises:
        AmbiguousSkillError: it is not clear which of them is meant.
    """
    key, start = normalize_name(reference), _DIGEST_PREFIX(reference.lower())
    found = [row for row in rows if normalize_name(row.name) == key]
    if not found and "\0" not in reference:
        path = os.path.abspath(reference)
        path = os.path.dirname(path) if os.path.basename(path).lower() == "skill.md" else path
        folders = (path, os.path.realpath(path))
        found = [row for row in rows if row.path in folders]
    if not found and start:
        found = [row for row in rows if row.seal.startswith(f"trust1:{start[1]}")]
    if len({row.seal for row in found}) > 1:
        shown = "".join(f"\n  {row.seal[:15]}  {neutral(row.path)}" for row in found)
        words = f"{quoted(reference)} means {len(found)} skills on record:{shown}"
        raise AmbiguousSkillError(words, candidates=[row.path for row in found], hint="name one by its path")
    return tuple(found)


_SHELL_SAFE = re.compile(r"[\w@%+=:,./-]+").fullmatch


def _shell_quote(path: str) -> str:
    """Write a path as it is typed in a shell, and harmless to show."""
    return neutral(path if _SHELL_SAFE(path) else "'" + path.replace("'", "'\"'\"'") + "'")
