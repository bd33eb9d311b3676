"""Places of Copilot CLI that variables, arguments and spellings move, and what its list and its model see apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clients._trees import Tree, tree

if TYPE_CHECKING:
    from collections.abc import Mapping

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
