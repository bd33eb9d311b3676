"""Which hosts and addresses a tool may connect to."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from prowess.agent.policy import Policy, RefusedError, ToolContext, ToolFailedError
from prowess.agent.tools._network import NetworkAccess, network_rules, parse_url
from prowess.net import NetworkRules
from support.rows import rows


def resolve_names_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[Any]:
    """Resolve each name to these addresses; return the list of look-ups."""
    looked_up: list[Any] = []

    def fake_getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        looked_up.append((host, port))
        if not addresses:
            raise socket.gaierror(-2, "no")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", fake_getaddrinfo)
    return looked_up


def addresses(access: NetworkAccess, url: str) -> tuple[str, ...]:
    return asyncio.run(access.addresses(parse_url(url)))


def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trailing dot does not change the host, and duplicate addresses are dropped."""
    looked_up = resolve_names_to(monkeypatch, "8.8.8.8", "1.1.1.1", "8.8.8.8")
    assert addresses(NetworkAccess(), "https://Example.com./x") == ("8.8.8.8", "1.1.1.1")
    assert looked_up == [("example.com", 443)]


def test_a_name_with_a_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if it has a public one too, unless private addresses are allowed."""
    resolve_names_to(monkeypatch, "8.8.8.8", "10.0.0.1")
    access = NetworkAccess.from_options({"allow_private": False}, ToolContext(folder="/", policy=Policy()))
    with pytest.raises(RefusedError) as caught:
        addresses(access, "http://example.com/")
    assert str(caught.value) == "`example.com` is an address of this machine or its network, which is not allowed"
    assert caught.value.hint == "the user can allow it with `allow_private: true` for the tool"
    access = NetworkAccess(rules=NetworkRules(allow_private=True))
    assert addresses(access, "http://example.com/") == ("8.8.8.8", "10.0.0.1")


def test_a_name_with_a_metadata_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if private addresses are allowed."""
    resolve_names_to(monkeypatch, "169.254.169.254")
    with pytest.raises(RefusedError, match="link-local"):
        addresses(NetworkAccess(rules=NetworkRules(allow_private=True)), "http://example.com/")


def test_an_unknown_name_is_a_failed_tool_call(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_names_to(monkeypatch)
    with pytest.raises(ToolFailedError, match=r"host not found: `example\.com`"):
        addresses(NetworkAccess(), "http://example.com/")


@pytest.mark.parametrize(
    ("own", "policy", "skill", "open_"), rows(__file__, "a_skill_s_tool_needs_allow_private_in_the_role_too")
)
def test_a_skill_s_tool_needs_allow_private_in_the_role_too(
    own: bool, policy: bool, skill: str | None, open_: bool
) -> None:
    """A skill must not loosen the role's policy."""
    around = ToolContext(folder="/", policy=Policy(allow_private=policy), skill=skill)
    assert NetworkAccess.from_options({"allow_private": own}, around).rules.allow_private is open_


@pytest.mark.parametrize(("host", "open_"), rows(__file__, "lists_of_domains_include_subdomains"))
def test_lists_of_domains_include_subdomains(host: str, open_: bool) -> None:
    """In any notation; a blocked subdomain of an allowed domain stays blocked."""
    options = {
        "allowed_domains": ("*.Example.com", "bücher.example", "other.org"),
        "blocked_domains": ("bad.example.com",),
    }
    policy = Policy(allowed_hosts=("example.com", "bücher.example"))
    access = NetworkAccess.from_options(options, ToolContext(folder="/", policy=policy))
    if open_:
        access.check(parse_url(f"https://{host}/"))
    else:
        with pytest.raises(RefusedError):
            access.check(parse_url(f"https://{host}/"))


@pytest.mark.parametrize(
    ("skill", "own", "named"),
    [
        (None, (), ("localhost", "10.0.0.5", "example.com")),
        (None, ("[::1]", "*.b.internal", ".c.internal"), ("localhost", "10.0.0.5", "example.com", "::1")),
        ("/skill", ("127.0.0.1", "metadata.google.internal"), ("localhost", "10.0.0.5", "example.com")),
    ],
)
def test_only_the_user_names_hosts(skill: str | None, own: tuple[str, ...], named: tuple[str, ...]) -> None:
    """In the role, one by one; what a skill's tool lists is not the user's word."""
    policy = Policy(allowed_hosts=("LOCALHOST.", "10.0.0.5", "Example.com", "*.a.internal"))
    rules = network_rules({"allowed_domains": own}, ToolContext(folder="/", policy=policy, skill=skill))
    assert rules.named == named


@pytest.mark.parametrize(("skill", "open_"), [(None, True), ("/skill", True)])
def test_a_tool_without_a_setting_of_its_own_follows_the_role(skill: str | None, open_: bool) -> None:
    """As `script` and `python`."""
    rules = network_rules({}, ToolContext(folder="/", policy=Policy(allow_private=open_), skill=skill))
    assert rules.allow_private is open_
    assert rules.private_hint == "the user can allow it with `security.allow_private: true` in the role"
