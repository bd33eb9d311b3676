"""Each key of InitRunner's roles is used, named in a warning, or refused with a reason and a hint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from prowess.agent.role import load_role, schema
from prowess.cli import main
from support.initrunner_keys import REFUSED, ROWS, UNUSED

if TYPE_CHECKING:
    from pathlib import Path

FLAT_ONLY = (
    "agents",
    "run",
    "debate",
    "ensemble",
    "handoff_max_chars",
    "shared_memory",
    "shared_documents",
    "durability",
)
VALIDATOR: Any = jsonschema.Draft202012Validator(schema())


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
    assert VALIDATOR.is_valid(role) is (findings == ())
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
    assert not VALIDATOR.is_valid(role)


def test_every_key_that_is_not_used_or_refused_is_in_this_list() -> None:
    """So that a new key needs a decision, a value of its type and one of another type."""
    made = schema()
    pending, found = [("spec", made["$defs"][name], name) for name in made["$defs"] if "." not in name], set()
    while pending:
        part, value, name = pending.pop()
        if value.get("description", "").startswith(("refused: ", "read, not used: ")):
            found.add((part.replace("spec.anyOf", "spec"), name))
        else:
            inner = next((form for form in value.get("anyOf", ()) if "properties" in form), value)
            pending += [(f"{part}.{name}", below, key) for key, below in inner.get("properties", {}).items()]
    listed = {
        (part.replace("metadata", "spec"), name) for part, name, outcome, *_ in ROWS if outcome in (UNUSED, REFUSED)
    }
    # No type is wrong for a value of any type; Prowess uses all values of `backend` but one.
    assert found ^ listed == {("spec.model", "prompt_cache"), ("spec.security.sandbox", "backend")}


@pytest.mark.parametrize("name", FLAT_ONLY)
def test_a_file_of_several_agents_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(yaml.safe_dump({**base(flat=True), name: {"a": "b"}}))
    _, (item,) = load_role(tmp_path / "role.yaml")
    assert (item.message, bool(item.hint)) == (f"`{name}` is not supported: a role is one agent", True)


SEVERAL = {
    "group": "name: desk\nagents:\n  intake: {use: roles/intake.yaml}\n  writer:\n    use: roles/writer.yaml\n",
    "team": "name: talk\nmodel: openai:m\nagents:\n  pro: argue\n  contra: {prompt: argue against it}\nrun: debate\n",
    "Flow": "agents:\n    intake: {role: roles/intake.yaml, sink: {target: writer}}\n    writer: {role: x}\n",
    "Compose": "services:\n    intake: {role: roles/intake.yaml}\n    writer: {role: x, depends_on: [intake]}\n",
    "Team": "personas:\n    pro: argue for it\n    contra: {role: argue against it}\n",
}


@pytest.mark.parametrize("kind", SEVERAL)
def test_a_file_of_several_agents_is_one_error_that_names_them(kind: str, tmp_path: Path) -> None:
    """And how to run each: which one begins, and who gets whose answer, is not a role's part."""
    head = f"apiVersion: initrunner/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  " if kind[0].isupper() else ""
    (tmp_path / "desk.yaml").write_text(head + SEVERAL[kind])
    role, (item,) = load_role(tmp_path / "desk.yaml")
    assert role is None
    names = {"pro", "contra"} if kind in ("team", "Team") else {"intake", "writer"}
    assert names == {name for name in ("pro", "contra", "intake", "writer") if f"`{name}`" in item.message}
    assert ("`roles/intake.yaml`" in item.message) is ("intake" in names)
    assert item.line == (2 if head else 3 if kind == "group" else 4)
    assert "prowess run ROLE -p TEXT" in (item.hint or "")


def test_names_of_agents_are_few_and_quoted(tmp_path: Path) -> None:
    names = "".join(f'  "a{number}\\n\\e[2Jerror: x": {{use: b.yaml}}\n' for number in range(300))
    (tmp_path / "desk.yaml").write_text(f"name: a\nagents:\n{names}")
    _, (item,) = load_role(tmp_path / "desk.yaml")
    assert item.message.endswith(" and 290 more")
    assert "\n" not in item.message
    assert "\x1b" not in item.message


@pytest.mark.parametrize(("kind", "words"), [("TestSuite", "prowess test"), ("Service", "InitRunner")])
def test_a_file_that_is_no_agent_is_one_error(kind: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"apiVersion: initrunner/v1\nkind: {kind}\nmetadata: {{name: a}}\ncases: []\n")
    role, (item,) = load_role(tmp_path / "a.yaml")
    assert role is None
    assert item.message == f"a file of `kind: {kind}` is not a role"
    assert words in (item.hint or "")


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


@pytest.mark.parametrize("command", ["validate", "show", "run --dry-run"])
def test_one_warning_names_what_is_not_run(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With each place and what to use instead, in the order of the file, the same in all three commands and as JSON."""
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "ops.yaml"
    file.write_text(OPS)
    name, *options = command.split()
    assert main([name, str(file), *options]) == 0
    err = capsys.readouterr().err
    assert err[err.index("warning: ") :].startswith(
        "warning: ops.yaml has parts that are not run; use instead:\n"
        "  4:1: `memory`: a served conversation is kept with `prowess run ROLE --serve --store URL`\n"
        "  5:1: `triggers`: let cron, a hook or your own program call `prowess run ROLE -p TEXT`\n"
        "  10:3: `tools[0] (think)`: the model's own reasoning\n"
        "  11:3: `tools[1] (weather_station)`: no such type here; use an `mcp` server, or a `script`\n"
    )
    assert err.count("warning: ") == 1
    assert main([name, str(file), *options, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["not_run"]
    shown = [f"  {row['line']}:{row['column']}: `{row['key']}`: {row['instead']}" for row in listed]
    assert shown == err[err.index("warning: ") :].splitlines()[1:5]


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
