"""MCP endpoint: Odoo as an MCP server, for clients that a person has signed in to, or that have a key."""

import functools
from dataclasses import replace

from odoo import http
from odoo.http import Response, request
from odoo.tools import config

from ..models.approval.callable_mixin import APPROVAL_REQUIRED
from ..runtime import process
from ..runtime.web import api_error, client_listen, client_reads, direct_call
from ..runtime.web.api_error import ApiError
from ..runtime.web.client_reads import ClientReads
from ..runtime.web.client_stream import STREAM, StreamedCall
from ..runtime.web.direct_call import CALL
from ..services import jsonrpc, text
from ..services.errors import EngineError
from ..services.gateway import results, server, stream
from ..services.gateway.approval import Question
from ..services.gateway.host import Failure, UnknownTool
from ..services.oauth_server import const as oauth
from ..services.records import catalog
from ..services.turn import names
from ..tools import sentences
from ..tools.refusals import Refusal
from .execute import RequestedCall, check_mcp_is_on

ROUTE = {"type": "woow_mcp", "auth": "woow_mcp"}
READING = {tool.name: tool for tool in catalog.OF_CLIENTS}


class GatewayController(http.Controller):
    @http.route("/mcp", methods=["POST"], **ROUTE)
    def post(self):
        """One JSON-RPC message, or a batch where its revision has them; the answer is JSON, of a long call a stream."""
        sent = request.httprequest
        headers = {name.lower(): value for name, value in sent.headers.items()}
        body = sent.get_data() if sent.content_length else b""
        scopes = getattr(request, "woow_scopes", oauth.SCOPES)  # a key has all
        host = _Host(request.env)
        exchange = server.exchange(body, headers, host, scopes)
        if exchange.subscription:
            return _listening(exchange.subscription)
        if not exchange.calls:
            return _response(exchange.reply(()))

        calls, reader = exchange.calls, api_error.request_reader()
        directs = [call for call in calls if isinstance(call, direct_call.Direct)]
        reads = [call for call in calls if isinstance(call, client_reads.Read)]

        def answer(made, found):
            made, found = iter(made), iter(found)
            reply = exchange.reply(
                [next(made if isinstance(one, direct_call.Direct) else found) for one in calls]
            )
            return reply.message, reply.status

        def work(executed):
            made = [
                _result(one, host.server_keys.get(direct.call.id, ""))
                for direct, one in zip(directs, executed, strict=True)
            ]
            return answer(made, client_reads.make(reads, reader))

        def fail(error):
            failure = Failure(error.description, error.error_code)
            return answer([_failed(error)] * len(directs), [failure] * len(reads))

        if exchange.stream and directs and directs[0].call.server:
            return StreamedCall(
                request.env, directs[0], exchange.stream, lambda executed: work([executed]), fail
            )
        return direct_call.respond_all(request.env, directs, work, fail)

    @http.route("/mcp", methods=["GET", "DELETE"], **ROUTE)
    def other(self):
        """The stream of a legacy client, where one can be kept open; there is no session to end."""
        sent = request.httprequest
        if (
            sent.method == "GET"
            and process.is_evented()
            and stream.TYPE in sent.headers.get("Accept", "")
        ):
            return _listening(stream.Subscription(None))
        said = jsonrpc.error(None, "Send requests as POST.", jsonrpc.INVALID_REQUEST)
        return request.make_json_response(said, headers=[("Allow", "POST")], status=405)


def _listening(subscription):
    if not process.is_evented():
        error = server.misdirected()
        return _response(server.Reply(error.status, error.answer(subscription.id)))
    if client_listen.is_full(request.db, request.env.uid):
        raise ApiError.busy(request.env._("Too many streams are open. Try again in a moment."))
    body = client_listen.listen(request.db, request.env.uid, subscription)
    return Response(body, headers=STREAM, direct_passthrough=True)


class _Host(ClientReads):
    """The `services.gateway.host.Host` of the current user: what `POST /api/mcp/execute-tool` lets this user call.

    :ivar server_keys: ``{call's id: server}`` of `services.gateway.uris.address`
    """

    def __init__(self, env):
        super().__init__(env)
        self.server_keys = {}
        self.tells_changes = bool(config["workers"])

    @functools.cached_property
    def of_records(self):
        """Tools that read Odoo's records, by name, if an assistant lets clients do that."""
        return READING if self.env["ai.assistant"]._record_access_of_client() else {}

    def tools(self):
        """Hints of a server that nobody trusts stay here: a client would take them for those of this Odoo."""
        offered = self.env["ai.assistant"]._tools_of_client()
        trusted = {tool.id for tool in offered if tool.server_id.trust_level != "none"}
        specs = [
            spec if spec.id in trusted else replace(spec, annotations={})
            for spec in offered._tool_specs()
        ]
        return [*specs, *(tool.spec for tool in self.of_records.values())]

    def call(self, name, arguments, answer):
        try:
            check_mcp_is_on()
            requested = RequestedCall(name, text.storable(arguments), _client())
            if name in READING and name in self.of_records:
                requested.read_records(READING[name])
                instead = requested.wrong_arguments()
            else:
                requested.take(self._tool(name), name)
                process.runner()
                instead = requested.refusal(ask=lambda: self._ask_user(requested, answer))
        except (ApiError, EngineError, Refusal) as error:
            instead = api_error.of(error, api_error.request_reader())
        if isinstance(instead, Question):
            return instead
        if instead:
            return _failed(instead)
        if requested.tool:
            server = requested.tool.server_id
            called = server._unambiguous_names()[server]
            self.server_keys[requested.direct.call.id] = names.server_key(called)
        return requested.direct

    def _ask_user(self, requested, answer):
        """Ask the user about a call, unless the same one was decided before.

        :param answer: of the user, through the client
        :return: a `Question` or an error; None once the call is approved
        """
        row = self.env[CALL]._asked_for_client(requested.tool, requested.arguments)
        if not row:
            direct = requested.direct
            asks = self.env[CALL]._values_to_ask(requested.tool, requested.arguments)
            row = direct_call.record(self.env, direct.call, {**direct.values, **asks})
        elif answer and answer.state == row.call_id and row.approval == "pending":
            if answer.action == "cancel":
                return ApiError(403, APPROVAL_REQUIRED, _where_to_decide(self.env))
            row._decide_for_client("approve_once" if answer.action == "accept" else "deny")
        if row.approval == "denied":
            return ApiError(403, "denied", sentences.translated(self.env, row._denial()))
        if row.approval == "pending":
            return Question(row.call_id, row._question_for_client(), _where_to_decide(self.env))
        row._start_for_client()
        call = replace(requested.direct.call, id=row.call_id)
        requested.direct = replace(requested.direct, call=call, is_recorded=True)
        return None

    def _tool(self, alias):
        tool = self._by_alias.get(alias)
        if not tool or tool._never_run_for_caller():
            raise UnknownTool
        return tool

    @functools.cached_property
    def _by_alias(self):
        """Tools before those are left out that never run, which is looked up for the one that is called."""
        tools = self.env["ai.assistant"]._tools_of_caller()
        return {alias: tool for tool, alias in tools._aliases().items()}


def _result(executed, server):
    if executed.raw is not None:
        return results.of_tool(executed.raw, server)
    code = getattr(executed.error, "code", executed.result.outcome)
    return results.failed(executed.result.text, code)


def _failed(error):
    return results.failed(error.description, error.error_code)


def _client():
    """Columns of an audit row that say which client has asked, as far as a sign-in tells."""
    return {"client_name": getattr(request, "woow_client", False)}


def _where_to_decide(env):
    page = env["ir.http"]._woow_addresses().base + "/my/ai/decisions"
    return env._(
        "This call needs the user's approval. The user can allow or deny it on this page: %(page)s "
        "Once it is allowed, make the same call again within an hour.",
        page=page,
    )


def _response(reply):
    if reply.message is None:
        return request.make_response("", status=reply.status)
    headers = {}
    if reply.status == 403:
        needed = reply.message["error"]["data"]["scope"]
        addresses = request.env["ir.http"]._woow_addresses()
        headers["WWW-Authenticate"] = addresses.challenge("insufficient_scope", needed)
    return request.make_json_response(reply.message, headers=headers, status=reply.status)
