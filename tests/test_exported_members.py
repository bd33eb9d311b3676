"""The face of the package: what `import prowess` gives, and what it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import prowess

FACE = {
    "discover": "catalog",
    "Catalog": "catalog",
    "Entry": "catalog",
    "State": "catalog",
    "Skill": "skill",
    "parse": "skill",
    "Finding": "findings",
    "Severity": "findings",
    "check": "catalog",
    "render": "catalog",
    "Host": "hosts",
    "Session": "session",
    "Activation": "session",
    "Mention": "session",
    "Tool": "session",
    "Trust": "session",
    "SkillProvider": "catalog",
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
"""Public name to the room it is defined in."""


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
        assert value.__module__.split(".")[:2] == ["prowess", module]
        assert value is getattr(import_module(f"prowess.{module}"), name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    """`hasattr`, and with it `unittest.mock` and others, can ask."""
    with pytest.raises(AttributeError, match="module 'prowess' has no attribute 'discovr'"):
        _ = prowess.discovr  # type: ignore[attr-defined]
    assert not hasattr(prowess, "__path__x")


@pytest.mark.parametrize("first", ["import prowess.mount", "import prowess.cli.mount", "pass"])
def test_mount_is_the_function_whatever_was_imported_before(first: str) -> None:
    """The package `prowess.mount` does not hide the function from its callers."""
    line = f"{first}; import prowess, sys; from prowess import mount; print(prowess.mount is mount, callable(mount))"
    assert fresh(line) == "True True"


def test_a_star_import_brings_the_face() -> None:
    """All of it can be loaded at once."""
    names = fresh("from prowess import *; print(*(n for n in dir() if not n.startswith('__')))")
    assert set(names.split()) == set(FACE)


ROOMS = sorted(
    path.parent
    for path in (Path(__file__).parents[1] / "src/prowess").rglob("__init__.py")
    if "lazy_exports" in path.read_text("utf-8")
)


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.name)
def test_a_front_door_opens_to_what_it_names(room: Path) -> None:
    """`__all__`, what type checkers read and what is loaded on first use are one list, and every name is there."""
    source = (room / "__init__.py").read_text(encoding="utf-8")
    package = import_module(".".join(room.relative_to(Path(__file__).parents[1] / "src").parts))
    types: dict[str, str] = {}
    loaded: dict[str, str] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            types.update({name.name: str(node.module) for name in node.names})
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy_exports":
            table: dict[str, tuple[str, ...]] = ast.literal_eval(node.args[1])
            loaded.update({name: module for module, names in table.items() for name in names})
    assert loaded.items() <= types.items(), "types may have more: protocols, which nobody loads"
    assert sorted(package.__all__) == sorted(loaded)
    assert len(set(package.__all__)) == len(package.__all__)
    for name, module in loaded.items():
        try:
            value = getattr(package, name)
        except ModuleNotFoundError as error:  # a framework that this environment lacks
            if (error.name or "").startswith("prowess"):
                raise
            continue
        assert value is getattr(sys.modules[f"{package.__name__}.{module}"], name)
