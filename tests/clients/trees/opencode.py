"""What opencode's configuration does: folders that it names, permissions, merged files, variables.

opencode has no installer of skills; its users write these files by hand, as its documentation shows them.
"""

from __future__ import annotations

from clients._trees import Tree, tree

SCHEMA = {"$schema": "https://opencode.ai/config.json"}
GLOBAL = ".config/opencode"


def three(t: Tree) -> None:
    """One skill of the project, one of the user, one of the project for all agents."""
    t.git()
    t.skill(t.P / "mine", "mine")
    t.skill(t.U / "users", "users")
    t.skill(t.repo / ".agents/skills/shared", "shared")


@tree("opencode")
def opencode_paths(t: Tree) -> None:
    """`skills.paths` of the user: absolute, `~/`, relative to the working directory, a skill itself, hidden folders."""
    three(t)
    t.cwd = t.repo / "app"
    t.skill(t.cwd / "extra/one", "relative-to-cwd")
    t.skill(t.repo / "extra/one", "relative-to-root")
    t.skill(t.home / "extra/one", "relative-to-home")
    t.skill(t.home / GLOBAL / "extra/one", "relative-to-file")
    t.skill(t.home / "tilde/a/b/c/deep", "tilde-deep")
    t.skill(t.home / "tilde/a", "tilde-category")
    t.skill(t.home / "tilde/.hidden/x", "tilde-hidden")
    t.skill(t.home / "tilde/node_modules/x", "tilde-modules")
    t.skill(t.home / ".dotted/x", "dotted")
    t.skill(t.root / "shared/whole", "whole")
    t.skill(t.root / "shared/whole/inner", "whole-inner")
    t.skill(t.root / "single/x", "named-file")
    t.skill(t.home / "variable/x", "variable")
    paths = ["extra", "~/tilde", "~/.dotted", str(t.root / "shared/whole"), str(t.root / "single/x/SKILL.md")]
    t.write(t.home / GLOBAL / "opencode.json", {**SCHEMA, "skills": {"paths": [*paths, "$HOME/variable", "~", "no"]}})


@tree("opencode")
def opencode_paths_replaced(t: Tree) -> None:
    """`skills.paths` of several files: the last one replaces the others, and `~/.opencode` comes after the project."""
    three(t)
    for name in ("global", "globalc", "project", "projectc", "folder", "home"):
        t.skill(t.root / f"from-{name}/{name}", name)
    for name, path in (
        ("global", t.home / GLOBAL / "opencode.json"),
        ("globalc", t.home / GLOBAL / "opencode.jsonc"),
        ("project", t.repo / "opencode.json"),
        ("projectc", t.repo / "opencode.jsonc"),
        ("folder", t.repo / ".opencode/opencode.json"),
        ("home", t.home / ".opencode/opencode.json"),
    ):
        t.write(path, {**SCHEMA, "skills": {"paths": [str(t.root / f"from-{name}")]}})


@tree("opencode")
def opencode_levels(t: Tree) -> None:
    """opencode.json of the folder wins over that of its parent, `.opencode` of the parent over that of the folder."""
    t.git()
    t.cwd = t.repo / "app"
    for name in ("a", "b", "c"):
        t.skill(t.P / name, name)
    t.write(t.repo / "opencode.json", {**SCHEMA, "permission": {"skill": {"a": "deny", "b": "deny"}}})
    t.write(t.cwd / "opencode.json", {**SCHEMA, "permission": {"skill": {"a": "allow"}}})
    t.write(t.repo / ".opencode/opencode.json", {**SCHEMA, "permission": {"skill": {"c": "deny"}}})
    t.write(t.cwd / ".opencode/opencode.json", {**SCHEMA, "permission": {"skill": {"c": "allow"}}})


@tree("opencode")
def opencode_no_git(t: Tree) -> None:
    """Without a repository the configuration of all parents counts."""
    t.cwd = t.root / "work/project/app"
    t.skill(t.cwd / ".opencode/skills/near", "near")
    t.skill(t.root / "work/.opencode/skills/far", "far")
    t.skill(t.cwd / "more/x", "more")
    t.write(t.root / "work/opencode.json", {**SCHEMA, "permission": {"skill": {"near": "deny"}}})
    t.write(t.root / "work/project/.opencode/opencode.jsonc", {**SCHEMA, "skills": {"paths": ["more"]}})


@tree("opencode")
def opencode_permissions(t: Tree) -> None:
    """`permission.skill` of three files: the last pattern that matches counts, where the key came first."""
    t.git()
    for name in ("a", "ab", "abc", "Ab", "b-1", "c", "d", "d *"):
        t.skill(t.P / name.replace("*", "star"), name, name=f'"{name}"')
    user = {"ab": "allow", "b?1": "deny", "c": "deny"}
    t.write(t.home / GLOBAL / "opencode.json", {**SCHEMA, "permission": {"skill": user}})
    project = {"a*": "deny", "abc": "ask", "c": "allow", "d *": "deny", "[a]": "deny"}
    t.write(t.repo / "opencode.json", {**SCHEMA, "permission": {"edit": "deny", "skill": project}})
    t.write(t.repo / ".opencode/opencode.json", {**SCHEMA, "permission": {"skill": {"ab": "allow"}}})


@tree("opencode")
def opencode_permission_tools(t: Tree) -> None:
    """Permissions of all tools, and of tools by a pattern, before and after those of skills."""
    three(t)
    t.write(t.home / GLOBAL / "opencode.jsonc", '{\n  // nothing at first\n  "permission": "deny",\n}\n')
    t.write(t.repo / "opencode.json", {**SCHEMA, "permission": {"skill": {"mine": "allow"}, "sk*": {"users": "ask"}}})


@tree("opencode")
def opencode_permission_word(t: Tree) -> None:
    """One word for all skills sends no catalog."""
    three(t)
    t.write(t.repo / "opencode.json", {**SCHEMA, "permission": {"skill": "deny"}})


@tree("opencode")
def opencode_tools(t: Tree) -> None:
    """`tools.skill: false` sends no catalog."""
    three(t)
    t.write(t.repo / "opencode.json", {**SCHEMA, "tools": {"skill": False}})


@tree("opencode")
def opencode_tools_under_permission(t: Tree) -> None:
    """`tools` is merged below `permission`, whose `skill` replaces it."""
    three(t)
    t.write(t.home / GLOBAL / "opencode.json", {**SCHEMA, "permission": {"skill": {"mine": "deny"}}})
    t.write(t.repo / "opencode.json", {**SCHEMA, "tools": {"skill": False}})


@tree("opencode")
def opencode_agent(t: Tree) -> None:
    """The permissions of the agent that runs come after the common ones."""
    three(t)
    agents = {"build": {"permission": {"skill": {"mine": "deny"}}}, "plan": {"tools": {"skill": False}}}
    t.write(t.repo / "opencode.json", {**SCHEMA, "permission": {"skill": {"users": "deny"}}, "agent": agents})


@tree("opencode")
def opencode_default_agent(t: Tree) -> None:
    """Another agent is the default, and has its own permissions."""
    three(t)
    careful = {"mode": "primary", "prompt": "Be careful.", "permission": {"skill": {"*": "deny", "mine": "allow"}}}
    agents = {"careful": careful, "build": {"permission": {"skill": {"mine": "deny"}}}}
    t.write(t.home / GLOBAL / "opencode.json", {**SCHEMA, "default_agent": "careful", "agent": agents})


@tree("opencode")
def opencode_agent_argument(t: Tree) -> None:
    """`--agent` chooses the agent."""
    three(t)
    agents = {"plan": {"permission": {"skill": {"mine": "deny"}}}, "build": {"tools": {"skill": False}}}
    t.write(t.repo / ".opencode/opencode.json", {**SCHEMA, "agent": agents})
    t.args = ("--agent", "plan")


@tree("opencode")
def opencode_agent_file(t: Tree) -> None:
    """The front matter of `.opencode/agent/build.md` is the configuration of that agent."""
    three(t)
    t.write(
        t.repo / ".opencode/agent/build.md", "---\ndescription: d\npermission:\n  skill:\n    mine: deny\n---\nBuild.\n"
    )
    t.write(t.home / GLOBAL / "agents/build.md", "---\npermission:\n  skill:\n    users: deny\n---\nBuild.\n")


@tree("opencode")
def opencode_wrong_type(t: Tree) -> None:
    """One value of a wrong type, and it does not start."""
    three(t)
    t.write(t.repo / "opencode.json", {**SCHEMA, "skills": {"paths": "extra"}})


@tree("opencode")
def opencode_wrong_word(t: Tree) -> None:
    """A permission that is no word of it, in the user's configuration, and it does not start."""
    three(t)
    t.write(t.home / GLOBAL / "opencode.json", {**SCHEMA, "permission": {"skill": {"mine": "off"}}})


@tree("opencode")
def opencode_broken(t: Tree) -> None:
    """A configuration that is no JSON, and it does not start."""
    three(t)
    t.write(t.repo / ".opencode/opencode.json", '{"permission": {"skill": {"mine": "deny"}}')


@tree("opencode")
def opencode_odd_files(t: Tree) -> None:
    """An empty file, a byte order mark, comments, Latin-1, unknown keys, the same key twice: all are read."""
    three(t)
    t.write(t.home / GLOBAL / "opencode.json", "")
    t.write(t.home / GLOBAL / "config.json", b'{"username": "Jos\xe9", "unknown": 1, "permission": {"skill": "deny"}}')
    t.write(t.repo / "opencode.json", '\ufeff{"permission": {"skill": "deny"}, "permission": {"skill": "allow"}}')
    t.write(
        t.repo / ".opencode/opencode.jsonc",
        '// c\n{"permission": {"skill": {/* x */ "mine": "deny",}, "url": {"//": "ask"}}}',
    )


@tree("opencode")
def opencode_list_of_skills(t: Tree) -> None:
    """`skills` as a list of folders and addresses, the form of version 2."""
    three(t)
    t.skill(t.repo / "extra/x", "extra")
    t.skill(t.home / "tilde/x", "tilde")
    t.skill(t.repo / "lower/x", "lower")
    t.write(t.home / GLOBAL / "opencode.json", {**SCHEMA, "skills": {"paths": ["lower"]}})
    t.write(t.repo / "opencode.json", {**SCHEMA, "skills": ["extra", "https://127.0.0.1:9/skills/", "~/tilde"]})


@tree("opencode")
def opencode_substitution(t: Tree) -> None:
    """`{env:NAME}` and `{file:PATH}` are replaced before the file is read."""
    three(t)
    t.skill(t.root / "shared/x", "by-variable")
    t.skill(t.home / "fixed/x", "by-file")
    t.env = {"TEAM_SKILLS": str(t.root / "shared")}
    t.write(t.repo / ".opencode/team.txt", "~/fixed\n")
    config = '{\n  // {file:./missing.txt}\n  "skills": {"paths": ["{env:TEAM_SKILLS}", "{file:./team.txt}"]},\n'
    t.write(t.repo / ".opencode/opencode.jsonc", config + '  "permission": {"skill": {"{env:NONE}mine": "deny"}}\n}\n')


@tree("opencode")
def opencode_missing_file(t: Tree) -> None:
    """`{file:PATH}` of a file that is missing, and it does not start."""
    three(t)
    t.write(t.repo / "opencode.json", '{"username": "{file:./missing.txt}"}')


@tree("opencode")
def opencode_variables(t: Tree) -> None:
    """Variables with another file, another folder, a text, and permissions."""
    three(t)
    t.skill(t.root / "folder/skills/x", "of-the-folder")
    t.skill(t.root / "folder/skill/.hidden/x", "of-the-folder-hidden")
    t.skill(t.root / "named/x", "named")
    t.skill(t.root / "unnamed/x", "unnamed")
    t.write(t.root / "file.json", {**SCHEMA, "skills": {"paths": [str(t.root / "unnamed")]}})
    t.write(t.root / "folder/opencode.json", {**SCHEMA, "permission": {"skill": {"users": "deny"}}})
    t.env = {
        "OPENCODE_CONFIG": str(t.root / "file.json"),
        "OPENCODE_CONFIG_DIR": str(t.root / "folder"),
        "OPENCODE_CONFIG_CONTENT": '{"skills": {"paths": ["../named",]}, "permission": {"skill": {"mine": "deny"}}}',
        "OPENCODE_PERMISSION": '{"skill": {"mine": "allow", "shared": "deny"}}',
    }


@tree("opencode")
def opencode_config_home(t: Tree) -> None:
    """`XDG_CONFIG_HOME` moves the user's folders."""
    three(t)
    t.skill(t.root / "xdg/opencode/skills/x", "moved")
    t.skill(t.home / ".opencode/skill/x", "unmoved")
    t.write(t.root / "xdg/opencode/opencode.json", {**SCHEMA, "permission": {"skill": {"mine": "deny"}}})
    t.write(t.home / GLOBAL / "opencode.json", {**SCHEMA, "permission": {"skill": "deny"}})
    t.env = {"XDG_CONFIG_HOME": str(t.root / "xdg")}


@tree("opencode")
def opencode_no_project(t: Tree) -> None:
    """`OPENCODE_DISABLE_PROJECT_CONFIG`: no `.opencode` and no configuration of the project."""
    three(t)
    t.skill(t.repo / ".claude/skills/claude", "claude")
    t.skill(t.home / ".opencode/skills/home", "home")
    t.write(t.repo / "opencode.json", {**SCHEMA, "permission": {"skill": "deny"}})
    t.env = {"OPENCODE_DISABLE_PROJECT_CONFIG": "1"}


@tree("opencode")
def opencode_no_claude(t: Tree) -> None:
    """`OPENCODE_DISABLE_CLAUDE_CODE`: no `.claude`, but `.agents`."""
    three(t)
    t.skill(t.repo / ".claude/skills/claude", "claude")
    t.skill(t.home / ".claude/skills/claude-user", "claude-user")
    t.env = {"OPENCODE_DISABLE_CLAUDE_CODE": "true"}


@tree("opencode")
def opencode_no_external(t: Tree) -> None:
    """`OPENCODE_DISABLE_EXTERNAL_SKILLS`: neither `.claude` nor `.agents`."""
    three(t)
    t.skill(t.home / ".claude/skills/claude-user", "claude-user")
    t.skill(t.home / ".agents/skills/agents-user", "agents-user")
    t.env = {"OPENCODE_DISABLE_EXTERNAL_SKILLS": "1"}


@tree("opencode")
def opencode_race(t: Tree) -> None:
    """One name in a named folder, the project and the home: the one that is read last wins."""
    three(t)
    t.skill(t.repo / "extra/mine", "extra-mine", name="mine")
    t.skill(t.repo / "extra/users", "extra-users", name="users")
    t.skill(t.repo / "extra/own", "extra-own", name="own")
    t.write(t.repo / "opencode.json", {**SCHEMA, "skills": {"paths": ["extra"]}})


@tree("opencode")
def opencode_managed(t: Tree) -> None:
    """The configuration in /etc comes after all others."""
    three(t)
    t.skill(t.repo / "extra/x", "extra")
    t.skill(t.root / "company/x", "company")
    t.write(t.etc / "opencode/opencode.json", {**SCHEMA, "skills": {"paths": [str(t.root / "company")]}})
    t.write(t.etc / "opencode/opencode.jsonc", {**SCHEMA, "permission": {"skill": {"mine": "deny"}}})
    t.write(
        t.repo / "opencode.json", {**SCHEMA, "skills": {"paths": ["extra"]}, "permission": {"skill": {"mine": "allow"}}}
    )


@tree("opencode")
def opencode_names(t: Tree) -> None:
    """Names that mean something to JavaScript or to opencode."""
    t.git()
    for name in ("__proto__", "constructor", "toString", "customize-opencode"):
        t.skill(t.P / f"x-{name}", name, name=name)


@tree("opencode")
def opencode_languages(t: Tree) -> None:
    """Front matter in JSON, and with the name of another language."""
    t.git()
    body = "\n---\nBody.\n"
    t.skill(t.P / "a", "json", raw='---json\n{"name": "json", "description": "Use for tests [[json]]"}' + body)
    t.skill(t.P / "b", "json-odd", raw='--- JSON\n{"name": "json-odd", "description": "Use for tests"}' + body)
    t.skill(t.P / "c", "json-comma", raw='---json\n{"name": "json-comma", "description": "Use for tests",}' + body)
    t.skill(t.P / "d", "yml", raw="---yml\nname: yml\ndescription: Use for tests" + body)
    t.skill(t.P / "e", "toml", raw='---toml\nname = "toml"\ndescription = "Use for tests"' + body)
    t.skill(t.P / "f", "json-number", raw='---json\n{"name": "json-number", "description": 3}' + body)


def agent_tree(name: str, about: str, agent: object = None, **settings: object) -> None:
    """Make a tree in which settings choose, change or remove agents; `plan` does not get the skill `hidden`."""

    def fill(t: Tree) -> None:
        t.git()
        t.skill(t.P / "seen", "seen")
        t.skill(t.P / "hidden", "hidden")
        agents = {"plan": {"permission": {"skill": {"hidden": "deny"}}}, "build": agent or {}}
        t.write(t.repo / "opencode.json", {"agent": agents, **settings})

    fill.__name__, fill.__doc__ = f"opencode_agent_{name}", about
    tree("opencode")(fill)


agent_tree("missing", "The default agent is missing, so the model gets no catalog.", default_agent="missing")
agent_tree("subagent", "A subagent cannot be the default.", default_agent="general")
agent_tree("as_mode", "What `mode` names is no subagent.", default_agent="general", mode={"general": {}})
agent_tree("disabled", "Without `build`, the next agent runs.", {"disable": True})
agent_tree("hidden", "A hidden agent is not the default.", {"hidden": True})


@tree("opencode")
def opencode_variable_words(t: Tree) -> None:
    """`yes` switches off the folders of other clients, but not the project's: that needs `1` or `true`."""
    t.git()
    t.skill(t.P / "own", "own")
    t.skill(t.repo / ".opencode/skills/project", "project")
    t.skill(t.repo / ".claude/skills/other", "other")
    t.env.update(OPENCODE_DISABLE_PROJECT_CONFIG="yes", OPENCODE_DISABLE_CLAUDE_CODE="yes")
