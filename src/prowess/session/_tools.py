"""Build the tools with which a model uses its skills, for any framework.

A tool never raises: an error becomes text for the model, and the conversation continues.
"""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.special_tokens import escape_special_tokens
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.errors import ProwessError

from ._activation import escape_tags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from prowess.search import Hit

    from ._activation import Activation
    from ._resources import FileText, MediaFile

    class Call(Protocol):
        """What a tool does."""

        def __call__(self, **arguments: Any) -> str:
            """Return the text for the model."""


_TEXT = {"type": "string"}
_INTEGER = {"type": "integer", "minimum": 0}
_NAME = {**_TEXT, "description": "the skill's name"}
_PART = {
    "offset": {**_INTEGER, "description": "first byte"},
    "limit": {**_INTEGER, "minimum": 1, "description": "bytes at most"},
}
_MAX_DESCRIPTION = 1024
"""Characters of a description in the result of a search."""
_PYTHON_TYPES: dict[str, type] = {"string": str, "integer": int, "array": list}


class FileAnswer(str):
    """The answer of a tool about an image or a document: the text for a model without such content, and the file."""

    __slots__ = ("file",)
    file: MediaFile

    @classmethod
    def of(cls, file: MediaFile) -> FileAnswer:
        """Return the answer about a file."""
        kind = "an image" if file.is_image else "a document"
        size = f"{len(file.data):,} bytes"
        text = f"{quoted(file.name, PATH_LIMIT)} is {kind} ({file.media_type}, {size})"
        answer = cls(escape_tags(f"{text}\nhint: if you are not shown it, read it with a script"))
        answer.file = file
        return answer


class Tool(Frozen):
    """A tool in the form that every framework knows."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of its arguments."""
    call: Call
    """Takes the arguments by name and returns text; an error is returned as text and never raised."""


def activate_tool(activate: Callable[[str, str | None], Activation]) -> Tool:
    """Return the tool that gives a model the instructions of a skill.

    Its schema lists no names: the catalog has them, and skills of a live catalog change.

    Args:
        activate: takes the name and the arguments.
    """
    return _make_tool(
        name="activate_skill",
        description="Get the instructions of a skill.",
        properties={"name": _NAME, "arguments": {**_TEXT, "description": "what to work on"}},
        required=("name",),
        call=lambda name, arguments=None: activate(name, arguments).content,
    )


def read_tool(
    read: Callable[[str, str, int, int | None], FileText], media: Callable[[str, str], FileAnswer | None]
) -> Tool:
    """Return the tool that gives a model a file of a skill.

    Args:
        read: takes the name, the path, the offset and the limit.
        media: takes the name and the path, and returns the answer about an image or a document.
    """

    def call(name: str, path: str, offset: int = 0, limit: int | None = None) -> str:
        answer = None if offset or limit else media(name, path)
        return _file_text(read(name, path, offset, limit)) if answer is None else answer

    return _make_tool(
        name="read_skill_file",
        description="Read a file of a skill.",
        properties={
            "name": _NAME,
            "path": {**_TEXT, "description": "in the skill's directory, for example references/api.md"},
            **_PART,
        },
        required=("name", "path"),
        call=call,
    )


def run_tool(run: Callable[[str, str | None, str | None, list[str], str], str]) -> Tool:
    """Return the tool that runs a script of a skill.

    Args:
        run: takes the name of the skill, the path of the script or the name of the module, its arguments and its input.
    """
    return _make_tool(
        name="run_skill_script",
        description="Run a script of an active skill, and get its output and the names of the files it wrote.",
        properties={
            "skill": _NAME,
            "script": {**_TEXT, "description": "its path in the skill's directory, for example scripts/fill.py"},
            "module": {**_TEXT, "description": "for `python -m`, instead of `script`: for example scripts.fill"},
            "args": {"type": "array", "items": _TEXT, "description": "its arguments, one by one; no shell reads them"},
            "input": {**_TEXT, "description": "its standard input"},
        },
        required=("skill",),
        call=lambda skill, script=None, module=None, args=(), input="": run(  # noqa: A006
            skill, script, module, list(args), input
        ),
    )


def read_written_tool(
    read: Callable[[str, int, int | None], FileText], media: Callable[[str], MediaFile | None]
) -> Tool:
    """Return the tool that gives a model a file that a script wrote.

    Args:
        read: takes the path, the offset and the limit.
        media: takes the path, and returns an image or a document.
    """

    def call(path: str, offset: int = 0, limit: int | None = None) -> str:
        file = None if offset or limit else media(path)
        return _file_text(read(path, offset, limit)) if file is None else FileAnswer.of(file)

    return _make_tool(
        name="read_script_file",
        description="Read a file that a script of a skill wrote in this conversation.",
        properties={"path": {**_TEXT, "description": "as `run_skill_script` named it"}, **_PART},
        required=("path",),
        call=call,
    )


def _file_text(part: FileText) -> str:
    text = escape_special_tokens(part.text)
    if part.next_offset is None:
        return text
    return f"{text}\n[{part.size:,} bytes in all; read on with offset {part.next_offset}]"


def search_tool(search: Callable[[str], Sequence[Hit]], languages: Sequence[str] = ()) -> Tool:
    """Return the tool that finds skills which the model is not shown.

    Args:
        search: takes the query.
        languages: of the descriptions.
    """
    language = " or ".join(languages)

    def call(query: str) -> str:
        lines = [
            escape_tags(f"- {neutral(hit.entry.name)}: {_describe(hit.entry.description)}") for hit in search(query)
        ]
        return "\n".join(lines) or "no skill matches; try other words" + (f", in {language}" if language else "")

    description = "Find skills that are not listed, by words of their name, description or instructions."
    if language:
        description += f" Descriptions are in {language}: a query in that language finds more."
    return _make_tool(
        name="search_skills",
        description=description,
        properties={"query": {**_TEXT, "description": "a few words"}},
        required=("query",),
        call=call,
    )


def _describe(description: str) -> str:
    cut = description if len(description) <= _MAX_DESCRIPTION else description[: _MAX_DESCRIPTION - 1] + "…"
    return neutral(cut)


def _make_tool(
    name: str, description: str, properties: dict[str, Any], required: Sequence[str], call: Callable[..., str]
) -> Tool:
    """Make a tool of a function: its errors become text for the model."""

    def call_safely(**arguments: Any) -> str:
        non_null = {key: value for key, value in arguments.items() if value is not None}
        problems = _argument_problems(arguments, non_null, properties, required)
        if problems:
            hint = f"`{name}` takes {', '.join(f'`{key}`' for key in properties)}"
            return escape_tags(f"error: {'; '.join(problems)}\nhint: {hint}")
        try:
            return call(**non_null)
        except ProwessError as error:
            return escape_tags(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else ""))
        except OSError as error:
            return escape_tags(f"error: {neutral(error.strerror or str(error))}\nhint: go on without it")

    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Tool(name=name, description=description, parameters=schema, call=call_safely)


def _argument_problems(
    arguments: Mapping[str, Any], non_null: Mapping[str, Any], properties: Mapping[str, Any], required: Sequence[str]
) -> list[str]:
    """Return what is wrong with the arguments of a call; a `None` counts as left out."""
    types = {key: properties[key]["type"] for key in non_null if key in properties}
    return [
        *(f"{quoted(key)} is missing" for key in required if key not in non_null),
        *(f"unknown argument {quoted(key)}" for key in arguments if key not in properties),
        *(
            f"{quoted(key)} must be of type {kind}"
            for key, kind in types.items()
            if type(non_null[key]) is not _PYTHON_TYPES[kind]
        ),
        *(
            f"{quoted(key)} must be a list of texts"
            for key, kind in types.items()
            if kind == "array" and not all(isinstance(item, str) for item in non_null[key])
        ),
    ]
