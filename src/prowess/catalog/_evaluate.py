"""found skill + Host -> what the host makes of it

One skill at a time: can it be read, what is it called, what is shown of it, is it kept from the model or switched off.
Which of several wins is decided in `decision`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import translate

from prowess._internal.frozen import Frozen
from prowess._internal.text import collapse_hidden_runs, neutral, quoted
from prowess.findings import Finding, Severity, apply_policy, finding
from prowess.hosts import (
    DESCRIPTION_ACTIONS,
    INVALID_YAML_CODES,
    NAME_ACTIONS,
    Flag,
    Host,
    apply_dialect,
    escape_entities,
    javascript_literal,
    javascript_string,
    measure_text,
    parse_fallback_fields,
    value_kind,
    value_matches,
)
from prowess.skill import check_skill

from ._entry import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.skill import Field, Skill

    from ._filesystem import Filesystem
    from ._scan import FoundSkill
    from ._settings import Settings

__all__ = ["ACTIVE_VERDICT", "Verdict", "Evaluation", "Evaluator"]


class Verdict(Frozen, kw_only=False):
    """A state, why, and by which rule."""

    state: State
    reason: str | None
    rule: str
    code: str | None = None
    """The finding that rejects, where one does."""


class Evaluation(Frozen):
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


class Evaluator:
    """One host's rules, ready to be applied to one skill after the other."""

    def __init__(self, host: Host, settings: Settings, filesystem: Filesystem) -> None:
        self.host, self.settings, self.filesystem = host, settings, filesystem
        self._patterns = [(re.compile(translate(glob)).match, what, by) for glob, what, by in settings.patterns]
        self._rejecting_codes = frozenset(host.reading.rejects)
        self._as_body_codes = frozenset(host.reading.as_body)
        self._as_empty_codes = frozenset(host.reading.as_empty)
        self._name_actions = _with_blank_action({**NAME_ACTIONS, **host.name_rules.on})
        self._description_actions = _with_blank_action({**DESCRIPTION_ACTIONS, **host.description_rules.on})

    def evaluate(self, item: FoundSkill) -> Evaluation:
        """Apply the host's rules to one skill."""
        folder = os.path.basename(os.path.dirname(item.path))
        findings = own = check_skill(item.skill)
        skill = self._apply_dialect(item, item.skill)
        if skill is not item.skill:
            item = item.with_skill(skill)
            own = check_skill(skill)
        codes = {problem.code for problem in item.skill.findings}
        fields = self._visible_fields(item, codes)
        verdict = self._reading_verdict(item, own, codes)
        rejects = self._rejecting_codes if verdict is not None else frozenset[str]()
        name, named = self._evaluate_name(fields, folder)
        alias = self._evaluate_alias(fields)
        description, first_line, described = self._evaluate_description(item, fields)
        verdict = (
            verdict
            or named
            or described
            or self._flag_verdict(item, fields)
            or self.settings_verdict(item, name, folder)
            or self.nested_verdict(item)
            or ACTIVE_VERDICT
        )
        shown = apply_policy(findings, "guide" if self.host.name == "prowess" else self.host.name, rejects)
        if verdict.code is not None and verdict.state is State.REJECTED:
            shown = _with_error(shown, verdict, item.path)
        if item.scan_root.scope in self.host.suppressed_scopes:
            shown = ()
        return Evaluation(
            name=name, alias=alias, description=description, first_line=first_line, verdict=verdict, findings=shown
        )

    def _apply_dialect(self, item: FoundSkill, skill: Skill) -> Skill:
        """Return a skill as it reads between the host's own fences, after its own repairs."""

        def text() -> str:
            return self.filesystem.text(item.real)

        return apply_dialect(skill, item.path, self.host.reading, text)

    def _visible_fields(self, item: FoundSkill, codes: set[str]) -> Mapping[str, Field] | None:
        """Return the front matter as the host reads it, or None where it sees none."""
        document = item.skill.document
        if document is None or document.frontmatter is None or codes & self._as_body_codes:
            return None
        if codes & self._as_empty_codes:
            return {}
        reading, fields = self.host.reading, item.skill.fields
        if not reading.second_parser:
            return fields
        texts = (fields.get(key) for key in ("name", "description"))
        wrong_types = reading.second_for_types and any(value is None or value.kind != "text" for value in texts)
        return (
            parse_fallback_fields(document, reading.second_parser)
            if codes & INVALID_YAML_CODES or wrong_types
            else fields
        )

    def _reading_verdict(self, item: FoundSkill, findings: tuple[Finding, ...], codes: set[str]) -> Verdict | None:
        """Refuse a skill that the host's reader gives up on."""
        if item.skill.document is None:
            return _rejection(findings[0].code, findings[0].message)
        if codes & (self._as_body_codes | self._as_empty_codes):
            return None
        problem = next(
            (one for one in findings if one.code in self._rejecting_codes and self._rejects_finding(one, item.skill)),
            None,
        )
        return None if problem is None else _rejection(problem.code, problem.message)

    def _rejects_finding(self, problem: Finding, skill: Skill) -> bool:
        """Say whether the host minds this finding: some let fields stand twice that they do not know."""
        known = self.host.reading.duplicates
        if problem.code != "yaml-duplicate-key" or not known or problem.line is None or skill.document is None:
            return True
        line = skill.document.text.split("\n")[problem.line - 1]
        return problem.column == 1 and line.split(":")[0].strip(" \"'") in known

    def _field_action(
        self, fields: Mapping[str, Field] | None, key: str, actions: Mapping[str, str]
    ) -> tuple[Field | None, str, str]:
        """Return a field, what it holds, and what the host does about that."""
        value = None if fields is None else fields.get(key)
        kind = self._parsed_kind(value)
        action = "text" if kind == "text" else actions.get(kind, "reject")
        if action == "value" and value is not None:
            value = value.with_changes(value=javascript_literal(str(value.value)))
        return value, kind, action

    def _evaluate_name(self, fields: Mapping[str, Field] | None, folder: str) -> tuple[str, Verdict | None]:
        """Return what the host calls a skill, and why it refuses it if it does."""
        rules = self.host.name_rules
        value, kind, action = self._field_action(fields, "name", self._name_actions)
        verdict = None
        name = folder
        if action == "reject":
            verdict = _rejection(_finding_code("name", kind), f"its name is {_describe_kind(kind)}")
        elif action != "folder" and value is not None:
            name = javascript_string(value)
        if rules.one_line:
            name = " ".join(name.split())
        elif rules.trim:
            name = name.strip()
        verdict = verdict or (
            self.name_limit_verdict(name, folder) if fields is not None or action != "folder" else None
        )
        for old, new in rules.replace.items():
            name = re.sub(old, new, name)
        return (folder if rules.identity == "folder" else name), verdict

    def _evaluate_alias(self, fields: Mapping[str, Field] | None) -> str:
        """Return the front matter's name as the host writes it."""
        value = None if fields is None else fields.get("name")
        kind = self._parsed_kind(value)
        action = "text" if kind == "text" else self._name_actions.get(kind, "reject")
        if value is None or action not in ("text", "value"):
            return ""
        return javascript_literal(str(value.value)) if action == "value" else javascript_string(value)

    def _parsed_kind(self, value: Field | None) -> str:
        """Name the kind of a value as the host's parser has it."""
        kind, reading = value_kind(value), self.host.reading
        if value is None or not isinstance(value.value, str):
            return kind
        if kind == "number" and reading.texts and re.fullmatch(reading.texts, value.value):
            return "text"
        plain = value.source.partition(":")[2].strip() == value.value
        return "number" if kind == "text" and plain and re.fullmatch(reading.not_texts or "(?!)", value.value) else kind

    def name_limit_verdict(self, name: str, folder: str) -> Verdict | None:
        """Refuse a name that the host does not take."""
        rules = self.host.name_rules
        if rules.max_length and len(name) > rules.max_length:
            return _rejection("name-too-long", f"its name has {len(name)} characters, more than {rules.max_length}")
        if rules.pattern and not re.fullmatch(rules.pattern, name):
            return _rejection("name-characters", f"{self.host.title} does not take the name {quoted(name)}")
        if rules.must_equal_folder and name != folder:
            return _rejection("name-not-folder", f"the name {quoted(name)} is not the folder's name {quoted(folder)}")
        for word in rules.reserved:
            if word in name.lower():
                return _rejection("name-reserved", f"the name {quoted(name)} holds the reserved word `{word}`")
        return None

    def _evaluate_description(
        self, item: FoundSkill, fields: Mapping[str, Field] | None
    ) -> tuple[str, str, Verdict | None]:
        """Return the description, its first line, and why the host refuses or hides the skill if it does."""
        rules = self.host.description_rules
        value, kind, action = self._field_action(fields, "description", self._description_actions)
        verdict = None
        text = javascript_string(value) if value is not None else ""
        if action == "reject":
            verdict = _rejection(_finding_code("description", kind), f"its description is {_describe_kind(kind)}")
        elif action == "hide":
            words = f"its description is {_describe_kind(kind)}, so the model is not told of it"
            verdict = Verdict(State.USER_ONLY, words, _finding_code("description", kind))
        elif action == "body":
            text = self._description_from_body(item, whole=fields is None)
        if rules.limit and rules.past_limit == "drop" and measure_text(text, rules.unit) > rules.limit:
            words = f"its description has {measure_text(text, rules.unit):,} characters, more than {rules.limit:,}"
            verdict = verdict or _rejection("description-too-long", words)
        if rules.one_line:
            text = " ".join(text.split())
        elif rules.trim:
            text = text.strip()
        line = text.split("\n", 1)[0].strip()
        when = fields.get("when_to_use") if fields is not None else None
        if "when_to_use" in rules.append and when is not None and when.kind == "text" and str(when.value).strip():
            text = f"{text}{rules.joiner}{str(when.value).strip()}"
        if rules.clean:
            text = collapse_hidden_runs(text)
        text = escape_entities(text, rules.escape)
        if rules.limit and rules.past_limit == "cut" and measure_text(text, rules.unit) > rules.limit:
            text = _truncate(text, rules.limit, rules.ellipsis, rules.unit)
        if "scope" in rules.append:
            word = self.host.scope_words.get(item.scan_root.scope, item.scan_root.scope)
            text, line = f"{text} ({word})", f"{line} ({word})"
        return text, line, verdict

    def _description_from_body(self, item: FoundSkill, *, whole: bool) -> str:
        """Take a description from the first lines of the body that are not blank."""
        if item.skill.document is None:
            return ""  # what was not read, perhaps because it is a link to elsewhere, is not read here either
        rules = self.host.description_rules
        if whole:
            text = self.filesystem.text(item.real)
        else:
            document = self._apply_dialect(item, self.filesystem.skill(item.path, real=item.real, whole=True)).document
            text = "" if document is None else document.body
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        if rules.fallback_headings == "skip":
            lines = [line for line in lines if not line.startswith("#")]
        joined = " ".join(lines[: rules.fallback_lines])
        if rules.fallback_headings == "strip":
            joined = re.sub(r"^#+\s+", "", joined)
        if rules.fallback_length and measure_text(joined, rules.unit) > rules.fallback_length:
            joined = _truncate(joined, rules.fallback_length, rules.fallback_ellipsis, rules.unit)
        return joined or rules.fallback

    def _flag_verdict(self, item: FoundSkill, fields: Mapping[str, Field] | None) -> Verdict | None:
        """Apply the fields with which an author keeps a skill from the model."""
        if fields is None:
            return None
        for flag in self.host.flags:
            if flag.file:
                if _sidecar_matches(self.filesystem, item.path, flag):
                    return Verdict(State(flag.state), flag.reason, flag.file)
            elif all(value_matches(fields.get(key), wanted) for key, wanted in flag.when.items()):
                return Verdict(State(flag.state), flag.reason, ", ".join(flag.when), flag.code or None)
        return None

    def settings_verdict(self, item: FoundSkill, name: str, folder: str) -> Verdict | None:
        """Apply what the user has set."""
        settings = self.settings
        if item.scan_root.scope == "project" and settings.trust == "untrusted":
            words = f"the folder is not trusted, says {neutral(settings.trust_source)}"
            return Verdict(State.UNTRUSTED, words, "trust")
        for path in (item.path, os.path.dirname(item.path), item.real, os.path.dirname(item.real)):
            if path in settings.disabled_paths:
                return Verdict(State.DISABLED, f"switched off in {neutral(settings.disabled_paths[path])}", "settings")
        what, by = self._settings_effect(name, folder)
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

    def _settings_effect(self, name: str, folder: str) -> tuple[str, str]:
        """Return what becomes of a name by the settings, a word of `Setting.effects`, and the file that says so."""
        settings = self.settings
        effect = settings.effects.get(name) or settings.folded_effects.get(name.lower())
        if effect is None and self.host.name_rules.identity == "folder":
            effect = settings.effects.get(folder)
        if effect is None:
            fitting = [(what, by) for fits, what, by in self._patterns if fits(name)]
            effect = fitting[-1] if fitting else ("on", "")
        return effect

    def nested_verdict(self, item: FoundSkill) -> Verdict | None:
        """Leave for later what lies below the working directory."""
        if item.scan_root.nested is None or item.scan_root.root.nested != "deferred":
            return None
        words = f"it lies below {neutral(item.scan_root.nested)} and appears when the client works there"
        return Verdict(State.DEFERRED, words, "nested")


ACTIVE_VERDICT = Verdict(State.ACTIVE, None, "found")
"""Of a skill that no rule says anything against."""


def _with_blank_action(actions: dict[str, str]) -> dict[str, str]:
    """Take white space alone as nothing, unless the host says otherwise."""
    if "empty" in actions:
        actions.setdefault("blank", actions["empty"])
    return actions


def _rejection(code: str, reason: str) -> Verdict:
    """Refuse a skill with a finding, which is the rule too."""
    return Verdict(State.REJECTED, reason, code, code)


def _with_error(findings: tuple[Finding, ...], verdict: Verdict, path: str) -> tuple[Finding, ...]:
    """Make the finding that rejects an error, whatever its code is elsewhere."""
    for index, item in enumerate(findings):
        if item.code == verdict.code:
            return (*findings[:index], item.with_changes(severity=Severity.ERROR), *findings[index + 1 :])
    extra = finding(verdict.code or verdict.rule, verdict.reason or "", path=path)
    return (*findings, extra.with_changes(severity=Severity.ERROR))


def _finding_code(field: str, kind: str) -> str:
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


def _describe_kind(kind: str) -> str:
    """Name a kind of value in a sentence that begins with `its name is`."""
    words = {
        "missing": "missing",
        "null": "empty",
        "empty": "empty",
        "blank": "blank",
        "bool": "true or false, not text",
    }
    return words.get(kind, f"a {kind}, not text")


def _truncate(text: str, limit: int, ellipsis: str, unit: str) -> str:
    """Cut a text to a limit, what stands for the rest included."""
    room = limit - len(ellipsis)
    kept = room
    if unit == "utf16":
        # A character takes two units at most, so half of what is too much can go at once.
        while (over := measure_text(text[:kept], unit) - room) > 0:
            kept -= over + 1 >> 1
    return text[:kept] + ellipsis


def _sidecar_matches(filesystem: Filesystem, path: str, flag: Flag) -> bool:
    """Say whether a file beside SKILL.md sets what a flag asks for."""
    table = filesystem.yaml(os.path.join(os.path.dirname(path), *flag.file.split("/")))
    for key, wanted in flag.when.items():
        value: object = table
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if not isinstance(value, str) or value.strip().lower() != wanted:
            return False
    return True
