"""Leave out the mentions that are negated: "don't use the pdf skill", "use docx instead of $pdf".

"don't", "do not", "never", "must not" and the like reach to the end of their clause: `.`, `;`, `!`, `?`, the end of the
line, "but", "so", "then", or a comma, colon, bracket or dash before "use" and the like. "not", "no", "without",
"instead of", "rather than", "avoid", "stop using" reach to the names right after them; inside another negation they
cancel it.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from ._mention_phrases import VERB_PATTERN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._code_spans import Span
    from ._mention_names import Candidate

__all__ = ["drop_negated"]

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
