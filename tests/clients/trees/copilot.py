"""Settings, plugins and commands of Copilot CLI, as its users and its own commands write them."""

from __future__ import annotations

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
    """Commands as skills: names, descriptions, and what is none."""
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
