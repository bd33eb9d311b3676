"""a URL -> the addresses that may be connected to

A name is looked up once, and what is connected to is what was checked: a name that means something else a moment
later (DNS rebinding) gains nothing. Who may be spoken to at all is said by the role's policy and a tool's own lists.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import threading
from typing import TYPE_CHECKING, Any

import httpx2

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from prowess.agent.policy import ToolContext

__all__ = ["NetworkAccess", "is_public", "origin", "parse_url"]

_MAX_URL = 8000
_FORBIDDEN_CHARS = re.compile(r"[\x00-\x20\x7f\\]")
_match_numeric_label = re.compile(r"0x[0-9a-f]*|[0-9]+").fullmatch
"""What the last label of a name is where libraries take the whole for a number: an address in disguise."""
_NAT64_NETWORK = ipaddress.ip_network("64:ff9b::/96")
_HINT = "the user can open it with `allow_private: true` for the tool"
_SKILL_HINT = f"{_HINT} and `security.allow_private: true` in the role"


def parse_url(text: str) -> httpx2.URL:
    """Read an absolute URL of `http` or `https`.

    Raises:
        RefusedError: it is none, or one that names a user.
    """
    try:
        url = httpx2.URL("" if len(text) > _MAX_URL or _FORBIDDEN_CHARS.search(text) else text)
        plain = url.scheme in ("http", "https") and bool(url.host) and 0 < origin(url)[2] < 65536
    except (httpx2.InvalidURL, ValueError):
        raise RefusedError(f"{quoted(text, 200)} is no URL") from None
    if not plain:
        raise RefusedError(f"{quoted(text, 200)} is no URL of `http` or `https` with a host")
    if url.userinfo:
        raise RefusedError("a URL that holds a user or a password is not opened")
    return url


def origin(url: httpx2.URL) -> tuple[str, str, int]:
    """Return the scheme, the host and the port of a URL."""
    port = (443 if url.scheme == "https" else 80) if url.port is None else url.port
    return url.scheme, url.host, port


def is_public(address: str) -> bool:
    """Say whether an address is one of the public network, and none of this machine or of a network around it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.version == 6:
        # Each of these says which address of the older kind is meant, and a gateway goes there.
        inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
        if ip in _NAT64_NETWORK:
            inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
        meant = [str(one) for one in inner if one is not None]
        if meant:
            return all(is_public(one) for one in meant)
        if ip.is_site_local:
            return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_link_local or ip.is_unspecified)


class NetworkAccess(Frozen):
    """Who may be spoken to."""

    allowed: tuple[tuple[str, ...], ...] = ()
    """Lists of domains: a host must be one, or below one, of each list."""
    blocked: tuple[str, ...] = ()
    allow_private_addresses: bool = False
    """Whether addresses of this machine or network are open."""
    hint: str = _HINT

    @classmethod
    def from_options(cls, options: Mapping[str, Any], context: ToolContext) -> Self:
        """Return what a tool may reach: what its configuration says, as far as the role's policy lets it.

        Raises:
            ConfigError: a domain is none.
        """
        policy = context.policy
        allow_private_addresses = bool(options.get("allow_private", policy.allow_private))
        lists = [policy.allowed_hosts, options.get("allowed_domains", ())]
        return cls(
            allowed=tuple(_normalized_domains(domains) for domains in lists if domains),
            blocked=_normalized_domains(options.get("blocked_domains", ())),
            allow_private_addresses=allow_private_addresses and (context.skill is None or policy.allow_private),
            hint=_HINT if context.skill is None else _SKILL_HINT,
        )

    def check(self, url: httpx2.URL) -> None:
        """Judge a URL by how it is written.

        Raises:
            RefusedError: it must not be opened.
        """
        host = _host_name(url)
        address = _ip_literal(host)
        if address is None and _match_numeric_label(host.rpartition(".")[2]):
            raise RefusedError(f"{quoted(host)} is no name, and no address as addresses are written")
        for domains in self.allowed:
            if not any(_is_in_domain(host, domain) for domain in domains):
                raise RefusedError(f"{quoted(host)} is none of the hosts that are open: {', '.join(domains)[:500]}")
        if any(_is_in_domain(host, domain) for domain in self.blocked):
            raise RefusedError(f"{quoted(host)} is a host that is not open")
        if not self.allow_private_addresses and (
            _is_in_domain(host, "localhost") or (address is not None and not is_public(address))
        ):
            raise self._private_address_error(host)

    async def addresses(self, url: httpx2.URL) -> tuple[str, ...]:
        """Look up the host of a URL, once.

        Raises:
            RefusedError: it must not be spoken to.
            ToolFailedError: nobody knows it.
        """
        self.check(url)
        host = _host_name(url)
        address = _ip_literal(host)
        found = (address,) if address is not None else await _resolve_host(host, origin(url)[2])
        # One that is not public is enough to refuse: a name that means both is a trap.
        if not self.allow_private_addresses and not all(is_public(one) for one in found):
            raise self._private_address_error(host)
        return found

    def _private_address_error(self, host: str) -> RefusedError:
        return RefusedError(
            f"{quoted(host)} is an address of this machine or network, which is not open", hint=self.hint
        )


def _host_name(url: httpx2.URL) -> str:
    """Return the host of a URL as it is looked up."""
    return url.raw_host.decode("ascii", "replace").lower().strip("[]").rstrip(".")


def _ip_literal(host: str) -> str | None:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return None


def _is_in_domain(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def _normalized_domains(domains: Iterable[str]) -> tuple[str, ...]:
    """Return domains as hosts are written.

    Raises:
        ConfigError: one is none.
    """
    found = []
    for domain in domains:
        plain = domain.strip().removeprefix("*.").strip(".")
        plain = f"[{plain}]" if ":" in plain and not plain.startswith("[") else plain
        try:
            url = parse_url(f"http://{plain}/")
        except RefusedError:
            url = None
        if url is None or url.port is not None or url.path != "/" or url.query:
            raise ConfigError(f"{quoted(domain)} is no domain", hint="write only the name, as in `example.com`")
        found.append(_ip_literal(_host_name(url)) or _host_name(url))
    return tuple(found)


async def _resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a name.

    Raises:
        ToolFailedError: there are none.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[str, ...]] = loop.create_future()

    def look() -> None:
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found = tuple(dict.fromkeys(str(row[4][0]) for row in rows))
        except (OSError, UnicodeError):
            found = ()
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else done.set_result(found))
        except RuntimeError:
            return  # whoever asked has gone

    # A thread of its own: the loop's own would be waited for, however long the look-up takes.
    threading.Thread(target=look, daemon=True).start()
    found = await done
    if not found:
        raise ToolFailedError(f"there is no host {quoted(host, 200)}")
    return found
