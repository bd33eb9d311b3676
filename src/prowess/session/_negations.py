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
    # Not a negation, though it looks like one.
    rf"(?P<idle>\bwhy{_BLANK}(?:not\b|(?:do|ca|could|wo|would){_NOT_SUFFIX}(?:{_BLANK}(?:you|we|i)\b)?)"
    rf"|\b(?:ca|could|wo|would){_NOT_SUFFIX}{_BLANK}(?:you|we|i)\b|\b(?:if|or){_BLANK}not\b|\b(?:e\.g|i\.e)\."
    rf"|\b(?:do{_NOT_SUFFIX}|never)(?:{_BLANK}(?:you|we|ever|please))?{_BLANK}"
    r"(?:forget|hesitate|fail|neglect|mind|worry|miss|omit|just|only|merely|simply|be[ \t]{1,4}(?:afraid|shy))\b"
    rf"|\bnot{_BLANK}(?:only|just|merely|simply|sure|to{_BLANK}mention)\b"
    rf"|\bno{_BLANK}(?:problem|worries|matter|doubt|idea|wonder)\b)"
    # The end of a clause.
    r"|(?P<end>[.!?]+(?=[ \t\n\x02)\"'”’]|\Z)|[;\n。！？；]"
    r"|\b(?:but|so|then|however|otherwise)\b|\binstead\b(?![ \t]{1,4}of\b)"
    r"|(?:[,:(，：—–]|[ \t]-+)[ \t]{0,4}(?:(?:please|just|and|now|only|rather|better|always)[ \t]{1,4}){0,3}"
    rf"(?:{VERB_PATTERN})\b)"
    # A negation of the rest of its clause.
    rf"|(?P<reach>\b(?:do|must|should|shall|may|need|will|would){_NOT_SUFFIX}|\bnever\b)"
    # A negation of the names right after it.
    rf"|(?P<near>\b(?:does|did|ca|could|has|have|is|are|was|were|can|could){_NOT_SUFFIX}|\bcannot\b|\bno(?:t|r)?\b|\bneither\b)"
    # The same, and inside a negated clause its end.
    rf"|(?P<flip>\bwithout\b|\binstead{_BLANK}of\b|\b(?:rather|other){_BLANK}than\b|\bexcept\b(?:{_BLANK}for\b)?|\bunlike\b"
    r"|\b(?:avoid|stop|quit|skip|ignor|disabl|exclud|ceas)(?:e|ing|p?ping|ting)?\b)",
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
_MAX_LIST_GAP = 40
"""Characters between two names of one list."""


def drop_negated(text: str, candidates: list[Candidate]) -> list[Candidate]:
    """Return the mentions that are not negated.

    Args:
        text: a normalized text in which code is masked.
        candidates: in the order of the text.
    """
    spans: list[Span] = []
    lines: list[tuple[int, int, Candidate]] = []
    """The start and end of each line that names something, and the last name in it."""
    searched_to = 0
    for candidate in candidates:
        if candidate.name_start >= searched_to:
            line_start = text.rfind("\n", searched_to, candidate.name_start) + 1 or searched_to
            searched_to = text.find("\n", candidate.name_start) + 1 or len(text)
            lines.append((line_start, searched_to, candidate))
        lines[-1] = (*lines[-1][:2], candidate)
    for line_start, line_end, last in lines:
        # What comes after the last name negates nothing.
        spans += _negated_spans(text, line_start, min(line_end, last.end + 1))
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


def _negated_spans(text: str, line_start: int, line_end: int) -> list[Span]:
    """Find where names are negated in a line, in order."""
    spans: list[Span] = []
    clause_start = -1
    """Where the negated clause begins; -1 outside of one."""
    for match in _NEGATIONS.finditer(text, line_start, line_end):
        kind, start, end = match.lastgroup, *match.span()
        if kind == "reach" and clause_start < 0 and not _PRONOUN_SUBJECT.search(text[max(0, start - 8) : start]):
            clause_start = end
        elif kind == "end" or (kind == "flip" and clause_start >= 0):
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
