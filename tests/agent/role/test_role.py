"""Reading a role's file in both forms, its errors, and the published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from prowess.agent.role import TOOL_FIELDS, Guardrails, ModelConfig, Role, Security, load_role, parse_model, schema
from prowess.findings import format_findings
from support.broken_roles import BROKEN, FLAT_ROLE, INITRUNNER_ROLE, NOT_IN_SCHEMA, UNREADABLE
from support.rows import rows

TOP = Path(__file__).parents[3]
SEEDS = sorted((TOP / "tests/roles").glob("*/*.yaml"))
VALIDATOR: Any = jsonschema.Draft202012Validator(schema())


def load_text(folder: Path, text: str) -> tuple[Role | None, str]:
    """Read a role from a text; return it and its findings, without the file's name."""
    file = folder / "role.yaml"
    file.write_text(text, encoding="utf-8")
    role, findings = load_role(file)
    assert all(item.code == "role-invalid" and item.path == str(file) for item in findings)
    return role, "\n".join(format_findings([item]).removeprefix(f"{file}:").strip() for item in findings)


# ── both forms ───────────────────────────────────────────────────────────────────────────────────────────────────────

FULL = """\
model:
  provider: openai
  name: local
  base_url: http://localhost:1234/v1
  api_key_env: LOCAL_KEY
  temperature: 0
  top_p: 1
  max_tokens: 100
  context_window: 8000
skills: [./skills/a/SKILL.md, b]
auto_skills: {enabled: false, max_skills: 7}
tools:
- type: filesystem
  read_only: false
guardrails: {max_tokens_per_run: 1, max_tool_calls: 0, max_requests: 2, timeout_seconds: 0.5}
security: {deny: [shell], ask: [git], allowed_hosts: [example.com], allow_private: true, roots: [., ../data],
  unix_sockets: [db.sock]}
"""


def in_both_forms(body: str) -> tuple[str, str]:
    """Write a role in both forms."""
    inner = "".join(f"  {line}\n" for line in body.splitlines())
    initrunner = (
        f"apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: a\n  description: d\nspec:\n  role: Help.\n{inner}"
    )
    return initrunner, f"name: a\ndescription: d\nprompt: Help.\n{body}"


def test_both_forms_give_the_same_role(tmp_path: Path) -> None:
    """Only the lines and the paths inside the file differ."""
    (initrunner, _), (flat, messages) = (load_text(tmp_path, text) for text in in_both_forms(FULL))
    assert initrunner is not None
    assert flat is not None
    assert messages == ""
    assert (initrunner.tools[0].where, flat.tools[0].where) == ("spec.tools[0]", "tools[0]")
    assert (initrunner.skill_lines, flat.skill_lines) == ((17, 17), (13, 13))
    without_lines = {"skill_lines": (), "tools": ()}
    assert initrunner.with_changes(**without_lines) == flat.with_changes(**without_lines)
    assert initrunner.tools[0].key == flat.tools[0].key
    assert flat.with_changes(**without_lines) == Role(
        path=str(tmp_path / "role.yaml"),
        name="a",
        description="d",
        prompt="Help.",
        model=ModelConfig(
            provider="openai",
            name="local",
            base_url="http://localhost:1234/v1",
            api_key_env="LOCAL_KEY",
            temperature=0.0,
            top_p=1.0,
            max_tokens=100,
            context_window=8000,
        ),
        skills=("./skills/a/SKILL.md", "b"),
        auto_skills_enabled=False,
        max_skills=7,
        guardrails=Guardrails(max_tokens_per_run=1, max_tool_calls=0, max_requests=2, timeout_seconds=0.5),
        security=Security(
            deny=("shell",),
            ask=("git",),
            allowed_hosts=("example.com",),
            allow_private=True,
            roots=(".", "../data"),
            unix_sockets=("db.sock",),
        ),
    )


@pytest.mark.parametrize("form", [0, 1], ids=["initrunner", "flat"])
def test_missing_keys_have_defaults(tmp_path: Path, form: int) -> None:
    """InitRunner, "Configuration": discovery is on, with 50 skills at most."""
    role, messages = load_text(tmp_path, in_both_forms("")[form])
    assert role is not None
    assert messages == ""
    assert (role.auto_skills_enabled, role.max_skills) == (True, 50)
    assert (role.model, role.guardrails, role.security) == (ModelConfig(), Guardrails(), Security())
    assert role.folder == str(tmp_path)


def test_initrunners_own_roles_are_read() -> None:
    """`reviewer.yaml`, `auto-skill-demo.yaml` and `research-assistant`, unchanged."""
    roles = {path.stem: load_role(path) for path in SEEDS}
    assert {name: findings for name, (_, findings) in roles.items()} == dict.fromkeys(roles, ())
    reviewer, demo, research = (roles[name][0] for name in ("reviewer", "auto-skill-demo", "research-assistant"))
    assert reviewer is not None
    assert reviewer.name == "code-reviewer"
    assert reviewer.model == ModelConfig(provider="openai", name="gpt-4o-mini", temperature=0.0)
    assert reviewer.skills == ("./skills/code-review/SKILL.md",)
    assert reviewer.guardrails == Guardrails(max_tokens_per_run=30000, max_tool_calls=25, timeout_seconds=120.0)
    assert demo is not None
    assert (demo.auto_skills_enabled, demo.model.name) == (True, "gpt-5-mini")
    assert research is not None
    assert research.skills == ("./skills/web-research/SKILL.md", "./skills/summarizer/SKILL.md", "data-analysis")
    assert research.skill_lines == (13, 14, 15)


@pytest.mark.parametrize(("text", "provider", "name", "url"), rows(__file__, "a_model_can_be_one_text"))
def test_a_model_can_be_one_text(tmp_path: Path, text: str, provider: str, name: str, url: str | None) -> None:
    """`provider:name` and `openai:NAME@URL`, in the role and on the command line."""
    expected = ModelConfig(provider=provider, name=name, base_url=url)
    assert parse_model(text) == expected
    role, messages = load_text(tmp_path, f"name: a\nprompt: x\nmodel: '{text}'\n")
    assert role is not None
    assert (role.model, messages) == (expected, "")


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", [*BROKEN])
def test_each_error_is_reported_once_with_its_place(tmp_path: Path, case: str) -> None:
    """With the path inside the file, line, column and hint; the schema rejects the file too."""
    text, messages = BROKEN[case]
    assert load_text(tmp_path, text)[1] == messages
    assert schema_accepts(text) is (case in NOT_IN_SCHEMA)


@pytest.mark.parametrize("case", [*UNREADABLE])
def test_a_file_that_is_not_a_map_is_not_a_role(tmp_path: Path, case: str) -> None:
    text, messages = UNREADABLE[case]
    assert load_text(tmp_path, text) == (None, messages)


def test_all_errors_are_reported_together(tmp_path: Path) -> None:
    """The valid parts are read all the same."""
    text = INITRUNNER_ROLE + "  skils: []\n  guardrails: {max_tool_calls: many}\n"
    text += "  tools:\n  - type: gti\n  - type: git\n    red_only: 1\n  - type: shell\n"
    role, messages = load_text(tmp_path, text)
    assert role is not None
    assert messages.splitlines() == [
        "8:3: unknown key `spec.skils` (did you mean `skills`?)",
        "11:11: unknown tool type `gti` (did you mean `git`?)",
        "13:5: unknown key `spec.tools[1].red_only` (did you mean `read_only`?)",
        "9:32: `spec.guardrails.max_tool_calls` is text (`many`), not a whole number from 0 to 1000000000",
    ]
    assert [tool.kind for tool in role.tools] == ["shell"]


def test_at_most_fifty_findings_are_reported(tmp_path: Path) -> None:
    """The last one says that there are more."""
    _, messages = load_text(tmp_path, FLAT_ROLE + "".join(f"k{number}: 1\n" for number in range(300)))
    assert len(messages.splitlines()) == 50
    assert messages.splitlines()[-1] == "53:1: more problems are not shown (fix the problems above, then check again)"


@pytest.mark.parametrize("kind", ["missing", "folder", "large", "nul", "utf-16"])
def test_an_unreadable_file_is_a_finding(tmp_path: Path, kind: str) -> None:
    """Never an exception."""
    file = tmp_path / "role.yaml"
    if kind == "folder":
        file.mkdir()
    elif kind != "missing":
        file.write_bytes({"large": b"#" * 300_000, "nul": b"name: a\0", "utf-16": "name: a".encode("utf-16")}[kind])
    role, findings = load_role(file)
    assert role is None
    assert len(findings) == 1
    assert findings[0].path == str(file)
    assert findings[0].message


def test_control_characters_in_a_key_are_escaped(tmp_path: Path) -> None:
    """The message goes to a terminal."""
    _, messages = load_text(tmp_path, FLAT_ROLE + '"\\e[2J\\u202e": 1\n')
    assert "\x1b" not in messages
    assert "\u202e" not in messages


# ── the schema ───────────────────────────────────────────────────────────────────────────────────────────────────────


def schema_accepts(text: str) -> bool:
    accepted: bool = VALIDATOR.is_valid(yaml.safe_load(text))
    return accepted


def test_the_published_schema_is_current_and_readable() -> None:
    """`make docs` writes it; it is valid JSON Schema 2020-12, and each of its definitions is used."""
    text = (TOP / "docs/role.schema.json").read_text(encoding="utf-8")
    published = json.loads(text)
    assert published == json.loads(json.dumps(schema()))
    jsonschema.Draft202012Validator.check_schema(published)
    assert [name for name in published["$defs"] if f'"#/$defs/{name}"' not in text] == []
    assert (len(text.splitlines()) < 2000, max(map(len, text.splitlines())) < 500) == (True, True)


def test_the_schema_accepts_both_forms_and_initrunners_own_roles() -> None:
    """With all keys, and with the required ones alone."""
    texts = [text for body in (FULL, "") for text in in_both_forms(body)]
    texts += [path.read_text(encoding="utf-8") for path in SEEDS]
    assert [schema_accepts(text) for text in texts] == [True] * (4 + len(SEEDS))


_SCALARS = st.sampled_from([None, True, False, -2, -1, 0, 1, 3, 201, 0.5, 2.5, "", "a", "none", "git"])
_VALUES = st.one_of(
    _SCALARS,
    st.lists(st.sampled_from(["a", "git", 1]), max_size=2),
    st.dictionaries(st.sampled_from(["enabled", "sources", "name"]), _SCALARS, max_size=2),
    st.lists(st.dictionaries(st.sampled_from(["type", "name"]), _SCALARS, max_size=2), max_size=2),
)
_KEYS = (
    *("name", "prompt", "description", "skills", "auto_skills", "auto_skills.max_skills", "auto_skills.enabled"),
    *("security.allow_writes", "security.sandbox.network", "guardrails.timeout_seconds", "model.temperature"),
    *("guardrails.max_tool_calls", "model.logit_bias", "model.prompt_cache", "model.top_k", "model.tool_choice"),
    *("triggers", "memory", "memory.semantic", "ingest", "deps_schema", "reasoning.reflection_dimensions", "other"),
)
"""Keys of every kind of value."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=4))
def test_the_schema_accepts_exactly_what_the_reader_accepts(tmp_path: Path, values: dict[str, Any]) -> None:
    """For values that YAML 1.2 and JSON Schema name alike; here `1.0` is not an integer."""
    role: dict[str, Any] = {"name": "a", "prompt": "Help."}
    for key, value in sorted(values.items()):
        *steps, last = key.split(".")
        inner = role
        for step in steps:
            inner = inner.setdefault(step, {})
            if not isinstance(inner, dict):
                return
        inner[last] = value
    text = yaml.safe_dump(role, sort_keys=False)
    messages = load_text(tmp_path, text)[1]
    assert (messages == "") is schema_accepts(text), messages


@pytest.mark.parametrize("kind", TOOL_FIELDS)
def test_each_tool_is_in_the_schema(tmp_path: Path, kind: str) -> None:
    """The defaults written out give the same tool as no keys at all."""
    needed: dict[str, dict[str, Any]] = {
        "http": {"base_url": "https://example.com"},
        "script": {"scripts": [{"name": "s", "body": "true"}]},
    }
    given = needed.get(kind, {})
    full: dict[str, Any] = {
        name: key.default for name, key in TOOL_FIELDS[kind].items() if key.default not in (None, ())
    } | given
    full = {name: [*value] if isinstance(value, tuple) else value for name, value in full.items()}
    roles = []
    for options in (given, full):
        text = FLAT_ROLE + "tools: " + json.dumps([{"type": kind, **options}]) + "\n"
        role, messages = load_text(tmp_path, text)
        assert role is not None
        assert messages == ""
        assert schema_accepts(text)
        roles.append(role)
    assert roles[0].tools[0].key == roles[1].tools[0].key
