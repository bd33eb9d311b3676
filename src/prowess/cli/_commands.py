"""List the commands, where they are, and the exit codes."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMANDS = {
    "list": "list skills and their states, for one agent or for every agent on this machine",
    "why": "explain which agents see a skill, which copy of it they use, and why",
    "show": "show one skill: fields, files, sizes, tokens, digest and findings",
    "check": "report problems in skills, and how to fix them",
    "inventory": "list every SKILL.md below a folder, and which agents see each",
    "report": "write one page of HTML: which agents see which skills, what is lost and what to change",
    "prompt": "print the skill catalog as the model gets it",
    "activate": "print what the model reads when a skill is activated",
    "read": "print a file of a skill",
    "search": "search skills by name, description and body, best match first",
    "add": "install skills from a repository, registry, bucket, site or folder, and lock what they are",
    "install": "install exactly what skills-lock.json says, from the store or the sources",
    "update": "show what newer versions of installed skills change, and install them",
    "verify": "compare installed skills with their lock, byte by byte",
    "remove": "remove installed skills, and leave everything else alone",
    "lock": "add the digests of all files to the lock of installed skills, or import another lock",
    "publish": "publish a skill to a registry or a bucket, where `prowess add` and other tools find it",
    "index": "write the files with which any web server offers skills",
    "store": "show the store of fetched skills, and remove those that no project needs",
    "new": "create a skill that passes `prowess check`",
    "init": "create the skills folder of a project, with an example skill",
    "trust": "allow a skill's tools and scripts, until one of its files changes",
    "mount": "copy skills to where an agent finds them: all of them, or none if one fails",
    "exec": "start an agent in an isolated home, with only the skills and variables you name",
    "test": "run the tests of skills, each in a sandbox and in a fresh copy of the skill",
    "run": "run a role: an agent defined in one YAML file",
    "mcp": "serve skills to clients of the Model Context Protocol, or check a server of skills",
    "validate": "check that a role would run, or that a role could load a skill",
    "hosts": "list the agents Prowess knows, their skills folders, and the evidence for their rules",
    "completion": "print a script that completes commands, options and names in bash, zsh or fish",
}
"""Each command and what it does."""
_PACKAGES = {
    "installed": ("add", "install", "update", "verify", "remove", "lock", "publish", "index", "store"),
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


def main_help() -> str:
    """Return the help page of `prowess` itself."""
    width = max(map(len, COMMANDS)) + 2
    lines = [
        "Prowess finds the Agent Skills on this machine and shows which agent loads which skill, and why",
        "",
        "usage: prowess COMMAND ...",
        "",
    ]
    lines += [f"  {name:<{width}}{description}" for name, description in COMMANDS.items()]
    return "\n".join(
        [*lines, "", "`prowess COMMAND --help` shows the options of a command, `prowess --version` the version", ""]
    )
