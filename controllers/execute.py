"""Direct tool calls by programs (document 001, which names paths and fields)."""

import functools
import uuid
from dataclasses import replace

from odoo import http
from odoo.http import request

from ..models.mcp.callable_mixin import APPROVAL_REQUIRED
from ..runtime import process
from ..runtime.web import api_error, direct_call
from ..runtime.web.api_error import ApiError
from ..services.errors import EngineError, McpOff
from ..services.llm.files import PICTURES
from ..services.schemas import arguments as argument_checks
from ..services.specs import CallResult, ToolCall
from ..tools import mcp_switch, sentences
from ..tools.refusals import InvalidArguments
from .chat import ROUTE
from .dispatcher import body, check_is_signed_in
from .mcp_servers import tool_or_404

MAX_PICTURES = 4  # of one result
MAX_PICTURE = 2 * 1024 * 1024  # characters of base64 of each
RECORDS_TIMEOUT = 30.0  # s
MAX_CALLS = 20  # of one request, as many as of one answer of a model


class ExecuteController(http.Controller):
    @http.route("/api/mcp/execute-tool", methods=["POST"], **ROUTE)
    def execute_tool(self):
        """One call: ``{success, content?, error?}``; what cannot be called at all is an error."""
        values = body("Call")
        process.runner()  # where no call can be made, none is written down
        asked = RequestedCall(values["toolName"], values["arguments"] or {})
        asked.resolve(_offered())
        if refused := asked.refusal():
            return request.dispatcher.handle_error(refused)
        return direct_call.respond(
            request.env, asked.direct, lambda executed: (asked.answer(executed), 200)
        )

    @http.route("/api/mcp/execute-tools", methods=["POST"], **ROUTE)
    def execute_tools(self):
        """Several calls side by side: ``{results: [{name, success, content?, error?}]}`` in their order."""
        given = body("Calls")["calls"]
        if not 0 < len(given) <= MAX_CALLS:
            raise ApiError.invalid("calls", f"Send from 1 to {MAX_CALLS} calls.")
        calls = [RequestedCall(one["name"], one.get("arguments") or {}) for one in given]
        process.runner()
        offered = _offered()
        refused = {}
        for position, asked in enumerate(calls):
            try:
                asked.resolve(offered)
                error = asked.refusal()
            except (ApiError, EngineError) as caught:
                error = api_error.of(caught, api_error.request_reader())
            if error:
                refused[position] = {
                    "name": asked.name,
                    "success": False,
                    "error": error.description,
                    "code": error.error_code,
                }
        made = [asked for position, asked in enumerate(calls) if position not in refused]

        def answer(executed):
            results = iter(
                [
                    {"name": asked.name, **asked.answer(one)}
                    for asked, one in zip(made, executed, strict=True)
                ]
            )
            return {
                "results": [
                    refused[position] if position in refused else next(results)
                    for position in range(len(calls))
                ]
            }, 200

        return direct_call.respond_all(request.env, [asked.direct for asked in made], answer)

    @http.route("/api/mcp/tools/<int:tool_id>/try", methods=["POST"], **ROUTE)
    def try_tool(self, tool_id):
        """One call, as the person has it in front of them: ``{outcome, is_error, result, truncated, duration_ms,
        pictures}``. A program with a key has nobody who could have confirmed it."""
        tool = tool_or_404(tool_id)
        tool.check_access("write")
        arguments = body("Trial")["arguments"]
        check_is_signed_in(request.env._("Only a signed-in person can try a tool."))
        check_mcp_is_on()
        process.runner()
        asked = RequestedCall(tool.alias, arguments)
        asked.take(tool, tool.alias)
        if refused := asked.refusal(is_confirmed=True):
            return request.dispatcher.handle_error(refused)
        lang = request.env.lang
        return direct_call.respond(
            request.env, asked.direct, lambda executed: (_tried(executed.result, lang), 200)
        )


def _tried(result, lang):
    """Result of a call as `events.tool_result` tells a chat, with pictures in place of files."""
    return {
        "outcome": result.outcome,
        "is_error": result.is_error,
        "result": sentences.shown(lang, result.display if result.display != "" else result.text),
        "truncated": result.truncated,
        "duration_ms": result.duration_ms,
        "pictures": [
            {"name": file["name"], "mimetype": file["mimetype"], "data": file["data"]}
            for file in result.attachments
            if file["mimetype"] in PICTURES and len(file["data"]) <= MAX_PICTURE
        ][:MAX_PICTURES],
    }


def check_mcp_is_on():
    """:raises ApiError: nothing of MCP can be called"""
    if notice := mcp_switch.notice(request.env):
        raise ApiError(422, McpOff.code, notice)


def _offered():
    return request.env["ai.assistant"]._tools_of_caller()


def _new_id():
    return f"direct_{uuid.uuid4().hex}"


class RequestedCall:
    """A call as it was requested.

    :ivar direct: the call to make, after `resolve`
    :ivar assistants: that the caller may chat with, None where they are not known yet
    """

    def __init__(self, name, arguments, values=None):
        """:param values: more columns of the audit row"""
        self.name = name
        self.arguments = arguments
        self.values = values or {}
        self.assistants = None
        self.tool = None
        self.direct = None

    def resolve(self, offered):
        """Find the tool by its name.

        :param offered: the tools that the caller may be offered
        :raises ApiError: MCP is off, there is none, or several, see also `take`
        """
        check_mcp_is_on()
        meant = offered._called(self.name)
        found = offered & meant
        if not found:
            raise ApiError.not_found(
                request.env._("The tool “%(tool)s” does not exist.", tool=self.name)
            )
        aliases = found._aliases()
        if len(meant) > 1:
            raise ApiError(
                409,
                "ambiguous_tool",
                request.env._("Several servers have a tool with this name. Specify the server."),
                details={"names": [*aliases.values()]},
            )
        self.take(found, aliases[found])

    def take(self, found, alias):
        """Call this tool by this name.

        :raise EngineError: its server cannot be asked for the caller
        """
        self.tool = found
        server = found.server_id._server_spec(request.env.user)
        call = ToolCall(
            id=_new_id(),
            alias=alias,
            round=0,
            tool=found._tool_spec_as(alias),
            server=server,
            arguments=self.arguments,
        )
        values = {**self.values, "tool_id": found.id, "server_id": found.server_id.id}
        self.direct = direct_call.Direct(call, server.call_timeout, values)

    def go_on(self, row, resume=None):
        """Make the call of this row, which was asked about, with its arguments.

        :param resume: see `services.mcp.session.call_options.CallOptions`
        """
        call = replace(self.direct.call, id=row.call_id, arguments=row.arguments or {})
        self.direct = replace(self.direct, call=call, is_recorded=True, resume=resume)

    def read_records(self, tool):
        """Read Odoo's records with this tool of `services.records.catalog.OF_CLIENTS`."""
        call = ToolCall(
            id=_new_id(), alias=tool.name, round=0, tool=tool.spec, arguments=self.arguments
        )
        self.direct = direct_call.Direct(
            call,
            RECORDS_TIMEOUT,
            {**self.values, "records": "read"},
            company_ids=tuple(request.env.context.get("allowed_company_ids", ())),
        )

    def ask(self, spec):
        """Ask an assistant.

        :param spec: `ToolSpec` of `services.gateway.asking.tool_spec`
        """
        call = ToolCall(id=_new_id(), alias=spec.name, round=0, tool=spec, arguments=self.arguments)
        self.direct = direct_call.Direct(call, 0.0, self.values)

    @functools.cached_property
    def decided(self):
        """`_direct_call_refusal` of the tool: the transaction sees the same facts to its end."""
        return self.tool._direct_call_refusal(self.arguments, assistants=self.assistants)

    def wrong_arguments(self):
        """An error if the tool does not take the arguments; the audit row of the refusal is written."""
        schema = self.direct.call.tool.input_schema
        if not (wrong := argument_checks.problem(self.arguments, schema)):
            return None
        wrong = sentences.translated(request.env, wrong)
        return self._refuse("invalid_args", wrong, ApiError(422, InvalidArguments.code, wrong))

    def refusal(self, *, is_confirmed=False, ask=None):
        """An error if the call must not be made; the audit row of the refusal is written.

        :param ask: gives what to say instead of a call that needs approval, None once it has that
        """
        if wrong := self.wrong_arguments():
            return wrong
        refusal = self.decided
        if is_confirmed:
            refusal = self.tool._direct_call_refusal(self.arguments, is_confirmed=True)
        if refusal:
            code, reason = refusal
            if ask and code == APPROVAL_REQUIRED:
                return ask()
            return self._refuse("denied", reason, ApiError(403, "denied", reason))
        return None

    def _refuse(self, outcome, sentence, error):
        result = CallResult(outcome=outcome, text=sentence, display=sentence)
        direct_call.record(request.env, self.direct.call, self.direct.values, result)
        error.details = {"tool": self.name}
        return error

    def answer(self, executed):
        """The ``ExecuteToolResponse`` of document 001; runs after the request's end."""
        result, raw = executed.result, executed.raw
        data = {"success": not result.is_error, "outcome": result.outcome}
        if raw is not None:
            data["content"] = raw.get("content") or []
            if "structuredContent" in raw:
                data["structuredContent"] = raw["structuredContent"]
        if result.is_error:
            data["error"] = result.text
            data["code"] = getattr(executed.error, "code", result.outcome)
        return data
