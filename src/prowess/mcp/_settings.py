"""Read the servers that the user configured: `[[servers]]` in `~/.prowess/config.toml`.

A project's `.prowess/config.toml` is not read: a command in it would run as soon as skills are listed.
"""

from __future__ import annotations

import os
from contextlib import suppress

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.ownership import find_foreign
from prowess._internal.text import PATH_LIMIT, did_you_mean, neutral, quoted
from prowess.errors import ConfigError

from .client import McpSkillProvider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

_KEYS = ("name", "command", "url", "token_env", "allow_private")
_MAX_SERVERS = 100


def _settings_file(home: str | os.PathLike[str] | None = None) -> str:
    """Return the path of the user's settings file.

    Args:
        home: the user's home instead of `~`.
    """
    return os.path.join(os.path.abspath(home or os.path.expanduser("~")), ".prowess", "config.toml")


def configured_servers(
    home: str | os.PathLike[str] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    only: str | None = None,
) -> dict[str, McpSkillProvider]:
    """Return a provider for each server that the user configured, by its name; none is started.

    Args:
        home: the user's home instead of `~`.
        env: the environment with the tokens; the process's by default.
        only: the name of the only server that is needed; mistakes in the others do not matter then.

    Raises:
        ConfigError: the settings are invalid, or the variable of a token is not set.
    """
    file = _settings_file(home)
    if not os.path.lexists(file):
        return {}
    rows = _read(file).get("servers", [])
    if not isinstance(rows, list) or len(rows) > _MAX_SERVERS:
        raise _error(file, f"`servers` is not a list of at most {_MAX_SERVERS} tables", "write `[[servers]]`")
    servers: dict[str, McpSkillProvider] = {}
    for row in rows:
        if only is not None and not (isinstance(row, dict) and row.get("name") == only):
            continue
        provider = _provider(file, row, os.environ if env is None else env)
        if provider.label in servers:
            raise _error(file, f"two servers are called {quoted(provider.label)}", "rename one of them")
        servers[provider.label] = provider
    return servers


def list_together(servers: Collection[McpSkillProvider], cwd: str, seconds: float = 6.0) -> None:
    """List the skills of servers at the same time, so that one that does not answer holds up no other one.

    Args:
        servers: they keep their lists, or why these are missing; their connections are ended.
        cwd: as for `McpSkillProvider.list`.
        seconds: for all of them; to end a process takes three more at most.
    """
    import threading
    from time import monotonic

    until = monotonic() + seconds
    threads = [threading.Thread(target=server.list_once, args=(cwd, until), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _read(file: str) -> dict[str, Any]:
    import tomllib

    with suppress(OSError):  # which the next lines report
        if (foreign := find_foreign(file)) is not None:
            raise _error(file, f"no command of it is run: {foreign.strerror}", foreign.hint)
    try:
        return tomllib.loads(read_file(file, follow=True).decode())
    except UnreadableError as error:
        raise _error(file, error.message, error.hint or "fix the file") from None
    except (ValueError, RecursionError) as error:
        raise _error(file, f"it is not TOML: {neutral(str(error))[:200]}", "fix the file") from None


def _provider(file: str, row: object, env: Mapping[str, str]) -> McpSkillProvider:
    if not isinstance(row, dict):
        raise _error(file, "a server is not a table", "write `[[servers]]`")
    for key in row:
        if key not in _KEYS:
            raise _error(file, f"unknown key {quoted(key)} of a server", did_you_mean(key, _KEYS, _allowed()))
    name, command, url, token_env, private = (row.get(key) for key in _KEYS)
    if not isinstance(name, str):
        raise _error(file, "a server has no `name`", "add `name = ...`: the start of the names of its skills")
    if command is not None and not (isinstance(command, list) and all(isinstance(word, str) for word in command)):
        problem = f"`command` of the server {quoted(name)} is not a list of texts"
        raise _error(file, problem, 'write `["npx", "server"]`')
    for key, value in (("url", url), ("token_env", token_env)):
        if value is not None and not isinstance(value, str):
            raise _error(file, f"`{key}` of the server {quoted(name)} is not a text", "put it in quotes")
    if private is not None and (not isinstance(private, bool) or url is None):
        problem = "is not `true` or `false`" if not isinstance(private, bool) else "needs a `url`"
        raise _error(file, f"`allow_private` of the server {quoted(name)} {problem}", "correct it, or remove it")
    token = None if token_env is None else env.get(token_env)
    if token_env is not None and (not token or url is None):
        problem = f"the variable {quoted(token_env)} is not set" if not token else "`token_env` needs a `url`"
        raise _error(file, f"server {quoted(name)}: {problem}", "set it, or remove `token_env`")
    try:
        return McpSkillProvider(name, command=command, url=url, token=token, allow_private=bool(private))
    except ConfigError as error:
        raise _error(file, str(error), error.hint or _allowed()) from None


def _allowed() -> str:
    return f"a server has {', '.join(f'`{key}`' for key in _KEYS)}"


def _error(file: str, problem: str, hint: str) -> ConfigError:
    return ConfigError(f"{quoted(file, PATH_LIMIT)}: {problem}", hint=hint)
