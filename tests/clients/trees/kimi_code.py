"""Trees that are asked of Kimi Code: folders in its settings, plugins as its installer writes them, sub-skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clients._trees import Tree, tree

if TYPE_CHECKING:
    from pathlib import Path

HOST = "kimi-code"


def config(t: Tree, text: str) -> None:
    """Write the settings file of the user."""
    t.write(t.home / ".kimi-code/config.toml", text)


def plugin(t: Tree, name: str, manifest: Any = None, *, file: str = "kimi.plugin.json") -> Path:
    """Write a plugin where its installer copies it to, and return its folder."""
    folder = t.home / ".kimi-code/plugins/managed" / name
    folder.mkdir(parents=True)
    if manifest is not None:
        t.write(folder / file, manifest)
    return folder


def install(t: Tree, *entries: dict[str, Any]) -> None:
    """Write the list of installed plugins, as the installer does."""
    plugins = [
        {
            "id": entry["id"],
            "root": str(t.home / ".kimi-code/plugins/managed" / entry["id"]),
            "source": "local-path",
            "enabled": True,
            "installedAt": "2026-11-20T10:00:00.000Z",
            "updatedAt": "2026-11-20T10:00:00.000Z",
            "originalSource": f"/src/{entry['id']}",
            **entry,
        }
        for entry in entries
    ]
    t.write(t.home / ".kimi-code/plugins/installed.json", {"version": 1, "plugins": plugins})


@tree(HOST)
def kimi_extra_dirs(t: Tree) -> None:
    """Folders in `extra_skill_dirs`: absolute, `~/`, relative to the git root, missing, a file; and their depth."""
    t.git()
    t.cwd = t.repo / "pkg"
    t.cwd.mkdir()
    one = t.root / "one"
    config(
        t, f'extra_skill_dirs = ["{one}", "~/two", "rel", "./rel2/", "../up", "nowhere", "a-file", "~", "$HOME/env"]\n'
    )
    t.skill(one / "abs", "abs")
    t.skill(one / "cat/deep", "deep")
    t.skill(one / "cat/cat/deeper", "deeper")
    t.skill(one, "own", file="SKILL.md")
    t.skill(one, "loose", file="loose.md")
    t.skill(one / ".hidden", "hidden-skill")
    t.skill(one / ".hid/inner", "hidden-inner")
    t.skill(one / "node_modules/inner", "nm-inner")
    t.skill(one / "abs/inner", "inside-skill")
    t.skill(t.home / "two/tilde", "tilde")
    t.skill(t.repo / "rel/in-root", "in-root")
    t.skill(t.repo / "rel2/in-root2", "in-root2")
    t.skill(t.cwd / "rel/in-cwd", "in-cwd")
    t.skill(t.root / "up/up", "up")
    t.write(t.repo / "a-file", "text")
    t.skill(t.home / "in-home", "in-home")
    t.skill(t.home / "env/env", "env")
    t.skill(t.P / "own-project", "own-project")


@tree(HOST)
def kimi_extra_precedence(t: Tree) -> None:
    """The same name in a project's, a user's and two extra folders, in any case of letters."""
    t.git()
    config(t, 'extra_skill_dirs = ["~/first", "~/second"]\n')
    t.skill(t.P / "a", "project-a", name="both")
    t.skill(t.home / "first/a", "first-a", name="both")
    t.skill(t.U / "b", "user-b", name="usr")
    t.skill(t.home / "first/b", "first-b", name="USR")
    t.skill(t.home / "first/c", "first-c", name="twice")
    t.skill(t.home / "second/c", "second-c", name="Twice")
    t.skill(t.home / "second/d", "second-d", name="only")


@tree(HOST)
def kimi_extra_wrong_type(t: Tree) -> None:
    """One value that is no text makes the list of extra folders empty; other keys still count."""
    t.git()
    config(t, 'extra_skill_dirs = ["~/first", 5]\nmerge_all_available_skills = true\n')
    t.skill(t.home / "first/a", "extra")
    t.skill(t.P / "p", "project")


@tree(HOST)
def kimi_extra_broken_toml(t: Tree) -> None:
    """A settings file that is not TOML is as an empty one."""
    t.git()
    config(t, 'extra_skill_dirs = ["~/first"]\nthis is not toml\n')
    t.skill(t.home / "first/a", "extra")
    t.skill(t.P / "p", "project")
    t.skill(t.U / "u", "user")


@tree(HOST)
def kimi_extra_text(t: Tree) -> None:
    """A text instead of a list."""
    t.git()
    config(t, 'extra_skill_dirs = "~/first"\n')
    t.skill(t.home / "first/a", "extra")
    t.skill(t.P / "p", "project")


@tree(HOST)
def kimi_extra_same_folder(t: Tree) -> None:
    """The project's own folder, and a link to it, in the list of extra folders."""
    t.git()
    config(t, 'extra_skill_dirs = [".kimi-code/skills", "link", "~/.kimi-code/skills"]\n')
    t.link(t.repo / "link", t.P)
    t.skill(t.P / "p", "project")
    t.skill(t.U / "u", "user")


@tree(HOST)
def kimi_skills_dir(t: Tree) -> None:
    """`--skills-dir` replaces the folders of project and user, not the extra ones."""
    t.git()
    t.cwd = t.repo / "pkg"
    t.cwd.mkdir()
    config(t, 'extra_skill_dirs = ["~/extra"]\n')
    t.args = ("--skills-dir", "given", "--skills-dir", "~/given2")
    t.skill(t.repo / "given/a", "given")
    t.skill(t.cwd / "given/b", "given-cwd")
    t.skill(t.home / "given2/c", "given2")
    t.skill(t.home / "extra/d", "extra")
    t.skill(t.P / "p", "project")
    t.skill(t.U / "u", "user")
    t.skill(t.home / ".agents/skills/g", "agents")


@tree(HOST)
def kimi_home_variable(t: Tree) -> None:
    """`KIMI_CODE_HOME` moves the folder of skills, the settings and the plugins; `~` stays the home."""
    t.git()
    other = t.root / "other"
    t.env["KIMI_CODE_HOME"] = str(other)
    t.write(other / "config.toml", 'extra_skill_dirs = ["~/extra"]\n')
    config(t, 'extra_skill_dirs = ["~/not"]\n')
    t.skill(other / "skills/moved", "moved")
    t.skill(t.U / "left", "left")
    t.skill(t.home / "extra/e", "extra")
    t.skill(t.home / "not/n", "not")
    t.skill(t.home / ".agents/skills/g", "agents")


@tree(HOST)
def kimi_plugins(t: Tree) -> None:
    """Plugins that are on, off, not listed; with a list of folders, one folder, and none."""
    t.git()
    one = plugin(t, "one", {"name": "one", "skills": ["./skills/", "./more"]})
    t.skill(one / "skills/a", "listed-a")
    t.skill(one / "more/cat/b", "listed-deep")
    t.skill(one / "other/c", "not-listed")
    t.skill(one, "one-own")
    two = plugin(t, "two", {"name": "two", "skills": "./skills"})
    t.skill(two / "skills/d", "as-text")
    t.skill(two / "skills", "skills-own", name="skills-own")
    t.skill(two / "skills", "skills-loose", file="lo.md")
    off = plugin(t, "off", {"name": "off", "skills": "./skills"})
    t.skill(off / "skills/e", "switched-off")
    none = plugin(t, "none", {"name": "none"})
    t.skill(none / "skills/f", "no-key")
    alone = plugin(t, "alone", {"name": "alone"})
    t.skill(alone, "own-alone", name="own-alone")
    t.skill(alone / "skills/g", "beside-own")
    lost = plugin(t, "lost", {"name": "lost", "skills": "./skills"})
    t.skill(lost / "skills/h", "not-installed")
    folder = plugin(t, "folder", {"name": "folder", "skills": "./skills"}, file=".kimi-plugin/plugin.json")
    t.skill(folder / "skills/i", "in-folder-manifest")
    install(
        t,
        {"id": "one"},
        {"id": "two"},
        {"id": "off", "enabled": False},
        {"id": "none"},
        {"id": "alone"},
        {"id": "folder"},
    )


@tree(HOST)
def kimi_plugin_manifests(t: Tree) -> None:
    """Manifests that are invalid: a path outside, without `./`, of a wrong type, no name, a bad name, no JSON."""
    t.git()
    bad: dict[str, Any] = {
        "outside": {"name": "outside", "skills": ["./skills", "./../../other"]},
        "bare": {"name": "bare", "skills": ["skills"]},
        "half": {"name": "half", "skills": ["./skills", "more"]},
        "number": {"name": "number", "skills": 5},
        "mixed": {"name": "mixed", "skills": ["./skills", 5]},
        "gone": {"name": "gone", "skills": ["./skills", "./missing"]},
        "empty": {"name": "empty", "skills": []},
        "noname": {"skills": "./skills"},
        "badname": {"name": "Bad Name", "skills": "./skills"},
        "othername": {"name": "quite-other", "skills": "./skills"},
        "notjson": "{",
        "list": [],
        "unknown": {"name": "unknown", "skills": "./skills", "tools": {}, "hooks": 5, "x": 1},
    }
    for name, manifest in bad.items():
        t.skill(plugin(t, name, manifest) / "skills/s", name)
    both = plugin(t, "both", {"name": "both", "skills": "./skills"})
    t.write(both / ".kimi-plugin/plugin.json", {"name": "both", "skills": "./other"})
    t.skill(both / "skills/s", "both-root")
    t.skill(both / "other/s", "both-folder")
    missing = plugin(t, "missing")
    t.skill(missing / "skills/s", "no-manifest")
    install(t, *({"id": name} for name in [*bad, "both", "missing"]))


@tree(HOST)
def kimi_plugin_precedence(t: Tree) -> None:
    """A plugin loses to project, user and extra folders; of two plugins the one installed later wins."""
    t.git()
    config(t, 'extra_skill_dirs = ["~/extra"]\n')
    for name in ("aa", "zz", "mm"):
        folder = plugin(t, name, {"name": name, "skills": "./skills"})
        for skill in ("p", "u", "e", "same"):
            t.skill(folder / "skills" / skill, f"{name}-{skill}", name=skill)
    t.skill(t.P / "p", "project", name="p")
    t.skill(t.U / "u", "user", name="U")
    t.skill(t.home / "extra/e", "extra", name="e")
    install(t, {"id": "zz"}, {"id": "aa"}, {"id": "mm"})


@tree(HOST)
def kimi_plugin_list_broken(t: Tree) -> None:
    """A list of installed plugins that is cut off."""
    t.git()
    t.skill(plugin(t, "one", {"name": "one", "skills": "./skills"}) / "skills/a", "plugin")
    t.skill(t.U / "u", "user")
    t.write(t.home / ".kimi-code/plugins/installed.json", '{"version": 1, "plugins": [')


@tree(HOST)
def kimi_plugin_links(t: Tree) -> None:
    """Links in a plugin: a folder of skills, a skill and a file that lead out of it; a plugin that is a link."""
    t.git()
    t.skill(t.root / "out/skills/o", "outside")
    t.skill(t.root / "out2/l", "linked-skill")
    one = plugin(t, "one", {"name": "one", "skills": ["./skills"]})
    t.link(one / "skills", t.root / "out/skills")
    two = plugin(t, "two", {"name": "two", "skills": ["./skills"]})
    t.skill(two / "skills/real", "real")
    t.link(two / "skills/link", t.root / "out2/l")
    t.skill(t.root / "src/skills/s", "by-link")
    t.write(t.root / "src/kimi.plugin.json", {"name": "three", "skills": ["./skills"]})
    t.link(t.home / ".kimi-code/plugins/managed/three", t.root / "src")
    install(t, {"id": "one"}, {"id": "two"}, {"id": "three"})


@tree(HOST)
def kimi_types_and_flags(t: Tree) -> None:
    """`type` of every kind; `disable-model-invocation` in three spellings and as text."""
    t.git()
    for kind in ("prompt", "inline", "flow", "reference", "Flow", "other", "5", '""', "null", "[flow]", "' flow '"):
        name = f"t{len(t.variants)}"
        t.skill(t.P / name, f"type-{kind}", fm=f"type: {kind}\n", name=name)
    for number, line in enumerate(
        (
            "disable-model-invocation: true", "disable_model_invocation: true", "disableModelInvocation: true",
            "disable-model-invocation: 'true'", "disable-model-invocation: 1", "disable-model-invocation: yes",
            "user-invocable: false", "disable-model-invocation: false\ndisable_model_invocation: true",
        )
    ):  # fmt: skip
        t.skill(t.P / f"f{number}", line.replace("\n", ", "), fm=f"{line}\n", name=f"f{number}")


@tree(HOST)
def kimi_sub_skills(t: Tree) -> None:
    """Skills inside a skill with `has-sub-skill: true`, which the user can start and the model does not see."""
    t.git()
    for name, line in (
        ("yes", "has-sub-skill: true"), ("camel", "hasSubSkill: true"), ("meta", "metadata:\n  has-sub-skill: true"),
        ("text", "has-sub-skill: 'true'"), ("no", "has-sub-skill: false"),
    ):  # fmt: skip
        t.skill(t.P / name, name, fm=f"{line}\n")
        t.skill(t.P / name / "inner", f"{name}-inner", name="inner")
        t.skill(t.P / name / "cat/deep", f"{name}-deep", name=f"{name}.deep")


@tree(HOST)
def kimi_order_in_root(t: Tree) -> None:
    """Of two skills in one folder with one name, the one that is less deep wins, then the first by name."""
    t.git()
    t.skill(t.P / "a-cat/x", "deep", name="one")
    t.skill(t.P / "z", "shallow", name="ONE")
    t.skill(t.P / "b-cat/q/y", "deepest", name="two")
    t.skill(t.P / "c-cat/y", "less-deep", name="two")
    t.skill(t.P / "d", "first", name="three")
    t.skill(t.P / "e", "second", name="three")
    t.skill(t.P, "loose", name="four", file="loose.md")
    t.skill(t.P / "cat/l", "below-loose", name="four")
    t.skill(t.P / "zz", "beside-loose", name="five")
    t.skill(t.P, "loose-five", name="five", file="aa.md")


@tree(HOST)
def kimi_loose(t: Tree) -> None:
    """Markdown files in the skills folder: without front matter or name, hidden, linked."""
    t.git()
    t.skill(t.P, "plain", file="plain.md")
    t.skill(t.P, "no-front", file="nofront.md", raw="\n\n# Title\n\nText [[no-front]]\n")
    t.skill(t.P, "no-name", file="noname.md", raw="---\ndescription: d [[no-name]]\n---\nx\n")
    t.skill(t.P, "no-desc", file="nodesc.md", raw="---\nname: nodesc\n---\n\n" + "long text " * 40 + "[[no-desc]]\n")
    t.skill(t.P, "empty", file="empty.md", raw="")
    t.skill(t.P, "hidden", file=".hidden.md")
    t.skill(t.P, "upper", file="upper.MD")
    t.skill(t.P / "cat", "below", file="below.md")
    t.skill(t.root / "out", "linked", file="target.md")
    t.link(t.P / "link.md", t.root / "out/target.md")
    t.skill(t.U, "users", file="users.md")
    t.skill(t.home / ".agents/skills", "agents", file="agents.md")


@tree(HOST)
def kimi_other_vendors(t: Tree) -> None:
    """Folders of other agents, and of the older client, are not read."""
    t.git()
    for folder in (".claude", ".codex", ".kimi", ".cursor", ".github", ".agents", ".kimi-code"):
        t.skill(t.repo / folder / "skills" / f"p{folder[1:]}", f"p{folder}")
        t.skill(t.home / folder / "skills" / f"u{folder[1:]}", f"u{folder}")
    t.skill(t.home / ".config/agents/skills/x", "xdg")
    t.skill(t.home / ".config/kimi-code/skills/x", "xdg-own")


@tree(HOST)
def kimi_no_trust(t: Tree) -> None:
    """A project about which nothing is known: its skills are read, and local.toml adds none."""
    t.git()
    t.skill(t.P / "p", "project")
    t.write(t.repo / ".kimi-code/local.toml", 'extra_skill_dirs = ["extra"]\nadditional_dirs = ["more"]\n')
    t.write(t.repo / ".kimi-code/config.toml", 'extra_skill_dirs = ["extra"]\n')
    t.skill(t.repo / "extra/e", "extra")
    t.skill(t.repo / "more/.kimi-code/skills/m", "more")
