"""SKILL.md -> Skill

`parse` takes bytes and gives the model, or raises where the `guide` policy rejects; `from_document` never raises and
leaves it to the caller how strict to be. `render` is the way back: `parse(render(skill)) == skill`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess.errors import SkillSyntaxError
from prowess.findings import Finding, Severity, finding

from ._frontmatter import Document, Field, Value, parse_frontmatter, scalar_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Splitter = Callable[[str], Iterable[str]]

__all__ = ["FIELDS", "Requirements", "Skill", "from_document", "load", "parse", "render"]

SPEC_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The fields of agentskills.io, specification, "Frontmatter"."""

CLIENT_FIELDS = (
    "disable-model-invocation",
    "user-invocable",
    "context",
    "agent",
    "model",
    "argument-hint",
    "paths",
    "tools",
    "requires",
)
"""Fields of single clients that Prowess reads too."""

FIELDS = (*SPEC_FIELDS, *CLIENT_FIELDS)


class Requirements(Frozen):
    """What a skill says it needs; nothing here is checked yet."""

    env: tuple[str, ...] = ()
    """Environment variables that must be set and not empty."""
    bins: tuple[str, ...] = ()
    """Programs that must be on PATH."""
    packages: tuple[str, ...] = ()
    """Python requirements, as in `compatibility: {requires: [...]}` of UAAPS."""

    def as_dict(self) -> dict[str, list[str]]:
        """Return the requirements as `--json` shows them."""
        return {"env": list(self.env), "bins": list(self.bins), "packages": list(self.packages)}


class Skill(Frozen, not_compared=("path", "fields", "findings", "document")):
    """One skill as its author wrote it. What a field cannot hold, because it has the wrong type, is in `extra`."""

    name: str | None = None
    """None where there is none; the text as it was typed otherwise, even if it is empty."""
    description: str | None = None
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, Value] = EMPTY
    """Text to text; a nested list or map is kept as it is."""
    allowed_tools: tuple[str, ...] = ()
    """One item a tool: `Bash(git add:*)` is one."""
    disable_model_invocation: bool = False
    user_invocable: bool = True
    context: str | None = None
    agent: str | None = None
    model: str | None = None
    argument_hint: str | None = None
    paths: tuple[str, ...] = ()
    tools: tuple[Mapping[str, Value], ...] | str = ()
    """InitRunner's list of tool configurations; text where a skill writes `tools: Read, Grep`."""
    requirements: Requirements = Requirements()
    extra: Mapping[str, Value] = EMPTY
    """Everything else, as it was read."""
    body: str = ""
    """The instructions; empty when only the front matter was read."""
    path: str | None = None
    """Of its SKILL.md."""
    fields: Mapping[str, Field] = EMPTY
    """The front matter with positions and YAML types, for rules and for hosts that care."""
    findings: tuple[Finding, ...] = ()
    """What the reader had to say."""
    document: Document | None = None

    @property
    def folder(self) -> str:
        """The name of the folder it lies in, of a flat `NAME.md` the NAME; an empty text if it came from nowhere."""
        if not self.path:
            return ""
        folder, file = os.path.split(self.path)
        return file[:-3] if file.endswith(".md") and file.lower() != "skill.md" else os.path.basename(folder)

    @property
    def short_description(self) -> str | None:
        """`metadata.short-description`, which Codex reads for its interface."""
        value = self.metadata.get("short-description")
        return value if isinstance(value, str) else None


def parse(data: bytes | str, *, path: str | None = None) -> Skill:
    """Read one SKILL.md.

    Args:
        data: the whole file.
        path: what findings and errors call it.

    Raises:
        SkillSyntaxError: the file breaks a rule that rejects it under the `guide` policy while it is read; what is
            wrong with its *values* is for `prowess.check` to say.
    """
    skill = from_document(
        parse_frontmatter(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data, path), path
    )
    for item in skill.findings:
        if item.severity is Severity.ERROR:
            source = ""
            if item.line is not None and skill.document is not None:
                lines = skill.document.text.split("\n", item.line)
                source = lines[item.line - 1] if len(lines) >= item.line else ""
            raise SkillSyntaxError(item, source=source, findings=skill.findings)
    return skill


def load(path: str, *, real: str | None = None) -> Skill:
    """Read one SKILL.md from the disk. Whatever is wrong is in the skill's findings; nothing is raised.

    Args:
        path: what the file is called; a link is not followed.
        real: where it lies, if `path` is a link to it.
    """
    try:
        data = read_file(real or path)
    except UnreadableError as error:
        return unreadable_skill(path, error)
    return from_document(parse_frontmatter(data, path), path)


def unreadable_skill(path: str, error: UnreadableError) -> Skill:
    """Stand in for a skill whose file could not be read."""
    return Skill(path=path, findings=(finding(error.code, error.message, path=path, hint=error.hint),))


_TRUE = frozenset(("true", "yes", "on", "1"))
_FALSE = frozenset(("false", "no", "off", "0"))


def from_document(document: Document, path: str | None = None) -> Skill:
    """Give the fields of a document their types. Never raises."""
    values = {key: entry.value for key, entry in document.fields.items()}
    if "allowed_tools" in values and "allowed-tools" not in values:
        values["allowed-tools"] = values.pop("allowed_tools")

    def text(key: str) -> str | None:
        value = values.get(key)
        if isinstance(value, str):
            del values[key]
            return value
        return None

    def truth(key: str, default: bool) -> bool:
        value = values.get(key)
        if isinstance(value, str) and (word := value.strip().lower()) in _TRUE | _FALSE:
            del values[key]
            return word in _TRUE
        return default

    def texts(key: str, split: Splitter) -> tuple[str, ...]:
        value = values.get(key)
        if isinstance(value, str):
            del values[key]
            return tuple(split(value))
        if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
            del values[key]
            return tuple(item for item in value if isinstance(item, str) and item)
        return ()

    metadata: Mapping[str, Value] = {}
    if isinstance(values.get("metadata"), Mapping):
        metadata = values.pop("metadata")  # type: ignore[assignment]
    tools = values.get("tools")
    skill_tools: tuple[Mapping[str, Value], ...] | str = ()
    if isinstance(tools, str) or (isinstance(tools, tuple) and all(isinstance(item, Mapping) for item in tools)):
        skill_tools = tools  # type: ignore[assignment]
        del values["tools"]
    return Skill(
        name=text("name"),
        description=text("description"),
        license=text("license"),
        compatibility=text("compatibility"),
        metadata=metadata,
        allowed_tools=texts("allowed-tools", split_tools),
        disable_model_invocation=truth("disable-model-invocation", False),
        user_invocable=truth("user-invocable", True),
        context=text("context"),
        agent=text("agent"),
        model=text("model"),
        argument_hint=text("argument-hint"),
        paths=texts("paths", _split_commas),
        tools=skill_tools,
        requirements=_take_requirements(values),
        extra=values,
        body=document.body,
        path=path,
        fields=document.fields,
        findings=document.findings,
        document=document,
    )


def _take_requirements(values: dict[str, Value]) -> Requirements:
    """Take `requires:` and the map form of `compatibility:` out of the fields, if they have the form they should."""
    env: tuple[str, ...] = ()
    bins: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    requires = values.get("requires")
    if isinstance(requires, Mapping) and requires.keys() <= {"env", "bins"}:
        lists = {key: _text_list(value) for key, value in requires.items()}
        if None not in lists.values():
            env, bins = lists.get("env") or (), lists.get("bins") or ()
            del values["requires"]
    compatibility = values.get("compatibility")
    if isinstance(compatibility, Mapping) and compatibility.keys() == {"requires"}:
        wanted = _text_list(compatibility["requires"])
        if wanted is not None:
            packages = wanted
            del values["compatibility"]
    return Requirements(env=env, bins=bins, packages=packages)


def _text_list(value: Value) -> tuple[str, ...] | None:
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return value  # type: ignore[return-value]
    return None


_TOOL_PATTERN = re.compile(r"[^\s,()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^\s,()]*)*|[()]")


def split_tools(text: str) -> Iterator[str]:
    """Split a line of tools at blanks and commas, but not inside parentheses: `Bash(git:*)` is one item."""
    return (match for match in _TOOL_PATTERN.findall(text) if match)


def _split_commas(text: str) -> Iterator[str]:
    return (part.strip() for part in text.split(",") if part.strip())


def render(skill: Skill) -> str:
    """Write a skill as the text of its SKILL.md: specification fields first, then its other fields in order."""
    values: dict[str, Value | bool] = {}

    def put(key: str, value: Value | bool | None) -> None:
        if value is not None and value != () and value != {}:
            values[key] = value

    put("name", skill.name)
    put("description", skill.description)
    put("license", skill.license)
    put("compatibility", skill.compatibility)
    if skill.requirements.packages:
        put("compatibility", {"requires": skill.requirements.packages})
    put("metadata", skill.metadata)
    line = " ".join(skill.allowed_tools)
    fits = line and tuple(split_tools(line)) == skill.allowed_tools
    put("allowed-tools", line if fits else skill.allowed_tools)
    put("disable-model-invocation", True if skill.disable_model_invocation else None)
    put("user-invocable", None if skill.user_invocable else False)
    for key in ("context", "agent", "model"):
        put(key, getattr(skill, key))
    put("argument-hint", skill.argument_hint)
    put("paths", skill.paths)
    if skill.tools != "":
        put("tools", skill.tools)
    else:
        values["tools"] = ""
    needs = {key: value for key in ("env", "bins") if (value := getattr(skill.requirements, key))}
    put("requires", needs)
    values.update(skill.extra)
    lines = ["---"]
    for key, item in values.items():
        lines += _render_entry(key, item, 0)
    return "\n".join([*lines, "---", skill.body])


# A first digit is not among them: `1:30`, `1_000` and `2026-11-01` are something else to a reader of YAML 1.1.
_PLAIN_SCALAR = r"[A-Za-z_/](?:[A-Za-z0-9_/.,()+;!?'\"%&*@~^=<>-]|:(?=[^ ])|(?<! ) (?=[^ #]))*"
_YAML_BOOLEANS = _TRUE | _FALSE | {"y", "n"}
"""Truth values to one YAML reader or another."""
_MAX_IMPLICIT_KEY = 128
"""Characters; YAML allows a key 1,024 bytes on its line, and an escape takes up to ten for one character."""


def _render_entry(key: str, value: Value | bool, depth: int) -> Iterator[str]:
    name = _render_scalar(key)
    if len(name) > _MAX_IMPLICIT_KEY:
        yield f"{'  ' * depth}? {name}"
        name = ""
    start = f"{'  ' * depth}{name}:"
    if isinstance(value, bool):
        yield f"{start} {'true' if value else 'false'}"
    elif isinstance(value, str):
        yield f"{start} {_render_scalar(value)}"
    elif not value:
        yield f"{start} {'{}' if isinstance(value, Mapping) else '[]'}"
    else:
        yield start
        yield from _render_items(value, depth + 1)


def _render_items(value: Value, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _render_entry(key, item, depth)
        return
    for item in value:
        dash = f"{'  ' * depth}-"
        if isinstance(item, str):
            yield f"{dash} {_render_scalar(item)}"
        elif not item:
            yield f"{dash} {'{}' if isinstance(item, Mapping) else '[]'}"
        else:
            # Two columns deeper than the dash, its first line beside it.
            first, *rest = _render_items(item, depth + 1)
            yield f"{dash} {first.lstrip(' ')}"
            yield from rest


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_MUST_ESCAPE = (
    '[\\\\"\x00-\x1f\x7f-\x9f\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f'
    "\ud800-\udfff\ufeff\ufffe\uffff\U000e0000-\U000e0fff]"
)


def _render_scalar(text: str) -> str:
    """Write text so that any YAML reader gives it back as text."""
    if (
        re.fullmatch(_PLAIN_SCALAR, text)
        and not text.endswith(":")
        and scalar_kind(text) == "text"
        and text.lower() not in _YAML_BOOLEANS
    ):
        return text

    def escape(match: re.Match[str]) -> str:
        number = ord(match[0])
        if match[0] in _ESCAPES:
            return _ESCAPES[match[0]]
        if number > 0xFFFF:
            return f"\\U{number:08X}"
        return f"\\x{number:02X}" if number < 0x100 else f"\\u{number:04X}"

    return '"' + re.sub(_MUST_ESCAPE, escape, text) + '"'
