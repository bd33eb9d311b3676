"""Describe a skills folder of a host on this machine."""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.hosts import Root

    from ._path_patterns import PathPatterns

__all__ = ["ScanRoot"]


class ScanRoot(Frozen, kw_only=False):
    """A root of a host, on this machine."""

    path: str
    scope: str
    root: Root
    namespace: str | None = None
    nested: str | None = None
    """The folder of a nested skills folder, relative to the project."""
    project_folder: str | None = None
    """The project folder it belongs to, if any."""
    level: int = 0
    """How many folders above the working directory it belongs to."""
    patterns: tuple[PathPatterns, ...] = ()
    """What switches its skills off and on by their paths."""
    bounds: tuple[str, ...] = ()
    """Folders that links inside must not leave; empty for the bounds of the root's rules."""
    plugin: str = ""
    """The plugin that it belongs to, if any."""
    label: str = ""
    """What it is called if it is one file that is a skill; empty for a folder."""
    description: str = ""
    """What is shown instead of the description of that file; empty for that."""
    off: str = ""
    """Why the client does not read it although it is there, such as a plugin that is switched off."""
    list_only: str = ""
    """Why only the client's own list has its skills, not its model; empty if both have."""
    variables: Mapping[str, str] = EMPTY
    """What `${NAME}` is in the names and descriptions of its skills."""
    user_named: bool = False
    """Whether the user named it, so that it is reported if it is missing."""

    @property
    def is_late(self) -> bool:
        """Whether the client reads it only when it works in its folder."""
        return self.nested is not None and self.root.nested == "deferred"
