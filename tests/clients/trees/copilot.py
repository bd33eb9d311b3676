"""Settings, plugins and commands of Copilot CLI, as its users and its own commands write them."""

from __future__ import annotations

import json
from typing import Any

from clients._trees import Tree, tree

SETTINGS = ".copilot/settings.json"
STATE = ".copilot/config.json"


def settings(t: Tree, **values: Any) -> None:
    """Write the user's settings."""
    t.write(t.home / SETTINGS, values)


@tree("copilot")
def copilot_skill_directories(t: Tree) -> None:
    """Folders in `skillDirectories`: absolute, relative, with `~`, a skill itself, a file, a name that others have."""
    t.git()
    folders = ["abs", "one", "filed/SKILL.md", "abs", "late"]
    named = [str(t.root / folder) for folder in folders]
    settings(t, skillDirectories=[*named, "~/tilde", "rel", "./rel2", "../up", "$HOME/var", ""])
    t.skill(t.root / "abs/a1", "a1")
    t.skill(t.root / "abs/x/y/a2", "deep")
    t.skill(t.root / "abs/.hidden/a3", "hidden")
    t.skill(t.root / "abs/node_modules/a4", "modules")
    t.skill(t.root / "abs/dup", "dup-first", name="dup")
    t.skill(t.root / "late/dup", "dup-late", name="dup")
    t.skill(t.root / "one", "one")
    t.skill(t.root / "one/sub", "one-sub")
    t.skill(t.root / "filed", "filed")
    t.skill(t.root / "up/u", "up")
    t.skill(t.home / "tilde/t", "tilde")
    t.skill(t.repo / "~/tilde/t2", "tilde-literal")
    t.skill(t.repo / "rel/r", "rel")
    t.skill(t.repo / "rel2/r2", "rel2")
    t.skill(t.home / "rel/r", "rel-home")
    t.skill(t.home / "var/v", "var")
    t.skill(t.P / "p", "project-wins", name="a1")
    t.skill(t.U / "u", "user-wins", name="rel")


@tree("copilot")
def copilot_skill_directories_and_variable(t: Tree) -> None:
    """`COPILOT_SKILLS_DIRS` beside `skillDirectories`."""
    t.git()
    settings(t, skillDirectories=[str(t.root / "setting")])
    t.env["COPILOT_SKILLS_DIRS"] = f"{t.root}/one,{t.root}/two"
    for folder in ("setting", "one", "two"):
        t.skill(t.root / folder / "dup", f"{folder}-dup", name="dup")
        t.skill(t.root / folder / f"only-{folder}", f"only-{folder}")
    t.skill(t.U / "u", "user", name="only-two")


def switches(t: Tree, written: str | bytes) -> None:
    """Write a settings file, and the skills that it could be about."""
    t.git()
    t.write(t.home / SETTINGS, written)
    for name in ("off", "other"):
        t.skill(t.P / name, name)
    t.skill(t.root / "more/extra", "extra")


@tree("copilot")
def copilot_settings_comments(t: Tree) -> None:
    """A settings file with comments and a trailing comma."""
    switches(t, f'{{// why\n"disabledSkills": ["off",], /* and */ "skillDirectories": ["{t.root}/more"],}}')


@tree("copilot")
def copilot_settings_one_bad_value(t: Tree) -> None:
    """One value of the wrong type voids a settings file."""
    switches(t, f'{{"disabledSkills": ["off"], "skillDirectories": ["{t.root}/more"], "banner": "sometimes"}}')


@tree("copilot")
def copilot_settings_not_texts(t: Tree) -> None:
    """A list of disabled skills with a number in it."""
    switches(t, f'{{"disabledSkills": ["off", 1], "skillDirectories": ["{t.root}/more"]}}')


@tree("copilot")
def copilot_settings_null(t: Tree) -> None:
    """A setting that is null."""
    switches(t, f'{{"disabledSkills": ["off"], "skillDirectories": null, "x": "{t.root}/more"}}')


@tree("copilot")
def copilot_settings_bytes(t: Tree) -> None:
    """A byte that is not UTF-8 in a settings file."""
    switches(t, b'{"disabledSkills": ["off"], "unknown": "\xff"}')


@tree("copilot")
def copilot_settings_old_names(t: Tree) -> None:
    """The names that keys once had; of a key and its old name the last counts."""
    switches(t, f'{{"disabledSkills": ["other"], "disabled_skills": ["off"], "skill_directories": ["{t.root}/more"]}}')


@tree("copilot")
def copilot_settings_in_state(t: Tree) -> None:
    """Settings in the file for the client's state, where they were until 1.0.92."""
    switches(t, "{}")
    t.write(t.home / STATE, {"disabledSkills": ["off"], "skillDirectories": [str(t.root / "more")]})


@tree("copilot")
def copilot_disabled_names(t: Tree) -> None:
    """`disabledSkills` with other case, blanks, globs, the folder's name, a name that is shown in another form."""
    t.git()
    for name in ("plain", "Case", "blank", "glob-a", "has space", "other:name"):
        t.skill(t.P / name.replace(":", "_"), name.replace(" ", "-"), name=name)
    t.skill(t.P / "folder", "named", name="named")
    t.skill(t.P / "both", "project-both", name="both")
    t.skill(t.U / "both", "user-both", name="both")
    t.skill(t.P / "spaced", "spaced", name="two words")
    off = ["plain", "case", " blank", "glob-*", "has space", "other:name", "folder", "both", "two-words"]
    settings(t, disabledSkills=off)


def ignored(t: Tree, *folders: str) -> None:
    """Write roots of each kind, and the folders that are not to be read."""
    t.git()
    settings(t, skillDirectories=[str(t.root / "more")], ignoredSkillsLocations=list(folders))
    t.env["COPILOT_SKILLS_DIRS"] = str(t.root / "variable")
    t.link(t.repo / ".agents", t.root / "linked")
    t.skill(t.root / "linked/skills/l", "linked")
    t.skill(t.P / "p", "project")
    t.skill(t.P / "cat/c", "category")
    t.skill(t.U / "u", "user")
    t.skill(t.home / ".agents/skills/a", "user-agents")
    t.skill(t.root / "more/m", "more")
    t.skill(t.root / "variable/v", "variable")


@tree("copilot")
def copilot_ignored_roots(t: Tree) -> None:
    """`ignoredSkillsLocations` that are roots, or above them, in several spellings."""
    ignored(t, f" {t.repo}/x/../.github//skills/ ", "~/.copilot", f"{t.root}/variable")


@tree("copilot")
def copilot_ignored_nothing(t: Tree) -> None:
    """`ignoredSkillsLocations` inside a root, relative, the target of a link, a prefix of a name, or a glob."""
    root = t.root
    ignored(
        t, f"{t.P}/p", f"{t.P}/cat", ".github/skills", f"{root}/linked", f"{root}/mor", f"{root}/*", "$HOME", "", "."
    )


@tree("copilot")
def copilot_ignored_home(t: Tree) -> None:
    """`ignoredSkillsLocations` with the home, and a link to a folder of skills."""
    ignored(t, "~", f"{t.repo}/.agents/skills")


def trusted(t: Tree) -> None:
    """Make a repository that the user trusts."""
    t.git()
    t.write(t.home / STATE, {"trustedFolders": [str(t.root)], "firstLaunchAt": "2026-11-22T18:40:47.058Z"})


def repository_folders(t: Tree) -> None:
    """Write settings of a repository, and the folders that they name."""
    named = [
        "rel",
        "./rel2/",
        "../up",
        "/rootrel",
        str(t.repo / "inside"),
        "one",
        "~/h",
        "lnk",
        "a/../dots",
        ".hid",
        "",
    ]
    t.write(t.repo / ".github/copilot/settings.json", {"skillDirectories": named, "disabledSkills": ["r"]})
    for folder in ("rel/r", "rel2/x/y", "rootrel/rr", "inside/i", "~/h/hl", "dots/d", ".hid/hd", "unnamed/u"):
        t.skill(t.repo / folder, folder, name=folder.rpartition("/")[2])
    t.skill(t.repo / "one", "one")
    t.skill(t.repo / "one/below", "below")
    t.skill(t.root / "up/u", "up")
    t.skill(t.root / "out/o", "linked-out")
    t.link(t.repo / "lnk", t.root / "out")
    t.skill(t.repo / "rel/dup", "dup", name="dup")
    t.skill(t.repo / ".claude/skills/dup", "dup-claude", name="dup")
    t.skill(t.U / "user", "user-loses", name="y")


@tree("copilot")
def copilot_repository_folders(t: Tree) -> None:
    """`skillDirectories` in the settings of a repository that is trusted."""
    trusted(t)
    repository_folders(t)


@tree("copilot")
def copilot_repository_untrusted(t: Tree) -> None:
    """`skillDirectories` in the settings of a repository that is not trusted."""
    t.git()
    repository_folders(t)


@tree("copilot")
def copilot_repository_trusted_below(t: Tree) -> None:
    """A repository of which only the folder is trusted in which the client is started."""
    t.git()
    t.cwd = t.repo / "sub"
    t.cwd.mkdir()
    t.write(t.home / STATE, {"trustedFolders": [str(t.cwd)]})
    t.write(t.repo / ".github/copilot/settings.json", {"skillDirectories": ["rel"]})
    t.skill(t.repo / "rel/r", "rel")
    t.skill(t.repo / "sub/rel/r", "sub-rel")


@tree("copilot")
def copilot_repository_files(t: Tree) -> None:
    """The settings files of a repository, and of Claude Code, each with a folder and a disabled skill."""
    trusted(t)
    t.cwd = t.repo / "sub"
    files = {
        ".github/copilot/settings.json": "a",
        ".github/copilot/settings.local.json": "b",
        ".claude/settings.json": "c",
        "sub/.github/copilot/settings.json": "d",
    }
    for file, name in files.items():
        t.write(t.repo / file, {"skillDirectories": [name], "disabledSkills": [f"off-{name}"]})
        t.skill(t.repo / name / f"in-{name}", f"in-{name}")
        t.skill(t.repo / "sub" / name / f"sub-{name}", f"sub-{name}")
        t.skill(t.P / f"off-{name}", f"off-{name}")


@tree("copilot")
def copilot_repository_other_keys(t: Tree) -> None:
    """A bad value in the settings of a repository, under a key that counts only for the user."""
    trusted(t)
    t.write(t.repo / ".github/copilot/settings.json", {"skillDirectories": ["rel"], "banner": 5})
    t.write(t.repo / ".github/copilot/settings.local.json", {"skillDirectories": ["local"], "model": 5})
    t.skill(t.repo / "rel/r", "rel")
    t.skill(t.repo / "local/l", "local")


@tree("copilot")
def copilot_add_dir(t: Tree) -> None:
    """Two folders after `--add-dir`, with names that others have."""
    t.git()
    t.args = ("--add-dir", str(t.root / "one"), "--add-dir", "two")
    for folder in (".github/skills", ".agents/skills", ".claude/skills", "skills"):
        t.skill(t.root / "one" / folder / "s", folder, name=folder.replace("/", "-").strip("."))
    t.skill(t.root / "one/.github/skills/dup", "dup-one", name="dup")
    t.skill(t.repo / "two/.github/skills/dup", "dup-two", name="dup")
    t.skill(t.repo / "two/.github/skills/two", "two")
    t.skill(t.P / "p", "project")
    t.skill(t.root / "one/.github/skills/p", "loses-to-project", name="project")


@tree("copilot")
def copilot_commands(t: Tree) -> None:
    """Commands as skills: names, descriptions, and files that are not commands."""
    t.git()
    folder = t.repo / ".claude/commands"
    files = {
        "plain.md": "---\ndescription: Use [[plain]]\n---\nbody\n",
        "named.md": "---\nname: other-name\ndescription: Use [[named]]\n---\n",
        "nothing.md": "First line [[nothing]]\nsecond\n\nthird para\nfour\nfive\n",
        "heading.md": "# Title here\n\nbody text [[heading]]\nmore\n",
        "undescribed.md": "---\nallowed-tools: Bash\n---\nBody first [[undescribed]]\n",
        "colon.md": "---\ndescription: a: b [[colon]]\n---\n",
        "UPPER.MD": "x [[UPPER]]",
        "has space.md": "x [[has space]]",
        "under_score.md": "x [[under_score]]",
        "caf\u00e9.md": "x [[caf\u00e9]]",
        "-lead.md": "x [[-lead]]",
        ".hidden.md": "x [[.hidden]]",
        "text.txt": "x [[text]]",
        "sub/below.md": "x [[below]]",
        "manual.md": "---\ndescription: x [[manual]]\ndisable-model-invocation: true\n---\n",
        "unclosed.md": "---\ndescription: x [[unclosed]]\n",
        "long.md": "[[long]] " + "x" * 3000,
        "dup.md": "x [[dup]]",
    }
    for file, text in files.items():
        path = folder / file
        t.skill(path.parent, path.stem, raw=text, file=path.name)
    t.skill(t.P / "dup", "dup-skill", name="dup")
    t.skill(folder / "folder", "folder")


@tree("copilot")
def copilot_commands_places(t: Tree) -> None:
    """Folders of commands in the project, its parents, and a home."""
    t.git()
    t.cwd = t.repo / "sub"
    for folder in (".claude/commands", ".github/prompts", ".agents/commands"):
        for place in (t.repo, t.cwd, t.root, t.home):
            name = f"{place.name}-{folder.strip('.').replace('/', '-')}"
            t.skill(place / folder, name, raw=f"Use [[{name}]]", file=f"{name}.md")
    t.skill(t.home / ".copilot/commands", "copilot-command", raw="Use [[copilot-command]]", file="c.md")
    t.skill(t.repo / ".claude/commands", "same-root", raw="Use [[same-root]]", file="same.md")
    t.skill(t.cwd / ".claude/commands", "same-cwd", raw="Use [[same-cwd]]", file="same.md")


def market(t: Tree, folder: str, name: str, *plugins: Any, file: str = ".claude-plugin/marketplace.json") -> None:
    """Write the list of a marketplace: plugins are names, or entries."""
    rows = [{"name": item, "source": f"./{item}"} if isinstance(item, str) else item for item in plugins]
    t.write(t.root / folder / file, {"name": name, "owner": {"name": "Ada"}, "plugins": rows})


def use_markets(t: Tree, enabled: dict[str, bool], /, **folders: str) -> None:
    """Write what `copilot plugin marketplace add FOLDER` and `copilot plugin install` write for folders."""
    known = {name: {"source": {"source": "directory", "path": f"{t.root}/{path}"}} for name, path in folders.items()}
    settings(t, extraKnownMarketplaces=known, enabledPlugins=enabled)


@tree("copilot")
def copilot_plugin_in_folder(t: Tree) -> None:
    """A marketplace in a folder: plugins that are on, off, unknown to the settings, and not of the marketplace."""
    t.git()
    market(t, "m", "acme", "on", "off", "silent", {"name": "self", "source": "./", "skills": ["./skills/x"]})
    use_markets(t, {"on@acme": True, "off@acme": False, "self@acme": True, "unlisted@acme": True}, acme="m")
    for plugin in ("on", "off", "silent", "unlisted"):
        t.skill(t.root / "m" / plugin / "skills/a/b/deep", f"{plugin}-deep")
        t.skill(t.root / "m" / plugin / "skills" / plugin, plugin)
    t.skill(t.root / "m/on", "plugin-root")
    t.skill(t.root / "m/on/commands", "on-command", raw="Use [[on-command]]", file="go.md")
    t.skill(t.root / "m/skills/x", "self-x")
    t.skill(t.root / "m/skills/y", "self-y")


@tree("copilot")
def copilot_plugin_manifests(t: Tree) -> None:
    """Which folders of skills a plugin's manifest names, in each form."""
    t.git()
    outside, inside = str(t.root / "m/outside"), str(t.root / "m/absolute/extra")
    forms: dict[str, Any] = {
        "text": "./extra", "listed": ["./extra/", "other"], "absolute": inside, "upwards": "../outside",
        "outside": outside, "none": [], "empty": "", "null": None, "number": 5, "mixed": ["./extra", 5],
        "adds": {"paths": ["./extra"]}, "exclusive": {"paths": ["./extra"], "exclusive": True}, "map": {},
        "leaf": ["./extra/e"], "file": ["./extra/e/SKILL.md"], "root": "./", "missing": ["./nope"],
    }  # fmt: skip
    market(t, "m", "acme", *forms)
    use_markets(t, {f"{name}@acme": True for name in forms}, acme="m")
    t.skill(t.root / "m/outside/o", "outside-skill")
    for name, value in forms.items():
        t.write(t.root / "m" / name / ".claude-plugin/plugin.json", {"name": "other-name", "skills": value})
        for folder in ("skills/s", "extra/e", "other/o"):
            variant = f"{name}-{folder[0]}"
            t.skill(t.root / "m" / name / folder, variant)
    t.skill(t.root / "m/root", "root-itself")


@tree("copilot")
def copilot_plugin_manifest_places(t: Tree) -> None:
    """Which of several manifests counts, and what one that is no JSON does."""
    t.git()
    places = (".plugin/plugin.json", "plugin.json", ".github/plugin/plugin.json", ".claude-plugin/plugin.json")
    market(t, "m", "acme", "all", "last-three", "last-two", "bad-first", "comments", "list")
    names = ("all", "last-three", "last-two", "bad-first", "comments", "list")
    use_markets(t, {f"{name}@acme": True for name in names}, acme="m")
    for name in names:
        for number in range(4):
            t.skill(t.root / "m" / name / f"s{number}/x", f"{name}-{number}")
        t.skill(t.root / "m" / name / "skills/d", f"{name}-default")
    for name, first in (("all", 0), ("last-three", 1), ("last-two", 2), ("bad-first", 1)):
        for number in range(first, 4):
            t.write(t.root / "m" / name / places[number], {"name": name, "skills": f"./s{number}"})
    t.write(t.root / "m/bad-first" / places[0], "{bad")
    t.write(t.root / "m/comments" / places[1], '{// no\n"skills": "./s1"}')
    t.write(t.root / "m/list" / places[1], "[]")


@tree("copilot")
def copilot_plugin_names(t: Tree) -> None:
    """One name in two plugins, in the project, in the home, in a named folder, and in commands."""
    t.git()
    market(t, "m", "acme", "alpha", "zeta")
    use_markets(t, {"zeta@acme": True, "alpha@acme": True}, acme="m")
    t.env["COPILOT_SKILLS_DIRS"] = str(t.root / "named")
    places = {"a": "m/alpha/skills", "z": "m/zeta/skills", "p": "repo/.github/skills", "u": "home/.copilot/skills"}
    names = {"two": "az", "project": "azp", "user": "azu", "one": "zu", "named": "zn", "all": "azpun", "both": "azn"}
    for name, letters in names.items():
        for letter in letters:
            folder = t.root / places.get(letter, "named") / name
            t.skill(folder, f"{name}-{letter}", name=name)
    t.skill(t.root / "m/zeta/commands", "command-z", raw="Use [[command-z]]", file="two.md")
    t.skill(t.root / "m/zeta/commands", "same-z", raw="Use [[same-z]]", file="same.md")
    t.skill(t.root / "m/alpha/commands", "same-a", raw="Use [[same-a]]", file="same.md")
    t.skill(t.root / "m/zeta/skills/aa", "inner-first", name="inner")
    t.skill(t.root / "m/zeta/skills/bb", "inner-second", name="inner")
    t.skill(t.P / "clash", "clash", name="alpha:two")


@tree("copilot")
def copilot_plugin_disabled_names(t: Tree) -> None:
    """`disabledSkills` with names of skills in plugins."""
    t.git()
    market(t, "m", "acme", "alpha", "zeta")
    use_markets(t, {"zeta@acme": True, "alpha@acme": True}, acme="m")
    written = {"disabledSkills": ["k1", "zeta:k2", "alpha:solo", "solo2 ", "zeta:solo"]}
    known = {"acme": {"source": {"source": "directory", "path": f"{t.root}/m"}}}
    settings(t, extraKnownMarketplaces=known, enabledPlugins={"zeta@acme": True, "alpha@acme": True}, **written)
    for name in ("k1", "k2", "k3"):
        t.skill(t.root / "m/zeta/skills" / name, f"{name}-z", name=name)
        t.skill(t.root / "m/alpha/skills" / name, f"{name}-a", name=name)
    t.skill(t.root / "m/zeta/skills/solo", "solo")
    t.skill(t.root / "m/zeta/skills/solo2", "solo2")


def copies(t: Tree, *rows: tuple[str, str, dict[str, Any]]) -> None:
    """Write what `copilot plugin install` writes for plugins of GitHub: copies, and the list of them."""
    entries = []
    for name, place, changes in rows:
        folder = t.home / ".copilot/installed-plugins" / place / name
        entry = {
            "name": name,
            "marketplace": "" if place == "_direct" else place,
            "installed_at": "2026-11-22T18:43:25.829250479Z",
            "enabled": True,
            "version": "1.0.0",
            "cache_path": str(folder),
        } | changes
        entries.append({key: value for key, value in entry.items() if value != "missing"})
        t.skill(folder / "skills" / f"{name}-skill", f"{place}-{name}", name=f"{name}-skill")
    text = json.dumps({"installedPlugins": entries}, indent=2)
    t.write(t.home / STATE, f"// User settings belong in settings.json.\n// Managed automatically.\n{text}\n")


DIRECT = {"source": {"source": "github", "repo": "ada/direct"}}


@tree("copilot")
def copilot_copies(t: Tree) -> None:
    """Installed copies without settings: on, off, direct, with a folder that is gone."""
    t.git()
    copies(
        t,
        ("on", "gitm", {}),
        ("off", "gitm", {"enabled": False}),
        ("direct", "_direct", DIRECT),
        ("direct-off", "_direct", {**DIRECT, "enabled": False}),
        ("gone", "gitm", {"cache_path": str(t.home / "nowhere")}),
    )


@tree("copilot")
def copilot_copies_and_settings(t: Tree) -> None:
    """Installed copies and `enabledPlugins`, which counts for all but those that were installed directly."""
    t.git()
    settings(t, enabledPlugins={"off@gitm": True, "on@gitm": False, "direct": False, "Case@gitm": True})
    copies(
        t,
        ("on", "gitm", {}),
        ("off", "gitm", {"enabled": False}),
        ("silent", "gitm", {}),
        ("case", "gitm", {}),
        ("direct", "_direct", DIRECT),
    )


@tree("copilot")
def copilot_copies_of_a_folder(t: Tree) -> None:
    """A copy of a plugin whose marketplace is in a folder now."""
    t.git()
    market(t, "m", "acme", "tools", {"name": "remote", "source": {"source": "github", "repo": "a/b"}})
    use_markets(t, {"tools@acme": True, "remote@acme": True, "gone@other": True}, acme="m", other="nowhere")
    copies(t, ("tools", "acme", {}), ("remote", "acme", {}), ("gone", "other", {}))
    t.skill(t.root / "m/tools/skills/live", "live")


@tree("copilot")
def copilot_market_one_bad_plugin(t: Tree) -> None:
    """One plugin of a kind that the client does not know voids a marketplace."""
    t.git()
    market(t, "m", "acme", "tools", {"name": "npm", "source": {"source": "npm", "package": "x"}})
    market(t, "n", "beta", "good", {"name": "else", "source": {"source": "github", "repo": "a/b"}, "other": 5})
    use_markets(t, {"tools@acme": True, "good@beta": True}, acme="m", beta="n")
    t.skill(t.root / "m/tools/skills/a", "tools")
    t.skill(t.root / "n/good/skills/b", "good")


@tree("copilot")
def copilot_market_places(t: Tree) -> None:
    """Marketplaces in `~/`, in a relative folder, under another name, through a link, and with `pluginRoot`."""
    t.git()
    places = {"tilde": "~/tilde", "relative": "./relative", "link": f"{t.root}/linked", "based": f"{t.root}/based"}
    known = {name: {"source": {"source": "directory", "path": path}} for name, path in places.items()}
    settings(t, extraKnownMarketplaces=known, enabledPlugins={f"p@{name}": True for name in places})
    for folder in ("home/tilde", "repo/relative", "target"):
        market(t, folder, "another-name", "p")
        t.skill(t.root / folder / "p/skills/s", folder, name=folder.replace("/", "-"))
    t.link(t.root / "linked", t.root / "target")
    t.write(
        t.root / "based/.github/plugin/marketplace.json",
        {
            "name": "based",
            "owner": {"name": "Ada"},
            "metadata": {"pluginRoot": "./plugins"},
            "plugins": [{"name": "p", "source": "p"}],
        },
    )
    t.skill(t.root / "based/plugins/p/skills/s", "based")
    t.skill(t.root / "based/p/skills/s", "not-based")


@tree("copilot")
def copilot_repository_plugins(t: Tree) -> None:
    """A trusted repository that names a marketplace of its own, and switches the user's plugins."""
    trusted(t)
    market(t, "repo/shared", "shared", "ours", "theirs")
    market(t, "m", "acme", "a", "b", "c")
    use_markets(t, {"a@acme": True, "b@acme": True}, acme="m")
    known = {"shared": {"source": {"source": "directory", "path": "./shared"}}}
    t.write(
        t.repo / ".github/copilot/settings.json",
        {"extraKnownMarketplaces": known, "enabledPlugins": {"ours@shared": True, "a@acme": False}},
    )
    t.write(
        t.repo / ".claude/settings.json", {"enabledPlugins": {"theirs@shared": True, "a@acme": True, "c@acme": True}}
    )
    for folder in ("repo/shared/ours", "repo/shared/theirs", "m/a", "m/b", "m/c"):
        t.skill(t.root / folder / "skills" / folder.rpartition("/")[2], folder, name=folder.rpartition("/")[2])


@tree("copilot")
def copilot_repository_plugins_untrusted(t: Tree) -> None:
    """The same marketplace in a repository that is not trusted."""
    copilot_repository_plugins(t)
    t.write(t.home / STATE, {})


@tree("copilot")
def copilot_plugin_dir(t: Tree) -> None:
    """Plugins after `--plugin-dir`: with a manifest, without, with a SKILL.md, and names that others have."""
    t.git()
    folders = ["one", "two", "bare", "single", "nowhere"]
    t.args = tuple(word for folder in folders for word in ("--plugin-dir", str(t.root / folder)))
    market(t, "m", "acme", "inst")
    use_markets(t, {"inst@acme": True}, acme="m")
    for name in ("one", "two"):
        t.write(t.root / name / "plugin.json", {"name": name})
        t.skill(t.root / name / "skills/both", f"both-{name}", name="both")
        t.skill(t.root / name / f"skills/only-{name}", f"only-{name}")
    t.skill(t.root / "m/inst/skills/shared", "shared-installed", name="shared")
    t.skill(t.root / "one/skills/shared", "shared-one", name="shared")
    t.skill(t.U / "shared", "shared-user", name="shared")
    t.skill(t.U / "only", "user-loses", name="only-one")
    t.skill(t.P / "only", "project-wins", name="only-two")
    t.skill(t.root / "bare/skills/b", "bare")
    t.skill(t.root / "single", "single")
