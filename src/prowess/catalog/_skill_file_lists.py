"""List all files of a skill, and compute its digest, once for all hosts."""

from __future__ import annotations

import os

from prowess._internal.files import MAX_DIGEST_BYTES, skill_digest, skill_files

from ._fingerprints import FingerprintRecorder

__all__ = ["SkillFileLists"]


class SkillFileLists(FingerprintRecorder):
    """The files of the skills that one command has looked at, and their digests."""

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, tuple[list[tuple[str, int]], dict[str, bytes], dict[str, bytes]]] = {}
        self._digests: dict[tuple[str, str], str | None] = {}
        self._digest_bytes_left = 2 * MAX_DIGEST_BYTES
        """Bytes that may still be read for digests."""

    def files(self, path: str) -> list[tuple[str, int]]:
        """Return the files of the skill with this SKILL.md, with their sizes."""
        folder = os.path.dirname(path)
        if folder not in self._files:
            listed: list[str] = []
            found = skill_files(folder, folders=listed)
            if "" in listed:
                self.mark_incomplete()
            folders = {name: self.fingerprint_path(name, follow=True, expected=True) for name in listed if name}
            names = [os.path.join(folder, name) for name, _ in found]
            self.read_closely.update(names)
            self._files[folder] = found, folders, {name: self.fingerprint_path(name, expected=True) for name in names}
        found, folders, files = self._files[folder]
        if self.fingerprints is not None:
            for observations, states in ((self.fingerprints.folders, folders), (self.fingerprints.files, files)):
                for name, state in states.items():
                    self.record(observations, name, state)
        return found

    def digest(self, path: str, without: str = "") -> str | None:
        """Return the digest of the skill with this SKILL.md; `None` if the command has read too much for digests.

        Args:
            path: of its SKILL.md.
            without: a file of the skill that is left out.
        """
        key = os.path.dirname(path), without
        found = self.files(path)
        if key not in self._digests:
            self._digest_bytes_left -= sum(size for name, size in found if name != without)
            self._digests[key] = skill_digest(*key) if self._digest_bytes_left >= 0 else None
        if self._digests[key] is None:
            # The reason may be what was read before, or a lack of file descriptors or memory.
            self.mark_incomplete()
        return self._digests[key]
