"""a path, or a name -> that a skill can be mounted by it, or all that is wrong

The rules are WINK's (`SKILLS.md`, "Validation errors"): stricter than any client, so that what passes can be given to
all of them.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import SkillMountError, SkillNotFoundError, SkillValidationError
from prowess.findings import CODES, Severity
from prowess.hosts import load_host
from prowess.skill import MAX_NAME, check_skill, from_document, parse_frontmatter, unreadable_skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from prowess.findings import Finding

    Path = str | os.PathLike[str]

__all__ = ["path_text", "skill_file", "validate_skill", "validate_skill_name"]

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*").fullmatch


def validate_skill_name(name: str) -> None:
    """See that a name follows the specification ("name field"), and so cannot lead anywhere.

    Raises:
        SkillMountError: it does not.
    """
    if not isinstance(name, str):
        raise SkillMountError(f"a name is text, not {type(name).__name__}", hint="give it as text")
    if len(name) > MAX_NAME:
        words = f"the name {quoted(name)} has {len(name):,} characters; at most {MAX_NAME} are allowed"
        raise SkillMountError(words, hint="shorten it")
    if not _NAME(name):
        raise SkillMountError(
            f"{quoted(name)} is not a skill's name" if name else "the name is empty",
            hint="use lower case letters, digits and single hyphens between them",
        )


def validate_skill(source: Path) -> None:
    """See that a skill can be given to any client: WINK's `SKILLS.md`, "Validation errors".

    A folder must hold a SKILL.md whose `name` is the folder's; a single file must end in `.md` and may be called as it
    likes. What the front matter holds beyond the specification is let through.

    Raises:
        SkillNotFoundError: there is no such path.
        SkillValidationError: it breaks a rule; `findings` has all of them.
    """
    source = os.path.abspath(path_text(source, "the source of a skill"))
    found = _blocking_findings(source)
    if not found:
        return
    first, more = found[0], len(found) - 1
    words = f"{first.message}{f', and {more} more' if more else ''}"
    where = ":".join(str(part) for part in (neutral(first.path or source), first.line) if part is not None)
    raise SkillValidationError(f"{where}: {words}", findings=found, hint=first.hint)


def _blocking_findings(source: str) -> tuple[Finding, ...]:
    """Return what WINK does not mount.

    Raises:
        SkillNotFoundError: there is no such path.
        SkillValidationError: it is neither a skill's folder nor a Markdown file.
    """
    path = skill_file(source)
    try:
        data = read_file(path)
    except UnreadableError as error:
        skill = unreadable_skill(path, error)
    else:
        skill = from_document(parse_frontmatter(data, path), path)
    refused = {*load_host("wink").reading.rejects, *_TYPE_CODES}
    return tuple(
        item
        for item in check_skill(skill)
        if (CODES[item.code].spec is Severity.ERROR or item.code in refused)
        and item.code != "field-unknown"
        and (path != source or item.code != "name-not-folder")
    )


_TYPE_CODES = ("name-type", "description-type", "field-type")
"""Values of a wrong type, which a YAML parser does not give as text."""


def skill_file(source: str) -> str:
    """Return the Markdown file of a skill.

    Raises:
        SkillNotFoundError: there is no such path.
        SkillValidationError: there is none.
    """
    if "\0" in source or not os.path.lexists(source):
        raise SkillNotFoundError(f"there is no {quoted(source, PATH_LIMIT)}", hint="check the path")
    if not os.path.isdir(source):
        if not source.lower().endswith(".md"):
            words = f"{quoted(source, PATH_LIMIT)} is not a Markdown file"
            raise SkillValidationError(words, hint="name a skill's folder, or a file that ends in `.md`")
        return source
    try:
        names = os.listdir(source)
    except OSError as error:
        words = f"{quoted(source, PATH_LIMIT)} cannot be listed: {describe_os_error(error)}"
        raise SkillValidationError(words, hint="mend its permissions") from None
    if SKILL_FILE not in names:
        near = [name for name in names if name.lower() == SKILL_FILE.lower()]
        hint = f"rename {quoted(near[0])}" if near else "name the folder that holds it"
        raise SkillValidationError(f"{quoted(source, PATH_LIMIT)} holds no {SKILL_FILE}", hint=hint)
    return os.path.join(source, SKILL_FILE)


def path_text(given: Any, what: str) -> str:
    """Return a path as text.

    Raises:
        SkillMountError: it is none.
    """
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str):
        raise SkillMountError(f"{what} is a path, not {type(given).__name__}", hint="give it as text or as a `Path`")
    return path
