"""Single completion (document 001): one answer of a model; the program makes its calls by itself, with `execute`."""

from odoo import http
from odoo.http import request

from ..models.turn.ai_turn import PROMPT_CHARS
from ..runtime import process
from ..runtime.web.after_commit import AfterCommit
from ..runtime.web.api_error import ApiError
from ..runtime.web.slots import at_most
from ..services.llm import reply
from ..services.specs import Limits, Payer, TurnRequest
from ..tools import db, sentences
from ..tools.refusals import Unavailable
from .chat import ROUTE, assistant_or_404, message_text, visible_service
from .dispatcher import body
from .execute import MAX_CALLS

TIMEOUT = 90.0  # seconds that a model may take


class AiReplyController(http.Controller):
    @http.route("/api/ai-reply", methods=["POST"], **ROUTE)
    def ai_reply(self):
        """``{reply, message, tool_calls, usage}``: the model's own text, and what was read from it."""
        values = body("ModelQuestion")
        results = values["toolResults"] or []
        if len(results) > MAX_CALLS or not all(isinstance(one, dict) for one in results):
            raise ApiError.invalid(
                "toolResults", f"Send at most {MAX_CALLS} results, each an object."
            )
        message, context = message_text(values["aiMessage"]), (values["userContext"] or "").strip()
        if len(message) + len(context) > PROMPT_CHARS:
            raise ApiError.invalid("aiMessage", f"At most {PROMPT_CHARS} characters can be sent.")
        assistant = _assistant(values["assistant_id"])
        process.runner()  # where no model can be asked, nothing is read
        tools = request.env["woow_paas_platform.mcp_tool"]
        service = visible_service(values["cloud_service_id"])
        if refusal := assistant._refusal_to(request.env.user, service):
            raise Unavailable(sentences.translated(request.env, refusal))
        # sudo: ai.assistant - budgets of the caller, read to decide
        assistant.sudo()._left_of_budget(request.env.user, service, request.env.company.id)
        if values["includeMCPTools"]:
            tools = assistant._tools_for_caller(request.env.user, service)
        turn = _request(assistant, reply.question(message, context, results), tools, service)
        dbname = request.db
        return AfterCommit(request.env, lambda: _answer(turn, dbname))


def _assistant(assistant_id):
    if assistant_id:
        return assistant_or_404(assistant_id)
    if assistant := request.env["ai.assistant"]._everywhere()[:1]:
        return assistant
    raise ApiError.not_found(request.env._("No assistant is available to you."))


def _request(assistant, question, tools, service):
    """Make the engine's request; the conversation belongs to no user."""
    # sudo: ai.assistant - the caller may chat with it; prompt and secrets go to the engine only
    assistant = assistant.sudo()
    servers, problems = tools.server_id._server_specs(request.env.user)
    return TurnRequest(
        turn_id=0,
        conversation_id=f"reply-{request.env.uid}",
        assistant=assistant.name,
        llm=assistant.config_id._llm_spec(with_fallback=True),
        system_prompt=assistant.system_prompt or "",
        history=({"role": "user", "content": question},),
        servers=tuple(servers.values()),
        tools=tools._tool_specs(problems),
        limits=Limits(definition_tokens=0),  # the program makes the calls, and knows no look-up
        payer=Payer(
            user=request.env.uid,
            assistant=assistant.id,
            version=assistant.version_id.id,
            service=service.id,
            company=request.env.company.id,
        ),
    )


def _answer(turn, dbname):
    """Runs when the request's transaction is over."""
    limit = at_most(TIMEOUT)
    faults: list[dict] = []
    try:
        answer = process.wait_for(lambda engine: engine.reply(turn, limit, faults), limit)
    finally:
        if faults:
            db.transaction(dbname, lambda env: env["ai.config"]._record_faults(faults))
    return {
        "reply": answer.raw_text,
        "message": answer.text,
        "tool_calls": [
            {"name": call.name, "arguments": arguments}
            for call in answer.calls
            if (arguments := answer.arguments_of(call)[0]) is not None
        ],
        "usage": answer.usage or None,
    }, 200
