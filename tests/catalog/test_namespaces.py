"""Skills in the folder of a plugin carry its name; a file beside SKILL.md counts as a whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from support.files import write_file
from support.growth import ends
from support.hosts import host_from_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prowess.catalog import Entry

ROOT = {"path": ".x/skills", "scope": "project", "depth": 9, "inside": True}


def skill(folder: Path) -> None:
    write_file(folder / "SKILL.md", f"---\nname: {folder.name}\ndescription: d\n---\n")


def manifest(folder: Path, text: str | bytes, kind: str = ".codex-plugin") -> None:
    write_file(folder / kind / "plugin.json", text)


def entries(top: Path, client: str = "codex", **keys: Any) -> Sequence[Entry]:
    """Return what an invented client sees, which does what the one with its name does."""
    table = {"title": "X", "roots": [ROOT], **keys}
    (top / "repo").mkdir(exist_ok=True)
    return discover(top / "repo", host=host_from_table(client, table), home=top / "home", env={}).skills


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"name": "p"}', "p:one"),
        ('{"name": "Two Words", "version": 5}', "Two Words:one"),
        ("{}", "repo:one"),
        ('{"name": " "}', "repo:one"),
        ('["first"]', "first:one"),
        ("[]", "repo:one"),
        ("[5]", "one"),
        ('{"name": 5}', "one"),
        ('{"name": null}', "one"),
        ('{"name": "p", "name": "q"}', "one"),
        ('{"name": "p"} //', "one"),
        ('\ufeff{"name": "p"}', "one"),
        ("5", "one"),
        ("", "one"),
        (b"\xff\xfe{", "one"),
        ("[" * 100_000, "one"),
    ],
)
def test_a_plugin_above_a_skill_names_it(text: str | bytes, name: str, tmp_path: Path) -> None:
    """A manifest that is not valid names nothing, and the rest of it does not matter."""
    skill(tmp_path / "repo/.x/skills/one")
    manifest(tmp_path / "repo", text)
    assert [entry.name for entry in entries(tmp_path)] == [name]


def test_the_nearest_valid_plugin_counts(tmp_path: Path) -> None:
    """By the real path of the skill; of several manifests in one folder the first that exists."""
    root = tmp_path / "repo/.x/skills"
    for folder in ("plain", "a/in-a", "a/b/in-b", "a/b/c/in-c", "both"):
        skill(root / folder)
    manifest(root / "a", '{"name": "a"}')
    manifest(root / "a/b", '{"name": "b"}', ".claude-plugin")
    manifest(root / "a/b/c", "bad")
    manifest(root / "both", "bad")
    manifest(root / "both", '{"name": "second"}', ".claude-plugin")
    manifest(tmp_path / "apart", '{"name": "apart"}')
    skill(tmp_path / "apart/linked")
    (root / "linked").symlink_to(tmp_path / "apart/linked")
    names = sorted(entry.name for entry in entries(tmp_path))
    assert names == ["a:in-a", "apart:linked", "b:in-b", "b:in-c", "both", "plain"]


def test_another_client_knows_no_plugins_above(tmp_path: Path) -> None:
    skill(tmp_path / "repo/.x/skills/one")
    manifest(tmp_path / "repo", '{"name": "p"}')
    assert [entry.name for entry in entries(tmp_path, "x")] == ["one"]


@pytest.mark.parametrize("kind", ["fifo", "folder", "large", "loop", "nothing"])
def test_a_hostile_manifest_names_nothing_in_bounded_time(kind: str, tmp_path: Path) -> None:
    for number in range(200):
        skill(tmp_path / f"repo/.x/skills/s{number}")
    file = tmp_path / "repo/.codex-plugin/plugin.json"
    file.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "large":
        with file.open("wb") as out:
            out.truncate(100 * 1024 * 1024)
    else:
        file.symlink_to(file if kind == "loop" else tmp_path / "nothing")
    with ends():
        assert all(entry.namespace is None for entry in entries(tmp_path))


# ── files beside SKILL.md ────────────────────────────────────────────────────────────────────────────────────────────

HIDDEN = {"file": "x/x.yaml", "when": {"policy.show": "false"}, "state": "user-only", "reason": "hidden"}
OTHERS = {"file": "x/x.yaml", "when": {"policy.for": "lacks:us we"}, "state": "rejected", "reason": "not ours"}
TYPES = {
    "policy": "map|null",
    "policy.show": "bool|null",
    "policy.for": "list|null",
    "policy.for.*": "=us|=we|=them",
    "icon": "text|number|bool|null",
    "tools.*": "map",
}


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("policy: {show: false}", "user-only"),
        ("\ufeffpolicy: {show: FALSE}\r\n", "user-only"),
        ("---\npolicy: {show: false}\n...\n", "user-only"),
        ("policy: {show: false, x: [1]}\ny: z", "user-only"),
        ("policy: {show: false}\nicon: 5", "user-only"),
        ('policy: {show: "false"}', "active"),
        ("policy: {show: no}", "active"),
        ("policy: {show: }", "active"),
        ("policy:", "active"),
        ("policy: {show: false}\nicon: [5]", "active"),
        ("policy: {show: false}\ntools: [x]", "active"),
        ("policy: {show: false}\nx: @y", "active"),
        ("policy: {show: false}\npolicy: {}", "active"),
        ("policy: {show: false}\n---\na: b", "active"),
        ("- a", "active"),
        ("", "active"),
        ("policy: {for: [them]}", "rejected"),
        ("policy: {for: [them, us], show: false}", "user-only"),
        ("policy: {for: [], show: false}", "user-only"),
        ("policy: {for: [him], show: false}", "active"),
        ("policy: {for: us, show: false}", "active"),
        (b"policy: {show: false} # \xe9", "active"),
        ("x" * 100_000, "active"),
        ("[" * 10_000, "active"),
    ],
)
def test_a_file_beside_a_skill_counts_only_if_all_of_it_is_valid(text: str | bytes, state: str, tmp_path: Path) -> None:
    """Values have types, as the table says."""
    folder = tmp_path / "repo/.x/skills/one"
    skill(folder)
    write_file(folder / "x/x.yaml", text)
    (entry,) = entries(tmp_path, flags=[OTHERS, HIDDEN], sidecar_types=TYPES)
    assert entry.state == state


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "loop"])
def test_a_file_beside_a_skill_may_be_a_link(kind: str, tmp_path: Path) -> None:
    """To a file; anything else is as if it were missing."""
    folder = tmp_path / "repo/.x/skills/one"
    skill(folder)
    (folder / "x").mkdir()
    file = folder / "x/x.yaml"
    (tmp_path / "elsewhere.yaml").write_text("policy: {show: false}\n")
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to(tmp_path / "elsewhere.yaml" if kind == "link" else file)
    (entry,) = entries(tmp_path, flags=[HIDDEN], sidecar_types=TYPES)
    assert entry.state == ("user-only" if kind == "link" else "active")
