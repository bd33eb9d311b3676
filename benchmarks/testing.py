"""Measure what it costs to run the tests of a skill: `prowess test` beside a bare loop over the same commands.

    python benchmarks/testing.py            prints times and ratios, writes nothing
    python benchmarks/testing.py --write    writes them into results.json, and renders the page

Prowess runs a thousand trivial cases, two at once. The loop starts the same command lines one after the other with
`subprocess.run`. Both run without a sandbox, and in bwrap with the same arguments. Each turn is a new process; its
processor time includes all processes it waits for. Supervisors are among these: they are stopped before the clock is
read. bwrap orphans its first process inside the sandbox, which is most of its cost, so the loop adopts that process and
waits for it, as Prowess does.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import results

if TYPE_CHECKING:
    from collections.abc import Callable

CASES, JOBS, ROUNDS = 1_000, 2, 5
SANDBOXES = ("none", "bwrap")


def write_skill(folder: Path, cases: int) -> Path:
    """Write a skill with this number of cases; each prints its number and expects it."""
    (folder / "tests/cases").mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {folder.name}\ndescription: Trivial cases. Use it to measure.\n---\nx\n"
    )
    for number in range(cases):
        text = f"name: c{number}\ninput:\n  command: echo {number}\nexpected:\n  stdout-contains: ['{number}']\n"
        (folder / f"tests/cases/{number}.yaml").write_text(text)
    return folder


def processor_seconds() -> float:
    """Return the processor seconds of this process and of all processes it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure_once(runner: str, sandbox: str, folder: Path, cases: int) -> float:
    """Run all cases in this process and return the processor seconds, those for reading the cases included."""
    prepare = _prepare_prowess if runner == "prowess" else _prepare_loop
    work = prepare(sandbox, folder, cases)
    _adopt_orphans()
    before = processor_seconds()
    work()
    return processor_seconds() - before


def _adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants, on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _wait_for_orphans() -> None:
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _prepare_prowess(sandbox: str, folder: Path, cases: int) -> Callable[[], None]:
    from prowess.sandbox import find_backend, stop
    from prowess.testing import run_tests

    find_backend(sandbox)  # tries once whether it works, and remembers that

    def work() -> None:
        counts = run_tests(folder, jobs=JOBS, sandbox=sandbox).counts
        stop()
        if counts["passed"] != cases:
            sys.exit(f"{counts['passed']:,} of {cases:,} cases passed")

    return work


def _prepare_loop(sandbox: str, folder: Path, cases: int) -> Callable[[], None]:
    from prowess.sandbox import find_backend, run, stop
    from prowess.sandbox._profiles import Confinement

    backend = find_backend(sandbox)
    copy = folder.parent / "copy"
    copy.mkdir(exist_ok=True)
    run(["true"], cwd=copy, sandbox=backend)
    stop()
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(copy), "TMPDIR": str(copy)}
    words, bwrap_files = backend.command_words(
        Confinement(cwd=str(copy), env=env, readable=(), writable=(str(copy),), network=False), []
    )

    def work() -> None:
        for number in range(cases):
            command = ["/bin/sh", "-c", f"echo {number}"]
            if not words:
                done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=True)
            else:
                fds = {str(number): _memory_file(data) for number, data in bwrap_files.items()}
                argv = [*(str(fds.get(word, word)) for word in words), *command]
                pass_fds = tuple(fds.values())
                done = subprocess.run(
                    argv, capture_output=True, stdin=subprocess.DEVNULL, check=True, pass_fds=pass_fds
                )
                for fd in pass_fds:
                    os.close(fd)
                _wait_for_orphans()
            if done.stdout != b"%d\n" % number:
                sys.exit(f"case {number} printed {done.stdout!r}")

    return work


def _memory_file(data: bytes) -> int:
    fd = os.memfd_create("bwrap")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def measure_all(rounds: int = ROUNDS, cases: int = CASES) -> dict[str, Any]:
    """Measure all in turns, each time in a new process, after one turn that does not count."""
    runs: dict[str, dict[str, list[float]]] = {sandbox: {"loop": [], "prowess": []} for sandbox in SANDBOXES}
    absent: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = write_skill(Path(temporary).resolve() / "trivial", cases)
        for turn in range(rounds + 1):
            for sandbox in SANDBOXES:
                # The second one may find the machine busy with the remains of the first, so they change places.
                for runner in sorted(runs[sandbox], reverse=bool(turn % 2)):
                    command = [sys.executable, __file__, "--once", runner, sandbox, str(folder), str(cases)]
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                    if done.returncode:
                        absent[sandbox] = done.stderr.strip().splitlines()[-1]
                    elif turn:
                        runs[sandbox][runner].append(round(float(done.stdout), 4))
    return {
        "cases": cases,
        "jobs": JOBS,
        "rounds": rounds,
        "runs": {sandbox: runs[sandbox] for sandbox in SANDBOXES if sandbox not in absent},
        "absent": absent,
    }


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["--once"]:
        runner, sandbox, folder, cases = sys.argv[2:]
        print(measure_once(runner, sandbox, Path(folder), int(cases)))
        return
    parser = argparse.ArgumentParser(description="Measure the tests of skills beside a bare loop.", allow_abbrev=False)
    parser.add_argument("--write", action="store_true", help="write the figures into results.json and the page")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"turns (default: {ROUNDS})")
    arguments = parser.parse_args()
    figures = measure_all(arguments.rounds)
    for sandbox, runs in figures["runs"].items():
        loop, ours = median(runs["loop"]), median(runs["prowess"])
        print(f"{sandbox}: a bare loop {loop:.2f} s, prowess {ours:.2f} s, {ours / loop:.2f} x")
    for sandbox, reason in figures["absent"].items():
        print(f"{sandbox}: {reason}")
    if arguments.write:
        results.update_section("testing", figures)


if __name__ == "__main__":
    main()
