"""Write the static files with which any web server offers skills, as `/.well-known/agent-skills/` of a site.

    OUT/.well-known/agent-skills/index.json
    OUT/.well-known/agent-skills/NAME/SKILL.md     a skill that is one file
    OUT/.well-known/agent-skills/NAME.tar.gz       any other

The same skills give the same bytes. The folder is replaced in one step, and only if everything in it is what its own
index names, so that no file of anyone else is removed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, exchange_names, remove_tree
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError
from prowess.skill import MAX_DESCRIPTION, is_portable_name, load

from ._archive import pack_skill
from ._discovery import FOLDER, MAX_INDEX_BYTES, IndexEntry, parse_index, write_index
from ._tree import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["IndexedSkill", "index_skills"]

_INDEX = "index.json"
_TEMPORARY = ".prowess-index-"


class IndexedSkill(Frozen):
    """A skill that an index offers."""

    name: str
    kind: str
    """`skill-md` or `archive`."""
    folder: str
    """From which it was read."""
    path: str
    """Of its artifact, below the folder of the index."""
    digest: str
    """`sha256:` and the SHA-256 of the artifact."""
    size: int
    """Bytes of the artifact."""


def index_skills(
    folders: Iterable[str], out: str, *, progress: Callable[[int], None] | None = None
) -> tuple[IndexedSkill, ...]:
    """Write the files with which a web server offers skills, in place of what an earlier call wrote.

    Args:
        folders: of the skills.
        out: the root folder of the site; created if it is missing.
        progress: is called with the number of skills that are written.

    Raises:
        InstallError: a skill cannot be offered, two have one name, the files cannot be written, or files of others
            are where they belong. Then nothing has changed.
    """
    target = os.path.join(out, FOLDER)
    parent = os.path.dirname(target)
    try:
        os.makedirs(parent, exist_ok=True)
        parent_fd = os.open(parent, FOLDER_FLAGS)
    except OSError as error:
        raise _unwritable(parent, error) from None
    try:
        _lock(parent_fd)
        _remove_leftovers(parent)
        _check_ours(target)
        temporary = tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent)
        try:
            skills = _write_skills(folders, temporary, progress)
            _check_ours(target)
            _put_into_place(parent_fd, os.path.basename(temporary), os.path.basename(target))
        finally:
            remove_tree(temporary)
    except OSError as error:
        raise _unwritable(target, error) from None
    finally:
        os.close(parent_fd)
    return skills


def _write_skills(
    folders: Iterable[str], into: str, progress: Callable[[int], None] | None
) -> tuple[IndexedSkill, ...]:
    found: dict[str, IndexedSkill] = {}
    entries: list[IndexEntry] = []
    for folder in folders:
        skill, description, data = _read_skill(folder)
        name = skill.name
        if name in found:
            both = f"{quoted(found[name].folder, PATH_LIMIT)} and {quoted(folder, PATH_LIMIT)}"
            raise InstallError(f"two skills have the name {quoted(name)}: {both}", hint="rename one of them")
        found[name] = skill
        entries.append(
            IndexEntry(name=name, kind=skill.kind, description=description, url=skill.path, digest=skill.digest)
        )
        _write(os.path.join(into, skill.path), data)
        if progress is not None:
            progress(len(found))
    _write(os.path.join(into, _INDEX), write_index(entries))
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(into, 0o777 & ~umask)  # a temporary folder is private, and a web server must read this one
    return tuple(found[name] for name in sorted(found))


def _read_skill(folder: str) -> tuple[IndexedSkill, str, bytes]:
    """Return a skill, its description, and its artifact.

    Raises:
        InstallError: it cannot be offered.
    """
    skill = load(os.path.join(folder, SKILL_FILE))
    shown = quoted(folder, PATH_LIMIT)
    if skill.name is None or not is_portable_name(skill.name):
        hint = "use small letters, digits and single hyphens"
        raise InstallError(f"the skill in {shown} has no name that an index can have", hint=hint)
    length = len((skill.description or "").encode("utf-16-le", "surrogatepass")) // 2
    if not 0 < length <= MAX_DESCRIPTION:
        hint = f"describe it in 1 to {MAX_DESCRIPTION:,} characters"
        raise InstallError(f"the skill in {shown} has no description that an index can have", hint=hint)
    data, tree = pack_skill(folder, "")
    kind, path = "archive", f"{skill.name}.tar.gz"
    if [(file.path, file.mode) for file in tree.files] == [(SKILL_FILE, FILE)]:
        kind, path, data = "skill-md", f"{skill.name}/{SKILL_FILE}", _read(os.path.join(folder, SKILL_FILE))
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    indexed = IndexedSkill(name=skill.name, kind=kind, folder=folder, path=path, digest=digest, size=len(data))
    return indexed, skill.description or "", data


def _check_ours(target: str) -> None:
    """Check that an earlier call wrote everything in a folder, or that it does not exist.

    Raises:
        InstallError: there is something else.
    """
    if not os.path.lexists(target):
        return
    hint = "move it away, or name another folder"
    if os.path.islink(target) or not os.path.isdir(target):
        raise InstallError(f"{quoted(target, PATH_LIMIT)} is not a folder", hint=hint)
    found = set()
    for top, folders, names in os.walk(target):
        links = [name for name in folders if os.path.islink(os.path.join(top, name))]
        found |= {os.path.relpath(os.path.join(top, name), target) for name in (*names, *links)}
    known = set()
    if _INDEX in found:
        try:
            known = {entry.url for entry in parse_index(_read(os.path.join(target, _INDEX)), _INDEX)} | {_INDEX}
        except InstallError:
            known = set()
    if others := sorted(found - known):
        problem = f"has {quoted(others[0], PATH_LIMIT)}, which `prowess index` did not write"
        raise InstallError(f"{quoted(target, PATH_LIMIT)} {problem}", hint=hint)


def _put_into_place(parent_fd: int, new: str, name: str) -> None:
    """Rename a folder, and give one that had its name the other's name.

    Raises:
        OSError: it failed.
    """
    try:
        os.rename(new, name, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)  # nothing, or an empty folder, is there
    except OSError:
        if exchange_names(parent_fd, new, parent_fd, name):
            return
        old = f"{new}-old"
        os.rename(name, old, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)
        os.rename(new, name, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)
        os.rename(old, new, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)


def _remove_leftovers(parent: str) -> None:
    """Remove what killed processes left; no other one works here."""
    for name in os.listdir(parent):
        if name.startswith(_TEMPORARY):
            remove_tree(os.path.join(parent, name))


def _lock(fd: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: there one process at a time must write
        return
    fcntl.flock(fd, fcntl.LOCK_EX)


def _read(path: str) -> bytes:
    try:
        return read_file(path, limit=MAX_INDEX_BYTES)
    except UnreadableError as error:
        raise InstallError(f"{quoted(path, PATH_LIMIT)} cannot be read: {error.message}", hint=error.hint) from None


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "xb") as file:
        file.write(data)


def _unwritable(path: str, error: OSError) -> InstallError:
    return InstallError(
        f"cannot write {quoted(path, PATH_LIMIT)}: {describe_os_error(error)}", hint="name another folder"
    )
