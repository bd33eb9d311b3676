"""Find the skills that a user's text names.

Three forms count: a sigil (`$name`, `/name`, `@name`), a package's skill (`package:name`), and English phrases such as
"use the NAME skill" (`_mention_phrases`). Names are compared as everywhere (`normalize_name`); the longest name that
fits is used. Code, comments, link targets, URLs and paths name nothing (`_code_spans`), nor does what is negated
(`_negations`).

A mention of a skill that exists but cannot be used is reported in every form. Most words with a sigil name no skill, so
an unknown name is reported only if it can hardly be anything else: "use the NAME skill" with one word that is not an
ordinary one; a sigil before NAME and the word "skill"; `package:name` of a known package; and, in lower case letters,
digits and hyphens, a sigil's name one letter away from a skill's (from four letters on) or `$` with a hyphen in its
name, which no variable has.

The time is linear in the text: no pattern can backtrack into another's run, and no name is looked up twice.
"""

from __future__ import annotations

import re
from itertools import islice

from prowess._internal.frozen import Frozen
from prowess._internal.text import normalize_name

from ._code_spans import mask_code_and_urls, normalize_whitespace
from ._mention_names import MAX_NAME_LENGTH, Candidate, SkillNames, continues_name, names_of
from ._mention_phrases import find_phrases
from ._negations import drop_negated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.catalog import Entry

__all__ = ["MAX_MENTIONS", "Mention", "find_mentions"]


MAX_MENTIONS = 1000
"""Places of one form that count in one text."""


class Mention(Frozen):
    """One place in a text that names a skill."""

    text: str
    """As written, with its sigil or the words of its phrase."""
    start: int
    """0-based, in Unicode characters."""
    end: int
    """Behind its last character: `text[start:end]` of the user's text is `text`."""
    reason: str
    """`sigil`, `package` or `phrase`."""
    name: str
    """The name, as written."""
    entry: Entry | None = None
    """The skill; `None` if no usable skill has this name."""
    problem: str | None = None
    """Why there is no entry, in words that are safe to show."""


def find_mentions(text: str, skills: Iterable[Entry]) -> tuple[Mention, ...]:
    """Return every mention of a skill in a user's text, in order.

    Skills that the model does not see (`user-only`) and those that appear later (`deferred`) can be mentioned too.

    Of each of the three forms, the first `MAX_MENTIONS` places count.

    Args:
        text: what the user wrote.
        skills: those of a catalog, in its order.
    """
    if not any(map(text.__contains__, _MENTION_CHARACTERS)) and "skill" not in text.lower():
        return ()
    names = names_of(skills)
    masked = mask_code_and_urls(normalize_whitespace(text))
    finders = (_find_sigils, _find_package_names, find_phrases)
    candidates = [item for find in finders for item in islice(find(masked, names), MAX_MENTIONS)]
    candidates.sort(key=lambda candidate: (candidate.start, -candidate.end))
    mentions: list[Mention] = []
    previous_end = 0
    for candidate in drop_negated(masked, candidates) if candidates else ():
        if candidate.start < previous_end:
            continue
        start, previous_end = candidate.start, candidate.end
        entry, problem = names.resolve(candidate.name)
        mentions.append(
            Mention(
                text=text[start:previous_end],
                start=start,
                end=previous_end,
                reason=candidate.reason,
                name=candidate.name,
                entry=entry,
                problem=problem,
            )
        )
    return tuple(mentions)


_SIGILS = "$@/＄＠／﹩﹫"
_ASCII_SIGILS = dict(zip("＄﹩＠﹫／", "$$@@/", strict=True))
_MENTION_CHARACTERS = f"{_SIGILS}:："
"""A text without these characters and without the word `skill` mentions nothing."""
_OPENERS = r"(\[{（【《「『“‘«„‚\"'*_，。、；：！？"
# What is before a sigil is looked at last: most characters are no sigil.
_SIGIL_PATTERN = f"[{_SIGILS}](?=[^\\s\x01\x02{_OPENERS}{_SIGILS}])(?<![^ \t\n\x02{_OPENERS}][{_SIGILS}])"
_SIGIL = re.compile(_SIGIL_PATTERN)
# Without the start of a path, an address or a call: `/usr/bin`.
_PLAIN_SIGIL = re.compile(rf"{_SIGIL_PATTERN}(?![\w\-.]*(?<![\-._])[/\\@=$#%&^~+(\[{{])([\w\-.:：\u200c\u200d]*)")
_PACKAGE = re.compile(rf"(?<![^ \t\n\x02{_OPENERS}])[^\W_][\w\-.]*[:：](?=\w)")
_SYMMETRIC_QUOTES = "\"'*_"
"""Characters that open and close alike: before a name they open only if no word is before them."""
_SPEC_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_MAX_SPEC_NAME = 64
_NUMBER = re.compile(r"[0-9][0-9.,:]*[kKmM]?")
_BEFORE_DEFINITION = re.compile(r"[ \t]*\n[ \t]*(?:@|def\b|class\b|async\b)")
_FOLLOWED_BY_SKILL = re.compile(r"[\"'”’*_]{0,4}[ \t]{1,4}skill\b", re.IGNORECASE)
_SHELL_VARIABLES = frozenset(
    (
        *("HOME", "PATH", "USER", "SHELL", "PWD", "OLDPWD", "LANG", "TERM", "EDITOR", "PAGER"),
        *("TMPDIR", "TEMP", "TMP", "HOST", "HOSTNAME", "DISPLAY", "LOGNAME", "MAIL"),
    )
)


def _find_sigils(text: str, names: SkillNames) -> Iterator[Candidate]:
    nothing: set[str] = set()
    """What names no skill, wherever it is."""
    for match in (_PLAIN_SIGIL if names.are_plain else _SIGIL).finditer(text):
        start = match.start()
        token = match[1] if names.are_plain and text[match.end() : match.end() + 1].isascii() else None
        if token in nothing or not _is_opening(text, start):
            continue
        end, is_known = names.match_at(text, start + 1)
        name, sigil = text[start + 1 : end], _ASCII_SIGILS.get(text[start], text[start])
        if token is not None and not is_known and not _is_like_a_name(name, names):
            nothing.add(token)
            continue
        if not name or continues_name(text, end):
            continue
        if not is_known and not _is_surely_a_name(text, end, sigil, name, names):
            continue
        if not _is_variable(sigil, name, names) and not _is_decorator(text, start, end, sigil):
            yield Candidate(start, end, start, "sigil", name)


def _is_variable(sigil: str, name: str, names: SkillNames) -> bool:
    """Return whether this is an amount of money or a variable of the shell."""
    if sigil != "$":
        return False
    return bool(_NUMBER.fullmatch(name)) or (name in _SHELL_VARIABLES and not names.has_exact_spelling(name))


def _is_decorator(text: str, start: int, end: int, sigil: str) -> bool:
    """Return whether this is a decorator in Python code."""
    begins_line = start == 0 or text[start - 1] == "\n"
    return sigil == "@" and begins_line and _BEFORE_DEFINITION.match(text, end) is not None


def _find_package_names(text: str, names: SkillNames) -> Iterator[Candidate]:
    if not names.packages:
        return
    for match in _PACKAGE.finditer(text):
        start = match.start()
        if len(match[0]) > MAX_NAME_LENGTH or normalize_name(match[0][:-1]) not in names.packages:
            continue
        if not _is_opening(text, start):
            continue
        end, is_known = names.match_at(text, start)
        name = text[start:end]
        if not continues_name(text, end) and (is_known or _is_surely_a_name(text, end, "", name, names)):
            yield Candidate(start, end, start, "package", name)


def _is_opening(text: str, start: int) -> bool:
    """Return whether the quotes and emphasis before a name open there."""
    for position in range(start - 1, max(start - 9, -1), -1):
        if text[position] not in _SYMMETRIC_QUOTES:
            return not (text[position].isalnum() or text[position] in ")]}_\x01")
    return True


def _is_surely_a_name(text: str, end: int, sigil: str, name: str, names: SkillNames) -> bool:
    """Return whether a name that no skill has can hardly be anything but the name of a skill."""
    if not _is_like_a_name(name, names):
        return False
    if ":" in name or "：" in name:
        return True
    return bool(_FOLLOWED_BY_SKILL.match(text, end)) or (sigil == "$" and "-" in name) or bool(names.near_names(name))


def _is_like_a_name(name: str, names: SkillNames) -> bool:
    """Return whether the specification allows a name, or the package before its colon is known."""
    if len(name) > _MAX_SPEC_NAME:
        return False
    package, colon, inner = name.replace("：", ":").partition(":")
    if colon:
        return normalize_name(package) in names.packages and _SPEC_NAME.fullmatch(inner) is not None
    return _SPEC_NAME.fullmatch(name) is not None
