"""Check the fields of a skill against the specification.

Each limit of the specification is written here, once. A rule sees one skill and nothing else; a policy changes the
severities later (`findings.apply_policy`). The source is agentskills.io, "Specification" (2026-11), unless a comment
names another. `_body_rules` checks the body.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping

from prowess._internal.text import hidden_characters, neutral, quoted, without_hidden
from prowess.findings import Finding, finding

from ._client_fields import CLIENT_FIELDS
from ._names import MAX_NAME, RESERVED_WORDS, name_hint, name_problems, normalized_name
from ._skill import FIELDS, SPEC_FIELDS, Skill, split_tools
from ._token_rules import check_special_tokens
from ._yaml import YamlSyntaxError, scalar_kind

MAX_DESCRIPTION = 1024
"""Characters; "description field"."""
MAX_COMPATIBILITY = 500
"""Characters; "compatibility field"."""


def check_skill(skill: Skill) -> tuple[Finding, ...]:
    """Return the findings of the reader and of the rules, with the severities of the `guide` policy."""
    checked: tuple[Finding, ...] | None = getattr(skill, "_checked", None)
    if checked is None:  # the rules of a dozen agents ask for them
        checked = _check(skill)
        object.__setattr__(skill, "_checked", checked)
    return checked


def _check(skill: Skill) -> tuple[Finding, ...]:
    if skill.document is None or skill.document.frontmatter is None:
        # The file could not be opened or has no front matter: each rule would report the same problem again.
        return skill.findings
    findings = (*skill.findings, *_check_name(skill), *_check_description(skill))
    if not any(item.code == "yaml-syntax" for item in skill.findings):
        # Of a text that is not YAML only single lines are read: a map looks like an empty text.
        findings += (
            *_limit_per_code(_check_optional_fields(skill)),
            *_limit_per_code(_check_unknown_fields(skill)),
        )
    return (*findings, *_limit_per_code(check_special_tokens(skill)))


DESCRIPTION_PLACEHOLDER = "Describe in one sentence what "
"""The beginning of the description that `prowess new` writes if none is given."""
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


def _is_read_completely(skill: Skill) -> bool:
    """Return whether a field that was not read is missing. The reader stops at some problems, and reports those."""
    return not any(item.code in ("yaml-not-mapping", "yaml-too-deep", "yaml-too-long") for item in skill.findings)


def _check_name(skill: Skill) -> Iterator[Finding]:
    """Specification, "name field"."""

    def at_name(code: str, message: str, hint: str | None = None) -> Finding:
        return _field_finding(skill, "name", code, message, hint)

    folder = skill.folder
    kind = "folder" if os.path.basename(os.path.dirname(skill.path or "")) == folder else "file"
    field = skill.fields.get("name")
    name = skill.name
    if field is None:
        if not _is_read_completely(skill):
            return
        yield at_name("name-missing", "missing `name`", name_hint(None, folder, verb="add", kind=kind))
    elif name is None:
        message = f"the name is {_describe_kind(field.kind)}, not text"
        yield at_name("name-not-text", message, name_hint(None, folder, kind=kind))
    elif not name.strip():
        yield at_name("name-empty", "the name is empty", name_hint(None, folder, kind=kind))
    else:
        if field.kind != "text":
            message = f"YAML reads the name {quoted(name)} as {_describe_kind(field.kind)}, not as text"
            yield at_name("name-type", message, f'write `name: "{name}"`')
        for code, message, hint in _check_name_text(normalized_name(name.strip()), folder, kind):
            yield at_name(code, message, hint)


def _check_name_text(name: str, folder: str, kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield the code, message and hint of each rule that a name breaks."""
    problems, differs = name_problems(name), bool(folder) and name != normalized_name(folder)
    reserved = next((word for word in RESERVED_WORDS if word in name.lower()), None)
    if not problems and not differs and reserved is None:
        return
    hint = name_hint(name, folder, kind=kind)
    bad = sorted({c for c in name if not (c.isalnum() or c == "-")})
    messages = {
        "name-too-long": f"the name has {len(name)} characters; at most {MAX_NAME} are allowed",
        "name-case": f"the name {quoted(name)} has upper case letters",
        "name-characters": f"the name {quoted(name)} contains {' '.join(quoted(c) for c in bad[:8])}",
        "name-hyphens": f"the name {quoted(name)} begins or ends with a hyphen, or has two in a row",
    }
    for code in problems:
        yield code, messages[code], hint
    if differs:
        message = f"the name {quoted(name)} differs from the {kind} name {quoted(folder)}"
        if "rename" not in hint and not problems:
            hint += f", or rename the {kind} to {quoted(name + ('.md' if kind == 'file' else ''), MAX_NAME + 3)}"
        yield "name-not-folder", message, hint
    if reserved is not None:
        message = f"the name {quoted(name)} contains the reserved word {quoted(reserved)}"
        yield "name-reserved", message, f"choose another name{f', also for the {kind}' if folder else ''}"


def _check_description(skill: Skill) -> Iterator[Finding]:
    """Specification, "description field"."""

    def at_description(code: str, message: str, hint: str) -> Finding:
        return _field_finding(skill, "description", code, message, hint)

    field = skill.fields.get("description")
    advice = "say what the skill does and when to use it"
    if field is None:
        if _is_read_completely(skill):
            yield at_description("description-missing", "missing `description`", f"add `description:` and {advice}")
        return
    text = skill.description
    if text is None:
        message = f"the description is {_describe_kind(field.kind)}, not text"
        yield at_description("description-not-text", message, f"write it as one text: {advice}")
        return
    if not text.strip():
        yield at_description("description-empty", "the description is empty", advice)
        return
    if field.kind != "text":
        message = f"YAML reads the description {quoted(text)} as {_describe_kind(field.kind)}, not as text"
        yield at_description("description-type", message, advice)
    if len(text) > MAX_DESCRIPTION:
        message = f"the description has {len(text):,} characters; at most {MAX_DESCRIPTION:,} are allowed"
        hint = f"shorten it to {MAX_DESCRIPTION:,} characters, and move details into the body"
        yield at_description("description-too-long", message, hint)
    hidden = hidden_characters(text)
    if hidden:
        shown = " ".join(f"U+{ord(c):04X}" for c in hidden[:8])
        message = f"the description contains hidden characters: {shown}"
        yield at_description("description-hidden", message, "remove them" if without_hidden(text).strip() else advice)
    if text.startswith(DESCRIPTION_PLACEHOLDER):
        message = "the description is still the one that `prowess new` wrote"
        yield at_description("description-placeholder", message, advice)
    if "<" in text or ">" in text:
        hint = advice if not text.strip("<> \n") else "remove them: some clients show a description inside XML"
        yield at_description("description-markup", "the description contains `<` or `>`", hint)


def _check_optional_fields(skill: Skill) -> Iterator[Finding]:
    """Specification, "license" to "allowed-tools" fields; then the fields of single clients."""
    license_field = skill.fields.get("license")
    if license_field is not None and skill.license is None:
        message = f"the license is {_describe_kind(license_field.kind)}, not text"
        hint = "write the SPDX name of the license, such as `license: MIT`"
        yield _field_finding(skill, "license", "license-type", message, hint)
    yield from _check_compatibility(skill)
    if "metadata" in skill.extra:
        kind = skill.fields["metadata"].kind
        message = f"the metadata is {_describe_kind(kind)}, not a map"
        hint = "remove it, or write" if kind == "null" else "write"
        yield _field_finding(skill, "metadata", "metadata-type", message, f"{hint} `key: value` lines below it")
    yield from _check_nested_metadata(skill)
    yield from _check_metadata_types(skill)
    for key in ("allowed-tools", "allowed_tools"):
        field = skill.fields.get(key)
        if field is not None and field.kind != "text":
            message = f"`{key}` is {_describe_kind(field.kind)}, not one line of text"
            yield _field_finding(skill, key, "allowed-tools-type", message, _allowed_tools_hint(skill, field.kind))
    for key in FIELDS[len(SPEC_FIELDS) :]:
        field = skill.fields.get(key)
        if field is not None and key in skill.extra and field.kind != "null":
            message = f"invalid value {quoted(_describe_value(skill.extra[key]))} for `{key}`"
            yield _field_finding(skill, key, "field-type", message, _field_hint(skill, key))


def _check_nested_metadata(skill: Skill) -> Iterator[Finding]:
    """All such values share one finding, since only the position of `metadata` is known."""
    nested = {key: value for key, value in skill.metadata.items() if not isinstance(value, str)}
    if not nested:
        return
    names = ", ".join(quoted(key) for key in [*nested][:MAX_FINDINGS_PER_CODE])
    message, hint = f"the metadata values {names} are lists or maps, not text", "write each as one text"
    if len(nested) == 1:
        ((key, value),) = nested.items()
        kind = "map" if isinstance(value, Mapping) else "list"
        message, hint = f"the metadata value {quoted(key)} is a {kind}, not text", "write it as one text"
    yield _field_finding(skill, "metadata", "metadata-nested", message, hint)


def _check_metadata_types(skill: Skill) -> Iterator[Finding]:
    """Specification, "metadata field": from text to text. Other clients fail on a whole list of skills otherwise."""
    maybe = [key for key, value in skill.metadata.items() if isinstance(value, str) and scalar_kind(value) != "text"]
    if not maybe or skill.document is None:
        return
    from ._core_values import core_mapping

    try:
        typed = core_mapping(skill.document.frontmatter or "").get("metadata")
    except (YamlSyntaxError, ValueError):
        return  # a text that only the reader of Prowess repairs
    found = [key for key in maybe if isinstance(typed, Mapping) and not isinstance(typed.get(key, ""), str)]
    if not found:
        return
    key, value = found[0], skill.metadata[found[0]]
    names = ", ".join(map(quoted, found[:MAX_FINDINGS_PER_CODE]))
    are = f"the metadata value {names} is {_describe_kind(scalar_kind(str(value)))}"
    if len(found) > 1:
        are = f"the metadata values {names} are numbers, truth values or empty"
    hint = (
        f'write `{key}: "{value}"`, in quotes' if neutral(f"{key}{value}") == f"{key}{value}" else "write it in quotes"
    )
    message = f"{are}, not text; `prowess mcp serve` leaves the skill out"
    yield _field_finding(skill, "metadata", "metadata-not-text", message, hint)


def _allowed_tools_hint(skill: Skill, kind: str) -> str:
    """Return the line with the tools of the skill, or advice if they do not fit on one line."""
    line = " ".join(skill.allowed_tools)
    if kind == "null":
        return "remove it, or name the tools on one line"
    if not line or tuple(split_tools(line)) != skill.allowed_tools or neutral(line) != line or len(line) > 200:
        return "name the tools on one line, with blanks between them"
    from ._render import scalar_line

    return f"write `allowed-tools: {scalar_line(line)}`"


def _check_compatibility(skill: Skill) -> Iterator[Finding]:
    field = skill.fields.get("compatibility")
    if field is None:
        return
    text = skill.compatibility
    if text is None:
        note = "" if "compatibility" in skill.extra else "; its `requires:` list is read"
        message = f"the compatibility note is {_describe_kind(field.kind)}, not text{note}"
        hint = f"write it as one text of at most {MAX_COMPATIBILITY} characters"
        yield _field_finding(skill, "compatibility", "compatibility-type", message, hint)
    elif not text.strip():
        message = "the compatibility note is empty"
        yield _field_finding(skill, "compatibility", "compatibility-empty", message, "remove it")
    elif len(text) > MAX_COMPATIBILITY:
        message = f"the compatibility note has {len(text):,} characters; at most {MAX_COMPATIBILITY} are allowed"
        hint = f"shorten it to {MAX_COMPATIBILITY} characters"
        yield _field_finding(skill, "compatibility", "compatibility-too-long", message, hint)


def _field_hint(skill: Skill, key: str) -> str:
    """Say which values are valid; with some, neither the model nor the user could use the skill."""
    if key == "disable-model-invocation":
        return "write `true` or `false`" if skill.user_invocable else "write `false`"
    if key == "user-invocable":
        return "write `true`" if skill.disable_model_invocation else "write `true` or `false`"
    return _FIELD_HINTS[key]


_FIELD_HINTS = {
    "context": "write one word of text",
    "agent": "write the name of an agent",
    "model": "write the name of a model",
    "argument-hint": "write one line of text, in quotes if it begins with `[`",
    "paths": "write a list of glob patterns",
    "tools": "write a list of maps with `type:`, or one line of text",
    "requires": "write `env:`, `bins:` and `packages:`, each with a list of names",
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
            kind = skill.fields[key].kind
            meant = _MISSPELT_FIELDS.get(key, "")
            if meant and meant not in skill.fields and kind == "text" and len(str(skill.extra[key])) <= _LIMITS[meant]:
                yield _field_finding(skill, key, "field-unknown", message, f"did you mean `{meant}`?")
                continue
            form = " as text" if kind in ("list", "map") else ""
            hint = f"put your own values below `metadata:`{form}"
            if kind == "null":
                hint += ", or remove it"
        yield _field_finding(skill, key, "field-unknown", message, hint)


_MISSPELT_FIELDS = {
    **dict.fromkeys(("licence", "licenses", "lisence", "License"), "license"),
    **dict.fromkeys(("desc", "descriptions", "descripton", "desciption", "discription", "Description"), "description"),
    **dict.fromkeys(("compatability", "compatibilty"), "compatibility"),
}
_LIMITS = {"license": 1000, "description": MAX_DESCRIPTION, "compatibility": MAX_COMPATIBILITY}


def _describe_agents(observed: tuple[str, ...], documented: tuple[str, ...]) -> str:
    """Say which agents honour a field, and which only document it."""
    parts = []
    for names, verb in ((observed, "honour"), (documented, "document")):
        if names:
            subject = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            parts.append(f"{subject} {verb}{'s' if len(names) == 1 else ''} it")
    return ", ".join(parts)
