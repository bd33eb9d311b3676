"""Find what a script of a skill needs: Python packages, a version of Python, or packages of Node.js.

A script says it in a comment (inline script metadata, PEP 723); else the nearest `requirements.txt` in its folder or
above it in the skill, and `requires.packages` of the front matter. Where nothing says it, the modules that the script
imports do, by a table of known packages. Nothing is run, and only names and versions count: addresses, paths and
options of pip are refused.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import tokenize

from prowess._internal.files import read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.fs import READ_FLAGS, open_inside
from prowess._internal.text import quoted

from ._known import DISTRIBUTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MAX_REQUIREMENTS = 100
"""More are refused: no published skill has a fifth of that."""
_MAX_BYTES = 512 * 1024
"""Bytes of one file that are read."""
_MAX_MODULES = 200
"""Files of a skill whose imports are read for one script."""
_MAX_LEVELS = 8
"""Folders above a script in which `requirements.txt` and `package.json` are looked for; skills are not deeper."""
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?)"
    r"[ \t]*(?P<extras>\[[A-Za-z0-9._, \t-]{0,200}\])?"
    r"[ \t]*\(?(?P<version>(?:(?:===|==|!=|<=|>=|~=|<|>)[ \t]*[A-Za-z0-9.*+!_-]{1,60}[ \t]*,?[ \t]*){0,10})\)?"
    r"[ \t]*(?P<marker>;[A-Za-z0-9_.'\"<>=!~() \t,+-]{1,300})?",
    re.ASCII,
)
"""PEP 508 without addresses. What it lets through is written to a file for uv, a requirement a line."""
_NODE_NAME = re.compile(r"(?:@[a-z0-9][a-z0-9._~-]{0,99}/)?[a-z0-9][a-z0-9._~-]{0,99}", re.ASCII)
_NODE_VERSION = re.compile(r"[A-Za-z0-9.^~<>=*+ |-]{1,100}", re.ASCII)
"""A range or a tag. Addresses, folders, repositories and other names have a `:` or a `/`."""
_PYTHON = re.compile(r"(?:(?:==|!=|<=|>=|~=|<|>)[ \t]*[0-9][0-9.*]{0,20}[ \t]*,?[ \t]*){1,5}", re.ASCII)


class Needs(Frozen):
    """What a script needs. All texts are those of the skill's author; unsafe to show unless this says otherwise."""

    source: str = ""
    """What says it: `inline metadata`, `requirements.txt` or the like, or `imports`; safe to show."""
    kind: str = "python"
    """`python`, or `npm` for packages of Node.js."""
    requirements: tuple[str, ...] = ()
    """Packages with their versions, sorted, in one form for one meaning: `pypdf>=5`, `docx@^9.6.1`; safe to show."""
    python: str = ""
    """The versions of Python that it can run with, such as `>=3.12`; safe to show."""
    lock: str = ""
    """The `package-lock.json` for npm, without addresses: exact versions and the digests of their files."""
    refused: tuple[tuple[str, str], ...] = ()
    """What is not installed, and why."""
    unknown: tuple[str, ...] = ()
    """Imported modules of which no package is known; safe to show."""
    lookalikes: tuple[tuple[str, str], ...] = ()
    """Packages whose names differ by one letter from those of others, and these; safe to show."""

    @property
    def packages(self) -> tuple[str, ...]:
        """All of it, a version of Python as UAAPS writes it; safe to show."""
        return (*((f"python{self.python}",) if self.python else ()), *self.requirements)

    @property
    def is_declared(self) -> bool:
        """Whether the author says it, and it does not follow from imports."""
        return self.source not in ("", "imports")

    def describe(self, scripts: int) -> str:
        """Return the packages of so many scripts and what says it, in words; safe to show."""
        by = "by their imports" if not self.is_declared else f"by {self.source}"
        listed = ", ".join(self.packages) or "nothing that can be installed"
        return f"{listed} (for {scripts:,} script{'' if scripts == 1 else 's'}, {by})"

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        return {"kind": self.kind, "packages": [*self.packages], "source": self.source, "notes": self.notes()}

    def notes(self, *, unknown: bool = True) -> list[str]:
        """Return what a user should know of it before it is installed, in lines; safe to show.

        Args:
            unknown: whether to name the modules of which no package is known: they may be there nevertheless.
        """
        refused = [(quoted(text, 100), reason) for text, reason in self.refused[:5]]
        lines = [f"{text} of {self.source} is not installed: {reason}" for text, reason in refused]
        lines += [f"`{name}` is not `{other}`: their names differ by one letter" for name, other in self.lookalikes]
        if unknown and self.unknown:
            names = ", ".join(f"`{name}`" for name in self.unknown[:5])
            more = f" and {len(self.unknown) - 5:,} more" if len(self.unknown) > 5 else ""
            lines.append(f"no package is known that has {names}{more}, which the scripts import")
        return lines


def find_needs(folder: str, parts: Sequence[str], packages: Iterable[str] = (), *, imports: bool = True) -> Needs:
    """Return what a script of a skill needs.

    Args:
        folder: of the skill; absolute.
        parts: the path of the script in it.
        packages: what `requires.packages` of the front matter says.
        imports: whether it is a Python script, so that the modules which it imports count.
    """
    return _find_needs(_Imports(folder), parts, packages, imports=imports)


def _find_needs(read: _Imports, parts: Sequence[str], packages: Iterable[str], *, imports: bool) -> Needs:
    folder = read.folder
    source = _read(folder, parts)
    inline = inline_requirements(source)
    if inline is not None:
        python, declared = inline
        return _declared("inline metadata", [*declared, *packages], python)
    declared, names = [*packages], ["requires.packages"] if packages else []
    place, text = _nearest(folder, parts, "requirements.txt")
    if text:
        declared += _lines(text)
        names.insert(0, place)
    if declared or not imports:
        return _declared(" and ".join(names), declared)
    known, unknown = _imported_packages(read, parts)
    return Needs(source="imports" if known or unknown else "", requirements=known, unknown=unknown)


def find_node_needs(folder: str, parts: Sequence[str]) -> Needs:
    """Return what a script for Node.js needs: the `dependencies` of the nearest `package.json`, by names and versions.

    A `package-lock.json` beside it says which versions exactly.

    Args:
        folder: of the skill; absolute.
        parts: the path of the script in it.
    """
    place, text = _nearest(folder, parts, "package.json")
    if not text:
        return Needs(kind="npm")
    import json

    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    listed = content.get("dependencies") if isinstance(content, dict) else None
    found: list[str] = []
    refused: list[tuple[str, str]] = []
    for name, version in listed.items() if isinstance(listed, dict) else ():
        if isinstance(version, str) and _NODE_NAME.fullmatch(name) and _NODE_VERSION.fullmatch(version.strip()):
            found.append(f"{name}@{version.strip()}")
        else:
            refused.append((f"{name}: {version}", "it is not a name and a range of versions"))
    if len(found) > MAX_REQUIREMENTS:
        refused.append((f"{len(found):,} packages", f"{MAX_REQUIREMENTS} is the most"))
        found = []
    lock, source = "", place
    if found and not refused:
        beside = f"{place.removesuffix('package.json')}package-lock.json"
        lock = _lock_without_addresses(_read(folder, beside.split("/")), found)
        source += f" and {beside}" if lock else ", without a usable package-lock.json"
    return Needs(
        source=source,
        kind="npm",
        requirements=tuple(sorted(found)),
        lock=lock,
        refused=tuple(refused[:MAX_REQUIREMENTS]),
    )


_LOCKED_PATH = re.compile(rf"(?:(?:^|/)node_modules/{_NODE_NAME.pattern})+", re.ASCII)
_LOCKED_KEYS = """
    version integrity dependencies optionalDependencies optional dev devOptional peer peerDependencies
    peerDependenciesMeta engines os cpu libc hasInstallScript bin
"""


def _lock_without_addresses(text: bytes, requirements: Sequence[str]) -> str:
    """Return a `package-lock.json` whose packages come from the user's registry; empty if it cannot be used so.

    Its author's addresses are left out: npm takes a version from the registry, and compares the digest of its file.
    """
    import json

    try:
        packages = json.loads(text)["packages"]
        rows = {path: row for path, row in packages.items() if path}
        locked = {path: {key: row[key] for key in _LOCKED_KEYS.split() if key in row} for path, row in rows.items()}
        if not all(
            _LOCKED_PATH.fullmatch(path)
            and re.fullmatch(r"[0-9A-Za-z.+-]{1,100}", row["version"], re.ASCII)
            and row["integrity"].startswith("sha512-")
            and not rows[path].keys() & {"link", "inBundle", "bundleDependencies", "name"}
            for path, row in locked.items()
        ):
            return ""
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    named = dict(requirement.rsplit("@", 1) for requirement in requirements)
    content = {"lockfileVersion": 3, "requires": True, "packages": {"": {"dependencies": named}, **locked}}
    return json.dumps(content, sort_keys=True)


def _nearest(folder: str, parts: Sequence[str], name: str) -> tuple[str, bytes]:
    """Return the path and the content of a file beside a script, or in the nearest folder above it in the skill."""
    for depth in range(len(parts) - 1, max(-1, len(parts) - 1 - _MAX_LEVELS), -1):
        place = (*parts[:depth], name)
        if text := _read(folder, place):
            return "/".join(place), text
    return "", b""


def needs_of_skill(folder: str, scripts: Iterable[str], packages: Iterable[str] = ()) -> dict[Needs, list[str]]:
    """Return what the scripts of a skill need, each with the scripts that need just this; of others nothing.

    Args:
        folder: of the skill; absolute.
        scripts: the paths of what may run, with `/`.
        packages: as for `find_needs`.
    """
    packages, read = tuple(packages), _Imports(folder)
    found: dict[Needs, list[str]] = {}
    for path in scripts:
        if path.endswith(("requirements.txt", "package.json")):
            continue
        if path.endswith((".js", ".mjs", ".cjs")):
            needs = find_node_needs(folder, path.split("/"))
        else:
            needs = _find_needs(read, path.split("/"), packages, imports=path.endswith(".py"))
        if needs.packages or needs.refused or needs.unknown:
            found.setdefault(needs, []).append(path)
    return found


def inline_requirements(source: bytes) -> tuple[str, list[str]] | None:
    """Return the versions of Python and the packages that a comment of a script names; `None` without the comment."""
    content = _inline_metadata(source.decode("utf-8", "replace").replace("\r\n", "\n"))
    if content is None:
        return None
    import tomllib

    try:
        table: Mapping[str, object] = tomllib.loads(content)
    except (ValueError, RecursionError):
        return None
    python, names = table.get("requires-python"), table.get("dependencies")
    return (
        python if isinstance(python, str) else "",
        [name for name in names if isinstance(name, str)] if isinstance(names, list) else [],
    )


def _inline_metadata(text: str) -> str | None:
    """Return the TOML of the first comment of type `script`, up to the last `# ///` of the comment.

    What the regular expression of the specification matches; that takes quadratic time if the last line is missing.
    """
    block: list[str] | None = None
    end = 0
    for line in (*text.split("\n"), ""):
        if block is None:
            block, end = ([] if line == "# /// script" else None), 0
        elif line == "#" or line.startswith("# "):
            end = len(block) if line == "# ///" else end
            block.append(line[2:])
        elif end:
            return "\n".join(block[:end])
        else:
            block = None
    return None


def _lines(source: bytes) -> list[str]:
    """Return the requirements and options of a `requirements.txt`: no comments, and lines that go on joined."""
    text = re.sub(r"\\\r?\n", " ", source.decode("utf-8", "replace"))
    lines = [re.sub(r"(?:^|\s)#.*|\s--hash[= ]\S+", "", line).strip() for line in text.splitlines()]
    return [line for line in lines if line]


def _declared(source: str, texts: Iterable[str], python: str = "") -> Needs:
    found: dict[str, None] = {}
    refused: list[tuple[str, str]] = []
    for text in dict.fromkeys(texts):
        requirement = normal_requirement(text)
        if requirement is None:
            refused.append((text, _refusal(text)))
        elif not requirement.startswith("python") or (version := _python_version(requirement)) is None:
            found[requirement] = None
        else:
            python = ",".join(filter(None, (python, version)))
    if len(found) > MAX_REQUIREMENTS:
        refused.append((f"{len(found):,} packages", f"{MAX_REQUIREMENTS} is the most"))
        found = {}
    python = _with_single_spaces(python)
    if python and not _PYTHON.fullmatch(python):
        refused.append((python, "it is not a version of Python"))
        python = ""
    names = {_name(requirement) for requirement in found}
    return Needs(
        source=source,
        requirements=tuple(sorted(found)),
        python=python.replace(" ", "").strip(","),
        refused=tuple(refused[:MAX_REQUIREMENTS]),
        lookalikes=tuple((name, other) for name in sorted(names) if (other := _known_like(name))),
    )


def _python_version(requirement: str) -> str | None:
    """Return the version of a requirement of Python itself, as UAAPS writes it (`python>=3.10`)."""
    return requirement.removeprefix("python") if re.match(r"python[<>=!~]", requirement) else None


def normal_requirement(text: str) -> str | None:
    """Return a requirement in one form for all spellings; `None` if it is more than a name and versions."""
    match = _REQUIREMENT.fullmatch(_with_single_spaces(text))
    if match is None:
        return None
    extras = sorted(filter(None, (extra.strip().lower() for extra in (match["extras"] or "[]")[1:-1].split(","))))
    version = ",".join(filter(None, (part.replace(" ", "") for part in match["version"].split(","))))
    name = canonical_name(match["name"])
    return name + (f"[{','.join(extras)}]" if extras else "") + version + (match["marker"] or "").rstrip()


def _with_single_spaces(text: str) -> str:
    """Return a text in which a pattern tries no long row of blanks in several places."""
    return re.sub(r"[ \t]+", " ", text).strip()


def canonical_name(name: str) -> str:
    """Return the name of a package as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]


def _refusal(text: str) -> str:
    """Return why a requirement is not installed."""
    if text.startswith("-"):
        return "it is an option of pip"
    if "://" in text or " @ " in text or "@" in text.partition(";")[0]:
        return "it is an address"
    return "it is a path" if "/" in text or "\\" in text or text.startswith(".") else "it is not a requirement"


_KNOWN_NAMES = frozenset(map(canonical_name, DISTRIBUTIONS.values()))


def _known_like(name: str) -> str | None:
    """Return the known package whose name differs by one letter: another, one more, one less, or two exchanged."""
    if name in _KNOWN_NAMES or len(name) < 4:
        return None
    return next(
        (other for other in sorted(_KNOWN_NAMES) if abs(len(other) - len(name)) < 2 and _is_near(name, other)), None
    )


def _is_near(one: str, other: str) -> bool:
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    a, b = one[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


# ── imports ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Imports:
    """What the files of a skill import: each file is read once, though many scripts import it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._modules: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._found: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[dict[tuple[str, ...], None], set[str]]] = {}

    def of(self, file: tuple[str, ...], start: tuple[str, ...]) -> tuple[dict[tuple[str, ...], None], set[str]]:
        """Return the files of the skill that a file imports, and the first names of its other modules.

        Args:
            file: its path in the skill.
            start: the folder of the script that runs, in which Python looks for modules.
        """
        if (file, start) not in self._found:
            if file not in self._modules:
                self._modules[file] = tuple(dict.fromkeys(imported_modules(_read(self.folder, file))))
            own: dict[tuple[str, ...], None] = {}
            others: set[str] = set()
            for module in self._modules[file]:
                files = _own_files(self.folder, file, start, module)
                own.update(dict.fromkeys(files))
                if not files:
                    others.add(module.partition(".")[0])
            self._found[file, start] = own, others
        return self._found[file, start]


def _imported_packages(read: _Imports, parts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the known packages that a script imports, and the modules of which none is known.

    What files of the skill have is not looked for on PyPI: they are read for their own imports.

    Args:
        read: what files of the skill import.
        parts: the path of the script in it.
    """
    names: set[str] = set()
    pending, seen = [tuple(parts)], {tuple(parts)}
    while pending and len(seen) <= _MAX_MODULES:
        own, others = read.of(pending.pop(), tuple(parts[:-1]))
        names |= others
        new = [path for path in own if path not in seen]
        seen.update(new)
        pending += new
    known = {canonical_name(DISTRIBUTIONS[name]) for name in names if name in DISTRIBUTIONS}
    unknown = names - DISTRIBUTIONS.keys() - sys.stdlib_module_names - {"", "__future__"}
    return tuple(sorted(known)), tuple(sorted(unknown))


def _own_files(
    folder: str, file: tuple[str, ...], script_folder: tuple[str, ...], module: str
) -> list[tuple[str, ...]]:
    """Return the files of the skill that an import runs; a relative import starts at the file's own folder.

    Many scripts add a folder above their own to `sys.path`, so all of these count.
    """
    names = module.lstrip(".").split(".") if module.lstrip(".") else []
    dots = len(module) - len(module.lstrip("."))
    above = [script_folder[:length] for length in range(len(script_folder), -1, -1)]
    starts = [file[: len(file) - dots]] if dots else [*above, file[:-1]]
    for start in starts:
        found = []
        for length in range(1, len(names) + 1):
            inner = (*start, *names[:length])
            files = ((*inner[:-1], f"{inner[-1]}.py"), (*inner, "__init__.py"))
            found += [path for path in files if os.path.isfile(os.path.join(folder, *path))]
            if length == 1 and not found and not os.path.isdir(os.path.join(folder, *inner)):
                break
        else:
            return found or [(*start, "__init__.py")]
    return []


def imported_modules(source: bytes) -> Iterator[str]:
    """Yield the modules that a file imports, relative ones with their dots; of a file with errors those before them.

    It is read word by word: a parser of Python can end the process with a text that is made for it.
    """
    words: list[str] = []
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT) or token.string in (";", ":"):
                yield from _modules_of(words)
                words = []
            elif token.type in (tokenize.NAME, tokenize.OP) and len(words) < 1000:
                words.append(token.string)
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError):
        return
    yield from _modules_of(words)


def _modules_of(words: list[str]) -> Iterator[str]:
    if words[:1] == ["import"]:
        yield from (name for name in _joined(words[1:], ",") if name)
    elif words[:1] == ["from"] and "import" in words:
        end = words.index("import")
        module = "".join(words[1:end])
        yield module
        # Each name may be a module too.
        prefix = module if module.endswith(".") else f"{module}."
        names = _joined((word for word in words[end + 1 :] if word not in "()"), ",")
        yield from (prefix + name for name in names if name and name != "*")


def _joined(words: Iterable[str], separator: str) -> Iterator[str]:
    """Yield names with their dots, without `as` and what follows."""
    name: list[str] = []
    is_name = True
    for word in (*words, separator):
        if word == separator:
            yield "".join(name)
            name, is_name = [], True
        elif word == "as":
            is_name = False
        elif is_name:
            name.append(word)


def _read(folder: str, parts: Sequence[str]) -> bytes:
    """Return a file of the skill, or nothing if it is missing, a link or no file."""
    try:
        fd = open_inside(folder, parts, READ_FLAGS)
    except (OSError, ValueError):
        return b""
    try:
        return read_up_to(fd, _MAX_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)
