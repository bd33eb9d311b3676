"""Match paths with globs as `minimatch` does, the library of JavaScript that clients use in their settings.

`*`, `?` and `[...]` match within a part of a path, and no dot at its beginning; `**` matches any parts; `{a,b}`,
`{1..3}` and `@(a|b)` with its variants are choices.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ._minimatch_choices import CHOICE, PartWithChoices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Part = str | re.Pattern[str] | PartWithChoices | None
    """Text, or an expression for it, or `None` for `**`."""

__all__ = ["minimatch"]

_MAX_LENGTH = 1000
"""Characters of a pattern; a longer one matches nothing."""
_MAX_CHOICES = 1000
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


def _part(part: str) -> str | re.Pattern[str] | PartWithChoices:
    """Return what one part of a path must be: the text itself, or an expression."""
    if not re.search(r"[*?\[]|[@!+]\(", part):
        return re.sub(r"\\(.)", r"\1", part)
    try:
        if CHOICE.search(part):
            return PartWithChoices(part, _tokens)
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
        if until and CHOICE.match(part, index):
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
                inner = text[start + 1 : index]
                if len(commas) > 1:
                    ends = [*commas[1:], index]
                    return start, index + 1, [text[a + 1 : b] for a, b in zip(commas, ends, strict=True)]
                if numbers := re.fullmatch(r"(-?[0-9]{1,6})\.\.(-?[0-9]{1,6})", inner):
                    first, last = int(numbers[1]), int(numbers[2])
                    step = 1 if first <= last else -1
                    return start, index + 1, [str(n) for n in range(first, last + step, step)][:_MAX_CHOICES]
                if letters := re.fullmatch(r"([a-zA-Z])\.\.([a-zA-Z])", inner):
                    first, last = ord(letters[1]), ord(letters[2])
                    step = 1 if first <= last else -1
                    return start, index + 1, [chr(n) for n in range(first, last + step, step)]
                break
    return None
