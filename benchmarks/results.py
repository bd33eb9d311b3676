"""Read and write results.json, and render docs/benchmarks.md and docs/benchmarks.svg from it."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chart
import page

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
FILE = HERE / "results.json"


def write_results(results: Mapping[str, Any]) -> None:
    """Write results.json, then the page and the chart."""
    FILE.write_text(_one_line_per_list(json.dumps(results, indent=1)) + "\n", encoding="utf-8")
    render()


def update_section(name: str, figures: Mapping[str, Any]) -> None:
    """Replace one section of results.json, with today's date and this commit, and render it."""
    results = json.loads(FILE.read_text(encoding="utf-8"))
    write_results(results | {name: {**figures, **stamp()}})


def render() -> None:
    """Write the page and the chart from results.json."""
    results = json.loads(FILE.read_text(encoding="utf-8"))
    (TOP / "docs/benchmarks.md").write_text(page.render_page(results), encoding="utf-8")
    (TOP / "docs/benchmarks.svg").write_text(chart.render_chart(results), encoding="utf-8")


def stamp() -> dict[str, str]:
    """Return today's date and the commit of Prowess, for a section that is measured on its own."""
    return {"date": today(), "prowess": machine()["prowess"]}


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
        "prowess": _first_line("git", "describe", "--always", "--dirty"),
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
