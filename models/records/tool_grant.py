"""Permissions for changes of Odoo's own records: “always”, for one tool on one model."""

import hashlib
import json

from odoo import api, fields, models

from ...tools import labels


class ToolGrant(models.Model):
    _inherit = "woow_paas_platform.tool_grant"

    records = fields.Char(
        "Odoo Records",
        readonly=True,
        help="Tool and model, and the action where it runs one, such as “create_record crm.lead”.",
    )

    _tool_or_records = models.Constraint(
        "CHECK ((tool_id IS NULL) <> (records IS NULL))",
        "A permission is for a tool or for a change of records.",
    )
    _records_unique = models.UniqueIndex(
        "(user_id, records, COALESCE(channel_id, 0))", "This change is already allowed."
    )

    @api.model
    def _subject(self, tool):
        """:param tool: or a call on records"""
        if tool._name != "woow_paas_platform.tool_call":
            return super()._subject(tool)
        given, definition = tool.arguments or {}, tool._record_tool()
        named = [definition.name, given.get("model"), given.get("action")]
        model = self.env.get(given.get("model"))
        label = given.get("model") if model is None else labels.of_model(model)
        source = json.dumps([definition.schema, definition.description])
        return {"records": " ".join(str(name) for name in named if name)}, {
            "name": f"{definition.title}: {label}",
            "definition": hashlib.sha256(source.encode()).hexdigest(),
        }
