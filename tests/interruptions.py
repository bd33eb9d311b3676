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
from contextlib import redirect_stderr, redirect_stdout
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

    most_steps = 1_000

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

    def change(self, project: Path, name: str) -> None:
        """Make a change."""
        CHANGES[name][1](project)

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


def killed_at_steps(
    projects: Projects | CommandProjects, name: str, *, every: int = 1, exchanged: bool = True, half: bool = False
) -> list[str]:
    """Kill a process before each step of a change, or every so many; return what was found, and `done` at the end."""
    found: list[str] = []
    for at in range(1, projects.most_steps, every):
        project = projects.fresh(name)

        def die(project: Path = project, at: int = at) -> None:
            with killed(at, half=half).watched(exchanged=exchanged):
                projects.change(project, name)

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


COMMANDS = {
    "add": ("empty", ("add", "../source", "--yes", "--host", "claude-code", "--host", "codex")),
    "update": ("installed", ("update", "--yes")),
    "install": ("without files", ("install",)),
    "remove": ("installed", ("remove", "ink", "pen", "--yes")),
    "update mounted": ("mounted", ("update", "--yes")),
    "add mounted": ("mounted", ("add", "../source", "ink", "--yes", "--host", "claude-code")),
    "remove mounted": ("mounted", ("remove", "ink", "pen", "--yes")),
}
"""Each command, with the state of the project before."""


class CommandProjects:
    """A source and projects in each state, and a copy of one to run a command in."""

    most_steps = 10_000

    def __init__(self, top: Path) -> None:
        self.top = top
        os.environ["PROWESS_DATA_DIR"] = str(top / "data")
        (top / "home").mkdir()
        for name in ("ink", "pen"):
            write(top / "source", name, 1)
        (top / "empty/.git").mkdir(parents=True)
        (top / "empty/README.md").write_text("mine")
        self.run(Path(shutil.copytree(top / "empty", top / "installed")), COMMANDS["add"][1])
        shutil.copytree(top / "installed", top / "without files", symlinks=True)
        for folder in (".agents", ".claude"):
            shutil.rmtree(top / "without files" / folder)
        project = Path(shutil.copytree(top / "empty", top / "project"))  # a record has the paths of the sources
        self.run(project, ("add", "../source", "--yes", "--host", "codex"))
        for host, name in (("claude-code", "ink"), ("camel", "quill=.agents/skills/ink")):
            source = name if "=" in name else f".agents/skills/{name}"
            self.run(project, ("mount", source, "--project", "--host", host))
        shutil.copytree(project, top / "mounted")
        shutil.rmtree(top / "source")
        for name in ("ink", "pen"):
            write(top / "source", name, 2)
        # What `install` fetches must be what is locked: the store has it.
        self.after = {}
        for name in COMMANDS:
            project = self.fresh(name)
            self.run(project, COMMANDS[name][1])
            self.after[name] = content(project)

    def fresh(self, command: str) -> Path:
        """Return a copy of the project before a command."""
        project = self.top / "project"
        shutil.rmtree(project, ignore_errors=True)
        return Path(shutil.copytree(self.top / COMMANDS[command][0], project, symlinks=True))

    def change(self, project: Path, name: str) -> None:
        """Run the command of that name."""
        self.run(project, COMMANDS[name][1])

    def run(self, project: Path, arguments: tuple[str, ...]) -> None:
        """Run a command, and check that it succeeds."""
        from prowess.cli import main

        with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
            code = main([*arguments, "--cwd", str(project), "--home", str(self.top / "home")])
        assert code == 0, arguments

    def check(self, name: str) -> str:
        """Check that the next command finds all changes or none, and that the killed one succeeds then."""
        project = self.top / "project"
        with lock_project(str(project), str(project / LOCK), str(self.top / "data")):
            pass
        now = content(project)
        before = content(self.top / COMMANDS[name][0])
        assert now in (before, self.after[name]), f"{name}: {sorted(now)}"
        if now == before:
            self.run(project, COMMANDS[name][1])
            assert content(project) == self.after[name], f"{name} again"
        return "old" if now == before else "new"


def commands_killed_at_random(projects: CommandProjects, count: int, seed: int) -> dict[str, int]:
    """Kill whole commands at random times; return how many left the old and the new state."""
    chance = Random(seed)  # noqa: S311 - nothing secret
    counts = {"old": 0, "new": 0}
    number, length = 0, 0.05
    while sum(counts.values()) < count:
        number += 1
        name = [*COMMANDS][number % len(COMMANDS)]
        project = projects.fresh(name)
        pid = os.fork()
        if not pid:
            try:
                projects.run(project, COMMANDS[name][1])
            finally:
                os._exit(0)
        time.sleep(chance.random() * length)
        os.kill(pid, signal.SIGKILL)
        was_killed = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        # As long as half of the processes have ended before, shorten the wait.
        length = min(1.0, max(0.005, length * (1.05 if was_killed else 0.95)))
        found = projects.check(name)
        if was_killed:
            counts[found] += 1
    return counts


def main() -> None:
    """Kill as many processes as the argument says, half of them in the middle of whole commands."""
    import tempfile

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    with tempfile.TemporaryDirectory() as top:
        (Path(top) / "changes").mkdir()
        (Path(top) / "commands").mkdir()
        projects = Projects(Path(top) / "changes")
        steps = {name: len(killed_at_steps(projects, name)) - 1 for name in CHANGES}
        changes = killed_at_random(projects, count - count // 2, seed)
        whole = CommandProjects(Path(top) / "commands")
        steps |= {name: len(killed_at_steps(whole, name)) - 1 for name in COMMANDS if "mounted" in name}
        commands = commands_killed_at_random(whole, count // 2, seed)
    print("killed before every step: " + ", ".join(f"{name} ({number})" for name, number in steps.items()))
    for counts, what in ((changes, "changes"), (commands, "commands")):
        total = sum(counts.values())
        print(f"{total} {what} killed (seed {seed}): {counts['old']} old, {counts['new']} new, none in between")


if __name__ == "__main__":
    main()
