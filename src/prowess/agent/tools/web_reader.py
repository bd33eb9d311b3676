"""`web_reader`: the tool `fetch_page`, which reads a web page as Markdown.

`markdownify` converts HTML, with Beautiful Soup and lxml: Python's own parser takes minutes for a megabyte of `<!--`,
and does not know that a `<li>` ends the one before.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.agent.policy import ToolFailedError
from prowess.sandbox import python_program

from ._making import Argument, make_agent_tool
from ._network import NetworkAccess, fetch, parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import AgentTool, ToolContext

    from ._network import HttpResponse

__all__ = ["tools"]

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_match_text_type = re.compile(r"text/.*|application/(.*\+)?(json|xml)").fullmatch
_match_html_start = re.compile(rb"\s*<(!doctype|html|head|body|meta|title)\b", re.IGNORECASE).match
_MIN_CONVERSION_SECONDS = 1.0
"""Seconds to convert a page, at least, however long the download took."""


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make `fetch_page`.

    Raises:
        ConfigError: a domain is invalid.
    """
    access = NetworkAccess.from_options(options, context)
    timeout, limit = options["timeout_seconds"], options["max_content_bytes"]

    def fetch_page(url: str) -> str:
        url, end = url.strip(), time.monotonic() + timeout
        response = fetch("GET", str(parse_url(url)), access=access, timeout=timeout, limit=limit)
        if response.status >= 400:
            raise ToolFailedError(f"the server answered {response.status} for {quoted(response.url, PATH_LIMIT)}")
        text = _response_text(response, max(_MIN_CONVERSION_SECONDS, end - time.monotonic()))
        redirected = [f"[redirected to {response.url}]", ""] if response.url.rstrip("/") != url.rstrip("/") else []
        cut = [] if response.is_complete else ["", f"[only the first {limit} bytes of the page were read]"]
        return "\n".join([*redirected, text or "[the page has no text]", *cut])

    description = "Read a web page; returns Markdown with links."
    argument = Argument("string", "the page's URL, starting with `https://`", needed=True)
    return (make_agent_tool("web_reader", "fetch_page", description, {"url": argument}, fetch_page),)


def _response_text(response: HttpResponse, seconds: float) -> str:
    """Return the text of a response, HTML as Markdown.

    Raises:
        ToolFailedError: it is not text, or takes too long to convert.
    """
    media_type = response.media_type
    if media_type in _HTML_TYPES or (not media_type and _match_html_start(response.body)):
        return _html_to_markdown(response, seconds)
    if (media_type and not _match_text_type(media_type)) or b"\0" in response.text().encode()[:1000]:
        kind = f"has the type {quoted(media_type)}" if media_type else "is not text"
        raise ToolFailedError(f"{quoted(response.url, PATH_LIMIT)} {kind}; only HTML, text, JSON and XML can be read")
    return response.text()


def _html_to_markdown(response: HttpResponse, seconds: float) -> str:
    """Convert HTML to Markdown.

    Raises:
        ToolFailedError: it takes too long, or too much memory.
    """
    _, _, charset = response.headers.get("content-type", "").partition("charset=")
    charset = re.sub(r"[^A-Za-z0-9_.:-]", "", charset.partition(";")[0])[:40]
    program = str(Path(__file__).with_name("_html_to_markdown.py"))
    try:
        done = subprocess.run(
            [python_program(), "-I", program, response.url, charset, *filter(None, sys.path)],
            input=response.body,
            capture_output=True,
            timeout=seconds,
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolFailedError(f"converting {quoted(response.url, PATH_LIMIT)} to Markdown takes too long") from None
    except OSError as error:
        raise ToolFailedError(
            f"cannot convert {quoted(response.url, PATH_LIMIT)} to Markdown: {describe_os_error(error)}"
        ) from None
    if done.returncode != 0:
        if b"ModuleNotFoundError" in done.stderr:
            raise ToolFailedError("`fetch_page` needs markdownify, of the extra `agent` of Prowess")
        raise ToolFailedError(f"cannot convert {quoted(response.url, PATH_LIMIT)} to Markdown")
    return done.stdout.decode("utf-8", "replace")
