"""Read and write the JSON-RPC messages of the Model Context Protocol as a client, whatever a server sends."""

from __future__ import annotations

import json
import time

from prowess._internal.text import neutral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

_MAX_SHOWN = 200
"""Characters of a server's own message that an error repeats."""


class ServerFailedError(Exception):
    """A server did not answer, or not by the rules; the text is a reason without a subject, safe to show."""


class UnreachableError(ServerFailedError):
    """A server cannot be reached, has ended, or does not answer in time."""


class NotStartedError(UnreachableError):
    """The command of a server cannot be started."""


class NoServerError(ServerFailedError):
    """Something answered, or ended, but not as a server of the protocol does."""


class RpcError(Exception):
    """A server answered with an error.

    Attributes:
        code: of JSON-RPC.
        data: what the server added.
    """

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(f"it answered: {neutral(message[:_MAX_SHOWN])} ({code})")
        self.code, self.data = code, data


class HttpStatusError(RpcError):
    """A server answered with a status of HTTP, and nothing of the protocol.

    Attributes:
        status: from 400 to 499, or 501.
    """

    def __init__(self, status: int) -> None:
        super().__init__(-32600, f"HTTP status {status}")
        self.status = status


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as one line without its end."""
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode()


def parse(data: bytes) -> dict[str, Any]:
    """Return the JSON object in a message.

    Raises:
        ServerFailedError: it is something else.
    """
    try:
        value = json.loads(data.decode(), parse_constant=_reject_constant)
    except UnicodeDecodeError:
        raise ServerFailedError("it sent a message that is not UTF-8") from None
    except (ValueError, RecursionError):
        raise ServerFailedError("it sent a message that is not JSON") from None
    if not isinstance(value, dict):
        raise ServerFailedError("it sent a message that is not a JSON object")
    return value


def _reject_constant(text: str) -> NoReturn:
    raise ValueError(text)


def is_answer(message: Mapping[str, Any]) -> bool:
    """Return whether a message is an answer to a request."""
    return "method" not in message and ("result" in message or "error" in message or "id" in message)


def answer_to(number: int, message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the result in a message if it answers a request; `None` if it is no answer.

    Raises:
        RpcError: the server answered with an error, perhaps because it could not read the request and its ID.
        ServerFailedError: the answer is invalid, or that to another request.
    """
    if not is_answer(message):
        return None
    answered = message.get("id")
    is_unread = answered is None and "error" in message
    if not is_unread and (type(answered) is not int or answered != number):
        raise ServerFailedError("it answered another request")
    if "error" in message:
        raise _rpc_error(message["error"])
    result = message.get("result")
    if not isinstance(result, dict):
        raise ServerFailedError("its answer has no result")
    if result.get("resultType", "complete") != "complete":
        raise ServerFailedError("its answer needs input, which Prowess does not give")
    return result


def _rpc_error(error: object) -> Exception:
    if not isinstance(error, dict) or type(error.get("code")) is not int:
        return ServerFailedError("its answer is an invalid error")
    return RpcError(error["code"], str(error.get("message", "")), error.get("data"))


def remaining(deadline: float) -> float:
    """Return the seconds until a deadline.

    Raises:
        UnreachableError: it has passed.
    """
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise UnreachableError("it did not answer in time")
    return seconds
