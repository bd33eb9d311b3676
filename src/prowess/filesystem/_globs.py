"""Match paths with globs as `minimatch` does, the library of JavaScript that clients use in their settings.

`*`, `?` and `[...]` match within a part of a path, and no dot at its beginning; `**` matches any parts; `{a,b}`,
`{1..3}` and `@(a|b)` with its variants are choices.
"""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    Part: TypeAlias = "str | re.Pattern[str] | _PartWithChoices | None"
    """Text, or an expression for it, or `None` for `**`."""
    Item = str | re.Pattern[str] | tuple[str, list[list["Item"]]]
    """A star, an expression for one character, or the sign of a choice with its alternatives."""

_MAX_LENGTH = 1000
"""Characters of a pattern; a longer one matches nothing."""
_MAX__CHOICES = 1000
"""Patterns that the braces of one pattern make."""
_POSIX = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9", "lower": "a-z", "upper": "A-Z", "space": r"\s",
    "word": r"\w", "xdigit": "a-fA-F0-9", "punct": r"!-/:-@\[-`{-~", "blank": r" \t",
}  # fmt: skip
_NOTHING = re.compile(r"(?!)")


def minimatch(path: str, pattern: str) -> bool:
    """Say whether a path with `/` matches a pattern."""
    return _matcher(pattern)(path)


@lru_cache(maxsize=4096)
def _matcher(pattern: str) -> Callable[[str], bool]:
    if pattern.startswith("#") or len(pattern) > _MAX_LENGTH:
        return lambda _: False
    if not pattern:
        return lambda path: path == ""
    text = pattern.lstrip("!")
    negated = (len(pattern) - len(text)) % 2 == 1
    choices = [_parts(choice) for choice in _expand_braces(text)]

    def matches(path: str) -> bool:
        names = re.split("/+", path)
        return any(_matches_parts(names, parts) for parts in choices) is not negated

    return matches


# ── parts of a path ──────────────────────────────────────────────────────────────────────────────────────────────────


def _parts(pattern: str) -> list[Part]:
    result: list[str] = []
    for part in re.split("/+", pattern):
        before = result[-1] if result else None
        if part == "**" and before == "**":
            continue
        if part == ".." and before and before not in ("..", ".", "**"):
            result.pop()
            continue
        result.append(part)
    return [None if part == "**" else _part(part) for part in result or [""]]


def _matches_parts(names: Sequence[str], parts: Sequence[Part]) -> bool:
    """Return whether the names of a path match. The first place that fits is right for all between two `**`."""
    if None not in parts:
        return _matches_run(names, parts) or (
            len(names) == len(parts) + 1 and names[-1] == "" and _matches_run(names[:-1], parts)
        )
    runs: list[list[Part]] = [[]]
    for part in parts:
        if part is None:
            runs.append([])
        else:
            runs[-1].append(part)
    head, *middle, tail = runs
    start, end = len(head), len(names) - len(tail)
    if start > end or not _matches_run(names[:start], head) or not _matches_run(names[end:], tail):
        return False
    if not tail and not middle and start == end:
        return False  # `a/**` is not `a`
    skipped: list[str] = []
    for run in middle:
        while start + len(run) <= end and not _matches_run(names[start : start + len(run)], run):
            skipped.append(names[start])
            start += 1
        if start + len(run) > end:
            return False
        start += len(run)
    skipped += names[start:end]
    if middle and not tail and not names[start:end]:
        return False
    return not any(name.startswith(".") for name in skipped)


def _matches_run(names: Sequence[str], parts: Sequence[Part]) -> bool:
    return len(names) == len(parts) and all(
        name == part if isinstance(part, str) else part is not None and part.match(name) is not None
        for name, part in zip(names, parts, strict=True)
    )


# ── one part ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _part(part: str) -> str | re.Pattern[str] | _PartWithChoices:
    """Return what one part of a path must be: the text itself, or an expression."""
    if not re.search(r"[*?\[]|[@!+]\(", part):
        return re.sub(r"\\(.)", r"\1", part)
    try:
        if _CHOICE.search(part):
            return _PartWithChoices(part, _tokens)
        body = _plain_expression(part)
        start = "" if part.startswith((".", "\\.")) else r"(?!\.)(?=.)"
        return re.compile(rf"(?!\.{{1,2}}\Z){start}(?:{body})\Z", re.DOTALL)
    except (re.error, RecursionError):
        return _NOTHING


def _tokens(part: str, start: int = 0, *, until: str = "") -> tuple[list[str], int]:
    """Return the expressions of characters up to one of `until`, `*` for a star, and where that is."""
    result: list[str] = []
    index = start
    while index < len(part) and part[index] not in until:
        character = part[index]
        if until and _CHOICE.match(part, index):
            break
        if character == "*":
            if result[-1:] != ["*"]:
                result.append("*")
        elif character == "?":
            result.append(".")
        elif character == "[" and (found := _character_class(part, index)):
            expression, index = found
            result.append(expression)
            continue
        elif character == "\\" and index + 1 < len(part):
            index += 1
            result.append(re.escape(part[index]))
        else:
            result.append(re.escape(character))
        index += 1
    return result, index


def _plain_expression(part: str) -> str:
    """Return an expression that is matched in linear time: as little as possible up to each star, and no second try."""
    tokens, _ = _tokens(part)
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


_CLASS = re.compile(r"\[([!^]?)(\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_CLASS_ITEM = re.compile(r"\[:(?P<posix>[a-z]+):\]|\\?(?P<first>.)(?:-\\?(?P<last>[^\]]))?", re.DOTALL)


def _character_class(part: str, start: int) -> tuple[str, int] | None:
    """Return the expression of `[...]` and where it ends; `None` if it is not one."""
    found = _CLASS.match(part, start)
    if found is None or not found[2]:
        return None
    inner = ""
    for item in _CLASS_ITEM.finditer(found[2]):
        if item["posix"]:
            inner += _POSIX.get(item["posix"], "")
        elif item["last"] is None:
            inner += re.escape(item["first"])
        elif item["first"] <= item["last"]:
            inner += f"{re.escape(item['first'])}-{re.escape(item['last'])}"
    if not inner:
        return "(?!)", found.end()
    return f"[{'^' if found[1] else ''}{inner}]", found.end()


# ── braces ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _expand_braces(pattern: str) -> list[str]:
    """Return the patterns that `{a,b}` and `{1..3}` make, at most `_MAX__CHOICES`."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) <= _MAX__CHOICES:
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
                inner = text[start + 1 : index]
                if len(commas) > 1:
                    ends = [*commas[1:], index]
                    return start, index + 1, [text[a + 1 : b] for a, b in zip(commas, ends, strict=True)]
                if numbers := re.fullmatch(r"(-?[0-9]{1,6})\.\.(-?[0-9]{1,6})", inner):
                    first, last = int(numbers[1]), int(numbers[2])
                    step = 1 if first <= last else -1
                    return start, index + 1, [str(n) for n in range(first, last + step, step)][:_MAX__CHOICES]
                if letters := re.fullmatch(r"([a-zA-Z])\.\.([a-zA-Z])", inner):
                    first, last = ord(letters[1]), ord(letters[2])
                    step = 1 if first <= last else -1
                    return start, index + 1, [chr(n) for n in range(first, last + step, step)]
                break
    return None


# ── one part with choices such as `+(a|b*)` ──────────────────────────────────────────────────────────────────────────


_CHOICE = re.compile(r"[@!?*+]\(")
_MAX_STEPS = 20_000
"""Items that are compared with a name; a name that needs more does not match."""


class _PartWithChoices:
    """A part of a glob that has choices, matched in bounded time: at all places at once.

    Args:
        part: the part.
        tokens: returns the expressions of characters from a place up to a choice or one of `until`, and where that is.
    """

    def __init__(self, part: str, tokens: Callable[..., tuple[list[str], int]]) -> None:
        self._part, self._tokens = part, tokens
        self._unclosed: set[int] = set()
        self._items, _ = self._parse(0, "")
        self._hidden = part.startswith((".", "\\."))
        self._steps_left = 0

    def _parse(self, start: int, until: str) -> tuple[list[Item], int]:
        """Return the items up to one of `until`, and where that is."""
        part, index = self._part, start
        items: list[Item] = []
        while index < len(part) and part[index] not in until:
            if not _CHOICE.match(part, index):
                tokens, index = self._tokens(part, index, until=until or "\0")
                items += [text if text == "*" else re.compile(text, re.DOTALL) for text in tokens]
                continue
            sign, alternatives, end = part[index], [], index + 1
            while index not in self._unclosed and end < len(part) and part[end] in "(|":
                inner, end = self._parse(end + 1, "|)")
                alternatives.append(inner)
            if index in self._unclosed or end >= len(part):  # it is text
                self._unclosed.add(index)
                items.append(re.compile(re.escape(sign)))
                index += 1
            else:
                items.append((sign, alternatives))
                index = end + 1
        return items, index

    def match(self, name: str) -> bool | None:
        """Return `True` if the name matches as a whole, otherwise `None`, as an expression does."""
        if not name or name in (".", "..") or (name.startswith(".") and not self._hidden):
            return None
        self._steps_left = _MAX_STEPS
        try:
            return True if len(name) in self._ends(self._items, name, {0}) else None
        except (RecursionError, TimeoutError):
            return None

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
