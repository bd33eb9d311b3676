"""Decide whether a client's user trusts the project."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ._file_trust import main_working_tree
from ._setting_values import is_trusted_project
from ._settings_files import parse_bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from prowess.hosts import Host, Setting

    from ._client_arguments import ClientArguments
    from ._filesystem import Filesystem
    from ._settings_files import SettingsFiles

__all__ = ["trust_answers"]

_MAX_FOLDERS = 10_000
"""Folders of one list whose links are resolved."""


def trust_answers(
    host: Host,
    *,
    project: str,
    cwd: str,
    env: Mapping[str, str],
    arguments: ClientArguments,
    files: SettingsFiles,
    values: Callable[[str, tuple[str, ...], str], Iterator[tuple[str, Any]]],
) -> Iterator[tuple[str, str]]:
    """Yield what may say that the project is trusted, with its answer, most important first.

    That is an argument, a variable, a switch for all folders, lists of folders, or the default.

    Args:
        host: whose rules.
        project: the git root, or the working directory without one.
        cwd: the working directory, without links.
        env: the environment.
        arguments: of the client.
        files: the settings files.
        values: returns the values of a key, in files with these names, merged so, each with its file.
    """
    for argument, _ in reversed(arguments.with_effect("trusted", "untrusted")):
        yield argument.name, argument.effect
    if host.trust_value:
        trusted = True if env.get(host.trust_variable) == host.trust_value else None
    else:
        trusted = files.read_bool_variable(env, host.trust_variable)
    if trusted is not None:
        yield host.trust_variable, "trusted" if trusted else "untrusted"
    switch = next(values(host.trust_switch, host.trust_switch_files, "first"), None) if host.trust_switch else None
    on = parse_bool(switch[1]) if switch is not None else None
    if switch is not None and on is False:
        yield switch[0], "trusted"
    if host.trust_switch and on is None and not host.trust_switch_default:
        yield "default", "trusted"
    for setting in host.settings:
        if setting.form in ("folders", "folder-lists", "trust", "trusted"):
            for path, value in values(setting.key, setting.files, setting.merge):
                if setting.form == "trusted":
                    yield path, "trusted" if is_trusted_project(value, project, files.filesystem.real) else "unknown"
                else:
                    yield path, trust_of(setting, value, cwd, files.filesystem)
    if switch is not None and on is True:
        yield switch[0], host.trust_unlisted
    yield "default", host.trust_default


def trust_of(setting: Setting, value: object, cwd: str, filesystem: Filesystem) -> str:
    """Return the trust that the value of a setting gives the working directory.

    Args:
        setting: of the form `folders`, `folder-lists` or `trust`.
        value: what a file has for it.
        cwd: the working directory, without links.
        filesystem: what was read so far.
    """
    if setting.form == "trust":
        return setting.effects.get(value, "unknown") if isinstance(value, str) else "unknown"
    if not isinstance(value, Mapping):
        return "unknown"
    if setting.form == "folder-lists":
        found = [(word, value.get(word)) for word in list(setting.effects)[::-1]]
        pairs = [(item, word) for word, items in found if isinstance(items, list) for item in items]
        value = {item: word for item, word in pairs if isinstance(item, str)}
    if setting.nearest == "project":
        item = value.get(main_working_tree(cwd, filesystem) or cwd)
        word = item.get(setting.word) if isinstance(item, Mapping) else None
        return setting.effects.get(str(word).lower(), "unknown") if isinstance(word, bool) else "unknown"
    if setting.nearest != "exact":
        return _best_folder(setting, value, cwd, filesystem)
    directory = cwd
    while True:
        word = value.get(directory)
        word = str(word).lower() if isinstance(word, bool) else word
        if isinstance(word, str) and word in setting.effects:
            return setting.effects[word]
        parent = os.path.dirname(directory)
        if parent == directory:
            return "unknown"
        directory = parent


def _best_folder(setting: Setting, value: Mapping[str, Any], cwd: str, filesystem: Filesystem) -> str:
    """Return the trust of the folder that counts most of those that contain the working directory."""
    best, answer = -1, "unknown"
    for written, word in list(value.items())[:_MAX_FOLDERS]:
        effect = setting.effects.get(word) if isinstance(word, str) else None
        if effect is None or "\0" in written:
            continue
        folder = os.path.dirname(written) if effect == "parent-trusted" else written
        folder = os.path.normpath(os.path.join(cwd, folder))
        spellings = {filesystem.real(folder)} if setting.nearest == "longest" else {folder, filesystem.real(folder)}
        containing = [path for path in spellings if cwd == path or cwd.startswith(os.path.join(path, ""))]
        if not containing:
            continue
        trust = "untrusted" if effect == "untrusted" else "trusted"
        rank = len(written) if setting.nearest == "longest" else max(path.rstrip("/").count("/") for path in containing)
        if rank > best or (rank == best and setting.nearest == "deepest" and trust == "untrusted"):
            best, answer = rank, trust
    return answer
