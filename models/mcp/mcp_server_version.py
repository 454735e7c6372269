from odoo import api, fields, models
from odoo.exceptions import UserError

from ...services.catalog import mcp_json
from ...tools.moments import utc


class McpServerVersion(models.Model):
    """A configuration that a server had, to compare and to restore. Written by Odoo when it changes."""

    _name = "woow_paas_platform.mcp_server_version"
    _description = "MCP Server Version"
    _order = "id desc"

    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server",
        required=True,
        readonly=True,
        ondelete="cascade",
        index=True,
    )
    number = fields.Integer("Version", required=True, readonly=True, aggregator=None)
    configuration = fields.Json(required=True, readonly=True)
    changed = fields.Char(readonly=True, help="Differences from the previous version.")
    difference = fields.Text(
        compute="_compute_difference",
        help="Differences from the current configuration: this version → current value.",
    )
    is_current = fields.Boolean(compute="_compute_difference")

    @api.depends_context("lang")
    def _compute_difference(self):
        for version in self:
            changes = version._changes()
            version.is_current = not changes
            version.difference = "\n".join(
                f"{change['label']}: {change['from'] or '–'} → {change['to'] or '–'}"
                for change in changes
            )

    def _changes(self):
        """Changes that a restore would make: ``[{"field", "label", "from", "to"}]``, from this version to now."""
        self.ensure_one()
        # sudo: mcp_server - who may read the version manages the server
        now = self.server_id.sudo()._configuration()
        Server = self.env["woow_paas_platform.mcp_server"]
        return [
            {
                "field": name,
                "label": Server._fields[name]._description_string(self.env),
                "from": was,
                "to": now[name],
            }
            for name, was in self.configuration.items()
            if name in now and now[name] != was
        ]

    def action_restore(self):
        """Give the server this configuration again, by the same checks as any change of it."""
        self.ensure_one()
        server = self.server_id
        server.check_access("write")
        values = {change["field"]: change["from"] for change in self._changes()}
        if mcp_json.has_placeholder(values.get("url") or ""):
            raise UserError(
                self.env._(
                    "The address of this version contained a secret, which versions do not keep."
                    " Enter the address again."
                )
            )
        if values:
            server.write(values)
        return True

    def _api_data(self):
        return {
            "id": self.id,
            "number": self.number,
            "created_at": utc(self.create_date),
            "created_by": self.create_uid.sudo().name,  # sudo: res.users - the name of who manages the server
            "configuration": self.configuration,
            "changes": self._changes(),
        }
