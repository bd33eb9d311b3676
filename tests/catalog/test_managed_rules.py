"""Settings that hide all skills, close folders, set variables, are in parts, or count only in a trusted project."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog

TABLE: dict[str, Any] = {
    "title": "X",
    "roots": [
        {"path": ".x/skills", "scope": "project", "closable": "closed"},
        {"path": "~/skills", "scope": "user", "closable": "partly"},
        {"path": "~/managed", "scope": "managed"},
    ],
    "budget": {"limit": 5000, "variable": "BUDGET", "degrade": "name-only"},
    "template": {"name_only": "- {name}\n"},
    "arguments": [
        {"name": "--deny", "values": "many", "effect": "denied-tools", "tool": "Skill"},
        {"name": "--tools", "values": "many", "effect": "only-tools", "tool": "Skill"},
        {"name": "--add", "values": "one", "effect": "roots"},
    ],
    "settings_files": {
        "parts": {"path": "~/parts/*.json", "invalid": "stops"},
        "user": {"path": "~/settings.json"},
        "added": {"path": "s.json", "argument": "--add"},
    },
    "settings": [
        {"key": "deny", "form": "denied", "tool": "Skill"},
        {"key": "closed", "form": "closed", "effects": {"skills": "closed", "hooks": "partly"}},
        {"key": "env", "form": "variables"},
        {"key": "names", "form": "effects", "effects": {"off": "gone", "on": "on"}},
    ],
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A project, a home and a managed folder with one skill each."""
    for folder, name in (("repo/.x/skills", "project"), ("home/skills", "user"), ("home/managed", "managed")):
        file = tmp_path / folder / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: {name}\ndescription: what it does\n---\n")
    return tmp_path


def ask(top: Path, *args: str, settings: Any = None, table: Any = None) -> Catalog:
    if settings is not None:
        (top / "home/settings.json").write_text(json.dumps(settings))
    host = host_from_table("x", {**TABLE, **(table or {})})
    return discover(top / "repo", host=host, home=top / "home", env={"BUDGET": "4000"}, client_args=args)


def active(catalog: Catalog) -> set[str]:
    return {entry.name for entry in catalog.skills if entry.state == "active"}


ALL = {"project", "user", "managed"}


@pytest.mark.parametrize("rule", ["Skill", "Skill(*)", "*", "Sk*", "*ill"])
def test_a_denied_tool_hides_all_skills_from_the_model(top: Path, rule: str) -> None:
    found = ask(top, settings={"deny": ["Bash", rule]})
    assert {str(entry.state) for entry in found.skills} == {"user-only"}
    assert active(ask(top, "--deny", f"Bash(a, b),{rule}", settings={})) == set()


@pytest.mark.parametrize("rule", ["skill", "Skill()", "Skill(user)", "Skill ", "Skills", "*" * 5, 3, None, "S" * 200])
def test_other_rules_hide_nothing(top: Path, rule: object) -> None:
    """Not those about one skill, and not those that no client writes."""
    assert active(ask(top, settings={"deny": [rule]})) == ALL


def test_a_list_of_tools_without_the_one_for_skills_hides_them(top: Path) -> None:
    assert active(ask(top, "--tools", "Bash,Read")) == set()
    assert active(ask(top, "--tools", "Bash", "Skill")) == active(ask(top, "--tools", "default")) == ALL


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (True, {"managed"}),
        (["skills"], {"managed"}),
        (["hooks"], {"project", "managed"}),
        ("x", {"managed"}),
        (False, ALL),
        ([], ALL),
        (["other", 3], ALL),
    ],
)
def test_a_setting_closes_folders(top: Path, value: object, left: set[str]) -> None:
    """All of them, or those that are closed even in part."""
    assert active(ask(top, settings={"closed": value})) == left


def test_a_variable_of_a_settings_file_replaces_that_of_the_environment(top: Path) -> None:
    found = ask(top, settings={"env": {"BUDGET": 40}})
    assert {entry.description for entry in found.skills} == {""}
    assert {entry.description for entry in ask(top, settings={"env": {"BUDGET": None}}).skills} != {""}


def test_of_settings_in_parts_the_last_one_counts_first(top: Path) -> None:
    """Hidden files, files with other names and folders do not count."""
    parts = top / "home/parts"
    (parts / "90.json").mkdir(parents=True)
    texts = {"10.json": {"user": "off", "project": "off"}, "20.json": {"user": "on"}, ".x.json": {"managed": "off"}}
    for name, value in {**texts, "30.txt": {"managed": "off"}}.items():
        (parts / name).write_text(json.dumps({"names": value}))
    assert active(ask(top)) == {"user", "managed"}
    (parts / "40.json").write_text("{")
    assert ask(top).skills == ()


def test_ten_thousand_parts_and_devices_are_bounded(top: Path) -> None:
    """Only the first thousand are read, and a pipe is not."""
    parts = top / "home/parts"
    parts.mkdir()
    os.mkfifo(parts / "0.json")
    for number in range(1, 1500):
        (parts / f"{number:05}.json").write_text("{}")
    found = ask(top, table={"settings_files": {"parts": {"path": "~/parts/*.json"}}})
    assert active(found) == ALL
    assert [item.code for item in found.findings] == ["config-invalid", "config-invalid"]


def test_settings_of_a_folder_that_an_argument_adds_count(top: Path) -> None:
    (top / "repo/s.json").write_text(json.dumps({"names": {"user": "off"}}))
    assert active(ask(top, "--add", str(top / "repo"))) == {"project", "managed"}
    assert active(ask(top, "--add", "\0")) == ALL


@pytest.mark.parametrize(("trusted", "answer"), [("repo", True), ("repo/", False), ("", False), ("repo/below", False)])
def test_only_the_root_of_the_project_is_trusted(top: Path, trusted: str, answer: bool) -> None:
    """By its exact path; what counts only then are skills of a plugin here."""
    (top / "repo/.git/refs").mkdir(parents=True)
    (top / "repo/.git/objects").mkdir()
    (top / "repo/.git/HEAD").write_text("ref: refs/heads/main\n")
    skill = top / "repo/plugins/p/skills/inner/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: inner\ndescription: d\n---\n")
    table = {
        "trust_hides": False,
        "plugins": {"p": {"trusted_folders": ["plugins/*"]}},
        "roots": [*TABLE["roots"], {"plugins": "p", "scope": "plugin"}],
        "settings": [
            {"key": "projects", "form": "folders", "nearest": "project", "word": "ok", "effects": {"true": "trusted"}}
        ],
    }
    path = os.path.join(top, trusted)
    assert ("p:inner" in active(ask(top, settings={"projects": {path: {"ok": True}}}, table=table))) is answer
