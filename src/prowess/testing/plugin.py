"""Let pytest run the cases of skills, if a project switches that on: `-p prowess`, or `prowess_skills = true`.

pytest loads this plugin in every project if Prowess is installed. So until it is switched on, it only adds its option
and its setting, and says in the header how to run cases that it sees; it imports nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = []

_NAMES = frozenset(("prowess", "prowess.testing.plugin"))
_COLLECTION = "prowess.testing._pytest_collection"
_SKILLS_FOLDERS = (".agents/skills", ".claude/skills", "skills")
"""Where a project usually has its skills."""
_MAX_FOLDERS = 1000
"""Folders of skills that are looked at for the header."""
_ADVICE = "add `prowess_skills = true` to the settings of pytest, or use `-p prowess`"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--skill-sandbox` and `prowess_skills`."""
    group = parser.getgroup("prowess", "tests of skills (switched on by `-p prowess` or `prowess_skills = true`)")
    group.addoption(
        "--skill-sandbox",
        metavar="KIND",
        default=None,
        choices=("auto", "bwrap", "seatbelt", "none"),
        help="the sandbox for the tests of skills: auto, bwrap, seatbelt or none (default: auto)",
    )
    parser.addini("prowess_skills", "run the cases in tests/cases of skills", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start before pytest imports the first `conftest.py`, which may be that of a skill."""
    _start_if_switched_on(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start later if this plugin was loaded later, and check the arguments.

    Raises:
        UsageError: an argument is a file or module of a skill, or the option has no effect.
    """
    _start_if_switched_on(config)
    if config.pluginmanager.has_plugin(_COLLECTION):
        from ._pytest_collection import check_arguments

        check_arguments(config)
    elif config.getoption("skill_sandbox") is not None:
        raise pytest.UsageError(f"`--skill-sandbox` has no effect: tests of skills are switched off; {_ADVICE}")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how to run the cases of skills if there are some, and they are switched off."""
    if config.pluginmanager.has_plugin(_COLLECTION) or not _has_cases(config):
        return None
    return f"prowess: the tests of skills are switched off; {_ADVICE}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[Any]) -> None:
    """Load this plugin early in the processes of pytest-xdist, too."""
    if config.pluginmanager.has_plugin(_COLLECTION):
        for spec in specs:
            plugins = spec.env.get("PYTEST_PLUGINS", os.environ.get("PYTEST_PLUGINS", ""))
            spec.env["PYTEST_PLUGINS"] = f"{plugins},prowess" if plugins else "prowess"


def _start_if_switched_on(config: pytest.Config) -> None:
    manager = config.pluginmanager
    if not manager.has_plugin(_COLLECTION) and _is_switched_on(config):
        from . import _pytest_collection

        _pytest_collection.start(config)
        manager.register(_pytest_collection, _COLLECTION)


def _is_switched_on(config: pytest.Config) -> bool:
    named = {name.strip() for name in config.known_args_namespace.plugins or ()}
    named.update(name.strip() for name in os.environ.get("PYTEST_PLUGINS", "").split(","))
    return not _NAMES.isdisjoint(named) or bool(config.getini("prowess_skills"))


def _has_cases(config: pytest.Config) -> bool:
    """Return whether an argument or one of the usual folders is a skill with cases."""
    folders = [os.path.join(config.invocation_params.dir, argument.split("::")[0]) for argument in config.args]
    for name in _SKILLS_FOLDERS:
        try:
            with os.scandir(config.rootpath / name) as entries:
                folders += [entry.path for entry, _ in zip(entries, range(_MAX_FOLDERS), strict=False)]
        except OSError:
            continue
    return any(os.path.isdir(f"{path}/tests/cases") and os.path.isfile(f"{path}/SKILL.md") for path in folders)
