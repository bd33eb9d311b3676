"""Change the skills of a project in a process that is killed, and check that all changes or none are there.

`python tests/interruptions.py` kills 500 processes at random times: `make shared`.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from endurance import Content, content, in_child, killed
from prowess.install import lock_project

if TYPE_CHECKING:
    from collections.abc import Callable

ROOTS = (".agents/skills", ".claude/skills")
LOCK = "skills-lock.json"


def write(top: Path, name: str, version: int) -> None:
    """Write a version of a skill into a folder."""
    folder = top / name
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Version {version}.\n---\n")
    (folder / "scripts/run.sh").write_text(f"echo {version}\n")


def change(
    project: Path,
    version: int | None,
    *,
    removed: tuple[str, ...] = (),
    lock: str | None,
    roots: tuple[str, ...] = ROOTS,
) -> None:
    """Add or replace `ink` and `pen` in all folders with a version, remove skills, and write the lock."""
    data = str(project.parent / "data")
    with lock_project(str(project), str(project / LOCK), data) as locked, locked.staging() as staging:
        for index, root in enumerate(ROOTS if version is not None else ()):
            for name in ("ink", "pen"):
                staging.place(root, name)
                write(project / staging.name / f"new/{index}", name, version or 0)
        staging.commit(lock, [(root, name) for root in ROOTS for name in removed])


def add(project: Path) -> None:
    """Add two skills."""
    change(project, 1, lock="one\n")


def update(project: Path) -> None:
    """Replace both."""
    change(project, 2, lock="two\n")


def restore(project: Path) -> None:
    """Replace both without a change of the lock, as `prowess install` does."""
    change(project, 2, lock="one\n")


def remove(project: Path) -> None:
    """Remove both, and the lock."""
    change(project, None, removed=("ink", "pen"), lock=None)


CHANGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "add": ("others", add),
    "update": ("added", update),
    "restore": ("added", restore),
    "remove": ("added", remove),
    "remove all": ("only ours", remove),
}
"""Each change: the state of the project before, and the function that makes it."""


class Projects:
    """A project in each state, and copies of it to change."""

    def __init__(self, top: Path) -> None:
        self.top = top
        (top / "others/.agents/skills/hand").mkdir(parents=True)
        (top / "others/.agents/skills/hand/SKILL.md").write_text("by hand")
        (top / "others/README.md").write_text("mine")
        add(Path(shutil.copytree(top / "others", top / "added")))
        (top / "only ours").mkdir()
        add(top / "only ours")
        self.after: dict[str, Content] = {}
        for name, (_, work) in CHANGES.items():
            project = self.fresh(name)
            work(project)
            self.after[name] = content(project)

    def fresh(self, change: str) -> Path:
        """Return a copy of the project before a change."""
        project = self.top / "project"
        shutil.rmtree(project, ignore_errors=True)
        return Path(shutil.copytree(self.top / CHANGES[change][0], project))

    def recover(self) -> None:
        """Be the next process."""
        project = self.top / "project"
        with lock_project(str(project), str(project / LOCK), str(self.top / "data")):
            pass

    def check(self, name: str) -> str:
        """Check that the next process finds all changes or none, and leaves nothing else; return which."""
        self.recover()
        now = content(self.top / "project")
        before = content(self.top / CHANGES[name][0])
        assert now in (before, self.after[name]), f"{name}: {sorted(now)}"
        assert not os.listdir(self.top / "data/transactions"), name
        return "old" if now == before else "new"


def killed_at_every_step(projects: Projects, name: str, *, exchanged: bool = True, half: bool = False) -> list[str]:
    """Kill a process before each step of a change; return what was found each time, and `done` at the end."""
    found: list[str] = []
    for at in range(1, 1000):
        project = projects.fresh(name)

        def die(project: Path = project, at: int = at) -> None:
            with killed(at, half=half).watched(exchanged=exchanged):
                CHANGES[name][1](project)

        code = in_child(die)
        if code == 0:
            return [*found, "done"]
        assert code == 9, f"{name}, step {at}"
        found.append(projects.check(name))
    raise AssertionError("the change never finishes")


def killed_at_random(projects: Projects, count: int, seed: int) -> dict[str, int]:
    """Kill processes at random times; return how many left the old and the new state."""
    chance = Random(seed)  # noqa: S311 - nothing secret
    counts = {"old": 0, "new": 0}
    lengths = {}
    for name in CHANGES:
        taken = []
        for _ in range(3):
            project = projects.fresh(name)
            started = time.perf_counter()
            assert in_child(lambda name=name, project=project: CHANGES[name][1](project)) == 0  # type: ignore[misc]
            taken.append(time.perf_counter() - started)
        lengths[name] = statistics.median(taken)
    number = 0
    while sum(counts.values()) < count:
        number += 1
        name = [*CHANGES][number % len(CHANGES)]
        project = projects.fresh(name)
        pid = os.fork()
        if not pid:
            try:
                CHANGES[name][1](project)
            finally:
                os._exit(0)
        time.sleep(chance.random() * lengths[name])
        os.kill(pid, signal.SIGKILL)
        was_killed = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        found = projects.check(name)
        if was_killed:
            counts[found] += 1
    return counts


def main() -> None:
    """Kill as many processes as the argument says."""
    import tempfile

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    with tempfile.TemporaryDirectory() as top:
        counts = killed_at_random(Projects(Path(top)), count, seed)
    print(f"{count} processes killed (seed {seed}): {counts['old']} old, {counts['new']} new, none in between")


if __name__ == "__main__":
    main()
