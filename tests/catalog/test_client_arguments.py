"""Arguments of a client that change its skills, and folders that its settings name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.hosts import Host


def host(**table: Any) -> Host:
    """Return a host with one project folder and a settings file of the user."""
    base = {
        "title": "X",
        "roots": [{"path": ".x/skills", "scope": "project"}],
        "settings_files": {
            "user": {"path": "~/.x/settings.json"},
            "project": {"path": ".x/s.json", "needs_trust": True},
        },
    }
    return host_from_table("x", {**base, **table})


def write(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A project, a home and a folder elsewhere, each with a skill."""
    write(tmp_path / "repo/.x/skills", "own")
    write(tmp_path / "repo/near/skills", "near")
    write(tmp_path / "home/far", "far")
    write(tmp_path / "home/.x/beside", "beside")
    return tmp_path


def names(top: Path, one: Host, *client_args: str) -> list[str]:
    catalog = discover(top / "repo", host=one, home=top / "home", env={}, client_args=client_args)
    return [entry.name for entry in catalog.skills if entry.state == "active"]


ADD = {"name": "--add", "values": "one", "effect": "roots"}


@pytest.mark.parametrize(
    "words",
    [("--add", "near"), ("--add=near",), ("--other", "--add", "near"), ("--add=absent", "--add=./near/../near")],
)
def test_an_argument_names_a_folder_below_which_a_root_is(words: tuple[str, ...], top: Path) -> None:
    """Relative to the working directory."""
    roots = [{"path": ".x/skills", "scope": "project"}, {"argument": "--add", "path": "skills", "scope": "extra"}]
    one = host(roots=roots, arguments=[ADD])
    assert names(top, one) == ["own"]
    assert names(top, one, *words) == ["own", "near"]


def test_an_argument_with_many_values_ends_at_the_next_argument(top: Path) -> None:
    """As clients read `--add-dir a b -p`."""
    roots = [{"argument": "--add", "scope": "extra"}]
    one = host(roots=roots, arguments=[{**ADD, "values": "many"}])
    far = str(top / "home/far/..")
    assert sorted(names(top, one, "--add", "near/skills", f"{far}/far", "-p", "near")) == ["far", "near"]


def test_an_unknown_argument_is_a_finding(top: Path) -> None:
    """It says which ones matter; control characters are escaped."""
    one = host(arguments=[ADD])
    catalog = discover(top / "repo", host=one, home=top / "home", env={}, client_args=["--modle\x1b[31m"])
    (problem,) = [item for item in catalog.findings if item.code == "argument-ignored"]
    assert "\x1b" not in problem.message
    assert problem.hint is not None
    assert "`--add`" in problem.hint


@pytest.mark.parametrize(
    ("folder", "keys", "expected"),
    [
        ("~/far", {}, ["own", "far"]),
        ("~/far", {"tilde": False}, ["own"]),
        ("near/skills", {}, ["own", "near"]),
        ("near/skills", {"relative_to": "none"}, ["own"]),
        ("beside", {"relative_to": "file"}, ["own", "beside"]),
        ("far", {"relative_to": "home"}, ["own", "far"]),
        ("", {}, ["own"]),
        ("a\0b", {}, ["own"]),
        (7, {}, ["own"]),
    ],
)
def test_a_setting_names_folders(folder: Any, keys: dict[str, Any], expected: list[str], top: Path) -> None:
    """Relative to what the client takes; other values are ignored."""
    (top / "home/.x/settings.json").write_text(json.dumps({"skills": {"dirs": [folder]}}))
    roots = [{"path": ".x/skills", "scope": "project"}, {"setting": "skills.dirs", "scope": "extra", **keys}]
    assert names(top, host(roots=roots)) == expected


def test_ten_thousand_folders_are_a_finding(top: Path) -> None:
    """The first thousand count."""
    text = json.dumps({"dirs": [f"/absent/{number}" for number in range(10_000)]})
    (top / "home/.x/settings.json").write_text(text)
    roots = [{"setting": "dirs", "scope": "extra"}]
    catalog = discover(top / "repo", host=host(roots=roots), home=top / "home", env={})
    assert [item.code for item in catalog.findings] == ["config-invalid"]
    assert len(catalog.scan_roots) == 1000


def test_a_file_of_the_project_counts_only_with_trust(top: Path) -> None:
    """Trust comes from an argument, a file, or the default of the client."""
    (top / "repo/.x/s.json").write_text('{"off": ["own"]}')
    settings = [{"key": "off", "form": "names"}, {"key": "trust", "form": "trust", "effects": {"always": "trusted"}}]
    arguments = [{"name": "--yes", "effect": "trusted"}, {"name": "--no", "effect": "untrusted"}]
    one = host(settings=settings, arguments=arguments)
    assert names(top, one) == ["own"]
    assert names(top, one, "--yes") == []
    assert names(top, one, "--yes", "--no") == []  # untrusted: the project's skills are not loaded
    (top / "repo/.x/s.json").write_text("{}")
    assert names(top, host(settings=settings, arguments=arguments, trust_default="untrusted")) == []
    (top / "home/.x/settings.json").write_text('{"trust": "always"}')
    assert names(top, host(settings=settings, arguments=arguments, trust_default="untrusted")) == ["own"]


def test_a_client_that_refuses_to_start_sees_no_skill(top: Path) -> None:
    """An invalid file has the client's own consequence."""
    files = {"user": {"path": "~/.x/settings.json", "invalid": "stops"}}
    (top / "home/.x/settings.json").write_text("{")
    catalog = discover(top / "repo", host=host(settings_files=files), home=top / "home", env={})
    assert catalog.skills == ()
    assert {item.code for item in catalog.findings} == {"config-invalid", "host-disabled"}


def test_an_argument_may_list_the_settings_files_that_count(top: Path) -> None:
    """Except those that always do."""
    (top / "home/.x/settings.json").write_text('{"off": ["own"]}')
    settings = [{"key": "off", "form": "names"}]
    one = host(settings=settings, arguments=[{"name": "--sources", "values": "one", "effect": "files"}])
    assert names(top, one) == []
    assert names(top, one, "--sources", "project") == ["own"]
    assert names(top, one, "--sources", "project, user") == []
