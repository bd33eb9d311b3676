"""Write a new skill.

The skill is written to a temporary folder and renamed, so that no client ever sees an incomplete skill. Existing files
are never overwritten.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import describe_os_error, neutral
from prowess.catalog import Filesystem, evaluate_path, git_root
from prowess.errors import ConfigError, ProwessError, SkillValidationError
from prowess.findings import Severity, apply_policy
from prowess.skill import MAX_NAME, Skill, check_skill, from_document, parse_frontmatter, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.hosts import Host

__all__ = ["check_name", "suggest_name", "skill_text", "skills_folder", "write_skill"]

DEFAULT_FOLDER = os.path.join(".agents", "skills")
"""The folder that most agents search."""


def skills_folder(cwd: str, host: Host | None = None) -> str:
    """Return the skills folder of a project.

    Args:
        cwd: the working directory.
        host: use the first project folder of this host; by default the one that most agents search.

    Raises:
        ConfigError: the host has no project folder.
    """
    cwd = os.path.realpath(cwd)
    project = git_root(cwd, host.git_marker if host else "exists") or cwd
    if host is None:
        return os.path.join(project, DEFAULT_FOLDER)
    for root in host.roots:
        if root.scope == "project" and not root.path.startswith(("~", "/", "$", "@")) and "*" not in root.path:
            base = cwd if root.walk == "none" else project
            return os.path.join(base, *root.path.split("/"))
    raise ConfigError(
        f"{host.title} has no skills folder in a project", hint="name a folder: `prowess new NAME --dir DIR`"
    )


def suggest_name(name: str) -> str:
    """Return a valid name that is close to an invalid one; empty if no valid character is left."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", name).lower()
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    plain = re.sub(r"(?<=[^\W_])['’](?=[^\W_])", "", plain)
    return re.sub(r"[\W_]+", "-", plain).strip("-")[:MAX_NAME].strip("-")


def check_name(name: str) -> None:
    """Check that the specification allows a name.

    Raises:
        SkillValidationError: it does not; the hint suggests a valid name.
    """
    # The folder is taken to have the same name, so all findings are about the name itself.
    data = render(Skill(name=name, description="x")).encode("utf-8", "replace")
    skill = from_document(parse_frontmatter(data))
    errors = [item for item in apply_policy(check_skill(skill), "spec") if item.severity is Severity.ERROR]
    if errors:
        suggestion = suggest_name(name)
        hint = f"use `{suggestion}`" if suggestion else "use letters, digits and single hyphens"
        raise SkillValidationError(neutral("; ".join(item.message for item in errors)), findings=errors, hint=hint)


def skill_text(name: str, description: str, body: str) -> str:
    """Return the text of a SKILL.md.

    Raises:
        SkillValidationError: the specification does not allow the description.
    """
    text = render(Skill(name=name, description=description, body=body))
    skill = from_document(parse_frontmatter(text.encode("utf-8", "replace")))
    findings = [item for item in apply_policy(check_skill(skill), "spec") if item.code.startswith("description-")]
    if findings and findings[0].severity is not Severity.INFO:
        raise SkillValidationError(findings[0].message, findings=findings, hint=findings[0].hint)
    return text


def write_skill(folder: str, name: str, files: Mapping[str, str], host: Host | None = None) -> str:
    """Write a new skill in one step.

    Args:
        folder: the folder of skills, created if missing.
        name: the name of the skill and of its own folder.
        files: paths inside the skill's folder and their text, including SKILL.md.
        host: the host that must accept the skill.

    Returns:
        The path of its SKILL.md.

    Raises:
        SkillValidationError: the host would reject it.
        ProwessError: the skill exists already, or cannot be written.
    """
    target = os.path.join(folder, name)
    if host is not None:
        _check_host_accepts(target, files[SKILL_FILE], host)
    if os.path.lexists(target):
        raise ProwessError(f"{neutral(target)} already exists", hint="choose another name, or remove it first")
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        os.makedirs(folder, exist_ok=True)
        os.mkdir(temporary)
        try:
            for path, text in files.items():
                _write(os.path.join(temporary, *path.split("/")), text)
            os.rename(temporary, target)
        except BaseException:
            _remove(temporary)
            raise
    except OSError as error:
        reason = neutral(describe_os_error(error))
        hint = "fix the permissions, free disk space, or use another folder: `prowess new NAME --dir DIR`"
        raise ProwessError(f"cannot write {neutral(target)}: {reason}", hint=hint) from None
    return os.path.join(target, SKILL_FILE)


def _check_host_accepts(target: str, text: str, host: Host) -> None:
    path = os.path.join(target, SKILL_FILE)
    entry = evaluate_path(path, host.name, filesystem=_UnwrittenSkillFilesystem(path, text))
    if entry.state == "rejected":
        message = f"{host.title} would reject the skill: {entry.reason}"
        raise SkillValidationError(message, findings=entry.findings, hint="choose another name")


class _UnwrittenSkillFilesystem(Filesystem):
    """A file system that contains a skill which is not written yet."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__()
        self._skill = from_document(parse_frontmatter(text.encode(), path), path)

    def skill(self, *_path: object, **_options: object) -> Skill:
        return self._skill


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    if text.startswith("#!"):
        # All who may read a script may run it.
        mode = os.stat(path).st_mode
        os.chmod(path, mode | (mode & 0o444) >> 2)


def _remove(folder: str) -> None:
    import shutil

    with suppress(OSError):
        shutil.rmtree(folder)
