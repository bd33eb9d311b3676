"""Trees of Claude Code: commands, plugins, marketplaces, settings and arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clients._claude_code_trees import HIDDEN, LATE, NOT_TYPED, command, enable, entry, installed, market, plugin
from clients._trees import tree

if TYPE_CHECKING:
    from pathlib import Path

    from clients._trees import Tree


@tree("claude-code")
def claude_code_commands(t: Tree) -> None:
    """Commands of project and user: names by path, texts from the body, front matter that counts or does not."""
    t.git()
    folder = t.repo / ".claude/commands"
    command(t, folder, "plain")
    command(t, folder, "c", front="name: other\ndescription: Deep [[c]]\n", name="c")
    command(t, folder / "a/b", "deep", name="d", front="description: Deep [[deep]]\n")
    command(t, folder / ".hidden", "in-hidden")
    command(t, folder, "title", body="\n# A title [[title]]\n\ntext\n")
    command(t, folder, "long", body=f"[[long]] {'w' * 150}\n")
    command(t, folder, "late", front=f"{LATE}description: Late [[late]]\n")
    command(t, folder, "manual", front=f"{HIDDEN}description: Manual [[manual]]\n")
    command(t, folder, "for-model", front=f"{NOT_TYPED}description: Model [[for-model]]\n")
    command(t, folder, "when", front="when_to_use: 1e3\ndescription: When [[when]]\n")
    command(t, folder, "spaced", name="with space")
    t.skill(folder, "upper", file="upper.MD", raw="Not read [[upper]]\n")
    t.skill(folder / "as-folder", "folder-skill", name="inner")
    command(t, folder / "as-folder", "beside")
    command(t, folder / "as-folder/below", "below")
    command(t, t.home / ".claude/commands", "mine")
    command(t, t.home / ".claude/commands/group", "grouped")


@tree("claude-code")
def claude_code_commands_and_skills(t: Tree) -> None:
    """Skills win over commands, the user's over the project's, except for skills that the model does not see."""
    t.git()
    folder, own = t.repo / ".claude/commands", t.home / ".claude/commands"
    t.skill(t.P / "one", "skill-one")
    command(t, folder, "command-one", name="one")
    t.skill(t.P / "two", "skill-two")
    command(t, own, "command-two", name="two")
    t.skill(t.U / "three", "skill-three")
    command(t, folder, "command-three", name="three")
    t.skill(t.P / "manual", "skill-manual", fm=HIDDEN)
    command(t, folder, "command-manual", name="manual")
    t.skill(t.P / "late", "skill-late", fm=LATE)
    command(t, folder, "command-late", name="late")
    command(t, folder, "both-project", name="both")
    command(t, own, "both-user", name="both")
    command(t, folder / "x", "x-y", name="y")
    t.skill(t.P / "x:y", "skill-x-y")


@tree("claude-code")
def claude_code_commands_above(t: Tree) -> None:
    """Commands of the folders above the working directory, up to the git root."""
    t.git()
    t.cwd = t.repo / "pkg/app"
    command(t, t.repo / ".claude/commands", "root")
    command(t, t.repo / ".claude/commands", "dup-root", name="dup")
    command(t, t.repo / "pkg/.claude/commands", "middle")
    command(t, t.cwd / ".claude/commands", "dup-cwd", name="dup")
    command(t, t.cwd / "below/.claude/commands", "below")
    command(t, t.root / ".claude/commands", "above")


@tree("claude-code")
def claude_code_commands_linked(t: Tree) -> None:
    """Links to commands and to folders of them; one file by two names counts once."""
    t.git()
    folder = t.repo / ".claude/commands"
    command(t, t.repo / "docs", "elsewhere")
    t.link(folder / "linked.md", "../../docs/elsewhere.md")
    command(t, t.repo / "more", "inside")
    t.link(folder / "group", "../../more")
    command(t, folder, "first", name="a")
    t.link(folder / "b.md", "a.md")
    t.link(folder / "loop", ".")


@tree("claude-code")
def claude_code_hidden_skills(t: Tree) -> None:
    """A skill that the model does not see, or not yet, hides no other; one that only the model sees does."""
    t.git()
    flags = {
        "late-manual": LATE + HIDDEN,
        "manual": HIDDEN,
        "late": LATE,
        "model": NOT_TYPED,
        "off": NOT_TYPED + HIDDEN,
    }
    for name, front in flags.items():
        t.skill(t.U / name, f"user-{name}", fm=front)
        t.skill(t.P / name, f"project-{name}")
        t.skill(t.U / f"{name}-2", f"user-{name}-2")
        t.skill(t.P / f"{name}-2", f"project-{name}-2", fm=front)
        t.skill(t.U / f"{name}-3", f"user-{name}-3", fm=front)
        t.skill(t.P / f"{name}-3", f"project-{name}-3", fm=front)


@tree("claude-code")
def claude_code_when_to_use(t: Tree) -> None:
    """`when_to_use` of every type of YAML is what JavaScript's `String()` returns for it."""
    t.git()
    values = [
        "3", "3.0", "1e3", "true", "null", "[a, b]", "{a: 1}", '""', "2020-01-01", "[1, [2, 3], null]", "0x10", "~",
        ".inf", "-0", "1e21", "0.1", '" x "', "|\n  a\n  b", ">\n  a\n  b", "[]", "[null]", "[{a: 1}, b]", "False",
        "''", "no", "0o17", "+7", "1_000", "[1.0, a]", "-.inf", ".nan", "[true, 1e3]",
    ]  # fmt: skip
    for number, value in enumerate(values):
        t.skill(t.P / f"w{number:02}", f"w{number:02}", fm=f"when_to_use: {value}\n")


@tree("claude-code")
def claude_code_plugins_installed(t: Tree) -> None:
    """Plugins of a marketplace on GitHub: switched on and off, half installed, for this and another project."""
    t.git()
    names = ("on", "off", "unset", "no-record", "no-copy", "here", "elsewhere", "several", "versions")
    market(t, *(entry(name) for name in names), source="github")
    for name in ("on", "off", "unset"):
        plugin(t, installed(t, name), "a", "b c", manifest={"name": name, "version": "1.0.0"}, tag=name)
    plugin(t, t.home / ".claude/plugins/cache/market/no-record/1.0.0", "a", tag="no-record")
    installed(t, "no-copy")
    plugin(t, installed(t, "here", scope="project", projectPath=str(t.repo)), "a", tag="here")
    plugin(t, installed(t, "elsewhere", scope="local", projectPath=str(t.root / "other")), "a", tag="elsewhere")
    installed(t, "several", version="0.9.0")
    plugin(t, installed(t, "several"), "a", tag="several")
    plugin(t, installed(t, "versions", version="2.0.0"), "new", tag="versions")
    plugin(t, t.home / ".claude/plugins/cache/market/versions/1.0.0", "old", tag="versions")
    enable(t, **{name: name != "off" for name in names if name != "unset"})


@tree("claude-code")
def claude_code_plugins_in_place(t: Tree) -> None:
    """Plugins of a marketplace that is a folder are read there, whatever is installed."""
    t.git()
    folder = market(t, entry("one"), entry("two"), entry("three"), {"name": "four", "source": "four"}, entry("five"))
    plugin(t, folder / "one", "a", manifest={"name": "one", "version": "1.0.0"})
    plugin(t, installed(t, "one"), "a", "only-in-cache", manifest={"name": "one", "version": "1.0.0"}, tag="cache")
    plugin(t, folder / "two", "b")
    plugin(t, folder / "three", "c")
    plugin(t, folder / "four", "d")
    plugin(t, folder / "not-listed", "e")
    enable(t, one=True, two=True, three=False, four=True, five=True, **{"not-listed": True})


@tree("claude-code")
def claude_code_plugin_lists(t: Tree) -> None:
    """Lists of skills in manifest and catalog come in addition to the default folder."""
    t.git()
    folder = market(
        t,
        entry("manifest"),
        entry("catalog", skills=["./more", "./single"]),
        entry("both", skills="./of-catalog"),
        entry("contradiction", strict=False, skills=["./more"]),
        entry("agreed", strict=False),
        entry("escapes"),
        entry("file"),
        entry("wrong"),
        entry("root-skill"),
        entry("root-and-folder"),
    )
    plugin(t, folder / "manifest", "a", manifest={"name": "renamed", "skills": ["./extra", "./missing", "./skills"]})
    t.skill(folder / "manifest/extra/x", "manifest-x", name="x")
    plugin(t, folder / "catalog", "a", manifest={"name": "catalog"})
    t.skill(folder / "catalog/more/x", "catalog-x", name="x")
    t.skill(folder / "catalog/single", "catalog-single", name="catalog:named so")
    t.skill(folder / "catalog/single/below", "catalog-below", name="below")
    plugin(t, folder / "both", "a", manifest={"name": "both", "skills": "./of-manifest"})
    t.skill(folder / "both/of-manifest/x", "both-x", name="x")
    t.skill(folder / "both/of-catalog/y", "both-y", name="y")
    plugin(t, folder / "contradiction", "a", manifest={"name": "contradiction"})
    t.skill(folder / "contradiction/more/x", "contradiction-x", name="x")
    plugin(t, folder / "agreed", "a", manifest={"name": "agreed"})
    plugin(t, folder / "escapes", "a", manifest={"name": "escapes", "skills": ["./../manifest/extra"]})
    plugin(t, folder / "file", "a", manifest={"name": "file", "skills": ["./notes.md", "./skills/a/SKILL.md"]})
    plugin(t, folder / "wrong", "a", manifest={"name": "wrong", "skills": ["extra"]})
    t.skill(folder / "root-skill", "root-skill", name="root one")
    t.skill(folder / "root-and-folder", "root-and-folder")
    plugin(t, folder / "root-and-folder", "a")
    names = ("manifest", "catalog", "both", "contradiction", "agreed", "escapes", "file", "wrong", "root-skill")
    enable(t, **dict.fromkeys([*names, "root-and-folder"], True))


@tree("claude-code")
def claude_code_plugin_is_marketplace(t: Tree) -> None:
    """A plugin that is the marketplace itself: its list replaces the default folder."""
    t.git()
    lists = {"strict": False, "skills": ["./pdf", "./office", "./gone"]}
    folder = market(t, {"name": "documents", "source": "./", **lists})
    t.skill(folder / "pdf", "pdf")
    t.skill(folder / "office/word", "word")
    t.skill(folder / "office/excel", "excel")
    t.skill(folder / "skills/other", "other")
    enable(t, documents=True)


@tree("claude-code")
def claude_code_plugin_is_whole_marketplace(t: Tree) -> None:
    """A plugin that is the marketplace itself and lists the marketplace's own folder too."""
    t.git()
    folder = market(t, {"name": "all", "source": "./", "skills": ["./", "./more"]})
    t.skill(folder, "root", name="root")
    t.skill(folder / "skills/default", "default")
    t.skill(folder / "more/x", "x")
    enable(t, all=True)


@tree("claude-code")
def claude_code_plugin_is_marketplace_without_list(t: Tree) -> None:
    """A plugin that is the marketplace itself, without a list, or with one of missing folders."""
    t.git()
    folder = market(t, {"name": "plain", "source": "."})
    t.skill(folder / "skills/default", "default")
    other = market(t, {"name": "gone", "source": "./", "skills": ["./gone"]}, name="other")
    t.skill(other / "skills/default", "other-default", name="default")
    t.write(t.home / ".claude/settings.json", {"enabledPlugins": {"plain@market": True, "gone@other": True}})


@tree("claude-code")
def claude_code_plugin_names(t: Tree) -> None:
    """Names of a plugin's skills: characters that become hyphens, aliases, skills without a description."""
    t.git()
    folder = market(t, entry("p"), entry("q"))
    for name in ("A.b", "x y", "_u", ".h", "a--", "caf\u00e9"):
        t.skill(folder / "p/skills" / name, f"p-{name}", name=name)
    for number, name in enumerate(("other", "p:prefixed", "q:other", "has space", "p:n5", "UPPER")):
        t.skill(folder / f"p/skills/n{number + 1}", f"n{number + 1}", name=name)
    t.skill(folder / "p/skills/nothing", "nothing", raw="---\nname: nothing\n---\nText [[nothing]]\n")
    t.skill(folder / "p/skills/body-only", "body-only", raw="Text [[body-only]]\n")
    t.skill(folder / "p/skills/when", "when", raw="---\nwhen_to_use: now\n---\nText [[when]]\n")
    t.skill(folder / "p/skills/manual", "manual", fm=HIDDEN)
    t.skill(folder / "p/skills/late", "late", fm=LATE)
    t.skill(folder / "p/skills/deep/er", "deeper")
    t.skill(t.P / "n1", "project-n1", name="n1")
    t.skill(folder / "q/skills/n1", "q-n1", name="n1")
    enable(t, p=True, q=True)


@tree("claude-code")
def claude_code_plugin_commands(t: Tree) -> None:
    """Commands of a plugin reach the model only with a description."""
    t.git()
    folder = market(t, entry("p"), entry("q"))
    commands = folder / "p/commands"
    command(t, commands, "described", front="description: Does it [[described]]\n")
    command(t, commands, "plain")
    command(t, commands / "sub", "grouped", front="description: Does it [[grouped]]\n")
    t.skill(commands / "folder", "folder-skill", name="inner")
    command(t, commands / "folder", "beside", front="description: Does it [[beside]]\n")
    command(t, commands / "folder/below", "below", front="description: Does it [[below]]\n")
    t.skill(folder / "p/skills/described", "skill", name="described")
    t.write(folder / "q/.claude-plugin/plugin.json", {"name": "q", "commands": ["./other"]})
    command(t, folder / "q/commands", "replaced", front="description: Does it [[replaced]]\n")
    enable(t, p=True, q=True)


@tree("claude-code")
def claude_code_plugin_links(t: Tree) -> None:
    """Links in a plugin are followed inside it only; one file counts once."""
    t.git()
    folder = market(t, entry("p"), entry("q"))
    t.skill(folder / "p/real/inside", "inside")
    t.link(folder / "p/skills/inside", "../real/inside")
    t.skill(t.root / "out/outside", "outside")
    t.link(folder / "p/skills/outside", t.root / "out/outside")
    (folder / "p/skills/file").mkdir()
    t.link(folder / "p/skills/file/SKILL.md", t.root / "out/outside/SKILL.md")
    t.skill(folder / "p/skills/once", "once")
    t.link(folder / "p/skills/twice", "once")
    t.skill(t.U / "own", "own")
    t.link(folder / "p/skills/own", t.U / "own")
    t.link(folder / "q", "p")
    enable(t, p=True, q=True)


@tree("claude-code")
def claude_code_plugin_settings(t: Tree) -> None:
    """`enabledPlugins` of user, project and local settings, merged plugin by plugin."""
    t.git()
    names = ("a", "b", "c", "d", "e", "f", "g", "h")
    folder = market(t, *map(entry, names))
    for name in names:
        plugin(t, folder / name, "s")
    enable(t, a=True, b=True, c=False, d=["1.0"], e=True, h=True)
    project = {"b@market": False, "c@market": True, "e@market": ["^1"], "f@market": True, "h@market": False}
    t.write(t.repo / ".claude/settings.json", {"enabledPlugins": project})
    t.write(t.repo / ".claude/settings.local.json", {"enabledPlugins": {"g@market": True, "h@market": True}})


@tree("claude-code")
def claude_code_plugin_switches(t: Tree) -> None:
    """`skillOverrides` has no effect on the skills of a plugin."""
    t.git()
    folder = market(t, entry("p"))
    plugin(t, folder / "p", "a", "b", "c")
    t.skill(t.P / "c", "project-c", name="c")
    enable(t, p=True)
    t.write(t.repo / ".claude/settings.json", {"skillOverrides": {"p:a": "off", "b": "off", "c": "off"}})


@tree("claude-code")
def claude_code_markets_invalid(t: Tree) -> None:
    """Catalogs, entries and manifests that the client does not accept."""
    t.git()
    folder = market(
        t,
        entry("fine", unknown=1),
        {"name": "no-dot", "source": "no-dot"},
        entry("number", version=1),
        entry("bad-list", skills=3),
        {"name": "two words", "source": "./two"},
        "text",
        entry("manifest-text"),
        entry("manifest-version"),
        entry("manifest-nameless"),
        entry("manifest-author"),
        entry("manifest-spaces"),
        entry("manifest-empty-list"),
    )
    names = ("fine", "no-dot", "number", "bad-list", "two")
    for name in names:
        plugin(t, folder / name, "s")
    manifests: dict[str, object] = {
        "text": "{broken",
        "version": {"name": "v", "version": 1},
        "nameless": {"version": "1.0.0"},
        "author": {"name": "w", "author": "someone", "keywords": 3},
        "spaces": {"name": "two words"},
        "empty-list": {"name": "empty", "skills": []},
    }
    for name, manifest in manifests.items():
        plugin(t, folder / f"manifest-{name}", "s", manifest=manifest)
    ownerless = market(t, entry("p"), name="ownerless", owner=None)
    plugin(t, ownerless / "p", "s", tag="ownerless")
    settings = {f"{name}@market": True for name in (*names, "two words", *(f"manifest-{name}" for name in manifests))}
    t.write(t.home / ".claude/settings.json", {"enabledPlugins": {**settings, "p@ownerless": True}})


@tree("claude-code")
def claude_code_market_not_known(t: Tree) -> None:
    """A marketplace that no file names, one that only settings declare, one whose folder is gone."""
    t.git()
    folder = market(t, entry("p"))
    plugin(t, folder / "p", "s")
    declared = market(t, entry("p"), name="declared")
    plugin(t, declared / "p", "s", tag="declared")
    by_project = market(t, entry("p"), name="by-project")
    plugin(t, by_project / "p", "s", tag="by-project")
    moved = market(t, entry("p"), name="moved")
    plugin(t, moved / "p", "s", tag="moved")
    known = t.home / ".claude/plugins/known_marketplaces.json"
    table = json.loads(known.read_text())
    table["moved"]["installLocation"] = str(t.root / "gone")
    t.write(known, {"moved": table["moved"]})
    markets = {"declared": {"source": {"source": "directory", "path": str(declared)}}}
    names = ("market", "declared", "by-project", "moved")
    settings = {"enabledPlugins": {f"p@{name}": True for name in names}, "extraKnownMarketplaces": markets}
    t.write(t.home / ".claude/settings.json", settings)
    markets = {"by-project": {"source": {"source": "directory", "path": str(by_project)}}}
    t.write(t.repo / ".claude/settings.json", {"extraKnownMarketplaces": markets})


@tree("claude-code")
def claude_code_known_markets_broken(t: Tree) -> None:
    """A list of known marketplaces that is not JSON: no marketplace counts."""
    t.git()
    folder = market(t, entry("p"))
    plugin(t, folder / "p", "s")
    t.write(t.home / ".claude/plugins/known_marketplaces.json", "{broken")
    markets = {"market": {"source": {"source": "directory", "path": str(folder)}}}
    settings = {"enabledPlugins": {"p@market": True}, "extraKnownMarketplaces": markets}
    t.write(t.home / ".claude/settings.json", settings)


@tree("claude-code")
def claude_code_plugin_folders(t: Tree) -> None:
    """Plugins that lie in the user's skills folder, and those that `--plugin-dir` names."""
    t.git()
    plugin(t, t.U / "both", "in-both", manifest={"name": "both-plugin"})
    t.skill(t.U / "both", "both")
    plugin(t, t.U / "only-plugin", "in-only", manifest={"name": "only"})
    t.write(t.U / "no-manifest/.claude-plugin/note", "")
    plugin(t, t.U / "no-manifest", "in-none")
    plugin(t, t.P / "in-project", "s", manifest={"name": "in-project"})
    t.skill(t.P / "in-project", "project-skill")
    plugin(t, t.root / "named", "a", manifest={"name": "by-name"})
    plugin(t, t.root / "unnamed", "b")
    t.skill(t.root / "alone", "alone")
    t.args = ["--plugin-dir", str(t.root / "named"), "--plugin-dir", "../unnamed", "--plugin-dir", "../alone"]


def switches(t: Tree, where: Path, **overrides: object) -> None:
    """Write settings with `skillOverrides`."""
    t.write(where, {"skillOverrides": overrides})


def six(t: Tree) -> None:
    """Write six skills."""
    for name in "abcdef":
        t.skill(t.P / name, name)


@tree("claude-code")
def claude_code_switches_merged(t: Tree) -> None:
    """`skillOverrides` of user, project and local settings, merged skill by skill."""
    t.git()
    six(t)
    switches(t, t.home / ".claude/settings.json", a="off", b="off", c="name-only", d="user-invocable-only")
    switches(t, t.repo / ".claude/settings.json", a="on", c="off")
    switches(t, t.repo / ".claude/settings.local.json", a="name-only", b="on", E="off")


@tree("claude-code")
def claude_code_switches_below_root(t: Tree) -> None:
    """Started below the git root: its local settings count, and win; its shared ones do not count."""
    t.git()
    t.cwd = t.repo / "pkg"
    six(t)
    switches(t, t.repo / ".claude/settings.json", a="off")
    switches(t, t.repo / ".claude/settings.local.json", b="off", c="off")
    switches(t, t.cwd / ".claude/settings.json", d="off")
    switches(t, t.cwd / ".claude/settings.local.json", e="off", c="name-only")


@tree("claude-code")
def claude_code_settings_void(t: Tree) -> None:
    """One value of a wrong type, and the whole file does not count."""
    t.git()
    six(t)
    t.write(t.home / ".claude/settings.json", {"skillOverrides": {"a": "off"}, "model": 3})
    t.write(t.repo / ".claude/settings.json", {"skillOverrides": {"b": "off", "c": "hidden"}})
    overrides = {"skillOverrides": {"d": "off"}, "permissions": {"allow": "Bash"}}
    t.write(t.repo / ".claude/settings.local.json", overrides)


@tree("claude-code")
def claude_code_settings_tolerated(t: Tree) -> None:
    """Unknown keys, rules and events, and values that the client drops alone, void nothing."""
    t.git()
    six(t)
    unknown = {"theme": 3, "effortLevel": "most", "unknown": [], "env": {"A": 1}}
    t.write(t.home / ".claude/settings.json", {"skillOverrides": {"a": "off"}, **unknown})
    rules = {"permissions": {"allow": ["Bash(rm", 3]}, "hooks": {"Nothing": []}, "extraKnownMarketplaces": {"m": 1}}
    t.write(t.repo / ".claude/settings.json", {"skillOverrides": {"b": "off"}, **rules})
    t.write(t.repo / ".claude/settings.local.json", b"\xef\xbb\xbf" + b'{"skillOverrides": {"c": "off"}}')


@tree("claude-code")
def claude_code_settings_not_json(t: Tree) -> None:
    """Comments, trailing commas, a list, and an empty file: none of these settings count."""
    t.git()
    six(t)
    t.write(t.home / ".claude/settings.json", '{// all off\n"skillOverrides": {"a": "off"}}')
    t.write(t.repo / ".claude/settings.json", '{"skillOverrides": {"b": "off"},}')
    t.write(t.repo / ".claude/settings.local.json", [{"skillOverrides": {"c": "off"}}])


@tree("claude-code")
def claude_code_settings_argument(t: Tree) -> None:
    """`--settings` with a file wins over those of user and project."""
    t.git()
    six(t)
    switches(t, t.repo / ".claude/settings.local.json", a="on", b="off", c="off")
    switches(t, t.root / "more.json", a="off", b="on")
    t.args = ["--settings", "../more.json"]


@tree("claude-code")
def claude_code_settings_inline(t: Tree) -> None:
    """`--settings` with JSON."""
    t.git()
    six(t)
    t.args = ["--settings", '{"skillOverrides": {"a": "off", "b": "name-only"}}']


@tree("claude-code")
def claude_code_setting_sources(t: Tree) -> None:
    """`--setting-sources` leaves out settings, skills and commands of the user."""
    t.git()
    six(t)
    t.skill(t.U / "mine", "mine")
    command(t, t.home / ".claude/commands", "my-command")
    command(t, t.repo / ".claude/commands", "our-command")
    switches(t, t.home / ".claude/settings.json", a="off")
    switches(t, t.repo / ".claude/settings.json", b="off")
    switches(t, t.repo / ".claude/settings.local.json", c="off")
    t.args = ["--setting-sources", "project"]


@tree("claude-code")
def claude_code_setting_sources_of_user(t: Tree) -> None:
    """`--setting-sources` without the project: its skills and commands are not read."""
    t.git()
    six(t)
    t.skill(t.U / "mine", "mine")
    t.skill(t.U / "own", "own")
    command(t, t.repo / ".claude/commands", "our-command")
    switches(t, t.repo / ".claude/settings.local.json", mine="off")
    t.args = ["--setting-sources", "user,local"]


@tree("claude-code")
def claude_code_description_limit(t: Tree) -> None:
    """`skillListingMaxDescChars` of the highest file cuts descriptions, `when_to_use` included."""
    t.git()
    t.skill(t.P / "long", "long", desc=f"[[long]] {'x' * 300}")
    t.skill(t.P / "both", "both", desc="[[both]] short", fm=f"when_to_use: {'y' * 60}\n")
    t.skill(t.P / "exact", "exact", desc=f"[[exact]] {'z' * 40}")
    t.write(t.home / ".claude/settings.json", {"skillListingMaxDescChars": 200})
    t.write(t.repo / ".claude/settings.json", {"skillListingMaxDescChars": 50})


@tree("claude-code")
def claude_code_budget_fraction(t: Tree) -> None:
    """`skillListingBudgetFraction` shrinks the budget."""
    t.git()
    for number in range(12):
        t.skill(t.P / f"s{number:02}", f"s{number:02}", desc=f"[[s{number:02}]] {'x' * (20 + 9 * number)}")
    t.write(t.home / ".claude/settings.json", {"skillListingBudgetFraction": 0.0004})


@tree("claude-code")
def claude_code_budget_variable(t: Tree) -> None:
    """`SLASH_COMMAND_TOOL_CHAR_BUDGET` wins over the settings."""
    t.git()
    for number in range(12):
        t.skill(t.P / f"s{number:02}", f"s{number:02}", desc=f"[[s{number:02}]] {'x' * (20 + 9 * number)}")
    t.write(t.home / ".claude/settings.json", {"skillListingBudgetFraction": 1})
    t.env = {"SLASH_COMMAND_TOOL_CHAR_BUDGET": "700"}


@tree("claude-code")
def claude_code_added_folders(t: Tree) -> None:
    """`--add-dir` adds skills and commands; a name that is taken gets the folder's name."""
    t.git()
    t.skill(t.P / "dup", "dup")
    t.skill(t.U / "own", "own")
    command(t, t.repo / ".claude/commands", "command-two", name="two")
    for folder in ("first", "second"):
        for name in ("dup", "own", "two", folder):
            t.skill(t.root / folder / ".claude/skills" / name, f"{folder}-{name}", name=name)
    command(t, t.root / "first/.claude/commands", "added-command")
    t.skill(t.root / "first/sub/.claude/skills/deeper", "deeper")
    t.skill(t.repo / "inner/.claude/skills/inner", "inner")
    t.write(t.root / "first/.claude/settings.json", {"skillOverrides": {"dup": "off"}})
    t.args = ["--add-dir", "../first", str(t.root / "second"), "inner", "../missing"]


@tree("claude-code")
def claude_code_folders_of_permissions(t: Tree) -> None:
    """`permissions.additionalDirectories` adds no skills, and `permissions.deny` hides none."""
    t.git()
    six(t)
    t.skill(t.root / "more/.claude/skills/more", "more")
    permissions = {"additionalDirectories": [str(t.root / "more")], "deny": ["Skill(a)", "Skill(b:*)"]}
    t.write(t.repo / ".claude/settings.json", {"permissions": permissions})


@tree("claude-code")
def claude_code_config_folder(t: Tree) -> None:
    """`CLAUDE_CONFIG_DIR` moves the user's settings, skills, commands and plugins."""
    t.git()
    six(t)
    moved = t.root / "config"
    t.skill(moved / "skills/moved", "moved")
    t.skill(t.U / "left", "left")
    command(t, moved / "commands", "moved-command")
    command(t, t.home / ".claude/commands", "left-command")
    switches(t, moved / "settings.json", a="off")
    switches(t, t.home / ".claude/settings.json", b="off")
    t.env = {"CLAUDE_CONFIG_DIR": str(moved)}


@tree("claude-code")
def claude_code_git_is_link(t: Tree) -> None:
    """A `.git` that is a link makes a repository."""
    t.git(t.root / "elsewhere")
    t.link(t.repo / ".git", t.root / "elsewhere/.git")
    t.cwd = t.repo / "pkg"
    t.skill(t.P / "root", "root")
    t.skill(t.cwd / ".claude/skills/here", "here")
    t.skill(t.root / ".claude/skills/above", "above")
    command(t, t.repo / ".claude/commands", "of-root")
