"""what is wrong -> where, and what to do

A finding is data: it never stops anything by itself. Each code has one row in `CODES`, with its severity under the
two policies that are not a host's: `guide` (load what can be loaded; the default) and `spec` (agentskills.io to the
letter). Under a host's policy a code is an error exactly where that host does not load the skill.
"""

from __future__ import annotations

from enum import StrEnum

from ._internal.frozen import Frozen
from ._internal.text import neutral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "CODES",
    "Code",
    "Finding",
    "Severity",
    "finding",
    "format_findings",
    "apply_policy",
]


class Severity(StrEnum):
    """How bad it is: an `error` rejects, a `warning` wants mending, an `info` is good to know."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Finding(Frozen):
    """One problem of one place."""

    code: str
    severity: Severity
    path: str | None = None
    """The file or folder it is about, as it was reached."""
    line: int | None = None
    """1-based."""
    column: int | None = None
    """1-based, in Unicode characters."""
    message: str
    hint: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the finding in the shape every `--json` of Prowess uses."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "hint": self.hint,
        }


class Code(Frozen, kw_only=False):
    """One kind of finding."""

    code: str
    guide: Severity
    spec: Severity
    title: str


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

# The order is that of a reader's work: the file, its encoding, its fences, its YAML, its fields, its body; then where
# it was found and what became of it.
CODES: Mapping[str, Code] = {
    row[0]: Code(*row)
    for row in (
        ("file-missing", _E, _E, "there is no SKILL.md"),
        ("file-not-regular", _E, _E, "SKILL.md is not a regular file"),
        ("file-is-link", _E, _W, "SKILL.md is a link that is not followed"),
        ("file-unreadable", _E, _E, "SKILL.md cannot be opened or read"),
        ("file-too-large", _E, _E, "SKILL.md is larger than 1 MiB"),
        ("file-name-case", _W, _W, "a file is named almost, but not exactly, SKILL.md"),
        ("encoding-bom", _W, _W, "the file begins with a byte order mark"),
        ("encoding-not-utf8", _W, _E, "a byte is not UTF-8"),
        ("encoding-utf16", _E, _E, "the file is UTF-16"),
        ("encoding-nul", _W, _W, "the file holds a NUL byte"),
        ("newline-cr", _W, _W, "the front matter's lines end in a lone carriage return"),
        ("frontmatter-missing", _E, _E, "the file does not begin with a `---` line"),
        ("frontmatter-not-first", _E, _E, "something stands before the front matter"),
        ("frontmatter-unclosed", _E, _E, "no `---` line closes the front matter"),
        ("frontmatter-too-large", _E, _E, "the front matter is larger than 64 KiB"),
        ("fence-blanks", _W, _W, "the opening fence has blanks after its dashes"),
        ("fence-blanks-closing", _W, _W, "the closing fence has blanks after its dashes"),
        ("fence-dashes", _E, _E, "a fence has more than three dashes"),
        ("control-character", _W, _E, "the front matter holds a control character"),
        ("yaml-syntax", _E, _E, "the front matter is not valid YAML"),
        ("yaml-not-mapping", _E, _E, "the front matter is not a mapping"),
        ("yaml-duplicate-key", _E, _E, "a key stands twice"),
        ("yaml-anchor", _E, _E, "the front matter uses a YAML anchor"),
        ("yaml-alias", _E, _E, "the front matter uses a YAML alias"),
        ("yaml-tag", _E, _E, "the front matter uses a YAML tag"),
        ("yaml-too-deep", _E, _E, "the front matter nests more than 64 levels"),
        ("yaml-too-long", _E, _E, "the front matter has more than 20,000 YAML events"),
        ("repair-colon", _W, _E, "an unquoted value holds `: `"),
        ("repair-indicator", _W, _E, "an unquoted value begins with `@`, a back-tick or doubled brackets"),
        ("repair-sigil", _W, _E, "an unquoted value begins with `*`, `&` or `%`"),
        ("repair-tab", _W, _E, "a line is indented with a tab"),
        ("name-missing", _W, _E, "there is no name"),
        ("name-empty", _W, _E, "the name is empty"),
        ("name-not-text", _E, _E, "the name is a list or a map"),
        ("name-type", _I, _I, "the name is not text to a YAML parser"),
        ("name-too-long", _W, _E, "the name is longer than 64 characters"),
        ("name-case", _W, _E, "the name has upper case letters"),
        ("name-characters", _W, _E, "the name has characters other than letters, digits and hyphens"),
        ("name-hyphens", _W, _E, "the name begins or ends with a hyphen, or has two in a row"),
        ("name-not-folder", _W, _E, "the name is not the folder's name"),
        ("name-reserved", _I, _I, "the name holds a reserved word"),
        ("description-missing", _E, _E, "there is no description"),
        ("description-empty", _E, _E, "the description is empty"),
        ("description-not-text", _E, _E, "the description is a list or a map"),
        ("description-type", _W, _W, "the description is not text to a YAML parser"),
        ("description-too-long", _W, _E, "the description is longer than 1,024 characters"),
        ("description-hidden", _W, _W, "the description holds characters that do not show"),
        ("description-markup", _I, _I, "the description holds `<` or `>`"),
        ("license-type", _W, _W, "the licence is not text"),
        ("compatibility-empty", _I, _W, "the compatibility note is empty"),
        ("compatibility-type", _I, _E, "the compatibility note is not text"),
        ("compatibility-too-long", _W, _E, "the compatibility note is longer than 500 characters"),
        ("metadata-type", _W, _W, "the metadata is not a map"),
        ("metadata-nested", _I, _W, "a metadata value is a list or a map"),
        ("allowed-tools-type", _I, _W, "the allowed tools are not one line of text"),
        ("field-type", _W, _W, "a field has the wrong type"),
        ("field-unknown", _I, _E, "a field is not known"),
        ("body-empty", _W, _I, "there are no instructions"),
        ("body-too-long", _I, _I, "SKILL.md is longer than 500 lines"),
        ("link-missing", _W, _I, "the body links to a file that is not there"),
        ("link-escapes", _W, _I, "the body links to a file outside the skill"),
        ("folder-unreadable", _W, _W, "a folder cannot be listed"),
        ("folder-skipped", _I, _I, "a folder is skipped by rule though it holds a skill"),
        ("folder-too-deep", _I, _I, "a skill lies deeper than the host looks"),
        ("folder-limit", _W, _W, "a root holds more folders than are walked"),
        ("folder-link", _W, _W, "a link is not followed"),
        ("root-not-folder", _W, _W, "a skills folder is not a folder"),
        ("path-not-utf8", _W, _E, "a path is not UTF-8"),
        ("name-shadowed", _I, _I, "another skill of the same name wins"),
        ("name-lookalike", _W, _W, "two names differ only in case or Unicode form"),
        ("skill-copy", _I, _I, "a byte-identical copy of another skill"),
        ("skill-limit", _W, _W, "more skills than the host takes"),
        ("host-disabled", _I, _I, "skills are switched off for this host"),
        ("host-trust", _I, _I, "the host shows project skills only in a trusted folder"),
        ("config-invalid", _W, _W, "a settings file cannot be used"),
        ("test-invalid", _E, _E, "a file of a skill's tests is wrong"),
        ("role-invalid", _E, _E, "a role, or a skill it names, cannot be used"),
    )
}


def finding(
    code: str,
    message: str,
    *,
    path: str | None = None,
    line: int | None = None,
    column: int | None = None,
    hint: str | None = None,
) -> Finding:
    """Make a finding with the severity its code has under the `guide` policy.

    Raises:
        KeyError: the code has no row in `CODES`.
    """
    return Finding(
        code=code, severity=CODES[code].guide, path=path, line=line, column=column, message=message, hint=hint
    )


def format_findings(found: Iterable[Finding]) -> str:
    """Write findings one to a line, harmless to show, as the message of one error: where, what, and what to do."""
    lines = []
    for item in found:
        place = ":".join(str(part) for part in (neutral(item.path or ""), item.line, item.column) if part)
        lines.append(f"{place}: {neutral(item.message)}{f' ({neutral(item.hint)})' if item.hint else ''}")
    return "\n".join(lines)


def apply_policy(found: Iterable[Finding], policy: str, rejects: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """Give findings the severities of a policy: `guide`, `spec`, or any other name for a host's own.

    Under a host's policy a finding is an error exactly where `rejects` holds its code, because that host then does
    not load the skill; what is an error elsewhere is a warning there.
    """
    result = []
    for item in found:
        code = CODES[item.code]
        if policy == "guide":
            severity = code.guide
        elif policy == "spec":
            severity = code.spec
        elif item.code in rejects:
            severity = Severity.ERROR
        else:
            severity = Severity.WARNING if code.guide is Severity.ERROR else code.guide
        result.append(item if severity is item.severity else item.with_changes(severity=severity))
    return tuple(result)
