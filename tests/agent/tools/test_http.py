"""`http_request`: requests below one URL, with the configured headers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.policy import Policy, RefusedError, ToolContext, ToolFailedError
from prowess.agent.role._tool_schemas import TOOL_FIELDS
from prowess.agent.tools.http import tools
from prowess.errors import ConfigError
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


@pytest.mark.parametrize(
    ("path", "query", "target"),
    [
        ("/items", None, "/v1/items"),
        ("items/1", None, "/v1/items/1"),
        ("", None, "/v1"),
        ("/", None, "/v1"),
        ("/a b/ü", None, "/v1/a%20b/%C3%BC"),
        ("/a%20b", None, "/v1/a%20b"),
        ("@evil.example/x", None, "/v1/@evil.example/x"),
        ("/@scope/name", None, "/v1/@scope/name"),
        ("/x?y=1", {"z": [1, True, "ä"]}, "/v1/x?y=1&z=1&z=true&z=%C3%A4"),
        ("/x", {"a&b": "c=d", "none": None}, "/v1/x?a%26b=c%3Dd"),
        ("/x?u=http://e.example/../y", None, "/v1/x?u=http://e.example/../y"),
        ("/a:b", None, "/v1/a:b"),
        ("/..a/b..", None, "/v1/..a/b.."),
    ],
)
def test_a_path_is_requested_below_the_base_url(path: str, query: Any, target: str) -> None:
    with Site({"*": echo}) as site:
        tool(f"{site.url}/v1/").call(method="GET", path=path, query=query)
    assert site.requests[0].target == target


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example/", "///evil.example", "https://evil.example/", "HTTP:evil", "file:/etc/passwd", "/..",
        "/../x", "../x", "/a/../../x", "/./x", "/a/..", "/%2e%2e/x", "/%2E./x", "/.%2e/x", "/%252e%252e/x",
        "/..%2fx", "/a/..%5cx", "\\x", "/\\evil", "/a\\..\\x", "/..;/x", "/..;a=b/x", "/x\r\nHost: evil", "/x\ny",
        "/x\0y", "/x#y", "/x?a\nb",
        "/%25252525252e/x", "/%00", "/" + "x" * 9000,
    ],
)  # fmt: skip
def test_a_path_that_could_leave_the_base_url_is_refused(path: str) -> None:
    """Before anything is sent, for any way a server might read it."""
    with Site({"*": echo}) as site, pytest.raises(RefusedError):
        tool(f"{site.url}/v1").call(method="GET", path=path)
    assert site.requests == []


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


def test_only_configured_methods_are_allowed() -> None:
    """By default only GET."""
    http_request = tool("https://api.example.com", allowed_methods=DEFAULTS["allowed_methods"])
    with pytest.raises(RefusedError) as caught:
        http_request.call(method="DELETE", path="/")
    assert str(caught.value) == "the method `DELETE` is not allowed; allowed are GET"


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


@pytest.mark.parametrize("env", [{}, {"TOKEN": ""}])
def test_a_missing_variable_is_an_error_when_the_tool_is_made(env: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        tool("https://x.example", headers={"Authorization": "Bearer ${TOKEN}"}, env=env)
    assert str(caught.value) == "the header `Authorization` needs `TOKEN`, which is not set"
    assert caught.value.hint == "set `TOKEN`"


@pytest.mark.parametrize(
    "name",
    [
        "Host", "authorization", "Cookie", "X-Key", "x-key", "Content-Length", "Transfer-Encoding", "Connection",
        "Upgrade",
        "Proxy-Authorization", "X-Forwarded-For", "X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL",
        "Forwarded",
        "Sec-Fetch-Site", "Origin", "Accept-Encoding", ":path", "User-Agent",
    ],
)  # fmt: skip
def test_reserved_headers_are_refused(name: str) -> None:
    """Configured ones, those about the client, and those that servers obey instead of method and path."""
    with Site({"*": echo}) as site:
        http_request = tool(site.url, headers={"X-Key": "k"})
        with pytest.raises(RefusedError, match="is reserved; leave it out"):
            http_request.call(method="GET", path="/", headers={name: "x"})
    assert site.requests == []


def test_the_model_can_set_other_headers() -> None:
    """Such as `Accept`."""
    with Site({"*": echo}) as site:
        tool(site.url).call(
            method="PUT", path="/", body="a,b", headers={"Accept": "text/csv", "Content-Type": "text/csv"}
        )
    headers = site.requests[0].headers
    assert (headers["accept"], headers["content-type"], site.requests[0].body) == ("text/csv", "text/csv", b"a,b")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"method": "GET"},
        {"method": 1, "path": "/"},
        {"method": "GET", "path": "/", "other": 1},
        {"method": "GET", "path": ["/"]},
        {"method": "GET", "path": "/", "query": "a=b"},
        {"method": "GET", "path": "/", "query": {"a": {"b": 1}}},
        {"method": "GET", "path": "/", "headers": {"a": 1}},
        {"method": "GET", "path": "/", "headers": {"a": "b\r\nc: d"}},
        {"method": "GET", "path": "/", "headers": {"a b": "c"}},
        {"method": "GET", "path": "/", "headers": {"a": "ü"}},
        {"method": "POST", "path": "/", "json": 1, "body": "x"},
        {"method": "POST", "path": "/", "json": float("nan")},
        {"method": "POST", "path": "/", "body": "\ud800"},
        {"method": "POST", "path": "/", "json": "\ud800"},
        {"method": "GET", "path": "/\ud800"},
        {"method": "G\r\nET", "path": "/"},
    ],
)
def test_invalid_arguments_are_a_failed_tool_call(given: dict[str, Any]) -> None:
    """Nothing is sent."""
    with Site({"*": echo}) as site, pytest.raises(ToolFailedError):
        tool(site.url).call(**given)
    assert site.requests == []


@pytest.mark.parametrize(
    "base",
    [
        "", "api.example.com", "ftp://x.example", "https://u:p@x.example/", "https://x.example/?a=b", "https://x.example/#a",
        "https://x.example/a/../b/%2e%2e", "http://2130706433/", "https://other.example/",
    ],
)  # fmt: skip
def test_an_invalid_base_url_is_a_configuration_error(base: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        tool(base, policy=Policy(allowed_hosts=("x.example", "api.example.com")))


def test_a_private_base_url_needs_allow_private() -> None:
    """The hint says so."""
    with pytest.raises(ConfigError) as caught:
        tool("http://127.0.0.1:8000/", allow_private=False)
    assert caught.value.hint == "the user can allow it with `allow_private: true` for the tool"


@pytest.mark.parametrize("name", ["a b", "", "a:b"])
def test_an_invalid_configured_header_is_a_configuration_error(name: str) -> None:
    with pytest.raises(ConfigError, match="invalid header"):
        tool("https://x.example", headers={name: "x"})


def test_a_line_break_in_a_variable_is_a_configuration_error() -> None:
    """It would add a header."""
    with pytest.raises(ConfigError, match="invalid header"):
        tool("https://x.example", headers={"A": "${B}"}, env={"B": "x\r\nHost: y"})


def test_binary_data_is_counted_and_long_text_is_cut() -> None:
    pages = {"/a": reply(b"\x89PNG\0", kind="image/png"), "/b": reply("x" * 100), "/c": reply(b"a\0b")}
    with Site(pages) as site:
        http_request = tool(site.url, max_bytes=10)
        texts = [http_request.call(method="GET", path=path).splitlines()[-1] for path in pages]
    assert texts == ["[5 bytes of binary data]", "[cut after 10 bytes]", "[3 bytes of binary data]"]
