"""Paths of host files that a variable may move."""

from __future__ import annotations

import pytest

from prowess._internal.variable_paths import variable_path


@pytest.mark.parametrize(
    ("path", "variables", "found"),
    [
        ("~/.codex/skills", {}, "/home/ada/.codex/skills"),
        ("skills", {"CODEX_HOME": "/moved"}, "skills"),
        ("$CODEX_HOME/skills|~/.codex/skills", {}, "/home/ada/.codex/skills"),
        ("$CODEX_HOME/skills|~/.codex/skills", {"CODEX_HOME": ""}, "/home/ada/.codex/skills"),
        ("$CODEX_HOME/skills|~/.codex/skills", {"CODEX_HOME": "/moved"}, "/moved/skills"),
        ("$CODEX_HOME/skills|~/.codex/skills", {"CODEX_HOME": "~/moved"}, "~/moved/skills"),
        ("$CODEX_HOME|~/.codex", {"CODEX_HOME": "/moved"}, "/moved"),
        ("$CODEX_HOME/skills", {}, ""),
    ],
)
def test_a_variable_moves_a_path(path: str, variables: dict[str, str], found: str) -> None:
    """`~` is the home where the host file says it, not in the value of a variable."""
    assert variable_path(path, variables, "/home/ada") == found
