"""Decide which hosts may be reached: the one set of rules for the tools that send requests and for commands.

    a host must be in each list of allowed domains, and in none that is blocked
    a public address is open
    an address of this machine or its network needs `allow_private`, or a host that the user names
    a link-local address and other places of a cloud's credentials need a host that the user names

A user names a host by writing the very address, or a name that only exists in a local network. A name of the public DNS
does not count: its owner, not the user, decides where it leads.
"""

from __future__ import annotations

import ipaddress
import re

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Address = ipaddress.IPv4Address | ipaddress.IPv6Address

MAX_ADDRESSES = 4
"""Addresses of one name that are tried; all of them are checked."""

_LABEL = "[a-z0-9_][a-z0-9_-]{0,62}"
_match_name = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*", re.ASCII).fullmatch
_match_numeric_label = re.compile(r"0x[0-9a-f]*|[0-9]+").fullmatch
"""The last label of a name that some libraries read as a number: an address in disguise."""
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa")
"""Domains that the public DNS does not have."""
_METADATA_NAMES = frozenset(
    ("metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal")
)
_METADATA_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("169.254.0.0/16", "fe80::/10"),  # link-local, where most clouds have them
        *("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"),  # Alibaba, Azure, Oracle
        *("fd00:ec2::/32", "fd20:ce::/32", "fd00:42::/32", "fd00:a9fe:a9fe::/48"),  # AWS, Google, Scaleway, Linode
        # A network's own translation to IPv4: the address is at a place that only the network knows.
        "64:ff9b:1::/48",
    )
)
_METADATA_V4_HOSTS = frozenset(
    map(
        ipaddress.IPv4Address,
        ("169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
    )
)
_NAT64_NETWORK = ipaddress.ip_network("64:ff9b::/96")
_REFUSED_PORTS = {25: "SMTP would send mail in the name of the user"}
_PRIVATE_HINT = "the user can allow it with `security.allow_private: true` in the role"
_METADATA_HINT = "the user can allow it by naming it in `security.allowed_hosts` of the role"


class Refusal(Frozen):
    """Why a host may not be reached."""

    message: str
    hint: str | None = None
    """What the user can do."""


class NetworkRules(Frozen):
    """The hosts that may be reached. Names and addresses are as `canonical_host` returns them."""

    allowed: tuple[tuple[str, ...], ...] = ()
    """Lists of domains: a host must match a domain of each list, or be a subdomain of one."""
    blocked: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    """Hosts that the user named one by one."""
    allow_private: bool = False
    """Whether addresses of this machine and its network are open."""
    private_hint: str = _PRIVATE_HINT
    """What the user can do about an address that is not public."""

    def as_fields(self) -> dict[str, object]:
        """Return the fields by their names, for another process."""
        names = ("allowed", "blocked", "named", "allow_private", "private_hint")
        return {name: getattr(self, name) for name in names}

    def refusal(self, host: str, port: int) -> Refusal | None:
        """Return why a host may not be reached, before its name is looked up; `None` if it may.

        Args:
            host: as `canonical_host` returns it.
            port: the port.
        """
        address = _parse_address(host)
        if address is None and (not _match_name(host) or _match_numeric_label(host.rpartition(".")[2])):
            return Refusal(message=f"invalid host: {quoted(host)} is neither a name nor a standard IP address")
        for domains in self.allowed:
            if not any(_is_in_domain(host, domain) for domain in domains):
                return Refusal(message=f"{quoted(host)} is not an allowed host: allowed are {', '.join(domains)[:500]}")
        if any(_is_in_domain(host, domain) for domain in self.blocked):
            return Refusal(message=f"{quoted(host)} is a blocked host")
        if port in _REFUSED_PORTS:
            return Refusal(message=f"port {port} is closed: {_REFUSED_PORTS[port]}")
        if host in _METADATA_NAMES and host not in self.named:
            return _metadata_refusal(host)
        if address is not None:
            return self.address_refusal(host, (host,))
        return None if self._opens_private(host) or not _is_in_domain(host, "localhost") else self._private(host)

    def address_refusal(self, host: str, addresses: Iterable[str]) -> Refusal | None:
        """Return why the addresses of a host may not be reached; `None` if they may.

        A single one is enough to refuse: a name with several kinds is a trap.

        Args:
            host: as `canonical_host` returns it.
            addresses: what its name was resolved to, or itself.
        """
        opens_metadata = host in self.named and (host in _METADATA_NAMES or _parse_address(host) is not None)
        opens_private = self._opens_private(host)
        for address in addresses:
            if _is_metadata(address):
                if not opens_metadata:
                    return _metadata_refusal(host)
            elif not opens_private and not (is_public(address) and not _is_own_address(address)):
                return self._private(host)
        return None

    def _opens_private(self, host: str) -> bool:
        """Return whether addresses of this machine and its network are open to a host."""
        is_local = _parse_address(host) is not None or is_local_name(host)
        return self.allow_private or (is_local and host in self.named)

    def _private(self, host: str) -> Refusal:
        message = f"{quoted(host)} is an address of this machine or its network, which is not allowed"
        return Refusal(message=message, hint=self.private_hint)


def is_local_name(host: str) -> bool:
    """Return whether a host is a name that only exists in a local network."""
    return _parse_address(host) is None and ("." not in host or host.endswith(_LOCAL_SUFFIXES))


def canonical_host(text: str) -> str:
    """Return a host in the form that is compared: in lower case, without brackets and a last dot."""
    host = text.lower()
    host = (host[1:-1] if host.startswith("[") and host.endswith("]") else host).rstrip(".")
    address = _parse_address(host)
    return host if address is None else str(address)


def look_up_host(host: str, port: int) -> tuple[str, ...]:
    """Return the IP addresses of a host, each once; none if it does not exist."""
    import socket

    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))


def is_public(address: str) -> bool:
    """Return whether an IP address is public, rather than of this machine or its network."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    embedded = tuple(_embedded_addresses(ip))
    if embedded:
        return all(is_public(str(address)) for address in embedded)
    if ip.version == 6 and ip.is_site_local:
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_link_local or ip.is_unspecified)


def _is_metadata(address: str) -> bool:
    """Return whether an IP address is link-local or gives a cloud's credentials, in any notation."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    forms = [ip, *_embedded_addresses(ip)]
    if ip.version == 6:
        # A network's own prefix, or a tunnel, can be in front of an IPv4 address: one of these is no coincidence.
        last = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if ip.packed[:12].strip(b"\0") == b"" or last in _METADATA_V4_HOSTS:
            forms.append(last)
    return any(form in network for form in forms for network in _METADATA_NETWORKS if network.version == form.version)


def _embedded_addresses(ip: Address) -> Iterator[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses inside an IPv6 address that a gateway would connect to."""
    if isinstance(ip, ipaddress.IPv6Address):
        yield from (address for address in (ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())) if address is not None)
        if ip in _NAT64_NETWORK:
            yield ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)


def _is_own_address(address: str) -> bool:
    """Return whether an address belongs to this machine: the system then uses it as the source, too."""
    import socket

    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))  # nothing is sent
            return ipaddress.ip_address(probe.getsockname()[0]) == ipaddress.ip_address(address)
    except (OSError, ValueError):
        return False


def _metadata_refusal(host: str) -> Refusal:
    message = f"{quoted(host)} is a link-local address or a place of a cloud's credentials, which is not allowed"
    return Refusal(message=message, hint=_METADATA_HINT)


def _parse_address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_in_domain(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
