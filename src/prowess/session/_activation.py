"""Write a skill as the model reads it when it is activated.

The body as its author wrote it, the skill's directory and its files, between tags that nothing inside can close.
Nothing is expanded and nothing is run. The shape follows "Structured wrapping" in "Adding skills support" of
agentskills.io.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import MAX_SKILL_FILES, skill_digest, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.special_tokens import escape_special_tokens, has_odd_characters
from prowess._internal.text import INVISIBLE_CHARACTERS, fold_lookalikes, neutral, quoted
from prowess.errors import ActivationError
from prowess.findings import Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Entry, FilesProvider
    from prowess.skill import Skill

MAX_NAMED_FILES = 50
"""Files that are listed by name; the others are counted."""
_AUTHOR_FOLDERS = ("tests/", "evals/")
"""Folders that are for the author of a skill, not for its users."""


class Activation(Frozen):
    """What a model reads of an activated skill."""

    name: str
    path: str
    """Of its SKILL.md."""
    digest: str | None
    """Over all its files; `None` if there are no files, or too many, or too large ones."""
    content: str
    """The text for the model."""
    files: tuple[str, ...]
    """The files listed in it, relative to the skill's folder."""
    repeated: bool = False
    """Whether the conversation has this content already; then `content` only says so."""
    findings: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `activate --json`."""
        return {
            "name": self.name,
            "path": self.path,
            "content": self.content,
            "files": list(self.files),
            "repeated": self.repeated,
            "findings": [finding.as_dict() for finding in self.findings],
        }


def render_activation(
    entry: Entry,
    skill: Skill,
    arguments: str | None = None,
    *,
    folder: str | None = None,
    notes: tuple[str, ...] = (),
    digest: bool = True,
    provider: FilesProvider | None = None,
    location: bool = True,
) -> Activation:
    """Write a skill for the model.

    Args:
        entry: of a catalog.
        skill: what its file contains now, whatever the catalog saw.
        arguments: what the user or model gave with its name; shown, never substituted.
        folder: the folder with its files, without links; `None` if it has no files.
        notes: sentences about this machine that the model should know.
        digest: whether to compute the digest, for which all files are read.
        provider: what has the files, if they are not in a folder; they are named as it lists them.
        location: whether the text names the skill's directory.

    Raises:
        ActivationError: the file is gone, cannot be read, or is not a skill that can be loaded.
    """
    _require_readable(entry, skill)
    if provider is not None:
        files = list(provider.files(entry))
        notes = (*notes, provider.note(entry))
    else:
        files = [] if folder is None else skill_files(folder)
    names = [name for name, _ in files if name != "SKILL.md" and not name.startswith(_AUTHOR_FOLDERS)]
    lines = [f'<skill_content name="{_escape_attribute(entry.name)}">', escape_tags(skill.body.strip("\n")), ""]
    if arguments:
        # Shown, not substituted: a `$ARGUMENTS` in the body is for the model.
        lines += [f"Arguments: {escape_tags(neutral(arguments))}", ""]
    lines += [f"Note: {escape_tags(neutral(note))}" for note in notes]
    if folder is not None:
        where = "that" if location else "its"
        lines += [f"Skill directory: {escape_tags(neutral(os.path.dirname(entry.path)))}"] if location else []
        lines += [f"Paths in this skill are relative to {where} directory."]
    lines += [*_resource_lines(names, complete=len(files) < MAX_SKILL_FILES), "</skill_content>"]
    return Activation(
        name=entry.name,
        path=entry.path,
        digest=skill_digest(folder) if digest and folder is not None else entry.digest if provider else None,
        content="\n".join(lines),
        files=tuple(names[:MAX_NAMED_FILES]),
        findings=skill.findings,
    )


def _require_readable(entry: Entry, skill: Skill) -> None:
    """Check that a skill can be loaded now.

    Raises:
        ActivationError: it cannot.
    """
    error = next((finding for finding in skill.findings if finding.severity is Severity.ERROR), None)
    # An error in spite of which the host loaded the skill does not stop it now.
    tolerated = error is None or (skill.body.strip() and error.code in {finding.code for finding in entry.findings})
    if skill.document is not None and tolerated:
        return
    reason = neutral(error.message) if error is not None else "its file is unreadable"
    raise ActivationError(
        f"the skill {quoted(entry.name)} cannot be read now: {reason}",
        hint="go on without it, or fix its file and try again",
    )


def _resource_lines(names: list[str], *, complete: bool) -> list[str]:
    """List the files of a skill.

    Args:
        names: paths relative to the skill's folder.
        complete: whether these are all its files.
    """
    named = names[:MAX_NAMED_FILES]
    if not named:
        return []
    lines = ["<skill_resources>", *(f"  <file>{_escape_attribute(name)}</file>" for name in named)]
    if len(names) > len(named) or not complete:
        more = "" if complete else "more than "
        lines.append(f"  and {more}{len(names) - len(named):,} more files")
    return [*lines, "</skill_resources>"]


_TAGS = ("skill_content", "skill_resources", "active_skills", "available_skills", "system-reminder")
_INVISIBLE = f"{INVISIBLE_CHARACTERS}\x00-\x08\x0e-\x1f\u200c\u200d\ufe00-\ufe0f"
_BLANKS = rf"[\s{_INVISIBLE}]*"


def _tag_pattern(*tags: str) -> str:
    names = "|".join(f"[{_INVISIBLE}]*".join(map(re.escape, tag)) for tag in tags)
    return rf"<(?={_BLANKS}(?:[/\u2044\u2215]{_BLANKS})?(?:{names}))"


def escape_tags(text: str, *tags: str) -> str:
    """Escape the tags in an untrusted text that would open or close a block of ours, however they are disguised.

    Whatever looks like a tag counts: in any case, with blanks or hidden characters in it, in full-width characters.
    Special tokens of language models are escaped too.

    Args:
        text: the text.
        tags: further tags to escape.
    """
    folded = fold_lookalikes(text)
    names = (*_TAGS, *tags)
    # To compile the pattern takes longer than all the rest.
    if "<" not in folded or not (any(name in folded for name in names) or has_odd_characters(folded)):
        return escape_special_tokens(text)
    parts, position = [], 0
    for match in re.finditer(_tag_pattern(*names), folded):
        parts += [text[position : match.start()], "&lt;"]
        position = match.end()
    return escape_special_tokens("".join([*parts, text[position:]]))


def _escape_attribute(text: str) -> str:
    text = neutral(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return escape_tags(text)
