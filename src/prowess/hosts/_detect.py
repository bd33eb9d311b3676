"""Find the agents that are on this machine, and the folders in which one looks for skills."""

from __future__ import annotations

import os

from prowess._internal.files import expand_home

from ._raw_values import DEFAULT_HOST, host_names, raw_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    Scope = Literal["user", "project"]

_SHARED_FOLDERS = (".agents/skills", ".claude/skills")
"""Folders of a project that several agents search, the most common first."""


def observed_hosts() -> tuple[str, ...]:
    """Return the agents that users start as a program and whose rules were observed in it.

    A library that an agent is written with is not one of them, even if it was observed.
    """
    return _newest(
        name
        for name in host_names()
        if name != DEFAULT_HOST
        and raw_value(name, "observed")
        and any(marker.startswith("$") for marker in raw_value(name, "found_by") or ())
    )


def installed_hosts(home: str) -> tuple[str, ...]:
    """Return the agents that this user has: those with a folder in the home, or a program on the PATH.

    Args:
        home: the user's home, absolute.
    """
    return _newest(_hosts_with_markers("", home, lambda marker: marker.startswith(("~", "$"))))


def detected_hosts(cwd: str, home: str, projects: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the agents that this user has, and those that have a folder of their own in the project.

    Args:
        cwd: the working directory, absolute.
        home: the user's home, absolute.
        projects: other folders of the project, such as the root of its repository.
    """
    found = {name for folder in (cwd, *projects) for name in _hosts_with_markers(folder, home, lambda _: True)}
    return _newest(name for name in host_names() if name in found)


def _newest(names: Iterable[str]) -> tuple[str, ...]:
    """Return the agents without those whose newer releases are among them: both are found by the same marks."""
    found = tuple(names)
    return tuple(name for name in found if raw_value(name, "newer") not in found)


def _hosts_with_markers(folder: str, home: str, counts: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(
        name
        for name in host_names()
        if name != DEFAULT_HOST
        and any(
            counts(marker) and _is_marker_present(marker, folder, home) for marker in raw_value(name, "found_by") or ()
        )
    )


def _is_marker_present(marker: str, cwd: str, home: str) -> bool:
    """Return whether a folder, relative to home or project, or a program (`$NAME`) exists."""
    if marker.startswith("$"):
        return _is_on_path(marker[1:])
    return os.path.isdir(os.path.join(cwd, expand_home(marker, home)))


def _is_on_path(name: str) -> bool:
    """Return whether a program is on the PATH: like `shutil.which`, without the time it takes to load that module."""
    folders = os.environ.get("PATH", os.defpath)
    files = [os.path.join(folder, name) for folder in folders.split(os.pathsep)] if folders else []
    return any(os.access(file, os.F_OK | os.X_OK) and not os.path.isdir(file) for file in files)


def skills_folder(host: str, scope: Scope = "user") -> str | None:
    """Return the folder in which a host looks for its user's or a project's skills, relative to the home or project.

    If a host searches several folders of a project, this is one that other agents search too, if it has one. It is
    `None` if the host has no such folder.

    Raises:
        HostNotFoundError: there is no such host.
    """
    from ._load import load_host

    roots = [root for root in load_host(host).roots if root.scope == scope and root.is_fixed]
    if scope == "project":
        paths = [root.path for root in roots if not root.path.startswith(("~", "/", "$", "@"))]
        paths.sort(key=lambda path: _SHARED_FOLDERS.index(path) if path in _SHARED_FOLDERS else len(_SHARED_FOLDERS))
    else:
        user_paths = (root.path.rpartition("|")[2] for root in roots)
        paths = [path[2:] for path in user_paths if path.startswith("~/")]
    return paths[0] if paths else None
