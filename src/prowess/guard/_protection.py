"""Decide which paths tools and scripts must not write."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from prowess._internal.file_names import plain_file_name
from prowess._internal.files import UnreadableError, is_inside, read_file, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.tempdirs import temporary_directory_root
from prowess.skill import MAX_BYTES, FindingCollector, read_yaml_mapping

from ._kinds import folder_kinds, is_compiled_module, name_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_MARKERS = ("SKILL.md", "Skill.md", "skill.md", "pyvenv.cfg", "HEAD", "commondir", "objects", "refs")
"""Names that decide what a folder is."""
_MAX_LINKS = 40


class ProtectedPath(Frozen):
    """Files and folders that are protected whatever they are called."""

    folder: str
    """Absolute."""
    name: str
    """What is protected in it, with everything below; `*` is any text in a part of the path."""
    kind: str
    """A kind that the user can allow, or `prowess`."""


class Protection(Frozen):
    """What tools and scripts must not write."""

    folder: str
    """Where a YAML file may be a role in the flat form; like all paths here absolute and without links."""
    roots: tuple[str, ...]
    """Where they may write; names are compared below these, because the user chose them."""
    files: frozenset[str]
    """Files of roles, and what they run."""
    allowed: frozenset[str]
    """Kinds that the user allows."""
    paths: tuple[ProtectedPath, ...] = ()
    """What is protected whatever it is called."""
    patterns: tuple[tuple[str, re.Pattern[str]], ...] = ()
    """Kinds of `paths`, with what matches the folded paths."""
    pattern_folders: re.Pattern[str] | None = None
    """What matches the folded path of each folder that may contain one of `paths`; `None` without any."""
    allowed_paths: tuple[str, ...] = ()
    """Files and folders that are not protected, whatever their kind: the user named them."""
    temporary: str = ""
    """Where Prowess makes the copies that it runs."""

    @classmethod
    def of(
        cls,
        *,
        folder: str,
        roots: Iterable[str],
        files: Iterable[str] = (),
        paths: Iterable[ProtectedPath] = (),
        allowed: Collection[str] = (),
        allowed_paths: Iterable[str] = (),
    ) -> Protection:
        """Return the protection of some folders.

        Args:
            folder: in which a YAML file may be a role in the flat form.
            roots: where may be written.
            files: of roles, and what they run.
            paths: more that is protected.
            allowed: kinds that are not protected.
            allowed_paths: files and folders that are not protected, relative to `folder`; what Prowess keeps always is.
        """
        paths = tuple(paths)
        roots = tuple(map(real_path, roots))
        tops = [_fold(root) for root in roots]
        names = [
            (path.kind, name)
            for path in paths
            if path.kind not in allowed
            for name in _names(path)
            if any(is_inside(_fold(name), top) for top in tops)
        ]
        folders = {_pattern(os.path.dirname(name)) for _, name in names}
        return cls(
            folder=real_path(folder),
            roots=roots,
            # The file, and the link to it if it is one.
            files=frozenset(
                path
                for file in files
                for path in (real_path(file), os.path.join(real_path(os.path.dirname(file)), os.path.basename(file)))
            ),
            allowed=frozenset(allowed),
            paths=paths,
            patterns=tuple(
                (kind, re.compile("|".join(_pattern(name) for other, name in names if other == kind)))
                for kind in sorted({kind for kind, _ in names})
            ),
            pattern_folders=re.compile("|".join(folders)) if folders else None,
            allowed_paths=tuple(os.path.normpath(os.path.join(real_path(folder), path)) for path in allowed_paths),
            temporary=real_path(temporary_directory_root()),
        )

    def parts(self, path: str) -> list[str]:
        """Return the parts of a path below the nearest root that contains it."""
        return [part for part in path[len(self.top(path)) :].split("/") if part]

    def top(self, path: str) -> str:
        """Return the nearest root that contains a path; empty if none does."""
        return max((root for root in self.roots if is_inside(path, root)), key=len, default="")

    def part_kind(self, name: str, parent: str = "") -> str | None:
        """Return the kind of a part of a path, unless it is allowed."""
        kind = name_kind(name, parent)
        return None if kind in self.allowed else kind

    def path_kind(self, path: str) -> str | None:
        """Return the kind of a file or folder by its whole path, unless it is allowed."""
        if not self.may_contain_patterns(os.path.dirname(path)):
            return None
        folded = _fold(path)
        return next((kind for kind, pattern in self.patterns if pattern.fullmatch(folded)), None)

    def may_contain_patterns(self, folder: str) -> bool:
        """Return whether a folder may contain what is protected by its whole path."""
        return self.pattern_folders is not None and self.pattern_folders.fullmatch(_fold(folder)) is not None

    def allows(self, path: str, kind: str) -> bool:
        """Return whether the user named a path, or a folder that contains it, as not protected."""
        return kind != "prowess" and any(is_inside(path, allowed) for allowed in self.allowed_paths)

    def contains_allowed(self, folder: str) -> bool:
        """Return whether a folder contains a path that the user named as not protected."""
        return any(is_inside(path, folder) for path in self.allowed_paths)

    def folder_kind(self, names: Iterable[str]) -> str | None:
        """Return the kind of a folder that contains these names, unless it is allowed."""
        return next((kind for kind in folder_kinds(tuple(names)) if kind not in self.allowed), None)

    def kind(self, path: str, data: bytes | None = None) -> str | None:
        """Return the kind that protects a path, whether it exists or not.

        Args:
            path: absolute, without links.
            data: what would be written there.
        """
        return next((kind for kind in self._kinds(path, data) if not self.allows(path, kind)), None)

    def _kinds(self, path: str, data: bytes | None) -> Iterator[str]:
        parts = self.parts(path)
        for parent, name in zip(("", *parts), parts, strict=False):
            if kind := self.part_kind(name, parent):
                yield kind
        top = self.top(path).rstrip("/")
        for number in range(len(parts)):
            if kind := self.path_kind("/".join((top, *parts[: number + 1]))):
                yield kind
        folder = path
        for name in reversed(parts):
            folder = os.path.dirname(folder.rstrip("/"))
            names = [marker for marker in _MARKERS if os.path.lexists(f"{folder}/{marker}")]
            if kind := self.folder_kind((*names, name)):
                yield kind
        if self.is_compiled_module(path):
            yield "python"
        if "role" not in self.allowed and self._is_role_file(path, data):
            yield "role"

    def is_compiled_module(self, path: str) -> bool:
        """Return whether Python may import a file as it is, because there are modules beside it."""
        if "python" in self.allowed:
            return False
        folder, name = os.path.split(path)
        try:
            return is_compiled_module(name, os.listdir(folder))
        except OSError:
            return False

    def _is_role_file(self, path: str, data: bytes | None) -> bool:
        """Return whether a file is one of `files` or a role beside the role, or would become one."""
        with suppress(OSError):
            # Another name of the same file, or another spelling of its name.
            status = os.stat(path)
            for file in self.files:
                with suppress(OSError):
                    if os.path.samestat(status, os.stat(file)):
                        return True
        if path in self.files:
            return True
        return self.is_role(path, data) or self.is_role(path, _content(path))

    def is_role(self, path: str, data: bytes | None) -> bool:
        """Return whether a file with this content is a role; the flat form counts only beside the role."""
        folder, name = os.path.split(path)
        return plain_file_name(name).endswith((".yaml", ".yml")) and _is_role(data, flat=folder == self.folder)


def _names(path: ProtectedPath) -> list[str]:
    """Return what a protected path is called: itself, links on the way to it, and what it leads to."""
    names = [*links_on_the_way(path.folder), os.path.join(real_path(path.folder), path.name)]
    if "*" not in path.name:
        names += [*links_on_the_way(os.path.join(path.folder, path.name)), real_path(names[-1])]
    return list(dict.fromkeys(names))


def _pattern(name: str) -> str:
    """Return what matches the folded spelling of a path in which `*` is any text in a part."""
    return "[^/]*".join(map(re.escape, _fold(name).split("*")))


def links_on_the_way(path: str) -> Iterator[str]:
    """Yield the links among the parts of an absolute path, each with the real path of the folder that it is in."""
    for _ in range(_MAX_LINKS):
        above, inner = "/", [part for part in path.split("/") if part not in ("", ".")]
        for number, part in enumerate(inner):
            here = os.path.dirname(above) if part == ".." else os.path.join(above, part)
            if os.path.islink(here):
                yield here
                try:
                    target = os.readlink(here)
                except OSError:  # of a link in /proc, for example
                    return
                path = os.path.join(above, target, *inner[number + 1 :])
                break
            above = here
        else:
            return


def _fold(path: str) -> str:
    return "/".join(map(plain_file_name, path.split("/")))


def _is_role(data: bytes | None, *, flat: bool) -> bool:
    """Return whether a text is a role, in InitRunner's form or the flat one."""
    if not data or len(data) > MAX_BYTES:
        return False
    mapping = read_yaml_mapping(data, FindingCollector("", "role-invalid"))
    if mapping is None:
        return False
    version = mapping.get("apiVersion")
    if version is not None:
        return version.text.strip().startswith("initrunner/")
    return flat and mapping.get("prompt") is not None


def _content(path: str) -> bytes | None:
    try:
        return read_file(path, MAX_BYTES)
    except UnreadableError:
        return None
