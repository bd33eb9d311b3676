"""Agent Skills: every skill on a machine, what each agent would make of it, and why.

The names below are loaded on first use: `import prowess` itself reads no other file.
"""

import sys

TYPE_CHECKING = False  # what type checkers believe to be true; `typing` itself would cost more than all of this file
if TYPE_CHECKING:
    from .activation import Activation
    from .catalog import Catalog, FilesystemSkillProvider, discover
    from .check import check
    from .entry import Entry, State
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
    from .files import MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES
    from .findings import Finding, Severity
    from .host import Host
    from .isolation import EphemeralHome, IsolationConfig, NetworkPolicy, SandboxConfig
    from .mentions import Mention
    from .mount import (
        MountReport,
        SkillConfig,
        SkillMount,
        mount,
        resolve_skill_name,
        unmount,
    )
    from .mountable import validate_skill, validate_skill_name
    from .prompt import render
    from .provider import SkillProvider
    from .session import Session, Tool
    from .skill import Skill, parse
    from .testing import run_tests
    from .trust import Trust

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
    "activation": ("Activation",),
    "catalog": ("Catalog", "FilesystemSkillProvider", "discover"),
    "entry": ("Entry", "State"),
    "check": ("check",),
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
    "files": ("MAX_SKILL_FILE_BYTES", "MAX_SKILL_TOTAL_BYTES"),
    "findings": ("Finding", "Severity"),
    "host": ("Host",),
    "isolation": ("EphemeralHome", "IsolationConfig", "NetworkPolicy", "SandboxConfig"),
    "mentions": ("Mention",),
    "mount": (
        "MountReport",
        "SkillConfig",
        "SkillMount",
        "mount",
        "resolve_skill_name",
        "unmount",
    ),
    "mountable": ("validate_skill", "validate_skill_name"),
    "prompt": ("render",),
    "provider": ("SkillProvider",),
    "session": ("Session", "Tool"),
    "skill": ("Skill", "parse"),
    "testing": ("run_tests",),
    "trust": ("Trust",),
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
