"""OAuth metadata: who gives out tokens for an MCP server, and how; challenges and the metadata behind them.

Sources: MCP 2026-07-28 basic/authorization, RFC 9728 (protected resource), RFC 8414 (authorization server),
OpenID Connect Discovery 1.0. Every document is untrusted: it is capped, and an endpoint in it counts only
if egress lets us go there, over TLS unless the operator allowed the host.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from .. import const, jsonrpc
from ..errors import (
    AuthRequired,
    BlockedAddress,
    ConfigError,
    ConnectFailed,
    EngineError,
    ServerTimeout,
)
from ..net import faults, http
from ..net.egress import EgressPolicy, check_url, origin
from ..sentence import _lt

DOCUMENT_CAP = 256 * 1024  # bytes of one metadata document or token response
MAX_CHALLENGE = 2_048  # characters of one ``WWW-Authenticate``
MAX_CHALLENGES = 5
_PARAM = re.compile(
    r'(?<![\w-])([a-zA-Z0-9_-]{1,40})\s{0,4}=\s{0,4}(?:"((?:[^"\\]|\\.)*+)"|([^\s,"]+))'
)
_QUOTED_PAIR = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """Challenge of a 401 or 403 (RFC 6750, 3; RFC 9728, 5.1)."""

    error: str = ""
    scope: str = ""
    resource_metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """One authorization server, as its metadata describes it."""

    issuer: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    registration_endpoint: str = ""
    revocation_endpoint: str = ""  # as it stands there, not checked: `Directory.endpoint`
    scopes: tuple[str, ...] = ()
    auth_methods: tuple[str, ...] = ("client_secret_basic",)
    pkce: bool = False
    takes_metadata_url: bool = False
    sends_issuer: bool = False

    @property
    def is_recognised(self) -> bool:
        """True if the sender of an answer is certain, see `is_recognised`."""
        return is_recognised(self.issuer, self.authorization_endpoint, self.sends_issuer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """An MCP server that wants tokens. `scopes` is None where it names none."""

    url: str
    authorities: tuple[str, ...] = ()
    scopes: tuple[str, ...] | None = None


def challenge_of(headers: httpx.Headers) -> Challenge:
    """
    >>> challenge_of(httpx.Headers({"www-authenticate": 'Bearer error="x", scope="a b"'})).scope
    'a b'
    """
    found: dict[str, str] = {}
    for value in headers.get_list("www-authenticate")[:MAX_CHALLENGES]:
        scheme, _, rest = value[:MAX_CHALLENGE].partition(" ")
        if scheme.lower() == "bearer":
            for name, quoted, plain in _PARAM.findall(rest):
                found.setdefault(name.lower(), _QUOTED_PAIR.sub(r"\1", quoted) or plain)
    return Challenge(
        error=found.get("error", ""),
        scope=found.get("scope", ""),
        resource_metadata=found.get("resource_metadata", ""),
    )


def is_recognised(issuer: str, authorization_endpoint: str, sends_issuer: bool) -> bool:
    """True if it is certain that the issuer sends the answers of its sign-in (RFC 9700, 4.4).

    Metadata can name the page of another authorization server; its codes would then be redeemed at the issuer's
    token endpoint. So an answer names its sender (RFC 9207), or people are sent to the issuer itself. Where the
    issuer redeems its own codes is up to it.

    >>> is_recognised("https://a.example", "https://b.example/authorize", False)
    False
    """
    return sends_issuer or origin(authorization_endpoint) == origin(issuer)


class Directory:
    """Reads metadata over our own egress.

    :param transport: for requests that carry no credential of the MCP server
    :param timeout: seconds for each step of one request
    """

    def __init__(self, transport: httpx.AsyncBaseTransport, policy: EgressPolicy, timeout: float):
        self._transport = transport
        self._policy = policy
        steps = ("connect", "read", "write", "pool")
        self._extensions = {"timeout": dict.fromkeys(steps, timeout)}

    async def resource(self, server_url: str, challenge: Challenge) -> Resource:
        """:raises AuthRequired: the metadata is of another resource"""
        for url in _resource_urls(server_url, challenge):
            found = await self._read(url)
            if found is None:
                continue
            named = found.get("resource")
            if not isinstance(named, str) or not covers(named, server_url):
                raise AuthRequired(
                    _lt("The MCP server's sign-in service is for a different address."),
                    detail=f"{url} describes {named!r}",
                )
            return Resource(
                url=named,
                authorities=_texts(found.get("authorization_servers")),
                scopes=_texts(found["scopes_supported"])
                if isinstance(found.get("scopes_supported"), list)
                else None,
            )
        return Resource(url=canonical(server_url), authorities=(_origin(server_url),))

    async def authority(self, issuer: str) -> Authority:
        """:raises AuthRequired: the authorization server has no usable metadata"""
        for url in _authority_urls(issuer):
            found = await self._read(url)
            if found is None:
                continue
            if found.get("issuer") != issuer:
                raise AuthRequired(
                    _lt(
                        "The MCP server's sign-in service cannot be trusted: it names a different issuer."
                    ),
                    detail=f"{url} says {found.get('issuer')!r}, expected {issuer!r}",
                )
            return Authority(
                issuer=issuer,
                authorization_endpoint=self.endpoint(found.get("authorization_endpoint")),
                token_endpoint=self.endpoint(found.get("token_endpoint")),
                registration_endpoint=self.endpoint(found.get("registration_endpoint")),
                revocation_endpoint=str(found.get("revocation_endpoint") or ""),
                scopes=_texts(found.get("scopes_supported")),
                auth_methods=_texts(found.get("token_endpoint_auth_methods_supported"))
                or ("client_secret_basic",),
                pkce="S256" in _texts(found.get("code_challenge_methods_supported")),
                takes_metadata_url=found.get("client_id_metadata_document_supported") is True,
                sends_issuer=found.get("authorization_response_iss_parameter_supported") is True,
            )
        raise AuthRequired(
            _lt("The MCP server's sign-in service cannot be found."), detail=f"issuer {issuer}"
        )

    async def post(
        self, url: str, headers: Mapping[str, str], *, data: dict | None = None, json: Any = None
    ) -> tuple[int, dict[str, Any]]:
        """Status and JSON object of an answer of the authorization server.

        :param data: fields of a form, or
        :param json: an object as the body
        :raises EngineError: it was not reached, or did not answer as one
        """
        request = httpx.Request(
            "POST",
            url,
            headers=self._headers(headers),
            data=data,
            json=json,
            extensions=self._extensions,
        )
        return await self._send(request)

    def endpoint(self, url: Any) -> str:
        """A URL of a metadata document; empty if there is none.

        :raises ConfigError: tokens must not go there
        """
        if not isinstance(url, str) or not url:
            return ""
        url = check_url(url, self._policy)
        parts = urlsplit(url)
        if parts.scheme != "https" and not self._policy.allows(parts.hostname, parts.port or 80):
            raise ConfigError(_lt("The MCP server's sign-in service is not encrypted (https)."))
        return url

    async def _read(self, url: str) -> dict[str, Any] | None:
        try:
            self.endpoint(url)
            request = httpx.Request(
                "GET", url, headers=self._headers({}), extensions=self._extensions
            )
            status, found = await self._send(request)
        except (BlockedAddress, ConnectFailed, ServerTimeout):
            raise
        except EngineError:
            return None
        return found if status == 200 and found else None

    async def _send(self, request: httpx.Request) -> tuple[int, dict[str, Any]]:
        try:
            response = await http.send(self._transport, request)
            found = jsonrpc.parse(await http.read(response, DOCUMENT_CAP))
        except Exception as caught:
            raise faults.of_exception(caught) from caught
        return response.status_code, found if isinstance(found, dict) else {}

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        return {**const.HTTP_HEADERS, "accept": "application/json", **more}


def canonical(url: str) -> str:
    """The resource identifier of a server's URL (RFC 8707, 2).

    >>> canonical("HTTPS://Example.com:443/mcp?x=1"), canonical("https://example.com/")
    ('https://example.com:443/mcp', 'https://example.com')
    """
    parts = urlsplit(url)
    path = "" if parts.path == "/" else parts.path
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), path, "", ""))


def covers(resource: str, server_url: str) -> bool:
    """True if a token for `resource` is meant for the server: same origin, and its path or one above.

    >>> covers("https://a.example/", "https://a.example/mcp"), covers("https://a.example/x", "https://a.example/mcp")
    (True, False)
    """
    named, asked = httpx.URL(resource), httpx.URL(server_url)
    if (named.scheme, named.host, named.port) != (asked.scheme, asked.host, asked.port):
        return False
    return (asked.path.rstrip("/") + "/").startswith(named.path.rstrip("/") + "/")


def _resource_urls(server_url: str, challenge: Challenge) -> Iterator[str]:
    if challenge.resource_metadata:
        yield challenge.resource_metadata
        return
    path = urlsplit(server_url).path.rstrip("/")
    if path:
        yield f"{_origin(server_url)}/.well-known/oauth-protected-resource{path}"
    yield f"{_origin(server_url)}/.well-known/oauth-protected-resource"


def _authority_urls(issuer: str) -> Iterator[str]:
    origin, path = _origin(issuer), urlsplit(issuer).path.rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
