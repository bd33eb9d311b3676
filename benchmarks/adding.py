"""Measure what it costs to install the skills of a repository: `prowess add` beside `git clone --depth 1`.

    python benchmarks/adding.py              prints times and ratios, writes nothing
    python benchmarks/adding.py --write      writes them into results.json, and renders the page

Both get the same repository from the same server, in turns, each time into new folders, which are removed at the end:
ext4 takes several times as long to create files after many were deleted. The servers are git itself (`file://`), whose
time counts, and git's `http-backend` on the loopback address, whose time does not.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SKILLS, FILES, SIZE = 100, 8, 10_000
ROUNDS = 10
CLONE, ADD = "git clone --depth 1", "prowess add"
SERVER = Path(__file__).resolve().parents[1] / "tests/support/git_server.py"


def write_repository(folder: Path, skills: int) -> Path:
    """Write a bare repository with skills of made-up words, which compress as texts do."""
    tree, bare = folder / "tree", folder / "skills.git"
    choose = random.Random(0)  # noqa: S311 - not a secret
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(choose.choices(letters, k=choose.randint(2, 9))) for _ in range(3000)]
    for number in range(skills):
        skill = tree / "skills" / f"skill-{number:03}"
        (skill / "references").mkdir(parents=True)
        for count in range(FILES):
            text = (
                f"---\nname: {skill.name}\ndescription: Number {number}. Use it to measure.\n---\n" if not count else ""
            )
            while len(text) < SIZE:
                text += " ".join(choose.choices(words, k=12)) + "\n"
            (skill / (f"references/{count}.md" if count else "SKILL.md")).write_text(text, encoding="utf-8")
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for command in (("init", "--quiet"), ("add", "--all"), (*author, "commit", "--quiet", "--message=Skills")):
        subprocess.run(["git", *command], cwd=tree, check=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", str(tree), str(bare)], check=True)
    return bare


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the repositories in a folder by a process of its own, and yield the URL."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            yield next(iter(server.stdout or ())).strip()
        finally:
            server.communicate()


def measure_command(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    """Return the seconds that a command takes: of processor time, with all it starts, and elapsed."""
    start = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, stdin=quiet, stdout=quiet, stderr=quiet)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    elapsed = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with exit code {process.returncode}")
    return {"processor": usage.ru_utime + usage.ru_stime, "elapsed": elapsed}


def measure_all(rounds: int = ROUNDS, skills: int = SKILLS) -> dict[str, Any]:
    """Measure all in turns, after one turn that does not count."""
    runs: dict[str, dict[str, dict[str, list[float]]]] = {}
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        bare = write_repository(top, skills)
        with served(top) as url:
            for transport, source in {"file": f"file://{bare}", "http": f"{url}/{bare.name}"}.items():
                runs[transport] = _measure_source(source, top, rounds, skills)
    return {"skills": skills, "files": FILES, "size": SIZE, "rounds": rounds, "runs": runs}


def _measure_source(source: str, top: Path, rounds: int, skills: int) -> dict[str, dict[str, list[float]]]:
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environment |= {"HOME": str(top), "GIT_CONFIG_NOSYSTEM": "1"}
    runs: dict[str, dict[str, list[float]]] = {name: {"processor": [], "elapsed": []} for name in (CLONE, ADD)}
    for turn in range(rounds + 1):
        folder = Path(tempfile.mkdtemp(dir=top))
        project = folder / "project"
        project.mkdir()
        environment["PROWESS_DATA_DIR"] = str(folder / "data")
        commands = {
            CLONE: ["git", "clone", "--quiet", "--depth=1", source, str(folder / "clone")],
            ADD: [sys.executable, "-m", "prowess", "add", source, "--yes", "--cwd", str(project)],
        }
        for name in list(commands) if turn % 2 else list(reversed(commands)):
            seconds = measure_command(commands[name], environment)
            if turn:
                for kind, value in seconds.items():
                    runs[name][kind].append(round(value, 6))
        installed = len(list(project.glob(".agents/skills/*/SKILL.md")))
        if installed != skills:
            raise RuntimeError(f"{installed} of {skills} skills were installed")
    return runs


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Measure `prowess add` beside `git clone`.", allow_abbrev=False)
    parser.add_argument("--write", action="store_true", help="write the figures into results.json and the page")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"turns (default: {ROUNDS})")
    arguments = parser.parse_args()
    figures = measure_all(arguments.rounds)
    for transport, costs in figures["runs"].items():
        for name, runs in costs.items():
            times = (
                f"{kind} {median(seconds):.3f} s, {median(seconds) / median(costs[CLONE][kind]):.2f} x"
                for kind, seconds in runs.items()
            )
            print(f"{transport}: {name}: {'; '.join(times)}")
    if arguments.write:
        import results  # which renders the page, and that imports this module

        results.update_section("add", figures)


if __name__ == "__main__":
    main()
