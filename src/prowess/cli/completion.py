"""prowess completion: print a script that completes commands, options and names in a shell.

The script is static. Only for the names of skills, agents and findings it runs `prowess completion --names KIND`, whose
lines no shell evaluates: bash gets them quoted with `%q`, zsh and fish quote what they insert. Names that cannot be
typed as one plain argument are left out.
"""

from __future__ import annotations

from prowess._internal.text import did_you_mean, neutral, quoted
from prowess.errors import ConfigError

from ._commands import COMMANDS, OK
from ._completion_scripts import SHELLS, CommandWords, OptionWords
from ._options import make_parser
from ._output import print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action, ArgumentParser, Namespace
    from collections.abc import Iterable

_EPILOG = """\
To complete in each new shell, add one line to a file that it reads:
  bash  ~/.bashrc                    source <(prowess completion bash)
  zsh   ~/.zshrc, after `compinit`   source <(prowess completion zsh)
  fish  ~/.config/fish/config.fish   prowess completion fish | source"""

_VALUE_KINDS = {
    "DIR": "folders",
    "FILE": "files",
    "PATH": "files",
    "ROLE": "files",
    "SKILL": "skills",
    "NAME|PATH": "skills",
    "ROLE|SKILL": "files",
    "CODE": "codes",
    "COMMAND": "files",
}
"""What completes a value, by the word for it in the help."""
_NAME_KINDS = {"why": "skills", "activate": "skills", "read": "skills", "hosts": "hosts"}
"""What the argument NAME of a command is."""
_MAX_NAME_CHARS = 200


def parser() -> ArgumentParser:
    """Return the command's parser."""
    from argparse import SUPPRESS

    result = make_parser("completion", epilog=_EPILOG)
    result.add_argument("shell", metavar="SHELL", nargs="?", help=f"the shell: {', '.join(SHELLS)}")
    result.add_argument("--names", metavar="KIND", choices=("skills", "hosts", "codes"), help=SUPPRESS)
    return result


def run(args: Namespace) -> int:
    """Print the script for a shell, or names, one a line."""
    if args.names:
        for name in _names(args.names):
            print_stdout(name, command=True)
        return OK
    if args.shell not in SHELLS:
        otherwise = f"use one of {', '.join(SHELLS)}"
        if not args.shell:
            raise ConfigError("missing argument: SHELL", hint=otherwise)
        raise ConfigError(f"unknown shell {quoted(args.shell)}", hint=did_you_mean(args.shell, SHELLS, otherwise))
    for line in SHELLS[args.shell](_command_words()):
        print_stdout(line, command=True)
    return OK


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _names(kind: str) -> list[str]:
    if kind == "hosts":
        from prowess.hosts import host_names

        return [*host_names()]
    if kind == "codes":
        from prowess.findings import CODES

        return [*CODES]
    from argparse import Namespace

    from prowess.catalog import discover
    from prowess.hosts import DEFAULT_HOST

    from ._agents import chosen_hosts

    agents, _ = chosen_hosts(Namespace(all=False, host=None, home=None, cwd=None))
    hosts = [DEFAULT_HOST, *agents]
    return sorted(filter(_is_one_argument, {entry.name for host in hosts for entry in discover(".", host=host).skills}))


def _is_one_argument(name: str) -> bool:
    """Return whether a name is a line of its own and no option."""
    return (
        name == neutral(name) and name == name.strip() and 0 < len(name) <= _MAX_NAME_CHARS and not name.startswith("-")
    )


# ── the words of the command line ────────────────────────────────────────────────────────────────────────────────────


def _command_words() -> list[CommandWords]:
    from importlib import import_module

    return [
        _words_of(name, import_module(f".{name}", __package__).parser()._actions)  # noqa: SLF001 - argparse has no other
        for name in COMMANDS
    ]


def _words_of(command: str, actions: Iterable[Action]) -> CommandWords:
    from argparse import SUPPRESS

    options: list[OptionWords] = []
    kind, words = "", tuple[str, ...]()
    for action in actions:
        if action.help == SUPPRESS:
            continue
        if action.option_strings:
            options.append(
                OptionWords(
                    names=tuple(action.option_strings),
                    help=(action.help or "").replace("%(default)s", str(action.default)),
                    takes_value=action.nargs != 0,
                    kind=_kind(command, action),
                    words=_choices(action),
                )
            )
        elif not kind:  # the first argument
            kind, words = _kind(command, action), _choices(action)
    return CommandWords(name=command, help=COMMANDS[command], options=tuple(options), kind=kind, words=words)


def _choices(action: Action) -> tuple[str, ...]:
    if action.metavar == "SHELL":
        return tuple(SHELLS)
    if action.metavar == "KIND":
        from prowess.sandbox import CHOICES

        return tuple(CHOICES)
    return tuple(map(str, action.choices or ()))


def _kind(command: str, action: Action) -> str:
    """Return what completes a value: `skills`, `hosts`, `codes`, `files`, `folders`, `words`, or nothing."""
    if action.nargs == 0:
        return ""
    if _choices(action):
        return "words"
    if action.dest == "host":
        return "hosts"
    if action.metavar == "NAME" and not action.option_strings:
        return _NAME_KINDS.get(command, "")
    return _VALUE_KINDS.get(str(action.metavar), "")
