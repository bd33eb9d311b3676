"""Say what to install: the program that a script needs, or what one that failed did not find."""

from __future__ import annotations

import os
import re
import sys

from prowess._internal.text import quoted
from prowess.errors import SkillFileError
from prowess.sandbox import SYSTEM_PATH

from ._known import DISTRIBUTIONS, PROGRAM_PACKAGES, PROGRAM_PAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULE = re.compile(rb"^ModuleNotFoundError: No module named '([A-Za-z_][A-Za-z0-9_.]{0,99})'", re.MULTILINE)
_NODE_MODULE = re.compile(rb"Cannot find (?:module|package) '((?:@[a-z0-9._~-]{1,99}/)?[a-z0-9][a-z0-9._~-]{0,99})'")
_COMMANDS = (
    re.compile(
        rb"^(?:[^\n:]{1,300}: )?(?:line )?[0-9]+: ([A-Za-z0-9][A-Za-z0-9._+-]{0,63}): (?:command )?not found$",
        re.MULTILINE,
    ),
    re.compile(rb"^FileNotFoundError: \[Errno 2\] [^\n:]{1,60}: '([A-Za-z0-9][A-Za-z0-9_+-]{0,63})'$", re.MULTILINE),
    re.compile(rb"spawn ([A-Za-z0-9][A-Za-z0-9._+-]{0,63}) ENOENT"),
)
"""How a shell, Python and Node.js say that a program is missing. A name with a dot is a file for Python."""
_SAID = re.compile(
    rb"\b([A-Za-z][A-Za-z0-9+-]{0,30})['\"`]? (?:CLI |command |program |is |was )*"
    rb"not (?:found|installed|on (?:your )?PATH|in (?:your )?PATH)",
    re.IGNORECASE,
)
"""How scripts say it in their own words; only the names of known programs count."""
_OTHER_VERSION = re.compile(
    rb"^ImportError: cannot import name '([A-Za-z0-9_]{1,100})' from '([A-Za-z0-9_]{1,100})[A-Za-z0-9_.]{0,100}'"
    rb" \([^\n]*/site-packages/",
    re.MULTILINE,
)
_NEWER_PYTHON = re.compile(rb"^SyntaxError: f-string", re.MULTILINE)


def require_program(name: str, path: str, is_found: bool) -> None:
    """Check that a program is installed.

    Args:
        name: of the program, or its path if it was found in a folder of the user.
        path: of the script.
        is_found: whether it was found there; otherwise the system's folders are searched.

    Raises:
        SkillFileError: it is missing.
    """
    if is_found or name == "python3" or _is_installed(name):
        return
    how = _how_to_install(name)
    hint = f"ask the user to install {quoted(name)}{f' ({how})' if how else ''}, or go on without the script"
    raise SkillFileError(f"{quoted(path)} needs {quoted(name)}, which is not installed", hint=hint)


def missing_hints(text: bytes) -> Iterator[str]:
    """Yield what to install, by what a script that failed wrote."""
    for module in _found(_MODULE, text):
        top = module.partition(".")[0]
        if top in DISTRIBUTIONS:
            yield f"the Python package of the module `{top}` is missing: `pip install {DISTRIBUTIONS[top]}`"
        else:
            yield f"the Python module `{top}` is missing; which package has it is not known"
    for package in _found(_NODE_MODULE, text):
        yield f"the Node.js package `{package}` is missing: `npm install {package}`"
    for package, name in dict.fromkeys(
        (match[2].decode(), match[1].decode()) for match in _OTHER_VERSION.finditer(text)
    ):
        yield f"the installed version of `{package}` has no `{name}`: the script is for another version"
    if sys.version_info < (3, 12) and _NEWER_PYTHON.search(text):
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        yield f"this is Python {version}; a script for 3.12 or newer says so with `requires-python` (PEP 723)"
    names = [name for pattern in _COMMANDS for name in _found(pattern, text)]
    names += [name for name in map(str.lower, _found(_SAID, text)) if _how_to_install(name) and not _is_installed(name)]
    for name in dict.fromkeys(names):
        how = _how_to_install(name)
        yield f"the program `{name}` is missing: {how or 'install it, or add its folder to PATH'}"


def _is_installed(name: str) -> bool:
    return any(os.access(f"{folder}/{name}", os.X_OK) for folder in SYSTEM_PATH.split(":"))


def _found(pattern: re.Pattern[bytes], text: bytes) -> list[str]:
    return list(dict.fromkeys(match[1].decode() for match in pattern.finditer(text)))


def _how_to_install(name: str) -> str:
    if name in PROGRAM_PACKAGES:
        return f"for example `apt install {PROGRAM_PACKAGES[name]}`"
    return f"see {PROGRAM_PAGES[name]}" if name in PROGRAM_PAGES else ""
