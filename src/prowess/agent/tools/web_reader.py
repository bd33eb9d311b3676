"""`web_reader` -> one tool: a page as Markdown

HTML becomes text with `markdownify`, on Beautiful Soup and lxml: Python's own parser takes minutes for a megabyte of
`<!--`, and does not know that a `<li>` ends the one before.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess._internal.text import quoted
from prowess.agent.policy import ToolFailedError

from ._arguments import Argument, make_agent_tool
from ._network import fetch
from ._reach import NetworkAccess, parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import AgentTool, ToolContext

    from ._network import HttpResponse

__all__ = ["tools"]

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_match_text_type = re.compile(r"text/.*|application/(.*\+)?(json|xml)").fullmatch
_match_html_start = re.compile(rb"\s*<(!doctype|html|head|body|meta|title)\b", re.IGNORECASE).match
_MIN_CONVERSION_SECONDS = 1.0
"""What turning a page into text has in any case, however long it took to come."""


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make `fetch_page`.

    Raises:
        ConfigError: a domain is none.
    """
    access = NetworkAccess.from_options(options, context)
    timeout, limit = options["timeout_seconds"], options["max_content_bytes"]

    def fetch_page(url: str) -> str:
        url, end = url.strip(), time.monotonic() + timeout
        answer = fetch("GET", str(parse_url(url)), access=access, timeout=timeout, limit=limit)
        if answer.status >= 400:
            raise ToolFailedError(f"the server answers {answer.status} for {quoted(answer.url, 200)}")
        text = _response_text(answer, max(_MIN_CONVERSION_SECONDS, end - time.monotonic()))
        moved = [f"[this is {answer.url}]", ""] if answer.url.rstrip("/") != url.rstrip("/") else []
        cut = [] if answer.is_complete else ["", f"[the page is longer; this is from its first {limit} bytes]"]
        return "\n".join([*moved, text or "[the page holds no text]", *cut])

    words = "Read a page of the web; it comes as Markdown with its links."
    argument = Argument("string", "of the page, beginning with `https://`", needed=True)
    return (make_agent_tool("web_reader", "fetch_page", words, {"url": argument}, fetch_page),)


def _response_text(answer: HttpResponse, seconds: float) -> str:
    """Return what an answer says.

    Raises:
        ToolFailedError: it is no text, or takes too long to turn into text.
    """
    media_type = answer.media_type
    if media_type in _HTML_TYPES or (not media_type and _match_html_start(answer.body)):
        return _html_to_markdown(answer, seconds)
    if (media_type and not _match_text_type(media_type)) or b"\0" in answer.text().encode()[:1000]:
        what = f"of the type {quoted(media_type)}" if media_type else "no text"
        raise ToolFailedError(f"{quoted(answer.url, 200)} is {what}; pages, text, JSON and XML can be read")
    return answer.text()


def _html_to_markdown(answer: HttpResponse, seconds: float) -> str:
    """Turn HTML into Markdown.

    Raises:
        ToolFailedError: it takes too long, or too much memory.
    """
    _, _, charset = answer.headers.get("content-type", "").partition("charset=")
    charset = re.sub(r"[^A-Za-z0-9_.:-]", "", charset.partition(";")[0])[:40]
    program = str(Path(__file__).with_name("_page.py"))
    try:
        done = subprocess.run(
            [sys.executable, "-I", program, answer.url, charset, *filter(None, sys.path)],
            input=answer.body,
            capture_output=True,
            timeout=seconds,
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolFailedError(f"{quoted(answer.url, 200)} takes too long to turn into text") from None
    except OSError as error:
        raise ToolFailedError(f"{quoted(answer.url, 200)} cannot be turned into text: {error.strerror}") from None
    if done.returncode != 0:
        if b"ModuleNotFoundError" in done.stderr:
            raise ToolFailedError("`fetch_page` needs markdownify: pip install 'prowess[agent]'")
        raise ToolFailedError(f"{quoted(answer.url, 200)} cannot be turned into text")
    return done.stdout.decode("utf-8", "replace")
