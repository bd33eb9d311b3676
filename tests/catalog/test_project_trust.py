"""Whether a client's user trusts the project: lists of folders, and the switch for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

EFFECTS = {"YES": "trusted", "PARENT": "parent-trusted", "NO": "untrusted"}


def state(top: Path, folders: dict[str, str], nearest: str, settings: Any = None, **keys: Any) -> str:
    """Return the state of the project's skill."""
    cwd = top / "a/b"
    (cwd / ".x/skills/s").mkdir(parents=True, exist_ok=True)
    (cwd / ".x/skills/s/SKILL.md").write_text("---\nname: s\ndescription: d\n---\n")
    (top / "home").mkdir(exist_ok=True)
    (top / "home/trusted.json").write_text(
        json.dumps({name.replace("TOP", str(top)): folders[name] for name in folders})
    )
    (top / "home/settings.json").write_text(json.dumps(settings or {}))
    table = {
        "title": "X",
        "roots": [{"path": ".x/skills", "scope": "project"}],
        "settings_files": {"user": {"path": "~/settings.json"}, "list": {"path": "~/trusted.json", "apart": True}},
        "settings": [{"key": "", "files": ["list"], "form": "folders", "effects": EFFECTS, "nearest": nearest}],
        "trust_switch": "trust",
        **keys,
    }
    (entry,) = discover(cwd, host=host_from_table("x", table), home=top / "home", env={}).skills
    return str(entry.state)


@pytest.mark.parametrize(
    ("folders", "longest", "deepest"),
    [
        ({"TOP/a": "NO"}, "untrusted", "untrusted"),
        ({"TOP/a": "NO", "TOP/a/b": "YES"}, "active", "active"),
        ({"TOP/a": "YES", "TOP/a/b": "NO"}, "untrusted", "untrusted"),
        ({"TOP/a/b/c": "NO"}, "active", "active"),
        ({"TOP/a/bb": "NO"}, "active", "active"),
        ({"TOP/a/b/c": "PARENT", "TOP/a/b": "NO"}, "active", "untrusted"),
        ({"TOP/link": "NO", "TOP/a": "YES"}, "untrusted", "untrusted"),
        ({"TOP/a/./b/": "NO", "TOP/a": "YES"}, "untrusted", "untrusted"),
        ({"TOP/a\0": "NO", "TOP/a": "MAYBE"}, "active", "active"),
    ],
)
def test_the_longest_or_the_deepest_folder_counts(
    folders: dict[str, str], longest: str, deepest: str, tmp_path: Path
) -> None:
    """With links resolved, and of two that are equally deep the untrusted one."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a/b")
    assert state(tmp_path, folders, "longest") == longest
    assert state(tmp_path, folders, "deepest") == deepest


def test_the_switch_counts_before_the_list(tmp_path: Path) -> None:
    """It can be off by default, and what no list names can be untrusted while it is on."""
    no = {"TOP/a": "NO"}
    assert state(tmp_path, no, "longest", {"trust": False}) == "active"
    assert state(tmp_path, no, "longest", {"trust": True}) == "untrusted"
    assert state(tmp_path, no, "longest", trust_switch_default=False) == "active"
    assert state(tmp_path, {}, "longest", {"trust": True}) == "active"
    assert state(tmp_path, {}, "longest", {"trust": True}, trust_unlisted="untrusted") == "untrusted"
    assert state(tmp_path, no, "longest", {"trust": True}, trust_hides=False) == "active"
    assert state(tmp_path, no, "longest", {"trust": False}, trust_switch_files=["list"]) == "untrusted"
