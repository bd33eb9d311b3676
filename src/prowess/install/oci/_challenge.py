"""Parse what a registry asks for before it answers: the header `WWW-Authenticate`, and the token that it names.

    Bearer realm="https://auth.example.com/token",service="registry",scope="..."
    Basic realm="..."

The scope that a registry proposes is not used: a token is asked for this repository, and for what is done with it.
"""

from __future__ import annotations

import json
import re

__all__ = ["parse_challenges", "parse_token"]

_MAX_HEADER = 8 << 10
_MAX_TOKEN = 16 << 10
_PARAMETER = r"""\s*,?\s*([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))"""
_match_scheme = re.compile(r"\s*,?\s*([A-Za-z]+)(?=\s|$)").match
_match_parameter = re.compile(_PARAMETER).match
_is_token = re.compile(r"[\x21-\x7e]+").fullmatch


def parse_challenges(header: str) -> dict[str, dict[str, str]]:
    """Return the parameters of each scheme, both in lower case; nothing if the header is invalid or too long."""
    challenges: dict[str, dict[str, str]] = {}
    at = 0
    while len(header) <= _MAX_HEADER and (found := _match_scheme(header, at)):
        parameters = challenges.setdefault(found[1].lower(), {})
        at = found.end()
        while parameter := _match_parameter(header, at):
            quoted = re.sub(r"\\(.)", r"\1", parameter[2]) if parameter[2] is not None else parameter[3]
            parameters.setdefault(parameter[1].lower(), quoted)
            at = parameter.end()
    return challenges


def parse_token(body: bytes) -> str | None:
    """Return the token in the answer of a server of tokens, or `None`."""
    try:
        answer = json.loads(body)
        token = answer.get("token") or answer.get("access_token")
    except (ValueError, AttributeError, RecursionError):
        return None
    return token if isinstance(token, str) and len(token) <= _MAX_TOKEN and _is_token(token) else None
