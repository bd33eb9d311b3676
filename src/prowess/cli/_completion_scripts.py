"""Write the completion scripts of bash, zsh and fish.

The words in a script are those of the parsers. What a script reads at run time, the names of skills, agents and
findings, is data: it is compared and inserted, and never evaluated.
"""

from __future__ import annotations

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["SHELLS", "CommandWords", "OptionWords"]


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
