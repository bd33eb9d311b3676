"""Apply a host's rules to one skill: can it be read, what is it called, what is shown, is it hidden or switched off.

The rules of a host are compiled once. Most skills are plain: the fast path has read their name and description, and the
host reads them as they are. Such a skill is parsed, and its findings are made, only if a rule or a caller needs more.
Which of several skills wins is decided in `_precedence`.
"""

from __future__ import annotations

import os
import re
from functools import cache, partial

from prowess._internal.text import neutral, quoted
from prowess.clients import of_client
from prowess.clients.reading import (
    INVALID_YAML_CODES,
    are_plain_keys,
    field_or_entry,
    fields_as_read,
    is_usable_body,
    plugin_above,
    refuses_file,
    rejects_finding,
    value_matches,
)
from prowess.clients.settings import fill_braces, name_matcher
from prowess.findings import ALWAYS_ERRORS, CODES, Finding, apply_policy
from prowess.skill import (
    Requirements,
    check_skill,
    plain_field,
)

from ._entry import AWAITS_TRUST, Entry, State
from ._evaluate_fields import FieldEvaluator, is_loose
from ._plain_findings import has_no_findings
from ._rejection_hints import rejection_hint
from ._sidecar_values import sidecar_matches
from ._verdicts import ACTIVE_VERDICT, LIST_ONLY, Verdict, rejection, with_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from prowess.clients.settings import Settings
    from prowess.filesystem import Filesystem
    from prowess.find import FoundSkill, ScanRoot
    from prowess.hosts import Flag, Host, Root
    from prowess.skill import FastFrontmatter, Field, Skill

    Rule = Callable[["Reading"], Verdict | None]

_TYPED = "user-invocable"
"""The field that says whether the user may type the name of a skill."""
_AWAITS_TRUST = Verdict(State.UNTRUSTED, "the user of the agent has not trusted the folder", AWAITS_TRUST)
_UNCHECKED_CODES = frozenset(
    code
    for code in CODES
    if code in ("name-not-folder", "name-reserved", "special-token")
    or code.startswith(("description-", "license-", "compatibility-", "metadata-", "allowed-tools-", "field-"))
) - {"description-missing", "description-empty", "description-not-text", "description-type"}
"""The only codes of findings that a skill of the fast path can have."""
_NO_REQUIREMENTS = Requirements()
_NO_FRONT: FastFrontmatter = ("", "", frozenset(), b"")


# ── what a client may do in its own way ──────────────────────────────────────────────────────────────────────────────


def lists_hidden(root: Root) -> bool:  # noqa: ARG001
    """Return whether the client's own list has skills of a root that its model does not see."""
    return True


def shows_undescribed(root: Root) -> bool:  # noqa: ARG001
    """Return whether the model sees skills of a root without a description and a `when_to_use` of their own."""
    return True


def settings_count(root: Root) -> bool:  # noqa: ARG001
    """Return whether settings that switch single skills off count for a root."""
    return True


def shares_names_of_plugins() -> bool:
    """Return whether skills of several plugins with one name all stay, as `PLUGIN:SKILL`, if a plugin's wins the name.

    A setting may name a skill of a plugin in this way in any case.
    """
    return False


def root_problem(root: Root, skill: Skill) -> Finding | None:  # noqa: ARG001
    """Return what keeps a skill from being loaded only in this root."""
    return None


# ── one skill ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Reading:
    """What a host reads of one skill. It is small if the skill is plain, since there may be ten thousand."""

    __slots__ = (
        "description", "description_verdict", "fields", "first_line", "is_plain", "item", "name", "name_verdict",
        "seen", "unreadable", "verdict",
    )  # fmt: skip

    item: FoundSkill
    seen: FoundSkill
    """The same as the host reads it: between its own fences, after its own repairs."""
    is_plain: bool
    """Whether the host reads name and description as the fast path does; all from `unreadable` on is then missing."""
    name: str
    """What the host calls it, without a namespace."""
    name_verdict: Verdict | None
    """What the host does with it because of its name."""
    verdict: Verdict
    """What the host does with it."""
    unreadable: Verdict | None
    """If the host cannot read it."""
    description_verdict: Verdict | None
    """What the host does with it because of its description."""
    fields: Mapping[str, Field] | None
    """The front matter as the host sees it, or `None` if it sees none."""
    description: str
    """As the host shows it without a budget."""
    first_line: str
    """The description, if only its first line is shown."""

    def __init__(self, item: FoundSkill, *, is_plain: bool) -> None:
        self.item = self.seen = item
        self.is_plain = is_plain


class Evaluator:
    """One host's rules, ready to make entries of found skills. It loads their other attributes on first use."""

    def __init__(self, host: Host, settings: Settings, filesystem: Filesystem) -> None:
        self.host, self.settings, self.filesystem = host, settings, filesystem
        self._fields = FieldEvaluator(host, filesystem)
        self._lists_hidden, self._root_problem = of_client(host.name, lists_hidden), of_client(host.name, root_problem)
        self._shows_undescribed = of_client(host.name, shows_undescribed)
        self._shares_names = of_client(host.name, shares_names_of_plugins)()
        self._settings_count = of_client(host.name, settings_count)
        self._patterns = [(name_matcher(pattern), effect, file) for pattern, effect, file in settings.patterns]
        reading = host.reading
        self._rejecting_codes = frozenset(reading.rejects)
        self._as_body_codes = frozenset(reading.as_body)
        self._loose_as_body_codes = self._as_body_codes.union(reading.loose_as_body)
        self._as_empty_codes = frozenset(reading.as_empty)
        own = partial(of_client, host.name)
        self._fields_as_read, self._are_plain_keys = own(fields_as_read), own(are_plain_keys)
        self._rejects_finding, self._refuses_file = own(rejects_finding), own(refuses_file)
        self._is_usable_body, self._plugin_above = own(is_usable_body), own(plugin_above)
        self._needs_body = self._is_usable_body is not is_usable_body
        self._has_plain_skills = _UNCHECKED_CODES.isdisjoint(reading.rejects) and (
            reading.whole_file or not self._needs_body
        )
        self._plain_root: tuple[ScanRoot | None, bool] = None, False
        """The last scan root that was asked about, and whether its skills can be plain."""
        self.root_alone: ScanRoot | None = None
        """The folder whose skill was last evaluated alone, as a root."""
        self._flags_of_keys: dict[frozenset[str], tuple[list[Flag], list[str]]] = {}
        """By the keys of plain front matter: the flags that may match, and the fields that these look at."""
        self._plugin_names: dict[str, str | None] = {}
        """Real folder to the name of the nearest plugin at or above it."""
        self._has_settings = settings.trust == "untrusted" or bool(
            settings.effects
            or settings.folded_effects
            or settings.patterns
            or settings.name_filter
            or settings.hidden_folders
            or settings.entries.names
            or settings.entries.paths
        )
        rules: list[tuple[Rule, object]] = [
            (self._unread_verdict, settings.hidden_folders),
            (lambda reading: reading.unreadable, False),
            (lambda reading: reading.name_verdict, self._fields.limits_names),
            (self._own_name_verdict, self._fields.has_own_name_rules),
            (lambda reading: reading.description_verdict, False),
            (self._root_verdict, False),
            (self._hiding_verdict, self._has_settings or host.flags),
            (_list_verdict, False),
        ]
        self._rules = [rule for rule, _ in rules]
        """In the order in which they count: the first one with a verdict decides."""
        self._plain_rules = [rule for rule, may_concern_plain in rules if may_concern_plain]

    def entry(self, item: FoundSkill) -> Entry:
        """Return the entry of a found skill."""
        reading = self._read_plainly(item) or self._read(item)
        reading.verdict = verdict = self._verdict(reading)
        name, namespace, scan_root, folder = reading.name, self.namespace(item), item.scan_root, item.folder
        fast_fields = item.fast_fields
        values = (
            name if namespace is None else f"{namespace}:{name}",
            None,
            item.skill.name if fast_fields is None else fast_fields[0],
            name if folder == name else folder,  # one text in memory
            *(item.path, item.real, scan_root.scope, scan_root.path, namespace),
            *(verdict.state, verdict.reason, verdict.rule, None, None),
        )
        return Entry.from_values(self, reading, values)

    def _verdict(self, reading: Reading) -> Verdict:
        """Return what the host does with a skill."""
        verdict = None
        for rule in self._plain_rules if reading.is_plain else self._rules:
            if (verdict := rule(reading)) is not None:
                break
        scan_root = reading.item.scan_root
        verdict = verdict or ACTIVE_VERDICT
        if (
            verdict.state in (State.ACTIVE, State.USER_ONLY)
            and scan_root.nested is not None
            and scan_root.root.nested == "deferred"
        ):
            reason = f"it is below {neutral(scan_root.nested)} and appears when the agent works there"
            verdict = Verdict(State.DEFERRED, reason, "nested")
        if verdict.state in (State.DISABLED, State.USER_ONLY) and not self._lists_hidden(scan_root.root):
            verdict = Verdict(State.REJECTED, f"{verdict.reason}, and the agent's list leaves it out", verdict.rule)
        return verdict

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_plainly(self, item: FoundSkill) -> Reading | None:
        """Return what the host reads of a plain skill; `None` if that takes a parser."""
        fast_fields = item.fast_fields
        if fast_fields is None or not self._can_be_plain(item.scan_root) or not self.reads_plainly(fast_fields):
            return None
        reading = Reading(item, is_plain=True)
        reading.name, reading.name_verdict = self._fields.plain_name(fast_fields[0], item)
        return reading

    def _can_be_plain(self, scan_root: ScanRoot) -> bool:
        """Return whether the skills of a root can be plain: it reads, names and shows none in a way of its own."""
        known, answer = self._plain_root
        if known is not scan_root:
            root = scan_root.root
            has_own_rules = (scan_root.off or scan_root.list_only or scan_root.description or scan_root.variables) or (
                root.name_is_folder or root.files or root.ignores
            )
            answer = self._has_plain_skills and not has_own_rules
            self._plain_root = scan_root, answer
        return answer

    def reads_plainly(self, fast_fields: FastFrontmatter) -> bool:
        """Return whether the host reads front matter of the fast path as that does."""
        return self._are_plain_keys(fast_fields[2]) and self._fields.reads_plainly(fast_fields)

    def _read(self, item: FoundSkill) -> Reading:
        """Return what the host reads of a skill that is parsed in full."""
        reading = Reading(item, is_plain=False)
        skill = self._fields.apply_dialect(item, item.skill)
        if skill is not item.skill:
            reading.seen = item = item.with_skill(skill)
        scan_root = item.scan_root
        fields = self._visible_fields(item)
        if fields is not None and scan_root.root.ignores:
            fields = {key: value for key, value in fields.items() if key not in scan_root.root.ignores}
        name = self._fields.name_of_file(fields, item.path) if is_loose(item) else None
        reading.name_verdict = None
        if name is None:
            name, reading.name_verdict = self._fields.name(fields, item)
        name = self._fields.name_in_root(fields, item, name)
        description, first_line, reading.description_verdict = self._fields.description(item, fields)
        description = scan_root.description or description
        if variables := scan_root.variables:
            name, description, first_line = (fill_braces(text, variables) for text in (name, description, first_line))
        reading.name, reading.description, reading.first_line = name, description, first_line
        reading.fields, reading.unreadable = fields, self._reading_verdict(item)
        return reading

    def _visible_fields(self, item: FoundSkill) -> Mapping[str, Field] | None:
        """Return the front matter as the host reads it, or `None` if it sees none."""
        document, codes = item.skill.document, _codes(item.skill)
        if document is not None and is_loose(item) and codes & self._loose_as_body_codes:
            # It has no front matter, and the rules about names count for the one of the file.
            return {}
        if document is None or document.frontmatter is None or codes & self._body_codes(item):
            return None
        if codes & self._as_empty_codes:
            return {}
        return self._fields_as_read(item.skill.fields, document, is_valid=codes.isdisjoint(INVALID_YAML_CODES))

    def _body_codes(self, item: FoundSkill) -> frozenset[str]:
        """Return the codes of findings with which the host reads a file as a body without front matter."""
        return self._loose_as_body_codes if is_loose(item) else self._as_body_codes

    def _reading_verdict(self, item: FoundSkill) -> Verdict | None:
        """Return the verdict if the host cannot read the skill."""
        if item.skill.document is None:
            return rejection(item.skill.findings[0].code, item.skill.findings[0].message)
        if self._needs_body and not self._has_body(item):
            return rejection("body-empty", "it has no instructions")
        rejecting = self._rejecting_codes
        if is_loose(item) and self._refuses_file(item.skill.document.text):
            for problem in check_skill(item.skill):
                if problem.code in self._loose_as_body_codes:
                    return rejection(problem.code, problem.message)
        if not rejecting or not _codes(item.skill).isdisjoint(self._body_codes(item) | self._as_empty_codes):
            return None
        for problem in check_skill(item.skill):
            if problem.code in rejecting and self._rejects_finding(problem, item.skill):
                return rejection(problem.code, problem.message)
        return None

    def _has_body(self, item: FoundSkill) -> bool:
        """Return whether there is text where the host expects instructions."""
        document = item.skill.document
        if document is None or document.frontmatter is None or _codes(item.skill) & self._body_codes(item):
            return self._is_usable_body(self.filesystem.text(item.real))
        # For such a host the fast path reads only files with a body.
        return item.fast_fields is not None or self._is_usable_body(document.body)

    # ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def namespace(self, item: FoundSkill) -> str | None:
        """Return what comes before the name of a skill, without the colon: the name of its package or plugin."""
        if item.scan_root.namespace is not None or self._plugin_above is plugin_above:
            return item.scan_root.namespace
        return self._plugin_above(os.path.dirname(item.real), self.filesystem, self._plugin_names)

    def _own_name_verdict(self, reading: Reading) -> Verdict | None:
        """Return the verdict if the client alone refuses a name."""
        return self._fields.own_name_verdict(reading.name, self.namespace(reading.item))

    def _root_verdict(self, reading: Reading) -> Verdict | None:
        """Return the verdict if the root is stricter than the host's other roots."""
        root, name, folder = reading.item.scan_root.root, reading.name, reading.seen.folder
        if root.name_is_folder and name != folder:
            return rejection("name-not-folder", f"the name {quoted(name)} is not the folder's name {quoted(folder)}")
        problem = self._root_problem(root, reading.seen.skill)
        return None if problem is None else rejection(problem.code, problem.message)

    # ── flags, settings and place ────────────────────────────────────────────────────────────────────────────────────

    def _unread_verdict(self, reading: Reading) -> Verdict | None:
        """Return the verdict if the client does not read the folder that the skill was found in."""
        item, folders = reading.item, self.settings.hidden_folders
        off = item.scan_root.off or (folders.get(os.path.dirname(item.path), "") if folders else "")
        return Verdict(State.REJECTED, off, "settings") if off else None

    def _hiding_verdict(self, reading: Reading) -> Verdict | None:
        """Return what its author or the user says of a skill; one that is hidden from the model may also be off."""
        by_user = self._settings_verdict(reading) if self._has_settings else None
        if by_user is not None and by_user.state is State.USER_ONLY and not self._is_typed(reading):
            by_user = Verdict(State.REJECTED, f"{by_user.reason}, who cannot type it", by_user.rule)
        by_author = self._flag_verdict(reading) or self._undescribed_verdict(reading)
        off = by_user is not None and by_user.state in (State.DISABLED, State.REJECTED)
        hidden = by_author is not None and by_author.state is State.USER_ONLY
        return by_user if off and hidden else by_author or by_user

    def _is_untrusted(self, item: FoundSkill) -> bool:
        return item.scan_root.scope == "project" and self.settings.trust == "untrusted" and self.host.trust_hides

    def _flag_verdict(self, reading: Reading) -> Verdict | None:
        """Return the verdict if the author hides the skill from the model."""
        if not self.host.flags or self._is_untrusted(reading.item):
            return None
        flags, fields = self._plain_flags(reading) if reading.is_plain else (self.host.flags, reading.fields)
        if fields is None:
            return None
        for flag in flags:
            if flag.file:
                if self._has_sidecar_value(reading.item, flag):
                    return Verdict(State(flag.state), flag.reason, flag.file)
            elif all(value_matches(field_or_entry(fields, key), wanted) for key, wanted in flag.when.items()):
                return Verdict(State(flag.state), flag.reason, ", ".join(flag.when), flag.code or None)
        return None

    def _plain_flags(self, reading: Reading) -> tuple[Sequence[Flag], Mapping[str, Field] | None]:
        """Return the flags that a plain skill may have, and the fields that decide about them."""
        _, _, keys, front = reading.item.fast_fields or _NO_FRONT
        known = self._flags_of_keys.get(keys)
        if known is None:
            flags = [flag for flag in self.host.flags if flag.file or _needed_fields(flag) <= keys]
            looked_at = {key.partition(".")[0] for flag in flags if not flag.file for key in flag.when}
            known = self._flags_of_keys[keys] = flags, sorted(looked_at & keys)
        flags, names = known
        fields: dict[str, Field] = {}
        for name in names:
            rows = _field_rows(name)(front)
            field = None if rows is None else plain_field(rows[1].decode())
            if field is None:
                return flags, self._visible_fields(reading.item)
            fields[name] = field
        return flags, self._fields_as_read(fields, None, is_valid=True)

    def _has_sidecar_value(self, item: FoundSkill, flag: Flag) -> bool:
        """Return whether the file of a flag, beside SKILL.md, sets what the flag asks for."""
        folder = os.path.dirname(item.path)
        return self.filesystem.may_contain(folder, flag.file.partition("/")[0]) and sidecar_matches(
            self.filesystem, item.path, flag, self.host.sidecar_types
        )

    def _undescribed_verdict(self, reading: Reading) -> Verdict | None:
        """Return the verdict if the host shows the skills of this root only with a description of their own."""
        scan_root = reading.item.scan_root
        if self._shows_undescribed(scan_root.root) or scan_root.description:
            return None
        if self._fields.is_described(reading.fields):
            return None
        reason = "its description is missing, so the model does not see it"
        state = State.USER_ONLY if self._is_typed(reading) else State.REJECTED
        return Verdict(state, reason, "description-missing")

    def _is_typed(self, reading: Reading) -> bool:
        """Return whether the user may type the name of a skill, so that one hidden from the model is listed at all."""
        wanted = [flag.when[_TYPED] for flag in self.host.flags if flag.state == "rejected" and flag.when.get(_TYPED)]
        if not wanted:
            return True
        fields = self._visible_fields(reading.item) if reading.is_plain else reading.fields
        return fields is None or not any(value_matches(fields.get(_TYPED), value) for value in wanted)

    def _settings_verdict(self, reading: Reading) -> Verdict | None:
        """Return the verdict of the user's settings."""
        item, name, folder, settings = reading.item, reading.name, reading.seen.folder, self.settings
        if self._is_untrusted(item):
            if settings.trust_source == "default":
                return _AWAITS_TRUST
            reason = f"the folder is not trusted, says {neutral(settings.trust_source)}"
            return Verdict(State.UNTRUSTED, reason, "trust")
        namespace = self.namespace(item)
        if off := settings.entries.off(f"{namespace}:{name}" if namespace else name, item.real):
            return Verdict(State.DISABLED, f"switched off in {neutral(off)}", "settings")
        count = self._settings_count(item.scan_root.root)
        effect, file = self._settings_effect(name, folder) if count else ("on", "")
        if effect == "on" and item.scan_root.namespace is not None and count:
            effect, file = self._settings_effect(f"{item.scan_root.namespace}:{name}", folder)
        elif effect == "on" and item.scan_root.plugin and self._shares_names:
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

    # ── what callers ask for later ───────────────────────────────────────────────────────────────────────────────────

    def load_field(self, reading: Reading, name: str) -> Any:
        """Return an attribute of an entry that was not set when it was made."""
        return _ATTRIBUTE_GETTERS[name](self, reading)

    def known_fingerprints(self) -> Mapping[str, bytes]:
        """Return the fingerprints of files that the fast path read, by path; empty ones without a record."""
        return self.filesystem.known_fingerprints()

    def description(self, reading: Reading) -> str:
        """Return the description as the host shows it without a budget."""
        fast_fields = reading.item.fast_fields
        if reading.is_plain and self._fields.only_trims and fast_fields is not None:
            return fast_fields[1]
        return self._shown(reading)[0]

    def first_line(self, entry: Entry) -> str:
        """Return the first line of the description of an entry of this host."""
        return self._shown(entry.source[1])[1]

    def _shown(self, reading: Reading) -> tuple[str, str]:
        if not reading.is_plain:
            return reading.description, reading.first_line
        fast_fields = reading.item.fast_fields or _NO_FRONT
        return self.shown_description(fast_fields[1], reading.item.scan_root.scope)

    def shown_description(self, text: str, scope: str) -> tuple[str, str]:
        """Return the description of a plain skill as the host shows it, and its first line."""
        return self._fields.shown_description(text, "", scope)

    def is_typed(self, entry: Entry) -> bool:
        """Return whether the user may type the name of an entry of this host."""
        return self._is_typed(entry.source[1])

    def frontmatter_alias(self, entry: Entry) -> str:
        """Return the name in the front matter for a host that uses folder names; empty if it reads no name."""
        reading: Reading = entry.source[1]
        fast_fields = reading.item.fast_fields
        return fast_fields[0] if reading.is_plain and fast_fields else self._fields.alias(reading.fields)

    def known_findings(self, reading: Reading) -> tuple[Finding, ...] | None:
        """Return the findings if they are known without parsing the skill, else `None`."""
        if not reading.is_plain or reading.verdict.code is not None:
            return self.findings(reading)
        return () if has_no_findings(reading.item.fast_fields or _NO_FRONT, reading.item.path) else None

    def findings(self, reading: Reading) -> tuple[Finding, ...]:
        """Return the findings of a skill, with the severities that they have for the host."""
        item, verdict = reading.item, reading.verdict
        findings = host_findings = check_skill(item.skill)
        if reading.seen is not item:
            host_findings = check_skill(reading.seen.skill)
        if item.scan_root.scope in self.host.suppressed_scopes or item.scan_root.root.files:
            return tuple(problem for problem in findings if problem.code in ALWAYS_ERRORS)
        policy = "guide" if self.host.name == "prowess" else self.host.name
        rejects = not reading.is_plain and reading.unreadable is not None
        shown = apply_policy(findings, policy, self._rejecting_codes if rejects else frozenset())
        if verdict.code is not None and verdict.state is State.REJECTED:
            hint = rejection_hint(self.host, verdict, reading.seen.skill, findings, host_findings)
            shown = with_error(shown, host_findings, verdict, item.path, hint)
        return shown


def _codes(skill: Skill) -> set[str]:
    return {problem.code for problem in skill.findings}


def _needed_fields(flag: Flag) -> frozenset[str]:
    """Return the fields without which a flag cannot match."""
    return frozenset(key.partition(".")[0] for key, wanted in flag.when.items() if wanted != "absent")


@cache
def _field_rows(name: str) -> Callable[[bytes], re.Match[bytes] | None]:
    """Return a function that finds the rows of a field in front matter of the fast path."""
    return re.compile(rb"\n(%s:[^\n]*\n(?: [^\n]*\n)*)" % re.escape(name.encode())).search


def _list_verdict(reading: Reading) -> Verdict | None:
    """Return the verdict if only the client's own list has the skill."""
    reason = reading.item.scan_root.list_only
    return Verdict(State.USER_ONLY, reason, LIST_ONLY) if reason else None


_ATTRIBUTE_GETTERS: Mapping[str, Callable[[Evaluator, Reading], Any]] = {
    "description": Evaluator.description,
    # Requirements are lists in mappings, which the fast path never reads.
    "requirements": lambda _, reading: (
        reading.item.skill.requirements if reading.item.fast_fields is None else _NO_REQUIREMENTS
    ),
    "findings": lambda evaluator, reading: (
        evaluator.findings(reading) if (known := evaluator.known_findings(reading)) is None else known
    ),
    "skill": lambda _, reading: reading.item.skill,
}
"""Functions that return the attributes of an entry."""
