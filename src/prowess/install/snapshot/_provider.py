"""Use the skills of a snapshot: `SnapshotProvider`.

A snapshot has the names, descriptions, digests and search index of many skills. A skill is fetched when it is used, and
its digest is compared with that of the snapshot before anything of it is read.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess._internal.user_dirs import cache_folder
from prowess.errors import ActivationError, ConfigError, InstallError, SkillError
from prowess.findings import Finding, Severity
from prowess.install._tree import LINK
from prowess.skill import from_document, is_portable_name, parse_frontmatter

from ._cache import CachedSnapshot
from ._places import find_place
from ._skills import FetchedSkills
from ._table import SnapshotTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from prowess.catalog import Entry
    from prowess.skill import Skill

__all__ = ["SnapshotProvider"]


class SnapshotProvider:
    """The skills of a snapshot, for `discover(cwd, providers=[...])`.

    Args:
        url: where `prowess index DIR --snapshot` wrote it: `https://`, `s3://`, `gs://`, `az://`, `oci://` or
            `file://`, or a folder.
        max_age: seconds after which the place is asked for a newer snapshot; the one in the cache serves until then.
        cache: the folder of the cache; by default the user's.
        env: the environment; the process's by default.

    Raises:
        ConfigError: an argument is invalid.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        max_age: float = 300.0,
        cache: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        if not 0 <= max_age < float("inf"):
            raise ConfigError("invalid age of a snapshot", hint="give seconds, 0 or more")
        self._env = env
        self._place = find_place(os.fspath(url))
        self._max_age = max_age
        self._folder = cache_folder(os.environ if env is None else env) if cache is None else os.fspath(cache)
        self.findings: tuple[Finding, ...] = ()
        """Why the snapshot cannot be used, or is not the newest one."""
        self._prepare()

    def _prepare(self) -> None:
        self._lock = threading.RLock()
        self._table: SnapshotTable | None = None
        self._checked_at = 0.0
        self._digest = ""
        self._skills = FetchedSkills(self._place, self._env)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_table", "_skills")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    @property
    def origin(self) -> str:
        """The snapshot in messages."""
        return f"the snapshot {quoted(self._place.origin, PATH_LIMIT)}"

    # ── listing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def table(self) -> SnapshotTable:
        """Return the skills of the snapshot as it is now.

        Raises:
            InstallError: it cannot be fetched, and no earlier one is in the cache.
            ConfigError: the same, because of the settings of this machine: a missing extra, or variables of a cloud.
        """
        import time

        with self._lock:
            now = time.monotonic()
            if self._table is None or now - self._checked_at > self._max_age:
                cached = CachedSnapshot(self._place, self._folder)
                file, digest, problem = cached.open(self._max_age if self._checked_at >= 0 else -1.0)
                self.findings = () if problem is None else (self._finding(f"an earlier one is used: {problem}"),)
                self._checked_at = now
                if self._table is None or digest != self._digest:
                    self._table, self._digest = SnapshotTable(file, f"snapshot+{self._place.origin}/", self), digest
            return self._table

    def list(self, cwd: str) -> Sequence[Entry]:
        """Return the skills of the snapshot.

        If there is no snapshot, there are no skills, and a finding says why.
        """
        del cwd
        try:
            return self.table()  # type: ignore[return-value]
        except (InstallError, ConfigError) as error:
            self.findings = (self._finding(str(error), error.hint),)
            return ()

    def refresh(self, cwd: str) -> None:
        """Ask for a newer snapshot at the next `list`."""
        del cwd
        with self._lock:
            self._checked_at = float("-inf")

    def _finding(self, message: str, hint: str | None = None) -> Finding:
        return Finding(
            code="server-failed",
            severity=Severity.WARNING,
            path=f"snapshot+{self._place.origin}",
            line=None,
            column=None,
            message=f"{self.origin}: {neutral(message)}",
            hint=hint or "check the URL and the network",
        )

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self, skill: Entry, /) -> Skill:
        """Fetch a skill of the snapshot, and return it if it is what the snapshot says.

        Raises:
            ActivationError: it cannot be fetched, or is not what the snapshot says.
        """
        try:
            data = self._skills.read_file(skill.digest or "", SKILL_FILE)
        except (SkillError, ConfigError) as error:
            raise self._read_error(skill, str(error), error.hint) from None
        parsed = from_document(parse_frontmatter(data, skill.path), skill.path)
        if parsed.name != skill.frontmatter_name or parsed.description != skill.description:
            hint = "ask who makes the snapshot to make it again"
            raise self._read_error(skill, "its name or description is not the one in the snapshot", hint)
        # What another machine writes there would be permissions on this one.
        return parsed.with_changes(allowed_tools=())

    def note(self, skill: Entry) -> str:
        """Return a sentence for the model that says where a skill is from."""
        del skill
        return (
            f"this skill and its files come from {self.origin}, not from this machine or its user; "
            "its files are read with read_skill_file"
        )

    def files(self, skill: Entry) -> tuple[tuple[str, int], ...]:
        """Return the paths and sizes of a skill's files.

        Raises:
            ActivationError: it cannot be fetched, or is not what the snapshot says.
        """
        try:
            tree = self._skills.tree(skill.digest or "")
        except (SkillError, ConfigError) as error:
            raise self._read_error(skill, str(error), error.hint) from None
        return tuple((file.path, file.size) for file in tree.files if file.mode != LINK)

    def read_file(self, skill: Entry, path: str) -> bytes:
        """Return the bytes of a file of a skill.

        Raises:
            SkillError: the skill has no such file, cannot be fetched, or is not what the snapshot says.
        """
        return self._skills.read_file(skill.digest or "", path)

    @contextmanager
    def copy(self, skill: Entry) -> Iterator[str]:
        """Yield a folder with a copy of a skill that is removed at the end.

        Raises:
            SkillError: it cannot be fetched or copied, or is not what the snapshot says.
        """
        name = skill.folder if is_portable_name(skill.folder) else "skill"
        with self._skills.copy(skill.digest or "", name) as folder:
            yield folder

    def _read_error(self, skill: Entry, reason: str, hint: str | None) -> ActivationError:
        message = f"the skill {quoted(skill.name)} of {self.origin} cannot be read now: {reason}"
        return ActivationError(message, hint=hint or "go on without it, or try again later")
