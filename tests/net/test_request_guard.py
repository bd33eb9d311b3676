"""Both servers of Prowess refuse the same requests: the endpoint of roles, and that of skills over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from prowess import discover
from prowess.agent.server import listen, make_server
from prowess.errors import ConfigError
from prowess.mcp import http_app, server
from prowess.net import RequestGuard
from support.chat_server import EchoAnswerer

OWN, TOKEN = "127.0.0.1:8000", "secret"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
PASSED = 404
"""The requests are for paths that no server has: one that a guard passes on is answered so."""


def role_app(token: str | None, *, loopback: bool) -> Any:
    with listen("127.0.0.1" if loopback else "0.0.0.0", 0) as listener:  # noqa: S104 - nothing is accepted
        return make_server(EchoAnswerer(), listener, token=token).config.app


def skills_app(token: str | None, *, loopback: bool) -> Any:
    return http_app(server(discover("tests/net", home="tests/net", env={})), token=token, loopback=loopback)


@pytest.fixture(params=[role_app, skills_app], ids=["role", "skills"])
def make_app(request: pytest.FixtureRequest) -> Any:
    return request.param


def ask(app: Any, *headers: tuple[str, str], **given: Any) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body of the answer to a request that came to `OWN`."""
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": "/none", "query_string": b""}
    scope |= {"scheme": "http", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 9), "headers": raw, **given}
    sent = messages_of(app, scope)
    fields = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], fields, b"".join(message.get("body", b"") for message in sent)


def messages_of(app: Any, scope: dict[str, Any]) -> list[Any]:
    """Return what an application sends."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def with_host(host: str, **given: Any) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    return [("host", host)], given


def with_origin(origin: str, host: str = OWN, **given: Any) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    return [("host", host), ("origin", origin)], given


PORT_80: dict[str, Any] = {"server": ("127.0.0.1", 80)}
TLS: dict[str, Any] = {"server": ("127.0.0.1", 443), "scheme": "https"}
IPV6: dict[str, Any] = {"server": ("::1", 8000)}
REQUESTS: dict[int, tuple[tuple[list[tuple[str, str]], dict[str, Any]], ...]] = {
    PASSED: (
        *map(with_host, (OWN, "localhost:8000", "LOCALHOST:8000")),
        *(with_host(host, **PORT_80) for host in ("127.0.0.1", "localhost", "localhost:80")),
        *(with_host(host, **TLS) for host in ("127.0.0.1", "localhost:443")),
        *(with_host(host, **IPV6) for host in ("[::1]:8000", "localhost:8000")),
        with_host(OWN, server=("::ffff:127.0.0.1", 8000)),
        with_host("127.0.0.2:8000", server=("127.0.0.2", 8000)),
        with_origin(f"http://{OWN}"),
        with_origin("http://localhost:8000", "localhost:8000"),
        with_origin("http://localhost", "localhost:80", **PORT_80),
        with_origin("https://localhost", "localhost", **TLS),
        *(([("host", OWN), ("sec-fetch-site", site)], {}) for site in ("same-origin", "none")),
    ),
    403: (
        ([], {}),
        *map(with_host, ("", "evil.example", "evil.example:8000", "127.0.0.1.evil.example:8000", "192.168.1.1:8000")),
        *map(with_host, ("127.0.0.1", "localhost", "127.0.0.1:80", "127.0.0.1:8001", "localhost:", "localhost:08000")),
        *map(with_host, ("localhost.:8000", "127.0.0.2:8000", "127.1:8000", "0:8000", "0.0.0.0:8000", "[::1]:8000")),
        *map(with_host, (f"{OWN}/healthz?", f"{OWN}/healthz#", f"a@{OWN}", f"{OWN},{OWN}", f"{OWN} ", "[x", "\xff")),
        *(with_host(host, **IPV6) for host in (OWN, "[0:0:0:0:0:0:0:1]:8000", "::1:8000", "[::1]")),
        *(with_host(host, **TLS) for host in ("localhost:80", "localhost:8000")),
        with_host("192.168.1.5:8000", server=("192.168.1.5", 8000)),
        with_host("localhost:8000", server=("192.168.1.5", 8000)),
        with_host("localhost", server=("/run/skills.sock", None)),
        with_host("localhost:8000", server=None),
        *map(with_origin, ("null", "", "https://evil.example", "http://127.0.0.1", "http://127.0.0.1:9", "*")),
        *map(with_origin, ("http://localhost:8000", f"https://{OWN}", f"HTTP://{OWN}", f"http://{OWN}/")),
        *map(with_origin, (f"http://{OWN}@evil.example", f"http://evil@{OWN}", f"chrome-extension://{OWN}")),
        with_origin("http://localhost:80", "localhost:80", **PORT_80),
        *(([("host", OWN), ("sec-fetch-site", site)], {}) for site in ("cross-site", "same-site", "", "Same-Origin")),
    ),
    400: (
        ([("host", OWN), ("host", OWN)], {}),
        ([("host", OWN), ("host", "evil.example")], {}),
        *(
            ([("host", OWN), (name, value), (name, value)], {})
            for name, value in (
                ("origin", f"http://{OWN}"),
                ("sec-fetch-site", "none"),
                ("authorization", f"Bearer {TOKEN}"),
            )
        ),
    ),
}


@pytest.mark.parametrize(
    ("status", "headers", "given"), [(status, *row) for status, rows in REQUESTS.items() for row in rows]
)
def test_a_request_names_this_server_and_comes_from_no_other_origin(
    make_app: Any, status: int, headers: list[tuple[str, str]], given: dict[str, Any]
) -> None:
    """Whether or not it has the token, and by any method; a page of another program on this machine is another one."""
    token = [] if "authorization" in dict(headers) else [("authorization", f"Bearer {TOKEN}")]
    app = make_app(TOKEN, loopback=True)
    for method in ("GET", "OPTIONS"):
        answer = ask(app, *headers, *token, method=method, **given)
        assert answer[0] == status
        assert not [name for name in answer[1] if name.startswith("access-control")]
    assert ask(make_app(None, loopback=True), *headers, **given)[0] == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("host", "skills.example")], PASSED),
        ([("host", "skills.example:8443"), ("origin", "https://skills.example:8443")], PASSED),
        ([("host", "skills.example"), ("origin", "https://skills.example")], PASSED),
        ([], PASSED),
        ([("host", "skills.example"), ("origin", "https://evil.example")], 403),
        ([("host", "skills.example"), ("origin", "https://skills.example:8443")], 403),
        ([("host", "skills.example"), ("origin", "null")], 403),
        ([("origin", "https://")], 403),
        ([("host", "skills.example"), ("sec-fetch-site", "cross-site")], 403),
        ([("host", "a@skills.example")], 403),
        ([("host", "skills.example/none")], 403),
        ([("host", "skills.example"), ("host", "skills.example")], 400),
    ],
)
def test_a_server_for_other_machines_may_have_any_name(
    make_app: Any, headers: list[tuple[str, str]], status: int
) -> None:
    """A proxy in front of it has one that it does not know, and may use TLS. Its pages have that name too."""
    app = make_app(TOKEN, loopback=False)
    assert ask(app, *headers, ("authorization", f"Bearer {TOKEN}"))[0] == status
    assert ask(app, *headers)[0] == (401 if status == PASSED else status)


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        ("Bearer secret", True),
        ("bearer  secret ", True),
        ("Bearer Secret", False),
        ("Bearer secrets", False),
        ("Bearer \xff", False),
        ("Basic secret", False),
        ("secret", False),
        ("Bearer", False),
        ("Bearer ", False),
        ("", False),
        (None, False),
    ],
)
def test_only_the_token_is_accepted(make_app: Any, value: str | None, accepted: bool) -> None:
    """By each method, and for each path; only `/healthz` of a role is open, which says nothing."""
    app = make_app(TOKEN, loopback=True)
    headers = [("host", OWN), *([] if value is None else [("authorization", value)])]
    for method in METHODS:
        status, fields, body = ask(app, *headers, method=method)
        assert (status, fields.get("www-authenticate")) == ((PASSED, None) if accepted else (401, "Bearer"))
        assert accepted or json.loads(body)["error"]["code"] == "invalid_api_key"
    paths = ("/", "/mcp/", "/v1/models/", "/healthz/", "//healthz", "/HEALTHZ", "/healthz/../mcp", "*", "")
    assert accepted or {ask(app, *headers, path=path)[0] for path in paths} == {401}
    assert accepted or ask(app, *headers, path="/healthz")[0] == (200 if make_app is role_app else 401)


def test_a_websocket_is_closed(make_app: Any) -> None:
    scope = {"type": "websocket", "path": "/mcp", "headers": [(b"host", OWN.encode())], "server": ("127.0.0.1", 8000)}
    for app in (make_app(None, loopback=True), make_app(TOKEN, loopback=False)):
        assert messages_of(app, scope) == [{"type": "websocket.close", "code": 1008}]


def test_the_start_and_the_end_of_a_server_are_passed_on() -> None:
    async def app(scope: Any, _: Any, send: Any) -> None:
        await send(scope)

    guard = RequestGuard(app, token=TOKEN, loopback=True)
    assert messages_of(guard, {"type": "lifespan"}) == [{"type": "lifespan"}]


@pytest.mark.parametrize("token", ["", " \n"])
def test_an_empty_token_is_an_error(make_app: Any, token: str) -> None:
    """A variable may be set to nothing; a server that everyone could use would be no answer to that."""
    with pytest.raises(ConfigError, match=r"^the token is empty$"):
        make_app(token, loopback=False)


def test_clients_that_can_run_scripts_need_a_token() -> None:
    """Also on the loopback address, to which each user of this machine can connect."""
    skills = server(discover("tests/net", home="tests/net", env={}), scripts=True)
    for loopback in (True, False):
        with pytest.raises(ConfigError, match=r"can run scripts, so they need a token$") as caught:
            http_app(skills, loopback=loopback)
        assert caught.value.hint == "pass a long one to `http_app` as `token`, or serve without `scripts`"
    assert ask(http_app(skills, token=TOKEN), ("host", OWN))[0] == 401
