"""What went wrong -> an exception a caller can tell apart.

ProwessError
├── ConfigError (ValueError)              a setting, variable or file of Prowess or of a host
├── HostNotFoundError (LookupError)       no host of that name
├── SandboxError (RuntimeError)           a command cannot be contained, or not be started
└── SkillError
    ├── SkillNotFoundError (LookupError)  no skill answers to that reference
    │   └── AmbiguousSkillError           more than one does
    ├── ActivationError (RuntimeError)    a skill that cannot be given to a model now
    ├── SkillFileError (OSError)          a file of a skill that cannot be read
    ├── SkillMountError (OSError)         a skill that cannot be put into a home
    └── SkillValidationError (ValueError) a SKILL.md that cannot be read or breaks the rules
        └── SkillSyntaxError              a place in it that cannot be read: draws a caret
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .findings import Finding

__all__ = [
    "ActivationError",
    "AmbiguousSkillError",
    "ConfigError",
    "HostNotFoundError",
    "ProwessError",
    "SandboxError",
    "SkillError",
    "SkillFileError",
    "SkillMountError",
    "SkillNotFoundError",
    "SkillSyntaxError",
    "SkillValidationError",
    "combine_errors",
]


class ProwessError(Exception):
    """The root of everything Prowess raises on purpose.

    Attributes:
        hint: what the user can do about it, or None.
        problems: all that is wrong where several things were looked at together, this error's own first; else empty.
    """

    problems: tuple[ProwessError, ...] = ()

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(ProwessError, ValueError):
    """A setting, an environment variable or a configuration file is wrong."""


class HostNotFoundError(ProwessError, LookupError):
    """No host has that name."""


class SandboxError(ProwessError, RuntimeError):
    """A command was not run: nothing contains it here, it cannot be started, or what was asked makes no sense."""


class SkillError(ProwessError):
    """Something is wrong with one skill."""


class SkillNotFoundError(SkillError, LookupError):
    """No skill answers to a reference."""


class AmbiguousSkillError(SkillNotFoundError):
    """More than one skill answers to a reference; `candidates` says which."""

    def __init__(self, message: str, *, candidates: Sequence[str], hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.candidates = tuple(candidates)


class ActivationError(SkillError, RuntimeError):
    """A skill cannot be given to a model now; the conversation goes on without it, and it may be tried again."""


class SkillFileError(SkillError, OSError):
    """A file of a skill cannot be read: there is none, it is none that may be read, or it lies elsewhere."""


class SkillMountError(SkillError, OSError):
    """A skill cannot be put into a home: its name, what its folder holds, or the home is in the way."""


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
        from ._internal.text import neutral

        finding = self.finding
        where = ":".join(str(part) for part in (finding.path, finding.line, finding.column) if part is not None)
        lines = [neutral(f"{where}: {finding.message}" if where else finding.message)]
        if self.source and finding.column is not None:
            at = min(finding.column - 1, len(self.source))
            # A window of a long line; what does not show is escaped, and tabs stay, so that the caret lines up.
            start = 0 if at <= _CONTEXT_CHARS else at - _CONTEXT_CHARS // 2
            shown = self.source[start : start + 2 * _CONTEXT_CHARS]
            left = "…" if start else ""
            right = "…" if start + 2 * _CONTEXT_CHARS < len(self.source) else ""
            before = left + _escape_except_tabs(shown[: at - start])
            lines += [f"    {left}{_escape_except_tabs(shown)}{right}", f"    {''.join(map(_padding_for, before))}^"]
        return "\n".join(lines)


def combine_errors(problems: Sequence[ProwessError], outcome: str) -> ProwessError:
    """Make one error of several: of the kind of the first, telling all of them.

    Args:
        problems: at least one; where one was joined itself, its own count.
        outcome: what was not done, as in `nothing was mounted`.
    """
    all_of_them = tuple(one for problem in problems for one in (problem.problems or (problem,)))
    first = all_of_them[0]
    if len(all_of_them) > 1:
        lines = [f"{error}{f' ({error.hint})' if error.hint else ''}" for error in all_of_them]
        told = [line.replace("\n", "\n  ") for line in (f"{len(all_of_them)} things are wrong, and {outcome}:", *lines)]
        words = "\n  ".join(told)
        hint = "mend all of them, then try again"
        if isinstance(first, SkillValidationError):
            findings = [item for error in all_of_them for item in getattr(error, "findings", ())]
            first = SkillValidationError(words, findings=findings, hint=hint)
        elif isinstance(first, AmbiguousSkillError):
            first = AmbiguousSkillError(words, candidates=first.candidates, hint=hint)
        else:
            first = type(first)(words, hint=hint)
    first.problems = all_of_them
    return first


_CONTEXT_CHARS = 60
"""Characters of a line before and after the place of an error."""


def _escape_except_tabs(text: str) -> str:
    from ._internal.text import neutral

    return "\t".join(neutral(part) for part in text.split("\t"))


def _padding_for(character: str) -> str:
    """Return blanks as wide as a character is on a terminal."""
    if character == "\t":
        return character
    import unicodedata

    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return ""
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "
