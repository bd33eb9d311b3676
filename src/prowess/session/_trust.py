"""Decide whether the tools and scripts of a skill may be used: the user trusts its bytes as they are.

A skill grants nothing itself. What a project, a package or a folder named on the command line brings may be read; its
`tools:` and its scripts may be used only while the integrity digest of its folder is in the user's trust record.

The folder can change between this check and the use of a file. So what runs is a sealed copy: its bytes are the ones
that were compared with the record.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import contextmanager, suppress
from time import gmtime, strftime

from prowess._internal.file_status import ownership_problem
from prowess._internal.files import MAX_SKILL_FILES, SKILL_FILE, read_up_to, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS, open_fd, replacement_file, write_all
from prowess._internal.locked import locked
from prowess._internal.ownership import ForeignError, find_foreign, find_foreign_below, own_folder
from prowess._internal.text import PATH_LIMIT, describe_os_error, did_you_mean, neutral, normalize_name, quoted
from prowess._internal.user_dirs import config_folder
from prowess.catalog import State
from prowess.errors import AmbiguousSkillError, ConfigError, SkillError, SkillNotFoundError
from prowess.findings import ALWAYS_ERRORS
from prowess.skill import integrity_digest, read_integrity, sealed_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prowess.catalog import Entry
    from prowess.skill import SealedCopy

    TrustedSkills = tuple["TrustedSkill", ...]

ALWAYS_TRUSTED_SCOPES = frozenset(("managed", "user", "system"))
"""Scopes whose skills the user or the administrator installed; all others need trust. So do those of these scopes that
other users could have changed."""
_DIGEST_PREFIX = re.compile(r"(?:trust1:)?([0-9a-f]{8,64})").fullmatch


def needs_trust(entry: Entry) -> bool:
    """Return whether the user must trust a skill before its tools and scripts may be used."""
    return entry.scope not in ALWAYS_TRUSTED_SCOPES or _foreign_part(entry) is not None


def _foreign_part(entry: Entry) -> OSError | None:
    """Return what users other than this one and root could change of a skill, or why that is unknown."""
    folder, file = os.path.split(entry.path)
    if sys.platform == "win32" or not os.path.isabs(folder):
        return None
    try:
        if file.lower() != SKILL_FILE.lower():
            return find_foreign(entry.path)
        return find_foreign(folder) or find_foreign_below(real_path(folder), MAX_SKILL_FILES)
    except OSError as error:
        return error


def trusted_place(entry: Entry) -> str:
    """Return the folder of a skill in the trust record; for a remote skill that is where its server has it.

    Raises:
        SkillError: it has no folder of its own.
    """
    return os.path.dirname(entry.path) if entry.path.startswith(REMOTE) else trusted_folder(entry)


def trusted_folder(entry: Entry) -> str:
    """Return the folder whose bytes are trusted for a skill, without links.

    Raises:
        SkillError: the skill is a single file among others.
    """
    folder, file = os.path.split(entry.path)
    if not os.path.isabs(folder):
        raise SkillError("it has no folder on this machine", hint="a provider has it")
    if file.lower() != "skill.md":
        hint = "move it to a folder of its own, as SKILL.md"
        raise SkillError(f"{quoted(file)} has no folder of its own", hint=hint)
    return real_path(folder)


class Trust:
    """The skills that one user trusts.

    Args:
        file: of the trust record; by default `trust.json` in the user's configuration folder. Its folder is created
            when the first skill is trusted.

    Raises:
        ConfigError: there is no folder for the record.
    """

    def __init__(self, file: str | None = None) -> None:
        self._record = TrustRecord(trust_file(os.environ) if file is None else os.path.abspath(file))

    @property
    def file(self) -> str:
        """The path of the trust record."""
        return self._record.file

    def allows(self, entry: Entry) -> bool:
        """Return whether a skill's tools and scripts may be used now; in doubt they may not. Never raises."""
        return self.denial_reason(entry) is None

    def denial_reason(self, entry: Entry, *, folder: str | None = None) -> str | None:
        """Return why a skill's tools and scripts may not be used now, and what to do; `None` if they may.

        Args:
            entry: the skill.
            folder: the folder with its files, if they are not in its own.
        """
        if not needs_trust(entry):
            return None
        try:
            digest = read_integrity(folder or trusted_folder(entry)).digest
        except SkillError as error:
            return f"{quoted(entry.name)} cannot be trusted: {error}; {error.hint}"
        return self.digest_denial_reason(entry, digest)

    @contextmanager
    def sealed_copy(
        self, entry: Entry, *, digest: str | None = None, folder: str | None = None, contained: bool = True
    ) -> Iterator[SealedCopy]:
        """Yield a copy of a skill whose bytes the user trusts now; remove it at the end.

        The copy is compared with the trust record, not the folder: nothing can change between the check and the use.

        Args:
            entry: the skill. One that needs no trust is copied as it is.
            digest: the integrity digest of the skill when its tools were listed; `None` if they were not.
            folder: the folder with its files, if they are not in its own.
            contained: whether what runs of it is in a sandbox.

        Raises:
            SkillError: the user does not trust these bytes, they are not those of `digest`, or they cannot be copied.
        """

        def check(current_digest: str) -> None:
            denial = self.digest_denial_reason(entry, current_digest)
            if denial is None and digest not in (None, current_digest):
                denial = f"{quoted(entry.name)} has changed since its tools were listed: list them again"
            if denial is not None:
                raise SkillError(denial)

        with sealed_copy(folder or trusted_folder(entry), check, contained=contained) as copy:
            yield copy

    def digest_denial_reason(self, entry: Entry, digest: str) -> str | None:
        """Return why an integrity digest of a skill is not trusted, and what to do; `None` if it is."""
        if not needs_trust(entry):
            return None
        name = quoted(entry.name)
        try:
            trusted = self._record.load()
        except ConfigError as error:
            return f"{name} is not trusted: {error}; {error.hint}"
        folder = trusted_place(entry)
        own = next((skill for skill in trusted if _is_in(skill, folder)), None)
        # A folder with a version of its own has no other one: an old version that is put back is not trusted because a
        # copy elsewhere still is. The same bytes from another server are another skill: its user trusted the first
        # server with them.
        if own is not None:
            if own.digest == digest:
                return None
        elif not folder.startswith(REMOTE) and any(skill.digest == digest for skill in trusted):
            return None
        reference = entry.name if folder.startswith(REMOTE) else os.path.dirname(entry.path)
        command = f"`prowess trust {quote_for_shell(reference)}`"
        if own is not None:
            return f"{name} has changed since it was trusted on {own.since}: review it, then type {command}"
        if entry.scope in ALWAYS_TRUSTED_SCOPES and (foreign := _foreign_part(entry)) is not None:
            further = f"; {foreign.hint}" if isinstance(foreign, ForeignError) else ""
            return f"{name} needs trust: {describe_os_error(foreign)}: review it, then type {command}{further}"
        return f"{name} is not trusted: review it, then type {command}"

    def allow(self, entry: Entry, *, digest: str | None = None, folder: str | None = None) -> TrustedSkill:
        """Trust a skill as it is now; it replaces what was trusted in the same folder before.

        Args:
            entry: the skill.
            digest: the integrity digest that the user was shown; the skill is not trusted if it has changed since.
            folder: the folder with its files, if they are not in its own.

        Raises:
            SkillError: the skill is rejected, its folder has no integrity digest, or it has changed.
            ConfigError: the trust record is invalid or cannot be written; it stays as it is.
        """
        if entry.state is State.REJECTED:
            hint = f"`prowess check {quote_for_shell(entry.path)}` shows what to fix"
            raise SkillError(f"{quoted(entry.name)} cannot be trusted: {entry.reason}", hint=hint)
        for problem in entry.findings:
            if problem.code in ALWAYS_ERRORS:  # also if its host loads it anyway
                raise SkillError(f"{quoted(entry.name)} cannot be trusted: {problem.message}", hint=problem.hint)
        try:
            place = trusted_place(entry)
            current_digest = read_integrity(folder or place).digest
        except SkillError as error:
            raise SkillError(f"{quoted(entry.name)} cannot be trusted: {error}", hint=error.hint) from None
        if digest is not None and digest != current_digest:
            message = f"{quoted(entry.name)} is not trusted: it has changed since it was shown"
            raise SkillError(message, hint="review it again")
        added = TrustedSkill(digest=current_digest, name=entry.name, path=place, since=strftime("%Y-%m-%d", gmtime()))

        def add(trusted: TrustedSkills) -> TrustedSkills:
            nonlocal added
            for skill in trusted:
                if (skill.digest, skill.path) == (added.digest, added.path):
                    added = skill
                    return trusted
            return (*(skill for skill in trusted if not _is_in(skill, place)), added)

        self._record.update(add)
        return added

    def revoke(self, reference: str | Entry) -> TrustedSkills:
        """Remove a skill and all its copies from the trust record, and return what was removed.

        Args:
            reference: the skill; or the name, the path or the start of the digest of a trusted skill.

        Raises:
            SkillNotFoundError: it is not in the trust record.
            AmbiguousSkillError: several trusted skills have this name.
            ConfigError: the trust record is invalid or cannot be written; it stays as it is.
        """
        removed: TrustedSkills = ()

        def remove(trusted: TrustedSkills) -> TrustedSkills:
            nonlocal removed
            removed = _find_with_copies(trusted, reference)
            return tuple(skill for skill in trusted if skill not in removed)

        # First without a lock, which would create a folder.
        remove(self._record.load())
        self._record.update(remove)
        return removed

    def all(self) -> TrustedSkills:
        """Return all trusted skills, by name.

        Raises:
            ConfigError: the trust record is invalid.
        """
        return tuple(sorted(self._record.load(), key=lambda skill: (normalize_name(skill.name), skill.path)))


def _is_in(skill: TrustedSkill, folder: str) -> bool:
    """Return whether a skill was trusted in this folder, perhaps by another path of it."""
    if skill.path == folder:
        return True
    if os.path.basename(skill.path).casefold() != os.path.basename(folder).casefold() or folder.startswith(REMOTE):
        return False
    try:
        return os.path.samefile(skill.path, folder)
    except (OSError, ValueError):
        return False


def _find_with_copies(trusted: TrustedSkills, reference: str | Entry) -> TrustedSkills:
    """Return the trusted skills with the digests that a reference means.

    Raises:
        SkillNotFoundError: it is not in the trust record.
        AmbiguousSkillError: several trusted skills have this name.
    """
    by_reference = (
        _find_by_text(trusted, reference) if isinstance(reference, str) else _find_by_entry(trusted, reference)
    )
    digests = {skill.digest for skill in by_reference}
    if not digests:
        name = reference if isinstance(reference, str) else reference.name
        hint = did_you_mean(name, (skill.name for skill in trusted), "`prowess trust --list` shows all")
        raise SkillNotFoundError(f"{quoted(name)} is not a trusted skill", hint=hint)
    return tuple(skill for skill in trusted if skill.digest in digests)


def _find_by_entry(trusted: TrustedSkills, entry: Entry) -> TrustedSkills:
    """Return what was trusted in the folder of a skill, and what has the same bytes now."""
    try:
        folder = trusted_place(entry)
    except SkillError:
        return ()
    digest = None if folder.startswith(REMOTE) else integrity_digest(folder)
    return tuple(skill for skill in trusted if skill.path == folder or skill.digest == digest)


def _find_by_text(trusted: TrustedSkills, reference: str) -> TrustedSkills:
    """Return the trusted skills with a name, a path or the start of a digest.

    Raises:
        AmbiguousSkillError: they are different skills.
    """
    key, prefix = normalize_name(reference), _DIGEST_PREFIX(reference.lower())
    found = [skill for skill in trusted if normalize_name(skill.name) == key]
    if not found and "\0" not in reference:
        path = os.path.abspath(reference)
        path = os.path.dirname(path) if os.path.basename(path).lower() == "skill.md" else path
        folders = (path, real_path(path))
        found = [skill for skill in trusted if skill.path in folders]
    if not found and prefix:
        found = [skill for skill in trusted if skill.digest.startswith(f"trust1:{prefix[1]}")]
    if len({skill.digest for skill in found}) > 1:
        lines = "".join(f"\n  {skill.digest[:15]}  {neutral(skill.path)}" for skill in found)
        message = f"{quoted(reference)} matches {len(found)} trusted skills:{lines}"
        raise AmbiguousSkillError(message, candidates=[skill.path for skill in found], hint="give its path")
    return tuple(found)


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
            with suppress(ForeignError, NotADirectoryError):  # which the next line reports
                own_folder(os.path.dirname(self.file))
            self._check_folder()
            with locked(*os.path.split(f"{self.file}.lock"), required=True):
                skills = self.load()
                edited = edit(skills)
                if edited != skills:
                    self._write(edited)
        except OSError as error:
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
        path = self.file if regular else os.path.dirname(self.file)
        problem = ownership_problem(path, status)
        if problem == "owner":
            raise self._invalid_error(f"{subject} belongs to another user")
        if problem == "writable":
            raise self._invalid_error(f"other users can write to {subject}", ForeignError(path, problem).hint)

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
