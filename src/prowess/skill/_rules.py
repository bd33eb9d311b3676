"""Check the fields of a skill against the specification.

Each limit of the specification is written here, once. A rule sees one skill and nothing else; a policy changes the
severities later (`findings.apply_policy`). The source is agentskills.io, "Specification" (2026-11), unless a comment
names another. `_body_rules` checks the body.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping

from prowess._internal.text import hidden_characters, quoted
from prowess.findings import Finding, finding

from ._client_fields import CLIENT_FIELDS
from ._skill import FIELDS, SPEC_FIELDS, Skill
from ._token_rules import check_special_tokens

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
"""Words that the `infer` CLI forbids in a name. Anthropic forbids two of them, and ships `claude-api` itself."""


def check_skill(skill: Skill) -> tuple[Finding, ...]:
    """Return the findings of the reader and of the rules, with the severities of the `guide` policy."""
    if skill.document is None or skill.document.frontmatter is None:
        # The file could not be opened or has no front matter: each rule would report the same problem again.
        return skill.findings
    return (
        *skill.findings,
        *_check_name(skill),
        *_check_description(skill),
        *_limit_per_code(_check_optional_fields(skill)),
        *_limit_per_code(_check_unknown_fields(skill)),
        *_limit_per_code(check_special_tokens(skill)),
    )


MAX_FINDINGS_PER_CODE = 20
"""Findings of one code in one file."""


def _limit_per_code(findings: Iterator[Finding]) -> Iterator[Finding]:
    counts: Counter[str] = Counter()
    for item in findings:
        counts[item.code] += 1
        if counts[item.code] <= MAX_FINDINGS_PER_CODE:
            yield item


def _field_finding(skill: Skill, key: str, code: str, message: str, hint: str | None = None) -> Finding:
    """Return a finding at the position of a field."""
    field = skill.fields.get(key)
    line, column = (field.line, field.column) if field else (1, 1)
    return finding(code, message, path=skill.path, line=line, column=column, hint=hint)


def _check_name(skill: Skill) -> Iterator[Finding]:
    """Specification, "name field"."""

    def at_name(code: str, message: str, hint: str | None = None) -> Finding:
        return _field_finding(skill, "name", code, message, hint)

    folder = skill.folder
    field = skill.fields.get("name")
    name = skill.name
    if field is None:
        yield at_name("name-missing", "missing `name`", f"add `name: {folder}`" if folder else "add `name:`")
    elif name is None:
        hint = f"write `name: {folder}`" if folder else None
        yield at_name("name-not-text", f"the name is {_describe_kind(field.kind)}, not text", hint)
    elif not name.strip():
        yield at_name("name-empty", "the name is empty", f"write `name: {folder}`" if folder else "write a name")
    else:
        if field.kind != "text":
            message = f"YAML reads the name {quoted(name)} as {_describe_kind(field.kind)}, not as text"
            yield at_name("name-type", message, f'write `name: "{name}"`')
        for code, message, hint in _check_name_text(_nfkc(name.strip()), folder, skill.path):
            yield at_name(code, message, hint)


def _check_name_text(name: str, folder: str, path: str | None) -> Iterator[tuple[str, str, str]]:
    """Yield the code, message and hint of each rule that a name breaks."""
    if len(name) > MAX_NAME:
        message = f"the name has {len(name)} characters; at most {MAX_NAME} are allowed"
        yield "name-too-long", message, "shorten it"
    if name != name.lower():
        yield "name-case", f"the name {quoted(name)} has upper case letters", f"write {quoted(name.lower())}"
    bad = sorted({c for c in name if not (c.isalnum() or c == "-")})
    if bad:
        message = f"the name {quoted(name)} contains {' '.join(quoted(c) for c in bad[:8])}"
        yield "name-characters", message, "use lower case letters, digits and hyphens only"
    if name[0] == "-" or name[-1] == "-" or "--" in name:
        message = f"the name {quoted(name)} begins or ends with a hyphen, or has two in a row"
        yield "name-hyphens", message, "put single hyphens between words"
    if folder and name != _nfkc(folder):
        kind = "folder" if os.path.basename(os.path.dirname(path or "")) == folder else "file"
        message = f"the name {quoted(name)} differs from the {kind} name {quoted(folder)}"
        yield "name-not-folder", message, f"rename the {kind}, or write `name: {folder}`"
    reserved = next((word for word in RESERVED_WORDS if word in name.lower()), None)
    if reserved is not None:
        message = f"the name {quoted(name)} contains the reserved word {quoted(reserved)}"
        yield "name-reserved", message, "choose another name"


def _nfkc(name: str) -> str:
    """Return a name in Unicode's compatibility form."""
    if name.isascii():
        return name
    import unicodedata

    return unicodedata.normalize("NFKC", name)


def _check_description(skill: Skill) -> Iterator[Finding]:
    """Specification, "description field"."""

    def at_description(code: str, message: str, hint: str) -> Finding:
        return _field_finding(skill, "description", code, message, hint)

    field = skill.fields.get("description")
    advice = "say what the skill does and when to use it"
    if field is None:
        yield at_description("description-missing", "missing `description`", f"add `description:` and {advice}")
        return
    text = skill.description
    if text is None:
        message = f"the description is {_describe_kind(field.kind)}, not text"
        yield at_description("description-not-text", message, "write it as one text")
        return
    if not text.strip():
        yield at_description("description-empty", "the description is empty", advice)
        return
    if field.kind != "text":
        message = f"YAML reads the description {quoted(text)} as {_describe_kind(field.kind)}, not as text"
        yield at_description("description-type", message, advice)
    if len(text) > MAX_DESCRIPTION:
        message = f"the description has {len(text):,} characters; at most {MAX_DESCRIPTION:,} are allowed"
        yield at_description("description-too-long", message, "shorten it; move details into the body")
    hidden = hidden_characters(text)
    if hidden:
        shown = " ".join(f"U+{ord(c):04X}" for c in hidden[:8])
        message = f"the description contains hidden characters: {shown}"
        yield at_description("description-hidden", message, "remove them")
    if "<" in text or ">" in text:
        hint = "write it without them: some clients show a description inside XML"
        yield at_description("description-markup", "the description contains `<` or `>`", hint)


def _check_optional_fields(skill: Skill) -> Iterator[Finding]:
    """Specification, "license" to "allowed-tools" fields; then the fields of single clients."""
    license_field = skill.fields.get("license")
    if license_field is not None and skill.license is None:
        message = f"the licence is {_describe_kind(license_field.kind)}, not text"
        yield _field_finding(skill, "license", "license-type", message, "write its SPDX name")
    yield from _check_compatibility(skill)
    if "metadata" in skill.extra:
        message = f"the metadata is {_describe_kind(skill.fields['metadata'].kind)}, not a map"
        yield _field_finding(skill, "metadata", "metadata-type", message, "write `key: value` lines below it")
    for key, value in skill.metadata.items():
        if not isinstance(value, str):
            kind = "map" if isinstance(value, Mapping) else "list"
            message = f"the metadata value {quoted(key)} is a {kind}, not text"
            yield _field_finding(skill, "metadata", "metadata-nested", message, "write it as one text")
    for key in ("allowed-tools", "allowed_tools"):
        field = skill.fields.get(key)
        if field is not None and field.kind != "text":
            message = f"`{key}` is {_describe_kind(field.kind)}, not one line of text"
            hint = "write `allowed-tools: Read Grep Bash(git:*)` on one line"
            yield _field_finding(skill, key, "allowed-tools-type", message, hint)
    for key in FIELDS[len(SPEC_FIELDS) :]:
        field = skill.fields.get(key)
        if field is not None and key in skill.extra and field.kind != "null":
            message = f"invalid value {quoted(_describe_value(skill.extra[key]))} for `{key}`"
            yield _field_finding(skill, key, "field-type", message, _FIELD_HINTS[key])


def _check_compatibility(skill: Skill) -> Iterator[Finding]:
    field = skill.fields.get("compatibility")
    if field is None:
        return
    text = skill.compatibility
    if text is None:
        note = "; its `requires:` list is read" if skill.requirements.packages else ""
        message = f"the compatibility note is {_describe_kind(field.kind)}, not text{note}"
        yield _field_finding(skill, "compatibility", "compatibility-type", message, "write it as one text")
    elif not text.strip():
        message = "the compatibility note is empty"
        yield _field_finding(skill, "compatibility", "compatibility-empty", message, "remove it")
    elif len(text) > MAX_COMPATIBILITY:
        message = f"the compatibility note has {len(text):,} characters; at most {MAX_COMPATIBILITY} are allowed"
        yield _field_finding(skill, "compatibility", "compatibility-too-long", message, "shorten it")


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
    """Name a YAML type in a message."""
    return {"null": "empty", "bool": "true or false", "text": "text"}.get(kind, f"a {kind}")


def _describe_value(value: object) -> str:
    return value if isinstance(value, str) else "a map" if isinstance(value, Mapping) else "a list"


def _check_unknown_fields(skill: Skill) -> Iterator[Finding]:
    """Fields outside the specification are kept; they are an error under the `spec` policy only."""
    for key in skill.fields:
        if key in SPEC_FIELDS:
            continue
        message = f"the field {quoted(key)} is not in the specification"
        if key == "allowed_tools":
            both = "allowed-tools" in skill.fields
            hint = "remove it: `allowed-tools` is there too" if both else "write `allowed-tools`"
        elif key in CLIENT_FIELDS:
            message += f"; {_describe_agents(*CLIENT_FIELDS[key])}; no other known agent does"
            hint = "keep it for these agents, or remove it to follow the specification"
        else:
            message = f"unknown field {quoted(key)}"
            hint = "put your own values below `metadata:`"
        yield _field_finding(skill, key, "field-unknown", message, hint)


def _describe_agents(observed: tuple[str, ...], documented: tuple[str, ...]) -> str:
    """Say which agents honour a field, and which only document it."""
    parts = []
    for names, verb in ((observed, "honour"), (documented, "document")):
        if names:
            subject = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            parts.append(f"{subject} {verb}{'s' if len(names) == 1 else ''} it")
    return ", ".join(parts)
