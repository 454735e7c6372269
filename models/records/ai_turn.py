from odoo import api, fields, models

from ...services.records import catalog


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    companies = fields.Json(
        readonly=True, help="IDs of the companies that were active when the question was asked."
    )

    @api.model_create_multi
    def create(self, vals_list):
        asked = self.env.context.get("woow_ai_companies")
        for vals in vals_list:
            vals.setdefault("companies", asked or self.env.context.get("allowed_company_ids"))
        return super().create(vals_list)

    def _allowed_companies(self):
        """Those that were active, as far as the person still belongs to them; else all of the person's."""
        self.ensure_one()
        mine = self.user_id.company_ids
        main = self.user_id.company_id
        asked = [i for i in self.companies or () if i in mine.ids]
        return mine.browse(asked) if asked else main | mine

    def _record_access(self):
        """What the assistant may do with Odoo's records here; nothing where others read along."""
        self.ensure_one()
        return self.assistant_id._record_access() if self._is_private() else {}

    def _record_tools(self):
        """The `RecordTool` that this turn is offered."""
        access = self._record_access()
        operations = {name for one in access.values() for name in one.operations}
        return [tool for tool in catalog.TOOLS.values() if tool.operation in operations]

    def _own_tool_specs(self):
        return (*super()._own_tool_specs(), *(tool.spec for tool in self._record_tools()))

    def _system_prompt(self):
        prompt = super()._system_prompt()
        if not self._record_tools():
            return prompt
        today = fields.Date.context_today(self.with_context(tz=self.user_id.tz))
        parts = [prompt, catalog.PROMPT.format(today=today.isoformat())]
        record = self._record()
        if record and record._name in self._record_access():
            parts.append(catalog.THIS.format(model=record._name, id=record.id))
        return "\n\n".join(filter(None, parts))
