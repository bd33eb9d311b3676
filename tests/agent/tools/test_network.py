"""Which addresses a tool may connect to."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from prowess.agent.policy import Policy, RefusedError, ToolContext, ToolFailedError
from prowess.agent.tools._reach import NetworkAccess, is_public, parse_url
from prowess.errors import ConfigError

PRIVATE = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0",  # noqa: S104
    "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.127.255.254", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1",
    "fec0::1", "ff02::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "100.63.255.255", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_this_machine_or_network_is_not_public(address: str) -> None:
    """However it is wrapped."""
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_public_network_is_public(address: str) -> None:
    """So that the rest of the table means something."""
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://0/",
        "http://1.2.3.4.5/", "http://[::ffff:127.0.0.1]/", "http://[::1]:80/", "http://localhost/", "http://LOCALHOST./",
        "http://x.localhost/", "http://127.0.0.1./", "http://１２７.0.0.1/", "http://①②⑦.0.0.1/", "http://a\\@127.0.0.1/",
        "http://user:secret@example.com/", "http://@127.0.0.1/", "ftp://example.com/", "file:///etc/passwd",
        "//example.com/", "http:///x", "http://", "", "example.com", "http://exa mple.com/",
        "http://example.com/\r\nx: y", "http://example.com:0/", "http://example.com:99999/", "http://[::1/",
        "javascript:alert(1)",
        "http://example.com/" + "x" * 9000, "http://%31%32%37.0.0.1/",
    ],
)  # fmt: skip
def test_a_url_that_is_none_or_hides_an_address_is_refused(url: str) -> None:
    """Before any name is looked up."""
    with pytest.raises(RefusedError):
        NetworkAccess().check(parse_url(url))


def named(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[Any]:
    """Make each name mean these addresses; returns what was looked up."""
    asked: list[Any] = []

    def look(host: str, port: int, **_: Any) -> list[Any]:
        asked.append((host, port))
        if not addresses:
            raise socket.gaierror(-2, "no")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", look)
    return asked


def addresses(access: NetworkAccess, url: str) -> tuple[str, ...]:
    return asyncio.run(access.addresses(parse_url(url)))


def test_a_name_is_looked_up_once_and_its_addresses_are_what_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The final dot is no other host, and each address counts once."""
    asked = named(monkeypatch, "8.8.8.8", "1.1.1.1", "8.8.8.8")
    assert addresses(NetworkAccess(), "https://Example.com./x") == ("8.8.8.8", "1.1.1.1")
    assert asked == [("example.com", 443)]


def test_a_name_that_means_a_private_address_too_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a public one it is a trap; where private ones are open it is not."""
    named(monkeypatch, "8.8.8.8", "169.254.169.254")
    with pytest.raises(RefusedError) as caught:
        addresses(NetworkAccess(), "http://example.com/")
    assert str(caught.value) == "`example.com` is an address of this machine or network, which is not open"
    assert caught.value.hint == "the user can open it with `allow_private: true` for the tool"
    assert addresses(NetworkAccess(allow_private_addresses=True), "http://example.com/") == (
        "8.8.8.8",
        "169.254.169.254",
    )


def test_a_name_nobody_knows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In words for the model."""
    named(monkeypatch)
    with pytest.raises(ToolFailedError, match=r"there is no host `example\.com`"):
        addresses(NetworkAccess(), "http://example.com/")


@pytest.mark.parametrize(
    ("own", "policy", "skill", "open_"),
    [
        (True, False, None, True),
        (True, True, None, True),
        (False, True, None, False),
        (True, False, "/skill", False),
        (False, True, "/skill", False),
        (True, True, "/skill", True),
    ],
)
def test_private_addresses_are_open_where_the_tool_says_so_and_for_a_skill_the_role_too(
    own: bool, policy: bool, skill: str | None, open_: bool
) -> None:
    """A skill cannot loosen what the role says."""
    around = ToolContext(folder="/", policy=Policy(allow_private=policy), skill=skill)
    assert NetworkAccess.from_options({"allow_private": own}, around).allow_private_addresses is open_


@pytest.mark.parametrize(
    ("host", "open_"),
    [
        ("example.com", True), ("a.b.example.com", True), ("EXAMPLE.com.", True), ("notexample.com", False),
        ("example.com.evil.org", False), ("bad.example.com", False), ("x.bad.example.com", False),
        ("xn--bcher-kva.example", True), ("bücher.example", True), ("other.org", False),
    ],
)  # fmt: skip
def test_domains_are_open_or_closed_with_all_below_them(host: str, open_: bool) -> None:
    """However they are written; what is closed stays so below what is open."""
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
    "domain", ["", "https://example.com", "example.com/x", "example.com:80", "a b", "u@example.com"]
)
def test_a_domain_that_is_none_is_an_error_of_the_configuration(domain: str) -> None:
    """It would open or close nothing."""
    with pytest.raises(ConfigError, match="is no domain"):
        NetworkAccess.from_options({"blocked_domains": (domain,)}, ToolContext(folder="/", policy=Policy()))
