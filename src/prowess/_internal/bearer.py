"""Check the token that a client of a server of ours must send."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def has_bearer_token(headers: Iterable[tuple[bytes, bytes]], token: str) -> bool:
    """Return whether a request has the token, in constant time.

    A request with two headers `Authorization` is refused: a proxy in front may have checked the other one.

    Args:
        headers: of the request, as ASGI has them: bytes, the names in lower case.
        token: the one that clients must send.
    """
    import hmac

    values = [value for name, value in headers if name == b"authorization"]
    scheme, _, key = values[0].partition(b" ") if len(values) == 1 else (b"", b"", b"")
    return scheme.lower() == b"bearer" and hmac.compare_digest(key.strip(), token.encode())
