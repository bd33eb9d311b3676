"""Each key of InitRunner's roles is used, named in a warning, or refused with a reason and a hint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from prowess.agent.role import _initrunner as initrunner, load_role, schema
from prowess.cli import main

if TYPE_CHECKING:
    from pathlib import Path

USED, UNUSED, REFUSED = "used", "not used", "refused"
KEYS: dict[str, list[tuple[str, str, object, object]]] = {
    "metadata": [
        ("team", USED, "platform", ["a"]),
        ("spec_version", USED, 3, ["a"]),
        ("dependencies", UNUSED, ["httpx"], "httpx"),
        ("bundle", UNUSED, {"include": ["README.md"], "newer": 1}, {"include": "README.md"}),
    ],
    "spec": [
        ("output", UNUSED, {"type": "json_schema", "schema": {"type": "object"}, "mode": "tool"}, {"type": "xml"}),
        ("capabilities", UNUSED, [{"Thinking": "high"}], {"Thinking": "high"}),
        ("deps_schema", UNUSED, {"user": "str"}, "user"),
        ("triggers", UNUSED, [{"type": "cron", "schedule": "0 7 * * 1", "prompt": "Go."}], {"type": "cron"}),
        ("sinks", UNUSED, [{"type": "file", "path": "log.json", "format": "json"}], [{"type": "file", "path": []}]),
        ("ingest", UNUSED, {"sources": ["docs/*.md"], "chunking": {"chunk_size": 300}}, {"sources": "docs"}),
        ("memory", UNUSED, {"max_sessions": 3, "semantic": {"max_memories": 9}}, {"semantic": {"enabled": 2}}),
        ("autonomy", UNUSED, {"max_plan_steps": 4, "iteration_delay_seconds": 0.5}, {"max_plan_steps": "four"}),
        ("reasoning", UNUSED, {"pattern": "reflexion", "reflection_rounds": 2}, {"reflection_rounds": 4}),
        ("execution", UNUSED, {"retries": 2, "max_concurrency": {"max_running": 2}}, {"max_concurrency": {}}),
        ("resources", UNUSED, {"memory": "128Mi", "cpu": 0.5}, {"cpu": "half"}),
        ("observability", UNUSED, {"backend": "console", "sample_rate": 0.1}, {"sample_rate": 1.5}),
        ("tool_search", UNUSED, {"enabled": True, "max_results": 20}, {"max_results": 21}),
        ("daemon", UNUSED, {"hot_reload": False}, {"hot_reload": 0}),
    ],
    "spec.model": [
        ("concurrency", UNUSED, {"max_running": 2}, {}),
        ("fallback", UNUSED, ["anthropic:m"], "anthropic:m"),
        ("fallback_on", UNUSED, ["ModelAPIError"], "ModelAPIError"),
        ("top_k", UNUSED, 5, 0),
        ("seed", UNUSED, -4, "four"),
        ("stop_sequences", UNUSED, ["END"], "END"),
        ("parallel_tool_calls", UNUSED, False, 0),
        ("presence_penalty", UNUSED, -2.0, 2.5),
        ("frequency_penalty", UNUSED, 1.5, [1]),
        ("logit_bias", UNUSED, {"50256": -100}, ["50256"]),
        ("thinking", UNUSED, "low", "lots"),
        ("extra_headers", REFUSED, {"X-Team": "a"}, None),
        ("extra_body", REFUSED, {"store": True}, None),
        ("tool_choice", REFUSED, "none", None),
    ],
    "spec.guardrails": [
        ("max_request_limit", USED, 9, 0),
        ("total_tokens_limit", USED, 900, "many"),
        ("run_token_budget", USED, 900, 0),
        ("input_tokens_limit", USED, 900, 0),
        ("per_request_input_tokens_limit", USED, 900, 0),
        ("session_token_budget", USED, 900, 0),
        ("daemon_token_budget", UNUSED, 20_000_000_000, 0),
        ("daemon_daily_token_budget", UNUSED, 900, "many"),
        ("daemon_daily_cost_budget", UNUSED, 0.5, 0),
        ("daemon_weekly_cost_budget", UNUSED, 2, "two"),
        ("budget_timezone", UNUSED, "Europe/Berlin", ["Europe/Berlin"]),
        ("max_iterations", UNUSED, 3, 0),
        ("autonomous_token_budget", UNUSED, 900, 0),
        ("autonomous_timeout_seconds", UNUSED, 900, 0),
        ("retry_policy", UNUSED, {"max_attempts": 3}, {"max_attempts": 6}),
        ("circuit_breaker", UNUSED, {"failure_threshold": 3}, 3),
        ("cost_limit", REFUSED, 0.5, None),
        ("team_token_budget", REFUSED, 900, None),
        ("team_timeout_seconds", REFUSED, 900, None),
    ],
    "spec.security": [
        ("resources", UNUSED, {"max_file_size_mb": 2.5}, {"max_file_size_mb": "big"}),
        ("audit", UNUSED, {"retention_days": 30}, [30]),
        ("preset", REFUSED, "public", None),
        ("content", REFUSED, {"max_prompt_length": 10}, None),
        ("server", REFUSED, {"require_https": True}, None),
        ("rate_limit", REFUSED, {"requests_per_minute": 3}, None),
        ("tools", REFUSED, {"mcp_command_allowlist": ["npx"]}, None),
    ],
    "spec.security.sandbox": [
        ("network", USED, "none", "some"),
        ("memory_limit", USED, "256m", "256 MB"),
        ("read_only_rootfs", USED, True, "yes"),
        ("backend", USED, "bwrap", "ssh"),
        ("backend", UNUSED, "docker", ["docker"]),
        ("cpu_limit", UNUSED, 0.5, 0),
        ("allowed_read_paths", UNUSED, ["/data"], "/data"),
        ("allowed_write_paths", UNUSED, ["/data"], "/data"),
        ("bind_mounts", UNUSED, [{"source": "a", "target": "/a"}], {"source": "a"}),
        ("env_passthrough", UNUSED, ["LANG"], "LANG"),
        ("ssh", REFUSED, {"host": "h"}, None),
    ],
    "spec.security.sandbox.docker": [
        ("image", UNUSED, "python:3.12-slim", ["python"]),
        ("user", UNUSED, "1000", ["1000"]),
        ("runtime", REFUSED, "runsc", None),
        ("extra_args", REFUSED, ["--pids-limit=9"], None),
    ],
}
"""The keys of InitRunner 2026.10 that are not Prowess's own, read from its schema: part, key, what becomes of
it, a value of its type and one of another type."""
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
ROWS = [(part, *row) for part, rows in KEYS.items() for row in rows]


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


def schema_accepts(role: dict[str, Any]) -> bool:
    accepted: bool = jsonschema.Draft202012Validator(schema()).is_valid(role)
    return accepted


@pytest.mark.parametrize("flat", [False, True], ids=["initrunner", "flat"])
@pytest.mark.parametrize(
    ("part", "name", "outcome", "valid", "wrong"),
    ROWS,
    ids=[f"{part}.{name}-{outcome}" for part, name, outcome, *_ in ROWS],
)
def test_each_key_is_used_or_named_or_refused(
    part: str, name: str, outcome: str, valid: object, wrong: object, *, flat: bool, tmp_path: Path
) -> None:
    """A value of another type is an error with its place; the schema agrees."""
    role, key = with_key(part, name, valid, flat=flat)
    file = tmp_path / "role.yaml"
    file.write_text(yaml.safe_dump(role, sort_keys=False))
    loaded, findings = load_role(file)
    assert loaded is not None
    assert schema_accepts(role) is (findings == ())
    if outcome == REFUSED:
        (item,) = findings
        assert item.message.startswith(f"`{key}` is not supported: ")
        assert item.hint
        assert loaded.unused == ()
        return
    assert findings == ()
    assert [item.key.partition("[")[0] for item in loaded.unused] == ([key] if outcome == UNUSED else [])
    assert all(item.line and item.column and item.instead for item in loaded.unused)
    role, _ = with_key(part, name, wrong, flat=flat)
    file.write_text(yaml.safe_dump(role, sort_keys=False))
    _, (item, *_) = load_role(file)
    assert key in item.message
    assert item.line
    assert item.column
    assert not schema_accepts(role)


def test_every_key_of_the_tables_is_in_this_list() -> None:
    """So that a new key needs a decision, a value of its type and one of another type."""
    listed = {(part, name) for part, name, *_ in ROWS}
    tables = {
        "metadata": initrunner.METADATA_FIELDS,
        "spec": initrunner.SPEC_FIELDS,
        "spec.model": initrunner.MODEL_FIELDS,
        "spec.guardrails": initrunner.GUARDRAIL_FIELDS,
        "spec.security": initrunner.SECURITY_FIELDS,
        "spec.security.sandbox": initrunner.SECURITY_FIELDS["sandbox"].keys,
        "spec.security.sandbox.docker": initrunner.SECURITY_FIELDS["sandbox"].keys["docker"].keys,
    }
    keys = {(part, name) for part, table in tables.items() for name in table}
    # Maps whose keys are listed, and a value of any type.
    assert keys - listed == {
        ("spec.security", "sandbox"),
        ("spec.security.sandbox", "docker"),
        ("spec.model", "prompt_cache"),
    }
    assert listed <= keys


@pytest.mark.parametrize("name", FLAT_ONLY)
def test_a_file_of_several_agents_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(yaml.safe_dump({**base(flat=True), name: {"a": "b"}}))
    _, (item,) = load_role(tmp_path / "role.yaml")
    assert (item.message, bool(item.hint)) == (f"`{name}` is not supported: a role is one agent", True)


def test_a_key_without_a_value_counts_as_missing(tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text("name: a\nprompt: x\nmodel: openai:m\nmemory:\noutput:\nagents: null\n")
    role, findings = load_role(tmp_path / "role.yaml")
    assert role is not None
    assert (role.unused, findings) == ((), ())


OPS = """\
name: ops
prompt: Help.
model: openai:m
memory: {max_sessions: 3}
triggers:
- type: cron
  schedule: 0 7 * * 1
  prompt: Go.
tools:
- think
- weather_station: {unit: celsius}
"""


def test_one_warning_names_what_is_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With each place and what to use instead, in the order of the file, the same in all three commands."""
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "ops.yaml"
    file.write_text(OPS)
    warnings = []
    for command in (["validate"], ["show"], ["run", "--dry-run"]):
        assert main([command[0], str(file), *command[1:]]) == 0
        err = capsys.readouterr().err
        assert err.count("warning: ") == 1
        lines = err[err.index("warning: ") :].splitlines()
        assert lines[0] == "warning: ops.yaml has parts that are not run; use instead:"
        places = ["  4:1: `memory`: ", "  5:1: `triggers`: ", "  10:3: `tools[0] (think)`: "]
        places += ["  11:3: `tools[1] (weather_station)`: "]
        assert [line.startswith(place) for place, line in zip(places, lines[1:5], strict=True)] == [True] * 4
        assert "prowess run ROLE -p TEXT" in lines[2]
        assert "--store" in lines[1]
        warnings.append(lines[:5])
    assert warnings[0] == warnings[1] == warnings[2]


@pytest.mark.parametrize("command", [["validate"], ["show"], ["run", "--dry-run"]], ids=lambda words: words[0])
def test_json_lists_what_is_not_run(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "ops.yaml"
    file.write_text(OPS)
    assert main([command[0], str(file), *command[1:], "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["not_run"]
    assert [(row["key"], row["line"], row["column"]) for row in listed] == [
        ("memory", 4, 1),
        ("triggers", 5, 1),
        ("tools[0] (think)", 10, 3),
        ("tools[1] (weather_station)", 11, 3),
    ]
    assert all(row["instead"] for row in listed)


def test_names_in_the_warning_cannot_forge_lines(tmp_path: Path) -> None:
    """A type of a tool is any text, and a terminal shows it."""
    file = tmp_path / "role.yaml"
    file.write_text('name: a\nprompt: x\ntools:\n- "zz\\nerror: forged\\e[2J"\n')
    role, findings = load_role(file)
    assert role is not None
    assert findings == ()
    (warning,) = role.notes
    assert len(warning.splitlines()) == 2
    assert "\x1b" not in warning


def test_the_warning_names_fifty_keys_at_most(tmp_path: Path) -> None:
    file = tmp_path / "role.yaml"
    file.write_text("name: a\nprompt: x\ntools:\n" + "- datetime\n" * 300)
    role, _ = load_role(file)
    assert role is not None
    (warning,) = role.notes
    assert warning.splitlines()[-1] == "  and 250 more"
    assert len(role.unused) == 300
