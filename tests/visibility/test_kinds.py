"""Each agent gets something of each skill, and it has one word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prowess.filesystem import Question
from prowess.visibility import KIND_WORDS, Kind, View, compare
from support.skills import skill
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an empty project and home, and go there."""
    project = tmp_path.resolve() / "project"
    write_repository(project / ".git")
    (project.parent / "home").mkdir()
    monkeypatch.setenv("HOME", str(project.parent / "home"))
    monkeypatch.chdir(project)
    return project


def views(host: str, *files: Path) -> dict[str, View]:
    """Return how an agent sees each skill, by the name of its folder."""
    seen = compare(Question.about("."), hosts=[host], files=map(str, files), cache=False)
    return {row.folder: row.views[host] for row in seen.skills}


def kinds(host: str, *files: Path) -> dict[str, str]:
    return {name: view.kind for name, view in views(host, *files).items()}


def test_every_kind_has_words() -> None:
    assert set(KIND_WORDS) == set(Kind)
    assert len(set(KIND_WORDS.values())) == len(Kind)


def test_a_skill_in_a_folder_of_the_agent_is_seen_and_another_one_elsewhere(project: Path) -> None:
    skill(project / ".agents/skills/one")
    skill(project / ".claude/skills/two")
    assert kinds("codex", project / ".claude/skills/two/SKILL.md") == {"one": Kind.SEEN, "two": Kind.ELSEWHERE}


def test_a_copy_of_a_skill_that_is_seen_is_seen(project: Path) -> None:
    """The model gets the same bytes, from another folder."""
    skill(project / ".agents/skills/one")
    skill(project / ".claude/skills/one")
    seen = compare(
        Question.about("."), hosts=["codex"], files=[str(project / ".claude/skills/one/SKILL.md")], cache=False
    )
    assert [row.views["codex"].kind for row in seen.skills] == [Kind.SEEN, Kind.SEEN]


def test_a_skill_that_the_model_cannot_call_is_the_user_s(project: Path) -> None:
    skill(project / ".claude/skills/one", more="disable-model-invocation: true\n")
    assert kinds("claude-code") == {"one": Kind.USER_ONLY}


def test_a_skill_for_certain_files_is_deferred(project: Path) -> None:
    skill(project / ".claude/skills/one", more="paths: '*.py'\n")
    assert kinds("claude-code") == {"one": Kind.DEFERRED}


def test_an_untrusted_project_s_skills_are_untrusted(project: Path) -> None:
    skill(project / ".agents/skills/one")
    assert kinds("pi") == {"one": Kind.UNTRUSTED}


def test_a_skill_that_a_setting_switches_off_is_off(project: Path) -> None:
    skill(project / ".claude/skills/one")
    (project / ".claude/settings.json").write_text(json.dumps({"skillOverrides": {"one": "off"}}))
    assert kinds("claude-code") == {"one": Kind.OFF}


def test_a_skill_that_a_setting_reduces_to_its_name_is_name_only(project: Path) -> None:
    skill(project / ".claude/skills/one")
    (project / ".claude/settings.json").write_text(json.dumps({"skillOverrides": {"one": "name-only"}}))
    assert kinds("claude-code") == {"one": Kind.NAME_ONLY}


def test_a_skill_over_the_budget_is_left_out_or_reduced_to_its_name(project: Path) -> None:
    """Codex leaves out the names that it has no room for; Claude Code keeps the names, and the first texts."""
    for number in range(700):
        skill(project / f".agents/skills/skill-{number:03}", description="word " * 150)
        skill(project / f".claude/skills/skill-{number:03}", description="word " * 150)
    assert {*kinds("codex").values()} == {Kind.NAME_ONLY, Kind.LEFT_OUT}
    assert {*kinds("claude-code").values()} == {Kind.SEEN, Kind.NAME_ONLY}


def test_a_skill_whose_name_is_taken_loses_it(project: Path) -> None:
    skill(project / ".gemini/skills/one", description="Another text.")
    skill(project / ".agents/skills/one")
    seen = compare(Question.about("."), hosts=["gemini-cli"], cache=False)
    by_folder = {row.path.split("/")[-4]: row.views["gemini-cli"].kind for row in seen.skills}
    assert by_folder == {".agents": Kind.SEEN, ".gemini": Kind.NAME_TAKEN}


def test_identical_skills_of_one_name_are_seen_whichever_the_agent_reads_last(project: Path) -> None:
    """Different ones are not decided."""
    skill(project / ".opencode/skills/one")
    skill(project / ".agents/skills/one")
    skill(project / ".opencode/skills/two")
    skill(project / ".agents/skills/two", description="Another text.")
    seen = {
        (row.folder, row.views["opencode"].kind)
        for row in compare(Question.about("."), hosts=["opencode"], cache=False).skills
    }
    assert seen == {("one", Kind.SEEN), ("two", Kind.UNDEFINED)}


def test_a_text_that_the_agent_cannot_load_is_rejected(project: Path) -> None:
    skill(project / ".agents/skills/one").write_text("---\nname: one\n---\nNo description.\n")
    assert kinds("codex") == {"one": Kind.REJECTED}


def test_a_file_with_another_case_is_named_as_the_cause(project: Path) -> None:
    """Also if it is not asked about: it is a loss of every agent that does not load it."""
    path = skill(project / ".claude/skills/one")
    path.rename(path.with_name("skill.md"))
    view = views("claude-code")["one"]
    assert view.kind is Kind.FILE_NAME
    assert view.loss is not None
    assert view.loss.cure == "prowess check --fix .claude/skills/one"


def test_beyond_a_limit_the_cause_is_the_limit(project: Path) -> None:
    """And not another folder: the agent searches that one."""
    for number in range(2002):
        skill(project / f".agents/skills/below/s{number:04}")
    seen = compare(Question.about("."), hosts=["codex"], files=map(str, project.rglob("SKILL.md")), cache=False)
    behind = [row for row in seen.skills if row.views["codex"].kind is Kind.BEYOND_LIMIT]
    assert behind
    assert Kind.ELSEWHERE not in {row.views["codex"].kind for row in seen.skills}
    (reason,) = {loss.reason for row in behind if (loss := row.views["codex"].loss) is not None}
    assert (
        reason == "OpenAI Codex stops in .agents/skills: more than 2,000 folders: the rest of this root is not scanned"
    )
