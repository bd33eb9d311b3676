"""Types of values in settings files: what is wrong, and what the client does then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.catalog._settings_types import find_wrong_type
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

TYPES = {"a": "bool", "b.c": "texts|null", "d.*": "map", "d.*.on": "bool|=auto", "e": "text|number", "f": "list"}


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({}, None),
        ({"a": True, "b": {"c": ["x"]}, "d": {"x.y": {"on": "auto"}}, "e": 1.5, "f": [1, "x"], "other": 5}, None),
        ({"a": "true"}, "a"),
        ({"a": None}, "a"),
        ({"b": {"c": ["x", 1]}}, "b.c"),
        ({"b": {"c": None}}, None),
        ({"b": 5}, None),
        ({"d": {"x": 1}}, "d.*"),
        ({"d": {"x": {"on": "never"}}}, "d.*.on"),
        ({"d": [{"on": 1}]}, "d.*.on"),
        ({"e": True}, "e"),
        ({"f": "x"}, "f"),
    ],
)
def test_the_first_wrong_key_is_named(table: dict[str, Any], wrong: str | None) -> None:
    """`*` is any key or item; keys that are missing are right."""
    assert find_wrong_type(table, TYPES) == wrong


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({}, "name"),
        ({"name": "x"}, None),
        ({"name": 5}, "name"),
        ({"name": "x", "items": {"a": {"source": 1}, "b": {}}}, "items.*.source"),
        ({"name": "x", "items": {"a": {"source": 1}}}, None),
        ({"name": "x", "items": "other"}, None),
    ],
)
def test_a_key_that_must_be_there_is_missed_in_each_table(table: dict[str, Any], wrong: str | None) -> None:
    """It is missed where the table above it is there."""
    assert find_wrong_type(table, {"name": "text!", "items.*.source": "number!"}) == wrong


@pytest.mark.parametrize(
    ("effect", "states", "codes"),
    [
        ("ignored", ["disabled"], []),
        ("void", ["active"], ["config-invalid"]),
        ("stops", [], ["config-invalid", "host-disabled"]),
    ],
)
def test_one_wrong_value_has_the_clients_consequence(
    effect: str, states: list[str], codes: list[str], tmp_path: Path
) -> None:
    """The value is ignored, or the whole file, or the client refuses to start."""
    (tmp_path / ".x/skills/s").mkdir(parents=True)
    (tmp_path / ".x/skills/s/SKILL.md").write_text("---\nname: s\ndescription: d\n---\n")
    (tmp_path / ".x/c.json").write_text(json.dumps({"off": ["s"], "model": 5}))
    table = {
        "title": "X",
        "roots": [{"path": ".x/skills", "scope": "project"}],
        "settings_files": {"project": {"path": ".x/c.json", "wrong_type": effect}},
        "settings_types": {"model": "text"},
        "settings": [{"key": "off", "form": "names"}],
    }
    catalog = discover(tmp_path, host=host_from_table("x", table), home=tmp_path / "home", env={})
    assert [str(entry.state) for entry in catalog.skills] == states
    assert sorted(item.code for item in catalog.findings) == codes


def skill_states(
    folder: Path, content: object, host: dict[str, Any], path: str = ".x/c.json"
) -> dict[str, tuple[str, str | None]]:
    """Return state and reason of the skills `s` and `t` of a host whose settings file has this content."""
    for name in "st":
        (folder / f".x/skills/{name}").mkdir(parents=True)
        (folder / f".x/skills/{name}/SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")
    (folder / path).write_text(json.dumps(content))
    table = {
        "title": "X",
        "roots": [{"path": ".x/skills", "scope": "project"}],
        "settings_files": {"project": {"path": path}},
        "settings": [{"key": "off", "form": "names"}, {"key": "ignored", "form": "unread"}],
    }
    catalog = discover(folder, host=host_from_table("x", table | host), home=folder / "home", env={})
    return {entry.name: (str(entry.state), entry.reason) for entry in catalog.skills}


def test_a_file_may_be_limited_to_some_keys(tmp_path: Path) -> None:
    """The other keys neither count nor are checked."""
    files = {"project": {"path": ".x/c.json", "keys": ["other"], "wrong_type": "void"}}
    states = skill_states(tmp_path, {"off": ["s"], "model": 5}, {"settings_files": files})
    assert states == {"s": ("active", None), "t": ("active", None)}


@pytest.mark.parametrize(
    ("content", "off"),
    [
        ({"old_off": ["s"]}, "s"),
        ({"off": ["t"], "old_off": ["s"]}, "s"),
        ({"old_off": ["s"], "off": ["t"]}, "t"),
    ],
)
def test_a_key_may_have_an_old_name(content: dict[str, Any], off: str, tmp_path: Path) -> None:
    """If a file has both, the last one counts."""
    states = skill_states(tmp_path, content, {"settings_aliases": {"old_off": "off"}})
    assert [name for name, (state, _) in states.items() if state == "disabled"] == [off]


@pytest.mark.parametrize(
    ("folder", "read"),
    [
        ("{root}/.x/skills", False),
        (" {root}/.x/./y/..//skills/ ", False),
        ("{root}", False),
        ("/", False),
        ("{root}/.x/skills/s", True),
        ("{root}/.x/ski", True),
        (".x/skills", True),
        ("~", True),
        ("{root}/\0", True),
        ("", True),
    ],
)
def test_roots_in_unread_folders_are_not_read(folder: str, *, read: bool, tmp_path: Path) -> None:
    """Paths are absolute; a skill in a root is not a root."""
    states = skill_states(tmp_path, {"ignored": [folder.format(root=tmp_path), 5]}, {})
    assert {state for state, _ in states.values()} == {"active" if read else "rejected"}
    if not read:
        assert "reads no skills in" in str(states["s"][1])


def test_only_some_unread_folders_count(tmp_path: Path) -> None:
    """A list of any length takes bounded time."""
    states = skill_states(tmp_path, {"ignored": [f"/{number}" for number in range(10_000)] + [str(tmp_path)]}, {})
    assert {state for state, _ in states.values()} == {"active"}


@pytest.mark.parametrize(
    ("folder", "is_read"),
    [
        ("more", True),
        ("./a/../more/", True),
        ("../outside", False),
        ("/more", False),
        ("~/more", False),
        ("link", False),
        ("{root}/project/more", False),
    ],
)
def test_a_named_folder_may_have_to_be_in_the_project(folder: str, *, is_read: bool, tmp_path: Path) -> None:
    """A repository that is trusted names folders of its own, and no others."""
    project = tmp_path / "project"
    for path in (project / "more/s", project / "~/more/s", tmp_path / "outside/s"):
        path.mkdir(parents=True)
        (path / "SKILL.md").write_text("---\nname: s\ndescription: d\n---\n")
    (project / "link").symlink_to(tmp_path / "outside")
    (project / "c.json").write_text(json.dumps({"folders": [folder.format(root=tmp_path)]}))
    table = {
        "title": "X",
        "roots": [{"setting": "folders", "scope": "project", "tilde": False, "in_project": True}],
        "settings_files": {
            "project": {"path": "c.json", "needs_trust": True},
            "user": {"path": "~/u.json", "apart": True},
        },
        "settings": [{"key": "trusted", "form": "trusted", "files": ["user"]}],
    }
    found = []
    for trusted in ([], [str(project)], [f"{tmp_path}/"], ["/"]):
        (tmp_path / "u.json").write_text(json.dumps({"trusted": [5, *trusted]}))
        catalog = discover(project, host=host_from_table("x", table), home=tmp_path, env={}, cache=False)
        found.append([entry.name for entry in catalog.skills])
    assert found == [[], *([["s"]] if is_read else [[]]) * 3]
