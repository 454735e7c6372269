from odoo import api, fields, models

from ..models.mixins.lock_mixin import MAX_REASON


class Lock(models.TransientModel):
    """The question for a reason, before an administrator locks servers or tools."""

    _name = "woow_paas_platform.lock"
    _description = "Lock"

    reason = fields.Char(
        size=MAX_REASON, help="Shown to the owner, with your name. It can be left empty."
    )
    server_ids = fields.Many2many(
        "woow_paas_platform.mcp_server",
        "woow_paas_platform_lock_server_rel",
        string="Servers",
        readonly=True,
        context={"active_test": False},
    )
    tool_ids = fields.Many2many(
        "woow_paas_platform.mcp_tool",
        "woow_paas_platform_lock_tool_rel",
        string="Tools",
        readonly=True,
        context={"active_test": False},
    )

    @api.model
    def _open(self, records):
        """:param records: servers, or tools"""
        name = "server_ids" if records._name == "woow_paas_platform.mcp_server" else "tool_ids"
        return {
            "type": "ir.actions.act_window",
            "name": self.env._("Lock"),
            "res_model": self._name,
            "res_id": self.create({name: records.ids}).id,
            "views": [(False, "form")],
            "target": "new",
        }

    def action_lock(self):
        self.ensure_one()
        for records in (self.server_ids, self.tool_ids):
            if records:
                records._lock_away(self.reason)
        return {"type": "ir.actions.act_window_close"}
