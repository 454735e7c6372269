"""MCP endpoint: Odoo as an MCP server, for clients that a person has signed in to, or that have a key."""

import functools
import itertools
from dataclasses import dataclass, replace
from typing import Any

from odoo import http, tools
from odoo.exceptions import UserError
from odoo.http import Response, request
from odoo.tools import config

from ..models.assistant.gateway import READING
from ..models.mcp.callable_mixin import APPROVAL_REQUIRED, DENIED
from ..runtime import process
from ..runtime.web import (
    api_error,
    client_listen,
    client_reads,
    client_tasks,
    completion,
    direct_call,
)
from ..runtime.web.api_error import ApiError
from ..runtime.web.client_reads import ClientReads
from ..runtime.web.client_stream import STREAM, StreamedCall
from ..runtime.web.client_turn import AskedTurn, CallReply, TurnReply
from ..runtime.web.direct_call import CALL
from ..services import jsonrpc, text
from ..services.errors import EngineError
from ..services.gateway import approval, asking, messages, results, server, sessions, stream
from ..services.gateway.approval import Question
from ..services.gateway.host import Failure, MissingScope, Unknown, UnknownState, UnknownTool
from ..services.gateway.questions import Asked
from ..services.llm.transcript import DIFFERS
from ..services.oauth_server import const as oauth
from ..services.openai_api.question import ChatRequest
from ..services.specs import CallResult, Executed
from ..services.turn import names
from ..tools import limits, sentences
from ..tools.refusals import Refusal
from .execute import RequestedCall, check_mcp_is_on
from .openai_api import asking as openai

ROUTE = {"type": "woow_mcp", "auth": "woow_mcp"}
NOT_ALONE = "Assistants are asked one by one, not in a batch."
GATEWAY = "woow_paas_platform.gateway"
PATHS = ["/mcp", "/mcp/<string:gateway>"]


class GatewayController(http.Controller):
    @http.route(PATHS, methods=["POST"], **ROUTE)
    def post(self, gateway=None):
        """One JSON-RPC message, or a batch where its revision has them; the answer is JSON, of a long call a stream."""
        gateway = _gateway_or_404(gateway)
        sent = request.httprequest
        headers = {name.lower(): value for name, value in sent.headers.items()}
        body = sent.get_data() if sent.content_length else b""
        scopes = getattr(request, "woow_scopes", oauth.SCOPES)  # a key has all
        host = _Host(request.env, gateway, scopes)
        exchange = server.exchange(body, headers, host, scopes)
        if exchange.subscription:
            return _listening(exchange.subscription, gateway)
        if not exchange.calls:
            return _response(exchange.reply(()))

        calls, reader = exchange.calls, api_error.request_reader()
        if isinstance(calls[0], _Asking) and len(calls) == 1:
            return _ask_assistant(calls[0], exchange)
        directs = [call for call in calls if isinstance(call, direct_call.Direct)]
        reads = [call for call in calls if isinstance(call, client_reads.Read)]

        def answer(made, found):
            kept = {direct_call.Direct: iter(made), client_reads.Read: iter(found)}
            kept[_Asking] = itertools.repeat(results.failed(NOT_ALONE, "not_alone"))
            reply = exchange.reply([next(kept[type(one)]) for one in calls])
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
                request.env,
                directs[0],
                exchange.stream,
                host.server_keys[directs[0].call.id],
                lambda made: work([made]),
                fail,
            )
        return direct_call.respond_all(request.env, directs, work, fail)

    @http.route(PATHS, methods=["GET", "DELETE"], **ROUTE)
    def other(self, gateway=None):
        """The stream of a legacy client, where one can be kept open, or one that it resumes; no session is ended."""
        gateway = _gateway_or_404(gateway)
        sent = request.httprequest
        if sent.method == "GET" and stream.TYPE in sent.headers.get("Accept", ""):
            if event_id := sent.headers.get("Last-Event-ID"):
                return _resumed(stream.resumed(event_id), gateway)
            if process.is_evented():
                return _listening(stream.Subscription(None), gateway)
        said = jsonrpc.error(None, "Send requests as POST.", jsonrpc.INVALID_REQUEST)
        return request.make_json_response(said, headers=[("Allow", "POST")], status=405)


def _resumed(call_id, gateway):
    """Answer to a call whose stream has lost its line: at once, or later where that holds no worker."""
    env = request.env
    row = env[CALL]._task_of_client(call_id, _client_name())
    if not row or row.gateway_id != gateway or not row.task.get("resumes"):
        said = env._("There is no stream to resume, or its result is no longer kept.")
        return _response(server.Reply(404, jsonrpc.error(None, said, jsonrpc.INVALID_REQUEST)))
    lifetime = 0.0
    if process.is_evented():
        if client_listen.is_full(request.db, env.uid):
            raise ApiError.busy(env._("Too many streams are open. Try again in a moment."))
        lifetime = client_listen.LIFETIME
    found = client_tasks.replay(request.db, env.uid, env.lang, call_id, lifetime)
    if lifetime:
        found = client_listen.counted(request.db, env.uid, request.woow_credential, found)
    return Response(found, headers=STREAM, direct_passthrough=True)


def _gateway_or_404(code):
    """The gateway of an address; nobody learns whether one is there that is not the caller's.

    :return: with sudo, empty for the caller's personal one
    """
    gateways = request.env[GATEWAY]
    if code is None:
        return gateways
    if not (found := gateways._of_caller(code)):
        raise ApiError.not_found(request.env._("There is no such gateway, or it is not yours."))
    return found


def _reader(gateway):
    return client_listen.Reader(
        request.env.uid, gateway.id, tuple(request.env.context.get("allowed_company_ids", ()))
    )


def _listening(subscription, gateway):
    if not process.is_evented():
        error = server.misdirected()
        return _response(server.Reply(error.status, error.answer(subscription.id)))
    if client_listen.is_full(request.db, request.env.uid):
        raise ApiError.busy(request.env._("Too many streams are open. Try again in a moment."))
    tasks = None
    if subscription.task_ids:
        tasks = _tasks(gateway)
        known = [task.id for task in tasks(subscription.task_ids, request.env)]
        subscription = replace(subscription, task_ids=tuple(known))
    shown = request.woow_credential
    body = client_listen.listen(request.db, _reader(gateway), shown, subscription, tasks)
    return Response(body, headers=STREAM, direct_passthrough=True)


def _tasks(gateway):
    """Function that reads those of some tasks which are the client's, each time anew."""
    uid, lang, gateway_id, client = request.env.uid, request.env.lang, gateway.id, _client_name()

    def read(task_ids, env):
        calls = env(user=uid, context={"lang": lang})[CALL]
        rows = [calls._task_of_client(task_id, client) for task_id in task_ids]
        return [row._as_task() for row in rows if row and row.gateway_id.id == gateway_id]

    return read


class _Host(ClientReads):
    """The `services.gateway.host.Host` of the current user: of what `POST /api/mcp/execute-tool` lets this user call,
    the part that the gateway shows.

    :ivar server_keys: ``{call's id: server}`` of `services.gateway.uris.address`
    """

    def __init__(self, env, gateway, scopes):
        super().__init__(env, gateway)
        self._scopes = scopes
        self.server_keys = {}
        secret = tools.hmac(env(su=True), "woow_mcp_session", env.uid)  # of this database
        self.session_key = secret.encode()
        self._begun = 0
        self.tells_changes = bool(config["workers"])
        self.listed_tokens = limits.get(env, "listed_tokens")

    @functools.cached_property
    def of_records(self):
        """Tools that read Odoo's records, by name, if an assistant lets clients do that."""
        return READING if self.gateway._record_access() else {}

    def tools(self):
        return self.gateway._list(self._scopes)

    def servers(self):
        return self.gateway._listed_servers()

    def call(self, name, arguments, answer, check):
        is_own = "__" not in name  # else it is a server's, which takes fewer look-ups
        try:
            check_mcp_is_on()
            requested = RequestedCall(name, text.storable(arguments), self._columns())
            if name in READING and name in self.of_records:
                requested.read_records(READING[name])
                instead = requested.wrong_arguments()
            elif is_own and (tool := self._changing.get(name)):
                return self._changing_call(requested, tool)
            elif is_own and (assistant := self._assistants.get(name)):
                return self._asking(requested, assistant)
            else:
                requested.tool, requested.assistants = self._tool(name), self._everywhere
                if self._is_hidden(requested):
                    raise UnknownTool
                requested.take(requested.tool, name)
                check(requested.direct.call.tool.input_schema)
                process.runner()
                instead = self._decide(requested, answer)
            if not instead and not requested.direct.is_recorded:
                self.gateway._check_rate(self._begun)
        except (ApiError, EngineError, Refusal) as error:
            instead = api_error.of(error, api_error.request_reader())
        if isinstance(instead, Question | Asked):
            return instead
        if instead:
            return _failed(instead)
        self._begun += 1
        if requested.tool:
            self.server_keys[requested.direct.call.id] = self._server_key(requested.tool)
        return requested.direct

    def _decide(self, requested, answer):
        """Find what is said in place of a call, None where it is made; with answers to its questions it goes on.

        :raises UnknownState: it has not asked them
        """
        asked = None
        if answer and answer.state:
            asked = self._here(
                self.env[CALL]._asked_about(
                    answer.state, requested.tool, requested.arguments, _client_name()
                )
            )
            if not asked:
                raise UnknownState
        if not asked or not asked._state_for_client():
            instead = requested.refusal(ask=lambda: self._ask_user(requested, answer))
            if not instead and answer and not answer.state:
                known = {key: one for key, one in answer.responses.items() if key != approval.KEY}
                if known:
                    requested.direct = replace(requested.direct, resume={"inputResponses": known})
            return instead
        if refused := self._refusal(asked, requested.tool):
            return refused
        resume = asked._answer_for_client(answer.responses)
        if resume is not None:
            requested.go_on(asked, resume)
            return None
        if asked.outcome:
            return ApiError(403, "denied", asked.llm_text)
        return asked._questions_for_client()

    def _refusal(self, row, tool):
        """An error if a call that was begun, or waits, must not go on; then its row is over."""
        if row._is_outdated():
            refusal = DENIED, sentences.translated(self.env, DIFFERS)
        else:
            refusal = tool._direct_call_refusal(row.arguments or {})
        if not refusal or (refusal[0] == APPROVAL_REQUIRED and row.approval == "approved"):
            return None
        code, reason = refusal
        row._end_direct(CallResult(outcome="denied", text=reason, display=reason))
        return ApiError(403, code, reason)

    @functools.cached_property
    def _changing(self):
        return self.gateway._changing()

    def _changing_call(self, requested, tool):
        """:return: the wish to change records, which is a turn of one call, or a result in its place"""
        if oauth.RECORDS not in self._scopes:
            raise MissingScope(oauth.RECORDS)
        requested.ask(tool.spec)
        if wrong := requested.wrong_arguments():
            return _failed(wrong)
        assistant, models = self.gateway._changer(tool, requested.arguments.get("model"))
        if not assistant:
            refused = self.env._("Records of this model cannot be changed here in this way.")
            return results.failed(refused, "denied")
        given = {"alias": tool.name, "arguments": requested.arguments, "models": models}
        return _Asking(requested.direct, assistant, self.gateway, given)

    @functools.cached_property
    def _assistants(self):
        return self.gateway._assistants()

    def _asking(self, requested, assistant):
        """:return: the question to an assistant, or a result in its place"""
        if oauth.ASSISTANTS not in self._scopes:
            raise MissingScope(oauth.ASSISTANTS)
        requested.ask(asking.tool_spec(requested.name, assistant.name, ""))
        if wrong := requested.wrong_arguments():
            return _failed(wrong)
        return _Asking(requested.direct, assistant, self.gateway)

    def _ask_user(self, requested, answer):
        """Ask the user about a call, unless the same one was decided before.

        :param answer: of the user, through the client
        :return: a `Question` or an error; None once the call is approved
        """
        columns = self._columns()
        row = self.env[CALL]._asked_for_client(requested.tool, requested.arguments, columns)
        if not row:
            self.gateway._check_rate(self._begun)
            direct = requested.direct
            asks = self.env[CALL]._values_to_ask(requested.tool, requested.arguments)
            row = direct_call.record(self.env, direct.call, {**direct.values, **asks})
        elif answer and answer.state == row.call_id and answer.action and row._is_asked_by_client():
            if answer.action == "cancel":
                return ApiError(403, APPROVAL_REQUIRED, row._where_to_decide())
            row._decide_for_client("approve_once" if answer.action == "accept" else "deny")
        if row.approval == "denied":
            return ApiError(403, "denied", sentences.translated(self.env, row._denial()))
        if row.approval == "pending":
            return Question(row.call_id, row._question_for_client(), row._where_to_decide())
        row._start_for_client()
        requested.go_on(row)
        return None

    def keep_log_level(self, session, level):
        self._sessions._set_log_level(session, level)

    def log_level(self, session):
        return self._sessions._log_level(session)

    @property
    def _sessions(self):
        # sudo: client_session - nobody reads them; both methods keep to the current user's
        return self.env["woow_paas_platform.client_session"].sudo()

    # ------------------------------------------------------------ tasks

    def answer(self, key, result):
        row = self._here(self.env[CALL]._of_client(key.rpartition(".")[0], _client_name()))
        if not row or not row._take_for_client(key, text.storable(result)):
            raise Unknown

    def as_task(self, question):
        row = self._here(self.env[CALL]._of_client(question.state, _client_name()))
        made = row and row._make_task(self._server_key(row.tool_id))
        return row._as_task() if made else None

    def task(self, task_id):
        row = self._task_row(task_id)
        self.begin_approved(row)
        return row._as_task()

    def begin_approved(self, row):
        """Begin the call of a task that its user has allowed, unless it was begun before."""
        if row.approval == "approved" and not row.started_at and not row.outcome:
            self._go_on(row, None)

    def update_task(self, task_id, responses):
        row = self._task_row(task_id)
        if row._state_for_client():
            resume = row._answer_for_client(responses)
            if resume is not None:
                self._go_on(row, resume)

    def cancel_task(self, task_id):
        self._task_row(task_id)._cancel_for_client()

    def _task_row(self, task_id):
        row = self._here(self.env[CALL]._task_of_client(task_id, _client_name()))
        if not row:
            raise Unknown
        return row

    def _go_on(self, row, resume):
        """Begin the call of a task, or what is left of it, unless it may not be made any more."""
        tool = self.gateway._tools(row.tool_id)  # a row, which has sudo, is the user's own
        alias = tool._aliases().get(tool, "")
        requested = RequestedCall(alias, row.arguments or {}, self._columns())
        try:
            check_mcp_is_on()
            if not alias:
                raise Refusal(sentences.translated(self.env, DIFFERS), "denied")
            requested.take(tool, alias)
            process.runner()
        except (ApiError, EngineError, Refusal) as error:
            said = api_error.of(error, api_error.request_reader()).description
            row._end_direct(CallResult(outcome="denied", text=said, display=said))
            return
        if self._refusal(row, tool):
            return
        if not row.started_at:
            row._start_for_client()
        requested.go_on(row, resume)
        client_tasks.begin(self.env, requested.direct, row.task)

    # ------------------------------------------------------------ names

    def _server_key(self, tool):
        server = tool.server_id
        _aliases, known = tool._system_names()
        name = known.get(server.id) or server._unambiguous_names()[server]
        return names.server_key(name)

    @functools.cached_property
    def _everywhere(self):
        return self.env["ai.assistant"].sudo(False)._everywhere()

    def _here(self, rows):
        """The rows of this gateway: another one may show less."""
        return rows.filtered(lambda row: row.gateway_id == self.gateway)

    def _columns(self):
        """Columns of an audit row that say through which gateway which client has asked, as far as a sign-in tells."""
        return {"client_name": _client_name(), "gateway_id": self.gateway.id}

    def _tool(self, alias):
        tool = self.env["woow_paas_platform.mcp_tool"]._with_alias(alias)
        if not self.gateway._tools(tool, self._everywhere):
            raise UnknownTool
        return tool

    def _is_hidden(self, requested):
        """True for a tool that never runs: each call of it is denied, so it is looked up only where this one is."""
        is_denied = requested.decided and requested.decided[0] == DENIED
        return bool(is_denied and requested.tool._never_run_for_caller())


@dataclass(frozen=True, slots=True)
class _Asking:
    """A question to an assistant, or a call that it makes for a client.

    :ivar given: of that call, see `Question`
    """

    direct: direct_call.Direct
    assistant: Any
    gateway: Any
    given: Any = None


def _ask_assistant(wanted, exchange):
    """Response that waits for the turn of the assistant: of a new one, or of one that the same call has begun."""
    env, call = request.env, wanted.direct.call

    def message(result):
        return exchange.reply([result]).message

    try:
        with env.cr.savepoint():
            row = env[CALL]._asked_assistant(call.tool.name, call.arguments, wanted.gateway)
            row = row or _begin_to_ask(wanted)
    except (ApiError, EngineError, UserError) as error:
        said = api_error.of(error, api_error.request_reader())
        return request.make_json_response(message(_failed(said)))
    turn = row.asked_turn_id
    if turn.state == "waiting":
        waits = results.failed(row._where_to_decide(), APPROVAL_REQUIRED)
        return request.make_json_response(message(waits))
    stream_of_call = exchange.stream if exchange.stream and exchange.stream.is_taken else None
    asked = completion.Asked(
        dbname=request.db,
        uid=env.uid,
        lang=env.lang,
        turn_id=turn.id,
        to_decide=row._where_to_decide(),
        is_stream=bool(stream_of_call),
        is_background=not (stream_of_call and stream_of_call.is_cancelled_by_close),
    )
    shape = message, stream_of_call, turn.channel_id.id, turn._wait_count()
    if wanted.given:
        made = functools.partial(direct_call.result_in, request.db, turn.id)
        return AskedTurn(asked, CallReply(*shape, made=made), row.call_id)
    return AskedTurn(asked, TurnReply(*shape), row.call_id)


def _begin_to_ask(wanted):
    """Start the turn.

    :return: the call's row, with sudo
    """
    env, direct, assistant = request.env, wanted.direct, wanted.assistant
    env[CALL]._check_running_questions(asking.MAX_RUNNING)
    wanted.gateway._check_rate()
    openai.check_room()
    arguments, channel = direct.call.arguments, None
    if number := not wanted.given and arguments.get("conversation"):
        channel = env["discuss.channel"]._conversation_of_program(number, assistant)
    # The arguments are no words of the user, so the question has none of them.
    question = direct.call.tool.title if wanted.given else arguments["question"]
    turn = openai.ask(
        channel or openai.new_conversation(assistant.sudo(False), None),
        ChatRequest.plain(question),
        given=wanted.given,
    )
    return direct_call.record(env, direct.call, {**direct.values, "asked_turn_id": turn.id})


def _result(executed, server):
    if not isinstance(executed, Executed):
        return executed
    if executed.raw is not None:
        return results.of_tool(executed.raw, server)
    if getattr(executed.error, "rpc_code", 0) == jsonrpc.MISSING_CAPABILITY:
        return messages.lacks_capability(executed.result.text, executed.error.data)
    code = getattr(executed.error, "code", executed.result.outcome)
    return results.failed(executed.result.text, code)


def _failed(error):
    return results.failed(error.description, error.error_code)


def _client_name():
    return getattr(request, "woow_client", False)


def begin_approved(row):
    """Begin the call of a client's task that the current user has just allowed; without a task the client calls again.

    :param row: with sudo, the user's own
    """
    if not row.task or row.approval != "approved":
        return
    env, companies = request.env, row.task.get("companies")  # of what the client may do
    if companies:
        if not {*companies} <= {*env.user.company_ids.ids}:  # then its client's token has ended
            return
        env = env(context={**env.context, "allowed_company_ids": companies})
    gateway = row.gateway_id.with_env(env(su=True))
    if gateway - env[GATEWAY]._of_caller():  # its client finds no task there either
        return
    _Host(env, gateway, oauth.SCOPES).begin_approved(row.with_env(env(su=True)))


def _response(reply):
    if reply.message is None:
        return request.make_response("", status=reply.status)
    headers = {sessions.HEADER: reply.session} if reply.session else {}
    if reply.status == 403:
        needed = reply.message["error"]["data"]["scope"]
        addresses = request.env["ir.http"]._woow_addresses()
        headers["WWW-Authenticate"] = addresses.challenge("insufficient_scope", needed)
    return request.make_json_response(reply.message, headers=headers, status=reply.status)
