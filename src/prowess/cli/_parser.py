"""Parse options: the parser of every command, and the options that commands share."""

from __future__ import annotations

import argparse
import re
import sys

from prowess._internal.text import did_you_mean, neutral, quoted

from ._commands import COMMANDS, USAGE, WHICH, command_module
from ._output import COLOR_CHOICES, choose_color, print_error, terminal_width, wrap_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

Arguments = argparse.Namespace
"""The arguments of a command, for annotations."""


class _Options(argparse._ActionsContainer):  # noqa: SLF001 - the base of parsers and groups
    """Adds options by what they do; the names of each come first, its help comes last."""

    def argument(self, name: str, metavar: str, description: str, **more: Any) -> None:
        """Add an argument that is no option."""
        if more.get("nargs") == "*":  # otherwise an error about another missing argument names this one too
            more.setdefault("default", [])
        self.add_argument(name, metavar=metavar, help=description, **more)

    def flag(self, *names: str, **more: Any) -> None:
        """Add an option without a value: its names, and its help."""
        self.add_argument(*names[:-1], action="store_true", help=names[-1], **more)

    def value(self, *names: str, **more: Any) -> None:
        """Add an option with a value: its names, what the value is called, and its help."""
        self.add_argument(*names[:-2], metavar=names[-2], help=names[-1], **more)

    def values(self, *names: str, **more: Any) -> None:
        """Add an option as `value` does, which may be given several times."""
        self.value(*names, action="append", default=[], **more)

    def once(self, *names: str, **more: Any) -> None:
        """Add an option as `value` does, which is refused if it is given again: one of the two would be ignored."""
        self.value(*names, action=_GivenOnce, **more)

    def add_json(self, description: str = "print JSON") -> None:
        """Add `--json`."""
        self.flag("--json", description)

    def add_all(self) -> None:
        """Add `--all`."""
        self.flag("--all", "ask about every agent that Prowess knows, not only those on this machine")

    def add_allow_empty(self) -> None:
        """Add `--allow-empty`."""
        self.flag("--allow-empty", "succeed if no skills are found")

    def add_servers(self) -> None:
        """Add `--servers`."""
        settings = "`[[servers]]` in ~/.prowess/config.toml"
        self.flag("--servers", f"also ask the MCP servers in your settings for their skills ({settings})")

    def add_place(
        self, cwd: str = "the working directory of the agent", home: str = "the user's home directory"
    ) -> None:
        """Add `--cwd` and `--home`, with what they name."""
        self.value("--cwd", "DIR", f"{cwd} (default: the current one)")
        self.value("--home", "DIR", f"{home} (default: yours)")

    def add_skill_dir(self, variables: str) -> None:
        """Add `--skill-dir`, for which there are variables too."""
        self.values("--skill-dir", "DIR", f"also search this folder for skills (repeatable; or set {variables})")

    def add_role_options(self) -> None:
        """Add the options that say where the skills of a role are."""
        self.add_skill_dir("INITRUNNER_SKILL_DIR or PROWESS_SKILL_DIR")
        self.value("--home", "DIR", "the home directory to search for skills (default: yours)")

    def add_sandbox(self, runs: str) -> None:
        """Add `--sandbox`, for what runs in it."""
        from prowess.sandbox import CHOICES

        kinds = f"the sandbox for {runs}: {', '.join(CHOICES)} (default: %(default)s)"
        self.value("--sandbox", "KIND", kinds, default="auto")


class Group(_Options, argparse._ArgumentGroup):  # noqa: SLF001 - argparse gives it no other name
    """Options below a heading of their own."""


class Parser(_Options, argparse.ArgumentParser):
    """The parser of a command, whose errors look like all other errors of Prowess."""

    color: bool
    """Whether Python 3.14 paints the help, by rules of its own."""

    def group(self, title: str) -> Group:
        """Add a group of options."""
        group = Group(self, title)
        self._action_groups.append(group)
        return group

    def discovery(self, *, host: str = "one") -> None:
        """Add the options of every command that looks for skills; `--host` may be given `one`, `many` or `no` times."""
        group = self.group("where to look")
        rules = "apply the rules of this agent; `prowess hosts` lists all"
        if host == "one":
            group.once("--host", "NAME", rules)
        elif host == "many":
            group.value("--host", "NAME", f"{rules} (repeatable)", action="append")
        group.value("--cwd", "DIR", "the working directory of the agent (default: the current one)")
        group.value(
            "--home",
            "DIR",
            "the user's home directory (default: yours); with it, variables such as CODEX_HOME are ignored",
        )
        group.add_skill_dir("PROWESS_SKILL_DIR, a list of paths")
        group.value("--role", "FILE", "also search the folders that this InitRunner role uses")
        group.values(
            "--client-arg",
            "ARG",
            "an argument that the agent is started with, such as --client-arg=--add-dir=DIR (repeatable; with --host)",
        )
        group.flag("--no-cache", "read every file again, even if it has not changed (or set PROWESS_NO_CACHE=1)")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return the value of an option or an argument; `--query=--` has the value `--`.

        Before 3.13, Python takes it for the `--` that ends the options, and returns a list.
        """
        if action.option_strings and arg_strings == ["--"]:
            value = self._get_value(action, "--")
            self._check_value(action, value)
            return value
        return super()._get_values(action, arg_strings)

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
    """A formatter whose pages fit a terminal, and have a fixed width without one, as in the docs."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(terminal_width(), 100))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Return a text before or after the options: as it is, or the lines of each paragraph anew on a terminal."""
        if not sys.stdout.isatty():
            return super()._fill_text(text, width, indent)
        lines: list[str] = []
        for line in text.splitlines():
            if lines and lines[-1] and line[:1].strip() and lines[-1][:1].strip():
                lines[-1] += f" {line}"
            else:
                lines.append(line)
        return "\n".join(part for line in lines for part in wrap_for_terminal(line, "    " if line[:1] == " " else ""))

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


class _GivenOnce(argparse.Action):
    """Store an option's value, and refuse the option if it is given again."""

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


def command_parser(name: str) -> Parser:
    """Return the parser of a command, with its own options and the one that all have."""
    module, description = command_module(name), COMMANDS[name]
    description = f"{description[0].upper()}{description[1:]}"
    if name in WHICH:
        description += f".\n{WHICH[name]}"
    result = Parser(
        prog=f"prowess {name}",
        description=description,
        epilog=getattr(module, "EPILOG", None),
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
    )
    result.color = False
    choose_color("auto")
    result.value(
        "--color",
        "WHEN",
        "`always`, `never` or `auto`: on a terminal, unless NO_COLOR or FORCE_COLOR is set (the default)",
        action=_ColorAction,
        choices=COLOR_CHOICES,
        default=argparse.SUPPRESS,
    )
    module.options(result)
    return result
