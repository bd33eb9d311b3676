"""Decide whether a tool may be called, and within what limits.

One policy, the role's `security`, applies to every tool of an agent. A skill, or a tool's own configuration, can only
be stricter.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Literal, Protocol

from prowess._internal.files import is_inside, real_path, real_path_or_none
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError, ProwessError, SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from prowess.guard import ProtectedPath
    from prowess.skill import SealedCopy


__all__ = ["AgentTool", "Policy", "RefusedError", "SealedSkill", "ToolContext", "ToolFailedError"]

_VARIABLE_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class ToolFailedError(ProwessError, RuntimeError):
    """A tool call fails; the model reads the message, and the run continues."""


class RefusedError(ToolFailedError):
    """The policy or the user refuses a tool call."""


class Policy(Frozen):
    """What tools may do."""

    deny: frozenset[str] = frozenset()
    """Types or names of tools that are not offered."""
    ask: frozenset[str] = frozenset()
    """Types or names of tools that need the user's confirmation before each call."""
    allowed_hosts: tuple[str, ...] = ()
    """Domains, with their subdomains, that tools may connect to; empty allows every public host."""
    allow_private: bool = False
    """Whether tools may connect to this machine or its network, if their configuration allows it too."""
    roots: tuple[str, ...] = ()
    """Absolute folders; no tool reads or writes outside them. Empty means the role's folder."""
    unix_sockets: tuple[str, ...] = ()
    """Absolute paths of Unix sockets that programs of the role's own tools may connect to; never those of skills."""
    allow_writes: frozenset[str] = frozenset()
    """Kinds of protected files that tools may write; see `prowess.guard.KINDS`."""
    allow_paths: tuple[str, ...] = ()
    """Protected files and folders that tools may write, absolute."""
    commands_network: bool = True
    """Whether a tool's configuration can open the network to its commands."""
    memory: int | None = None
    """Bytes of memory of a command; `None` is the sandbox's own limit, and more than that has no effect."""
    max_result_bytes: int = 200_000
    """Bytes of one result that the model gets."""

    def permission(self, kind: str, name: str, *, ask: bool = False) -> Literal["allow", "ask", "deny"]:
        """Return whether a tool may be called, always or after confirmation.

        Args:
            kind: its type, such as `shell`.
            name: its name.
            ask: whether its configuration requires confirmation.
        """
        if self.deny & {kind, name}:
            return "deny"
        return "ask" if ask or self.ask & {kind, name} else "allow"

    def resolve_in_roots(self, path: str) -> str:
        """Return a path without links, inside one of the roots.

        Raises:
            RefusedError: the path is outside all roots, or a link in it cannot be read.
        """
        real = real_path_or_none(path)
        if real is None:
            raise RefusedError(f"{quoted(path, PATH_LIMIT)} leads through a link that cannot be read")
        for root in self.roots:
            top = real_path(root)
            if is_inside(real, top):
                return real
        raise RefusedError(f"{quoted(path, PATH_LIMIT)} is outside the folders that the role allows")


class SealedSkill(Protocol):
    """A skill, or a folder of a role, whose bytes are checked in each call."""

    def check(self) -> None:
        """Check that the skill may be used now.

        Raises:
            RefusedError: it changed, or its user does not trust it any more.
        """

    def copy(self, *, contained: bool) -> AbstractContextManager[SealedCopy]:
        """Check the skill, and return the copy that a call runs from; at the end of the block it is removed.

        Args:
            contained: whether the call runs in a sandbox.

        Raises:
            RefusedError: it changed, or its user does not trust it any more.
        """


class ToolContext(Frozen):
    """What a tool is made with, besides its configuration."""

    folder: str
    """The role's folder, absolute; relative paths in a configuration start here."""
    policy: Policy
    skill: str | None = None
    """The folder of the skill that the tool comes from; `None` for the role's own tools."""
    sealed: SealedSkill | None = None
    """Checks the skill in each call, and gives the copy of it that runs; `None` if nothing of a skill can change."""
    env: Mapping[str, str] = EMPTY
    """The variables that a configuration may name as `${NAME}`."""
    sandbox: str = "auto"
    """How processes are contained: one of `sandbox.CHOICES`."""
    trusted: bool = False
    """Whether the user allows processes to run without a sandbox: they trust these bytes, or the role names them."""
    role_files: tuple[str, ...] = ()
    """The role's own file, its skills' files and those that its tools run; tools must not write them."""
    protected_paths: tuple[ProtectedPath, ...] = ()
    """More that tools must not write, whatever it is called."""

    @property
    def contained(self) -> bool:
        """Whether processes run in a sandbox; also if none can run."""
        from prowess.sandbox import find_backend

        try:
            return find_backend(self.sandbox, trusted=self.trusted).name != "none"
        except SandboxError:
            return True

    def absolute_path(self, text: str) -> str:
        """Return the absolute path for a path in a configuration."""
        return os.path.abspath(os.path.join(self.folder, os.path.expanduser(text)))

    def resolve_allowed(self, path: str) -> str:
        """Return a path without links if the policy allows it; without roots, that is the role's folder.

        Raises:
            RefusedError: the policy does not allow the path.
        """
        policy = self.policy if self.policy.roots else self.policy.with_changes(roots=(self.folder,))
        return policy.resolve_in_roots(path)

    def expand_variables(self, text: str, where: str) -> tuple[str, tuple[str, ...]]:
        """Replace each `${NAME}` in a text of a configuration; return the text and the inserted values.

        Args:
            text: the text.
            where: what the text is, for the error message.

        Raises:
            ConfigError: a variable is not set, or is empty.
        """
        values = []

        def value(match: re.Match[str]) -> str:
            setting = self.env.get(match[1], "")
            if not setting:
                skill = ", and name it in the skill's `requires.env`" if self.skill is not None else ""
                raise ConfigError(f"{where} needs `{match[1]}`, which is not set", hint=f"set `{match[1]}`{skill}")
            values.append(setting)
            return setting

        return _VARIABLE_REFERENCE.sub(value, text), tuple(values)


class AgentTool(Frozen):
    """A tool as a model sees it."""

    kind: str
    """Its type, such as `shell`."""
    name: str
    description: str
    parameters: Mapping[str, Any]
    """The JSON Schema of its arguments, an object."""
    call: Callable[..., str]
    """Called with the arguments by name; returns text.

    Raises:
        ToolFailedError: the call fails; the message is for the model.
    """
    ask: bool = False
    """Whether its configuration requires the user's confirmation before each call."""
    origin: str = "role"
    """`role`, or the name of the skill that the tool comes from."""

    def with_check(self, check: Callable[[Mapping[str, Any]], None]) -> AgentTool:
        """Return the tool with a check before each call, which gets the arguments and raises a `ToolFailedError`."""

        def call(**arguments: Any) -> str:
            check(arguments)
            return self.call(**arguments)

        return self.with_changes(call=call)

    def with_unique_name(self, used_names: Iterable[str]) -> AgentTool:
        """Return the tool under the first free name: its own, with its origin as a prefix, or with a number."""
        used = set(used_names)
        prefixed = self.name if self.origin == "role" else f"{self.origin.replace('-', '_')}_{self.name}"
        names = (self.name, prefixed[:60], *(f"{prefixed[:56]}_{number}" for number in range(2, 1000)))
        return self.with_changes(name=next(name for name in names if name not in used))
