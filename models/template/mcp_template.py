from urllib.parse import quote

from odoo import api, fields, models
from odoo.exceptions import UserError

from ...tools import server_files


class McpTemplate(models.Model):
    """A well-known server: what has to be filled in, and what becomes of it (document 004, §5)."""

    _name = "woow_paas_platform.mcp_template"
    _description = "MCP Server Template"
    _order = "sequence, name, id"

    code = fields.Char(required=True, help="Stable technical name.")
    name = fields.Char(required=True, translate=True)
    active = fields.Boolean(default=True)
    sequence = fields.Integer(default=10)
    description = fields.Text(translate=True)
    category = fields.Selection(
        [
            ("automation", "Automation"),
            ("communication", "Communication"),
            ("data", "Data"),
            ("development", "Development"),
            ("knowledge", "Knowledge"),
            ("search", "Search"),
        ],
        required=True,
    )
    icon = fields.Char(default="fa-plug", help="Font Awesome class.")
    website = fields.Char(help="Page that describes the server.")
    url = fields.Char("URL", help="Can contain {names} of fields as placeholders.")
    transport = fields.Selection(
        [
            ("auto", "Automatic"),
            ("streamable_http", "Streamable HTTP"),
            ("sse", "SSE (legacy)"),
            ("stdio", "Command (stdio)"),
        ],
        required=True,
        default="auto",
        help="Commands are defined in the operator's file, which must enable the template.",
    )
    field_ids = fields.One2many("woow_paas_platform.mcp_template_field", "template_id", "Fields")

    _code_unique = models.UniqueIndex("(code)", "Another template already uses this code.")

    @api.model
    def _offered(self):
        """Those that the caller may use: with a command only administrators, and what the operator's file releases."""
        released = list(server_files.current().templates)
        is_admin = self.env.user.has_group("woow_paas_platform.group_admin")
        commands = [("transport", "=", "stdio"), ("code", "in", released if is_admin else [])]
        return self.search(["|", ("transport", "!=", "stdio"), "&", *commands])

    def _api_data(self):
        self.ensure_one()
        return {
            "id": self.code,
            "name": self.name,
            "description": self.description or "",
            "category": self.category,
            "icon": self.icon or "",
            "website": self.website or "",
            "is_system_only": self.transport == "stdio",
            "fields": [field._api_data() for field in self.field_ids],
        }

    def _given(self, values):
        """What was filled in, trimmed.

        :param values: ``{name of a field: text}``
        :raises UserError: a field is missing, or there is no such field
        """
        self.ensure_one()
        known = {field.name: field for field in self.field_ids}
        if unknown := sorted(values.keys() - known.keys()):
            raise UserError(
                self.env._(
                    "The template “%(template)s” has no field “%(field)s”.",
                    template=self.name,
                    field=unknown[0],
                )
            )
        given = {name: text.strip() for name, text in values.items() if text.strip()}
        for field in self.field_ids:
            if field.required and field.name not in given:
                raise UserError(self.env._("“%(field)s” is required.", field=field.label))
        return given

    def _server_vals(self, values):
        """What a server with an address is that is made of this template, without its owner; see `_given`."""
        given = self._given(values)
        known = {field.name: field for field in self.field_ids}
        url = self.url or ""
        headers, vals = {}, {}
        for name, text in given.items():
            field = known[name]
            match field.target:
                case "address":
                    url = text
                case "path":
                    url = url.replace(f"{{{name}}}", quote(text, safe=""))
                case "header":
                    headers[field.header] = text
                case "api_key" | "description" as column:
                    vals[column] = text
        vals |= {"url": url, "transport": self.transport}
        vals.setdefault("description", self.description or "")
        return vals | ({"headers": headers} if headers else {})
