import base64
import binascii
import json

from odoo import fields, models
from odoo.exceptions import UserError

from ..services.errors import ConfigError
from ..tools import sentences

MAX_FILE = 1024 * 1024  # bytes


class TemplateImport(models.TransientModel):
    """A file of templates that somebody shares."""

    _name = "woow_paas_platform.template_import"
    _description = "Template Import"

    file = fields.Binary(required=True, attachment=False)
    filename = fields.Char()

    def action_import(self):
        self.ensure_one()
        try:
            raw = base64.b64decode(self.file or b"")
            document = json.loads(raw) if len(raw) <= MAX_FILE else None
        except (ValueError, RecursionError, binascii.Error):
            document = None
        Template = self.env["woow_paas_platform.mcp_template"]
        try:
            templates, notes = Template._import_templates(document)
        except ConfigError as error:
            raise UserError(sentences.translated(self.env, str(error))) from error
        lines = [self.env._("%(count)s templates were imported.", count=len(templates))]
        lines += [f"{note['name']}: {note['message']}" for note in notes]
        return {
            "type": "ir.actions.client",
            "tag": "display_notification",
            "params": {
                "type": "warning" if notes else "success",
                "message": "\n".join(lines),
                "sticky": bool(notes),
                "next": {"type": "ir.actions.act_window_close"},
            },
        }
