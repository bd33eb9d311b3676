"""Parse options: the parser of every command, and the options that commands share."""

from __future__ import annotations

import argparse
import re

from prowess._internal.text import did_you_mean, neutral, quoted

from ._color import COLOR_CHOICES, choose_color
from ._commands import COMMANDS, USAGE
from ._output import print_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


__all__ = [
    "NO_SKILLS_HINT",
    "SKILL_NAME_HELP",
    "GivenOnce",
    "add_all_option",
    "add_allow_empty_option",
    "add_discovery_options",
    "add_json_option",
    "add_role_options",
    "add_sandbox_option",
    "add_servers_option",
    "make_parser",
]

SKILL_NAME_HELP = (
    "the agent's name for the skill, its folder, `scope:name`, `package:name`, a path, or the start of a digest"
)
"""What identifies a skill on the command line."""
NO_SKILLS_HINT = "`prowess new NAME` creates a skill; --allow-empty accepts a folder without skills"


class _ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors look like all other errors of Prowess."""

    color: bool
    """Whether Python 3.14 paints the help, by rules of its own."""

    def error(self, message: str) -> NoReturn:
        print_error(*self._describe_error(message))
        self.exit(USAGE)

    def _describe_error(self, message: str) -> tuple[str, str]:
        """Return a message of `argparse` as an error and a hint of Prowess."""
        hint = f"run `{self.prog} --help` for its options"
        if match := re.fullmatch(r"unrecognized arguments: (\S+).*", message, re.DOTALL):
            argument = match[1].partition("=")[0]
            if not argument.startswith("-"):
                return f"unexpected argument {quoted(argument)}", hint
            return f"unknown option {quoted(argument)}", did_you_mean(argument, self._option_string_actions, hint)
        if match := re.fullmatch(r"the following arguments are required: (.*)", message):
            return f"missing argument: {match[1]}", hint
        if match := re.fullmatch(r"argument (?:\S+/)?(\S+?): (.*)", message, re.DOTALL):
            option, problem = match[1], match[2]
            if problem == "expected one argument":
                return f"`{option}` needs a value", hint
            if choice := re.fullmatch(r"invalid choice: (.*) \(choose from (.*)\)", problem, re.DOTALL):
                names = choice[2].replace("'", "")
                hint = did_you_mean(choice[1].strip("'\""), names.split(", "), f"use one of {names}")
                return f"`{option}` cannot be {neutral(choice[1])}", hint
            if value := re.fullmatch(r"invalid int value: (.*)", problem, re.DOTALL):
                return f"`{option}` must be a whole number, not {neutral(value[1])}", hint
            if problem == "may be given once here":
                return f"`{option}` {problem}", f"run `{self.prog}` once for each value"
            return f"`{option}` {neutral(problem)}" if problem.startswith("must ") else neutral(message), hint
        return neutral(message), hint


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A formatter of fixed width, so that the help pages in the docs do not depend on a terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=100)

    def _set_color(self, color: bool, **_: object) -> None:  # noqa: ARG002
        """Use no colour, without the module that Python 3.14 would load for it."""
        self._theme = _NoTheme()
        self._decolor = str

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Return the names of an option and its value, as Python does from 3.13 on."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class _NoTheme:
    """The colours of a help page: none."""

    def __getattr__(self, name: str) -> str:
        return ""


class _ColorAction(argparse.Action):
    """Apply `--color` as soon as it is read, so that errors in later options follow it."""

    def __call__(self, parser: object, namespace: object, values: object, option_string: str | None = None) -> None:  # noqa: ARG002
        choose_color(str(values))


def make_parser(name: str, *, epilog: str = "") -> argparse.ArgumentParser:
    """Create the parser of a command, with the option that all have."""
    description = COMMANDS[name]
    result = _ArgumentParser(
        prog=f"prowess {name}",
        description=description[0].upper() + description[1:],
        epilog=epilog or None,
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
    )
    result.color = False
    choose_color("auto")
    result.add_argument(
        "--color",
        metavar="WHEN",
        action=_ColorAction,
        choices=COLOR_CHOICES,
        default=argparse.SUPPRESS,
        help="`always`, `never` or `auto`: on a terminal, unless NO_COLOR or FORCE_COLOR is set (the default)",
    )
    return result


class GivenOnce(argparse.Action):
    """Store an option's value, and refuse the option if it is given again: one of the two would be ignored."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - the signature of `argparse`, here and below
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        marker = f"{self.dest} was given"
        if hasattr(namespace, marker):
            raise argparse.ArgumentError(self, "may be given once here")
        setattr(namespace, marker, True)
        setattr(namespace, self.dest, values)


def add_json_option(parser: argparse.ArgumentParser, description: str = "print JSON") -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help=description)


def add_all_option(parser: argparse._ActionsContainer) -> None:
    """Add `--all`."""
    parser.add_argument(
        "--all", action="store_true", help="ask about every agent that Prowess knows, not only those on this machine"
    )


def add_allow_empty_option(parser: argparse._ActionsContainer) -> None:
    """Add `--allow-empty`."""
    parser.add_argument("--allow-empty", action="store_true", help="succeed if no skills are found")


def add_discovery_options(parser: argparse.ArgumentParser, *, host: str = "one") -> None:
    """Add the options of every command that looks for skills.

    Args:
        parser: the command's.
        host: `one`, `many` or `none`: how often `--host` may be given.
    """
    group = parser.add_argument_group("where to look")
    if host != "none":
        group.add_argument(
            "--host",
            metavar="NAME",
            action="append" if host == "many" else GivenOnce,
            help="apply the rules of this agent; `prowess hosts` lists all"
            + (" (repeatable)" if host == "many" else ""),
        )
    group.add_argument("--cwd", metavar="DIR", help="the working directory of the agent (default: the current one)")
    group.add_argument(
        "--home",
        metavar="DIR",
        help="the user's home directory (default: yours); with it, variables such as CODEX_HOME are ignored",
    )
    _add_skill_dir_option(group, "PROWESS_SKILL_DIR, a list of paths")
    group.add_argument("--role", metavar="FILE", help="also search the folders that this InitRunner role uses")
    group.add_argument(
        "--client-arg",
        metavar="ARG",
        action="append",
        default=[],
        help="an argument that the agent is started with, such as --client-arg=--add-dir=DIR (repeatable; with --host)",
    )
    group.add_argument(
        "--no-cache",
        action="store_true",
        help="read every file again, even if it has not changed (or set PROWESS_NO_CACHE=1)",
    )


def add_servers_option(parser: argparse._ActionsContainer) -> None:
    """Add `--servers`."""
    parser.add_argument(
        "--servers",
        action="store_true",
        help="also ask the MCP servers in your settings for their skills (`[[servers]]` in ~/.prowess/config.toml)",
    )


def add_role_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that say where the skills of a role are."""
    _add_skill_dir_option(parser, "INITRUNNER_SKILL_DIR or PROWESS_SKILL_DIR")
    parser.add_argument("--home", metavar="DIR", help="the home directory to search for skills (default: yours)")


def _add_skill_dir_option(parser: argparse._ActionsContainer, variables: str) -> None:
    parser.add_argument(
        "--skill-dir",
        metavar="DIR",
        action="append",
        default=[],
        help=f"also search this folder for skills (repeatable; or set {variables})",
    )


def add_sandbox_option(parser: argparse._ActionsContainer, runs: str) -> None:
    """Add `--sandbox`.

    Args:
        parser: the command's, or a group of it.
        runs: what runs in the sandbox.
    """
    from prowess.sandbox import CHOICES

    parser.add_argument(
        "--sandbox",
        metavar="KIND",
        default="auto",
        help=f"the sandbox for {runs}: {', '.join(CHOICES)} (default: %(default)s)",
    )
