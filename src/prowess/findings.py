"""Define findings: what is wrong, where, and what to do.

A finding is data, not an exception. `CODES` lists every code with its severity under two policies: `guide` (load what
can be loaded; the default) and `spec` (agentskills.io to the letter). Under the policy of a host, a code is an error if
the host does not load such a skill.
"""

from __future__ import annotations

import os
from enum import StrEnum

from ._internal.files import real_path
from ._internal.frozen import Frozen
from ._internal.text import neutral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "ALWAYS_ERRORS",
    "CODES",
    "DOCS_URL",
    "GROUPS",
    "Code",
    "Explanation",
    "Finding",
    "Severity",
    "apply_policy",
    "explain",
    "finding",
    "format_findings",
    "relative_path",
]


class Severity(StrEnum):
    """How serious a finding is: an `error` rejects the skill, a `warning` needs a fix, an `info` needs nothing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Finding(Frozen):
    """One problem at one position."""

    code: str
    severity: Severity
    path: str | None = None
    """The file or folder with the problem, by the path on which it was found."""
    line: int | None = None
    """1-based."""
    column: int | None = None
    """1-based, in Unicode characters."""
    message: str
    hint: str | None = None
    agents: tuple[str, ...] = ()
    """The agents that do not load the skill because of it, among those that `check` was asked about."""
    cause: str = ""
    """What findings of several skills have in common; those with the same cause are reported once by `check`."""

    @property
    def group(self) -> str:
        """The group of its code, a key of `GROUPS`."""
        return CODES[self.code].group

    def as_dict(self) -> dict[str, object]:
        """Return the finding in the shape of every `--json` output."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "hint": self.hint,
        }


DOCS_URL = "https://git.example/prowess/docs"
"""The address of the project's documentation, as in `pyproject.toml`."""


class Code(Frozen, kw_only=False):
    """One kind of finding."""

    code: str
    guide: Severity
    spec: Severity
    title: str
    group: str
    """A key of `GROUPS`."""

    @property
    def url(self) -> str:
        """The address of the page that explains it."""
        return f"{DOCS_URL}/findings/{self.code}.md"


GROUPS: Mapping[str, str] = {
    "loads": "whether agents load the skill",
    "routes": "whether a model would choose it",
    "files": "the body, and the files beside it",
    "safety": "facts for the person who decides whether to use it",
    "evals": "the tests and evals of the skill",
}
"""What the findings of each group are about."""

_NOT_LOADS: Mapping[str, tuple[str, ...]] = {
    "routes": (
        *("description-placeholder", "description-when", "description-what", "description-person"),
        *("description-repeats", "description-general", "description-cut", "skill-overlap", "skill-near-copy"),
    ),
    "files": (
        *("body-empty", "body-placeholder", "body-too-long", "body-alone", "path-windows", "path-author", "text-ages"),
        *("link-missing", "link-escapes", "link-beside", "reference-missing", "reference-nested", "file-unreferenced"),
        *("script-mode", "script-first-line", "script-package"),
    ),
    "safety": (
        *("description-hidden", "special-token", "code-hidden", "text-hidden", "secret-likely", "download-runs"),
        *("code-encoded", "command-on-load", "tools-unlimited", "file-binary", "file-unsearched"),
    ),
    "evals": ("test-invalid", "eval-invalid", "eval-unknown", "eval-unsound"),
}
"""The codes of each group but `loads`, which has all others."""

_GROUP_OF = {code: group for group, codes in _NOT_LOADS.items() for code in codes}

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

# In the order of reading: the file, its encoding, fences, YAML, fields and body; then its place in the catalog.
CODES: Mapping[str, Code] = {
    code: Code(code, guide, spec, title, _GROUP_OF.get(code, "loads"))
    for code, guide, spec, title in (
        ("file-missing", _E, _E, "SKILL.md is missing"),
        ("file-not-regular", _E, _E, "SKILL.md is not a regular file"),
        ("file-is-link", _E, _W, "SKILL.md is a link, which is not followed"),
        ("file-unreadable", _E, _E, "SKILL.md cannot be opened or read"),
        ("file-too-large", _E, _E, "SKILL.md is larger than 1 MiB"),
        ("file-name-case", _W, _W, "a file name differs from SKILL.md in case only"),
        ("encoding-bom", _W, _W, "the file begins with a byte order mark"),
        ("encoding-not-utf8", _W, _E, "a byte is not UTF-8"),
        ("encoding-utf16", _E, _E, "the file is UTF-16"),
        ("encoding-nul", _W, _W, "the file contains a NUL byte"),
        ("newline-cr", _W, _W, "the front matter's lines end in a lone carriage return"),
        ("frontmatter-code", _E, _E, "the front matter is a program"),
        ("frontmatter-missing", _E, _E, "the file does not begin with a `---` line"),
        ("frontmatter-not-first", _E, _E, "there is text before the front matter"),
        ("frontmatter-unclosed", _E, _E, "no `---` line closes the front matter"),
        ("frontmatter-too-large", _E, _E, "the front matter is larger than 64 KiB"),
        ("fence-blanks", _W, _W, "the opening fence has blanks after its dashes"),
        ("fence-blanks-closing", _W, _W, "the closing fence has blanks after its dashes"),
        ("fence-dashes", _E, _E, "a fence has more than three dashes"),
        ("control-character", _W, _E, "the front matter contains a control character"),
        ("yaml-syntax", _E, _E, "the front matter is not valid YAML"),
        ("yaml-not-mapping", _E, _E, "the front matter is not a mapping"),
        ("yaml-duplicate-key", _E, _E, "a key is repeated"),
        ("yaml-anchor", _E, _E, "the front matter uses a YAML anchor"),
        ("yaml-alias", _E, _E, "the front matter uses a YAML alias"),
        ("yaml-tag", _E, _E, "the front matter uses a YAML tag"),
        ("yaml-too-deep", _E, _E, "the front matter nests more than 64 levels"),
        ("yaml-too-long", _E, _E, "the front matter has more than 20,000 YAML events"),
        ("repair-colon", _W, _E, "an unquoted value contains `: `"),
        ("repair-indicator", _W, _E, "an unquoted value begins with `@`, a back-tick or doubled brackets"),
        ("repair-sigil", _W, _E, "an unquoted value begins with `*`, `&` or `%`"),
        ("repair-tab", _W, _E, "a line is indented with a tab"),
        ("name-missing", _W, _E, "the name is missing"),
        ("name-empty", _W, _E, "the name is empty"),
        ("name-not-text", _E, _E, "the name is a list or a map"),
        ("name-type", _I, _I, "YAML does not read the name as text"),
        ("name-too-long", _W, _E, "the name is longer than 64 characters"),
        ("name-case", _W, _E, "the name has upper case letters"),
        ("name-characters", _W, _E, "the name has characters other than letters, digits and hyphens"),
        ("name-hyphens", _W, _E, "the name begins or ends with a hyphen, or has two in a row"),
        ("name-not-folder", _W, _E, "the name differs from the folder name"),
        ("name-reserved", _I, _I, "the name contains a reserved word"),
        ("description-missing", _E, _E, "the description is missing"),
        ("description-empty", _E, _E, "the description is empty"),
        ("description-not-text", _E, _E, "the description is a list or a map"),
        ("description-type", _W, _W, "YAML does not read the description as text"),
        ("description-too-long", _W, _E, "the description is longer than 1,024 characters"),
        ("description-hidden", _W, _W, "the description contains hidden characters"),
        ("description-placeholder", _W, _I, "the description is that of a template"),
        ("description-general", _W, _W, "the description fits most requests"),
        ("description-repeats", _W, _W, "the description says no more than the name"),
        ("description-when", _W, _W, "the description does not say when to use the skill"),
        ("description-what", _I, _I, "the description does not say what the skill does"),
        ("description-person", _W, _W, "the description is in the first or second person"),
        ("description-cut", _I, _I, "an agent cuts the description before it says when to use the skill"),
        ("description-markup", _I, _I, "the description contains `<` or `>`"),
        ("special-token", _W, _W, "a field contains a special token of a language model"),
        ("license-type", _W, _W, "the license is not text"),
        ("compatibility-empty", _I, _W, "the compatibility note is empty"),
        ("compatibility-type", _I, _E, "the compatibility note is not text"),
        ("compatibility-too-long", _W, _E, "the compatibility note is longer than 500 characters"),
        ("metadata-type", _W, _W, "the metadata is not a map"),
        ("metadata-nested", _I, _W, "a metadata value is a list or a map"),
        ("metadata-not-text", _I, _W, "a metadata value is a number, a truth value or empty"),
        ("allowed-tools-type", _I, _W, "the allowed tools are not one line of text"),
        ("field-type", _W, _W, "a field has the wrong type"),
        ("field-unknown", _I, _E, "a field is not in the specification"),
        ("field-ignored", _I, _I, "an agent reads a file beside SKILL.md instead of a field"),
        ("body-empty", _W, _I, "the body has no instructions"),
        ("body-too-long", _I, _I, "SKILL.md is longer than 500 lines"),
        ("body-placeholder", _W, _W, "the body has the text of a template"),
        ("body-alone", _W, _W, "a long body has no files with details"),
        ("path-windows", _W, _W, "the body names a file with backslashes"),
        ("path-author", _W, _W, "the body has a path of its author's machine"),
        ("text-ages", _I, _I, "the body names models or dates that age"),
        ("link-missing", _W, _I, "the body links to a missing file"),
        ("link-escapes", _W, _I, "the body links to a file outside the skill"),
        ("link-beside", _I, _I, "the body links to another skill by its path"),
        ("reference-missing", _W, _W, "the body names a missing file"),
        ("reference-nested", _I, _I, "only a file beside the body names another file"),
        ("file-unreferenced", _W, _W, "no text of the skill names a file"),
        ("script-mode", _W, _W, "a script that the body runs as a command is not executable"),
        ("script-first-line", _W, _W, "a script that the body runs as a command has no usable first line"),
        ("script-package", _W, _W, "a script imports a package that nothing declares"),
        ("text-hidden", _W, _W, "a file has hidden characters"),
        ("secret-likely", _W, _W, "a file has what looks like a secret"),
        ("download-runs", _I, _I, "a download runs as soon as it is there"),
        ("code-encoded", _W, _W, "encoded text runs"),
        ("command-on-load", _I, _I, "an agent runs a command when it loads the skill"),
        ("tools-unlimited", _I, _I, "a tool is granted without limits"),
        ("file-binary", _I, _I, "a file is a program or an archive"),
        ("file-unsearched", _I, _I, "a file is too large to be searched for facts"),
        ("code-hidden", _I, _I, "a hidden file may run"),
        ("folder-unreadable", _W, _W, "a folder cannot be listed"),
        ("folder-skipped", _I, _I, "a skipped folder contains a skill"),
        ("folder-too-deep", _I, _I, "a skill is deeper than the host scans"),
        ("folder-limit", _W, _W, "a root has more folders than the host scans"),
        ("folder-link", _W, _W, "a link is not followed"),
        ("root-not-folder", _W, _W, "the path of a skills folder is not a folder"),
        ("path-not-utf8", _W, _E, "a path is not UTF-8"),
        ("lock-invalid", _E, _E, "the lock is invalid"),
        ("not-installed", _W, _W, "the lock names a skill that is not there"),
        ("name-shadowed", _I, _I, "another skill with the same name wins"),
        ("name-lookalike", _W, _W, "two names differ only in case or Unicode form"),
        ("skill-copy", _I, _I, "a skill is an exact copy of another"),
        ("skill-overlap", _W, _W, "two skills claim the same requests"),
        ("skill-near-copy", _W, _W, "a skill is a near copy of another"),
        ("copy-outdated", _W, _I, "a mounted copy is older than its source"),
        ("skill-limit", _W, _W, "there are more skills than the host loads"),
        ("host-disabled", _I, _I, "skills are switched off for this host"),
        ("host-trust", _I, _I, "the host loads project skills only in trusted folders"),
        ("config-invalid", _W, _W, "a settings file is invalid"),
        ("argument-ignored", _I, _I, "an argument changes none of the skills of an agent"),
        ("server-failed", _W, _W, "a server of skills fails, or breaks the protocol"),
        ("server-skill", _W, _W, "a server lists a skill that cannot be used"),
        ("mcp-left-out", _W, _W, "a skill cannot be served over MCP"),
        ("mcp-large", _W, _W, "a skill is larger than all clients of MCP accept"),
        ("test-invalid", _E, _E, "a test file of a skill is invalid"),
        ("eval-invalid", _E, _E, "a file of evals is invalid"),
        ("eval-unknown", _W, _W, "a key or a name in evals is unknown"),
        ("eval-unsound", _W, _W, "an eval cannot show what it should"),
        ("role-invalid", _E, _E, "a role, or a skill that it names, is invalid"),
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
    """Return a finding with the severity of its code under the `guide` policy.

    Raises:
        KeyError: the code is not in `CODES`.
    """
    return Finding(
        code=code, severity=CODES[code].guide, path=path, line=line, column=column, message=message, hint=hint
    )


def format_findings(findings: Iterable[Finding]) -> str:
    """Return findings as the message of one error, one line each, safe to show: where, what, and what to do."""
    lines = []
    for item in findings:
        position = ":".join(str(part) for part in (neutral(item.path or ""), item.line, item.column) if part)
        lines.append(f"{position}: {neutral(item.message)}{f' ({neutral(item.hint)})' if item.hint else ''}")
    return "\n".join(lines)


ALWAYS_ERRORS = frozenset(("frontmatter-code",))
"""Codes that are errors under every policy: such a file harms the user even if no client loads it as a skill."""


def apply_policy(
    findings: Iterable[Finding], policy: str, rejects: frozenset[str] = frozenset()
) -> tuple[Finding, ...]:
    """Return findings with the severities of a policy.

    Args:
        findings: with any severities.
        policy: `guide`, `spec`, or any other word for the policy of a host.
        rejects: the codes with which the host does not load a skill. Under its policy these are errors, and other
            errors become warnings.
    """
    result = []
    for item in findings:
        code = CODES[item.code]
        if policy == "guide":
            severity = code.guide
        elif policy == "spec":
            severity = code.spec
        elif item.code in rejects or item.code in ALWAYS_ERRORS:
            severity = Severity.ERROR
        else:
            severity = Severity.WARNING if code.guide is Severity.ERROR else code.guide
        result.append(item if severity is item.severity else item.with_changes(severity=severity))
    return tuple(result)


# ── paths ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def relative_path(path: str, base: str) -> str | None:
    """Return a path relative to a folder without links, `.` for the folder itself, or `None` if it is outside.

    A path may lead into the folder through a link above it, as `/tmp` is one on macOS.
    """
    inside = _below(path, base)
    if inside is not None:
        return inside
    return _below(os.path.join(real_path(os.path.dirname(path)), os.path.basename(path)), base)


def _below(path: str, base: str) -> str | None:
    if path == base:
        return "."
    before = base.rstrip(os.sep) + os.sep
    return path[len(before) :] if path.startswith(before) else None


# ── explanations ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Explanation(Frozen):
    """What a code means and how to fix it, in short, from its page in the docs; Markdown."""

    meaning: str
    fix: str
    page: str
    """All of the page below its title."""


def explain(code: str) -> Explanation:
    """Return the explanation of a code.

    Raises:
        KeyError: the code is not in `CODES`.
    """
    if not _explanations:
        import json
        from pkgutil import get_data

        _explanations.update(json.loads(get_data(__package__, "finding_texts.json") or b"{}"))
    meaning, fix, page = _explanations[code]
    return Explanation(meaning=meaning, fix=fix, page=page)


_explanations: dict[str, tuple[str, str, str]] = {}
"""Read from `finding_texts.json`, which `make docs` writes from the pages."""
