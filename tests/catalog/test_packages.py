"""Packages that settings list, and patterns that switch skills off and on."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.catalog._package_sources import git_folder, is_in_range, npm_name
from prowess.catalog._path_patterns import PathPatterns
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog


def see(top: Path, settings: Any) -> Catalog:
    """Return what a client with packages sees; settings that are bytes are written as they are."""
    file = top / "home/.x/settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(settings if isinstance(settings, bytes) else json.dumps(settings).encode())
    host = host_from_table(
        "x",
        {
            "title": "X",
            "walk": {"depth": -1, "own": "alone"},
            "roots": [
                {"path": "~/.x/skills", "scope": "user", "switched_by": "skills", "switching_files": ["user"]},
                {"plugins": "all", "scope": "plugin", "may_be_file": True},
            ],
            "plugins": {"all": {"sources": "packages", "setting_files": ["user"], "skills_key": "x.skills"}},
            "settings_files": {"user": {"path": "~/.x/settings.json"}},
        },
    )
    (top / "repo").mkdir(exist_ok=True)
    return discover(top / "repo", host=host, home=top / "home", env={})


def write(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")


def active(catalog: Catalog) -> list[str]:
    return [entry.name for entry in catalog.skills if entry.state == "active"]


def test_a_skill_that_a_pattern_switches_off_is_rejected_with_the_file(tmp_path: Path) -> None:
    write(tmp_path / "home/.x/skills", "a")
    write(tmp_path / "home/.x/skills", "b")
    catalog = see(tmp_path, {"skills": ["!a"]})
    assert [(entry.name, str(entry.state), entry.rule) for entry in catalog.skills] == [
        ("a", "rejected", "settings"),
        ("b", "active", "found"),
    ]
    assert "settings.json" in (catalog.skills[0].reason or "")


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


def test_a_package_of_npm_stays_in_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "home/.x/skills-of-another/skills", "a")
    (tmp_path / "home/.x/skills-of-another/package.json").write_text('{"version": "1.0.0"}')
    assert active(see(tmp_path, {"packages": ["npm:../../skills-of-another"]})) == []


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
def test_no_settings_with_packages_take_long_or_fail(settings: Any, tmp_path: Path) -> None:
    """Folders that loop, a manifest that is a FIFO, ten thousand entries."""
    loop = tmp_path / "home/.x/loop"
    write(loop / "skills", "a")
    (loop / "skills/again").symlink_to("..")
    os.mkfifo(loop / "package.json")
    write(tmp_path / "home/.x/skills", "mine")
    start = time.process_time()
    catalog = see(tmp_path, settings)
    assert time.process_time() - start < 2
    assert all(item.code for item in catalog.findings)


@pytest.mark.parametrize(
    "listed", [["**"], ["**/*"], ["{a,b}*" * 100], ["../" * 100 + "*"], ["/"], ["skills"] * 10_000]
)
def test_no_manifest_takes_long(listed: list[str], tmp_path: Path) -> None:
    package = tmp_path / "home/.x/p"
    for number in range(30):
        write(package / "skills" / f"s{number}", "a")
    (package / "package.json").write_text(json.dumps({"x": {"skills": listed}}))
    start = time.process_time()
    see(tmp_path, {"packages": ["./p"]})
    assert time.process_time() - start < 2


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
def test_hostile_versions_are_compared_in_bounded_time(version: str, wanted: str) -> None:
    start = time.process_time()
    is_in_range(version, wanted)
    assert time.process_time() - start < 0.5
