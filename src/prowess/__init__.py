"""Find Agent Skills, check them, and see which agent loads which skill, and why.

Front door: `discover`, `check`, `Session`, `mount` and `run_tests`. All names are loaded on first use: `import prowess`
itself reads no other file.
"""

import sys

TYPE_CHECKING = False  # true for type checkers; importing `typing` would take longer than this whole file
if TYPE_CHECKING:
    from ._internal.files import MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES
    from .catalog import (
        Catalog,
        Entry,
        FilesystemSkillProvider,
        SkillProvider,
        State,
        check,
        discover,
        render,
    )
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
        validate_skill,
        validate_skill_name,
    )
    from .session import Activation, Mention, Session, Tool, Trust
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

_NAMES = {
    "_internal.files": ("MAX_SKILL_FILE_BYTES", "MAX_SKILL_TOTAL_BYTES"),
    "catalog": (
        *("Catalog", "Entry", "FilesystemSkillProvider", "SkillProvider", "State"),
        *("check", "discover", "render"),
    ),
    "errors": (
        *("ActivationError", "AmbiguousSkillError", "ConfigError", "HostNotFoundError", "ProwessError"),
        *("SandboxError", "SkillError", "SkillFileError", "SkillMountError", "SkillNotFoundError"),
        *("SkillSyntaxError", "SkillValidationError"),
    ),
    "findings": ("Finding", "Severity"),
    "hosts": ("Host",),
    "isolation": ("EphemeralHome", "IsolationConfig", "NetworkPolicy", "SandboxConfig"),
    "mount": (
        *("MountReport", "SkillConfig", "SkillMount"),
        *("mount", "resolve_skill_name", "unmount", "validate_skill", "validate_skill_name"),
    ),
    "session": ("Activation", "Mention", "Session", "Tool", "Trust"),
    "skill": ("Skill", "parse"),
    "testing": ("run_tests",),
}
"""The public names of each package. The loader is written out here, so that `import prowess` reads no other file."""
_HOME = {name: module for module, names in _NAMES.items() for name in names}


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


class _Package(type(sys)):  # type: ignore[misc]
    """This package: `prowess.mount` stays the function after something imports the package of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, type(sys))):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
