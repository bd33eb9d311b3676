"""Trees that are asked of Cline: its folders and their order, plugins, bundles, switches in front matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clients._shared_trees import MANIFESTS, agent_plugin
from clients._trees import Tree, tree

if TYPE_CHECKING:
    from pathlib import Path

HOST = "cline"


@tree(HOST)
def cline_folders(t: Tree) -> None:
    """One name in each of its folders, and a name of its own; `.clinerules` is the lowest."""
    t.git()
    t.cwd = t.repo / "sub"
    t.cwd.mkdir()
    for number, folder in enumerate((t.repo / ".clinerules", t.repo / ".cline", t.repo / ".agents")):
        t.skill(folder / "skills/same", f"project-{number}", name="Same")
        t.skill(folder / f"skills/only{number}", f"only-{number}")
    for number, folder in enumerate((t.home / ".cline", t.home / ".agents")):
        t.skill(folder / "skills/same", f"user-{number}", name="same")
        t.skill(folder / f"skills/user{number}", f"only-user-{number}")
    t.skill(t.cwd / ".cline/skills/in-cwd", "in-cwd")
    t.skill(t.repo / ".claude/skills/claude", "claude")


@tree(HOST)
def cline_project_order(t: Tree) -> None:
    """Of the project's folders the last wins: `.agents`, `.cline`, `.clinerules`."""
    t.git()
    t.skill(t.repo / ".clinerules/skills/a", "rules-a", name="a")
    t.skill(t.repo / ".cline/skills/a", "cline-a", name="a")
    t.skill(t.repo / ".agents/skills/a", "agents-a", name="A")
    t.skill(t.repo / ".clinerules/skills/b", "rules-b", name="b")
    t.skill(t.repo / ".cline/skills/b", "cline-b", name="b")


@tree(HOST)
def cline_switches(t: Tree) -> None:
    """`disabled` and `enabled` of every kind; a disabled skill keeps its name from others."""
    t.git()
    for number, line in enumerate(
        (
            "disabled: true", "disabled: false", "disabled: 'true'", "disabled: 1", "disabled:", "enabled: false",
            "enabled: true", "enabled: 'no'", "disabled: false\nenabled: false", "disabled: true\nenabled: true",
            "disable-model-invocation: true", "user-invocable: false",
        )
    ):  # fmt: skip
        t.skill(t.P / f"s{number}", line.replace("\n", ", "), name=f"s{number}", fm=f"{line}\n")
    t.skill(t.P / "low", "low", name="taken")
    t.skill(t.U / "high", "high", name="taken", fm="disabled: true\n")


@tree(HOST)
def cline_names(t: Tree) -> None:
    """Names with a colon are written in lower case, others as they are; without text, the folder's name."""
    t.git()
    for number, name in enumerate(("NS:Thing", "Upper", "with space", "''", "null", "x" * 70)):
        t.skill(t.P / f"folder-{number}", f"n{number}", name=name)
    t.skill(t.P / "no-name", "no-name", raw="---\ndescription: d [[no-name]]\n---\nBody.\n")
    t.skill(t.P / "no-body", "no-body", body=" \n\n")
    t.skill(t.P / "list", "list", name="[a]")


@tree(HOST)
def cline_own_skill(t: Tree) -> None:
    """A SKILL.md in the skills folder itself, without a name."""
    t.git()
    t.skill(t.P, "own", raw="Text [[own]]\n")
    t.skill(t.P / "one", "one")
    t.skill(t.P / "cat/two", "two")
    t.skill(t.P / ".hidden", "hidden")
    t.skill(t.P / "node_modules", "modules")


@tree(HOST)
def cline_bundles(t: Tree) -> None:
    """Bundles in the project: `.cline/NAME/skills` beside a `managed.json` that is an object."""
    t.git()
    for name, managed in (("good", {}), ("broken", "{"), ("list", []), ("null", "null"), ("missing", None)):
        folder = t.repo / ".cline" / name
        if managed is not None:
            t.write(folder / "managed.json", managed)
        t.skill(folder / "skills/s", name, name=f"of-{name}")
        t.skill(folder / "skills/cat/deep", f"{name}-deep")
    t.skill(t.home / ".cline/users/skills/s", "users")
    t.write(t.home / ".cline/users/managed.json", {})
    t.skill(t.U / "high", "user", name="of-good")


def plugin(t: Tree, name: str, manifest: Any) -> Path:
    """Write a plugin of agent-plugins.org for all agents of the user, and return its folder."""
    return agent_plugin(t, t.home / ".agents/plugins" / name, manifest)


@tree(HOST)
def cline_agent_plugins(t: Tree) -> None:
    """Plugins for all agents: names with a prefix, and skills that follow the specification."""
    t.git()
    one = plugin(t, "one", {"name": "one", "version": "1.0.0"})
    t.skill(one / "skills/a", "a")
    t.skill(one / "skills/b", "renamed", name="other")
    t.skill(one / "skills/Upper", "upper", name="Upper")
    t.skill(one / "skills/c", "unknown-field", name="c", fm="version: 1\n")
    t.skill(one / "skills/d", "known-fields", name="d", fm="license: MIT\nallowed-tools: Read\nmetadata:\n  x: y\n")
    t.skill(one / "skills/e", "no-description", raw="---\nname: e\n---\nBody [[no-description]]\n")
    t.skill(one / "skills/cat/deep", "deep")
    t.skill(one, "own", name="one")
    two = plugin(t, "two", {"name": "my.plug"})
    t.skill(two / "skills/f", "f")
    t.skill(plugin(t, "again", {"name": "one"}) / "skills/g", "same-name")
    t.skill(t.U / "a", "user-a", name="a")


@tree(HOST)
def cline_agent_plugins_off(t: Tree) -> None:
    """`disabledAgentPlugins` names plugins that are off."""
    t.git()
    t.write(t.home / ".cline/data/settings/global-settings.json", {"disabledAgentPlugins": ["off", " Other "]})
    for name in ("on", "off", "other"):
        t.skill(plugin(t, name, {"name": name}) / "skills/s", name, name="s")


@tree(HOST)
def cline_agent_plugin_manifests(t: Tree) -> None:
    """Manifests that are invalid, and ones with unknown fields."""
    t.git()
    unknown = {"name": "unknown", "x": 1, "skills": ["./skills"]}
    for name, manifest in {**MANIFESTS, "unknown": unknown}.items():
        t.skill(plugin(t, name, manifest) / "skills/s", name, name="s")


@tree(HOST)
def cline_installed_plugin(t: Tree) -> None:
    """A plugin as `cline plugin install` leaves it: a copy below `_installed`, whose skills have no prefix."""
    t.git()
    folder = t.home / ".cline/plugins/_installed/local/src-0123456789ab"
    entry = {"plugins": [{"paths": ["./package/index.js"]}]}
    t.write(folder / "package.json", {"name": "src", "private": True, "cline": entry})
    t.write(
        folder / "package/package.json",
        {"name": "src", "version": "1.0.0", "type": "module", "cline": {"plugins": ["./index.js"]}},
    )
    t.write(
        folder / "package/index.js",
        'export default { name: "src", manifest: { capabilities: ["tools"] }, setup() {} };\n',
    )
    t.skill(folder / "package/skills/one", "one")
    t.skill(folder / "skills/two", "beside")


@tree(HOST)
def cline_config_folder(t: Tree) -> None:
    """`CLINE_DIR` moves the user's folder, not `~/.agents`."""
    t.git()
    t.env["CLINE_DIR"] = str(t.root / "other")
    t.skill(t.root / "other/skills/moved", "moved")
    t.skill(t.U / "left", "left")
    t.skill(t.home / ".agents/skills/shared", "shared")
