from odoo import api, fields, models

from ..models.mixins.lock_mixin import MAX_REASON

KINDS = ("server_ids", "tool_ids", "assistant_ids")


class Lock(models.TransientModel):
    """The question for a reason, before an administrator locks servers, tools or assistants of services."""

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

    assistant_ids = fields.Many2many(
        "ai.assistant",
        "woow_paas_platform_lock_assistant_rel",
        string="Assistants",
        readonly=True,
        context={"active_test": False},
    )

    @api.model
    def _open(self, records):
        """:param records: servers, tools, or assistants"""
        name = next(name for name in KINDS if self._fields[name].comodel_name == records._name)
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
        for name in KINDS:
            if records := self[name]:
                records._lock_away(self.reason)
        return {"type": "ir.actions.act_window_close"}
