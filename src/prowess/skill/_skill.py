"""Read a SKILL.md into a `Skill`.

`parse` raises an exception for a finding that is an error under the `guide` policy; `load` and `from_document` never
raise, so the caller decides how strict to be.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.patterns import compile_on_use
from prowess.errors import SkillSyntaxError
from prowess.findings import Finding, Severity, finding

from ._frontmatter import Document, parse_frontmatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ._yaml import Field, Value

SPEC_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The fields of agentskills.io, "Specification", "Frontmatter"."""

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
"""Fields of single clients that Prowess reads as well."""

FIELDS = (*SPEC_FIELDS, *CLIENT_FIELDS)


class Requirements(Frozen):
    """What a skill says it needs; `find_missing` checks it."""

    env: tuple[str, ...] = ()
    """Environment variables that must be set and not empty."""
    bins: tuple[str, ...] = ()
    """Programs that must be on PATH."""
    any_bins: tuple[str, ...] = ()
    """Programs of which one must be on PATH."""
    packages: tuple[str, ...] = ()
    """Python requirements of `requires: {packages: [...]}`, and of `compatibility: {requires: [...]}` of UAAPS."""

    def as_dict(self) -> dict[str, list[str]]:
        """Return the requirements in the shape of `--json`."""
        some = {"any_bins": list(self.any_bins)} if self.any_bins else {}
        return {"env": list(self.env), "bins": list(self.bins), **some, "packages": list(self.packages)}


class Skill(Frozen, not_compared=("path", "fields", "findings", "document"), extra_slots=("_checked",)):
    """One skill as its author wrote it. A value of the wrong type is in `extra`."""

    name: str | None = None
    """`None` if missing; otherwise the text as its author typed it, even if it is empty."""
    description: str | None = None
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, Value] = EMPTY
    """Text to text; a nested list or map is kept."""
    allowed_tools: tuple[str, ...] = ()
    """One item per tool; `Bash(git add:*)` is one item."""
    disable_model_invocation: bool = False
    user_invocable: bool = True
    context: str | None = None
    agent: str | None = None
    model: str | None = None
    argument_hint: str | None = None
    paths: tuple[str, ...] = ()
    tools: tuple[Mapping[str, Value], ...] | str = ()
    """InitRunner's list of tool configurations, or the text of a skill that writes `tools: Read, Grep`."""
    requirements: Requirements = Requirements()
    extra: Mapping[str, Value] = EMPTY
    """All other fields."""
    body: str = ""
    """The instructions; empty if only the front matter was read."""
    path: str | None = None
    """The path of its SKILL.md."""
    fields: Mapping[str, Field] = EMPTY
    """The front matter with positions and YAML types, for rules and hosts."""
    findings: tuple[Finding, ...] = ()
    """The findings of the reader."""
    document: Document | None = None

    @property
    def folder(self) -> str:
        """The name of its folder; for a flat `NAME.md` the NAME; empty if it has no path."""
        if not self.path:
            return ""
        folder, file = os.path.split(self.path)
        return file[:-3] if file.endswith(".md") and file.lower() != "skill.md" else os.path.basename(folder)

    @property
    def short_description(self) -> str | None:
        """The value of `metadata.short-description`, which Codex shows to its user."""
        value = self.metadata.get("short-description")
        return value if isinstance(value, str) else None


def parse(data: bytes | str, *, path: str | None = None) -> Skill:
    """Return the skill in a SKILL.md.

    Args:
        data: the whole file.
        path: the name of the file in findings and errors.

    Raises:
        SkillSyntaxError: the file cannot be parsed under the `guide` policy. `prowess.check` reports wrong values.
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
    """Return the skill in a file. Never raises: the skill's findings report what is wrong.

    Args:
        path: the name of the file in findings; a link is not followed.
        real: the path to open, if `path` is a link to it.
    """
    try:
        data = read_file(real or path)
    except UnreadableError as error:
        return unreadable_skill(path, error)
    return from_document(parse_frontmatter(data, path), path)


def unreadable_skill(path: str, error: UnreadableError) -> Skill:
    """Return an empty skill with a finding that says why its file cannot be read."""
    return Skill(path=path, findings=(finding(error.code, error.message, path=path, hint=error.hint),))


def from_document(document: Document, path: str | None = None) -> Skill:
    """Return a skill with the typed fields of a document. Never raises."""
    values = {key: field.value for key, field in document.fields.items()}
    if "allowed_tools" in values and "allowed-tools" not in values:
        values["allowed-tools"] = values.pop("allowed_tools")
    metadata = _take_mapping(values, "metadata")
    return Skill(
        metadata=metadata,
        tools=_take_tools(values),
        name=_take_text(values, "name"),
        description=_take_text(values, "description"),
        license=_take_text(values, "license"),
        compatibility=_take_text(values, "compatibility"),
        allowed_tools=_take_texts(values, "allowed-tools", split_tools),
        disable_model_invocation=_take_bool(values, "disable-model-invocation", default=False),
        user_invocable=_take_bool(values, "user-invocable", default=True),
        context=_take_text(values, "context"),
        agent=_take_text(values, "agent"),
        model=_take_text(values, "model"),
        argument_hint=_take_text(values, "argument-hint"),
        paths=_take_texts(values, "paths", _split_commas),
        requirements=_take_requirements(values, metadata),
        extra=values,
        body=document.body,
        path=path,
        fields=document.fields,
        findings=document.findings,
        document=document,
    )


# Each of these removes a field from the values and returns it typed. A value of another type is not removed.

TRUE_WORDS = frozenset(("true", "yes", "on", "1"))
FALSE_WORDS = frozenset(("false", "no", "off", "0"))


def _take_text(values: dict[str, Value], key: str) -> str | None:
    value = values.get(key)
    if isinstance(value, str):
        del values[key]
        return value
    return None


def _take_bool(values: dict[str, Value], key: str, *, default: bool) -> bool:
    value = values.get(key)
    if isinstance(value, str) and (word := value.strip().lower()) in TRUE_WORDS | FALSE_WORDS:
        del values[key]
        return word in TRUE_WORDS
    return default


def _take_texts(values: dict[str, Value], key: str, split: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    value = values.get(key)
    if isinstance(value, str):
        del values[key]
        return tuple(split(value))
    texts = _text_list(value)
    if texts is None:
        return ()
    del values[key]
    return tuple(filter(None, texts))


def _take_mapping(values: dict[str, Value], key: str) -> Mapping[str, Value]:
    value = values.get(key)
    if isinstance(value, Mapping):
        del values[key]
        return value
    return {}


def _take_tools(values: dict[str, Value]) -> tuple[Mapping[str, Value], ...] | str:
    value = values.get("tools")
    if isinstance(value, str):
        del values["tools"]
        return value
    if isinstance(value, tuple):
        tools = tuple(item for item in value if isinstance(item, Mapping))
        if len(tools) == len(value):
            del values["tools"]
            return tools
    return ()


def _take_requirements(values: dict[str, Value], metadata: Mapping[str, Value]) -> Requirements:
    """Take `requires:` and the map form of `compatibility:`, unless they have another form; read those of OpenClaw."""
    found: dict[str, tuple[str, ...]] = {}
    requires = values.get("requires")
    if isinstance(requires, Mapping) and requires.keys() <= {"env", "bins", "packages"}:
        lists = {key: names for key, value in requires.items() if (names := _text_list(value)) is not None}
        if len(lists) == len(requires):
            found = lists
            del values["requires"]
    compatibility = values.get("compatibility")
    if isinstance(compatibility, Mapping) and compatibility.keys() == {"requires"}:
        required = _text_list(compatibility["requires"])
        if required is not None:
            found["packages"] = (*found.get("packages", ()), *required)
            del values["compatibility"]
    for key, names in _openclaw_requirements(metadata):
        found[key] = tuple(dict.fromkeys((*found.get(key, ()), *names)))
    return Requirements(**found)


_OPENCLAW_KEYS = {"env": "env", "bins": "bins", "anyBins": "any_bins"}
"""What OpenClaw requires of the machine, and the fields here; docs.openclaw.ai/tools/skills, "Gating" (2026-11). Its
`config` is about the settings of OpenClaw itself."""


def _openclaw_requirements(metadata: Mapping[str, Value]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the requirements in `metadata.openclaw.requires`; what has another form is left out."""
    own = metadata.get("openclaw")
    requires = own.get("requires") if isinstance(own, Mapping) else None
    if isinstance(requires, Mapping):
        for key, field in _OPENCLAW_KEYS.items():
            names = _text_list(requires.get(key))
            if names:
                yield field, names


def _text_list(value: Value | None) -> tuple[str, ...] | None:
    """Return a list of texts, or `None` if the value is something else."""
    if not isinstance(value, tuple):
        return None
    texts = tuple(item for item in value if isinstance(item, str))
    return texts if len(texts) == len(value) else None


_TOOL_PATTERN = compile_on_use(r"[^\s,()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^\s,()]*)*|[()]")


def split_tools(text: str) -> Iterator[str]:
    """Yield the tools of a line, split at blanks and commas outside parentheses: `Bash(git:*)` is one item."""
    return (match for match in _TOOL_PATTERN.findall(text) if match)


def _split_commas(text: str) -> Iterator[str]:
    return (part.strip() for part in text.split(",") if part.strip())
