"""a role's guardrails and security -> whether a tool may be called, and within what bounds

One policy holds for all tools of an agent, whoever brought them: what the role's `security` says, a skill cannot
loosen. A tool's own configuration can only make it tighter.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted
from prowess.errors import ConfigError, ProwessError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["AgentTool", "ToolContext", "Policy", "RefusedError", "ToolFailedError"]

_VARIABLE_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class ToolFailedError(ProwessError, RuntimeError):
    """A tool cannot do what it was asked; the model is told in these words, and the run goes on."""


class RefusedError(ToolFailedError):
    """The policy, or the user, does not let a tool do what it was asked."""


class Policy(Frozen):
    """What tools may do, whoever brought them."""

    deny: frozenset[str] = frozenset()
    """Types or names of tools that are not offered at all."""
    ask: frozenset[str] = frozenset()
    """Types or names of tools before each call of which the user is asked."""
    allowed_hosts: tuple[str, ...] = ()
    """Domains, each with all below it, that tools may speak to; none is all that are public."""
    allow_private: bool = False
    """Whether tools may speak to addresses of this machine or network, where their configuration says so too."""
    roots: tuple[str, ...] = ()
    """Folders, absolute, outside which no tool reads or writes; none is the role's folder."""
    max_result_bytes: int = 200_000
    """Bytes of what one call returns to the model."""

    def permission(self, kind: str, name: str, *, ask: bool = False) -> str:
        """Return `allow`, `ask` or `deny` for a tool.

        Args:
            kind: its type, as in `shell`.
            name: its own.
            ask: whether its configuration wants the user to be asked.
        """
        if self.deny & {kind, name}:
            return "deny"
        return "ask" if ask or self.ask & {kind, name} else "allow"

    def resolve_in_roots(self, path: str) -> str:
        """Return a path without links that lies in one of the roots.

        Raises:
            RefusedError: it does not.
        """
        real = os.path.realpath(path)
        for root in self.roots:
            top = os.path.realpath(root)
            if real == top or real.startswith(top.rstrip(os.sep) + os.sep):
                return real
        raise RefusedError(f"{quoted(path, 200)} is outside of what the role's policy opens")


class ToolContext(Frozen):
    """What a tool is made with, beside its configuration."""

    folder: str
    """The role's folder, absolute: relative paths of a configuration begin here."""
    policy: Policy
    skill: str | None = None
    """The folder of the skill that brought the tool; None for one of the role's own."""
    env: Mapping[str, str] = EMPTY
    """The environment whose variables a configuration may name as `${NAME}`."""
    sandbox: str = "auto"
    """What contains processes: one of `sandbox.CHOICES`."""
    trusted: bool = False
    """Whether processes may run where nothing contains them: the user has said so."""

    def absolute_path(self, text: str) -> str:
        """Return a path of a configuration, absolute."""
        return os.path.abspath(os.path.join(self.folder, os.path.expanduser(text)))

    def expand_variables(self, text: str, where: str) -> tuple[str, tuple[str, ...]]:
        """Return a text of a configuration with the value of each `${NAME}` in its place, and those values.

        Args:
            text: from the configuration.
            where: what it is, for the error.

        Raises:
            ConfigError: a variable is not set, or is empty.
        """
        values = []

        def value(match: re.Match[str]) -> str:
            found = self.env.get(match[1], "")
            if not found:
                words = f"{where} needs the variable `{match[1]}`, which is not set"
                skill = ", and name it in the skill's `requires.env`" if self.skill is not None else ""
                raise ConfigError(words, hint=f"set `{match[1]}`{skill}")
            values.append(found)
            return found

        return _VARIABLE_REFERENCE.sub(value, text), tuple(values)


class AgentTool(Frozen):
    """A tool as a model sees it."""

    kind: str
    """Its type, as in `shell`."""
    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of its arguments: an object."""
    call: Callable[..., str]
    """Takes the arguments by name and returns text.

    Raises:
        ToolFailedError: it cannot be done; the message is for the model.
    """
    ask: bool = False
    """Whether its configuration wants the user to be asked before each call."""
    origin: str = "role"
    """`role`, or the name of the skill that brought it."""

    def with_unique_name(self, taken: Iterable[str]) -> AgentTool:
        """Return the tool under a name that is not taken yet: its own, with its origin before it, or with a number."""
        used = set(taken)
        first = self.name if self.origin == "role" else f"{self.origin.replace('-', '_')}_{self.name}"
        names = (self.name, first[:60], *(f"{first[:56]}_{number}" for number in range(2, 1000)))
        return self.with_changes(name=next(name for name in names if name not in used))
