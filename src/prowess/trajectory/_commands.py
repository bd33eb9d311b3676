"""Find the files that a shell command reads or runs."""

from __future__ import annotations

import os
import re

from prowess._internal.files import expand_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_COMMAND = 16_384
"""Characters of a command that are read."""
_find_words = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\;&|<>()])+|\n|[;&|<>()]+""", re.DOTALL).finditer
_WRAPPERS = frozenset(
    ("bun", "command", "deno", "env", "exec", "nice", "nohup", "npx", "run", "sudo", "time", "timeout", "uv", "uvx")
)
"""Programs, and words after them, that run the program that follows."""
_INTERPRETERS = re.compile(
    r"(?:python|pypy|perl|ruby|node|php|lua)[\d.]*w?|ts-node|tsx|pwsh|powershell|Rscript|bash|dash|sh|zsh|fish|source|\."
).fullmatch
_READERS = frozenset(["bat", "batcat", "cat", "head", "less", "more", "nl", "tail"])
_ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL).fullmatch


def files_of_command(command: str, cwd: str, home: str, depth: int = 2) -> Iterator[tuple[str, str]]:
    """Yield the files that a command uses, each as `read` or `run` with its absolute path.

    What is in a here-document, or replaced by the shell, is not looked at.

    Args:
        command: a line of a shell.
        cwd: where it is run, absolute.
        home: the user's home.
        depth: how many shells in shells are looked into.
    """
    command = command[:_MAX_COMMAND]
    if (start := command.find("<<")) >= 0:
        command = command[:start] + command[start:].partition("\n")[0]
    words: list[str] = []
    for word in [*(match[0] for match in _find_words(command)), ";"]:
        if word.strip("\n;&|()"):
            words.append(word)
            continue
        if words and _plain(words[0]) == "cd" and len(words) > 1:
            cwd = _join(cwd, _plain(words[1]), home)
        else:
            yield from _files_of_words(words, cwd, home, depth)
        words = []


def _files_of_words(words: list[str], cwd: str, home: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the files of one program with its arguments."""
    left: list[str] = []
    is_target = False
    for word in words:  # a file that is redirected to is written
        if not word.strip("<>&|()"):
            is_target = True
        elif is_target:
            is_target = False
        else:
            left.append(_plain(word))
    while left and (_ASSIGNMENT(left[0]) or left[0][:1] == "-" or left[0].isdigit() or _name(left[0]) in _WRAPPERS):
        left.pop(0)
    if not left:
        return
    program, arguments = left[0], left[1:]
    name = _name(program)
    if _INTERPRETERS(name):
        for number, argument in enumerate(arguments):
            if argument[:1] != "-":
                yield "run", _join(cwd, argument, home)
                return
            if argument in ("-c", "-lc", "-e", "-m", "-Command"):
                if name.endswith("sh") and depth and number + 1 < len(arguments):
                    yield from files_of_command(arguments[number + 1], cwd, home, depth - 1)
                return
    elif name in _READERS or (name == "sed" and not any(word.startswith("-i") for word in arguments)):
        paths = (word for word in arguments if word[:1] != "-" and ("/" in word or "." in word))
        yield from (("read", _join(cwd, word, home)) for word in paths)
    elif "/" in program or name.endswith((".py", ".sh", ".js")):
        yield "run", _join(cwd, program, home)


def _name(program: str) -> str:
    return program.rpartition("/")[2]


def _plain(word: str) -> str:
    """Return a word without its quotes."""
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return re.sub(
        r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)""", lambda m: m[1] or m[2] or m[3] or "", word, flags=re.DOTALL
    )


def _join(cwd: str, path: str, home: str) -> str:
    for variable in ("$HOME", "${HOME}"):
        path = "~" + path[len(variable) :] if path.startswith(f"{variable}/") else path
    return os.path.normpath(os.path.join(cwd or "/", expand_home(path, home)))
