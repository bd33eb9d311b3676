"""Skill -> findings

Each limit of the specification is stated here, once. Every rule looks at one skill and nothing else; severities come
from the policy (`findings.under_policy`). Sources: agentskills.io, "Specification" (2026-11), where not said otherwise.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping

from prowess._internal.text import hidden_characters, quoted
from prowess.findings import Finding, finding

from ._skill import FIELDS, SPEC_FIELDS, Skill

__all__ = [
    "MAX_COMPATIBILITY",
    "MAX_DESCRIPTION",
    "MAX_FINDINGS_PER_CODE",
    "MAX_NAME",
    "RESERVED_WORDS",
    "check_skill",
]

MAX_NAME = 64
"""Characters; "name field"."""
MAX_DESCRIPTION = 1024
"""Characters; "description field"."""
MAX_COMPATIBILITY = 500
"""Characters; "compatibility field"."""
RESERVED_WORDS = ("infer", "claude", "anthropic", "gemini", "openai")
"""Not allowed in a name by the `infer` CLI; Anthropic's limits forbid two of them, and Anthropic ships `claude-api`."""

_KNOWN_FIELDS = frozenset((*FIELDS, "allowed_tools", "when_to_use", "hooks", "effort", "shell"))


def check_skill(skill: Skill) -> tuple[Finding, ...]:
    """Return what is wrong with a skill, reader's findings first, with severities of the `guide` policy."""
    if skill.document is None or skill.document.frontmatter is None:
        # A file that could not be opened, or has no front matter: everything after that would be an echo.
        return skill.findings
    return (
        *skill.findings,
        *_check_name(skill),
        *_check_description(skill),
        *_limit_per_code(_check_optional_fields(skill)),
        *_limit_per_code(_check_unknown_fields(skill)),
    )


MAX_FINDINGS_PER_CODE = 20
"""Findings of one code in one file."""


def _limit_per_code(found: Iterator[Finding]) -> Iterator[Finding]:
    counts: Counter[str] = Counter()
    for item in found:
        counts[item.code] += 1
        if counts[item.code] <= MAX_FINDINGS_PER_CODE:
            yield item


def _field_finding(skill: Skill, key: str, code: str, message: str, hint: str | None = None) -> Finding:
    """Make a finding that points at a field."""
    entry = skill.fields.get(key)
    line, column = (entry.line, entry.column) if entry else (1, 1)
    return finding(code, message, path=skill.path, line=line, column=column, hint=hint)


def _check_name(skill: Skill) -> Iterator[Finding]:
    """Specification, "name field"."""

    def at(code: str, message: str, hint: str | None = None) -> Finding:
        return _field_finding(skill, "name", code, message, hint)

    folder = skill.folder
    entry = skill.fields.get("name")
    if entry is None:
        yield at("name-missing", "there is no `name`", f"add `name: {folder}`" if folder else "add `name:`")
        return
    name = skill.name
    if name is None:
        yield at(
            "name-not-text",
            f"the name is {_describe_kind(entry.kind)}, not text",
            f"write `name: {folder}`" if folder else None,
        )
        return
    if not name.strip():
        yield at("name-empty", "the name is empty", f"write `name: {folder}`" if folder else "write a name")
        return
    if entry.kind != "text":
        yield at(
            "name-type",
            f"{quoted(name)} is {_describe_kind(entry.kind)} to a YAML parser, not text",
            f'write `name: "{name}"`',
        )
    name = name.strip()
    name = _nfkc(name)
    if len(name) > MAX_NAME:
        yield at("name-too-long", f"the name has {len(name)} characters; at most {MAX_NAME} are allowed", "shorten it")
    if name != name.lower():
        yield at("name-case", f"the name {quoted(name)} has upper case letters", f"write {quoted(name.lower())}")
    bad = sorted({c for c in name if not (c.isalnum() or c == "-")})
    if bad:
        shown = " ".join(quoted(c) for c in bad[:8])
        yield at(
            "name-characters",
            f"the name {quoted(name)} holds {shown}",
            "use lower case letters, digits and hyphens only",
        )
    if name[0] == "-" or name[-1] == "-" or "--" in name:
        hint = "put single hyphens between words"
        yield at("name-hyphens", f"the name {quoted(name)} begins or ends with a hyphen, or has two in a row", hint)
    if folder and name != _nfkc(folder):
        what = "folder" if os.path.basename(os.path.dirname(skill.path or "")) == folder else "file"
        hint = f"rename the {what}, or write `name: {folder}`"
        yield at("name-not-folder", f"the name {quoted(name)} is not the {what}'s name {quoted(folder)}", hint)
    words = [word for word in RESERVED_WORDS if word in name.lower()]
    if words:
        yield at(
            "name-reserved", f"the name {quoted(name)} holds the reserved word {quoted(words[0])}", "choose another"
        )


def _nfkc(name: str) -> str:
    """Return a name in NFKC."""
    if name.isascii():
        return name
    import unicodedata

    return unicodedata.normalize("NFKC", name)


def _check_description(skill: Skill) -> Iterator[Finding]:
    """Specification, "description field"."""

    def at(code: str, message: str, hint: str | None = None) -> Finding:
        return _field_finding(skill, "description", code, message, hint)

    entry = skill.fields.get("description")
    say = "say what the skill does and when to use it"
    if entry is None:
        yield at("description-missing", "there is no `description`", f"add `description:` and {say}")
        return
    text = skill.description
    if text is None:
        yield at(
            "description-not-text", f"the description is {_describe_kind(entry.kind)}, not text", "write it as one text"
        )
        return
    if not text.strip():
        yield at("description-empty", "the description is empty", say)
        return
    if entry.kind != "text":
        yield at("description-type", f"{quoted(text)} is {_describe_kind(entry.kind)} to a YAML parser, not text", say)
    if len(text) > MAX_DESCRIPTION:
        size = f"the description has {len(text):,} characters; at most {MAX_DESCRIPTION:,} are allowed"
        yield at("description-too-long", size, "shorten it; move detail into the body")
    unseen = hidden_characters(text)
    if unseen:
        shown = " ".join(f"U+{ord(c):04X}" for c in unseen[:8])
        yield at("description-hidden", f"the description holds characters that do not show: {shown}", "remove them")
    if "<" in text or ">" in text:
        hint = "write it without them: some clients show a description inside XML"
        yield at("description-markup", "the description holds `<` or `>`", hint)


def _check_optional_fields(skill: Skill) -> Iterator[Finding]:
    """Specification, "license" to "allowed-tools" fields; the fields of single clients."""
    entry = skill.fields.get("license")
    if entry is not None and skill.license is None:
        yield _field_finding(
            skill,
            "license",
            "license-type",
            f"the licence is {_describe_kind(entry.kind)}, not text",
            "write its SPDX name",
        )
    entry = skill.fields.get("compatibility")
    if entry is not None:
        text = skill.compatibility
        if text is None:
            known = "; its `requires:` list is read" if skill.requirements.packages else ""
            message = f"the compatibility note is {_describe_kind(entry.kind)}, not text{known}"
            yield _field_finding(skill, "compatibility", "compatibility-type", message, "write it as one text")
        elif not text.strip():
            yield _field_finding(
                skill, "compatibility", "compatibility-empty", "the compatibility note is empty", "remove it"
            )
        elif len(text) > MAX_COMPATIBILITY:
            message = f"the compatibility note has {len(text):,} characters; at most {MAX_COMPATIBILITY} are allowed"
            yield _field_finding(skill, "compatibility", "compatibility-too-long", message, "shorten it")
    if "metadata" in skill.extra:
        message = f"the metadata is {_describe_kind(skill.fields['metadata'].kind)}, not a map"
        yield _field_finding(skill, "metadata", "metadata-type", message, "write `key: value` lines below it")
    for key, value in skill.metadata.items():
        if not isinstance(value, str):
            kind = "map" if isinstance(value, Mapping) else "list"
            message = f"the metadata value {quoted(key)} is a {kind}, not text"
            yield _field_finding(skill, "metadata", "metadata-nested", message, "write it as one text")
    for key in ("allowed-tools", "allowed_tools"):
        entry = skill.fields.get(key)
        if entry is not None and entry.kind != "text":
            message, hint = (
                f"`{key}` is {_describe_kind(entry.kind)}, not one line of text",
                "write `allowed-tools: Read Grep Bash(git:*)` on one line",
            )
            yield _field_finding(skill, key, "allowed-tools-type", message, hint)
    for key in FIELDS[len(SPEC_FIELDS) :]:
        entry = skill.fields.get(key)
        if entry is not None and key in skill.extra and entry.kind != "null":
            yield _field_finding(
                skill,
                key,
                "field-type",
                f"{quoted(_describe_value(skill.extra[key]))} is not what `{key}` takes",
                _FIELD_HINTS[key],
            )


_FIELD_HINTS = {
    "disable-model-invocation": "write `true` or `false`",
    "user-invocable": "write `true` or `false`",
    "context": "write one word of text",
    "agent": "write the name of an agent",
    "model": "write the name of a model",
    "argument-hint": "write one line of text, in quotes if it begins with `[`",
    "paths": "write a list of glob patterns",
    "tools": "write a list of maps with `type:`, or one line of text",
    "requires": "write `env:` and `bins:`, each with a list of names",
}


def _describe_kind(kind: str) -> str:
    """Say what YAML makes of a value."""
    return {"null": "empty", "bool": "true or false", "text": "text"}.get(kind, f"a {kind}")


def _describe_value(value: object) -> str:
    return value if isinstance(value, str) else "a map" if isinstance(value, Mapping) else "a list"


def _check_unknown_fields(skill: Skill) -> Iterator[Finding]:
    """Fields outside the specification: kept, and an error only to the letter of it."""
    for key in skill.fields:
        if key not in SPEC_FIELDS:
            words = "is not a field of the specification" if key in _KNOWN_FIELDS else "is not known"
            hint = "write `allowed-tools`" if key == "allowed_tools" else "put values of your own below `metadata:`"
            yield _field_finding(skill, key, "field-unknown", f"the field {quoted(key)} {words}", hint)
