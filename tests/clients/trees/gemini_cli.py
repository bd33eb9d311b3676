"""Extensions and settings of Gemini CLI, as `gemini extensions install`, `link`, `disable` and a person write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clients._shared_trees import enable_extensions, skills_for_switches
from clients._trees import Tree, tree

if TYPE_CHECKING:
    from pathlib import Path

EXTENSIONS = ".gemini/extensions"


def extension(
    t: Tree, folder: str, *skills: str, name: str | None = None, manifest: Any = None, install: Any = None
) -> Path:
    """Write an extension as `gemini extensions install PATH` does, and return its folder."""
    place = t.home / EXTENSIONS / folder
    t.write(place / "gemini-extension.json", manifest or {"name": name or folder, "version": "1.0.0"})
    source = {"source": str(t.root / "sources" / folder), "type": "local"}
    t.write(place / ".gemini-extension-install.json", install or source)
    for skill in skills:
        t.skill(place / "skills" / skill, f"{folder}-{skill}", name=skill)
    return place


def enable(t: Tree, rules: Any) -> None:
    """Write which extensions are enabled where."""
    enable_extensions(t, EXTENSIONS, rules)


@tree("gemini-cli")
def gemini_extensions_installed(t: Tree) -> None:
    """Extensions that were installed from a folder and a repository or linked, and half of one."""
    t.git()
    copied = extension(t, "copied", "one")
    t.skill(copied, "copied-root")
    t.skill(copied / "skills", "copied-skills-root")
    t.skill(copied / "skills/category/deep", "copied-deep")
    t.skill(copied / "skills/.hidden", "copied-hidden")
    t.skill(copied / "skills/node_modules", "copied-modules")
    t.skill(copied / "commands/command", "copied-command")
    extension(t, "cloned", "two", install={"source": "https://github.com/example/cloned", "type": "git"})
    source = t.root / "sources/linked"
    t.write(source / "gemini-extension.json", {"name": "linked", "version": "1.0.0"})
    t.skill(source / "skills/three", "linked-three")
    linked = t.home / EXTENSIONS / "linked"
    t.write(linked / ".gemini-extension-install.json", {"source": str(source), "type": "link"})
    t.skill(linked / "skills/own", "linked-own")
    half = t.home / EXTENSIONS / "half"
    t.write(half / ".gemini-extension-install.json", {"source": str(t.root / "sources/half"), "type": "local"})
    t.skill(half / "skills/four", "half-four")
    gone = t.home / EXTENSIONS / "gone"
    t.write(gone / "gemini-extension.json", {"name": "gone", "version": "1.0.0"})
    t.write(gone / ".gemini-extension-install.json", {"source": str(t.root / "sources/gone"), "type": "link"})
    t.skill(gone / "skills/five", "gone-five")
    by_hand = t.home / EXTENSIONS / ".by-hand"
    t.write(by_hand / "gemini-extension.json", {"name": "by-hand", "version": "1.0.0"})
    t.skill(by_hand / "skills/six", "by-hand-six")
    t.skill(t.repo / EXTENSIONS / "local/skills/seven", "project-extension")
    t.write(t.repo / EXTENSIONS / "local/gemini-extension.json", {"name": "local", "version": "1.0.0"})
    enable(t, {name: [f"{t.home}/*"] for name in ("copied", "cloned", "linked")})


@tree("gemini-cli")
def gemini_extensions_links(t: Tree) -> None:
    """Links in the folder of extensions, in an extension, and relative sources of linked ones."""
    t.git()
    sources = t.root / "sources"
    t.write(sources / "whole/gemini-extension.json", {"name": "whole", "version": "1.0.0"})
    t.skill(sources / "whole/skills/one", "whole-one")
    t.link(t.home / EXTENSIONS / "whole", sources / "whole")
    t.link(t.home / EXTENSIONS / "broken", sources / "nowhere")
    t.write(t.home / EXTENSIONS / "notes.txt", "not an extension")
    inside = extension(t, "inside")
    t.skill(sources / "skill", "inside-linked")
    t.link(inside / "skills/two", sources / "skill")
    outside = extension(t, "outside")
    t.skill(sources / "skills/three", "outside-three")
    t.link(outside / "skills", sources / "skills")
    t.write(t.repo / "../sources/relative/gemini-extension.json", {"name": "relative", "version": "1.0.0"})
    t.skill(sources / "relative/skills/four", "relative-four")
    extension(t, "relative", "own", install={"source": "../sources/relative", "type": "link"})
    t.skill(sources / "tilde/skills/five", "tilde-five")
    t.write(sources / "tilde/gemini-extension.json", {"name": "tilde", "version": "1.0.0"})
    extension(t, "tilde", "own", install={"source": "~/../sources/tilde", "type": "link"})
    extension(t, "unnamed", "own", install={"type": "link"})
    extension(t, "untyped", "own", install={"source": str(sources / "whole")})
    extension(t, "listed", "own", install=[1])


@tree("gemini-cli")
def gemini_extensions_same_name(t: Tree) -> None:
    """Skills with one name in several extensions, in the user's and the project's folders, and built in."""
    t.git()
    for folder in ("mm", "zz", "aa", "Bb"):
        extension(t, folder, "many", "user", "project", "skill-creator")
    extension(t, "zzz", "Many", "many")
    enable(t, {"zzz": [f"!{t.root}/*"]})
    t.skill(t.U / "user", "user")
    t.skill(t.home / ".agents/skills/project", "shared-project", name="project")
    t.skill(t.P / "project", "project")


@tree("gemini-cli")
def gemini_extensions_enabled(t: Tree) -> None:
    """Rules that enable and disable extensions: by scope, with and without `*`, in this order, by manifest's name."""
    t.git()
    repo, root = t.repo, t.root
    rules = {
        "user-off": [f"!{t.home}/*"],
        "workspace-off": [f"{t.home}/*", f"!{repo}/*"],
        "workspace-on": ["!/*", f"{repo}/*"],
        "order": [f"{repo}/*", "!/*"],
        "no-slash": [f"!{repo}"],
        "slash": [f"!{repo}/"],
        "star": [f"!{repo}*"],
        "middle": [f"!{root.parent}/*/repo/"],
        "below": [f"!{repo}/sub/*"],
        "dot": [f"!{str(repo).replace('repo', 're.o')}/*"],
        "all": ["!*"],
        "twice": ["!/*", "/*"],
        "folder": ["!/*"],
        "empty": [],
        "Case": ["!/*"],
    }
    for name in rules:
        extension(t, name, name, name="renamed" if name == "folder" else name)
    extension(t, "case", "lower")
    extension(t, "other", "other", name="manifest")
    enable(t, {**rules, "manifest": ["!/*"], "missing": ["!/*"]})


@tree("gemini-cli")
def gemini_extensions_enabled_below_home(t: Tree) -> None:
    """A project below the home, where `!HOME/*` of `gemini extensions disable` counts."""
    t.cwd = t.home / "work/project"
    t.git(t.cwd)
    for name in ("plain", "user-off", "user-off-here-on"):
        extension(t, name, name)
    enable(
        t,
        {
            "plain": [f"{t.home}/*"],
            "user-off": [f"!{t.home}/*"],
            "user-off-here-on": [f"!{t.home}/*", f"{t.cwd}/*"],
        },
    )
    t.skill(t.cwd / ".gemini/skills/project", "project")


@tree("gemini-cli")
def gemini_extensions_rules_invalid(t: Tree) -> None:
    """One list of rules with a number voids the file, so that all extensions are enabled."""
    t.git()
    extension(t, "off", "one")
    extension(t, "bad", "two")
    t.write(
        t.home / EXTENSIONS / "extension-enablement.json", {"off": {"overrides": ["!/*"]}, "bad": {"overrides": [1]}}
    )


@tree("gemini-cli")
def gemini_extensions_rules_comment(t: Tree) -> None:
    """A comment in the file of rules voids it."""
    t.git()
    extension(t, "off", "one")
    enable(t, '{"off": {"overrides": ["!/*"]} // off\n}')


@tree("gemini-cli")
def gemini_extensions_chosen(t: Tree) -> None:
    """`--extensions` chooses extensions, without case, whatever the rules say."""
    t.git()
    extension(t, "chosen", "one")
    extension(t, "folder", "two", name="Other")
    extension(t, "left", "three")
    enable(t, {"chosen": ["!/*"]})
    t.skill(t.U / "user", "user")
    t.skill(t.P / "project", "project")
    t.args = ("--extensions", "CHOSEN,other")


@tree("gemini-cli")
def gemini_extensions_chosen_twice(t: Tree) -> None:
    """`-e` can be given several times."""
    t.git()
    for name in ("one", "two", "three"):
        extension(t, name, f"skill-{name}")
    t.args = ("-e", "one", "-e", "two")


@tree("gemini-cli")
def gemini_extensions_none(t: Tree) -> None:
    """`-e none` chooses no extension."""
    t.git()
    extension(t, "one", "one")
    t.skill(t.U / "user", "user")
    t.args = ("-e", "none")


@tree("gemini-cli")
def gemini_extensions_manifests(t: Tree) -> None:
    """Manifests that the client accepts and skips: names, versions, comments, byte order marks, wrong types."""
    t.git()
    manifests: dict[str, Any] = {
        "no-version": {"name": "no-version"},
        "empty-version": {"name": "empty-version", "version": ""},
        "zero-version": {"name": "zero-version", "version": 0},
        "number-version": {"name": "number-version", "version": 1.5},
        "true-version": {"name": "true-version", "version": True},
        "no-name": {"version": "1"},
        "number-name": {"name": 5, "version": "1"},
        "list-name": {"name": ["a"], "version": "1"},
        "under-score": {"name": "under_score", "version": "1"},
        "dots": {"name": "a.b", "version": "1"},
        "blank": {"name": "a b", "version": "1"},
        "dash": {"name": "-", "version": "1"},
        "comment": '{"name": "comment", /* c */ "version": "1"}',
        "trailing": '{"name": "trailing", "version": "1",}',
        "mark": '\ufeff{"name": "mark", "version": "1"}',
        "utf16": '{"name": "utf16", "version": "1"}'.encode("utf-16"),
        "not-utf8": b'{"name": "not-utf8", "version": "1", "description": "\xff"}',
        "twice": '{"name": "first", "name": "second", "version": "1"}',
        "blanks": '\n {"name": "blanks", "version": "1"}\n\n',
        "a-list": "[]",
        "a-text": '"text"',
        "nothing": "null",
        "not-a-number": '{"name": "not-a-number", "version": NaN}',
        "skills": {"name": "skills", "version": "1", "skills": ["./other"]},
        "context": {"name": "context", "version": "1", "contextFileName": 5},
        "servers": {"name": "servers", "version": "1", "mcpServers": "x"},
        "null-server": {"name": "null-server", "version": "1", "mcpServers": {"a": None}},
        "settings": {"name": "settings", "version": "1", "settings": 5},
        "text-settings": {"name": "text-settings", "version": "1", "settings": "x"},
        "null-setting": {"name": "null-setting", "version": "1", "settings": [None]},
        "home": {"name": "${HOME}x", "version": "1"},
        "variable": {"name": "variable", "version": "${workspacePath}"},
    }
    for folder, manifest in manifests.items():
        place = extension(t, folder, folder, manifest=manifest)
        t.skill(place / "other/more", f"{folder}-more")


@tree("gemini-cli")
def gemini_extensions_one_name(t: Tree) -> None:
    """Two extensions of one name: the client does not start."""
    t.git()
    extension(t, "one", "one", name="same")
    extension(t, "two", "two", name="same")
    enable(t, {"same": ["!/*"]})
    t.skill(t.U / "user", "user")


@tree("gemini-cli")
def gemini_extensions_tools_number(t: Tree) -> None:
    """A number for `excludeTools` of one manifest: the client does not start."""
    t.git()
    extension(t, "one", "one", manifest={"name": "one", "version": "1", "excludeTools": 5})
    t.skill(t.U / "user", "user")


def skills(t: Tree) -> None:
    """Write some skills for the switches."""
    skills_for_switches(t)
    extension(t, "ext", "extra", "gamma")


@tree("gemini-cli")
def gemini_disabled_in_all_files(t: Tree) -> None:
    """`skills.disabled` of user, project, system and its defaults together, without case and not trimmed."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", {"skills": {"disabled": ["ALPHA", " delta ", "both"]}})
    t.write(t.repo / ".gemini/settings.json", {"skills": {"disabled": ["Beta"]}})
    t.write(t.etc / "gemini-cli/settings.json", {"skills": {"disabled": ["extra"]}})
    t.write(t.etc / "gemini-cli/system-defaults.json", {"skills": {"disabled": ["project"]}})


@tree("gemini-cli")
def gemini_disabled_texts(t: Tree) -> None:
    """One name instead of a list, comments, and variables."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", '{"skills": {"disabled": "alpha"} // one\n}')
    t.write(
        t.repo / ".gemini/settings.json", '{"skills": {"disabled": ["$NAME", "${OTHER:-gamma}", "${MISSING}"] /* c */}}'
    )
    t.env = {"NAME": "beta"}


@tree("gemini-cli")
def gemini_disabled_bad_neighbours(t: Tree) -> None:
    """Wrong values of other keys, and keys that are not the client's."""
    skills(t)
    t.write(
        t.home / ".gemini/settings.json",
        {
            "skills": {"disabled": ["alpha"], "directories": ["x"]},
            "ui": "x",
            "extensions": {"disabled": ["ext"]},
            "admin": {"skills": {"enabled": False}, "extensions": {"enabled": False}},
            "experimental": {"skills": False, "extensionManagement": False},
            "context": {"includeDirectories": [str(t.root / "more")]},
            "unknown": 1,
        },
    )
    t.skill(t.root / "more/.gemini/skills/included", "included")


@tree("gemini-cli")
def gemini_disabled_replaced(t: Tree) -> None:
    """A project's `skills` that is no table replaces the user's."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", {"skills": {"disabled": ["alpha"]}})
    t.write(t.repo / ".gemini/settings.json", {"skills": "x"})


@tree("gemini-cli")
def gemini_disabled_null(t: Tree) -> None:
    """`null` in the list of disabled skills: the client does not start."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", {"skills": {"disabled": ["alpha", None]}})


@tree("gemini-cli")
def gemini_enabled_by_the_last(t: Tree) -> None:
    """`skills.enabled`: the project's counts more than the user's."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", {"skills": {"enabled": False}})
    t.write(t.repo / ".gemini/settings.json", {"skills": {"enabled": True, "disabled": ["beta"]}})


@tree("gemini-cli")
def gemini_enabled_by_the_system(t: Tree) -> None:
    """`skills.enabled`: the system's counts more than the project's."""
    skills(t)
    t.write(t.etc / "gemini-cli/settings.json", {"skills": {"enabled": False}})
    t.write(t.repo / ".gemini/settings.json", {"skills": {"enabled": True}})


@tree("gemini-cli")
def gemini_enabled_text(t: Tree) -> None:
    """`skills.enabled: "false"` counts where all other values of the file are right."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", {"skills": {"enabled": "false"}})


@tree("gemini-cli")
def gemini_settings_trailing_comma(t: Tree) -> None:
    """A trailing comma in the project's settings: the client does not start."""
    skills(t)
    t.write(t.repo / ".gemini/settings.json", '{"ui": {},}')


@tree("gemini-cli")
def gemini_settings_mark(t: Tree) -> None:
    """A byte order mark in the user's settings: the client does not start."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", "\ufeff{}")


@tree("gemini-cli")
def gemini_settings_list(t: Tree) -> None:
    """Settings that are a list: the client does not start."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", [])


@tree("gemini-cli")
def gemini_settings_of_the_home(t: Tree) -> None:
    """The client is started in the home: its settings count once, its skills are the user's and the project's."""
    t.cwd = t.home
    t.skill(t.U / "one", "one")
    t.skill(t.home / ".agents/skills/two", "two")
    t.skill(t.home / ".agents/skills/one", "shared-one", name="one")
    t.write(t.home / ".gemini/settings.json", {"skills": {"disabled": ["two"]}})


def of_all_sources(t: Tree, security: Any) -> None:
    """Write an extension of each source, and settings that allow only some."""
    t.git()
    t.write(t.home / ".gemini/settings.json", {"security": security})
    extension(t, "copied", "of-copied")
    extension(t, "cloned", "of-cloned", install={"source": "https://github.com/example/cloned", "type": "git"})
    extension(t, "other", "of-other", install={"source": "https://github.com/else/other.git", "type": "git"})
    release = {"source": "https://github.com/example/release", "type": "github-release"}
    extension(t, "release", "of-release", install=release)
    source = t.root / "sources/linked"
    t.write(source / "gemini-extension.json", {"name": "linked", "version": "1.0.0"})
    t.skill(source / "skills/of-linked", "linked-of-linked", name="of-linked")
    t.write(t.home / EXTENSIONS / "linked/.gemini-extension-install.json", {"source": str(source), "type": "link"})
    t.skill(t.U / "user", "user")


@tree("gemini-cli")
def gemini_extensions_git_blocked(t: Tree) -> None:
    """`security.blockGitExtensions`: extensions from repositories are skipped."""
    of_all_sources(t, {"blockGitExtensions": True})


@tree("gemini-cli")
def gemini_extensions_allowed(t: Tree) -> None:
    """`security.allowedExtensions`: an expression for a repository, and one for a folder; the other setting is moot."""
    patterns = [r"https:/github\.com/example/.*$", "/sources/linked$"]
    of_all_sources(t, {"allowedExtensions": patterns, "blockGitExtensions": True})


@tree("gemini-cli")
def gemini_extensions_allowed_urls(t: Tree) -> None:
    """Expressions as the documentation shows them: they begin with the address, and match none."""
    of_all_sources(t, {"allowedExtensions": [r"^https://github\.com/example/.*", r"sources/(copied|nothing)$"]})


@tree("gemini-cli")
def gemini_extensions_allowed_empty(t: Tree) -> None:
    """An empty list allows all."""
    of_all_sources(t, {"allowedExtensions": []})


@tree("gemini-cli")
def gemini_extensions_allowed_invalid(t: Tree) -> None:
    """An expression that is invalid: the client does not start."""
    of_all_sources(t, {"allowedExtensions": ["/sources/(copied"]})


@tree("gemini-cli")
def gemini_extensions_allowed_unknown(t: Tree) -> None:
    """An extension without a source, and a list of sources that are allowed: the client does not start."""
    of_all_sources(t, {"allowedExtensions": ["sources"]})
    by_hand = t.home / EXTENSIONS / "by-hand"
    t.write(by_hand / "gemini-extension.json", {"name": "by-hand", "version": "1.0.0"})
    t.skill(by_hand / "skills/of-hand", "of-hand")


@tree("gemini-cli")
def gemini_extensions_variables(t: Tree) -> None:
    """Variables in the names and descriptions of an extension's skills, and of others."""
    t.git()
    place = extension(t, "ext", "plain")
    for name, text in {
        "path": "in ${extensionPath}",
        "workspace": "in ${workspacePath}${/}docs",
        "separator": "a${pathSeparator}b",
        "unknown": "${HOME} ${extensionpath} ${} $extensionPath",
        "open": "${extensionPath",
    }.items():
        t.skill(place / "skills" / name, name, desc=f"[[{name}]] {text}")
        t.skill(t.U / f"own-{name}", f"own-{name}", desc=f"[[own-{name}]] {text}")
    t.skill(place / "skills/named", "named", name="a${/}b")


@tree("gemini-cli")
def gemini_home_moved(t: Tree) -> None:
    """GEMINI_CLI_HOME moves settings, skills and extensions."""
    t.git()
    extension(t, "stays", "of-stays")
    t.skill(t.U / "user", "user")
    t.skill(t.home / ".agents/skills/shared", "shared")
    other = t.root / "other"
    t.env = {"GEMINI_CLI_HOME": str(other)}
    t.skill(other / ".gemini/skills/moved", "moved")
    t.skill(other / ".gemini/skills/off", "off")
    t.skill(other / ".agents/skills/moved-shared", "moved-shared")
    t.write(other / ".gemini/settings.json", {"skills": {"disabled": ["off"]}})
    place = other / EXTENSIONS / "ext"
    t.write(place / "gemini-extension.json", {"name": "ext", "version": "1.0.0"})
    t.skill(place / "skills/of-ext", "of-ext")


@tree("gemini-cli")
def gemini_settings_mixed_types(t: Tree) -> None:
    """Values of wrong types beside a list of names and a switch."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", {"skills": {"disabled": ["ALPHA"], "enabled": "false"}, "general": 5})
    t.write(t.repo / ".gemini/settings.json", {"skills": {"disabled": {"beta": True}}, "ui": {"theme": 7}})


@tree("gemini-cli")
def gemini_settings_odd_types(t: Tree) -> None:
    """Values of wrong types that the client survives."""
    skills(t)
    odd = {"tools": {"exclude": "x"}, "mcpServers": {"a": 5}, "context": {"fileName": None}, "ui": 5, "model": "pro"}
    t.write(t.home / ".gemini/settings.json", {**odd, "skills": {"disabled": ["alpha"]}})


def of_a_wrong_type(name: str, value: Any) -> None:
    """Register a tree with a value that the client does not survive."""

    def fill(t: Tree) -> None:
        skills(t)
        t.write(t.home / ".gemini/settings.json", value)

    fill.__name__ = f"gemini_settings_wrong_{name}"
    fill.__doc__ = f"A value of a wrong type that ends the client: {value}."
    tree("gemini-cli")(fill)


of_a_wrong_type("names_of_files", {"context": {"fileName": [5]}})
of_a_wrong_type("folders", {"context": {"includeDirectories": "docs"}})
of_a_wrong_type("tools", {"tools": {"core": "ls"}})
of_a_wrong_type("server", {"mcpServers": {"a": None}})
of_a_wrong_type("security", {"security": 5})


@tree("gemini-cli")
def gemini_disabled_replaced_by_a_list(t: Tree) -> None:
    """A project that writes the names below `skills` itself: they count for nothing, and those of the user neither."""
    skills(t)
    t.write(t.home / ".gemini/settings.json", {"skills": {"disabled": ["beta"]}})
    t.write(t.repo / ".gemini/settings.json", {"skills": ["gamma"]})
