"""Refuse calls by their arguments, as the `permissions` of a tool say.

InitRunner's rules: patterns in `deny` count first, then those in `allow`, then `default`. A pattern is `ARGUMENT=GLOB`,
or a `GLOB` for the value of any argument; `ARGUMENT` may name a value inside (`options.path`). Here a path also counts
as the place that it leads to, and a command by its program's name: `./x/../.env` and `/bin/rm` do not avoid a rule.
"""

from __future__ import annotations

import os
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path, real_path_or_none
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.agent.policy import RefusedError
from prowess.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prowess.agent.policy import AgentTool, ToolContext

__all__ = ["CallRules", "with_rules"]

_FOLDER_KEYS = {"filesystem": "root_path", "git": "repo_path"}
"""The key of the folder that paths in arguments are relative to."""
_PATH_ARGUMENTS = frozenset(("path", "paths"))


class CallRules(Frozen):
    """The `permissions` of one tool."""

    default: str = "allow"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    folder: str | None = None
    """The absolute folder that paths are relative to."""

    @classmethod
    def from_options(cls, kind: str, options: Mapping[str, Any], context: ToolContext) -> CallRules | None:
        """Return the rules of a configuration, or `None` if there are no rules.

        Raises:
            ConfigError: a pattern is incomplete.
        """
        rules = options.get("permissions")
        if rules is None:
            return None
        for pattern in (*rules["allow"], *rules["deny"]):
            name, equals, glob = pattern.partition("=")
            if not (name and glob) if equals else not pattern:
                message = f"the pattern {quoted(pattern)} in `permissions` is incomplete"
                raise ConfigError(message, hint="write it as `ARGUMENT=PATTERN`")
        folder = context.absolute_path(options[_FOLDER_KEYS[kind]]) if kind in _FOLDER_KEYS else None
        return cls(**rules, folder=folder)

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Check that a call is allowed.

        Raises:
            RefusedError: it is not.
        """
        for pattern in self.deny:
            if any(self._is_denied(name, value, glob) for name, value, glob in _values(pattern, arguments)):
                raise RefusedError(f"`permissions` refuse calls with {quoted(pattern)}")
        for pattern in self.allow:
            if any(self._is_allowed(name, value, glob) for name, value, glob in _values(pattern, arguments)):
                return
        if self.default != "allow":
            raise RefusedError("`permissions` allow only some calls, and not this one")

    def _is_denied(self, name: str, value: str, glob: str) -> bool:
        places = [form for place in self._places(name, value) for form in place]
        # On some systems `.ENV` is the file `.env`.
        return any(fnmatchcase(form.lower(), glob.lower()) for form in (value, *places, *_command_forms(name, value)))

    def _is_allowed(self, name: str, value: str, glob: str) -> bool:
        places = self._places(name, value) or [(value,)]
        return all(any(fnmatchcase(form, glob) for form in place) for place in places)

    def _places(self, name: str, value: str) -> list[tuple[str, ...]]:
        """Return what a path means, with and without links: absolute, and relative to the folder."""
        if self.folder is None or name not in _PATH_ARGUMENTS or "\0" in value:
            return []
        path = os.path.normpath(os.path.join(self.folder, value))
        # A link that cannot be read is not followed by a tool either.
        real = real_path_or_none(path) or path
        tops = (self.folder, real_path(self.folder))
        return [(place, os.path.relpath(place, top)) for place, top in zip((path, real), tops, strict=True)]


def _command_forms(name: str, value: str) -> Iterator[str]:
    """Yield a command without its quotes, also with the bare name of its program."""
    if name != "command":
        return
    try:
        words = shlex.split(value)
    except ValueError:
        return
    if words:
        yield " ".join(words)
        yield " ".join((os.path.basename(words[0]), *words[1:]))


def _values(pattern: str, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the values that a pattern is compared with: the argument's name, the value as text, and the glob."""
    name, equals, glob = pattern.partition("=")
    if not equals:
        for argument, given in arguments.items():
            yield from ((argument, text, pattern) for text in _leaves(given))
        return
    value: Any = arguments
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return
        value = value[part]
    yield from ((name, text, glob) for text in _leaves(value))


def _leaves(value: object) -> Iterator[str]:
    """Yield every text, number and truth value inside a value, as text."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
        elif item is not None:
            yield str(item)


def with_rules(tool: AgentTool, rules: CallRules) -> AgentTool:
    """Return a tool whose calls are checked first."""

    def call(**arguments: Any) -> str:
        rules.check(arguments)
        return tool.call(**arguments)

    return tool.with_changes(call=call)
