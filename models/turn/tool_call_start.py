"""The check before a call starts: everything is read again in the transaction that records the start."""

from odoo import fields, models

from ...services.llm.transcript import DIFFERS
from ...services.specs import Verdict


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    definition = fields.Char(
        readonly=True,
        help="Identifies the definition of the requested tool; empty if the tool does not exist.",
    )

    def _may_start(self, origin):
        """:param origin: of the tool that would be called, see `_asked_of`
        :return: a `Verdict`: run, deny or ask
        """
        self.ensure_one()
        if self._asked_of() != origin or (self.definition or "") != self._definition_now():
            return Verdict(kind="deny", reason=DIFFERS)
        turn = self.turn_id
        if reason := turn._check_still_allowed() or self._refusal_by_switch():
            return Verdict(kind="deny", reason=reason)
        if problem := self.tool_id.server_id._key_problem(turn._private_user()):
            return Verdict(kind="deny", reason=str(problem))
        return self._approval_verdict() or self._question_verdict() or Verdict(kind="run")

    def _is_one_transaction(self):
        """Whether all that the call does happens in one transaction of this database, or not at all."""
        return False

    def _asked_of(self):
        """Whose tool was asked for, by ids: what was approved is what runs, whatever it is called by now."""
        return {
            "tool_id": self.tool_id.id,
            "operation_id": self.operation_id.id,
            "server_id": self.server_id.id,
            "action_id": self.action_id.id,
            "definition": self.definition or "",
        }

    def _definition_now(self):
        source = self.tool_id or self.operation_id
        return source._definition(self.action_id) if source else ""

    def _refusal_by_switch(self):
        turn, tool = self.turn_id, self.tool_id
        if self.action_id:
            is_offered = self.action_id in turn._actions()
            return "" if is_offered else "This action is no longer offered."
        if tool and tool not in turn._tools():
            return tool._reason_of_switch()
        return ""
