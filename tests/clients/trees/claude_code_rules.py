"""Trees of Claude Code: trust, tools that are denied, managed settings in parts, commands of plugins one by one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clients._claude_code_trees import HIDDEN, NOT_TYPED, command, enable, entry, installed, market, plugin
from clients._trees import tree

if TYPE_CHECKING:
    from pathlib import Path

    from clients._trees import Tree


def trust(t: Tree, *folders: Path, file: str = ".claude.json") -> None:
    """Trust folders, as the client's dialog does."""
    t.write(t.home / file, {"projects": {str(folder): {"hasTrustDialogAccepted": True} for folder in folders}})


def project_with_plugins(t: Tree, folder: Path, tag: str) -> None:
    """Write a project folder with a skill that is a plugin, and a marketplace in its settings."""
    skill = folder / ".claude/skills/tool"
    t.skill(skill, f"{tag}-tool", name="tool")
    plugin(t, skill, "inner", manifest={"name": f"{tag}-tool"}, tag=tag)
    place = t.root / f"market-{tag}"
    entries = [entry(f"{tag}-of-market")]
    t.write(place / ".claude-plugin/marketplace.json", {"name": f"m-{tag}", "owner": {"name": "o"}, "plugins": entries})
    plugin(t, place / f"{tag}-of-market", "a")
    source = {"source": {"source": "directory", "path": str(place)}}
    settings = {"extraKnownMarketplaces": {f"m-{tag}": source}, "enabledPlugins": {f"{tag}-of-market@m-{tag}": True}}
    t.write(folder / ".claude/settings.json", settings)


@tree("claude-code")
def claude_code_trust_none(t: Tree) -> None:
    """In a project that is not trusted, its plugins and marketplaces do not count, its skills do."""
    t.git()
    project_with_plugins(t, t.repo, "project")
    trust(t, t.root, t.repo / "below")


@tree("claude-code")
def claude_code_trust_project(t: Tree) -> None:
    """In a trusted project, they do; a plugin of the user with the same name wins."""
    t.git()
    project_with_plugins(t, t.repo, "project")
    for folder, tag in ((t.U, "user"), (t.P, "own")):
        t.skill(folder / f"{tag}-folder", f"{tag}-folder")
        plugin(t, folder / f"{tag}-folder", f"of-{tag}", manifest={"name": "same"}, tag=tag)
    trust(t, t.repo)


@tree("claude-code")
def claude_code_trust_below(t: Tree) -> None:
    """Trust belongs to the git root, plugins to the working directory."""
    t.git()
    t.cwd = t.repo / "pkg"
    project_with_plugins(t, t.repo, "root")
    project_with_plugins(t, t.cwd, "cwd")
    trust(t, t.repo)


@tree("claude-code")
def claude_code_trust_old_file(t: Tree) -> None:
    """The older file of the client, without git: only the exact folder is trusted."""
    project_with_plugins(t, t.repo, "project")
    trust(t, t.repo, file=".claude/.config.json")


@tree("claude-code")
def claude_code_trust_configuration_folder(t: Tree) -> None:
    """With `CLAUDE_CONFIG_DIR`, trust is in that folder."""
    t.git()
    t.env["CLAUDE_CONFIG_DIR"] = str(t.home / "cfg")
    project_with_plugins(t, t.repo, "project")
    trust(t, t.repo, file="cfg/.claude.json")


@tree("claude-code")
def claude_code_trust_denied_by_argument(t: Tree) -> None:
    """An argument that ignores all trust."""
    t.git()
    project_with_plugins(t, t.repo, "project")
    trust(t, t.repo)
    t.args = ["--ignore-persisted-trust"]


def some_skills(t: Tree) -> None:
    """Write skills and commands of all kinds."""
    t.git()
    t.skill(t.P / "plain", "plain")
    t.skill(t.P / "hidden", "hidden", fm=HIDDEN)
    t.skill(t.P / "model", "model", fm=NOT_TYPED)
    t.skill(t.U / "mine", "mine")
    command(t, t.repo / ".claude/commands", "cmd")


def denied_tree(name: str, rule: str) -> None:
    """Add a tree in which the user's settings deny a tool."""

    def build(t: Tree) -> None:
        some_skills(t)
        t.write(t.home / ".claude/settings.json", {"permissions": {"deny": ["Bash", rule]}})

    build.__name__, build.__doc__ = f"claude_code_denies_{name}", f"The rule `{rule}`."
    tree("claude-code")(build)


for name, rule in {
    "tool": "Skill", "all": "Skill(*)", "part": "Sk*", "everything": "*", "one": "Skill(plain)",
    "one_prefix": "Skill(plain:*)", "no_name": "Skill()", "case": "skill",
}.items():  # fmt: skip
    denied_tree(name, rule)


@tree("claude-code")
def claude_code_denies_by_argument(t: Tree) -> None:
    """The same as an argument, among others."""
    some_skills(t)
    t.args = ["--disallowedTools", "Bash(rm *),Skill", "Read"]


@tree("claude-code")
def claude_code_tools_without_skills(t: Tree) -> None:
    """A list of tools that lacks the one for skills."""
    some_skills(t)
    t.args = ["--tools", "Bash,Read"]


@tree("claude-code")
def claude_code_model_only_left_to_user(t: Tree) -> None:
    """Skills that only the model may use, left to the user: neither has them."""
    some_skills(t)
    t.write(t.P.parent / "settings.json", {"skillOverrides": {"model": "user-invocable-only"}})


@tree("claude-code")
def claude_code_managed_parts(t: Tree) -> None:
    """Managed settings in parts: the last one counts; hidden files, other names and folders do not."""
    t.git()
    for name in ("base", "first", "second", "hidden", "text", "below", "both"):
        t.skill(t.P / name, name)
    parts = t.etc / "claude-code/managed-settings.d"

    def off(path: Path, *names: str, **other: str) -> None:
        t.write(path, {"skillOverrides": dict.fromkeys(names, "off") | other})

    off(t.etc / "claude-code/managed-settings.json", "base", "both")
    off(parts / "10-a.json", "first", both="on")
    off(parts / "20-b.json", "second", first="name-only")
    off(parts / ".30.json", "hidden")
    off(parts / "40.txt", "text")
    off(parts / "sub/50.json", "below")
    t.write(t.home / ".claude/settings.json", {"skillOverrides": {"base": "on"}})


@tree("claude-code")
def claude_code_managed_wrong_types(t: Tree) -> None:
    """In managed settings, a key with a wrong value does not count, and all others do."""
    some_skills(t)
    settings = {"skillOverrides": {"plain": "off"}, "model": 3, "skillListingMaxDescChars": "x", "enabledPlugins": []}
    t.write(t.etc / "claude-code/managed-settings.json", settings)
    t.write(t.etc / "claude-code/managed-settings.d/1.json", {"skillOverrides": {"mine": "off", "cmd": 3}})


def closed_tree(name: str, value: object) -> None:
    """Add a tree in which managed settings close the user's and the project's folders."""

    def build(t: Tree) -> None:
        some_skills(t)
        t.skill(t.etc / "claude-code/.claude/skills/managed", "managed")
        command(t, t.etc / "claude-code/.claude/commands", "managed-command")
        command(t, t.home / ".claude/commands", "my-command")
        folder = market(t, entry("p"))
        plugin(t, folder / "p", "a")
        plugin(t, t.U / "mine", "inner", manifest={"name": "mine"})
        plugin(t, t.root / "given", "g")
        t.skill(t.root / "added/.claude/skills/added", "added")
        enable(t, p=True)
        t.args = ["--plugin-dir", str(t.root / "given"), "--add-dir", str(t.root / "added")]
        t.write(t.etc / "claude-code/managed-settings.json", {"strictPluginOnlyCustomization": value})

    build.__name__, build.__doc__ = f"claude_code_closed_{name}", f"`strictPluginOnlyCustomization` is {value!r}."
    tree("claude-code")(build)


for name, value in {"all": True, "skills": ["hooks", "skills"], "agents": ["agents"], "none": False}.items():
    closed_tree(name, value)


@tree("claude-code")
def claude_code_budget_in_settings(t: Tree) -> None:
    """A settings file sets the variable with the budget, over that of the environment."""
    some_skills(t)
    t.write(t.P.parent / "settings.json", {"env": {"SLASH_COMMAND_TOOL_CHAR_BUDGET": 320}})
    t.env["SLASH_COMMAND_TOOL_CHAR_BUDGET"] = "5000"


def command_lists(t: Tree, folder: Path) -> None:
    """Write the files of a plugin with commands in several folders."""
    for path in ("commands/usual", "commands/sub/deep", "extra/one", "extra/in/x", "single", "named"):
        file = folder / f"{path}.md"
        tag = path.replace("/", "-")
        t.skill(file.parent, tag, file=file.name, raw=f"---\ndescription: It is [[{tag}]]\n---\nBody\n")
    t.skill(folder, "plain-text", file="plain.md", raw="Only text [[plain-text]]\n")
    t.skill(folder / "extra/as-folder", "as-folder")


def plugin_commands_tree(name: str, *, manifest: object = None, of_market: object = None) -> None:
    """Add a tree with a plugin whose manifest or marketplace lists commands."""

    def build(t: Tree) -> None:
        t.git()
        folder = market(t, entry("p") if of_market is None else entry("p", commands=of_market))
        command_lists(t, folder / "p")
        if manifest is not None:
            t.write(folder / "p/.claude-plugin/plugin.json", {"name": "p", "commands": manifest})
        enable(t, p=True)

    lists = json.dumps(manifest if of_market is None else of_market)
    build.__name__, build.__doc__ = f"claude_code_plugin_commands_{name}", f"The commands of a plugin are {lists}."
    tree("claude-code")(build)


plugin_commands_tree("one", manifest="./single.md")
plugin_commands_tree("several", manifest=["./single.md", "./extra", "./extra/in/x.md", "./gone.md", "./plain.md"])
plugin_commands_tree("none", manifest=[])
plugin_commands_tree("folder", manifest="./extra/")
plugin_commands_tree("named", manifest={
    "alpha": {"source": "./single.md"}, "be ta": {"source": "./plain.md", "description": "Given [[plain-text]]"},
    "c:d": {"source": "./named.md"},
})  # fmt: skip
plugin_commands_tree("invalid", manifest=["single.md"])
plugin_commands_tree("of_market", of_market=["./single.md", "./extra"])
plugin_commands_tree("named_by_market", of_market={"zz": {"source": "./single.md"}})


@tree("claude-code")
def claude_code_skill_plugins_switched(t: Tree) -> None:
    """Skills that are plugins: one that is switched off is not even a skill; one that is off by default is."""
    t.git()
    for name in ("off", "off-by-folder", "listed", "default", "default-on", "hidden", "plain"):
        folder = t.U / (f".{name}" if name == "hidden" else name)
        t.skill(folder, name)
        manifest: dict[str, object] = {"name": f"{name}-plugin"}
        if name.startswith("default"):
            manifest["defaultEnabled"] = False
        plugin(t, folder, "in", manifest=None if name == "plain" else manifest, tag=name)
    t.skill(t.P / "project", "project")
    plugin(t, t.P / "project", "in", manifest={"name": "project-plugin"}, tag="project")
    answers = {"off-plugin": False, "off-by-folder": False, "listed-plugin": ["1"], "default-on-plugin": True}
    answers |= {"project-plugin": False, "plain": False}
    enabled = {f"{name}@skills-dir": on for name, on in answers.items()}
    t.write(t.home / ".claude/settings.json", {"enabledPlugins": enabled})


@tree("claude-code")
def claude_code_plugins_of_one_name(t: Tree) -> None:
    """Of plugins with one name, those of arguments come first, then those of marketplaces, then skills."""
    t.git()
    folder = market(t, entry("a"), entry("b"), entry("c"))
    plugin(t, folder / "a", "s", tag="market-a")
    plugin(t, folder / "b", "s", "t", manifest={"name": "A"}, tag="market-b")
    plugin(t, folder / "c", "s", tag="market-c")
    for name in ("c", "d"):
        t.skill(t.U / f"{name}-folder", f"{name}-folder")
        plugin(t, t.U / f"{name}-folder", "u", manifest={"name": name}, tag=f"user-{name}")
    plugin(t, t.root / "given", "g", manifest={"name": "a"}, tag="given")
    plugin(t, t.root / "given2", "h", manifest={"name": "a"}, tag="given2")
    t.args = ["--plugin-dir", str(t.root / "given"), "--plugin-dir", str(t.root / "given2")]
    enable(t, a=True, b=True, c=True)


@tree("claude-code")
def claude_code_added_folder_enables(t: Tree) -> None:
    """Settings of a folder that an argument adds switch plugins on; those of the user come first."""
    t.git()
    folder = market(t, entry("on"), entry("kept"), entry("local"))
    for name in ("on", "kept", "local"):
        plugin(t, folder / name, "a")
    enable(t, kept=True)
    settings = t.root / "added/.claude"
    t.write(settings / "settings.json", {"enabledPlugins": {"on@market": True, "kept@market": False}})
    t.write(
        settings / "settings.local.json", {"enabledPlugins": {"local@market": True}, "skillOverrides": {"x": "off"}}
    )
    t.skill(t.P / "x", "x")
    t.args = ["--add-dir", str(t.root / "added")]


@tree("claude-code")
def claude_code_order_of_commands(t: Tree) -> None:
    """Commands come after all skills, sorted by name whatever their folder: a small budget shows the order."""
    t.git()
    t.cwd = t.repo / "pkg"
    for folder, names in {
        t.home: ("b", "z/a", "A", "m/n/o"),
        t.repo: ("a", "c", "B", "a b", "z/0", "_x", "m-x"),
        t.cwd: ("bb", "A2", "m/a", "aa"),
        t.etc / "claude-code": ("bbb",),
    }.items():
        for name in names:
            path = folder / ".claude/commands" / f"{name}.md"
            tag = f"{folder.name}-{name}".replace("/", "-")
            t.skill(path.parent, tag, file=path.name, raw=f"Text of [[{tag}]]\n")
    t.skill(t.U / "zz", "zz")
    t.skill(t.P / "skill", "skill")
    t.env["SLASH_COMMAND_TOOL_CHAR_BUDGET"] = "700"


@tree("claude-code")
def claude_code_alias_of_hidden(t: Tree) -> None:
    """A hidden skill that loses its name to another one still keeps its alias from all others."""
    t.git()
    t.skill(t.P / "c", "project-c", name="other", fm=HIDDEN)
    t.skill(t.P / "h", "h", name="other")
    t.skill(t.U / "c", "user-c", name="c")


@tree("claude-code")
def claude_code_installed_for_project(t: Tree) -> None:
    """A plugin that is installed for a folder of the repository counts in all of it."""
    t.git()
    t.cwd = t.repo / "pkg/app"
    t.cwd.mkdir(parents=True)
    places = {"here": t.cwd, "root": t.repo, "middle": t.repo / "pkg", "below": t.cwd / "deep", "other": t.root}
    market(t, *(entry(name) for name in places), source="github")
    for name, place in places.items():
        plugin(t, installed(t, name, scope="project", projectPath=str(place)), "a", tag=name)
    enable(t, **dict.fromkeys(places, True))


@tree("claude-code")
def claude_code_installed_for_folder(t: Tree) -> None:
    """Without git, only in that folder itself."""
    t.cwd = t.repo / "pkg"
    t.cwd.mkdir()
    places = {"here": t.cwd, "above": t.repo, "below": t.cwd / "deep"}
    market(t, *(entry(name) for name in places), source="github")
    for name, place in places.items():
        plugin(t, installed(t, name, scope="local", projectPath=str(place)), "a", tag=name)
    enable(t, **dict.fromkeys(places, True))


@tree("claude-code")
def claude_code_alias_of_plugin_command(t: Tree) -> None:
    """The alias of a plugin's command has its folders too; skills of a plugin are sorted by their shown names."""
    t.git()
    folder = market(t, entry("p"))
    for path, tag in (("x/y/deep", "deep"), ("top", "top")):
        file = folder / f"p/commands/{path}.md"
        raw = f"---\nname: named-{tag}\ndescription: Does [[{tag}]]\n---\n"
        t.skill(file.parent, tag, file=file.name, raw=raw)
    for name in ("eps", "\u00e9t\u00e9", "B", "a", "_x"):
        t.skill(folder / "p/skills" / name, f"s-{name}", name="same")
    enable(t, p=True)


@tree("claude-code")
def claude_code_nested_hidden(t: Tree) -> None:
    """Skills below the working directory are unknown at first, whatever hides or shortens them."""
    t.git()
    for name, front in (("plain", ""), ("manual", HIDDEN), ("short", ""), ("left", "")):
        t.skill(t.repo / "sub/.claude/skills" / name, name, fm=front)
    t.write(t.P.parent / "settings.json", {"skillOverrides": {"short": "name-only", "left": "user-invocable-only"}})


@tree("claude-code")
def claude_code_skill_plugins_invalid(t: Tree) -> None:
    """Skills that are invalid plugins: switched off by the name in the manifest, or by the folder without one."""
    t.git()
    manifests: dict[str, object] = {"cut": "{", "spaced": {"name": "x y"}, "list": {"name": "l", "skills": "bad"}}
    for name, manifest in manifests.items():
        for kind in ("off", "on"):
            folder = t.U / f"{name}-{kind}"
            t.skill(folder, f"{name}-{kind}")
            written = {**manifest, "name": f"{manifest['name']}{kind}"} if isinstance(manifest, dict) else manifest
            plugin(t, folder, "in", manifest=written, tag=f"{name}-{kind}")
    off = {f"{name}@skills-dir": False for name in ("cut-off", "x yoff", "loff", "spaced-on", "list-on")}
    t.write(t.home / ".claude/settings.json", {"enabledPlugins": off})


@tree("claude-code")
def claude_code_added_names_taken(t: Tree) -> None:
    """A skill of an added folder gets another name if its own is taken, even by a hidden skill, or if it is hidden."""
    t.git()
    late = 'paths: "*.py"\n'
    cases = {
        "d1": (HIDDEN, "", ""), "d2": ("", HIDDEN, ""), "d3": (HIDDEN, HIDDEN, ""),
        "o1": ("", "", "user-invocable-only"),
        "u1": (NOT_TYPED, "", ""), "u2": ("", NOT_TYPED, ""), "p1": (late, "", ""), "p2": ("", late, ""),
        "ud": (NOT_TYPED + HIDDEN, "", ""), "n3": ("", HIDDEN, "name-only"),
    }  # fmt: skip
    for name, (mine, added, _) in cases.items():
        t.skill(t.U / name, f"mine-{name}", fm=mine)
        t.skill(t.root / "added/.claude/skills" / name, f"added-{name}", fm=added)
    overrides = {name: word for name, (_, _, word) in cases.items() if word}
    t.write(t.home / ".claude/settings.json", {"skillOverrides": overrides, "skillListingMaxDescChars": 60})
    t.args = ["--add-dir", str(t.root / "added")]


@tree("claude-code")
def claude_code_limit_and_budget(t: Tree) -> None:
    """A limit of descriptions shortens the client's own skill too; a name alone keeps its alias, which costs room."""
    t.git()
    for number in range(12):
        t.skill(t.P / f"s{number:02}", f"s{number:02}", name=f"called-{number:02}", desc=f"[[s{number:02}]] text")
    t.write(t.P.parent / "settings.json", {"skillListingMaxDescChars": 30})
    t.env["SLASH_COMMAND_TOOL_CHAR_BUDGET"] = "400"


@tree("claude-code")
def claude_code_repairs_and_line_ends(t: Tree) -> None:
    """Front matter with lines that end in CRLF is read, but not repaired."""
    t.git()
    for name, text in {"plain": "Use [[plain]]", "colon": "Use when: [[colon]]", "at": "@x [[at]]"}.items():
        raw = f"---\nname: {name}\ndescription: {text}\n---\nBody of [[{name}]]\n"
        t.skill(t.P / name, name, raw=raw.replace("\n", "\r\n"))
        t.skill(t.P / f"{name}-lf", f"{name}-lf", raw=raw.replace(f"[[{name}]]", f"[[{name}-lf]]"))


@tree("claude-code")
def claude_code_variables_of_any_type(t: Tree) -> None:
    """Variables in settings may have any value; what is in the rest of the file counts."""
    some_skills(t)
    settings = {"env": {"A": None, "B": [1], "C": {}, "D": True}, "skillOverrides": {"plain": "off"}}
    t.write(t.P.parent / "settings.json", settings)


@tree("claude-code")
def claude_code_denied_and_hidden(t: Tree) -> None:
    """If the tool is denied, the list has a name once, that of a hidden skill before that of another one."""
    t.git()
    t.skill(t.U / "a", "user-a", fm=HIDDEN)
    t.skill(t.P / "a", "project-a")
    t.skill(t.U / "b", "user-b")
    t.skill(t.P / "b", "project-b", fm=HIDDEN)
    t.write(t.home / ".claude/settings.json", {"permissions": {"deny": ["Skill"]}})


@tree("claude-code")
def claude_code_alias_of_name_only(t: Tree) -> None:
    """A skill that is reduced to its name has no alias, and keeps it from all others."""
    t.git()
    t.skill(t.U / "a", "a", name="called")
    t.skill(t.P / "b", "b", name="called")
    t.skill(t.P / "c", "c", name="other")
    t.write(t.home / ".claude/settings.json", {"skillOverrides": {"a": "name-only"}})


@tree("claude-code")
def claude_code_odd_names_of_plugins(t: Tree) -> None:
    """Characters outside the basic plane are two hyphens each in a plugin; commands keep them, after punctuation."""
    t.git()
    for name in ("\U0001f600", "x\U0001f600y", "\u65e5\u672c", "a\u0301", "tab\tx", "a\u200bb"):
        tag = f"s{sum(map(ord, name))}"
        t.skill(t.root / "given/skills" / name, tag, name="n")
        raw = f"---\ndescription: Does [[c{tag}]]\n---\n"
        t.skill(t.root / "given/commands", f"c{tag}", file=f"{name}.md", raw=raw)
    t.args = ["--plugin-dir", str(t.root / "given")]


@tree("claude-code")
def claude_code_alias_of_same_name(t: Tree) -> None:
    """A hidden skill keeps its alias from others, but not from the skill of its own name; one that is off does not."""
    t.git()
    t.skill(t.U / "eps", "user-eps", name="other", fm=HIDDEN)
    t.skill(t.P / "eps", "project-eps", name="other")
    t.skill(t.U / "tool", "tool", name="called")
    plugin(t, t.U / "tool", manifest={"name": "tool"})
    t.skill(t.P / "zeta", "zeta", name="called")
    t.write(t.home / ".claude/settings.json", {"enabledPlugins": {"tool@skills-dir": False}})


@tree("claude-code")
def claude_code_market_is_file(t: Tree) -> None:
    """Settings name a marketplace by the file of its catalog."""
    t.git()
    folder = t.root / "m"
    t.write(folder / ".claude-plugin/marketplace.json", {"name": "m", "owner": {"name": "o"}, "plugins": [entry("p")]})
    plugin(t, folder / "p", "a")
    source = {"source": "file", "path": str(folder / ".claude-plugin/marketplace.json")}
    settings = {"extraKnownMarketplaces": {"m": {"source": source}}, "enabledPlugins": {"p@m": True}}
    t.write(t.home / ".claude/settings.json", settings)
