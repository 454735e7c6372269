"""Action recall, document 002: paths, ids, statuses and error codes are that document's."""

import itertools
import logging
import uuid

from odoo import http
from odoo.http import request

from ..models.recall.action_type import (
    ACCOUNT_HEADERS,
    MCP_CALL_FAILED,
    PREFIX,
    TOOL_CALL_FAILED,
    TOOL_NOT_FOUND,
)
from ..runtime import process
from ..runtime.web import direct_call
from ..runtime.web.api_error import ApiError
from ..services.schemas import arguments
from ..services.specs import CallResult, ToolCall
from ..tools.refusals import InvalidArguments
from .chat import ROUTE
from .dispatcher import body, query_text

_logger = logging.getLogger(__name__)

MAX_HEADER = 200  # characters of an x-account-* header


def _with_gaps(address, *ids):
    """The address, and those that leave ids out: document 002 answers them, too."""
    return [address % chosen for chosen in itertools.product(*((name, "") for name in ids))]


def _require(**parameters):
    for name, value in parameters.items():
        if not value.strip():
            raise ApiError(
                400,
                "invalid_parameter",
                f"The parameter “{name}” is missing.",
                details={"parameter": name},
            )


class RetrievalController(http.Controller):
    @http.route(f"{PREFIX}/kn/get_action_info", methods=["POST"], **ROUTE)
    def get_action_info(self):
        """Functions for a model that act on one object."""
        account = self._account()
        kn_id, at_id = self._query("kn_id"), self._query("at_id")
        identity = body("Identity")["unique_identity"]
        action = request.env["woow_paas_platform.action_type"]._visible(kn_id, at_id)
        if not action:
            raise ApiError.not_found(request.env._("This action type does not exist."))
        record = action._find_record(identity)
        tool = action._recall(record, account)
        _logger.debug("Recalled %s/%s for %s: %s", kn_id, at_id, record, tool["name"])
        return {"headers": account, "_dynamic_tools": [tool]}

    @http.route(
        _with_gaps(PREFIX + "/mcp/proxy/%s/tools/%s/call", "<string:mcp_id>", "<path:tool_name>"),
        methods=["POST"],
        **ROUTE,
    )
    def call_mcp_tool(self, mcp_id="", tool_name=""):
        """Flat arguments in, the ``CallToolResult`` out."""
        _require(mcp_id=mcp_id, tool_name=tool_name)
        # sudo: mcp_tool - found by its ids; whether the caller may use it is decided below
        tool = (
            request.env["woow_paas_platform.mcp_tool"]
            .sudo()
            .with_context(active_test=False)
            .search([("server_id.mcp_id", "=", mcp_id), ("name", "=", tool_name)], limit=1)
        )
        return _Direct(MCP_CALL_FAILED, {"mcp_id": mcp_id, "tool_name": tool_name}).respond(
            tool, "tool_id", offered=bool(tool) and tool._is_offered_to(request.env.user)
        )

    @http.route(
        _with_gaps(PREFIX + "/tool/proxy/%s/tools/%s/call", "<string:box_id>", "<path:tool_name>"),
        methods=["POST"],
        **ROUTE,
    )
    def call_operation(self, box_id="", tool_name=""):
        """Arguments in layers (header, path, query, body) in, status and body of the service out."""
        _require(box_id=box_id, tool_name=tool_name)
        # sudo: toolbox_operation - see `call_mcp_tool`
        operation = (
            request.env["woow_paas_platform.toolbox_operation"]
            .sudo()
            .with_context(active_test=False)
            .search([("toolbox_id.box_id", "=", box_id), ("name", "=", tool_name)], limit=1)
        )
        own = operation.with_user(request.env.user).sudo(False)
        return _Direct(TOOL_CALL_FAILED, {"box_id": box_id, "tool_name": tool_name}).respond(
            operation, "operation_id", offered=bool(own) and own.has_access("read")
        )

    def _account(self):
        """The ``x-account-*`` headers: passed on, never a reason to trust anybody."""
        headers = request.httprequest.headers
        account = {name: headers.get(name, "").strip() for name in ACCOUNT_HEADERS}
        wrong = [
            name
            for name, value in account.items()
            if not value or len(value) > MAX_HEADER or not (value.isascii() and value.isprintable())
        ]
        if wrong:
            raise ApiError(
                400,
                "invalid_header",
                f"Send the headers {' and '.join(ACCOUNT_HEADERS)}.",
                details={"headers": wrong},
            )
        return account

    def _query(self, name):
        value = query_text(name).strip()
        _require(**{name: value})
        return value


class _Direct:
    """One call of the proxy: every check of a call in a chat, then the call, then its answer.

    :param failed: the error code of 002 for a call that its upstream did not answer
    :param names: the ids of the address, for errors and the log
    """

    def __init__(self, failed, names):
        self.failed = failed
        self.names = names

    def respond(self, tool, field, *, offered):
        """:param offered: the caller may use the tool whatever the arguments"""
        given = request.dispatcher.jsonrequest or {}
        process.runner()  # where no call can be made, none is written down
        Action = request.env["woow_paas_platform.action_type"]
        action = Action._that_allows(field, tool, given) if tool else Action
        if not offered and not action:
            raise self._error(
                404,
                TOOL_NOT_FOUND,
                request.env._("The tool “%(tool)s” does not exist.", tool=self.names["tool_name"]),
            )
        values = {field: tool.id, "action_id": action.id}
        if field == "tool_id":
            values["server_id"] = tool.server_id.id
        spec = tool._tool_spec()
        server = (tool.server_id if field == "tool_id" else tool.toolbox_id)._server_spec(
            request.env.user
        )
        call = ToolCall(
            id=f"direct_{uuid.uuid4().hex}",
            alias=spec.alias,
            round=0,
            tool=spec,
            server=server,
            arguments=given if field == "tool_id" else _layers(given, spec.input_schema),
        )
        if wrong := arguments.problem(call.arguments, spec.input_schema):
            return self._refuse(call, values, "invalid_args", wrong, 400, InvalidArguments.code)
        if refusal := tool._direct_call_refusal(call.arguments, action):
            _code, reason = refusal
            return self._refuse(call, values, "denied", reason, 403, "denied")
        _logger.debug("Direct call %s of %s begins.", call.id, self.names)
        direct = direct_call.Direct(call, server.call_timeout, values)
        return direct_call.respond(request.env, direct, self._answer)

    def _refuse(self, call, values, outcome, sentence, status, code):
        """The audit row stays, so this is an answer and no exception."""
        result = CallResult(outcome=outcome, text=sentence, display=sentence)
        direct_call.record(request.env, call, values, result)
        return request.dispatcher.handle_error(self._error(status, code, sentence))

    def _error(self, status, code, sentence):
        return ApiError(status, code, sentence, details=dict(self.names))

    def _answer(self, executed):
        """(data, status); runs after the request's end."""
        result, raw = executed.result, executed.raw
        if raw is not None:
            _logger.debug("A direct call of %s ended: %s.", self.names, result.outcome)
            return self._of_upstream(raw), 200
        _logger.error(
            "A direct call failed: %s: %s: %s %s",
            self.names,
            result.outcome,
            result.text,
            getattr(executed.error, "detail", ""),
        )
        code = getattr(executed.error, "code", result.outcome)
        error = self._error(502, self.failed, result.text)
        error.details |= {"outcome": result.outcome, "reason": code}
        raise error

    def _of_upstream(self, raw):
        if self.failed == MCP_CALL_FAILED:
            return raw
        return {"status_code": raw["_meta"]["status_code"], **raw}


def _layers(given, schema):
    """002's empty layers mean nothing: an operation whose body is optional gets none."""
    needed = schema.get("required", ())
    return {layer: value for layer, value in given.items() if value != {} or layer in needed}
