"""Let pytest run the cases of skills, if a project switches that on: `-p prowess`, or `prowess_skills = true`.

pytest loads this plugin in every project if Prowess is installed. So until it is switched on, it only adds its option
and its setting, and imports nothing.
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--skill-sandbox` and `prowess_skills`."""
    group = parser.getgroup("prowess", "tests of skills (switched on by `-p prowess` or `prowess_skills = true`)")
    group.addoption(
        "--skill-sandbox",
        metavar="KIND",
        default="auto",
        choices=("auto", "bwrap", "seatbelt", "none"),
        help="the sandbox for the tests of skills: auto, bwrap, seatbelt or none (default: %(default)s)",
    )
    parser.addini("prowess_skills", "run the cases in tests/cases of skills", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start before pytest imports the first `conftest.py`, which may be that of a skill."""
    _start_if_switched_on(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start later if this plugin was loaded later, and check the arguments."""
    _start_if_switched_on(config)
    if config.pluginmanager.has_plugin(_COLLECTION):
        from ._pytest_collection import check_arguments

        check_arguments(config)


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
