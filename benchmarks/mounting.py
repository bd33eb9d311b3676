"""Measure what it costs to mount a skill: `prowess.mount` beside `shutil.copytree`.

    python benchmarks/mounting.py            prints times and ratios, writes nothing
    python benchmarks/mounting.py --write    writes them into results.json, and renders the page

Both copy the same skill in the same process, in turns, each time to a new directory, in memory if possible.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import results
from prowess import SkillMount, mount

if TYPE_CHECKING:
    from collections.abc import Callable

FILES, SIZE = 400, 4096
ROUNDS = 40
COPY, MOUNT, REMOUNT = "shutil.copytree", "prowess.mount", "prowess.mount, replacing"


def write_skill(folder: Path) -> Path:
    """Write a skill of 400 files of 4 KiB, forty to a folder."""
    folder.mkdir(parents=True)
    head = f"---\nname: {folder.name}\ndescription: Four hundred files. Use it to measure.\n---\n"
    (folder / "SKILL.md").write_text(head + "x" * (SIZE - len(head)), encoding="utf-8")
    random_bytes = random.Random(0).randbytes  # noqa: S311 - not a secret
    for number in range(1, FILES):
        file = folder / "references" / str(number // 40) / f"{number}.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(random_bytes(SIZE))
    return folder


def measure_call(call: Callable[[], object]) -> dict[str, float]:
    """Return the seconds that a call takes: of processor time, and elapsed."""
    processor, elapsed = time.process_time(), time.perf_counter()
    call()
    return {"processor": time.process_time() - processor, "elapsed": time.perf_counter() - elapsed}


def measure_all(rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure all in turns, after one turn that does not count."""
    runs: dict[str, dict[str, list[float]]] = {
        name: {"processor": [], "elapsed": []} for name in (COPY, MOUNT, REMOUNT)
    }
    # In memory if possible: ext4 takes long to find inodes that were not deleted moments ago, so the time of a write
    # would grow with what other processes have removed.
    memory = Path("/dev/shm")  # noqa: S108 - a new directory is made in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        top = Path(folder).resolve()
        source = write_skill(top / "large")
        copied, home = top / "copy", top / "home"
        copy = partial(shutil.copytree, source, copied)
        mount_skill = partial(mount, [SkillMount(source)], home)
        for turn in range(rounds + 1):
            # The second one may find the disk busy with the writes of the first, so they change places.
            calls = [(COPY, copy), (MOUNT, mount_skill)]
            for name, call in [*(calls if turn % 2 else reversed(calls)), (REMOUNT, mount_skill)]:
                seconds = measure_call(call)
                if turn:
                    for kind, value in seconds.items():
                        runs[name][kind].append(round(value, 6))
            shutil.rmtree(copied)
            shutil.rmtree(home)
    return {"files": FILES, "size": SIZE, "rounds": rounds, "runs": runs}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Measure mounting beside copying.", allow_abbrev=False)
    parser.add_argument("--write", action="store_true", help="write the figures into results.json and the page")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"turns (default: {ROUNDS})")
    arguments = parser.parse_args()
    figures = measure_all(arguments.rounds)
    floor = figures["runs"][COPY]
    for name, runs in figures["runs"].items():
        times = (
            f"{kind} {median(seconds) * 1e3:.1f} ms, {median(seconds) / median(floor[kind]):.2f} x"
            for kind, seconds in runs.items()
        )
        print(f"{name}: {'; '.join(times)}")
    if arguments.write:
        results.update_section("mounting", figures)


if __name__ == "__main__":
    main()
