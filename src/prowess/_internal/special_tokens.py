"""Find the tokens in a text with which the templates of language models mark turns, such as `<|im_end|>`.

A tokenizer may read such a token in a text of another person as the end of that text. `escape_special_tokens` writes
its first character in another form, so that none is left and a reader still sees what was meant. Tokens are found in
any case, in full-width characters, and with hidden characters in them.
"""

from __future__ import annotations

import re
from functools import cache

from .patterns import compile_on_use
from .text import FIRST_CHARACTERS, INVISIBLE_CHARACTERS, fold_lookalikes, may_begin_special_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HIDDEN_CHARACTERS = rf"{INVISIBLE_CHARACTERS}\x00-\x08\x0e-\x1f\u200c\u200d\ufe00-\ufe0f"
_HIDDEN = f"[{_HIDDEN_CHARACTERS}]*"
_TAGS = (
    "s", "bos", "eos", "pad", "unk", "start_of_turn", "end_of_turn", "start_of_image", "end_of_image", "tool_call",
    "tool_calls", "tool_response", "function_calls", "function_results",
)  # fmt: skip
_BRACKETED = ("inst", "tool_calls", "tool_results", "available_tools", "tool_content", "system_prompt")
_TURNS = ("human", "assistant")

_FIRST_WIDE_CHARACTERS = tuple(character.encode() for character in FIRST_CHARACTERS[3:])


def may_have_special_token(data: bytes) -> bool:
    """Return whether UTF-8 has a character that begins a token; blank lines, which begin a turn, do not count."""
    return b"<" in data or b"[" in data or any(character in data for character in _FIRST_WIDE_CHARACTERS)


_LIGATURES = "\u01c7-\u01cc\u01f1-\u01f3\u20a8\u2100-\u214f\u2160-\u217f\u2474-\u24b5\u3250\u32cc-\u33ff\ufb00-\ufb06"
"""Each is one character that means several letters, such as the one for `st`."""
_LIGATURE = compile_on_use(f"[{_LIGATURES}]")


def _fold_ligature(character: str) -> str:
    if _LIGATURE.match(character) is None:
        return character
    import unicodedata

    return unicodedata.normalize("NFKC", character).lower() or character


def _any_of(words: tuple[str, ...]) -> str:
    return "|".join(_HIDDEN.join(map(re.escape, word)) for word in words)


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of a token in a folded text, compiled on first use."""
    slash = rf"(?:/{_HIDDEN})?"
    # Any number of hidden characters may be in a name, or it could be made too long.
    name = rf"(?:[^\s|<>{_HIDDEN_CHARACTERS}]{_HIDDEN}){{1,64}}"
    blanks = rf"(?:(?!\n)[\s{_HIDDEN_CHARACTERS}])*"
    return re.compile(
        rf"<{_HIDDEN}\|{_HIDDEN}{name}(?:\|{_HIDDEN})?>"  # <|im_end|>, <|turn>
        rf"|<(?![|&]){_HIDDEN}{name}\|{_HIDDEN}>"  # <turn|>
        rf"|<{_HIDDEN}{slash}(?:{_any_of(_TAGS)}){_HIDDEN}>"
        rf"|<{_HIDDEN}<{_HIDDEN}{slash}{_any_of(('sys',))}{_HIDDEN}>{_HIDDEN}>"
        rf"|\[{_HIDDEN}{slash}(?:{_any_of(_BRACKETED)}){_HIDDEN}\]"
        rf"|\n{blanks}\n{blanks}(?:{_any_of(_TURNS)}){_HIDDEN}(?=:)"
    )


_MARKS = (
    *("<|", "|>", "<<sys>", "<</sys>"),
    *(f"<{slash}{name}>" for name in _TAGS for slash in ("", "/")),
    *(f"[{slash}{name}]" for name in _BRACKETED for slash in ("", "/")),
    *(f"{name}:" for name in _TURNS),
)
"""One of these is in each token without hidden characters."""
_PLAIN_CHARACTERS = frozenset(map(chr, (*range(0x09, 0x0E), *range(0x20, 0x7F))))
_ODD_CHARACTER = compile_on_use(f"[{_HIDDEN_CHARACTERS}{_LIGATURES}]")


def has_odd_characters(folded: str) -> bool:
    """Return whether a folded text has hidden characters, which may be anywhere in a word, or ligatures."""
    others = "".join(set(folded) - _PLAIN_CHARACTERS)
    return bool(others) and _ODD_CHARACTER.search(others) is not None


def _may_have_token(folded: str) -> bool:
    """Return whether a folded text may have a token. To compile the pattern takes longer than to start Python."""
    return any(mark in folded for mark in _MARKS) or has_odd_characters(folded)


def find_special_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each token in a text."""
    if not may_begin_special_token(text):
        return
    folded = fold_lookalikes(text)
    if not _may_have_token(folded):
        return
    if folded.isascii() or _LIGATURE.search(folded) is None:
        yield from (match.span() for match in _pattern().finditer(folded))
        return
    # One character becomes several, so the positions change.
    parts = [_fold_ligature(character) for character in folded]
    positions = [number for number, part in enumerate(parts) for _ in part]
    for match in _pattern().finditer("".join(parts)):
        yield positions[match.start()], positions[match.end() - 1] + 1


def has_special_token(text: str) -> bool:
    """Return whether there is a token in a text."""
    return next(find_special_tokens(text), None) is not None


def html_entity(character: str) -> str:
    """Return a character as an entity of HTML."""
    return "&lt;" if character == "<" else f"&#{ord(character)};"


def escape_special_tokens(text: str, escape: Callable[[str], str] = html_entity) -> str:
    """Return a text without tokens: one character of each is written in another form.

    Args:
        text: the text.
        escape: returns the other form of a character; by default an entity of HTML.
    """
    if not may_begin_special_token(text):
        return text
    while spans := [*find_special_tokens(text)]:  # again, because a token may be inside another
        parts, position = [], 0
        for start, end in spans:
            # A turn keeps its blank line: its colon is written in the other form.
            at = end if text[start] == "\n" else start
            parts += [text[position:at], escape(text[at])]
            position = at + 1
        text = "".join([*parts, text[position:]])
    return text
