import logging

from odoo import api, fields, models
from odoo.tools import SQL

from ..runtime import vault
from ..services import egress
from ..services.errors import SecretUnreadable

_logger = logging.getLogger(__name__)


class SecretMixin(models.AbstractModel):
    """Write-only inputs over encrypted stores.

    A model pairs an input `secret` (computed to ``""``, its inverse skips empty values) with a store
    `secret_encrypted` (``groups=fields.NO_ACCESS``, ``copy=False``): people write it, nobody reads it back.
    """

    _name = "woow_paas_platform.secret.mixin"
    _description = "Encrypted write-only secrets"

    def _blank_secrets(self, *names):
        for record in self:
            for name in names:
                record[name] = ""

    def _store_secret(self, name):
        for record in self:
            if value := record[name]:
                # sudo: the store is readable by nobody; who may write the record may replace its secret
                record.sudo()[f"{name}_encrypted"] = vault.encrypt(value)

    def _moved_by(self, vals, name):
        """Those that `vals` give an address of another origin: their secrets belong to who was at the old one.

        :param name: of the column with the address
        """
        if name not in vals:
            return self.browse()
        new = egress.origin(vals[name])
        return self.filtered(lambda record: egress.origin(record[name]) != new)

    def _read_secret(self, name):
        """:raises SecretUnreadable: the operator's key does not open it"""
        self.ensure_one()
        try:
            # sudo: the store is readable by nobody; callers hand the value to the engine, never to a client
            return vault.decrypt(self.sudo()[f"{name}_encrypted"])
        except SecretUnreadable:
            _logger.warning("%s of %s does not decrypt with the current key.", name, self)
            raise

    @api.model
    def _rotate_secrets(self):
        """Encrypt each stored secret of the database with the newest key.

        :return: (how many were, “table.column id” of those that no key opens)
        """
        done, failed = 0, []
        for model in self.env.values():
            if model._abstract or not model._auto or not isinstance(model, SecretMixin):
                continue
            for name in model._fields:
                if not name.endswith("_encrypted"):
                    continue
                table, column = SQL.identifier(model._table), SQL.identifier(name)
                self.env.cr.execute(
                    SQL("SELECT id, %s FROM %s WHERE %s <> '' FOR UPDATE", column, table, column)
                )
                for record_id, token in self.env.cr.fetchall():
                    try:
                        fresh = vault.rotate(token)
                    except SecretUnreadable:
                        failed.append(f"{model._table}.{name} {record_id}")
                        continue
                    self.env.cr.execute(
                        SQL("UPDATE %s SET %s = %s WHERE id = %s", table, column, fresh, record_id)
                    )
                    done += 1
        self.env.invalidate_all()
        return done, failed


class ApiKeyMixin(models.AbstractModel):
    """One such secret, for whatever takes an API key."""

    _name = "woow_paas_platform.api_key.mixin"
    _description = "Encrypted write-only API key"
    _inherit = ["woow_paas_platform.secret.mixin"]

    api_key = fields.Char(
        "API Key",
        compute="_compute_api_key",
        inverse="_inverse_api_key",
        help="Stored encrypted. Leave empty to keep the current key. "
        "It is forgotten when another host is entered, unless a new one comes with it.",
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

    def _told_of_move(self, name):
        """What a form says of the key when another host is entered, see `_moved_by`.

        :return: as an onchange answers
        """
        before = self._origin
        if self.api_key or not before.has_api_key or not before._moved_by({name: self[name]}, name):
            return None
        warning = {
            "type": "notification",
            "title": self.env._("Enter the API key"),
            "message": self.env._(
                "The stored key stays with the old address. Enter that of the new one."
            ),
        }
        return {"warning": warning}
