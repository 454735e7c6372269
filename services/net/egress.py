"""Egress policy: where the engine may connect to, and which headers it may send there.

Only global unicast addresses are reached, unless the operator allowed a ``host:port``. What counts is
the address a name resolves to at the moment of connecting; `transport` pins the connection to the very
address that was checked here.
"""

import ipaddress
import logging
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..errors import BlockedAddress, ConfigError, HostUnreachable
from ..sentence import _lt

_logger = logging.getLogger(__name__)

MAX_URL = 2_000  # characters
MAX_HEADERS = 50
MAX_HEADER_VALUE = 8_000  # characters, what common servers accept in one header line

MAX_PORT = 65_535
PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")  # RFC 9110, 5.5, ASCII part
_HEADERS_OF_OURS = {
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_PREFIXES_OF_OURS = ("proxy-", "mcp-param-", "sec-")

_GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # RFC 4291, all global unicast there is
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052
_BLOCKED = [
    ipaddress.ip_network(net)
    for net in (
        "192.0.0.0/24",  # RFC 6890, protocol assignments
        "168.63.129.16/32",  # Azure's host, a public address with a metadata service behind it
        "192.88.99.0/24",  # RFC 7526, 6to4 relays
        "2001::/23",  # RFC 2928, protocol assignments, Teredo among them
        "2001:db8::/32",  # RFC 3849
        "3fff::/20",  # RFC 9637
    )
]


def is_public(address: str) -> bool:
    """True if an IP address is global unicast, looked at through every way of wrapping IPv4 in IPv6.

    >>> is_public("93.184.216.34"), is_public("::ffff:127.0.0.1"), is_public("64:ff9b::7f00:1")
    (True, False, False)
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if ip.version == 6:
        inner = ip.ipv4_mapped or ip.sixtofour or _nat64(ip) or _isatap(ip)
        if inner is not None:
            return is_public(str(inner))
        if ip not in _GLOBAL_V6:
            return False
    return (
        ip.is_global
        and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)
        and not any(ip in net for net in _BLOCKED if net.version == ip.version)
    )


def _nat64(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None


def _isatap(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """RFC 5214: the interface identifier is ``0000:5efe`` or ``0200:5efe`` and an IPv4 address."""
    if (int(ip) >> 32) & 0xFDFFFFFF == 0x00005EFE:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return None


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """Internal endpoints that the operator allowed.

    :param allow: ``(host, port)`` pairs; a port of None allows any port of that host
    """

    allow: frozenset[tuple[str, int | None]] = frozenset()

    def __post_init__(self):
        entries = frozenset((normal_host(host), port) for host, port in self.allow)
        object.__setattr__(self, "allow", entries)

    @classmethod
    def parse(cls, text: str) -> "EgressPolicy":
        """``"localhost:3801, 10.0.0.5:*, [::1]:80"``

        :raises ConfigError: an entry is not ``host:port``
        """
        entries = []
        for entry in filter(None, (part.strip() for part in re.split(r"[,\s]+", text))):
            host, colon, port = entry.rpartition(":")
            is_port = port.isdecimal() and len(port) <= 5 and 0 < int(port) <= MAX_PORT
            if not colon or not host or not (port == "*" or is_port):
                raise ConfigError(_lt("“%(name)s” does not have the form host:port.", name=entry))
            entries.append((host, None if port == "*" else int(port)))
        return cls(frozenset(entries))

    def allows(self, host: str, port: int) -> bool:
        """True if the operator lets connections to `host` and `port` go wherever it resolves to."""
        host = normal_host(host)
        return (host, port) in self.allow or (host, None) in self.allow

    def check_addresses(self, host: str, port: int, addresses: Iterable[str]) -> list[str]:
        """The addresses that a connection to `host` may go to.

        :raises BlockedAddress: the host is an address that is not public
        :raises HostUnreachable: the name has one that is not public; one that means both is a trick
        """
        addresses = list(dict.fromkeys(addresses))
        if self.allows(host, port):
            return addresses
        for address in addresses:
            if not is_public(address) and not self.allows(address, port):
                _logger.warning("Blocked a connection to %s:%s, which is %s.", host, port, address)
                kind = BlockedAddress if _literal(host) else HostUnreachable
                raise kind(
                    detail=f"{host}:{port} is not public: {address}. An operator can allow it in egress_allow."
                )
        return addresses


def normal_host(host: str) -> str:
    """The form in which hosts are compared: lower case, no brackets, no final dot."""
    host = host.strip().strip("[]").rstrip(".").lower()
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host


def check_url(url: str, policy: EgressPolicy | None = None) -> str:
    """A URL as a person typed it, checked as far as that goes without a look-up.

    :return: the URL without surrounding blanks
    :raises ConfigError: with a sentence
    :raises BlockedAddress: the host is a literal address that is not public (with a `policy` only)
    """
    url = url.strip()
    if len(url) > MAX_URL:
        raise ConfigError(_lt("The address is too long."))
    if not url.isprintable() or any(char.isspace() for char in url) or "\\" in url:
        raise ConfigError(_lt("The address contains spaces or invalid characters."))
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(_lt("The address is not a valid URL.")) from error
    if parts.scheme not in PORTS:
        raise ConfigError(_lt("The address must start with http:// or https://."))
    if "@" in parts.netloc:
        raise ConfigError(
            _lt("The address must not contain a user name or password; use the API key field.")
        )
    if not parts.hostname or port == 0:
        raise ConfigError(_lt("The address has no valid host."))
    if parts.fragment:
        raise ConfigError(_lt("The address must not contain a “#” part."))
    if policy is not None and (literal := _literal(parts.hostname)):
        policy.check_addresses(parts.hostname, port or PORTS[parts.scheme], [literal])
    return url


def origin(url: str | None) -> tuple[str, str, int] | None:
    """Scheme, host and port, None where there is no host.

    >>> origin("https://Example.com/mcp") == origin("https://example.com:443/sse")
    True
    """
    try:
        parts = urlsplit((url or "").strip())
        port = parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return (parts.scheme, normal_host(parts.hostname), port) if parts.hostname else None


def _literal(host: str) -> str | None:
    """The address that a host spells out, also in the old forms (``127.1``, ``0x7f.1``, ``2130706433``)."""
    if host.rstrip(".").lower() == "localhost" or host.lower().endswith(".localhost"):
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that a person configured for a server.

    :return: the same as a new dict
    :raises ConfigError: with a sentence that names the header, never its value
    """
    if not isinstance(headers, Mapping):
        raise ConfigError(_lt('The headers must be a JSON object such as {"X-API-Key": "…"}.'))
    if len(headers) > MAX_HEADERS:
        raise ConfigError(_lt("There may be at most %(count)s headers.", count=MAX_HEADERS))
    seen = set()
    for name, value in headers.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ConfigError(_lt("“%(name)s” is not a valid header name.", name=name))
        lower = name.lower()
        if lower in _HEADERS_OF_OURS or lower.startswith(_PREFIXES_OF_OURS):
            raise ConfigError(_lt("The header “%(name)s” is set automatically.", name=name))
        if lower in seen:
            raise ConfigError(_lt("The header “%(name)s” is defined twice.", name=name))
        seen.add(lower)
        if not isinstance(value, str):
            raise ConfigError(
                _lt("The value of the header “%(name)s” must be a string.", name=name)
            )
        if len(value) > MAX_HEADER_VALUE:
            raise ConfigError(_lt("The value of the header “%(name)s” is too long.", name=name))
        if value and not _VALUE.fullmatch(value):
            raise ConfigError(
                _lt(
                    "The value of the header “%(name)s” may only contain printable ASCII characters and "
                    "must not begin or end with a space.",
                    name=name,
                )
            )
    return dict(headers)
