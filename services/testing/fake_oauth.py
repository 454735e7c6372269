"""A small authorization server on loopback, and the guard that makes a `FakeMcp` ask for its tokens."""

import asyncio
import base64
import hashlib
import itertools
import json
import secrets
from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

from .fake_http import read_request, respond
from .fake_mcp import FakeMcp


class FakeOAuth:
    """``async with FakeOAuth(fake_mcp) as authority:`` guards the MCP server until the end of the block.

    :ivar metadata: what is changed of its own metadata
    :ivar resource: what is changed of the metadata of the MCP server
    :ivar grants: forms that came to the token endpoint
    :ivar answer: what is changed of a token response; ``{"error": …}`` refuses
    :ivar faults: statuses of the next token responses, which are no JSON
    :ivar held: token responses wait for this event, if there is one; `grants` does not
    :ivar client: what is changed of a client that registers
    :ivar clients: the redirect URIs of each client that registered; others are not led back there
    :ivar life: seconds that a token lives
    :ivar revoked: forms that came to the revocation endpoint; `on_revoked` is told of each
    """

    def __init__(self, mcp: FakeMcp, *, scope: str = ""):
        self.mcp = mcp
        self.scope = scope
        self.metadata: dict = {}
        self.resource: dict = {}
        self.grants: list[dict] = []
        self.answer: dict = {}
        self.faults: list[int] = []
        self.held: asyncio.Event | None = None
        self._refresh: set[str] = set()
        self.life = 3600
        self.revoked: list[dict] = []
        self.on_revoked: Callable[[dict], object] = self.revoked.append
        self.tokens: set[str] = set()
        self.client: dict = {}
        self.clients: dict[str, list[str]] = {}
        self._codes: dict[str, dict] = {}
        self._ids = itertools.count(1)

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.issuer = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self.mcp.guard = self._guard
        return self

    async def __aexit__(self, *_):
        self._server.close()

    def _guard(self, headers: dict) -> tuple[int, dict] | None:
        if headers.get("authorization", "").removeprefix("Bearer ") in self.tokens:
            return None
        where = f"{self.issuer}/.well-known/oauth-protected-resource/mcp"
        scope = f', scope="{self.scope}"' if self.scope else ""
        return 401, {"www-authenticate": f'Bearer resource_metadata="{where}"{scope}'}

    def sign_in(self, url: str, **more: str) -> dict[str, str]:
        """Query of the callback after the person has agreed in the browser.

        :raises PermissionError: the client is not one that may be led back there
        """
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        redirect_uri = asked["redirect_uri"]
        if redirect_uri not in self.clients.get(asked["client_id"], [redirect_uri]):
            raise PermissionError(redirect_uri)
        code = secrets.token_urlsafe(8)
        self._codes[code] = asked
        last = redirect_uri.rpartition("/")[2]
        callback = {"callback": last} if last != "callback" else {}
        return {"code": code, "state": asked["state"], **callback, **more}

    async def _serve(self, reader, writer) -> None:
        while request := await read_request(reader):
            _, path, headers, body = request
            if path.startswith("/authorize?"):  # the person agrees at once
                back = self.sign_in(path, iss=self.issuer)
                back.pop("callback", None)
                asked = parse_qs(urlsplit(path).query)
                where = f"{asked['redirect_uri'][0]}?{urlencode(back)}"
                await respond(writer, 302, headers={"location": where})
                continue
            if path == "/token" and self.faults:
                await respond(writer, self.faults.pop(0), b"<html>", kind="text/html")
                continue
            status, answer = self._answer(path, headers, body)
            if path == "/token" and self.held:
                await self.held.wait()
            await respond(writer, status, answer)

    def _answer(self, path: str, headers: dict, body: bytes) -> tuple[int, dict]:
        if path.startswith("/.well-known/oauth-protected-resource"):
            return 200, {
                "resource": self.mcp.url,
                "authorization_servers": [self.issuer],
                **self.resource,
            }
        if path.startswith("/.well-known/oauth-authorization-server"):
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "registration_endpoint": f"{self.issuer}/register",
                "revocation_endpoint": f"{self.issuer}/revoke",
                "code_challenge_methods_supported": ["S256"],
                **self.metadata,
            }
        if path == "/register":
            client = {"client_id": f"client{next(self._ids)}", "client_secret": "s3cret"}
            client |= self.client
            self.clients[client["client_id"]] = json.loads(body)["redirect_uris"]
            return 201, client
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        form["authorization"] = headers.get("authorization", "")
        if path == "/revoke":
            self.on_revoked(form)
            self.tokens.discard(form["token"])
            return 200, {}
        if path == "/token":
            self.grants.append(form)
            if "error" in self.answer or not self._verified(form):
                return 400, {"error": self.answer.get("error", "invalid_grant")}
            token = f"token{next(self._ids)}"
            self.tokens.add(token)
            refresh = f"refresh{next(self._ids)}"
            self._refresh.add(refresh)
            return 200, {
                "access_token": token,
                "token_type": "Bearer",
                "expires_in": self.life,
                "refresh_token": refresh,
                **self.answer,
            }
        return 404, {}

    def _verified(self, form: dict) -> bool:
        if form["grant_type"] == "refresh_token":  # each serves once (RFC 9700, 4.14.2)
            is_known = form["refresh_token"] in self._refresh
            self._refresh.discard(form["refresh_token"])
            return is_known
        if form["grant_type"] != "authorization_code":
            return True
        asked = self._codes.pop(form["code"], {})
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return (
            challenge == asked.get("code_challenge")
            and form["redirect_uri"] == asked["redirect_uri"]
            and form["resource"] == asked["resource"]
        )
