import json

from odoo import api, fields, models
from odoo.exceptions import ValidationError
from odoo.orm.models import NO_ACCESS

from ..services import egress
from ..services.errors import ConfigError
from ..services.specs import ServerSpec


class McpServer(models.Model):
    """The credentials of a server, and the frozen copy with them that the engine gets."""

    _inherit = "woow_paas_platform.mcp_server"

    api_key = fields.Char(
        help="Sent as a bearer token. Stored encrypted. Leave empty to keep the current key."
    )
    headers_json = fields.Text(
        "Headers (JSON)",
        compute="_compute_headers_json",
        inverse="_inverse_headers_json",
        help='Further HTTP headers, such as {"X-Team": "blue"}. Stored encrypted. '
        "Leave empty to keep the current headers; {} removes them.",
    )
    headers_json_encrypted = fields.Text(groups=NO_ACCESS, copy=False)
    header_names = fields.Char(readonly=True, copy=False, help="Names of the stored headers.")

    @api.depends("headers_json_encrypted")
    def _compute_headers_json(self):
        self._blank_secrets("headers_json")

    def _inverse_headers_json(self):
        for server in self:
            if not server.headers_json:
                continue
            try:
                headers = json.loads(server.headers_json)
                egress.check_headers(headers)
            except (ValueError, ConfigError) as error:
                raise ValidationError(
                    self.env._("The headers are not usable: %(reason)s", reason=error)
                ) from error
            server.header_names = ", ".join(headers)
        self._store_secret("headers_json")

    def _server_spec(self):
        """:raises SecretUnreadable: a stored secret does not open"""
        self.ensure_one()
        headers = self._read_secret("headers_json")
        return ServerSpec(
            id=self.id,
            name=self.name,
            title=self.name,
            url=self.url,
            transport=self.transport,
            headers=json.loads(headers) if headers else {},
            api_key=self._read_secret("api_key"),
            trust_level=self.trust_level,
            connect_timeout=self.connect_timeout,
            call_timeout=self.call_timeout,
        )
