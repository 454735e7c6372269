"""A tool that a person tries in its form: one call without a turn, see `runtime.web.direct_call`."""

from odoo import http
from odoo.http import request

from ..runtime import process
from ..runtime.web import direct_call
from ..runtime.web.api_error import ApiError
from ..services.llm.files import PICTURES
from .chat import ROUTE
from .dispatcher import body
from .execute import AskedCall, check_mcp_is_on
from .mcp_servers import tool_or_404

MAX_PICTURES = 4  # of one result
MAX_PICTURE = 2 * 1024 * 1024  # characters of base64 of each


class ToolTrialController(http.Controller):
    @http.route("/api/mcp/tools/<int:tool_id>/try", methods=["POST"], **ROUTE)
    def try_tool(self, tool_id):
        """One call, as the person has it in front of them: ``{outcome, is_error, result, truncated, duration_ms,
        pictures}``. A program with a key has nobody who could have confirmed it."""
        tool = tool_or_404(tool_id)
        tool.check_access("write")
        arguments = body("Trial")["arguments"]
        if request.session.uid != request.env.uid:
            raise ApiError(
                403, "forbidden", request.env._("Only a signed-in person can try a tool.")
            )
        check_mcp_is_on()
        process.runner()
        asked = AskedCall(tool.alias, arguments)
        asked.take(tool)
        if refused := asked.refusal(is_confirmed=True):
            return request.dispatcher.handle_error(refused)
        return direct_call.respond(
            request.env, asked.direct, lambda executed: (_answer(executed.result), 200)
        )


def _answer(result):
    """As `events.tool_result` tells a chat, with pictures in place of files."""
    return {
        "outcome": result.outcome,
        "is_error": result.is_error,
        "result": result.display if result.display != "" else result.text,
        "truncated": result.truncated,
        "duration_ms": result.duration_ms,
        "pictures": [
            {"name": file["name"], "mimetype": file["mimetype"], "data": file["data"]}
            for file in result.attachments
            if file["mimetype"] in PICTURES and len(file["data"]) <= MAX_PICTURE
        ][:MAX_PICTURES],
    }
