from odoo import api, fields, models


class ApiKeyMixin(models.AbstractModel):
    """An API key, stored encrypted."""

    _name = "woow_paas_platform.api_key.mixin"
    _description = "API Key Mixin"
    _inherit = ["woow_paas_platform.secret.mixin"]

    api_key = fields.Char(
        "API Key",
        compute="_compute_api_key",
        inverse="_inverse_api_key",
        help="Stored encrypted. Leave empty to keep the current key. Changing the host removes the key "
        "unless you enter a new one.",
    )
    api_key_encrypted = fields.Char(groups=fields.NO_ACCESS, copy=False)
    has_api_key = fields.Boolean(
        "API Key Stored", compute="_compute_has_api_key", compute_sudo=True
    )

    @api.depends("api_key_encrypted")
    def _compute_api_key(self):
        self._blank_secrets("api_key")

    def _inverse_api_key(self):
        self._store_secret("api_key")

    @api.depends("api_key_encrypted")
    def _compute_has_api_key(self):
        for record in self:
            record.has_api_key = bool(record.api_key_encrypted)
