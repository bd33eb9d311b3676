"""Read ordered permission rules: pattern of tools, pattern of names, effect; the last that matches counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import translate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["denies_tool", "name_matcher", "permission_rules", "rules_table"]

_MAX_RULES, _MAX_RULE_LENGTH, _MAX_STARS = 10_000, 100, 4
"""Rules of one list that count, and the characters and stars of one."""
_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


def rules_table(value: object) -> object:
    """Return rules as a table: one word is for all tools."""
    return {"*": value} if isinstance(value, str) else value


def permission_rules(value: object, tool: str, effects: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the patterns of names with the effect of each, in order.

    Args:
        value: a table of tool pattern to word, or to a table of name pattern to word.
        tool: the tool that loads skills.
        effects: the client's words to effects; those of booleans are `true` and `false`.
    """
    rules = []
    for pattern, item in _items(value if isinstance(value, Mapping) else {}):
        if name_matcher(pattern)(tool):
            words = _items(item) if isinstance(item, Mapping) else [("*", item)]
            rules += [(name, effects[key]) for name, word in words if (key := _word(word)) in effects]
    return rules


def denies_tool(rules: object, tool: str) -> bool:
    """Return whether a list of rules denies a tool as a whole: `TOOL`, `TOOL(*)`, or a name with `*`.

    Args:
        rules: the list.
        tool: the name of the tool.
    """
    texts = [item for item in rules if isinstance(item, str)] if isinstance(rules, list | tuple) else []
    return any(
        text == f"{tool}(*)" or re.fullmatch(re.escape(text).replace(r"\*", ".*"), tool) is not None
        for text in texts[:_MAX_RULES]
        if len(text) <= _MAX_RULE_LENGTH and text.count("*") <= _MAX_STARS
    )


def _items(table: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return the items in the order that JavaScript gives them: first keys that are whole numbers."""
    numbers = sorted((key for key in table if _ARRAY_INDEX.fullmatch(key)), key=int)
    return [(key, table[key]) for key in dict.fromkeys([*numbers, *table])]


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else ""


def name_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test of names for a pattern: `*` is any text, `?` one character, and ` *` at its end is optional."""
    pattern = pattern.replace("\\", "/")
    patterns = [pattern, pattern[:-2]] if pattern.endswith(" *") else [pattern]
    regexes = [re.compile(translate(item.replace("[", "[[]"))) for item in patterns]
    return lambda name: any(regex.match(name.replace("\\", "/")) for regex in regexes)
