"""Apply a host's rules to one skill: can it be read, what is it called, what is shown, is it hidden or switched off.

Which of several skills wins is decided in `_precedence`.
"""

from __future__ import annotations

import os
import re

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.findings import ALWAYS_ERRORS, Finding, Severity, apply_policy
from prowess.hosts import (
    INVALID_YAML_CODES,
    Host,
    field_or_entry,
    parse_fallback_fields,
    value_matches,
    without_null_items,
)
from prowess.skill import check_skill

from ._entry import AWAITS_TRUST, State
from ._evaluate_fields import FieldEvaluator, is_loose, name_in_root
from ._namespaces import Namespaces
from ._permission_rules import name_matcher
from ._rejection_hints import rejection_hint
from ._settings_variables import fill_braces
from ._sidecar_values import sidecar_matches
from ._verdicts import ACTIVE_VERDICT, LIST_ONLY, Verdict, rejection, with_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.hosts import Flag
    from prowess.skill import Field, Skill

    from ._filesystem import Filesystem
    from ._found_skill import FoundSkill
    from ._settings import Settings

__all__ = ["TYPED", "Evaluation", "Evaluator"]

TYPED = "user-invocable"
"""The field that says whether the user may type the name of a skill."""


_AWAITS_TRUST = Verdict(State.UNTRUSTED, "its user has not trusted the folder", AWAITS_TRUST)


class Evaluation(Frozen):
    """What a host shows of one skill, and its verdict."""

    name: str
    description: str
    """As the host shows it without a budget."""
    first_line: str
    """The description, if only its first line is shown."""
    typed: bool
    """Whether its user may type its name."""
    alias: str
    """The name in the front matter, for a host that uses the folder's name; empty if it reads no name."""
    verdict: Verdict
    findings: tuple[Finding, ...]


class Evaluator:
    """One host's rules, ready to be applied to many skills."""

    def __init__(self, host: Host, settings: Settings, filesystem: Filesystem) -> None:
        self.host, self.settings, self.filesystem = host, settings, filesystem
        self._fields = FieldEvaluator(host, filesystem)
        self._patterns = [(name_matcher(pattern), effect, file) for pattern, effect, file in settings.patterns]
        self._rejecting_codes = frozenset(host.reading.rejects)
        self._as_body_codes = frozenset(host.reading.as_body)
        self._loose_as_body_codes = self._as_body_codes.union(host.reading.loose_as_body)
        self._as_empty_codes = frozenset(host.reading.as_empty)
        self.refused_name = self._fields.refused_name
        self.name_limit_verdict = self._fields.name_limit_verdict
        self.reads_plainly = self._fields.reads_plainly
        self.shown_description = self._fields.shown_description
        self._namespaces = Namespaces(host.namespace_manifests, filesystem)

    def namespace(self, item: FoundSkill) -> str | None:
        """Return what comes before the name of a skill, without the colon: the name of its package or plugin."""
        if item.scan_root.namespace is not None:
            return item.scan_root.namespace
        return self._namespaces.of(os.path.dirname(item.real))

    def whole_name_verdict(self, item: FoundSkill, name: str) -> Verdict | None:
        """Return the verdict if a name with its namespace is too long."""
        most = self.host.name_rules.max_qualified
        namespace = self.namespace(item) if most else None
        if namespace is None or (length := len(name) + 1 + len(namespace)) <= most:
            return None
        return rejection("name-too-long", f"with its plugin, its name has {length} characters, more than {most}")

    def evaluate(self, item: FoundSkill) -> Evaluation:
        """Apply the host's rules to one skill."""
        folder = item.folder
        findings = host_findings = check_skill(item.skill)
        skill = self._fields.apply_dialect(item, item.skill)
        if skill is not item.skill:
            item = item.with_skill(skill)
            host_findings = check_skill(skill)
        codes = {problem.code for problem in item.skill.findings}
        fields = self.visible_fields(item, codes)
        root = item.scan_root.root
        if fields is not None and root.ignores:
            fields = {key: value for key, value in fields.items() if key not in root.ignores}
        reading_verdict = self._reading_verdict(item, host_findings, codes)
        if is_loose(item) and self.host.name_rules.loose == "file":
            name, name_verdict = self._fields.name_of_file(fields, item.path), None
        else:
            name, name_verdict = self._fields.name(fields, folder)
        name = name_in_root(item, fields, name)
        description, first_line, description_verdict = self._fields.description(item, fields)
        description = item.scan_root.description or description
        if variables := item.scan_root.variables:
            name, description, first_line = (fill_braces(text, variables) for text in (name, description, first_line))
        verdict = (
            self._unread_verdict(item)
            or reading_verdict
            or name_verdict
            or self.whole_name_verdict(item, name)
            or self._fields.refused_name(name)
            or description_verdict
            or self._root_verdict(item, name, folder, host_findings)
            or self._hiding_verdict(item, fields, self.settings_verdict(item, name, folder))
            or _list_verdict(item)
            or ACTIVE_VERDICT
        )
        if verdict.state in (State.ACTIVE, State.USER_ONLY):
            verdict = self.nested_verdict(item) or verdict
        if item.scan_root.root.unlisted and verdict.state in (State.DISABLED, State.USER_ONLY):
            verdict = Verdict(State.REJECTED, f"{verdict.reason}, and the agent's list leaves it out", verdict.rule)
        return Evaluation(
            name=name,
            typed=self.is_typed(fields),
            alias=self._fields.alias(fields),
            description=description,
            first_line=first_line,
            verdict=verdict,
            findings=self._host_findings(item, findings, host_findings, verdict, rejects=reading_verdict is not None),
        )

    def _root_verdict(self, item: FoundSkill, name: str, folder: str, findings: tuple[Finding, ...]) -> Verdict | None:
        """Return the verdict if the root is stricter than the host's other roots."""
        root = item.scan_root.root
        if root.name_is_folder and name != folder:
            return rejection("name-not-folder", f"the name {quoted(name)} is not the folder's name {quoted(folder)}")
        for problem in apply_policy(findings, "spec", frozenset()) if root.spec else ():
            if problem.severity is Severity.ERROR:
                return rejection(problem.code, problem.message)
        return None

    def _host_findings(
        self,
        item: FoundSkill,
        findings: tuple[Finding, ...],
        host_findings: tuple[Finding, ...],
        verdict: Verdict,
        *,
        rejects: bool,
    ) -> tuple[Finding, ...]:
        """Return the findings with the severities that they have for the host."""
        if item.scan_root.scope in self.host.suppressed_scopes or item.scan_root.root.files:
            return tuple(problem for problem in findings if problem.code in ALWAYS_ERRORS)
        policy = "guide" if self.host.name == "prowess" else self.host.name
        shown = apply_policy(findings, policy, self._rejecting_codes if rejects else frozenset())
        if verdict.code is not None and verdict.state is State.REJECTED:
            hint = rejection_hint(self.host, verdict, item.skill, findings, host_findings)
            shown = with_error(shown, host_findings, verdict, item.path, hint)
        return shown

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def visible_fields(self, item: FoundSkill, codes: set[str]) -> Mapping[str, Field] | None:
        """Return the front matter as the host reads it, or `None` if it sees none."""
        document = item.skill.document
        if document is not None and is_loose(item) and codes & self._loose_as_body_codes:
            # It has no front matter, and the rules about names count for the one of the file.
            return {}
        if document is None or document.frontmatter is None or codes & self._body_codes(item):
            return None
        if codes & self._as_empty_codes:
            return {}
        reading, fields = self.host.reading, item.skill.fields
        if self.host.fields.aliases:
            fields = {self.host.fields.aliases.get(key, key): value for key, value in fields.items()}
        if not reading.null_items:
            fields = {key: without_null_items(value) for key, value in fields.items()}
        if not reading.second_parser:
            return fields
        texts = (fields.get(key) for key in ("name", "description"))
        wrong_types = reading.second_for_types and any(value is None or value.kind != "text" for value in texts)
        if codes & INVALID_YAML_CODES or wrong_types:
            return parse_fallback_fields(document, reading.second_parser)
        return fields

    def _body_codes(self, item: FoundSkill) -> frozenset[str]:
        """Return the codes of findings with which the host reads a file as a body without front matter."""
        return self._loose_as_body_codes if is_loose(item) else self._as_body_codes

    def _reading_verdict(self, item: FoundSkill, findings: tuple[Finding, ...], codes: set[str]) -> Verdict | None:
        """Return the verdict if the host cannot read the skill."""
        if item.skill.document is None:
            return rejection(findings[0].code, findings[0].message)
        if self.host.reading.body_needed and not self._has_body(item, codes):
            return rejection("body-empty", "it has no instructions")
        unless = self.host.reading.loose_unless
        if unless and is_loose(item) and re.match(unless, item.skill.document.text):
            for problem in findings:
                if problem.code in self._loose_as_body_codes:
                    return rejection(problem.code, problem.message)
        if codes & (self._body_codes(item) | self._as_empty_codes):
            return None
        for problem in findings:
            if problem.code in self._rejecting_codes and self._rejects_finding(problem, item.skill):
                return rejection(problem.code, problem.message)
        return None

    def _has_body(self, item: FoundSkill, codes: set[str]) -> bool:
        """Return whether there is text where the host expects instructions."""
        document = item.skill.document
        if document is None or document.frontmatter is None or codes & self._body_codes(item):
            return bool(self.filesystem.text(item.real).strip())
        # For such a host the fast path reads only files with a body.
        return item.fast_fields is not None or bool(document.body.strip())

    def _rejects_finding(self, problem: Finding, skill: Skill) -> bool:
        """Return whether a finding makes the host reject the skill: some ignore duplicates of unknown fields."""
        known = self.host.reading.duplicates
        if problem.code != "yaml-duplicate-key" or not known or problem.line is None or skill.document is None:
            return True
        line = skill.document.text.split("\n")[problem.line - 1]
        return problem.column == 1 and line.split(":")[0].strip(" \"'") in known

    # ── flags, settings and place ────────────────────────────────────────────────────────────────────────────────────

    def flag_verdict(self, item: FoundSkill, fields: Mapping[str, Field] | None) -> Verdict | None:
        """Return the verdict if the author hides the skill from the model."""
        untrusted = item.scan_root.scope == "project" and self.settings.trust == "untrusted" and self.host.trust_hides
        if fields is None or untrusted:
            return None
        for flag in self.host.flags:
            if flag.file:
                if self.has_sidecar_value(item, flag):
                    return Verdict(State(flag.state), flag.reason, flag.file)
            elif all(value_matches(field_or_entry(fields, key), wanted) for key, wanted in flag.when.items()):
                return Verdict(State(flag.state), flag.reason, ", ".join(flag.when), flag.code or None)
        return None

    def has_sidecar_value(self, item: FoundSkill, flag: Flag) -> bool:
        """Return whether the file of a flag, beside SKILL.md, sets what the flag asks for."""
        return sidecar_matches(self.filesystem, item.path, flag, self.host.sidecar_types)

    def _undescribed_verdict(self, item: FoundSkill, fields: Mapping[str, Field] | None) -> Verdict | None:
        """Return the verdict if the host shows the skills of this root only with a description of their own."""
        if (
            item.scan_root.root.undescribed == "shown"
            or item.scan_root.description
            or self._fields.is_described(fields)
        ):
            return None
        reason = "its description is missing, so the model does not see it"
        state = State.USER_ONLY if self.is_typed(fields) else State.REJECTED
        return Verdict(state, reason, "description-missing")

    def is_typed(self, fields: Mapping[str, Field] | None) -> bool:
        """Return whether the user may type the name of a skill, so that one hidden from the model is listed at all."""
        wanted = [flag.when.get(TYPED, "") for flag in self.host.flags if flag.state == "rejected"]
        return fields is None or not any(value and value_matches(fields.get(TYPED), value) for value in wanted)

    def _unread_verdict(self, item: FoundSkill) -> Verdict | None:
        """Return the verdict if the client does not read the folder that the skill was found in."""
        folders = self.settings.hidden_folders
        off = item.scan_root.off or (folders.get(os.path.dirname(item.path), "") if folders else "")
        return Verdict(State.REJECTED, off, "settings") if off else None

    def _hiding_verdict(
        self, item: FoundSkill, fields: Mapping[str, Field] | None, by_user: Verdict | None
    ) -> Verdict | None:
        """Return what its author or the user says of a skill; one that is hidden from the model may also be off."""
        if by_user is not None and by_user.state is State.USER_ONLY and not self.is_typed(fields):
            by_user = Verdict(State.REJECTED, f"{by_user.reason}, who cannot type it", by_user.rule)
        by_author = self.flag_verdict(item, fields) or self._undescribed_verdict(item, fields)
        off = by_user is not None and by_user.state in (State.DISABLED, State.REJECTED)
        hidden = by_author is not None and by_author.state is State.USER_ONLY
        return by_user if off and hidden else by_author or by_user

    def settings_verdict(self, item: FoundSkill, name: str, folder: str) -> Verdict | None:
        """Return the verdict of the user's settings."""
        settings = self.settings
        if unread := self._unread_verdict(item):
            return unread
        if item.scan_root.scope == "project" and settings.trust == "untrusted" and self.host.trust_hides:
            if settings.trust_source == "default":
                return _AWAITS_TRUST
            reason = f"the folder is not trusted, says {neutral(settings.trust_source)}"
            return Verdict(State.UNTRUSTED, reason, "trust")
        namespace = self.namespace(item)
        if off := settings.entries.off(f"{namespace}:{name}" if namespace else name, item.real):
            return Verdict(State.DISABLED, f"switched off in {neutral(off)}", "settings")
        effect, file = self._settings_effect(name, folder) if item.scan_root.root.switches else ("on", "")
        if effect == "on" and item.scan_root.namespace is not None and item.scan_root.root.switches:
            effect, file = self._settings_effect(f"{item.scan_root.namespace}:{name}", folder)
        elif effect == "on" and item.scan_root.plugin and self.host.plugin_names:
            effect, file = self._settings_effect(f"{item.scan_root.plugin}:{name}", folder)
        if effect == "on" and settings.name_filter is not None and item.scan_root.scope != "plugin":
            effect, file = settings.name_filter.effect(name)
        source = neutral(file)
        match effect:
            case "on":
                return None
            case "gone":
                reason = f"switched off in {source}, so the agent does not list it"
                return Verdict(State.REJECTED, reason, "settings")
            case "off":
                return Verdict(State.DISABLED, f"switched off in {source}", "settings")
            case "user-only":
                return Verdict(State.USER_ONLY, f"left to the user in {source}", "settings")
            case _:
                return Verdict(State.ACTIVE, f"reduced to its name in {source}", "name-only")

    def _settings_effect(self, name: str, folder: str) -> tuple[str, str]:
        """Return the effect of the settings on a name, a word of `Setting.effects`, and the file that says so."""
        settings = self.settings
        effect = settings.effects.get(name) or settings.folded_effects.get(name.lower())
        if effect is None and self.host.name_rules.identity == "folder":
            effect = settings.effects.get(folder)
        if effect is None:
            matching = [(effect, file) for matches, effect, file in self._patterns if matches(name)]
            return matching[-1] if matching else ("on", "")
        return effect

    def nested_verdict(self, item: FoundSkill) -> Verdict | None:
        """Return the verdict on a skill below the working directory that the client finds later."""
        if item.scan_root.nested is None or item.scan_root.root.nested != "deferred":
            return None
        reason = f"it is below {neutral(item.scan_root.nested)} and appears when the agent works there"
        return Verdict(State.DEFERRED, reason, "nested")


def _list_verdict(item: FoundSkill) -> Verdict | None:
    """Return the verdict if only the client's own list has the skill."""
    return Verdict(State.USER_ONLY, item.scan_root.list_only, LIST_ONLY) if item.scan_root.list_only else None
