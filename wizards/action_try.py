import json

from odoo import api, fields, models
from odoo.exceptions import UserError

from ..models.recall.action_type import ACCOUNT_HEADERS


class ActionTry(models.TransientModel):
    """Shows what the model would get for a record, read with the rights of who tries."""

    _name = "woow_paas_platform.action_try"
    _description = "Action Type Test"

    action_id = fields.Many2one("woow_paas_platform.action_type", required=True, ondelete="cascade")
    model = fields.Char(related="action_id.model")
    res_id = fields.Many2oneReference("Record", model_field="model")
    result = fields.Text(compute="_compute_result")

    @api.depends("action_id", "res_id")
    def _compute_result(self):
        for trial in self:
            trial.result = trial._recalled() if trial.res_id else ""

    def _recalled(self):
        record = self.env[self.model].browse(self.res_id)
        account = dict(zip(ACCOUNT_HEADERS, (str(self.env.uid), "user"), strict=True))
        try:
            tool = self.action_id._recall(record, account)
        except UserError as error:
            return str(error)
        return json.dumps(tool, indent=2, ensure_ascii=False)
