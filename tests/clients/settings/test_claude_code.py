"""What Claude Code alone does with its settings and arguments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from support.clients import active, see, states, with_managed_files_at_home

if TYPE_CHECKING:
    from pathlib import Path

USER = "home/.claude/settings.json"
MANAGED = "home/etc/claude-code/managed-settings"
SKILLS: dict[str, Any] = {
    "repo/.claude/skills/project/": None,
    "home/.claude/skills/user/": None,
    "home/etc/claude-code/.claude/skills/managed/": None,
}
ALL = ["managed", "user", "project"]
CLAUDE = with_managed_files_at_home("claude-code")


@pytest.mark.parametrize("rule", ["Skill", "Skill(*)", "*", "Sk*", "*ill"])
def test_a_denied_tool_hides_all_skills_from_the_model(tmp_path: Path, rule: str) -> None:
    found = states(tmp_path, CLAUDE, SKILLS | {USER: {"permissions": {"deny": ["Bash", rule]}}})
    assert set(found.values()) == {"user-only"}
    assert active(tmp_path, CLAUDE, {USER: {}}, "--disallowedTools", f"Bash(a, b),{rule}") == []


@pytest.mark.parametrize("rule", ["skill", "Skill()", "Skill(user)", "Skill ", "Skills", "*" * 5, 3, None, "S" * 200])
def test_other_rules_hide_nothing(tmp_path: Path, rule: object) -> None:
    """Not those about one skill, and not those that no client writes."""
    assert active(tmp_path, CLAUDE, SKILLS | {USER: {"permissions": {"deny": [rule]}}}) == ALL


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (("--tools", "Bash,Read"), []),
        (("--tools", "Bash", "Skill"), ALL),
        (("--tools", "default"), ALL),
        (("--bare",), []),
        (("--disable-slash-commands",), []),
        (("--setting-sources", "project"), ["managed", "project"]),
        (("--setting-sources=user, local",), ["managed", "user"]),
        (("--setting-sources",), ["managed"]),
        (("--settings", '{"skillOverrides": {"user": "off"}}'), ["managed", "project"]),
        (("--settings", "../off.json"), ["managed", "project"]),
        (("--settings", '{"skillOverrides": {"user": "off"}} // no comments'), ALL),
        (("--settings", '{"skillOverrides": {"user": "off"}}', "--settings", "{}"), ALL),
        (("--add-dir", "TOP/more"), [*ALL, "more"]),
        (("--add-dir", "\0"), ALL),
    ],
)
def test_arguments_choose_settings_and_skills(tmp_path: Path, arguments: tuple[str, ...], seen: list[str]) -> None:
    """A file or JSON that counts first, sources that are left out, and folders that are added."""
    more = {"more/.claude/skills/more/": None, "off.json": {"skillOverrides": {"user": "off"}}}
    assert active(tmp_path, CLAUDE, SKILLS | more, *arguments) == seen


@pytest.mark.parametrize("argument", ["{", "[]", "/", "../missing", "/dev/zero", "x\0y", "{" * 100_000])
def test_settings_of_an_argument_may_be_anything(tmp_path: Path, argument: str) -> None:
    """They are at most a finding."""
    assert active(tmp_path, CLAUDE, SKILLS, "--settings", argument) == ALL


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (True, ["managed"]),
        (["skills"], ["managed"]),
        (["hooks"], ALL),
        ("x", ["managed"]),
        (False, ALL),
        ([], ALL),
        (["other", 3], ALL),
    ],
)
def test_managed_settings_close_folders(tmp_path: Path, value: object, left: list[str]) -> None:
    """All of them, or only those of plugins, which are closed even in part."""
    closes = {"strictPluginOnlyCustomization": value}
    assert active(tmp_path, CLAUDE, SKILLS | {f"{MANAGED}.json": closes}) == left
    assert active(tmp_path, CLAUDE, {f"{MANAGED}.json": {}, USER: closes}) == ALL


def test_a_plugin_folder_is_closed_in_part(tmp_path: Path) -> None:
    plugin = {
        "home/.claude/skills/p/.claude-plugin/plugin.json": {"name": "p"},
        "home/.claude/skills/p/skills/inner/": None,
    }
    assert "p:inner" in active(tmp_path, CLAUDE, plugin)
    assert active(tmp_path, CLAUDE, {f"{MANAGED}.json": {"strictPluginOnlyCustomization": ["hooks"]}}) == []


def test_a_variable_of_a_settings_file_replaces_that_of_the_environment(tmp_path: Path) -> None:
    def shown(value: object) -> set[str]:
        env = {"SLASH_COMMAND_TOOL_CHAR_BUDGET": "4000"}
        files = SKILLS | {USER: {"env": {"SLASH_COMMAND_TOOL_CHAR_BUDGET": value}}}
        return {entry.description for entry in see(tmp_path, CLAUDE, files, env=env).skills}

    assert shown(4) == {""}
    assert shown(None) == {"d"}


@pytest.mark.parametrize(
    ("settings", "length"),
    [
        ({}, 1000),
        ({"skillListingMaxDescChars": 50}, 50),
        ({"skillListingMaxDescChars": "x"}, 1000),
        ({"skillListingBudgetFraction": 0.00001}, 0),
    ],
)
def test_settings_limit_descriptions(tmp_path: Path, settings: dict[str, Any], length: int) -> None:
    (entry,) = see(tmp_path, CLAUDE, {"home/.claude/skills/one/": "x" * 1000, USER: settings}).skills
    assert len(entry.description) == length


def test_words_of_overrides_are_the_clients(tmp_path: Path) -> None:
    """The highest file that has a skill counts; unknown words void the file."""
    words = {"a": "off", "b": "name-only", "c": "user-invocable-only", "d": "on"}
    files = {f"home/.claude/skills/{name}/": None for name in words}
    local = {"repo/.claude/settings.json": {"skillOverrides": {"a": "on"}}}
    expected = {"a": "rejected", "b": "active", "c": "user-only", "d": "active"}
    assert states(tmp_path, CLAUDE, {**files, USER: {"skillOverrides": words}}) == expected
    assert states(tmp_path, CLAUDE, local) == expected | {"a": "active"}
    assert set(states(tmp_path, CLAUDE, {USER: {"skillOverrides": words | {"b": "hide"}}}).values()) == {"active"}


def test_of_managed_settings_in_parts_the_last_one_counts_first(tmp_path: Path) -> None:
    """Hidden files, files with other names and folders do not count; one that cannot be read stops the client."""
    parts: dict[str, dict[str, str]] = {
        "10.json": {"user": "off", "project": "off"}, "20.json": {"user": "on"}, ".x.json": {"managed": "off"},
        "30.txt": {"managed": "off"}, "90.json/x": {},
    }  # fmt: skip
    files = {f"{MANAGED}.d/{name}": {"skillOverrides": words} for name, words in parts.items()}
    assert active(tmp_path, CLAUDE, SKILLS | files) == ["managed", "user"]
    assert states(tmp_path, CLAUDE, {f"{MANAGED}.d/40.json": "{"}) == {}


def test_ten_thousand_parts_and_devices_are_bounded(tmp_path: Path) -> None:
    """Only the first thousand are read, and a pipe is not."""
    see(tmp_path, CLAUDE, SKILLS | {f"{MANAGED}.d/{number:05}.json": {} for number in range(1, 1500)})
    os.mkfifo(tmp_path / f"{MANAGED}.d/0.json")
    found = see(tmp_path, CLAUDE, {})
    assert [item.code for item in found.findings] == ["config-invalid", "config-invalid", "host-disabled"]


@pytest.mark.parametrize(("trusted", "answer"), [("repo", True), ("repo/", False), ("", False), ("repo/below", False)])
def test_only_the_root_of_the_project_is_trusted(tmp_path: Path, trusted: str, answer: bool) -> None:
    """By its exact path; what counts only then are skills of a plugin in the project."""
    files = {
        "repo/.git/HEAD": "ref: refs/heads/main\n",
        "repo/.git/refs/x": "",
        "repo/.git/objects/x": "",
        "repo/.claude/skills/p/.claude-plugin/plugin.json": {"name": "p"},
        "repo/.claude/skills/p/skills/inner/": None,
        "home/.claude.json": {"projects": {f"TOP/{trusted}": {"hasTrustDialogAccepted": True}}},
    }
    assert ("p:inner" in active(tmp_path, CLAUDE, files)) is answer
    assert "p:inner" not in active(tmp_path, CLAUDE, {}, "--ignore-persisted-trust")
