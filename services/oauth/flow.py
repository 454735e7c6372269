"""OAuth 2.1 flow: tokens for MCP servers (MCP 2026-07-28, basic/authorization), with or without a person.

A request that needs a person raises `SignInRequired` with a link; the host shows it, and hands what the
browser brings back to `OAuth.complete`. Everything in between lies in the host's `TokenStore`, so any
process may finish what another one began.
"""

import asyncio
import base64
import contextlib
import hashlib
import math
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

import httpx

from ..errors import (
    AuthRequired,
    ConnectFailed,
    RateLimited,
    ServerError,
    ServerRefused,
    ServerTimeout,
    SignInRequired,
)
from ..net.egress import EgressPolicy
from ..net.transport import EgressTransport
from ..sentence import _lt
from ..specs import OAuthSpec, ServerSpec
from . import registration
from .metadata import Authority, Challenge, Directory, Resource, challenge_of, is_recognised

RENEWAL = 30.0  # s, for which the lock is held at most
EARLY = 30.0  # s before its end that a token is renewed
PENDING = 600.0  # s, a sign-in that nobody finished is void
OFFLINE = "offline_access"  # scope that brings a refresh token
MAX_LIFE = 315_360_000.0  # s (ten years), a token that lives longer counts as this
SENT = 3  # tokens that the server was sent last

T = TypeVar("T")

TokenSet = dict[str, Any]
"""What is kept per credential, JSON: access_token, refresh_token, expires_at (Unix s), scope, issuer, resource,
client {client_id, client_secret, method, callback, kept_until, secret_ends}, see `registration.register`."""


class TokenStore(Protocol):
    """The host's storage of token sets, encrypted there; `key` is ``OAuthSpec.key``."""

    async def load(self, key: str) -> TokenSet | None:
        """The tokens of a credential, None if there are none."""
        ...

    async def save(self, key: str, token_set: TokenSet) -> None:
        """Keep the tokens of a credential in place of those before.

        :param token_set: as `OAuth` has made it, JSON with secrets
        """
        ...

    async def put_pending(self, key: str, state: str, pending: dict[str, Any]) -> None:
        """Keep a sign-in that has begun, bound to the user who is signed in.

        :param state: the key under which it comes back, only once
        :param pending: JSON with a secret
        """

    async def take_pending(self, key: str, state: str) -> dict[str, Any] | None:
        """The sign-in of this state, only once."""

    def lock(self, key: str) -> contextlib.AbstractAsyncContextManager:
        """Held while a token is renewed, so that a refresh token is used once over all processes.

        Who has held it for `RENEWAL` seconds may lose it.
        """
        ...


def callback_of(issuer: str) -> str:
    """The last part of the redirect URI that belongs to one authorization server alone (RFC 9700, 4.4.2.2)."""
    return hashlib.sha256(issuer.encode()).hexdigest()[:32]


def begin(wanted: Mapping[str, Any]) -> tuple[str, dict[str, Any], str]:
    """Begin a sign-in, or one that is not finished once more, without asking anybody.

    :param wanted: a pending sign-in; its state, verifier and age do not matter
    :return: the fresh state, what is to be kept as pending, and the link for the browser
    :raises AuthRequired: an answer could come from another authorization server
    """
    if not wanted.get("callback") and not is_recognised(
        wanted["issuer"], wanted["authorization_endpoint"], wanted["sends_issuer"]
    ):
        raise AuthRequired(
            _lt(
                "The MCP server's sign-in redirects to a different server, which is not allowed here."
            ),
            detail=f"{wanted['issuer']} sends people to {wanted['authorization_endpoint']}",
        )
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(32)
    digest = hashlib.sha256(verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": wanted["client"]["client_id"],
        "redirect_uri": wanted["redirect_uri"],
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": wanted["resource"],
    }
    if wanted["scope"]:
        query["scope"] = wanted["scope"]
    if OFFLINE in wanted["scope"].split():
        query["prompt"] = "consent"  # OpenID Connect Core 1.0, 11
    endpoint = wanted["authorization_endpoint"]
    joint = "&" if "?" in endpoint else "?"
    pending = {**wanted, "begun": time.time(), "verifier": verifier}
    return state, pending, f"{endpoint}{joint}{urlencode(query)}"


class OAuth:
    """The tokens of one credential; shared by the sessions of a process."""

    def __init__(self, server: ServerSpec, policy: EgressPolicy, store: TokenStore):
        if server.oauth is None:
            raise ValueError(f"server {server.id} has no OAuth")
        self._spec: OAuthSpec = server.oauth
        self._url = server.url
        self._owner = server.owner
        self._timeout = server.connect_timeout
        self._policy = policy
        self._store = store
        self._running: set[asyncio.Task[Any]] = set()
        self.sent: deque[str] = deque(maxlen=SENT)  # the latest tokens that the server was sent

    async def token(self) -> str:
        """The access token to send, empty if there is none; renewed shortly before its end."""
        token_set = await self._store.load(self._spec.key)
        if not token_set:
            return ""
        ends = token_set.get("expires_at")
        if ends and ends - EARLY < time.time():
            try:
                if fresh := await self._undisturbed(self._refreshed(token_set)):
                    return fresh
            except ServerError:
                if ends < time.time():
                    raise
        return token_set.get("access_token", "")

    async def renew(self, refused: str, challenge: Challenge) -> str:
        """A token in place of the one that was refused (empty if none was sent).

        :raises SignInRequired: a person has to sign in
        :raises AuthRequired: there is no way to a token that would do
        """
        return await self._undisturbed(self._renew(refused, challenge))

    async def _renew(self, refused: str, challenge: Challenge) -> str:
        async with self._locked() as directory:
            token_set = await self._store.load(self._spec.key) or {}
            if token_set.get("access_token", "") not in ("", refused):
                return token_set["access_token"]  # somebody else renewed it meanwhile
            more_scope = challenge.error == "insufficient_scope"
            resource = await directory.resource(self._url, challenge)
            issuer = _choose(resource, token_set)
            same = token_set.get("issuer") == issuer
            if same and not more_scope:
                if fresh := await self._refresh(directory, token_set):
                    return fresh
                token_set = await self._store.load(self._spec.key) or {}  # as the refusal left it
            scope = self._scope(resource, challenge, token_set if same and more_scope else {})
            if (
                more_scope
                and same
                and set(scope.split()) <= set(token_set.get("asked", "").split())
            ):
                raise AuthRequired(
                    _lt("The MCP server requires more permissions than it can be granted."),
                    detail=f"scope {scope}",
                )
            authority = await directory.authority(issuer)
            client = await self._client(directory, authority, token_set if same else {})
            if self._spec.grant == "client_credentials":
                return await self._by_client(directory, authority, resource, client, scope)
            await self._ask(authority, resource, client, scope)
        raise AuthRequired

    async def complete(self, answer: Mapping[str, str]) -> None:
        """Finish a sign-in with the query of the callback.

        :param answer: with the part of the redirect URI that names the issuer as `callback`
        :raises AuthRequired: with a sentence; nothing of a forged answer is shown
        """
        await self._undisturbed(self._complete(answer))

    async def _complete(self, answer: Mapping[str, str]) -> None:
        key = self._spec.key
        pending = await self._store.take_pending(key, answer.get("state", ""))
        if not pending or pending["begun"] + PENDING < time.time():
            raise AuthRequired(_lt("This sign-in is unknown or has expired. Start it again."))
        issuer = answer.get("iss")
        if issuer is None and pending["sends_issuer"]:
            raise AuthRequired(_lt("The sign-in response does not name its issuer."))
        is_elsewhere = answer.get("callback", "") != pending.get("callback", "")
        if is_elsewhere or (issuer is not None and issuer != pending["issuer"]):
            raise AuthRequired(_lt("The sign-in response came from a different issuer."))
        if not answer.get("code"):
            raise AuthRequired(
                _lt("The sign-in was not completed."),
                detail=f"error {answer.get('error', '')[:200]}",
            )
        async with self._locked() as directory:
            data = {
                "grant_type": "authorization_code",
                "code": answer["code"],
                "redirect_uri": pending["redirect_uri"],
                "code_verifier": pending["verifier"],
                "resource": pending["resource"],
            }
            token_set = {
                name: pending[name]
                for name in ("issuer", "resource", "token_endpoint", "client", "asked")
            }
            await self._exchange(directory, token_set, data)

    # ------------------------------------------------------------ with a person

    async def _ask(
        self, authority: Authority, resource: Resource, client: dict, scope: str
    ) -> None:
        if not (authority.authorization_endpoint and authority.token_endpoint and authority.pkce):
            raise AuthRequired(
                _lt(
                    "The MCP server's sign-in service does not support PKCE with S256, which is required."
                )
            )
        callback = client.get("callback", "")
        wanted = {
            "issuer": authority.issuer,
            "sends_issuer": authority.sends_issuer,
            "authorization_endpoint": authority.authorization_endpoint,
            "token_endpoint": authority.token_endpoint,
            "resource": resource.url,
            "callback": callback,
            "redirect_uri": self._redirect_uri(callback),
            "client": client,
            "asked": scope,
            "scope": self._with_offline(scope, authority),
        }
        state, pending, url = begin(wanted)
        await self._store.put_pending(self._spec.key, state, pending)
        raise SignInRequired(url=url, state=state)

    def _redirect_uri(self, callback: str) -> str:
        return f"{self._spec.redirect_uri}/{callback}" if callback else self._spec.redirect_uri

    def _with_offline(self, scope: str, authority: Authority) -> str:
        if OFFLINE in authority.scopes and OFFLINE not in scope.split():
            return f"{scope} {OFFLINE}".strip()
        return scope

    def _scope(self, resource: Resource, challenge: Challenge, token_set: TokenSet) -> str:
        wanted: Iterable[str] = challenge.scope.split() or resource.scopes or ()
        if self._spec.scope and not challenge.scope:
            wanted = self._spec.scope.split()
        return " ".join(dict.fromkeys([*token_set.get("asked", "").split(), *wanted]))

    # ------------------------------------------------------------ the client

    async def _client(
        self, directory: Directory, authority: Authority, token_set: TokenSet
    ) -> dict:
        """Our client at this authorization server: as agreed before, by our own document, or registered now.

        The redirect URI that all share serves where it is sure who answers; else, and for whoever registers
        now, it is one of this issuer alone.
        """
        spec, callback = self._spec, callback_of(authority.issuer)
        if spec.client_id:
            if spec.client_issuer and spec.client_issuer != authority.issuer:
                raise AuthRequired(
                    _lt(
                        "The MCP server's sign-in service has moved. Enter the client registered with the new one."
                    ),
                    detail=f"client of {spec.client_issuer}, now {authority.issuer}",
                )
            client = {"client_id": spec.client_id, "client_secret": spec.client_secret}
            client["method"] = registration.method(client, authority.auth_methods)
            return client if authority.is_recognised else {**client, "callback": callback}
        by_document = authority.takes_metadata_url and spec.client_metadata_url
        if by_document and authority.is_recognised:
            return {"client_id": spec.client_metadata_url, "client_secret": "", "method": "none"}
        known = token_set.get("client")
        if (
            known
            and registration.is_usable(known)
            and (known.get("callback") or authority.is_recognised)
        ):
            return known
        if authority.registration_endpoint and spec.grant == "authorization_code":
            redirect_uri = self._redirect_uri(callback)
            client = await registration.register(directory, authority, redirect_uri)
            client["callback"] = callback
            stored = {**token_set, "issuer": authority.issuer, "client": client}
            await self._store.save(spec.key, stored)  # not registered again if nobody signs in
            return client
        if by_document:  # `begin` refuses it
            return {"client_id": spec.client_metadata_url, "client_secret": "", "method": "none"}
        raise AuthRequired(_lt("The MCP server's sign-in service requires a registered client."))

    # ------------------------------------------------------------ tokens

    async def _by_client(
        self,
        directory: Directory,
        authority: Authority,
        resource: Resource,
        client: dict,
        scope: str,
    ) -> str:
        data = {"grant_type": "client_credentials", "resource": resource.url}
        if scope:
            data["scope"] = scope
        token_set = {
            "issuer": authority.issuer,
            "resource": resource.url,
            "token_endpoint": authority.token_endpoint,
            "client": client,
            "asked": scope,
        }
        return await self._exchange(directory, token_set, data)

    async def _refreshed(self, stale: TokenSet) -> str:
        """Renew a token that ends soon; empty if that did not work out."""
        async with self._locked() as directory:
            token_set = await self._store.load(self._spec.key) or {}
            if token_set.get("access_token") != stale.get("access_token"):
                return token_set.get("access_token", "")
            return await self._refresh(directory, token_set)

    async def _refresh(self, directory: Directory, token_set: TokenSet) -> str:
        if not token_set.get("refresh_token"):
            return ""
        data = {
            "grant_type": "refresh_token",
            "refresh_token": token_set["refresh_token"],
            "resource": token_set["resource"],
        }
        try:
            return await self._exchange(directory, token_set, data)
        except ServerRefused:
            return ""  # the endpoint has moved: a sign-in learns where to
        except AuthRequired:
            kept = await self._store.load(self._spec.key) or {}
            await self._store.save(self._spec.key, {**kept, "refresh_token": ""})
            return ""

    async def _exchange(
        self, directory: Directory, token_set: TokenSet, data: dict[str, str]
    ) -> str:
        """Ask the token endpoint and keep what it gives.

        :raises AuthRequired: it refused
        :raises ServerRefused: it is not there any more
        :raises ConnectFailed, RateLimited: it neither gave a token nor refused one
        """
        headers, more = registration.credentials(
            self._spec, token_set["client"], token_set["issuer"]
        )
        status, found = await directory.post(token_set["token_endpoint"], headers, data=data | more)
        token = found.get("access_token")
        if status != 200 or not isinstance(token, str) or not token:
            if found.get("error") == "invalid_client":
                await self._forget(token_set["client"])
            raise _fault(status, found)
        if str(found.get("token_type", "bearer")).lower() != "bearer":
            raise AuthRequired(
                _lt("The MCP server's sign-in service returned an unknown type of token.")
            )
        token_set = {
            **token_set,
            "client": {k: v for k, v in token_set["client"].items() if k != "kept_until"},
            "access_token": token,
            "refresh_token": found.get("refresh_token") or token_set.get("refresh_token") or "",
            "expires_at": _end(found.get("expires_in")),
            "scope": found.get("scope") or token_set.get("asked", ""),
        }
        await self._store.save(self._spec.key, token_set)
        return token

    async def _forget(self, client: Mapping[str, Any]) -> None:
        """Let the next sign-in register a new client in place of this one, which the server does not know any more."""
        kept = await self._store.load(self._spec.key) or {}
        if kept.get("client", {}).get("client_id") == client["client_id"]:
            forgotten = {**kept["client"], "kept_until": 0}
            await self._store.save(self._spec.key, {**kept, "client": forgotten})

    @contextlib.asynccontextmanager
    async def _locked(self) -> AsyncIterator[Directory]:
        """Requests to the authorization server while nobody else makes any for this credential."""
        try:
            async with (
                self._store.lock(self._spec.key),
                asyncio.timeout(RENEWAL),
                EgressTransport(self._policy, owner=self._owner, max_connections=2) as transport,
            ):
                yield Directory(transport, self._policy, self._timeout)
        except TimeoutError as error:
            raise ServerTimeout from error

    async def _undisturbed(self, work: Coroutine[Any, Any, T]) -> T:
        """Work to the end even when cancelled: a code or refresh token that was sent is spent."""
        running = asyncio.get_running_loop().create_task(work)
        self._running.add(running)
        running.add_done_callback(self._ended)
        return await asyncio.shield(running)

    def _ended(self, running: asyncio.Task[Any]) -> None:
        self._running.discard(running)
        if not running.cancelled():
            running.exception()  # who waits for it has it, if anybody does


def _fault(status: int, found: Mapping[str, Any]) -> ServerError:
    """The error for an answer of a token endpoint without a token.

    A refusal names its error (RFC 6749, 5.2; some send it with 200); proxies and overloaded servers answer otherwise.
    """
    detail = f"HTTP {status} {str(found.get('error', ''))[:200]}"
    refused = _lt("The MCP server's sign-in service did not grant access.")
    away = _lt("The MCP server's sign-in service cannot be used right now. Try again in a moment.")
    if status == 429:
        return RateLimited(away, detail=detail)
    if found.get("error") and status < 500:
        return AuthRequired(refused, detail=detail)
    if status in (404, 410):
        return ServerRefused(refused, detail=detail, status=status)
    return ConnectFailed(away, detail=detail)


def _end(life: Any) -> float | None:
    """End of a token, Unix s; None if the server does not say it.

    :param life: seconds, as the server has sent it, of any type

    >>> _end(True), _end(float("inf")), _end(-1), _end(10**400) > time.time()
    (None, None, None, True)
    """
    if not isinstance(life, int | float) or isinstance(life, bool) or not 0 < life < math.inf:
        return None
    return time.time() + min(life, MAX_LIFE)


def _choose(resource: Resource, token_set: TokenSet) -> str:
    """The authorization server to use: the one that we know, if it is still named."""
    if token_set.get("issuer") in resource.authorities:
        return token_set["issuer"]
    if not resource.authorities:
        raise AuthRequired(_lt("The MCP server does not specify where to sign in."))
    return resource.authorities[0]


class OAuthTransport(httpx.AsyncBaseTransport):
    """Sends the token with each request; what is refused for want of one is sent once more with a better one."""

    TRIES = 3

    def __init__(self, inner: httpx.AsyncBaseTransport, oauth: OAuth):
        self._inner = inner
        self._oauth = oauth

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        token = await self._oauth.token()
        for left in range(self.TRIES - 1, -1, -1):
            if token:
                request.headers["authorization"] = f"Bearer {token}"
                if token not in self._oauth.sent:
                    self._oauth.sent.append(token)
            response = await self._inner.handle_async_request(request)
            challenge = challenge_of(response.headers)
            wanted = response.status_code == 401 or (
                response.status_code == 403 and challenge.error == "insufficient_scope"
            )
            if not wanted or not left:
                return response
            await response.aclose()
            token = await self._oauth.renew(token, challenge)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()
