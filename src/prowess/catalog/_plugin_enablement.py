"""Read the file with rules that say in which folders a plugin counts.

`{"NAME": {"overrides": ["!/home/me/*", "/home/me/work/*"]}}`: the last rule that matches the working directory decides,
and one that begins with `!` says no. In a rule, `*` is any text, and `/*` any text below, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from prowess._internal.files import UnreadableError
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted

from ._json_files import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._filesystem import Filesystem

__all__ = ["FolderRules", "read_folder_rules"]

_MAX_RULES = 10_000
"""Rules of one file that count."""
_MAX_RULE_LENGTH = 4096


class FolderRules(Frozen):
    """In which folders plugins count."""

    path: str
    """The file."""
    rules: Mapping[str, tuple[str, ...]] = EMPTY
    """Name of a plugin to its rules; in lower case if the client compares names so."""
    fold: bool = False
    """Whether names are compared without case."""
    problem: str = ""
    """Why the file cannot be used; empty if it can, or is missing."""

    def answer(self, name: str, folders: Iterable[str]) -> bool | None:
        """Return whether a plugin counts in a folder; `None` if no rule matches.

        Args:
            name: of the plugin.
            folders: the spellings of the path of the folder.
        """
        texts = [f"/{folder.strip('/')}/" if folder.strip("/") else "/" for folder in folders]
        answer = None
        for rule in self.rules.get(name.lower() if self.fold else name, ()):
            if any(matches_rule(rule.removeprefix("!"), text) for text in texts):
                answer = not rule.startswith("!")
        return answer


def matches_rule(rule: str, text: str) -> bool:
    """Return whether a path matches a rule, in time that is bounded by the product of their lengths.

    Args:
        rule: without `!`.
        text: the path, with one slash at both ends.
    """
    if "*" not in rule:
        return rule == text
    places = {0}
    for part in re.findall(r"/?\*|(?:(?!/?\*)(?s:.))+", rule):
        if part == "*":
            places = set(range(min(places), len(text) + 1))
        elif part == "/*":
            slash = min((place for place in places if text.startswith("/", place)), default=len(text))
            places |= set(range(slash + 1, len(text) + 1))
        else:
            places = {place + len(part) for place in places if text.startswith(part, place)}
        if not places:
            return False
    return len(text) in places


def read_folder_rules(filesystem: Filesystem, path: str, *, fold: bool) -> FolderRules:
    """Read a file with rules; one whose content has another form has no rules.

    Args:
        filesystem: what was read so far.
        path: of the file.
        fold: whether names are compared without case.
    """
    try:
        table = read_json(filesystem, path)
    except UnreadableError as error:
        return FolderRules(path=path, fold=fold, problem="" if error.code == "file-missing" else error.message)
    except ValueError as error:
        return FolderRules(path=path, fold=fold, problem=quoted(str(error), 120))
    rules = folder_rules(table)
    if rules is None:
        return FolderRules(path=path, fold=fold, problem='it is not `{"NAME": {"overrides": [RULE, ...]}}`')
    if fold:
        rules = {name.lower(): texts for name, texts in rules.items()}
    return FolderRules(path=path, rules=rules, fold=fold)


def folder_rules(table: object) -> dict[str, tuple[str, ...]] | None:
    """Return the rules in the content of a file; `None` if it has another form."""
    if not isinstance(table, Mapping):
        return None
    rules: dict[str, tuple[str, ...]] = {}
    left = _MAX_RULES
    for name, item in table.items():
        texts = item.get("overrides") if isinstance(item, Mapping) else None
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return None
        rules[name] = tuple(text for text in texts[:left] if len(text) <= _MAX_RULE_LENGTH)
        left -= len(rules[name])
    return rules
