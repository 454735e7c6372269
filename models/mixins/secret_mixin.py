import logging

from odoo import api, fields, models
from odoo.tools import SQL

from ...services.errors import ConfigError, SecretKeyInvalid, SecretUnreadable
from ...services.sentence import _lt
from ...tools import sentences, vault
from ...tools.refusals import Refusal

_logger = logging.getLogger(__name__)

NEUTRALIZED = _lt("This database is a neutralized copy. Switch this on first to use it from here.")
LOOKED_AT = 200  # secrets of each kind that a look at the health tries to open


class SecretMixin(models.AbstractModel):
    """Write-only inputs over encrypted stores.

    A model pairs an input `secret` (computed to ``""``, its inverse skips empty values) with a store
    `secret_encrypted` (``groups=fields.NO_ACCESS``, ``copy=False``): people write it, nobody reads it back.
    """

    _name = "woow_paas_platform.secret.mixin"
    _description = "Secrets Mixin"
    _inherit = ["woow_paas_platform.audited.mixin"]

    secret_problem = fields.Char(
        "Unreadable Secrets",
        compute="_compute_secret_problem",
        compute_sudo=True,
        exportable=False,
    )

    def _blank_secrets(self, *names):
        for record in self:
            for name in names:
                record[name] = ""

    def _store_secret(self, name):
        for record in self:
            if value := record[name]:
                # sudo: the store is readable by nobody; who may write the record may replace its secret
                record.sudo()[f"{name}_encrypted"] = self._encrypted(value)
                record._record_act("secret_entered", secret=name)

    @api.model
    def _encrypted(self, value):
        """:raises Refusal: the operator's key is not valid"""
        try:
            return vault.encrypt(value)
        except SecretKeyInvalid as error:
            raise Refusal(sentences.translated(self.env, str(error)), error.code) from error

    @api.model
    def _is_neutralized(self):
        # sudo: ir.config_parameter - whether Odoo has neutralised this copy
        Parameter = self.env["ir.config_parameter"].sudo()
        return bool(Parameter.get_param("database.is_neutralized"))

    def _check_copy(self):
        """:raises ConfigError: this is a neutralized copy of a database, and nobody has switched it on there"""
        if not self.active and self._is_neutralized():
            raise ConfigError(NEUTRALIZED)

    # ------------------------------------------------------------ what secrets were entered for

    def _secret_facts(self):
        """Facts that each secret was entered for: once they change, the secret is void.

        :return: ``{name: anything that compares}``, of inputs and of what else `_forget_secrets` knows
        """
        self.ensure_one()
        return {}

    def write(self, vals):
        """Void the secrets that would be sent elsewhere or change hands, unless they are entered again."""
        before = self._facts_of_secrets()
        result = super().write(vals)
        self._forget_moved(before, {name for name in vals if vals[name]})
        return result

    def _facts_of_secrets(self):
        # sudo: what it was is compared with what it is, and shown to nobody
        return {record: record.sudo()._secret_facts() for record in self}

    def _forget_moved(self, before, entered=()):
        """The one place that decides which secrets are void now.

        :param before: `_facts_of_secrets` of then
        :param entered: names of the secrets that came with the change
        """
        for record, facts in before.items():
            if moved := record._moved_secrets(facts) - set(entered):
                held = record._held_secrets() & moved
                record._forget_secrets(moved)
                for name in sorted(held):
                    record._record_act("secret_removed", secret=name)

    def _moved_secrets(self, facts):
        now = self.sudo()._secret_facts()  # sudo: see `_facts_of_secrets`
        return {name for name, fact in facts.items() if now.get(name) != fact}

    def _held_secrets(self):
        """Names of the secrets that are stored, of those in `_secret_facts`."""
        self.ensure_one()
        record = self.sudo()  # sudo: that there is one is known to who manages the record
        names = {name for name in record._secret_facts() if f"{name}_encrypted" in record}
        return {name for name in names if record[f"{name}_encrypted"]}

    def _warn_of_move(self):
        """Warn in the form that secrets are about to stay behind.

        :return: as an onchange answers
        """
        before = self._origin
        if not before:
            return None
        moved = self._moved_secrets(before.sudo()._secret_facts()) & before._held_secrets()
        if not any(name not in self or not self[name] for name in moved):
            return None
        warning = {
            "type": "notification",
            "title": self.env._("Enter the secrets again"),
            "message": self.env._(
                "Keys, headers and sign-ins are not carried over to a new address or owner. Enter the current ones."
            ),
        }
        return {"warning": warning}

    def _forget_secrets(self, names):
        stores = [f"{name}_encrypted" for name in names]
        # sudo: the stores are readable by nobody; emptied only
        self.sudo().write({store: False for store in stores if store in self})

    def _read_secret(self, name):
        """:raises SecretUnreadable: the operator's key does not open it"""
        self.ensure_one()
        try:
            # sudo: the store is readable by nobody; callers hand the value to the engine, never to a client
            return vault.decrypt(self.sudo()[f"{name}_encrypted"])
        except SecretUnreadable:
            _logger.warning("%s of %s does not decrypt with the current key.", name, self)
            raise

    # ------------------------------------------------------------ another key than they were encrypted with

    @api.depends(lambda self: [name for name in self._fields if name.endswith("_encrypted")])
    @api.depends_context("lang")
    def _compute_secret_problem(self):
        stores = [name for name in self._fields if name.endswith("_encrypted")]
        for record in self:
            closed = [name for name in stores if not vault.opens(record[name])]
            record.secret_problem = record._sentence_of_closed(closed) if closed else False

    def _sentence_of_closed(self, stores):
        inputs = (self._fields.get(name.removesuffix("_encrypted")) for name in stores)
        labels = [field._description_string(self.env) for field in inputs if field]
        return self.env._(
            "These stored secrets were encrypted with a different secret key and cannot be read: "
            "%(secrets)s. Enter them again, or ask the operator to add the previous key to secret_key.",
            secrets=", ".join(labels) or self.display_name,
        )

    @api.model
    def _stored_secrets(self):
        """Each column that holds secrets: (model, name of the field)."""
        for model in self.env.values():
            if not model._abstract and model._auto and isinstance(model, SecretMixin):
                for name in model._fields:
                    if name.endswith("_encrypted"):
                        yield model, name

    @api.model
    def _count_unreadable(self):
        """Count the stored secrets that no key opens, of the newest `LOOKED_AT` of each kind."""
        count = 0
        for model, name in self._stored_secrets():
            column, table = SQL.identifier(name), SQL.identifier(model._table)
            newest = SQL(
                "SELECT %s FROM %s WHERE %s <> '' ORDER BY id DESC LIMIT %s",
                column,
                table,
                column,
                LOOKED_AT,
            )
            count += sum(not vault.opens(token) for (token,) in self.env.execute_query(newest))
        return count

    @api.model
    def _rotate_secrets(self):
        """Encrypt each stored secret of the database with the newest key.

        :return: (how many were, “table.column id” of those that no key opens)
        """
        done, failed = 0, []
        for model, name in self._stored_secrets():
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
