"""A skill that its author hides from the model is hidden in agents that read a file beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.catalog._resolve import evaluate_file
from prowess.checks import check
from prowess.findings import Severity
from prowess.hosts import host_names, load_host
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.findings import Finding

LINE = "policy: {allow_implicit_invocation: false}"
HIDDEN = "disable-model-invocation: true\n"


def ignored(path: Path, **options: object) -> list[Finding]:
    """Return the findings about ignored fields."""
    return [item for item in check(path, **options) if item.code == "field-ignored"]  # type: ignore[arg-type]


def test_the_hint_is_a_line_to_paste(tmp_path: Path) -> None:
    (item,) = ignored(skill(tmp_path / "deploy", more=HIDDEN))
    assert (item.severity, item.line, item.column) == (Severity.INFO, 4, 1)
    assert item.message == "OpenAI Codex ignores `disable-model-invocation`, so its model sees this skill"
    assert item.hint == f"write `{LINE}` into `agents/openai.yaml` beside SKILL.md"


def test_the_pasted_line_hides_the_skill(tmp_path: Path) -> None:
    """Codex sees the skill before, and its model does not see it after."""
    file = skill(tmp_path / "deploy", more=HIDDEN)
    assert evaluate_file(str(file), "codex").state == "active"
    (tmp_path / "deploy/agents").mkdir()
    (tmp_path / "deploy/agents/openai.yaml").write_text(f"interface:\n  display_name: Deploy\n{LINE}\n")
    assert ignored(file) == []
    assert evaluate_file(str(file), "codex").state == "user-only"


@pytest.mark.parametrize("text", ["policy:\n  allow_implicit_invocation: true\n", "policy: {}\n", "policy: x\n"])
def test_a_key_that_is_there_is_set_and_not_added_again(tmp_path: Path, text: str) -> None:
    """Two keys of one name are invalid YAML."""
    file = skill(tmp_path / "deploy", more=HIDDEN)
    (tmp_path / "deploy/agents").mkdir()
    (tmp_path / "deploy/agents/openai.yaml").write_text(text)
    (item,) = ignored(file)
    assert item.hint == "set `policy.allow_implicit_invocation` to `false` in `agents/openai.yaml` beside SKILL.md"


@pytest.mark.parametrize("more", ["", "disable-model-invocation: false\n", "user-invocable: false\n"])
def test_a_skill_for_the_model_has_no_finding(tmp_path: Path, more: str) -> None:
    assert ignored(skill(tmp_path / "deploy", more=more)) == []


@pytest.mark.parametrize("host", host_names())
def test_under_the_rules_of_one_agent_only_its_own_file_counts(tmp_path: Path, host: str) -> None:
    found = ignored(skill(tmp_path / "deploy", more=HIDDEN), hosts=[host])
    assert len(found) == (host == "codex")


@pytest.mark.parametrize("host", host_names())
def test_a_file_beside_the_skill_hides_it_with_one_key(host: str) -> None:
    """The hint shows one line."""
    for flag in load_host(host).flags:
        assert len(flag.when) == 1 or not flag.file
