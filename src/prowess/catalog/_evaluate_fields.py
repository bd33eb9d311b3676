"""Work out the name and the description that a host shows for a skill, and whether it rejects them."""

from __future__ import annotations

import os
import re
from functools import partial

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import quoted
from prowess.clients import of_client
from prowess.clients.reading import (
    action_for_file,
    apply_dialect,
    clean_description,
    counted_length,
    cut_description,
    final_description,
    final_name,
    javascript_literal,
    javascript_string,
    kind_of_list,
    name_in_root,
    name_of_file,
    name_problem,
    plain_front_check,
    read_text,
    text_from_body,
    text_without_body,
    trim_name,
    value_kind,
    when_to_use,
    white_space,
)
from prowess.hosts import (
    DESCRIPTION_ACTIONS,
    NAME_ACTIONS,
    measure_text,
)

from ._entry import State
from ._verdicts import Verdict, describe_kind, rejection, value_code, value_rejection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.filesystem import Filesystem
    from prowess.find import FoundSkill
    from prowess.hosts import Host
    from prowess.skill import FastFrontmatter, Field, Skill

_FOLDED_DESCRIPTION, _LITERAL_DESCRIPTION = b"\ndescription: >\n", b"\ndescription: |\n"


class FieldEvaluator:
    """One host's rules for names and descriptions."""

    def __init__(self, host: Host, filesystem: Filesystem) -> None:
        self.host, self.filesystem = host, filesystem
        own = partial(of_client, host.name)
        self._white_space = own(white_space)()
        names = host.name_rules
        self.limits_names = bool(names.max_length or names.pattern or names.must_equal_folder)
        """Whether `name_limit_verdict` may reject a name."""
        self._name_problem = own(name_problem)
        self.has_own_name_rules = self._name_problem is not name_problem
        """Whether `own_name_verdict` may reject a name."""
        self._trim_name, self._final_name, self.name_of_file = own(trim_name), own(final_name), own(name_of_file)
        self._matches_name = re.compile(names.pattern or "(?s:.*)").fullmatch
        self._name_actions = _with_blank_action({**NAME_ACTIONS, **host.name_rules.on})
        shown = host.description_rules
        self._loose_as_body = frozenset((*host.reading.as_body, *host.reading.loose_as_body))
        self._is_plain_front = plain_front_check(host)
        self._not_texts = re.compile(host.reading.not_texts).fullmatch if host.reading.not_texts else None
        self._description_actions = _with_blank_action({**DESCRIPTION_ACTIONS, **shown.on})
        self._when_text, self._clean, self._cut = own(when_to_use), own(clean_description), own(cut_description)
        self._final_description = own(final_description)
        self._counted_length, self._text_from_body = own(counted_length), own(text_from_body)
        self._action_for_file, self._kind_of_list = own(action_for_file), own(kind_of_list)
        self._read_text = own(read_text)
        self._name_in_root, self._text_without_body = own(name_in_root), own(text_without_body)
        self._adds_when_to_use = self._when_text is not when_to_use
        self.only_trims = (
            shown.trim
            and not (shown.one_line or shown.limit or self._adds_when_to_use)
            and self._clean is clean_description
            and self._final_description is final_description
        )
        """Whether the host only strips white space around a description."""

    def apply_dialect(self, item: FoundSkill, skill: Skill) -> Skill:
        """Return a skill as the host reads it: between its own fences, after its own repairs."""
        return apply_dialect(
            skill,
            item.path,
            self.host,
            lambda: self._read_text(self.filesystem, item.real),
        )

    def name_in_root(self, fields: Mapping[str, Field] | None, item: FoundSkill, name: str) -> str:
        """Return what a skill is called by the rules of its root.

        Args:
            fields: the front matter; `None` if the host sees none.
            item: the skill.
            name: what it is called elsewhere.
        """
        scan_root = item.scan_root
        is_root = os.path.dirname(item.path) == scan_root.path
        written = fields.get("name") if is_root and fields is not None else None
        return self._name_in_root(name, written, scan_root.root, scan_root.namespace)

    # ── name ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def name(self, fields: Mapping[str, Field] | None, item: FoundSkill) -> tuple[str, Verdict | None]:
        """Return the name that the host uses, and the verdict if it rejects the skill for its name.

        Args:
            fields: the front matter; `None` if the host sees none.
            item: the skill.
        """
        folder = item.folder
        value, kind, action = self._field_action(fields, "name", self._name_actions)
        verdict = value_rejection("name", kind) if action == "reject" else None
        name = folder
        if action not in ("reject", "folder") and value is not None:
            name = javascript_string(value)
        name = self._trim_name(name, self.host.name_rules, is_folder=action == "folder")
        if verdict is None and (fields is not None or action != "folder"):
            verdict = self._name_limit_verdict(name, folder)
        return self._changed_name(name, item), verdict

    def plain_name(self, name: str, item: FoundSkill) -> tuple[str, Verdict | None]:
        """Return the same as `name` for a skill whose name the fast path has read."""
        verdict = self._name_limit_verdict(name, item.folder) if self.limits_names else None
        return self._changed_name(name, item), verdict

    def _changed_name(self, name: str, item: FoundSkill) -> str:
        rules = self.host.name_rules
        return item.folder if rules.identity == "folder" else self._final_name(name, rules)

    def alias(self, fields: Mapping[str, Field] | None) -> str:
        """Return the name in the front matter as the host writes it; empty if it reads no name."""
        value = None if fields is None else fields.get("name")
        kind = self._parsed_kind(value)
        action = "text" if kind == "text" else self._name_actions.get(kind, "reject")
        if value is None or action not in ("text", "value"):
            return ""
        return javascript_literal(str(value.value)) if action == "value" else javascript_string(value)

    def _name_limit_verdict(self, name: str, folder: str) -> Verdict | None:
        """Return the verdict if the host rejects a name."""
        rules = self.host.name_rules
        if rules.max_length and len(name) > rules.max_length:
            return rejection("name-too-long", f"its name has {len(name)} characters, more than {rules.max_length}")
        if rules.pattern and not self._matches_name(name):
            return rejection("name-characters", f"{self.host.title} does not accept the name {quoted(name)}")
        if rules.must_equal_folder and name != folder:
            return rejection("name-not-folder", f"the name {quoted(name)} is not the folder's name {quoted(folder)}")
        return None

    def own_name_verdict(self, name: str, namespace: str | None) -> Verdict | None:
        """Return the verdict if the client alone refuses what it calls a skill."""
        problem = self._name_problem(name, namespace)
        return None if problem is None else rejection(*problem)

    # ── description ──────────────────────────────────────────────────────────────────────────────────────────────────

    def description(self, item: FoundSkill, fields: Mapping[str, Field] | None) -> tuple[str, str, Verdict | None]:
        """Return the description, its first line, and the verdict if the host rejects or hides the skill for it."""
        text, verdict = self._own_description(item, fields)
        return *self.shown_description(text, self._when_to_use(fields), item.scan_root.scope), verdict

    def shown_description(self, text: str, when: str, scope: str) -> tuple[str, str]:
        """Return a description as the host shows it, and its first line.

        Args:
            text: as in the front matter.
            when: what the host adds for `when_to_use`.
            scope: of the skill.
        """
        rules = self.host.description_rules
        if rules.one_line:
            one_line = text.isprintable() and "  " not in text
            text = text.strip() if one_line else " ".join(text.split())
        elif rules.trim:
            text = text.strip(self._white_space)
        line = text.split("\n", 1)[0].strip(self._white_space)
        text = self._cut(self._clean(f"{text}{when}"), rules)
        return self._final_description(text, line, self.host.scope_words.get(scope, scope))

    def _when_to_use(self, fields: Mapping[str, Field] | None) -> str:
        """Return the text that is added to the description; empty if nothing is."""
        value = fields.get("when_to_use") if fields is not None else None
        return "" if value is None else self._when_text(value)

    def is_described(self, fields: Mapping[str, Field] | None) -> bool:
        """Return whether the front matter says what the skill is for."""
        if fields is None:
            return False
        action = self._field_action(fields, "description", self._description_actions)[2]
        return action in ("text", "value") or self._when_to_use(fields) != ""

    def _own_description(self, item: FoundSkill, fields: Mapping[str, Field] | None) -> tuple[str, Verdict | None]:
        """Return the description before the host shortens or extends it, and the verdict."""
        rules = self.host.description_rules
        value, kind, action = self._field_action(fields, "description", self._description_actions)
        if is_loose(item) and kind != "text":
            action = self._action_for_file(kind, action)
        verdict = None
        text = javascript_string(value) if value is not None else ""
        if action == "reject":
            verdict = value_rejection("description", kind)
        elif action == "hide":
            reason = f"its description is {describe_kind(kind)}, so the model does not see it"
            verdict = Verdict(State.USER_ONLY, reason, value_code("description", kind))
        elif action == "body":
            # A loose file without front matter has fields that are missing, not none.
            no_front = is_loose(item) and any(f.code in self._loose_as_body for f in item.skill.findings)
            text = self._description_from_body(item, whole=fields is None or no_front)
        if verdict is None and rules.limit and rules.past_limit == "drop":
            length = self._counted_length(text, value, item.skill, rules.unit)
            if length > rules.limit:
                word = "bytes" if rules.unit == "bytes" else "characters"
                reason = f"its description has {length:,} {word}, more than {rules.limit:,}"
                verdict = rejection("description-too-long", reason)
        return text, verdict

    def _description_from_body(self, item: FoundSkill, *, whole: bool) -> str:
        """Return a description made of the first lines of the body that are not blank.

        Args:
            item: the skill.
            whole: whether the host takes the whole file as the body.
        """
        if item.skill.document is None:
            return ""  # a file that was not read, perhaps a link to somewhere else, is not read here either
        text = self.filesystem.text(item.real) if whole else self._own_body(item)
        lines = [line for line in (line.strip(self._white_space) for line in text.split("\n")) if line]
        return self._text_from_body(lines) or self._text_without_body(item.scan_root.root, self.host.description_rules)

    def _own_body(self, item: FoundSkill) -> str:
        """Return the body between the host's own fences, with the file's own line ends if it has such fences."""
        reading = self.host.reading
        if reading.opening and reading.closing and not reading.line_breaks:
            text = self.filesystem.text(item.real)
            opening = re.match(reading.opening, text)
            closing = opening and re.compile(reading.closing).search(text, opening.end())
            if closing is not None:
                return text[closing.end() :]
        document = self.apply_dialect(item, self.filesystem.skill(item.path, real=item.real, whole=True)).document
        return "" if document is None else document.body

    # ── plain front matter ───────────────────────────────────────────────────────────────────────────────────────────

    def reads_plainly(self, fast_fields: FastFrontmatter) -> bool:
        """Return whether the host reads a skill of the fast path as that does, but for how it shows the description."""
        name, description, keys, front = fast_fields
        rules = self.host.description_rules
        if not self._is_plain_front(front):
            return False
        if self._not_texts is not None and (self._not_texts(name) or self._not_texts(description)):
            return False
        if rules.limit and rules.past_limit == "drop" and measure_text(description, rules.unit) >= rules.limit:
            return False
        if not (rules.trim or rules.one_line) and (_FOLDED_DESCRIPTION in front or _LITERAL_DESCRIPTION in front):
            return False  # its line end is shown too
        return not ("when_to_use" in keys and self._adds_when_to_use)

    # ── kinds of values ──────────────────────────────────────────────────────────────────────────────────────────────

    def _field_action(
        self, fields: Mapping[str, Field] | None, key: str, actions: Mapping[str, str]
    ) -> tuple[Field | None, str, str]:
        """Return a field, the kind of its value, and what the host does with that kind."""
        value = None if fields is None else fields.get(key)
        kind = self._parsed_kind(value)
        if kind == "list" and value is not None:
            kind = self._kind_of_list(value)
        action = "text" if kind == "text" else actions.get(kind, "reject")
        if action == "value" and value is not None:
            value = value.with_changes(value=javascript_literal(str(value.value)))
        return value, kind, action

    def _parsed_kind(self, value: Field | None) -> str:
        """Return the kind of a value as the host's parser reads it."""
        kind, reading = value_kind(value, self._white_space), self.host.reading
        if value is None or not isinstance(value.value, str):
            return kind
        if kind == "number" and reading.texts and re.fullmatch(reading.texts, value.value):
            return "text"
        plain = value.source.partition(":")[2].strip() == value.value
        return "number" if kind == "text" and plain and re.fullmatch(reading.not_texts or "(?!)", value.value) else kind


def is_loose(item: FoundSkill) -> bool:
    """Return whether a skill is a Markdown file of its own, not the SKILL.md of a folder."""
    root = item.scan_root.root
    return not item.path.endswith(f"/{SKILL_FILE}") or (bool(root.files) and not root.depth)


def _with_blank_action(actions: dict[str, str]) -> dict[str, str]:
    """Treat a blank value as an empty one, unless the host says otherwise."""
    if "empty" in actions:
        actions.setdefault("blank", actions["empty"])
    return actions
