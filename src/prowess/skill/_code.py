"""Decide which files of a skill may run. What installs, trusts, updates, verifies or runs skills asks here.

A file may run if its name says so (`go.py`, `Makefile`, `package.json`; a name without an ending, such as `run`, that
is no usual document), if its first bytes do (`#!`, a compiled program, an archive that Python runs), if anyone may
execute it, or if `tools:` or `hooks:` name it. A link may run if its name or its target may. A SKILL.md with hooks, or
with commands in its text that some agents run, may run itself. Hidden files are files like others. A text with the
ending of a document (`notes.txt`) does not count, although a program can run it: the instructions have to say so.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping

from prowess._internal.file_names import plain_file_name
from prowess._internal.files import SKILL_FILE
from prowess._internal.text import quoted
from prowess.errors import SkillFileError

from ._forms import MAX_BYTES
from ._frontmatter import parse_frontmatter
from ._integrity import MAX_DEPTH, read_integrity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIRST_BYTES = 16 * 1024
"""Bytes of a file that are looked at."""
_PROGRAMS = {"py": "python3", "sh": "sh", "bash": "bash", "js": "node", "mjs": "node", "cjs": "node", "ps1": "pwsh"}
"""The program that runs a file without a first line that names one, by the ending of its name."""
_ENDINGS = _listed(
    """
    py py3 pyw pyx pyc pyo pyd pyz pyzw pex ipynb pth whl egg xsh sage
    sh bash zsh fish ksh csh tcsh dash ash nu bats exp command tool bashrc zshrc zsh-theme shar
    js mjs cjs jsx ts mts cts tsx vue svelte coffee node  rb rake gem gemspec pl pm t raku php phtml phar lua tcl awk
    sed
    bat cmd ps1 psm1 psd1 vbs vbe jse ws wsf wsh hta com pif exe msi msc scr cpl dll xll chm lnk url reg
    so dylib bundle wasm jar war class java groovy gradle kts kt scala sc clj cljs bb
    r rmd qmd jl gnuplot plt ex exs erl escript hs lhs ml fsx csx go rs swift dart nim zig cr vb fs pas f f90 c h cc
    cpp cxx hpp m mm cs asm s
    scm rkt lisp fnl el vim sql mk mak make cmake ninja bzl nix tf  ahk applescript scpt workflow action app appimage
    run deb rpm pkg dmg apk desktop service plist  docm xlsm pptm xlam dotm  dockerfile envrc
    """
)
"""Endings of programs, and of what programs load and run."""
_NAMES = _listed(
    """
    package.json pyproject.toml setup.cfg tox.ini pytest.ini .mcp.json mcp.json hooks.json tasks.json
    taskfile.yml taskfile.yaml compose.yml compose.yaml docker-compose.yml docker-compose.yaml cmakelists.txt
    meson.build build.xml pom.xml .pre-commit-config.yaml lefthook.yml .gitconfig cargo.toml composer.json deno.json
    """
)
"""Files whose endings are those of documents, and that name programs which others run."""
_BEGINNINGS = re.compile(
    r"(?:requirements[^/]*|constraints)\.(?:txt|in)|(?:make|docker|container|just|rake|gem|proc|jenkins|vagrant)file\..*"
).fullmatch
"""What is installed, which runs then, and variants of files that name programs (`Dockerfile.dev`)."""
_DOCUMENTS = _listed(
    """
    license licence license-mit license-apache copying notice readme changelog changes history authors contributors
    maintainers codeowners version todo  .gitignore .gitattributes .gitkeep .keep .ds_store .editorconfig .dockerignore
    .npmignore .prettierignore .eslintignore .nojekyll
    """
)
"""Names without an ending that are documents."""
_ARCHIVED_DOCUMENTS = _listed(
    "docx dotx xlsx xltx pptx potx ppsx odt ods odp odg ott epub vsdx npz 3mf kmz sketch idml"
)
"""Documents that begin like a ZIP archive, which Python runs otherwise."""
_COMPILED = (
    *(b"\x7fELF", b"MZ", b"\0asm", b"!<arch>", b"\xca\xfe\xba\xbe"),
    *(b"\xfe\xed\xfa", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"),  # of macOS
)
"""How compiled programs and libraries begin."""
_WORDS = re.compile(r"[^\s'\"`=;|&<>()\[\]{}:,]+").findall
_MAX_PATH = 1024
_PYTHON = re.compile(r"python(3(\.[0-9]+)?)?").fullmatch
_COMMAND_IN_TEXT = re.compile(rb"!`|^[ \t>*+-]*(?:`{3,}|~{3,})[ \t]*!", re.MULTILINE)
"""What Claude Code runs when it loads a skill: "Inject dynamic context", code.claude.com/docs/en/skills (2026-11)."""


def find_code(folder: str) -> tuple[str, ...]:
    """Return the files and links of a skill that may run: sorted paths with `/`.

    Raises:
        SkillError: the folder has no integrity digest (see `read_integrity`).
    """
    finder = _CodeFinder()
    read_integrity(folder, finder)
    return finder.find()


def is_code(path: str, mode: int, first: bytes) -> bool:
    """Return whether a file may run; `find_code` also reads the rest of its skill.

    Args:
        path: in the skill.
        mode: its permissions.
        first: its first `FIRST_BYTES`, or more; of a SKILL.md more than `MAX_BYTES`, or all.
    """
    if mode & 0o111 or _is_program_name(path):
        return True
    if first[:FIRST_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"#!") or first.startswith(_COMPILED):
        return True
    if first.startswith(b"PK\3\4"):
        return _ending(path) not in _ARCHIVED_DOCUMENTS
    if first[2:4] == b"\r\n" and 0x0A <= first[1] <= 0x0F:  # compiled Python, which `python3 FILE` knows by this
        return True
    # A SKILL.md that is too long for Prowess is not for other agents.
    return _is_skill_file(path) and (len(first) > MAX_BYTES or _COMMAND_IN_TEXT.search(first) is not None)


def _is_skill_file(path: str) -> bool:
    return posixpath.basename(path).lower() == SKILL_FILE.lower()


def _is_program_name(path: str) -> bool:
    name = plain_file_name(posixpath.basename(path))
    if name in _NAMES or _BEGINNINGS(name) or ":" in posixpath.basename(path):  # Windows reads a name before a colon
        return True
    return _ending(path) in _ENDINGS or ("." not in name[1:] and name not in _DOCUMENTS)


def _ending(path: str) -> str:
    _, dot, ending = plain_file_name(posixpath.basename(path)).rpartition(".")
    return ending if dot else ""


class _CodeFinder:
    """Gets what is read of a skill."""

    def __init__(self) -> None:
        self._first = b""
        self._skill_files: dict[str, bytes] = {}
        self._code: set[str] = set()
        self._data: set[str] = set()
        self._folders: set[str] = set()
        self._links: dict[str, str] = {}

    def open_folder(self, path: str) -> None:
        self._folders.add(path)

    def close_folder(self, path: str, mode: int) -> None:
        """Do nothing: of a folder only its files may run."""

    def open_file(self, path: str) -> Callable[[bytes], None]:
        self._first = b""
        limit = MAX_BYTES + 1 if _is_skill_file(path) else FIRST_BYTES

        def write(data: bytes) -> None:
            if len(self._first) < limit:
                self._first += data

        return write

    def close_file(self, path: str, mode: int) -> None:
        if _is_skill_file(path):
            self._skill_files[path] = self._first
        (self._code if is_code(path, mode, self._first) else self._data).add(path)

    def add_link(self, path: str, target: str) -> None:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.replace(os.sep, "/")))
        self._links[path] = "" if target == "." else target

    def find(self) -> tuple[str, ...]:
        """Return the paths of what may run."""
        for path, content in self._skill_files.items():
            fields = {key.lower(): field.value for key, field in parse_frontmatter(content).fields.items()}
            below = "" if "/" not in path else f"{posixpath.dirname(path)}/"  # of a skill in the skill
            named = _named_files([fields[key] for key in ("tools", "hooks") if key in fields])
            named = self._data & {f"{below}{name}" for name in named}
            self._code |= named | ({path} if fields.get("hooks") else set())
        links = {*self._links}
        by_target: dict[str, list[str]] = {}
        for path, target in self._links.items():
            by_target.setdefault(target, []).append(path)
        # A link is data if it leads to data or a folder, perhaps by another link that does.
        data = [(path, path in self._folders) for path in (self._data - self._code) | self._folders]
        while data:
            target, is_folder = data.pop()
            for path in by_target.get(target, ()):
                if is_folder or not _is_program_name(path):
                    links.discard(path)
                    data.append((path, is_folder))
        return tuple(sorted(self._code | links, key=os.fsencode))


def _named_files(values: Iterable[object]) -> set[str]:
    """Return the paths that values of front matter may name: texts, the words in them, and the ends of both."""
    found: set[str] = set()
    for text in _texts(values):
        for word in {text, *_WORDS(text)}:
            parts = posixpath.normpath(word[:_MAX_PATH].strip()).split("/")[-MAX_DEPTH:]
            found.update("/".join(parts[number:]) for number in range(len(parts)))
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, Iterable):
        for item in value:
            yield from _texts(item)


def program_words(path: str, first: bytes) -> list[str]:
    """Return the program that runs a file of a skill, and its options. Such a file is code (see `is_code`).

    Args:
        path: of the file.
        first: its first bytes.

    Raises:
        SkillFileError: neither its first line nor its name tells the program, or its first line cannot name one.
    """
    words = named_program(path, first)
    hint = "its first line must name a program, as in `#!/usr/bin/env ruby`"
    if not words:
        raise SkillFileError(f"{quoted(path)} does not say which program runs it", hint=hint)
    name = posixpath.basename(words[0])
    if name in ("", ".", "..") or "\0" in "".join(words):
        raise SkillFileError(f"the first line of {quoted(path)} is invalid", hint=hint)
    # Any Python is this one, whose packages the requirements were compared with.
    return ["python3" if _PYTHON(name) else name, *words[1:]]


def named_program(path: str, first: bytes) -> list[str]:
    """Return the program that the first line of a file names, or else its ending, with options; empty without either.

    Args:
        path: of the file.
        first: its first bytes.
    """
    line = first.split(b"\n", 1)[0].rstrip(b"\r")
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    if words and posixpath.basename(words[0]) == "env":
        words = [word for word in words[1:] if word != "-S"]
        while words and (words[0].startswith("-") or "=" in words[0]):
            words = words[1:]
    if words[:2] == ["uv", "run"]:  # it is Prowess that installs what the script declares
        words = ["python3"]
    if not words and (program := _PROGRAMS.get(_ending(path))):
        words = [program]
    return words
