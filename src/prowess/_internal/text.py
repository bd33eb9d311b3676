"""Make untrusted text safe to show, measure text, and compare names.

A skill may contain any character. Whatever a person or a terminal sees goes through `neutral`, `quoted` or
`without_hidden`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence

PATH_LIMIT = 200
"""Characters of a path in a message: `quoted(path, PATH_LIMIT)`."""

INVISIBLE_CHARACTERS = (
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters that are invisible or change the direction of text, for the brackets of a regular expression: C1 controls,
soft hyphen, zero-width and bidirectional marks (but not the joiners that Persian, Indic scripts and emoji need), line
and paragraph separators, fillers, and the tag characters that can hide ASCII text. The C0 controls are not in it."""
_HIDDEN_CHARACTER = f"[\x00-\x1f\ud800-\udfff{INVISIBLE_CHARACTERS}]"


_RUN_CHARACTER = f"[{_HIDDEN_CHARACTER[1:-1]}\u200c\u200d\u2800\ufe00-\ufe0f\ue000-\uf8ff\U000f0000-\U0010ffff]"
_HIDDEN_RUN = f"(?<!{_RUN_CHARACTER}){_RUN_CHARACTER}+"
_compiled: dict[str, re.Pattern[str]] = {}


def _pattern(expression: str) -> re.Pattern[str]:
    """Compile an expression on first use: most texts need none, and to load `re` takes as long as reading the cache."""
    if expression not in _compiled:
        import re

        _compiled[expression] = re.compile(expression)
    return _compiled[expression]


def _is_printable_ascii(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _escape_match(match: re.Match[str]) -> str:
    number = ord(match[0])
    if 0xDC80 <= number <= 0xDCFF:
        return f"\\x{number - 0xDC00:02x}"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def hidden_characters(text: str) -> list[str]:
    """Return the hidden characters of a text, sorted: those that are invisible or change its direction.

    Line feeds and tabs do not count.
    """
    if _is_printable_ascii(text):
        return []
    return sorted(set(_pattern(_HIDDEN_CHARACTER).findall(text)) - {"\n", "\t"})


def without_hidden(text: str) -> str:
    """Return the text without hidden characters, and with runs of white space collapsed to one blank."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(
        _pattern(_HIDDEN_CHARACTER).sub(lambda match: " " if match[0] in "\n\t\r\x85\u2028\u2029" else "", text).split()
    )


def collapse_hidden_runs(text: str) -> str:
    """Return the text with one blank for each run of hidden characters, and none at its ends.

    Joiners, variation selectors and private characters count as hidden too.
    """
    return text if _is_printable_ascii(text) else _pattern(_HIDDEN_RUN).sub(" ", text).strip(" ")


def neutral(text: str) -> str:
    """Make untrusted text safe to show on one line of a terminal: hidden characters are written as escapes."""
    return text if text.isascii() and text.isprintable() else _pattern(_HIDDEN_CHARACTER).sub(_escape_match, text)


def escape_ci_marks(text: str, escape: str = "\\x23") -> str:
    """Escape the first `#` of what a CI system obeys anywhere in a log.

    `##[` is for GitHub and Azure Pipelines, `##vso[` for Azure Pipelines, `##teamcity[` for TeamCity.
    """
    return _pattern(r"#(?=#\w*\[)").sub(lambda _: escape, text) if "##" in text else text


def quoted(text: str, limit: int = 60) -> str:
    """Quote untrusted text for a message: on one line, safe to show, at most `limit` characters of it."""
    return f"`{neutral(text if len(text) <= limit else text[: limit - 1] + '…')}`"


def quoted_list(texts: Sequence[str], most: int = 3, limit: int = 60) -> str:
    """Quote the first of some untrusted texts for a message, each as `quoted` does, and count the others."""
    shown = ", ".join(quoted(text, limit) for text in texts[:most])
    return f"{shown} and {len(texts) - most:,} more" if len(texts) > most else shown


def without_secrets(url: str) -> str:
    """Return what a user wrote as a URL without a user name, password and query, for a message."""
    shown = _pattern(r"(?:(?<=://)|^(?=[^/@]*:))[^/]*@").sub("…@", url)
    return _pattern(r"(?s)\?.*").sub("?…", shown)


class _WidthTable(dict[str, int]):
    """Map characters to their widths, and keep some thousands."""

    def __missing__(self, character: str) -> int:
        import unicodedata

        if len(self) >= _MAX_WIDTHS:
            self.clear()
        is_wide = unicodedata.east_asian_width(character) in "WF"
        is_mark = unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf")
        self[character] = width = 0 if is_mark else 2 if is_wide else 1
        return width


_MAX_WIDTHS = 4096
_WIDTHS = _WidthTable()


def character_width(character: str) -> int:
    """Return how many cells of a terminal a character takes: 0, 1 or 2."""
    return _WIDTHS[character]


def display_width(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_WIDTHS.__getitem__, text))


_MAX_COMPARISONS = 5_000_000
"""Pairs of characters to compare at most when looking for similar names."""


def nearest_names(name: str, names: Iterable[str], *, cutoff: float = 0.6, fold_case: bool = True) -> list[str]:
    """Return at most three names that are similar to this one, the most similar first.

    Args:
        name: the name to look for.
        names: the names that exist; if there are very many, only the first ones are compared.
        cutoff: how similar they must be, from 0 to 1.
        fold_case: whether letters that differ in case are the same.
    """
    from difflib import get_close_matches

    # Comparing two names takes up to the product of their lengths. Names of very different lengths are never similar.
    longest, shortest = (2 / cutoff - 1) * len(name), len(name) * cutoff / (2 - cutoff)
    comparisons_left, compared = _MAX_COMPARISONS, dict[str, str]()
    for candidate in names:
        if shortest - 1e-9 <= len(candidate) <= longest + 1e-9:  # with room for rounding
            comparisons_left -= len(candidate) * len(name)
            if comparisons_left < 0:
                break
            compared.setdefault(candidate.casefold() if fold_case else candidate, candidate)
    near = get_close_matches(name.casefold() if fold_case else name, compared, n=3, cutoff=cutoff)
    return [compared[key] for key in near]


def did_you_mean(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return a hint for an unknown name: the most similar one, or the text `otherwise` if none is similar."""
    near = [each for each in nearest_names(name, names) if each != name]
    # A hint is there to be typed, so long names are kept.
    return f"did you mean {quoted(near[0], PATH_LIMIT)}?" if near else otherwise


class _LookalikeTable(dict[int, str]):
    """Map characters to the ones they look like: full-width and other forms of a letter to that letter."""

    def __missing__(self, number: int) -> str:
        import unicodedata

        folded = unicodedata.normalize("NFKC", chr(number)).lower()
        # One character for one, so that positions stay the same.
        self[number] = folded if len(folded) == 1 else chr(number)
        return self[number]


_LOOKALIKES = _LookalikeTable()


def fold_lookalikes(text: str) -> str:
    """Return a text of the same length with lower case letters, and full-width and other forms as plain characters."""
    return text.lower() if text.isascii() else text.translate(_LOOKALIKES)


FIRST_CHARACTERS = "<[\n\uff1c\ufe64\uff3b\ufe47"
"""The characters with which a special token of a language model may begin; see `special_tokens`."""


def may_begin_special_token(text: str) -> bool:
    """Return whether a text has one of `FIRST_CHARACTERS`, which is much faster than to look for tokens."""
    if text.isascii():
        return "<" in text or "[" in text or "\n" in text
    return any(character in text for character in FIRST_CHARACTERS)


def normalize_name(name: str) -> str:
    """Return the form in which names are compared: NFKC, case folded, without hidden characters."""
    if name.isascii():
        return name.lower()
    import unicodedata

    name = without_hidden(name) or name
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def describe_os_error(error: Exception) -> str:
    """Return the system's message of an error, with a small letter for the middle of a sentence."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
