"""Trees that are asked of Mistral Vibe: trust, folders and filters in its settings, plugins."""

from __future__ import annotations

from clients._shared_trees import MANIFESTS, agent_plugin
from clients._trees import Tree, tree

HOST = "mistral-vibe"


def config(t: Tree, text: str, *, project: bool = False) -> None:
    """Write the settings file of the user, or of the project."""
    t.write((t.repo if project else t.home) / ".vibe/config.toml", text)


def trust(t: Tree, *, trusted: list[str] | None = None, untrusted: list[str] | None = None) -> None:
    """Write the client's list of trusted folders, as it does itself."""
    lists = {"trusted": trusted or [], "untrusted": untrusted or []}
    lines = [f"{word} = [{', '.join(f'{chr(34)}{item}{chr(34)}' for item in items)}]" for word, items in lists.items()]
    t.write(t.home / ".vibe/trusted_folders.toml", "\n".join(lines) + "\n")


def everywhere(t: Tree) -> None:
    """Write a skill in each of its folders."""
    t.git()
    t.skill(t.P / "own", "own")
    t.skill(t.repo / ".agents/skills/shared", "shared")
    t.skill(t.U / "user", "user")
    t.skill(t.home / ".agents/skills/home-shared", "home-shared")


@tree(HOST)
def vibe_no_trust(t: Tree) -> None:
    """A folder whose trust is not decided: no skills of the project."""
    everywhere(t)


@tree(HOST)
def vibe_trusted(t: Tree) -> None:
    """The folder is trusted."""
    everywhere(t)
    trust(t, trusted=[str(t.repo)])


@tree(HOST)
def vibe_trusted_above(t: Tree) -> None:
    """A folder above is trusted, one between is not mentioned."""
    everywhere(t)
    trust(t, trusted=[str(t.root)])


@tree(HOST)
def vibe_untrusted_between(t: Tree) -> None:
    """The nearest decision counts: the folder above is trusted, the folder itself is not."""
    everywhere(t)
    trust(t, trusted=[str(t.root)], untrusted=[str(t.repo)])


@tree(HOST)
def vibe_trusted_below(t: Tree) -> None:
    """The folder is trusted, the one above is not; and it is in both lists."""
    everywhere(t)
    trust(t, trusted=[str(t.repo)], untrusted=[str(t.repo), str(t.root)])


@tree(HOST)
def vibe_untrusted_argument(t: Tree) -> None:
    """`--trust` counts more than the list."""
    everywhere(t)
    trust(t, untrusted=[str(t.repo)])
    t.args = ("--trust",)


@tree(HOST)
def vibe_trust_broken(t: Tree) -> None:
    """A list of trusted folders that is not TOML is as an empty one."""
    everywhere(t)
    t.write(t.home / ".vibe/trusted_folders.toml", f'trusted = ["{t.repo}"\n')


@tree(HOST)
def vibe_skill_paths(t: Tree) -> None:
    """Folders in `skill_paths`: absolute, `~/`, relative to the working directory, missing, a file, nested skills."""
    t.git()
    t.cwd = t.repo / "pkg"
    t.cwd.mkdir()
    one = t.root / "one"
    config(t, f'skill_paths = ["{one}", "~/two", "rel", "../up", "nowhere", "a-file", "~"]\n')
    t.skill(one / "abs", "abs")
    t.skill(one / "cat/deep", "deep")
    t.skill(one, "one")
    t.skill(one / ".hidden", "hidden", name="hidden")
    t.skill(t.home / "two/tilde", "tilde")
    t.skill(t.cwd / "rel/in-cwd", "in-cwd")
    t.skill(t.repo / "rel/in-root", "in-root")
    t.skill(t.repo / "up/up", "up")
    t.write(t.cwd / "a-file", "x")
    t.skill(t.home / "in-home", "in-home")
    t.args = ("--trust",)


@tree(HOST)
def vibe_skill_paths_precedence(t: Tree) -> None:
    """A folder of the settings wins over the project's, the project's over the user's; its list counts."""
    t.git()
    config(t, 'skill_paths = ["~/extra"]\n')
    config(t, 'skill_paths = ["more"]\n', project=True)
    t.args = ("--trust",)
    t.skill(t.P / "a", "project-a", name="a")
    t.skill(t.U / "a", "user-a", name="a")
    t.skill(t.home / "extra/a", "extra-a", name="a")
    t.skill(t.repo / "more/a", "more-a", name="a")
    t.skill(t.repo / "more/b", "more-b", name="b")
    t.skill(t.home / "extra/b", "extra-b", name="b")
    t.skill(t.P / "c", "project-c", name="c")
    t.skill(t.U / "c", "user-c", name="c")


@tree(HOST)
def vibe_project_config_untrusted(t: Tree) -> None:
    """The project's settings do not count without trust."""
    everywhere(t)
    config(t, 'skill_paths = ["more"]\ndisabled_skills = ["user"]\n', project=True)
    t.skill(t.repo / "more/m", "more")


@tree(HOST)
def vibe_disabled(t: Tree) -> None:
    """`disabled_skills` of user and project together: names, globs, `re:`, any case, white space, a bad expression."""
    t.git()
    t.args = ("--trust",)
    names = '"one", "TWO", " three ", "four-*", "re:five-.*", "re:si", "re:(", "re:SEVEN", "e?ght"'
    config(t, f"disabled_skills = [{names}]\n")
    config(t, 'disabled_skills = ["nine", "[t]en"]\n', project=True)
    for name in (
        "one", "two", "three", "four", "four-a", "five-a", "six", "seven", "eight", "nine", "ten", "eleven",
    ):  # fmt: skip
        t.skill(t.U / name, name)
    t.skill(t.P / "one", "project-one", name="one")


@tree(HOST)
def vibe_enabled(t: Tree) -> None:
    """With `enabled_skills` only those count, and `disabled_skills` does not."""
    t.git()
    config(t, 'enabled_skills = ["keep-*", "re:also"]\ndisabled_skills = ["keep-off"]\n')
    for name in ("keep-on", "keep-off", "also", "also-not", "other"):
        t.skill(t.U / name, name)


@tree(HOST)
def vibe_enabled_blank(t: Tree) -> None:
    """A list with only an empty text."""
    t.git()
    config(t, 'enabled_skills = [""]\n')
    t.skill(t.U / "one", "one")


@tree(HOST)
def vibe_wrong_types(t: Tree) -> None:
    """A text instead of a list, in the user's settings."""
    t.git()
    config(t, 'disabled_skills = "one"\n')
    t.skill(t.U / "one", "one")
    t.skill(t.U / "two", "two")


@tree(HOST)
def vibe_broken_toml(t: Tree) -> None:
    """The user's settings are not TOML."""
    t.git()
    config(t, 'disabled_skills = ["one"\n')
    t.skill(t.U / "one", "one")
    t.skill(t.U / "two", "two")


@tree(HOST)
def vibe_broken_project_toml(t: Tree) -> None:
    """The settings of a trusted project are not TOML."""
    t.git()
    t.args = ("--trust",)
    config(t, 'disabled_skills = ["one"\n', project=True)
    t.skill(t.U / "one", "one")
    t.skill(t.P / "two", "two")


@tree(HOST)
def vibe_home_variable(t: Tree) -> None:
    """`VIBE_HOME` moves its folder, not `~/.agents`."""
    t.git()
    other = t.root / "other"
    t.env["VIBE_HOME"] = str(other)
    t.write(other / "config.toml", 'disabled_skills = ["off"]\n')
    t.skill(other / "skills/moved", "moved")
    t.skill(other / "skills/off", "off")
    t.skill(t.U / "left", "left")
    t.skill(t.home / ".agents/skills/shared", "shared")


@tree(HOST)
def vibe_add_dir(t: Tree) -> None:
    """`--add-dir` reads the skills of another folder, which needs no trust."""
    t.git()
    t.args = ("--add-dir", str(t.root / "more"))
    t.skill(t.root / "more/.vibe/skills/m", "more")
    t.skill(t.root / "more/.agents/skills/n", "more-shared")
    t.skill(t.root / "more/skills/o", "not")
    t.skill(t.P / "p", "project")
    t.skill(t.U / "u", "user")


@tree(HOST)
def vibe_in_home(t: Tree) -> None:
    """Started in the home: its own folder is the user's, and `.agents` too."""
    t.cwd = t.home
    t.args = ("--trust",)
    t.skill(t.U / "u", "user")
    t.skill(t.home / ".agents/skills/s", "shared")


@tree(HOST)
def vibe_plugins(t: Tree) -> None:
    """Plugins of user and project: names with a prefix; a skill must be called like its folder."""
    t.git()
    t.args = ("--trust",)
    one = agent_plugin(t, t.home / ".vibe/plugins/one", {"name": "one"})
    t.skill(one / "skills/a", "a")
    t.skill(one / "skills/b", "renamed", name="other")
    t.skill(one / "skills/cat/deep", "deep")
    t.skill(one, "one-own", name="one")
    t.skill(one / "more/c", "elsewhere")
    dashed = agent_plugin(
        t, t.home / ".vibe/plugins/folder", {"name": "my-plug.in", "version": "1.0.0", "description": "d"}
    )
    t.skill(dashed / "skills/d", "d")
    two = agent_plugin(t, t.repo / ".vibe/plugins/two", {"name": "two"})
    t.skill(two / "skills/e", "e")
    t.skill(t.U / "a", "user-a", name="a")
    link = agent_plugin(t, t.root / "src", {"name": "linked"})
    t.skill(link / "skills/l", "l")
    t.link(t.home / ".vibe/plugins/link", t.root / "src")


@tree(HOST)
def vibe_plugins_untrusted(t: Tree) -> None:
    """Plugins of a project that is not trusted do not count."""
    t.git()
    t.skill(agent_plugin(t, t.repo / ".vibe/plugins/two", {"name": "two"}) / "skills/e", "project")
    t.skill(agent_plugin(t, t.home / ".vibe/plugins/one", {"name": "one"}) / "skills/a", "user")


@tree(HOST)
def vibe_plugin_manifests(t: Tree) -> None:
    """Manifests that are invalid: no schema, another version, no name, a bad name, an unknown field, no JSON."""
    t.git()
    for name, manifest in {**MANIFESTS, "reserved": {"name": "skill"}}.items():
        t.skill(agent_plugin(t, t.home / ".vibe/plugins" / name, manifest) / "skills/s", name, name="s")
    t.skill(t.home / ".vibe/plugins/none/skills/s", "no-manifest", name="s")


@tree(HOST)
def vibe_plugin_filters(t: Tree) -> None:
    """Filters of names do not apply to skills of plugins."""
    t.git()
    config(t, 'enabled_skills = ["keep"]\n')
    t.skill(agent_plugin(t, t.home / ".vibe/plugins/one", {"name": "one"}) / "skills/a", "a")
    t.skill(t.U / "keep", "keep")
    t.skill(t.U / "drop", "drop")


@tree(HOST)
def vibe_plugins_of_others(t: Tree) -> None:
    """Plugins in the formats of Codex and Claude Code: `skills` and the folders that the manifest lists."""
    t.git()
    t.args = ("--trust",)
    for number, (kind, top) in enumerate(
        (("codex", t.home), ("claude", t.home), ("codex", t.repo), ("claude", t.repo))
    ):
        folder = top / f".vibe/plugins/p{number}"
        t.write(folder / f".{kind}-plugin/plugin.json", {"name": f"plug-{number}", "skills": ["./more", "../out"]})
        t.skill(folder / "skills/a", f"a{number}", name="a")
        t.skill(folder / "skills/b", f"renamed{number}", name="other")
        t.skill(folder / "more/c", f"c{number}", name="c")
        t.skill(folder / "skills/cat/deep", f"deep{number}", name="deep")
    unnamed = t.home / ".vibe/plugins/unnamed"
    t.write(unnamed / ".claude-plugin/plugin.json", {"description": "d"})
    t.skill(unnamed / "skills/d", "d")
    both = t.home / ".vibe/plugins/both"
    t.write(both / ".claude-plugin/plugin.json", {"name": "both"})
    t.write(both / ".codex-plugin/plugin.json", {"name": "both"})
    t.skill(both / "skills/e", "e")
    t.write(t.home / ".vibe/plugins/broken/.codex-plugin/plugin.json", "{")
    t.skill(t.home / ".vibe/plugins/broken/skills/f", "f")
