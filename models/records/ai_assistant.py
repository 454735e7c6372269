from odoo import api, fields, models

from ...services.records import reach
from .record_access import PRESETS


class AiAssistant(models.Model):
    _inherit = "ai.assistant"

    record_access_ids = fields.One2many(
        "woow_paas_platform.record_access",
        "assistant_id",
        "Odoo Records",
        copy=True,
        groups="woow_paas_platform.group_admin",
        help="Models whose records the assistant may use, within the rights of each user.",
    )
    record_preset = fields.Selection(
        "_selection_record_preset",
        "Add an Application",
        store=False,
        groups="woow_paas_platform.group_admin",
        help="Adds the models of an application, to be read only.",
    )

    @api.model
    def _selection_record_preset(self):
        """The applications that are installed."""
        _ = self.env._
        labels = {
            "contacts": _("Contacts"),
            "crm": _("CRM"),
            "sales": _("Sales"),
            "invoices": _("Invoices"),
            "purchase": _("Purchase"),
            "projects": _("Projects"),
            "stock": _("Inventory"),
            "calendar": _("Calendar"),
            "employees": _("Employees"),
            "timeoff": _("Time Off"),
        }
        return [(name, label) for name, label in labels.items() if PRESETS[name][0] in self.env]

    @api.onchange("record_preset")
    def _onchange_record_preset(self):
        known = set(self.record_access_ids.mapped("model"))
        self.record_access_ids = [
            fields.Command.create({"model": model})
            for model in PRESETS.get(self.record_preset, ())
            if model in self.env and model not in known
        ]
        self.record_preset = False

    def _record_access(self):
        """``{model: Access}`` of the models that are installed and may be chosen at all."""
        # sudo: record_access - the administrator's choice, for the engine; rights are checked with the person's own
        lines = self.sudo().record_access_ids
        return {
            line.model: line._access()
            for line in lines
            if line.model in self.env and not reach.is_denied(line.model)
        }
