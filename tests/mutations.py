"""Change folders of skills at random, and check that the cache never returns a stale result.

`python tests/mutations.py` makes ten thousand changes, in many small worlds side by side. After each one it compares
the output of commands with and without the cache, and live catalogs with new ones.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import struct
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from difflib import unified_diff
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar
from unittest.mock import patch

import prowess.cache
from prowess import cli
from prowess.cache import Cache
from prowess.catalog import Entry, LiveCatalog, discover
from prowess.hosts import host_names, load_host
from prowess.skill import integrity_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess.cache import Recorded
    from prowess.catalog import Catalog
    from prowess.hosts import Host

SETTLE_SECONDS = 0.02
"""Seconds, instead of the cache's own limit: more than one tick of the clock of any file system that tests run on."""
WAIT = SETTLE_SECONDS + 0.01
"""Seconds after a change before results are cached."""
ROUNDS = 20
"""Changes to one world; after more than that little is left of it."""
SIDE_BY_SIDE = 50
"""Worlds that are changed together, so that they share the waiting time."""

Change = tuple[str, *tuple[Any, ...]]
"""The name of a change and its arguments: strings are paths relative to the world, bytes are content."""

# ── commands with and without a cache ────────────────────────────────────────────────────────────────────────────────


class Counted(Cache):
    """A cache that soon trusts a changed file, and counts hits and misses."""

    counts: ClassVar[Counter[str]]

    def __init__(self, folder: str) -> None:
        super().__init__(folder, settle_ns=int(SETTLE_SECONDS * 1_000_000_000))

    def load(self, key: Sequence[str], env: Mapping[str, str], *, outdated: bool = False) -> Recorded | None:
        answer = super().load(key, env, outdated=outdated)
        self.counts["misses" if answer is None else "outdated" if answer.changed else "hits"] += 1
        return answer

    def update(self, *args: Any) -> bool:
        updated = super().update(*args)
        self.counts["updated" if updated else "not updated"] += 1
        return updated

    def store(self, *args: Any, **named: Any) -> bool:
        stored = super().store(*args, **named)
        self.counts["stored" if stored else "not stored"] += 1
        return stored


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Make `discover` use such a cache, and yield the counts."""
    Counted.counts = Counter()
    with patch.object(prowess.cache, "Cache", Counted):
        yield Counted.counts


@dataclass(frozen=True, slots=True)
class Output:
    """The exit code and output of a command."""

    code: int
    out: bytes
    words: str


def output(arguments: Sequence[str], env: Mapping[str, str]) -> Output:
    """Run a command in this process."""
    before = sys.stdout, sys.stderr
    out = io.BytesIO()
    sys.stdout, sys.stderr = io.TextIOWrapper(out, "utf-8", write_through=True), io.StringIO()
    try:
        with patch.dict(os.environ, env):
            code = cli.main(arguments)
        return Output(code, out.getvalue(), sys.stderr.getvalue())
    finally:
        sys.stdout, sys.stderr = before


def uncached(arguments: Sequence[str], env: Mapping[str, str]) -> Output:
    """Run a command without a cache."""
    return output(arguments, {**env, "PROWESS_NO_CACHE": "1"})


def cached(arguments: Sequence[str], env: Mapping[str, str], folder: str) -> Output:
    """Run a command with a cache."""
    return output(arguments, {**env, "PROWESS_NO_CACHE": "", "PROWESS_CACHE_DIR": folder})


def difference(right: Output, wrong: Output) -> str:
    """Return the difference of two outputs, at most one screen."""
    lines = unified_diff(
        f"exit code {right.code}\n{right.words}\n{right.out.decode(errors='backslashreplace')}".split("\n"),
        f"exit code {wrong.code}\n{wrong.words}\n{wrong.out.decode(errors='backslashreplace')}".split("\n"),
        "without a cache",
        "with a cache",
        "",
        "",
        1,
        "",
    )
    return "\n".join(line[:300] for line, _ in zip(lines, range(30), strict=False))


def folders_of(host: Host) -> tuple[str, str]:
    """Return the skill folders of a host in a project and in a home, relative to these."""
    plain = [root.path for root in host.roots if root.path and root.path[0] not in "/@$" and "*" not in root.path]
    plain += [root.path.partition("|")[2] for root in host.roots if "|~/" in root.path and "*" not in root.path]
    project = next((path for path in plain if not path.startswith("~/")), ".agents/skills")
    user = next((path[2:] for path in plain if path.startswith("~/")), ".agents/skills")
    return project, user


# ── worlds ───────────────────────────────────────────────────────────────────────────────────────────────────────────

GOLDEN = Path(__file__).parent / "golden"
STRANGE = sorted(
    data for path in GOLDEN.glob("*/SKILL.md") if len(data := path.read_bytes()) < 4000 and b"name" in data
)
NAMES = ("alpha", "bravo", "Alpha", "delta", "echo")
"""Only a few, so that several skills have the same name."""
WORDS = (
    "Reads forms.",
    "Fills forms.",
    "Reads any form.",
    "Fills any form.",
    "Use: it.",
    "<b>bold</b>",
    "Zählt.",
    '"quoted"',
    "|\n  block\n  of text",
    "x",
)


def skill_text(chance: Random) -> bytes:
    """Return the content of a skill, mostly a simple one."""
    if chance.random() < 0.25:
        return chance.choice(STRANGE)
    more = chance.choice(("", "", "", "license: MIT\n", "disable-model-invocation: true\n", "user-invocable: false\n"))
    body = chance.choice(("Do it.\n", "Do it.\n", "Do it.\0\n", "See [this](notes.md).\n", "x" * 5000))
    text = f"---\nname: {chance.choice(NAMES)}\ndescription: {chance.choice(WORDS)}\n{more}---\n{body}"
    return text.encode()


@dataclass
class World:
    """A project, a home and other folders, three hosts that scan them, and a cache."""

    seed: str
    top: Path
    chance: Random = field(init=False)
    hosts: list[str] = field(init=False)
    env: dict[str, str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    places: list[str] = field(init=False)
    settings: list[tuple[str, str]] = field(init=False)
    variables: list[str] = field(init=False)
    cwd: str = field(init=False)

    def __post_init__(self) -> None:
        chance = self.chance = Random(self.seed)  # noqa: S311 - not for secrets
        self.hosts = chance.sample(host_names(), 3)
        self.cwd = chance.choice(("repo", "repo/sub"))
        hosts = [load_host(name) for name in self.hosts]
        pairs = [folders_of(host) for host in hosts]
        self.places = [f"repo/{project}" for project, _ in pairs] + [f"home/{user}" for _, user in pairs]
        self.places += [f"repo/sub/{pairs[0][0]}", f"repo/other/{pairs[1][0]}", "library"]
        self.settings = [row for host in hosts for row in settings_of(host, self.top / self.cwd, chance)]
        moving = {
            root.path[1:].split("|")[0].split("/")[0] for host in hosts for root in host.roots if root.path[:1] == "$"
        }
        switches = {host.switch_variable for host in hosts if host.switch_variable}
        switches |= {"GEMINI_CLI_TRUST_WORKSPACE" for host in hosts if host.name == "gemini-cli"}
        self.variables = sorted(moving | switches)
        for below in (self.cwd, "home", "cache", "repo/other"):
            (self.top / below).mkdir(parents=True, exist_ok=True)
        if chance.random() < 0.7:
            (self.top / "repo/.git").mkdir()
        for _ in range(chance.randrange(4, 9)):
            folder = self.top / chance.choice(self.places) / chance.choice(NAMES).lower()
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "SKILL.md").write_bytes(skill_text(chance))
            if chance.random() < 0.3:
                (folder / "notes.md").write_text("Notes.\n")

    @property
    def cache(self) -> str:
        return str(self.top / "cache")

    def commands(self, chance: Random) -> list[list[str]]:
        """Return commands: a list for one host, a prompt for two others, a table of two, a check and a why."""
        where = ["--cwd", str(self.top / self.cwd)]
        # With `--home`, variables that move folders are ignored.
        where += ["--home", str(self.top / "home")] if self.seed[-1] in "02468" else []
        hosts = chance.sample(self.hosts, 3)
        return [
            ["list", "--json", "--host", hosts[0], *where],
            ["prompt", "--json", "--host", hosts[1], *where],
            ["prompt", "--host", hosts[2], *where],
            ["list", *chance.choice(TABLES), "--host", hosts[0], "--host", hosts[1], *where],
            ["check", *chance.choice(CHECKS), *(f"--host={host}" for host in hosts[: chance.randrange(1, 4)]), *where],
            ["why", chance.choice(NAMES), "--host", hosts[0], "--host", hosts[1], *where],
        ]

    def variables_now(self) -> dict[str, str]:
        return {"HOME": str(self.top / "home"), **self.env}

    def cached(self, arguments: Sequence[str]) -> Output:
        return cached(arguments, self.variables_now(), self.cache)

    def compare(self, arguments: Sequence[str]) -> None:
        """Run a command three times with the cache and once without: the third prints what the second has stored.

        Raises:
            StaleError: the outputs differ.
        """
        outputs = [self.cached(arguments) for _ in range(3)]
        right = uncached(arguments, self.variables_now())
        if right.code not in (0, 1, 2):
            raise AssertionError(f"{self.seed}: {arguments}: {right}")
        for wrong in outputs:
            if wrong != right:
                changes = "\n".join(f"    {change!r}" for change in self.changes)
                raise StaleError(
                    f"world {self.seed}: `prowess {' '.join(arguments)}` with {self.env} is stale after\n{changes}\n"
                    f"{difference(right, wrong)}"
                )

    def change_to(self, change: Change) -> bool:
        """Make a change, and return whether it was possible."""
        self.changes.append(change)  # also if it fails: a part of it may be done
        return apply(self, change)

    def change(self) -> str:
        """Make one change, and return its name."""
        while True:
            change = chosen(self, self.chance, of_checks=True)
            if change is not None and self.change_to(change):
                return change[0]


class StaleError(AssertionError):
    """The output with a cache is stale."""


def settings_of(host: Host, cwd: Path, chance: Random) -> Iterator[tuple[str, str]]:
    """Yield settings files of a host, relative to the world, with a setting that it reads."""
    files = [
        (row, host.settings_files[name].path) for row in host.settings for name in row.files or host.settings_files
    ]
    for row, path in files:
        file = path.partition("|")[2] if path.startswith("$") else path
        path = f"home/{file[2:]}" if file.startswith("~/") else f"repo/{file}"
        words = chance.choice(({"alpha": "off", "delta": "user-invocable-only"}, {str(cwd): "TRUST_FOLDER"}))
        value: Any = {
            "switch": chance.choice((True, False)),
            "names": ["alpha", "bravo"],
            "": chance.choice(
                (words, ["alpha"], [{"name": "alpha", "enabled": False}], {"skill": {"al*": "deny"}}, 20)
            ),
            "trust": {str(cwd): chance.choice((True, "TRUST_FOLDER", {"trust_level": "trusted"}))},
        }.get(row.form, True)
        if file.startswith("/"):
            continue
        text = json.dumps(value)
        if path.endswith(".toml"):
            yield path, f"{row.key} = " + text.replace('": ', '" = ') + "\n"
        else:
            for part in reversed(row.key.split(".")):
                value = {part: value}
            yield path, json.dumps(value)


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────

EDITS = ("edit a description", "edit a body")
EDITED = (b"Reads many forms.", b"Fills <all> forms.", b"2026-01-01", b">-\n  Two\n  lines")
EDIT_SHARE = 0.25
"""How many changes are such as every user makes; a cached result is then brought up to date."""
TABLES: tuple[list[str], ...] = ([], ["--json"], ["--rows"], ["--digest"], ["--json", "--digest"])
"""Options of `list` for several hosts."""
CHECKS: tuple[list[str], ...] = ([], ["--json"], ["--strict"], ["--policy", "spec"], ["--format", "sarif"])
"""Options of `check`."""
RULES = (
    '[[tool.prowess.ignore]]\ncode = "name-not-folder"\nskill = "alpha"\nreason = "known"\n',
    '[[tool.prowess.ignore]]\ncode = "link-missing"\nreason = "known"\nskill = "*"\n',
    "[tool.prowess]\nunknown = 1\n",
    "[tool.prowess\n",
    "",
)
"""Contents of `pyproject.toml`."""
MANIFESTS = ('{"name": "tools"}', '{"name": "tools", "skills": ["./library"]}', "{broken")
PERMISSIONS = (0o000, 0o444, 0o644, 0o755, 0o311)
IGNORING = ("alpha\n", "*\n!alpha/\n", "/bravo/\n", "SKILL.md\n", "# nothing\n", "")


def _all(world: World) -> tuple[list[str], list[str], list[str]]:
    """Return the files, folders and links of a world, except its working directory; links are not followed."""
    files: list[str] = []
    folders: list[str] = []
    links: list[str] = []
    for top in ("repo", "home", "library", "elsewhere"):
        for folder, inner, names in os.walk(world.top / top):
            below = os.path.relpath(folder, world.top)
            inner[:] = sorted(name for name in inner if name != ".git")
            for name in (*inner, *sorted(names)):
                path = f"{below}/{name}"
                here = os.path.join(folder, name)
                (links if os.path.islink(here) else folders if os.path.isdir(here) else files).append(path)
    return sorted(files), sorted(path for path in folders if path != world.cwd), sorted(links)


def chosen(world: World, chance: Random, *, of_checks: bool = False) -> Change | None:
    """Choose a change, as data, so that it can be repeated; `of_checks`: also one that only `check` depends on."""
    kinds = (*KINDS, *(OF_CHECKS if of_checks else ()))
    name = chance.choice(EDITS if chance.random() < EDIT_SHARE else kinds)
    files, folders, links = _all(world)
    skills = [path for path in files if path.endswith("SKILL.md")] or files
    of_skills = [os.path.dirname(path) for path in skills if path.endswith("SKILL.md")]
    fresh = f"{chance.choice(world.places)}/{chance.choice((*NAMES, 'new'))}"
    if name in ("write", "write the same size", "write and set the time back", "replace by a twin of size and time"):
        return (name, chance.choice(skills), skill_text(chance)) if skills else None
    if name in EDITS:
        return (name, chance.choice(skills), chance.choice(EDITED)) if skills else None
    if name == "flip a byte":
        return (name, chance.choice(skills), chance.random()) if skills else None
    if name == "truncate":
        return (name, chance.choice(skills), chance.random()) if skills else None
    if name in ("append", "remove a file", "make it a folder"):
        return (name, chance.choice(skills)) if skills else None
    if name in ("add a skill", "add a nested skill"):
        into = chance.choice(of_skills) + "/inner" if of_skills and "nested" in name else fresh
        return name, into, skill_text(chance)
    if name == "move a folder away and link it":
        return (name, chance.choice(folders), chance.choice((fresh, "elsewhere/moved"))) if folders else None
    if name in ("rename a folder", "copy a folder", "link a folder"):
        return (name, chance.choice(of_skills or folders), fresh) if of_skills or folders else None
    if name in ("remove a folder", "make a folder a file"):
        return (name, chance.choice(folders)) if folders else None
    if name in ("swap two files", "swap two folders"):
        those = skills if "files" in name else folders
        return (name, *chance.sample(those, 2)) if len(those) > 1 else None
    if name in ("replace a file by a link", "hard link"):
        target = chance.choice([path for path in files if path.endswith(".md")] or ["library/none.md"])
        return (name, chance.choice(skills), target) if skills else None
    if name == "move what a link leads to":
        return (name, chance.choice(links), chance.choice((fresh, "elsewhere/far"))) if links else None
    if name == "retarget a link":
        target = chance.choice(folders) if folders else "library"
        return (name, chance.choice(links), target) if links else None
    if name == "permissions":
        those = chance.choice((skills, folders))
        return (name, chance.choice(those), chance.choice(PERMISSIONS)) if those else None
    if name == "settings":
        path, text = chance.choice(world.settings) if world.settings else ("repo/none.json", "{}")
        return name, path, chance.choice((text, text, "{}", "{broken")).encode()
    if name == "ignore file":
        file = chance.choice((".gitignore", ".ignore", ".fdignore"))
        return name, f"{chance.choice(world.places)}/{file}", chance.choice(IGNORING).encode()
    if name == "project rules":
        return name, f"{chance.choice(('repo', 'repo/sub'))}/pyproject.toml", chance.choice(RULES).encode()
    if name == "manifest":
        path = chance.choice((".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "other/plugin.json"))
        return name, f"repo/{path}", chance.choice(MANIFESTS).encode()
    if name == "what a body links to":
        return (name, f"{chance.choice(of_skills)}/notes.md", chance.choice(("file", "link"))) if of_skills else None
    if name == "ignored, but tracked":
        tracked = [path.removeprefix("repo/") for path in skills if path.startswith("repo/") and chance.random() < 0.5]
        return name, "repo/.git", chance.choice(IGNORING).encode(), " ".join(tracked).encode()
    if name == "a skill elsewhere in the repository":
        return name, f"{world.cwd}/{chance.choice(('skills', 'docs/inner'))}/{chance.choice(NAMES)}", skill_text(chance)
    if name == "mount record":
        return (name, *chance.choices(of_skills, k=2)) if of_skills else None
    if name == "comment in a skill":
        return (name, chance.choice(skills), chance.choice(("name-not-folder", "link-missing"))) if skills else None
    if name == "file beside SKILL.md":
        text = chance.choice(("policy:\n  allow_implicit_invocation: false\n", "interface:\n  display_name: X\n"))
        return (name, f"{chance.choice(of_skills)}/agents/openai.yaml", text.encode()) if of_skills else None
    if name == "git":
        return name, chance.choice((".", "repo", "repo/sub", "repo/other")) + "/.git"
    if name == "variable":
        value = chance.choice(("", "true", "false", str(world.top / "home/.agents"), str(world.top / "library")))
        return (name, chance.choice(world.variables), value) if world.variables else None
    return name, chance.random(), chance.random()


def apply(world: World, change: Change) -> bool:
    """Make a change; return whether it was possible."""
    name, *those = change
    try:
        if name != "variable":
            those = [world.top / one if isinstance(one, str) else one for one in those]
        return (KINDS | OF_CHECKS)[name](world, *those) is not False
    except OSError:
        return False


def _write(_: World, path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _edit_description(_: World, path: Path, text: bytes) -> None:
    path.write_bytes(re.sub(rb"(?m)^description:.*\n(?:  .*\n)*", b"description: " + text + b"\n", path.read_bytes()))


def _edit_body(_: World, path: Path, text: bytes) -> None:
    path.write_bytes(path.read_bytes() + text + b"\n")


def _fitted(path: Path, data: bytes) -> bytes:
    size = path.stat().st_size
    return data[:size].ljust(size, b"x")


def _write_same_size(_: World, path: Path, data: bytes) -> None:
    path.write_bytes(_fitted(path, data))


def _write_and_set_back(_: World, path: Path, data: bytes) -> None:
    before = path.stat()
    path.write_bytes(_fitted(path, data))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replace_by_twin(_: World, path: Path, data: bytes) -> None:
    before = path.stat()
    staged = path.with_name("staged")
    staged.write_bytes(_fitted(path, data))
    os.utime(staged, ns=(before.st_atime_ns, before.st_mtime_ns))
    staged.chmod(before.st_mode & 0o777)
    staged.replace(path)


def _flip(_: World, path: Path, place: float) -> bool:
    data = bytearray(path.read_bytes())
    if not data:
        return False
    # The beginning matters most.
    data[int(place * min(len(data), 120))] ^= 1
    path.write_bytes(data)
    return True


def _truncate(_: World, path: Path, place: float) -> None:
    os.truncate(path, int(place * path.stat().st_size))


def _append(_: World, path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n---\nmore \xff\n")


def _remove_file(_: World, path: Path) -> None:
    path.unlink()


def _make_it_a_folder(_: World, path: Path) -> None:
    path.unlink()
    path.mkdir()


def _add(_: World, folder: Path, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_bytes(data)


def _rename(_: World, folder: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(new)


def _copy(_: World, folder: Path, new: Path) -> bool:
    real, real_new = Path(os.path.realpath(folder)), Path(os.path.realpath(new))
    if real in (real_new, *real_new.parents):  # also through a link, or the copy would contain itself without end
        return False
    shutil.copytree(folder, new, symlinks=True)  # times are copied too
    return True


def _link(_: World, folder: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    new.symlink_to(folder)


def _move_and_link(world: World, folder: Path, new: Path) -> bool:
    if folder in (new, *new.parents):
        return False
    _rename(world, folder, new)
    folder.symlink_to(new)
    return True


def _remove_folder(_: World, folder: Path) -> None:
    shutil.rmtree(folder)


def _make_it_a_file(_: World, folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("no folder")


def _swap(_: World, first: Path, second: Path) -> None:
    staged = first.with_name("staged")
    first.rename(staged)
    try:
        second.rename(first)
    except OSError:
        staged.rename(first)
        raise
    staged.rename(second)


def _swap_files(world: World, first: Path, second: Path) -> None:
    """Swap two files of the same size and time."""
    second.write_bytes(_fitted(first, second.read_bytes()))
    times = first.stat()
    os.utime(second, ns=(times.st_atime_ns, times.st_mtime_ns))
    _swap(world, first, second)


def _file_by_link(_: World, path: Path, target: Path) -> bool:
    if path == target:
        return False
    path.unlink()
    path.symlink_to(target)
    return True


def _hard_link(_: World, path: Path, target: Path) -> bool:
    if path == target:
        return False
    path.unlink()
    path.hardlink_to(target)
    return True


def _retarget(_: World, link: Path, target: Path) -> None:
    link.unlink()
    link.symlink_to(target)


def _move_target(world: World, link: Path, new: Path) -> bool:
    try:
        target = link.resolve()
    except RuntimeError:  # a link to itself, which later versions of Python return
        return False
    if world.top not in target.parents or target in (new, *new.parents) or new in target.parents:
        return False
    _rename(world, target, new)
    _retarget(world, link, new)
    return True


def _permissions(_: World, path: Path, mode: int) -> None:
    path.chmod(mode)


def _place(_: World, path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _link_target(_: World, path: Path, kind: Path) -> None:
    if os.path.lexists(path):
        path.unlink()
    elif kind.name == "link":
        path.symlink_to("nowhere")
    else:
        path.write_text("Notes.\n")


def _ignored_but_tracked(_: World, git: Path, rules: bytes, paths: bytes) -> bool:
    """Write the rules that only this clone has, and an index as `git add` does."""
    if not git.is_dir():
        return False
    _place(_, git / "info/exclude", rules)
    entries = b""
    for path in sorted(paths.split()):
        entry = bytes(60) + len(path).to_bytes(2, "big") + path
        entries += entry.ljust(len(entry) // 8 * 8 + 8, b"\0")
    (git / "index").write_bytes(b"DIRC" + struct.pack(">2I", 2, len(paths.split())) + entries + bytes(20))
    return True


def _mount_record(_: World, copy: Path, source: Path) -> None:
    """Say that one skill is a mounted copy of another one."""
    row = {"name": copy.name, "source": str(source), "seal": integrity_digest(str(copy))}
    record = copy.parent.with_name(f".prowess-{copy.parent.name}.json")
    record.write_text(json.dumps({"skills": [row]}))


def _comment(_: World, path: Path, code: Path) -> None:
    line = b"---\n# prowess: ignore " + code.name.encode() + b": known\n"
    path.write_bytes(path.read_bytes().replace(b"---\n", line, 1))


def _git(_: World, path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
    else:
        (path / "objects").mkdir(parents=True)
        (path / "refs").mkdir()
        (path / "HEAD").write_text("ref: refs/heads/main\n")


def _variable(world: World, name: str, value: str) -> bool:
    if world.env.get(name, "") == value:
        return False
    world.env[name] = value
    return True


def _damage(world: World, which: float, place: float) -> bool:
    """Flip a byte of a cache file, or truncate it."""
    kept = sorted(Path(world.cache).iterdir())
    if not kept:
        return False
    path = kept[int(which * len(kept))]
    data = bytearray(path.read_bytes())
    if place < 0.1:
        del data[int(place * 10 * len(data)) :]
    else:
        data[int(place * len(data))] ^= 0x55
    path.write_bytes(data)
    return True


KINDS: dict[str, Any] = {
    "edit a description": _edit_description,
    "edit a body": _edit_body,
    "write": _write,
    "write the same size": _write_same_size,
    "write and set the time back": _write_and_set_back,
    "replace by a twin of size and time": _replace_by_twin,
    "flip a byte": _flip,
    "truncate": _truncate,
    "append": _append,
    "remove a file": _remove_file,
    "make it a folder": _make_it_a_folder,
    "add a skill": _add,
    "add a nested skill": _add,
    "rename a folder": _rename,
    "copy a folder": _copy,
    "link a folder": _link,
    "move a folder away and link it": _move_and_link,
    "remove a folder": _remove_folder,
    "make a folder a file": _make_it_a_file,
    "swap two files": _swap_files,
    "swap two folders": _swap,
    "replace a file by a link": _file_by_link,
    "hard link": _hard_link,
    "retarget a link": _retarget,
    "move what a link leads to": _move_target,
    "permissions": _permissions,
    "settings": _place,
    "ignore file": _place,
    "file beside SKILL.md": _place,
    "git": _git,
    "variable": _variable,
    "damage the cache": _damage,
}
OF_CHECKS: dict[str, Any] = {
    "project rules": _place,
    "manifest": _place,
    "what a body links to": _link_target,
    "ignored, but tracked": _ignored_but_tracked,
    "a skill elsewhere in the repository": _add,
    "mount record": _mount_record,
    "comment in a skill": _comment,
}
"""Changes of what only a check of a repository depends on."""

# ── many changes ─────────────────────────────────────────────────────────────────────────────────────────────────────

NEEDED = (
    *("encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.utf_16", "encodings.utf_16_be"),
    *("encodings.utf_16_le", "encodings.utf_8_sig", "fnmatch", "hashlib", "shlex", "tomllib", "unicodedata", "yaml"),
)
"""Modules that commands import when they need them: an unprivileged user may not be able to read them."""


@contextmanager
def unprivileged_folder() -> Iterator[Path]:
    """Make a folder for worlds, and become an unprivileged user: permissions do not matter to root."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    for name in NEEDED:
        import_module(name)
    top = Path(tempfile.mkdtemp()).resolve()
    if root:
        os.chown(top, 65534, -1)
        os.seteuid(65534)
    try:
        yield top
    finally:
        if root:
            os.seteuid(0)
        for folder, _, _ in os.walk(top):
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700)
        shutil.rmtree(top)


def batch(seed: int, first: int, worlds: int, rounds: int = ROUNDS) -> Counter[str]:
    """Change some worlds side by side, and compare the output of commands after each change.

    Raises:
        StaleError: a cached result was stale; the message contains the command and all changes of its world.
    """
    with unprivileged_folder() as top, counted() as counts, patch.dict(os.environ, {"PROWESS_SKILL_DIR": ""}):
        _batch(seed, top, range(first, first + worlds), rounds, counts)
        return counts


def _batch(seed: int, top: Path, numbers: Sequence[int], rounds: int, counts: Counter[str]) -> None:
    worlds = []
    for number in numbers:
        (top / str(number)).mkdir()
        worlds.append(World(f"{seed}:{number}", top / str(number)))
    for turn in range(rounds + 1):
        for world in worlds if turn else ():
            counts.update(("changes", world.change()))
            if world.chance.random() < 0.2 and (skills := [path for path in _all(world)[0] if "SKILL" in path]):
                # Twice in one tick of the clock, with a command in between: its result must not be cached.
                (arguments, *_) = world.commands(world.chance)
                path = world.chance.choice(skills)
                for turned in (str.lower, str.upper):
                    world.change_to(("write the same size", path, turned(skill_text(world.chance).decode()).encode()))
                    counts.update(("changes", "write the same size"))
                    world.compare(arguments)
        time.sleep(WAIT)
        for world in worlds:
            for arguments in world.commands(world.chance):
                world.compare(arguments)
                counts["compared"] += 1


# ── a live catalog ───────────────────────────────────────────────────────────────────────────────────────────────────


def live_batch(seed: int, first: int, worlds: int, rounds: int = ROUNDS) -> Counter[str]:
    """Change some worlds, and compare live catalogs with new scans after each change.

    Raises:
        StaleError: a live catalog was stale; the message contains all changes of its world.
    """
    import_module("ctypes")
    counts = Counter[str]()
    with unprivileged_folder() as top, patch.dict(os.environ, {"PROWESS_SKILL_DIR": ""}):
        for number in range(first, first + worlds):
            (top / str(number)).mkdir()
            _change_beside_live_catalogs(World(f"{seed}:{number}", top / str(number)), rounds, counts)
    return counts


def _change_beside_live_catalogs(world: World, rounds: int, counts: Counter[str]) -> None:
    cwd, home = world.top / world.cwd, world.top / "home" if world.chance.random() < 0.5 else None
    with ExitStack() as stack:
        lives = {host: stack.enter_context(LiveCatalog(cwd, host, home)) for host in world.hosts}
        for turn in range(rounds + 1):
            # Several at once, of which one may hide another.
            for _ in range(world.chance.choice((1, 1, 1, 2, 3)) if turn else 0):
                counts.update(("live changes", world.change()))
            with patch.dict(os.environ, world.variables_now()):
                for host, live in lives.items():
                    catalog, right = live.current(), discover(cwd, host, home, cache=False)
                    counts["kept" if live.current() is catalog else "scanned again"] += 1
                    if content_of(catalog) != content_of(right):
                        changes = "\n".join(f"    {change!r}" for change in world.changes)
                        raise StaleError(f"world {world.seed}: the live catalog of {host} is stale after\n{changes}")


def content_of(catalog: Catalog) -> tuple[Any, ...]:
    """Return all that a catalog says."""
    names = Entry._fields()[:-2]  # all but the parsed skill
    skills = [tuple(getattr(entry, name) for name in names) for entry in catalog.skills]
    return skills, catalog.findings, [(root.path, root.scope) for root in catalog.scan_roots]


def summary(counts: Counter[str], seconds: float) -> str:
    """Describe what was done."""
    lookups = counts["hits"] + counts["misses"]
    kinds = ", ".join(f"{name} {counts[name]}" for name in (*KINDS, *OF_CHECKS))
    return (
        f"{counts['changes']:,} changes in {seconds:.0f} s; {counts['compared']:,} commands compared, each 3 times\n"
        f"{counts['hits']:,} of {lookups:,} results came from the cache ({counts['hits'] / lookups:.0%}); "
        f"{counts['stored']:,} results stored, {counts['not stored']:,} not\n"
        f"{counts['live changes']:,} changes beside live catalogs, {counts['kept']:,} times kept\n{kinds}"
    )


def main() -> None:
    """Make many changes, on all processors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    parser.add_argument("--first", type=int, default=0, help="the number of the first world")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    started, counts = time.monotonic(), Counter[str]()
    with ProcessPoolExecutor() as pool:
        worlds = -(-args.changes // int(ROUNDS * 1.3))  # a fifth of the rounds makes two changes more
        starts = range(args.first, args.first + worlds, SIDE_BY_SIDE)
        last = args.first + worlds
        jobs = [
            pool.submit(make, args.seed, at, min(SIDE_BY_SIDE, last - at))
            for at in starts
            for make in (batch, live_batch)
        ]
        try:
            for job in jobs:
                counts += job.result()
        except AssertionError as error:
            pool.shutdown(cancel_futures=True)
            sys.exit(str(error))
    print(summary(counts, time.monotonic() - started))


if __name__ == "__main__":
    main()
