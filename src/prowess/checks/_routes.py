"""Check whether a model would choose a skill: what its description says, to whom, and in which words.

A model sees the description of a skill and nothing else before it chooses (agentskills.io, "Optimizing descriptions";
Anthropic, "Skill authoring best practices", "Writing effective descriptions"). The rules read structure and words, and
print what they found. Only descriptions in English are judged, and only of skills that the model may choose.
"""

from __future__ import annotations

import re
from functools import lru_cache

from prowess._internal.text import quoted
from prowess.findings import finding
from prowess.hosts import TABLES, load_host
from prowess.search import generic_terms, languages_of, ordered_terms
from prowess.skill import DESCRIPTION_PLACEHOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Set as AbstractSet

    from prowess.findings import Finding
    from prowess.skill import Skill

_MAX_CHARS = 4096
"""Characters of a description that are judged."""
_SHORT = 16
"""A description with fewer words must say when: a longer one usually names enough of what its user would ask for."""
_FEW = 32
"""With more words, some of a description name a subject."""
_MAX_NAMED = 6
"""Words that a finding names; the others are counted."""
ADVICE = "say what the skill does and when to use it"


def check_routes(
    skill: Skill, hosts: Iterable[str] | None = None, common: AbstractSet[str] = frozenset()
) -> Iterator[Finding]:
    """Yield what keeps a model from choosing a skill by its description.

    Args:
        skill: the skill.
        hosts: the agents whose cutting of descriptions counts; all by default.
        common: terms that most descriptions of the catalog have.
    """
    text = " ".join((skill.description or "")[:_MAX_CHARS].split())
    if not text or skill.disable_model_invocation or skill.fields["description"].kind != "text":
        return

    def at_description(code: str, message: str, hint: str = ADVICE) -> Finding:
        field = skill.fields["description"]
        return finding(code, message, path=skill.path, line=field.line, column=field.column, hint=hint)

    if text.startswith(DESCRIPTION_PLACEHOLDER):
        return  # reported by `check_skill`
    if is_template(text):
        yield at_description("description-placeholder", f"the description is that of a template: {quoted(text)}")
        return
    found = [*_judge(skill, text, hosts, common, at_description)]
    # The language is asked for last: most descriptions have nothing to report.
    if found and is_english(text):
        yield from found


def _judge(
    skill: Skill,
    text: str,
    hosts: Iterable[str] | None,
    common: AbstractSet[str],
    at_description: Callable[..., Finding],
) -> Iterator[Finding]:
    """Yield what is wrong with a description in English."""
    words = [*_check_words(skill, text, common, at_description)]
    yield from words
    if (person := find_person(skill.description or "")) is not None:
        which, said = person
        message = f"the description speaks in the {which} person: {quoted(said)}"
        yield at_description("description-person", message, "write it in the third person: `Fills PDF forms`")
    if not words and len(text.split()) < _SHORT and says_only_when(text):
        message = f"no sentence says what the skill does: {quoted(text)}"
        yield at_description("description-what", message, "begin with what the skill does")
    yield from _check_cut(text, hosts, at_description)


def _check_words(
    skill: Skill, text: str, common: AbstractSet[str], at_description: Callable[..., Finding]
) -> Iterator[Finding]:
    """Check for words that say nothing of a subject, and for a missing `when`; at most one of them is reported."""
    words = text.split()
    terms = _specific_terms(text, common) if len(words) <= _FEW else None
    named = set(ordered_terms((skill.name or skill.folder).replace("-", " ").replace("_", " "))) if terms else set()
    if terms is not None and not terms and (general := _words_with_terms(text)):
        shown = ", ".join(quoted(word) for word in general[:_MAX_NAMED])
        message = f"the description fits most requests: no word names a subject ({shown})"
        yield at_description("description-general", message, "name what the skill works on: files, tools, formats")
    elif terms and len(terms) > 1 and named.issuperset(terms):
        message = f"the description says no more than the name: {quoted(text)}"
        yield at_description("description-repeats", message)
    elif len(words) < _SHORT and not says_when(text):
        message = f"no sentence says when to use the skill: {quoted(text, 100)}"
        yield at_description("description-when", message, "add a sentence such as `Use when ...`")


def _check_cut(text: str, hosts: Iterable[str] | None, at_description: Callable[..., Finding]) -> Iterator[Finding]:
    """Check whether agents cut the description before it says when to use the skill."""
    limits: dict[int, list[str]] = {}
    for name in TABLES if hosts is None else hosts:
        rules = load_host(name).description_rules
        if rules.past_limit == "cut" and rules.limit and len(text) > rules.limit:
            limits.setdefault(rules.limit, []).append(name)
    match = _find_when()(text.lower()) if limits else None
    if match is None:
        return
    cut = {limit: names for limit, names in limits.items() if match.start() >= limit}
    for limit, names in sorted(cut.items()):
        message = (
            f"{', '.join(names)} cut{'s' if len(names) == 1 else ''} the description after {limit:,} characters; "
            f"it says when to use the skill at character {match.start() + 1:,}: {quoted(text[match.start() :], 40)}"
        )
        yield at_description("description-cut", message, "say when to use the skill earlier")


# ── templates ────────────────────────────────────────────────────────────────────────────────────────────────────────

_TEMPLATES = re.compile(
    r"\[?TODO\b|\{\{|<[a-z ]{3,60}>$|\[(?:insert|your|describe|add|what|brief)\b[^\]]*\]$"
    r"|replace with (?:a )?description|replace this|your (?:skill )?description|skill description here"
    r"|(?:a )?(?:brief |short |one-line )?description of (?:what )?(?:this|the|your) skill(?: does)?\b"
    r"|brief description of\b|lorem ipsum",
    re.IGNORECASE,
)
"""How descriptions of templates begin: those of agentskills.io, Anthropic's `template` and `init_skill.py`, `skills
init`, and the usual placeholders."""


def is_template(description: str) -> bool:
    """Return whether a description is that of a template, and was never filled in."""
    return description.startswith(DESCRIPTION_PLACEHOLDER) or _TEMPLATES.match(description) is not None


# ── when ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_WHEN = (
    r"when(?:ever)?|if|before|after|while|during|once|until|upon|unless|in case|as soon as|not for|do not use|don't use"
    r"|us(?:e|ed|eful|ing|age|es)"
    r"(?: (?:it|this|these|them|skill|the|only|proactively|also|instead|primarily|mainly|always|best))*"
    r"(?: (?:for|to|by|as|in|on|at|with|cases?|scenarios?)|[: -]*(?:when|if))"
    r"|(?:invoked?|call(?:ed)?|run|load|appl(?:y|ies)|read|consult)(?: \S+){0,3} "
    r"(?:for|on|to|by|as|at|with|phrases?|words?|keywords?)"
    r"|trigger(?:s|ed|ing)?|activat(?:es?|ed|ion)|keywords?|ask(?:s|ed|ing)?|request(?:s|ed|ing)?|mention(?:s|ed|ing)?"
    r"|(?:suited|suitable|intended|meant|ideal|designed|perfect|great|best|helpful|recommended|relevant|required|needed"
    r"|handy|appropriate|made|good) (?:for|to|in)"
    r"|for (?:use|any|all|tasks|requests|questions|projects|work|anyone|(?:users|people|developers|teams|those) who)"
    r"|(?:tasks|questions|requests|work|problems|projects|files|scenarios|situations|cases|anything) "
    r"(?:such as|like|involving|about|that|requiring|where|related to|with|in which)"
    r"|for [a-z]+ing .{1,60}, (?:see|use)"
)
"""What says when to use a skill, in lower case."""


@lru_cache(maxsize=1)
def _find_when() -> Callable[[str], re.Match[str] | None]:
    return re.compile(rf"\b(?:{_WHEN})\b").search


def says_when(description: str) -> bool:
    """Return whether a description says when to use the skill: by a word such as `when`, `use for` or `triggers`."""
    return _find_when()(" ".join(description[:_MAX_CHARS].lower().split())) is not None


# ── the language ─────────────────────────────────────────────────────────────────────────────────────────────────────


def is_english(text: str) -> bool:
    """Return whether a text is in English, as far as its letters and its small words say."""
    if not text.isascii():
        letters = [character for character in text if character.isalpha()]
        if sum(character.isascii() for character in letters) < 0.9 * len(letters):
            return False
    return languages_of([text]) in ((), ("English",))


# ── person ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_QUOTED = re.compile(
    r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|(?<!\w)'[^'\n]{0,300}'(?!\w)|`[^`\n]{0,300}`|\([^()\n]{0,500}\)"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|(?:^|\s)[-*•]\s+|[;]\s")
_REPORTED = re.compile(
    r"\b(?:says?|said|ask(?:s|ed|ing)?|mention(?:s|ed)?|phrases?|such as|like|e\.g\.|triggers?|questions?|requests?|"
    r"keywords?|types?|wants?|tells?|examples?|prompts?|queries|when|whenever|if)\b|[:→]",
    re.IGNORECASE,
)
"""Words of a sentence that may report what a user says."""
_FIRST = re.compile(
    r"(?<![\w./&-])(?:I(?=['’ ](?:m|ll|ve|am|can|will|help|have|do|use|need|want)\b)|(?:[Mm]y|[Oo]ur|[Ww]e|me)\b)"
    r"(?![\w/&.-])"
)
_SECOND = re.compile(
    r"^You (?:are|can|will|['’]re|['’]ll|should be|have|get)\b"
    r"|\b(?:helps?|lets?|allows?|enables?|teach(?:es)?|guides?|shows?|gives?|assists?|walks?|makes?|saves?|turns?)"
    r" you(?:rself)?\b",
    re.IGNORECASE,
)


def find_person(description: str) -> tuple[str, str] | None:
    """Return `first` or `second` and the words for it, if a description says `I` or `we`, or addresses its reader.

    What a user says, in quotes or after words such as `asks`, does not count; nor does `you` in "use when you ...",
    which the agent reads as itself.
    """
    text = _QUOTED.sub(" ", description[:_MAX_CHARS])
    for sentence in _SENTENCE.split(text):
        sentence = sentence.strip()
        if not _REPORTED.search(sentence) and (match := _FIRST.search(sentence)):
            return "first", _around(sentence, match)
        if match := _SECOND.search(sentence):
            return "second", _around(sentence, match)
    return None


def _around(sentence: str, match: re.Match[str]) -> str:
    start = sentence.rfind(" ", 0, max(match.start() - 15, 0)) + 1
    end = sentence.find(" ", match.end() + 15)
    return sentence[start : end if end > 0 else None].strip()


# ── what ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_ONLY_WHEN = re.compile(
    r"(?:you should |you must |always |only )?(?:use|invoke|apply|trigger|activate|load|run|call)\b"
    r"(?: (?:this|the|it|skill|proactively|only))*(?:,)? (?:when|whenever|if|before|after|while|during)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says when, and not what."""


def says_only_when(description: str) -> bool:
    """Return whether every sentence of a description begins with when to use the skill."""
    sentences = [part.strip() for part in re.split(r"(?<=[.!?])\s+", description[:_MAX_CHARS]) if part.strip(" .")]
    return bool(sentences) and all(_ONLY_WHEN.match(sentence) for sentence in sentences)


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _specific_terms(text: str, common: AbstractSet[str] = frozenset()) -> list[str]:
    """Return the different terms of a description that name a subject."""
    found = dict.fromkeys(ordered_terms(text, whole=False))
    return [term for term in found if term not in generic_terms() and term not in common]


def _words_with_terms(text: str) -> list[str]:
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", text) if ordered_terms(word)]
    return list(dict.fromkeys(words))


def is_general(description: str, common: AbstractSet[str]) -> bool:
    """Return whether a description says nothing but what most others of a catalog say, or what fits most requests."""
    text = description[:_MAX_CHARS]
    return len(text.split()) <= _FEW and not _specific_terms(text, common)
