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


def test_an_argument_may_leave_only_the_folders_that_arguments_name(top: Path) -> None:
    roots = [{"path": ".x/skills", "scope": "project"}, {"argument": "--add", "scope": "extra"}]
    one = host(roots=roots, arguments=[ADD, {"name": "--none", "effect": "named"}])
    assert names(top, one, "--none") == []
    assert names(top, one, "--none", "--add", "near/skills") == ["near"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (" ~/far ", ["far"]),
        ("file://{top}/home/far", ["far"]),
        ("file://{top}/home/f%61r", ["far"]),
        ("file://other/far", []),
        ("", ["far"]),
        ("~", ["far"]),
        ("far/loose.md", ["loose"]),
        ("far/loose.txt", []),
        ("far/\0", []),
    ],
)
def test_a_setting_names_a_path_as_node_reads_it(written: str, expected: list[str], top: Path) -> None:
    """Also a file, and the folder of the settings file."""
    (top / "home/far/loose.md").write_text("---\nname: loose\ndescription: d\n---\n")
    (top / "home/far/loose.txt").write_text("---\nname: text\ndescription: d\n---\n")
    (top / "home/s.json").write_text(json.dumps({"paths": [written.replace("{top}", str(top))]}))
    root = {"setting": "paths", "relative_to": "file", "trims": True, "may_be_file": True, "depth": 2, "scope": "extra"}
    one = host(roots=[root], settings_files={"user": {"path": "~/s.json"}})
    assert names(top, one) == expected


def test_two_roots_of_one_setting_have_the_folders_of_their_own_files(top: Path) -> None:
    """And their own place among the others."""
    (top / "home/.x/settings.json").write_text('{"paths": ["~/.x/beside"]}')
    (top / "repo/.x/s.json").write_text('{"paths": ["near/skills"]}')
    roots = [
        {"setting": "paths", "setting_files": ["project"], "scope": "project"},
        {"path": ".x/skills", "scope": "project"},
        {"setting": "paths", "setting_files": ["user"], "scope": "user"},
    ]
    one = host(roots=roots, trust_default="trusted")
    assert names(top, one) == ["near", "own", "beside"]


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ("{", []),
        ("[]", []),
        ('{"/x": "yes"}', []),
        ('{"/x": true}', ["own"]),
        ('{"/x": null}', ["own"]),
        (None, ["own"]),
    ],
)
def test_a_file_of_trusted_folders_that_is_invalid_stops_the_client(
    content: str | None, seen: list[str], top: Path
) -> None:
    """But only if it is read: an argument decides before it."""
    if content is not None:
        (top / "home/.x/trust.json").write_text(content)
    trust = {"path": "~/.x/trust.json", "apart": True, "invalid": "stops", "wrong_type": "stops"}
    one = host(
        settings_files={"trust": {**trust, "types": {"*": "bool|null"}}},
        settings=[{"key": "", "files": ["trust"], "form": "folders", "effects": {"true": "trusted"}}],
        arguments=[{"name": "--yes", "effect": "trusted"}],
    )
    assert names(top, one) == seen
    assert names(top, one, "--yes") == ["own"]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"paths": ["~/far"]}', ["far"]),
        ('\ufeff{"paths": ["~/far"], "x": "\udcff"}', ["far"]),
        ('{"paths": ["~/far"],}', []),
        ('{"paths": ["~/far"]} // x', []),
        ('{"paths": ["~/far"], "x": NaN}', []),
    ],
)
def test_a_client_may_read_json_to_the_letter(text: str, seen: list[str], top: Path) -> None:
    """No comments, no trailing commas, no `NaN`; bytes that are not UTF-8 are replaced."""
    (top / "home/s.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    roots = [{"setting": "paths", "scope": "extra"}]
    one = host(roots=roots, settings_files={"user": {"path": "~/s.json", "comments": False}})
    assert names(top, one) == seen


MOVED = [
    {"path": "$X_HOME/skills|~/.x/beside", "scope": "user"},
    {"path": "~/far", "scope": "user", "unless_moved": "$X_HOME|~/.x"},
]
CONFIG = {"name": "--config", "values": "one", "effect": "variable", "sets": "X_HOME"}


@pytest.mark.parametrize(
    ("words", "moved", "expected"),
    [
        ((), "", ["beside", "far"]),
        (("--config", "../repo/near"), "", ["near"]),
        (("--config=~/elsewhere",), "repo/near", []),
        (("--config", "~/elsewhere", "--config", "near"), "", ["near"]),
        ((), "repo/near", ["near"]),
        ((), "home/.x", ["far"]),
        (("--config", "a\0b"), "", ["beside", "far"]),
    ],
)
def test_an_argument_moves_the_clients_folder(
    words: tuple[str, ...], moved: str, expected: list[str], top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes before the variable, and what belongs to the usual folder is not read elsewhere."""
    monkeypatch.setenv("HOME", str(top / "home"))
    env = {"X_HOME": str(top / moved)} if moved else {}
    one = host(roots=MOVED, arguments=[CONFIG])
    found = discover(top / "repo", host=one, env=env, client_args=words, cache=False)
    paths = {f"{top}/home/.x/beside": "beside", f"{top}/home/far": "far", f"{top}/repo/near/skills": "near"}
    assert [paths[root.path] for root in found.scan_roots if root.path in paths] == expected


def test_such_an_argument_counts_with_a_home_and_for_settings(top: Path) -> None:
    """Variables do not, since they belong to another home."""
    write(top / "repo/more", "more")
    (top / "repo/near/settings.json").write_text(json.dumps({"dirs": [str(top / "repo/more")]}))
    files = {"user": {"path": "$X_HOME/settings.json|~/.x/settings.json"}}
    one = host(roots=[MOVED[0], {"setting": "dirs", "scope": "extra"}], arguments=[CONFIG], settings_files=files)
    assert names(top, one, "--config", "near") == ["near", "more"]


def test_white_space_around_folders_may_be_removed(top: Path) -> None:
    """In settings, and between the separators of a variable."""
    (top / "home/.x/settings.json").write_text(json.dumps({"dirs": [" near/skills\n", "  "]}))
    roots = [
        {"setting": "dirs", "scope": "extra", "strips": True},
        {"path": "$X_DIRS", "scope": "extra", "separator": ",", "strips": True},
    ]
    one = host(roots=roots)
    env = {"X_DIRS": f" {top}/home/far , "}
    found = discover(top / "repo", host=one, home=top / "home", env=env, cache=False)
    assert [root.path for root in found.scan_roots] == [f"{top}/repo/near/skills", f"{top}/home/far"]


@pytest.mark.parametrize(("value", "expected"), [("true", []), ("1", ["own"]), ("false", ["own"]), ("TRUE", ["own"])])
def test_a_variable_may_trust_with_one_value_only(value: str, expected: list[str], top: Path) -> None:
    (top / "repo/.x/s.json").write_text('{"off": ["own"]}')
    one = host(settings=[{"key": "off", "form": "names"}], trust_variable="X_ALL", trust_value="true")
    found = discover(top / "repo", host=one, home=top / "home", env={"X_ALL": value}, cache=False)
    assert [entry.name for entry in found.skills if entry.state == "active"] == expected
