"""`http_request`: requests below one URL, with the configured headers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.policy import Policy, RefusedError, ToolContext
from prowess.agent.role import TOOL_FIELDS
from prowess.agent.tools.http import tools
from support.rows import rows
from support.site_server import Site, echo, redirect, reply

if TYPE_CHECKING:
    from prowess.agent.policy import AgentTool

DEFAULTS = {name: key.default for name, key in TOOL_FIELDS["http"].items()}
ALL = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def tool(
    base_url: str, *, env: dict[str, str] | None = None, policy: Policy | None = None, **options: Any
) -> AgentTool:
    around = ToolContext(folder="/", policy=policy or Policy(), env=env or {})
    given = {**DEFAULTS, "base_url": base_url, "allow_private": True, "allowed_methods": ALL, **options}
    (http_request,) = tools(given, around)
    return http_request


def echoed(text: str) -> Any:
    """Return the request that the server echoed."""
    return json.loads(text.partition("\n\n")[2])


def test_the_tool_names_its_url_and_methods() -> None:
    http_request = tool("https://api.example.com/v1", allowed_methods=("GET", "POST"))
    assert (http_request.kind, http_request.name, http_request.origin) == ("http", "http_request", "role")
    assert http_request.description == (
        "Send an HTTP request below https://api.example.com/v1 and return the response. Methods: GET, POST."
    )
    assert http_request.parameters["properties"]["method"] == {
        "type": "string",
        "enum": ["GET", "POST"],
        "description": "the HTTP method",
    }


def test_a_response_has_its_status_and_the_relevant_headers() -> None:
    page = reply('{"a": 1}', status="201 whatever", kind="application/json", etag='"x"', set_cookie="a=b", x_other="y")
    with Site({"/v1/items": page}) as site:
        text = tool(f"{site.url}/v1").call(method="POST", path="/items", json={"b": 2})
    assert text == 'HTTP 201 Created\ncontent-type: application/json\netag: "x"\n\n{"a": 1}'
    assert (site.requests[0].body, site.requests[0].headers["content-type"]) == (b'{"b": 2}', "application/json")


@pytest.mark.parametrize(("path", "query", "target"), rows(__file__, "a_path_is_requested_below_the_base_url"))
def test_a_path_is_requested_below_the_base_url(path: str, query: Any, target: str) -> None:
    with Site({"*": echo}) as site:
        tool(f"{site.url}/v1/").call(method="GET", path=path, query=query)
    assert site.requests[0].target == target


def test_a_redirect_out_of_the_base_url_is_refused() -> None:
    """To another port, or above the path."""
    with Site({"*": echo}) as other:
        pages: dict[str, Any] = {
            "/v1/a": redirect(f"{other.url}/v1/"),
            "/v1/b": redirect("/admin"),
            "/v1/c": redirect("d"),
            "/v1/d": echo,
        }
        with Site(pages) as site:
            http_request = tool(f"{site.url}/v1")
            for path in ("/a", "/b"):
                with pytest.raises(RefusedError, match="which is not allowed"):
                    http_request.call(method="GET", path=path)
            assert echoed(http_request.call(method="GET", path="/c"))["target"] == "/v1/d"
            assert [requested.target for requested in site.requests] == ["/v1/a", "/v1/b", "/v1/c", "/v1/d"]
    assert other.requests == []


def test_secrets_in_configured_headers_are_hidden_from_the_model() -> None:
    """Even if the server repeats them."""
    with Site({"*": echo}) as site:
        http_request = tool(
            site.url, headers={"Authorization": "Bearer ${TOKEN}", "X-A": "b"}, env={"TOKEN": "s3cret-token"}
        )
        text = http_request.call(method="GET", path="/")
    assert site.requests[0].headers["authorization"] == "Bearer s3cret-token"
    assert "s3cret" not in text
    assert echoed(text)["headers"]["authorization"] == "Bearer [Authorization]"


def test_the_model_can_set_other_headers() -> None:
    """Such as `Accept`."""
    with Site({"*": echo}) as site:
        tool(site.url).call(
            method="PUT", path="/", body="a,b", headers={"Accept": "text/csv", "Content-Type": "text/csv"}
        )
    headers = site.requests[0].headers
    assert (headers["accept"], headers["content-type"], site.requests[0].body) == ("text/csv", "text/csv", b"a,b")


def test_binary_data_is_counted_and_long_text_is_cut() -> None:
    pages = {"/a": reply(b"\x89PNG\0", kind="image/png"), "/b": reply("x" * 100), "/c": reply(b"a\0b")}
    with Site(pages) as site:
        http_request = tool(site.url, max_bytes=10)
        texts = [http_request.call(method="GET", path=path).splitlines()[-1] for path in pages]
    assert texts == ["[5 bytes of binary data]", "[cut after 10 bytes]", "[3 bytes of binary data]"]
