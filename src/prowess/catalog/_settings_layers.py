"""Find the settings files of a host, in the order in which they count."""

from __future__ import annotations

import os

from prowess._internal.files import expand_home
from prowess._internal.frozen import Frozen
from prowess._internal.variable_paths import moved_path, usual_path

from ._argument_settings import ARGUMENTS
from ._project import ancestors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prowess.hosts import Host, SettingsFile

__all__ = ["SettingsLayer", "settings_layers"]


class SettingsLayer(Frozen, kw_only=False):
    """One settings file of a host, whether or not it exists."""

    name: str
    """As the host's table calls it."""
    path: str
    """Absolute."""
    rules: SettingsFile
    folder: str | None = None
    """The project folder to which it belongs."""

    def may_have(self, key: str) -> bool:
        """Return whether a dotted key counts in this file."""
        return not self.rules.keys or key.partition(".")[0] in self.rules.keys


def settings_layers(
    host: Host,
    *,
    project: str,
    cwd: str,
    home: str,
    env: Mapping[str, str],
    has_git: bool = True,
    arguments: Callable[[str], list[str]] = lambda _: [],
) -> tuple[SettingsLayer, ...]:
    """Return where a host's settings files may be, highest precedence first.

    Args:
        host: whose settings files.
        project: the git root, or the working directory without one.
        cwd: the working directory.
        home: the user's home.
        env: the environment; variables may move a file.
        has_git: whether the project is a git repository.
        arguments: returns the values of an argument of the client.
    """

    def paths(rules: SettingsFile) -> dict[str, str | None]:
        if rules.argument:
            folders = (os.path.normpath(os.path.join(cwd, name)) for name in reversed(arguments(rules.argument)))
            return {os.path.join(folder, rules.path): folder for folder in folders if "\0" not in folder}
        return dict(_paths(rules, project, cwd, home, env, has_git))

    return tuple(
        SettingsLayer(name, os.path.join(os.path.dirname(path), file) if file else path, rules, folder)
        for name, rules in host.settings_files.items()
        for path, folder in paths(rules).items()
        for file in ("", *rules.beside)
    )


def _paths(
    rules: SettingsFile, project: str, cwd: str, home: str, env: Mapping[str, str], has_git: bool
) -> Iterator[tuple[str, str | None]]:
    """Yield the paths of one settings file, each with its project folder, the most important first."""
    path = rules.path
    if rules.inline or path == ARGUMENTS:
        yield path, None
        return
    if moved := moved_path(path, env):
        yield os.path.join(cwd, moved), None
        return
    path = expand_home(usual_path(path), home)
    if not path:
        return
    if os.path.isabs(path):
        yield path, None
        return
    folders = {"cwd": [cwd], "project": [project], "both": [cwd, project]}.get(rules.where)
    folders = folders or ancestors(cwd, None if not has_git and rules.without_git != "none" else project)
    for folder in reversed(folders) if rules.where == "downwards" else folders:
        yield os.path.join(folder, path), folder
