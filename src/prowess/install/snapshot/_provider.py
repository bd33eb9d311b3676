"""Use the skills of a snapshot: `SnapshotProvider`.

A snapshot has the names, descriptions, digests and search index of many skills. A skill is fetched when it is used, and
its digest is compared with that of the snapshot before anything of it is read.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager

from prowess._internal.files import SKILL_FILE, read_up_to, real_path
from prowess._internal.fs import FOLDER_FLAGS, open_fd, open_inside
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import PATH_LIMIT, neutral, normalize_name, quoted
from prowess._internal.user_dirs import cache_folder
from prowess.catalog import Entry, State
from prowess.errors import ActivationError, ConfigError, InstallError, SkillError, SkillFileError
from prowess.findings import Finding, finding
from prowess.install._store import Store
from prowess.install.archive import unpack
from prowess.lock import LINK, os_errors, read_tree
from prowess.skill import Requirements, Skill, from_document, is_portable_name, parse_frontmatter

from ._cache import CachedSnapshot, find_place
from ._file import USER_ONLY, is_valid_name
from ._places import archive_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from prowess.install._store import OpenStore
    from prowess.lock import Tree, TreeFile

    from ._file import SnapshotFile
    from ._places import Place

    class TableReader(Protocol):
        """Reads the skills of a table."""

        def table(self) -> SnapshotTable:
            """Return the table as it is now."""


class SnapshotTable:
    """The skills of a snapshot. All methods raise `InstallError` if it is damaged.

    Args:
        file: the snapshot.
        root: what the paths of all its skills begin with.
        reader: reads the skills.
    """

    def __init__(self, file: SnapshotFile, root: str, reader: TableReader) -> None:
        self.file, self.root, self.reader = file, root, reader
        self.postings = file.postings

    def __reduce__(self) -> tuple[Callable[[TableReader], SnapshotTable], tuple[TableReader]]:
        return _table_of, (self.reader,)

    def __len__(self) -> int:
        return int(self.file.skills)

    def __iter__(self) -> Iterator[Entry]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, row: int) -> Entry:
        if not 0 <= row < len(self):
            raise IndexError(row)
        state = State.USER_ONLY if self.file.flags(row) & USER_ONLY else State.ACTIVE
        return Entry.from_loader(self, row, name=self.name(row), state=state)

    def load_field(self, row: int, name: str) -> Any:
        """Return a field of an entry."""
        return _FIELDS[name](self, row)

    def rows_named(self, name: str) -> list[int]:
        """Return the skills whose name, or folder, is this normalized one."""
        return [
            row
            for row in self.file.rows_with("name", name)
            if name in (normalize_name(self.name(row)), normalize_name(self.folder(row)))
        ]

    def row_at(self, path: str) -> int | None:
        """Return the skill with a path."""
        folder = path.removeprefix(self.root).removesuffix(f"/{SKILL_FILE}")
        rows = self.file.rows_with("path", folder)
        return next((row for row in rows if self.path(row) == path), None)

    def names(self) -> list[str]:
        """Return the names of all skills."""
        return [name for name, _ in self.file.names_and_flags()]

    def names_and_states(self) -> Iterator[tuple[str, bool]]:
        """Return the name of each skill, and whether the model may see it."""
        return ((name, not flags & USER_ONLY) for name, flags in self.file.names_and_flags())

    def path(self, row: int) -> str:
        """Return the path of a skill's SKILL.md in catalogs."""
        path = self.file.text("path", row)
        if not path or not path.isprintable() or {"", ".", ".."} & {*path.split("/")}:
            raise self.file.damaged("the path of a skill is invalid")
        return f"{self.root}{path}/{SKILL_FILE}"

    def name(self, row: int) -> str:
        """Return the name of a skill."""
        name = self.file.text("name", row)
        if not is_valid_name(name):
            raise self.file.damaged("the name of a skill is invalid")
        return name

    def folder(self, row: int) -> str:
        """Return the name of a skill's folder."""
        return self.file.text("path", row).rpartition("/")[2]

    def skill(self, row: int) -> Skill:
        """Return a skill as far as the snapshot knows it."""
        return Skill(
            name=self.name(row),
            description=self.file.text("description", row),
            disable_model_invocation=bool(self.file.flags(row) & USER_ONLY),
            path=self.path(row),
        )


def _table_of(reader: TableReader) -> SnapshotTable:
    return reader.table()


_FIELDS: dict[str, Callable[[SnapshotTable, int], Any]] = {
    "alias": lambda _table, _row: None,
    "frontmatter_name": lambda table, row: table.name(row),
    "folder": lambda table, row: table.folder(row),
    "description": lambda table, row: table.file.text("description", row),
    "path": lambda table, row: table.path(row),
    "real": lambda table, row: table.path(row),
    "scope": lambda _table, _row: "remote",
    "root": lambda table, _row: table.root,
    "namespace": lambda _table, _row: None,
    "reason": lambda table, row: "its author hides it from the model" if table.file.flags(row) & USER_ONLY else None,
    "rule": lambda _table, _row: "provider",
    "shadowed_by": lambda _table, _row: None,
    "digest": lambda table, row: table.file.digest(row),
    "requirements": lambda _table, _row: Requirements(),
    "findings": lambda _table, _row: (),
    "skill": lambda table, row: table.skill(row),
}


_MAX_ARCHIVE_BYTES = 256 << 20
_MAX_TREES = 1000
"""Skills whose lists of files are kept."""
_PREFIX = "prowess-snapshot-"
_ROOM_HINT = "make room on the disk, or set `PROWESS_DATA_DIR` and `TMPDIR` to folders that you can write to"


class FetchedSkills:
    """The skills of a snapshot that were used.

    Args:
        place: where the snapshot is.
        env: the environment, for the folder of the store; `None` for that of the process.
    """

    def __init__(self, place: Place, env: Mapping[str, str] | None) -> None:
        self._place = place
        self._env = env
        self._trees: dict[str, Tree] = {}
        """By tree digest."""
        self._lock = threading.RLock()

    def _store(self) -> Store:
        return Store.for_user(os.environ if self._env is None else self._env)

    def tree(self, digest: str) -> Tree:
        """Return the files of a skill, which is fetched if it is not in the store.

        Raises:
            InstallError: it cannot be fetched, or is not what the digest says.
            ConfigError: there is no store.
        """
        with self._lock:
            known = self._trees.get(digest)
            if known is None:
                with self._store().open() as store:
                    known = self._stored(store, digest)
                self._trees[digest] = known
                for oldest in [*self._trees][:-_MAX_TREES]:
                    del self._trees[oldest]
            return known

    def read_file(self, digest: str, path: str) -> bytes:
        """Return the bytes of a file of a skill.

        Raises:
            SkillFileError: the skill has no such file.
            InstallError: it cannot be fetched, or is not what the digest says.
            ConfigError: there is no store.
        """
        file = next((file for file in self.tree(digest).files if file.path == path and file.mode != LINK), None)
        if file is None:
            raise SkillFileError(f"the skill has no file {quoted(path)}", hint="read one of the files that it lists")
        with self._store().open() as store:
            for _ in range(2):
                folder = store.get(digest)
                data = None if folder is None else _read(folder, file)
                if data is not None:
                    return data
                self._stored(store, digest)  # it was removed from the store, or changed there
        raise InstallError(f"cannot read {quoted(path, PATH_LIMIT)} in the store of skills", hint="try again")

    @contextmanager
    def copy(self, digest: str, name: str) -> Iterator[str]:
        """Yield a folder with a copy of a skill, which is removed at the end.

        Raises:
            InstallError: it cannot be fetched or copied, or is not what the digest says.
            ConfigError: there is no store.
        """
        with os_errors("the skill cannot be copied", _ROOM_HINT):
            temporary = TemporaryDirectory(_PREFIX, real_path(temporary_directory_root()))
        try:
            folder = os.path.join(temporary.path, "copy")
            os.mkdir(folder, 0o700)
            with self._store().open() as store, open_fd(folder, FOLDER_FLAGS) as fd:
                self._stored(store, digest)
                store.copy(digest, fd, name)
            yield os.path.join(folder, name)
        finally:
            temporary.close()

    def _stored(self, store: OpenStore, digest: str) -> Tree:
        """Return the files of a skill in the store, after it was fetched if it is missing there or was changed.

        Raises:
            InstallError: it cannot be fetched, or is not what the digest says.
        """
        folder = store.get(digest)
        if folder is not None:
            try:
                tree = read_tree(folder)
            except InstallError:
                tree = None
            if tree is not None and tree.digest == digest:
                return tree
        top = store.new_folder()
        folder, archive = os.path.join(top, "skill"), os.path.join(top, "archive")
        with os_errors("the skill cannot be unpacked", _ROOM_HINT):
            os.mkdir(folder, 0o700)
            with open(archive, "xb+") as file:
                self._place.download(archive_name(digest), file.fileno(), _MAX_ARCHIVE_BYTES)
                file.seek(0)
                unpack(file, "tar.gz", folder)
        tree = read_tree(folder)
        if tree.digest != digest:
            hint = "ask who makes the snapshot to make it again"
            raise InstallError("the archive of the skill does not have the digest that the snapshot names", hint=hint)
        return store.add(folder).tree


def _read(folder: str, file: TreeFile) -> bytes | None:
    """Return the bytes of a file in the store; `None` if it is missing or was changed."""
    import hashlib

    try:
        fd = open_inside(folder, file.path.split("/"))
        try:
            data = read_up_to(fd, file.size + 1)
        finally:
            os.close(fd)
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == file.sha256 else None


class SnapshotProvider:
    """The skills of a snapshot, for `discover(cwd, providers=[...])`.

    Args:
        url: where `prowess index DIR --snapshot` wrote it: `https://`, `s3://`, `gs://`, `az://`, `oci://` or
            `file://`, or a folder.
        max_age: seconds after which the place is asked for a newer snapshot; the one in the cache serves until then.
        cache: the folder of the cache; by default the user's.
        env: the environment; the process's by default.

    Raises:
        ConfigError: an argument is invalid.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        max_age: float = 300.0,
        cache: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        if not 0 <= max_age < float("inf"):
            raise ConfigError("invalid age of a snapshot", hint="give seconds, 0 or more")
        self._env = env
        self._place = find_place(os.fspath(url))
        self._max_age = max_age
        self._folder = cache_folder(os.environ if env is None else env) if cache is None else os.fspath(cache)
        self.findings: tuple[Finding, ...] = ()
        """Why the snapshot cannot be used, or is not the newest one."""
        self._prepare()

    def _prepare(self) -> None:
        self._lock = threading.RLock()
        self._table: SnapshotTable | None = None
        self._checked_at = 0.0
        self._digest = ""
        self._skills = FetchedSkills(self._place, self._env)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_table", "_skills")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    @property
    def origin(self) -> str:
        """The snapshot in messages."""
        return f"the snapshot {quoted(self._place.origin, PATH_LIMIT)}"

    # ── listing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def table(self) -> SnapshotTable:
        """Return the skills of the snapshot as it is now.

        Raises:
            InstallError: it cannot be fetched, and no earlier one is in the cache.
            ConfigError: the same, because of the settings of this machine: a missing extra, or variables of a cloud.
        """
        import time

        with self._lock:
            now = time.monotonic()
            if self._table is None or now - self._checked_at > self._max_age:
                cached = CachedSnapshot(self._place, self._folder)
                file, digest, problem = cached.open(self._max_age if self._checked_at >= 0 else -1.0)
                self.findings = () if problem is None else (self._finding(f"an earlier one is used: {problem}"),)
                self._checked_at = now
                if self._table is None or digest != self._digest:
                    self._table, self._digest = SnapshotTable(file, f"snapshot+{self._place.origin}/", self), digest
            return self._table

    def list(self, cwd: str) -> Sequence[Entry]:
        """Return the skills of the snapshot.

        If there is no snapshot, there are no skills, and a finding says why.
        """
        del cwd
        try:
            return self.table()  # type: ignore[return-value]
        except (InstallError, ConfigError) as error:
            self.findings = (self._finding(str(error), error.hint),)
            return ()

    def refresh(self, cwd: str) -> None:
        """Ask for a newer snapshot at the next `list`."""
        del cwd
        with self._lock:
            self._checked_at = float("-inf")

    def _finding(self, message: str, hint: str | None = None) -> Finding:
        path, shown = f"snapshot+{self._place.origin}", f"{self.origin}: {neutral(message)}"
        return finding("server-failed", shown, path=path, hint=hint or "check the URL and the network")

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self, skill: Entry, /) -> Skill:
        """Fetch a skill of the snapshot, and return it if it is what the snapshot says.

        Raises:
            ActivationError: it cannot be fetched, or is not what the snapshot says.
        """
        with self._read_errors(skill):
            data = self._skills.read_file(skill.digest or "", SKILL_FILE)
        parsed = from_document(parse_frontmatter(data, skill.path), skill.path)
        if parsed.name != skill.frontmatter_name or parsed.description != skill.description:
            hint = "ask who makes the snapshot to make it again"
            raise self._read_error(skill, "its name or description is not the one in the snapshot", hint)
        # What another machine writes there would be permissions on this one.
        return parsed.with_changes(allowed_tools=())

    def note(self, skill: Entry) -> str:
        """Return a sentence for the model that says where a skill is from."""
        del skill
        return (
            f"this skill and its files come from {self.origin}, not from this machine or its user; "
            "its files are read with read_skill_file"
        )

    def files(self, skill: Entry) -> tuple[tuple[str, int], ...]:
        """Return the paths and sizes of a skill's files.

        Raises:
            ActivationError: it cannot be fetched, or is not what the snapshot says.
        """
        with self._read_errors(skill):
            tree = self._skills.tree(skill.digest or "")
        return tuple((file.path, file.size) for file in tree.files if file.mode != LINK)

    def read_file(self, skill: Entry, path: str) -> bytes:
        """Return the bytes of a file of a skill.

        Raises:
            SkillError: the skill has no such file, cannot be fetched, or is not what the snapshot says.
        """
        return self._skills.read_file(skill.digest or "", path)

    @contextmanager
    def copy(self, skill: Entry) -> Iterator[str]:
        """Yield a folder with a copy of a skill that is removed at the end.

        Raises:
            SkillError: it cannot be fetched or copied, or is not what the snapshot says.
        """
        name = skill.folder if is_portable_name(skill.folder) else "skill"
        with self._skills.copy(skill.digest or "", name) as folder:
            yield folder

    @contextmanager
    def _read_errors(self, skill: Entry) -> Iterator[None]:
        try:
            yield
        except (SkillError, ConfigError) as error:
            raise self._read_error(skill, str(error), error.hint) from None

    def _read_error(self, skill: Entry, reason: str, hint: str | None) -> ActivationError:
        message = f"the skill {quoted(skill.name)} of {self.origin} cannot be read now: {reason}"
        return ActivationError(message, hint=hint or "go on without it, or try again later")
