"""Measure `prowess verify` beside `sha256sum` over the same files, whole commands in turns."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from bench import COMMAND_SKILLS
from prowess.lock import Lock, LockedSkill, read_tree
from tables import format_range, measured_by, middle, paragraph, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bench import Bench

VERIFY, SHA256SUM, CHECK = "prowess verify", "sha256sum", "sha256sum --check"
FILES = (
    *("SKILL.md", "LICENSE.txt", "scripts/run.py", "references/guide.md", "scripts/test.sh"),
    *("references/api.md", "references/faq.md", "assets/a.bin", "assets/b.bin", "notes.md"),
)
SIZES = (1_000, 20_000)
"""Bytes of the smallest and the largest file; a skill has five to ten."""


def write_project(project: Path, skills: int, seed: int) -> list[str]:
    """Write a project with locked skills, and return the paths of their files."""
    generator = random.Random(seed)  # noqa: S311 - not a secret
    entries = []
    paths = []
    for number in range(skills):
        folder = project / f".agents/skills/skill-{number:05}"
        for path in FILES[: generator.randint(5, len(FILES))]:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(generator.randbytes(generator.randint(*SIZES)))
            (folder / path).chmod(0o755 if path.startswith("scripts/") else 0o644)
            paths.append(str((folder / path).relative_to(project)))
        tree = read_tree(str(folder))
        files = {file.path: f"{file.mode} sha256:{file.sha256}" for file in tree.files}
        entry = LockedSkill(
            name=folder.name, source="acme/skills", source_type="github", tree_digest=tree.digest, files=files
        )
        entries.append(entry)
    (project / "skills-lock.json").write_text(Lock().with_skills(entries).to_text(), encoding="utf-8")
    return paths


def measure_verifying(bench: Bench, skills: int = COMMAND_SKILLS) -> Iterator[dict[str, Any]]:
    """Measure all commands in turns, after one turn that does not count."""
    project = bench.folder / "verify/project"
    paths = write_project(project, skills, bench.seed)
    size = sum((project / path).stat().st_size for path in paths)
    commands = {VERIFY: [sys.executable, "-I", "-m", "prowess", "verify"]}
    if program := shutil.which("sha256sum"):
        sums = subprocess.run([program, *paths], cwd=project, capture_output=True, check=True).stdout
        (project / "sums").write_bytes(sums)
        commands |= {SHA256SUM: [program, *paths], CHECK: [program, "--quiet", "--check", "sums"]}
    else:
        bench.skip_reader(SHA256SUM, "it is missing")
    costs: dict[str, dict[str, list[float]]] = {name: {"elapsed": [], "processor": []} for name in commands}
    for turn in range(bench.rounds + 1):
        for name, command in commands.items():
            seconds = _seconds(command, project, bench.environment)
            for kind, value in seconds.items() if turn else ():
                costs[name][kind].append(round(value, 6))
    bench.remove(project)
    yield {"skills": skills, "files": len(paths), "bytes": size, "runs": costs}


def _seconds(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> dict[str, float]:
    """Return the elapsed and the processor seconds of a whole command, which must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(f"{command[0]} failed with exit code {process.returncode}")
    return {"elapsed": elapsed, "processor": usage.ru_utime + usage.ru_stime}


def verifying_section(verifying: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of commands."""
    yield "## Verify installed skills\n"
    yield paragraph(
        f"`{VERIFY}` compares {verifying['skills']:,} skills with their lock: {verifying['files']:,} files of "
        f"{verifying['bytes'] / 1e6:,.0f} MB in the page cache, with their modes, and lists the folders. "
        f"`{SHA256SUM}` only computes the digests of the same files, and `{CHECK}` compares them too. Whole "
        "commands, in turns; medians, lowest and highest in brackets."
    )
    yield ""
    rows = [
        [f"**`{name}`**" if name == VERIFY else f"`{name}`", *(format_range(cost[kind]) for kind in cost)]
        for name, cost in verifying["runs"].items()
    ]
    yield from table(["command", "elapsed", "processor time"], rows, right=(1, 2))
    yield measured_by("verify", verifying)
    yield ""


def compared_with_sha256sum(verifying: Mapping[str, Any], kind: str) -> float | None:
    """Return how many times the time of `sha256sum` that of `verify` is."""
    own, other = (middle(verifying.get("runs", {}).get(name), kind) for name in (VERIFY, SHA256SUM))
    return own / other if own is not None and other else None
