"""Load the names of a package when they are first used."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def lazy_exports() -> tuple[Callable[[str], object], list[str]]:
    """Return the `__getattr__` of the calling package, which loads each public name on first use, and its `__all__`.

    The names are those that the package imports for type checkers, so that each is listed once. These imports do not
    run, but they are compiled: the names of a statement are a constant, and in the order of use the name of its module
    is before the first of them. This holds for any name that the package did not use before.
    """
    caller = sys._getframe(1)  # noqa: SLF001 - as `collections.namedtuple` does
    package: str = caller.f_globals["__name__"]
    used = caller.f_code.co_names
    homes: dict[str, str] = {
        name: used[used.index(names[0]) - 1]
        for names in caller.f_code.co_consts
        if isinstance(names, tuple) and names[0] in used and names != ("lazy_exports",)
        for name in names
    }

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = f"{package}.{homes[name]}"
        __import__(module)  # which waits if another thread is loading it
        value: object = getattr(sys.modules[module], name)
        setattr(sys.modules[package], name, value)
        return value

    return load, sorted(homes)
