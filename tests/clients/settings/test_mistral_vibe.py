"""What Mistral Vibe alone does with its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.clients.mistral_vibe import pattern_problem
from support.clients import active, see
from support.growth import ends

if TYPE_CHECKING:
    from pathlib import Path

USER = "home/.vibe/config.toml"


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        pytest.param("", ["keep-a", "keep-b", "other"], id="none"),
        pytest.param('disabled_skills = ["OTHER"]', ["keep-a", "keep-b"], id="any-case"),
        pytest.param('disabled_skills = [" keep-* "]', ["other"], id="glob"),
        pytest.param('disabled_skills = ["re:keep-[ab]"]', ["other"], id="regex"),
        pytest.param('disabled_skills = ["re:keep"]', ["keep-a", "keep-b", "other"], id="whole-name"),
        pytest.param('enabled_skills = ["keep-a"]\ndisabled_skills = ["keep-a"]', ["keep-a"], id="first-setting"),
        pytest.param('enabled_skills = [""]', [], id="blank"),
        pytest.param("enabled_skills = []", ["keep-a", "keep-b", "other"], id="empty"),
        pytest.param('enabled_skills = "keep-a"', [], id="text-stops-the-client"),
    ],
)
def test_the_first_list_that_is_not_empty_says_which_skills_stay(
    settings: str, seen: list[str], tmp_path: Path
) -> None:
    skills = {f"home/.vibe/skills/{name}/": None for name in ("keep-a", "keep-b", "other")}
    assert active(tmp_path, "mistral-vibe", {**skills, USER: settings}) == seen


@pytest.mark.parametrize(
    "pattern",
    [
        "re:(",
        "re:(a+)+$",
        "re:(a|a)*b",
        "re:" + "a?" * 30,
        "re:" + "a*" * 9,
        "x" * 300,
        "re:" + "(a|a)" * 45,
        "re:" + "(?:a|)" * 40 + "b",
        "re:(?x)(a|a) #\\n *b",
        "re:(?:a|a)(?#)*b",
    ],
)
def test_a_pattern_that_could_take_long_matches_nothing(pattern: str, tmp_path: Path) -> None:
    """It is a finding; names of 64 letters are the worst that a skill can have."""
    assert pattern_problem(pattern) is not None
    with ends():
        found = see(
            tmp_path,
            "mistral-vibe",
            {f"home/.vibe/skills/{'a' * 64}/": None, USER: f"disabled_skills = ['{pattern}']"},
        )
    assert [str(entry.state) for entry in found.skills] == ["active"]
    assert [item.code for item in found.findings] == ["config-invalid"]


def test_only_a_thousand_patterns_count(tmp_path: Path) -> None:
    names = ", ".join(f'"n{number}"' for number in range(1001))
    skills = {f"home/.vibe/skills/{name}/": None for name in ("n999", "n1000")}
    assert active(tmp_path, "mistral-vibe", {**skills, USER: f"disabled_skills = [{names}]"}) == ["n1000"]


def test_many_patterns_that_take_some_time_are_bounded_together(tmp_path: Path) -> None:
    patterns = ",\n".join(f"'re:.*.*.*{number}'" for number in range(1000))
    with ends():
        found = see(
            tmp_path, "mistral-vibe", {f"home/.vibe/skills/{'a' * 64}/": None, USER: f"disabled_skills = [{patterns}]"}
        )
    assert "is too complex together with those before it" in found.findings[-1].message


@pytest.mark.parametrize(
    ("trusted", "untrusted", "seen"),
    [
        ([], [], []),
        (["TOP/repo"], [], ["one"]),
        (["TOP"], [], ["one"]),
        (["TOP"], ["TOP/repo"], []),
        (["TOP/repo"], ["TOP"], ["one"]),
        (["TOP/repo"], ["TOP/repo"], ["one"]),
        (["TOP/repo/below", 5], [], []),
    ],
)
def test_the_list_with_the_nearest_folder_decides(
    trusted: list[object], untrusted: list[object], seen: list[str], tmp_path: Path
) -> None:
    """One that both lists have is trusted."""
    lists = f"trusted = {trusted}\nuntrusted = {untrusted}\n"
    files = {"repo/.vibe/skills/one/": None, "home/.vibe/trusted_folders.toml": lists}
    assert active(tmp_path, "mistral-vibe", files) == seen
    assert active(tmp_path, "mistral-vibe", files, "--trust") == ["one"]
