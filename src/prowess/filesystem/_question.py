"""Define what a host is asked about: where its client is started, for which user, and with what."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self


class Question(Frozen):
    """Where a client is started, for which user, and with what."""

    cwd: str
    """The directory that it is started in, absolute and without links."""
    home: str
    """The user's home, absolute."""
    env: Mapping[str, str]
    """The environment."""
    is_own_home: bool = True
    """Whether variables that move a client's folders, such as `CODEX_HOME`, count: they belong to the real home."""
    client_args: tuple[str, ...] = ()
    """The arguments that it is started with."""
    moved_folders: Mapping[str, str] = EMPTY
    """The variables that these arguments set instead."""
    role: str | None = None
    """An InitRunner role file, absolute."""
    skill_dirs: tuple[str, ...] = ()
    """Directories of skills that the user named, highest precedence first."""

    @classmethod
    def about(
        cls,
        cwd: str | os.PathLike[str],
        home: str | os.PathLike[str] | None = None,
        skill_dirs: Iterable[str | os.PathLike[str]] = (),
        *,
        env: Mapping[str, str] | None = None,
        role: str | os.PathLike[str] | None = None,
        client_args: Iterable[str] = (),
    ) -> Self:
        """Return the question that a user asks, with absolute paths.

        Args:
            cwd: the directory that the client is started in; with a role it is the role's folder.
            home: the user's home instead of `~`.
            skill_dirs: directories of skills that the user named.
            env: the environment; the process's by default.
            role: an InitRunner role file.
            client_args: the arguments that the client is started with.

        Raises:
            TypeError: `skill_dirs` or `client_args` is one text, which would be a list of its characters.
        """
        for name, value in (("skill_dirs", skill_dirs), ("client_args", client_args)):
            if isinstance(value, str):
                raise TypeError(f"`{name}` is a list: `{name}=[{value!r}]`")
        return cls(
            cwd=real_path(os.path.dirname(os.fspath(role)) or "." if role is not None else cwd),
            home=os.path.abspath(os.path.expanduser("~") if home is None else home),
            env=os.environ if env is None else env,
            is_own_home=home is None,
            client_args=tuple(client_args),
            role=None if role is None else os.path.abspath(role),
            skill_dirs=tuple(os.fspath(path) for path in skill_dirs),
        )

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that may move a client's folders. Use only `get`, which may record what is read."""
        env = self.env if self.is_own_home else EMPTY
        return _Variables(self.moved_folders, env) if self.moved_folders else env


class _Variables(dict[str, str]):
    """Variables before those of an environment."""

    def __init__(self, own: Mapping[str, str], env: Mapping[str, str]) -> None:
        super().__init__(own)
        self._env = env

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return a variable."""
        return self[name] if name in self else self._env.get(name, default)
