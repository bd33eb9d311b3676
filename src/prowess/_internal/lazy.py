"""Load the names of a package when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["lazy_exports"]


def lazy_exports(package: str, modules: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], object], list[str]]:
    """Return the `__getattr__` of a package, which loads each public name on first use, and its `__all__`.

    Args:
        package: the full name of the package.
        modules: each module of the package, and the names it defines for others.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from sys import modules as loaded

        module = f"{package}.{homes[name]}"
        if module not in loaded:
            __import__(module)
        value: object = getattr(loaded[module], name)
        setattr(loaded[package], name, value)
        return value

    return load, sorted(homes)
