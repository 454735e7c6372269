from odoo import models

from ...services import text
from ...services.schemas import arguments as checks
from ...tools.refusals import BadInput, InvalidArguments, NotThere, Refusal, TooLate

DECISIONS = ("approve_once", "approve_conversation", "approve_always", "deny")
ALL = "all"
MAX_REASON = 500  # characters


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _blocked_tools(self, tools):
        by_rule = self.env["woow_paas_platform.approval_rule"]._blocked(tools, self.assistant_id)
        by_person = self.env["woow_paas_platform.person_rule"]._blocked(tools, self.user_id)
        by_tool = tools.filtered(lambda tool: tool.approval_policy == "never")
        return super()._blocked_tools(tools) | by_tool | by_rule | by_person

    def _record_decision(self, asked, decision, *, arguments=None, reason=None, **values):
        if decision not in DECISIONS:
            return super()._record_decision(asked, decision, **values)
        calls = self._calls_to_decide(asked)
        if any(decision not in call.approval_choices for call in calls):
            raise Refusal(self.env._("Calls like this one must be decided one at a time."))
        if arguments is not None:
            self._check_changed_arguments(calls, decision, arguments)
        reason_text = text.storable((reason or "").strip()[:MAX_REASON])
        return calls._decide(decision, text.storable(arguments), reason_text)

    def _calls_to_decide(self, asked):
        """:param asked: the id of a call, or `ALL`"""
        pending = self._pending_calls()
        if asked == ALL:
            calls = pending
        else:
            calls = self.call_ids.filtered(lambda call: call.approval and call.call_id == asked)
            if not calls:
                raise NotThere(self.env._("This call does not exist or needs no decision."))
        if self.state != "waiting" or not calls or calls - pending:
            raise TooLate(self.env._("This has already been decided or has expired."))
        return calls

    def _check_changed_arguments(self, calls, decision, arguments):
        if decision == "deny" or len(calls) > 1:
            raise BadInput("Arguments can only be sent when one call is allowed.")
        problem = checks.problem(arguments, calls._input_schema())
        if not calls._keeps_fixed(arguments):
            problem = self.env._("Values filled in from the record cannot be changed.")
        if problem:
            raise InvalidArguments(problem)
