from odoo import api, fields, models

from ...services.records import catalog, mentions
from ...tools import host


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    companies = fields.Json(
        readonly=True, help="IDs of the companies that were active when the question was asked."
    )
    mentions = fields.Json(
        "Attached Records",
        readonly=True,
        help="Records that the user attached to the question: model, ID and name.",
    )

    @api.model_create_multi
    def create(self, vals_list):
        asked = self.env.context.get("woow_ai_companies")
        attached = self.env.context.get("woow_ai_mentions")
        for vals in vals_list:
            vals.setdefault("companies", asked or self.env.context.get("allowed_company_ids"))
            vals.setdefault("mentions", attached or self._mentions_of_retried(vals))
            if vals["mentions"]:
                vals["steers"] = False  # what the records say is read when a turn begins
        return super().create(vals_list)

    @api.model
    def _mentions_of_retried(self, vals):
        return self.browse(vals.get("retry_of_id") or ()).mentions

    def _call_that_asks(self, call_id):
        """The call of this turn that waits for a decision on what it was rehearsed to change; empty without one."""
        # sudo: tool_call - what was found out is told to whoever may read the turn, as its events are
        calls = self.sudo().call_ids
        return calls.filtered(lambda call: call.call_id == call_id and call.approval == "pending")

    def _question_message(self, pictures=0):
        message = super()._question_message(pictures)
        if not self.mentions:
            return message
        content = "\n\n".join(filter(None, (message["content"], mentions.named(self.mentions))))
        return {**message, "content": content}

    def _has_untrusted_attachments(self):
        # what stands in records, others may have written
        return any(turn.mentions for turn in self) or super()._has_untrusted_attachments()

    def _attached_records(self):
        is_internal = self.user_id._is_internal()
        return [
            {**one, "url": f"/odoo/{one['model']}/{one['id']}" if is_internal else None}
            for one in self.mentions or ()
        ]

    def _allowed_companies(self):
        self.ensure_one()
        return self.user_id._woow_ai_companies(self.companies)

    def _record_access(self):
        """What the assistant may do with Odoo's records here; nothing where others read along."""
        self.ensure_one()
        return self.assistant_id._record_access() if self._is_private() else {}

    def _record_tools(self):
        """The `RecordTool` that this turn is offered."""
        access = self._record_access()
        operations = {name for one in access.values() for name in one.operations}
        beyond = () if self.user_id._is_internal() else catalog.OF_BACKEND
        return [
            tool
            for name, tool in catalog.TOOLS.items()
            if tool.operation in operations and name not in beyond
        ]

    def _own_tool_specs(self):
        return (*super()._own_tool_specs(), *(tool.spec for tool in self._record_tools()))

    def _record_name(self, record):
        return host.current().record_name(self, record)

    def _system_prompt(self):
        prompt = super()._system_prompt()
        if not self._record_tools():
            return prompt
        today = fields.Date.context_today(self.with_context(tz=self.user_id.tz))
        parts = [
            prompt,
            catalog.PROMPT.format(today=today.isoformat()),
            host.current().record_models(self),
        ]
        record = self._record()
        if record and record._name in self._record_access():
            parts.append(catalog.THIS.format(model=record._name, id=record.id))
        return "\n\n".join(filter(None, parts))
