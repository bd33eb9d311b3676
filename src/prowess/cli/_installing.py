"""Share what the commands that install, update and remove skills have in common."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from prowess._internal.files import display_path, real_path
from prowess._internal.text import neutral, quoted
from prowess.errors import ConfigError

from ._output import format_value, pluralize, print_findings, print_stderr, print_stdout, to_json_value
from ._progress import ProgressLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from prowess.install import PlannedSkill, Target
    from prowess.skill import Value

__all__ = [
    "FORCE_HELP",
    "Shown",
    "add_install_options",
    "ask",
    "describe_choice",
    "format_size",
    "is_terminal",
    "planned_as_dict",
    "print_planned",
    "print_short",
    "require_consent",
    "state_of",
    "waiting",
]

FORCE_HELP = "also replace or remove skills that were changed after they were installed"
_MAX_LISTED = 20
"""The most files or scripts of a skill that are listed."""


def add_install_options(parser: ArgumentParser, *, yes: bool = True) -> None:
    """Add the options of every command that changes what is installed."""
    if yes:
        parser.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--json", action="store_true", help="print JSON")
    group = parser.add_argument_group("where to install")
    group.add_argument(
        "--global",
        dest="is_global",
        action="store_true",
        help="for all projects, below the home directory",
    )
    group.add_argument("--cwd", metavar="DIR", help="a folder of the project (default: the current one)")
    group.add_argument("--home", metavar="DIR", help="the user's home directory (default: yours)")


class Shown:
    """Where things are, and how their paths are shown."""

    def __init__(self, args: Namespace) -> None:
        from prowess.install import find_target

        self.cwd = os.path.abspath(args.cwd or ".")
        self.home = os.path.abspath(args.home or os.path.expanduser("~"))
        self.target: Target = find_target(self.cwd, self.home, os.environ, is_global=args.is_global)
        self.progress = ProgressLine()

    def path(self, path: str) -> str:
        """Return a path as people write it."""
        return neutral(display_path(path, real_path(self.cwd), self.home))

    def agents(self) -> tuple[str, ...]:
        """Return the agents on this machine."""
        from prowess.hosts import detected_hosts

        return detected_hosts(self.cwd, self.home, (self.target.root,))


def waiting() -> None:
    """Say that another process has to finish first."""
    print_stderr("waiting for another process that changes the skills of this project")


def is_terminal() -> bool:
    """Return whether a user can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str) -> bool:
    """Ask the user, and return whether the answer is yes."""
    print_stderr(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def require_consent(args: Namespace, command: str) -> None:
    """Refuse to go on where no user can be asked.

    Raises:
        ConfigError: neither a terminal nor `--yes`.
    """
    if not args.yes and (args.json or not is_terminal()):
        message = "there is no terminal to ask on" if not args.json else "`--json` does not ask"
        raise ConfigError(
            f"{message}; nothing was changed", hint=f"`{command} --yes`; `--dry-run` shows what it would do"
        )


def format_size(count: int) -> str:
    """Format a number of bytes: `812 bytes`, `4.1 kB`, `1.2 MB`."""
    if count < 1_000:
        return pluralize(count, "byte")
    return f"{count / 1e3:.1f} kB" if count < 999_950 else f"{count / 1e6:.1f} MB"


def print_planned(skill: PlannedSkill, shown: Shown, same_name: Sequence[str], *, files: bool) -> None:
    """Print what would be installed of one skill."""
    print_stdout(f"{neutral(skill.name)}: {state_of(skill)}")
    if skill.description:
        print_stdout(f"  {_cut(neutral(skill.description))}")
    listed = [f"{neutral(file.path)} ({format_size(file.size)})" for file in skill.tree.files] if files else []
    facts: list[tuple[str, str, Sequence[str]]] = [
        ("files", f"{pluralize(len(skill.tree.files), 'file')}, {format_size(skill.tree.size)}", listed),
        ("scripts", f"{len(skill.scripts):,}" if skill.scripts else "none", [*map(neutral, skill.scripts)]),
        ("allowed", _allowed(skill), []),
        ("tools", _tools(skill.tools), []),
        ("into", ", ".join(map(shown.path, skill.folders)), []),
        ("seen by", ", ".join(skill.agents) or "no agent on this machine", []),
    ]
    facts += [("also", f"{shown.path(path)} has the same name", []) for path in same_name]
    for key, text, details in facts:
        print_stdout(f"  {key:<9}{text}")
        for line in details[:_MAX_LISTED]:
            print_stdout(f"    {line}")
        if len(details) > _MAX_LISTED:
            print_stdout(f"    and {len(details) - _MAX_LISTED:,} more")
    print_findings(skill.findings, indent="  ")


def print_short(skill: PlannedSkill, same_name: Sequence[str]) -> None:
    """Print what would be installed of one of many skills, on a line."""
    facts = [state_of(skill), pluralize(len(skill.tree.files), "file"), format_size(skill.tree.size)]
    if skill.scripts:
        facts.append(pluralize(len(skill.scripts), "script"))
    if skill.allowed_tools:
        facts.append(f"allowed-tools {_cut(neutral(', '.join(skill.allowed_tools)), 60)}")
    if skill.tools is not None:
        facts.append(f"tools {_cut(_tools(skill.tools), 60)}")
    if skill.findings:
        facts.append(pluralize(len(skill.findings), "finding"))
    if same_name:
        facts.append("another skill has this name")
    print_stdout(f"{neutral(skill.name)}: {', '.join(facts)}")


def _allowed(skill: PlannedSkill) -> str:
    if not skill.allowed_tools:
        return "none"
    return (
        f"{_cut(neutral(', '.join(skill.allowed_tools)))}: a client may skip asking for these; Prowess grants nothing"
    )


def _tools(value: Value | None) -> str:
    """Return the names of the tools that a skill declares."""
    if value is None:
        return "none"
    names = [
        str(item.get("name") or item.get("type") or item) if isinstance(item, Mapping) else format_value(item)
        for item in (value if isinstance(value, tuple) else (value,))
    ]
    return _cut(neutral(", ".join(names)))


def _cut(text: str, limit: int = 200) -> str:
    """Return a text, or its beginning with a mark if it is longer."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def state_of(skill: PlannedSkill) -> str:
    """Return what installing a skill does: `new`, `replaces the installed one` or `already installed`."""
    if skill.previous is None:
        return "new"
    return "already installed" if skill.previous.tree_digest == skill.item.digest else "replaces the installed one"


def planned_as_dict(skill: PlannedSkill, same_name: Sequence[str]) -> dict[str, object]:
    """Return what `--json` prints about a skill."""
    entry = skill.item.entry
    return {
        "name": skill.name,
        "state": state_of(skill),
        "path": entry.skill_path,
        "revision": entry.revision,
        "digest": skill.item.digest,
        "files": [
            {"path": file.path, "mode": file.mode, "size": file.size, "sha256": file.sha256}
            for file in skill.tree.files
        ],
        "bytes": skill.tree.size,
        "scripts": [*skill.scripts],
        "allowed_tools": [*skill.allowed_tools],
        "tools": None if skill.tools is None else to_json_value(skill.tools),
        "destinations": [*skill.folders],
        "link": skill.item.link,
        "agents": [*skill.agents],
        "same_name": [*same_name],
        "findings": [item.as_dict() for item in skill.findings],
    }


def describe_choice(names: Sequence[str]) -> str:
    """Return the names of skills for a question or message."""
    return quoted(names[0]) if len(names) == 1 else pluralize(len(names), "skill")
