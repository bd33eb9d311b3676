"""Reload a role when its files change.

With `watch`, each turn starts by comparing the files of the role and of its skills with what was read before. A running
turn keeps its assembly, and an invalid change does not replace a valid role.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prowess._internal.file_status import stat_fingerprint
from prowess.findings import format_findings

from .assembly import assemble
from .role import role_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .assembly import Assembly

    Fingerprint = tuple[int, ...] | None

__all__ = ["RoleReloader"]


class RoleReloader:
    """A role that may change while it is in use.

    Args:
        path: the role's file.
        dirs: skill directories from the command line.
        env: the environment.
        home: the user's home instead of `~`.
        sandbox: one of `sandbox.CHOICES`.
        watch: whether to reload after changes.
        notify: called with each note for the user.

    Raises:
        RoleError: the role, or a skill it names, is invalid; the message lists everything that is wrong.
        ConfigError: the role's file does not exist.
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
        self._failure: str | None = None
        self._fingerprints: dict[str, Fingerprint] = {}
        assembly, failure = self._load(None)
        if assembly is None:
            raise role_error(self._path, failure, "fix the role, then check it with `prowess validate ROLE`")
        self._assembly = assembly
        for note in assembly.notes:
            self._notify(note)

    def current(self) -> Assembly:
        """Return the assembly for a turn that begins now, reloaded if anything changed."""
        # After a failure, the fix may be in a file that is not watched yet, so every turn tries again.
        if self._watch and (self._failure is not None or self._take_fingerprints(self._assembly) != self._fingerprints):
            self._reload()
        return self._assembly

    def _reload(self) -> None:
        old, old_failure = self._assembly, self._failure
        assembly, failure = self._load(old)
        if assembly is None:
            if failure != old_failure:
                self._notify(f"the change is not loaded: {failure}")
            return
        self._assembly = assembly.with_policy_of(old)
        kept = (
            "" if self._assembly is assembly else "; its policy and tools stay, because its tools can write its files"
        )
        self._notify(f"reloaded the role after a change{kept}")
        for note in assembly.notes:
            if note not in old.notes:
                self._notify(note)

    def _load(self, old: Assembly | None) -> tuple[Assembly | None, str]:
        """Read the role; return its assembly, or `None` and what is wrong."""
        before = self._take_fingerprints(old)
        assembly, findings = assemble(
            self._path, dirs=self._dirs, env=self._env, home=self._home, sandbox=self._sandbox
        )
        usable = None if findings else assembly
        self._failure = None if usable else format_findings(findings) or "it cannot be read"
        # A file that changed while it was read keeps the fingerprint from before, so the next turn reads it again.
        after = self._take_fingerprints(usable or old)
        self._fingerprints = {path: before.get(path, fingerprint) for path, fingerprint in after.items()}
        return usable, self._failure or ""

    def _take_fingerprints(self, assembly: Assembly | None) -> dict[str, Fingerprint]:
        """Return the fingerprint of each file and folder that the role depends on."""
        paths = [self._path]
        if assembly is not None:
            paths += [skill.path for skill in assembly.explicit]
            if assembly.catalog is not None:
                # A new skill changes the folder it is in, a changed skill its own file.
                paths += [root.path for root in assembly.catalog.scan_roots]
                paths += [entry.path for entry in assembly.catalog.skills]
        return {path: _fingerprint(path) for path in paths}


def _fingerprint(path: str) -> Fingerprint:
    try:
        return stat_fingerprint(os.stat(path))
    except (OSError, ValueError):
        return None
