"""Places of Copilot CLI that variables, arguments and spellings move, and what its list and its model see apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clients._trees import Tree, tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

SETTINGS = ".copilot/settings.json"
STATE = ".copilot/config.json"
COPY = {"installed_at": "2026-11-22T18:43:25.829250479Z", "enabled": True, "version": "1.0.0"}


@tree("copilot")
def copilot_blanks_around_folders(t: Tree) -> None:
    """`skillDirectories` and `COPILOT_SKILLS_DIRS` with blanks around folders, which are removed."""
    t.git()
    named = [" sp", "tr ", "\ttab", f" {t.root}/abs ", "  ", "nl\n", "~", "nb\u00a0", "a b"]
    t.write(t.home / SETTINGS, {"skillDirectories": named})
    t.env["COPILOT_SKILLS_DIRS"] = f" {t.root}/one , rel ,~/tilde,,../up"
    folders = (
        "sp",
        " sp",
        "tr",
        "tr ",
        "tab",
        "\ttab",
        "nl",
        "nl\n",
        "nb",
        "nb\u00a0",
        "a b",
        "rel",
        " rel ",
        "~/tilde",
    )
    for number, folder in enumerate(folders):
        t.skill(t.repo / folder / "s", f"folder-{number}")
    t.skill(t.repo / "~/alone", "tilde-alone")
    t.skill(t.root / "abs/s", "absolute")
    t.skill(t.root / "one/s", "one")
    t.skill(t.root / "up/s", "up")
    t.skill(t.home / "tilde/s", "home-tilde")


def with_repository_folder(t: Tree) -> None:
    """Make a repository whose settings name a folder, and start below it."""
    t.git()
    t.cwd = t.repo / "sub"
    t.cwd.mkdir()
    t.write(t.repo / ".github/copilot/settings.json", {"skillDirectories": ["rel"]})
    t.skill(t.repo / "rel/r", "rel")
    t.skill(t.P / "p", "project")


@tree("copilot")
def copilot_allow_all(t: Tree) -> None:
    """`COPILOT_ALLOW_ALL=true` trusts the repository."""
    with_repository_folder(t)
    t.env["COPILOT_ALLOW_ALL"] = "true"


@tree("copilot")
def copilot_allow_all_in_other_words(t: Tree) -> None:
    """`COPILOT_ALLOW_ALL=1` only permits all tools."""
    with_repository_folder(t)
    t.env["COPILOT_ALLOW_ALL"] = "1"


@tree("copilot")
def copilot_trust_argument(t: Tree) -> None:
    """`--trust-folder` trusts the repository."""
    with_repository_folder(t)
    t.args = ("--trust-folder",)


def spread(t: Tree) -> None:
    """Write skills to the folders of a user, of which some are elsewhere."""
    t.git()
    for folder in ("moved/.agents/skills", "moved/skills", "home/other/skills", "home/other/.agents/skills"):
        t.skill(t.root / folder / "s", folder, name=folder.replace("/", "-"))
    t.skill(t.home / ".agents/skills/s", "home-agents")
    t.skill(t.U / "u", "usual")
    t.skill(t.root / "more/m", "more")
    t.skill(t.root / "less/m", "less")
    t.skill(t.P / "off", "off")
    t.write(t.root / "moved/settings.json", {"skillDirectories": [f"{t.root}/more"], "disabledSkills": ["off"]})
    t.write(t.home / SETTINGS, {"skillDirectories": [f"{t.root}/less"]})


@tree("copilot")
def copilot_moved_home(t: Tree) -> None:
    """`COPILOT_HOME` in another folder: the user's `.agents/skills` is not read either."""
    spread(t)
    t.env["COPILOT_HOME"] = str(t.root / "moved")


@tree("copilot")
def copilot_same_home(t: Tree) -> None:
    """`COPILOT_HOME` with the usual folder."""
    spread(t)
    t.env["COPILOT_HOME"] = f"{t.home}/.copilot/"


@tree("copilot")
def copilot_config_dir(t: Tree) -> None:
    """`--config-dir`, relative to the working directory."""
    spread(t)
    t.args = ("--config-dir", "../moved")


@tree("copilot")
def copilot_config_dir_and_variable(t: Tree) -> None:
    """`--config-dir` twice, and `COPILOT_HOME`: the last argument counts."""
    spread(t)
    t.args = ("--config-dir", str(t.root / "nowhere"), "--config-dir=~/other")
    t.env["COPILOT_HOME"] = str(t.root / "moved")


@tree("copilot")
def copilot_command_called_skill(t: Tree) -> None:
    """A command in a file `SKILL.md`, and commands beside and below it."""
    t.git()
    folder = t.repo / ".claude/commands"
    t.skill(folder, "top", raw="Use [[top]] first\n")
    t.skill(folder, "beside", raw="---\ndescription: Use [[beside]]\n---\n", file="beside.md")
    t.skill(folder / "below", "below")


def write_copies(t: Tree, *rows: Mapping[str, object]) -> None:
    """Write the list of installed copies."""
    t.write(t.home / STATE, json.dumps({"installedPlugins": [{**COPY, **row} for row in rows]}, indent=2))


@tree("copilot")
def copilot_copy_without_folder(t: Tree) -> None:
    """Copies without `cache_path`: only the client's own list looks into their usual folder."""
    t.git()
    source = {"source": "github", "repo": "ada/direct"}
    write_copies(
        t,
        {"name": "a", "marketplace": "gitm"},
        {"name": "c", "marketplace": "", "source": source},
        {"name": "rel", "marketplace": "gitm", "cache_path": "relative"},
        {"name": "tilde", "marketplace": "gitm", "cache_path": "~/x"},
    )
    copies = t.home / ".copilot/installed-plugins"
    t.skill(copies / "gitm/a/skills/a", "in-market")
    t.skill(copies / "gitm/a/commands", "command", raw="Use [[command]]", file="go.md")
    t.skill(copies / "_direct/c/skills/c", "in-direct")
    t.skill(copies / "c/skills/c", "without-market")
    t.skill(t.repo / "relative/skills/r", "relative")
    t.skill(t.home / "x/skills/x", "tilde")
    t.skill(t.U / "a", "user-wins", name="in-market")


@tree("copilot")
def copilot_direct_without_source(t: Tree) -> None:
    """Copies without a marketplace, with and without `source`, on and off."""
    t.git()
    copies = t.home / ".copilot/installed-plugins/_direct"
    source = {"source": "github", "repo": "ada/direct"}
    rows = [
        {"name": f"{kind}-{'on' if on else 'off'}", "marketplace": "", "enabled": on} | extra
        for kind, extra in (
            ("bare", {}),
            ("full", {"source": source}),
            ("local", {"source": {"source": "local", "path": "/x"}}),
        )
        for on in (True, False)
    ]
    write_copies(t, *({"cache_path": str(copies / str(row["name"]))} | row for row in rows))
    for row in rows:
        t.skill(copies / str(row["name"]) / "skills/s", str(row["name"]))
    t.write(t.home / SETTINGS, {"enabledPlugins": {"bare-on": False, "bare-on@": False, "full-on@": False}})


def marked(t: Tree, text: str) -> None:
    """Write a `.git` file, and skills in the project and above it."""
    t.write(t.repo / ".git", text)
    t.cwd = t.repo / "sub"
    t.skill(t.cwd / ".github/skills/sub", "sub")
    t.skill(t.P / "project", "project")
    t.skill(t.root / ".github/skills/above", "above")
    t.skill(t.root / ".github/skills/usual", "above-usual", name="usual")
    t.skill(t.U / "usual", "usual")


@tree("copilot")
def copilot_git_file_to_nothing(t: Tree) -> None:
    """A `.git` file that names a folder which is missing: a root for a conversation, but not for the client's list."""
    marked(t, "gitdir: ../gone/worktrees/repo\n")


@tree("copilot")
def copilot_git_file_without_folder(t: Tree) -> None:
    """A `.git` file that names no folder is no root for either."""
    marked(t, "not a git file\n")


@tree("copilot")
def copilot_copies_of_arguments(t: Tree) -> None:
    """Copies without a marketplace and a `source` come before the user, like plugins of `--plugin-dir`."""
    t.git()
    copies = t.home / ".copilot/installed-plugins"
    write_copies(
        t,
        {"name": "b1", "marketplace": "", "cache_path": f"{copies}/_direct/b1"},
        {"name": "b2", "marketplace": "", "cache_path": f"{copies}/_direct/b2", "enabled": False},
        {
            "name": "d1",
            "marketplace": "",
            "cache_path": f"{copies}/_direct/d1",
            "source": {"source": "github", "repo": "a/b"},
        },
        {"name": "m1", "marketplace": "gitm", "cache_path": f"{copies}/gitm/m1"},
    )
    t.write(t.root / "pd/plugin.json", {"name": "pd"})
    t.args = ("--plugin-dir", str(t.root / "pd"))
    folders = {
        "b1": copies / "_direct/b1/skills",
        "b2": copies / "_direct/b2/skills",
        "d1": copies / "_direct/d1/skills",
        "m1": copies / "gitm/m1/skills",
        "pd": t.root / "pd/skills",
        "user": t.U,
        "project": t.P,
    }
    names = {"u": "b1 user", "p": "b1 project", "s": "b1 b2 user", "x": "d1 user", "y": "b2 m1 pd", "z": "m1 pd user"}
    for name, places in names.items():
        for place in places.split():
            t.skill(folders[place] / name, f"{name}-{place}", name=name)
    for place in ("b1", "pd", "m1"):
        t.skill(folders[place].parent / "commands", f"c-{place}", raw=f"Use [[c-{place}]]", file="c.md")


def write_market(t: Tree, folder: Path, names: Iterable[str]) -> None:
    """Make a folder the marketplace `m` of the plugins below it."""
    plugins = [{"name": name, "source": f"./{name}"} for name in names]
    t.write(folder / ".claude-plugin/marketplace.json", {"name": "m", "owner": {"name": "Ada"}, "plugins": plugins})


def with_market(t: Tree, names: Collection[str]) -> None:
    """Write a marketplace that the user knows, with all of its plugins switched on."""
    write_market(t, t.root / "m", names)
    known = {"m": {"source": {"source": "directory", "path": f"{t.root}/m"}}}
    enabled = {f"{name}@m": True for name in names}
    t.write(t.home / SETTINGS, {"extraKnownMarketplaces": known, "enabledPlugins": enabled})


@tree("copilot")
def copilot_plugin_is_one_skill(t: Tree) -> None:
    """Plugins with a SKILL.md and without a folder of skills, whose manifests name none, some, or a wrong type."""
    t.git()
    manifests: dict[str, object] = {
        "bare": None, "named": {"name": "x"}, "folder": None, "empty": None, "listed": {"skills": "./extra"},
        "gone": {"skills": "./nope"}, "none": {"skills": []}, "null": {"skills": None}, "text": {"skills": ""},
        "number": {"skills": 5}, "added": {"skills": {"paths": ["./extra"]}}, "broken": "{bad", "below": None,
    }  # fmt: skip
    with_market(t, manifests)
    for name, manifest in manifests.items():
        t.skill(t.root / "m" / name, name)
        if manifest is not None:
            t.write(t.root / "m" / name / ".claude-plugin/plugin.json", manifest)
    t.skill(t.root / "m/folder/skills/s", "folder-s")
    (t.root / "m/empty/skills").mkdir()
    t.skill(t.root / "m/listed/extra/e", "listed-e")
    t.skill(t.root / "m/added/extra/e", "added-e")
    t.skill(t.root / "m/below/other/o", "below-o")
    t.skill(t.root / "m/bare/commands", "bare-command", raw="Use [[bare-command]]", file="go.md")


@tree("copilot")
def copilot_plugin_adds_paths(t: Tree) -> None:
    """`skills` with `paths`, and `exclusive` of every kind."""
    t.git()
    kinds: dict[str, object] = {
        "true": True, "false": False, "null": None, "empty": "", "zero": 0, "one": 1, "word": "true", "list": [],
    }  # fmt: skip
    manifests: dict[str, object] = {key: {"paths": ["./extra"], "exclusive": value} for key, value in kinds.items()}
    manifests |= {
        "no-paths": {"paths": []}, "blank": {"paths": [""]}, "both": {"paths": [], "exclusive": False},
        "off": {"exclusive": False}, "mixed": {"paths": ["./extra", 5], "exclusive": False},
    }  # fmt: skip
    with_market(t, manifests)
    for name, value in manifests.items():
        t.write(t.root / "m" / name / "plugin.json", {"skills": value})
        t.skill(t.root / "m" / name / "skills/s", f"{name}-s")
        t.skill(t.root / "m" / name / "extra/e", f"{name}-e")


@tree("copilot")
def copilot_plugin_dir_manifests(t: Tree) -> None:
    """Folders after `--plugin-dir` whose manifests are not JSON, or not a table."""
    t.git()
    texts = {"bad": "{bad", "null": "null", "list": "[]", "nothing": "", "comments": '// c\n{"skills": "./extra"}'}
    t.args = tuple(word for name in texts for word in ("--plugin-dir", str(t.root / name)))
    for name, text in texts.items():
        t.write(t.root / name / "plugin.json", text)
        t.skill(t.root / name / "skills/s", f"{name}-s")
        t.skill(t.root / name / "extra/e", f"{name}-e")
        t.skill(t.root / name, f"{name}-itself")


@tree("copilot")
def copilot_add_dir_switched_off(t: Tree) -> None:
    """Skills of `--add-dir` that are switched off, or hidden by their authors: the client's list leaves them out."""
    t.git()
    t.args = ("--add-dir", str(t.root / "more"))
    t.write(t.home / SETTINGS, {"disabledSkills": ["off", "alone"]})
    t.skill(t.root / "more/.github/skills/off", "off-added", name="off")
    t.skill(t.U / "off", "off-user", name="off")
    t.skill(t.root / "more/.github/skills/alone", "alone")
    t.skill(t.root / "more/.github/skills/manual", "manual", fm="disable-model-invocation: true\n")
    t.skill(t.root / "more/.github/skills/shown", "shown")


@tree("copilot")
def copilot_command_file_names(t: Tree) -> None:
    """Files of commands whose names are no names of skills, though their front matter has good ones."""
    t.git()
    files = ("caf\u00e9", "-lead", "_under", "has space", "a.b", "a:b", "x" * 64, "y" * 65, "1", "a+b", "(x)", "UP")
    for number, name in enumerate(files):
        raw = f"---\nname: name-{number}\ndescription: Use [[name-{number}]]\n---\n"
        t.skill(t.repo / ".claude/commands", f"name-{number}", raw=raw, file=f"{name}.md")


@tree("copilot")
def copilot_command_flags(t: Tree) -> None:
    """`user-invocable` does not matter in a command; other fields have the types that they have in a skill."""
    t.git()
    values = ("true", "false", '"true"', "null", "1", "[a]", "[1]", "{}", "a, b", "")
    for key in ("user-invocable", "disable-model-invocation", "allowed-tools", "argument-hint", "license"):
        for number, value in enumerate(values):
            name = f"{key}-{number}"
            raw = f"---\n{key}: {value}\ndescription: Use [[{name}]]\n---\nBody.\n"
            t.skill(t.repo / ".claude/commands", name, raw=raw, file=f"{name}.md")


@tree("copilot")
def copilot_repository_marks(t: Tree) -> None:
    """A byte order mark voids the settings of a repository, unlike those of the user."""
    t.git()
    t.write(t.home / STATE, {"trustedFolders": [str(t.repo)]})
    t.write(t.home / SETTINGS, "\ufeff" + json.dumps({"skillDirectories": ["of-user"]}))
    t.write(t.repo / ".github/copilot/settings.json", json.dumps({"skillDirectories": ["shared"]}))
    t.write(t.repo / ".github/copilot/settings.local.json", "\ufeff" + json.dumps({"skillDirectories": ["local"]}))
    for folder in ("of-user", "shared", "local"):
        t.skill(t.repo / folder / "s", folder)


@tree("copilot")
def copilot_command_beginnings(t: Tree) -> None:
    """Commands without front matter, of which some begin like front matter."""
    t.git()
    beginnings = {
        "plain": "", "indented": " ---\nname: x\n---\n", "word": "---x\nname: x\n---\n",
        "comment": "--- # c\nname: x\n---\n", "late": "# c\n---\nname: x\n---\n", "dashes": "----\nname: x\n----\n",
        "unclosed": "---\nname: x\n", "blank": "\n---\nname: x\n---\n", "rule": "a\n\n---\n\n", "empty": "---\n---\n",
    }  # fmt: skip
    for name, beginning in beginnings.items():
        t.skill(t.repo / ".claude/commands", name, raw=f"{beginning}Use [[{name}]]\n", file=f"{name}.md")


def with_copies(t: Tree, user: object, repository: object, *, cwd: str = "", trusted: str = "") -> None:
    """Write two installed copies, a plugin of the repository, and what settings say about plugins."""
    t.git()
    t.cwd = t.repo / cwd
    t.cwd.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in ("on", "off"):
        folder = t.home / ".copilot/installed-plugins/gitm" / name
        rows.append({**COPY, "name": name, "marketplace": "gitm", "enabled": name == "on", "cache_path": str(folder)})
        t.skill(folder / "skills/s", name)
    t.write(t.home / STATE, {"installedPlugins": rows, "trustedFolders": [str(t.repo / trusted)]})
    if user is not None:
        t.write(t.home / SETTINGS, {"enabledPlugins": user})
    write_market(t, t.repo / "m", ["p"])
    known = {"m": {"source": {"source": "directory", "path": "./m"}}}
    written = {"enabledPlugins": repository, "extraKnownMarketplaces": known, "skillDirectories": ["rel"]}
    t.write(t.repo / ".github/copilot/settings.json", written)
    t.skill(t.repo / "m/p/skills/s", "own")
    t.skill(t.repo / "rel/r", "rel")


@tree("copilot")
def copilot_copies_and_repository(t: Tree) -> None:
    """Without `enabledPlugins` of the user, copies are on by themselves, but for those that a repository switches."""
    with_copies(t, None, {"off@gitm": True, "own@m": True, "p@m": True})


@tree("copilot")
def copilot_copies_and_empty_repository(t: Tree) -> None:
    """An empty `enabledPlugins` of a repository changes nothing."""
    with_copies(t, None, {})


@tree("copilot")
def copilot_copies_and_empty_user(t: Tree) -> None:
    """An empty `enabledPlugins` of the user switches all copies off that a repository does not name."""
    with_copies(t, {}, {"off@gitm": True})


@tree("copilot")
def copilot_plugins_trusted_below(t: Tree) -> None:
    """A trusted folder below the git root is enough for plugins of the repository, but not for its folders."""
    with_copies(t, {"on@gitm": True}, {"on@gitm": False, "p@m": True}, cwd="sub/deep", trusted="sub")


@tree("copilot")
def copilot_settings_telemetry(t: Tree) -> None:
    """Each key of `telemetry` voids the file."""
    t.git()
    t.write(t.home / SETTINGS, {"disabledSkills": ["off"], "telemetry": {"enabled": False}})
    t.skill(t.P / "off", "off")


@tree("copilot")
def copilot_excluded_tool(t: Tree) -> None:
    """Without the tool `skill`, the model gets no catalog."""
    t.git()
    t.args = ("--excluded-tools=shell,skill",)
    t.skill(t.P / "a", "a")


@tree("copilot")
def copilot_available_tools(t: Tree) -> None:
    """The same, if it is not one of the tools that are available."""
    t.git()
    t.args = ("--available-tools=shell,view",)
    t.skill(t.P / "a", "a")
