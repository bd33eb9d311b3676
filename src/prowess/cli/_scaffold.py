"""a name -> a new skill's folder

A skill is written beside its place and moved there in one step, so that no client ever sees half of it. Nothing that
exists is overwritten.
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
"""The folder most agents share."""


def skills_folder(cwd: str, host: Host | None = None) -> str:
    """Return the folder a project keeps its skills in.

    Args:
        cwd: the working directory.
        host: whose first folder of the project is meant; without, the one that most agents share.

    Raises:
        ConfigError: the host has no folder in a project.
    """
    cwd = os.path.realpath(cwd)
    project = git_root(cwd, host.git_marker if host else "exists") or cwd
    if host is None:
        return os.path.join(project, DEFAULT_FOLDER)
    for root in host.roots:
        if root.scope == "project" and not root.path.startswith(("~", "/", "$", "@")) and "*" not in root.path:
            base = cwd if root.walk == "none" else project
            return os.path.join(base, *root.path.split("/"))
    raise ConfigError(f"{host.title} keeps no skills in a project", hint="name a folder with `--dir`")


def suggest_name(name: str) -> str:
    """Return the correct name that is nearest to one that is not; empty if nothing is left of it."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", name).lower()
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    plain = re.sub(r"(?<=[^\W_])['’](?=[^\W_])", "", plain)
    return re.sub(r"[\W_]+", "-", plain).strip("-")[:MAX_NAME].strip("-")


def check_name(name: str) -> None:
    """See that a name is one the specification allows.

    Raises:
        SkillValidationError: it is not; the hint is a name that is.
    """
    # As if the folder had that name: what is wrong is then the name itself, not where it lies.
    data = render(Skill(name=name, description="x")).encode("utf-8", "replace")
    skill = from_document(parse_frontmatter(data))
    found = [item for item in apply_policy(check_skill(skill), "spec") if item.severity is Severity.ERROR]
    if found:
        better = suggest_name(name)
        hint = f"`{better}` would do" if better else "use letters, digits and single hyphens"
        raise SkillValidationError(neutral("; ".join(item.message for item in found)), findings=found, hint=hint)


def skill_text(name: str, description: str, body: str) -> str:
    """Return the text of a SKILL.md.

    Raises:
        SkillValidationError: the description breaks the specification.
    """
    text = render(Skill(name=name, description=description, body=body))
    skill = from_document(parse_frontmatter(text.encode("utf-8", "replace")))
    found = [item for item in apply_policy(check_skill(skill), "spec") if item.code.startswith("description-")]
    if found and found[0].severity is not Severity.INFO:
        raise SkillValidationError(found[0].message, findings=found, hint=found[0].hint)
    return text


def write_skill(folder: str, name: str, files: Mapping[str, str], host: Host | None = None) -> str:
    """Write a new skill in one step.

    Args:
        folder: the folder of skills, made if it is not there.
        name: of the skill and of its own folder.
        files: path below the skill's folder to text; SKILL.md among them.
        host: the agent that must accept it.

    Returns:
        The path of its SKILL.md.

    Raises:
        SkillValidationError: the host would reject it.
        ProwessError: there is something already, or the disk does not let us.
    """
    target = os.path.join(folder, name)
    if host is not None:
        _check_host_accepts(target, files[SKILL_FILE], host)
    if os.path.lexists(target):
        raise ProwessError(f"{neutral(target)} is there already", hint="choose another name, or remove it first")
    beside = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        os.makedirs(folder, exist_ok=True)
        os.mkdir(beside)
        try:
            for path, text in files.items():
                _write(os.path.join(beside, *path.split("/")), text)
            os.rename(beside, target)
        except BaseException:
            _remove(beside)
            raise
    except OSError as error:
        reason = neutral(describe_os_error(error))
        hint = "mend the permissions, make room on the disk, or name another folder with `--dir`"
        raise ProwessError(f"{neutral(target)} cannot be written: {reason}", hint=hint) from None
    return os.path.join(target, SKILL_FILE)


def _check_host_accepts(target: str, text: str, host: Host) -> None:
    path = os.path.join(target, SKILL_FILE)
    entry = evaluate_path(path, host.name, filesystem=_UnwrittenSkillFilesystem(path, text))
    if entry.state == "rejected":
        words = f"{host.title} would reject it: {entry.reason}"
        raise SkillValidationError(words, findings=entry.findings, hint="choose another name")


class _UnwrittenSkillFilesystem(Filesystem):
    """Shows a file that is about to be written."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__()
        self._skill = from_document(parse_frontmatter(text.encode(), path), path)

    def skill(
        self,
        path: str,  # noqa: ARG002 - it is another file that is shown
        *,
        real: str | None = None,  # noqa: ARG002
        whole: bool = False,  # noqa: ARG002
        body: bool = True,  # noqa: ARG002
    ) -> Skill:
        return self._skill


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    if text.startswith("#!"):
        # Whoever may read a script may run it.
        mode = os.stat(path).st_mode
        os.chmod(path, mode | (mode & 0o444) >> 2)


def _remove(folder: str) -> None:
    import shutil

    with suppress(OSError):
        shutil.rmtree(folder)
