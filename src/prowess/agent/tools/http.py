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

from prowess._internal.text import neutral, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError

from ._arguments import Argument, make_agent_tool
from ._network import fetch
from ._reach import NetworkAccess, origin, parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

    from prowess.agent.policy import AgentTool, ToolContext

    from ._network import HttpResponse

__all__ = ["tools"]

_match_header_name = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}").fullmatch
_CONTROL_CHARS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_match_reserved_header = re.compile(
    # Who asks, on whose behalf and through whom; how the message is framed; and what some servers obey
    # in place of the method or the path.
    r"(host|authorization|cookie2?|origin|referer|user-agent|connection|keep-alive|te|trailer|upgrade|expect|via"
    r"|forwarded|content-length|content-encoding|accept-encoding|transfer-encoding|x-http-method.*|x-method.*"
    r"|x-original-.*|x-rewrite-.*|x-forwarded.*|x-real-ip|x-host|proxy.*|sec-.*|:.*)",
    re.IGNORECASE,
).fullmatch
_SHOWN_HEADERS = ("content-type", "etag", "link", "location", "retry-after")
_match_text_type = re.compile(
    r"text/.*|application/(.*\+)?(json|xml|yaml|x-yaml|javascript|x-ndjson|x-www-form-urlencoded)|"
).fullmatch
_MIN_SECRET_CHARS = 6
"""Characters of a variable's value from which on it is not shown to the model: shorter ones are all over a text."""


class _BaseUrl:
    """The URL below which all requests go."""

    def __init__(self, text: str, access: NetworkAccess) -> None:
        try:
            self.url = parse_url(text)
            access.check(self.url)
        except RefusedError as error:
            raise ConfigError(f"`base_url` cannot be used: {error}", hint=error.hint) from None
        if self.url.query or self.url.fragment or _may_leave_base(self.url.path):
            raise ConfigError("`base_url` must be `https://HOST/PATH`, with no `?`, `#` or `..`")
        self.prefix = self.url.raw_path.decode("ascii").rstrip("/")

    def url_for(self, path: str, query: Mapping[str, Any] | None) -> str:
        """Return the URL of a path.

        Raises:
            RefusedError: it may lead elsewhere.
        """
        path, _, rest = path.partition("?")
        absolute = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path)
        if (
            path.startswith("//")
            or absolute
            or "#" in path + rest
            or _CONTROL_CHARS.search(path + rest)
            or _may_leave_base(path)
        ):
            raise RefusedError(f"{quoted(path, 200)} is no path below the base URL, as in `/items/1`")
        scheme, host, port = origin(self.url)
        asked = "&".join(filter(None, [quote(rest, safe="%=&+,;:@/?!$'()*~-._[]"), _query_string(query or {})]))
        way = quote(path.lstrip("/"), safe="%/:@!$&'()*+,;=~-._")
        host = f"[{host}]" if ":" in host else host
        text = f"{scheme}://{host}:{port}{self.prefix}{'/' if way else ''}{way}" + (f"?{asked}" if asked else "")
        if not self.contains(parse_url(text)):
            raise RefusedError(f"{quoted(path, 200)} leads out of the base URL")
        return text

    def contains(self, url: httpx2.URL) -> bool:
        """Say whether a URL is the base or one below it."""
        path = url.raw_path.decode("ascii").partition("?")[0]
        inside = path.rstrip("/") == self.prefix or path.startswith(f"{self.prefix}/")
        return origin(url) == origin(self.url) and inside and not _may_leave_base(path)


def _may_leave_base(path: str) -> bool:
    """Say whether some server may read a path as one that leads up, or to another host."""
    for _ in range(4):
        if "\\" in path or "\0" in path or any(part.partition(";")[0] in (".", "..") for part in path.split("/")):
            return True
        path, before = unquote(path), path
        if path == before:
            return False
    return True


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make `http_request`.

    Raises:
        ConfigError: the base URL or a header cannot be used.
    """
    access = NetworkAccess.from_options(options, context)
    base = _BaseUrl(options["base_url"], access)
    fixed, secrets = _configured_headers(options["headers"], context)
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
        headers, content = _headers_and_body(body, fixed)
        answer = fetch(
            method,
            base.url_for(path, query),
            access=access,
            timeout=options["timeout_seconds"],
            limit=options["max_bytes"],
            headers=headers,
            content=content,
            redirect_allowed=base.contains,
        )
        text = _format_response(answer)
        for name, value in secrets:
            text = text.replace(value, f"[{name}]")
        return text

    words = f"Send an HTTP request below {base.url} and read the answer. Methods: {', '.join(methods)}."
    return (make_agent_tool("http", "http_request", words, arguments, http_request),)


def _configured_headers(
    headers: Mapping[str, str], context: ToolContext
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the headers of the configuration, and what of them the model must not see, with the header's name.

    Raises:
        ConfigError: a variable is not set, or a header cannot be sent.
    """
    fixed, secrets = {}, []
    for name, text in headers.items():
        value, values = context.expand_variables(text, f"the header {quoted(name)}")
        if not _match_header_name(name) or _CONTROL_CHARS.search(value) or not value.isascii():
            raise ConfigError(f"the header {quoted(name)} holds what no header can hold")
        fixed[name.lower()] = value.strip()
        secrets += [(name, one) for one in values if len(one) >= _MIN_SECRET_CHARS]
    return fixed, secrets


def _headers_and_body(
    request_arguments: Mapping[str, Any], fixed: Mapping[str, str]
) -> tuple[dict[str, str], bytes | None]:
    """Return the headers and the body of a request.

    Raises:
        RefusedError: a header is none of the model's.
        ToolFailedError: a header or the body is none.
    """
    headers = {}
    for name, value in (request_arguments["headers"] or {}).items():
        if name.lower() in fixed or _match_reserved_header(name):
            raise RefusedError(f"the header {quoted(name)} is not yours to set")
        if (
            not isinstance(value, str)
            or not value.isascii()
            or not _match_header_name(name)
            or _CONTROL_CHARS.search(value)
        ):
            raise ToolFailedError(f"the header {quoted(name)} holds what no header can hold")
        headers[name.lower()] = value.strip()
    if request_arguments["json"] is not None and request_arguments["body"] is not None:
        raise ToolFailedError("give `json` or `body`, not both")
    if request_arguments["json"] is not None:
        return {"content-type": "application/json", **headers, **fixed}, _json_body(request_arguments["json"])
    return {**headers, **fixed}, None if request_arguments["body"] is None else request_arguments["body"].encode()


def _json_body(value: Any) -> bytes:
    """Return a value as JSON.

    Raises:
        ToolFailedError: it cannot be written.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        raise ToolFailedError("`json` cannot be written as JSON") from None


def _query_string(query: Mapping[str, Any]) -> str:
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


def _format_response(answer: HttpResponse) -> str:
    """Return an answer as the model reads it."""
    known = answer.status in {status.value for status in HTTPStatus}
    lines = [f"HTTP {answer.status} {HTTPStatus(answer.status).phrase if known else neutral(answer.reason)}".rstrip()]
    lines += [f"{name}: {neutral(answer.headers[name])[:500]}" for name in _SHOWN_HEADERS if name in answer.headers]
    if not answer.body:
        return "\n".join(lines)
    if not _match_text_type(answer.media_type) or b"\0" in answer.body[:1000]:
        return "\n".join([*lines, "", f"[{len(answer.body)} bytes that are no text]"])
    cut = [] if answer.is_complete else [f"[cut after {len(answer.body)} bytes]"]
    return "\n".join([*lines, "", answer.text(), *cut])
