"""Fetch skills of a snapshot, one at a time, into the user's store; there they are found by their tree digest."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager

from prowess._internal.files import read_up_to, real_path
from prowess._internal.fs import FOLDER_FLAGS, open_fd, open_inside
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError, SkillFileError
from prowess.install._archive import unpack
from prowess.install._store import Store
from prowess.install._tree import LINK, read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prowess.install._store import OpenStore
    from prowess.install._tree import Tree, TreeFile

    from ._places import Place

__all__ = ["ARCHIVES", "FetchedSkills", "archive_name"]

ARCHIVES = "skills"
"""The folder of the archives."""
_MAX_ARCHIVE_BYTES = 256 << 20
_MAX_TREES = 1000
"""Skills whose lists of files are kept."""
_PREFIX = "prowess-snapshot-"
_ROOM_HINT = "make room on the disk, or set `PROWESS_DATA_DIR` and `TMPDIR` to folders that you can write to"


def archive_name(digest: str) -> str:
    """Return the name of the archive of a skill with a tree digest."""
    return f"{ARCHIVES}/{digest.removeprefix('sha256:')}.tar.gz"


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
        try:
            temporary = TemporaryDirectory(_PREFIX, real_path(temporary_directory_root()))
        except OSError as error:
            raise InstallError(f"the skill cannot be copied: {describe_os_error(error)}", hint=_ROOM_HINT) from None
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
        try:
            os.mkdir(folder, 0o700)
            with open(archive, "xb+") as file:
                self._place.download(archive_name(digest), file.fileno(), _MAX_ARCHIVE_BYTES)
                file.seek(0)
                unpack(file, "tar.gz", folder)
        except OSError as error:
            raise InstallError(f"the skill cannot be unpacked: {describe_os_error(error)}", hint=_ROOM_HINT) from None
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
    except OSError:
        return None
    try:
        data = read_up_to(fd, file.size + 1)
    except OSError:
        return None
    finally:
        os.close(fd)
    return data if hashlib.sha256(data).hexdigest() == file.sha256 else None
