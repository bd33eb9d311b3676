"""The variables that lead a command to its proxy."""

from __future__ import annotations

import pytest

from prowess.net import NetworkRules
from prowess.sandbox._proxy_settings import proxy_variables


@pytest.mark.parametrize(
    ("rules", "own"),
    [
        (NetworkRules(), "localhost,127.0.0.1,::1"),
        (NetworkRules(named=("127.0.0.1",)), "localhost,::1"),
        (NetworkRules(named=("localhost", "10.0.0.1")), "127.0.0.1,::1"),
        (NetworkRules(allow_private=True), ""),
        (NetworkRules(allow_private=True, allowed=(("10.0.0.1",),)), "localhost,127.0.0.1,::1"),
    ],
)
def test_the_loopback_is_the_own_one_unless_the_rules_open_it(rules: NetworkRules, own: str) -> None:
    """A host that the proxy would refuse needs no proxy."""
    proxy = "http://127.0.0.1:3128"
    assert proxy_variables(rules, "bwrap") == {
        "http_proxy": proxy,
        "https_proxy": proxy,
        "HTTP_PROXY": proxy,
        "HTTPS_PROXY": proxy,
        "NO_PROXY": own,
        "no_proxy": own,
        "NODE_USE_ENV_PROXY": "1",
    }


def test_without_a_sandbox_there_is_no_proxy() -> None:
    """It would only look as if something limited the network."""
    assert proxy_variables(NetworkRules(), "none") == {}
