"""Split texts and queries into words.

Chinese, Japanese, Korean, Thai and similar scripts are written with few blanks: there each character is a word, and a
run of them is searched by its pairs.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ACCENTS",
    "MAX_QUERY_CHARS",
    "MAX_QUERY_WORDS",
    "STOP_WORDS",
    "UNSPACED_CHAR",
    "iter_words",
    "normalize",
    "separate_words",
    "split_query",
]

MAX_QUERY_CHARS = 4096
"""Characters of a query that count."""
MAX_QUERY_WORDS = 32
"""Words of a query that are searched."""
_STOP_WORD_LIST = (
    "a about an and are as at be by can do does for from have how i in into is it me my of on or should that the this"
    " to using want was we what when where which with you your"
)
STOP_WORDS = frozenset(_STOP_WORD_LIST.split())
"""Words that are not searched beside others, since nearly every text has them."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3100-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
ACCENTS = "\u0300-\u036f"
UNSPACED_CHAR, _UNSPACED_RUN = re.compile(f"[{_UNSPACED}]"), re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}](?:[^\\W_{_UNSPACED}]|[{ACCENTS}])*")


def normalize(text: str) -> str:
    """Return the text with one form for characters that look alike, such as full-width letters."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFKC", text)


def separate_words(text: str) -> str:
    """Return the text with blanks between the words of scripts without blanks, and without what SQLite cannot store."""
    if text.isascii():
        return text
    return _UNSPACED_RUN.sub(lambda run: f" {' '.join(run[0])} ", normalize(text)).encode("utf-8", "replace").decode()


def split_query(text: str) -> tuple[str, ...]:
    """Return the distinct words of a query or a name, in order."""
    return tuple(islice(dict.fromkeys(iter_words(normalize(text[:MAX_QUERY_CHARS]).lower())), MAX_QUERY_WORDS))


def iter_words(text: str) -> Iterator[str]:
    """Yield the words of a text; pairs of characters for scripts without blanks."""
    for match in _WORD.finditer(text):
        word = match[0]
        if not UNSPACED_CHAR.match(word):
            yield word
            continue
        characters = [character for character in word if character.isalnum()]
        if len(characters) == 1:
            yield characters[0]
        for first, second in pairwise(characters):
            yield first + second
