"""The face of the package: what `import prowess` gives, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import prowess

FACE = {
    "discover": "catalog",
    "Catalog": "catalog",
    "Entry": "entry",
    "State": "entry",
    "Skill": "skill",
    "parse": "skill",
    "Finding": "findings",
    "Severity": "findings",
    "check": "check",
    "render": "prompt",
    "Host": "host",
    "Session": "session",
    "Activation": "activation",
    "Mention": "mentions",
    "Tool": "session",
    "Trust": "trust",
    "SkillProvider": "provider",
    "FilesystemSkillProvider": "catalog",
    "ProwessError": "errors",
    "ConfigError": "errors",
    "HostNotFoundError": "errors",
    "SandboxError": "errors",
    "SkillError": "errors",
    "ActivationError": "errors",
    "SkillFileError": "errors",
    "SkillMountError": "errors",
    "SkillNotFoundError": "errors",
    "AmbiguousSkillError": "errors",
    "SkillValidationError": "errors",
    "SkillSyntaxError": "errors",
    "mount": "mount",
    "unmount": "mount",
    "SkillMount": "mount",
    "SkillConfig": "mount",
    "MountReport": "mount",
    "validate_skill": "mountable",
    "validate_skill_name": "mountable",
    "resolve_skill_name": "mount",
    "run_tests": "testing.runner",
    "EphemeralHome": "isolation",
    "IsolationConfig": "isolation",
    "NetworkPolicy": "client_settings",
    "SandboxConfig": "client_settings",
    "MAX_SKILL_FILE_BYTES": None,
    "MAX_SKILL_TOTAL_BYTES": None,
}
"""Public name to the module it is defined in."""


def fresh(code: str) -> str:
    """Run a line in a new interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_face_is_this_list_and_nothing_else() -> None:
    """A name is added here when it is added there: the list is a promise."""
    assert prowess.__all__ == list(FACE)


@pytest.mark.parametrize(("name", "module"), FACE.items())
def test_each_name_is_the_one_of_its_module(name: str, module: str | None) -> None:
    """A public name is a module's own object, and `dir` tells of it."""
    value = getattr(prowess, name)
    assert name in dir(prowess)
    if module is not None:
        assert value.__module__ == f"prowess.{module}"
        assert value is getattr(sys.modules[f"prowess.{module}"], name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    """`hasattr`, and with it `unittest.mock` and others, can ask."""
    with pytest.raises(AttributeError, match="module 'prowess' has no attribute 'discovr'"):
        _ = prowess.discovr  # type: ignore[attr-defined]
    assert not hasattr(prowess, "__path__x")


@pytest.mark.parametrize("first", ["import prowess.catalog._check", "import prowess.cli.check", "pass"])
def test_check_is_the_function_whatever_was_imported_before(first: str) -> None:
    """The module `prowess.check` does not hide `prowess.check` from those who call it."""
    line = f"{first}; import prowess, sys; from prowess import check; print(prowess.check is check, callable(check))"
    assert fresh(line) == "True True"


def test_a_star_import_brings_the_face() -> None:
    """All of it can be loaded at once."""
    names = fresh("from prowess import *; print(*(n for n in dir() if not n.startswith('__')))")
    assert set(names.split()) == set(FACE)
