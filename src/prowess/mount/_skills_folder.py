"""Change a skills folder and its mount record in one transaction.

Read the mount record: the file beside a skills folder that says what Prowess mounted there.

    record = {"version": 1, "made": [FOLDER ...], "skills": [{"name", "source", "seal"} ...]}

It is not inside the copies, so that a copy is identical to its source. Anyone may have written it. So its folders
cannot lead out of the home, and Prowess acts on it only if the integrity digest (`seal`) of the copy matches. A source
in the same project is relative to the record's folder, and the digest is a portable one, so that both are also right in
a clone of the project.

    HOME/.claude/                     the parent folder: locked
        skills/NAME                   what the client sees
        .prowess-skills.json          the mount record, with the integrity digest of each copy
        .prowess-staging-RANDOM/      see `prowess.transaction`

An attacker can write a journal into a staging folder and guess an inode, but not the integrity digest of a copy: only
what has that is moved away. After a power failure each rename is done or not done; but the content of a copy may not
have reached the disk.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

from prowess._internal.file_status import own_users
from prowess._internal.files import read_up_to, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, READ_FLAGS, open_fd, write_all
from prowess._internal.locked import unlock_and_close, wait_for_lock
from prowess._internal.signals import deferred_signals
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import SkillMountError, SkillNotFoundError
from prowess.filesystem import git_root
from prowess.transaction import LockedFolder, inode, is_file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prowess.transaction import Staging

_MAX_RECORD_BYTES = 4 * 1024 * 1024


class RecordedMount(Frozen):
    """A skill in the mount record."""

    name: str
    source: str
    """The absolute path it was copied from."""
    integrity: str
    """The integrity digest of the copy. A copy with another one has changed, and is neither replaced nor removed."""


class MountRecord(Frozen):
    """The content of the mount record of a skills folder."""

    skills: tuple[RecordedMount, ...] = ()
    created: tuple[str, ...] = ()
    """Folders that were created for it, relative to the home, the outermost first."""

    def to_text(self, home: str, root: str) -> str:
        """Return the text of the file.

        Args:
            home: the home or project, absolute.
            root: the skills folder, relative to it.
        """
        import json

        folder, project = real_path(os.path.join(home, os.path.dirname(root))), real_path(git_root(home) or home)

        def recorded_source(path: str) -> str:
            real = real_path(path)
            return os.path.relpath(real, folder) if real.startswith(os.path.join(project, "")) else path

        skills = [
            {"name": skill.name, "source": recorded_source(skill.source), "seal": skill.integrity}
            for skill in self.skills
        ]
        return json.dumps({"version": 1, "made": [*self.created], "skills": skills}, indent=2) + "\n"


def record_file_name(root: str) -> str:
    """Return the file name of the mount record, which is in the same folder as the skills folder."""
    return f".prowess-{os.path.basename(root)}.json"


def stage_record(staging: Staging, home: str, root: str, record: MountRecord) -> None:
    """Write the mount record of a skills folder into the staging folder of a transaction that changes more than that.

    Args:
        staging: the staging folder; its transaction holds the lock of the skills folder too.
        home: the folder of the transaction, absolute.
        root: the skills folder, relative to it.
        record: its new record.
    """
    parent, name = os.path.dirname(root), record_file_name(root)
    with open_fd(name, CREATE_FLAGS, 0o600, dir_fd=staging.place(parent, name)) as fd:
        write_all(fd, record.to_text(home, root).encode())


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


def read_record_at(dir_fd: int, name: str, folder: str) -> MountRecord:
    """Return a mount record in an open folder; an empty one if it is missing.

    Args:
        dir_fd: a descriptor of the folder.
        name: the file name of the record.
        folder: the path of the folder.

    Raises:
        SkillMountError: the record is invalid.
    """
    path = os.path.join(folder, name)
    data = read_small_file(dir_fd, name, path)
    try:
        return MountRecord() if data is None else parse_record(parse_json(data), folder)
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


def parse_record(table: object, folder: str) -> MountRecord:
    """Make a mount record from its JSON.

    Args:
        table: the JSON.
        folder: the path of its folder, from which sources are relative.

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
        if "\0" in values[1]:
            raise ValueError("a `source` is not a path")
        source = os.path.normpath(os.path.join(real_path(folder), values[1]))
        skills.append(RecordedMount(name=values[0], source=source, integrity=values[2]))
    return MountRecord(skills=tuple(skills), created=tuple(created))


def _is_relative_path(path: str) -> bool:
    return all(map(is_file_name, path.split("/")))


LOCK_TIMEOUT = 60.0
"""Seconds to wait for another process that mounts into the same folder."""
_CREATE_TIMEOUT = 5.0
"""Seconds to keep creating a folder on the way if another process removes it again and again."""
_RETRY_INTERVAL = 0.002
"""Seconds."""
SUPPORTED = {os.open, os.mkdir, os.rename, os.rmdir, os.stat, os.unlink} <= os.supports_dir_fd and (
    os.scandir in os.supports_fd
)
"""Whether this system has directory descriptors. Windows does not."""


@contextmanager
def lock_skills_folder(home: str, root: str, *, make: bool = True) -> Iterator[LockedSkillsFolder]:
    """Lock a skills folder, and recover what a killed process left there.

    Folders that were created on the way are removed again if nothing is mounted at the end.

    Args:
        home: an absolute path.
        root: the skills folder, relative to the home.
        make: whether to create missing folders.

    Raises:
        SkillMountError: a folder on the way cannot be created or is a link, or another process keeps the lock.
        SkillNotFoundError: a folder is missing and is not to be created.
    """
    if not SUPPORTED:
        message = "mounting is not supported on this system: it has no directory descriptors"
        raise SkillMountError(message, hint="use Linux or macOS")
    with deferred_signals() as deliver:
        created: dict[str, None] = {}
        try:
            parent_fd = _open_and_lock(home, root, make=make, created=created, deliver=deliver)
        except BaseException:
            _remove_empty_folders(home, created)
            raise
        locked = LockedSkillsFolder(home, root, parent_fd, tuple(created), deliver)
        try:
            locked.recover()
            yield locked
        finally:
            locked.release()


class LockedSkillsFolder(LockedFolder):
    """The parent of a skills folder while no other process mounts into it."""

    prefix = ".prowess-staging-"
    is_durable = removes_emptied = False
    folder_mode, file_mode = 0o755, 0o600

    def __init__(
        self, home: str, root: str, parent_fd: int, created: tuple[str, ...], deliver_signals: Callable[[], None]
    ) -> None:
        folder, self.name = os.path.split(root)
        super().__init__(os.path.join(home, folder), record_file_name(root), parent_fd, deliver_signals)
        self.home, self.root = home, root
        self.created = created
        """Folders created on the way: relative to the home; the home itself and its parents absolute."""

    @property
    def record(self) -> MountRecord:
        """The mount record.

        Raises:
            SkillMountError: it is invalid.
        """
        return read_record_at(self.fd, self.file, self.path)

    def commit(self, staging: Staging, mounted: Iterable[RecordedMount], removed: Iterable[str] = ()) -> None:
        """Move staged copies into the skills folder, remove skills from it, and write the mount record.

        Args:
            staging: has the copies.
            mounted: one skill for each copy.
            removed: the names of skills to remove.

        Raises:
            SkillMountError: that failed; the skills folder is unchanged.
        """
        record, mounted, removed = self.record, tuple(mounted), tuple(removed)
        created_now = (path for path in self.created if not os.path.isabs(path) and path not in record.created)
        created = (*record.created, *created_now)
        if inode(self.fd, self.name) is None and self.root not in created:
            created = (*created, self.root)
            self.created = (*self.created, self.root)
        changed = {*removed, *(skill.name for skill in mounted)}
        skills = (*(skill for skill in record.skills if skill.name not in changed), *mounted)
        after = MountRecord(skills=tuple(sorted(skills, key=lambda skill: skill.name)), created=created)
        staging.seals.update({skill.name: skill.integrity for skill in mounted})
        staging.commit(after.to_text(self.home, self.root), [(self.name, name) for name in removed])

    def release(self) -> None:
        """Release the lock; if nothing is mounted, remove the folders that were created for it."""
        try:
            record = self.record
            if not record.skills:
                with suppress(OSError):
                    os.unlink(self.file, dir_fd=self.fd)
                # Anyone may have written the record: of its folders, only those on the way here count.
                on_the_way = (path for path in record.created if f"{self.root}/".startswith(f"{path}/"))
                _remove_empty_folders(self.home, {*self.created, *on_the_way})
        except SkillMountError:
            pass
        finally:
            unlock_and_close(self.fd)

    def seal_of(self, root: str, name: str) -> str | None:
        from prowess.skill import portable_digest

        return portable_digest(os.path.join(self.path, root, name))

    def is_ours(self, name: str) -> bool:
        status = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        return stat.S_ISDIR(status.st_mode) and status.st_uid in own_users()

    def nothing_changed(self, error: OSError) -> SkillMountError:
        path = neutral(os.path.join(self.home, self.root))
        message = f"nothing was changed in {path}: {describe_os_error(error)}"
        return SkillMountError(message, hint="fix that, then try again")

    def cannot_stage(self, error: OSError) -> SkillMountError:
        return _unusable_error(self.path, error)

    def cannot_recover(self, path: str, error: OSError) -> SkillMountError:
        message = f"cannot recover from an interrupted mount in {neutral(path)}: {describe_os_error(error)}"
        return SkillMountError(message, hint="fix that, then mount again")

    def unusable(self, root: str, error: OSError) -> SkillMountError:
        return _unusable_error(os.path.join(self.path, root), error)

    def other_file_system(self, root: str) -> SkillMountError:
        path = quoted(os.path.join(self.path, root), PATH_LIMIT)
        hint = "choose another home: folders on different file systems cannot be exchanged in one step"
        return SkillMountError(f"{path} is on another file system than the folder that contains it", hint=hint)


def check_skills_path(home: str, root: str) -> None:
    """Check that a skills folder and the folders on the way to it can be used or created.

    Args:
        home: an absolute path; it may be a link.
        root: the skills folder, relative to the home.

    Raises:
        SkillMountError: one of them is a link, or not a folder.
    """
    path = home
    for part in ("", *filter(None, root.split("/"))):
        path = f"{path}/{part}" if part else home
        if not os.path.lexists(path):
            return
        if not os.path.isdir(path) or (part and os.path.islink(path)):
            raise _unusable_error(path, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))


def _open_and_lock(home: str, root: str, *, make: bool, created: dict[str, None], deliver: Callable[[], None]) -> int:
    """Open and lock the parent of a skills folder, and return its descriptor.

    Args:
        home: an absolute path.
        root: the skills folder, relative to the home.
        make: whether to create missing folders.
        created: gets the folders that were created: the home and its parents absolute, others relative to the home.
        deliver: handles the signals that arrived; called while waiting.

    Raises:
        SkillMountError: a folder is unusable or cannot be created, or another process keeps the lock.
        SkillNotFoundError: a folder is missing and is not to be created.
    """
    from time import monotonic, sleep

    started = monotonic()
    path = os.path.join(home, os.path.dirname(root))
    while True:
        try:
            parent_fd = _open_parent(home, os.path.dirname(root), make, created)
        except FileNotFoundError as error:
            shown = os.path.join(home, root)
            if not make:
                raise SkillNotFoundError(f"nothing is mounted in {neutral(shown)}") from None
            if monotonic() < started + _CREATE_TIMEOUT:
                deliver()
                sleep(_RETRY_INTERVAL)
                continue  # another process removed a folder between two steps
            raise _create_error(shown, error) from None
        try:
            _wait_for_lock(parent_fd, path, started + LOCK_TIMEOUT - monotonic(), deliver)
        except BaseException:
            os.close(parent_fd)
            raise
        with suppress(OSError):
            if os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(parent_fd)):
                return parent_fd
        os.close(parent_fd)  # another process replaced the folder before it was locked


def _wait_for_lock(fd: int, path: str, seconds: float, deliver: Callable[[], None]) -> None:
    if not wait_for_lock(fd, seconds, lambda _: deliver()):
        hint = "wait until it has finished, or stop it"
        raise SkillMountError(f"another process is mounting into {neutral(path)}", hint=hint)


def _open_parent(home: str, path: str, make: bool, created: dict[str, None]) -> int:
    """Open a folder below the home part by part, and return its descriptor.

    Raises:
        FileNotFoundError: it is missing, or was removed meanwhile.
        SkillMountError: it cannot be opened or created.
    """
    if make and not os.path.isdir(home):
        _make_home(home, created)
    fd, reached = -1, home
    try:
        fd = os.open(home, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
        for part in filter(None, path.split("/")):
            reached = f"{reached}/{part}"
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=fd)
                    created[os.path.relpath(reached, home)] = None
            inner_fd = os.open(part, FOLDER_FLAGS, dir_fd=fd)
            os.close(fd)
            fd = inner_fd
    except OSError as error:
        if fd >= 0:
            os.close(fd)
        if isinstance(error, FileNotFoundError):
            raise
        raise _unusable_error(reached, error) from None
    return fd


def _make_home(home: str, created: dict[str, None]) -> None:
    """Create a home and its missing parents.

    Raises:
        SkillMountError: one of them cannot be created.
    """
    missing: list[str] = []
    path = home
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    created.update(dict.fromkeys(missing))
    try:
        for path in reversed(missing):
            with suppress(FileExistsError):
                os.mkdir(path, 0o755)
        if os.path.lexists(home) and not os.path.isdir(home):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    except OSError as error:
        raise _create_error(home, error) from None


def _remove_empty_folders(home: str, paths: Iterable[str]) -> None:
    """Remove those of the folders that are empty; paths are relative to the home or absolute."""
    for path in sorted((os.path.join(home, path) for path in paths), key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(path)


def _unusable_error(path: str, error: OSError) -> SkillMountError:
    """Return the error for a folder on the way to the skills that cannot be used."""
    if os.path.islink(path):
        hint = f"replace it with a folder, or mount into its target: {neutral(real_path(path))}"
        return SkillMountError(f"{quoted(path, PATH_LIMIT)} is a link; skills are not mounted through links", hint=hint)
    hint = "make room on the disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it a folder that you own"
    return SkillMountError(f"{quoted(path, PATH_LIMIT)} cannot be used: {describe_os_error(error)}", hint=hint)


def _create_error(path: str, error: OSError) -> SkillMountError:
    return SkillMountError(
        f"{quoted(path, PATH_LIMIT)} cannot be created: {describe_os_error(error)}",
        hint="choose a home in a folder that you can write to",
    )
