from odoo import Command, api, models

from ...services.catalog import template_file
from ...tools import sentences, server_files


class McpTemplate(models.Model):
    """Templates as a file, see `services.catalog.template_file`."""

    _inherit = "woow_paas_platform.mcp_template"

    @api.model
    def _create_of_entry(self, entry, **vals):
        fields = [Command.create({"sequence": n, **one}) for n, one in enumerate(entry["fields"])]
        own = {key: value for key, value in entry.items() if key not in ("id", "fields")}
        own["icon"] = own["icon"] or "fa-plug"
        return self.create({"code": entry["id"], **own, "field_ids": fields, **vals})

    @api.model
    def _import_templates(self, document):
        """Make a template of each entry that can be one; those that are there already stay as they are.

        :return: (templates, ``[{"name", "message"}]`` of what was left out)
        :raises ConfigError: it is no such document
        """
        self.check_access("create")
        found, skipped = template_file.read(document)
        notes = [
            {"name": entry.name, "message": sentences.translated(self.env, entry.message)}
            for entry in skipped
        ]
        known = set(
            self.with_context(active_test=False).search([("code", "!=", False)]).mapped("code")
        )
        released = server_files.current().templates
        templates = self.browse()
        for entry in found:
            message = ""
            if entry["id"] in known:
                message = self.env._("A template with this ID already exists.")
            elif entry["transport"] == "stdio" and entry["id"] not in released:
                message = self.env._("The operator has not enabled this template.")
            if message:
                notes.append({"name": entry["id"], "message": message})
            else:
                templates |= self._create_of_entry(entry, for_owners=False)
        return templates, notes

    def _export_templates(self):
        return template_file.write(template._entry() for template in self)

    def _entry(self):
        self.ensure_one()
        names = ("name", "description", "icon", "website", "url", "category", "transport")
        return {
            "id": self.code,
            **{name: self[name] or "" for name in names},
            "authorization": self.authorization if self.authorization != "key" else "",
            "fields": [field._entry() for field in self.field_ids],
        }

    def action_export(self):
        """Download these as a file."""
        self.check_access("write")
        codes = ",".join(self.mapped("code"))
        return {
            "type": "ir.actions.act_url",
            "url": f"/api/mcp/templates/export?ids={codes}",
            "target": "download",
        }
