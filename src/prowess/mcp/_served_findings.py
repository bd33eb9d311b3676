"""Say which skills a server of MCP leaves out, and which clients may decline."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import quoted
from prowess.findings import finding

from ._remote_skill import MAX_BYTES, MAX_FILES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.findings import Finding

    from ._served import ServedCatalog, ServedSkill

__all__ = ["served_skills"]

_LEFT_OUT_HINT = "change its front matter or its files; until then only clients that use tools get it"
_LARGE_HINT = f"make it smaller or split it: clients may decline more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB"


def served_skills(served: ServedCatalog) -> tuple[list[tuple[ServedSkill, str]], list[Finding]]:
    """Return the skills that are served, each with the path of its SKILL.md, and findings. All files are read."""
    skills, _ = served.page(None, len(served.folders) + 1)
    paths = {uri: os.path.join(folder, SKILL_FILE) for uri, folder in zip(served.uris, served.folders, strict=True)}
    return [(skill, paths[skill.uri]) for skill in skills], [*_findings(served, skills, paths)]


def _findings(served: ServedCatalog, skills: list[ServedSkill], paths: dict[str, str]) -> Iterator[Finding]:
    for entry, reason in served.left_out:
        yield _left_out(entry.name, reason, entry.path)
    for top, reason in sorted(served.problems.items()):
        yield _left_out(top.rpartition("/")[2], reason, paths[f"skill://{top}/{SKILL_FILE}"])
    for skill in skills:
        count, size = len(skill.files), sum(size for _, _, size in skill.files)
        if count > MAX_FILES or size > MAX_BYTES:
            message = f"{quoted(str(skill.frontmatter['name']))} has {count:,} files and {size:,} bytes"
            yield finding("mcp-large", message, path=paths[skill.uri], hint=_LARGE_HINT)


def _left_out(name: str, reason: str, path: str) -> Finding:
    return finding("mcp-left-out", f"{quoted(name)} is not served: {reason}", path=path, hint=_LEFT_OUT_HINT)
