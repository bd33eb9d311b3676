"""Find the files that decide what a role does, and those of Prowess itself: its tools must not write them.

A role's own file and its skills say what runs. What its tools run counts as well: programs, the folders that scripts
are copied with, and the modules that an MCP server of the role would find beside itself, because such a server runs
outside the sandbox.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prowess._internal.files import UnreadableError, is_inside, read_file
from prowess.guard import ProtectedPath
from prowess.skill import named_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .role import LoadedSkill, Role

__all__ = ["program_paths", "python_module", "role_files"]

_MAX_PROGRAM_BYTES = 1_000_000
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*w?(?:\.exe)?", re.IGNORECASE)
_MODULE_OPTION = re.compile(r"-[A-Za-z]*?([mc])(.*)", re.DOTALL)
"""Options after which Python looks for modules in the working directory."""
_FOLDER_OPTIONS = frozenset(("--directory", "--project", "--from", "--with-editable", "--prefix", "--cwd", "-C"))
"""Options of package managers that name the folder of a program."""
_PACKAGE_RUNNERS = frozenset(("npx", "bunx", "uvx"))
_LOADS_CODE = re.compile(r"\w*(PATH|LIB|PRELOAD|STARTUP|OPT|OPTS|OPTIONS|_ENV|_CONF)")
"""Variables whose values name files and folders with code."""
_MODULE_NAMES = ("*.py", "*.so", "*.pyd", "*/__init__.*")


def role_files(role: Role, explicit: Iterable[LoadedSkill]) -> Iterator[str]:
    """Yield the files that decide what a role does: its own, those of its skills, and those that its tools run."""
    yield role.path
    for skill in explicit:
        yield skill.path
    for config in role.tools:
        options = config.options
        words: list[str | None] = []
        if config.kind == "script":
            for script in options["scripts"]:
                words += [script["path"], *_interpreter_words(role.folder, script, options["interpreter"])]
        elif config.kind == "mcp":
            words = [options["command"], *options["args"]]
        elif config.kind == "shell":
            words = [name for name in options["allowed_commands"] if "/" in name]
        for word in words:
            if file := _existing_file(_working_folder(role, options), word):
                yield file


def program_paths(role: Role, skill_dirs: Iterable[str], env: Mapping[str, str]) -> Iterator[ProtectedPath]:
    """Yield what the programs of a role are copied with or would load, and where programs and skills are looked up.

    Args:
        role: the role.
        skill_dirs: the user's folders of skills, in which a `.md` file is a skill.
        env: the user's variables.
    """
    for folder in filter(None, env.get("PATH", "").split(os.pathsep)):
        yield _whole(os.path.join(role.folder, folder), "shell")
    for folder in skill_dirs:
        yield ProtectedPath(folder=folder, name="*.md", kind="skill")
    for config in role.tools:
        options = config.options
        if config.kind == "script":
            for script in options["scripts"]:
                folder = os.path.normpath(os.path.join(role.folder, os.path.dirname(script["path"] or "")))
                if folder != role.folder:
                    yield _whole(folder)
        elif config.kind == "mcp" and options["transport"] == "stdio" and options["command"]:
            yield from _server_paths(role, options)


def _server_paths(role: Role, options: Mapping[str, Any]) -> Iterator[ProtectedPath]:
    """Yield what an MCP server of the role would load from its own folder or its working directory."""
    cwd, words = _working_folder(role, options), _split_words([options["command"], *options["args"]])
    # A package manager starts what this file names.
    yield ProtectedPath(folder=cwd, name="package.json", kind="role")
    folders = [folder for word in _folder_words(words) if (folder := _existing_folder(cwd, word))]
    for folder in folders:
        yield from _code_in(folder, role.folder, ".py")
    command, *arguments = (
        next((file for base in (cwd, *folders) if (file := _existing_file(base, word))), None) for word in words
    )
    # An interpreter is elsewhere; then the first file that it gets is the program.
    is_own = command is not None and (is_inside(command, cwd) or is_inside(command, role.folder))
    program = command if is_own else next(filter(None, arguments), None)
    if program is not None:
        yield _whole(program)
        yield from _code_in(os.path.dirname(program), role.folder, os.path.splitext(program)[1])
    module = python_module(words)
    if module is not None and (not module or _is_module(cwd, module.partition(".")[0])):
        yield from _modules_in(cwd)
    for name, value in options["env"].items():
        for word in re.split(r"[:;,=\s]+", value) if _LOADS_CODE.fullmatch(name) else ():
            if file := _existing_file(cwd, word):
                yield _whole(file)
            elif folder := _existing_folder(cwd, word):
                yield from _code_in(folder, role.folder, ".py")


def _whole(path: str, kind: str = "role") -> ProtectedPath:
    """Return the protection of a file, or of a folder with everything in it."""
    folder, name = os.path.split(os.path.normpath(path))
    return ProtectedPath(folder=folder, name=name, kind=kind)


def _code_in(folder: str, role_folder: str, suffix: str) -> Iterator[ProtectedPath]:
    """Yield the whole of a folder with a program; of one that contains the role, files that take part in it."""
    if not is_inside(role_folder, folder):
        yield _whole(folder)
    elif suffix == ".py":
        yield from _modules_in(folder)
    elif suffix:
        yield ProtectedPath(folder=folder, name=f"*{suffix}", kind="role")


def _modules_in(folder: str) -> Iterator[ProtectedPath]:
    """Yield what Python would import from a folder in place of what is installed."""
    for name in _MODULE_NAMES:
        yield ProtectedPath(folder=folder, name=name, kind="role")


def _split_words(words: list[str | None]) -> list[str]:
    """Return the words of a command line, also those in a line for a shell."""
    result = []
    for word in filter(None, words):
        result.append(word)
        if len(word.split()) > 1:
            with suppress(ValueError):
                result += shlex.split(word)
    return result


def _folder_words(words: list[str]) -> Iterator[str]:
    """Yield the words that name the folder of a program."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, _, value = word.partition("=")
        if option in _FOLDER_OPTIONS:
            yield value or following
    if os.path.basename(words[0]) in _PACKAGE_RUNNERS:
        yield next((word for word in words[1:] if not word.startswith("-")), "")


def python_module(words: Iterable[str | None]) -> str | None:
    """Return the module that a command line lets Python run; empty for code (`-c`), `None` for anything else."""
    is_python, is_uv = False, False
    rest = iter([word or "" for word in words])
    for word in rest:
        name = os.path.basename(word)
        match = _MODULE_OPTION.fullmatch(word)
        if match and (is_python or is_uv):
            return (match[2] or next(rest, "")) if match[1] == "m" else ""
        if _PYTHON.fullmatch(name):
            is_python = True
        elif name in ("uv", "uvx"):
            is_uv = True
        elif is_python and word in ("-X", "-W"):
            next(rest, None)
        elif is_python and not word.startswith("-"):
            return None
    return None


def _is_module(folder: str, name: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name + suffix)) for suffix in ("", ".py", ".pyc", ".so"))


def _working_folder(role: Role, options: Mapping[str, object]) -> str:
    return os.path.normpath(os.path.join(role.folder, os.path.expanduser(str(options.get("cwd") or ""))))


def _interpreter_words(folder: str, script: Mapping[str, str | None], default: str | None) -> list[str]:
    """Return the words of a script's interpreter, from the configuration or from its first line."""
    line = script["interpreter"] or default
    if not line:
        file = _existing_file(folder, script["path"])
        try:
            first = (script["body"] or "").encode() if file is None else read_file(file, _MAX_PROGRAM_BYTES)
        except UnreadableError:
            return []
        return [word for word in named_program(file or "", first) if "/" in word]
    try:
        return [word for word in shlex.split(line) if "/" in word]
    except ValueError:
        return []


def _existing_file(folder: str, word: str | None, exists: Callable[[str], bool] = os.path.isfile) -> str | None:
    """Return the absolute path of a file that a word names, seen from a folder."""
    if not word or "\0" in word:
        return None
    path = os.path.abspath(os.path.join(folder, word))
    return path if exists(path) else None


def _existing_folder(base: str, word: str) -> str | None:
    """Return the absolute path of a folder that a word names, seen from another one."""
    return _existing_file(base, word, os.path.isdir)
