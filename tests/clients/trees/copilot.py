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
