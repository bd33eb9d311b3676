"""Every shape of InitRunner's published roles is read: which keys, types of values and tools they have.

`initrunner_shapes.jsonl` has one role on each line, with values of our own. Together they have every shape that a part
of a published example or starter had, in 127 releases (0.2 to 2026.10).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from prowess.agent.role import load_role, schema
from support.initrunner_keys import REFUSED, ROWS, UNUSED

ROLES: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("initrunner_shapes.jsonl").read_text().splitlines()
]
OWN_TOOLS = {"filesystem", "git", "shell", "http", "web_reader", "mcp", "python", "script"}
MISTAKES = {"spec.tools[0].name", "spec.tools[0].description", "spec.tools[1].max_length"}
"""Options of `git` and `web_reader` in two old examples, which those tools never had."""
VALIDATOR: Any = jsonschema.Draft202012Validator(schema())


def find(role: dict[str, Any], part: str, name: str) -> tuple[str, Any] | None:
    """Return the path of a key in a role, and its value; `None` if the role does not have it."""
    inner: Any = role
    steps = [step for step in part.split(".") if "spec" in role or step not in ("metadata", "spec")]
    for step in steps:
        inner = inner.get(step) if isinstance(inner, dict) else None
    value = inner.get(name) if isinstance(inner, dict) else None
    return None if value is None else (".".join([*steps, name]), value)


def keys_with(role: dict[str, Any], outcome: str) -> set[str]:
    """Return the keys of a role that have an outcome."""
    rows = [(find(role, part, name), valid) for part, name, becomes, valid, _ in ROWS if becomes == outcome]
    # Of the values of `backend` only one is not used.
    return {found[0] for found, valid in rows if found and (not found[0].endswith(".backend") or found[1] == valid)}


def other_tools(role: dict[str, Any]) -> set[str]:
    """Return what the warning calls the tools that Prowess does not have."""
    key, tools = find(role, "spec", "tools") or ("", [])
    kinds = [tool if isinstance(tool, str) else tool.get("type") or next(iter(tool)) for tool in tools]
    return {f"{key}[{index}] ({kind})" for index, kind in enumerate(kinds) if kind not in OWN_TOOLS}


def is_several(role: dict[str, Any]) -> bool:
    return role.get("kind", "Agent") != "Agent" or "agents" in role


def test_the_shapes_are_those_of_all_kinds() -> None:
    """So that a file without shapes is not a success."""
    counts = [sum(is_several(role) for role in ROLES), sum("spec" in role for role in ROLES), len(ROLES)]
    assert counts == [28, 93, 174]
    unused = {key for role in ROLES for key in keys_with(role, UNUSED)}
    assert unused >= {"triggers", "sinks", "memory", "bundle", "ingest"}


@pytest.mark.parametrize("role", ROLES, ids=[str(number) for number in range(len(ROLES))])
def test_a_published_shape_runs_with_one_warning_or_is_refused_with_the_reason(
    role: dict[str, Any], tmp_path: Path
) -> None:
    """The warning names exactly what is not run; what is refused is in the list of refused keys. The schema agrees."""
    file = tmp_path / "role.yaml"
    file.write_text(json.dumps(role))
    loaded, findings = load_role(file)
    assert VALIDATOR.is_valid(role) is (findings == ())
    assert all(item.line and item.hint for item in findings)
    messages = [item.message for item in findings]
    if is_several(role):
        assert (loaded, len(messages), "several agents" in messages[0]) == (None, 1, True)
        return
    assert loaded is not None
    refused = {message.split("`")[1] for message in messages if "is not supported" in message}
    assert refused == keys_with(role, REFUSED)
    assert {message.split("`")[1] for message in messages} - refused <= MISTAKES
    assert {item.key for item in loaded.unused} == keys_with(role, UNUSED) | other_tools(role)
    assert len(loaded.notes) == bool(loaded.unused)
