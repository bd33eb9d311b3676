"""Read the parameters that OpenAI's two APIs share: what is passed on, what is refused, and what has no effect.

A parameter that would change what the client gets is refused if the endpoint does not have it. One that is harmless is
ignored, and the answer's header `Prowess-Ignored` names it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from prowess._internal.text import quoted

from ._requests import Message, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

IGNORED_HEADER = "Prowess-Ignored"
_MAX_IGNORED, _MAX_NAME_CHARS = 20, 64
"""Parameters that the header names, and characters of each."""
_MAX_CONVERSATION_ID_CHARS = 200
_MAX_KEY_CHARS = 255
_MAX_TOKENS = 2**31 - 1
_MAX_STOPS, _MAX_STOP_CHARS = 4, 1000
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def parse_body(body: bytes) -> dict[str, Any]:
    """Parse the body of a request, without the parameters that are `null`.

    Raises:
        RequestError: it is not a JSON object, or has a key twice, of which two programs could read different ones.
    """
    try:
        request = json.loads(body.decode(), parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except RequestError:
        raise
    except (ValueError, RecursionError):
        raise RequestError("the body is not valid JSON") from None
    if not isinstance(request, dict):
        raise RequestError("the body is not a JSON object")
    return {name: value for name, value in request.items() if value is not None}


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(text)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise RequestError(f"the body has the key {quoted(twice)} twice in one object")
    return found


class Parameters:
    """What is done with the parameters of one API.

    Args:
        handled: those that the caller reads.
        settings: those that are passed on to the model, and their names there.
        refused: those that have to be one of these values, if they are given, and why.
    """

    def __init__(
        self,
        handled: frozenset[str],
        settings: Mapping[str, str],
        refused: Mapping[str, tuple[str, tuple[object, ...]]],
    ) -> None:
        self._handled, self._settings, self._refused = handled, settings, refused

    def read(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the settings for the model, and the names of the parameters that have no effect.

        Raises:
            RequestError: a parameter is not supported, or its value is invalid.
        """
        settings: dict[str, Any] = {}
        ignored = []
        for name, value in request.items():
            if name in self._settings:
                setting = self._settings[name]
                value = _check_setting(name, setting, value)
                # `max_tokens` and `max_completion_tokens` may both be given.
                settings[setting] = min(settings.get(setting, value), value) if setting == "max_tokens" else value
            elif name in self._refused:
                reason, allowed = self._refused[name]
                if value not in allowed:
                    message = f"`{name}` is not supported: {reason}"
                    raise RequestError(message, param=name, code="unsupported_parameter")
            elif name not in self._handled:
                ignored.append(name)
        return settings, tuple(ignored)


def _check_setting(name: str, setting: str, value: Any) -> Any:
    """Return a setting for the model.

    Raises:
        RequestError: its value is invalid.
    """
    if setting == "max_tokens":
        is_valid, needs = type(value) is int and 0 < value <= _MAX_TOKENS, "a whole number above 0"
    elif setting == "stop_sequences":
        value = [value] if isinstance(value, str) else value
        is_valid = isinstance(value, list) and len(value) <= _MAX_STOPS and all(map(_is_stop, value))
        needs = f"a text, or a list of at most {_MAX_STOPS}, each of 1 to {_MAX_STOP_CHARS} characters"
    else:
        most = 2 if setting == "temperature" else 1
        is_valid, needs = type(value) in (int, float) and 0 <= value <= most, f"a number from 0 to {most}"
    if not is_valid:
        raise RequestError(f"`{name}` must be {needs}", param=name)
    return value


def _is_stop(text: object) -> bool:
    if not isinstance(text, str) or not 0 < len(text) <= _MAX_STOP_CHARS:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in text)


def ignored_header(ignored: tuple[str, ...]) -> dict[str, str]:
    """Return the header that names the parameters without effect, if there are any."""
    names = [quote(name[:_MAX_NAME_CHARS], safe="", errors="replace") for name in ignored[:_MAX_IGNORED]]
    names += ["..."] if len(ignored) > _MAX_IGNORED else []
    return {IGNORED_HEADER: ", ".join(names)} if names else {}


# ── what both APIs have ──────────────────────────────────────────────────────────────────────────────────────────────


OWN_TOOLS = "the role has its own tools, and calls them itself"
NO_PROBABILITIES = "the model's probabilities are not passed on"
REFUSED: dict[str, tuple[str, tuple[object, ...]]] = {
    "tools": (OWN_TOOLS, ([],)),
    "tool_choice": (OWN_TOOLS, ("none", "auto")),
    "top_logprobs": (NO_PROBABILITIES, (0,)),
}
"""Parameters of both that have to be one of these values, and why."""


def read_shared(request: Mapping[str, Any], headers: Mapping[str, str], *conversation: object) -> dict[str, Any]:
    """Return the fields of a `ChatRequest` that both APIs have in the same place.

    Args:
        request: the parameters.
        headers: of the request.
        conversation: where else the API may have the ID of the conversation.

    Raises:
        RequestError: one is invalid.
    """
    return {
        "model": _read_model(request),
        "conversation": _read_conversation_id(request, headers, *conversation),
        "client": client_digest(headers),
        "request_key": _read_idempotency_key(headers),
        "stream": _read_stream(request),
    }


def _read_model(request: Mapping[str, Any]) -> str | None:
    """Return the name of the model that a request names.

    Raises:
        RequestError: it is not a text.
    """
    model = request.get("model")
    if model is not None and not isinstance(model, str):
        raise RequestError("`model` must be a string", param="model")
    return model


def _read_stream(request: Mapping[str, Any]) -> bool:
    """Return whether a request wants a stream.

    Raises:
        RequestError: it is neither true nor false.
    """
    stream = request.get("stream", False)
    if not isinstance(stream, bool):
        raise RequestError("`stream` must be true or false", param="stream")
    return stream


def _read_conversation_id(request: Mapping[str, Any], headers: Mapping[str, str], *more: object) -> str | None:
    """Return the client's ID of the conversation: of the header, of one of `more`, or of `metadata`.

    Raises:
        RequestError: it is too long, or has characters that cannot be printed.
    """
    metadata = request.get("metadata")
    in_metadata = metadata.get("conversation_id") if isinstance(metadata, dict) else None
    conversation_id = next((value for value in (headers.get("x-conversation-id"), *more, in_metadata) if value), None)
    if conversation_id is not None and (
        not isinstance(conversation_id, str)
        or len(conversation_id) > _MAX_CONVERSATION_ID_CHARS
        or not conversation_id.isprintable()
    ):
        raise RequestError(
            f"the conversation ID must be a string of at most {_MAX_CONVERSATION_ID_CHARS} printable characters",
            param="metadata",
        )
    return conversation_id


def _read_idempotency_key(headers: Mapping[str, str]) -> str | None:
    """Return the key that makes a request the same one when it is sent again.

    Raises:
        RequestError: it is too long, or has characters that cannot be printed.
    """
    key = headers.get("idempotency-key", "").strip()
    if len(key) > _MAX_KEY_CHARS or not key.isprintable():
        message = f"the header `Idempotency-Key` must have at most {_MAX_KEY_CHARS} printable characters"
        raise RequestError(message, param="Idempotency-Key")
    return key or None


def client_digest(headers: Mapping[str, str]) -> str:
    """Return what distinguishes a client from others: a digest of the keys that it sends, required or not.

    The scheme `Bearer` is the same in any case.
    """
    scheme, _, key = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer":
        scheme = "bearer"
    keys = [scheme, key.strip(), *(headers.get(name, "") for name in ("api-key", "x-api-key"))]
    return hashlib.sha256(json.dumps(keys).encode()).hexdigest()


def parse_messages(items: Any, name: str) -> tuple[Message, ...]:
    """Parse the messages in a parameter.

    Raises:
        RequestError: a message is invalid, or the last is not the user's.
    """
    if not isinstance(items, list) or not items:
        raise RequestError(f"`{name}` must be a list of at least one message", param=name)
    messages = []
    for index, item in enumerate(items):
        where = f"{name}[{index}]"
        role: Any = item.get("role") if isinstance(item, dict) else None
        if role not in _ROLES:
            raise RequestError(f"`{where}` must have a `role`: one of {', '.join(_ROLES)}", param=where)
        role = {"developer": "system", "function": "tool"}.get(role, role)
        messages.append(Message(role=role, text=_message_text(item.get("content"), f"{where}.content")))
    if messages[-1].role != "user" or not messages[-1].text.strip():
        raise RequestError(f"the last of `{name}` must be a user message with text", param=name)
    return tuple(messages)


def _message_text(content: Any, where: str) -> str:
    """Return the text of a message.

    Raises:
        RequestError: the content is not text.
    """
    if content is None or isinstance(content, str):
        return valid_unicode(content or "", where)
    if not isinstance(content, list):
        raise RequestError(f"`{where}` must be a string or a list of parts", param=where)
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get("refusal" if kind == "refusal" else "text") if isinstance(part, dict) else None
        if kind not in ("text", "input_text", "output_text", "refusal") or not isinstance(text, str):
            what = f"of type {quoted(kind)}" if isinstance(kind, str) else "without a type"
            raise RequestError(f"`{where}` contains a part {what}; only text is supported", param=where)
        texts.append(valid_unicode(text, where))
    return "\n".join(texts)


def valid_unicode(text: str, where: str) -> str:
    """Return a text.

    Raises:
        RequestError: it has a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(f"`{where}` is not valid Unicode: it contains a lone surrogate", param=where) from None
    return text
