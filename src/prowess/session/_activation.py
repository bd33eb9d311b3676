"""Skill -> what the model reads when it is chosen

The body as its author wrote it, where the skill lies and what files it has, between tags that nothing inside can close.
Nothing is expanded and nothing is run. The shape is that of agentskills.io, "Adding skills support", "Structured
wrapping".
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import MAX_SKILL_FILES, skill_digest, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.text import INVISIBLE_CHARACTERS, neutral, quoted
from prowess.errors import ActivationError
from prowess.findings import Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Entry
    from prowess.skill import Skill

__all__ = ["MAX_FILES_NAMED", "Activation", "render_activation", "escape_tags"]

MAX_FILES_NAMED = 50
"""Files that are named; of the others only the number is told."""
_AUTHOR_FOLDERS = ("tests/", "evals/")
"""Folders of a skill that are for its author, not for who uses it."""


class Activation(Frozen):
    """What a model reads of a skill that was chosen."""

    name: str
    path: str
    """Of its SKILL.md."""
    digest: str | None
    """Over all its files; None where they are too many or too large, or it has none."""
    content: str
    """The text for the model."""
    files: tuple[str, ...]
    """Those that are named in it, relative to the skill's folder."""
    repeated: bool = False
    """Whether the same was given before in the conversation, so that the content only says so."""
    findings: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `activate --json`."""
        return {
            "name": self.name,
            "path": self.path,
            "content": self.content,
            "files": list(self.files),
            "repeated": self.repeated,
            "findings": [item.as_dict() for item in self.findings],
        }


def render_activation(
    entry: Entry,
    skill: Skill,
    arguments: str | None = None,
    *,
    folder: str | None = None,
    notes: tuple[str, ...] = (),
    digest: bool = True,
) -> Activation:
    """Write a skill for the model.

    Args:
        entry: of a catalog.
        skill: what its file holds now, whatever the catalog saw.
        arguments: what the user or model gave with its name; shown, never filled in anywhere.
        folder: where its files are, without links; None where it has none.
        notes: sentences about this machine that the model should know.
        digest: whether the digest is wanted, which costs reading all its files.

    Raises:
        ActivationError: the file is gone, cannot be read, or is none that can be loaded.
    """
    # What the host loaded in spite of an error, it loads still.
    known = {item.code for item in entry.findings}
    problem = next((item for item in skill.findings if item.severity is Severity.ERROR), None)
    if skill.document is None or (problem is not None and (problem.code not in known or not skill.body.strip())):
        said = problem.message if problem is not None else "it cannot be read"
        raise ActivationError(
            f"the skill {quoted(entry.name)} cannot be read now: {neutral(said)}",
            hint="go on without it, or try again when its file has been mended",
        )
    found = [] if folder is None else skill_files(folder)
    names = [name for name, _ in found if name != "SKILL.md" and not name.startswith(_AUTHOR_FOLDERS)]
    named = tuple(names[:MAX_FILES_NAMED])
    lines = [f'<skill_content name="{_escape_attribute(entry.name)}">', escape_tags(skill.body.strip("\n")), ""]
    if arguments:
        # Told, and filled in nowhere: what a body says of `$ARGUMENTS` it says to the model.
        lines += [f"Arguments: {escape_tags(neutral(arguments))}", ""]
    lines += [f"Note: {escape_tags(neutral(note))}" for note in notes]
    if folder is not None:
        lines += [
            f"Skill directory: {escape_tags(neutral(os.path.dirname(entry.path)))}",
            "Paths in this skill are relative to that directory.",
        ]
    if named:
        lines += ["<skill_resources>", *(f"  <file>{_escape_attribute(name)}</file>" for name in named)]
        if len(names) > len(named) or len(found) >= MAX_SKILL_FILES:
            more = "more than " if len(found) >= MAX_SKILL_FILES else ""
            lines.append(f"  and {more}{len(names) - len(named):,} more files")
        lines.append("</skill_resources>")
    lines.append("</skill_content>")
    return Activation(
        name=entry.name,
        path=entry.path,
        digest=skill_digest(folder) if digest and folder is not None else None,
        content="\n".join(lines),
        files=named,
        findings=skill.findings,
    )


_TAGS = ("skill_content", "skill_resources", "active_skills", "available_skills", "system-reminder")
_INVISIBLE = f"{INVISIBLE_CHARACTERS}\x00-\x08\x0e-\x1f\u200c\u200d\ufe00-\ufe0f"
_BLANKS = rf"[\s{_INVISIBLE}]*"


def _tag_pattern(*tags: str) -> str:
    names = "|".join(f"[{_INVISIBLE}]*".join(map(re.escape, tag)) for tag in tags)
    return rf"<(?={_BLANKS}(?:[/\u2044\u2215]{_BLANKS})?(?:{names}))"


_TAG_PATTERN = _tag_pattern(*_TAGS)


class _LookalikeTable(dict[int, str]):
    """Characters to what they look like: full-width and other forms of a letter are that letter."""

    def __missing__(self, number: int) -> str:
        import unicodedata

        plain = unicodedata.normalize("NFKC", chr(number)).lower()
        # One for one, so that places stay.
        self[number] = plain if len(plain) == 1 else chr(number)
        return self[number]


_LOOKALIKES = _LookalikeTable()


def escape_tags(text: str, *tags: str) -> str:
    """Write the tags of ours that a foreign text holds so that they open and close nothing, however they are disguised.

    What looks like a tag counts: in any case, with blanks or what does not show in it, in full-width characters. So do
    further tags, if they are named.
    """
    plain = text if text.isascii() else text.translate(_LOOKALIKES)
    if "<" not in plain:
        return text
    parts, last = [], 0
    for match in re.finditer(_tag_pattern(*_TAGS, *tags) if tags else _TAG_PATTERN, plain, flags=re.IGNORECASE):
        parts += [text[last : match.start()], "&lt;"]
        last = match.end()
    return "".join([*parts, text[last:]])


def _escape_attribute(text: str) -> str:
    text = neutral(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return escape_tags(text)
