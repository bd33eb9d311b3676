"""Look up the names of skills in a text: exact, of several words, or one letter off."""

from __future__ import annotations

import re
from copy import copy
from unicodedata import category

from prowess._internal.text import neutral, normalize_name, quoted
from prowess.catalog import REACHABLE, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.catalog import Entry

    from ._code_spans import Span

MAX_NAME_LENGTH = 256
"""Characters of a name that can be mentioned; the specification allows 64."""
_MAX_WORDS = 8
_MIN_NEAR_LENGTH = 4
_MAX_NEAR_LENGTH = 64
_STATE_TEXTS = {
    State.SHADOWED: "is shadowed by another one",
    State.DISABLED: "is disabled",
    State.UNTRUSTED: "is in a folder that the agent does not trust",
    State.REJECTED: "is rejected",
}
_TOKEN = re.compile(r"[\w\-.:：\u200c\u200d]*")
_TRAILING_PUNCTUATION = ".,;:!?)]}>\"'”’»*_…。，、；：！？）】》」』"
_FEW_WORDS = re.compile("[^ \t\n\x01\x02]+(?:[ \t]+[^ \t\n\x01\x02]+){0,7}")
_WORDS = re.compile(r"[^ \t\n\x02]+")
_CONTINUATION = re.compile(r"[/\\@＠／=$＄#%&^~+(\[{]|->|[:：][:/\\]|[?!][\w=]|\.[\w/]|\x02+\w|\x01", re.IGNORECASE)


class Candidate:
    """A place that names a skill unless it is negated or part of another one."""

    __slots__ = ("end", "name", "name_start", "reason", "start")

    def __init__(self, start: int, end: int, name_start: int, reason: str, name: str) -> None:
        self.start, self.end, self.name_start, self.reason, self.name = start, end, name_start, reason, name


def word_spans(text: str, offset: int = 0) -> list[Span]:
    """Return the start and end of each word, counted from an offset."""
    return [(match.start() + offset, match.end() + offset) for match in _WORDS.finditer(text)]


def continues_name(text: str, end: int) -> bool:
    """Return whether what follows a name makes it part of something else: a path, an address, a call."""
    return _CONTINUATION.match(text, end) is not None


class SkillNames:
    """The names of skills, in the form in which they are compared."""

    def __init__(self, skills: Iterable[Entry]) -> None:
        self._by_name: dict[str, list[Entry]] = {}
        """By the name the host uses, or its alias."""
        self._by_other_name: dict[str, list[Entry]] = {}
        """By its name in the file or its package, or its folder."""
        self.packages: set[str] = set()
        for entry in skills:
            if entry.namespace:
                self.packages.add(normalize_name(entry.namespace))
            keys = {normalize_name(name) for name in (entry.name, entry.alias) if name}
            other_keys = {normalize_name(name) for name in (entry.frontmatter_name, entry.folder) if name}
            for key in keys:
                self._by_name.setdefault(key, []).append(entry)
            for key in other_keys - keys:
                self._by_other_name.setdefault(key, []).append(entry)
        all_keys = [key for key in {**self._by_name, **self._by_other_name} if len(key) <= MAX_NAME_LENGTH]
        # Any number of blanks in a text is one blank of a name.
        self._keys_by_text = {" ".join(key.split()): key for key in all_keys}
        irregular = [key for key in self._keys_by_text if len(_token_at(key, 0)) < len(key)]
        self.word_counts = sorted(
            {count for key in irregular if (count := key.count(" ") + 1) <= _MAX_WORDS}, reverse=True
        )
        self._irregular_starts = {_token_at(key, 0) or key[0] for key in irregular}
        """The first token of each name that is more than one token."""
        self.are_plain = not irregular
        """Whether each name is one token."""
        self._max_length = 2 * max(map(len, self._keys_by_text), default=0) + 16
        self._by_deletion: dict[str, list[str]] = {}
        """The names that are the same without one letter; filled when it is needed."""
        self.forget_text()

    def forget_text(self) -> None:
        """Forget what was looked up in a text."""
        self._normalized: dict[str, str] = {}
        self._name_lengths: dict[str, tuple[int, bool]] = {}
        self._resolved: dict[str, tuple[Entry | None, str | None]] = {}
        self._near_names: dict[str, list[str]] = {}

    def for_text(self) -> SkillNames:
        """Return the same names, for looking up those of one text."""
        names = copy(self)
        names.forget_text()
        return names

    def contains(self, name: str) -> bool:
        """Return whether a skill has this name, in any state."""
        return len(name) <= self._max_length and self._normalize(name) in self._keys_by_text

    def _normalize(self, name: str) -> str:
        if name not in self._normalized:
            self._normalized[name] = " ".join(normalize_name(name).split())
        return self._normalized[name]

    def has_exact_spelling(self, name: str) -> bool:
        """Return whether the name of a skill is written exactly like this."""
        return any(entry.name == name for entry in self._by_name.get(normalize_name(name), ()))

    def resolve(self, name: str) -> tuple[Entry | None, str | None]:
        """Return the skill with this name, or else the reason why it cannot be used."""
        if name not in self._resolved:
            self._resolved[name] = self._resolve(name)
        return self._resolved[name]

    def _resolve(self, name: str) -> tuple[Entry | None, str | None]:
        key = self._keys_by_text.get(self._normalize(name), "") if len(name) <= self._max_length else ""
        tiers = (self._by_name.get(key, []), self._by_other_name.get(key, []))
        for tier in tiers:
            for state in REACHABLE:
                entries = [entry for entry in tier if entry.state is state]
                if len(entries) > 1:
                    exact = [entry for entry in entries if entry.name == name]
                    entries = exact if len(exact) == 1 else entries
                if len(entries) == 1:
                    return entries[0], None
                if entries:
                    return None, _ambiguity_message(name, entries)
        for entry in (*tiers[0], *tiers[1]):
            reason = f": {neutral(entry.reason)}" if entry.reason else ""
            return None, f"the skill {quoted(entry.name)} {_STATE_TEXTS[entry.state]}{reason}"
        near = self.near_names(name)
        hint = f"; did you mean {' or '.join(map(quoted, near))}?" if near else ""
        return None, f"no skill is called {quoted(name)}{hint}"

    def near_names(self, name: str) -> list[str]:
        """Return at most three names one letter away: added, removed, replaced, or exchanged with its neighbour."""
        key = normalize_name(name) if len(name) <= _MAX_NEAR_LENGTH else ""
        if len(key) < _MIN_NEAR_LENGTH:
            return []
        if not self._by_deletion:
            by_deletion: dict[str, list[str]] = {}
            for known in self._keys_by_text:
                if _MIN_NEAR_LENGTH <= len(known) <= _MAX_NEAR_LENGTH:
                    for shorter in _deletions(known):
                        by_deletion.setdefault(shorter, []).append(known)
            self._by_deletion.update(by_deletion)
        if key not in self._near_names:
            near = dict.fromkeys(self._by_deletion.get(key, ())[:3])
            for shorter in _deletions(key):
                if shorter in self._keys_by_text:
                    near[shorter] = None
                near.update(dict.fromkeys(self._by_deletion.get(shorter, ())[:3]))
            near.pop(key, None)
            self._near_names[key] = sorted(near)[:3]
        return self._near_names[key]

    def match_at(self, text: str, start: int) -> tuple[int, bool]:
        """Return where the name that begins here ends, and whether a skill has this name."""
        end = start
        while True:
            end += len(_token_at(text, end))
            if end >= len(text) or text[end].isascii() or category(text[end])[0] != "M":
                break
            end += 1
        token = text[start : min(end, start + self._max_length)]
        if self._irregular_starts and (multiword_end := self._match_multiword(text, start, token)):
            return multiword_end, True
        if end - start > self._max_length:
            return end, False
        if token not in self._name_lengths:
            self._name_lengths[token] = self._name_length(token)
        length, is_known = self._name_lengths[token]
        return start + length, is_known

    def _name_length(self, token: str) -> tuple[int, bool]:
        """Return how much of a token is a name, and whether a skill has this name."""
        while token[-1:] and token[-1] in "-.:：_" and not self.contains(token):
            token = token[:-1]
        if self.contains(token):
            return len(token), True
        # `$pdf:then`: a colon that does not end the name of a package.
        for colon in (position for position, c in enumerate(token[:MAX_NAME_LENGTH]) if c in ":："):
            if self.contains(token[:colon]) and normalize_name(token[:colon]) not in self.packages:
                return colon, True
        return len(token), False

    def _match_multiword(self, text: str, start: int, token: str) -> int:
        """Return the end of the longest name of more than one token here, such as one with blanks; 0 if none."""
        first = self._normalize(token) if token else normalize_name(text[start : start + 1])
        if first not in self._irregular_starts and first.rstrip("-.:_") not in self._irregular_starts:
            return 0
        few_words = _FEW_WORDS.match(text[start : start + self._max_length])
        line = few_words[0] if few_words else ""
        words = word_spans(line)
        for count in self.word_counts:
            if count <= len(words):
                last_start, last_end = words[count - 1]
                exact = line[:last_end]
                without_punctuation = exact.rstrip(_TRAILING_PUNCTUATION)
                last_token = _token_at(line, last_start)
                to_token = line[: last_start + len(last_token)].rstrip("-.:：_") if last_token else without_punctuation
                for name in (exact, without_punctuation, to_token):
                    if self.contains(name):
                        return start + len(name)
        return 0


_MAX_SHARED = 4
_shared: list[tuple[object, SkillNames]] = []
"""The names of the last catalogs, most recent last, for all conversations."""


def names_of(skills: Iterable[Entry]) -> SkillNames:
    """Return the names of skills, for looking up those of one text."""
    for known, names in tuple(_shared):
        if known is skills:
            return names.for_text()
    names = SkillNames(skills)
    if isinstance(skills, tuple):
        _shared.append((skills, names))
        del _shared[:-_MAX_SHARED]
    return names.for_text()


def _token_at(text: str, start: int) -> str:
    match = _TOKEN.match(text, start)
    return match[0] if match else ""


def _deletions(text: str) -> set[str]:
    """Return each text that is one character shorter."""
    return {text[:position] + text[position + 1 :] for position in range(len(text))}


def _ambiguity_message(name: str, entries: list[Entry]) -> str:
    names = [entry.name for entry in entries]
    shown = names if len(set(names)) == len(names) else [entry.path for entry in entries]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"{quoted(name)} means {len(entries)} skills: {', '.join(quoted(item, 120) for item in shown[:3])}{more}"
