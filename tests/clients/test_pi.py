"""What pi alone does: packages that its settings list, and patterns that switch skills off and on."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from prowess.clients.pi import PathPatterns, git_folder, is_in_range, npm_name
from support.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = "home/.pi/agent/settings.json"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "pi")


def test_a_skill_that_a_pattern_switches_off_is_rejected_with_the_file(machine: Machine) -> None:
    machine.skills("home/.pi/agent/skills/a", "home/.pi/agent/skills/b")
    machine.write(SETTINGS, {"skills": ["!a"]})
    found = {entry.name: (str(entry.state), entry.rule) for entry in machine.catalog().skills}
    assert found == {"a": ("rejected", "settings"), "b": ("active", "found")}
    assert "settings.json" in next(entry.reason or "" for entry in machine.catalog().skills if entry.name == "a")


@pytest.mark.parametrize(
    ("form", "patterns", "on"),
    [
        ("switch", ("!a",), False),
        ("switch", ("!a", "+s/a"), True),
        ("switch", ("-s/a", "+s/a"), False),
        ("switch", ("*b*",), True),
        ("select", ("*b*",), False),
        ("select", ("b", "s/*"), True),
        ("only", (), False),
        ("only", ("s/*", "!a"), False),
        ("only", ("!a", "+./s/a/SKILL.md"), True),
        ("change", (), True),
        ("change", ("-s/a",), False),
    ],
)
def test_patterns_of_each_form(form: str, patterns: tuple[str, ...], on: bool) -> None:
    rules = PathPatterns(base="/x", patterns=patterns, file="/f", form=form)
    assert (rules.reason_off("/x/s/a/SKILL.md") == "") is on


@pytest.mark.parametrize(
    ("source", "folder"),
    [
        ("git:github.com/u/r@v1", "github.com/u/r"),
        ("https://github.com/u/r.git#main", "github.com/u/r"),
        ("git:git@example.org:g/s/r", "example.org/g/s/r"),
        ("git:u/r", "github.com/u/r"),
        ("github:u/r", None),
        ("https://e.org/%2e%2e/%2e%2e/x", None),
        ("https://e.org/../../x", None),
        ("https://[/a/b", None),
        ("git:" + "/" * 1000, None),
        ("./git", None),
    ],
)
def test_a_repository_has_a_folder_inside_the_one_of_all_repositories(source: str, folder: str | None) -> None:
    assert git_folder(source) == folder


def test_ranges_of_versions() -> None:
    """As npm reads them; a tag such as `latest` is no range."""
    assert npm_name("npm:@s/a@^1") == ("@s/a", "^1")
    fits = ["1.2.3", "^1.0.0", "~1.2", "1.x", ">=1 <2", "1.0 - 1.2", "2 || 1.2.3", "*", "latest", ">1.1"]
    assert all(is_in_range("1.2.3", wanted) for wanted in fits)
    assert not any(is_in_range("1.2.3", wanted) for wanted in ["1.2.4", "^2", "~1.1", "<1.2", "2.x", ">1.2.3"])
    assert not is_in_range("1.2.3-beta", "^1.0.0")
    assert not is_in_range(None, "1.x")


def test_a_package_of_npm_stays_in_its_folder(machine: Machine) -> None:
    machine.skills("home/.pi/agent/skills-of-another/skills/a")
    machine.write("home/.pi/agent/skills-of-another/package.json", {"version": "1.0.0"})
    machine.write(SETTINGS, {"packages": ["npm:../../skills-of-another"]})
    assert machine.active() == []


HOSTILE: list[Any] = [
    {"packages": ["/", "~", ".", "..", "", "\0", "npm:", "git:", "file:///", "a" * 10_000]},
    {"packages": [f"./absent-{number}" for number in range(10_000)]},
    {"packages": [{"source": "./loop", "skills": ["!**/" * 500] * 1000}]},
    {"packages": "text"},
    {"packages": [7, None, {}, {"source": 7}, [], {"source": "./loop", "skills": 7}]},
    {"skills": ["!" + "*a" * 100] * 10_000},
    b"\xff\xfe",
    b"[" * 100_000,
    b" " * 3_000_000,
]


@pytest.mark.parametrize("settings", HOSTILE, ids=range(len(HOSTILE)))
def test_no_settings_with_packages_fail(settings: Any, machine: Machine) -> None:
    """Folders that loop, a manifest that is a FIFO, ten thousand entries."""
    loop = machine.top / "home/.pi/agent/loop"
    machine.skills("home/.pi/agent/loop/skills/a", "home/.pi/agent/skills/mine")
    (loop / "skills/again").symlink_to("..")
    os.mkfifo(loop / "package.json")
    machine.write(SETTINGS, settings)
    assert all(item.code for item in machine.catalog().findings)


@pytest.mark.parametrize("listed", [["**"], ["**/*"], ["{a,b}*" * 100], ["../" * 100 + "*"], ["skills"] * 10_000])
def test_no_manifest_finds_more_than_its_package_has(listed: list[str], machine: Machine) -> None:
    machine.skills(*(f"home/.pi/agent/p/skills/s{number}" for number in range(3)), "home/.pi/agent/other/x")
    machine.write("home/.pi/agent/p/package.json", json.dumps({"pi": {"skills": listed}}))
    machine.write(SETTINGS, {"packages": ["./p"]})
    assert set(machine.active()) <= {"s0", "s1", "s2"}


@pytest.mark.parametrize("listed", ["/", "../../../many"])
def test_a_manifest_that_lists_a_whole_disk_is_searched_up_to_a_limit(
    listed: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is a finding, as for every root; pi itself would search all of it."""
    for number in range(2_001):
        (machine.top / f"home/many/{number}/inner").mkdir(parents=True)
    machine.write("home/.pi/agent/p/package.json", json.dumps({"pi": {"skills": [listed]}}))
    machine.write(SETTINGS, {"packages": ["./p"]})
    scandir = Mock(wraps=os.scandir)
    monkeypatch.setattr(os, "scandir", scandir)
    findings = [item for item in machine.catalog().findings if item.code == "folder-limit"]
    assert [item.message for item in findings] == ["more than 2,000 folders: the rest of this root is not scanned"]
    assert scandir.call_count < 50_000


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        (" " * 500_000 + "x", "1"),
        ("1.2.3-" + "9" * 5000, "1"),
        ("1.2.3", "1||" * 500_000),
        ("1.2.3", "1-" + "9" * 5000),
    ],
    ids=["blanks", "digits", "choices", "digits-of-range"],
)
def test_hostile_versions_are_refused_before_they_are_compared(version: str, wanted: str) -> None:
    """A search in them would take quadratic time, or fail."""
    assert not is_in_range(version, wanted)
