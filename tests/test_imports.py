"""Imports of Prowess have no cycles and respect packages' private modules; `.importlinter` has the layers."""

from __future__ import annotations

from functools import cache
from graphlib import CycleError, TopologicalSorter

import grimp


@cache
def imports_by_module() -> dict[str, set[str]]:
    """Return every module of Prowess with the modules it imports, those for type checkers included."""
    graph = grimp.build_graph("prowess", exclude_type_checking_imports=False, cache_dir=None)
    return {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}


def import_cycle(imports: dict[str, set[str]]) -> list[str]:
    """Return one cycle, from a module back to itself, or nothing."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle[::-1]  # graphlib lists what is imported first
    return []


def private_owner(module: str) -> str | None:
    """Return the package to which a module is private: that of its first underscored part."""
    parts = module.split(".")
    for index, part in enumerate(parts):
        if part.startswith("_") and part != "_internal" and not part.endswith("__"):
            return ".".join(parts[:index])
    return None


def private_imports(imports: dict[str, set[str]]) -> list[str]:
    """Return the imports of a private module from outside its package."""
    return [
        f"{importer} imports {imported}"
        for importer, all_imported in sorted(imports.items())
        for imported in sorted(all_imported)
        if (owner := private_owner(imported)) and not f"{importer}.".startswith(f"{owner}.")
    ]


def test_no_modules_import_each_other() -> None:
    assert import_cycle(imports_by_module()) == []


def test_no_package_imports_a_private_module_of_another() -> None:
    """What others may use is in the package's `__init__`, its front door."""
    assert private_imports(imports_by_module()) == []


def test_a_cycle_is_found() -> None:
    imports = {"p": {"p.a"}, "p.a": {"p.b"}, "p.b": {"p.a"}}
    assert import_cycle(imports) in (["p.a", "p.b", "p.a"], ["p.b", "p.a", "p.b"])


def test_private_imports_are_found() -> None:
    imports = {
        "p.a": {"p.b._c", "p.b", "p._internal.text", "p.b.d"},
        "p.b": {"p.b._c"},
        "p.b._e": {"p.b._c"},
        "p.b.f.g": {"p.b._c"},
        "p.a.h": {"p.b._i.j"},
    }
    assert private_imports(imports) == ["p.a imports p.b._c", "p.a.h imports p.b._i.j"]
