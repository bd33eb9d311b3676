"""Say in a hint that `check --fix` does what it advises, exactly where that is true.

The reader names the command for problems that it usually fixes. Here the fix is tried, because the command leaves a
file alone if a change could alter what the file means, and it does not follow links.
"""

from __future__ import annotations

import os

from prowess._internal.files import UnreadableError, read_file
from prowess.skill import check_skill, fix, from_document, parse_frontmatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.findings import Finding

__all__ = ["with_fix_hints"]

_COMMAND = ", or run `prowess check --fix`"
_FIXABLE = frozenset(
    (
        *("encoding-bom", "newline-cr", "fence-blanks", "fence-blanks-closing", "fence-dashes", "control-character"),
        *("repair-colon", "repair-indicator", "repair-sigil", "repair-tab", "name-missing", "field-unknown"),
    )
)


def with_fix_hints(findings: tuple[Finding, ...], path: str, folder: str) -> tuple[Finding, ...]:
    """Return findings whose hints name `check --fix` if it removes them.

    Args:
        findings: of one file.
        path: of the file.
        folder: the name that the skill's name is compared with.
    """
    if not any(_is_fixable(item) for item in findings):
        return findings
    left: set[str] | None = None
    try:
        data = read_file(path) if not os.path.islink(path) else b""
    except UnreadableError:
        data = b""
    if data:
        fixed = from_document(parse_frontmatter(fix(data, folder=folder).data, path), path)
        left = {item.code for item in check_skill(fixed) if _is_fixable(item)}
    return tuple(_with_command(item, left) if _is_fixable(item) else item for item in findings)


def _is_fixable(item: Finding) -> bool:
    return item.code in _FIXABLE and (item.code != "field-unknown" or "`allowed_tools`" in item.message)


def _with_command(item: Finding, left: set[str] | None) -> Finding:
    hint = (item.hint or "").removesuffix(_COMMAND)
    is_fixed = hint and left is not None and item.code not in left
    return item.with_changes(hint=hint + _COMMAND if is_fixed else hint or None)
