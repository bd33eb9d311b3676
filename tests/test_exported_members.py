"""The public names of `prowess` and of its packages."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import prowess

PUBLIC_NAMES = {
    "discover": "catalog",
    "Catalog": "catalog",
    "Entry": "catalog",
    "State": "catalog",
    "Skill": "skill",
    "parse": "skill",
    "Finding": "findings",
    "Severity": "findings",
    "check": "checks",
    "render": "prompt",
    "Host": "hosts",
    "Session": "session",
    "Activation": "session",
    "Mention": "session",
    "Scripts": "session",
    "ScriptSpace": "session",
    "UntrustedSkill": "session",
    "Tool": "session",
    "Trust": "session",
    "SkillProvider": "catalog",
    "FilesystemSkillProvider": "catalog",
    "LiveCatalog": "catalog",
    "ProwessError": "errors",
    "ConfigError": "errors",
    "HostNotFoundError": "errors",
    "RoleError": "errors",
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
    "validate_skill": "mount",
    "validate_skill_name": "mount",
    "resolve_skill_name": "mount",
    "run_tests": "testing",
    "EphemeralHome": "isolation",
    "IsolationConfig": "isolation",
    "NetworkPolicy": "isolation",
    "SandboxConfig": "isolation",
    "MAX_SKILL_FILE_BYTES": None,
    "MAX_SKILL_TOTAL_BYTES": None,
}
"""Public name to the room that defines it."""


def run_in_new_interpreter(code: str) -> str:
    """Return what code prints in a new interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_public_names_are_these() -> None:
    """The list is a promise: a name that is added to `prowess` is added here too."""
    assert sorted(import_module("prowess").__all__) == sorted(PUBLIC_NAMES)


@pytest.mark.parametrize(("name", "module"), PUBLIC_NAMES.items())
def test_each_public_name_comes_from_its_room(name: str, module: str | None) -> None:
    """It is the same object, and `dir` lists it."""
    value = getattr(prowess, name)
    assert name in dir(prowess)
    if module is not None:
        assert value.__module__.split(".")[:2] == ["prowess", module]
        assert value is getattr(import_module(f"prowess.{module}"), name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """`hasattr` and `unittest.mock` depend on it."""
    with pytest.raises(AttributeError, match="module 'prowess' has no attribute 'discovr'"):
        _ = prowess.discovr  # type: ignore[attr-defined]
    assert not hasattr(prowess, "__path__x")


@pytest.mark.parametrize("first", ["import prowess.mount", "import prowess.cli.agents.mount", "pass"])
def test_mount_is_the_function_in_any_order_of_imports(first: str) -> None:
    """The package `prowess.mount` does not hide the function."""
    line = f"{first}; import prowess, sys; from prowess import mount; print(prowess.mount is mount, callable(mount))"
    assert run_in_new_interpreter(line) == "True True"


def test_a_star_import_gives_all_public_names() -> None:
    names = run_in_new_interpreter("from prowess import *; print(*(n for n in dir() if not n.startswith('__')))")
    assert set(names.split()) == set(PUBLIC_NAMES)


ROOMS = sorted(
    path.parent
    for path in (Path(__file__).parents[1] / "src/prowess").rglob("__init__.py")
    if "lazy_exports" in path.read_text("utf-8")
)


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.name)
def test_type_checkers_see_the_names_of_a_package(room: Path) -> None:
    """The names that are loaded on first use, which are also its `__all__`; each one can be loaded."""
    source = (room / "__init__.py").read_text(encoding="utf-8")
    package = import_module(".".join(room.relative_to(Path(__file__).parents[1] / "src").parts))
    typed = {
        name.name: f"{package.__name__}.{node.module}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.level
        for name in node.names
    }
    assert sorted(package.__all__) == sorted(typed)
    for name, module in typed.items():
        try:
            value = getattr(package, name)
        except ImportError as error:  # a framework that this environment lacks
            missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
            if not isinstance(missing, ModuleNotFoundError) or (missing.name or "").startswith("prowess"):
                raise
            continue
        assert value is getattr(sys.modules[module], name)
