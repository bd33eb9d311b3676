"""Find Agent Skills, check them, and see which agent loads which skill, and why.

Front door: `discover`, `check`, `Session`, `mount` and `run_tests`. All names are loaded on first use: `import prowess`
itself reads no other file.
"""

import sys

TYPE_CHECKING = False  # true for type checkers; importing `typing` would take longer than this whole file
if TYPE_CHECKING:
    from ._internal.files import (
        MAX_SKILL_FILE_BYTES as MAX_SKILL_FILE_BYTES,
        MAX_SKILL_TOTAL_BYTES as MAX_SKILL_TOTAL_BYTES,
    )
    from .catalog import (
        Catalog as Catalog,
        Entry as Entry,
        FilesystemSkillProvider as FilesystemSkillProvider,
        LiveCatalog as LiveCatalog,
        SkillProvider as SkillProvider,
        State as State,
        discover as discover,
    )
    from .checks import check as check
    from .errors import (
        ActivationError as ActivationError,
        AmbiguousSkillError as AmbiguousSkillError,
        ConfigError as ConfigError,
        HostNotFoundError as HostNotFoundError,
        ProwessError as ProwessError,
        RoleError as RoleError,
        SandboxError as SandboxError,
        SkillError as SkillError,
        SkillFileError as SkillFileError,
        SkillMountError as SkillMountError,
        SkillNotFoundError as SkillNotFoundError,
        SkillSyntaxError as SkillSyntaxError,
        SkillValidationError as SkillValidationError,
    )
    from .findings import Finding as Finding, Severity as Severity
    from .hosts import Host as Host
    from .isolation import (
        EphemeralHome as EphemeralHome,
        IsolationConfig as IsolationConfig,
        NetworkPolicy as NetworkPolicy,
        SandboxConfig as SandboxConfig,
    )
    from .mount import (
        MountReport as MountReport,
        SkillConfig as SkillConfig,
        SkillMount as SkillMount,
        mount as mount,
        resolve_skill_name as resolve_skill_name,
        unmount as unmount,
        validate_skill as validate_skill,
        validate_skill_name as validate_skill_name,
    )
    from .prompt import render as render
    from .session import (
        Activation as Activation,
        Mention as Mention,
        Scripts as Scripts,
        ScriptSpace as ScriptSpace,
        Session as Session,
        Tool as Tool,
        Trust as Trust,
        UntrustedSkill as UntrustedSkill,
    )
    from .skill import Skill as Skill, parse as parse
    from .testing import run_tests as run_tests

__version__ = "0.1.0"

pytest_plugins = ("prowess.testing.plugin",)
"""What `pytest -p prowess` loads if the package has no metadata, as in a source tree."""

_CODE = sys._getframe().f_code  # noqa: SLF001 - see `lazy_exports`, which is written out here: this reads no other file
_HOME = {
    name: _CODE.co_names[_CODE.co_names.index(names[0]) - 1]
    for names in _CODE.co_consts
    if isinstance(names, tuple) and names[0] in _CODE.co_names
    for name in names
}
"""Public name to its package: what is imported for type checkers above."""


if not TYPE_CHECKING:  # otherwise every misspelt name would have a type
    __all__ = list(_HOME)

    def __getattr__(name: str) -> object:
        """Load a public name on first use."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = f"{__name__}.{_HOME[name]}"
        __import__(module)  # `importlib` loads `warnings`
        value: object = getattr(sys.modules[module], name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


class _Package(type(sys)):  # type: ignore[misc]
    """This package: `prowess.mount` stays the function after something imports the package of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, type(sys))):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
