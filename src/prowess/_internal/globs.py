"""Compile globs, of git, settings, roles and clients, into matchers whose time is bounded.

A pattern may come from anyone, so a matcher never tries the same place twice: after a star, as little as possible is
taken up to the next one; a choice such as `+(a|b*)` is matched at all places at once.
"""

from __future__ import annotations

import re
from functools import lru_cache

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    Matcher: TypeAlias = Callable[[str], object]
    """Takes a name, and returns something true if it matches as a whole."""
    Item = str | re.Pattern[str] | tuple[str, list[list["Item"]]]
    """A star, an expression for one character, or the sign of a choice with its alternatives."""

_MAX_LENGTH = 1000
"""Characters of a pattern with choices; a longer one matches nothing."""
_MAX_CHOICES = 1000
"""Patterns that the braces of one pattern make."""
_MAX_STEPS = 20_000
"""Items that are compared with a name; a name that needs more does not match."""
_POSIX = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9", "lower": "a-z", "upper": "A-Z", "space": r"\s",
    "word": r"\w", "xdigit": "a-fA-F0-9", "punct": r"!-/:-@\[-`{-~", "blank": r" \t",
}  # fmt: skip


class Dialect(Frozen):
    """What a glob may contain beside `*` and `?`."""

    sets: str = "python"
    """What `[...]` is: `python` (`[a-c]`, `[!a]`), `javascript` (also `[^a]` and `[\\]]`), `posix` (also
    `[[:alpha:]]`), or empty: text."""
    escapes: bool = False
    """Whether a backslash makes the next character literal."""
    choices: bool = False
    """`@(a|b)` and its variants; and no dot at the beginning matches but a dot."""
    fold: bool = False
    """Whether names are compared without regard to case."""


NAMES = Dialect(sets="")
"""Patterns of names of skills, in settings and in accepted findings."""
PYTHON = Dialect()
"""As `fnmatch` of Python's standard library, without regard to the system."""
GIT = Dialect(sets="posix", escapes=True)
_MINIMATCH = Dialect(sets="posix", escapes=True, choices=True)


@lru_cache(maxsize=4096)
def compile_glob(pattern: str, dialect: Dialect = PYTHON) -> Matcher:
    """Return a test of names; `*` is any text, a slash too."""
    special = r"[*?\[]|[@!+]\(" if dialect.choices else r"[*?\[]"
    if not dialect.fold and not re.search(special, pattern):
        return (re.sub(r"\\(.)", r"\1", pattern) if dialect.escapes else pattern).__eq__
    try:
        if dialect.choices and _CHOICE.search(pattern):
            return _NameWithChoices(pattern, dialect).match
        start = ""
        if dialect.choices:
            start = r"(?!\.{1,2}\Z)" + ("" if pattern.startswith((".", "\\.")) else r"(?!\.)(?=.)")
        expression = _plain_expression(pattern, dialect)
        flags = re.DOTALL | (re.IGNORECASE if dialect.fold else re.NOFLAG)
        return re.compile(rf"{start}(?:{expression})\Z", flags).match
    except (re.error, RecursionError):
        return lambda _: None


# ── parts of a path ──────────────────────────────────────────────────────────────────────────────────────────────────


def compile_parts(parts: Iterable[str], dialect: Dialect, *, inside: bool = True) -> tuple[Matcher | None, ...]:
    """Return a test for each part of a path, and `None` for `**`, any number of parts.

    Args:
        parts: of a pattern.
        dialect: of each part.
        inside: whether `**` at the end is at least one part.
    """
    found = [None if part == "**" else compile_glob(part, dialect) for part in parts]
    if inside and found[-1:] == [None]:
        found.append((lambda name: not name.startswith(".")) if dialect.choices else (lambda _: True))
    return tuple(found)


def matches_parts(parts: Sequence[Matcher | None], names: Sequence[str], *, dots: bool = True) -> bool:
    """Return whether the names of a path match.

    Args:
        parts: as `compile_parts` returns them.
        names: of the path.
        dots: whether `**` takes names that begin with a dot.
    """
    index = position = 0
    retry: tuple[int, int] | None = None
    while position < len(names):
        part = parts[index] if index < len(parts) else None
        if part is None and index < len(parts):
            index += 1
            retry = index, position
        elif part is not None and part(names[position]):
            index, position = index + 1, position + 1
        elif retry is not None and (dots or not names[retry[1]].startswith(".")):
            # The last `**` takes one more name; earlier ones never need to.
            index, position = retry = retry[0], retry[1] + 1
        else:
            return False
    return all(part is None for part in parts[index:])


# ── one name ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _tokens(pattern: str, dialect: Dialect, start: int = 0, until: str = "") -> tuple[list[str], int]:
    """Return the expressions of characters up to one of `until`, `*` for a star, and where that is."""
    result: list[str] = []
    index = start
    while index < len(pattern) and pattern[index] not in until:
        character = pattern[index]
        if until and _CHOICE.match(pattern, index):
            break
        if character == "*":
            if result[-1:] != ["*"]:
                result.append("*")
        elif character == "?":
            result.append(".")
        elif character == "[" and dialect.sets and (found := _character_set(pattern, dialect, index)):
            expression, index = found
            result.append(expression)
            continue
        else:
            index += character == "\\" and dialect.escapes and index + 1 < len(pattern)
            result.append(re.escape(pattern[index]))
        index += 1
    return result, index


def _plain_expression(pattern: str, dialect: Dialect) -> str:
    """Return an expression that is matched in linear time: as little as possible up to each star, and no second try."""
    tokens, _ = _tokens(pattern, dialect)
    runs: list[str] = [""]
    for piece in tokens:
        if piece == "*":
            runs.append("")
        else:
            runs[-1] += piece
    first, *rest = runs
    if not rest:
        return first
    return first + "".join(f"(?>.*?{run})" for run in rest[:-1]) + f".*{rest[-1]}"


_CLASS, _PLAIN_ITEM, _ITEM = (
    r"\[:(?P<class>[a-z]+):\]",
    "(?P<first>.)(?:-(?P<last>.))?",
    r"\\?(?P<first>.)(?:-\\?(?P<last>.))?",
)
_SETS = {
    "python": (r"\[(!?)(\]?[^\]]*)\]", _PLAIN_ITEM),
    "javascript": (r"\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]", _ITEM),
    "posix": (r"\[([!^]?)(\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*)\]", rf"{_CLASS}|{_ITEM}"),
}
"""Expressions of a set, and of what is in it."""


def _character_set(pattern: str, dialect: Dialect, start: int) -> tuple[str, int] | None:
    """Return the expression of `[...]` and where it ends; `None` if it is not one."""
    expression, items = _SETS[dialect.sets]
    found = re.compile(expression, re.DOTALL).match(pattern, start)
    if found is None or not found[2]:
        return None
    inner = ""
    for item in re.finditer(items, found[2], re.DOTALL):
        first, last = item["first"], item["last"]
        if first is None:
            inner += _POSIX.get(item["class"], "")
        elif last is None:
            inner += re.escape(first)
        elif first <= last:
            inner += f"{re.escape(first)}-{re.escape(last)}"
    if not inner:
        return "." if found[1] and not dialect.choices else "(?!)", found.end()
    return f"[{'^' if found[1] else ''}{inner}]", found.end()


# ── one name with choices such as `+(a|b*)` ──────────────────────────────────────────────────────────────────────────


_CHOICE = re.compile(r"[@!?*+]\(")


class _NameWithChoices:
    """A part of a glob that has choices, matched in bounded time: at all places at once."""

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self._pattern, self._dialect = pattern, dialect
        self._unclosed: set[int] = set()
        self._items, _ = self._parse(0, "")
        self._hidden = pattern.startswith((".", "\\."))
        self._steps_left = 0

    def _parse(self, start: int, until: str) -> tuple[list[Item], int]:
        """Return the items up to one of `until`, and where that is."""
        pattern, index = self._pattern, start
        items: list[Item] = []
        while index < len(pattern) and pattern[index] not in until:
            if not _CHOICE.match(pattern, index):
                tokens, index = _tokens(pattern, self._dialect, index, until or "\0")
                items += [text if text == "*" else re.compile(text, re.DOTALL) for text in tokens]
                continue
            sign, alternatives, end = pattern[index], [], index + 1
            while index not in self._unclosed and end < len(pattern) and pattern[end] in "(|":
                inner, end = self._parse(end + 1, "|)")
                alternatives.append(inner)
            if index in self._unclosed or end >= len(pattern):  # it is text
                self._unclosed.add(index)
                items.append(re.compile(re.escape(sign)))
                index += 1
            else:
                items.append((sign, alternatives))
                index = end + 1
        return items, index

    def match(self, name: str) -> bool:
        """Return whether the name matches as a whole."""
        if not name or name in (".", "..") or (name.startswith(".") and not self._hidden):
            return False
        self._steps_left = _MAX_STEPS
        try:
            return len(name) in self._ends(self._items, name, {0})
        except (RecursionError, TimeoutError):
            return False

    def _ends(self, items: Sequence[Item], name: str, starts: Iterable[int]) -> set[int]:
        """Return where the items may end if they start at one of these places."""
        places = set(starts)
        for index, item in enumerate(items):
            self._steps_left -= 1
            if self._steps_left < 0:
                raise TimeoutError
            if not places:
                break
            if item == "*":
                places = set(range(min(places), len(name) + 1))
            elif isinstance(item, re.Pattern):
                places = {place + 1 for place in places if item.match(name, place)}
            else:
                places = self._chosen(item[0], item[1], items[index + 1 :], name, places)
        return places

    def _chosen(
        self, sign: str, alternatives: Sequence[Sequence[Item]], rest: Sequence[Item], name: str, places: set[int]
    ) -> set[int]:
        """Return where a choice may end."""

        def once(starts: set[int]) -> set[int]:
            return {end for items in alternatives for end in self._ends(items, name, starts)}

        if sign == "!":
            # What follows must not match after one of the alternatives, but it may after anything else.
            free = [place for place in places if len(name) not in self._ends(rest, name, once({place}))]
            return set(range(min(free), len(name) + 1)) if free else set()
        if sign in "@?":
            return once(places) | (places if sign == "?" else set())
        found, new = places if sign == "*" else set(), places
        while new:
            new = once(new) - found
            found = found | new
        return found


# ── minimatch ────────────────────────────────────────────────────────────────────────────────────────────────────────


def minimatch(path: str, pattern: str) -> bool:
    """Return whether a path with `/` matches a pattern as in `minimatch`, the library of JavaScript.

    `*`, `?` and `[...]` match within a part of a path, and no dot at its beginning; `**` matches any parts; `{a,b}`,
    `{1..3}` and `@(a|b)` with its variants are choices.
    """
    return _minimatch(pattern)(path)


@lru_cache(maxsize=4096)
def _minimatch(pattern: str) -> Callable[[str], bool]:
    if pattern.startswith("#") or len(pattern) > _MAX_LENGTH:
        return lambda _: False
    if not pattern:
        return lambda path: path == ""
    text = pattern.lstrip("!")
    negated = (len(pattern) - len(text)) % 2 == 1
    choices = [compile_parts(_normal_parts(choice), _MINIMATCH) for choice in _expand_braces(text)]

    def matches_one(parts: Sequence[Matcher | None], names: Sequence[str]) -> bool:
        if not names[-1] and None not in parts and len(names) == len(parts) + 1:
            names = names[:-1]  # `a` is `a/`
        return matches_parts(parts, names, dots=False)

    def matches(path: str) -> bool:
        names = re.split("/+", path)
        return any(matches_one(parts, names) for parts in choices) is not negated

    return matches


def _normal_parts(pattern: str) -> list[str]:
    """Return the parts of a pattern without those that `..` takes back, and without a second `**` after another."""
    result: list[str] = []
    for part in re.split("/+", pattern):
        before = result[-1] if result else None
        if part == "**" and before == "**":
            continue
        if part == ".." and before and before not in ("..", ".", "**"):
            result.pop()
            continue
        result.append(part)
    return result or [""]


def _expand_braces(pattern: str) -> list[str]:
    """Return the patterns that `{a,b}` and `{1..3}` make, at most `_MAX_CHOICES`."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) <= _MAX_CHOICES:
        text = waiting.pop()
        found = _first_choice(text)
        if found is None:
            done.append(text)
        else:
            start, end, alternatives = found
            waiting += [text[:start] + alternative + text[end:] for alternative in alternatives]
    return done


def _first_choice(text: str) -> tuple[int, int, list[str]] | None:
    """Return where the first braces are that are a choice, and what it is of."""
    for start, character in enumerate(text):
        if character != "{" or text[start - 1 : start] in ("\\", "$"):
            continue
        depth, commas = 0, [start]
        for index in range(start, len(text)):
            if text[index - 1 : index] == "\\":
                continue
            depth += {"{": 1, "}": -1}.get(text[index], 0)
            if text[index] == "," and depth == 1:
                commas.append(index)
            if depth == 0:
                if len(commas) > 1:
                    ends = [*commas[1:], index]
                    return start, index + 1, [text[a + 1 : b] for a, b in zip(commas, ends, strict=True)]
                if alternatives := _range(text[start + 1 : index]):
                    return start, index + 1, alternatives
                break
    return None


def _range(text: str) -> list[str]:
    """Return the numbers or letters of `1..3`; empty if it is no range."""
    for pattern, number_of, text_of in ((r"-?[0-9]{1,6}", int, str), ("[a-zA-Z]", ord, chr)):
        if found := re.fullmatch(rf"({pattern})\.\.({pattern})", text):
            first, last = number_of(found[1]), number_of(found[2])
            step = 1 if first <= last else -1
            return [text_of(number) for number in range(first, last + step, step)][:_MAX_CHOICES]
    return []
