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
from bisect import bisect_right
from itertools import islice

from prowess._internal.frozen import Frozen
from prowess._internal.text import normalize_name

from ._code_spans import ascii_shadow, mask_code_and_urls, normalize_whitespace
from ._mention_names import MAX_NAME_LENGTH, Candidate, SkillNames, continues_name, names_of, word_spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.catalog import Entry

    from ._code_spans import Span

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


_NOT_SUFFIX = r"(?:n['’ʼ]?t|[ \t]{1,4}not)\b"
_BLANK = r"[ \t]{1,4}"
_NEGATIONS = re.compile(
    # At the beginning of a word, which is looked for once for all of them:
    r"\b(?:"
    # Not a negation, though it looks like one.
    rf"(?P<idle>why{_BLANK}(?:not\b|(?:do|ca|could|wo|would){_NOT_SUFFIX}(?:{_BLANK}(?:you|we|i)\b)?)"
    rf"|(?:ca|could|wo|would){_NOT_SUFFIX}{_BLANK}(?:you|we|i)\b|(?:if|or){_BLANK}not\b|(?:e\.g|i\.e)\."
    rf"|(?:do{_NOT_SUFFIX}|never)(?:{_BLANK}(?:you|we|ever|please))?{_BLANK}"
    r"(?:forget|hesitate|fail|neglect|mind|worry|miss|omit|just|only|merely|simply|be[ \t]{1,4}(?:afraid|shy))\b"
    rf"|not{_BLANK}(?:only|just|merely|simply|sure|to{_BLANK}mention)\b"
    rf"|no{_BLANK}(?:problem|worries|matter|doubt|idea|wonder)\b)"
    # The end of a clause.
    r"|(?P<word_end>(?:but|so|then|however|otherwise)\b|instead\b(?![ \t]{1,4}of\b))"
    # A negation of the rest of its clause.
    rf"|(?P<reach>(?:do|must|should|shall|may|need|will|would){_NOT_SUFFIX}|never\b)"
    # A negation of the names right after it.
    rf"|(?P<near>(?:does|did|ca|could|has|have|is|are|was|were|can|could){_NOT_SUFFIX}|cannot\b|no(?:t|r)?\b|neither\b)"
    # The same, and inside a negated clause its end.
    rf"|(?P<flip>without\b|instead{_BLANK}of\b|(?:rather|other){_BLANK}than\b|except\b(?:{_BLANK}for\b)?|unlike\b"
    r"|(?:avoid|stop|quit|skip|ignor|disabl|exclud|ceas)(?:e|ing|p?ping|ting)?\b))"
    # The end of a clause, too.
    r"|(?P<end>[.!?]+(?=[ \t\n\x02)\"'”’]|\Z)|[;\n。！？；]"
    r"|(?:[,:(，：—–]|[ \t]-+)[ \t]{0,4}(?:(?:please|just|and|now|only|rather|better|always)[ \t]{1,4}){0,3}"
    rf"(?:{VERB_PATTERN})\b)",
    re.IGNORECASE,
)
_NEGATION_REACH = re.compile(
    rf"(?:[ \t]{{1,4}}(?:{VERB_PATTERN}|with|via|through|the|a|an|any|my|your|our|this|that|these|ever|either|both|to|"
    r"of|want|need|needing|like|think|you|should|it|me|us|we|really|actually|even|also|please|skills?|called|named|longer|more|"
    r"for|be|having|activated|used)\b)*[ \t(\[{\"'“‘«*_]*",
    re.IGNORECASE,
)
_LIST_JOINER = re.compile(
    r"[ \t\"'”’»*_)]*,?[ \t]*(?:(?:and|or|nor|&)\b[ \t]*)?(?:(?:the|with|my|either)[ \t]+)*[\"'“‘«*_(]*", re.IGNORECASE
)
_PARENTHETICAL = re.compile(r"[ \t]{0,4}(?:(?:ever|please|really|you dare)[ \t]{0,4})?,", re.IGNORECASE)
_PRONOUN_SUBJECT = re.compile(r"\b(?:i|we|they|it|he|she)[ \t]+\Z", re.IGNORECASE)
_SENTENCE_MARKS = "\n;。！？；"
"""Each ends every clause; so does a full stop before a blank."""
_ABBREVIATIONS = frozenset(("e.g", "i.e"))
_MAX_LIST_GAP = 40
"""Characters between two names of one list."""


def drop_negated(text: str, candidates: list[Candidate]) -> list[Candidate]:
    """Return the mentions that are not negated.

    Args:
        text: a normalized text in which code is masked.
        candidates: in the order of the text.
    """
    parts: list[Span] = []
    """What can negate a name: from the end of the clauses before it, and not what comes after it."""
    for candidate in candidates:
        start, end = parts[-1] if parts else (0, 0)
        sentence_start = _sentence_start(text, end, candidate.name_start)
        if parts and sentence_start < 0:
            parts[-1] = (start, max(end, candidate.end + 1))
        else:
            parts.append((max(sentence_start, 0), candidate.end + 1))
    spans = [span for start, end in parts for span in _negated_spans(text, start, min(end, len(text)))]
    starts = [start for start, _ in spans]
    kept: list[Candidate] = []
    negated_end = -1
    """Where the last negated name ends."""
    for candidate in candidates:
        start = candidate.name_start
        index = bisect_right(starts, start) - 1
        is_negated = index >= 0 and start <= spans[index][1]
        if not is_negated and 0 <= negated_end <= start <= negated_end + _MAX_LIST_GAP:
            is_negated = _LIST_JOINER.fullmatch(text[negated_end:start]) is not None
        if is_negated:
            negated_end = candidate.end
        else:
            kept.append(candidate)
    return kept


def _sentence_start(text: str, first: int, end: int) -> int:
    """Return where the last sentence before a place begins, if it begins after another place; else -1."""
    start = 0
    for mark in _SENTENCE_MARKS:
        start = max(start, text.rfind(mark, max(first, start), end) + 1)
    stop = end
    while (stop := text.rfind(". ", max(first, start), stop)) >= 0:
        if text[max(stop - 3, 0) : stop].lower() not in _ABBREVIATIONS:
            return stop + 1
    return start or -1


def _negated_spans(text: str, line_start: int, line_end: int) -> list[Span]:
    """Find where names are negated in a part of a text, in order."""
    spans: list[Span] = []
    clause_start = -1
    """Where the negated clause begins; -1 outside of one."""
    for match in _NEGATIONS.finditer(text, line_start, line_end):
        kind, start, end = match.lastgroup, *match.span()
        if kind == "reach" and clause_start < 0 and not _PRONOUN_SUBJECT.search(text[max(0, start - 8) : start]):
            clause_start = end
        elif kind in ("end", "word_end") or (kind == "flip" and clause_start >= 0):
            # `don't, please, use`: this comma closes a parenthesis, not the clause.
            if clause_start >= 0 and match[0][0] == "," and _PARENTHETICAL.match(text, clause_start, start):
                continue
            if clause_start >= 0:
                spans.append((clause_start, start))
            clause_start = -1
        elif kind in ("reach", "near", "flip") and clause_start < 0:
            reach = _NEGATION_REACH.match(text, end)
            spans.append((end, reach.end() if reach else end))
    return [*spans, (clause_start, line_end)] if clause_start >= 0 else spans
