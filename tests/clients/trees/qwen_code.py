"""Extensions, folders and settings of Qwen Code, as `qwen extensions install` and a person write them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from clients._shared_trees import enable_extensions, skills_for_switches
from clients._trees import Tree, tree

if TYPE_CHECKING:
    from pathlib import Path

EXTENSIONS = ".qwen/extensions"


def extension(
    t: Tree, folder: str, *skills: str, name: str | None = None, manifest: Any = None, install: Any = None
) -> Path:
    """Write an extension as `qwen extensions install PATH` does, and return its folder."""
    place = t.home / EXTENSIONS / folder
    t.write(place / "qwen-extension.json", manifest or {"name": name or folder, "version": "1.0.0"})
    origin = {"type": "local", "originSource": "QwenCode", "externalContent": False}
    t.write(place / ".qwen-extension-install.json", install or {"source": str(t.root / "sources" / folder), **origin})
    for skill in skills:
        t.skill(place / "skills" / skill, f"{folder}-{skill}", name=skill)
    return place


def enable(t: Tree, rules: Any) -> None:
    """Write which extensions are enabled where."""
    enable_extensions(t, EXTENSIONS, rules)


def state(t: Tree, policies: dict[str, dict[str, Any]]) -> None:
    """Write the store of Qwen Code and the file of rules that it makes from it."""
    t.write(t.home / EXTENSIONS / "extension-enablement.json", "{}")
    rows = {}
    for number, (folder, policy) in enumerate(policies.items()):
        key = hashlib.sha256(str(t.root / "sources" / folder).encode()).hexdigest()
        rows[key] = {
            "name": folder,
            "artifactGeneration": number + 1,
            "defaultActivation": "enabled",
            "workspaceOverrides": {},
            **policy,
        }
    value = {
        "version": 2,
        "generation": len(rows),
        "legacyProjectionHash": hashlib.sha256(b"{}").hexdigest(),
        "extensions": rows,
    }
    t.write(t.home / ".qwen/extension-store/state.json", value)


@tree("qwen-code")
def qwen_extensions_installed(t: Tree) -> None:
    """Extensions that were installed from a folder and a repository or linked, and half of one."""
    t.git()
    copied = extension(t, "copied", "one", "two")
    t.skill(copied, "copied-root")
    t.skill(copied / "skills", "copied-skills-root")
    t.skill(copied / "skills/category/deep", "copied-deep")
    t.skill(copied / "skills/.hidden", "copied-hidden")
    t.skill(copied / "skills/node_modules", "copied-modules")
    extension(t, "cloned", "one", install={"source": "https://github.com/example/cloned", "type": "git"})
    source = t.root / "sources/linked"
    t.write(source / "qwen-extension.json", {"name": "linked", "version": "1.0.0"})
    t.skill(source / "skills/three", "linked-three")
    t.write(t.home / EXTENSIONS / "linked/.qwen-extension-install.json", {"source": str(source), "type": "link"})
    half = t.home / EXTENSIONS / "half"
    t.write(half / ".qwen-extension-install.json", {"source": str(t.root / "sources/half"), "type": "local"})
    t.skill(half / "skills/four", "half-four")
    hidden = t.home / EXTENSIONS / ".by-hand"
    t.write(hidden / "qwen-extension.json", {"name": "by-hand", "version": "1.0.0"})
    t.skill(hidden / "skills/six", "by-hand-six")
    t.write(t.home / EXTENSIONS / "notes.txt", "not an extension")
    t.skill(t.repo / EXTENSIONS / "local/skills/seven", "project-extension")
    t.write(t.repo / EXTENSIONS / "local/qwen-extension.json", {"name": "local", "version": "1.0.0"})


@tree("qwen-code")
def qwen_extensions_of_others(t: Tree) -> None:
    """What was made for Gemini CLI and Claude Code and converted when it was installed, and what was not."""
    t.git()
    gemini = extension(t, "gemini", "one", install={"source": "/s/gemini", "type": "local", "originSource": "Gemini"})
    t.write(gemini / "gemini-extension.json", {"name": "gemini", "version": "1.0.0"})
    claude = extension(t, "claude", "two", install={"source": "/s/claude", "type": "local", "originSource": "Claude"})
    t.write(claude / ".claude-plugin/plugin.json", {"name": "claude", "version": "1.0.0", "skills": ["./more"]})
    t.skill(claude / "more/three", "claude-more")
    market = {
        "name": "m",
        "owner": {"name": "x"},
        "plugins": [{"name": "p", "source": "./p", "skills": ["./skills/a"]}],
    }
    extension(
        t,
        "market",
        "four",
        manifest={"name": "market"},
        install={"source": "/s/m", "type": "local", "pluginName": "p", "marketplaceConfig": market},
    )
    raw = t.home / EXTENSIONS / "raw"
    t.write(raw / "gemini-extension.json", {"name": "raw", "version": "1.0.0"})
    t.skill(raw / "skills/five", "raw-gemini")
    bare = t.home / EXTENSIONS / "bare"
    t.write(bare / ".claude-plugin/plugin.json", {"name": "bare", "version": "1.0.0"})
    t.skill(bare / "skills/six", "raw-claude")
    t.skill(t.home / ".gemini/extensions/other/skills/seven", "gemini-own")
    t.write(t.home / ".gemini/extensions/other/gemini-extension.json", {"name": "other", "version": "1.0.0"})


@tree("qwen-code")
def qwen_extensions_same_name(t: Tree) -> None:
    """Skills with one name in two extensions, in the user's and the project's folders, and bundled."""
    t.git()
    extension(t, "aa", "same", "review", "flagged")
    extension(t, "bb", "same")
    t.skill(t.home / EXTENSIONS / "bb/skills/off", "bb-off", name="off", fm="disable-model-invocation: true\n")
    t.skill(t.home / EXTENSIONS / "bb/skills/late", "bb-late", name="late", fm='paths: ["**/*.x"]\n')
    t.skill(t.home / EXTENSIONS / "bb/skills/when", "bb-when", name="when", fm="when_to_use: Often.\n")
    t.skill(t.U / "same", "user", name="same")
    t.skill(t.P / "same", "project", name="same")
    t.skill(t.P / "loop", "bundled-name", name="loop")


@tree("qwen-code")
def qwen_extensions_one_name(t: Tree) -> None:
    """Two folders with the same extension: the last one counts, with all its skills."""
    t.git()
    origin = {"source": "/somewhere/same", "type": "local"}
    extension(t, "a-first", "one", "both", name="same", install=origin)
    extension(t, "b-second", "two", "both", name="same", install=origin)
    extension(t, "other", "one")


@tree("qwen-code")
def qwen_extensions_two_of_one_name(t: Tree) -> None:
    """Two extensions of one name from different places: the client does not start."""
    t.git()
    extension(t, "a-first", "one", name="same")
    extension(t, "b-second", "two", name="same")
    t.skill(t.U / "user", "user")


@tree("qwen-code")
def qwen_extensions_enabled(t: Tree) -> None:
    """Rules that enable and disable extensions, without the client's store."""
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
        "Case": ["!/*"],
    }
    for name in rules:
        extension(t, name, name)
    extension(t, "folder", "folder", name="manifest")
    enable(t, {**rules, "manifest": ["!/*"], "folder": ["/*"], "missing": ["!/*"]})


@tree("qwen-code")
def qwen_extensions_store(t: Tree) -> None:
    """The client's store: activation by default and by folder, and by skill."""
    t.git()
    here = str(t.repo)
    policies: dict[str, dict[str, Any]] = {
        "default-off": {"defaultActivation": "disabled"},
        "on-here": {"defaultActivation": "disabled", "workspaceOverrides": {here: "enabled"}},
        "off-here": {"workspaceOverrides": {here: "disabled"}},
        "inherit": {"workspaceOverrides": {here: "inherit"}, "legacyPathRules": ["!/*"]},
        "rules": {"legacyPathRules": [f"!{t.root}/*"]},
        "elsewhere": {"workspaceOverrides": {str(t.home): "disabled"}},
        "skill-off": {"skillWorkspaceOverrides": {here: {"one": False, "skill-off": True}}},
    }
    for name in policies:
        extension(t, name, name)
    t.skill(t.home / EXTENSIONS / "skill-off/skills/one", "skill-off-one", name="one")
    state(t, policies)
    projection = {
        "default-off": {"overrides": ["!/*"]},
        "on-here": {"overrides": ["!/*", f"{here}/"]},
        "off-here": {"overrides": [f"!{here}/"]},
        "inherit": {"overrides": ["!/*", f"{here}/"]},
        "rules": {"overrides": [f"!{t.root}/*"]},
        "elsewhere": {"overrides": [f"!{t.home}/"]},
    }
    t.write(t.home / EXTENSIONS / "extension-enablement.json", projection)
    import json

    text = json.dumps(projection, separators=(",", ":"))
    store = t.home / ".qwen/extension-store/state.json"
    content = json.loads(store.read_text())
    content["legacyProjectionHash"] = hashlib.sha256(text.encode()).hexdigest()
    t.write(store, content)


@tree("qwen-code")
def qwen_extensions_skill_states(t: Tree) -> None:
    """A manifest that switches off skills by default, and `skills.enabled` with and without the extension's name."""
    t.git()
    extension(
        t,
        "ext",
        "on",
        "off",
        "granted",
        "bare",
        manifest={"name": "ext", "version": "1", "skillStates": {"off": False, "granted": False, "bare": False}},
    )
    t.write(t.home / ".qwen/settings.json", {"skills": {"enabled": ["EXT:granted", "bare"]}})


@tree("qwen-code")
def qwen_extensions_rules_invalid(t: Tree) -> None:
    """A comment in the file of rules: the client does not start."""
    t.git()
    extension(t, "off", "one")
    enable(t, '{"off": {"overrides": ["!/*"]} // off\n}')
    t.skill(t.U / "user", "user")


@tree("qwen-code")
def qwen_extensions_broken_link(t: Tree) -> None:
    """A link to nothing among the extensions: the client does not start."""
    t.git()
    extension(t, "one", "one")
    t.link(t.home / EXTENSIONS / "gone", t.root / "nowhere")
    t.skill(t.U / "user", "user")


@tree("qwen-code")
def qwen_extensions_chosen(t: Tree) -> None:
    """`--extensions` chooses extensions, without case, whatever the rules say."""
    t.git()
    extension(t, "chosen", "one")
    extension(t, "folder", "two", name="Other")
    extension(t, "left", "three")
    enable(t, {"chosen": ["!/*"]})
    t.skill(t.U / "user", "user")
    t.args = ("--extensions", "CHOSEN", "other")


@tree("qwen-code")
def qwen_extensions_none(t: Tree) -> None:
    """`-e none` chooses no extension."""
    t.git()
    extension(t, "one", "one")
    t.skill(t.U / "user", "user")
    t.args = ("-e", "none")


@tree("qwen-code")
def qwen_extensions_manifests(t: Tree) -> None:
    """Manifests that the client accepts and skips."""
    t.git()
    manifests: dict[str, Any] = {
        "no-version": {"name": "no-version"},
        "no-name": {"version": "1"},
        "under_score": {"name": "under_score"},
        "dots": {"name": "a.b"},
        "blank": {"name": "a b"},
        "comment": '{"name": "comment" /* c */}',
        "mark": '\ufeff{"name": "mark"}',
        "not-utf8": b'{"name": "not-utf8", "description": "\xff"}',
        "a-list": "[]",
        "nothing": "null",
        "skills": {"name": "skills", "skills": ["./other"]},
        "servers": {"name": "servers", "mcpServers": "x"},
        "settings": {"name": "settings", "settings": 5},
        "context": {"name": "context", "contextFileName": 5},
    }
    for folder, manifest in manifests.items():
        place = extension(t, folder, folder, manifest=manifest)
        t.skill(place / "other/more", f"{folder}-more")


def skills(t: Tree) -> None:
    """Write some skills for the switches."""
    skills_for_switches(t)
    extension(t, "ext", "extra", "gamma", "other")


@tree("qwen-code")
def qwen_directories(t: Tree) -> None:
    """`skills.directories` of both files: absolute, below the home, relative, with blanks, missing, twice."""
    t.git()
    for number, folder in enumerate((t.home / "tilde", t.root / "absolute", t.repo / "relative", t.repo / "second")):
        t.skill(folder, f"root-{number}")
        t.skill(folder / "one", f"one-{number}")
        t.skill(folder / ".hidden", f"hidden-{number}")
        t.skill(folder / "category/deep", f"deep-{number}")
        t.skill(folder / "user", f"user-{number}", name="user")
        t.skill(folder / "project", f"project-{number}", name="project")
        t.skill(folder / "same", f"same-{number}", name="same")
    t.skill(t.U / "user", "user")
    t.skill(t.home / ".agents/skills/user", "shared-user", name="user")
    t.skill(t.P / "project", "project")
    t.write(t.home / ".qwen/settings.json", {"skills": {"directories": ["~/tilde", " relative ", "", 5, "nowhere"]}})
    more = ["./second", str(t.root / "absolute"), "~/tilde/", "relative/../relative"]
    t.write(t.repo / ".qwen/settings.json", {"skills": {"directories": more}})


@tree("qwen-code")
def qwen_directories_variables(t: Tree) -> None:
    """A variable in a folder that the settings name, and a text instead of a list."""
    t.git()
    t.skill(t.root / "more/one", "one")
    t.skill(t.root / "text/two", "two")
    t.write(t.home / ".qwen/settings.json", {"skills": {"directories": ["${MORE}", "$HOME/three"]}})
    t.write(t.repo / ".qwen/settings.json", {"skills": {"directories": str(t.root / "text")}})
    t.skill(t.home / "three/three", "three")
    t.env = {"MORE": str(t.root / "more")}


@tree("qwen-code")
def qwen_disabled_in_all_files(t: Tree) -> None:
    """`skills.disabled` of all four files together, trimmed and without case; with an extension's name or not."""
    skills(t)
    t.write(t.home / ".qwen/settings.json", {"skills": {"disabled": ["ALPHA", " delta ", 5, "extra"]}})
    t.write(t.repo / ".qwen/settings.json", {"skills": {"disabled": ["both"]}})
    t.write(t.etc / "qwen-code/settings.json", {"skills": {"disabled": ["ext:gamma"]}})
    t.write(t.etc / "qwen-code/system-defaults.json", {"skills": {"disabled": ["project"]}})


@tree("qwen-code")
def qwen_disabled_by_default(t: Tree) -> None:
    """`skills.defaultDisabled` of one file, `skills.enabled` of another."""
    skills(t)
    t.write(
        t.home / ".qwen/settings.json",
        {"skills": {"defaultDisabled": ["alpha", "beta", "ext:extra", "gamma", "other"], "disabled": ["delta"]}},
    )
    t.write(t.repo / ".qwen/settings.json", {"skills": {"enabled": ["Alpha ", "extra", "ext:gamma", "other", "delta"]}})


@tree("qwen-code")
def qwen_disabled_levels(t: Tree) -> None:
    """`skills.disabledLevels`: what the project's skills hid comes up."""
    skills(t)
    t.write(t.home / ".qwen/settings.json", {"skills": {"disabledLevels": ["project", "nothing"]}})
    t.write(t.repo / ".qwen/settings.json", {"skills": {"disabledLevels": ["extension"]}})


@tree("qwen-code")
def qwen_disabled_level_user(t: Tree) -> None:
    """`skills.disabledLevels` with `user` covers the folders of the settings."""
    skills(t)
    t.skill(t.root / "more/one", "one")
    t.write(
        t.home / ".qwen/settings.json",
        {"skills": {"disabledLevels": ["user", "bundled"], "directories": [str(t.root / "more")]}},
    )


@tree("qwen-code")
def qwen_disabled_texts(t: Tree) -> None:
    """A text instead of a list counts if a lower file has a list; comments and a byte order mark are fine."""
    skills(t)
    t.write(t.home / ".qwen/settings.json", '\ufeff{"skills": {"disabled": ["beta"], "enabled": "x"} // c\n}')
    t.write(t.repo / ".qwen/settings.json", {"skills": {"disabled": "alpha", "defaultDisabled": "gamma"}})


@tree("qwen-code")
def qwen_settings_of_the_project_invalid(t: Tree) -> None:
    """A trailing comma in the project's settings: they are reset."""
    skills(t)
    t.write(t.home / ".qwen/settings.json", {"skills": {"disabled": ["beta"]}})
    t.write(t.repo / ".qwen/settings.json", '{"skills": {"disabled": ["alpha"],}}')


@tree("qwen-code")
def qwen_settings_of_the_user_invalid(t: Tree) -> None:
    """A trailing comma in the user's settings: the client does not start."""
    skills(t)
    t.write(t.home / ".qwen/settings.json", '{"skills": {"disabled": ["alpha"],}}')


@tree("qwen-code")
def qwen_settings_of_the_project_list(t: Tree) -> None:
    """Settings of the project that are a list: the client does not start."""
    skills(t)
    t.write(t.repo / ".qwen/settings.json", [])


@tree("qwen-code")
def qwen_untrusted(t: Tree) -> None:
    """Folder trust is on and no folder is trusted: the project's skills stay, its settings do not count."""
    skills(t)
    t.write(t.home / ".qwen/settings.json", {"security": {"folderTrust": {"enabled": True}}})
    t.write(t.repo / ".qwen/settings.json", {"skills": {"disabled": ["alpha"]}})


@tree("qwen-code")
def qwen_trusted(t: Tree) -> None:
    """The deepest folder of `trustedFolders.json` decides, by its parent where it says so."""
    skills(t)
    t.write(t.home / ".qwen/settings.json", {"security": {"folderTrust": {"enabled": True}}})
    t.write(t.repo / ".qwen/settings.json", {"skills": {"disabled": ["alpha"]}})
    folders = {str(t.root): "DO_NOT_TRUST", f"{t.repo}/sub": "TRUST_PARENT", f"{t.repo}/other": "DO_NOT_TRUST"}
    t.write(t.home / ".qwen/trustedFolders.json", folders)


@tree("qwen-code")
def qwen_trusted_tie(t: Tree) -> None:
    """Of two folders that are equally deep, the one that is not trusted decides; the project cannot trust itself."""
    skills(t)
    t.write(t.home / ".qwen/settings.json", {"security": {"folderTrust": {"enabled": True}}})
    t.write(
        t.repo / ".qwen/settings.json",
        {"skills": {"disabled": ["alpha"]}, "security": {"folderTrust": {"enabled": False}}},
    )
    folders = {f"{t.repo}/sub": "TRUST_PARENT", str(t.repo): "DO_NOT_TRUST"}
    t.write(t.home / ".qwen/trustedFolders.json", folders)


@tree("qwen-code")
def qwen_trust_off(t: Tree) -> None:
    """With folder trust off, a list of folders does not count."""
    skills(t)
    t.write(t.repo / ".qwen/settings.json", {"skills": {"disabled": ["alpha"]}})
    t.write(t.home / ".qwen/trustedFolders.json", {str(t.repo): "DO_NOT_TRUST"})


@tree("qwen-code")
def qwen_folders_of_installers(t: Tree) -> None:
    """Folders that an installer left behind are skipped in every root."""
    t.git()
    place = extension(t, "ext", "extra")
    for number, folder in enumerate((t.P, t.U, place / "skills")):
        t.skill(folder / "a.backup-1-2", f"backup-{number}")
        t.skill(folder / "b.installing-34-5", f"installing-{number}")
        t.skill(folder / "c.backup-1", f"other-{number}")
        t.skill(folder / "d.backup-1-2-old", f"old-{number}")


@tree("qwen-code")
def qwen_paths(t: Tree) -> None:
    """`paths` with absolute patterns, with `..`, empty and of other types."""
    t.git()
    values = {
        "absolute": '["/src/**"]',
        "drive": '["C:/src"]',
        "parent": '["src/../x"]',
        "dots": '["src/..x/*"]',
        "backslash": "['..\\x']",
        "empty-list": "[]",
        "blank": '[" "]',
        "number": "[5]",
        "null": "null",
        "null-item": "[null]",
        "map-item": "[{a: b}]",
        "list-item": "[[a, b]]",
        "empty-item": "['']",
        "false-item": "[false]",
        "text": "src",
        "map": "{a: b}",
        "mixed": '["ok", "/no"]',
    }
    for name, value in values.items():
        t.skill(t.P / name, name, fm=f"paths: {value}\n")
    t.skill(t.P / "block", "block", fm="paths:\n  - /x\n")
    t.skill(t.P / "nothing", "nothing", fm="paths:\n")


@tree("qwen-code")
def qwen_when_to_use(t: Tree) -> None:
    """`when_to_use` counts if it is text."""
    t.git()
    values = {
        "text": "Often.",
        "quoted": "'5'",
        "number": "5",
        "bool": "true",
        "null": "null",
        "empty": "''",
        "list": "[a, b]",
        "map": "{a: b}",
        "date": "2026-01-02",
        "blank": "' '",
        "folded": ">\n  Two\n  lines.",
        "literal": "|\n  Two\n  lines.",
    }
    for name, value in values.items():
        t.skill(t.P / name, name, fm=f"when_to_use: {value}\n")


@tree("qwen-code")
def qwen_settings_variables(t: Tree) -> None:
    """Variables in texts of settings: a default does not count, white space around a folder is removed."""
    skills(t)
    disabled = ["$ONE", "${TWO}", "${MISSING:-gamma}", "${ONE:-delta}"]
    folders = [f"  {t.root / 'more'} ", "${FOLDER}/skills"]
    t.write(t.home / ".qwen/settings.json", {"skills": {"disabled": disabled, "directories": folders}})
    t.env = {"ONE": "alpha", "TWO": "beta", "FOLDER": str(t.root / "by-variable")}
    t.skill(t.root / "more/listed", "listed")
    t.skill(t.root / "by-variable/skills/by-variable", "by-variable")
