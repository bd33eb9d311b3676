"""A client whose model lacks the tool to load skills sends it no catalog."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("tools", "arguments", "state"),
    [
        (None, (), "active"),
        (["edit"], (), "user-only"),
        (["edit", "bash"], (), "active"),
        ("read", (), "active"),
        ([None, 5], (), "user-only"),
        (["edit"], ("--tools", "grep, read"), "active"),
        (None, ("--tools", "grep"), "user-only"),
        (None, ("-nt",), "user-only"),
        (None, ("-nt", "-t", "read"), "active"),
        (None, ("-xt", "read"), "active"),
        (None, ("-xt", "read", "-xt", "read,bash"), "user-only"),
    ],
)
def test_the_model_needs_a_tool_that_reads_files(
    tmp_path: Path, tools: object, arguments: tuple[str, ...], state: str
) -> None:
    """Settings name pi's tools; arguments name others, or take some away."""
    skill(tmp_path / "home/.pi/agent/skills/pdf")
    if tools is not None:
        (tmp_path / "home/.pi/agent/settings.json").write_text(json.dumps({"defaultTools": tools}))
    found = discover(tmp_path, host="pi", home=tmp_path / "home", env={}, client_args=arguments)
    assert [str(entry.state) for entry in found.skills] == [state]
