"""Find extensions as Gemini CLI and its fork Qwen Code do.

Each notes where it was installed from, and rules in a file of their own say in which folders it counts:
`{"NAME": {"overrides": ["!/home/me/*", "/home/me/work/*"]}}`: the last rule that matches the working directory decides,
and one that begins with `!` says no. In a rule, `*` is any text, and `/*` any text below, or nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from prowess._internal.files import UnreadableError
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted
from prowess.filesystem import read_json

from ._finder import PluginCandidate, PluginFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.filesystem import Filesystem

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

    def answer(self, name: str, folder: str) -> bool | None:
        """Return whether a plugin counts in a folder; `None` if no rule matches."""
        inner = folder.strip("/")
        text = f"/{inner}/" if inner else "/"
        answer = None
        for rule in self.rules.get(name.lower() if self.fold else name, ()):
            if matches_rule(rule.removeprefix("!"), text):
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
    rules: dict[str, tuple[str, ...]] = {}
    left = _MAX_RULES
    for name, item in table.items() if isinstance(table, Mapping) else [("", None)]:
        texts = item.get("overrides") if isinstance(item, Mapping) else None
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return FolderRules(path=path, fold=fold, problem='it is not `{"NAME": {"overrides": [RULE, ...]}}`')
        key = name.lower() if fold else name
        rules[key] = tuple(text for text in texts[:left] if len(text) <= _MAX_RULE_LENGTH)
        left -= len(rules[key])
    return FolderRules(path=path, rules=rules, fold=fold)


class ExtensionFinder(PluginFinder):
    """Finds the extensions of a client."""

    fold = False
    """Whether the names in the rules are compared without case."""

    def read_settings(self) -> None:
        """Read the rules, and which extensions the arguments name."""
        self.chosen = self.settings.chosen_plugins
        self._answers: dict[tuple[str, str], tuple[bool | None, str]] = {}
        path = self.expand(self.rules.rules_file)
        self.folder_rules = read_folder_rules(self.filesystem, path, fold=self.fold)
        if self.folder_rules.problem:
            self.on_invalid_rules(path, f"the file cannot be read: {self.folder_rules.problem}")

    def on_invalid_rules(self, path: str, problem: str) -> None:
        """Report that the rules are invalid."""
        self.report(path, problem)

    def candidates(self) -> Iterator[PluginCandidate]:
        """Yield the folders that may be extensions: their own, or those to which they are linked."""
        for candidate in super().candidates():
            place = candidate.folder
            table = self.json(os.path.join(place, self.rules.install_file))
            install = table if isinstance(table, Mapping) else EMPTY
            folder = self._source_folder(place, install) if self.is_allowed(place, install) else None
            if folder is not None:
                yield candidate.with_changes(folder=folder, place=place, install=install)

    def is_allowed(self, place: str, install: Mapping[str, Any]) -> bool:
        """Return whether the settings allow an extension by where it was installed from."""
        return True

    def _source_folder(self, folder: str, install: Mapping[str, Any]) -> str | None:
        """Return the folder of an extension: its own, or the one it is linked to; `None` if the link is invalid."""
        if install.get("type") != "link":
            return folder
        source = install.get("source")
        if not isinstance(source, str) or not source or "\0" in source:
            return None
        return os.path.normpath(os.path.join(self.cwd, source))

    def answer(self, identity: str, name: str, source: str) -> tuple[bool | None, str]:
        """Return whether an extension is on, and what says so: an argument, or the rules, which may be many."""
        key = name, source
        if key not in self._answers:
            chosen = self.chosen
            found = self.find_answer(name, source) if chosen is None else (name.lower() in chosen, "the arguments")
            self._answers[key] = found
        return self._answers[key]

    def find_answer(self, name: str, source: str) -> tuple[bool | None, str]:
        """Return whether the rules switch an extension on, and their file; `None` if they do not say so."""
        on = self.folder_rules.answer(name, self.cwd)
        return on, self.folder_rules.path if on is not None else ""
