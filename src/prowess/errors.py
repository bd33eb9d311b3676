"""Define the exceptions of Prowess.

ProwessError
├── ConfigError (ValueError)              a setting, variable or file of Prowess or of a host
│   └── RoleError                         a role, or a skill that it names, has errors
├── HostNotFoundError (LookupError)       no host of that name
├── SandboxError (RuntimeError)           a command cannot be run in a sandbox
├── StoreError (RuntimeError)             a database of conversations cannot be used
│   ├── ConversationBusyError (TimeoutError)  another turn of the conversation is running
│   ├── RequestReusedError (ValueError)   an idempotency key was used for another request
│   ├── StoreUnavailableError             its database failed
│   └── TurnLostError                     a turn cannot be saved: another one began
└── SkillError
    ├── SkillNotFoundError (LookupError)  no skill has that name
    │   └── AmbiguousSkillError           more than one skill has it
    ├── ActivationError (RuntimeError)    a skill cannot be activated now
    ├── SkillFileError (OSError)          a file of a skill cannot be read
    ├── SkillMountError (OSError)         a skill cannot be mounted
    ├── InstallError                      a skill cannot be fetched, installed or published
    └── SkillValidationError (ValueError) a SKILL.md breaks the rules
        └── SkillSyntaxError              it cannot be parsed: draws a caret
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
    "ConversationBusyError",
    "HostNotFoundError",
    "InstallError",
    "ProwessError",
    "RequestReusedError",
    "RoleError",
    "SandboxError",
    "SkillError",
    "SkillFileError",
    "SkillMountError",
    "SkillNotFoundError",
    "SkillSyntaxError",
    "SkillValidationError",
    "StoreError",
    "StoreUnavailableError",
    "TurnLostError",
    "combine_errors",
]


class ProwessError(Exception):
    """The base class of all errors that Prowess raises on purpose.

    Attributes:
        hint: what the user can do, or `None`.
        problems: if several things failed together, all their errors; otherwise empty.
    """

    problems: tuple[ProwessError, ...] = ()

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(ProwessError, ValueError):
    """A setting, an environment variable or a configuration file is invalid."""


class RoleError(ConfigError):
    """A role, or a skill that it names, has errors; the message lists all of them."""


class HostNotFoundError(ProwessError, LookupError):
    """No host has that name."""


class SandboxError(ProwessError, RuntimeError):
    """A command was not run: no sandbox is available, it cannot be started, or the request is invalid."""


class StoreError(ProwessError, RuntimeError):
    """A database of conversations cannot be used, or what it contains is invalid."""


class ConversationBusyError(StoreError, TimeoutError):
    """Another turn of the conversation, or the same request, is running, perhaps in another process."""


class RequestReusedError(StoreError, ValueError):
    """An idempotency key was used for another request before."""


class StoreUnavailableError(StoreError):
    """The database of conversations failed; the message names it."""


class TurnLostError(StoreError):
    """A turn cannot be saved: its process did not renew its lease in time, and another turn began."""


class SkillError(ProwessError):
    """Something is wrong with one skill."""


class SkillNotFoundError(SkillError, LookupError):
    """No skill has the given name or path."""


class AmbiguousSkillError(SkillNotFoundError):
    """More than one skill has the given name; `candidates` lists them."""

    def __init__(self, message: str, *, candidates: Sequence[str], hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.candidates = tuple(candidates)


class ActivationError(SkillError, RuntimeError):
    """A skill cannot be activated now; the conversation continues without it, and may try again."""


class SkillFileError(SkillError, OSError):
    """A file of a skill cannot be read: it is missing, not a regular file, or outside the skill's folder."""


class SkillMountError(SkillError, OSError):
    """A skill cannot be mounted: its name or its files are not allowed, or the target already has other files."""


class InstallError(SkillError):
    """A skill cannot be fetched, installed or published: its source, a file or the lock breaks a rule."""


class SkillValidationError(SkillError, ValueError):
    """A skill breaks the rules; `findings` reports where, and what to do."""

    def __init__(self, message: str, *, findings: Sequence[Finding] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.findings = tuple(findings)


class SkillSyntaxError(SkillValidationError):
    """A SKILL.md cannot be parsed; `str()` shows the line with a caret under the problem."""

    def __init__(self, finding: Finding, *, source: str = "", findings: Sequence[Finding] = ()) -> None:
        super().__init__(finding.message, findings=findings or (finding,), hint=finding.hint)
        self.finding = finding
        self.source = source
        """The line the finding points at, without its newline."""

    def __str__(self) -> str:
        from ._internal.text import neutral

        finding = self.finding
        position = ":".join(str(part) for part in (finding.path, finding.line, finding.column) if part is not None)
        lines = [neutral(f"{position}: {finding.message}" if position else finding.message)]
        if self.source and finding.column is not None:
            index = min(finding.column - 1, len(self.source))
            # Part of a long line; hidden characters are escaped, and tabs are kept, so that the caret lines up.
            start = 0 if index <= _CONTEXT_CHARS else index - _CONTEXT_CHARS // 2
            shown = self.source[start : start + 2 * _CONTEXT_CHARS]
            left = "…" if start else ""
            right = "…" if start + 2 * _CONTEXT_CHARS < len(self.source) else ""
            before = left + _escape_except_tabs(shown[: index - start])
            lines += [f"    {left}{_escape_except_tabs(shown)}{right}", f"    {''.join(map(_padding_for, before))}^"]
        return "\n".join(lines)


def combine_errors(problems: Sequence[ProwessError], outcome: str) -> ProwessError:
    """Return one error for several: of the class of the first, with all their messages.

    Args:
        problems: at least one; the parts of a combined error count separately.
        outcome: what was not done, such as `nothing was mounted`.
    """
    errors = tuple(error for problem in problems for error in (problem.problems or (problem,)))
    combined = errors[0]
    if len(errors) > 1:
        lines = [f"{error}{f' ({error.hint})' if error.hint else ''}" for error in errors]
        message = "\n".join((f"{len(errors)} problems; {outcome}:", *lines)).replace("\n", "\n  ")
        hint = "fix all of them, then try again"
        if isinstance(combined, SkillValidationError):
            findings = [item for error in errors for item in getattr(error, "findings", ())]
            combined = SkillValidationError(message, findings=findings, hint=hint)
        elif isinstance(combined, AmbiguousSkillError):
            combined = AmbiguousSkillError(message, candidates=combined.candidates, hint=hint)
        else:
            combined = type(combined)(message, hint=hint)
    combined.problems = errors
    return combined


_CONTEXT_CHARS = 60
"""Characters of a line to show before and after an error."""


def _escape_except_tabs(text: str) -> str:
    from ._internal.text import neutral

    return "\t".join(neutral(part) for part in text.split("\t"))


def _padding_for(character: str) -> str:
    """Return blanks as wide as a character on a terminal; a tab stays a tab."""
    from ._internal.text import character_width

    return character if character == "\t" else " " * character_width(character)
