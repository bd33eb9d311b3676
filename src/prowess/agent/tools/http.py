"""`http`: the tool `http_request`, for requests below one base URL.

The model chooses the path, so it is read as the most careless server would read it: a path that could lead above the
base URL is refused. The model cannot replace a header of the configuration.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode

from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError

from ._making import Argument, make_agent_tool
from ._network import NetworkAccess, fetch, parse_url, url_origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

    from prowess.agent.policy import AgentTool, ToolContext

    from ._network import HttpResponse

__all__ = ["tools"]

_match_header_name = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}").fullmatch
_CONTROL_CHARS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_match_reserved_header = re.compile(
    # Headers about the client, its credentials and proxies, about the framing of the message, and those that some
    # servers obey instead of the method or the path.
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
"""The length from which a variable's value is hidden from the model: shorter ones occur in any text."""


class _BaseUrl:
    """The URL that all requests stay below."""

    def __init__(self, text: str, access: NetworkAccess) -> None:
        try:
            self.url = parse_url(text)
            access.check(self.url)
        except RefusedError as error:
            raise ConfigError(f"invalid `base_url`: {error}", hint=error.hint) from None
        if self.url.query or self.url.fragment or _may_leave_base(self.url.path):
            raise ConfigError(
                f"invalid `base_url` {quoted(text, PATH_LIMIT)}: it contains `?`, `#` or `..`",
                hint="write it as `https://HOST/PATH`",
            )
        self.prefix = self.url.raw_path.decode("ascii").rstrip("/")

    def url_for(self, path: str, query: Mapping[str, Any] | None) -> str:
        """Return the URL for a path.

        Raises:
            RefusedError: the path could lead out of the base URL.
        """
        path, _, path_query = path.partition("?")
        has_scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path)
        if (
            path.startswith("//")
            or has_scheme
            or "#" in path + path_query
            or _CONTROL_CHARS.search(path + path_query)
            or _may_leave_base(path)
        ):
            raise RefusedError(f"{quoted(path, PATH_LIMIT)} is not a path below the base URL; give one like `/items/1`")
        scheme, host, port = url_origin(self.url)
        query_text = "&".join(
            filter(None, [quote(path_query, safe="%=&+,;:@/?!$'()*~-._[]"), _query_string(query or {})])
        )
        encoded_path = quote(path.lstrip("/"), safe="%/:@!$&'()*+,;=~-._")
        host = f"[{host}]" if ":" in host else host
        url = f"{scheme}://{host}:{port}{self.prefix}{'/' if encoded_path else ''}{encoded_path}"
        url += f"?{query_text}" if query_text else ""
        if not self.contains(parse_url(url)):
            raise RefusedError(f"{quoted(path, PATH_LIMIT)} leads out of the base URL")
        return url

    def contains(self, url: httpx2.URL) -> bool:
        """Return whether a URL is the base URL or below it."""
        path = url.raw_path.decode("ascii").partition("?")[0]
        inside = path.rstrip("/") == self.prefix or path.startswith(f"{self.prefix}/")
        return url_origin(url) == url_origin(self.url) and inside and not _may_leave_base(path)


def _may_leave_base(path: str) -> bool:
    """Return whether a server might read a path as one that leads up, or to another host."""
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
        ConfigError: the base URL or a header is invalid.
    """
    access = NetworkAccess.from_options(options, context)
    base = _BaseUrl(options["base_url"], access)
    fixed, secrets = _configured_headers(options["headers"], context)
    methods = tuple(options["allowed_methods"]) or ("GET",)
    arguments = {
        "method": Argument("string", "the HTTP method", needed=True, choices=methods),
        "path": Argument("string", "the path below the base URL, such as `/items/1`", needed=True),
        "query": Argument("object", "query parameters: names and values"),
        "json": Argument("any", "the body, sent as JSON"),
        "body": Argument("string", "the body as text, instead of `json`"),
        "headers": Argument("object", "more headers: names and texts"),
    }

    def http_request(method: str, path: str, query: Mapping[str, Any] | None, **body: Any) -> str:
        method = method.upper()
        if method not in methods:
            raise RefusedError(f"the method {quoted(method)} is not allowed; allowed are {', '.join(methods)}")
        headers, content = _headers_and_body(body, fixed)
        response = fetch(
            method,
            base.url_for(path, query),
            access=access,
            timeout=options["timeout_seconds"],
            limit=options["max_bytes"],
            headers=headers,
            content=content,
            redirect_allowed=base.contains,
        )
        text = _format_response(response)
        for name, value in secrets:
            text = text.replace(value, f"[{name}]")
        return text

    description = f"Send an HTTP request below {base.url} and return the response. Methods: {', '.join(methods)}."
    return (make_agent_tool("http", "http_request", description, arguments, http_request),)


def _configured_headers(
    headers: Mapping[str, str], context: ToolContext
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the headers of the configuration, and the values to hide from the model with the names of their headers.

    Raises:
        ConfigError: a variable is not set, or a header is invalid.
    """
    fixed, secrets = {}, []
    for name, text in headers.items():
        value, values = context.expand_variables(text, f"the header {quoted(name)}")
        if not _match_header_name(name) or _CONTROL_CHARS.search(value) or not value.isascii():
            raise ConfigError(f"invalid header {quoted(name)}", hint="use ASCII text without line breaks")
        fixed[name.lower()] = value.strip()
        secrets += [(name, secret) for secret in values if len(secret) >= _MIN_SECRET_CHARS]
    return fixed, secrets


def _headers_and_body(arguments: Mapping[str, Any], fixed: Mapping[str, str]) -> tuple[dict[str, str], bytes | None]:
    """Return the headers and the body of a request.

    Raises:
        RefusedError: the model must not set a header.
        ToolFailedError: a header or the body is invalid.
    """
    headers, json_value, body = {}, arguments["json"], arguments["body"]
    for name, value in (arguments["headers"] or {}).items():
        if name.lower() in fixed or _match_reserved_header(name):
            raise RefusedError(f"the header {quoted(name)} is reserved; leave it out")
        is_text = isinstance(value, str) and value.isascii() and not _CONTROL_CHARS.search(value)
        if not is_text or not _match_header_name(name):
            raise ToolFailedError(f"invalid header {quoted(name)}; use ASCII text without line breaks")
        headers[name.lower()] = value.strip()
    if json_value is not None and body is not None:
        raise ToolFailedError("give `json` or `body`, not both")
    if json_value is not None:
        return {"content-type": "application/json", **headers, **fixed}, _json_body(json_value)
    return {**headers, **fixed}, None if body is None else body.encode()


def _json_body(value: Any) -> bytes:
    """Encode a value as JSON.

    Raises:
        ToolFailedError: it has no JSON form.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        raise ToolFailedError("`json` has no JSON form, for example NaN; give another value") from None


def _query_string(query: Mapping[str, Any]) -> str:
    """Encode query parameters for a URL.

    Raises:
        ToolFailedError: a value is not a string, a number, a boolean or a list of them.
    """
    pairs = []
    for name, value in query.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None and not isinstance(item, (str, int, float)):
                raise ToolFailedError(f"{quoted(name)} in `query` must be a string, a number or a list of them")
            if item is not None:
                pairs.append((name, str(item).lower() if isinstance(item, bool) else str(item)))
    return urlencode(pairs, errors="replace")


def _format_response(response: HttpResponse) -> str:
    """Return a response as text for the model."""
    status, headers = response.status, response.headers
    is_standard = status in {standard.value for standard in HTTPStatus}
    lines = [f"HTTP {status} {HTTPStatus(status).phrase if is_standard else neutral(response.reason)}".rstrip()]
    lines += [f"{name}: {neutral(headers[name])[:500]}" for name in _SHOWN_HEADERS if name in headers]
    if not response.body:
        return "\n".join(lines)
    if not _match_text_type(response.media_type) or b"\0" in response.body[:1000]:
        return "\n".join([*lines, "", f"[{len(response.body)} bytes of binary data]"])
    cut = [] if response.is_complete else [f"[cut after {len(response.body)} bytes]"]
    return "\n".join([*lines, "", response.text(), *cut])
