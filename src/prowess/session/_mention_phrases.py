"""Find the skills that English phrases name: "use the NAME skill", "with the A and B skills", "load the skill NAME"."""

from __future__ import annotations

import re

from ._code_spans import ascii_shadow
from ._mention_names import Candidate, SkillNames, continues_name, word_spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._code_spans import Span

__all__ = ["VERB_PATTERN", "find_phrases"]

VERB_PATTERN = (
    "use|using|run|running|apply|applying|activate|activating|invoke|invoking|load|loading|call|calling|try|trying|"
    "follow|following|employ|employing|leverage|leveraging|launch|launching|trigger|triggering|start|starting"
)


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VERBS = frozenset([*VERB_PATTERN.split("|"), "with", "via", "through", "without"])
_STRONG_VERBS = _VERBS - _word_set("with via through without try trying follow following call calling start starting")
_DEFINITE = _word_set("the my your our")
_ARTICLES = _word_set("the my your our this that its a an both either")
_FILLERS = _ARTICLES | _word_set("please also just only again now of on in for me us it here")
_CONJUNCTIONS = frozenset(("and", "or", "&", "plus", "and/or", ",", "nor"))
_COMMON_WORDS = _word_set(
    "right same best better appropriate correct wrong new old above below following other another next previous first "
    "second third last latest current relevant necessary required needed proper suitable suited existing available "
    "given said whole full mentioned updated original different particular specific single only own main default "
    "custom installed agent agents claude codex matching corresponding respective attached provided desired chosen "
    "selected listed named called actual real good great entire very most more any every each one two skill soft hard "
    "special technical useful ideal aforementioned requisite resulting"
)
_SKILL = re.compile(r"(?<![\w\-$@/.\\])skills?(?![\w\-/\\=(]|\.\w)", re.IGNORECASE)
_CALLED = re.compile(
    r"(?:[ \t]{1,4}(?:called|named)[ \t]{1,4}|:[ \t]{0,4}|[ \t]{1,4}(?=[\"'“‘«]))[\"'“‘«*]{0,3}", re.IGNORECASE
)
_UNKNOWN_NAME = re.compile(r"[a-z0-9]+(?:[-_:.][a-z0-9]+)*", re.IGNORECASE)
_MAX_CHARS_BEFORE = 600
"""Characters before the word `skill` in which its phrase may begin."""
_MAX_WORDS_BEFORE = 24
_MAX_UNKNOWN_NAME = 64
_QUOTES = "\"'“”‘’«»„*_"
_OPENING = "(\"'“‘*_"


def find_phrases(text: str, names: SkillNames) -> Iterator[Candidate]:
    """Find the phrases that name skills.

    Args:
        text: a normalized text in which code is masked.
        names: the names of skills.
    """
    previous_end, continues = 0, False
    for match in _places_of_skill(text):
        line_start = text.rfind("\n", max(0, match.start() - _MAX_CHARS_BEFORE), match.start()) + 1
        start = max(previous_end, line_start, match.start() - _MAX_CHARS_BEFORE)
        if not _may_name(text[start : match.start()], names):
            continues, previous_end = False, match.end()
            continue
        words = _WordsBeforeSkill(text, word_spans(text[start : match.start()], start)[-_MAX_WORDS_BEFORE:], names)
        found = words.names_after_verb() or (words.name_list(0) if continues and start == previous_end else [])
        continues, previous_end = bool(found), match.end()
        if found:
            yield from _divide_phrase(text, words.verb, found, match.end())
        elif (verb := words.bare_verb()) >= 0 and (called := _CALLED.match(text, match.end())):
            end, is_known = names.match_at(text, called.end())
            if is_known and not continues_name(text, end):
                continues, previous_end = True, end
                yield Candidate(verb, end, called.end(), "phrase", text[called.end() : end])
        elif (unknown := words.unknown_name()) is not None:
            yield Candidate(words.verb, match.end(), unknown[0], "phrase", text[unknown[0] : unknown[1]])


def _places_of_skill(text: str) -> Iterator[re.Match[str]]:
    """Find the word `skill`; `find` is ten times as fast as a pattern that does not look at case."""
    if "\u0130" in text:  # in lower case it is two characters, so the places would not be the same
        yield from _SKILL.finditer(text)
        return
    # The Kelvin sign is a `k` in lower case.
    lower = (text if "\u212a" in text else ascii_shadow(text)).lower()
    start = 0
    while (start := lower.find("skill", start)) >= 0:
        if match := _SKILL.match(text, start):
            yield match
        start += len("skill")


def _may_name(before: str, names: SkillNames) -> bool:
    """Return whether the words before the word `skill` may be a part of its phrase; most are not."""
    words = before.replace("\x02", " ").rsplit(None, 3)
    lower = [word.lower().lstrip(_OPENING) for word in words[-3:]]
    if not words or lower[-1] in _FILLERS or lower[-1] in _VERBS or not names.are_plain:
        return bool(words)
    start, end = _strip_quotes(words[-1], 0, len(words[-1]))
    if names.contains(words[-1][start:end]):
        return True
    # `use the UNKNOWN skill`
    return len(words) > 2 and lower[1] in _DEFINITE and (lower[0] in _FILLERS or lower[0] in _STRONG_VERBS)


def _divide_phrase(text: str, verb: int, names: list[Span], end: int) -> Iterator[Candidate]:
    """Divide a phrase among its names: the first part begins at the verb, the last one ends behind `skill`."""
    starts = [verb if verb >= 0 else names[0][0], *(start for start, _ in names[1:])]
    ends = [*(name_end for _, name_end in names[:-1]), end]
    for (name_start, name_end), part_start, part_end in zip(names, starts, ends, strict=True):
        yield Candidate(part_start, part_end, name_start, "phrase", text[name_start:name_end])


class _WordsBeforeSkill:
    """The words before the word `skill`."""

    def __init__(self, text: str, words: list[Span], names: SkillNames) -> None:
        self._text, self._words, self._names = text, words, names
        self._lower = [text[start:end].lower().lstrip(_OPENING) for start, end in words]
        self._verbs = [index for index, word in enumerate(self._lower) if word in _VERBS]
        self.verb = -1
        """Where the verb begins that was found last; -1 if none."""

    def names_after_verb(self) -> list[Span]:
        """Return the names between a verb and the end."""
        for verb in self._verbs:
            for first in range(verb + 1, len(self._words)):
                if found := self.name_list(first):
                    self._set_verb(verb)
                    return found
                if self._lower[first] not in _FILLERS:
                    break
        return []

    def bare_verb(self) -> int:
        """Return where the last verb begins if only fillers follow it, else -1."""
        if not self._verbs or any(word not in _FILLERS for word in self._lower[self._verbs[-1] + 1 :]):
            return -1
        return self._set_verb(self._verbs[-1])

    def unknown_name(self) -> Span | None:
        """Return the only word between `use the` and the end, if it can hardly be anything but a name."""
        if len(self._words) < 3 or self._lower[-2] not in _DEFINITE:
            return None
        verb = len(self._words) - 3
        while verb >= 0 and self._lower[verb] in _FILLERS:
            verb -= 1
        if verb < 0 or self._lower[verb] not in _STRONG_VERBS:
            return None
        start, end = _strip_quotes(self._text, *self._words[-1])
        name = self._text[start:end]
        is_name = len(name) <= _MAX_UNKNOWN_NAME and _UNKNOWN_NAME.fullmatch(name) and not name.isdigit()
        if not is_name or name.lower() in _COMMON_WORDS:
            return None
        self._set_verb(verb)
        return start, end

    def name_list(self, first: int) -> list[Span]:
        """Read names joined by commas, `and` and `or` from a word to the end; empty if anything else is there."""
        found: list[Span] = []
        joined = True
        index = first
        while index < len(self._words):
            if name := self._longest_name(index) if joined else None:
                start, end, index = name
                found.append((start, end))
                joined = self._text[self._words[index - 1][1] - 1] == ","
            elif self._lower[index] in _CONJUNCTIONS:
                joined, index = True, index + 1
            elif joined and index > first and self._lower[index] in _ARTICLES:
                index += 1
            else:
                return []
        return found if found and not joined else []

    def _longest_name(self, index: int) -> tuple[int, int, int] | None:
        """Return the span of the longest known name that begins with a word, and the index of the word after it."""
        for count in (*(count for count in self._names.word_counts if count > 1), 1):
            if index + count <= len(self._words):
                start, end = _strip_quotes(self._text, self._words[index][0], self._words[index + count - 1][1])
                if start < end and self._names.contains(self._text[start:end]):
                    return start, end, index + count
        return None

    def _set_verb(self, index: int) -> int:
        self.verb = self._words[index][1] - len(self._lower[index])
        return self.verb


def _strip_quotes(text: str, start: int, end: int) -> Span:
    """Return the part of a text without the quotes around it."""
    while start < end and text[start] in _QUOTES:
        start += 1
    while end > start and text[end - 1] in _QUOTES + ",":
        end -= 1
    return start, end
