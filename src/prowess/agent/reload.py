"""a role's file -> its assembly as it is now

With `watch` it is read again at the beginning of a turn whenever the role, a skill it names or a folder of skills has
changed. A turn that has begun keeps what it began with, and what is wrong does not take the place of what was right.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prowess.errors import ConfigError
from prowess.findings import format_findings

from .assembly import assemble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .assembly import Assembly

    Fingerprint = tuple[int, ...] | None

__all__ = ["RoleReloader"]


class RoleReloader:
    """A role that may change while it is used.

    Args:
        path: of its file.
        dirs: folders of skills that the user named.
        env: the environment.
        home: the user's home instead of `~`.
        sandbox: what contains processes.
        watch: whether changes count.
        notify: told what happens, for the user.

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
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self._path, self._dirs, self._env, self._home = os.path.abspath(path), tuple(dirs), env, home
        self._sandbox, self._watch, self._notify = sandbox, watch, notify or (lambda _: None)
        self._assembly: Assembly | None = None
        self._failure: str | None = None
        self._fingerprints: dict[str, Fingerprint] = {}
        assembly, failure = self._load()
        if assembly is None:
            raise ConfigError(failure, hint="`prowess validate` says the same without running it")
        self._assembly = assembly
        for note in assembly.notes:
            self._notify(note)

    def current(self) -> Assembly:
        """Return the assembly for a turn that begins now."""
        # What was wrong may be mended in a file that nothing led to yet, so it is tried again each time.
        if self._watch and (self._failure is not None or self._current_fingerprints() != self._fingerprints):
            before, old = self._failure, self._assembly
            assembly, failure = self._load()
            if assembly is None:
                if failure != before:
                    self._notify(f"the change is not taken over: {failure}")
            else:
                kept = assembly if old is None else assembly.with_policy_of(old)
                self._assembly = kept
                words = "" if kept is assembly else "; its policy and its tools stay, since they may have changed it"
                self._notify(f"the role was read again, because it or a skill has changed{words}")
                for note in assembly.notes:
                    if old is None or note not in old.notes:
                        self._notify(note)
        assert self._assembly is not None  # noqa: S101 - it was there at the beginning, and only another replaces it
        return self._assembly

    def _load(self) -> tuple[Assembly | None, str]:
        """Read the role; return its assembly, or why there is none."""
        before = self._current_fingerprints()
        made, findings = assemble(self._path, dirs=self._dirs, env=self._env, home=self._home, sandbox=self._sandbox)
        usable = made if made is not None and not findings else None
        self._failure = None if usable else format_findings(findings) or "it cannot be read"
        # A file that has changed while it was read counts as it was before.
        self._fingerprints = {path: before.get(path, mark) for path, mark in self._current_fingerprints(usable).items()}
        return usable, self._failure or ""

    def _watched_paths(self, assembly: Assembly | None) -> list[str]:
        """Return the paths that tell whether anything has changed."""
        paths = [self._path]
        if assembly is not None:
            paths += [skill.path for skill in assembly.explicit]
            if assembly.catalog is not None:
                # A new skill changes the folder it is put into, a changed one its own file.
                places = [place.path for place in assembly.catalog.scan_roots]
                paths += [*places, *(entry.path for entry in assembly.catalog.skills)]
        return paths

    def _current_fingerprints(self, assembly: Assembly | None = None) -> dict[str, Fingerprint]:
        return {path: _fingerprint(path) for path in self._watched_paths(assembly or self._assembly)}


def _fingerprint(path: str) -> Fingerprint:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
