"""Validate a skill and its name before mounting.

The rules are WINK's (`SKILLS.md`, "Validation errors"). They are stricter than any client, so that a valid skill
works in all of them.
"""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.catalog import mount_blockers
from prowess.errors import SkillMountError, SkillNotFoundError, SkillValidationError
from prowess.skill import MAX_NAME, from_document, is_portable_name, parse_frontmatter, unreadable_skill

from ._config import path_text
from ._programs import reject_programs
from ._repositories import REPOSITORY_HINT, find_repository, repository_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.findings import Finding

    Path = str | os.PathLike[str]

__all__ = ["skill_file", "validate_frontmatter", "validate_skill", "validate_skill_name"]


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
