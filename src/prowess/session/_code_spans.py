"""Mask the parts of a user's text in which no skill is named: code, comments, URLs and link targets."""

from __future__ import annotations

import re
from bisect import bisect_left

from prowess._internal.text import INVISIBLE_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Span = tuple[int, int]

_MASK, _INVISIBLE = "\x01", "\x02"
_LINE_ENDS = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE_CHARS = re.compile(f"[\x00-\x08\x0e-\x1f\ud800-\udfff{INVISIBLE_CHARACTERS}]")
_OTHER_BLANKS = re.compile(r"[^\S\n\t ]")
_UNUSUAL = re.compile(
    f"[\x00-\x08\x0b-\x1f\x85\xa0\u1680\u2000-\u200a\u202f\u205f\u3000\ud800-\udfff{INVISIBLE_CHARACTERS}]"
)
"""All that the three patterns match."""
_USUAL_ASCII = bytes((*b"\t\n", *range(0x20, 0x7F)))
_ASCII_TABLE = {
    **dict.fromkeys((*range(0x09), *range(0x0E, 0x20), 0x7F), _INVISIBLE),
    **dict.fromkeys(map(ord, "\r\x0b\x0c"), "\n"),
}
"""What the three patterns do to ASCII; a table is many times as fast."""


def normalize_whitespace(text: str) -> str:
    """Return a text of the same length with one line end, one blank and one mark for hidden characters."""
    text = text.replace("\r\n", " \n")
    if text.isascii():
        return text.translate(_ASCII_TABLE)
    # Without ASCII little is left of most texts, and C leaves it out many times as fast as a pattern looks at it.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _USUAL_ASCII).decode("utf-8", "surrogatepass")
    if not _UNUSUAL.search(rest):
        return text
    return _OTHER_BLANKS.sub(" ", _INVISIBLE_CHARS.sub(_INVISIBLE, _LINE_ENDS.sub("\n", text)))


def mask_code_and_urls(text: str) -> str:
    """Return a text of the same length in which code, comments, URLs and link targets are masked."""
    ascii_text = ascii_shadow(text)
    code = list(_code_spans(ascii_text))
    spans = [*code, *_url_spans(text, _masked(ascii_text, code))]
    return _masked(text, sorted(spans)) if spans else text


def ascii_shadow(text: str) -> str:
    """Return a text of the same length with `?` for each character that is not ASCII; it is searched faster."""
    return text if text.isascii() else text.encode("ascii", "replace").decode("ascii")


def _masked(text: str, spans: Iterable[Span]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in spans:
        if end > position:
            start = max(start, position)
            parts += (text[position:start], _MASK * (end - start))
            position = end
    parts.append(text[position:])
    return "".join(parts)


# ── URLs and link targets ────────────────────────────────────────────────────────────────────────────────────────────

_URL = re.compile(r"[^\s<>\"\x01]*")
_LINK_TARGET = re.compile(r"[^)\n]*")
_WWW = re.compile(r"(?<![\w.])www\.", re.IGNORECASE)


def _url_spans(text: str, ascii_text: str) -> Iterator[Span]:
    """Find URLs, addresses that begin with `www.`, and link targets, in the shadow of a text without its code."""
    places = _Places(ascii_text.lower(), ("://", "](", "www."))
    position = 0
    while found := places.next(position):
        start, opening = found
        position = start + len(opening)
        if opening == "www." and not _WWW.match(text, start):
            continue
        match = (_LINK_TARGET if opening == "](" else _URL).match(ascii_text, position)
        position = match.end() if match else position
        yield start, position


class _Places:
    """The places of a few literals in a text, found one after the other; `str.find` is far faster than a pattern."""

    def __init__(self, text: str, literals: Iterable[str]) -> None:
        self._text = text
        self._next = [(start, literal) for literal in literals if (start := text.find(literal)) >= 0]

    def next(self, position: int) -> tuple[int, str] | None:
        """Return the first place from a position on, and what is there; `None` if nothing is left."""
        for index, (start, literal) in enumerate(self._next):
            if start < position:
                start = self._text.find(literal, position)
                self._next[index] = (start if start >= 0 else len(self._text), literal)
        first = min(self._next, default=None)
        return None if first is None or first[0] >= len(self._text) else first


# ── code ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_BEFORE_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?")
_FENCE = re.compile(r"`{3,}(?=[^`\n]*$)|~{3,}", re.MULTILINE)
_INDENT = r"(?=( {4}|\t| \t|  \t|   \t)[ \t]*[^ \t\n])"
_INDENTED = re.compile(rf"\n[ \t]*\n{_INDENT}")
_INDENTED_START = re.compile(rf"(?:[ \t]*\n)?{_INDENT}")
_BACKTICK_RUNS = re.compile("``*")  # twice as fast as "`+": a pattern that begins with a letter is searched for it
_FENCE_CLOSING = {bar: re.compile(rf"[ \t>]*({bar}{{3,}})[ \t]*$", re.MULTILINE) for bar in "`~"}
_QUOTE_END = re.compile(r"^(?![ \t]*>)", re.MULTILINE)
_OUTDENTED = re.compile(r"\n(?! {4}|\t| \t|  \t|   \t|[ \t]*$)", re.MULTILINE)
_PARAGRAPH_ENDS = re.compile(r"\n[ \t>]*(?:\n|`{3}|~{3})")


def _code_spans(text: str) -> Iterator[Span]:
    """Find code and comments as CommonMark does: of two that overlap, the one that opens first."""
    openings, backticks, fences = _Openings(text), _BacktickSpans(text), _FenceEnds(text)
    position, size, last_comment_end = 0, len(text), text.rfind("-->")
    # Where the next of each kind opens; the size of the text if there is no more.
    fence = indented = ticks = comment = -1
    while True:
        if fence < position:
            fence = openings.fence(position)
        if indented < position:
            indented = openings.indented(position)
        if comment < position:
            comment = openings.comment(position)
        if ticks < position and (ticks := text.find("`", position)) < 0:
            ticks = size
        # Of two at one place, the first kind counts.
        start = min(fence, indented, ticks, comment)
        if start >= size:
            return
        if start == fence:
            start, bar = openings.fence_start, openings.fence_bar
            newline = text.find("\n", start)
            end = fences.end(size if newline < 0 else newline, bar, quoted=">" in text[fence:start])
        elif start == indented:
            outdented = _OUTDENTED.search(text, openings.indent_end)
            end = outdented.start() if outdented else size
        elif start == ticks:
            run = _BACKTICK_RUNS.match(text, start)
            position = run.end() if run else start + 1
            if text[start - 1 : start] == "\\" and _is_escaped(text, start):
                start += 1
            end = backticks.closing_end(start, position)
            if end < 0:
                continue
        else:
            position = openings.comment_end
            is_closed = start + 2 <= last_comment_end
            # A comment that nothing closes counts only at the start of a line, and then reaches to the end.
            if not is_closed and text[start] == "<" and not (start == 0 or text[start - 1] == "\n"):
                continue
            end = text.find("-->", start + 2) + 3 if is_closed else size
        position = end
        yield start, end


class _Openings:
    """Find the next fence, indented line or comment of a text; its size if there is no more."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fence_bars = _Places(text, ("```", "~~~"))
        self.fence_start, self.fence_bar = 0, ""
        """The bar of the next fence, and where it begins in its line."""
        self.indent_end = 0
        """Where the text of the next indented line begins."""
        self.comment_end = 0
        """Behind the `<!--` of the next comment."""

    def fence(self, position: int) -> int:
        text, searched_to = self._text, position
        while place := self._fence_bars.next(searched_to):
            line = text.rfind("\n", 0, place[0]) + 1
            bar = _FENCE.match(text, place[0]) if line >= position else None
            if bar is not None and _BEFORE_FENCE.fullmatch(text, line, place[0]):
                self.fence_start, self.fence_bar = place[0], bar[0]
                return line
            # Only the first bar of a line can be a fence.
            searched_to = text.find("\n", place[0])
            if searched_to < 0:
                break
        return len(text)

    def indented(self, position: int) -> int:
        """Find an indented line after a blank one, or at the beginning."""
        match = _INDENTED_START.match(self._text) if position == 0 else None
        if match is None:
            match = _INDENTED.search(self._text, max(self._text.rfind("\n", 0, max(position - 1, 0)), 0))
        if match is None:
            return len(self._text)
        self.indent_end = match.end(1)
        return match.end()

    def comment(self, position: int) -> int:
        text = self._text
        found = text.find("<!--", position)
        if found < 0:
            return len(text)
        self.comment_end = found + 4
        start = found
        while start > position and start > found - 3 and text[start - 1] == " ":
            start -= 1
        begins_line = start == 0 or text[start - 1] == "\n"
        return start if begins_line else found


class _BacktickSpans:
    """Find where the code spans of a text close; each run of back-ticks is read once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts_by_length: dict[int, list[int]] = {}
        """Of the runs in the paragraph."""
        self._paragraph_end = 0

    def closing_end(self, start: int, end: int) -> int:
        """Return the end of the code span that a run of backticks opens; -1 if nothing in its paragraph closes it."""
        if self._paragraph_end <= start:
            paragraph_end = _PARAGRAPH_ENDS.search(self._text, start)
            self._paragraph_end = paragraph_end.start() if paragraph_end else len(self._text) + 1
            self._starts_by_length = {}
            for run in _BACKTICK_RUNS.finditer(self._text, start, self._paragraph_end):
                self._starts_by_length.setdefault(len(run[0]), []).append(run.start())
        starts = self._starts_by_length.get(end - start, [])
        index = bisect_left(starts, end)
        if start == end or index == len(starts):
            return -1
        return starts[index] + end - start


class _FenceEnds:
    """Find where the fenced blocks of a text end; each quotation is read once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._quote_end = -1

    def end(self, first_line_end: int, bar: str, *, quoted: bool) -> int:
        """Return the end of a block: the end of its quotation or of the text, if no fence closes it."""
        text, last, line_end = self._text, len(self._text), first_line_end
        if quoted:
            if self._quote_end <= first_line_end:
                quote_end = _QUOTE_END.search(text, first_line_end + 1)
                self._quote_end = quote_end.start() if quote_end else last
            last = self._quote_end
        while line_end >= 0 and (start := text.find(bar[:3], line_end, last)) >= 0:
            closing = _FENCE_CLOSING[bar[0]].match(text, text.rfind("\n", 0, start) + 1, last)
            if closing and len(closing[1]) >= len(bar):
                return closing.end()
            line_end = text.find("\n", start, last)
        return last


def _is_escaped(text: str, end: int) -> bool:
    start = end
    while start and text[start - 1] == "\\":
        start -= 1
    return (end - start) % 2 == 1
