from odoo import fields, models


class McpTemplateField(models.Model):
    """One question of a template's form."""

    _name = "woow_paas_platform.mcp_template_field"
    _description = "MCP Server Template Field"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _order = "sequence, id"

    template_id = fields.Many2one(
        "woow_paas_platform.mcp_template", required=True, ondelete="cascade", index=True
    )
    sequence = fields.Integer(default=10)
    name = fields.Char(required=True, help="Stable technical name.")
    label = fields.Char(required=True, translate=True)
    placeholder = fields.Char()
    help = fields.Char(translate=True)
    required = fields.Boolean()
    secret = fields.Boolean()
    target = fields.Selection(
        [
            ("address", "The address"),
            ("path", "A part of the address"),
            ("api_key", "The API key"),
            ("header", "A header"),
            ("description", "The description"),
            ("command", "The command"),
        ],
        required=True,
    )
    header = fields.Char(help="Name of the header.")

    _name_unique = models.Constraint(
        "UNIQUE (template_id, name)", "The template already has a field with this name."
    )

    def _entry(self):
        """Entry of a file, see `services.catalog.template_file`."""
        self.ensure_one()
        texts = ("name", "label", "placeholder", "help", "header", "target")
        return {name: self[name] or "" for name in texts} | {
            "required": self.required,
            "secret": self.secret,
        }

    def _api_data(self):
        self.ensure_one()
        return {
            "name": self.name,
            "label": self.label,
            "placeholder": self.placeholder or "",
            "help": self.help or "",
            "required": self.required,
            "secret": self.secret,
        }
