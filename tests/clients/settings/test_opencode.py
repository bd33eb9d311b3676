"""What opencode alone does with its settings: agents, permissions, and variables and files in texts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.clients.opencode import substitute
from prowess.filesystem import Filesystem
from support.clients import see, states
from support.growth import assert_linear, ends

if TYPE_CHECKING:
    from pathlib import Path

USER = "home/.config/opencode/opencode.json"
SKILL = {"home/.config/opencode/skills/a/": None}
HIDES = {"permission": {"skill": "deny"}}


@pytest.mark.parametrize(
    ("settings", "arguments", "state"),
    [
        ({}, (), "active"),
        ({"agent": {"build": HIDES}}, (), "user-only"),
        ({"agent": {"build": HIDES | {"disable": True}}}, (), "active"),
        ({"agent": {"build": {"disable": True}, "plan": HIDES}}, (), "user-only"),
        ({"agent": {"build": {"hidden": True}, "plan": HIDES}}, (), "user-only"),
        ({"agent": {"build": {"mode": "subagent"}, "plan": HIDES}}, (), "user-only"),
        ({"agent": {"build": {"disable": True}, "plan": {"disable": True}, "own": HIDES}}, (), "user-only"),
        ({"agent": {"build": {"disable": True}, "plan": {"disable": True}}}, (), "user-only"),
        ({"default_agent": "own", "agent": {"own": HIDES}}, (), "user-only"),
        ({"default_agent": "own", "agent": {"own": {}}}, (), "active"),
        ({"default_agent": "missing"}, (), "user-only"),
        ({"default_agent": "general"}, (), "user-only"),
        ({"default_agent": "title"}, (), "user-only"),
        ({"default_agent": "general", "mode": {"general": {}}}, (), "active"),
        ({"default_agent": "missing"}, ("--agent", "plan"), "active"),
        ({"agent": {"build": HIDES}}, ("--agent", "general"), "user-only"),
        ({"agent": {"build": HIDES}}, ("--agent", "plan"), "active"),
        ({"default_agent": ""}, (), "active"),
    ],
)
def test_the_agent_must_be_able_to_run(
    tmp_path: Path, settings: dict[str, Any], arguments: tuple[str, ...], state: str
) -> None:
    """Without an agent that can run, the list is there, but the model gets no catalog."""
    assert states(tmp_path, "opencode", {**SKILL, USER: settings}, *arguments) == {"a": state}


@pytest.mark.parametrize(
    ("value", "hidden", "shown"),
    [
        pytest.param({"skill": {"*": "deny", "a*": "allow"}}, "b", "ab", id="the-last-match-counts"),
        pytest.param({"*": "deny", "skill": {"a": "allow"}}, "b", "a", id="all-tools-first"),
        pytest.param({"sk*": {"a": "deny"}}, "a", "b", id="a-pattern-of-tools"),
        pytest.param({"edit": "deny", "skill": {"a": "deny"}}, "a", "b", id="another-tool"),
        pytest.param({"skill": {"?": "deny"}}, "a", "ab", id="one-character"),
        pytest.param({"skill": {"a *": "deny"}}, "a", "ab", id="a-blank-and-a-star-are-optional"),
        pytest.param({"skill": {"[ab]": "deny"}}, "[ab]", "a", id="brackets-are-literal"),
        pytest.param({"skill": {"A": "deny"}}, "A", "a", id="case-counts"),
        pytest.param({"skill": {"*": "deny", "b": "allow", "1": "allow"}}, "1", "b", id="whole-numbers-come-first"),
        pytest.param("deny", "a", None, id="one-word-is-for-all-tools"),
        pytest.param({"skill": "deny"}, "a", None, id="one-word-is-for-all-skills"),
        pytest.param({"skill": {"a": "allow"}, "*": "deny"}, "a", None, id="all-tools-last"),
        pytest.param({}, None, "a", id="nothing"),
    ],
)
def test_rules_hide_one_skill_and_show_another(
    value: object, hidden: str | None, shown: str | None, tmp_path: Path
) -> None:
    expected = {name: state for name, state in ((hidden, "user-only"), (shown, "active")) if name is not None}
    files = {f"home/.config/opencode/skills/{number}/SKILL.md": _skill(name) for number, name in enumerate(expected)}
    assert states(tmp_path, "opencode", {**files, USER: {"permission": value}}) == expected
    assert states(tmp_path, "opencode", {USER: {"agent": {"build": {"permission": value}}}}) == expected


def _skill(name: str) -> str:
    return f'---\nname: "{name}"\ndescription: d\n---\n'


@pytest.mark.parametrize("value", [None, 3, [], {"skill": []}, {"skill": None}, {"skill": {"a": "never"}}, "never"])
def test_a_permission_of_a_wrong_type_stops_the_client(value: object, tmp_path: Path) -> None:
    assert states(tmp_path, "opencode", {**SKILL, USER: {"permission": value}}) == {}


def test_tools_are_older_permissions(tmp_path: Path) -> None:
    """Permissions are merged over them, also those of another file."""
    files = {**SKILL, USER: {"tools": {"skill": False}}}
    assert states(tmp_path, "opencode", files) == {"a": "user-only"}
    assert states(tmp_path, "opencode", {"repo/opencode.json": {"permission": {"skill": "allow"}}}) == {"a": "active"}


def test_the_number_of_patterns_is_limited(tmp_path: Path) -> None:
    """Thousands of patterns are a finding, and a long one takes no long time."""
    patterns = {f"*a{number}*": "deny" for number in range(5000)} | {"*a" * 100 + "b": "deny"}
    with ends():
        catalog = see(tmp_path, "opencode", {**SKILL, USER: {"permission": {"skill": patterns}}})
    assert [item.code for item in catalog.findings] == ["config-invalid"]


@pytest.mark.parametrize(
    ("files", "env"),
    [
        pytest.param({"repo/.opencode/agent/build.md": "---\npermission: deny\n---\n"}, {}, id="project"),
        pytest.param({"home/.opencode/agents/build.md": "---\npermission: deny\n---\n"}, {}, id="user"),
        pytest.param({"repo/.opencode/mode/build.md": "\ufeff---\r\npermission: deny\n---"}, {}, id="mode"),
        pytest.param({"opencode.jsonc": HIDES}, {}, id="parents-without-git"),
        pytest.param({"repo/opencode.json": {}, "repo/.opencode/opencode.json": HIDES}, {}, id="own-folder-first"),
        pytest.param({}, {"OPENCODE_PERMISSION": '{"skill": "deny"}'}, id="permission-variable"),
        pytest.param({}, {"OPENCODE_CONFIG_CONTENT": '{"permission": "{env:X}"}', "X": "deny"}, id="text-variable"),
        pytest.param({"home/.config/opencode/config.json": HIDES}, {}, id="beside"),
    ],
)
def test_settings_are_in_many_places(files: dict[str, Any], env: dict[str, str], tmp_path: Path) -> None:
    assert states(tmp_path, "opencode", {**SKILL, **files}, env=env) == {"a": "user-only"}
    off = {"OPENCODE_DISABLE_PROJECT_CONFIG": "1", **env}
    in_project = any("home" not in path for path in files) and not env
    assert states(tmp_path, "opencode", {}, env=off) == {"a": "active" if in_project else "user-only"}


@pytest.mark.parametrize(
    ("name", "value"), [("OPENCODE_CONFIG_DIR", "TOP/x"), ("OPENCODE_CONFIG", "TOP/x/opencode.json")]
)
def test_variables_name_further_files(name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the user's own home, not of another one."""
    files = {**SKILL, "x/opencode.json": HIDES}
    assert states(tmp_path, "opencode", files, env={name: value}) == {"a": "active"}
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    env = {name: value.replace("TOP", str(tmp_path))}
    found = discover(tmp_path / "repo", host="opencode", env=env, cache=False).skills
    assert [str(entry.state) for entry in found if entry.name == "a"] == ["user-only"]


def test_settings_of_the_git_root_and_below_count_in_their_order(tmp_path: Path) -> None:
    """Of files in the project's folders the nearest counts, of those in `.opencode` the one of the git root."""
    allow, top = {"permission": {"skill": {"a": "allow"}}}, {"repo/.git/HEAD": "ref: refs/heads/main\n"}
    deny = {"permission": {"skill": {"a": "deny"}}}
    files = {**SKILL, **top, "opencode.json": deny, "repo/opencode.json": deny, "repo/sub/opencode.json": allow}
    assert states(tmp_path, "opencode", files, cwd="repo/sub") == {"a": "active"}
    inner = {"repo/.opencode/opencode.json": deny, "repo/sub/.opencode/opencode.json": allow}
    assert states(tmp_path, "opencode", inner, cwd="repo/sub") == {"a": "user-only"}


# ── the text of settings ─────────────────────────────────────────────────────────────────────────────────────────────


def substituted(text: str, folder: Path) -> str:
    return substitute(text, folder=str(folder), home=str(folder / "home"), env={"A": "1"}, filesystem=Filesystem())


def test_variables_and_files_are_replaced(tmp_path: Path) -> None:
    """A file is trimmed, and written as the inside of a JSON text; one in a comment is not read."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home/x").write_text(' say "hi"\n{env:A}\n')
    assert substituted('["{env:A}{env:B}", "{file:~/x}", "{file:}"]', tmp_path) == (
        r'["1", "say \"hi\"\n{env:A}", "{file:}"]'
    )
    comment = '{\n  // {file:missing}\n  "a": 1 }'
    assert substituted(comment, tmp_path) == comment
    (tmp_path / "x").write_text("1")
    lines = '"{file:x}" // {file:x}\n// {file:x} {file:x}\n{file:x}'
    assert substituted(lines, tmp_path) == '"1" // 1\n// {file:x} {file:x}\n1'


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "large", "many", "nul"])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind in ("large", "many"):
        path.write_bytes(b"x" * (100_000 if kind == "large" else 1))
    with pytest.raises(ValueError, match="it names"):
        substituted("{file:x}" * (1000 if kind == "many" else 1) + ("{file:\0}" if kind == "nul" else ""), tmp_path)


@pytest.mark.parametrize("text", ["{env:" * 200_000, "{file:" * 200_000, "//" + "{file:a}" * 200_000, "{" * 500_000])
def test_hostile_text_takes_linear_time(tmp_path: Path, text: str) -> None:
    assert substituted(text, tmp_path) == text
    assert_linear(lambda part: substituted(part, tmp_path), text)


def test_a_text_with_its_variables_does_not_become_too_long() -> None:
    with pytest.raises(ValueError, match="too long"):
        substitute("{env:A}" * 10_000, folder="/", home="/", env={"A": "x" * 100_000}, filesystem=Filesystem())


@pytest.mark.parametrize("text", ['{"permission": "{file:~/secret}"}', '{"a": {file:~/secret}}', '["{file:~/secret}"'])
def test_the_text_of_a_file_is_in_no_finding(tmp_path: Path, text: str) -> None:
    """A project may name any file of its user, and a report of it may be public."""
    found = see(tmp_path, "opencode", {"home/secret": "hunter2", "repo/opencode.json": text})
    assert "hunter2" not in repr(found.findings)
    assert found.findings
