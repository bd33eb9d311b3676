"""Follow every cure that is printed in random worlds, and check that it keeps what it promises.

`python tests/cured_worlds.py` makes 400 worlds (`make cures`): skills of a lock, mounted copies, plugins, broken and
misnamed files, names that are taken, settings, folders that no agent searches. In each one every command that a cure
consists of is typed as it is printed: alone, and all of them in their order; a folder that a cure moves away first is
moved. Afterwards the agents see what was promised, also after `update`; no agent has lost anything; nothing was copied
beside a lock; `verify` passes; `remove` leaves no copy, and `mount --remove` none of those that were mounted.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

from mutations import output, settings_of
from prowess.catalog import AWAITS_TRUST
from prowess.checks import report
from prowess.filesystem import Question
from prowess.hosts import host_names, load_host, skills_folder
from prowess.lock import folders_of, read_lock
from prowess.skill import has_integrity
from prowess.visibility import Cure, Kind, LossGroup, group_losses
from support.trees import write_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from mutations import Output
    from prowess.visibility import Comparison, View

    Scope = Literal["project", "user"]
    Views = dict[tuple[str, str], View]
    """How each agent sees each skill, by the path of its SKILL.md without links, and the agent."""

NAMES = ("alpha", "bravo", "carol", "delta", "echo", "fox")
"""Only a few, so that several skills have the same name."""
AGENTS = tuple(name for name in host_names() if "@" not in name and name != "prowess")
TEXTS = {
    "good": "---\nname: {name}\ndescription: Reads {name}. Use it for {name}.\n---\nDo {word}.\n",
    "to fix": "---\nname: {name}\ndescription: Use when: {word}\n---\nDo it.\n",
    "other name": "---\nname: other-{word}\ndescription: Reads {name}.\n---\nDo it.\n",
    "invalid name": "---\nname: Not_{word}\ndescription: Reads {name}.\n---\nDo it.\n",
    "no description": "---\nname: {name}\n---\nDo {word}.\n",
    "no front matter": "# {name}\n\nDo {word}.\n",
    "broken": "---\nname: {name}\ndescription: [{word}\n---\nDo it.\n",
    "for users": "---\nname: {name}\ndescription: Reads.\ndisable-model-invocation: true\n---\nDo {word}.\n",
    "long": "---\nname: {name}\ndescription: " + "Reads files. " * 90 + "\n---\nDo {word}.\n",
    "number": "---\nname: {name}\ndescription: 2026\n---\nDo {word}.\n",
}
HOME = "-home"
"""The end of the seed of a world in which skills of the project, also of its lock, are mounted into the home too."""
CLEAN = (Kind.SEEN, Kind.USER_ONLY, Kind.DEFERRED, Kind.NAME_ONLY, Kind.LEFT_OUT, Kind.UNDEFINED)
"""What an agent shows of a skill that it has not lost: a budget may be exceeded, a folder may wait for trust."""


class FaultError(AssertionError):
    """A cure did not keep its promise."""


@dataclass
class World:
    """A project and a home with skills of all kinds, some agents, and what is locked."""

    seed: str
    top: Path
    chance: Random = field(init=False)
    hosts: list[str] = field(init=False)
    cwd: Path = field(init=False)
    events: list[str] = field(default_factory=list)
    """What was done, for the report of a fault."""

    def __post_init__(self) -> None:
        chance = self.chance = Random(self.seed)  # noqa: S311 - not for secrets
        self.hosts = chance.sample(AGENTS, chance.randrange(2, 5))
        if chance.random() < 0.7 and "claude-code" not in self.hosts:
            self.hosts[0] = "claude-code"
        self.repo, self.home = self.top / "repo", self.top / "home"
        write_repository(self.repo / ".git")
        self.cwd = self.repo / chance.choice(("", "", "", "sub"))
        for folder in (self.home, self.cwd, self.top / "vendor"):
            folder.mkdir(parents=True, exist_ok=True)
        with chdir(self.cwd):
            self._fill(chance)

    def _fill(self, chance: Random) -> None:
        project = [f"repo/{folder}" for host in self.hosts if (folder := skills_folder(host, "project"))]
        user = [f"home/{folder}" for host in self.hosts if (folder := skills_folder(host, "user"))]
        others = ["repo/.agents/skills", "repo/skills", "repo/lib/it's here", "repo/sub/.claude/skills", "repo/docs"]
        places = project * 2 + user + others
        for _ in range(chance.randrange(1, 6)):
            self.write(chance.choice(places), chance.choice(NAMES), self.text(chance))
        if chance.random() < 0.3:
            self.write_plugin(chance)
        if chance.random() < 0.7:
            self.lock(chance)
        for _ in range(chance.choice((0, 0, 1, 2))):
            self.mount(chance)
        for host in self.hosts:
            for path, text in settings_of(load_host(host), self.cwd, chance) if chance.random() < 0.15 else ():
                self.write_settings(self.top / path, text)
        if chance.random() < 0.01:
            for number in range(2001):
                (self.repo / f".agents/skills/many/{number}").mkdir(parents=True)
        for file in sorted(self.skill_files()):
            if not (self.top / "vendor/.git").exists() or self.top / "vendor" not in file.parents:
                self.damage(file, chance)

    @staticmethod
    def text(chance: Random) -> str:
        return "good" if chance.random() < 0.5 else chance.choice([*TEXTS])

    def write(self, place: str, name: str, kind: str, *words: str) -> Path:
        """Write a skill."""
        word = self.chance.choice(words or ("work", "things"))
        file = self.top / place / name / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TEXTS[kind].format(name=name, word=word))
        self.events.append(f"skill {place}/{name}: {kind}")
        return file

    def write_plugin(self, chance: Random) -> None:
        top = self.repo / "plugins/tools"
        (top / ".claude-plugin").mkdir(parents=True)
        (top / ".claude-plugin/plugin.json").write_text('{"name": "tools"}')
        self.write("repo/plugins/tools/skills", chance.choice(NAMES), self.text(chance))

    def lock(self, chance: Random) -> None:
        """Install skills of a folder or of a repository."""
        vendor = chance.choice((self.repo / "vendor", self.top / "vendor"))
        names = chance.sample(NAMES, chance.randrange(1, 4))
        for name in names:
            kind = "good" if chance.random() < 0.7 else self.text(chance)
            self.write(f"{vendor.relative_to(self.top)}", name, kind, "jobs")
        source = os.path.relpath(vendor, self.cwd)
        source = source if source.startswith(".") else f"./{source}"
        if vendor.parent == self.top and chance.random() < 0.3:
            git("init", "-q", cwd=vendor)
            commit(vendor)
            source = f"git+file://{vendor}"
        hosts = [host for host in chance.sample(self.hosts, chance.randrange(0, 2)) if skills_folder(host, "project")]
        options = [part for host in hosts for part in ("--host", host)]
        options += ["--link"] if chance.random() < 0.15 else []
        options += ["--global"] if chance.random() < 0.15 else []
        chosen = [] if chance.random() < 0.3 else names[:1]
        self.run("add", source, *chosen, "--yes", *options)

    def mount(self, chance: Random) -> None:
        """Mount a skill for an agent."""
        chosen, host = chance.choice(sorted(self.skill_files())).parent, chance.choice(self.hosts)
        is_inside = self.repo in chosen.parents and skills_folder(host, "project") is not None
        if self.seed.endswith(HOME):
            is_inside = is_inside and chance.random() < 0.4
        where = ["--project"] if is_inside else ["--to", str(self.home)]
        # Below the top of the project, a copy does not follow its lock either.
        self.run("mount", str(chosen), *where, "--host", host, "--cwd", str(self.repo))

    def write_settings(self, file: Path, text: str) -> None:
        if file.is_dir():
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.events.append(f"settings {file.relative_to(self.top)}: {text.strip()}")

    def damage(self, file: Path, chance: Random) -> None:
        """Change something by hand, if chance wants it."""
        if chance.random() < 0.06:
            file.rename(file.with_name("skill.md"))
        elif chance.random() < 0.06:
            with file.open("a") as stream:
                stream.write("Mine.\n")
        elif chance.random() < 0.03:
            shutil.rmtree(file.parent)
        else:
            return
        self.events.append(f"changed by hand: {file.relative_to(self.top)}")

    # ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def env(self) -> dict[str, str]:
        own = {"HOME": str(self.home), "PROWESS_DATA_DIR": str(self.top / "data"), "PROWESS_NO_CACHE": "1"}
        return {**own, "PROWESS_SKILL_DIR": "", "NO_COLOR": "1"}

    def run(self, *arguments: str) -> Output:
        """Run a command of Prowess."""
        result = output(arguments, self.env)
        self.events.append(f"$ prowess {shlex.join(arguments)}  [{result.code}] {result.words.strip()[:400]}")
        assert "Traceback" not in result.words, result.words
        return result

    def type(self, line: str) -> None:
        """Type a line as a user does, and expect that it succeeds."""
        words = [
            os.path.join(self.home, word[2:]) if word == "~" or word.startswith("~/") else word for word in split(line)
        ]
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            name, *arguments = words[:end]
            if name != "prowess":
                raise FaultError(f"`{line}` is not a command of Prowess")
            arguments += ["--yes"] if arguments[0] in ("add", "update") else []
            result = self.run(*arguments)
            # `check --fix` may find other problems than the one that it fixed.
            if result.code and not (arguments[0] == "check" and result.code == 1 and "cannot fix" not in result.words):
                raise FaultError(f"`{line}` fails: {result.words}")
            words = words[end + 1 :]

    # ── what there is ────────────────────────────────────────────────────────────────────────────────────────────────

    def comparison(self, *, losses: bool = False) -> Comparison:
        """Return what `check` computes, or that without the skills that the repository offers: these are not lost."""
        question = Question.about(self.cwd, self.home, env={**os.environ, **self.env})
        found = report(question, hosts=self.hosts, agents=self.hosts)
        assert found.comparison is not None
        return found.offer.others if losses and found.offer is not None else found.comparison

    def locks(self) -> dict[str, Path]:
        """Return the locks that there are, by the option of the commands for them."""
        locks = {"": self.repo / "skills-lock.json", "--global": self.top / "data/skills-lock.json"}
        return {option: path for option, path in locks.items() if path.exists()}

    def locked_names(self, option: str) -> list[str]:
        return [*json.loads(self.locks()[option].read_text())["skills"]]

    def verified(self) -> bool:
        return all(not self.run("verify", *filter(None, [option])).code for option in self.locks())

    def skill_files(self) -> set[Path]:
        """Return all files of skills outside the store."""
        found = set()
        for folder, _, files in os.walk(self.top, followlinks=False):
            if "/data/" not in f"{folder}/":
                found |= {Path(folder, file) for file in files if file.lower() == "skill.md"}
        return found

    def _records(self) -> Iterator[tuple[Path, dict[str, str]]]:
        """Yield each skills folder with a record of mounts, and what that says of one copy in it."""
        for record in self.top.rglob(".prowess-*.json"):
            if "data" not in record.relative_to(self.top).parts:
                root = record.with_name(record.stem.removeprefix(".prowess-"))
                yield from ((root, item) for item in json.loads(record.read_text())["skills"])

    def mounted_from(self) -> dict[Path, str]:
        """Return the source of each mounted copy, by the records of mounts."""
        return {root / item["name"]: item["source"] for root, item in self._records()}

    def mounts(self) -> dict[Path, tuple[Path, str]]:
        """Return the skills folder of each mounted copy, and its digest."""
        return {root / item["name"]: (root, item["seal"]) for root, item in self._records()}

    def old_copies(self) -> set[str]:
        """Return the mounted copies and installed skills whose source has changed since, as paths of SKILL.md."""
        pairs = {str(copy / "SKILL.md"): Path(source, "SKILL.md") for copy, source in self.mounted_from().items()}
        for vendor in (self.repo / "vendor", self.top / "vendor"):
            pairs |= {str(path / "SKILL.md"): vendor / path.name / "SKILL.md" for path in installed_folders(self)}
        return {copy for copy, source in pairs.items() if text_of(Path(copy)) != text_of(source)}

    def change_sources(self) -> None:
        """Publish new versions of the skills of the locks."""
        names = {name for option in self.locks() for name in self.locked_names(option)}
        for vendor in (self.repo / "vendor", self.top / "vendor"):
            for file in vendor.glob("*/SKILL.md"):
                if file.parent.name in names:
                    file.write_text(f"{file.read_text()}New.\n")
            if (vendor / ".git").exists():
                commit(vendor)


def text_of(file: Path) -> str | None:
    return file.read_text() if file.is_file() else None


def split(line: str) -> list[str]:
    return shlex.split(line, comments=True)


def git(*arguments: str, cwd: Path) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "change", "--allow-empty", cwd=folder)


# ── what is promised ─────────────────────────────────────────────────────────────────────────────────────────────────


def views_of(comparison: Comparison) -> Views:
    return {(skill.real, host): view for skill in comparison.skills for host, view in skill.views.items()}


def view_of(views: Views, path: str, host: str) -> View | None:
    """Return a view, also if the file was called `skill.md`, or a link leads to another folder of the store now."""
    named = path if os.path.lexists(path) else os.path.join(os.path.dirname(path), "SKILL.md")
    return views.get((os.path.realpath(named), host))


def is_kept(view: View) -> bool:
    return view.loss is None and (view.kind in CLEAN or view.rule == AWAITS_TRUST or view.kind is Kind.UNTRUSTED)


def promises(group: LossGroup, cure: Cure) -> list[tuple[str, str]]:
    """Return the skills that a cure promises to agents."""
    return [(skill.path, host) for skill in group.skills for host in cure.hosts]


def commands(comparison: Comparison) -> Iterator[tuple[LossGroup, Cure]]:
    for group in group_losses(comparison):
        yield from ((group, cure) for cure in group.cures if cure.is_command)


def by_hand(comparison: Comparison) -> Iterator[tuple[LossGroup, Cure]]:
    """Yield the cures that move one folder away by hand, and then need a command."""
    for group in group_losses(comparison):
        yield from (
            (group, cure) for cure in group.cures if re.fullmatch(r"move [^;\s]+ away; then `[^`]*`", cure.text)
        )


def check_words(world: World, comparison: Comparison) -> None:
    """Check what is true of all printed commands, before one is typed."""
    shown = world.run("check", "--full", *(part for host in world.hosts for part in ("--host", host))).out.decode()
    printed = [line.strip() for line in shown.splitlines() if line.startswith("    prowess ")]
    plain = [line.partition("  # ")[0] for line in printed]
    if len({*plain}) < len(plain):
        raise FaultError(f"a command is printed twice:\n{shown}")
    for group, cure in commands(comparison):
        if group.kind not in ("text", "field") and not any(line.startswith(cure.text) for line in printed):
            raise FaultError(f"`{cure.text}` is not printed:\n{shown}")
    for group in group_losses(comparison):
        for cure in group.cures:
            for command in [cure.text] if cure.is_command else re.findall("`(prowess [^`]*)`", cure.text):
                check_command(world, command, cure)


def check_command(world: World, command: str, cure: Cure) -> None:
    """Check that a command names only paths that exist, and a reason where it skips validation."""
    if "--no-validate" in command and not re.search(r"--no-validate.*  # \S", command):
        raise FaultError(f"no reason for --no-validate: {command}")
    words = split(command)
    for word in words:
        path = word.partition("=")[2] if re.match(r"[a-z0-9-]+=[./~]", word) else word
        is_missing = path.startswith(("./", "../", "/")) and not os.path.lexists(os.path.join(world.cwd, path))
        if is_missing and not cure.text.startswith("bring its source back"):
            raise FaultError(f"{path} does not exist: {cure.text}")


class Before:
    """What there is before any cure."""

    def __init__(self, world: World) -> None:
        self.comparison = world.comparison(losses=True)
        self.views, self.files = views_of(world.comparison()), world.skill_files()
        self.mounted, self.old = world.mounted_from(), world.old_copies()
        self.is_verified = world.verified()


def check_state(world: World, before: Before, promised: list[tuple[str, str]], cure: str) -> None:
    """Check that what was promised is kept, and that nothing else was lost."""
    now = views_of(world.comparison())
    for path, host in promised:
        seen = view_of(now, path, host)
        if seen is None or not is_kept(seen):
            raise FaultError(f"{host} does not see {path} after `{cure}`: {seen and (seen.kind, seen.reason)}")
    for (real, host), view in before.views.items():
        after = None if real in before.old else now.get((real, host))
        if is_kept(view) and after is not None and not is_kept(after):
            raise FaultError(f"{host} has lost {real} by `{cure}`: {after.kind}, {after.reason}")
    if before.is_verified and not world.verified():
        raise FaultError(f"`verify` fails after `{cure}`")
    installed = {str(path) for path in installed_folders(world)}
    for copy, source in world.mounted_from().items():
        if copy not in before.mounted and source in installed:
            raise FaultError(f"{copy} is a copy beside the lock, by `{cure}`")


def installed_folders(world: World) -> set[Path]:
    """Return the folders into which skills of a lock are installed."""
    tops: dict[Scope, Path] = {"project": world.repo, "user": world.home}
    found = set()
    for scope, path in zip(tops, ("", "--global"), strict=True):
        lock = read_lock(str(world.locks()[path])) if path in world.locks() else None
        for entry in lock.skills.values() if lock is not None else ():
            found |= {tops[scope] / folder / entry.folder for folder in folders_of(entry, scope)}
    return found


def check_later(world: World, promised: list[tuple[str, str]], cure: str) -> None:
    """Check that updates change nothing of it."""
    for change in (False, True):
        if change:
            world.change_sources()
        for option in world.locks():
            result = world.run("update", "--yes", *filter(None, [option]))
            if result.code:
                raise FaultError(f"`update` fails after `{cure}`: {result}")
        later = views_of(world.comparison())
        for path, host in promised:
            seen = view_of(later, path, host)
            if seen is None or not is_kept(seen):
                raise FaultError(f"{host} does not see {path} after `{cure}` and `update`: {seen and seen.reason}")
        if not world.verified():
            raise FaultError(f"`verify` fails after `{cure}` and `update` ({change=})")


def check_removal(world: World, files: set[Path], locked: bool, cure: str) -> None:
    """Check that nothing that a cure made of skills of a lock is left when they are removed."""
    for option in [*world.locks()]:
        result = world.run("remove", "--yes", *world.locked_names(option), *filter(None, [option]))
        if result.code:
            raise FaultError(f"`remove` fails after `{cure}`: {result.words}")
    left = world.skill_files() - files
    left = {path for path in left if path.with_name("skill.md") not in files}
    if locked and left:
        raise FaultError(f"`remove` leaves {left} after `{cure}`")


def check_unmounting(world: World, cure: str) -> None:
    """Check that `mount --remove` removes each mounted copy that was not changed by hand, and forgets it."""
    for copy, (root, seal) in world.mounts().items():
        if not has_integrity(str(copy), seal):
            continue
        # Below the top of the project, a folder is named like a home.
        inside = f"{root}" in {
            f"{world.repo / folder}" for name in AGENTS if (folder := skills_folder(name, "project"))
        }
        scope: Scope = "project" if inside else "user"
        host, folder = next(
            (name, folder)
            for name in AGENTS
            if (folder := skills_folder(name, scope)) and f"{root}".endswith(f"/{folder}")
        )
        base = f"{root}".removesuffix(f"/{folder}")
        where = ["--project"] if inside else ["--to", base]
        result = world.run("mount", "--remove", copy.name, *where, "--host", host)
        if result.code or copy.exists():
            raise FaultError(f"`mount --remove` leaves {copy} after `{cure}`: {result.words}")
    if left := [copy for copy, (_, seal) in world.mounts().items() if has_integrity(str(copy), seal)]:
        raise FaultError(f"the records of mounts name {left} after `{cure}`")


# ── one world ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Snapshot:
    """A copy of a world, to go back to."""

    def __init__(self, world: World) -> None:
        self.world, self.copy = world, world.top.with_name(f"{world.top.name}.saved")
        shutil.copytree(world.top, self.copy, symlinks=True)
        self.events = [*world.events]

    def restore(self) -> None:
        make_writable(self.world.top)
        shutil.rmtree(self.world.top)
        shutil.copytree(self.copy, self.world.top, symlinks=True)
        self.world.events[:] = self.events
        os.chdir(self.world.cwd)

    def remove(self) -> None:
        for folder in (self.copy, self.world.top):
            make_writable(folder)
            shutil.rmtree(folder)


def make_writable(top: Path) -> None:
    """Let the folders of the store be removed."""
    for folder, _, _ in os.walk(top):
        os.chmod(folder, 0o700)


def follow_cures(seed: str, top: Path) -> int:
    """Follow the cures of one world, each alone and all in their order; return how many there were.

    Raises:
        FaultError: one does not keep its promise.
    """
    world = World(seed, top)
    snapshot = Snapshot(world)
    try:
        with chdir(world.cwd), patch.dict(os.environ, world.env):
            return _follow(world, snapshot)
    except FaultError as error:
        history = "\n".join(f"    {line}" for line in world.events)
        raise FaultError(f"world {seed} of {world.hosts} in {world.cwd}:\n{history}\n{error}") from None
    finally:
        snapshot.remove()


def _follow(world: World, snapshot: Snapshot) -> int:
    before = Before(world)
    check_words(world, before.comparison)
    found = [*commands(before.comparison)]

    def check(promised: list[tuple[str, str]], cure: str, *, is_locked: bool) -> None:
        check_state(world, before, promised, cure)
        if before.is_verified:  # otherwise a skill of the lock was changed by hand: `update` and `remove` refuse it
            check_later(world, promised, cure)
            check_removal(world, before.files, is_locked, cure)
            check_unmounting(world, cure)

    for group, cure in by_hand(before.comparison):
        snapshot.restore()
        path, command = cure.text.removeprefix("move ").split(" away; then ")
        moved = Path(world.cwd, os.path.expanduser(path))
        moved.rename(moved.with_name(f"moved-{moved.name}.away"))
        world.events.append(f"moved away: {moved}")
        world.type(command.strip("`"))
        for path, host in promises(group, cure):
            seen = view_of(views_of(world.comparison()), path, host)
            if seen is None or not is_kept(seen):
                raise FaultError(f"{host} does not see {path} after `{cure.text}`: {seen and seen.reason}")
    for group, cure in found:
        snapshot.restore()
        world.type(cure.text)
        check(promises(group, cure), cure.text, is_locked="prowess add" in cure.text)
    snapshot.restore()
    for _, cure in found:
        world.type(cure.text)
    promised = [promise for group, cure in found for promise in promises(group, cure)]
    check(promised, "all of them", is_locked=all("prowess add" in cure.text for _, cure in found))
    return len(found)


def main() -> None:
    """Make as many worlds as the argument says."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    seed = sys.argv[2] if len(sys.argv) > 2 else str(int(time.time()))
    followed = faults = 0
    with tempfile.TemporaryDirectory() as top:
        for number in range(count):
            try:
                name = f"{seed}-{number}" + HOME * (number % 2)
                followed += follow_cures(name, Path(top).resolve() / "world")
            except FaultError as error:
                faults += 1
                print(error, "\n")
    print(f"{count} worlds (seed {seed}): {followed} cures followed, {faults} faults")
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
