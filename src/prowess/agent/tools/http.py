"""`http` -> one tool: requests below one URL

The path is the model's, so it is read as the most careless server would read it: nothing that could lead above the
base URL is sent. A header of the configuration is the user's word, and no word of the model takes its place.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode

from prowess.agent.arguments import Argument, agent_tool
from prowess.agent.fetch import fetch
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.agent.reach import Reach, origin, read_url
from prowess.errors import ConfigError
from prowess.text import neutral, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

    from prowess.agent.fetch import Answer
    from prowess.agent.policy import AgentTool, Around

__all__ = ["tools"]

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}").fullmatch
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_THE_MODELS = re.compile(
    # Who asks, on whose behalf and through whom; how the message is framed; and what some servers obey
    # in place of the method or the path.
    r"(host|authorization|cookie2?|origin|referer|user-agent|connection|keep-alive|te|trailer|upgrade|expect|via"
    r"|forwarded|content-length|content-encoding|accept-encoding|transfer-encoding|x-http-method.*|x-method.*"
    r"|x-original-.*|x-rewrite-.*|x-forwarded.*|x-real-ip|x-host|proxy.*|sec-.*|:.*)",
    re.IGNORECASE,
).fullmatch
_SHOWN = ("content-type", "etag", "link", "location", "retry-after")
_TEXT = re.compile(
    r"text/.*|application/(.*\+)?(json|xml|yaml|x-yaml|javascript|x-ndjson|x-www-form-urlencoded)|"
).fullmatch
_LEAST_SECRET = 6
"""Characters of a variable's value from which on it is not shown to the model: shorter ones are all over a text."""


class _Base:
    """The URL below which all requests go."""

    def __init__(self, text: str, reach: Reach) -> None:
        try:
            self.url = read_url(text)
            reach.check(self.url)
        except RefusedError as error:
            raise ConfigError(f"`base_url` cannot be used: {error}", hint=error.hint) from None
        if self.url.query or self.url.fragment or _climbs(self.url.path):
            raise ConfigError("`base_url` must be `https://HOST/PATH`, with no `?`, `#` or `..`")
        self.prefix = self.url.raw_path.decode("ascii").rstrip("/")

    def below(self, path: str, query: Mapping[str, Any] | None) -> str:
        """Return the URL of a path.

        Raises:
            RefusedError: it may lead elsewhere.
        """
        path, _, rest = path.partition("?")
        absolute = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path)
        if path.startswith("//") or absolute or "#" in path + rest or _CONTROL.search(path + rest) or _climbs(path):
            raise RefusedError(f"{quoted(path, 200)} is no path below the base URL, as in `/items/1`")
        scheme, host, port = origin(self.url)
        asked = "&".join(filter(None, [quote(rest, safe="%=&+,;:@/?!$'()*~-._[]"), _query(query or {})]))
        way = quote(path.lstrip("/"), safe="%/:@!$&'()*+,;=~-._")
        host = f"[{host}]" if ":" in host else host
        text = f"{scheme}://{host}:{port}{self.prefix}{'/' if way else ''}{way}" + (f"?{asked}" if asked else "")
        if not self.holds(read_url(text)):
            raise RefusedError(f"{quoted(path, 200)} leads out of the base URL")
        return text

    def holds(self, url: httpx2.URL) -> bool:
        """Say whether a URL is the base or one below it."""
        path = url.raw_path.decode("ascii").partition("?")[0]
        inside = path.rstrip("/") == self.prefix or path.startswith(f"{self.prefix}/")
        return origin(url) == origin(self.url) and inside and not _climbs(path)


def _climbs(path: str) -> bool:
    """Say whether some server may read a path as one that leads up, or to another host."""
    for _ in range(4):
        if "\\" in path or "\0" in path or any(part.partition(";")[0] in (".", "..") for part in path.split("/")):
            return True
        path, before = unquote(path), path
        if path == before:
            return False
    return True


def tools(options: Mapping[str, Any], around: Around) -> tuple[AgentTool, ...]:
    """Make `http_request`.

    Raises:
        ConfigError: the base URL or a header cannot be used.
    """
    reach = Reach.of(options, around)
    base = _Base(options["base_url"], reach)
    fixed, secrets = _fixed(options["headers"], around)
    methods = tuple(options["allowed_methods"]) or ("GET",)
    arguments = {
        "method": Argument("string", "of HTTP", needed=True, choices=methods),
        "path": Argument("string", "below the base URL, as in `/items/1`", needed=True),
        "query": Argument("object", "what is asked for after `?`: names with their values"),
        "json": Argument("any", "a body that is sent as JSON"),
        "body": Argument("string", "a body that is sent as it is, instead of `json`"),
        "headers": Argument("object", "more headers: names with texts"),
    }

    def http_request(method: str, path: str, query: Mapping[str, Any] | None, **body: Any) -> str:
        method = method.upper()
        if method not in methods:
            raise RefusedError(f"the method {quoted(method)} is not open; these are: {', '.join(methods)}")
        headers, content = _sent(body, fixed)
        answer = fetch(
            method,
            base.below(path, query),
            reach=reach,
            timeout=options["timeout_seconds"],
            limit=options["max_bytes"],
            headers=headers,
            content=content,
            within=base.holds,
        )
        text = _told(answer)
        for name, value in secrets:
            text = text.replace(value, f"[{name}]")
        return text

    words = f"Send an HTTP request below {base.url} and read the answer. Methods: {', '.join(methods)}."
    return (agent_tool("http", "http_request", words, arguments, http_request),)


def _fixed(headers: Mapping[str, str], around: Around) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the headers of the configuration, and what of them the model must not see, with the header's name.

    Raises:
        ConfigError: a variable is not set, or a header cannot be sent.
    """
    fixed, secrets = {}, []
    for name, text in headers.items():
        value, values = around.filled(text, f"the header {quoted(name)}")
        if not _TOKEN(name) or _CONTROL.search(value) or not value.isascii():
            raise ConfigError(f"the header {quoted(name)} holds what no header can hold")
        fixed[name.lower()] = value.strip()
        secrets += [(name, one) for one in values if len(one) >= _LEAST_SECRET]
    return fixed, secrets


def _sent(told: Mapping[str, Any], fixed: Mapping[str, str]) -> tuple[dict[str, str], bytes | None]:
    """Return the headers and the body of a request.

    Raises:
        RefusedError: a header is none of the model's.
        ToolFailedError: a header or the body is none.
    """
    headers = {}
    for name, value in (told["headers"] or {}).items():
        if name.lower() in fixed or _NOT_THE_MODELS(name):
            raise RefusedError(f"the header {quoted(name)} is not yours to set")
        if not isinstance(value, str) or not value.isascii() or not _TOKEN(name) or _CONTROL.search(value):
            raise ToolFailedError(f"the header {quoted(name)} holds what no header can hold")
        headers[name.lower()] = value.strip()
    if told["json"] is not None and told["body"] is not None:
        raise ToolFailedError("give `json` or `body`, not both")
    if told["json"] is not None:
        return {"content-type": "application/json", **headers, **fixed}, _json(told["json"])
    return {**headers, **fixed}, None if told["body"] is None else told["body"].encode()


def _json(value: Any) -> bytes:
    """Return a value as JSON.

    Raises:
        ToolFailedError: it cannot be written.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        raise ToolFailedError("`json` cannot be written as JSON") from None


def _query(query: Mapping[str, Any]) -> str:
    """Return names and values as they stand after `?`.

    Raises:
        ToolFailedError: a value is neither a text, a number, a truth nor a list of them.
    """
    pairs = []
    for name, value in query.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None and not isinstance(one, (str, int, float)):
                raise ToolFailedError(f"{quoted(name)} of `query` must be a text, a number or a list of them")
            if one is not None:
                pairs.append((name, str(one).lower() if isinstance(one, bool) else str(one)))
    return urlencode(pairs, errors="replace")


def _told(answer: Answer) -> str:
    """Return an answer as the model reads it."""
    known = answer.status in {status.value for status in HTTPStatus}
    lines = [f"HTTP {answer.status} {HTTPStatus(answer.status).phrase if known else neutral(answer.reason)}".rstrip()]
    lines += [f"{name}: {neutral(answer.headers[name])[:500]}" for name in _SHOWN if name in answer.headers]
    if not answer.body:
        return "\n".join(lines)
    if not _TEXT(answer.media) or b"\0" in answer.body[:1000]:
        return "\n".join([*lines, "", f"[{len(answer.body)} bytes that are no text]"])
    cut = [] if answer.whole else [f"[cut after {len(answer.body)} bytes]"]
    return "\n".join([*lines, "", answer.text(), *cut])
