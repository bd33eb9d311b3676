"""What it costs to run the tests of a skill: `prowess test`'s runner and a bare loop of the same commands, in turns

    python benchmarks/testing.py            prints times and ratios, writes nothing
    python benchmarks/testing.py --write    writes them into results.json, and the page anew

A thousand trivial cases, two at once, beside a loop that starts the same command lines one after the other with
`subprocess.run`: without walls, and with bwrap, where the loop starts bwrap with the same words. Processor time is that
of a process for each turn and of all that it waited for. The processes that watch over commands are among these: they
are ended, and waited for, before the clock is read. bwrap leaves its first process inside to whoever adopts orphans;
that is most of what it costs, so the loop adopts it and waits for it, as Prowess does.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import page

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
CASES, JOBS, ROUNDS = 1_000, 2, 5
SANDBOXES = ("none", "bwrap")


def write_skill(folder: Path, cases: int) -> Path:
    """Write a skill with that many cases; each prints its number, and that is looked for."""
    (folder / "tests/cases").mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {folder.name}\ndescription: Trivial cases. Use it to measure.\n---\nx\n"
    )
    for number in range(cases):
        text = f"name: c{number}\ninput:\n  command: echo {number}\nexpected:\n  stdout-contains: ['{number}']\n"
        (folder / f"tests/cases/{number}.yaml").write_text(text)
    return folder


def processor_seconds() -> float:
    """Return the processor seconds of this process and of all that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure_once(who: str, way: str, folder: Path, cases: int) -> float:
    """Do the work in this process, and return what it cost; reading the cases is part of it."""
    run = _prepare_cases if who == "prowess" else _prepare_loop
    work = run(way, folder, cases)
    _adopt_orphans()
    before = processor_seconds()
    work()
    return processor_seconds() - before


def _adopt_orphans() -> None:
    """Have orphans come to this process, where the system can do so."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _wait_for_orphans() -> None:
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _prepare_cases(way: str, folder: Path, cases: int) -> Callable[[], None]:
    from prowess.sandbox import find_backend, stop
    from prowess.testing import run_tests

    find_backend(way)  # whether it works is tried once and remembered

    def work() -> None:
        counts = run_tests(folder, jobs=JOBS, sandbox=way).counts
        stop()
        if counts["passed"] != cases:
            sys.exit(f"{counts['passed']:,} of {cases:,} cases passed")

    return work


def _prepare_loop(way: str, folder: Path, cases: int) -> Callable[[], None]:
    from prowess.sandbox import find_backend, run, stop
    from prowess.sandbox._profiles import Confinement

    found = find_backend(way)
    copy = folder.parent / "copy"
    copy.mkdir(exist_ok=True)
    run(["true"], cwd=copy, sandbox=found)
    stop()
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(copy), "TMPDIR": str(copy)}
    words, told = found.command_words(
        Confinement(cwd=str(copy), env=env, readable=(), writable=(str(copy),), network=False), []
    )

    def work() -> None:
        for number in range(cases):
            line = ["/bin/sh", "-c", f"echo {number}"]
            if not words:
                done = subprocess.run(line, capture_output=True, stdin=subprocess.DEVNULL, check=True)
            else:
                fd = os.memfd_create("words")
                os.write(fd, told)
                os.lseek(fd, 0, os.SEEK_SET)
                argv = [*(str(fd) if word == "3" else word for word in words), *line]
                done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, check=True, pass_fds=(fd,))
                os.close(fd)
                _wait_for_orphans()
            if done.stdout != b"%d\n" % number:
                sys.exit(f"case {number} printed {done.stdout!r}")

    return work


def measure_all(rounds: int = ROUNDS, cases: int = CASES) -> dict[str, Any]:
    """Measure all in turns, each time in a new process, after one turn that does not count."""
    runs: dict[str, dict[str, list[float]]] = {way: {"loop": [], "prowess": []} for way in SANDBOXES}
    absent: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as where:
        folder = write_skill(Path(where).resolve() / "trivial", cases)
        for turn in range(rounds + 1):
            for way in SANDBOXES:
                # Who comes second may find the machine busy with what came first, so they change places.
                for who in sorted(runs[way], reverse=bool(turn % 2)):
                    command = [sys.executable, __file__, "--once", who, way, str(folder), str(cases)]
                    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
                    if done.returncode:
                        absent[way] = done.stderr.strip().splitlines()[-1]
                    elif turn:
                        runs[way][who].append(round(float(done.stdout), 4))
    return {
        "cases": cases,
        "jobs": JOBS,
        "rounds": rounds,
        "runs": {way: runs[way] for way in SANDBOXES if way not in absent},
        "absent": absent,
    }


def main() -> None:
    """Do what the command line says."""
    if sys.argv[1:2] == ["--once"]:
        who, way, folder, cases = sys.argv[2:]
        print(measure_once(who, way, Path(folder), int(cases)))
        return
    parser = argparse.ArgumentParser(description="Measure the tests of skills beside a bare loop.", allow_abbrev=False)
    parser.add_argument("--write", action="store_true", help="write the figures into results.json and the page")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"turns (default: {ROUNDS})")
    arguments = parser.parse_args()
    figures = measure_all(arguments.rounds)
    for way, runs in figures["runs"].items():
        loop, ours = median(runs["loop"]), median(runs["prowess"])
        print(f"{way}: a bare loop {loop:.2f} s, prowess {ours:.2f} s, {ours / loop:.2f} x")
    for way, why in figures["absent"].items():
        print(f"{way}: {why}")
    if arguments.write:
        import run

        figures |= {"date": time.strftime("%Y-%m-%d", time.gmtime()), "prowess": run.machine()["prowess"]}
        results = json.loads((HERE / "results.json").read_text(encoding="utf-8")) | {"testing": figures}
        (HERE / "results.json").write_text(page.compact_json(json.dumps(results, indent=1)) + "\n", encoding="utf-8")
        run.write()


if __name__ == "__main__":
    main()
