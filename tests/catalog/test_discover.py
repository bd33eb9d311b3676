"""A cached catalog is used while it is up to date, and equals what `discover` finds without a cache."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import prowess.cache
import prowess.cache._recorded
import prowess.catalog
import prowess.catalog._resolve
from mutations import folders_of
from prowess.cache import Cache, user_identity
from prowess.catalog import Catalog, discover
from prowess.hosts import host_names, load_host
from support.changed_skills import CHANGES, changing_tree, removed
from support.files import write_file
from support.growth import END
from support.skills import skill

if TYPE_CHECKING:
    from prowess.filesystem._fingerprints import Fingerprints
    from prowess.hosts import Host

TICK = 0.012
"""Seconds: longer than a tick of a file system's clock."""


@pytest.fixture(autouse=True)
def _settle_ns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that tests write count as settled once the clock has moved on."""
    monkeypatch.setattr(prowess.cache._recorded, "SETTLE_NS", 0)


_EMPTY_HOSTS = ("infer", "wink")
"""Hosts that are switched off, or that scan no folder by default."""


class CachedDiscovery:
    """Discovers skills with a cache, and counts how often the disk is read."""

    def __init__(self, top: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top, self.folder = top, folder
        self.env = {"PROWESS_CACHE_DIR": str(self.folder)}
        self.disk_reads = 0
        self.stored: list[Fingerprints] = []
        resolve_skills, store = prowess.catalog._resolve.resolve_skills, Cache.store

        def counting(*args: Any, **named: Any) -> Any:
            self.disk_reads += 1
            return resolve_skills(*args, **named)

        def recording(cache: Cache, query: Any, fingerprints: Fingerprints, *rest: Any) -> bool:
            self.stored.append(fingerprints)
            return store(cache, query, fingerprints, *rest)

        monkeypatch.setattr(prowess.catalog._resolve, "resolve_skills", counting)
        monkeypatch.setattr(Cache, "store", recording)

    def discover(self, host: str | Host = "prowess", **extra: Any) -> Catalog:
        named = {"home": self.top / "home", "env": self.env, **extra}
        return discover(named.pop("cwd", self.top / "repo"), host, **named)

    def contents(self, host: str = "prowess", **extra: Any) -> dict[str, Any]:
        return contents(self.discover(host, **extra))

    def warm(self, host: str = "prowess", **extra: Any) -> Catalog:
        """Return a catalog from the cache."""
        time.sleep(TICK)
        self.discover(host, **extra)
        before = self.disk_reads
        catalog = self.discover(host, **extra)
        assert self.disk_reads == before, f"{host}: not cached"
        return catalog

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("*catalog-*") if path.is_file())


def contents(catalog: Catalog) -> dict[str, Any]:
    """Return everything in a catalog."""
    return {
        "counts": catalog.counts,
        "active": [entry.name for entry in catalog.active],
        "findings": catalog.findings,
        "cwd": (catalog.cwd, catalog.home),
        "entries": [entry.as_dict() for entry in catalog.skills],
        "more": [
            (entry.alias, entry.real, entry.rule, entry.requirements, entry.findings, entry.skill, entry.readable)
            for entry in catalog.skills
        ],
        "host": catalog.host,
        "places": catalog.scan_roots,
        "settings": catalog.settings,
    }


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CachedDiscovery:
    return new_project(tmp_path.resolve(), monkeypatch)


def new_project(top: Path, monkeypatch: pytest.MonkeyPatch) -> CachedDiscovery:
    """Make a home and a project without skills."""
    (top / "home").mkdir()
    (top / "repo/.git").mkdir(parents=True)
    return CachedDiscovery(top, top / "cache", monkeypatch)


@pytest.fixture
def full(everything: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CachedDiscovery:
    return CachedDiscovery(everything, tmp_path / "cache", monkeypatch)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with all kinds of skills, links and settings. No test changes it."""
    top = tmp_path_factory.mktemp("everything").resolve()
    (top / "home").mkdir()
    (top / "repo/.git").mkdir(parents=True)
    (top / "current").symlink_to("repo")
    (top / "me").symlink_to("home")
    skills = top / "repo/.agents/skills"
    skill(skills / "plain")
    skill(skills / "wanted", more="compatibility: needs git\nrequires: [git]\n")
    skill(skills / "Odd Name", '"ODD"', "1")
    skill(skills / "no-words", description='""')
    skill(skills / "broken", '"unclosed')
    skill(skills / "body", description="a\n b: [", body="words" * 2000)
    skill(skills / "new\nline", "newline")
    skill(skills / os.fsdecode(b"caf\xe9"), "latin")
    skill(skills / ".hidden")
    skill(skills / "deep/er/and/deeper")
    write_file(skills / "wrong/skill.md", "x")
    (skills / "loose.md").write_text("---\nname: loose\ndescription: x y\n---\n")
    (skills / "folder/SKILL.md").mkdir(parents=True)
    (skills / "pipe").mkdir()
    os.mkfifo(skills / "pipe/SKILL.md")
    (skills / "big").mkdir()
    with (skills / "big/SKILL.md").open("wb") as file:
        file.truncate(2 << 20)
    (skills / "codex/agents").mkdir(parents=True)
    skill(skills / "codex")
    (skills / "codex/agents/openai.yaml").write_text("policy:\n  allow_implicit_invocation: false\n")
    skill(top / "away/target")
    skill(top / "repo/lib/inside")
    (skills / "out").symlink_to(top / "away/target")
    (skills / "in").symlink_to("../../lib/inside")
    (skills / "nowhere").symlink_to("absent")
    (skills / "linked").mkdir()
    (skills / "linked/SKILL.md").symlink_to("../../../lib/inside/SKILL.md")
    (skills / ".gitignore").write_text("ignored\n")
    skill(skills / "ignored")
    for base in (top / "home/.claude/skills", top / "repo/.claude/skills", top / "repo/sub/.claude/skills"):
        skill(base / "plain")
        skill(base / "twin")
        (base / "twin/data.txt").write_text("same")
    for name in host_names():
        for root in load_host(name).roots:
            if not root.path.startswith(("/", "$", "@")):
                path = root.path.replace("*", "pkg")
                base = top / "home" / path[2:] if path.startswith("~/") else top / "repo" / path
                skill(base / f"of-{path.count('/')}", "of-a-root", f'"One of {root.scope}."')
                skill(base / "twin")
                (base / "twin/data.txt").write_text("same")
    (top / "home/.claude/settings.json").write_text('{"skillOverrides": {"plain": "off"}}')
    write_file(top / "repo/.gemini/settings.json", '{"skills": {"disabled": ["plain"]} // so\n}')
    (top / "role.yaml").write_text("spec:\n  auto_skills:\n    enabled: true\n    max_skills: 2\n")
    return top


@pytest.mark.parametrize("host", host_names())
def test_a_cached_catalog_equals_a_new_one(full: CachedDiscovery, host: str) -> None:
    """Every attribute of every entry, the findings, counts, roots and settings, for every host."""
    recalled = contents(full.warm(host))
    assert recalled["entries"] or host in _EMPTY_HOSTS
    assert recalled == full.contents(host, cache=False)


def test_skill_dirs_links_and_roles_are_cached(full: CachedDiscovery) -> None:
    """A relative folder, a home that is a link, a working directory that is a link, and a role."""
    extra: dict[str, Any] = {
        "cwd": full.top / "current",
        "skill_dirs": ["lib", "~/.claude/skills", str(full.top / "away")],
    }
    for host in ("prowess", "claude-code", "codex"):
        assert contents(full.warm(host, **extra)) == full.contents(host, cache=False, **extra)
    for extra in ({"home": full.top / "me"}, {"role": full.top / "role.yaml"}):
        assert contents(full.warm("initrunner", **extra)) == full.contents("initrunner", cache=False, **extra)


def test_an_unchanged_catalog_opens_only_the_cache_file(
    cached: CachedDiscovery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a SKILL.md nor a folder, even for findings that are empty."""
    skill(cached.top / "repo/.agents/skills/pdf")
    skill(cached.top / "repo/.agents/skills/xls")
    cached.warm()
    cache_files = [str(path) for path in cached.files()]
    opened: list[str] = []

    def noting(real: Any) -> Any:
        def call(path: Any, *rest: Any, **named: Any) -> Any:
            opened.append(str(path))
            return real(path, *rest, **named)

        return call

    for name in ("open", "scandir", "listdir"):
        monkeypatch.setattr(os, name, noting(getattr(os, name)))
    catalog = cached.discover()
    assert [(entry.name, entry.description, entry.findings) for entry in catalog.skills] == [
        ("pdf", "Does pdf. Use it for pdf.", ()),
        ("xls", "Does xls. Use it for xls.", ()),
    ]
    assert opened == cache_files
    assert catalog.skills[0].skill.name == "pdf"
    assert len(opened) > 1


def test_a_skill_with_empty_fields_is_cached(cached: CachedDiscovery) -> None:
    """A column with one empty text differs from an empty column."""
    skill(cached.top / "repo/.agents/skills/x", '""', '""')
    assert contents(cached.warm()) == cached.contents(cache=False)


def test_a_skill_removed_after_loading_keeps_its_attributes(cached: CachedDiscovery) -> None:
    """Its skill has the finding `file-missing`."""
    file = skill(cached.top / "repo/.agents/skills/x")
    (entry,) = cached.warm().skills
    shutil.rmtree(file.parent)
    assert [item.code for item in entry.skill.findings] == ["file-missing"]
    assert entry.findings == ()
    assert entry.as_dict()["name"] == "x"


@pytest.mark.slow
def test_threads_share_a_cache(full: CachedDiscovery) -> None:
    """All get the same catalog, first without a cached result and then with one."""
    wanted = full.contents(cache=False)
    results: list[dict[str, Any]] = []
    for _ in range(3):
        threads = [threading.Thread(target=lambda: results.append(full.contents())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 12
    assert all(result == wanted for result in results)


# ── every change is noticed ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def changing(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> CachedDiscovery:
    """On a disk if there is one: in memory, no time changes when a mapping is written."""
    project = new_project(open_folder, monkeypatch)
    changing_tree(open_folder)
    return project


@pytest.mark.parametrize("change", [*CHANGES])
def test_a_change_is_noticed(changing: CachedDiscovery, change: str) -> None:
    """The cached result from before the change is not used."""
    host, change_it = CHANGES[change]
    extra: dict[str, Any] = {"cwd": changing.top / "repo/sub", "skill_dirs": ["extra"]}
    if host == "initrunner":
        extra["role"] = changing.top / "repo/sub/role.yaml"
    changing.warm(host, **extra)
    time.sleep(TICK)
    change_it(changing.top)
    before = changing.disk_reads
    after = changing.discover(host, **extra)
    if "only passed through" not in change:
        assert changing.disk_reads == before + 1
    assert contents(after) == changing.contents(host, cache=False, **extra)


@pytest.mark.parametrize("host", [name for name in host_names() if load_host(name).roots])
def test_an_edited_description_is_noticed_by_every_agent(
    host: str, cached: CachedDiscovery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only an agent with a budget, by which one description may shorten the others, searches its folders again."""
    monkeypatch.setenv("HOME", str(cached.top / "home"))
    switch = {load_host(host).switch_variable or "UNUSED": "true"}
    extra: dict[str, Any] = {"home": None, "env": {**cached.env, "HOME": str(cached.top / "home"), **switch}}
    folder = cached.top / "repo" / folders_of(load_host(host))[0]
    for number in range(3):
        skill(folder / f"skill-{number}", f"skill-{number}", f"Reads forms {number}.")
    assert len(cached.warm(host, **extra).skills) == 3
    skill(folder / "skill-1", "skill-1", "Fills in any form.")
    time.sleep(TICK)
    before = cached.disk_reads
    edited, again = cached.discover(host, **extra), cached.discover(host, **extra)
    assert cached.disk_reads - before == bool(load_host(host).budget.limit)
    assert contents(edited) == contents(again) == cached.contents(host, cache=False, **extra)
    (shown,) = [entry.description for entry in again.skills if entry.name == "skill-1"]
    assert shown.startswith("Fills in any form.") or host == "cline"  # its model gets names only


@pytest.mark.slow
@pytest.mark.parametrize("host", ["prowess", "claude-code", "codex", "pi", "initrunner"])
def test_a_path_that_appears_is_noticed(changing: CachedDiscovery, host: str) -> None:
    """Every path that did not exist is created, as a folder and as a file."""
    changing.warm(host)
    fingerprints = changing.stored[-1]
    recorded = [
        *fingerprints.files.items(),
        *fingerprints.folders.items(),
        *fingerprints.kinds.items(),
        *fingerprints.links.items(),
    ]
    top = str(changing.top)
    absent = sorted({path for path, state in recorded if not state and path.startswith(top)})
    assert len(absent) > 1
    for path in absent:
        for make in (os.mkdir, lambda file: Path(file).write_text("x")):
            first = folder = os.path.dirname(path.rstrip("/"))
            if path.endswith("/") and make is not os.mkdir:
                continue  # a file cannot have this path
            if os.path.lexists(path) or (os.path.lexists(folder) and not os.path.isdir(folder)):
                continue  # below a file or a broken link
            while not os.path.lexists(first):
                path_of_first, first = first, os.path.dirname(first)
            time.sleep(TICK)
            changing.discover(host)
            before = changing.disk_reads
            os.makedirs(folder, exist_ok=True)
            make(path)
            after = changing.discover(host)
            assert changing.disk_reads == before + 1, path
            assert contents(after) == changing.contents(host, cache=False), path
            removed(path if first == folder else path_of_first)(Path("/"))


def test_a_changed_variable_is_noticed(cached: CachedDiscovery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set or changed, it is noticed; a variable that the host does not read changes nothing."""
    skill(cached.top / "repo/.agents/skills/a")
    skill(cached.top / "moved/skills/x")
    monkeypatch.setenv("HOME", str(cached.top / "home"))
    variables_read: dict[str, dict[str, str | None]] = {}
    store = Cache.store

    def recording(cache: Cache, query: Any, fingerprints: Fingerprints, variables: Any, *rest: Any) -> bool:
        variables_read[query[0]] = dict(variables)
        return store(cache, query, fingerprints, variables, *rest)

    monkeypatch.setattr(Cache, "store", recording)
    for host in host_names():
        cached.warm(host, home=None)
        for name in variables_read[host]:
            for value in (str(cached.top / "moved"), "false", ""):
                env = {**cached.env, name: value, "UNRELATED": value}
                before = cached.disk_reads
                found = cached.discover(host, home=None, env=env)
                assert cached.disk_reads == before + 1, (host, name)
                assert contents(found) == cached.contents(host, home=None, env=env, cache=False), (host, name)
    assert sum(map(len, variables_read.values())) >= 10


def test_another_home_user_version_or_skill_dir_is_another_query(
    cached: CachedDiscovery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cached result of one is never used for another."""
    skill(cached.top / "repo/.agents/skills/a")
    cached.warm()
    before = cached.disk_reads
    cached.discover(skill_dirs=["x"])
    cached.discover(home=cached.top / "other")
    cached.discover(cwd=cached.top)
    monkeypatch.setenv("HOME", str(cached.top / "other"))
    cached.discover()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getgroups", lambda: [12345])
        cached.discover()
    with monkeypatch.context() as patch:
        patch.setattr(prowess.cache, "code_fingerprint", lambda: "another")
        cached.discover()
        assert cached.disk_reads == before + 6
        patch.setattr(prowess.cache, "code_fingerprint", lambda: "")
        cached.discover()
        cached.discover()
        assert cached.disk_reads == before + 8
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert "54321" in user_identity()
    cached.discover()
    assert cached.disk_reads == before + 9


# ── what is not cached ───────────────────────────────────────────────────────────────────────────────────────────────


def test_recently_changed_files_are_not_cached(cached: CachedDiscovery, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was written a moment ago may be written again in the same tick of the clock."""
    monkeypatch.setattr(prowess.cache._recorded, "SETTLE_NS", 2_000_000_000)
    file = skill(cached.top / "repo/.agents/skills/a")
    cached.discover()
    assert cached.files() == []
    monkeypatch.setattr("prowess.filesystem._filesystem.time_ns", lambda: time.time_ns() + 3_000_000_000)
    cached.discover()
    assert len(cached.files()) == 1
    file.write_text(file.read_text())
    monkeypatch.setattr("prowess.filesystem._filesystem.time_ns", lambda: time.time_ns() + 1_000_000_000)
    shutil.rmtree(cached.folder)
    cached.discover()
    assert cached.files() == []


@pytest.mark.parametrize("which", ["file", "folder"])
def test_files_dated_in_the_future_are_not_cached(cached: CachedDiscovery, which: str) -> None:
    """The same comparison covers a clock that is set back."""
    file = skill(cached.top / "repo/.agents/skills/a")
    path = file if which == "file" else file.parent.parent
    os.utime(path, (time.time() + 3600, time.time() + 3600))
    time.sleep(TICK)
    cached.discover()
    assert cached.files() == []
    os.utime(path)
    cached.warm()


def test_unreadable_paths_are_not_cached(cached: CachedDiscovery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing shows when they become readable: a file, a folder, the files of a copy."""
    file = skill(cached.top / "repo/.agents/skills/a")
    skill(cached.top / "home/.agents/skills/a")
    time.sleep(TICK)
    opened, listed = os.open, os.scandir
    for name, forbidden in (("open", str(file)), ("scandir", str(file.parent.parent)), ("scandir", str(file.parent))):

        def refusing(path: Any, *rest: Any, forbidden: str = forbidden, name: str = name, **named: Any) -> Any:
            if path == forbidden:
                raise PermissionError(errno.EACCES, "Permission denied", path)
            return (opened if name == "open" else listed)(path, *rest, **named)

        with monkeypatch.context() as patch:
            patch.setattr(os, name, refusing)
            cached.discover()
        assert cached.files() == [], forbidden
    cached.warm()


def test_a_text_with_a_nul_is_cached(cached: CachedDiscovery) -> None:
    """NUL separates the texts of a column."""
    skill(cached.top / "repo/.agents/skills/a", description='"a\\0b and more"')
    time.sleep(TICK)
    assert "\0" in cached.discover().skills[0].description
    assert cached.files() != []
    assert cached.contents() == cached.contents(cache=False)


# ── the cache folder ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_folder_is_created_without_a_cache(cached: CachedDiscovery) -> None:
    """With the argument, with the variable, and for a host given as a value."""
    skill(cached.top / "repo/.agents/skills/a")
    time.sleep(TICK)
    cached.discover(cache=False)
    cached.discover(env={**cached.env, "PROWESS_NO_CACHE": "1"})
    cached.discover(load_host("prowess"))
    assert not cached.folder.exists()


def test_the_cache_folder_is_private(cached: CachedDiscovery) -> None:
    """So is each file in it."""
    skill(cached.top / "repo/.agents/skills/a")
    cached.env["PROWESS_CACHE_DIR"] = str(cached.top / "several/levels/cache")
    cached.warm()
    folder = cached.top / "several/levels/cache"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600]


@pytest.mark.parametrize("call", ["mkdir", "open", "write", "replace", "scandir"])
def test_a_full_or_read_only_disk_changes_nothing(
    cached: CachedDiscovery, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """The catalog is correct, and no file is left behind."""
    skill(cached.top / "repo/.agents/skills/a")
    time.sleep(TICK)
    wanted = cached.contents(cache=False)
    real = getattr(os, call)

    def refusing(first: Any, *rest: Any, **named: Any) -> Any:
        ours = call == "write" or str(first).startswith(str(cached.folder))
        if ours and not (call == "open" and rest[0] & os.O_CREAT == 0):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(first, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refusing)
        assert cached.contents() == wanted
        assert cached.contents() == wanted
    assert not cached.folder.exists() or list(cached.folder.iterdir()) == []


def test_an_unusable_cache_folder_changes_nothing(cached: CachedDiscovery) -> None:
    """A file, a folder below a file, an invalid path, or one too deep to create."""
    skill(cached.top / "repo/.agents/skills/a")
    time.sleep(TICK)
    cached.folder.write_text("x")
    deep = cached.top / "deep"
    for folder in (cached.folder, cached.folder / "below", cached.top / "nul\0", f"{deep}{'/a' * 1800}"):
        cached.env["PROWESS_CACHE_DIR"] = str(folder)
        assert cached.contents() == cached.contents(cache=False)
    assert cached.folder.read_text() == "x"
    subprocess.run(["rm", "-rf", deep], check=True)  # it is too deep for Python, and so for pytest, to remove


WORKER = """
import json, os, shutil, sys
import prowess.cache._recorded
prowess.cache._recorded.SETTLE_NS = 0
from prowess.catalog import discover
top, number, wanted = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
env = {"PROWESS_CACHE_DIR": top + "/cache"}
for turn in range(30):
    if number % 4 == 3 and turn % 3 == 0:
        shutil.rmtree(top + "/cache", ignore_errors=True)
    if number % 4 == 2 and turn % 5 == 0:
        for name in os.listdir(top + "/cache") if os.path.isdir(top + "/cache") else ():
            try:
                with open(os.path.join(top, "cache", name), "r+b") as file:
                    file.seek(turn * 50)
                    file.write(b"?")
            except OSError:
                pass
    catalog = discover(top + "/repo", home=top + "/home", env=env)
    found = [[entry.name, entry.description, str(entry.state), len(entry.findings)] for entry in catalog.skills]
    assert found == wanted, found
"""


@pytest.mark.slow
def test_sixteen_processes_share_a_cache_that_is_damaged_and_deleted(changing: CachedDiscovery) -> None:
    """Thirty times each: all find the same skills, and none fails."""
    full = changing
    catalog = full.discover(cache=False)
    wanted = [[entry.name, entry.description, str(entry.state), len(entry.findings)] for entry in catalog.skills]
    time.sleep(TICK)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(full.top), str(number), json.dumps(wanted)],
            stderr=subprocess.PIPE,
            env=env,
            text=True,
        )
        for number in range(16)
    ]
    errors = [worker.communicate(timeout=END)[1] for worker in workers]
    assert errors == [""] * 16
    assert [worker.returncode for worker in workers] == [0] * 16
    assert not full.folder.exists() or all(not file.name.startswith(".") for file in full.folder.iterdir())
    full.warm()
