"""What the trees of several clients share: plugins of agent-plugins.org, rules for extensions, skills for switches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clients._trees import Tree

SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
MANIFESTS: Mapping[str, Any] = {
    "good": {"name": "good"},
    "no-schema": {"$schema": None, "name": "no-schema"},
    "other-schema": {"$schema": SCHEMA.replace("1.0.0", "2.0.0"), "name": "other-schema"},
    "no-name": {},
    "upper": {"name": "Upper"},
    "double": {"name": "a--b"},
    "unknown": {"name": "unknown", "skills": ["./skills"]},
    "types": {"name": "types", "version": 1},
    "notjson": "{",
}
"""Manifests of agent-plugins.org by the folder of their plugin: a valid one, and one for each mistake."""


def agent_plugin(t: Tree, folder: Path, manifest: Any) -> Path:
    """Write a plugin of agent-plugins.org, and return its folder."""
    t.write(folder / "plugin.json", {"$schema": SCHEMA, **manifest} if isinstance(manifest, dict) else manifest)
    return folder


def enable_extensions(t: Tree, extensions: str, rules: Any) -> None:
    """Write which extensions in a folder of the home are enabled where."""
    text = rules if isinstance(rules, str) else {name: {"overrides": list(texts)} for name, texts in rules.items()}
    t.write(t.home / extensions / "extension-enablement.json", text)


def skills_for_switches(t: Tree) -> None:
    """Write skills of the user and of the project, and one name that both have."""
    t.git()
    for name in ("Alpha", "beta", "gamma", "delta"):
        t.skill(t.U / name, name)
    t.skill(t.P / "project", "project")
    t.skill(t.P / "both", "project-both", name="both")
    t.skill(t.U / "both", "user-both", name="both")
