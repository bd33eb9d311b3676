"""user text -> skills it names

Three forms count: a sigil (`$name`, `/name`, `@name`), a package's skill (`package:name`), and English phrases such as
"use the NAME skill", "with the A and B skills" or "load the skill called NAME". Names are compared as everywhere
(`findings.same_name`); of several that fit the longest is meant.

What is code, a comment, a link's target, a URL or a path names nothing, and neither does what is negated: "don't",
"do not", "never", "must not" and their kin reach to the end of their clause (`.`, `;`, `!`, `?`, the line, "but", "so",
"then", or a comma, colon, bracket or dash before "use" and its kin), and so "don't use the pdf skill, use $docx" names
docx alone. "not", "no", "without", "instead of", "rather than", "avoid", "stop using" reach to the names right after
them, and inside another negation they cancel it.

Whoever names a skill that cannot be had is told so, but most words with a sigil are no skills. What no skill is called
is reported only where it can hardly be anything else: "use the NAME skill" with one word that is no ordinary one; a
sigil before NAME and the word "skill"; `package:name` of a known package; and, in lower case letters, digits and
hyphens, a sigil's name one letter away from a skill's (from four letters on) or `$` with a hyphen in its name, which no
variable has. A skill that is there but cannot be had is reported in every form.

The time is linear in the text: no pattern can backtrack into another's run, and no name is looked for twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from unicodedata import category

from prowess._internal.frozen import Frozen
from prowess._internal.text import INVISIBLE_CHARACTERS, neutral, normalize_name, quoted
from prowess.catalog import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.catalog import Entry

    Candidate = tuple[int, int, int, str, str]
    """Start, end, where the name begins, the reason, the name."""
    Span = tuple[int, int]

__all__ = ["Mention", "find_mentions"]


class Mention(Frozen):
    """One place of a text that names a skill."""

    text: str
    """As written, with its sigil or the words of its phrase."""
    start: int
    """0-based, in Unicode characters."""
    end: int
    """Behind its last character: `text[start:end]` of the user's text is `text`."""
    reason: str
    """`sigil`, `package` or `phrase`."""
    name: str
    """What was named, as written."""
    entry: Entry | None = None
    """The skill; None where there is none to be had."""
    problem: str | None = None
    """Why there is none, in words that are safe to show."""


def find_mentions(text: str, skills: Iterable[Entry]) -> tuple[Mention, ...]:
    """Find the skills a user names, in the order of the text; each time one is named counts.

    Skills the model does not see (`user-only`) and those the client shows later (`deferred`) can be named too.

    Args:
        text: what the user wrote.
        skills: those of a catalog, in its order.
    """
    if not _MAYBE_MENTION.search(text):
        return ()
    names = _NameIndex(skills)
    plain = _mask_code_and_urls(_normalize_whitespace(text))
    found = sorted(
        [*_find_sigils(plain, names), *_find_package_names(plain, names), *_find_phrases(plain, names)],
        key=_by_start_then_longest,
    )
    made: list[Mention] = []
    last = 0
    for start, end, _, reason, name in _drop_negated(plain, found) if found else ():
        if start < last:
            continue
        last = end
        written = text[start:end]
        entry, problem = names.resolve(name)
        made.append(Mention(text=written, start=start, end=end, reason=reason, name=name, entry=entry, problem=problem))
    return tuple(made)


_SIGILS = "$@/＄＠／﹩﹫"
_MAYBE_MENTION = re.compile(f"[{_SIGILS}:：]|skill", re.IGNORECASE)


def _by_start_then_longest(found: Candidate) -> tuple[int, int]:
    return found[0], -found[1]


# --- the names -------------------------------------------------------------------------------------------------------


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MAX_NAME = 256
"""Characters of a name that can be mentioned; the specification allows 64."""
_MAX_WORDS = 8
_MIN_NEAR_LENGTH = 4
_REACHABLE = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)
_STATE_TEXTS = {
    State.SHADOWED: "is shadowed by another one",
    State.DISABLED: "is disabled",
    State.UNTRUSTED: "is not trusted",
    State.REJECTED: "is rejected",
}
_TOKEN = re.compile(r"[\w\-.:：\u200c\u200d]*")
_SPEC_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_TRAILING_PUNCTUATION = ".,;:!?)]}>\"'”’»*_…。，、；：！？）】》」』"


class _NameIndex:
    """What skills are called, in compared form."""

    def __init__(self, skills: Iterable[Entry]) -> None:
        self.by_name: dict[str, list[Entry]] = {}
        """By the name the host uses, or its alias."""
        self.by_other_name: dict[str, list[Entry]] = {}
        """By its name in the file or its package, or its folder."""
        self.packages: set[str] = set()
        for entry in skills:
            if entry.namespace:
                self.packages.add(normalize_name(entry.namespace))
            mine = {normalize_name(name) for name in (entry.name, entry.alias) if name}
            others = {normalize_name(name) for name in (entry.frontmatter_name, entry.folder) if name}
            for key in mine:
                self.by_name.setdefault(key, []).append(entry)
            for key in others - mine:
                self.by_other_name.setdefault(key, []).append(entry)
        keys = [key for key in {**self.by_name, **self.by_other_name} if len(key) <= _MAX_NAME]
        # In a text blanks are one blank, however many there are.
        self.keys_by_text = {" ".join(key.split()): key for key in keys}
        irregular_starts = [key for key in self.keys_by_text if _TOKEN.match(key).end() < len(key)]  # type: ignore[union-attr]
        self.word_counts = sorted(
            {count for key in irregular_starts if (count := key.count(" ") + 1) <= _MAX_WORDS}, reverse=True
        )
        self.irregular_starts = {_TOKEN.match(key)[0] or key[0] for key in irregular_starts}  # type: ignore[index]
        """How those begin that are more than a token."""
        self.max_length = 2 * max(map(len, self.keys_by_text), default=0) + 16
        self._normalized: dict[str, str] = {}
        self._name_lengths: dict[str, tuple[int, bool]] = {}
        self._resolved: dict[str, tuple[Entry | None, str | None]] = {}
        self._near_names: dict[str, list[str]] = {}
        self._by_deletion: dict[str, list[str]] | None = None

    def contains(self, name: str) -> bool:
        """Whether a skill is called so, to be had or not."""
        return len(name) <= self.max_length and self._normalize(name) in self.keys_by_text

    def _normalize(self, name: str) -> str:
        if name not in self._normalized:
            self._normalized[name] = " ".join(normalize_name(name).split())
        return self._normalized[name]

    def has_exact_spelling(self, name: str) -> bool:
        """Whether a skill's name is written exactly so."""
        return any(entry.name == name for entry in self.by_name.get(normalize_name(name), ()))

    def resolve(self, name: str) -> tuple[Entry | None, str | None]:
        """Return the skill of this name, or else why there is none."""
        if name not in self._resolved:
            self._resolved[name] = self._resolve(name)
        return self._resolved[name]

    def _resolve(self, name: str) -> tuple[Entry | None, str | None]:
        key = self.keys_by_text.get(self._normalize(name), "") if len(name) <= self.max_length else ""
        tiers = (self.by_name.get(key, []), self.by_other_name.get(key, []))
        for those in tiers:
            for state in _REACHABLE:
                chosen = [entry for entry in those if entry.state is state]
                if len(chosen) > 1:
                    spelt = [entry for entry in chosen if entry.name == name]
                    chosen = spelt if len(spelt) == 1 else chosen
                if len(chosen) == 1:
                    return chosen[0], None
                if chosen:
                    return None, _ambiguity_message(name, chosen)
        for entry in (*tiers[0], *tiers[1]):
            reason = f": {neutral(entry.reason)}" if entry.reason else ""
            return None, f"the skill {quoted(entry.name)} {_STATE_TEXTS[entry.state]}{reason}"
        near = self.near_names(name)
        hint = f"; did you mean {' or '.join(map(quoted, near))}?" if near else ""
        return None, f"no skill is called {quoted(name)}{hint}"

    def near_names(self, name: str) -> list[str]:
        """Return at most three names one letter away: one more, one less, another, or two exchanged."""
        key = normalize_name(name) if len(name) <= 64 else ""
        if len(key) < _MIN_NEAR_LENGTH:
            return []
        if self._by_deletion is None:
            self._by_deletion = {}
            for known in self.keys_by_text:
                if _MIN_NEAR_LENGTH <= len(known) <= 64:
                    for less in _deletions(known):
                        self._by_deletion.setdefault(less, []).append(known)
        if key not in self._near_names:
            found = dict.fromkeys(self._by_deletion.get(key, ())[:3])
            for less in _deletions(key):
                if less in self.keys_by_text:
                    found[less] = None
                found.update(dict.fromkeys(self._by_deletion.get(less, ())[:3]))
            found.pop(key, None)
            self._near_names[key] = sorted(found)[:3]
        return self._near_names[key]

    def match_at(self, plain: str, start: int) -> tuple[int, bool]:
        """Return where the name ends that begins here, and whether a skill is called so."""
        end = start
        while True:
            end = _TOKEN.match(plain, end).end()  # type: ignore[union-attr]
            if end >= len(plain) or plain[end].isascii() or category(plain[end])[0] != "M":
                break
            end += 1
        token = plain[start : min(end, start + self.max_length)]
        if self.irregular_starts and (long := self._match_multiword(plain, start, token)):
            return long, True
        if end - start > self.max_length:
            return end, False
        if token not in self._name_lengths:
            self._name_lengths[token] = self._name_length(token)
        size, known = self._name_lengths[token]
        return start + size, known

    def _name_length(self, token: str) -> tuple[int, bool]:
        """Return how much of a token is a name, and whether a skill is called so."""
        while token[-1:] and token[-1] in "-.:：_" and not self.contains(token):
            token = token[:-1]
        if self.contains(token):
            return len(token), True
        # `$pdf:then`: a colon that is none of a package.
        for cut in (at for at, c in enumerate(token[:_MAX_NAME]) if c in ":："):
            if self.contains(token[:cut]) and normalize_name(token[:cut]) not in self.packages:
                return cut, True
        return len(token), False

    def _match_multiword(self, plain: str, start: int, token: str) -> int:
        """Return the end of the longest name here that is more than a token, such as one with blanks; 0 for none."""
        begin = self._normalize(token) if token else normalize_name(plain[start : start + 1])
        if begin not in self.irregular_starts and begin.rstrip("-.:_") not in self.irregular_starts:
            return 0
        few = _FEW_WORDS.match(plain[start : start + self.max_length])
        line = few[0] if few else ""
        words = _word_spans(line)
        for count in self.word_counts:
            if count <= len(words):
                raw = line[: words[count - 1][1]]
                bare = raw.rstrip(_TRAILING_PUNCTUATION)
                last = _TOKEN.match(line, words[count - 1][0])
                part = line[: last.end()].rstrip("-.:：_") if last and last[0] else bare
                for name in (raw, bare, part):
                    if self.contains(name):
                        return start + len(name)
        return 0


def _deletions(text: str) -> set[str]:
    return {text[:at] + text[at + 1 :] for at in range(len(text))}


def _ambiguity_message(name: str, chosen: list[Entry]) -> str:
    names = [entry.name for entry in chosen]
    shown = names if len(set(names)) == len(names) else [entry.path for entry in chosen]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"{quoted(name)} means {len(chosen)} skills: {', '.join(quoted(item, 120) for item in shown[:3])}{more}"


# --- the text --------------------------------------------------------------------------------------------------------

_MASK, _INVISIBLE = "\x01", "\x02"
_LINE_ENDS = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE_CHARS = re.compile(f"[\x00-\x08\x0e-\x1f\ud800-\udfff{INVISIBLE_CHARACTERS}]")
_BLANKS = re.compile(r"[^\S\n\t ]")
_FEW_WORDS = re.compile("[^ \t\n\x01\x02]+(?:[ \t]+[^ \t\n\x01\x02]+){0,7}")


def _normalize_whitespace(text: str) -> str:
    """Return a text of the same length with one kind of line end, of blank, and of what does not show."""
    text = _LINE_ENDS.sub("\n", text.replace("\r\n", " \n"))
    return _BLANKS.sub(" ", _INVISIBLE_CHARS.sub(_INVISIBLE, text))


_CODE_OPENING = re.compile(
    r"(?P<fence>^[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?(?P<bar>`{3,}(?=[^`\n]*$)|~{3,}))"
    r"|(?P<code>(?:\A|(?<=\n))(?: {4}|\t| \t|  \t|   \t)(?=[ \t]*[^ \t\n]))"
    r"|(?P<ticks>`+)|(?P<comment>(?:^ {1,3})?<!--)",
    re.MULTILINE,
)
_FENCE_CLOSING = {bar: re.compile(rf"^[ \t>]*({bar}{{3,}})[ \t]*$", re.MULTILINE) for bar in "`~"}
_QUOTE_END = re.compile(r"^(?![ \t]*>)", re.MULTILINE)
_OUTDENTED = re.compile(r"\n(?! {4}|\t| \t|  \t|   \t|[ \t]*$)", re.MULTILINE)
_PARAGRAPH_ENDS = re.compile(r"\n[ \t>]*(?:\n|`{3}|~{3})")
_URL_OR_LINK_TARGET = re.compile(r"://[^\s<>\"\x01]*|(?<![\w.])www\.[^\s<>\"\x01]*|\]\([^)\n]*", re.IGNORECASE)


def _mask_code_and_urls(plain: str) -> str:
    """Return the text with code, comments, URLs and the targets of links blotted out."""
    parts: list[str] = []
    at = 0
    for start, end in _code_spans(plain):
        parts += (plain[at:start], _MASK * (end - start))
        at = end
    text = "".join(parts) + plain[at:]
    return _URL_OR_LINK_TARGET.sub(lambda match: _MASK * len(match[0]), text)


def _code_spans(plain: str) -> Iterator[Span]:
    """Find code and comments as CommonMark does, what opens first first."""
    ticks: dict[int, list[int]] | None = None
    at = paragraph = 0
    size, last = len(plain), plain.rfind("-->")
    while match := _CODE_OPENING.search(plain, at):
        start, at = match.span()
        if match["fence"]:
            start, line = match.start("bar"), plain.find("\n", at)
            at = end = _fence_end(plain, size if line < 0 else line, match["bar"], quoted=">" in match["fence"])
        elif match["code"]:
            if not _follows_blank_line(plain, start):
                continue
            out = _OUTDENTED.search(plain, at)
            at = end = out.start() if out else size
        elif match["comment"]:
            # One that nothing closes is a comment only where it begins a line, and then it is the rest.
            if start + 2 > last and match["comment"] == "<!--" and not (start == 0 or plain[start - 1] == "\n"):
                continue
            at = end = size if start + 2 > last else plain.find("-->", start + 2) + 3
        else:
            if ticks is None:
                ticks = {}
                for run in _BACKTICK_RUNS.finditer(plain):
                    ticks.setdefault(len(run[0]), []).append(run.start())
            if start and plain[start - 1] == "\\" and _is_escaped(plain, start):
                start += 1
            those = ticks.get(at - start, [])
            after = bisect_left(those, at)
            if paragraph <= start:
                stop = _PARAGRAPH_ENDS.search(plain, start)
                paragraph = stop.start() if stop else size + 1
            if start == at or after == len(those) or those[after] > paragraph:
                continue
            at = end = those[after] + at - start
        yield start, end


_BACKTICK_RUNS = re.compile("`+")


def _fence_end(plain: str, line: int, bar: str, *, quoted: bool) -> int:
    """Return where the fenced block ends whose first line ends here: with the text, if nothing closes it."""
    out = _QUOTE_END.search(plain, line + 1) if quoted else None
    last = out.start() if out else len(plain)
    for close in _FENCE_CLOSING[bar[0]].finditer(plain, line, last):
        if len(close[1]) >= len(bar):
            return close.end()
    return last


def _follows_blank_line(plain: str, start: int) -> bool:
    return not start or not plain[plain.rfind("\n", 0, start - 1) + 1 : start - 1].strip(" \t")


def _is_escaped(plain: str, end: int) -> bool:
    start = end
    while start and plain[start - 1] == "\\":
        start -= 1
    return (end - start) % 2 == 1


# --- the forms -------------------------------------------------------------------------------------------------------

_OPENERS = r"(\[{（【《「『“‘«„‚\"'*_，。、；：！？"
_SIGIL = re.compile(f"(?<![^ \t\n\x02{_OPENERS}])[{_SIGILS}](?=[^\\s\x01\x02{_OPENERS}{_SIGILS}])")
_PACKAGE = re.compile(rf"(?<![^ \t\n\x02{_OPENERS}])[^\W_][\w\-.]*[:：](?=\w)")
_SYMMETRIC_QUOTES = "\"'*_"
"""What opens and closes alike: it stands before a name only where it has no word before it."""
_CONTINUATION = re.compile(r"[/\\@＠／=$＄#%&^~+(\[{]|->|[:：][:/\\]|[?!][\w=]|\.[\w/]|\x02+\w|\x01", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9][0-9.,:]*[kKmM]?")
_BEFORE_DEFINITION = re.compile(r"[ \t]*\n[ \t]*(?:@|def\b|class\b|async\b)")
_FOLLOWED_BY_SKILL = re.compile(r"[\"'”’*_]{0,4}[ \t]{1,4}skill\b", re.IGNORECASE)
_VARIABLES = _word_set(
    "HOME PATH USER SHELL PWD OLDPWD LANG TERM EDITOR PAGER TMPDIR TEMP TMP HOST HOSTNAME DISPLAY LOGNAME MAIL"
)


def _is_opening(plain: str, start: int) -> bool:
    """Return whether quotes and emphasis before a name open there."""
    for at in range(start - 1, max(start - 9, -1), -1):
        if plain[at] not in _SYMMETRIC_QUOTES:
            return not (plain[at].isalnum() or plain[at] in ")]}_\x01")
    return True


def _find_sigils(plain: str, names: _NameIndex) -> Iterator[Candidate]:
    for match in _SIGIL.finditer(plain):
        start = match.start()
        if not _is_opening(plain, start):
            continue
        end, known = names.match_at(plain, start + 1)
        name = plain[start + 1 : end]
        sigil = _PLAIN_SIGILS.get(match[0], match[0])
        if (
            not name
            or _CONTINUATION.match(plain, end)
            or not (known or _is_surely_a_name(plain, end, sigil, name, names))
        ):
            continue
        if sigil == "$" and (_NUMBER.fullmatch(name) or (name in _VARIABLES and not names.has_exact_spelling(name))):
            continue
        if sigil == "@" and (start == 0 or plain[start - 1] == "\n") and _BEFORE_DEFINITION.match(plain, end):
            continue
        yield start, end, start, "sigil", name


_PLAIN_SIGILS = dict(zip("＄﹩＠﹫／", "$$@@/", strict=True))


def _is_surely_a_name(plain: str, end: int, sigil: str, name: str, names: _NameIndex) -> bool:
    """Return whether a name that no skill has can hardly be anything else than a skill's."""
    if len(name) > 64:
        return False
    package, colon, inner = name.replace("：", ":").partition(":")
    if colon:
        return normalize_name(package) in names.packages and _SPEC_NAME.fullmatch(inner) is not None
    if _SPEC_NAME.fullmatch(name) is None:
        return False
    return bool(_FOLLOWED_BY_SKILL.match(plain, end)) or (sigil == "$" and "-" in name) or bool(names.near_names(name))


def _find_package_names(plain: str, names: _NameIndex) -> Iterator[Candidate]:
    if not names.packages:
        return
    for match in _PACKAGE.finditer(plain):
        start = match.start()
        if (
            len(match[0]) > _MAX_NAME
            or normalize_name(match[0][:-1]) not in names.packages
            or not _is_opening(plain, start)
        ):
            continue
        end, known = names.match_at(plain, start)
        name = plain[start:end]
        if not _CONTINUATION.match(plain, end) and (known or _is_surely_a_name(plain, end, "", name, names)):
            yield start, end, start, "package", name


_VERB_PATTERN = (
    "use|using|run|running|apply|applying|activate|activating|invoke|invoking|load|loading|call|calling|try|trying|"
    "follow|following|employ|employing|leverage|leveraging|launch|launching|trigger|triggering|start|starting"
)
_VERBS = frozenset([*_VERB_PATTERN.split("|"), "with", "via", "through", "without"])
_WEAK_VERBS = _word_set("with via through without try trying follow following call calling start starting")
_ARTICLES = _word_set("the my your our this that its a an both either")
_FILLERS = _ARTICLES | _word_set("please also just only again now of on in for me us it here")
_CONJUNCTIONS = frozenset(("and", "or", "&", "plus", "and/or", ",", "nor"))
_COMMON_WORDS = _word_set(
    "right same best better appropriate correct wrong new old above below following other another next previous first "
    "second third last latest current relevant necessary required needed proper suitable suited existing available "
    "given said whole full mentioned updated original different particular specific single only own main default "
    "custom installed agent agents claude codex matching corresponding respective attached provided desired chosen "
    "selected listed named called actual real good great entire very most more any every each one two skill soft hard "
    "special technical useful ideal aforementioned requisite resulting"
)
_WORDS = re.compile(r"[^ \t\n\x02]+")
_SKILL = re.compile(r"(?<![\w\-$@/.\\])skills?(?![\w\-/\\=(]|\.\w)", re.IGNORECASE)
_CALLED = re.compile(
    r"(?:[ \t]{1,4}(?:called|named)[ \t]{1,4}|:[ \t]{0,4}|[ \t]{1,4}(?=[\"'“‘«]))[\"'“‘«*]{0,3}", re.IGNORECASE
)
_UNKNOWN_NAME = re.compile(r"[a-z0-9]+(?:[-_:.][a-z0-9]+)*", re.IGNORECASE)
_WINDOW = 600
_QUOTES = "\"'“”‘’«»„*_"


def _word_spans(text: str, offset: int = 0) -> list[Span]:
    return [(match.start() + offset, match.end() + offset) for match in _WORDS.finditer(text)]


def _find_phrases(plain: str, names: _NameIndex) -> Iterator[Candidate]:
    before, went_on = 0, False
    for match in _SKILL.finditer(plain):
        start = max(before, plain.rfind("\n", max(0, match.start() - _WINDOW), match.start()) + 1)
        start = max(start, match.start() - _WINDOW)
        words = _word_spans(plain[start : match.start()], start)[-24:]
        known = _Phrase(plain, words, names)
        found = known.names_after_verb() or (known.name_list(0) if went_on and start == before else [])
        went_on, before = bool(found), match.end()
        if found:
            starts = [known.verb, *(name[0] for name in found[1:])] if known.verb >= 0 else [name[0] for name in found]
            ends = [*(name[1] for name in found[:-1]), match.end()]
            for (begin, end), first, last in zip(found, starts, ends, strict=True):
                yield first, last, begin, "phrase", plain[begin:end]
        elif (verb := known.bare_verb()) >= 0 and (called := _CALLED.match(plain, match.end())):
            end, is_known = names.match_at(plain, called.end())
            if is_known and not _CONTINUATION.match(plain, end):
                went_on, before = True, end
                yield verb, end, called.end(), "phrase", plain[called.end() : end]
        elif (one := known.unknown_name()) is not None:
            yield known.verb, match.end(), one[0], "phrase", plain[one[0] : one[1]]


class _Phrase:
    """The words before the word `skill`."""

    def __init__(self, plain: str, words: list[Span], names: _NameIndex) -> None:
        self.plain, self.words, self.names = plain, words, names
        self.lower = [plain[start:end].lower().lstrip("(\"'“‘*_") for start, end in words]
        self.verbs = [at for at, word in enumerate(self.lower) if word in _VERBS]
        self.verb = -1
        """Where the verb begins that was found."""

    def names_after_verb(self) -> list[Span]:
        """Return the names between a verb and the end."""
        for at in self.verbs:
            first = at + 1
            while first < len(self.words):
                if found := self.name_list(first):
                    self._set_verb(at)
                    return found
                if self.lower[first] not in _FILLERS:
                    break
                first += 1
        return []

    def bare_verb(self) -> int:
        """Return where the verb begins that has nothing but fillers behind it; -1 for none."""
        at = self.verbs[-1] if self.verbs else -1
        if at < 0 or any(word not in _FILLERS for word in self.lower[at + 1 :]):
            return -1
        return self._set_verb(at)

    def unknown_name(self) -> Span | None:
        """Return the one word between `use the` and the end, if it can hardly be anything else than a name."""
        if len(self.words) < 3 or self.lower[-2] not in ("the", "my", "your", "our"):
            return None
        at = len(self.words) - 3
        while at >= 0 and self.lower[at] in _FILLERS:
            at -= 1
        if at < 0 or self.lower[at] not in _VERBS - _WEAK_VERBS:
            return None
        start, end = self._strip_quotes(*self.words[-1])
        name = self.plain[start:end]
        if len(name) > 64 or not _UNKNOWN_NAME.fullmatch(name) or name.lower() in _COMMON_WORDS or name.isdigit():
            return None
        self._set_verb(at)
        return start, end

    def name_list(self, first: int) -> list[Span]:
        """Read names joined by commas, `and` and `or` from a word on to the end; none if anything else is there."""
        found: list[Span] = []
        joined = True
        at = first
        while at < len(self.words):
            if name := self._longest_name(at) if joined else None:
                start, end, at = name
                found.append((start, end))
                joined = self.plain[self.words[at - 1][1] - 1] == ","
            elif self.lower[at] in _CONJUNCTIONS:
                joined, at = True, at + 1
            elif joined and at > first and self.lower[at] in _ARTICLES:
                at += 1
            else:
                return []
        return found if found and not joined else []

    def _longest_name(self, at: int) -> tuple[int, int, int] | None:
        """Return the span of the longest known name that begins with a word, and the word behind it."""
        for count in (*(count for count in self.names.word_counts if count > 1), 1):
            if at + count <= len(self.words):
                start, end = self._strip_quotes(self.words[at][0], self.words[at + count - 1][1])
                if start < end and self.names.contains(self.plain[start:end]):
                    return start, end, at + count
        return None

    def _strip_quotes(self, start: int, end: int) -> Span:
        while start < end and self.plain[start] in _QUOTES:
            start += 1
        while end > start and self.plain[end - 1] in _QUOTES + ",":
            end -= 1
        return start, end

    def _set_verb(self, at: int) -> int:
        self.verb = self.words[at][1] - len(self.lower[at])
        return self.verb


# --- negations -------------------------------------------------------------------------------------------------------

_NOT_SUFFIX = r"(?:n['’ʼ]?t|[ \t]{1,4}not)\b"
_BLANK = r"[ \t]{1,4}"
_NEGATIONS = re.compile(
    # What only looks like a negation.
    rf"(?P<idle>\bwhy{_BLANK}(?:not\b|(?:do|ca|could|wo|would){_NOT_SUFFIX}(?:{_BLANK}(?:you|we|i)\b)?)"
    rf"|\b(?:ca|could|wo|would){_NOT_SUFFIX}{_BLANK}(?:you|we|i)\b|\b(?:if|or){_BLANK}not\b|\b(?:e\.g|i\.e)\."
    rf"|\b(?:do{_NOT_SUFFIX}|never)(?:{_BLANK}(?:you|we|ever|please))?{_BLANK}"
    r"(?:forget|hesitate|fail|neglect|mind|worry|miss|omit|just|only|merely|simply|be[ \t]{1,4}(?:afraid|shy))\b"
    rf"|\bnot{_BLANK}(?:only|just|merely|simply|sure|to{_BLANK}mention)\b"
    rf"|\bno{_BLANK}(?:problem|worries|matter|doubt|idea|wonder)\b)"
    # Where a clause ends.
    r"|(?P<end>[.!?]+(?=[ \t\n\x02)\"'”’]|\Z)|[;\n。！？；]"
    r"|\b(?:but|so|then|however|otherwise)\b|\binstead\b(?![ \t]{1,4}of\b)"
    r"|(?:[,:(，：—–]|[ \t]-+)[ \t]{0,4}(?:(?:please|just|and|now|only|rather|better|always)[ \t]{1,4}){0,3}"
    rf"(?:{_VERB_PATTERN})\b)"
    rf"|(?P<reach>\b(?:do|must|should|shall|may|need|will|would){_NOT_SUFFIX}|\bnever\b)"
    rf"|(?P<near>\b(?:does|did|ca|could|has|have|is|are|was|were|can|could){_NOT_SUFFIX}|\bcannot\b|\bno(?:t|r)?\b|\bneither\b)"
    rf"|(?P<flip>\bwithout\b|\binstead{_BLANK}of\b|\b(?:rather|other){_BLANK}than\b|\bexcept\b(?:{_BLANK}for\b)?|\bunlike\b"
    r"|\b(?:avoid|stop|quit|skip|ignor|disabl|exclud|ceas)(?:e|ing|p?ping|ting)?\b)",
    re.IGNORECASE,
)
_NEGATION_REACH = re.compile(
    rf"(?:[ \t]{{1,4}}(?:{_VERB_PATTERN}|with|via|through|the|a|an|any|my|your|our|this|that|these|ever|either|both|"
    r"to|of|want|need|needing|like|think|you|should|it|me|us|we|really|actually|even|also|please|skills?|called|named|longer|"
    r"more|for|be|having|activated|used)\b)*[ \t(\[{\"'“‘«*_]*",
    re.IGNORECASE,
)
_LIST_JOINER = re.compile(
    r"[ \t\"'”’»*_)]*,?[ \t]*(?:(?:and|or|nor|&)\b[ \t]*)?(?:(?:the|with|my|either)[ \t]+)*[\"'“‘«*_(]*", re.IGNORECASE
)
_PARENTHETICAL = re.compile(r"[ \t]{0,4}(?:(?:ever|please|really|you dare)[ \t]{0,4})?,", re.IGNORECASE)
_PRONOUN_SUBJECT = re.compile(r"\b(?:i|we|they|it|he|she)[ \t]+\Z", re.IGNORECASE)


def _drop_negated(plain: str, found: list[Candidate]) -> list[Candidate]:
    """Leave out the names that are negated."""
    spans: list[Span] = []
    done = 0
    for item in found:
        if item[2] >= done:
            line = plain.rfind("\n", done, item[2]) + 1 or done
            done = plain.find("\n", item[2]) + 1 or len(plain)
            spans += _negated_spans(plain, line, done)
    starts = [start for start, _ in spans]
    kept: list[Candidate] = []
    before = -1
    """Where the last negated name ended."""
    for item in found:
        at = item[2]
        place = bisect_right(starts, at) - 1
        gap = plain[before:at] if 0 <= before <= at <= before + 40 else None
        if (place >= 0 and at <= spans[place][1]) or (gap is not None and _LIST_JOINER.fullmatch(gap)):
            before = item[1]
        else:
            kept.append(item)
    return kept


def _negated_spans(plain: str, line: int, size: int) -> list[Span]:
    """Find where names are negated in a line, in order."""
    spans: list[Span] = []
    since = -1
    for match in _NEGATIONS.finditer(plain, line, size):
        kind, start, end = match.lastgroup, *match.span()
        if kind == "reach" and since < 0 and not _PRONOUN_SUBJECT.search(plain[max(0, start - 8) : start]):
            since = end
        elif kind == "end" or (kind == "flip" and since >= 0):
            # `don't, please, use`: the comma closes what the first one opened.
            aside = _PARENTHETICAL.match(plain, since, start) if since >= 0 and match[0][0] == "," else None
            if aside is not None:
                continue
            if since >= 0:
                spans.append((since, start))
            since = -1
        elif kind in ("reach", "near", "flip") and since < 0:
            spans.append((end, _NEGATION_REACH.match(plain, end).end()))  # type: ignore[union-attr]
    return [*spans, (since, size)] if since >= 0 else spans
