"""List the commands, where they are, and the exit codes."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GROUPS = {
    "see": {
        "list": "list skills and their states, at one agent or at all of them",
        "why": "explain which agents see a skill, which copy of it, and why",
        "show": "show one skill: fields, files, sizes, tokens, digest, findings",
        "search": "search names, descriptions and bodies, best match first",
        "prompt": "print the skill catalog as the model gets it",
        "inventory": "list every SKILL.md below a folder, and which agents see each",
        "usage": "count which skills your agents used, from their own sessions",
        "report": "write one page of HTML: who sees what, what is lost, what to do",
        "hosts": "list the agents that Prowess knows, their folders and evidence",
    },
    "check": {
        "check": "report problems in skills, and how to fix them",
        "test": "run the tests of skills in a sandbox, each in a fresh copy",
        "eval": "evaluate a skill: are its cases sound, is it found, does it help",
    },
    "use": {
        "trust": "allow a skill's tools and scripts in Prowess, until a file changes",
        "mount": "copy skills to where an agent finds them, all of them or none",
        "exec": "start an agent in an isolated home with only the skills you name",
        "run": "run a role: an agent defined in one YAML file",
        "mcp": "serve skills over MCP, or check a server of skills",
    },
    "share": {
        "add": "install skills from a repository, registry, bucket, site, folder",
        "install": "install exactly what skills-lock.json says",
        "update": "show what newer versions change, and install them",
        "verify": "compare installed skills with their lock, byte by byte",
        "remove": "remove installed skills, and leave everything else alone",
        "publish": "publish a skill to a registry, bucket or file, for `prowess add`",
    },
    "build": {
        "new": "create a skill that passes `prowess check`",
        "init": "create the skills folder of a project, with an example skill",
    },
    "maintain": {
        "completion": "print a script that completes commands in bash, zsh or fish",
    },
    "less often": {
        "activate": "print what the model reads when a skill is activated",
        "read": "print a file of a skill",
        "validate": "check that a role would run, or that it could load a skill",
        "lock": "lock the digests of installed skills, or import another lock",
        "index": "write the files with which any web server offers skills",
        "store": "show the store of fetched skills, and remove what is unused",
        "env": "show what was installed for scripts, and remove it",
    },
}
"""The commands by what they are for, each with what it does."""
COMMANDS = {name: does for group in GROUPS.values() for name, does in group.items()}
"""Each command and what it does."""
WHICH = {
    "add": "`add` is for skills that a project keeps: copies where agents look, with a lock for the team.",
    "mount": "`mount` is for skills you have already: copies in the folder of one agent, without a lock.",
    "exec": "`exec` is for one run: an agent that sees only the skills you name, and leaves nothing behind.",
    "trust": "`trust` copies nothing: it allows what a skill may run in sessions and roles of Prowess.",
}
"""Commands that a user may confuse, each with what it alone is for; docs/README.md has the same sentences."""
_PACKAGES = {
    "installed": ("add", "install", "update", "verify", "remove", "lock", "publish", "index", "store", "env"),
    "agents": ("mount", "exec", "test", "run", "mcp", "validate"),
    "": ("completion",),
}
"""The packages of this one that have commands, besides `skills`. A command is a module with its name."""

OK, FAILED, USAGE, BUG, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: success; errors found, or a failure; wrong use; a bug in Prowess; interrupted."""


SKILL_NAME = (
    "the agent's name for the skill, its folder, `scope:name`, `package:name`, a path, or the start of a digest"
)
"""What identifies a skill on the command line."""
NO_SKILLS_HINT = "\nhint: `prowess new NAME` creates a skill; --allow-empty accepts a folder without skills"


def command_module(name: str) -> Any:
    """Return the module of a command: `options(parser)`, `run(args)`, and perhaps `EPILOG` for its help."""
    package = next((package for package, names in _PACKAGES.items() if name in names), "skills")
    module = ".".join(filter(None, (__package__, package, name)))
    __import__(module)  # `importlib` loads `warnings`
    return sys.modules[module]


_FIRST = {
    "prowess": "what each agent on this machine sees, on one screen",
    "prowess check": "what each agent loses, and the command that fixes it",
    "prowess add SOURCE": "install skills for the agents that you use",
}


def main_help() -> str:
    """Return the help page of `prowess` itself."""
    lines = [
        "Prowess shows which agent loads which Agent Skill, and why",
        "",
        "usage: prowess COMMAND ...",
        "",
        "begin with:",
    ]
    lines += [f"  {command:<20}{does}" for command, does in _FIRST.items()]
    width = max(map(len, COMMANDS)) + 2
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:", *(f"  {name:<{width}}{does}" for name, does in commands.items())]
    end = "`prowess COMMAND --help` shows the options of a command"
    return "\n".join([*lines, "", end, ""])
