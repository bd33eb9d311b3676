"""What a user can set, in words: every example of every host does what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
from prowess.hosts import describe_rules, host_names, load_host, skills_folder
from support.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = re.compile(r"`(?P<key>[^`]+)`: .*; example for `(?P<file>[^`]+)`: `(?P<text>.+)`")
EXAMPLES = [
    pytest.param(host, match["file"], match["text"], id=f"{host}-{match['key']}")
    for host in host_names()
    for line in dict(describe_rules(load_host(host))).get("what a user can set", ())
    if (match := EXAMPLE.fullmatch(line))
]


def test_each_host_with_settings_has_examples() -> None:
    """So the test below has something to do."""
    hosts = {str(example.id).rpartition("-")[0] for example in EXAMPLES}
    assert {"claude-code", "codex", "copilot", "gemini-cli", "infer", "opencode", "prowess", "qwen-code"} <= hosts


@pytest.mark.parametrize(("host", "file", "text"), EXAMPLES)
def test_an_example_switches_a_skill_off(host: str, file: str, text: str, tmp_path: Path) -> None:
    """Written into the file that it names, with the name of the skill."""
    home, project = tmp_path / "home", tmp_path / "project"
    folder = skills_folder(host)
    assert folder is not None
    for name in ("mine", "other"):
        skill = home / folder / name / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: {name}\ndescription: d\n---\n")
    project.mkdir()

    def active() -> list[str]:
        env = {"INFER_AGENT_SKILLS_ENABLED": "true"} if "disabled" in text else {}
        found = discover(project, host=host, home=home, env=env).skills
        return sorted(entry.name for entry in found if entry.state == "active")

    before = active()
    path = home / file[2:] if file.startswith("~/") else project / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("NAME", "mine"))
    after = active()
    assert after in (["other"], [])
    assert before == ["mine", "other"] or host.startswith("infer")


def test_a_hidden_character_of_a_table_is_not_shown() -> None:
    """The page is for a terminal."""
    table = {"title": "X", "documented": "d", "arguments": [{"name": "--x", "effect": "trusted"}]}
    assert dict(describe_rules(host_from_table("x", table)))["arguments, for `--client-arg`"] == [
        "`--x`: the project is trusted"
    ]
