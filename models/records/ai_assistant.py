from odoo import api, fields, models

from ...services.records import reach
from ..assistant.record_access import PRESETS


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

    def _readable_models(self):
        """Names of the models that the user may read with this assistant, those that people talk about first."""
        env = self.sudo(False).env
        models = [name for name in self._record_access() if env[name].has_access("read")]
        return sorted(models, key=lambda name: "message_ids" not in env[name]._fields)

    def _api_records(self):
        names = self._readable_models()
        # sudo: ir.model - labels of models that the user may read
        get = self.env["ir.model"].sudo()._get
        return [{"model": name, "name": get(name).name} for name in names]

    def _api_face(self):
        return {**super()._api_face(), "records": self._api_records()}

    def _mcp_config(self, offered, selected):
        return {**super()._mcp_config(offered, selected), "records": self._api_records()}

    def _by_use(self):
        """An assistant of orders is of no use to whom has none."""
        env = self.sudo(False).env

        def is_idle(assistant):
            models = assistant._readable_models()
            main = [name for name in models if "message_ids" in env[name]._fields] or models
            has_records = any(env[name].search([], limit=1) for name in main)
            return bool(assistant._record_access()) and not has_records and not assistant.tool_count

        idle = self.filtered(is_idle)
        return (self - idle) | idle

    def _proposed_uses(self):
        names = [one["name"] for one in self._api_records()[:2]]
        return [
            *(
                self.env._("Show the five newest records of “%(model)s”.", model=name)
                for name in names
            ),
            *super()._proposed_uses(),
        ]

    def _record_access(self):
        """``{model: Access}`` of the models that are installed and may be chosen at all."""
        # sudo: record_access - the administrator's choice, for the engine; rights are checked with the person's own
        lines = self.sudo().record_access_ids
        return {
            line.model: line._access()
            for line in lines
            if line.model in self.env and not reach.is_denied(line.model)
        }
