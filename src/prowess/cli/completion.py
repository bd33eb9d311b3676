"""prowess completion: print a script that completes commands, options and names in a shell.

The words in a script are those of the parsers. Only for the names of skills, agents and findings it runs
`prowess completion --names KIND`, whose lines no shell evaluates: bash gets them quoted with `%q`, zsh and fish quote
what they insert. Names that cannot be typed as one plain argument are left out.
"""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, neutral, quoted
from prowess.errors import ConfigError

from ._arguments import chosen_hosts
from ._commands import COMMANDS
from ._output import CiCommand, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ._parser import Arguments, Parser

EPILOG = """\
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


def options(parser: Parser) -> None:
    """Add the command's options."""
    from argparse import SUPPRESS

    parser.argument("shell", "SHELL", f"the shell: {', '.join(SHELLS)}", nargs="?")
    parser.value("--names", "KIND", SUPPRESS, choices=("skills", "hosts", "codes"))


def run(args: Arguments) -> Result:
    """Return the script for a shell, or names, one a line."""
    if args.names:
        return Result(None, map(CiCommand, _names(args.names)))
    if args.shell not in SHELLS:
        otherwise = f"use one of {', '.join(SHELLS)}"
        if not args.shell:
            raise ConfigError("missing argument: SHELL", hint=otherwise)
        raise ConfigError(f"unknown shell {quoted(args.shell)}", hint=did_you_mean(args.shell, SHELLS, otherwise))
    return Result(None, map(CiCommand, SHELLS[args.shell](_command_words())))


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
    from ._parser import command_parser

    return [_words_of(name, command_parser(name)._actions) for name in COMMANDS]  # noqa: SLF001 - argparse has no other


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


class OptionWords(Frozen):
    """An option of a command."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    kind: str
    """What completes its value: `skills`, `hosts`, `codes`, `files`, `folders`, `words`, or nothing."""
    words: tuple[str, ...]
    """The values, if the kind is `words`."""


class CommandWords(Frozen):
    """A command, its options, and what its arguments are."""

    name: str
    help: str
    options: tuple[OptionWords, ...]
    kind: str
    words: tuple[str, ...]


def _quote(text: str) -> str:
    """Quote a text for bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def _value_cases(commands: Sequence[CommandWords]) -> Iterator[str]:
    """Yield the branches of a `case` in bash or zsh: a command and an option to the kind of the value."""
    for command in commands:
        for option in command.options:
            if option.takes_value:
                patterns = "|".join(_quote(f"{command.name} {name}") for name in option.names)
                yield f"        {patterns}) kind={option.kind or 'text'}{_assign_words(option.words)} ;;"


def _argument_cases(commands: Sequence[CommandWords]) -> Iterator[str]:
    """Yield the branches of a `case` in bash or zsh: a command to the kind of its arguments."""
    for command in commands:
        yield f"        {_quote(command.name)}) kind={command.kind or 'text'}{_assign_words(command.words)} ;;"


def _assign_words(words: Sequence[str]) -> str:
    return f" names=({' '.join(map(_quote, words))})" if words else ""


# ── bash ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_BASH_START = """\
# bash completion for prowess, printed by `prowess completion bash`

_prowess() {
    local IFS=$' \\t\\n' line=${COMP_LINE:0:COMP_POINT} word=${2//\\\\/}
    local command previous current prefix name quoted open='' inline='' kind='' names=() words=()
    COMPREPLY=()
    # Backslashes are removed; nothing is evaluated.
    read -d '' -a words <<<"$line"
    if [[ $line =~ (^|[^\\\\])[[:space:]]$ ]]; then words+=(''); fi
    (( ${#words[@]} > 1 )) || return 0
    current=${words[${#words[@]}-1]} previous=${words[${#words[@]}-2]} command=${words[1]}
    for name in "${words[@]:0:${#words[@]}-1}"; do
        if [[ $name == -- ]]; then return 0; fi
    done
    if [[ $current == --*=* ]]; then previous=${current%%=*} current=${current#*=} inline=1; fi
    if [[ $current == [\\'\\"]* ]]; then open=1 current=${current:1}; fi
    prefix=${current%"$word"}

    if (( ${#words[@]} == 2 )); then"""

_BASH_END = """\
    case $kind in
        hosts|skills|codes)
            while IFS= read -r name; do names+=("$name"); done \\
                < <(command prowess completion --names "$kind" 2>/dev/null) ;;
        folders) compopt -o dirnames +o default 2>/dev/null ;;
    esac
    for name in "${names[@]}"; do
        [[ $name == "$current"* ]] || continue
        if [[ -n $open ]]; then
            # After a quote, only what means itself within both kinds of quotes.
            if [[ $name != *[!A-Za-z0-9\\ _.,:@%+/-]* ]]; then COMPREPLY+=("${name#"$prefix"}"); fi
        else
            printf -v quoted %q "${name#"$prefix"}"
            COMPREPLY+=("$quoted")
        fi
    done
}
complete -o default -F _prowess prowess"""


def _bash(commands: Sequence[CommandWords]) -> Iterator[str]:
    yield _BASH_START
    yield f"        names=({' '.join(_quote(command.name) for command in commands)})"
    yield "    elif [[ -z $open$inline && $current == -* ]]; then"
    yield "        case $command in"
    for command in commands:
        names = " ".join(_quote(name) for option in command.options for name in option.names)
        yield f"        {_quote(command.name)}) names=({names}) ;;"
    yield "        esac"
    yield "    else"
    yield '        case "$command $previous" in'
    yield from _value_cases(commands)
    yield "        *) case $command in"
    yield from _argument_cases(commands)
    yield "        esac ;;"
    yield "        esac"
    yield "    fi"
    yield _BASH_END


# ── zsh ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

_ZSH_START = """\
#compdef prowess
# zsh completion for prowess, printed by `prowess completion zsh`

_prowess() {
    local command=$words[2] previous=$words[CURRENT-1] kind=
    local -a names
    if (( ${words[(i)--]} < CURRENT )); then
        _default
        return
    fi
    if [[ $PREFIX == --*=* ]]; then
        previous=${PREFIX%%=*}
        compset -P 1 '*='
    fi
    if (( CURRENT == 2 )); then"""

_ZSH_END = """\
    case $kind in
        hosts|skills|codes)
            names=("${(@f)$(command prowess completion --names $kind 2>/dev/null)}")
            names=("${(@)names:#}")
            compadd -a names
            if [[ $kind == skills ]]; then _files; fi ;;
        words) compadd -a names ;;
        folders) _files -/ ;;
        *) _files ;;
    esac
}

if [[ $funcstack[1] == _prowess ]]; then _prowess "$@"; else compdef _prowess prowess; fi"""


def _zsh(commands: Sequence[CommandWords]) -> Iterator[str]:
    yield _ZSH_START
    yield "        names=("
    for command in commands:
        yield f"            {_quote(f'{command.name}:{command.help}')}"
    yield "        )"
    yield "        _describe -t commands command names"
    yield "        return"
    yield "    fi"
    yield '    if [[ $PREFIX == -* && $IPREFIX == "" ]]; then'
    yield "        case $command in"
    for command in commands:
        yield f"        {_quote(command.name)}) names=("
        for option in command.options:
            for name in option.names:
                yield f"            {_quote(f'{name}:{option.help}')}"
        yield "        ) ;;"
    yield "        esac"
    yield "        _describe -o -t options option names"
    yield "        return"
    yield "    fi"
    yield '    case "$command $previous" in'
    yield from _value_cases(commands)
    yield "        *) case $command in"
    yield from _argument_cases(commands)
    yield "        esac ;;"
    yield "    esac"
    yield _ZSH_END


# ── fish ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_FISH_START = """\
# fish completion for prowess, printed by `prowess completion fish`

function __prowess_names
    command prowess completion --names $argv[1] 2>/dev/null
end

function __prowess_command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = $argv[1]; and not contains -- -- $words
end

function __prowess_no_command
    test (count (commandline -opc)) -eq 1
end

complete -c prowess -e
complete -c prowess -n __prowess_no_command -f"""


def _fish(commands: Sequence[CommandWords]) -> Iterator[str]:
    yield _FISH_START
    for command in commands:
        yield f"complete -c prowess -n __prowess_no_command -a {command.name} -d {_fish_quote(command.help)}"
    for command in commands:
        start = f"complete -c prowess -n '__prowess_command {command.name}'"
        yield f"{start}{_fish_values(command.kind, command.words, is_option=False)}"
        for option in command.options:
            names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.names)
            values = _fish_values(option.kind, option.words, is_option=True) if option.takes_value else ""
            yield f"{start}{names}{values} -d {_fish_quote(option.help)}"


def _fish_values(kind: str, words: Sequence[str], *, is_option: bool) -> str:
    required = " -r" if is_option else ""
    if kind == "words":
        return f"{required} -f -a {_fish_quote(' '.join(words))}"
    if kind == "folders":
        return f"{required} -f -a '(__fish_complete_directories)'"
    if kind in ("skills", "hosts", "codes"):
        files = " -F" if kind == "skills" else " -f"
        return f"{required}{files} -a '(__prowess_names {kind})'"
    return f"{required} -F" if kind == "files" else f"{required} -f"


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[Sequence[CommandWords]], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""Each shell and what yields its script."""
