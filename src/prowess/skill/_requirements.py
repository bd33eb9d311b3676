"""Find the requirements of a skill that this machine does not meet.

The rules are those of InitRunner (`requires.env`, `requires.bins`), of OpenClaw (`metadata.openclaw.requires`) and of
UAAPS (`compatibility.requires`, here also `requires.packages`, a list of Python requirements, PEP 508). Nothing is
imported, installed or run: variables and PATH are looked up, and versions come from the metadata of the installed
packages. The packages of an extra (`pypdf[crypto]`) are not checked.
"""

from __future__ import annotations

import os
import re
import sys

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._skill import Requirements


class MissingRequirement(Frozen):
    """A requirement of a skill that this machine does not meet."""

    kind: str
    """`env`, `bin`, `package` or `python`."""
    name: str
    """As the skill writes it; unsafe to show."""
    message: str
    hint: str | None = None


def find_missing(requirements: Requirements, *, env: Mapping[str, str] | None = None) -> tuple[MissingRequirement, ...]:
    """Return the missing requirements, each once: variables, then programs, then packages. Never raises.

    Args:
        requirements: the requirements of the skill.
        env: the environment with the variables and PATH; by default that of the process.
    """
    env = os.environ if env is None else env
    return (
        *_missing_variables(dict.fromkeys(requirements.env), env),
        *_missing_programs(dict.fromkeys(requirements.bins), env),
        *_missing_alternatives([*dict.fromkeys(requirements.any_bins)], env),
        *_missing_packages(dict.fromkeys(requirements.packages)),
    )


_MAX_NAME = 255
"""Characters of the name of a variable or program; no system allows more."""
_MAX_ALTERNATIVES = 5
"""Programs that a message names, of which one is enough."""
_MAX_REQUIREMENT = 1000
"""Characters of a Python requirement; real ones are shorter, and parsing takes quadratic time."""


def _missing_variables(names: dict[str, None], env: Mapping[str, str]) -> Iterator[MissingRequirement]:
    for name in names:
        if not name or "=" in name or "\0" in name or len(name) > _MAX_NAME:
            message = f"{quoted(name)} is not a valid name of an environment variable"
            yield MissingRequirement(kind="env", name=name, message=message, hint="fix it in `requires.env`")
            continue
        value = env.get(name)
        if value is None or not value.strip():
            message = f"the environment variable {quoted(name)} is {'not set' if value is None else 'empty'}"
            hint = f"set {quoted(name)} before you start the agent"
            yield MissingRequirement(kind="env", name=name, message=message, hint=hint)


def _missing_programs(names: dict[str, None], env: Mapping[str, str]) -> Iterator[MissingRequirement]:
    if not names:
        return
    # A relative or empty entry would find programs in the folder in which the agent runs.
    folders = os.pathsep.join(path for path in env.get("PATH", "").split(os.pathsep) if os.path.isabs(path))
    for name in names:
        if name in ("", ".", "..") or len(name) > _MAX_NAME or any(c in "/\\\0" for c in name):
            message = f"{quoted(name)} is not a valid name of a program"
            yield MissingRequirement(kind="bin", name=name, message=message, hint="write its name without a folder")
        elif not _on_path(name, folders):
            message = f"the program {quoted(name)} is not on PATH"
            hint = f"install {quoted(name)}, or add its folder to PATH"
            yield MissingRequirement(kind="bin", name=name, message=message, hint=hint)


def _missing_alternatives(names: list[str], env: Mapping[str, str]) -> Iterator[MissingRequirement]:
    """Yield what is missing if none of these programs is there."""
    missing = [*_missing_programs(dict.fromkeys(names), env)]
    if names and len(missing) == len(names):
        first = ", ".join(map(quoted, names[:_MAX_ALTERNATIVES]))
        message, hint = f"none of the programs {first} is on PATH", f"install one of them, such as {quoted(names[0])}"
        yield MissingRequirement(kind="bin", name=names[0], message=message, hint=hint)


def _on_path(name: str, folders: str) -> bool:
    from shutil import which

    try:
        return which(name, path=folders) is not None
    except (OSError, ValueError):
        return False


def _missing_packages(requirements: dict[str, None]) -> Iterator[MissingRequirement]:
    if not requirements:
        return
    parse = _requirement_parser()
    for text in requirements:
        if len(text) > _MAX_REQUIREMENT:
            message = f"the Python requirement {quoted(text)} is longer than {_MAX_REQUIREMENT:,} characters"
            yield MissingRequirement(kind="package", name=text, message=message, hint="shorten it")
            continue
        try:
            requirement = parse(text)
        except _UncheckableError:
            message = f"the Python requirement {quoted(text)} cannot be checked without the package `packaging`"
            hint = "install it with `pip install packaging`"
            yield MissingRequirement(kind="package", name=text, message=message, hint=hint)
            continue
        except (ValueError, RecursionError):
            message = f"{quoted(text)} is not a valid Python requirement"
            hint = "write it as for `pip`, for example `pypdf>=5,<6`"
            yield MissingRequirement(kind="package", name=text, message=message, hint=hint)
            continue
        if requirement is not None and (missing := requirement.find_missing(text)):
            yield missing


class _UncheckableError(Exception):
    """A requirement that only `packaging` can check."""


class _PythonRequirement:
    """A requirement that applies to this machine."""

    def __init__(
        self, name: str, specifiers: str, accepts_version: VersionTest, extras: frozenset[str] = frozenset()
    ) -> None:
        self.name, self.specifiers, self.accepts_version, self.extras = name, specifiers, accepts_version, extras

    def find_missing(self, text: str) -> MissingRequirement | None:
        """Return the requirement as missing, or `None` if an installed package meets it."""
        if _canonical_name(self.name) == "python":
            return self._missing_python(text)
        wanted = self.name + (f"[{','.join(sorted(self.extras))}]" if self.extras else "") + self.specifiers
        can_type = len(wanted) <= 120 and "'" not in wanted
        hint = f"run `pip install {_shell_quote(neutral(wanted))}`" if can_type else None
        installed = _installed_version(self.name)
        if installed is None:
            message = f"the Python package {quoted(self.name)} is not installed"
            return MissingRequirement(kind="package", name=text, message=message, hint=hint)
        if not self.specifiers or self.accepts_version(installed):
            return None
        message = f"{quoted(self.name + self.specifiers)} is required, but {_display_version(installed)} is installed"
        return MissingRequirement(kind="package", name=text, message=message, hint=hint)

    def _missing_python(self, text: str) -> MissingRequirement | None:
        current = ".".join(map(str, sys.version_info[:3]))
        if not self.specifiers or self.accepts_version(current):
            return None
        minimum = re.fullmatch(r">=[ \t]*([0-9.]{1,20})", self.specifiers)
        wanted = f"Python {minimum[1]} or newer" if minimum else quoted(f"python{self.specifiers}")
        message = f"{wanted} is required, but this is {current}"
        return MissingRequirement(kind="python", name=text, message=message, hint="run the agent with another Python")


if TYPE_CHECKING:
    from collections.abc import Callable

    VersionTest = Callable[[str], bool]
    RequirementParser = Callable[[str], "_PythonRequirement | None"]


def _canonical_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _shell_quote(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9._=~,-]+", text) else f"'{text}'"


def _display_version(text: str) -> str:
    return quoted(text)[1:-1]


def _installed_version(name: str) -> str | None:
    """Return the version of an installed package from its metadata."""
    from importlib import metadata

    try:
        return str(metadata.version(name) or "an unknown version")
    except Exception:  # noqa: BLE001 - a package with broken metadata counts as missing
        return None


def _requirement_parser() -> RequirementParser:
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return _parse_simple_requirement

    def parse(text: str) -> _PythonRequirement | None:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            return None
        specifiers = requirement.specifier

        def accepts_version(version: str) -> bool:
            try:
                return specifiers.contains(version, prereleases=True)
            except ValueError:
                return False

        return _PythonRequirement(requirement.name, str(specifiers), accepts_version, frozenset(requirement.extras))

    return parse


_SIMPLE_REQUIREMENT = re.compile(
    r"[ \t]*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)[ \t]*([^A-Za-z0-9._ \t-].*)?", re.DOTALL
)
_COMPARISON = re.compile(r"[ \t]*(===|==|!=|>=|<=|~=|>|<)[ \t]*([^ \t]*)[ \t]*")
_DOTTED_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")


def _parse_simple_requirement(text: str) -> _PythonRequirement | None:
    """Parse a requirement that needs no `packaging`: a name and comparisons with dotted numbers.

    Raises:
        ValueError: it is not a requirement.
        _UncheckableError: it needs `packaging`.
    """
    match = _SIMPLE_REQUIREMENT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    name, rest = match[1], (match[2] or "").strip(" \t")
    tests: list[tuple[str, list[int]]] = []
    for part in rest.split(",") if rest else ():
        comparison = _COMPARISON.fullmatch(part)
        if comparison is None or comparison[1] in ("===", "~=") or not _DOTTED_VERSION.fullmatch(comparison[2]):
            raise _UncheckableError
        tests.append((comparison[1], _version_numbers(comparison[2])))

    def accepts_version(version: str) -> bool:
        if not _DOTTED_VERSION.fullmatch(version):
            raise _UncheckableError
        numbers = _version_numbers(version)
        return all(_COMPARISON_FUNCTIONS[sign](numbers, other) for sign, other in tests)

    if rest and _canonical_name(name) != "python":
        installed = _installed_version(name)
        if installed is not None and not _DOTTED_VERSION.fullmatch(installed):
            raise _UncheckableError
    return _PythonRequirement(name, rest, accepts_version)


def _version_numbers(text: str) -> list[int]:
    """Return the numbers of a version without zeros at its end."""
    numbers = [int(part) for part in text.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


_COMPARISON_FUNCTIONS: Mapping[str, Callable[[list[int], list[int]], bool]] = {
    "==": lambda installed, other: installed == other,
    "!=": lambda installed, other: installed != other,
    ">=": lambda installed, other: installed >= other,
    "<=": lambda installed, other: installed <= other,
    ">": lambda installed, other: installed > other,
    "<": lambda installed, other: installed < other,
}
