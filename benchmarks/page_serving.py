"""Render what servers of skills over MCP cost."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from serving import PROWESS, TYPESCRIPT
from tables import format_memory, format_range, format_seconds, measured_by, middle, paragraph, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LARGE = "10000"


def serving_section(serving: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of servers, and what many clients cost."""
    yield "## Serve skills over MCP\n"
    yield paragraph(
        f"`{PROWESS}` and the skills of the official TypeScript SDK (`@modelcontextprotocol/server`, `ext/skills`) "
        "serve the same folder over pipes, in turns, to a client that only writes and reads lines. A start is "
        f"everything until the client has the list of all skills, in pages of {serving['page']:,}; Prowess has a "
        "filled cache, and the other server, which keeps none, reads every file. A list is a later one: the other "
        "server answers from memory what it read at its start, and Prowess what is on the disk. Medians, lowest and "
        "highest in brackets; the elapsed time includes that of the client, memory is the most that the server used."
    )
    yield ""
    rows = [
        [
            f"{int(size):,}",
            f"**`{name}`**" if name == PROWESS else name,
            *(format_range(cost[kind]) for kind in ("start", "start processor", "list", "list processor")),
            format_memory(cost),
        ]
        for size, costs in serving["sizes"].items()
        for name, cost in costs.items()
    ]
    head = ["skills", "server", "start", "processor time", "list", "processor time", "memory"]
    yield from table(head, rows, right=(0, 2, 3, 4, 5, 6))
    if clients := serving.get("clients"):
        memory = ", ".join(f"{value / 1e6:,.0f} MB" for value in clients["memory"])
        yield paragraph(
            f"{clients['clients']} clients at the same time, each reading {clients['reads']} files over one connection "
            f"of HTTP: {format_seconds(median(clients['elapsed']))}, {clients['errors']} errors. Memory after each of "
            f"{len(clients['memory'])} times: {memory}."
        )
        yield ""
    yield measured_by("mcp", serving)
    yield ""


def compared(serving: Mapping[str, Any], size: str, kind: str) -> float | None:
    """Return how many times the figure of the other server that of Prowess is."""
    costs = serving.get("sizes", {}).get(size, {})
    own, other = (middle(costs.get(name), kind) for name in (PROWESS, TYPESCRIPT))
    return own / other if own is not None and other else None
