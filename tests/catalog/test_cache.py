"""What was seen is kept, believed while it is still so, and never a moment longer."""

from __future__ import annotations

import errno
import json
import mmap
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

import prowess.catalog
import prowess.catalog._cache
import prowess.catalog._cache_files
import prowess.catalog._cached_catalog
import prowess.catalog._precedence
from prowess._internal.user_dirs import cache_folder
from prowess.catalog import Catalog, discover
from prowess.catalog._cache import Cache, user_identity
from prowess.catalog._filesystem import Filesystem
from prowess.catalog._fingerprints import Fingerprints, fingerprint_path
from prowess.hosts import host_names, load_host
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TICK = 0.012
"""Seconds: longer than a file system's clock needs for a tick."""


@pytest.fixture(autouse=True)
def _settle_ns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests write counts as settled once the clock has moved on."""
    monkeypatch.setattr(prowess.catalog._cache, "SETTLE_NS", 0)


_NOTHING = ("infer", "wink")
"""Hosts that are switched off, or that look nowhere by themselves."""


class Seen:
    """Asks for catalogs, and counts how often the disk had to be asked."""

    def __init__(self, top: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top, self.folder = top, folder
        self.env = {"PROWESS_CACHE_DIR": str(self.folder)}
        self.variables_read = 0
        self.kept: list[Fingerprints] = []
        resolve_skills, store = prowess.catalog._precedence.resolve_skills, Cache.store

        def counting(*args: Any, **named: Any) -> Any:
            self.variables_read += 1
            return resolve_skills(*args, **named)

        def noting(cache: Cache, query: Any, fingerprints: Fingerprints, *rest: Any) -> bool:
            self.kept.append(fingerprints)
            return store(cache, query, fingerprints, *rest)

        monkeypatch.setattr(prowess.catalog._precedence, "resolve_skills", counting)
        monkeypatch.setattr(Cache, "store", noting)

    def see(self, host: str = "prowess", **extra: Any) -> Catalog:
        named = {"home": self.top / "home", "env": self.env, **extra}
        return discover(named.pop("cwd", self.top / "repo"), host, **named)

    def told(self, host: str = "prowess", **extra: Any) -> dict[str, Any]:
        return told(self.see(host, **extra))

    def warm(self, host: str = "prowess", **extra: Any) -> Catalog:
        """Return a catalog for which the disk was not asked."""
        time.sleep(TICK)
        self.see(host, **extra)
        before = self.variables_read
        catalog = self.see(host, **extra)
        assert self.variables_read == before, f"{host}: not believed"
        return catalog

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("*catalog-*") if path.is_file())


def told(catalog: Catalog) -> dict[str, Any]:
    """Return all a catalog tells."""
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
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    top = tmp_path.resolve()
    (top / "home").mkdir()
    (top / "repo/.git").mkdir(parents=True)
    return Seen(top, top / "cache", monkeypatch)


@pytest.fixture
def full(everything: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(everything, tmp_path / "cache", monkeypatch)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with something of everything. No test changes it."""
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
    (skills / "wrong").mkdir()
    (skills / "wrong/skill.md").write_text("x")
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
    (top / "repo/.gemini").mkdir(exist_ok=True)
    (top / "repo/.gemini/settings.json").write_text('{"skills": {"disabled": ["plain"]} // so\n}')
    (top / "role.yaml").write_text("spec:\n  auto_skills:\n    enabled: true\n    max_skills: 2\n")
    return top


# ── the same as without ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", host_names())
def test_what_is_recalled_is_what_would_be_found(full: Seen, host: str) -> None:
    """Every attribute of every entry, the findings, counts, places and settings, for every host."""
    recalled = told(full.warm(host))
    assert recalled["entries"] or host in _NOTHING
    assert recalled == full.told(host, cache=False)


def test_skills_named_by_the_user_and_roles_are_recalled_too(full: Seen) -> None:
    """A relative folder that is named, a home that is a link, a working directory that is one, and a role."""
    extra: dict[str, Any] = {
        "cwd": full.top / "current",
        "skill_dirs": ["lib", "~/.claude/skills", str(full.top / "away")],
    }
    for host in ("prowess", "claude-code", "codex"):
        assert told(full.warm(host, **extra)) == full.told(host, cache=False, **extra)
    for extra in ({"home": full.top / "me"}, {"role": full.top / "role.yaml"}):
        assert told(full.warm("initrunner", **extra)) == full.told("initrunner", cache=False, **extra)


def test_nothing_but_the_answer_is_opened_where_nothing_has_changed(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a SKILL.md nor a folder; also not to tell that a skill is clean."""
    skill(seen.top / "repo/.agents/skills/pdf")
    skill(seen.top / "repo/.agents/skills/xls")
    seen.warm()
    answers = [str(path) for path in seen.files()]
    opened: list[str] = []

    def noting(real: Any) -> Any:
        def call(path: Any, *rest: Any, **named: Any) -> Any:
            opened.append(str(path))
            return real(path, *rest, **named)

        return call

    for name in ("open", "scandir", "listdir"):
        monkeypatch.setattr(os, name, noting(getattr(os, name)))
    catalog = seen.see()
    assert [(entry.name, entry.description, entry.findings) for entry in catalog.skills] == [
        ("pdf", "Does pdf. Use it for pdf.", ()),
        ("xls", "Does xls. Use it for xls.", ()),
    ]
    assert opened == answers
    assert catalog.skills[0].skill.name == "pdf"
    assert len(opened) > 1


def test_one_skill_of_which_little_is_known_is_recalled(seen: Seen) -> None:
    """Columns of one empty text are columns of one text."""
    skill(seen.top / "repo/.agents/skills/x", '""', '""')
    assert told(seen.warm()) == seen.told(cache=False)


def test_a_skill_that_goes_away_after_it_was_recalled_still_answers(seen: Seen) -> None:
    """Whoever holds a catalog is told that the file is missing."""
    file = skill(seen.top / "repo/.agents/skills/x")
    (entry,) = seen.warm().skills
    shutil.rmtree(file.parent)
    assert [item.code for item in entry.skill.findings] == ["file-missing"]
    assert entry.findings == ()
    assert entry.as_dict()["name"] == "x"


def test_threads_may_ask_at_once(full: Seen) -> None:
    """All get the same, first without an answer and then with one."""
    wanted = full.told(cache=False)
    results: list[dict[str, Any]] = []
    for _ in range(3):
        threads = [threading.Thread(target=lambda: results.append(full.told())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 12
    assert all(result == wanted for result in results)


# ── every change is noticed ──────────────────────────────────────────────────────────────────────────────────────────

SKILLS = "repo/.agents/skills"


def rewritten(path: str) -> Callable[[Path], None]:
    """Change one byte of a file in place, and set its times back."""

    def change(top: Path) -> None:
        file = top / path
        status, data = file.stat(), bytearray(file.read_bytes())
        at = data.rindex(b"e")
        data[at : at + 1] = b"u"
        with file.open("r+b") as opened:
            opened.write(data)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    return change


def moved_over(top: Path) -> None:
    """Rename another file over a SKILL.md, of the same size and time."""
    file = top / SKILLS / "a/SKILL.md"
    status = file.stat()
    new = top / "new"
    new.write_text(file.read_text().replace("Does", "Made"))
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    new.rename(file)


def within(top: Path) -> None:
    """Replace a file inside a folder, and set the folder's time back."""
    folder = top / SKILLS / "a"
    status = folder.stat()
    moved_over(top)
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))


def mapped(top: Path) -> None:
    with (top / SKILLS / "a/SKILL.md").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        at = memory.find(b"Does")
        memory[at : at + 4] = b"Made"
        memory.flush()


def as_link(top: Path) -> None:
    folder = top / SKILLS / "a"
    folder.rename(top / "elsewhere")
    folder.symlink_to(top / "elsewhere")


def file_as_link(top: Path) -> None:
    file = top / SKILLS / "a/SKILL.md"
    file.rename(top / "SKILL.md")
    file.symlink_to(top / "SKILL.md")


def relinked(top: Path) -> None:
    """Let a link lead to a folder that looks just the same."""
    shutil.copytree(top / "repo/lib/b", top / "repo/lib/c")
    link = top / SKILLS / "b"
    link.unlink()
    link.symlink_to("../../lib/c")


def relinked_on_the_way(top: Path) -> None:
    shutil.copytree(top / "repo/lib", top / "repo/lib2")
    (top / "repo/way").unlink()
    (top / "repo/way").symlink_to("lib2")


def file_relinked(top: Path) -> None:
    link = top / SKILLS / "f/SKILL.md"
    link.unlink()
    link.symlink_to("../a/SKILL.md")


def git_above(top: Path) -> None:
    (top / "repo/.git").rmdir()
    (top / ".git").mkdir()


def by_another_name(top: Path) -> None:
    with (top / "other-name").open("r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"x")


def wrote(path: str, text: str) -> Callable[[Path], None]:
    def change(top: Path) -> None:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)

    return change


def made(path: str) -> Callable[[Path], None]:
    return lambda top: (top / path).mkdir(parents=True)


def removed(path: str) -> Callable[[Path], None]:
    return lambda top: shutil.rmtree(top / path) if (top / path).is_dir() else (top / path).unlink()


CHANGES: Mapping[str, tuple[str, Callable[[Path], object]]] = {
    "content of the same size with its times set back": ("prowess", rewritten(f"{SKILLS}/a/SKILL.md")),
    "touch": ("prowess", lambda top: (top / SKILLS / "a/SKILL.md").touch()),
    "chmod": ("prowess", lambda top: (top / SKILLS / "a/SKILL.md").chmod(0o600)),
    "another file renamed over it": ("prowess", moved_over),
    "the same with the folder's time set back": ("prowess", within),
    "written through a mapping": ("prowess", mapped),
    "through a hard link": ("prowess", by_another_name),
    "folder becomes a link": ("prowess", as_link),
    "file becomes a link": ("prowess", file_as_link),
    "link retargeted to the same content": ("prowess", relinked),
    "link on the way retargeted": ("prowess", relinked_on_the_way),
    "target of a link": ("prowess", rewritten("repo/lib/b/SKILL.md")),
    "link to a file retargeted": ("prowess", file_relinked),
    "folder added": ("prowess", lambda top: skill(top / SKILLS / "new")),
    "folder removed": ("prowess", removed(f"{SKILLS}/a")),
    "folder renamed": ("prowess", lambda top: (top / SKILLS / "a").rename(top / SKILLS / "z")),
    "SKILL.md appears in a folder": ("prowess", lambda top: skill(top / SKILLS / "empty")),
    "SKILL.md goes": ("prowess", removed(f"{SKILLS}/a/SKILL.md")),
    "first skills folder": ("prowess", lambda top: skill(top / "repo/.prowess/skills/x")),
    "a package": ("prowess", lambda top: skill(top / "repo/.prowess/packages/q/skills/x")),
    "skills above the working directory": ("prowess", lambda top: skill(top / "home/.agents/skills/x")),
    "nested skills": ("claude-code", lambda top: skill(top / "repo/sub/.claude/skills/x")),
    "another file of a copy": ("prowess", rewritten("home/.claude/skills/twin/data.txt")),
    "another file of the copied": ("prowess", rewritten("repo/.claude/skills/twin/data.txt")),
    "a file beside a copy": ("prowess", wrote("home/.claude/skills/twin/deep/new", "x")),
    "a file goes from a copy": ("prowess", removed("repo/.claude/skills/twin/data.txt")),
    "settings made": ("claude-code", wrote("repo/sub/.claude/settings.json", '{"skillOverrides": {"a": "off"}}')),
    "settings changed": ("claude-code", rewritten("home/.claude/settings.json")),
    "settings removed": ("claude-code", removed("home/.claude/settings.json")),
    "settings behind a link": ("gemini-cli", rewritten("dotfiles/gemini.json")),
    "beside a SKILL.md, changed": ("codex", rewritten(f"{SKILLS}/a/agents/openai.yaml")),
    "beside a SKILL.md, made": ("codex", wrote(f"{SKILLS}/b/agents/openai.yaml", "policy: {}")),
    "ignore file made": ("pi", wrote(f"{SKILLS}/.gitignore", "a\n")),
    "ignore file below made": ("pi", wrote(f"{SKILLS}/group/.ignore", "a\n")),
    "git here goes": ("prowess", removed("repo/.git")),
    "git below": ("prowess", made("repo/sub/.git")),
    "git above": ("prowess", git_above),
    "role": ("initrunner", rewritten("repo/sub/role.yaml")),
    "a named folder appears": ("prowess", lambda top: skill(top / "repo/sub/extra/x")),
    "mode of a folder that is only passed": ("prowess", lambda top: (top / SKILLS / "a").chmod(0o700)),
}


@pytest.fixture
def changing(seen: Seen) -> Seen:
    top = seen.top
    skill(top / SKILLS / "a")
    (top / SKILLS / "a/agents").mkdir()
    (top / SKILLS / "a/agents/openai.yaml").write_text("policy:\n  allow_implicit_invocation: false\n")
    os.link(top / SKILLS / "a/SKILL.md", top / "other-name")
    skill(top / "repo/lib/b")
    (top / SKILLS / "b").symlink_to("../../lib/b")
    (top / "repo/way").symlink_to("lib")
    (top / SKILLS / "w").symlink_to("../../way/b")
    (top / SKILLS / "empty").mkdir()
    skill(top / SKILLS / "group/a")
    (top / SKILLS / "f").mkdir()
    (top / SKILLS / "f/SKILL.md").symlink_to("../../../lib/b/SKILL.md")
    for base in ("repo/.claude/skills/twin", "home/.claude/skills/twin"):
        skill(top / base)
        (top / base / "data.txt").write_text("the same")
    (top / "repo/sub").mkdir()
    (top / "home/.claude/settings.json").write_text('{"skillOverrides": {"twin": "name-only"}}')
    (top / "dotfiles").mkdir()
    (top / "dotfiles/gemini.json").write_text('{"skills": {"disabled": ["e"]}}')
    (top / "home/.gemini").mkdir()
    (top / "home/.gemini/settings.json").symlink_to(top / "dotfiles/gemini.json")
    (top / "repo/sub/role.yaml").write_text("spec:\n  auto_skills:\n    enabled: true\n")
    return seen


@pytest.mark.parametrize("change", [*CHANGES])
def test_a_change_is_noticed(changing: Seen, change: str) -> None:
    """Whatever it is, the answer that was kept before it is not believed."""
    host, change_it = CHANGES[change]
    extra: dict[str, Any] = {"cwd": changing.top / "repo/sub", "skill_dirs": ["extra"]}
    if host == "initrunner":
        extra["role"] = changing.top / "repo/sub/role.yaml"
    changing.warm(host, **extra)
    time.sleep(TICK)
    change_it(changing.top)
    before = changing.variables_read
    after = changing.see(host, **extra)
    if "only passed" not in change:
        assert changing.variables_read == before + 1
    assert told(after) == changing.told(host, cache=False, **extra)


@pytest.mark.parametrize("host", ["prowess", "claude-code", "codex", "pi", "initrunner"])
def test_whatever_was_absent_is_noticed_when_it_appears(changing: Seen, host: str) -> None:
    """Every path that was looked at in vain, as a folder and as a file."""
    changing.warm(host)
    fingerprints = changing.kept[-1]
    noted = [
        *fingerprints.files.items(),
        *fingerprints.folders.items(),
        *fingerprints.kinds.items(),
        *fingerprints.links.items(),
    ]
    top = str(changing.top)
    absent = sorted({path for path, state in noted if not state and path.startswith(top)})
    assert len(absent) > 1
    for path in absent:
        for make in (os.mkdir, lambda file: Path(file).write_text("x")):
            first = folder = os.path.dirname(path.rstrip("/"))
            if path.endswith("/") and make is not os.mkdir:
                continue  # a file is nothing there
            if os.path.lexists(path) or (os.path.lexists(folder) and not os.path.isdir(folder)):
                continue  # below a file or a link that leads nowhere
            while not os.path.lexists(first):
                path_of_first, first = first, os.path.dirname(first)
            time.sleep(TICK)
            changing.see(host)
            before = changing.variables_read
            os.makedirs(folder, exist_ok=True)
            make(path)
            after = changing.see(host)
            assert changing.variables_read == before + 1, path
            assert told(after) == changing.told(host, cache=False), path
            removed(path if first == folder else path_of_first)(Path("/"))


def test_every_variable_a_host_asks_for_is_part_of_what_was_seen(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set, changed or taken away, it is noticed; a variable nobody asks for changes nothing."""
    skill(seen.top / "repo/.agents/skills/a")
    skill(seen.top / "moved/skills/x")
    monkeypatch.setenv("HOME", str(seen.top / "home"))
    variables_read: dict[str, dict[str, str | None]] = {}
    store = Cache.store

    def noting(cache: Cache, query: Any, fingerprints: Fingerprints, variables: Any, *rest: Any) -> bool:
        variables_read[query[2]] = dict(variables)
        return store(cache, query, fingerprints, variables, *rest)

    monkeypatch.setattr(Cache, "store", noting)
    for host in host_names():
        seen.warm(host, home=None)
        for name in variables_read[host]:
            for value in (str(seen.top / "moved"), "false", ""):
                env = {**seen.env, name: value, "UNASKED": value}
                before = seen.variables_read
                found = seen.see(host, home=None, env=env)
                assert seen.variables_read == before + 1, (host, name)
                assert told(found) == seen.told(host, home=None, env=env, cache=False), (host, name)
    assert sum(map(len, variables_read.values())) >= 10


def test_another_home_or_user_or_version_or_named_folder_is_another_question(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them is answered with what was kept for the other."""
    skill(seen.top / "repo/.agents/skills/a")
    seen.warm()
    before = seen.variables_read
    seen.see(skill_dirs=["x"])
    seen.see(home=seen.top / "other")
    seen.see(cwd=seen.top)
    monkeypatch.setenv("HOME", str(seen.top / "other"))
    seen.see()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getgroups", lambda: [12345])
        seen.see()
    with monkeypatch.context() as patch:
        patch.setattr(prowess.catalog._cached_catalog, "code_fingerprint", lambda: "another")
        seen.see()
        assert seen.variables_read == before + 6
        patch.setattr(prowess.catalog._cached_catalog, "code_fingerprint", lambda: "")
        seen.see()
        seen.see()
        assert seen.variables_read == before + 8
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert "54321" in user_identity()
    seen.see()
    assert seen.variables_read == before + 9


# ── what is not kept ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_may_be_changing_is_not_kept(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was written a moment ago may be written again within the same tick of the clock."""
    monkeypatch.setattr(prowess.catalog._cache, "SETTLE_NS", 2_000_000_000)
    file = skill(seen.top / "repo/.agents/skills/a")
    seen.see()
    assert seen.files() == []
    monkeypatch.setattr("prowess.catalog._filesystem.time_ns", lambda: time.time_ns() + 3_000_000_000)
    seen.see()
    assert len(seen.files()) == 1
    file.write_text(file.read_text())
    monkeypatch.setattr("prowess.catalog._filesystem.time_ns", lambda: time.time_ns() + 1_000_000_000)
    shutil.rmtree(seen.folder)
    seen.see()
    assert seen.files() == []


@pytest.mark.parametrize("which", ["file", "folder"])
def test_what_is_dated_in_the_future_is_not_kept(seen: Seen, which: str) -> None:
    """Nor what was seen while the clock was set back."""
    file = skill(seen.top / "repo/.agents/skills/a")
    path = file if which == "file" else file.parent.parent
    os.utime(path, (time.time() + 3600, time.time() + 3600))
    time.sleep(TICK)
    seen.see()
    assert seen.files() == []
    os.utime(path)
    seen.warm()


def test_a_clock_that_was_set_back_keeps_nothing(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    skill(seen.top / "repo/.agents/skills/a")
    monkeypatch.setattr("prowess.catalog._filesystem.time_ns", lambda: time.time_ns() - 3600 * 10**9)
    seen.see()
    assert seen.files() == []


def test_what_changes_while_it_is_looked_at_is_not_believed(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reading a file and noting it, a folder comes and goes."""
    file = skill(seen.top / "repo/.agents/skills/a")
    time.sleep(TICK)
    real = prowess.catalog._precedence.Precedence.resolve

    def changing(decision: Any, found: Any) -> Any:
        file.write_text(file.read_text().replace("Does", "Made"))
        return real(decision, found)

    with monkeypatch.context() as patch:
        patch.setattr(prowess.catalog._precedence.Precedence, "resolve", changing)
        seen.see()
    before = seen.variables_read
    assert seen.see().skills[0].description.startswith("Made")
    assert seen.variables_read == before + 1


def test_what_may_not_be_looked_at_is_not_kept(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing tells when it may be: a file, a folder, the files of a copy."""
    file = skill(seen.top / "repo/.agents/skills/a")
    skill(seen.top / "home/.agents/skills/a")
    time.sleep(TICK)
    opened, listed = os.open, os.scandir
    for name, forbidden in (("open", str(file)), ("scandir", str(file.parent.parent)), ("scandir", str(file.parent))):

        def refusing(path: Any, *rest: Any, forbidden: str = forbidden, name: str = name, **named: Any) -> Any:
            if path == forbidden:
                raise PermissionError(errno.EACCES, "Permission denied", path)
            return (opened if name == "open" else listed)(path, *rest, **named)

        with monkeypatch.context() as patch:
            patch.setattr(os, name, refusing)
            seen.see()
        assert seen.files() == [], forbidden
    seen.warm()


def test_what_was_read_without_a_note_is_not_kept(seen: Seen) -> None:
    """A disk that was used before may have seen what is no longer there."""
    skill(seen.top / "repo/.agents/skills/a")
    time.sleep(TICK)
    filesystem = Filesystem()
    seen.see(filesystem=filesystem, cache=False)
    seen.see(filesystem=filesystem)
    assert seen.files() == []
    filesystem = Filesystem()
    for host in ("prowess", "claude-code", "codex"):
        seen.see(host, filesystem=filesystem)
        before = seen.variables_read
        assert told(seen.see(host)) == seen.told(host, cache=False)
        assert seen.variables_read > before
    assert len(seen.files()) == 3


def test_a_text_with_a_nul_is_kept_aside(seen: Seen) -> None:
    """Columns of texts are told apart by it."""
    skill(seen.top / "repo/.agents/skills/a", description='"a\\0b and more"')
    time.sleep(TICK)
    assert "\0" in seen.see().skills[0].description
    assert seen.files() != []
    assert seen.told() == seen.told(cache=False)


# ── files that are not what was written ──────────────────────────────────────────────────────────────────────────────


class Kept:
    """One answer in a cache of its own, with its file."""

    def __init__(self, top: Path) -> None:
        (top / "file").write_text("x")
        self.cache = Cache(str(top / "cache"))
        self.query = ["who", "where"]
        assert self.store()
        (self.path,) = (top / "cache").iterdir()
        self.data = self.path.read_bytes()
        self.top = top
        assert self.load()

    def fingerprints(self) -> Fingerprints:
        fingerprints = Fingerprints()
        path = os.path.dirname(self.cache.folder)
        fingerprints.files = {f"{path}/file": fingerprint_path(f"{path}/file"), f"{path}/absent": b""}
        fingerprints.kinds = {path: "d"}
        return fingerprints

    def store(self, *extra: str) -> bool:
        columns = [["a", "b"], ["", "\udcff\ud800"]]
        return self.cache.store(
            [*self.query, *extra], self.fingerprints(), {"V": "1", "U": None}, time.time_ns() + 10**9, columns, b"more"
        )

    def load(self) -> bool:
        answer = self.cache.load(self.query, {"V": "1"})
        if answer is None:
            return False
        try:
            columns = [answer.column(0), answer.column(1)]
        except ValueError:  # which `Recalled` takes for no answer
            return False
        assert (columns, answer.extra) == ([["a", "b"], ["", "\udcff\ud800"]], b"more")
        return True


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path.resolve())


def test_no_flipped_byte_and_no_cut_is_believed(kept: Kept) -> None:
    """Each bit of each byte, each length, and anything at the end."""
    size = len(kept.data)
    with kept.path.open("r+b", buffering=0) as file:

        def put(at: int, data: bytes) -> None:
            os.pwrite(file.fileno(), data, at)

        for at, byte in enumerate(kept.data):
            for bit in range(8):
                put(at, bytes([byte ^ 1 << bit]))
                assert not kept.load(), (at, bit)
            put(at, kept.data[at : at + 1])
        assert kept.load()
        for extra in (b"\0", b"\n", b"x", kept.data):
            put(size, extra)
            assert not kept.load()
            file.truncate(size)
        assert kept.load()
        for length in range(size - 1, -1, -1):
            file.truncate(length)
            assert not kept.load(), length


def test_what_is_no_file_of_the_user_s_own_is_not_read(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a FIFO, a link, a file or folder where others may write, of another user, or far too large."""
    path, data, me = kept.path, kept.data, os.geteuid()
    for mode in (0o620, 0o602):
        path.chmod(mode)
        assert not kept.load()
    path.chmod(0o600)
    for mode in (0o770, 0o707):
        path.parent.chmod(mode)
        assert not kept.load()
        assert not kept.store("new") or len(list(path.parent.iterdir())) == 1
    path.parent.chmod(0o700)
    assert kept.load()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: me + 1)
        assert not kept.load()
    with path.open("r+b") as file:
        file.truncate(100 * 1024 * 1024)
    assert not kept.load()
    path.unlink()
    path.mkdir()
    assert not kept.load()
    assert not kept.store()
    path.rmdir()
    os.mkfifo(path)
    assert not kept.load()
    path.unlink()
    (kept.top / "elsewhere").write_bytes(data)
    path.symlink_to(kept.top / "elsewhere")
    assert not kept.load()
    path.unlink()
    path.write_bytes(data)
    assert kept.load()
    path.parent.rename(kept.top / "moved")
    path.parent.symlink_to("moved")
    assert not kept.load()


def test_the_answer_to_another_question_is_not_believed(kept: Kept) -> None:
    """Also where it lies under the name of this one."""
    assert kept.store("more")
    (other,) = set(kept.path.parent.iterdir()) - {kept.path}
    other.replace(kept.path)
    assert not kept.load()


def test_an_environment_that_has_changed_is_not_believed(kept: Kept) -> None:
    for env in ({}, {"V": "2"}, {"V": "1", "U": ""}):
        assert kept.cache.load(kept.query, env) is None
    assert kept.cache.load(kept.query, {"V": "1", "other": "x"}) is not None


@pytest.mark.parametrize(
    ("notes", "name", "state"),
    [
        ("files", "link", b""),
        ("files", "file", b"x" * 48),
        ("folders", "folder", b""),
        ("folders", "folder", b"x" * 48),
        ("kinds", "link", "f"),
        ("kinds", "absent", "d"),
        ("links", "link", "d"),
        ("links", "absent", "l"),
        ("real_paths", "link", "/elsewhere"),
    ],
)
def test_a_look_that_shows_something_else_is_enough(kept: Kept, notes: str, name: str, state: Any) -> None:
    """Of whatever kind it is; and where something may not be looked at, nothing is kept."""
    (kept.top / "folder").mkdir()
    (kept.top / "link").symlink_to("folder")
    fingerprints, started_ns = kept.fingerprints(), time.time_ns() + 10**9
    fingerprints.kinds[f"{kept.top}/link"], fingerprints.links[f"{kept.top}/link"] = "d", "l"
    fingerprints.real_paths[f"{kept.top}/link"] = f"{kept.top}/folder"
    fingerprints.folders = {f"{kept.top}/link": fingerprint_path(f"{kept.top}/folder"), f"{kept.top}/absent": b""}
    assert kept.cache.store(["true"], fingerprints, {}, started_ns, [], b"")
    assert kept.cache.load(["true"], {}) is not None
    getattr(fingerprints, notes)[f"{kept.top}/{name}"] = state
    far = Cache(kept.cache.folder, settle_ns=-(1 << 70))
    assert far.store(["false"], fingerprints, {}, started_ns, [], b"")
    assert far.load(["false"], {}) is None
    fingerprints.complete = False
    assert not far.store(["incomplete"], fingerprints, {}, started_ns, [], b"")


def parts(data: bytes) -> list[bytes]:
    head, _, body = data.partition(b"\n")
    sections, at = [], 0
    for size in map(int, head.split(b" ")[3:]):
        sections.append(body[at : at + size])
        at += size
    return sections


def sealed(sections: list[bytes], lengths: bytes | None = None) -> bytes:
    """Write a file with the right checksum."""
    lengths = b" ".join(b"%d" % len(section) for section in sections) if lengths is None else lengths
    body = b"".join(sections)
    return b"prowess-cache 1 %08x " % crc32(body, crc32(lengths)) + lengths + b"\n" + body


NONSENSE: Mapping[str, Callable[[list[bytes]], bytes]] = {
    "fewer sections": lambda rows: sealed(rows[:5]),
    "no section": lambda _: sealed([]),
    "mark missing": lambda rows: sealed([*rows[:2], rows[2][:-48], *rows[3:]]),
    "mark cut": lambda rows: sealed([*rows[:2], rows[2][:-1], *rows[3:]]),
    "no path for a mark": lambda rows: sealed([*rows[:1], b"", *rows[2:]]),
    "path with nothing there": lambda rows: sealed([*rows[:1], b"/nothing-there\0", *rows[2:]]),
    "paths of nothing": lambda rows: sealed([*rows[:1], b"\0" * 100_000, *rows[2:]]),
    "text without end": lambda rows: sealed([*rows[:5], rows[5] + b"x", *rows[6:]]),
    "a row too many": lambda rows: sealed([*rows[:5], rows[5] + b"v\0", *rows[6:]]),
    "a row of no kind": lambda rows: sealed([*rows[:5], rows[5] + b"xy\0\0", *rows[6:]]),
    "an empty row": lambda rows: sealed([*rows[:5], rows[5] + b"\0\0", *rows[6:]]),
    "not UTF-8": lambda rows: sealed([*rows[:7], b"\xff\xfe\0", *rows[8:]]),
    "lengths below nothing": lambda rows: sealed(rows, b"-1 " + b"1 " * 6 + b"1"),
    "lengths beyond all": lambda rows: sealed(rows, b"9" * 400),
    "too many lengths": lambda rows: sealed(rows, b"0 " * 200 + b"0"),
    "lengths of no number": lambda rows: sealed(rows, b"a b c"),
    "no lengths": lambda rows: sealed(rows, b""),
    "lengths without end": lambda rows: sealed(rows, b"1" * 4_000_000),
}


@pytest.mark.parametrize("nonsense", [*NONSENSE])
def test_nonsense_with_a_right_checksum_is_no_answer(kept: Kept, nonsense: str) -> None:
    """Nothing is raised and nothing takes long."""
    kept.path.write_bytes(sealed(parts(kept.data)))
    assert kept.load()
    kept.path.write_bytes(NONSENSE[nonsense](parts(kept.data)))
    assert not kept.load()


# ── where it lies ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_folder_is_the_user_s_choice_or_the_system_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """`PROWESS_CACHE_DIR`, else `XDG_CACHE_HOME`, else below the home; `PROWESS_NO_CACHE` says no to all."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder({}) == "/home/me/.cache/prowess"
    assert cache_folder({"XDG_CACHE_HOME": "/x"}) == "/x/prowess"
    assert cache_folder({"XDG_CACHE_HOME": "not/absolute"}) == "/home/me/.cache/prowess"
    assert cache_folder({"PROWESS_CACHE_DIR": "/c", "XDG_CACHE_HOME": "/x"}) == "/c"
    assert cache_folder({"PROWESS_CACHE_DIR": "c"}) == os.path.abspath("c")
    for word in ("1", "true", "yes", " on ", "anything"):
        assert cache_folder({"PROWESS_CACHE_DIR": "/c", "PROWESS_NO_CACHE": word}) is None
    for word in ("", "0", "false", "No", "off"):
        assert cache_folder({"PROWESS_CACHE_DIR": "/c", "PROWESS_NO_CACHE": word}) == "/c"
    monkeypatch.setenv("HOME", "relative")
    assert cache_folder({}) is None
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("HOME", "/Users/me")
    assert cache_folder({}) == "/Users/me/Library/Caches/prowess"
    monkeypatch.setattr(sys, "platform", "win32")
    assert cache_folder({"PROWESS_CACHE_DIR": "/c"}) is None


def test_no_cache_leaves_nothing_behind(seen: Seen) -> None:
    """Neither the argument nor the variable lets the folder be made."""
    skill(seen.top / "repo/.agents/skills/a")
    time.sleep(TICK)
    seen.see(cache=False)
    seen.see(env={**seen.env, "PROWESS_NO_CACHE": "1"})
    seen.see(load_host("prowess"))  # type: ignore[arg-type]
    assert not seen.folder.exists()


def test_the_folder_is_made_for_the_user_alone(seen: Seen) -> None:
    """So is each file."""
    skill(seen.top / "repo/.agents/skills/a")
    seen.env["PROWESS_CACHE_DIR"] = str(seen.top / "several/levels/cache")
    seen.warm()
    folder = seen.top / "several/levels/cache"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600]


@pytest.mark.parametrize("call", ["mkdir", "open", "write", "replace", "scandir"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_disk_that_takes_nothing_changes_nothing(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    """The catalog is right, nothing is said and nothing is left."""
    skill(seen.top / "repo/.agents/skills/a")
    time.sleep(TICK)
    wanted = seen.told(cache=False)
    real = getattr(os, call)

    def refusing(first: Any, *rest: Any, **named: Any) -> Any:
        ours = call == "write" or str(first).startswith(str(seen.folder))
        if ours and not (call == "open" and rest[0] & os.O_CREAT == 0):
            raise OSError(number, os.strerror(number))
        return real(first, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refusing)
        assert seen.told() == wanted
        assert seen.told() == wanted
    assert not seen.folder.exists() or list(seen.folder.iterdir()) == []


def test_a_file_where_the_folder_should_be_changes_nothing(seen: Seen) -> None:
    """Nor does a folder below a file, or one too deep to be made."""
    skill(seen.top / "repo/.agents/skills/a")
    time.sleep(TICK)
    seen.folder.write_text("x")
    for folder in (seen.folder, seen.folder / "below", seen.top / "nul\0", f"{seen.top}/deep{'/a' * 1800}"):
        seen.env["PROWESS_CACHE_DIR"] = str(folder)
        assert seen.told() == seen.told(cache=False)
    assert seen.folder.read_text() == "x"


def test_an_interrupt_leaves_no_staged_file(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not swallowed, even if the folder is gone by then."""
    for gone in (False, True):

        def interrupted(*_: object, gone: bool = gone, **__: object) -> None:
            if gone:
                shutil.rmtree(kept.path.parent)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", interrupted)
            with pytest.raises(KeyboardInterrupt):
                kept.store()
        assert gone or list(kept.path.parent.iterdir()) == [kept.path]


# ── how much there is of it ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_oldest_answers_go_first_and_no_more_are_kept_than_may_be(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither more files nor more bytes."""
    folder = kept.path.parent

    def aged() -> list[int]:
        for number, file in enumerate(sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)):
            os.utime(file, (1_000_000 + number, 1_000_000 + number))
        return sorted(int(file.stat().st_mtime) for file in folder.iterdir())

    monkeypatch.setattr(prowess.catalog._cache_files, "MAX_FILES", 4)
    for number in range(10):
        aged()
        assert kept.store(str(number))
        assert len(list(folder.iterdir())) == min(number + 2, 4)
    for number in range(7, 10):
        assert kept.cache.load([*kept.query, str(number)], {"V": "1"})
    monkeypatch.setattr(prowess.catalog._cache_files, "MAX_BYTES", 3 * len(kept.data))
    aged()
    assert kept.store("last")
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 3 * len(kept.data)
    assert kept.cache.load([*kept.query, "last"], {"V": "1"})
    monkeypatch.setattr(prowess.catalog._cache, "MAX_FILE_BYTES", 10)
    assert not kept.store("too large")


def test_what_a_killed_process_left_is_removed_after_an_hour(kept: Kept) -> None:
    """Not before: it may still be writing."""
    staged = [kept.path.parent / f".{kept.path.name}.{number}.abc" for number in (1, 2)]
    for file, age in zip(staged, (3700, 3500), strict=True):
        file.write_bytes(b"half")
        os.utime(file, (time.time() - age, time.time() - age))
    assert kept.store()
    assert [file.exists() for file in staged] == [False, True]


def test_nothing_that_is_not_ours_is_removed(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may name a folder that holds other things."""
    monkeypatch.setattr(prowess.catalog._cache_files, "MAX_FILES", 1)
    monkeypatch.setattr(prowess.catalog._cache_files, "MAX_BYTES", 1)
    folder = kept.path.parent
    names = ("catalog-2024.pdf", "catalog-0123456789abcdef.pdf", ".catalog-old", "notes", "catalog-0123456789abcdeg")
    for name in names:
        (folder / name).write_text("mine")
        os.utime(folder / name, (1, 1))
    (folder / "catalog-00000000000000ff").mkdir()
    assert kept.store("one more")
    assert {*names, "catalog-00000000000000ff"} < {file.name for file in folder.iterdir()}
    assert not kept.path.exists()


WORKER = """
import json, os, shutil, sys
import prowess.catalog._cache
prowess.catalog._cache.SETTLE_NS = 0
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


def test_sixteen_processes_may_read_write_damage_and_delete_it_at_once(changing: Seen) -> None:
    """Thirty times each; all see the same, none fails."""
    full = changing
    catalog = full.see(cache=False)
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
    said = [worker.communicate(timeout=60)[1] for worker in workers]
    assert said == [""] * 16
    assert [worker.returncode for worker in workers] == [0] * 16
    assert not full.folder.exists() or all(not file.name.startswith(".") for file in full.folder.iterdir())
    full.warm()
