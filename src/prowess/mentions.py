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

from ._frozen import Frozen
from .entry import State
from .text import UNSEEN, neutral, quoted, same_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .entry import Entry

    Found = tuple[int, int, int, str, str]
    """Start, end, where the name begins, the reason, the name."""
    Word = tuple[int, int]

__all__ = ["Mention", "mentions"]


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
    why_not: str | None = None
    """Why there is none, in words that are safe to show."""


def mentions(text: str, skills: Iterable[Entry]) -> tuple[Mention, ...]:
    """Find the skills a user names, in the order of the text; each time one is named counts.

    Skills the model does not see (`user-only`) and those the client shows later (`deferred`) can be named too.

    Args:
        text: what the user wrote.
        skills: those of a catalog, in its order.
    """
    if not _ANY.search(text):
        return ()
    names = _Names(skills)
    plain = _masked(_levelled(text))
    found = sorted([*_sigils(plain, names), *_packages(plain, names), *_phrases(plain, names)], key=_longest_first)
    made: list[Mention] = []
    last = 0
    for start, end, _, reason, name in _meant(plain, found) if found else ():
        if start < last:
            continue
        last = end
        written = text[start:end]
        entry, why_not = names.resolve(name)
        made.append(Mention(text=written, start=start, end=end, reason=reason, name=name, entry=entry, why_not=why_not))
    return tuple(made)


_SIGILS = "$@/＄＠／﹩﹫"
_ANY = re.compile(f"[{_SIGILS}:：]|skill", re.IGNORECASE)


def _longest_first(found: Found) -> tuple[int, int]:
    return found[0], -found[1]


# --- the names -------------------------------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MAX_NAME = 256
"""Characters of a name that can be mentioned; the specification allows 64."""
_MAX_WORDS = 8
_NEAR_FROM = 4
_REACHABLE = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)
_STATES = {
    State.SHADOWED: "is shadowed by another one",
    State.DISABLED: "is disabled",
    State.UNTRUSTED: "is not trusted",
    State.REJECTED: "is rejected",
}
_TOKEN = re.compile(r"[\w\-.:：\u200c\u200d]*")
_SPEC = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_TAIL = ".,;:!?)]}>\"'”’»*_…。，、；：！？）】》」』"


class _Names:
    """What skills are called, in compared form."""

    def __init__(self, skills: Iterable[Entry]) -> None:
        self.first: dict[str, list[Entry]] = {}
        """By the name the host uses, or its alias."""
        self.second: dict[str, list[Entry]] = {}
        """By its name in the file or its package, or its folder."""
        self.packages: set[str] = set()
        for entry in skills:
            if entry.namespace:
                self.packages.add(same_name(entry.namespace))
            mine = {same_name(name) for name in (entry.name, entry.alias) if name}
            others = {same_name(name) for name in (entry.frontmatter_name, entry.folder) if name}
            for key in mine:
                self.first.setdefault(key, []).append(entry)
            for key in others - mine:
                self.second.setdefault(key, []).append(entry)
        keys = [key for key in {**self.first, **self.second} if len(key) <= _MAX_NAME]
        # In a text blanks are one blank, however many there are.
        self.known = {" ".join(key.split()): key for key in keys}
        odd = [key for key in self.known if _TOKEN.match(key).end() < len(key)]  # type: ignore[union-attr]
        self.counts = sorted({count for key in odd if (count := key.count(" ") + 1) <= _MAX_WORDS}, reverse=True)
        self.odd = {_TOKEN.match(key)[0] or key[0] for key in odd}  # type: ignore[index]
        """How those begin that are more than a token."""
        self.limit = 2 * max(map(len, self.known), default=0) + 16
        self._forms: dict[str, str] = {}
        self._sizes: dict[str, tuple[int, bool]] = {}
        self._answers: dict[str, tuple[Entry | None, str | None]] = {}
        self._closest: dict[str, list[str]] = {}
        self._shorter: dict[str, list[str]] | None = None

    def has(self, name: str) -> bool:
        """Whether a skill is called so, to be had or not."""
        return len(name) <= self.limit and self._folded(name) in self.known

    def _folded(self, name: str) -> str:
        if name not in self._forms:
            self._forms[name] = " ".join(same_name(name).split())
        return self._forms[name]

    def spelt(self, name: str) -> bool:
        """Whether a skill's name is written exactly so."""
        return any(entry.name == name for entry in self.first.get(same_name(name), ()))

    def resolve(self, name: str) -> tuple[Entry | None, str | None]:
        """Return the skill of this name, or else why there is none."""
        if name not in self._answers:
            self._answers[name] = self._resolve(name)
        return self._answers[name]

    def _resolve(self, name: str) -> tuple[Entry | None, str | None]:
        key = self.known.get(self._folded(name), "") if len(name) <= self.limit else ""
        tiers = (self.first.get(key, []), self.second.get(key, []))
        for those in tiers:
            for state in _REACHABLE:
                chosen = [entry for entry in those if entry.state is state]
                if len(chosen) > 1:
                    spelt = [entry for entry in chosen if entry.name == name]
                    chosen = spelt if len(spelt) == 1 else chosen
                if len(chosen) == 1:
                    return chosen[0], None
                if chosen:
                    return None, _ambiguous(name, chosen)
        for entry in (*tiers[0], *tiers[1]):
            reason = f": {neutral(entry.reason)}" if entry.reason else ""
            return None, f"the skill {quoted(entry.name)} {_STATES[entry.state]}{reason}"
        near = self.near(name)
        hint = f"; did you mean {' or '.join(map(quoted, near))}?" if near else ""
        return None, f"no skill is called {quoted(name)}{hint}"

    def near(self, name: str) -> list[str]:
        """Return at most three names one letter away: one more, one less, another, or two exchanged."""
        key = same_name(name) if len(name) <= 64 else ""
        if len(key) < _NEAR_FROM:
            return []
        if self._shorter is None:
            self._shorter = {}
            for known in self.known:
                if _NEAR_FROM <= len(known) <= 64:
                    for less in _one_less(known):
                        self._shorter.setdefault(less, []).append(known)
        if key not in self._closest:
            found = dict.fromkeys(self._shorter.get(key, ())[:3])
            for less in _one_less(key):
                if less in self.known:
                    found[less] = None
                found.update(dict.fromkeys(self._shorter.get(less, ())[:3]))
            found.pop(key, None)
            self._closest[key] = sorted(found)[:3]
        return self._closest[key]

    def at(self, plain: str, start: int) -> tuple[int, bool]:
        """Return where the name ends that begins here, and whether a skill is called so."""
        end = start
        while True:
            end = _TOKEN.match(plain, end).end()  # type: ignore[union-attr]
            if end >= len(plain) or plain[end].isascii() or category(plain[end])[0] != "M":
                break
            end += 1
        token = plain[start : min(end, start + self.limit)]
        if self.odd and (long := self._odd_at(plain, start, token)):
            return long, True
        if end - start > self.limit:
            return end, False
        if token not in self._sizes:
            self._sizes[token] = self._size(token)
        size, known = self._sizes[token]
        return start + size, known

    def _size(self, token: str) -> tuple[int, bool]:
        """Return how much of a token is a name, and whether a skill is called so."""
        while token[-1:] and token[-1] in "-.:：_" and not self.has(token):
            token = token[:-1]
        if self.has(token):
            return len(token), True
        # `$pdf:then`: a colon that is none of a package.
        for cut in (at for at, c in enumerate(token[:_MAX_NAME]) if c in ":："):
            if self.has(token[:cut]) and same_name(token[:cut]) not in self.packages:
                return cut, True
        return len(token), False

    def _odd_at(self, plain: str, start: int, token: str) -> int:
        """Return the end of the longest name here that is more than a token, such as one with blanks; 0 for none."""
        begin = self._folded(token) if token else same_name(plain[start : start + 1])
        if begin not in self.odd and begin.rstrip("-.:_") not in self.odd:
            return 0
        few = _FEW_WORDS.match(plain[start : start + self.limit])
        line = few[0] if few else ""
        words = _spans(line)
        for count in self.counts:
            if count <= len(words):
                raw = line[: words[count - 1][1]]
                bare = raw.rstrip(_TAIL)
                last = _TOKEN.match(line, words[count - 1][0])
                part = line[: last.end()].rstrip("-.:：_") if last and last[0] else bare
                for name in (raw, bare, part):
                    if self.has(name):
                        return start + len(name)
        return 0


def _one_less(text: str) -> set[str]:
    return {text[:at] + text[at + 1 :] for at in range(len(text))}


def _ambiguous(name: str, chosen: list[Entry]) -> str:
    names = [entry.name for entry in chosen]
    shown = names if len(set(names)) == len(names) else [entry.path for entry in chosen]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"{quoted(name)} means {len(chosen)} skills: {', '.join(quoted(item, 120) for item in shown[:3])}{more}"


# --- the text --------------------------------------------------------------------------------------------------------

_MASK, _UNSEEN = "\x01", "\x02"
_LINE_ENDS = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")
_NOT_SHOWN = re.compile(f"[\x00-\x08\x0e-\x1f\ud800-\udfff{UNSEEN}]")
_BLANKS = re.compile(r"[^\S\n\t ]")
_FEW_WORDS = re.compile("[^ \t\n\x01\x02]+(?:[ \t]+[^ \t\n\x01\x02]+){0,7}")


def _levelled(text: str) -> str:
    """Return a text of the same length with one kind of line end, of blank, and of what does not show."""
    text = _LINE_ENDS.sub("\n", text.replace("\r\n", " \n"))
    return _BLANKS.sub(" ", _NOT_SHOWN.sub(_UNSEEN, text))


_OPENS = re.compile(
    r"(?P<fence>^[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?(?P<bar>`{3,}(?=[^`\n]*$)|~{3,}))"
    r"|(?P<code>(?:\A|(?<=\n))(?: {4}|\t| \t|  \t|   \t)(?=[ \t]*[^ \t\n]))"
    r"|(?P<ticks>`+)|(?P<comment>(?:^ {1,3})?<!--)",
    re.MULTILINE,
)
_CLOSES = {bar: re.compile(rf"^[ \t>]*({bar}{{3,}})[ \t]*$", re.MULTILINE) for bar in "`~"}
_UNQUOTED = re.compile(r"^(?![ \t]*>)", re.MULTILINE)
_OUTDENTED = re.compile(r"\n(?! {4}|\t| \t|  \t|   \t|[ \t]*$)", re.MULTILINE)
_PARAGRAPH_ENDS = re.compile(r"\n[ \t>]*(?:\n|`{3}|~{3})")
_ELSEWHERE = re.compile(r"://[^\s<>\"\x01]*|(?<![\w.])www\.[^\s<>\"\x01]*|\]\([^)\n]*", re.IGNORECASE)


def _masked(plain: str) -> str:
    """Return the text with code, comments, URLs and the targets of links blotted out."""
    parts: list[str] = []
    at = 0
    for start, end in _code(plain):
        parts += (plain[at:start], _MASK * (end - start))
        at = end
    text = "".join(parts) + plain[at:]
    return _ELSEWHERE.sub(lambda match: _MASK * len(match[0]), text)


def _code(plain: str) -> Iterator[Word]:
    """Find code and comments as CommonMark does, what opens first first."""
    ticks: dict[int, list[int]] | None = None
    at = paragraph = 0
    size, last = len(plain), plain.rfind("-->")
    while match := _OPENS.search(plain, at):
        start, at = match.span()
        if match["fence"]:
            start, line = match.start("bar"), plain.find("\n", at)
            at = end = _fence_end(plain, size if line < 0 else line, match["bar"], quoted=">" in match["fence"])
        elif match["code"]:
            if not _after_blank(plain, start):
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
                for run in _RUNS.finditer(plain):
                    ticks.setdefault(len(run[0]), []).append(run.start())
            if start and plain[start - 1] == "\\" and _odd_backslashes(plain, start):
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


_RUNS = re.compile("`+")


def _fence_end(plain: str, line: int, bar: str, *, quoted: bool) -> int:
    """Return where the fenced block ends whose first line ends here: with the text, if nothing closes it."""
    out = _UNQUOTED.search(plain, line + 1) if quoted else None
    last = out.start() if out else len(plain)
    for close in _CLOSES[bar[0]].finditer(plain, line, last):
        if len(close[1]) >= len(bar):
            return close.end()
    return last


def _after_blank(plain: str, start: int) -> bool:
    return not start or not plain[plain.rfind("\n", 0, start - 1) + 1 : start - 1].strip(" \t")


def _odd_backslashes(plain: str, end: int) -> bool:
    start = end
    while start and plain[start - 1] == "\\":
        start -= 1
    return (end - start) % 2 == 1


# --- the forms -------------------------------------------------------------------------------------------------------

_OPENERS = r"(\[{（【《「『“‘«„‚\"'*_，。、；：！？"
_SIGIL = re.compile(f"(?<![^ \t\n\x02{_OPENERS}])[{_SIGILS}](?=[^\\s\x01\x02{_OPENERS}{_SIGILS}])")
_PACKAGE = re.compile(rf"(?<![^ \t\n\x02{_OPENERS}])[^\W_][\w\-.]*[:：](?=\w)")
_SPLITS = "\"'*_"
"""What opens and closes alike: it stands before a name only where it has no word before it."""
_GOES_ON = re.compile(r"[/\\@＠／=$＄#%&^~+(\[{]|->|[:：][:/\\]|[?!][\w=]|\.[\w/]|\x02+\w|\x01", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9][0-9.,:]*[kKmM]?")
_DECORATED = re.compile(r"[ \t]*\n[ \t]*(?:@|def\b|class\b|async\b)")
_SKILL_AFTER = re.compile(r"[\"'”’*_]{0,4}[ \t]{1,4}skill\b", re.IGNORECASE)
_VARIABLES = _words(
    "HOME PATH USER SHELL PWD OLDPWD LANG TERM EDITOR PAGER TMPDIR TEMP TMP HOST HOSTNAME DISPLAY LOGNAME MAIL"
)


def _begins(plain: str, start: int) -> bool:
    """Return whether quotes and emphasis before a name open there."""
    for at in range(start - 1, max(start - 9, -1), -1):
        if plain[at] not in _SPLITS:
            return not (plain[at].isalnum() or plain[at] in ")]}_\x01")
    return True


def _sigils(plain: str, names: _Names) -> Iterator[Found]:
    for match in _SIGIL.finditer(plain):
        start = match.start()
        if not _begins(plain, start):
            continue
        end, known = names.at(plain, start + 1)
        name = plain[start + 1 : end]
        sigil = _PLAIN_SIGILS.get(match[0], match[0])
        if not name or _GOES_ON.match(plain, end) or not (known or _hardly_else(plain, end, sigil, name, names)):
            continue
        if sigil == "$" and (_NUMBER.fullmatch(name) or (name in _VARIABLES and not names.spelt(name))):
            continue
        if sigil == "@" and (start == 0 or plain[start - 1] == "\n") and _DECORATED.match(plain, end):
            continue
        yield start, end, start, "sigil", name


_PLAIN_SIGILS = dict(zip("＄﹩＠﹫／", "$$@@/", strict=True))


def _hardly_else(plain: str, end: int, sigil: str, name: str, names: _Names) -> bool:
    """Return whether a name that no skill has can hardly be anything else than a skill's."""
    if len(name) > 64:
        return False
    package, colon, inner = name.replace("：", ":").partition(":")
    if colon:
        return same_name(package) in names.packages and _SPEC.fullmatch(inner) is not None
    if _SPEC.fullmatch(name) is None:
        return False
    return bool(_SKILL_AFTER.match(plain, end)) or (sigil == "$" and "-" in name) or bool(names.near(name))


def _packages(plain: str, names: _Names) -> Iterator[Found]:
    if not names.packages:
        return
    for match in _PACKAGE.finditer(plain):
        start = match.start()
        if len(match[0]) > _MAX_NAME or same_name(match[0][:-1]) not in names.packages or not _begins(plain, start):
            continue
        end, known = names.at(plain, start)
        name = plain[start:end]
        if not _GOES_ON.match(plain, end) and (known or _hardly_else(plain, end, "", name, names)):
            yield start, end, start, "package", name


_USE = (
    "use|using|run|running|apply|applying|activate|activating|invoke|invoking|load|loading|call|calling|try|trying|"
    "follow|following|employ|employing|leverage|leveraging|launch|launching|trigger|triggering|start|starting"
)
_VERBS = frozenset([*_USE.split("|"), "with", "via", "through", "without"])
_VAGUE = _words("with via through without try trying follow following call calling start starting")
_THE = _words("the my your our this that its a an both either")
_FILLERS = _THE | _words("please also just only again now of on in for me us it here")
_AND = frozenset(("and", "or", "&", "plus", "and/or", ",", "nor"))
_ORDINARY = _words(
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
_UNKNOWN = re.compile(r"[a-z0-9]+(?:[-_:.][a-z0-9]+)*", re.IGNORECASE)
_WINDOW = 600
_QUOTES = "\"'“”‘’«»„*_"


def _spans(text: str, offset: int = 0) -> list[Word]:
    return [(match.start() + offset, match.end() + offset) for match in _WORDS.finditer(text)]


def _phrases(plain: str, names: _Names) -> Iterator[Found]:
    before, went_on = 0, False
    for match in _SKILL.finditer(plain):
        start = max(before, plain.rfind("\n", max(0, match.start() - _WINDOW), match.start()) + 1)
        start = max(start, match.start() - _WINDOW)
        words = _spans(plain[start : match.start()], start)[-24:]
        known = _Phrase(plain, words, names)
        found = known.after_verb() or (known.listed(0) if went_on and start == before else [])
        went_on, before = bool(found), match.end()
        if found:
            starts = [known.verb, *(name[0] for name in found[1:])] if known.verb >= 0 else [name[0] for name in found]
            ends = [*(name[1] for name in found[:-1]), match.end()]
            for (begin, end), first, last in zip(found, starts, ends, strict=True):
                yield first, last, begin, "phrase", plain[begin:end]
        elif (verb := known.bare_verb()) >= 0 and (called := _CALLED.match(plain, match.end())):
            end, is_known = names.at(plain, called.end())
            if is_known and not _GOES_ON.match(plain, end):
                went_on, before = True, end
                yield verb, end, called.end(), "phrase", plain[called.end() : end]
        elif (one := known.unknown()) is not None:
            yield known.verb, match.end(), one[0], "phrase", plain[one[0] : one[1]]


class _Phrase:
    """The words before the word `skill`."""

    def __init__(self, plain: str, words: list[Word], names: _Names) -> None:
        self.plain, self.words, self.names = plain, words, names
        self.lower = [plain[start:end].lower().lstrip("(\"'“‘*_") for start, end in words]
        self.verbs = [at for at, word in enumerate(self.lower) if word in _VERBS]
        self.verb = -1
        """Where the verb begins that was found."""

    def after_verb(self) -> list[Word]:
        """Return the names between a verb and the end."""
        for at in self.verbs:
            first = at + 1
            while first < len(self.words):
                if found := self.listed(first):
                    self._take(at)
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
        return self._take(at)

    def unknown(self) -> Word | None:
        """Return the one word between `use the` and the end, if it can hardly be anything else than a name."""
        if len(self.words) < 3 or self.lower[-2] not in ("the", "my", "your", "our"):
            return None
        at = len(self.words) - 3
        while at >= 0 and self.lower[at] in _FILLERS:
            at -= 1
        if at < 0 or self.lower[at] not in _VERBS - _VAGUE:
            return None
        start, end = self._bare(*self.words[-1])
        name = self.plain[start:end]
        if len(name) > 64 or not _UNKNOWN.fullmatch(name) or name.lower() in _ORDINARY or name.isdigit():
            return None
        self._take(at)
        return start, end

    def listed(self, first: int) -> list[Word]:
        """Read names joined by commas, `and` and `or` from a word on to the end; none if anything else is there."""
        found: list[Word] = []
        joined = True
        at = first
        while at < len(self.words):
            if name := self._name(at) if joined else None:
                start, end, at = name
                found.append((start, end))
                joined = self.plain[self.words[at - 1][1] - 1] == ","
            elif self.lower[at] in _AND:
                joined, at = True, at + 1
            elif joined and at > first and self.lower[at] in _THE:
                at += 1
            else:
                return []
        return found if found and not joined else []

    def _name(self, at: int) -> tuple[int, int, int] | None:
        """Return the span of the longest known name that begins with a word, and the word behind it."""
        for count in (*(count for count in self.names.counts if count > 1), 1):
            if at + count <= len(self.words):
                start, end = self._bare(self.words[at][0], self.words[at + count - 1][1])
                if start < end and self.names.has(self.plain[start:end]):
                    return start, end, at + count
        return None

    def _bare(self, start: int, end: int) -> Word:
        while start < end and self.plain[start] in _QUOTES:
            start += 1
        while end > start and self.plain[end - 1] in _QUOTES + ",":
            end -= 1
        return start, end

    def _take(self, at: int) -> int:
        self.verb = self.words[at][1] - len(self.lower[at])
        return self.verb


# --- negations -------------------------------------------------------------------------------------------------------

_NT = r"(?:n['’ʼ]?t|[ \t]{1,4}not)\b"
_B = r"[ \t]{1,4}"
_TURNS = re.compile(
    # What only looks like a negation.
    rf"(?P<idle>\bwhy{_B}(?:not\b|(?:do|ca|could|wo|would){_NT}(?:{_B}(?:you|we|i)\b)?)"
    rf"|\b(?:ca|could|wo|would){_NT}{_B}(?:you|we|i)\b|\b(?:if|or){_B}not\b|\b(?:e\.g|i\.e)\."
    rf"|\b(?:do{_NT}|never)(?:{_B}(?:you|we|ever|please))?{_B}"
    r"(?:forget|hesitate|fail|neglect|mind|worry|miss|omit|just|only|merely|simply|be[ \t]{1,4}(?:afraid|shy))\b"
    rf"|\bnot{_B}(?:only|just|merely|simply|sure|to{_B}mention)\b"
    rf"|\bno{_B}(?:problem|worries|matter|doubt|idea|wonder)\b)"
    # Where a clause ends.
    r"|(?P<end>[.!?]+(?=[ \t\n\x02)\"'”’]|\Z)|[;\n。！？；]"
    r"|\b(?:but|so|then|however|otherwise)\b|\binstead\b(?![ \t]{1,4}of\b)"
    r"|(?:[,:(，：—–]|[ \t]-+)[ \t]{0,4}(?:(?:please|just|and|now|only|rather|better|always)[ \t]{1,4}){0,3}"
    rf"(?:{_USE})\b)"
    rf"|(?P<reach>\b(?:do|must|should|shall|may|need|will|would){_NT}|\bnever\b)"
    rf"|(?P<near>\b(?:does|did|ca|could|has|have|is|are|was|were|can|could){_NT}|\bcannot\b|\bno(?:t|r)?\b|\bneither\b)"
    rf"|(?P<flip>\bwithout\b|\binstead{_B}of\b|\b(?:rather|other){_B}than\b|\bexcept\b(?:{_B}for\b)?|\bunlike\b"
    r"|\b(?:avoid|stop|quit|skip|ignor|disabl|exclud|ceas)(?:e|ing|p?ping|ting)?\b)",
    re.IGNORECASE,
)
_NEARBY = re.compile(
    rf"(?:[ \t]{{1,4}}(?:{_USE}|with|via|through|the|a|an|any|my|your|our|this|that|these|ever|either|both|to|of|want|"
    r"need|needing|like|think|you|should|it|me|us|we|really|actually|even|also|please|skills?|called|named|longer|more|"
    r"for|be|having|activated|used)\b)*[ \t(\[{\"'“‘«*_]*",
    re.IGNORECASE,
)
_AND_ALSO = re.compile(
    r"[ \t\"'”’»*_)]*,?[ \t]*(?:(?:and|or|nor|&)\b[ \t]*)?(?:(?:the|with|my|either)[ \t]+)*[\"'“‘«*_(]*", re.IGNORECASE
)
_ASIDE = re.compile(r"[ \t]{0,4}(?:(?:ever|please|really|you dare)[ \t]{0,4})?,", re.IGNORECASE)
_OF_SOMEONE = re.compile(r"\b(?:i|we|they|it|he|she)[ \t]+\Z", re.IGNORECASE)


def _meant(plain: str, found: list[Found]) -> list[Found]:
    """Leave out the names that are negated."""
    spans: list[Word] = []
    done = 0
    for item in found:
        if item[2] >= done:
            line = plain.rfind("\n", done, item[2]) + 1 or done
            done = plain.find("\n", item[2]) + 1 or len(plain)
            spans += _negated(plain, line, done)
    starts = [start for start, _ in spans]
    kept: list[Found] = []
    before = -1
    """Where the last negated name ended."""
    for item in found:
        at = item[2]
        place = bisect_right(starts, at) - 1
        gap = plain[before:at] if 0 <= before <= at <= before + 40 else None
        if (place >= 0 and at <= spans[place][1]) or (gap is not None and _AND_ALSO.fullmatch(gap)):
            before = item[1]
        else:
            kept.append(item)
    return kept


def _negated(plain: str, line: int, size: int) -> list[Word]:
    """Find where names are negated in a line, in order."""
    spans: list[Word] = []
    since = -1
    for match in _TURNS.finditer(plain, line, size):
        kind, start, end = match.lastgroup, *match.span()
        if kind == "reach" and since < 0 and not _OF_SOMEONE.search(plain[max(0, start - 8) : start]):
            since = end
        elif kind == "end" or (kind == "flip" and since >= 0):
            # `don't, please, use`: the comma closes what the first one opened.
            aside = _ASIDE.match(plain, since, start) if since >= 0 and match[0][0] == "," else None
            if aside is not None:
                continue
            if since >= 0:
                spans.append((since, start))
            since = -1
        elif kind in ("reach", "near", "flip") and since < 0:
            spans.append((end, _NEARBY.match(plain, end).end()))  # type: ignore[union-attr]
    return [*spans, (since, size)] if since >= 0 else spans
