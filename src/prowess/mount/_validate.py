"""Validate a skill before mounting: the rules of WINK, front matter that is code, and nested repositories.

Validate a skill and its name before mounting.

Find front matter that is a program: a client such as opencode runs it when it lists the mounted skills.

Recognise repositories inside a skill.

A client that runs git inside a skill with a repository of its own runs the hooks, filters and other commands that the
configuration of this repository names.

The rules are WINK's (`SKILLS.md`, "Validation errors"). They are stricter than any client, so that a valid skill
works in all of them.
"""

from __future__ import annotations

import os
import re

from prowess._internal.file_names import is_bare_repository, plain_file_name, windows_file_names
from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import SkillMountError, SkillNotFoundError, SkillValidationError
from prowess.skill import MAX_DEPTH, MAX_NAME, from_document, is_portable_name, parse_frontmatter, unreadable_skill
from prowess.visibility import mount_blockers

from ._config import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.findings import Finding

    Path = str | os.PathLike[str]

_MAX_FOLDERS = 10_000
"""More than a mounted skill can have."""


def list_folders(top: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Yield each folder with its entries, the folder itself first; no link is followed.

    A folder that cannot be listed is left out: it cannot be mounted either.

    Args:
        top: the folder; the paths are relative to it, and its own is empty.
    """
    pending = [("", 0)]
    for count, (path, depth) in enumerate(pending):  # grows during the loop
        if count >= _MAX_FOLDERS:
            return
        try:
            with os.scandir(os.path.join(top, path)) as entries:
                found = list(entries)
            inner = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        if depth <= MAX_DEPTH:
            pending += [(os.path.join(path, name), depth + 1) for name in inner]
        yield path, found


_CODE = "frontmatter-code"
_SKILL_FILE = plain_file_name(SKILL_FILE)


def reject_programs(source: str) -> None:
    """Check that no SKILL.md of a skill has a program as its front matter, on any level: such clients search them all.

    Raises:
        SkillValidationError: one has.
    """
    for path in _skill_files(source) if os.path.isdir(source) else [source]:
        try:
            document = parse_frontmatter(read_file(path), path)
        except UnreadableError:  # not mounted either
            continue
        for item in document.findings:
            if item.code == _CODE:
                message = f"{quoted(path, PATH_LIMIT)}: {item.message}"
                raise SkillValidationError(message, findings=(item,), hint=item.hint)


def _skill_files(folder: str) -> Iterator[str]:
    """Yield every SKILL.md in a folder, in any spelling."""
    for _, entries in list_folders(folder):
        for entry in entries:
            if plain_file_name(entry.name) == _SKILL_FILE:
                yield entry.path


REPOSITORY_HINT = "remove it, or copy the skill without it: a client would run its hooks"
_REPOSITORY_NAMES = frozenset((".git", ".hg", ".sl"))
"""The folders of git, Mercurial and Sapling, which all run commands that are configured in them."""
_is_short_name = re.compile(r"(git|hg|sl)~[0-9]+").fullmatch


def is_repository_name(name: str) -> bool:
    """Return whether a file of this name makes its folder a repository, on any system."""
    if name.isascii() and name[:1] != "." and "~" not in name and "\\" not in name:
        return False
    plain_names = map(plain_file_name, windows_file_names(name))
    return any(plain in _REPOSITORY_NAMES or _is_short_name(plain) for plain in plain_names)


def repository_problem(path: str) -> str:
    """Return the message for a repository at a path inside a skill; the path is empty for the skill itself."""
    if not path:
        return "the skill folder is a bare git repository"
    kind = "a repository" if is_repository_name(os.path.basename(path)) else "a bare git repository"
    return f"{quoted(path, PATH_LIMIT)} is {kind}"


def find_repository(folder: str) -> str | None:
    """Return the path of a repository inside a skill folder, or `None`.

    The path is relative to the folder, and empty if the folder itself is a bare repository.
    """
    for path, entries in list_folders(folder):
        names = [entry.name for entry in entries]
        if name := next(filter(is_repository_name, names), None):
            return os.path.join(path, name)
        if is_bare_repository(names):
            return path
    return None


def validate_skill_name(name: str) -> None:
    """Check that a skill name follows the specification ("name field"), and so cannot be a path that leads elsewhere.

    Raises:
        SkillMountError: it does not.
    """
    if not isinstance(name, str):
        raise SkillMountError(f"a skill name must be a string, not {type(name).__name__}", hint="pass a string")
    if len(name) > MAX_NAME:
        message = f"the name {quoted(name)} has {len(name):,} characters; at most {MAX_NAME} are allowed"
        raise SkillMountError(message, hint="shorten it")
    if not is_portable_name(name):
        raise SkillMountError(
            f"{quoted(name)} is not a valid skill name" if name else "the skill name is empty",
            hint="use lower case letters, digits and single hyphens between them",
        )


def validate_skill(source: Path) -> None:
    """Check that a skill works in any client: WINK's `SKILLS.md`, "Validation errors".

    A folder must contain a SKILL.md whose `name` is the name of the folder; a single file must end in `.md` and may
    have any name. Front matter fields that the specification does not know are allowed. A skill that contains a
    repository (`.git`) is refused, because a client would run its hooks.

    Raises:
        SkillNotFoundError: there is no such path.
        SkillValidationError: it breaks a rule; `findings` lists all of those about its front matter.
    """
    source = os.path.abspath(path_text(source, "the source of a skill"))
    validate_frontmatter(source)
    reject_programs(source)
    repository = find_repository(source) if os.path.isdir(source) else None
    if repository is not None:
        message = f"{neutral(source)}: {repository_problem(repository)}"
        raise SkillValidationError(message, hint=REPOSITORY_HINT)


def validate_frontmatter(source: str) -> None:
    """Check the front matter of a skill at an absolute path, as `validate_skill` does.

    Raises:
        SkillNotFoundError: there is no such path.
        SkillValidationError: it breaks a rule.
    """
    findings = _blocking_findings(source)
    if not findings:
        return
    first, more = findings[0], len(findings) - 1
    place = ":".join(str(part) for part in (neutral(first.path or source), first.line) if part is not None)
    message = f"{place}: {first.message}{f', and {more} more' if more else ''}"
    raise SkillValidationError(message, findings=findings, hint=first.hint)


def _blocking_findings(source: str) -> tuple[Finding, ...]:
    """Return the findings because of which WINK does not mount a skill.

    Raises:
        SkillNotFoundError: there is no such path.
        SkillValidationError: it is neither a skill folder nor a Markdown file.
    """
    path = skill_file(source)
    try:
        data = read_file(path)
    except UnreadableError as error:
        skill = unreadable_skill(path, error)
    else:
        skill = from_document(parse_frontmatter(data, path), path)
    # The name of a single file needs no folder of that name.
    return tuple(item for item in mount_blockers(skill) if path != source or item.code != "name-not-folder")


def skill_file(source: str) -> str:
    """Return the path of a skill's Markdown file.

    Args:
        source: a skill folder, or the Markdown file itself.

    Raises:
        SkillNotFoundError: there is no such path.
        SkillValidationError: it is neither a Markdown file nor a folder that contains a SKILL.md.
    """
    if "\0" in source or not os.path.lexists(source):
        raise SkillNotFoundError(f"no such file or folder: {quoted(source, PATH_LIMIT)}", hint="check the path")
    if not os.path.isdir(source):
        if not source.lower().endswith(".md"):
            message = f"{quoted(source, PATH_LIMIT)} is not a Markdown file"
            raise SkillValidationError(message, hint="give a skill folder, or a file that ends in `.md`")
        return source
    try:
        names = os.listdir(source)
    except OSError as error:
        message = f"{quoted(source, PATH_LIMIT)} cannot be listed: {describe_os_error(error)}"
        raise SkillValidationError(message, hint="fix its permissions") from None
    if SKILL_FILE not in names:
        near = [name for name in names if name.lower() == SKILL_FILE.lower()]
        hint = f"rename {quoted(near[0])} to {SKILL_FILE}" if near else f"give the folder that contains {SKILL_FILE}"
        raise SkillValidationError(f"{quoted(source, PATH_LIMIT)} contains no {SKILL_FILE}", hint=hint)
    return os.path.join(source, SKILL_FILE)
