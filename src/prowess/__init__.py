"""Agent Skills: every skill on a machine, what each agent would make of it, and why.

The names below are loaded on first use: `import prowess` itself reads no other file.
"""

import sys

TYPE_CHECKING = False  # what type checkers believe to be true; `typing` itself would cost more than all of this file
if TYPE_CHECKING:
    from ._internal.files import MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES
    from .catalog import Catalog, FilesystemSkillProvider, discover
    from .catalog._check import check
    from .catalog._entry import Entry, State
    from .catalog._prompt import render
    from .catalog._providers import SkillProvider
    from .errors import (
        ActivationError,
        AmbiguousSkillError,
        ConfigError,
        HostNotFoundError,
        ProwessError,
        SandboxError,
        SkillError,
        SkillFileError,
        SkillMountError,
        SkillNotFoundError,
        SkillSyntaxError,
        SkillValidationError,
    )
    from .findings import Finding, Severity
    from .hosts import Host
    from .isolation import EphemeralHome, IsolationConfig, NetworkPolicy, SandboxConfig
    from .mount import (
        MountReport,
        SkillConfig,
        SkillMount,
        mount,
        resolve_skill_name,
        unmount,
    )
    from .mount._validate import validate_skill, validate_skill_name
    from .session import Session, Tool
    from .session._activation import Activation
    from .session._mentions import Mention
    from .session._trust import Trust
    from .skill import Skill, parse
    from .testing import run_tests

__version__ = "0.1.0"

__all__ = [
    "discover",
    "Catalog",
    "Entry",
    "State",
    "Skill",
    "parse",
    "Finding",
    "Severity",
    "check",
    "render",
    "Host",
    "Session",
    "Activation",
    "Mention",
    "Tool",
    "Trust",
    "SkillProvider",
    "FilesystemSkillProvider",
    "ProwessError",
    "ConfigError",
    "HostNotFoundError",
    "SandboxError",
    "SkillError",
    "ActivationError",
    "SkillFileError",
    "SkillMountError",
    "SkillNotFoundError",
    "AmbiguousSkillError",
    "SkillValidationError",
    "SkillSyntaxError",
    "mount",
    "unmount",
    "SkillMount",
    "SkillConfig",
    "MountReport",
    "validate_skill",
    "validate_skill_name",
    "resolve_skill_name",
    "run_tests",
    "EphemeralHome",
    "IsolationConfig",
    "NetworkPolicy",
    "SandboxConfig",
    "MAX_SKILL_FILE_BYTES",
    "MAX_SKILL_TOTAL_BYTES",
]

_HOMES = {
    "session._activation": ("Activation",),
    "catalog": ("Catalog", "FilesystemSkillProvider", "discover"),
    "catalog._entry": ("Entry", "State"),
    "catalog._check": ("check",),
    "errors": (
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
    ),
    "_internal.files": ("MAX_SKILL_FILE_BYTES", "MAX_SKILL_TOTAL_BYTES"),
    "findings": ("Finding", "Severity"),
    "hosts": ("Host",),
    "isolation": ("EphemeralHome", "IsolationConfig", "NetworkPolicy", "SandboxConfig"),
    "session._mentions": ("Mention",),
    "mount": (
        "MountReport",
        "SkillConfig",
        "SkillMount",
        "mount",
        "resolve_skill_name",
        "unmount",
    ),
    "mount._validate": ("validate_skill", "validate_skill_name"),
    "catalog._prompt": ("render",),
    "catalog._providers": ("SkillProvider",),
    "session": ("Session", "Tool"),
    "skill": ("Skill", "parse"),
    "testing": ("run_tests",),
    "session._trust": ("Trust",),
}
"""Module to the public names that live in it."""
_HOME = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # or else every misspelt name would have a type

    def __getattr__(name: str) -> object:
        """Load a public name on first use."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value: object = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Face(type(sys)):  # type: ignore[misc]
    """This module: `check` is the function, also after its module of the same name was imported somewhere."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, type(sys))):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
