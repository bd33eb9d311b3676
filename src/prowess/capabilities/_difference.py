"""Say in one line what a version of a skill mentions or declares that another one does not."""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._capabilities import Capabilities

MAX_SHOWN = 12
"""Capabilities that a line names; the rest are counted."""
_MAX_TEXT = 80


class Difference(Frozen):
    """What differs between the capabilities of two versions, as texts for a line."""

    adds: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield `adds: ...` and `drops: ...`, if there is something to say."""
        for word, items in (("adds", self.adds), ("drops", self.drops)):
            if items:
                yield f"{word}: {joined(items)}"


def joined(items: Sequence[str]) -> str:
    """Return texts for a line; many are counted."""
    more = f"; and {len(items) - MAX_SHOWN:,} more" if len(items) > MAX_SHOWN else ""
    return "; ".join(items[:MAX_SHOWN]) + more


def difference(before: Capabilities, after: Capabilities) -> Difference:
    """Return what two versions of a skill do not have in common."""
    return Difference(adds=tuple(_added(before, after)), drops=tuple(_added(after, before)))


def _added(before: Capabilities, after: Capabilities) -> Iterator[str]:
    """Yield what the second one has and the first does not, what matters most first."""
    named: set[str] = set()
    commands = []
    for name, hosts in after.commands.items():
        new = [host for host in hosts if host not in before.commands.get(name, ())]
        if name not in before.commands or any(host not in before.hosts for host in new):
            named.update(new)
            commands.append(f"{_shown(name)} to {', '.join(map(_host, new))}" if new else _shown(name))
    yield from (_shown(tool) for tool in after.tools if tool not in before.tools)
    yield from commands
    yield from (_host(host) for host in after.hosts if host not in before.hosts and host not in named)
    yield from (_shown(path) for path in after.paths if path not in before.paths)
    yield from (_shown(f"${name}") for name in after.variables if name not in before.variables)
    yield from (_shown(f"import {name}") for name in after.imports if name not in before.imports)


def _shown(text: str) -> str:
    return quoted(text, _MAX_TEXT)


def _host(host: str) -> str:
    return quoted(host, _MAX_TEXT).strip("`")
