"""Each key of InitRunner's roles is read, ignored with a note, or refused with a reason and a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from prowess.agent.role import load_role, schema
from prowess.agent.role._role import FLAT_FIELDS, INITRUNNER_FIELDS
from prowess.cli import main

if TYPE_CHECKING:
    from pathlib import Path

READ = "read"
KEYS = {
    "metadata": "name description tags author version",
    "metadata (ignored)": "team dependencies bundle spec_version",
    "spec": "role model skills tools guardrails security auto_skills",
    "spec (ignored)": "deps_schema triggers sinks ingest memory autonomy reasoning execution resources observability "
    "tool_search daemon",
    "spec (refused)": "output capabilities",
    "spec.model": "provider name base_url api_key_env temperature max_tokens context_window top_p",
    "spec.model (ignored)": "concurrency fallback fallback_on prompt_cache top_k seed stop_sequences "
    "parallel_tool_calls presence_penalty frequency_penalty logit_bias thinking",
    "spec.model (refused)": "extra_headers extra_body tool_choice",
    "spec.auto_skills": "enabled max_skills",
    "spec.guardrails": "max_tokens_per_run max_tool_calls timeout_seconds",
    "spec.guardrails (ignored)": "budget_timezone max_iterations autonomous_token_budget autonomous_timeout_seconds "
    "retry_policy circuit_breaker",
    "spec.guardrails (refused)": "max_request_limit input_tokens_limit total_tokens_limit "
    "per_request_input_tokens_limit cost_limit session_token_budget run_token_budget daemon_token_budget "
    "daemon_daily_token_budget daemon_daily_cost_budget daemon_weekly_cost_budget team_token_budget "
    "team_timeout_seconds",
    "spec.security (ignored)": "resources audit",
    "spec.security (refused)": "preset content server rate_limit tools sandbox",
}
"""The keys of InitRunner 2026.10, read from its schema, and what becomes of them."""
FLAT_ONLY = [
    "agents",
    "run",
    "debate",
    "ensemble",
    "handoff_max_chars",
    "shared_memory",
    "shared_documents",
    "durability",
]
ROWS = [
    (part.partition(" ")[0], name, part.partition("(")[2].rstrip(")") or READ)
    for part, names in KEYS.items()
    for name in names.split()
]


def base(*, flat: bool) -> dict[str, Any]:
    model = {"provider": "openai", "name": "m"}
    if flat:
        return {"name": "a", "prompt": "Help.", "model": model}
    spec = {"role": "Help.", "model": model}
    return {"apiVersion": "initrunner/v1", "kind": "Agent", "metadata": {"name": "a"}, "spec": spec}


def with_key(part: str, name: str, value: object, *, flat: bool) -> tuple[dict[str, Any], str]:
    """Return a role with one more key, and the path of this key."""
    role = base(flat=flat)
    steps = [step for step in part.split(".") if not (flat and step in ("metadata", "spec"))]
    inner = role
    for step in steps:
        inner = inner.setdefault(step, {})
    inner[name] = value
    return role, ".".join([*steps, name])


def table_of(part: str, *, flat: bool) -> Any:
    fields: Any = FLAT_FIELDS if flat else INITRUNNER_FIELDS
    for step in part.split("."):
        if flat and step in ("metadata", "spec"):
            continue
        from prowess.agent.role._role import MODEL_FIELDS

        fields = MODEL_FIELDS if step == "model" else fields[step].keys
    return fields


@pytest.mark.parametrize("flat", [False, True], ids=["initrunner", "flat"])
@pytest.mark.parametrize(("part", "name", "expected"), ROWS, ids=[f"{part}.{name}" for part, name, _ in ROWS])
def test_each_key_is_read_ignored_or_refused(
    part: str, name: str, expected: str, *, flat: bool, tmp_path: Path
) -> None:
    """With any value; the schema agrees."""
    if expected == READ:
        assert ("prompt" if (flat and name == "role") else name) in table_of(part, flat=flat)
        return
    for value in ("x", 1, ["a"], {"a": {"b": "c"}}, False):
        role, key = with_key(part, name, value, flat=flat)
        file = tmp_path / "role.yaml"
        file.write_text(yaml.safe_dump(role))
        loaded, findings = load_role(file)
        assert loaded is not None
        assert jsonschema.Draft202012Validator(schema()).is_valid(role) is (expected == "ignored")
        if expected == "ignored":
            assert findings == ()
            assert [note.startswith(f"`{key}` is ignored: ") for note in loaded.notes] == [True]
        else:
            (item,) = findings
            assert item.message.startswith(f"`{key}` is not supported: ")
            assert item.hint
            assert loaded.notes == ()


@pytest.mark.parametrize("name", FLAT_ONLY)
def test_a_file_of_several_agents_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(yaml.safe_dump({**base(flat=True), name: {"a": "b"}}))
    _, (item,) = load_role(tmp_path / "role.yaml")
    assert (item.message, bool(item.hint)) == (f"`{name}` is not supported: a role is one agent", True)


def test_a_key_without_a_value_counts_as_missing(tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text("name: a\nprompt: x\nmodel: openai:m\nmemory:\noutput:\nagents: null\n")
    role, findings = load_role(tmp_path / "role.yaml")
    assert role is not None
    assert (role.notes, findings) == ((), ())


def test_notes_name_what_is_ignored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On standard error, and the role runs."""
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "role.yaml"
    role = base(flat=False)
    role["spec"] |= {"memory": {"type": "sqlite"}, "triggers": [{"type": "cron", "schedule": "* * * * *"}]}
    file.write_text(yaml.safe_dump(role))
    for command in (["validate", str(file)], ["run", str(file), "--dry-run"]):
        assert main(command) == 0
        err = capsys.readouterr().err
        assert "note: `spec.memory` is ignored: a conversation starts empty" in err
        assert "note: `spec.triggers` is ignored: nothing starts the role" in err
