"""A changed file costs the reading of one file: cached results are brought up to date."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

import prowess.cache._recorded
import prowess.catalog._resolve
import prowess.filesystem._filesystem
from mutations import folders_of
from prowess.catalog import discover
from prowess.filesystem import Filesystem
from prowess.hosts import host_names, load_host

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog

TICK = 0.012
"""Seconds: longer than a tick of a file system's clock."""
NAMES = ("alpha", "bravo", "delta")
HOSTS = [name for name in host_names() if name not in ("infer", "wink")]
"""Hosts that have skills without further settings."""
TEXT = "---\nname: {name}\ndescription: {description}\n{more}---\nDo it.\n"


class Project:
    """Three plain skills of a host, a cache, and counts of what is read."""

    def __init__(self, top: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(prowess.cache._recorded, "SETTLE_NS", 0)
        self.top, self.host = top, host
        self.folder = top / "repo" / folders_of(load_host(host))[0]
        self.env = {"PROWESS_CACHE_DIR": str(top / "cache")}
        (top / "home").mkdir()
        (top / "repo/.git").mkdir(parents=True)
        for name in NAMES:
            self.write(name, f"Reads forms of {name}.")
        self.walks = 0
        self.opened: list[str] = []
        resolve_skills, read = prowess.catalog._resolve.resolve_skills, prowess.filesystem._filesystem.Filesystem._read

        def counted_walk(*args: Any, **named: Any) -> Any:
            self.walks += 1
            return resolve_skills(*args, **named)

        def counted_read(filesystem: Any, path: str, *, whole: bool) -> Any:
            if (name := os.path.basename(os.path.dirname(path))) in NAMES:
                self.opened.append(name)
            return read(filesystem, path, whole=whole)

        monkeypatch.setattr(prowess.catalog._resolve, "resolve_skills", counted_walk)
        monkeypatch.setattr(prowess.filesystem._filesystem.Filesystem, "_read", counted_read)

    def write(self, name: str, description: str, more: str = "", body: str = "") -> None:
        file = self.folder / name / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TEXT.format(name=name, description=description, more=more) + body)

    def discover(self, host: str = "", **extra: Any) -> Catalog:
        return discover(self.top / "repo", host or self.host, home=self.top / "home", env=self.env, **extra)

    def check(self) -> tuple[int, list[str]]:
        """Return how many walks a cached question takes and which files it opens, once its answer is right."""
        time.sleep(TICK)
        self.walks, self.opened = 0, []
        found = self.discover()
        cost = self.walks, self.opened
        self.opened = []
        assert entries(found) == entries(self.discover(cache=False))
        return cost


def entries(catalog: Catalog) -> list[Any]:
    return [(entry.as_dict(), entry.rule, entry.real, entry.alias) for entry in catalog.skills]


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = Project(tmp_path.resolve(), getattr(request, "param", "prowess"), monkeypatch)
    assert project.check()[0] == 1
    assert project.check() == (0, [])
    return project


@pytest.mark.parametrize("project", HOSTS, indirect=True)
def test_a_changed_text_costs_one_file(project: Project) -> None:
    """Another field takes a new walk, and so does a description at a client with a budget for all descriptions."""
    project.write("bravo", "Reads forms of bravo.", body="And more.\n")
    assert project.check() == (0, ["bravo"])
    assert project.check() == (0, [])
    project.write("bravo", "Fills forms of any kind, at any time.")
    walks, opened = project.check()
    assert walks == int(load_host(project.host).budget.limit > 0)
    assert walks or opened == ["bravo"]
    project.write("bravo", "Fills forms of any kind, at any time.", "license: MIT\n")
    assert project.check()[0] == 1
    assert project.check() == (0, [])


@pytest.mark.parametrize("more", ["disable-model-invocation: true\n", "user-invocable: false\n", "metadata:\n  a: b\n"])
@pytest.mark.parametrize("project", ["prowess", "claude-code", "codex"], indirect=True)
def test_any_other_field_takes_a_new_walk(project: Project, more: str) -> None:
    project.write("bravo", "Reads forms of bravo.", more)
    assert project.check()[0] == 1


@pytest.mark.parametrize("project", HOSTS, indirect=True)
def test_a_description_that_is_not_plain_is_decided_again(project: Project) -> None:
    """Whether a walk is needed or not."""
    for description in ("2026-01-01", "[a, b]", "<b>Fills forms.</b>", ">-\n  Two\n  lines", "x", '""'):
        project.write("bravo", description)
        project.check()
        project.write("bravo", "Fills forms again.")
        project.check()


def test_a_file_that_has_just_changed_is_read_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other files are not, and nothing is stored before its time stamp is certain."""
    monkeypatch.setattr(prowess.cache._recorded, "SETTLE_NS", 60_000_000_000)
    for description in ("Fills forms now.", "Fills forms of any kind."):
        project.write("bravo", description)
        for _ in range(2):
            assert project.check() == (0, ["bravo"])


@pytest.fixture
def linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose folder of skills is a link for Claude Code."""
    project = Project(tmp_path.resolve(), "claude-code", monkeypatch)
    (tmp_path / "repo/.agents").mkdir(exist_ok=True)
    project.folder.rename(tmp_path / "repo/.agents/skills")
    project.folder.symlink_to("../.agents/skills")
    return project


def test_a_file_behind_a_link_is_opened_once_for_all_hosts(linked: Project) -> None:
    filesystem = Filesystem()
    for host in ("prowess", "claude-code", "amp"):
        assert len(linked.discover(host, cache=False, filesystem=filesystem).active) == len(NAMES)
    assert sorted(linked.opened) == sorted(NAMES)


def test_an_edit_behind_a_link_costs_one_file(linked: Project) -> None:
    assert linked.check()[0] == 1
    assert linked.check() == (0, [])
    linked.write("bravo", "Reads forms of bravo.", body="And more.\n")
    assert linked.check() == (0, ["bravo"])


def test_a_description_that_becomes_what_a_budget_left_of_it_makes_room_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same text is shown of it as before, but the descriptions of other skills come back."""
    project = Project(tmp_path.resolve(), "qwen-code", monkeypatch)
    for name in NAMES:
        project.write(name, f"|-\n  Reads forms of {name}." + "\n  And fills them." * 40)
    project.check()
    assert {entry.rule for entry in project.discover().skills} == {"budget"}
    project.write("bravo", "|-\n  Reads forms of bravo.")
    project.check()
    assert {entry.rule for entry in project.discover().skills} == {"found"}


def test_a_description_longer_than_the_default_limit_stays_whole_for_a_user_with_a_larger_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path.resolve(), "claude-code", monkeypatch)
    (tmp_path / "home/.claude").mkdir()
    (tmp_path / "home/.claude/settings.json").write_text('{"skillListingMaxDescChars": 4000}')
    project.write("bravo", "Reads " + "x" * 1529 + "…")
    project.check()
    assert project.check() == (0, [])
    project.write("bravo", "Reads " + "x" * 2000)
    project.check()
