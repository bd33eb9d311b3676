"""What went wrong -> an exception a caller can tell apart.

ProwessError
├── ConfigError (ValueError)              a setting, variable or file of Prowess or of a host
├── HostNotFoundError (LookupError)       no host of that name
└── SkillError
    ├── SkillNotFoundError (LookupError)  no skill answers to that reference
    │   └── AmbiguousSkillError           more than one does
    └── SkillValidationError (ValueError) a SKILL.md that cannot be read or breaks the rules
        └── SkillSyntaxError              a place in it that cannot be read: draws a caret
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .findings import Finding

__all__ = [
    "AmbiguousSkillError",
    "ConfigError",
    "HostNotFoundError",
    "ProwessError",
    "SkillError",
    "SkillNotFoundError",
    "SkillSyntaxError",
    "SkillValidationError",
]


class ProwessError(Exception):
    """The root of everything Prowess raises on purpose.

    Attributes:
        hint: what the user can do about it, or None.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(ProwessError, ValueError):
    """A setting, an environment variable or a configuration file is wrong."""


class HostNotFoundError(ProwessError, LookupError):
    """No host has that name."""


class SkillError(ProwessError):
    """Something is wrong with one skill."""


class SkillNotFoundError(SkillError, LookupError):
    """No skill answers to a reference."""


class AmbiguousSkillError(SkillNotFoundError):
    """More than one skill answers to a reference; `candidates` says which."""

    def __init__(self, message: str, *, candidates: Sequence[str], hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.candidates = tuple(candidates)


class SkillValidationError(SkillError, ValueError):
    """A skill breaks the rules; `findings` says where and what to do."""

    def __init__(self, message: str, *, findings: Sequence[Finding] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.findings = tuple(findings)


class SkillSyntaxError(SkillValidationError):
    """A place in a SKILL.md that cannot be read; `str()` shows the line with a caret under the place."""

    def __init__(self, finding: Finding, *, source: str = "", findings: Sequence[Finding] = ()) -> None:
        super().__init__(finding.message, findings=findings or (finding,), hint=finding.hint)
        self.finding = finding
        self.source = source
        """The line the finding points at, without its newline."""

    def __str__(self) -> str:
        finding = self.finding
        where = ":".join(str(part) for part in (finding.path, finding.line, finding.column) if part is not None)
        lines = [f"{where}: {finding.message}" if where else finding.message]
        if self.source and finding.column is not None:
            # The caret lines up under expanded tabs too: what stands before it is repeated as blanks.
            before = "".join("\t" if c == "\t" else " " for c in self.source[: finding.column - 1])
            lines += [f"    {self.source}", f"    {before}^"]
        return "\n".join(lines)
