"""Skill + machine -> what is missing

The rules are those of InitRunner (`requires.env`, `requires.bins`) and of UAAPS (`compatibility.requires`, written as
Python requirements are, PEP 508). Nothing is imported, installed or run to find out: variables and PATH are looked
up, versions come from what the installed packages say of themselves. Whether an extra's own packages are there
(`pypdf[crypto]`) is not looked at.
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

__all__ = ["MissingRequirement", "find_missing"]


class MissingRequirement(Frozen):
    """One thing that a skill needs and this machine does not have."""

    kind: str
    """`env`, `bin`, `package` or `python`."""
    name: str
    """As the skill writes it; not safe to show."""
    message: str
    hint: str | None = None


def find_missing(requirements: Requirements, *, env: Mapping[str, str] | None = None) -> tuple[MissingRequirement, ...]:
    """Return what is missing, in the order of the skill: variables, programs, packages; each once. Never raises.

    Args:
        requirements: what the skill says it needs.
        env: the environment whose variables and PATH count; the process's by default.
    """
    env = os.environ if env is None else env
    found = [
        *_missing_variables(dict.fromkeys(requirements.env), env),
        *_missing_programs(dict.fromkeys(requirements.bins), env),
        *_missing_packages(dict.fromkeys(requirements.packages)),
    ]
    return tuple(found)


_MAX_NAME = 255
"""Characters of the name of a variable or program; longer ones no system takes."""
_MAX_REQUIREMENT = 1000
"""Characters of a Python requirement; all real ones are shorter, and reading it takes its length squared."""


def _missing_variables(names: dict[str, None], env: Mapping[str, str]) -> Iterator[MissingRequirement]:
    for name in names:
        if not name or "=" in name or "\0" in name or len(name) > _MAX_NAME:
            yield MissingRequirement(
                kind="env", name=name, message=f"{quoted(name)} is no name of an environment variable"
            )
            continue
        value = env.get(name)
        if value is None or not value.strip():
            what = "not set" if value is None else "empty"
            message = f"the environment variable {quoted(name)} is {what}"
            yield MissingRequirement(
                kind="env", name=name, message=message, hint=f"set {quoted(name)} before you start the agent"
            )


def _missing_programs(names: dict[str, None], env: Mapping[str, str]) -> Iterator[MissingRequirement]:
    if not names:
        return
    # A relative or empty entry would find a program in whatever folder the agent works in.
    folders = os.pathsep.join(path for path in env.get("PATH", "").split(os.pathsep) if os.path.isabs(path))
    for name in names:
        if name in ("", ".", "..") or len(name) > _MAX_NAME or any(c in "/\\\0" for c in name):
            message = f"{quoted(name)} is no name of a program"
            yield MissingRequirement(
                kind="bin", name=name, message=message, hint="a program is named without its folder"
            )
        elif not _on_path(name, folders):
            message = f"the program {quoted(name)} is not on PATH"
            hint = f"install {quoted(name)}, or add its folder to PATH"
            yield MissingRequirement(kind="bin", name=name, message=message, hint=hint)


def _on_path(name: str, folders: str) -> bool:
    from shutil import which

    try:
        return which(name, path=folders) is not None
    except (OSError, ValueError):
        return False


def _missing_packages(wanted: dict[str, None]) -> Iterator[MissingRequirement]:
    if not wanted:
        return
    read = _requirement_parser()
    for text in wanted:
        if len(text) > _MAX_REQUIREMENT:
            message = f"{quoted(text)} is no Python requirement: it is longer than {_MAX_REQUIREMENT:,} characters"
            yield MissingRequirement(kind="package", name=text, message=message)
            continue
        try:
            item = read(text)
        except _UncheckableError:
            message = f"{quoted(text)} cannot be checked without the package `packaging`"
            yield MissingRequirement(kind="package", name=text, message=message, hint="`pip install packaging`")
            continue
        except (ValueError, RecursionError):
            message = f"{quoted(text)} is no Python requirement"
            hint = "write it as `pip` takes it, for example `pypdf>=5,<6`"
            yield MissingRequirement(kind="package", name=text, message=message, hint=hint)
            continue
        if item is not None and (found := item.find_missing(text)):
            yield found


class _UncheckableError(Exception):
    """A requirement may be right, but only `packaging` can tell."""


class _PythonRequirement:
    """A requirement that applies to this machine."""

    def __init__(
        self, name: str, specifiers: str, accepts_version: VersionTest, extras: frozenset[str] = frozenset()
    ) -> None:
        self.name, self.specifiers, self.accepts_version, self.extras = name, specifiers, accepts_version, extras

    def find_missing(self, text: str) -> MissingRequirement | None:
        """Compare it with what is installed."""
        if _canonical_name(self.name) == "python":
            return self._python(text)
        short = self.name + (f"[{','.join(sorted(self.extras))}]" if self.extras else "") + self.specifiers
        hint = f"`pip install {_shell_quote(neutral(short))}`" if len(short) <= 120 and "'" not in short else None
        installed = _installed_version(self.name)
        if installed is None:
            message = f"the Python package {quoted(self.name)} is not installed"
            return MissingRequirement(kind="package", name=text, message=message, hint=hint)
        if not self.specifiers or self.accepts_version(installed):
            return None
        message = f"{quoted(self.name + self.specifiers)} is wanted, {_display_version(installed)} is installed"
        return MissingRequirement(kind="package", name=text, message=message, hint=hint)

    def _python(self, text: str) -> MissingRequirement | None:
        this = ".".join(map(str, sys.version_info[:3]))
        if not self.specifiers or self.accepts_version(this):
            return None
        simple = re.fullmatch(r">=[ \t]*([0-9.]{1,20})", self.specifiers)
        what = f"Python {simple[1]} or newer" if simple else quoted(f"python{self.specifiers}")
        return MissingRequirement(kind="python", name=text, message=f"{what} is wanted, this is {this}")


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
    """Return the version of an installed package, as it says itself."""
    from importlib import metadata

    try:
        return str(metadata.version(name) or "an unknown version")
    except Exception:  # noqa: BLE001 - whatever lies broken in site-packages is not there
        return None


def _requirement_parser() -> RequirementParser:
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return _parse_simple_requirement

    def read(text: str) -> _PythonRequirement | None:
        item = Requirement(text)
        if item.marker is not None and not item.marker.evaluate({"extra": ""}):
            return None
        specifiers = item.specifier

        def accepts_version(version: str) -> bool:
            try:
                return specifiers.contains(version, prereleases=True)
            except ValueError:
                return False

        return _PythonRequirement(item.name, str(specifiers), accepts_version, frozenset(item.extras))

    return read


_SIMPLE_REQUIREMENT = re.compile(
    r"[ \t]*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)[ \t]*([^A-Za-z0-9._ \t-].*)?", re.DOTALL
)
_COMPARISON = re.compile(r"[ \t]*(===|==|!=|>=|<=|~=|>|<)[ \t]*([^ \t]*)[ \t]*")
_DOTTED_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")


def _parse_simple_requirement(text: str) -> _PythonRequirement | None:
    """Read what needs no `packaging`: a name and comparisons with dotted numbers."""
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
        mine = _version_numbers(version)
        return all(_COMPARISON_FUNCTIONS[sign](mine, other) for sign, other in tests)

    if rest and _canonical_name(name) != "python":
        installed = _installed_version(name)
        if installed is not None and not _DOTTED_VERSION.fullmatch(installed):
            raise _UncheckableError
    return _PythonRequirement(name, rest, accepts_version)


def _version_numbers(text: str) -> list[int]:
    """Split a version at its dots; noughts at its end say nothing."""
    numbers = [int(part) for part in text.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


_COMPARISON_FUNCTIONS: Mapping[str, Callable[[list[int], list[int]], bool]] = {
    "==": lambda mine, other: mine == other,
    "!=": lambda mine, other: mine != other,
    ">=": lambda mine, other: mine >= other,
    "<=": lambda mine, other: mine <= other,
    ">": lambda mine, other: mine > other,
    "<": lambda mine, other: mine < other,
}
