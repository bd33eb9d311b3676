"""Which hosts and addresses may be reached, by tools and by commands."""

from __future__ import annotations

import socket

import pytest

from prowess.net import NetworkRules, canonical_host
from prowess.net._rules import _is_own_address, is_public
from support.rows import rows

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
def test_an_address_of_this_machine_or_its_network_is_not_public(address: str) -> None:
    """In any notation."""
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_other_addresses_are_public(address: str) -> None:
    assert is_public(address)


def is_open(rules: NetworkRules, host: str, *addresses: str, port: int = 443) -> bool:
    """Return whether a host may be reached whose name is resolved to some addresses."""
    host = canonical_host(host)
    return (rules.refusal(host, port) or rules.address_refusal(host, addresses or (host,))) is None


METADATA = [
    "169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23", "169.254.42.42", "100.100.100.200",
    "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fe80::a9fe:a9fe", "fe80::1%eth0",
    "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe",
    "64:ff9b:1:a9fe:a9:fe00::", "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::1", "2001:0:0:0:0:0:5601:5601",
    "2606:4700:1:2:0:5efe:a9fe:a9fe", "2606:4700:64::a9fe:a9fe", "2606:4700:64::a83f:8110",
]  # fmt: skip


@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_open_only_if_it_is_named(address: str) -> None:
    """Neither `allow_private` nor a name that leads there opens it; in any notation."""
    for rules in (NetworkRules(), NetworkRules(allow_private=True)):
        assert not is_open(rules, f"[{address}]" if ":" in address else address)
        assert not is_open(rules, "example.com", "8.8.8.8", address)
    host = canonical_host(address)
    named = NetworkRules(allowed=(("example.com", "a.internal", host),), named=("example.com", "a.internal", host))
    assert is_open(named, address)
    assert not is_open(named, "example.com", address)
    assert not is_open(named, "a.internal", address)
    assert not is_open(named, "other.example.com", address)


@pytest.mark.parametrize(
    "name", ["metadata", "METADATA.google.internal.", "metadata.goog", "instance-data", "instance-data.ec2.internal"]
)
def test_a_name_of_metadata_is_open_only_if_it_is_named(name: str) -> None:
    """Even if its address looks harmless."""
    domains = ("internal", "google.internal", "metadata", "goog", "instance-data")
    for allowed in ((), (domains,)):
        rules = NetworkRules(allow_private=True, allowed=allowed)
        assert not is_open(rules, name, "8.8.8.8")
    assert is_open(NetworkRules(named=(canonical_host(name),)), name, "169.254.169.254")


@pytest.mark.parametrize(
    ("named", "host", "address", "open_"), rows(__file__, "a_private_address_is_open_if_it_is_named")
)
def test_a_private_address_is_open_if_it_is_named(named: str, host: str, address: str, open_: bool) -> None:
    """Exactly; the owner of a public name must not decide that it leads into this machine."""
    assert is_open(NetworkRules(named=(named,)), host, address) is open_
    assert is_open(NetworkRules(allow_private=True), host, address)


def test_a_blocked_or_missing_host_stays_closed_if_it_is_named() -> None:
    """Naming opens addresses; the lists apply as before."""
    assert not is_open(NetworkRules(named=("127.0.0.1",), blocked=("127.0.0.1",)), "127.0.0.1")
    assert not is_open(NetworkRules(named=("127.0.0.1",), allowed=(("example.com",),)), "127.0.0.1")


@pytest.mark.parametrize(
    "host",
    [*rows(__file__, "an_invalid_host_or_a_disguised_address_is_refused"), ".".join(["x" * 60] * 5), "a\0.example"],
)
def test_an_invalid_host_or_a_disguised_address_is_refused(host: str) -> None:
    assert not is_open(NetworkRules(allow_private=True), host, "8.8.8.8")


def test_mail_cannot_be_sent() -> None:
    """By a connection to a public mail server through a proxy."""
    assert not is_open(NetworkRules(allow_private=True), "mx.example.com", "8.8.8.8", port=25)
    assert is_open(NetworkRules(), "mx.example.com", "8.8.8.8", port=22)


def test_this_machine_is_private_under_its_public_address_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What listens there may rely on a firewall that looks at other machines only."""
    assert _is_own_address("127.0.0.1")
    assert not _is_own_address("192.0.2.1")
    monkeypatch.setattr("prowess.net._rules._is_own_address", lambda address: address == "8.8.8.8")
    assert not is_open(NetworkRules(), "example.com", "8.8.8.8")
    assert is_open(NetworkRules(), "example.com", "8.8.4.4")
    assert is_open(NetworkRules(allow_private=True), "example.com", "8.8.8.8")


def test_looking_at_an_address_sends_nothing() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(0.05)
        assert _is_own_address("127.0.0.1")
        with pytest.raises(TimeoutError):
            listener.recv(10)
