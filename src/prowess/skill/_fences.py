"""Find the `---` fences around the front matter of a SKILL.md, and record findings."""

from __future__ import annotations

import re

from prowess._internal.patterns import compile_on_use
from prowess.findings import Finding, finding

_CLOSING_FENCE_BYTES = compile_on_use(rb"[\r\n]-{3}[ \t]*(?=[\r\n])")
_LONG_CLOSING_FENCE_BYTES = compile_on_use(rb"[\r\n]-{3,}[ \t]*(?=[\r\n])")
_CLOSING_FENCE = compile_on_use(r"^-{3}[ \t]*$", re.MULTILINE)
LONG_CLOSING_FENCE = compile_on_use(r"^-{3,}[ \t]*$", re.MULTILINE)
_OPENING_FENCE = compile_on_use(r"-{3}([ \t]*)(?:\n|\Z)")
_LONG_OPENING_FENCE = compile_on_use(r"-{4,}[ \t]*(?:\n|\Z)")

_PROGRAM_LANGUAGES = frozenset(
    ("js", "javascript", "jsx", "mjs", "cjs", "ts", "tsx", "typescript", "coffee", "coffeescript", "cson")
)
_JAVASCRIPT_BLANKS = compile_on_use(r"^[\s\ufeff]+|[\s\ufeff]+\Z")

_BLANKS_HINT = "write exactly `---`, or run `prowess check --fix`"
_QUOTE, _DASH = "['\"\u2018\u2019\u201c\u201d]", "[-\u2010-\u2015\u2212]"
_LOOKS_LIKE_FENCE = compile_on_use(rf"{_QUOTE}*{_DASH}{{1,6}}{_QUOTE}*[ \t]*(?:\n|$)")
"""Dashes and quotes as word processors write them."""
_FIRST_FIELD = compile_on_use(r"(?:name|description):[ \t]")
_FIELD_LINE = compile_on_use(r"[ \t]+\S|- |[A-Za-z_][\w.-]*[ \t]*:(?:[ \t]|$)")
"""A field, or a line that continues one."""
_BROKEN_FENCE = compile_on_use(r"[ \t]*(?:-{2,}|[\u2013\u2014]+-*|\*{3,}|\+{3,}|\.{3})[ \t]*")
"""A line that was meant as a fence: with another number of dashes, indented, or changed by a text editor."""
_MAX_FIELD_LINES = 1000

_MAX_PER_CODE = 20
"""Findings of one code in one file."""


class FindingRecorder:
    """Collects the findings of one file."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.findings: list[Finding] = []

    def __call__(
        self, code: str, message: str, line: int | None = None, column: int | None = None, hint: str | None = None
    ) -> None:
        if sum(item.code == code for item in self.findings) < _MAX_PER_CODE:
            self.findings.append(finding(code, message, path=self.path, line=line, column=column, hint=hint))


def frontmatter_end(data: bytes) -> int:
    """Return the length in bytes of the front matter with both fences, or -1 without a closing fence."""
    pattern = _LONG_CLOSING_FENCE_BYTES if data.startswith((b"----", b"\xef\xbb\xbf----")) else _CLOSING_FENCE_BYTES
    match = pattern.search(data)
    return -1 if match is None else match.end()


def program_language(data: bytes) -> str | None:
    """Return the language of front matter that is a program, or `None`.

    It follows gray-matter 4.0.3, which evaluates JavaScript: the language is all that follows `---` in the line, in any
    case; only a line feed ends the line; no closing fence is needed.
    """
    first, newline, _ = data.lstrip(b"\xef\xbb\xbf").partition(b"\n")
    if not first.startswith(b"---") or first.startswith(b"----") or first == b"---":
        return None
    language = _JAVASCRIPT_BLANKS.sub("", first[3:].decode(errors="replace")).lower()
    # Without a line feed it takes the last character of the file for the program.
    names = {language} if newline else {language, language[:-1]}
    return min(names & _PROGRAM_LANGUAGES, default=None)


def find_fences(text: str, report: FindingRecorder) -> tuple[int, int, int] | None:
    """Return the start of the front matter, its end, and the start of the body; or `None`, with a finding."""
    opening, is_long = _OPENING_FENCE.match(text), False
    if opening is None:
        opening, is_long = _LONG_OPENING_FENCE.match(text), True
        if opening is None:
            _report_no_opening(text, report)
            return None
        hint = "write both fences as exactly `---`, or run `prowess check --fix`"
        report("fence-dashes", "the opening fence has more than three dashes", 1, 4, hint)
    elif opening[1]:
        report("fence-blanks", "the opening fence has blanks after its dashes", 1, 4, _BLANKS_HINT)
    closing = (LONG_CLOSING_FENCE if is_long else _CLOSING_FENCE).search(text, opening.end())
    if closing is None:
        report("frontmatter-unclosed", "no `---` line closes the front matter", 1, 1, _unclosed_hint(text))
        return None
    if len(closing[0]) > 3 and not is_long:
        line = text.count("\n", 0, closing.start()) + 1
        report("fence-blanks-closing", "the closing fence has blanks after its dashes", line, 4, _BLANKS_HINT)
    return opening.end(), closing.start(), min(closing.end() + 1, len(text))


def _unclosed_hint(text: str) -> str:
    """Say where the closing fence belongs: it replaces a line that resembles it, or below the last field."""
    last = 1
    for number, line in enumerate(text.split("\n")[1:_MAX_FIELD_LINES], 2):
        if _BROKEN_FENCE.fullmatch(line):
            return f"make line {number} exactly `---`"
        if _FIELD_LINE.match(line):
            last = number
        elif line.strip():
            break
    return f"put a line that is exactly `---` below line {last}"


def _report_no_opening(text: str, report: FindingRecorder) -> None:
    late = _find_late_fence(text)
    if late is not None:
        message = "there is text before the `---` that opens the front matter"
        line = text.count("\n", 0, late) + 1
        above = "line 1" if line == 2 else f"lines 1 to {line - 1}"
        hint = f"move {above} below the front matter"
        report("frontmatter-not-first", message, line, 1, hint)
    else:
        message = "the file does not begin with a `---` line" if text.strip() else "the file is empty"
        hint = "begin with `---`, then `name:` and `description:`, then `---`"
        if not text.strip():
            hint += ", then what the agent should do"
        elif _LOOKS_LIKE_FENCE.match(text):
            hint = "write the first line as `---`: three hyphens, no long dashes, no quotes"
        elif _FIRST_FIELD.match(text) and _CLOSING_FENCE.search(text):
            hint = "put a line that is exactly `---` above the first line"
        report("frontmatter-missing", message, 1, 1, hint)


def _find_late_fence(text: str) -> int | None:
    """Return the position of a fence after blank lines and comments, or `None`.

    A regular expression for this would take quadratic time on a file of comments.
    """
    position = 0
    while position < len(text):
        end = text.find("\n", position)
        line = text[position : end if end >= 0 else len(text)].strip(" \t")
        if line == "---":
            return position if position and end >= 0 else None
        if line.startswith("<!--"):
            close = text.find("-->", position)
            end = text.find("\n", close)
            if close < 0 or end < 0 or text[close + 3 : end].strip(" \t"):
                return None
        elif line and not line.startswith("#"):
            return None
        if end < 0:
            return None
        position = end + 1
    return None
