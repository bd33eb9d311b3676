"""Decide which sources of a lock may be used: anyone may have written it, so some need the user's word once.

A public host over HTTPS, and a folder of the project, need none: everyone who has the lock can read them. Others reach
what is only this user's: the machine and its network, keys of ssh, credentials of a cloud, folders elsewhere. What a
user typed for `prowess add`, allowed with `--allow-source` or answered yes to is kept in a file of the user's settings.
"""

from __future__ import annotations

import os
import re
import shlex
import stat

from prowess._internal.file_status import is_own_file
from prowess._internal.files import UnreadableError, is_inside, read_file, real_path
from prowess._internal.fs import atomic_replace
from prowess._internal.ownership import own_folder
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess._internal.user_dirs import config_folder
from prowess.errors import InstallError

from .sources import parse_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .sources import Source

_FILE_NAME = "allowed-sources.json"
_MAX_BYTES = 1 << 20
_MAX_SOURCES = 1000
_SCP = re.compile(r"(?:([^@/:]+)@)?([^@/:]+):").match


class LockSources:
    """Which sources of locks a user allowed.

    Args:
        env: the environment variables, which say where the user's settings are.
        ask: called with a source, its reason and the names of skills; returns whether the user allows it.
        allowed: what the user allows on the command line, as sources or as the messages name them.
        cwd: the folder that paths in `allowed` begin at, absolute.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        ask: Callable[[str, str, tuple[str, ...]], bool] | None = None,
        allowed: Iterable[str] = (),
        cwd: str = os.sep,
    ) -> None:
        folder = config_folder(env)
        self._file = os.path.join(folder, _FILE_NAME) if folder and os.path.isabs(folder) else None
        self._ask = ask
        self._answers: dict[str, bool] = {}
        for text in allowed:
            for key in (text, *_keys_of(text, cwd)):
                self._answers[key] = True
        self._kept = {key for text in allowed for key in _keys_of(text, cwd)}

    def check(self, source: Source, names: tuple[str, ...], root: str) -> None:
        """Check that a source of a lock may be used, and ask if that is unknown.

        Args:
            source: the source.
            names: of its skills.
            root: the folder of the project, without links.

        Raises:
            InstallError: the user does not allow it.
        """
        reason = why_private(source, root)
        if reason is None:
            return
        key = key_of(source)
        if self._allows(key):
            return
        if self._ask is not None and key not in self._answers:
            self._answers[key] = self._ask(key, reason, names)
            if self._answers[key]:
                self._keep(key)
        if self._answers.get(key):
            return
        message = (
            f"the lock takes {quoted(names[0])} from {quoted(source.text, PATH_LIMIT)}, which needs your word once"
        )
        hint = f"check who wrote the lock, then add `{_option(key)}`"
        raise InstallError(f"{message}: {reason}", hint=hint)

    def option(self, source: Source, root: str) -> tuple[str, ...]:
        """Return the option that allows a source of a lock; empty if it needs none.

        Args:
            source: the source.
            root: the folder of the project, without links.
        """
        key = key_of(source)
        return () if why_private(source, root) is None or self._allows(key) else (_option(key),)

    def remember(self, source: Source, root: str) -> None:
        """Remember a source that the user typed; if that is not possible, the user is asked later."""
        if why_private(source, root) is not None:
            self._keep(key_of(source))

    def _allows(self, key: str) -> bool:
        known = {*self._load(), *(key for key, answer in self._answers.items() if answer)}
        is_allowed = key in known or (
            os.path.isabs(key) and any(os.path.isabs(other) and is_inside(key, other) for other in known)
        )
        if is_allowed and key in self._kept:
            self._keep(key)
        return is_allowed

    def _load(self) -> list[str]:
        """Return what is in the file; nothing if it is damaged, or others could have written it."""
        import json

        if self._file is None:
            return []
        try:
            folder, status = os.path.dirname(self._file), os.lstat(self._file)
            if not is_own_file(self._file, status) or not is_own_file(folder, os.lstat(folder), stat.S_ISDIR):
                return []
            found = json.loads(read_file(self._file, _MAX_BYTES))["sources"]
        except (OSError, UnreadableError, ValueError, TypeError, KeyError, RecursionError):
            return []
        return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []

    def _keep(self, key: str) -> None:
        import json

        known = self._load()
        if self._file is None or key in known:
            return
        data = json.dumps({"version": 1, "sources": [*known, key][-_MAX_SOURCES:]}, indent=2) + "\n"
        try:
            own_folder(os.path.dirname(self._file))
            atomic_replace(self._file, data.encode("utf-8", "backslashreplace"))
        except OSError:
            return


def _option(key: str) -> str:
    """Return the option that allows a source, as people type it."""
    return f"--allow-source {shlex.quote(neutral(key))}"


def _keys_of(text: str, cwd: str) -> tuple[str, ...]:
    try:
        source = parse_source(text)
    except InstallError:
        return (text,)
    if source.kind == "folder":
        source = source.with_changes(url=os.path.join(cwd, os.path.expanduser(source.url)))
    return (key_of(source),)


def key_of(source: Source) -> str:
    """Return what the user allows: the server of a source with its scheme, a bucket, or a folder without links."""
    if (path := _path_of(source)) is not None:
        return real_path(path)
    scheme, separator, rest = source.url.partition("://")
    if not separator:
        user, host = _scp_parts(source.url)
        return f"ssh://{user}{host}"
    return f"{scheme}://{rest.partition('/')[0]}"


def why_private(source: Source, root: str) -> str | None:
    """Return why a source needs the user's word if a lock names it, or `None`.

    Args:
        source: the source; a folder with its absolute path.
        root: the folder of the project, without links.
    """
    if (path := _path_of(source)) is not None:
        return None if is_inside(real_path(path), root) else "it is a folder of this machine outside of the project"
    scheme, separator, rest = source.url.partition("://")
    if source.kind == "bucket":
        return "it is read with your credentials of the cloud"
    if scheme == "ssh" or not separator:
        return "it is reached with your keys of ssh"
    host = re.sub(r":[0-9]*\Z", "", rest.partition("/")[0])
    is_private = scheme == "http" or _is_private(host, by_name=source.kind == "git")
    return "it is on this machine or its network" if is_private else None


def _path_of(source: Source) -> str | None:
    """Return the path of a source on this machine."""
    if source.kind == "folder":
        return source.url
    if source.url.startswith("file://"):
        from urllib.parse import unquote

        return unquote(source.url.removeprefix("file://"))
    return None


def _scp_parts(url: str) -> tuple[str, str]:
    found = _SCP(url)
    return (f"{found[1]}@" if found and found[1] else "", found[2] if found else url)


def _is_private(host: str, *, by_name: bool) -> bool:
    """Return whether a host is on this machine or its network.

    Args:
        host: of a URL.
        by_name: whether the name is looked up too. Our own connections refuse such addresses later; git does not.
    """
    from prowess.net import NetworkRules, canonical_host, is_local_name, look_up_host

    host, rules = canonical_host(host), NetworkRules()
    if is_local_name(host) or rules.refusal(host, 443) is not None:
        return True
    return by_name and rules.address_refusal(host, look_up_host(host, 443)) is not None
