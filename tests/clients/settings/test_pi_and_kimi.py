"""What pi and Kimi Code do each in their own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.clients import active, states

if TYPE_CHECKING:
    from pathlib import Path

USER, TRUST = "home/.pi/agent/settings.json", "home/.pi/agent/trust.json"


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
    files = {"home/.pi/agent/skills/pdf/": None, USER: {} if tools is None else {"defaultTools": tools}}
    assert states(tmp_path, "pi", files, *arguments) == {"pdf": state}


@pytest.mark.parametrize(
    ("settings", "trust", "arguments", "seen"),
    [
        ({}, "{}", (), ["user"]),
        ({"defaultProjectTrust": "always"}, "{}", (), ["own", "user"]),
        ({"defaultProjectTrust": "never"}, "{}", (), ["user"]),
        ({}, '{"TOP": true}', (), ["own", "user"]),
        ({}, '{"TOP": true, "TOP/repo": false}', (), ["user"]),
        ({}, '{"TOP": false, "TOP/repo": null}', ("-a",), ["own", "user"]),
        ({}, '{"TOP/repo": true}', ("--no-approve",), ["user"]),
        ({}, "{}", ("--approve", "-na"), ["user"]),
        ({}, "{", (), []),
        ({}, "[]", (), []),
        ({}, '{"/x": "yes"}', (), []),
        ({}, '{"/x": "yes"}', ("--approve",), ["own", "user"]),
    ],
)
def test_a_project_needs_trust(
    settings: object, trust: str, arguments: tuple[str, ...], seen: list[str], tmp_path: Path
) -> None:
    """A list that is invalid stops pi, but only if it is read: an argument decides before it."""
    files = {"repo/.pi/skills/own/": None, "home/.pi/agent/skills/user/": None, USER: settings, TRUST: trust}
    assert active(tmp_path, "pi", files, *arguments) == seen


def test_an_argument_may_leave_only_the_folders_that_arguments_name(tmp_path: Path) -> None:
    files = {"home/.pi/agent/skills/user/": None, "repo/near/skills/near/": None}
    assert active(tmp_path, "pi", files, "--no-skills") == []
    assert active(tmp_path, "pi", files, "-ns", "--skill", "near/skills") == ["near"]


def test_an_argument_of_kimi_code_replaces_the_folders_of_projects_and_users(tmp_path: Path) -> None:
    """Not those that settings add."""
    files = {
        "repo/.kimi-code/skills/project/": None,
        "home/.kimi-code/skills/user/": None,
        "home/.kimi-code/config.toml": 'extra_skill_dirs = ["TOP/extra"]\n',
        "extra/extra/": None,
        "named/named/": None,
    }
    assert active(tmp_path, "kimi-code", files) == ["project", "user", "extra"]
    assert active(tmp_path, "kimi-code", files, "--skills-dir", "TOP/named") == ["named", "extra"]
    assert active(tmp_path, "kimi-code", files, "--skills-dir", "a\0b") == ["project", "user", "extra"]
