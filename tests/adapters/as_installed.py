"""Run Python code as if only some requirements were installed: `as_installed.py FILE REQUIREMENT...`.

A module is hidden if the distribution that it comes from is neither a requirement nor required by one.
"""

from __future__ import annotations

import runpy
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HIDDEN: set[str] = set()


def requires(name: str) -> list[str]:
    """Return what a distribution requires; of Prowess, what `pyproject.toml` says now."""
    if name != "prowess":
        try:
            return distribution(name).requires or []
        except PackageNotFoundError:
            return []
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].items()
    return [*project["dependencies"], *(f"{text}; extra == '{extra}'" for extra, texts in extras for text in texts)]


def closure(requirements: list[str]) -> set[str]:
    """Return the distributions that an installer would install for these requirements."""
    done: set[tuple[str, str]] = set()
    pending = [Requirement(text) for text in requirements]
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in done:
                continue
            done.add((name, extra))
            for text in requires(name):
                item = Requirement(text)
                if item.marker is None or item.marker.evaluate({"extra": extra}):
                    pending.append(item)
    return {name for name, _ in done}


class _Blocker:
    """Finds no hidden module."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    file, *texts = sys.argv[1:]
    kept = closure(texts)
    for module, sources in packages_distributions().items():
        if not kept.intersection(map(canonicalize_name, sources)):
            HIDDEN.add(module)
    for module in [*sys.modules]:
        if module.partition(".")[0] in HIDDEN:
            del sys.modules[module]
    sys.meta_path.insert(0, _Blocker())
    runpy.run_path(file, run_name="__main__")
