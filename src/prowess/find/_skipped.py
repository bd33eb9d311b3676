"""Report the skills that a host's walk skips, and why."""

from __future__ import annotations

import os

from prowess._internal.file_status import SHARED_VARIABLE
from prowess._internal.files import SKILL_FILE
from prowess._internal.text import quoted
from prowess.findings import Finding, finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.filesystem import Filesystem, Listing
    from prowess.hosts import Host, Root

    from ._roots import ScanRoot

_LOWER_NAME = SKILL_FILE.lower()
MAX_PROBES = 64
"""Folders in one root that are searched only to report a skill that is skipped there."""


def wrong_case_finding(path: str, names: Iterable[str]) -> Finding:
    """Return the finding about a file whose name differs from SKILL.md only in upper and lower case.

    Args:
        path: of the file.
        names: of all files in its folder.
    """
    message = f"the file is named {quoted(os.path.basename(path))}; agents look for `{SKILL_FILE}` exactly"
    is_beside = SKILL_FILE in names
    hint = f"remove it: `{SKILL_FILE}` is there too" if is_beside else f"rename it to `{SKILL_FILE}`"
    return finding("file-name-case", message, path=path, hint=hint)


class SkipReports:
    """The findings of one host's walk."""

    def __init__(self, host: Host, filesystem: Filesystem) -> None:
        self.host, self.filesystem = host, filesystem
        self.findings: list[Finding] = []

    def report(self, code: str, message: str, path: str, hint: str) -> None:
        """Report a problem."""
        self.findings.append(finding(code, message, path=path, hint=hint))

    def link_out_of_bounds(self, path: str, what: str) -> None:
        """Report a link that the host does not follow."""
        hint = f"copy the {what} here, or pass {'their' if what == 'skills' else 'its'} folder with `--skill-dir`"
        self.report("folder-link", "the link leads out of the project and the skills folders", path, hint)

    def foreign(self, path: str) -> None:
        """Report a skills folder above the working directory that belongs to another user, if it contains a skill."""
        for name, letter in (self.filesystem.listing_or_none(path) or ())[:MAX_PROBES]:
            file = os.path.join(path, name, SKILL_FILE)
            if letter in "dl" and self.filesystem.kind(file) == "f":
                hint = f"set `{SHARED_VARIABLE}` to the folder if you share it on purpose"
                message = "the skills folder belongs to another user and is skipped, but it contains a skill"
                self.report("folder-skipped", message, file, hint)
                return

    def folder_limit(self, scan_root: ScanRoot) -> None:
        """Report that the rest of a root is left out."""
        message = f"more than {scan_root.root.max_folders:,} folders: the rest of this root is not scanned"
        self.report("folder-limit", message, scan_root.path, "move skills into fewer folders")

    def folder(self, path: str, reason: str) -> None:
        """Report a folder that is not entered, if it or a folder in it contains a skill."""
        names = [path]
        # A link may lead to any folder of the machine, of any size, so it is not listed.
        if self.filesystem.link_kind(path) != "l":
            if (entries := self.filesystem.listing_or_none(path)) is None:
                return
            names += [os.path.join(path, name) for name, letter in entries[:MAX_PROBES] if letter == "d"]
        for name in names:
            if self.filesystem.kind(os.path.join(name, SKILL_FILE)) == "f":
                message = f"{quoted(os.path.basename(path))} is skipped ({reason}), but it contains a skill"
                self.report("folder-skipped", message, os.path.join(name, SKILL_FILE), "move the skill out of it")
                return

    def too_deep(self, path: str, entries: Listing, root: Root) -> None:
        """Report skills one level deeper than the host scans."""
        self.wrong_case(path, entries)
        for name, letter in entries[:MAX_PROBES]:
            if letter == "d" and not name.startswith(".") and name not in root.skip:
                file = os.path.join(path, name, SKILL_FILE)
                if self.filesystem.kind(file) == "f":
                    levels = "1 level" if root.depth == 1 else f"{root.depth} levels"
                    message = f"the skill is deeper than {self.host.title} scans ({levels} below the skills folder)"
                    self.report("folder-too-deep", message, file, "move its folder up")

    def wrong_case(self, path: str, entries: Listing) -> None:
        """Report files whose name differs from SKILL.md only in upper and lower case."""
        for name, letter in entries:
            if letter == "f" and name != SKILL_FILE and name.lower() == _LOWER_NAME:
                self.findings.append(wrong_case_finding(os.path.join(path, name), (other for other, _ in entries)))

    def skill_in_root(self, path: str, entries: Listing) -> None:
        """Report a skill in the skills folder itself, if the host scans only the folders below."""
        if any(name == SKILL_FILE and letter in "fl" for name, letter in entries):
            message = f"the skill is in the skills folder itself; {self.host.title} scans the folders below it"
            self.report("folder-skipped", message, os.path.join(path, SKILL_FILE), "give it a folder of its own")
