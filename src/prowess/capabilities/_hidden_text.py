"""Find and decode hidden characters: what a model reads in a text, and a person does not see.

Sources: Unicode 17, chapters 23.2 (layout controls), 23.4 (variation selectors) and 23.9 (tag characters). Emoji, and
languages that are written from right to left, need some of these characters; such uses are not reported.
"""

from __future__ import annotations

import re

from prowess._internal.patterns import compile_on_use
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._files import SkillFile

_MAX_SHOWN = 160
"""Characters of a decoded text in a message."""
_MAX_DECODED = 64 * 1024
"""Characters of a decoded text that are kept of one file."""
_HIDDEN_RUN = compile_on_use(
    "(?P<tags>[\U000e0000-\U000e007f]+)|(?P<selectors>[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,})"
    "|(?P<order>[\u202a\u202b\u202d\u202e\u2066-\u2068])|(?P<blanks>[\u180e\u200b-\u200d\u2060-\u2064\ufeff]+)"
    "|(?P<escape>\x1b[\\[\\]PX^_])"
)
_PARTS = (
    *(b"\x1b", b"\xf3\xa0", b"\xe2\x81", b"\xef\xbb\xbf", b"\xef\xb8", b"\xe1\xa0\x8e"),
    *(f"{char}".encode() for char in "\u200b\u200c\u200d\u202a\u202b\u202d\u202e"),
)
"""In the UTF-8 of every text with such a run; to search for these is much faster."""
_FLAG = "\U0001f3f4"
"""The emoji whose tag characters are the flag of a region, such as Scotland: UTS #51, "Emoji Tag Sequences"."""
_MAX_FLAG = 8
_END_OF_TAGS = "\U000e007f"
_RIGHT_TO_LEFT = compile_on_use("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_MIN_BITS = 8
_MIN_TEXT = 3
"""Characters of a text in bits: fewer are there by chance."""
_OVERRIDES = "\u202d\u202e"
_DOCUMENTS = (".md", ".markdown", ".txt", ".rst")


def find_hidden_text(file: SkillFile, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield what the hidden characters of a file do: the line of the first of each kind, and a message.

    Args:
        file: the file.
        first_line: the line at which the search begins.
    """
    if not any(part in file.data for part in (_PARTS[:1] if file.data.isascii() else _PARTS)):
        return
    path, text = file.path, file.text
    start = 0
    for _ in range(first_line - 1):
        start = text.find("\n", start) + 1
    first: dict[str, int] = {}
    said: dict[str, str] = {}
    more: dict[str, int] = {}
    for match in _HIDDEN_RUN.finditer(text, start):
        kind = match.lastgroup or ""
        shown = _decode(kind, match, text, path)
        if shown is None:
            continue
        if kind == "selectors" or (kind == "blanks" and len(match[0]) >= _MIN_BITS):
            kind = "tags" if shown else "unknown"
            shown = shown or match[0]
        if kind not in first:
            first[kind], said[kind], more[kind] = match.start(), shown, 0
        elif kind == "tags" and len(said[kind]) < _MAX_DECODED:
            said[kind] += shown
        else:
            more[kind] += 1
    for kind, offset in first.items():
        others = f", and {more[kind]:,} more {'place' if more[kind] == 1 else 'places'}" if more[kind] else ""
        line = text.count("\n", 0, offset) + 1
        # A run that says nothing has no text to show, only its first characters.
        shown = quoted(said[kind][:4] if kind == "unknown" else said[kind], _MAX_SHOWN)
        yield line, f"{_MESSAGES[kind].format(shown, len(said[kind]))}{others}"


_MESSAGES = {
    "tags": "hidden characters say {}",
    "unknown": "{1:,} hidden characters side by side, which cannot be decoded here and begin with {0}",
    "order": "hidden characters change the order in which {} is shown",
    "blanks": "a hidden character is inside the word {}",
    "escape": "an escape sequence changes what a terminal shows: {}",
}


def _decode(kind: str, match: re.Match[str], text: str, path: str) -> str | None:
    """Return what a run of hidden characters says, hides or changes; `None` if it has a usual meaning."""
    run, start, end = match[0], match.start(), match.end()
    if kind == "tags":
        is_flag = start and text[start - 1] == _FLAG and run.endswith(_END_OF_TAGS) and len(run) <= _MAX_FLAG
        return (
            None if is_flag else "".join(chr(ord(char) - 0xE0000) for char in run if char not in "\U000e0001\U000e007f")
        )
    if kind == "selectors":
        return _text_of_bytes(bytes(_selector_byte(char) for char in run))
    if kind == "order":
        line = text[text.rfind("\n", 0, start) + 1 : _line_end(text, end)]
        # A language that is written from right to left needs these; it does not need to override its letters.
        return None if run not in _OVERRIDES and _RIGHT_TO_LEFT.search(line[:4096]) else line.strip()[:4096]
    if kind == "blanks":
        if len(run) >= _MIN_BITS:
            return _text_of_bits(run)
        inside = start and _is_ascii_word(text[start - 1]) and _is_ascii_word(text[end : end + 1])
        return _word_around(text, start, end) if inside else None
    return text[start : start + 12].split("\n", maxsplit=1)[0] if path.lower().endswith(_DOCUMENTS) else None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _is_ascii_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _word_around(text: str, start: int, end: int) -> str:
    before = re.search(r"\w{0,40}\Z", text[max(0, start - 40) : start])
    after = re.match(r"\w{0,40}", text[end : end + 40])
    return f"{before[0] if before else ''}{text[start:end]}{after[0] if after else ''}"


def _selector_byte(char: str) -> int:
    """Return the byte of a variation selector, as texts are hidden in an emoji."""
    number = ord(char)
    return number - 0xFE00 if number < 0x10000 else number - 0xE0100 + 16


def _text_of_bits(run: str) -> str:
    """Return the text whose bits are written as two characters without width; empty for other bits."""
    kinds = sorted(set(run))
    if len(kinds) != 2:
        return ""
    for zero in kinds:
        bits = "".join("0" if char == zero else "1" for char in run)
        for width in (8, 7, 16):
            numbers = [int(bits[at : at + width], 2) for at in range(0, len(bits) - width + 1, width)]
            decoded = _text_of_bytes(bytes(numbers)) if numbers and max(numbers) < 0x80 else ""
            if len(decoded) >= _MIN_TEXT:
                return decoded
    return ""


def _text_of_bytes(data: bytes) -> str:
    """Return the text in bytes if it is UTF-8 that a person can read; empty otherwise."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.replace("\n", " ").replace("\t", " ").isprintable() else ""
