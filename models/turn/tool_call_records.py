"""Calls on Odoo's own records: their approval, and whether their results are untrusted."""

from odoo import fields, models

from ...services.records import catalog
from ...services.records.actions import READS
from ...services.turn import approval


class ToolCall(models.Model):
    _inherit = "woow_paas_platform.tool_call"

    records = fields.Selection(
        [("read", "Read"), ("write", "Change")],
        "Odoo Records",
        readonly=True,
        help="Set for calls that act on records of this database.",
    )

    rehearsal = fields.Json(
        readonly=True,
        prefetch=False,
        groups="woow_paas_platform.group_admin",
        help="What the call would change, as it was shown when the user was asked.",
    )

    made = fields.Json(
        readonly=True,
        prefetch=False,
        groups="woow_paas_platform.group_admin",
        help="Model and ID of each record that the call has made, for the calls of the same answer behind it: what they"
        " change of these is compared with what was shown before these were there.",
    )

    losses = fields.Integer(
        readonly=True,
        help="How often the connection to the database was lost while the call was running.",
    )

    def _is_one_transaction(self):
        """An action may send mail or ask another service, and so may what could not be rehearsed."""
        if not self.records:
            return super()._is_one_transaction()
        return self.tool_name != "run_action" and "impossible" not in (self.rehearsal or {})

    def _record_tool(self):
        """The `RecordTool` of the call, None if it is no such call."""
        return catalog.TOOLS.get(self.tool_name) if self.records else None

    def _record_line(self):
        """`services.records.access.Access` of the assistant to the model of the call, or None."""
        return self.turn_id._record_access().get((self.arguments or {}).get("model"))

    def _changes_before(self):
        """Calls of the same answer that change records before this one."""
        return self._changes_of_answer().filtered(lambda one: one.id < self.id)

    def _changes_after(self):
        """Those behind it, which may wait."""
        return self._changes_of_answer().filtered(lambda one: one.id > self.id)

    def _changes_of_answer(self):
        own = [
            ("turn_id", "=", self.turn_id.id),
            ("round", "=", self.round),
            ("records", "=", "write"),
        ]
        return self.search(own, order="id")

    def _only_prints(self):
        """True for a standard action that changes nothing; whoever makes it looks whether that is so."""
        action, line = (self.arguments or {}).get("action"), self._record_line()
        is_action = self._record_tool() == catalog.TOOLS["run_action"]
        return is_action and line is not None and action in READS and line.actions.get(action) == 0

    def _asked_of(self):
        return {**super()._asked_of(), "records": self.records}

    def _definition_now(self):
        tool = self._record_tool()
        return tool.spec.definition if tool else super()._definition_now()

    def _refusal_by_switch(self):
        if not self.records:
            return super()._refusal_by_switch()
        tool = self._record_tool()
        is_offered = tool is not None and tool in self.turn_id._record_tools()
        return "" if is_offered else "This assistant may not do this with Odoo's records."

    def _grantable(self):
        return self if self._record_tool() else super()._grantable()

    def _is_granted(self):
        """What a person was shown once is not done on the strength of an earlier “always”."""
        return not self.rehearsal and super()._is_granted()

    def _annotations(self):
        tool = self._record_tool()
        return tool.annotations if tool else super()._annotations()

    def _policy_decision(self):
        tool = self._record_tool()
        if tool is None:
            return super()._policy_decision()
        access, prints = self._record_line(), self._only_prints()
        # What a person is asked about once waits for the answer.
        asks = access is None or (access.asks and not prints) or bool(self.rehearsal)
        return approval.decide(
            self.arguments or {},
            policy="ask" if tool.is_write and asks else "auto",
            annotations=tool.annotations,
            trust="full",
            is_tainted=tool.is_write and not prints and self._comes_after_untrusted_result(),
        )

    def _effect_on_records(self):
        return self.records or super()._effect_on_records()

    def _api_format(self):
        data = super()._api_format()
        return {**data, "records": self.records} if self.records else data

    def _manage_path(self):
        if not self.records:
            return super()._manage_path()
        turn = self.turn_id
        may_write = turn.assistant_id.with_user(turn.user_id).sudo(False).has_access("write")
        return f"/odoo/ai-assistants/{turn.assistant_id.id}" if may_write else None

    def _rehearsal_shown(self):
        found = self.rehearsal
        if not self.records or not found:
            return super()._rehearsal_shown()
        if "impossible" in found:
            return {"impossible": self._impossible_sentence(found["impossible"])}
        return found["shown"]

    def _impossible_sentence(self, refused):
        """:param refused: what a rehearsal does not let happen, see `tools/rehearsal.py`; may be empty"""
        _ = self.env._
        if not refused:
            return _("What this changes cannot be shown in advance.")
        said = {
            "the network": _("the network"),
            "another program": _("another program"),
            "another thread": _("another thread"),
            "a commit of its own": _("a commit of its own"),
            "a transaction of its own": _("a transaction of its own"),
        }.get(refused, refused)
        return _("What this changes cannot be shown in advance: it needs %(what)s.", what=said)

    def _further_changes(self):
        """Records of a rehearsal for which its question has no room, see `Changes.further`."""
        return (self.rehearsal or {}).get("further") or []

    def _is_untrusted_result(self):
        tool = self._record_tool()
        if tool is None:
            return super()._is_untrusted_result()
        return self.outcome in ("ok", "error") and approval.is_untrusted(tool.annotations, "full")

    def _input_schema(self):
        tool = self._record_tool()
        return tool.schema if tool else super()._input_schema()
