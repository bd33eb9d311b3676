"""Say where a command finds the proxy, its only way to the network."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.net import NetworkRules

BWRAP_PORT = 3128
"""The port of the proxy in a network namespace, where nothing else listens before the command starts."""
PORT_PLACEHOLDER = "PROWESS-PROXY-PORT"
"""What the supervisor replaces by the port if that is the system's choice (seatbelt)."""
PROXY_VARIABLES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


def proxy_variables(rules: NetworkRules, backend: str) -> dict[str, str]:
    """Return the variables that make a command use the proxy.

    Its own loopback needs no proxy. A host of the loopback that the rules open is the one of this machine instead.

    Args:
        rules: the hosts that the command may reach.
        backend: the name of the sandbox; `none` has no proxy.
    """
    if backend == "none":
        return {}
    port = str(BWRAP_PORT) if backend == "bwrap" else PORT_PLACEHOLDER
    own = ",".join(host for host in _LOOPBACK_HOSTS if rules.refusal(host, 80) is not None)
    proxy = dict.fromkeys(PROXY_VARIABLES, f"http://127.0.0.1:{port}")
    return proxy | {"NO_PROXY": own, "no_proxy": own, "NODE_USE_ENV_PROXY": "1"}  # for Node.js
