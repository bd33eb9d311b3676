"""Choose the program that runs a script, and say what to install if it or a package is missing."""

from __future__ import annotations

import os
import re

from prowess._internal.text import quoted
from prowess.errors import SkillFileError
from prowess.sandbox import SYSTEM_PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FIRST_BYTES", "interpreter_words", "missing_hints", "require_program", "script_requirements"]

FIRST_BYTES = 16 * 1024
"""Bytes of a script that are looked at: its first line, and the packages that it declares."""
_BY_SUFFIX = {
    ".py": "python3",
    ".sh": "sh",
    ".bash": "bash",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
}
"""For scripts without a first line that names their program."""
_PYTHON = re.compile(r"python(3(\.[0-9]+)?)?")
_PACKAGES = {
    "nodejs": "nodejs",
    "node": "nodejs",
    "deno": "deno",
    "bun": "bun",
    "uv": "uv",
    "ruby": "ruby",
    "perl": "perl",
    "php": "php-cli",
    "Rscript": "r-base-core",
}
_DISTRIBUTIONS = {
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "PyMuPDF",
    "pptx": "python-pptx",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
"""Modules whose package has another name."""
_MISSING_MODULE = re.compile(rb"^ModuleNotFoundError: No module named '([A-Za-z_][A-Za-z0-9_.]{0,99})'", re.MULTILINE)
_MISSING_NODE_MODULE = re.compile(
    rb"Cannot find (?:module|package) '((?:@[a-z0-9._~-]{1,99}/)?[a-z0-9][a-z0-9._~-]{0,99})'"
)
_MISSING_COMMAND = re.compile(
    rb"^(?:[^\n:]{1,300}: )?(?:line )?[0-9]+: ([A-Za-z0-9][A-Za-z0-9._+-]{0,63}): (?:command )?not found$", re.MULTILINE
)
_INLINE_METADATA = re.compile(r"^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$", re.MULTILINE)
"""As the specification "Inline script metadata" of packaging.python.org has it."""


def interpreter_words(path: str, head: bytes) -> list[str]:
    """Return the program for a script, and its options.

    Args:
        path: of the script.
        head: its first bytes.

    Raises:
        SkillFileError: neither its first line nor its name tells the program, or its first line cannot name one.
    """
    line = head.split(b"\n", 1)[0].rstrip(b"\r")
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    suffix = os.path.splitext(path)[1].lower()
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if word != "-S"]
        while words and (words[0].startswith("-") or "=" in words[0]):
            words = words[1:]
    if not words:
        if suffix not in _BY_SUFFIX:
            message = f"{quoted(path)} does not say which program runs it"
            raise SkillFileError(message, hint="its first line must name the program, as in `#!/usr/bin/env ruby`")
        return [_BY_SUFFIX[suffix]]
    name = os.path.basename(words[0])
    if name in ("", ".", "..") or b"\0" in line:
        hint = "its first line must name a program, as in `#!/usr/bin/env ruby`"
        raise SkillFileError(f"the first line of {quoted(path)} is invalid", hint=hint)
    # Any Python is this one, whose packages the requirements were compared with.
    return ["python3" if _PYTHON.fullmatch(name) else name, *words[1:]]


def require_program(name: str, path: str, needed: bool) -> None:
    """Check that a program is installed.

    Args:
        name: of the program, or its path if it was found outside of the system's folders.
        path: of the script.
        needed: whether the program was found there.

    Raises:
        SkillFileError: it is not.
    """
    if needed or name == "python3" or any(os.access(f"{folder}/{name}", os.X_OK) for folder in SYSTEM_PATH.split(":")):
        return
    package = f" (for example `apt install {_PACKAGES[name]}`)" if name in _PACKAGES else ""
    hint = f"ask the user to install {quoted(name)}{package}, or go on without the script"
    raise SkillFileError(f"{quoted(path)} needs {quoted(name)}, which is not installed", hint=hint)


def script_requirements(head: bytes) -> tuple[str, ...]:
    """Return the Python requirements that a script declares in a comment (inline script metadata, PEP 723)."""
    text = head.decode("utf-8", "replace").replace("\r\n", "\n")
    match = _INLINE_METADATA.search(text)
    if match is None:
        return ()
    import tomllib

    content = "".join(line[2:] if line.startswith("# ") else line[1:] for line in match["content"].splitlines(True))
    try:
        table: Mapping[str, object] = tomllib.loads(content)
    except (ValueError, RecursionError):
        return ()
    needs = table.get("dependencies")
    python = table.get("requires-python")
    declared = [need for need in needs if isinstance(need, str)] if isinstance(needs, list) else []
    return (*((f"python{python}",) if isinstance(python, str) else ()), *declared[:100])


def missing_hints(stderr: bytes) -> Iterator[str]:
    """Yield what to install, by what a script that failed wrote."""
    for module in dict.fromkeys(match[1].decode() for match in _MISSING_MODULE.finditer(stderr)):
        top = module.partition(".")[0]
        yield f"the Python package of the module `{top}` is missing: `pip install {_DISTRIBUTIONS.get(top, top)}`"
    for package in dict.fromkeys(match[1].decode() for match in _MISSING_NODE_MODULE.finditer(stderr)):
        yield f"the Node.js package `{package}` is missing: `npm install {package}`"
    for name in dict.fromkeys(match[1].decode() for match in _MISSING_COMMAND.finditer(stderr)):
        yield f"the program `{name}` is missing: install it, or add its folder to PATH"
