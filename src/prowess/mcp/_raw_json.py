"""Send JSON that was made before as a part of an answer, without making values of it and JSON of those again."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import SchemaSerializer, core_schema


class RawJson:
    """JSON in a result. Whatever does not know this class makes values of it."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def value(self) -> Any:
        """Return the value."""
        return json.loads(self.data)

    __pydantic_serializer__ = SchemaSerializer(
        core_schema.any_schema(
            serialization=core_schema.plain_serializer_function_ser_schema(lambda raw: raw.value()),
        )
    )


def encode_answer(message: Any) -> bytes:
    """Return a message of JSON-RPC as a line of JSON."""
    text: bytes
    result: dict[str, Any] = getattr(message, "result", {})
    raw = {key: value for key, value in result.items() if isinstance(value, RawJson)}
    rest = {key: value for key, value in result.items() if key not in raw} if raw else {}
    if not rest:
        text = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        return text + b"\n"
    text = message.model_copy(update={"result": rest}).model_dump_json(by_alias=True, exclude_unset=True).encode()
    parts = [text[:-2]]  # the result is the last member of a message, and not empty
    for key, value in raw.items():
        parts += [b"," + json.dumps(key).encode() + b":", value.data]
    return b"".join([*parts, b"}}\n"])  # one copy: a list may have megabytes
