"""What it costs to mount a skill: `prowess.mount` and `shutil.copytree`, side by side

    python benchmarks/mounting.py            prints times and ratios, writes nothing
    python benchmarks/mounting.py --write    writes them into results.json, and the page anew

Both copy the same skill in the same process, in turns, each time to a place where nothing is, in memory if that can be.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import page
from prowess import SkillMount, mount

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
FILES, SIZE = 400, 4096
ROUNDS = 40
COPY, MOUNT, REMOUNT = "shutil.copytree", "prowess.mount", "prowess.mount, replacing"


def write_skill(folder: Path) -> Path:
    """Write a skill of 400 files of 4 KiB, in folders of forty."""
    folder.mkdir(parents=True)
    head = f"---\nname: {folder.name}\ndescription: Four hundred files. Use it to measure.\n---\n"
    (folder / "SKILL.md").write_text(head + "x" * (SIZE - len(head)), encoding="utf-8")
    chance = random.Random(0)  # noqa: S311 - nothing secret
    for number in range(1, FILES):
        file = folder / "references" / str(number // 40) / f"{number}.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(chance.randbytes(SIZE))
    return folder


def measure_call(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds some work takes: of processors, and on the clock."""
    processor, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - processor, time.perf_counter() - wall


def measure_all(rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure all in turns, after one turn that does not count."""
    costs: dict[str, dict[str, list[float]]] = {name: {"processor": [], "wall": []} for name in (COPY, MOUNT, REMOUNT)}
    # In memory where there is such a place: ext4 looks long for inodes that nobody deleted moments ago, and so the
    # times of whoever writes grow with what others have removed.
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as where:
        top = Path(where).resolve()
        source = write_skill(top / "large")
        mounts = [SkillMount(source)]
        for turn in range(rounds + 1):
            made, home = top / "copy", top / "home"
            ways: dict[str, Callable[[], object]] = {
                COPY: lambda made=made: shutil.copytree(source, made),  # type: ignore[misc]
                MOUNT: lambda home=home: mount(mounts, home),  # type: ignore[misc]
            }
            # Who comes second may find the disk busy with what came first, so they change places.
            for name in sorted(ways, reverse=bool(turn % 2)):
                taken = measure_call(ways[name])
                if turn:
                    costs[name]["processor"].append(round(taken[0], 6))
                    costs[name]["wall"].append(round(taken[1], 6))
            taken = measure_call(ways[MOUNT])
            if turn:
                costs[REMOUNT]["processor"].append(round(taken[0], 6))
                costs[REMOUNT]["wall"].append(round(taken[1], 6))
            shutil.rmtree(made)
            shutil.rmtree(home)
    return {"files": FILES, "size": SIZE, "rounds": rounds, "runs": costs}


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Measure mounting beside copying.", allow_abbrev=False)
    parser.add_argument("--write", action="store_true", help="write the figures into results.json and the page")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"turns (default: {ROUNDS})")
    arguments = parser.parse_args()
    figures = measure_all(arguments.rounds)
    floor = figures["runs"][COPY]
    for name, cost in figures["runs"].items():
        told = (
            f"{kind} {median(cost[kind]) * 1e3:.1f} ms, {median(cost[kind]) / median(floor[kind]):.2f} x"
            for kind in cost
        )
        print(f"{name}: {'; '.join(told)}")
    if arguments.write:
        import run

        figures |= {"date": time.strftime("%Y-%m-%d", time.gmtime()), "prowess": run.machine()["prowess"]}
        results = json.loads((HERE / "results.json").read_text(encoding="utf-8")) | {"mounting": figures}
        (HERE / "results.json").write_text(page.compact_json(json.dumps(results, indent=1)) + "\n", encoding="utf-8")
        run.write()


if __name__ == "__main__":
    main()
