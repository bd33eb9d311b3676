"""The figures of generated skills, and that a measurement runs; none of how long anything takes."""

from __future__ import annotations

import runpy
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prowess import check, discover, parse

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
GENERATE: dict[str, Any] = runpy.run_path(str(BENCHMARKS / "generate.py"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand skills."""
    made = tmp_path_factory.mktemp("generated") / "project"
    GENERATE["generate"](made, 1000, seed=7)
    return made


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_generated_skills_have_the_sizes_of_real_ones(project: Path) -> None:
    """Median 9 KB, 90th percentile 25, at most 61."""
    sizes = sorted(file.stat().st_size for file in project.glob(".agents/skills/*/SKILL.md"))
    assert len(sizes) == 1000
    assert 8_800 <= statistics.median(sizes) <= 9_200
    assert 24_500 <= sizes[899] <= 25_500
    assert sizes[0] >= 1_500
    assert 55_000 <= sizes[-1] <= 61_000


def test_generated_skills_have_the_company_of_real_ones(project: Path) -> None:
    """Scripts, references, nested metadata, descriptions."""
    skills = project / ".agents/skills"
    assert len(list(skills.glob("*/scripts"))) == 300
    assert len(list(skills.glob("*/references"))) == 350
    read = [parse(file.read_bytes(), path=str(file)) for file in skills.glob("*/SKILL.md")]
    assert sum(bool(skill.metadata) for skill in read) == 300
    assert 320 <= statistics.mean(len(skill.description or "") for skill in read) <= 340
    assert len({skill.name for skill in read}) == 1000


def test_generated_skills_are_valid(project: Path, tmp_path: Path) -> None:
    """Under the specification, long as some are, and seen where each peer looks."""
    assert {finding.code for finding in check(project / ".agents/skills", policy="spec")} == {"body-too-long"}
    assert discover(project, home=tmp_path, env={}).counts["active"] == 1000
    assert (project / ".agent/skills").resolve() == project / ".agents/skills"


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    """Another one does not."""
    for name, seed in (("one", 3), ("two", 3), ("three", 4)):
        GENERATE["generate"](tmp_path / name, 40, seed=seed)
    assert content(tmp_path / "one") == content(tmp_path / "two") != content(tmp_path / "three")


def test_skills_that_are_there_are_not_written_over(tmp_path: Path) -> None:
    """Two trees in one would be neither."""
    command = [sys.executable, str(BENCHMARKS / "generate.py"), str(tmp_path / "made"), "3"]
    subprocess.run(command, check=True)
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert again.stderr == f"`{tmp_path}/made` holds skills already\n\nhint: remove it, or name another folder\n"


def test_more_skills_than_names_get_numbers() -> None:
    """So that no two are called the same."""
    names = GENERATE["Author"](0).names(50_000)
    assert len(set(names)) == 50_000
    assert max(map(len, names)) <= 64
