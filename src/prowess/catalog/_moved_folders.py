"""Give the variables that move a client's folders, with those that its arguments set."""

from __future__ import annotations

import os

from prowess._internal.files import expand_home

from ._client_arguments import ClientArguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prowess.hosts import Host

__all__ = ["moving_variables"]


def moving_variables(
    host: Host, env: Mapping[str, str], client_args: Sequence[str], *, cwd: str, home: str
) -> Mapping[str, str]:
    """Return the variables that move a client's folders.

    Args:
        host: the host.
        env: the environment, or nothing if its variables belong to another home.
        client_args: the arguments that the client is started with; they come before the environment.
        cwd: the working directory.
        home: the user's home.
    """
    if not client_args:
        return env
    given = ClientArguments(host, client_args).with_effect("variable")
    folders = {
        argument.sets: os.path.normpath(os.path.join(cwd, expand_home(value, home)))
        for argument, values in given
        for value in values
        if value and "\0" not in value
    }
    return _Variables(folders, env) if folders else env


class _Variables(dict[str, str]):
    """Variables before those of an environment, which may record what is read. Use only `get`."""

    def __init__(self, own: Mapping[str, str], env: Mapping[str, str]) -> None:
        super().__init__(own)
        self._env = env

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return a variable."""
        return self[name] if name in self else self._env.get(name, default)
