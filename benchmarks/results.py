"""Read and write results.json, and render docs/benchmarks.md and docs/benchmarks.svg from it."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chart
import page

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
FILE = HERE / "results.json"
PAGE, CHART = TOP / "docs/benchmarks.md", TOP / "docs/benchmarks.svg"


def update_section(name: str, figures: Mapping[str, Any], folder: Path | None = None) -> None:
    """Replace one section of the results, with today's date and this commit, and render the page and the chart.

    Args:
        name: the section.
        figures: what was measured.
        folder: where to read and write results.json, the page and the chart instead of their places in the repository.
    """
    file = FILE if folder is None else folder / FILE.name
    results = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    stamp = {"date": today(), "prowess": commit()}
    results |= {"machine": machine(), name: {**figures, **stamp}}
    file.write_text(_one_line_per_list(json.dumps(results, indent=1)) + "\n", encoding="utf-8")
    render(folder)


def render(folder: Path | None = None) -> None:
    """Write the page and the chart from results.json."""
    file, written, drawn = (path if folder is None else folder / path.name for path in (FILE, PAGE, CHART))
    results = json.loads(file.read_text(encoding="utf-8"))
    written.write_text(page.render_page(results), encoding="utf-8")
    if chart.can_draw(results):
        drawn.write_text(chart.render_chart(results), encoding="utf-8")


@cache
def commit() -> str:
    """Return the commit of Prowess when it is first asked for: later, the results themselves are a change."""
    head = _first_line("git", "rev-parse", "--short", "HEAD") or "unknown"
    return head + ("-dirty" if _first_line("git", "status", "--porcelain", "--", "src") else "")


def today() -> str:
    """Return the date in UTC."""
    return dt.datetime.now(dt.UTC).date().isoformat()


def machine() -> dict[str, str]:
    """Return what the figures depend on: processor, system, versions."""
    processor = platform.processor()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), processor)
    return {
        "processor": f"{processor or platform.machine()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "compiler": _first_line("cc", "--version"),
    }


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOP)
    except FileNotFoundError:
        return ""
    return done.stdout.partition("\n")[0].strip()


def _one_line_per_list(text: str) -> str:
    """Return JSON with each list of numbers on one line."""
    return re.sub(r"\[[\s\d.,e-]+\]", lambda match: re.sub(r"\s+", " ", match[0]), text)
