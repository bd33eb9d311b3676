"""Chat templates in the manner of four families of models, which refuse what theirs refuse; written for these tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from jinja2 import Environment, FileSystemLoader, StrictUndefined

if TYPE_CHECKING:
    from prowess.testing._scripted_endpoint import ModelRequest

FAMILIES = ("gemma", "llama", "mistral", "qwen")


def render(family: str, request: ModelRequest) -> str:
    """Return what a model of a family reads of a request.

    Raises:
        ValueError: its template refuses the request.
    """

    def refuse(message: str) -> NoReturn:
        raise ValueError(message)

    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined)  # noqa: S701
    messages = [
        {
            "role": message.role,
            "content": message.text,
            "tool_calls": [{"name": call.tool, "arguments": dict(call.arguments)} for call in message.calls],
        }
        for message in request.messages
    ]
    return environment.get_template(f"{family}.jinja").render(messages=messages, raise_exception=refuse)
