"""Functions of single clients take the place of the usual ones, with the same parameters."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import prowess.clients
from prowess.clients import CLIENT_MODULES, client, of_client
from prowess.hosts import host_names

PACKAGE = Path(prowess.clients.__file__).parent


def usual_functions() -> dict[str, object]:
    """Return the functions of which a client may have its own, by name: those that `of_client` or `own` looks up."""
    found = {}
    for path in PACKAGE.parent.rglob("*.py"):
        for name in re.findall(r'(?:of_client\([\w."]+, |\bown\()(\w+)\)', path.read_text()):
            module = ".".join(("prowess", *path.relative_to(PACKAGE.parent).with_suffix("").parts))
            found[name] = vars(import_module(module))[name]
    return found


def test_each_module_belongs_to_a_host() -> None:
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert modules == set(CLIENT_MODULES)
    assert modules <= {name.replace("-", "_") for name in host_names()}


def test_a_function_of_a_client_has_the_parameters_of_the_usual_one() -> None:
    """And is the one that is called; a host without a module has the usual one."""
    usual = usual_functions()
    assert usual
    for host in host_names():
        for name, function in usual.items():
            own = getattr(client(host), name, None)
            assert of_client(host, function) is (own or function)  # type: ignore[type-var]
            if own is not None:
                assert inspect.signature(own) == inspect.signature(function), f"{host}: {name}"  # type: ignore[arg-type]
