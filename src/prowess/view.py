"""found skill + Host -> what the host makes of it

One skill at a time: can it be read, what is it called, what is shown of it, is it kept from the model or switched off.
Which of several wins is decided in `decision`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import translate

from ._frozen import Frozen
from .entry import State
from .findings import Finding, Severity, finding, under_policy
from .host import DESCRIPTION_ON, NAME_ON, Flag, Host
from .lines import NOT_YAML, second_fields
from .reread import reread
from .rules import check_skill
from .template import escaped, measure
from .text import neutral, quoted, without_runs
from .values import value_kind, value_matches, value_text, worth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._frontmatter import Field
    from .config import Settings
    from .discovery import Found
    from .disk import Disk
    from .skill import Skill

__all__ = ["PLAINLY", "Verdict", "View", "Viewer"]


class Verdict(Frozen, kw_only=False):
    """A state, why, and by which rule."""

    state: State
    reason: str | None
    rule: str
    code: str | None = None
    """The finding that rejects, where one does."""


class View(Frozen):
    """What a host makes of one skill."""

    name: str
    description: str
    """As the host shows it where its budget does not matter."""
    first_line: str
    """What is left of it where only the first line is shown."""
    alias: str
    """What a host that goes by folders reads as the name; empty where it reads none."""
    verdict: Verdict
    findings: tuple[Finding, ...]


class Viewer:
    """One host's rules, ready to be applied to one skill after the other."""

    def __init__(self, host: Host, settings: Settings, disk: Disk) -> None:
        self.host, self.settings, self.disk = host, settings, disk
        self._patterns = [(re.compile(translate(glob)).match, what, by) for glob, what, by in settings.patterns]
        self._rejects = frozenset(host.reading.rejects)
        self._as_body = frozenset(host.reading.as_body)
        self._as_empty = frozenset(host.reading.as_empty)
        self._name_on = _with_blank({**NAME_ON, **host.name_rules.on})
        self._description_on = _with_blank({**DESCRIPTION_ON, **host.description_rules.on})

    def view(self, item: Found) -> View:
        """Apply the host's rules to one skill."""
        folder = os.path.basename(os.path.dirname(item.path))
        findings = own = check_skill(item.skill)
        skill = self._reread(item, item.skill)
        if skill is not item.skill:
            item = item.read_as(skill)
            own = check_skill(skill)
        codes = {problem.code for problem in item.skill.findings}
        fields = self._fields(item, codes)
        verdict = self._reading(item, own, codes)
        rejects = self._rejects if verdict is not None else frozenset[str]()
        name, named = self._name(fields, folder)
        alias = self._alias(fields)
        description, first_line, described = self._description(item, fields)
        verdict = (
            verdict
            or named
            or described
            or self._flags(item, fields)
            or self.by_settings(item, name, folder)
            or self.nested(item)
            or PLAINLY
        )
        shown = under_policy(findings, "guide" if self.host.name == "prowess" else self.host.name, rejects)
        if verdict.code is not None and verdict.state is State.REJECTED:
            shown = _marked(shown, verdict, item.path)
        if item.place.scope in self.host.suppressed_scopes:
            shown = ()
        return View(
            name=name, alias=alias, description=description, first_line=first_line, verdict=verdict, findings=shown
        )

    def _reread(self, item: Found, skill: Skill) -> Skill:
        """Return a skill as it reads between the host's own fences, after its own repairs."""

        def text() -> str:
            return self.disk.text(item.real)

        return reread(skill, item.path, self.host.reading, text)

    def _fields(self, item: Found, codes: set[str]) -> Mapping[str, Field] | None:
        """Return the front matter as the host reads it, or None where it sees none."""
        document = item.skill.document
        if document is None or document.front is None or codes & self._as_body:
            return None
        if codes & self._as_empty:
            return {}
        reading, fields = self.host.reading, item.skill.fields
        if not reading.second_parser:
            return fields
        texts = (fields.get(key) for key in ("name", "description"))
        wrong_types = reading.second_for_types and any(value is None or value.kind != "text" for value in texts)
        return second_fields(document, reading.second_parser) if codes & NOT_YAML or wrong_types else fields

    def _reading(self, item: Found, findings: tuple[Finding, ...], codes: set[str]) -> Verdict | None:
        """Refuse a skill that the host's reader gives up on."""
        if item.skill.document is None:
            return _rejected(findings[0].code, findings[0].message)
        if codes & (self._as_body | self._as_empty):
            return None
        problem = next((one for one in findings if one.code in self._rejects and self._minds(one, item.skill)), None)
        return None if problem is None else _rejected(problem.code, problem.message)

    def _minds(self, problem: Finding, skill: Skill) -> bool:
        """Say whether the host minds this finding: some let fields stand twice that they do not know."""
        known = self.host.reading.duplicates
        if problem.code != "yaml-duplicate-key" or not known or problem.line is None or skill.document is None:
            return True
        line = skill.document.text.split("\n")[problem.line - 1]
        return problem.column == 1 and line.split(":")[0].strip(" \"'") in known

    def _taken(
        self, fields: Mapping[str, Field] | None, key: str, actions: Mapping[str, str]
    ) -> tuple[Field | None, str, str]:
        """Return a field, what it holds, and what the host does about that."""
        value = None if fields is None else fields.get(key)
        kind = self._kind(value)
        action = "text" if kind == "text" else actions.get(kind, "reject")
        if action == "value" and value is not None:
            value = value.but(value=worth(str(value.value)))
        return value, kind, action

    def _name(self, fields: Mapping[str, Field] | None, folder: str) -> tuple[str, Verdict | None]:
        """Return what the host calls a skill, and why it refuses it if it does."""
        rules = self.host.name_rules
        value, kind, action = self._taken(fields, "name", self._name_on)
        verdict = None
        name = folder
        if action == "reject":
            verdict = _rejected(_code("name", kind), f"its name is {_as_said(kind)}")
        elif action != "folder" and value is not None:
            name = value_text(value)
        if rules.one_line:
            name = " ".join(name.split())
        elif rules.trim:
            name = name.strip()
        verdict = verdict or (self.name_limits(name, folder) if fields is not None or action != "folder" else None)
        for old, new in rules.replace.items():
            name = re.sub(old, new, name)
        return (folder if rules.identity == "folder" else name), verdict

    def _alias(self, fields: Mapping[str, Field] | None) -> str:
        """Return the front matter's name as the host writes it."""
        value = None if fields is None else fields.get("name")
        kind = self._kind(value)
        action = "text" if kind == "text" else self._name_on.get(kind, "reject")
        if value is None or action not in ("text", "value"):
            return ""
        return worth(str(value.value)) if action == "value" else value_text(value)

    def _kind(self, value: Field | None) -> str:
        """Name the kind of a value as the host's parser has it."""
        kind, reading = value_kind(value), self.host.reading
        if value is None or not isinstance(value.value, str):
            return kind
        if kind == "number" and reading.texts and re.fullmatch(reading.texts, value.value):
            return "text"
        plain = value.source.partition(":")[2].strip() == value.value
        return "number" if kind == "text" and plain and re.fullmatch(reading.not_texts or "(?!)", value.value) else kind

    def name_limits(self, name: str, folder: str) -> Verdict | None:
        """Refuse a name that the host does not take."""
        rules = self.host.name_rules
        if rules.max_length and len(name) > rules.max_length:
            return _rejected("name-too-long", f"its name has {len(name)} characters, more than {rules.max_length}")
        if rules.pattern and not re.fullmatch(rules.pattern, name):
            return _rejected("name-characters", f"{self.host.title} does not take the name {quoted(name)}")
        if rules.must_equal_folder and name != folder:
            return _rejected("name-not-folder", f"the name {quoted(name)} is not the folder's name {quoted(folder)}")
        for word in rules.reserved:
            if word in name.lower():
                return _rejected("name-reserved", f"the name {quoted(name)} holds the reserved word `{word}`")
        return None

    def _description(self, item: Found, fields: Mapping[str, Field] | None) -> tuple[str, str, Verdict | None]:
        """Return the description, its first line, and why the host refuses or hides the skill if it does."""
        rules = self.host.description_rules
        value, kind, action = self._taken(fields, "description", self._description_on)
        verdict = None
        text = value_text(value) if value is not None else ""
        if action == "reject":
            verdict = _rejected(_code("description", kind), f"its description is {_as_said(kind)}")
        elif action == "hide":
            words = f"its description is {_as_said(kind)}, so the model is not told of it"
            verdict = Verdict(State.USER_ONLY, words, _code("description", kind))
        elif action == "body":
            text = self._from_body(item, whole=fields is None)
        if rules.limit and rules.past_limit == "drop" and measure(text, rules.unit) > rules.limit:
            words = f"its description has {measure(text, rules.unit):,} characters, more than {rules.limit:,}"
            verdict = verdict or _rejected("description-too-long", words)
        if rules.one_line:
            text = " ".join(text.split())
        elif rules.trim:
            text = text.strip()
        line = text.split("\n", 1)[0].strip()
        when = fields.get("when_to_use") if fields is not None else None
        if "when_to_use" in rules.append and when is not None and when.kind == "text" and str(when.value).strip():
            text = f"{text}{rules.joiner}{str(when.value).strip()}"
        if rules.clean:
            text = without_runs(text)
        text = escaped(text, rules.escape)
        if rules.limit and rules.past_limit == "cut" and measure(text, rules.unit) > rules.limit:
            text = _cut(text, rules.limit, rules.ellipsis, rules.unit)
        if "scope" in rules.append:
            word = self.host.scope_words.get(item.place.scope, item.place.scope)
            text, line = f"{text} ({word})", f"{line} ({word})"
        return text, line, verdict

    def _from_body(self, item: Found, *, whole: bool) -> str:
        """Take a description from the first lines of the body that are not blank."""
        if item.skill.document is None:
            return ""  # what was not read, perhaps because it is a link to elsewhere, is not read here either
        rules = self.host.description_rules
        if whole:
            text = self.disk.text(item.real)
        else:
            document = self._reread(item, self.disk.skill(item.path, real=item.real, whole=True)).document
            text = "" if document is None else document.body
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        if rules.fallback_headings == "skip":
            lines = [line for line in lines if not line.startswith("#")]
        joined = " ".join(lines[: rules.fallback_lines])
        if rules.fallback_headings == "strip":
            joined = re.sub(r"^#+\s+", "", joined)
        if rules.fallback_length and measure(joined, rules.unit) > rules.fallback_length:
            joined = _cut(joined, rules.fallback_length, rules.fallback_ellipsis, rules.unit)
        return joined or rules.fallback

    def _flags(self, item: Found, fields: Mapping[str, Field] | None) -> Verdict | None:
        """Apply the fields with which an author keeps a skill from the model."""
        if fields is None:
            return None
        for flag in self.host.flags:
            if flag.file:
                if _beside(self.disk, item.path, flag):
                    return Verdict(State(flag.state), flag.reason, flag.file)
            elif all(value_matches(fields.get(key), wanted) for key, wanted in flag.when.items()):
                return Verdict(State(flag.state), flag.reason, ", ".join(flag.when), flag.code or None)
        return None

    def by_settings(self, item: Found, name: str, folder: str) -> Verdict | None:
        """Apply what the user has set."""
        settings = self.settings
        if item.place.scope == "project" and settings.trust == "untrusted":
            words = f"the folder is not trusted, says {neutral(settings.trust_by)}"
            return Verdict(State.UNTRUSTED, words, "trust")
        for path in (item.path, os.path.dirname(item.path), item.real, os.path.dirname(item.real)):
            if path in settings.off_paths:
                return Verdict(State.DISABLED, f"switched off in {neutral(settings.off_paths[path])}", "settings")
        what, by = self._effect(name, folder)
        if what == "on":
            return None
        where = neutral(by)
        match what:
            case "gone":
                words = f"switched off in {where}, so that the client does not know it"
                return Verdict(State.REJECTED, words, "settings")
            case "off":
                return Verdict(State.DISABLED, f"switched off in {where}", "settings")
            case "user-only":
                return Verdict(State.USER_ONLY, f"left to the user in {where}", "settings")
            case _:
                return Verdict(State.ACTIVE, f"cut down to its name in {where}", "name-only")

    def _effect(self, name: str, folder: str) -> tuple[str, str]:
        """Return what becomes of a name by the settings, a word of `Setting.effects`, and the file that says so."""
        settings = self.settings
        effect = settings.effects.get(name) or settings.folded.get(name.lower())
        if effect is None and self.host.name_rules.identity == "folder":
            effect = settings.effects.get(folder)
        if effect is None:
            fitting = [(what, by) for fits, what, by in self._patterns if fits(name)]
            effect = fitting[-1] if fitting else ("on", "")
        return effect

    def nested(self, item: Found) -> Verdict | None:
        """Leave for later what lies below the working directory."""
        if item.place.nested is None or item.place.root.nested != "deferred":
            return None
        words = f"it lies below {neutral(item.place.nested)} and appears when the client works there"
        return Verdict(State.DEFERRED, words, "nested")


PLAINLY = Verdict(State.ACTIVE, None, "found")
"""Of a skill that no rule says anything against."""


def _with_blank(actions: dict[str, str]) -> dict[str, str]:
    """Take white space alone as nothing, unless the host says otherwise."""
    if "empty" in actions:
        actions.setdefault("blank", actions["empty"])
    return actions


def _rejected(code: str, reason: str) -> Verdict:
    """Refuse a skill with a finding, which is the rule too."""
    return Verdict(State.REJECTED, reason, code, code)


def _marked(findings: tuple[Finding, ...], verdict: Verdict, path: str) -> tuple[Finding, ...]:
    """Make the finding that rejects an error, whatever its code is elsewhere."""
    for index, item in enumerate(findings):
        if item.code == verdict.code:
            return (*findings[:index], item.but(severity=Severity.ERROR), *findings[index + 1 :])
    extra = finding(verdict.code or verdict.rule, verdict.reason or "", path=path)
    return (*findings, extra.but(severity=Severity.ERROR))


def _code(field: str, kind: str) -> str:
    """Name the finding for a name or description that is not the text it should be."""
    suffix = {
        "missing": "missing",
        "null": "empty",
        "empty": "empty",
        "blank": "empty",
        "list": "not-text",
        "map": "not-text",
    }
    return f"{field}-{suffix.get(kind, 'type')}"


def _as_said(kind: str) -> str:
    """Name a kind of value in a sentence that begins with `its name is`."""
    words = {
        "missing": "missing",
        "null": "empty",
        "empty": "empty",
        "blank": "blank",
        "bool": "true or false, not text",
    }
    return words.get(kind, f"a {kind}, not text")


def _cut(text: str, limit: int, ellipsis: str, unit: str) -> str:
    """Cut a text to a limit, what stands for the rest included."""
    room = limit - len(ellipsis)
    kept = room
    if unit == "utf16":
        # A character takes two units at most, so half of what is too much can go at once.
        while (over := measure(text[:kept], unit) - room) > 0:
            kept -= over + 1 >> 1
    return text[:kept] + ellipsis


def _beside(disk: Disk, path: str, flag: Flag) -> bool:
    """Say whether a file beside SKILL.md sets what a flag asks for."""
    table = disk.yaml(os.path.join(os.path.dirname(path), *flag.file.split("/")))
    for key, wanted in flag.when.items():
        value: object = table
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if not isinstance(value, str) or value.strip().lower() != wanted:
            return False
    return True
