"""Modern sessions, revision 2026-07-28: no handshake, each request stands alone over streamable HTTP.

Closing the response is how a request is cancelled, so nothing has to be told to the server: whoever
cancels the task closes the connection.
"""

import contextlib
import itertools
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any

import httpx

from ... import const, jsonrpc, large, text
from ...errors import (
    AuthRequired,
    EngineError,
    ProtocolError,
    RateLimited,
    ResultTooLarge,
    ServerRefused,
    SessionExpired,
    SessionLost,
)
from ...net import faults, http
from ...net.intake import TakenIn
from ...net.sse import Decoder
from ...sentence import _lt
from ..transport import param_headers
from ..transport.noise import Noise
from ..transport.streams import events
from . import elicitation, paging
from .session import LOG, Request, ServerInfo, Session

MAX_CAPABILITIES = 16 * 1024  # bytes, about
_TASKS = {"extensions": {const.TASKS: {}}}  # capability of a client that takes tasks
_ACCEPT = "application/json, text/event-stream"


class NotModern(ServerRefused):
    """The server speaks, but not this revision."""

    default_message = _lt("The MCP server does not support this revision of the protocol.")


class ModernSession(Session):
    era = "modern"

    def __init__(self, *args: Any, **options: Any):
        self._ids = itertools.count(1)
        super().__init__(*args, **options)

    async def _open(self, stack: contextlib.AsyncExitStack) -> ServerInfo:
        self._http = await stack.enter_async_context(self._http_transport())
        found = await self._send(Request(method="server/discover"))
        versions = found.get("supportedVersions")
        if not isinstance(versions, list) or const.MODERN_VERSION not in versions:
            raise NotModern(detail=f"server/discover offers {text.one_line(str(versions), 200)}")
        info = _info(found, self._transport)
        if self._on_notification and (wanted := _changes(info.capabilities)):
            self._spawn(self._listen(wanted))
        return info

    async def _listen(self, wanted: dict[str, bool]) -> None:
        """Hear of changes for as long as the server lets us (basic/patterns/subscriptions)."""
        with contextlib.suppress(Exception):
            await self._round_trip(
                Request(method="subscriptions/listen", params={"notifications": wanted})
            )

    # ------------------------------------------------------------ requests

    async def _send(self, request: Request) -> dict[str, Any]:
        try:
            return await self._round_trip(request)
        except ServerRefused as error:
            if error.rpc_code == jsonrpc.UNSUPPORTED_VERSION and _offers_ours(error.data):
                return await self._round_trip(request)
            params = request.params if request.method == "tools/call" else None
            if error.rpc_code == jsonrpc.HEADER_MISMATCH and params:
                schema = await self._schema_now(params["name"])
                request.options = replace(request.options, schema=schema)
                return await self._round_trip(request)
            raise

    async def _round_trip(self, request: Request) -> dict[str, Any]:
        request_id = request.id = next(self._ids)
        response = await http.send(self._http, self._http_request(request))
        try:
            if response.status_code != 200:
                message = await self._refused(response, request.id)
            else:
                await http.check_encoding(response)
                message = await self._answer(response, request, request_id)
        finally:
            await response.aclose()
        if "error" in message:
            error = message["error"]
            raise ServerRefused.of_rpc(error["code"], error["message"], error.get("data"))
        return message["result"]

    def _http_request(self, request: Request) -> httpx.Request:
        params = dict(request.params or {})
        meta = params.get("_meta")
        params["_meta"] = {
            **(meta if isinstance(meta, Mapping) else {}),
            f"{const.META_PREFIX}protocolVersion": const.MODERN_VERSION,
            f"{const.META_PREFIX}clientInfo": {
                "name": const.CLIENT_NAME,
                "version": const.CLIENT_VERSION,
            },
            f"{const.META_PREFIX}clientCapabilities": {
                **(elicitation.CAPABILITIES if self._can_ask else {}),
                **(_TASKS if request.options.takes_task else {}),
            },
        }
        if request.options.on_progress:
            params["_meta"]["progressToken"] = request.id
        if request.options.on_log:
            params["_meta"][f"{const.META_PREFIX}logLevel"] = request.options.log_level
        headers = {
            **self.spec.request_headers,
            **const.HTTP_HEADERS,
            "accept": _ACCEPT,
            "content-type": "application/json",
            "mcp-protocol-version": const.MODERN_VERSION,
            "mcp-method": request.method,
        }
        if (key := param_headers.NAMES.get(request.method)) and key in params:
            headers["mcp-name"] = param_headers.encode(params[key])
        if request.method == "tools/call":
            headers |= param_headers.of_call(request.options.schema, params.get("arguments") or {})
        message = {
            "jsonrpc": "2.0",
            "id": request.id,
            "method": request.method,
            "params": params,
        }
        timeout = dict.fromkeys(("connect", "write", "pool"), self.spec.connect_timeout * 0.9)
        return httpx.Request(
            "POST",
            self.spec.url,
            headers=headers,
            content=jsonrpc.dump(message),
            extensions={"timeout": {**timeout, "read": None}},
        )

    async def _answer(
        self, response: httpx.Response, request: Request, request_id: jsonrpc.Id
    ) -> dict[str, Any]:
        if http.is_json(response):
            response.stream = TakenIn(http.body_of(response), self._intake())
            body = await large.parse(await http.read(response, const.WIRE_CAP))
            return jsonrpc.normal_answer(body, request_id)
        if not http.is_stream(response):
            raise ProtocolError(detail=f"content type {http.content_type(response)[:100]!r}")
        decoder, noise, size = Decoder(const.WIRE_CAP), Noise(const.WIRE_CAP), 0
        intake = self._intake()  # told of each event by itself: a subscription goes on and on
        try:
            async for chunk in http.chunks(response):
                size += len(chunk)
                if size > const.WIRE_CAP:
                    raise ResultTooLarge(detail=f"a stream larger than {const.WIRE_CAP} bytes")
                async for event in events(decoder, chunk):
                    if event.event != "message" or not event.data:
                        continue
                    message = await large.parse(event.data)
                    if not (isinstance(message, dict) and isinstance(message.get("method"), str)):
                        answer = jsonrpc.normal_answer(message, request_id)
                        await http.drain(response)
                        return answer
                    if noise.passes(len(event.data)):
                        self._notified(message, request)
                await intake.grow(decoder.size)
        finally:
            intake.end()
        raise SessionLost(_lt("The connection was closed before the MCP server answered."))

    def _notified(self, message: dict[str, Any], request: Request) -> None:
        params = message.get("params")
        if message["method"] == LOG:
            return request.logged(params, self._blotted)
        if message["method"] != "notifications/progress":
            return self._heard(message["method"])
        if isinstance(params, Mapping) and str(params.get("progressToken")) == str(request.id):
            request.progressed(params.get("progress"), params.get("total"), params.get("message"))
        return None

    async def _refused(self, response: httpx.Response, request_id: jsonrpc.Id) -> dict[str, Any]:
        """The JSON-RPC error that a refusal carries.

        :raises ServerError: it carries none, or the status says more
        """
        body = await http.error_body(response)
        error = faults.of_response(
            response.status_code, response.headers, body, in_session=self._info is not None
        )
        if isinstance(error, AuthRequired | RateLimited):
            raise error
        message = jsonrpc.parse(body)
        if not (isinstance(message, dict) and isinstance(message.get("error"), Mapping)):
            raise error
        try:
            answer = jsonrpc.normal_answer(message, request_id)
        except ProtocolError:
            raise error from None
        code = answer["error"]["code"]
        if code in jsonrpc.MODERN_ERRORS or (self._info and code == jsonrpc.METHOD_NOT_FOUND):
            return answer
        if self._info and response.status_code == 400 and code in jsonrpc.NOT_UNDERSTOOD:
            raise SessionExpired(detail=error.detail)  # another server answers here now
        if not self._info or isinstance(error, SessionExpired):
            raise error
        return answer

    async def _schema_now(self, name: str) -> Mapping[str, Any] | None:
        """The schema of a tool that asks for other headers than the one that the caller knows."""

        def ask(method: str, params: Mapping[str, Any] | None) -> Awaitable[dict[str, Any]]:
            return self._round_trip(Request(method=method, params=params))

        async for page in paging.Listing(ask, "tools/list", "tools").pages():
            schema = next(
                (tool.get("inputSchema") for tool in page if tool.get("name") == name), None
            )
            if isinstance(schema, Mapping):
                most = const.MAX_DEFINITION
                return schema if text.weight(schema, most) < most else None
        return None

    def _error(self, request: Request, caught: BaseException) -> EngineError:
        error = faults.of_exception(caught)
        if isinstance(error, SessionExpired):
            self.retire()
        return error


def _changes(capabilities: Mapping[str, Any] | None) -> dict[str, bool]:
    """The filter of a subscription to every list that the server says may change."""
    capabilities = capabilities or {}
    return {
        f"{what}ListChanged": True
        for what in ("tools", "prompts", "resources")
        if isinstance(offer := capabilities.get(what), Mapping) and offer.get("listChanged") is True
    }


def _offers_ours(data: Any) -> bool:
    supported = data.get("supported") if isinstance(data, Mapping) else None
    return isinstance(supported, list) and const.MODERN_VERSION in supported


def _info(found: Mapping[str, Any], transport: str) -> ServerInfo:
    meta = found.get("_meta")
    server = found.get("serverInfo") or (
        meta.get(f"{const.META_PREFIX}serverInfo") if isinstance(meta, Mapping) else None
    )
    server = server if isinstance(server, Mapping) else {}
    capabilities = found.get("capabilities")
    capabilities = dict(capabilities) if isinstance(capabilities, Mapping) else {}
    if text.weight(capabilities, MAX_CAPABILITIES) >= MAX_CAPABILITIES:
        capabilities = {}
    return ServerInfo(
        transport=transport,
        era="modern",
        protocol_version=const.MODERN_VERSION,
        name=text.one_line(str(server.get("name", "")), 200),
        version=text.one_line(str(server.get("version", "")), 100),
        instructions=text.instructions(found.get("instructions")),
        capabilities=capabilities,
    )
