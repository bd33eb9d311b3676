"""Kill mounts, make them fail and run many at once, and check that a home only ever contains whole old or new skills.

`python tests/endurance.py` kills two thousand processes at random points of a mount, a replacement and a removal, and
runs sixteen processes that mount into one home, two hundred rounds each. `tests/mount/test_skills_folder.py` does the
same with smaller numbers, and kills a process before each single step.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import stat
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from prowess._internal import fs
from prowess.errors import SkillNotFoundError
from prowess.mount import SkillMount, mount, skills_root, unmount
from prowess.mount._skills_folder import lock_skills_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Content = dict[str, tuple[str, int, bytes]]
"""Path to type, permissions, and bytes or link target: everything in a folder except dates."""

NAMES = ("ink", "pen")
"""The skills that are mounted, replaced and removed."""
HOST = "claude-code"
ROOT = skills_root(HOST)
PATIENCE = 120.0
"""Seconds after which waiting processes count as deadlocked."""
STEPS = ("open", "mkdir", "rename", "replace", "unlink", "rmdir", "write", "fchmod")
"""The calls that change a home, and `open`."""
FULL = ("open", "mkdir", "write")
"""The calls that fail on a full disk."""


def content(folder: Path | str) -> Content:
    """Read everything in a folder; a missing folder is empty."""
    found: Content = {}
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        path = os.path.join(folder, inner)
        try:
            status = os.lstat(path.rstrip("/"))
        except FileNotFoundError:
            continue
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            found[inner] = ("folder", mode, b"")
            waiting += [f"{inner}/{name}" if inner else name for name in os.listdir(path)]
        elif stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                found[inner] = ("file", mode, file.read() if status.st_size < 1 << 25 else b"%d" % status.st_size)
        elif stat.S_ISLNK(status.st_mode):
            found[inner] = ("link", mode, os.fsencode(os.readlink(path)))
        else:
            found[inner] = ("other", mode, b"")
    return found


def without_staging(found: Content) -> Content:
    """Leave out staging folders, which no client looks at and the next mount removes."""
    return {path: what for path, what in found.items() if ".prowess-staging-" not in path}


def part(found: Content, folder: str) -> Content:
    """Return the content of one folder."""
    start = f"{folder}/"
    return {path.removeprefix(start): what for path, what in found.items() if path.startswith(start)}


# ── a world: two versions of two skills, and a home that has others ─────────────────────────────────────────────────


@dataclass(frozen=True)
class World:
    """Skills, and homes before and after each change."""

    top: Path

    def sources(self, version: int) -> list[SkillMount]:
        return [SkillMount(self.top / f"v{version}" / name) for name in NAMES]

    def home(self, state: str) -> Path:
        """A complete home, never changed: with `others`, or also with `v1` or `v2` of the skills."""
        return self.top / "homes" / state

    @cache  # noqa: B019 - there is one world
    def expected(self, state: str) -> Content:
        """Return the content of such a home."""
        return content(self.home(state))

    def fresh(self, state: str, name: str = "home") -> Path:
        """Copy a home, so that it can be changed."""
        home = self.top / name
        shutil.rmtree(home, ignore_errors=True)
        return Path(shutil.copytree(self.home(state), home))

    def skill(self, version: int, name: str) -> Content:
        return part(self.expected(f"v{version}"), f"{ROOT}/{name}")


def make_world(top: Path) -> World:
    """Write the skills, and create the homes."""
    world = World(top)
    for version in (1, 2):
        for name in NAMES:
            folder = top / f"v{version}" / name
            (folder / "scripts").mkdir(parents=True)
            (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Version {version}.\n---\n{version}\n")
            (folder / "scripts/run.sh").write_text(f"echo {version}\n" * 20)
            (folder / "scripts/run.sh").chmod(0o755)
            if version == 2:
                (folder / "more.md").write_text("2\n")
    others = world.home("others")
    hand = others / ROOT / "hand"
    hand.mkdir(parents=True)
    (hand / "SKILL.md").write_text("---\nname: hand\ndescription: Made by hand.\n---\n")
    kept = top / "kept"
    kept.mkdir()
    (kept / "SKILL.md").write_text("---\nname: kept\ndescription: Mounted before.\n---\n")
    mount([SkillMount(kept)], others, host=HOST)
    for version in (1, 2):
        shutil.copytree(others, world.home(f"v{version}"))
        mount(world.sources(version), world.home(f"v{version}"), host=HOST)
    return world


CHANGES: dict[str, tuple[str, str, Callable[[World, Path], object]]] = {
    "a mount": ("others", "v1", lambda world, home: mount(world.sources(1), home, host=HOST)),
    "a replacement": ("v1", "v2", lambda world, home: mount(world.sources(2), home, host=HOST)),
    "a removal": ("v1", "others", lambda _, home: unmount(NAMES, home, host=HOST)),
}
"""Each change: the home before, the home after, and the function that makes it."""


def check_whole(world: World, home: Path, change: str, *, exchanged: bool = True) -> str:
    """Check that each skill in a home is wholly old or wholly new, and that nothing else was touched.

    Args:
        world: the skills and the expected homes.
        home: a home in which a change was interrupted.
        change: the change.
        exchanged: whether this system can exchange two folders; otherwise a skill may be missing for a moment.
    """
    before, after, _ = CHANGES[change]
    now, old, new = (part(one, ROOT) for one in (content(home), world.expected(before), world.expected(after)))
    seen = {path.partition("/")[0] for path in now}
    states = []
    for name in sorted({path.partition("/")[0] for path in (*old, *new)}):
        if name not in seen:
            between = not exchanged and name in NAMES
            assert between or not part(old, name) or not part(new, name), f"{change}: {name} is lost"
            states.append("none")
        elif part(now, name) == part(old, name):
            states.append("old")
        else:
            assert part(now, name) == part(new, name), f"{change}: {name} is neither old nor new: {part(now, name)}"
            states.append("new")
    assert seen <= {"hand", "kept", *NAMES}, f"{change}: {seen}"
    return " ".join(states)


def check_recovered(world: World, home: Path, change: str, *, at_once: bool = False) -> str:
    """Check that the next process completes or undoes a change, does its own work, and leaves nothing behind.

    Args:
        world: the skills and the expected homes.
        home: a home in which a change was interrupted.
        change: the change.
        at_once: whether the next process mounts; otherwise one that changes nothing runs before.
    """
    before, after, _ = CHANGES[change]
    outcome = "mounted at once"
    if not at_once:
        unmount((), home, host=HOST)
        now = content(home)
        outcome = "undone" if now == world.expected(before) else "finished"
        if outcome == "finished":
            assert now == world.expected(after), f"{change}: {sorted(now)}"
    mount(world.sources(2), home, host=HOST)
    assert content(home) == world.expected("v2"), f"{change}: then a mount"
    unmount(NAMES, home, host=HOST)
    assert content(home) == world.expected("others"), f"{change}: then a removal"
    return outcome


# ── one step after the other ─────────────────────────────────────────────────────────────────────────────────────────


class Steps:
    """Counts the steps of a change, and calls a function instead from one step on."""

    def __init__(
        self, at: int, instead: Callable[[str, Any], object], names: tuple[str, ...] = (*STEPS, "renameat2")
    ) -> None:
        self.count, self.at, self.instead, self.names = 0, at, instead, names
        self.inner = 0

    def __call__(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **more: Any) -> Any:
            if self.inner or name not in self.names:
                return real(*args, **more)
            self.count += 1
            self.inner += 1
            try:
                if self.count >= self.at:
                    self.instead(name, (self.count - self.at, args))
            finally:
                self.inner -= 1
            return real(*args, **more)

        return step

    @contextmanager
    def watched(self, *, exchanged: bool = True) -> Iterator[Steps]:
        """Replace the functions of `os` while the block runs."""
        wrapped: dict[str, Any] = {name: self(name, getattr(os, name)) for name in STEPS}
        function = fs._renameat2 if exchanged else lambda: None
        with (
            patch.multiple(os, **wrapped),
            patch.object(fs, "_rename_with_flags", self("renameat2", fs._rename_with_flags)),
            patch.object(fs, "_renameat2", function),
        ):
            yield self


def killed(at: int, *, half: bool = False) -> Steps:
    """Kill the process before a step; with `half`, in the middle of writing."""

    def end(name: str, rest: Any) -> None:
        if half:
            fd, data = rest[1]
            os.write(fd, data[: len(data) // 2])
        os._exit(9)

    return Steps(at, end, ("write",) if half else (*STEPS, "renameat2"))


def in_child(work: Callable[[], object]) -> int:
    """Run a function in a child process and return its exit code."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:  # noqa: BLE001 - a child never returns
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def killed_at_every_step(world: World, change: str, *, exchanged: bool = True, half: bool = False) -> Counter[str]:
    """Kill a process before each step of a change, and check what it leaves behind."""
    before, _, work = CHANGES[change]
    counts: Counter[str] = Counter()
    for at in range(1, 10_000):
        home = world.fresh(before)

        def die(home: Path = home, at: int = at) -> None:
            with killed(at, half=half).watched(exchanged=exchanged):
                work(world, home)

        code = in_child(die)
        if code == 0:
            counts["steps"] = at - 1
            return counts
        assert code == 9, f"{change}, step {at}"
        check_whole(world, home, change, exchanged=exchanged)
        counts[check_recovered(world, home, change, at_once=at % 2 == 0)] += 1
    raise AssertionError("the change never finishes")


# ── killed at random ─────────────────────────────────────────────────────────────────────────────────────────────────


def length(world: World, change: str) -> float:
    """Return how many seconds a change takes in a child process."""
    before, _, work = CHANGES[change]
    lengths = []
    for _ in range(7):
        home = world.fresh(before)
        ours, theirs = os.pipe()

        def timed(home: Path = home, theirs: int = theirs) -> None:
            started = time.perf_counter()
            work(world, home)
            os.write(theirs, f"{time.perf_counter() - started}".encode())

        assert in_child(timed) == 0
        lengths.append(float(os.read(ours, 100)))
        os.close(ours)
        os.close(theirs)
    return statistics.median(lengths)


def killed_at_random(world: World, points: int, seed: int) -> Counter[str]:
    """Kill processes at random times during a change, and check what they leave behind."""
    chance = Random(seed)  # noqa: S311 - nothing secret
    counts: Counter[str] = Counter()
    lengths = {change: length(world, change) for change in CHANGES}
    for number in range(points):
        change = list(CHANGES)[number % len(CHANGES)]
        before, _, work = CHANGES[change]
        home = world.fresh(before)
        ours, theirs = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.write(theirs, b"!")
                work(world, home)
            finally:
                os._exit(0)
        os.read(ours, 1)
        time.sleep(chance.random() * lengths[change])
        os.kill(pid, signal.SIGKILL)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(ours)
        os.close(theirs)
        counts[f"{change}: {'killed' if ended == -signal.SIGKILL else 'had ended'}"] += 1
        check_whole(world, home, change)
        counts[f"{change}: {check_recovered(world, home, change, at_once=chance.random() < 0.5)}"] += 1
    return counts


# ── many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _one_of_many(world: World, home: Path, rounds: int, chance: Random) -> None:
    whole = {name: [world.skill(version, name) for version in (1, 2)] for name in NAMES}
    for _ in range(rounds):
        what = chance.randrange(4)
        try:
            if what == 3:
                unmount(chance.choice([None, NAMES, NAMES[:1]]), home, host=HOST)
            else:
                chosen = world.sources(chance.choice((1, 2)))
                mount(chance.choice([chosen, chosen[:1], chosen[1:]]), home, host=HOST)
        except SkillNotFoundError:
            assert what == 3
        with lock_skills_folder(str(home), ROOT) as place:
            now = part(content(home), ROOT)
            names = sorted({path.partition("/")[0] for path in now})
            assert names == [row.name for row in place.record.skills]
            assert all(part(now, name) in whole[name] for name in names), f"not whole: {now}"


def many_at_once(world: World, processes: int, rounds: int, seed: int) -> float:
    """Run processes that mount, replace and remove the same skills in one home; return the seconds that takes.

    After each round, each of them checks that all skills are whole and listed in the record.
    """
    home = world.top / "shared"
    started = time.monotonic()
    children = []
    for number in range(processes):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                _one_of_many(world, home, rounds, Random(f"{seed}:{number}"))  # noqa: S311
                code = 0
            except BaseException as error:  # noqa: BLE001 - a child never returns
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(code)
        children.append(pid)
    codes: dict[int, int] = {}
    while len(codes) < len(children):
        late = time.monotonic() - started > PATIENCE
        for pid in children:
            if pid in codes:
                continue
            if late:
                os.kill(pid, signal.SIGKILL)
            ended, status = os.waitpid(pid, 0 if late else os.WNOHANG)
            if ended:
                codes[pid] = os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    assert set(codes.values()) == {0}, f"{sorted(codes.values())} after {time.monotonic() - started:.0f} s"
    unmount(None, home, host=HOST)
    assert set(content(home)) <= {"", ".claude"}, f"left behind: {sorted(content(home))}"
    return time.monotonic() - started


def summary(counts: Counter[str]) -> str:
    """Format the counts, one per line."""
    return "\n".join(f"{count:6,}  {what}" for what, count in sorted(counts.items()))


def main() -> None:
    """Kill many processes, and run many at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=2_000, help="how many processes to kill")
    parser.add_argument("--rounds", type=int, default=200, help="how many rounds each of sixteen processes runs")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(Path(folder).resolve())
        for change in CHANGES:
            for exchanged in (True, False):
                counts = killed_at_every_step(world, change, exchanged=exchanged)
                how = "" if exchanged else ", without exchanging folders"
                print(f"{change}, killed before each of its {counts['steps']} steps{how}: whole", flush=True)
        started = time.monotonic()
        counts = killed_at_random(world, args.points, args.seed)
        print(f"{args.points:,} processes killed in {time.monotonic() - started:.0f} s\n{summary(counts)}", flush=True)
        seconds = many_at_once(world, 16, args.rounds, args.seed)
        print(f"16 processes, {args.rounds} rounds each, in {seconds:.0f} s: whole skills, no deadlock")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit(f"{error}")
