"""a role's file -> its assembly as it is now

With `watch` it is read again at the beginning of a turn whenever the role, a skill it names or a folder of skills has
changed. A turn that has begun keeps what it began with, and what is wrong does not take the place of what was right.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prowess.agent.assembly import assemble
from prowess.errors import ConfigError
from prowess.findings import neutral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prowess.agent.assembly import Assembly
    from prowess.findings import Finding

__all__ = ["Live", "findings_text"]


class Live:
    """A role that may change while it is used.

    Args:
        path: of its file.
        dirs: folders of skills that the user named.
        env: the environment.
        home: the user's home instead of `~`.
        sandbox: what contains processes.
        watch: whether changes count.
        say: told what happens, for the user.

    Raises:
        ConfigError: the role, or a skill it names, cannot be used; the message tells all that is wrong.
    """

    def __init__(
        self,
        path: str,
        *,
        dirs: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        home: str | None = None,
        sandbox: str = "auto",
        watch: bool = False,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._path, self._dirs, self._env, self._home = os.path.abspath(path), tuple(dirs), env, home
        self._sandbox, self._watch, self._say = sandbox, watch, say or (lambda _: None)
        assembly, findings = self._assembled()
        if assembly is None or findings:
            raise ConfigError(findings_text(findings), hint="`prowess validate` says the same without running it")
        self._assembly = assembly
        self._seen = self._marks()
        for note in assembly.notes:
            self._say(note)

    def current(self) -> Assembly:
        """Return the assembly for a turn that begins now."""
        if self._watch and (seen := self._marks()) != self._seen:
            self._seen = seen
            assembly, findings = self._assembled()
            if assembly is None or findings:
                self._say(f"the change is not taken over: {findings_text(findings)}")
            else:
                self._assembly = assembly
                self._seen = self._marks()
                self._say("the role was read again, because it or a skill has changed")
        return self._assembly

    def _assembled(self) -> tuple[Assembly | None, tuple[Finding, ...]]:
        return assemble(self._path, dirs=self._dirs, env=self._env, home=self._home, sandbox=self._sandbox)

    def _marks(self) -> dict[str, tuple[int, ...] | None]:
        """Return what tells whether anything has changed."""
        paths = [self._path]
        if getattr(self, "_assembly", None) is not None:
            paths += [skill.path for skill in self._assembly.explicit]
            if self._assembly.catalog is not None:
                # A new skill changes the folder it is put into, a changed one its own file.
                places = [place.path for place in self._assembly.catalog.places]
                paths += [*places, *(entry.path for entry in self._assembly.catalog.skills)]
        return {path: _mark(path) for path in paths}


def _mark(path: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def findings_text(findings: Iterable[Finding]) -> str:
    """Write findings one to a line, as an error of several lines."""
    lines = []
    for item in findings:
        place = ":".join(str(part) for part in (neutral(item.path or ""), item.line, item.column) if part)
        lines.append(f"{place}: {neutral(item.message)}{f' ({neutral(item.hint)})' if item.hint else ''}")
    return "\n".join(lines) or "it cannot be read"
