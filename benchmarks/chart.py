"""Draw docs/benchmarks.svg: processor time against the number of skills, both on logarithmic scales."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WIDTH, HEIGHT = 880, 560
LEFT, RIGHT, TOP, BOTTOM = 78, 248, 62, 52
"""Margins around the plot in pixels; the labels of the lines are in the right margin."""
LABEL_GAP = 17
"""Smallest distance between two labels in pixels."""
SUBTITLE = "Without interpreter start and imports; both axes logarithmic; lower is better; thin dots: not measured"
STYLE = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #424a53 }
.title { font-size: 16px; font-weight: 600; fill: #1f2328 }
.back { fill: #ffffff }
.grid { stroke: #d8dee4; stroke-width: 1 }
.peer { stroke: #8c959f; stroke-width: 1.5; fill: none }
.beyond { stroke: #afb8c1; stroke-width: 1; stroke-dasharray: 1 5; fill: none }
.floor { stroke: #1f2328; stroke-width: 1.5; stroke-dasharray: 2 4; fill: none }
.ours { stroke: #0969da; stroke-width: 3; fill: none }
.lead { stroke: #afb8c1; stroke-width: 1; fill: none }
.dot-peer { fill: #8c959f }
.dot-floor { fill: #1f2328 }
.dot-ours { fill: #0969da }
text.ours { stroke: none; fill: #0550ae; font-weight: 600 }
@media (prefers-color-scheme: dark) {
text { fill: #b1bac4 }
.title { fill: #f0f6fc }
.back { fill: #0d1117 }
.grid { stroke: #2a313c }
.peer { stroke: #7d8590 }
.beyond { stroke: #484f58 }
.floor { stroke: #f0f6fc }
.ours { stroke: #58a6ff }
.lead { stroke: #484f58 }
.dot-peer { fill: #7d8590 }
.dot-floor { fill: #f0f6fc }
.dot-ours { fill: #58a6ff }
text.ours { stroke: none; fill: #79c0ff }
}"""


def can_draw(results: Mapping[str, Any]) -> bool:
    """Return whether readers were measured with two numbers of skills or more."""
    return len(results.get("readers", {}).get("sizes", {})) > 1


def render_chart(results: Mapping[str, Any]) -> str:
    """Return the SVG chart of all readers."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for number, costs in results["readers"]["sizes"].items():
        for reader, cost in costs.items():
            if cost.get("work"):
                lines.setdefault(reader, []).append((int(number), median(cost["work"])))
    sizes = sorted(int(size) for size in results["readers"]["sizes"])
    values = [value for points in lines.values() for value in (*(seconds for _, seconds in points), end(points, sizes))]
    plot = _Plot(sizes, math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))))
    title = "Processor time to find and parse all skills of a folder"
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">',
        f"<style>\n{STYLE}\n</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        f'<text class="title" x="{LEFT}" y="28">{title}</text>',
        f'<text x="{LEFT}" y="47">{SUBTITLE}</text>',
        *plot.axes(),
        *(
            element
            for reader, points in sorted(lines.items(), key=_draw_order)
            for element in plot.line(reader, points)
        ),
        *plot.labels(lines, {name: peer["less"] for name, peer in results["readers"]["peers"].items() if peer["less"]}),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def end(points: list[tuple[int, float]], sizes: list[int]) -> float:
    """Return the seconds that a line has with the most skills: the same for each skill as with the most measured."""
    skills, seconds = points[-1]
    return seconds * sizes[-1] / skills


def _reader_kind(reader: str) -> str:
    return "floor" if reader == "floor" else "ours" if reader.startswith("prowess") else "peer"


def _draw_order(line: tuple[str, object]) -> int:
    return ("peer", "floor", "ours").index(_reader_kind(line[0]))


class _Plot:
    """The plot area: turns sizes and seconds into positions, and draws in it."""

    def __init__(self, sizes: list[int], low: int, high: int) -> None:
        self.sizes, self.low, self.high = sizes, low, high

    def x(self, size: int) -> float:
        first, last = math.log10(self.sizes[0]), math.log10(self.sizes[-1])
        return round(LEFT + (math.log10(size) - first) / (last - first) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, seconds: float) -> float:
        part = (math.log10(seconds) - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM), 1)

    def axes(self) -> Iterable[str]:
        for power in range(self.low, self.high + 1):
            y = self.y(10.0**power)
            text = f"{10**power} s" if power >= 0 else f"{10 ** (power + 3):g} ms"
            yield f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>'
            yield f'<text x="{LEFT - 10}" y="{y + 4.5}" text-anchor="end">{text}</text>'
        for size in self.sizes:
            x = self.x(size)
            yield f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{HEIGHT - BOTTOM}"/>'
            yield f'<text x="{x}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{size:,}</text>'
        middle = (LEFT + WIDTH - RIGHT) / 2
        yield f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">skills</text>'

    def line(self, reader: str, points: list[tuple[int, float]]) -> Iterable[str]:
        positions = [(self.x(size), self.y(value)) for size, value in points]
        kind = _reader_kind(reader)
        yield f'<polyline class="{kind}" points="{" ".join(f"{x},{y}" for x, y in positions)}"/>'
        radius = 3.5 if kind == "ours" else 2.5
        if points[-1][0] != self.sizes[-1]:
            x, y = positions[-1]
            beyond = f"{x},{y} {self.x(self.sizes[-1])},{self.y(end(points, self.sizes))}"
            yield f'<polyline class="beyond" points="{beyond}"/>'
        yield from (f'<circle class="dot-{kind}" cx="{x}" cy="{y}" r="{radius}"/>' for x, y in positions)

    def labels(self, lines: Mapping[str, list[tuple[int, float]]], less: Mapping[str, str]) -> Iterable[str]:
        """Draw a label at the end of each line, moved if it would overlap another, with what the reader leaves out.

        The multiple of the floor is that with the most skills for which the reader was measured.
        """
        x = self.x(self.sizes[-1])
        ends = sorted((self.y(end(points, self.sizes)), reader) for reader, points in lines.items())
        label_positions = spread_labels([y for y, _ in ends], low=TOP, high=HEIGHT - BOTTOM)
        floor = dict(lines.get("floor", ()))
        for (y, reader), label in zip(ends, label_positions, strict=True):
            ratio = ""
            skills, seconds = lines[reader][-1]
            if reader != "floor" and skills in floor:
                times = seconds / floor[skills]
                ratio = f"  {times:,.1f} x" if times < 10 else f"  {times:,.0f} x"
            path = f"M{x + 5},{y} L{x + 22},{label} H{x + 28}"
            yield f'<path class="lead" d="{path}"/>'
            name = "floor: open, read 4 KB, close" if reader == "floor" else reader
            ratio += f" ({less[reader]})" if reader in less else ""
            ours = ' class="ours"' if _reader_kind(reader) == "ours" else ""
            yield f'<text{ours} x="{x + 33}" y="{label + 4.5}">{escape(name + ratio)}</text>'


def spread_labels(wanted: list[float], *, low: float, high: float) -> list[float]:
    """Move sorted positions as little as possible, so that labels do not overlap.

    Labels that touch form a block, which is centred on the mean of the positions they wanted.
    """
    blocks: list[list[float]] = []

    def top(block: list[float]) -> float:
        start = sum(block) / len(block) - (len(block) - 1) * LABEL_GAP / 2
        return max(low, min(start, high - (len(block) - 1) * LABEL_GAP))

    for position in wanted:
        blocks.append([position])
        while len(blocks) > 1 and top(blocks[-2]) + len(blocks[-2]) * LABEL_GAP > top(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [round(top(block) + index * LABEL_GAP, 1) for block in blocks for index in range(len(block))]
