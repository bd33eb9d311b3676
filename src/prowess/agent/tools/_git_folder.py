"""Find a repository's own folders, check them, and make the folder that git uses instead.

Git obeys what it finds in a repository: its configuration, hooks, and files that lead to other repositories. So git
gets a new folder as its `GIT_DIR`: with a configuration of ours, without hooks, and with the repository's references,
index and objects after a check that none of them is a link or leads elsewhere.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from prowess._internal.file_status import describe_file_type
from prowess._internal.files import read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, READ_FLAGS, open_fd, write_all
from prowess._internal.git_settings import parse_settings
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.find import index_paths

from ._paths import open_folder, open_regular_file

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_ENTRIES = 300_000
"""Files and folders of a repository that are checked before each call."""
_MAX_DEPTH = 64
_MAX_FILE_BYTES = 1_000_000
"""Bytes of a small file that is read or copied."""
_MAX_REFERENCE_BYTES = 4096
_MAX_INDEX_BYTES = 100_000_000
_CHECKED_FILES = ("HEAD", "index", "packed-refs")
_CHECKED_FOLDERS = ("refs", "logs", "objects")
_COPIED_FILES = {
    "shallow": re.compile(rb"(?:[0-9a-f]{40,64}\n)*"),
    "info/exclude": None,
    "info/attributes": None,
    **dict.fromkeys(("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"), re.compile(rb"[0-9a-f]{40,64}\n?")),
}
"""Files that git gets a copy of, and what they may contain; they name no other file."""
_IN_PROGRESS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer")
_HEAD = re.compile(rb"(?:ref: ?refs/(?!.*\.\.)[^\x00-\x20\x7f~^:?*\[\\]+|[0-9a-f]{40}|[0-9a-f]{64})\s*")
_PLAIN_VALUES = {
    **dict.fromkeys(("core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode"), ("true", "false")),
    "core.autocrlf": ("true", "false", "input"),
    "core.eol": ("lf", "crlf", "native"),
    "extensions.objectformat": ("sha1", "sha256"),
}
"""Settings of a repository that say how its files are stored, and the values that are accepted."""


class GitFolders(Frozen):
    """Where a repository is; all paths are absolute, without links, and allowed by the policy."""

    tree: str
    """The top folder of the working tree."""
    own: str
    """The folder with the working tree's HEAD and index."""
    common: str
    """The folder with references and objects, which several working trees may share."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Git's folders, each once."""
        return tuple(dict.fromkeys((self.own, self.common)))

    def check(self) -> None:
        """Check that everything git will use is in these folders.

        Raises:
            RefusedError: something is a link or a special file, or names another repository.
            ToolFailedError: there is too much to check.
        """
        if os.path.lexists(f"{self.common}/reftable"):
            raise _refusal("the repository stores its references as a reftable, which this tool cannot check")
        checker = _Checker()
        for folder in self.paths:
            checker.check_folder(folder, _CHECKED_FILES, _CHECKED_FOLDERS)
        if not os.path.isdir(f"{self.common}/refs") or not os.path.isdir(f"{self.common}/objects"):
            raise ToolFailedError("the repository has no `refs` or no `objects`; go on without git")
        if read_small_file(f"{self.common}/objects/info", "alternates").strip():
            message = "the repository has its objects in another one (`objects/info/alternates`)"
            raise RefusedError(f"{message}, which is not read; ask the user to run `git repack -a -d`")
        if os.path.islink(f"{self.tree}/.gitmodules"):
            raise _refusal("`.gitmodules` is a link, and links are not followed")

    def refuse_operation_in_progress(self) -> None:
        """Refuse a commit that would end a merge or a rebase of the user's.

        Raises:
            RefusedError: one is in progress.
        """
        for name in _IN_PROGRESS:
            if os.path.lexists(f"{self.own}/{name}"):
                raise RefusedError(f"a merge or rebase is in progress (`{name}`); ask the user to finish it first")

    def settings(self) -> dict[str, str]:
        """Return the few settings of the repository that are used: how files are stored, and the author.

        Raises:
            RefusedError: the references are stored in a way that cannot be checked.
        """
        settings = parse_settings(read_small_file(self.common, "config"))
        if settings.get("extensions.refstorage", "files").lower() != "files":
            raise _refusal("the repository stores its references in a way that this tool cannot check")
        used = {
            name: settings[name].lower()
            for name, accepted in _PLAIN_VALUES.items()
            if settings.get(name, "").lower() in accepted
        }
        return used | {name: settings[name] for name in ("user.name", "user.email") if settings.get(name)}

    def make_private_folder(self, folder: str, config: str, *, hash_bytes: int) -> None:
        """Fill a new folder for git to use as its `GIT_DIR`.

        Args:
            folder: the folder, which is empty.
            config: the text of its configuration.
            hash_bytes: the length of the names of objects.

        Raises:
            RefusedError: HEAD or the index is invalid.
            ToolFailedError: the folder cannot be filled.
        """
        head = read_small_file(self.own, "HEAD")
        if not _HEAD.fullmatch(head):
            raise RefusedError("the repository's `HEAD` is invalid; ask the user to check it with `git status`")
        files = {"HEAD": head, "config": config.encode()}
        if index := read_small_file(self.own, "index", _MAX_INDEX_BYTES):
            check_index(index, hash_bytes)
            files["index"] = index
        for name, pattern in _COPIED_FILES.items():
            inner, _, base = name.rpartition("/")
            # Worktrees share `info` and `shallow`.
            source = self.own if name.isupper() else f"{self.common}/{inner}".rstrip("/")
            data = read_small_file(source, base)
            if data and (pattern is None or pattern.fullmatch(data)):
                files[name] = data
        links = {name: f"{self.common}/{name}" for name in ("refs", "packed-refs")}
        if self.own == self.common:
            links["logs"] = f"{self.common}/logs"
        else:
            links |= {"logs/HEAD": f"{self.own}/logs/HEAD", "logs/refs": f"{self.common}/logs/refs"}
        names = list[str]()
        with suppress(OSError), os.scandir(self.own) as entries:
            names = [entry.name for entry in entries if re.fullmatch(r"sharedindex\.[0-9a-f]{40,64}", entry.name)]
        for name in names:
            files[name] = read_small_file(self.own, name, _MAX_INDEX_BYTES)
            check_index(files[name], hash_bytes)
        try:
            for name in ("info", *(("logs",) if "logs" not in links else ())):
                os.mkdir(f"{folder}/{name}")
            for name, data in files.items():
                with open(f"{folder}/{name}", "xb") as file:
                    file.write(data)
            for name, target in links.items():
                os.symlink(target, f"{folder}/{name}")
        except OSError as error:
            raise ToolFailedError(
                f"cannot prepare a folder for git: {describe_os_error(error)}; go on without git"
            ) from None

    def make_log_folders(self) -> None:
        """Make the folders in which git records changes of references, which a new repository lacks."""
        for path in (f"{self.own}/logs", f"{self.common}/logs", f"{self.common}/logs/refs"):
            with suppress(OSError):
                os.mkdir(path)

    def take_head(self, folder: str) -> None:
        """Copy HEAD back from the private folder, if git changed it: a commit without a branch does.

        Raises:
            ToolFailedError: it cannot be written.
        """
        head = read_small_file(folder, "HEAD")
        if head == read_small_file(self.own, "HEAD") or not _HEAD.fullmatch(head):
            return
        try:
            with open_fd(self.own, FOLDER_FLAGS) as own_fd:
                with open_fd("HEAD.lock", CREATE_FLAGS, 0o666, dir_fd=own_fd) as fd:
                    write_all(fd, head)
                os.rename("HEAD.lock", "HEAD", src_dir_fd=own_fd, dst_dir_fd=own_fd)
        except OSError as error:
            raise ToolFailedError(
                f"cannot write the repository's `HEAD`: {describe_os_error(error)}; go on without git"
            ) from None


def locate(folder: str, resolve_allowed: Callable[[str], str]) -> GitFolders:
    """Find the repository that contains a folder.

    Args:
        folder: the folder, absolute and without links.
        resolve_allowed: returns a path without links, or raises `RefusedError`.

    Raises:
        ToolFailedError: the folder is not in a repository.
        RefusedError: the policy does not allow one of its folders.
    """
    tree = folder
    while not os.path.lexists(f"{tree}/.git"):
        above = os.path.dirname(tree)
        if above == tree:
            raise ToolFailedError(f"{quoted(folder, PATH_LIMIT)} is not in a git repository; go on without git")
        tree = above
    resolve_allowed(tree)
    own = f"{tree}/.git"
    if os.path.islink(own):
        raise _refusal("the repository's `.git` is a link, and links are not followed")
    if os.path.isdir(own):
        if os.path.lexists(f"{own}/commondir"):
            raise _refusal("the repository's `.git` names another repository (`commondir`), which is not used")
        return GitFolders(tree=tree, own=own, common=own)
    # In another working tree, or a submodule, a file names git's folder.
    own = resolve_allowed(os.path.join(tree, _first_line(tree, ".git").removeprefix("gitdir:").strip()))
    if not os.path.lexists(f"{own}/commondir"):
        return GitFolders(tree=tree, own=own, common=own)
    common = resolve_allowed(os.path.join(own, _first_line(own, "commondir")))
    if os.path.dirname(own) != f"{common}/worktrees" or os.path.lexists(f"{common}/commondir"):
        raise _refusal("the repository's `commondir` does not name the repository that contains it")
    return GitFolders(tree=tree, own=own, common=common)


def _first_line(folder: str, name: str) -> str:
    """Return the first line of a small file.

    Raises:
        ToolFailedError: it is not a regular file.
        RefusedError: it is a link, or contains a NUL character.
    """
    with open_folder("/", folder.strip("/").split("/")) as fd, open_regular_file(fd, name, name) as (file_fd, _):
        line = os.fsdecode(os.read(file_fd, 4096)).split("\n", 1)[0].strip()
    if "\0" in line:
        raise _refusal("the repository names a folder with a NUL character")
    return line


def read_small_file(folder: str, name: str, limit: int = _MAX_FILE_BYTES) -> bytes:
    """Return a small file; empty if it does not exist.

    Raises:
        ToolFailedError: it is not a regular file, or is too large.
        RefusedError: it or a folder on the way is a link.
    """
    if not os.path.lexists(f"{folder}/{name}"):
        return b""
    with open_folder("/", folder.strip("/").split("/")) as fd, open_regular_file(fd, name, name) as (file_fd, _):
        data = read_up_to(file_fd, limit)
    if len(data) > limit:
        raise ToolFailedError(f"the repository's `{name}` is larger than {limit:,} bytes; go on without git")
    return data


class _Checker:
    """Checks that folders contain nothing but regular files and folders."""

    def __init__(self) -> None:
        self._left = _MAX_ENTRIES

    def check_folder(self, folder: str, files: tuple[str, ...], folders: tuple[str, ...]) -> None:
        """Check some files and folders in a folder, which may be missing.

        Raises:
            RefusedError: something is a link or a special file.
            ToolFailedError: there is too much.
        """
        with open_folder("/", folder.strip("/").split("/")) as fd:
            for name, is_type in (
                *((name, stat.S_ISREG) for name in files),
                *((name, stat.S_ISDIR) for name in folders),
            ):
                try:
                    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if not is_type(status.st_mode):
                    raise _wrong_type(name, status.st_mode)
                if is_type is stat.S_ISDIR:
                    self._check_all(fd, name, name, 0)

    def _check_all(self, above: int, name: str, path: str, depth: int) -> None:
        try:
            with open_fd(name, FOLDER_FLAGS, dir_fd=above) as fd:
                inner = []
                with os.scandir(fd) as entries:
                    for entry in entries:
                        self._left -= 1
                        if self._left < 0 or depth > _MAX_DEPTH:
                            message = (
                                f"the repository has more than {_MAX_ENTRIES:,} files, which are too many to check"
                            )
                            raise ToolFailedError(f"{message}; ask the user to run `git gc`")
                        if entry.is_dir(follow_symlinks=False):
                            inner.append(entry.name)
                        elif not entry.is_file(follow_symlinks=False):
                            mode = entry.stat(follow_symlinks=False).st_mode
                            raise _wrong_type(f"{path}/{entry.name}", mode)
                        elif path.startswith("refs"):
                            _check_reference(fd, entry.name, f"{path}/{entry.name}")
                for folder in inner:
                    self._check_all(fd, folder, f"{path}/{folder}", depth + 1)
        except OSError as error:
            raise ToolFailedError(
                f"cannot check the repository's `{path}`: {describe_os_error(error)}; go on without git"
            ) from None


def _check_reference(folder_fd: int, name: str, path: str) -> None:
    """Check that a reference names a commit or another reference: git would write to the file that it names.

    Raises:
        RefusedError: it names something else.
        OSError: it cannot be read.
    """
    with open_fd(name, READ_FLAGS, dir_fd=folder_fd) as fd:
        data = os.read(fd, _MAX_REFERENCE_BYTES)
    if len(data) == _MAX_REFERENCE_BYTES or (data.startswith(b"ref:") and not _HEAD.fullmatch(data)):
        raise _refusal(f"{quoted(path, PATH_LIMIT)} in the repository's `.git` is an invalid reference")


def _wrong_type(path: str, mode: int) -> RefusedError:
    file = quoted(path, PATH_LIMIT)
    return _refusal(f"{file} in the repository's `.git` is {describe_file_type(mode)}, which is not used")


def _refusal(reason: str) -> RefusedError:
    return RefusedError(f"{reason}; go on without git")


def check_index(data: bytes, hash_bytes: int) -> None:
    """Check that every path in an index is inside the working tree.

    Args:
        data: the file.
        hash_bytes: 20 for SHA-1, 32 for SHA-256.

    Raises:
        RefusedError: a path leads out, or the file is damaged.
    """
    try:
        for path in index_paths(data, hash_bytes):
            # An entry of a split index without a path has that of the shared index.
            if path and not _UNSAFE.isdisjoint(path.removesuffix(b"/").lower().split(b"/")):
                shown = quoted(path.decode("utf-8", "replace"), PATH_LIMIT)
                raise RefusedError(f"the repository's index contains the path {shown}, which is not a file in it")
    except (IndexError, ValueError):
        raise RefusedError("the repository's index is damaged; ask the user to check it with `git status`") from None


_UNSAFE = frozenset((b"", b".", b"..", b".git"))
