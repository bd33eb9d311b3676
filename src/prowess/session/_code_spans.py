"""Mask the parts of a user's text in which no skill is named: code, comments, URLs and link targets."""

from __future__ import annotations

import re
from bisect import bisect_left

from prowess._internal.text import INVISIBLE_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int]

__all__ = ["mask_code_and_urls", "normalize_whitespace"]

_MASK, _INVISIBLE = "\x01", "\x02"
_LINE_ENDS = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE_CHARS = re.compile(f"[\x00-\x08\x0e-\x1f\ud800-\udfff{INVISIBLE_CHARACTERS}]")
_OTHER_BLANKS = re.compile(r"[^\S\n\t ]")


def normalize_whitespace(text: str) -> str:
    """Return a text of the same length with one line end, one blank and one mark for hidden characters."""
    text = _LINE_ENDS.sub("\n", text.replace("\r\n", " \n"))
    return _OTHER_BLANKS.sub(" ", _INVISIBLE_CHARS.sub(_INVISIBLE, text))


_CODE_OPENING = re.compile(
    r"(?P<fence>^[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?(?P<bar>`{3,}(?=[^`\n]*$)|~{3,}))"
    r"|(?P<code>(?:\A|(?<=\n))(?: {4}|\t| \t|  \t|   \t)(?=[ \t]*[^ \t\n]))"
    r"|(?P<ticks>`+)|(?P<comment>(?:^ {1,3})?<!--)",
    re.MULTILINE,
)
_FENCE_CLOSING = {bar: re.compile(rf"^[ \t>]*({bar}{{3,}})[ \t]*$", re.MULTILINE) for bar in "`~"}
_QUOTE_END = re.compile(r"^(?![ \t]*>)", re.MULTILINE)
_OUTDENTED = re.compile(r"\n(?! {4}|\t| \t|  \t|   \t|[ \t]*$)", re.MULTILINE)
_PARAGRAPH_ENDS = re.compile(r"\n[ \t>]*(?:\n|`{3}|~{3})")
_URL_OR_LINK_TARGET = re.compile(r"://[^\s<>\"\x01]*|(?<![\w.])www\.[^\s<>\"\x01]*|\]\([^)\n]*", re.IGNORECASE)


def mask_code_and_urls(text: str) -> str:
    """Return a text of the same length in which code, comments, URLs and link targets are masked."""
    parts: list[str] = []
    position = 0
    for start, end in _code_spans(text):
        parts += (text[position:start], _MASK * (end - start))
        position = end
    without_code = "".join(parts) + text[position:]
    return _URL_OR_LINK_TARGET.sub(lambda match: _MASK * len(match[0]), without_code)


def _code_spans(text: str) -> Iterator[Span]:
    """Find code and comments as CommonMark does: of two that overlap, the one that opens first."""
    backticks = _BacktickSpans(text)
    position, size, last_comment_end = 0, len(text), text.rfind("-->")
    while match := _CODE_OPENING.search(text, position):
        start, position = match.span()
        if match["fence"]:
            start, newline = match.start("bar"), text.find("\n", position)
            first_line_end = size if newline < 0 else newline
            end = _fence_end(text, first_line_end, match["bar"], quoted=">" in match["fence"])
        elif match["code"]:
            if not _follows_blank_line(text, start):
                continue
            outdented = _OUTDENTED.search(text, position)
            end = outdented.start() if outdented else size
        elif match["comment"]:
            is_closed = start + 2 <= last_comment_end
            # A comment that nothing closes counts only at the start of a line, and then reaches to the end.
            if not is_closed and match["comment"] == "<!--" and not (start == 0 or text[start - 1] == "\n"):
                continue
            end = text.find("-->", start + 2) + 3 if is_closed else size
        else:
            if start and text[start - 1] == "\\" and _is_escaped(text, start):
                start += 1
            end = backticks.closing_end(start, position)
            if end < 0:
                continue
        position = end
        yield start, end


class _BacktickSpans:
    """Find where the code spans of a text close; each run of back-ticks is read once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts_by_length: dict[int, list[int]] | None = None
        self._paragraph_end = 0

    def closing_end(self, start: int, end: int) -> int:
        """Return the end of the code span that a run of backticks opens; -1 if nothing in its paragraph closes it."""
        if self._starts_by_length is None:
            self._starts_by_length = {}
            for run in _BACKTICK_RUNS.finditer(self._text):
                self._starts_by_length.setdefault(len(run[0]), []).append(run.start())
        if self._paragraph_end <= start:
            paragraph_end = _PARAGRAPH_ENDS.search(self._text, start)
            self._paragraph_end = paragraph_end.start() if paragraph_end else len(self._text) + 1
        starts = self._starts_by_length.get(end - start, [])
        index = bisect_left(starts, end)
        if start == end or index == len(starts) or starts[index] > self._paragraph_end:
            return -1
        return starts[index] + end - start


_BACKTICK_RUNS = re.compile("`+")


def _fence_end(text: str, first_line_end: int, bar: str, *, quoted: bool) -> int:
    """Return the end of a fenced block: the end of its quotation or of the text, if no fence closes it."""
    quote_end = _QUOTE_END.search(text, first_line_end + 1) if quoted else None
    last = quote_end.start() if quote_end else len(text)
    for closing in _FENCE_CLOSING[bar[0]].finditer(text, first_line_end, last):
        if len(closing[1]) >= len(bar):
            return closing.end()
    return last


def _follows_blank_line(text: str, start: int) -> bool:
    return not start or not text[text.rfind("\n", 0, start - 1) + 1 : start - 1].strip(" \t")


def _is_escaped(text: str, end: int) -> bool:
    start = end
    while start and text[start - 1] == "\\":
        start -= 1
    return (end - start) % 2 == 1
