"""What the trees of Claude Code share: commands, plugins and marketplaces, as its installer writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from clients._trees import Tree

HIDDEN = "disable-model-invocation: true\n"
LATE = 'paths: "*.py"\n'
NOT_TYPED = "user-invocable: false\n"


def command(t: Tree, folder: Path, variant: str, *, name: str | None = None, front: str = "", body: str = "") -> None:
    """Write a command: a Markdown file whose path is its name; its text has the tag of its variant."""
    text = body or f"Does something [[{variant}]]\n"
    t.skill(folder, variant, file=f"{name or variant}.md", raw=f"---\n{front}---\n{text}" if front else text)


WHEN = "2026-11-22T18:47:06.627Z"


def plugin(t: Tree, folder: Path, *skills: str, manifest: object = None, tag: str = "") -> None:
    """Write a plugin with skills in its default folder."""
    if manifest is not None:
        t.write(folder / ".claude-plugin/plugin.json", manifest)
    for name in skills:
        t.skill(folder / "skills" / name, f"{tag or folder.name}-{name}", name=name)


def market(t: Tree, *entries: object, name: str = "market", source: str = "directory", **more: object) -> Path:
    """Register a marketplace as `claude plugin marketplace add` does; return its folder."""
    folder = t.root / name if source == "directory" else t.home / ".claude/plugins/marketplaces" / name
    catalog = {"name": name, "owner": {"name": "Owner"}, "plugins": list(entries), **more}
    t.write(folder / ".claude-plugin/marketplace.json", catalog)
    where = {"source": "directory", "path": str(folder)} if source == "directory" else {"source": source, "repo": "o/r"}
    known = t.home / ".claude/plugins/known_marketplaces.json"
    others = json.loads(known.read_text()) if known.exists() else {}
    t.write(known, {**others, name: {"source": where, "installLocation": str(folder), "lastUpdated": WHEN}})
    return folder


def entry(name: str, **more: object) -> dict[str, object]:
    """Return the line of a plugin in the catalog of its marketplace."""
    return {"name": name, "source": f"./{name}", **more}


def enable(t: Tree, **plugins: object) -> None:
    """Switch plugins of the marketplace on, as the installer does in the user's settings."""
    settings = {"enabledPlugins": {f"{name}@market": on for name, on in plugins.items()}}
    t.write(t.home / ".claude/settings.json", settings)


def installed(t: Tree, name: str, *, scope: str = "user", version: str = "1.0.0", **more: object) -> Path:
    """Record a plugin as installed; return the folder of its copy."""
    folder = t.home / ".claude/plugins/cache/market" / name / version
    file = t.home / ".claude/plugins/installed_plugins.json"
    table: Any = json.loads(file.read_text()) if file.exists() else {"version": 2, "plugins": {}}
    record = {"scope": scope, "installPath": str(folder), "version": version, "installedAt": WHEN, "lastUpdated": WHEN}
    table["plugins"].setdefault(f"{name}@market", []).append({**record, **more})
    t.write(file, table)
    return folder
