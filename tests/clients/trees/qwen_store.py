"""The store of Qwen Code has hashes of paths and of another file, which a document cannot say."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from clients._trees import Tree, tree


def digest(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


@tree("qwen-code")
def qwen_extensions_store(t: Tree) -> None:
    """The client's store: activation by default and by folder, and by skill."""
    t.git()
    here, extensions = str(t.repo), t.home / ".qwen/extensions"
    policies: dict[str, dict[str, Any]] = {
        "default-off": {"defaultActivation": "disabled"},
        "on-here": {"defaultActivation": "disabled", "workspaceOverrides": {here: "enabled"}},
        "off-here": {"workspaceOverrides": {here: "disabled"}},
        "inherit": {"workspaceOverrides": {here: "inherit"}, "legacyPathRules": ["!/*"]},
        "rules": {"legacyPathRules": [f"!{t.root}/*"]},
        "elsewhere": {"workspaceOverrides": {str(t.home): "disabled"}},
        "skill-off": {"skillWorkspaceOverrides": {here: {"one": False, "skill-off": True}}},
    }
    rows: dict[str, Any] = {}
    for number, (name, policy) in enumerate(policies.items(), 1):
        source = f"{t.root}/sources/{name}"
        t.write(extensions / name / "qwen-extension.json", {"name": name, "version": "1.0.0"})
        install = {"source": source, "type": "local", "originSource": "QwenCode", "externalContent": False}
        t.write(extensions / name / ".qwen-extension-install.json", install)
        t.skill(extensions / name / "skills" / name, f"{name}-{name}", name=name)
        usual = {"name": name, "artifactGeneration": number, "defaultActivation": "enabled", "workspaceOverrides": {}}
        rows[digest(source)] = {**usual, **policy}
    t.skill(extensions / "skill-off/skills/one", "skill-off-one", name="one")
    rules = {
        "default-off": {"overrides": ["!/*"]},
        "on-here": {"overrides": ["!/*", f"{here}/"]},
        "off-here": {"overrides": [f"!{here}/"]},
        "inherit": {"overrides": ["!/*", f"{here}/"]},
        "rules": {"overrides": [f"!{t.root}/*"]},
        "elsewhere": {"overrides": [f"!{t.home}/"]},
    }
    t.write(extensions / "extension-enablement.json", rules)
    hash_of_rules = digest(json.dumps(rules, separators=(",", ":")))
    state = {"version": 2, "generation": len(rows), "legacyProjectionHash": hash_of_rules, "extensions": rows}
    t.write(t.home / ".qwen/extension-store/state.json", state)
