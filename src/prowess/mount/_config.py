"""Describe which skills to mount, under which names, and in which folder a host looks for them."""

from __future__ import annotations

import os
from contextlib import suppress

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError, SkillMountError
from prowess.hosts import skills_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Path = str | os.PathLike[str]
    Scope = Literal["user", "project"]


class SkillMount(Frozen, kw_only=False):
    """A skill to mount into an agent's home."""

    source: Path
    """A skill folder, or a single `.md` file, which becomes `NAME/SKILL.md`; relative to the working directory."""
    name: str | None = None
    """The name under which it is mounted; `None` for what `resolve_skill_name` returns."""
    enabled: bool = True
    """Whether it is mounted at all."""


class SkillConfig(Frozen, kw_only=False):
    """The skills to mount into an agent's home."""

    skills: tuple[SkillMount, ...] = ()
    validate_on_mount: bool = True
    """Whether `validate_skill` must accept each skill. Links, limits and names are checked in any case."""


def resolve_skill_name(mount: SkillMount) -> str:
    """Return the name under which a skill is mounted, without validating it.

    That is `mount.name`; or else the name of the folder; or else the name of the file without `.md`. For a file called
    SKILL.md it is the name of the folder that contains it.
    """
    if mount.name is not None:
        return mount.name
    source = os.path.abspath(os.fspath(mount.source))
    folder, file = os.path.split(source)
    if os.path.isdir(source):
        return file
    if file.lower() == SKILL_FILE.lower():
        return os.path.basename(folder)
    return file[: -len(".md")] if file.lower().endswith(".md") else file


def skills_root(host: str, *, scope: Scope = "user") -> str:
    """Return the folder in which a host looks for its user's or a project's skills, relative to the home or project.

    If a host searches several folders of a project, this is one that other agents search too, if it has one.

    Raises:
        HostNotFoundError: there is no such host.
        ConfigError: the host has no such folder.
    """
    folder = skills_folder(host, scope)
    if folder is not None:
        return folder
    whose = "a project's skills" if scope == "project" else "its user's skills"
    hint = "`prowess hosts` shows the folders of each host"
    raise ConfigError(f"the host {quoted(host)} has no folder for {whose}", hint=hint)


# Type checkers see wrong arguments; callers without one get an error that says what to pass.


def path_text(path: object, what: str) -> str:
    """Return a path as a string.

    Raises:
        SkillMountError: it is not a string or a path of strings.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise SkillMountError(f"{what} must be a path, not {type(path).__name__}", hint="pass a string or a `Path`")
    return text


def absolute_home(home: object) -> str:
    """Return the absolute path of a home.

    Raises:
        SkillMountError: it is not a valid path.
    """
    path = path_text(home, "the home")
    try:
        if b"\0" not in os.fsencode(path):
            return os.path.abspath(path)
    except UnicodeEncodeError:
        pass
    raise SkillMountError(
        f"{quoted(path, PATH_LIMIT)} is not a valid path", hint="remove the characters that no path may contain"
    )


def as_items(values: Any, what: str, example: str) -> tuple[Any, ...]:
    """Return the items of a list; a string is refused, although it could be iterated.

    Raises:
        SkillMountError: it is not a list.
    """
    if not isinstance(values, str | bytes):
        with suppress(TypeError):
            return tuple(values)
    raise SkillMountError(f"{what} must be a list, not {type(values).__name__}", hint=f"write {example}")
