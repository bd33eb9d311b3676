"""Change the skills of a project, in any number of its folders, and its lock together: all of them, or nothing.

New copies are made in a staging folder in the project, where no client looks, and then renamed into place. A skill that
replaces another one is exchanged with it in one step; the lock is replaced last. Meanwhile the project is locked, and a
journal in the staging folder lists the changes. If the process is killed, the next one undoes them, unless the lock was
replaced already.

    PROJECT/                              locked
        .agents/skills/NAME               what the clients see
        skills-lock.json
        .prowess-install-RANDOM/          new/0/NAME  old/0/NAME  lock.json  journal.json
    DATA/transactions/RANDOM              shows that the staging folder is ours

Anyone can put a staging folder with a journal into a repository. So a journal counts only if the user's data
folder has a file with its random name.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from prowess._internal.files import real_path
from prowess._internal.fs import CREATE_FLAGS, open_fd, remove_tree_at
from prowess._internal.signals import deferred_signals
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError

from ._journal import inode
from ._project_lock import LockedFolder, lock_folder, unlock_folder
from ._staging import Staging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["STAGING_PREFIX", "LockedProject", "is_interrupted", "lock_project"]

STAGING_PREFIX = ".prowess-install-"


def is_interrupted(project: str) -> bool:
    """Return whether a process was killed while it changed the skills of a project, or is changing them now."""
    try:
        with os.scandir(project) as entries:
            return any(entry.name.startswith(STAGING_PREFIX) for entry in entries)
    except OSError:
        return False


@contextmanager
def lock_project(
    project: str, lock_file: str, data: str, *, waiting: Callable[[], None] | None = None
) -> Iterator[LockedProject]:
    """Lock a project against other processes that change its skills, and recover what a killed one left.

    Args:
        project: an absolute path; the home for skills of the user.
        lock_file: the path of `skills-lock.json`, absolute.
        data: the user's data folder.
        waiting: is called once if another process has the lock.

    Raises:
        InstallError: the project cannot be used, another process keeps it locked, or a killed one left what cannot be
            undone.
    """
    with deferred_signals() as deliver_signals:
        fd = lock_folder(project, waiting or (lambda: None), deliver_signals)
        try:
            locked = LockedProject(project, lock_file, data, fd, deliver_signals)
            locked.recover()
            yield locked
        finally:
            unlock_folder(fd)


class LockedProject(LockedFolder):
    """A project while no other process changes its skills."""

    def __init__(self, project: str, lock_file: str, data: str, fd: int, deliver_signals: Callable[[], None]) -> None:
        super().__init__(project, lock_file, fd, deliver_signals)
        self.tokens = os.path.join(data, "transactions")
        self.token_start = _name_of(project)

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """Create a staging folder, and remove it at the end of the block.

        Raises:
            InstallError: it cannot be created.
        """
        token = f"{self.token_start}{os.urandom(8).hex()}"
        name = f"{STAGING_PREFIX}{token}"
        try:
            os.makedirs(self.tokens, 0o700, exist_ok=True)
            with open_fd(os.path.join(self.tokens, token), CREATE_FLAGS):
                pass
            os.mkdir(name, 0o700, dir_fd=self.fd)
        except OSError as error:
            self._remove_token(token)
            raise self.nothing_changed(error) from None
        done = False
        try:
            with Staging(self, name) as staging:
                yield staging
                done = True
        except OSError as error:
            raise self.nothing_changed(error) from None
        finally:
            # A finished change is not undone: what cannot be removed now is left to the next process.
            with suppress(*[InstallError] if done else []):
                self._settle(name, token)

    def recover(self) -> None:
        """Undo what killed processes left, or finish what they had done.

        Raises:
            InstallError: that is not possible.
        """
        try:
            with os.scandir(self.fd) as entries:
                names = [entry.name for entry in entries if entry.name.startswith(STAGING_PREFIX)]
        except OSError as error:
            raise self.nothing_changed(error) from None
        for name in names:
            token = name.removeprefix(STAGING_PREFIX)
            if token.isalnum() and os.path.isfile(os.path.join(self.tokens, token)):
                self._settle(name, token)
        with suppress(OSError):
            for token in os.listdir(self.tokens):
                if token.startswith(self.token_start) and inode(self.fd, f"{STAGING_PREFIX}{token}") is None:
                    self._remove_token(token)

    def _settle(self, name: str, token: str) -> None:
        """Undo what a staging folder says was begun but not finished, and remove it.

        Raises:
            InstallError: that is not possible; the folder is left to the next process.
        """
        try:
            if inode(self.fd, name) is not None:
                with Staging(self, name) as staging:
                    staging.settle()
        except OSError as error:
            path = quoted(os.path.join(self.project, name), PATH_LIMIT)
            message = f"cannot recover from an interrupted change in {path}: {describe_os_error(error)}"
            raise InstallError(message, hint="fix that, then try again") from None
        remove_tree_at(name, self.fd)
        if inode(self.fd, name) is None:
            self._remove_token(token)

    def _remove_token(self, token: str) -> None:
        with suppress(OSError):
            os.unlink(os.path.join(self.tokens, token))


def _name_of(project: str) -> str:
    """Return how the random names of a project begin, so that those without a folder can be removed."""
    import hashlib

    return hashlib.sha256(os.fsencode(real_path(project))).hexdigest()[:8]
