"""Check the arguments of `run`, and find the program of a command."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Path = str | os.PathLike[str]


def check_argv(argv: Sequence[Path]) -> list[str]:
    """Return a command as a list of texts.

    Raises:
        SandboxError: it is not a list, is empty, or contains something that is not text.
    """
    if isinstance(argv, (str, bytes, os.PathLike)):
        raise SandboxError("a command must be a list of words", hint='for a command line use `["/bin/sh", "-c", line]`')
    words = [os.fspath(word) if isinstance(word, os.PathLike) else word for word in argv]
    if not words or not words[0]:
        raise SandboxError("the command is empty", hint="name a program, as in `python3 scripts/run.py`")
    for word in words:
        _check_text(word, "a word of the command")
    return words


def check_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return variables that can be given to a program.

    Raises:
        SandboxError: a name or a value is invalid.
    """
    for name, value in env.items():
        _check_text(name, "the name of a variable")
        if not name or "=" in name:
            raise SandboxError(
                f"{quoted(name)} is not a valid name of a variable", hint="use at least one letter, and no `=`"
            )
        _check_text(value, f"the variable {quoted(name)}")
    return dict(env)


def check_input(stdin: bytes | None) -> bytes:
    """Return the input of a command; `None` is empty input.

    Raises:
        SandboxError: it is not bytes.
    """
    if stdin is not None and not isinstance(stdin, bytes):
        raise SandboxError("`stdin` must be bytes", hint="encode it: `text.encode()`")
    return stdin or b""


def existing_path(path: Path, subject: str) -> str:
    """Return the absolute path of a file or folder.

    Args:
        path: the file or folder.
        subject: what it is for, for messages.

    Raises:
        SandboxError: it does not exist, or is the root of the file system.
    """
    text = os.fspath(path)
    _check_text(text, subject)
    absolute = os.path.abspath(text)
    if not os.path.exists(absolute):
        raise SandboxError(
            f"{subject} does not exist: {quoted(absolute, PATH_LIMIT)}", hint="check the spelling of its path"
        )
    if real_path(absolute) == "/":
        raise SandboxError(f"{subject} cannot be `/`", hint="name the folder that is needed")
    return absolute


def existing_folder(path: Path, subject: str) -> str:
    """Return the absolute path of a folder.

    Raises:
        SandboxError: it does not exist, or is the root of the file system.
    """
    folder = existing_path(path, subject)
    if not os.path.isdir(folder):
        raise SandboxError(f"{subject} {quoted(folder, PATH_LIMIT)} is not a folder", hint="name a folder")
    return folder


def find_program(name: str, cwd: str, path: str) -> str:
    """Return the path of a program.

    Args:
        name: a path from the working directory if it contains `/`, else looked up on `path`.
        cwd: the working directory.
        path: folders separated by `:`.

    Raises:
        SandboxError: it does not exist, or may not be executed.
    """
    folders = [cwd] if "/" in name else [os.path.join(cwd, folder) for folder in path.split(":")]
    files = [file for folder in folders if os.path.isfile(file := os.path.join(folder, name))]
    for file in files:
        if os.access(file, os.X_OK):
            return file
    if files:
        message = f"{quoted(name, PATH_LIMIT)} is not executable"
        raise SandboxError(message, hint="type `chmod +x` for it, or name its interpreter, as in `python3 FILE`")
    if "/" in name:
        raise SandboxError(
            f"program not found: {quoted(name, PATH_LIMIT)}", hint="give its path from the working directory"
        )
    raise SandboxError(f"command not found: {quoted(name, PATH_LIMIT)}", hint="install it, or give its path")


def _check_text(value: object, subject: str) -> None:
    """Check that a text can be given to a program.

    Raises:
        SandboxError: it cannot.
    """
    if not isinstance(value, str):
        raise SandboxError(f"{subject} must be text, not {type(value).__name__}", hint="put it between quotes")
    if "\0" in value:
        raise SandboxError(f"{subject} contains a NUL character", hint="pass it in a file instead")
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        raise SandboxError(f"{subject} contains a lone surrogate", hint="remove it") from None
