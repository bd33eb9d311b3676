"""Make the entries of a host's skills, by the fast path if that is enough.

For most skills the fast path reads what `_evaluate` would: name and state. The other attributes of an entry are worked
out on first use. A property test holds that both agree for every host.
"""

from __future__ import annotations

import re

from prowess._internal.files import SKILL_FILE
from prowess._internal.special_tokens import may_have_special_token
from prowess.findings import CODES
from prowess.hosts import field_or_entry, value_matches, without_null_items
from prowess.skill import (
    MAX_COMPATIBILITY,
    MAX_DESCRIPTION,
    RESERVED_WORDS,
    SPEC_FIELDS,
    YAML_LITERALS,
    Requirements,
    fast_parse_table,
    plain_field,
)

from ._entry import Entry, State
from ._evaluate import TYPED, Evaluation, Evaluator
from ._verdicts import ACTIVE_VERDICT, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from prowess.findings import Finding
    from prowess.hosts import Host
    from prowess.skill import FastFrontmatter

    from ._filesystem import Filesystem
    from ._found_skill import FoundSkill
    from ._scan_root import ScanRoot
    from ._settings import Settings

__all__ = ["LazyEntries", "has_simple_fields"]

_UNCHECKED_CODES = frozenset(
    code
    for code in CODES
    if code in ("name-not-folder", "name-reserved", "special-token")
    or code.startswith(("description-", "license-", "compatibility-", "metadata-", "allowed-tools-", "field-"))
) - {"description-missing", "description-empty", "description-not-text", "description-type"}
"""The only codes of findings that a skill of the fast path can have."""
_NO_REQUIREMENTS = Requirements()
_SIMPLE_FIELDS = frozenset(SPEC_FIELDS)
"""The fields that `has_simple_fields` checks."""


class LazyEntries:
    """One host's rules, ready to make entries of found skills."""

    def __init__(self, host: Host, settings: Settings, filesystem: Filesystem) -> None:
        self.evaluator = Evaluator(host, settings, filesystem)
        self._flags = [flag.when for flag in host.flags if not flag.file]
        self._flag_fields = [
            frozenset(field.partition(".")[0] for field, value in when.items() if value != "absent")
            for when in self._flags
        ]
        self._find_flag_rows = {
            field: re.compile(rb"\n(%s:[^\n]*\n(?: [^\n]*\n)*)" % re.escape(field.encode())).search
            for field in sorted(frozenset().union(*self._flag_fields))
        }
        self._flags_of_keys: dict[frozenset[str], tuple[list[str], list[Mapping[str, str]]]] = {}
        """By the keys of front matter: those that decide about flags, and these flags."""
        self._null_items = host.reading.null_items
        self._sidecars = {flag.file for flag in host.flags if flag.file}
        self._alias_fields = frozenset(host.fields.aliases)
        name, shown, reading = host.name_rules, host.description_rules, host.reading
        self._named_by_folder = name.identity == "folder"
        self._name_replacements = tuple(name.replace.items())
        self._finds_plugins = bool(host.namespace_manifests)
        self._has_name_limits = bool(name.max_length or name.pattern or name.must_equal_folder or name.reserved)
        self._has_settings = settings.trust == "untrusted" or bool(
            settings.effects
            or settings.folded_effects
            or settings.patterns
            or settings.name_filter
            or settings.hidden_folders
            or settings.entries.names
            or settings.entries.paths
        )
        self._fast_path_allowed = _UNCHECKED_CODES.isdisjoint(reading.rejects) and (
            reading.whole_file or not reading.body_needed
        )
        self.only_trims_description = (
            shown.shown
            and shown.trim
            and not (shown.one_line or shown.append or shown.clean or shown.escape or shown.limit)
        )
        """Whether the host only strips white space around a description."""
        self._keeps_found = self._named_by_folder or host.budget.degrade == "first-line"
        """Whether `_precedence` asks for an alias or a first line later."""
        self._evaluations: dict[FoundSkill, Evaluation] = {}
        """Skills that were evaluated in full."""
        self._found_by_path: dict[str, FoundSkill] = {}
        """Found skills by path, if `_keeps_found`."""

    def entry(self, item: FoundSkill) -> Entry:
        """Return the entry of a found skill."""
        quick = self._evaluate_fast(item) if self._fast_path_allowed else None
        if quick is None:
            evaluation = self.evaluate(item)
            quick = evaluation.name, evaluation.verdict
        name, verdict = quick
        namespace = self.evaluator.namespace(item) if self._finds_plugins else item.scan_root.namespace
        if namespace is not None:
            name = f"{namespace}:{name}"
        if self._keeps_found:
            self._found_by_path[item.path] = item
        if verdict is ACTIVE_VERDICT:
            return Entry.lazily_active(self, item, name)
        return Entry.from_loader(self, item, name=name, state=verdict.state, reason=verdict.reason, rule=verdict.rule)

    def known_fingerprints(self) -> Mapping[str, bytes]:
        """Return the fingerprints of files that the fast path read, by path; empty ones without a record."""
        return self.evaluator.filesystem.known_fingerprints()

    def load_field(self, item: FoundSkill, name: str) -> Any:
        """Return an attribute of an entry that was not set when it was made."""
        return _ATTRIBUTE_GETTERS[name](self, item)

    def evaluate(self, item: FoundSkill) -> Evaluation:
        """Evaluate a skill in full, once."""
        evaluation = self._evaluations.get(item)
        if evaluation is None:
            evaluation = self._evaluations[item] = self.evaluator.evaluate(item)
        return evaluation

    def description(self, item: FoundSkill) -> str:
        """Return the description as the host shows it."""
        fields = self._decisive_fields(item)
        if fields is None:
            return self.evaluate(item).description
        return fields[1] if self.only_trims_description else self._shown_fast(item, fields[1])[0]

    def _decisive_fields(self, item: FoundSkill) -> FastFrontmatter | None:
        """Return the fields that the fast path read; `None` if the skill is or must be evaluated in full."""
        return None if item in self._evaluations else item.fast_fields

    def is_decided_fast(self, item: FoundSkill) -> bool:
        """Return whether all that is known of a skill was decided by the fields of the fast path."""
        return item.fast_fields is not None and item not in self._evaluations

    def is_usual(self, item: FoundSkill, entry: Entry) -> bool:
        """Return whether the entry of a skill that was decided fast has the usual attributes, `real` excepted."""
        return (
            entry.state is State.ACTIVE
            and item.scan_root.namespace is None
            and item.fast_fields is not None
            and item.fast_fields[0] == entry.name
            and entry.get_if_loaded("rule") in (None, ACTIVE_VERDICT.rule)
            and not self._finds_plugins
        )

    def _shown_fast(self, item: FoundSkill, description: str) -> tuple[str, str]:
        """Return the description of a skill of the fast path as the host shows it, and its first line."""
        if not self.evaluator.host.description_rules.shown:
            return "", ""
        return self.evaluator.shown_description(description, "", item.scan_root.scope)

    def findings(self, item: FoundSkill) -> tuple[Finding, ...]:
        """Return the findings of a skill for the host."""
        known = self.known_findings(item)
        return self.evaluate(item).findings if known is None else known

    def known_findings(self, item: FoundSkill) -> tuple[Finding, ...] | None:
        """Return the findings if they are known without a full evaluation, else `None`."""
        if item in self._evaluations:
            return self.evaluate(item).findings
        return () if item.fast_fields is not None and _has_no_findings(item.fast_fields, item.path) else None

    def requirements(self, item: FoundSkill) -> Requirements:
        """Return the requirements of a skill."""
        # Requirements are lists in mappings, which the fast path never reads.
        return _NO_REQUIREMENTS if item.fast_fields is not None else item.skill.requirements

    def first_line(self, entry: Entry) -> str:
        """Return the first line of a description."""
        item = self._found_by_path[entry.path]
        fields = self._decisive_fields(item)
        return self.evaluate(item).first_line if fields is None else self._shown_fast(item, fields[1])[1]

    def is_typed(self, entry: Entry) -> bool:
        """Return whether the user may type the name of a skill."""
        item = self._found_by_path.get(entry.path)
        return item is None or self.evaluate(item).typed

    def frontmatter_alias(self, entry: Entry) -> str:
        """Return the name in the front matter for a host that uses folder names; empty if it reads no name."""
        item = self._found_by_path[entry.path]
        fields = self._decisive_fields(item)
        return self.evaluate(item).alias if fields is None else fields[0]

    def _evaluate_fast(self, item: FoundSkill) -> tuple[str, Verdict] | None:
        """Return the name and verdict as `Evaluator` would, or `None` if the fast path is not enough."""
        fast_fields = item.fast_fields
        scan_root = item.scan_root
        if fast_fields is None or _has_own_rules(scan_root):
            return None
        name, _, keys, front = fast_fields
        if not self._alias_fields.isdisjoint(keys) or not self.evaluator.reads_plainly(fast_fields):
            return None
        if (self._flags and self._may_have_flag(keys, front)) or (self._sidecars and self._has_sidecar(item.path)):
            return None
        verdict: Verdict | None = None
        folder = ""
        if self._has_name_limits or self._has_settings or self._named_by_folder:
            folder = item.folder
        if self._has_name_limits:
            verdict = self.evaluator.name_limit_verdict(name, folder)
        for old, new in self._name_replacements:
            name = re.sub(old, new, name)
        if self._named_by_folder:
            name = folder
        if self.evaluator.refused_name(name) is not None or self.evaluator.whole_name_verdict(item, name) is not None:
            return None
        if verdict is None and self._has_settings:
            verdict = self.evaluator.settings_verdict(item, name, folder)
        if verdict is not None and verdict.state is State.USER_ONLY and TYPED in keys:
            return None
        if scan_root.nested is not None and (verdict is None or verdict.state in (State.ACTIVE, State.USER_ONLY)):
            verdict = self.evaluator.nested_verdict(item) or verdict
        if verdict is not None and verdict.state is State.REJECTED:
            return None
        return name, verdict or ACTIVE_VERDICT

    def _may_have_flag(self, keys: frozenset[str], front: bytes) -> bool:
        """Return whether a flag in front matter of the fast path applies, or only the full parser knows."""
        known = self._flags_of_keys.get(keys)
        if known is None:
            flags = [when for when, fields in zip(self._flags, self._flag_fields, strict=True) if fields <= keys]
            known = self._flags_of_keys[keys] = [name for name in self._find_flag_rows if name in keys], flags
        names, flags = known
        if not flags:
            return False
        fields = {}
        for name in names:
            rows = self._find_flag_rows[name](front)
            field = None if rows is None else plain_field(rows[1].decode())
            if field is None:
                return True
            fields[name] = field if self._null_items else without_null_items(field)
        return any(
            all(value_matches(field_or_entry(fields, key), wanted) for key, wanted in when.items()) for when in flags
        )

    def _has_sidecar(self, path: str) -> bool:
        """Return whether there is one of the files beside SKILL.md that flags look into."""
        folder, filesystem = path.removesuffix(f"/{SKILL_FILE}"), self.evaluator.filesystem
        return any(
            filesystem.may_contain(folder, file.partition("/")[0]) and filesystem.link_kind(f"{folder}/{file}")
            for file in self._sidecars
        )


def _has_own_rules(scan_root: ScanRoot) -> bool:
    """Return whether a root reads, names or shows its skills in a way of its own."""
    root = scan_root.root
    return bool(
        (scan_root.off or scan_root.list_only or scan_root.description or scan_root.variables)
        or (root.spec or root.name_is_folder or root.files or root.unlisted or root.replace or root.own_name)
        or (root.ignores or root.undescribed != "shown")
    )


_PLAIN_TEXT = rb"[A-Za-z0-9][ !-;=?-Z\\-~]*\n"
"""One line of ASCII without the characters that may begin a special token or a tag."""
_is_simplest_frontmatter = re.compile(
    rb"---\nname: [a-z0-9-]*\ndescription: [ -;=?-Z\\-~]*\n(?:  [ -;=?-Z\\-~]*\n)*"
    rb"(?:license: %(text)s|metadata:\n(?:  [A-Za-z-]+: \"?%(text)s)+|compatibility: [A-Za-z][ !-;=?-Z\\-~]{0,400}\n"
    rb"|allowed-tools: (?=[A-Z])(?!True|False|Null|TRUE|FALSE|NULL)%(text)s)*"
    rb"---\n" % {b"text": _PLAIN_TEXT}
).fullmatch
"""Whether the fast path's front matter has no findings but for lengths, the folder's name and reserved words.

It says so of most files, and several times as fast as `has_simple_fields`."""
_has_reserved_word = re.compile("|".join(RESERVED_WORDS)).search


def _has_no_findings(fast_fields: FastFrontmatter, path: str) -> bool:
    """Return whether a skill of the fast path has no findings, whatever the host."""
    name, description, _, front = fast_fields
    # The newline of a block scalar counts too, though the fast path leaves it out.
    if (
        len(description) > MAX_DESCRIPTION - 2
        or not path.endswith(f"/{name}/SKILL.md")
        or _has_reserved_word(name) is not None
    ):
        return False
    return _is_simplest_frontmatter(front) is not None or (
        description.isascii()
        and description.replace("\n", "").isprintable()
        and "<" not in description
        and ">" not in description
        and has_simple_fields(front)
    )


def has_simple_fields(front: bytes) -> bool:
    """Return whether no field of a fast-path front matter has findings, name and description excepted."""
    table = fast_parse_table(front) or {"": ""}
    tools = table.get("allowed-tools", "Read")
    compatibility = table.get("compatibility", "any")
    return (
        _SIMPLE_FIELDS.issuperset(table)
        and table.get("license", "any") != ""
        and compatibility.strip() != ""
        and len(compatibility) <= MAX_COMPATIBILITY
        and tools[:1].isalpha()
        and tools.lower() not in YAML_LITERALS
        and ("metadata" not in table or b"\nmetadata:\n  " in front)
        and b"\n  - " not in front
        and not may_have_special_token(front)
    )


_ATTRIBUTE_GETTERS: Mapping[str, Callable[[LazyEntries, FoundSkill], Any]] = {
    "alias": lambda *_: None,
    "frontmatter_name": lambda _, item: item.skill.name if item.fast_fields is None else item.fast_fields[0],
    "folder": lambda _, item: item.folder,
    "description": LazyEntries.description,
    "path": lambda _, item: item.path,
    "real": lambda _, item: item.real,
    "scope": lambda _, item: item.scan_root.scope,
    "root": lambda _, item: item.scan_root.path,
    "namespace": lambda loader, item: loader.evaluator.namespace(item),
    "reason": lambda *_: None,
    "rule": lambda *_: ACTIVE_VERDICT.rule,
    "shadowed_by": lambda *_: None,
    "digest": lambda *_: None,
    "requirements": LazyEntries.requirements,
    "findings": LazyEntries.findings,
    "skill": lambda _, item: item.skill,
}
"""Functions that return the attributes of an entry."""
