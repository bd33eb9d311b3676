"""Trees for OpenAI Codex: plugins as `codex plugin add` leaves them, layers of config.toml, switches, budgets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clients._trees import Tree, tree

if TYPE_CHECKING:
    from pathlib import Path

OFF = '[[skills.config]]\nname = "{}"\nenabled = false\n'
HIDDEN = "policy:\n  allow_implicit_invocation: false\n"


def codex_home(t: Tree) -> Path:
    """Return the folder with Codex's settings."""
    return t.home / ".codex"


def config(t: Tree, *parts: str) -> None:
    """Write the user's settings, with `{repo}` and `{home}` filled in."""
    text = "\n".join(parts).replace("{repo}", str(t.repo)).replace("{home}", str(t.home))
    t.write(codex_home(t) / "config.toml", text)


def trusted(t: Tree, folder: Path | None = None) -> str:
    """Return the setting that makes a folder trusted, by default the project."""
    return f'[projects."{folder or t.repo}"]\ntrust_level = "trusted"\n'


def enabled(*plugins: str) -> str:
    """Return what `codex plugin add` writes into the settings."""
    return "".join(f'[plugins."{plugin}"]\nenabled = true\n\n' for plugin in plugins)


def plugin(
    t: Tree,
    name: str,
    version: str = "1.0.0",
    *,
    market: str = "market",
    manifest: Any = None,
    file: str = ".codex-plugin/plugin.json",
    skills: tuple[str, ...] = ("one",),
) -> Path:
    """Write a plugin where `codex plugin add` puts it, and return its folder. An empty manifest is not written."""
    folder = codex_home(t) / "plugins/cache" / market / name / version
    manifest = {"name": name, "version": version} if manifest is None else manifest
    if manifest != "":
        t.write(folder / file, manifest)
    for skill in skills:
        t.skill(folder / "skills" / skill, f"{name}-{version}-{skill}", name=skill.rpartition("/")[2])
    return folder


def user_and_project(t: Tree) -> None:
    """Write a skill of each place that has nothing to do with plugins."""
    t.git()
    t.skill(codex_home(t) / "skills/of-codex", "of-codex")
    t.skill(t.home / ".agents/skills/of-user", "of-user")
    t.skill(t.repo / ".agents/skills/of-project", "of-project")
    t.skill(t.repo / ".codex/skills/of-project-codex", "of-project-codex")


@tree("codex")
def codex_plugin_installed(t: Tree) -> None:
    """Plugins of a local marketplace after `codex plugin add`: one of Codex, one of Claude Code, one of Cursor."""
    user_and_project(t)
    market = t.root / "market"
    t.write(
        market / ".agents/plugins/marketplace.json",
        {"name": "market", "plugins": [{"name": "demo", "source": {"source": "local", "path": "./plugins/demo"}}]},
    )
    t.skill(market / "plugins/demo/skills/one", "source-of-demo", name="one")
    demo = plugin(t, "demo", skills=("one", "group/deep", "hidden"))
    t.skill(demo, "root-of-demo", name="root")
    t.skill(demo / "other/two", "other-of-demo", name="two")
    t.write(demo / "skills/hidden/agents/openai.yaml", HIDDEN)
    plugin(t, "from-claude", "local", file=".claude-plugin/plugin.json", manifest={"name": "from-claude"})
    plugin(t, "from-cursor", "local", file=".cursor-plugin/plugin.json", manifest={"name": "from-cursor"})
    plugin(t, "not-enabled")
    config(
        t,
        f'[marketplaces.market]\nsource_type = "local"\nsource = "{market}"\n',
        enabled("demo@market", "from-claude@market", "from-cursor@market"),
    )


@tree("codex")
def codex_plugin_switches(t: Tree) -> None:
    """Plugins that are enabled, disabled, only named, of another marketplace, or not in the settings."""
    user_and_project(t)
    for name in ("on", "off", "named", "elsewhere", "unnamed", "no-market"):
        plugin(t, name)
    config(
        t,
        enabled("on@market", "elsewhere@other", "absent@market", "no-market"),
        '[plugins."off@market"]\nenabled = false\n',
        '[plugins."named@market"]\n',
    )


@tree("codex")
def codex_plugin_feature_off(t: Tree) -> None:
    """All plugins are switched off by `features.plugins`."""
    user_and_project(t)
    plugin(t, "demo")
    config(t, enabled("demo@market"), "[features]\nplugins = false\n")


@tree("codex")
def codex_plugin_same_names(t: Tree) -> None:
    """The same skill in two plugins, in two marketplaces, and in the user's and the project's folders."""
    t.git()
    t.skill(codex_home(t) / "skills/one", "user-one", name="one")
    t.skill(t.P / "one", "project-one", name="one")
    t.skill(t.P / "a-one", "project-a-one", name="a:one")
    plugin(t, "a")
    plugin(t, "b")
    plugin(t, "a", "2.0.0", market="other")
    config(t, enabled("b@market", "a@other", "a@market"))


@tree("codex")
def codex_plugin_versions(t: Tree) -> None:
    """Several versions of a plugin in the cache: the local one, else the greatest, counts."""
    versions = {
        "numbers": ("1.9.0", "1.10.0"),
        "local": ("local", "2.0.0"),
        "before": ("1.0.0-beta", "1.0.0"),
        "words": ("abc", "abd", "Zzz"),
        "mixed": ("zeta", "1.0.0"),
        "short": ("9", "10"),
        "build": ("1.0.0+a", "1.0.0+b", "1.0.0"),
        "letter": ("v2.0.0", "v10.0.0", "1.0.0"),
        "candidates": ("2.0.0-rc.9", "2.0.0-rc.10"),
        "commit": ("abcdef12", "3.0.0"),
        "odd": ("bad version", "0.1.0"),
        "zero": ("01.0.0", "1.0.0"),
    }
    for name, found in versions.items():
        for version in found:
            plugin(t, name, version)
    empty = plugin(t, "empty", "1.0.0")
    (empty.parent / "2.0.0").mkdir()
    linked = plugin(t, "linked", "1.0.0")
    t.link(linked.parent / "2.0.0", "1.0.0")
    config(t, enabled(*(f"{name}@market" for name in (*versions, "empty", "linked"))))


MANIFESTS: dict[str, Any] = {
    "none": "",
    "unnamed": {},
    "blank": {"name": "  "},
    "titled": {"name": "Display Name"},
    "other": {"name": "another-name"},
    "null": {"name": None},
    "number": {"name": 5},
    "comma": '{"name": "comma",}',
    "comment": '{"name": "comment"} // it is',
    "bom": '\ufeff{"name": "bom"}',
    "twice": '{"name": "twice", "name": "again"}',
    "nan": '{"name": "nan", "x": NaN}',
    "list": "[]",
    "text": '"text"',
    "empty": b"",
    "cut": '{"name": "cut"',
    "description": {"name": "description", "description": 4},
    "version": {"name": "version", "version": 4},
    "keywords": {"name": "keywords", "keywords": "x"},
    "interface": {"name": "interface", "interface": {"displayName": "Shown"}},
    "interface-text": {"name": "interface-text", "interface": "x"},
    "interface-number": {"name": "interface-number", "interface": {"displayName": 5}},
    "apps": {"name": "apps", "apps": 5},
    "hooks": {"name": "hooks", "hooks": 5, "mcpServers": 5},
    "author": {"name": "author", "author": {"name": "x"}, "homepage": 5, "license": []},
    "unicode": {"name": "日本"},
}


@tree("codex")
def codex_plugin_manifests(t: Tree) -> None:
    """Manifests of every kind: missing, empty, with comments, of wrong types, with another name."""
    for name, manifest in MANIFESTS.items():
        plugin(t, name, manifest=manifest)
    both = plugin(t, "both", manifest="{")
    t.write(both / ".claude-plugin/plugin.json", {"name": "both"})
    latin = plugin(t, "latin", manifest=b'{"name": "latin", "description": "\xe9"}')
    assert latin.is_dir()
    config(t, enabled(*(f"{name}@market" for name in (*MANIFESTS, "both", "latin"))))


SKILLS_OF_MANIFEST: dict[str, Any] = {
    "text": "./more",
    "list": ["./more", "./sub/x"],
    "default": ["./skills"],
    "both": ["./skills", "./more"],
    "empty-list": [],
    "empty-text": "",
    "null": None,
    "number": 5,
    "map": {"a": "./more"},
    "mixed": ["./more", 5],
    "bare": ["more"],
    "up": ["./../other"],
    "absolute": "/etc",
    "all": ["./"],
    "dot": ["."],
    "middle": "./sub/../more",
    "double": ".//more",
    "dots": "./more/./one",
    "slash": "./more/",
    "absent": "./absent",
    "file": ["./more/one/SKILL.md"],
    "skill": ["./more/one"],
    "hidden": "./.hid",
    "in-hidden": "./.hid/h",
    "linked": "./linked",
    "one-good": ["../x", "./more"],
}


@tree("codex")
def codex_plugin_skill_lists(t: Tree) -> None:
    """The manifest's `skills` of every form: what replaces the default folder, what is ignored."""
    for name, skills in SKILLS_OF_MANIFEST.items():
        folder = plugin(t, name, manifest={"name": name, "skills": skills}, skills=("default",))
        for place in ("more", "more/one", "sub/x/two", ".hid/h", "real/r"):
            t.skill(folder / place, f"{name}-{place}", name=place.replace("/", "-").strip("."))
        t.link(folder / "linked", "real")
    config(t, enabled(*(f"{name}@market" for name in SKILLS_OF_MANIFEST)))


@tree("codex")
def codex_plugin_half_installed(t: Tree) -> None:
    """A plugin in the settings without files, files without settings, an empty folder, a file as a version."""
    user_and_project(t)
    market = t.root / "market"
    t.write(
        market / ".claude-plugin/marketplace.json",
        {"name": "market", "owner": {"name": "o"}, "plugins": [{"name": "gone", "source": "./gone"}]},
    )
    t.write(market / "gone/.claude-plugin/plugin.json", {"name": "gone", "version": "3.0.0"})
    t.skill(market / "gone/skills/one", "source-of-gone", name="one")
    plugin(t, "forgotten")
    cache = codex_home(t) / "plugins/cache/market"
    (cache / "bare").mkdir()
    t.write(cache / "file/1.0.0", "not a folder")
    plugin(t, "no-skills", skills=())
    newer = plugin(t, "old", "1.0.0", manifest={"name": "old", "version": "1.0.0"})
    t.write(market / "old/.claude-plugin/plugin.json", {"name": "old", "version": "2.0.0"})
    t.skill(market / "old/skills/newer", "newer-than-installed", name="newer")
    assert newer.name == "1.0.0"
    config(
        t,
        f'[marketplaces.market]\nsource_type = "local"\nsource = "{market}"\n',
        enabled("gone@market", "bare@market", "file@market", "no-skills@market", "old@market"),
    )


@tree("codex")
def codex_marketplace_is_the_plugin(t: Tree) -> None:
    """A repository that is marketplace and plugin at once, added, installed, and open as the project."""
    t.git()
    for place in (t.repo, codex_home(t) / "plugins/cache/own/selfish/0.1.0"):
        where = "project" if place == t.repo else "cache"
        t.write(
            place / ".claude-plugin/marketplace.json",
            {"name": "own", "owner": {"name": "o"}, "plugins": [{"name": "selfish", "source": "./"}]},
        )
        t.write(place / ".claude-plugin/plugin.json", {"name": "selfish", "version": "0.1.0"})
        t.skill(place / "skills/one", f"{where}-one", name="one")
        t.skill(place / ".agents/skills/own", f"{where}-own", name="own")
    config(t, f'[marketplaces.own]\nsource_type = "local"\nsource = "{t.repo}"\n', enabled("selfish@own"))


@tree("codex")
def codex_plugin_links(t: Tree) -> None:
    """Links between a plugin and the folders of user and project: a file by two paths counts once."""
    user_and_project(t)
    folder = plugin(t, "demo")
    t.link(folder / "skills/to-user", t.home / ".agents/skills/of-user")
    t.link(folder / "skills/to-project", t.repo / ".agents/skills/of-project")
    t.link(folder / "skills/to-project-codex", t.repo / ".codex/skills/of-project-codex")
    elsewhere = plugin(t, "elsewhere", "2.0.0", market="apart")
    t.link(codex_home(t) / "plugins/cache/market/moved", elsewhere.parent)
    config(t, enabled("demo@market", "moved@market"))


@tree("codex")
def codex_plugins_of_a_trusted_project(t: Tree) -> None:
    """A trusted project's settings enable one plugin and disable another; those of a folder below win."""
    user_and_project(t)
    for name in ("a", "b", "c"):
        plugin(t, name)
    t.cwd = t.repo / "sub/deep"
    t.cwd.mkdir(parents=True)
    t.write(t.repo / ".codex/config.toml", enabled("a@market") + '[plugins."b@market"]\nenabled = false\n')
    t.write(t.repo / "sub/.codex/config.toml", '[plugins."a@market"]\nenabled = false\n' + enabled("c@market"))
    config(t, enabled("b@market"), trusted(t))


@tree("codex")
def codex_plugins_of_an_untrusted_project(t: Tree) -> None:
    """The settings of a project without trust have no effect, whatever they say."""
    user_and_project(t)
    for name in ("a", "b"):
        plugin(t, name)
    t.write(
        t.repo / ".codex/config.toml",
        enabled("a@market") + "model = 5\n[features]\nplugins = false\n[skills]\ninclude_instructions = false\n",
    )
    config(t, enabled("b@market"), f'[projects."{t.root}"]\ntrust_level = "trusted"\n')


@tree("codex")
def codex_trust_of_folders(t: Tree) -> None:
    """Each folder's own trust counts before the project's."""
    user_and_project(t)
    for name in ("a", "b", "c"):
        plugin(t, name)
    t.cwd = t.repo / "sub/deep"
    for folder, name in ((t.repo, "a"), (t.repo / "sub", "b"), (t.cwd, "c")):
        t.write(folder / ".codex/config.toml", enabled(f"{name}@market"))
    config(t, trusted(t), f'[projects."{t.repo / "sub"}"]\ntrust_level = "untrusted"\n')


@tree("codex")
def codex_repository_is_a_plugin(t: Tree) -> None:
    """A project with a plugin's manifest gives its skills the plugin's name; the user's keep theirs."""
    user_and_project(t)
    t.write(t.repo / ".claude-plugin/plugin.json", {"name": "mine", "description": 5})
    t.skill(t.repo / "skills/of-the-plugin", "of-the-plugin")


@tree("codex")
def codex_home_is_a_plugin(t: Tree) -> None:
    """A manifest in the home gives all skills of the user a prefix."""
    user_and_project(t)
    plugin(t, "demo")
    t.write(t.home / ".claude-plugin/plugin.json", {"name": "homely"})
    config(t, enabled("demo@market"))


NAMESPACES: dict[str, tuple[str, Any]] = {
    "unnamed": (".codex-plugin", {"name": ""}),
    "cursor": (".cursor-plugin", {}),
    "broken": (".claude-plugin", "{x"),
    "number": (".codex-plugin", {"name": 5}),
    "types": (".codex-plugin", {"name": "types", "description": 5, "skills": 7}),
    "bom": (".codex-plugin", '\ufeff{"name": "bom"}'),
    "comment": (".codex-plugin", '{"name": "comment"} // x'),
    "plain-file": (".", {"name": "plain"}),
    "spaced": (".codex-plugin", {"name": "Spaced Name"}),
    "list": (".codex-plugin", '["first"]'),
    "long": (".codex-plugin", {"name": "x" * 125}),
    "too-long": (".codex-plugin", {"name": "x" * 126}),
    "other-case": (".codex-plugin", {"Name": "upper"}),
    "gemini": (".gemini-plugin", {"name": "gemini"}),
}


@tree("codex")
def codex_plugins_in_skill_folders(t: Tree) -> None:
    """Plugins that were cloned into a skills folder: the nearest valid manifest names a skill."""
    t.git()
    for number, (name, (folder, manifest)) in enumerate(NAMESPACES.items()):
        t.skill(t.P / name, name, name=f"s{number:02}"[:3])
        t.write(t.P / name / folder / "plugin.json", manifest)
    cloned = t.P / "cloned"
    t.write(cloned / ".codex-plugin/plugin.json", {"name": "outer"})
    t.skill(cloned / "skills/a", "cloned-a")
    t.write(cloned / "inner/.claude-plugin/plugin.json", {"name": "inner"})
    t.skill(cloned / "inner/skills/b", "cloned-b")
    t.write(cloned / "inner/bad/.claude-plugin/plugin.json", "bad")
    t.skill(cloned / "inner/bad/c", "cloned-c")
    t.write(t.P / "both/.codex-plugin/plugin.json", {"name": 5})
    t.write(t.P / "both/.claude-plugin/plugin.json", {"name": "second"})
    t.skill(t.P / "both", "both")
    t.write(t.root / "apart/.claude-plugin/plugin.json", {"name": "apart"})
    t.skill(t.root / "apart/skills/linked", "linked")
    t.link(t.P / "linked", t.root / "apart/skills/linked")
    t.link(t.P / "plain-file/.codex-plugin", t.root / "apart/.claude-plugin")


@tree("codex")
def codex_skill_switches(t: Tree) -> None:
    """`[[skills.config]]` by name and by path, of plugins too, in every form."""
    user_and_project(t)
    for name in ("a", "b", "c", "d", "e", "f", "g", "h"):
        t.skill(codex_home(t) / "skills" / name, f"user-{name}", name=name)
    t.skill(t.P / "a", "project-a", name="a")
    plugin(t, "demo", skills=("one", "two"))
    entries = (
        'name = "a"\nenabled = false',
        'path = "{home}/.codex/skills/b/SKILL.md"\nenabled = false',
        'path = "{home}/.codex/skills/c"\nenabled = false',
        'name = "demo:one"\nenabled = false',
        'name = "two"\nenabled = false',
        'name = " d "\nenabled = false',
        'name = "E"\nenabled = false',
        'path = "skills/f/SKILL.md"\nenabled = false',
        'path = "~/.codex/skills/g/SKILL.md"\nenabled = false\nreason = "unknown key"',
        'name = "h"\npath = "{home}/.codex/skills/h/SKILL.md"\nenabled = false',
        "enabled = false",
        'name = "of-*"\nenabled = false',
    )
    config(t, enabled("demo@market"), *(f"[[skills.config]]\n{entry}\n" for entry in entries))


@tree("codex")
def codex_skill_switches_in_order(t: Tree) -> None:
    """The last entry that fits a skill counts, whether it is a name or a path."""
    t.git()
    for name in ("a", "b", "c", "d"):
        t.skill(t.P / name, name)
    entries = (
        'name = "a"\nenabled = false',
        'name = "a"\nenabled = true',
        'path = "{repo}/.agents/skills/b/SKILL.md"\nenabled = false',
        'name = "b"\nenabled = true',
        'name = "c"\nenabled = true',
        'name = "c"\nenabled = false',
        'name = "d"\nenabled = false',
        'path = "{repo}/.agents/skills/d/SKILL.md"\nenabled = true',
    )
    config(t, *(f"[[skills.config]]\n{entry}\n" for entry in entries))


@tree("codex")
def codex_skill_switches_of_a_project(t: Tree) -> None:
    """A trusted project's `[[skills.config]]` switches nothing off, and nothing on."""
    user_and_project(t)
    t.write(t.repo / ".codex/config.toml", OFF.format("of-project") + OFF.format("of-user").replace("false", "true"))
    config(t, OFF.format("of-user"), trusted(t))


@tree("codex")
def codex_entry_without_enabled(t: Tree) -> None:
    """One entry of `[[skills.config]]` without `enabled`: Codex does not start."""
    user_and_project(t)
    config(t, OFF.format("of-user"), '[[skills.config]]\nname = "of-project"\n')


@tree("codex")
def codex_broken_settings(t: Tree) -> None:
    """Settings that are not TOML: Codex does not start."""
    user_and_project(t)
    config(t, 'model = "gpt-5"\n[features\n')


@tree("codex")
def codex_wrong_type(t: Tree) -> None:
    """One value of a wrong type: Codex does not start."""
    user_and_project(t)
    config(t, OFF.format("of-user"), '[tui]\nanimations = true\n\n[features]\nplugins = "no"\n')


@tree("codex")
def codex_unknown_word(t: Tree) -> None:
    """A word that a key may not have: Codex does not start."""
    user_and_project(t)
    config(t, 'approval_policy = "sometimes"\n', OFF.format("of-user"))


@tree("codex")
def codex_unknown_keys(t: Tree) -> None:
    """Keys that Codex does not know change nothing."""
    user_and_project(t)
    config(t, 'hello = 1\nmodel = "gpt-5"\n[skills]\nfoo = 1\n\n[features]\nnew_thing = true\n', OFF.format("of-user"))


@tree("codex")
def codex_broken_settings_of_a_trusted_project(t: Tree) -> None:
    """A trusted project's settings are not TOML: Codex does not start."""
    user_and_project(t)
    t.write(t.repo / ".codex/config.toml", "x = = 1\n")
    config(t, trusted(t))


@tree("codex")
def codex_broken_settings_of_a_project(t: Tree) -> None:
    """A project's settings are not TOML, and it has no trust: they do not matter."""
    user_and_project(t)
    t.write(t.repo / ".codex/config.toml", "x = = 1\n")


@tree("codex")
def codex_forms_of_toml(t: Tree) -> None:
    """A byte order mark, CRLF, inline tables over several lines: settings as editors leave them."""
    user_and_project(t)
    text = '\ufeffskills.config = [\r\n  {name = "of-user", enabled = false},\r\n  {name = "of-project",\r\n'
    t.write(codex_home(t) / "config.toml", text + "   enabled = false,},\r\n]\r\n")


@tree("codex")
def codex_legacy_profile(t: Tree) -> None:
    """A `profile` of older versions: Codex does not start."""
    user_and_project(t)
    config(t, 'profile = "work"\n[profiles.work]\nmodel = "gpt-5"\n')


@tree("codex")
def codex_no_catalog(t: Tree) -> None:
    """`skills.include_instructions = false`: skills are listed, the model gets none."""
    user_and_project(t)
    plugin(t, "demo")
    config(t, enabled("demo@market"), "[skills]\ninclude_instructions = false\n", OFF.format("of-user"))


@tree("codex")
def codex_no_catalog_in_a_project(t: Tree) -> None:
    """A trusted project switches the catalog off."""
    user_and_project(t)
    t.write(t.repo / ".codex/config.toml", "[skills]\ninclude_instructions = false\n")
    config(t, "[skills]\ninclude_instructions = true\n", trusted(t))


@tree("codex")
def codex_root_markers(t: Tree) -> None:
    """`project_root_markers` replaces `.git`: the nearest folder with one of them is the root."""
    user_and_project(t)
    t.cwd = t.repo / "sub/deep"
    t.cwd.mkdir(parents=True)
    t.write(t.repo / "sub/package.json", "{}\n")
    for place in ("sub/.agents", "sub/.codex", "sub/deep/.agents", "sub/deep/.codex"):
        t.skill(t.repo / place / "skills/s", place, name=place.replace("/", "-").replace(".", ""))
    config(t, 'project_root_markers = [".hg", "package.json"]\n')


@tree("codex")
def codex_root_marker_above(t: Tree) -> None:
    """A marker above the repository widens the project."""
    user_and_project(t)
    t.write(t.root / "WORKSPACE", "")
    t.skill(t.root / ".agents/skills/above", "above")
    t.skill(t.root / ".codex/skills/above-codex", "above-codex")
    config(t, 'project_root_markers = ["WORKSPACE"]\n')


@tree("codex")
def codex_no_root_markers(t: Tree) -> None:
    """An empty list of markers: only the working directory counts."""
    user_and_project(t)
    t.cwd = t.repo / "sub"
    t.skill(t.cwd / ".agents/skills/here", "here")
    t.skill(t.cwd / ".codex/skills/here-codex", "here-codex")
    config(t, "project_root_markers = []\n")


@tree("codex")
def codex_root_markers_of_a_project(t: Tree) -> None:
    """A trusted project cannot change the markers."""
    user_and_project(t)
    t.cwd = t.repo / "sub"
    t.cwd.mkdir()
    t.write(t.repo / ".codex/config.toml", "project_root_markers = []\n")
    config(t, trusted(t))


@tree("codex")
def codex_home_variable(t: Tree) -> None:
    """CODEX_HOME moves settings, skills and plugins; `~/.agents/skills` stays."""
    user_and_project(t)
    plugin(t, "demo")
    config(t, enabled("demo@market"), OFF.format("of-user"))
    other = t.home / "other"
    t.env = {"CODEX_HOME": str(other)}
    t.skill(other / "skills/moved", "moved")
    folder = other / "plugins/cache/market/demo/2.0.0"
    t.write(folder / ".codex-plugin/plugin.json", {"name": "demo"})
    t.skill(folder / "skills/two", "moved-two", name="two")
    t.write(other / "config.toml", enabled("demo@market") + OFF.format("of-project"))


@tree("codex")
def codex_arguments(t: Tree) -> None:
    """`-c` and `--enable` win over the settings files, key by key."""
    user_and_project(t)
    for name in ("a", "b", "c"):
        plugin(t, name)
    config(t, enabled("a@market", "b@market"), OFF.format("of-user"), "[features]\nplugins = false\n")
    t.args = (
        "--enable", "plugins",
        "-c", "plugins.a@market.enabled=false",
        "--config", 'plugins={"c@market"={enabled=true}}',
        "-c", 'skills.config=[{name="of-project",enabled=false},{name="of-user",enabled=true}]',
    )  # fmt: skip


@tree("codex")
def codex_argument_of_a_wrong_type(t: Tree) -> None:
    """`-c` with a value of a wrong type: Codex does not start."""
    user_and_project(t)
    t.args = ("-c", "skills.include_instructions=no")


SIDECARS = {
    "false": HIDDEN,
    "upper": "policy:\n  allow_implicit_invocation: FALSE\n",
    "text": 'policy:\n  allow_implicit_invocation: "false"\n',
    "no": "policy:\n  allow_implicit_invocation: no\n",
    "null": "policy:\n  allow_implicit_invocation:\n",
    "chatgpt": "policy:\n  products: [chatgpt]\n",
    "codex": HIDDEN + "  products: [codex, chatgpt]\n",
    "upper-codex": HIDDEN + "  products: [CODEX]\n",
    "mixed-case": HIDDEN + "  products: [Codex]\n",
    "unknown-product": HIDDEN + "  products: [foo]\n",
    "no-products": HIDDEN + "  products: []\n",
    "product-text": HIDDEN + "  products: codex\n",
    "atlas": HIDDEN + "  products: [ATLAS]\n",
    "unknown": HIDDEN + "  foo: [1]\nbar: {a: b}\n",
    "interface-list": HIDDEN + "interface: [a]\n",
    "interface-text": HIDDEN + "interface: x\n",
    "interface-null": HIDDEN + "interface:\n",
    "interface-number": HIDDEN + "interface:\n  display_name: 5\n",
    "interface-map": HIDDEN + "interface:\n  display_name: {a: b}\n",
    "tools-text": HIDDEN + "dependencies:\n  tools: x\n",
    "tools": HIDDEN + "dependencies:\n  tools: [{type: mcp, value: x}]\n",
    "tools-texts": HIDDEN + "dependencies:\n  tools: [x]\n",
    "syntax": HIDDEN + "x: @y\n",
    "twice": HIDDEN + "policy: {}\n",
    "two-documents": HIDDEN + "---\na: b\n",
    "end": HIDDEN + "...\n",
    "start": "---\n" + HIDDEN,
    "list": "- a\n",
    "bom": "\ufeff" + HIDDEN,
    "crlf": HIDDEN.replace("\n", "\r\n"),
    "flow": json.dumps({"policy": {"allow_implicit_invocation": False}}),
}


@tree("codex")
def codex_sidecars(t: Tree) -> None:
    """agents/openai.yaml of every kind: one mistake in it, and all of it is ignored."""
    t.git()
    for name, text in SIDECARS.items():
        t.skill(t.P / name, name)
        t.write(t.P / name / "agents/openai.yaml", text)
    t.skill(t.P / "linked", "linked")
    t.write(t.root / "apart/openai.yaml", HIDDEN)
    t.link(t.P / "linked/agents/openai.yaml", t.root / "apart/openai.yaml")
    t.skill(t.P / "linked-folder", "linked-folder")
    t.link(t.P / "linked-folder/agents", t.root / "apart")
    t.skill(t.P / "yml", "yml")
    t.write(t.P / "yml/agents/openai.yml", HIDDEN)


def many(t: Tree) -> None:
    """Write sixty skills with long descriptions, a third of them in plugins."""
    t.git()
    for number in range(40):
        t.skill(t.P / f"s{number:02}", f"s{number:02}", desc=f"[[s{number:02}]] " + "word " * 60)
    for number in range(10):
        folder = plugin(t, f"plugin-{number}", skills=())
        for name in ("one", "two")[: 1 + number % 2]:
            variant = f"p{number}-{name}"
            t.skill(folder / "skills" / name, variant, name=name, desc=f"[[{variant}]] " + "word " * 60)


@tree("codex")
def codex_budget_of_a_setting(t: Tree) -> None:
    """`skills.max_context_tokens` is the budget of the catalog."""
    many(t)
    config(t, "[skills]\nmax_context_tokens = 2500\n", enabled(*(f"plugin-{number}@market" for number in range(10))))


@tree("codex")
def codex_budget_of_a_window(t: Tree) -> None:
    """`model_context_window` sets the budget to two percent of it; bundled skills are off."""
    many(t)
    config(
        t,
        "model_context_window = 100_050\n[skills.bundled]\nenabled = false\n",
        enabled(*(f"plugin-{number}@market" for number in range(10))),
    )


@tree("codex")
def codex_budget_for_names(t: Tree) -> None:
    """A budget for some names only: the others are listed, and not sent."""
    many(t)
    config(t, "[skills]\nmax_context_tokens = 300\n", enabled("plugin-1@market"))
