"""Which agent of opencode runs decides which permissions count."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

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
    skill(tmp_path / "home/.config/opencode/skills/pdf")
    (tmp_path / "home/.config/opencode/opencode.json").write_text(json.dumps(settings))
    found = discover(tmp_path, host="opencode", home=tmp_path / "home", env={}, client_args=arguments)
    assert [str(entry.state) for entry in found.skills] == [state]
