"""`prowess mcp serve --dry-run`: what a client would list, without a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

SKILLS = "project/.agents/skills"


@pytest.fixture
def where(tmp_path: Path) -> list[str]:
    (skill(tmp_path / SKILLS / "good", more="metadata:\n  tags: a\n").parent / "b.txt").write_bytes(b"123")
    skill(tmp_path / SKILLS / "odd", more="metadata:\n  version: 1.0\n")
    skill(tmp_path / SKILLS / "named", name="Bad_Name")
    large = skill(tmp_path / SKILLS / "large").parent
    for number in range(512):
        (large / f"{number}.txt").touch()
    (tmp_path / "home").mkdir()
    return ["mcp", "serve", "--dry-run", str(tmp_path / "project"), "--home", str(tmp_path / "home")]


def test_it_has_the_skills_that_are_served_and_findings_about_the_others(
    where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A large skill is served all the same."""
    assert main([*where, "--json"]) == 0
    found: Any = json.loads(capsys.readouterr().out)
    path = tmp_path / SKILLS / "good/SKILL.md"
    assert found["skills"][0] == {
        "name": "good",
        "uri": "skill://good/SKILL.md",
        "path": str(path),
        "files": 2,
        "bytes": 3 + path.stat().st_size,
    }
    assert [(item["name"], item["files"]) for item in found["skills"]] == [("good", 2), ("large", 513)]
    findings = {item["path"].split("/")[-2]: item["code"] for item in found["findings"]}
    assert findings == {"odd": "mcp-left-out", "named": "mcp-left-out", "large": "mcp-large"}


def test_as_text_the_findings_are_on_standard_error(
    where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--only` and `--tag` choose as they do for the server."""
    assert main([*where, "--tag", "a"]) == 0
    captured = capsys.readouterr()
    assert [line.split()[::2] for line in captured.out.splitlines()] == [
        ["FILES", "URI"],
        ["2", "skill://good/SKILL.md"],
    ]
    assert captured.err == f"1 skill of {tmp_path}/project would be served\n"
    assert main([*where, "--only", "odd"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, "[mcp-left-out]" in captured.err) == ("", True)


def test_a_name_that_no_skill_has_is_reported(where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise a misspelt name serves nothing, without a word."""
    assert main([*where, "--only", "godo"]) == 0
    assert "no skill is called `godo`; did you mean `good`?\n" in capsys.readouterr().err
