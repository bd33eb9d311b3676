"""What GitHub Copilot CLI alone does with its settings and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.clients import active, see, states

if TYPE_CHECKING:
    from pathlib import Path

USER, STATE = "home/.copilot/settings.json", "home/.copilot/config.json"
SKILLS: dict[str, Any] = {f"repo/.github/skills/{name}/": None for name in "st"}


@pytest.mark.parametrize(
    ("settings", "off"),
    [
        ('{"disabled_skills": ["s"]}', "s"),
        ('{"disabledSkills": ["t"], "disabled_skills": ["s"]}', "s"),
        ('{"disabled_skills": ["s"], "disabledSkills": ["t"]}', "t"),
    ],
)
def test_a_key_may_have_an_old_name(settings: str, off: str, tmp_path: Path) -> None:
    """If a file has both, the last one counts."""
    found = states(tmp_path, "copilot", SKILLS | {USER: settings})
    assert [name for name, state in found.items() if state == "disabled"] == [off]


@pytest.mark.parametrize(
    ("folder", "read"),
    [
        ("TOP/repo/.github/skills", False),
        (" TOP/repo/.github/./y/..//skills/ ", False),
        ("TOP", False),
        ("/", False),
        ("TOP/repo/.github/skills/s", True),
        ("TOP/repo/.github/ski", True),
        (".github/skills", True),
        ("~", True),
        ("TOP/\0", True),
        ("", True),
    ],
)
def test_roots_in_unread_folders_are_not_read(folder: str, read: bool, tmp_path: Path) -> None:
    """Paths are absolute; a skill in a root is not a root."""
    found = see(tmp_path, "copilot", SKILLS | {USER: {"ignored_skills_locations": [folder]}}).skills
    assert {str(entry.state) for entry in found} == {"active" if read else "rejected"}
    assert read or "reads no skills in" in str(found[0].reason)


def test_only_some_unread_folders_count(tmp_path: Path) -> None:
    """A list of any length takes bounded time."""
    folders = [*(f"/{number}" for number in range(10_000)), "TOP"]
    found = see(tmp_path, "copilot", SKILLS | {USER: {"ignoredSkillsLocations": folders}})
    assert {str(entry.state) for entry in found.skills} == {"active"}
    assert [item.code for item in found.findings] == ["config-invalid"]


@pytest.mark.parametrize(
    ("state", "arguments", "env", "trusted"),
    [
        ({}, (), {}, False),
        ({"trustedFolders": ["TOP/repo", 5]}, (), {}, True),
        ({"trusted_folders": ["TOP/"]}, (), {}, True),
        ({"trustedFolders": ["/"]}, (), {}, True),
        ({"trustedFolders": ["TOP/re", "TOP/repo/sub", "repo", "\0"]}, (), {}, False),
        ({}, ("--trust-folder",), {}, True),
        ({}, (), {"COPILOT_ALLOW_ALL": "true"}, True),
        ({}, (), {"COPILOT_ALLOW_ALL": "1"}, False),
        ({}, (), {"COPILOT_ALLOW_ALL": "TRUE"}, False),
    ],
)
def test_settings_of_a_project_need_trust(
    state: object, arguments: tuple[str, ...], env: dict[str, str], trusted: bool, tmp_path: Path
) -> None:
    """A folder above it may be in the list; a variable has one value only."""
    files = {
        "repo/more/m/": None, STATE: state,
        "repo/.github/copilot/settings.json": {"skillDirectories": ["more"], "disabledSkills": ["m"]},
    }  # fmt: skip
    assert active(tmp_path, "copilot", files, *arguments, env=env) == (["m"] if trusted else [])


@pytest.mark.parametrize(
    ("folder", "is_read"),
    [
        ("more", True),
        ("./a/../more/", True),
        ("../outside", False),
        ("/more", False),
        ("~/more", False),
        ("link", False),
        ("TOP/repo/more", False),
    ],
)
def test_a_folder_that_a_project_names_is_in_it(folder: str, is_read: bool, tmp_path: Path) -> None:
    """A repository that is trusted names folders of its own, and no others."""
    files = {"repo/more/s/": None, "repo/~/more/s/": None, "outside/s/": None, STATE: {"trustedFolders": ["TOP/repo"]}}
    settings = {"repo/.github/copilot/settings.json": {"skillDirectories": [folder]}}
    see(tmp_path, "copilot", files)
    (tmp_path / "repo/link").symlink_to(tmp_path / "outside")
    assert active(tmp_path, "copilot", settings) == (["s"] if is_read else [])


def test_plugins_need_trust_of_the_working_directory(tmp_path: Path) -> None:
    """Which may be below the git root, whose trust other settings need."""
    plugin = {
        **{f"repo/.git/{name}": "ref: refs/heads/main\n" for name in ("HEAD", "refs/x", "objects/x")}, "repo/sub/x": "",
        "repo/market/.github/plugin/marketplace.json": {
            "name": "m", "owner": {"name": "o"}, "plugins": [{"name": "p", "source": "./p"}],
        },
        "repo/market/p/plugin.json": {"name": "p"},
        "repo/market/p/skills/one/": None,
        "repo/.github/copilot/settings.json": {
            "extraKnownMarketplaces": {"m": {"source": {"source": "directory", "path": "./market"}}},
            "enabledPlugins": {"p@m": True},
        },
    }  # fmt: skip
    for trusted, seen in (([], []), (["TOP/repo/sub"], ["one"]), (["TOP/repo"], ["one"])):
        found = active(tmp_path, "copilot", plugin | {STATE: {"trustedFolders": trusted}}, cwd="repo/sub")
        assert [name.rpartition(":")[2] for name in found] == seen


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ((), ["shared", "user"]),
        (("--config-dir", "../moved"), ["moved"]),
        (("--config-dir=~/elsewhere",), []),
        (("--config-dir", "~/elsewhere", "--config-dir", "../moved"), ["moved"]),
        (("--config-dir", "a\0b"), ["shared", "user"]),
        (("--config-dir", "../home/.copilot"), ["shared", "user"]),
    ],
)
def test_an_argument_moves_the_clients_folder(arguments: tuple[str, ...], seen: list[str], tmp_path: Path) -> None:
    """Also with a home, whose variables do not count; what belongs to the usual folder is not read elsewhere."""
    files = {"home/.copilot/skills/user/": None, "home/.agents/skills/shared/": None, "moved/skills/moved/": None}
    assert active(tmp_path, "copilot", files, *arguments) == seen
    off = {"moved/settings.json": {"disabledSkills": ["moved"]}}
    assert active(tmp_path, "copilot", off, *arguments) == [name for name in seen if name != "moved"]


@pytest.mark.parametrize(
    ("arguments", "hidden"),
    [
        (("--available-tools", "bash"), True),
        (("--available-tools=skill",), False),
        (("--excluded-tools", "skill"), True),
    ],
)
def test_the_model_needs_the_tool_that_loads_skills(arguments: tuple[str, ...], hidden: bool, tmp_path: Path) -> None:
    assert (active(tmp_path, "copilot", SKILLS, *arguments) == []) is hidden
