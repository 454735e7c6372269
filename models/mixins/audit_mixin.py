from odoo import api, models
from odoo.exceptions import AccessError
from odoo.models import MAGIC_COLUMNS
from odoo.tools import hmac

WORDS = ("char", "text", "html", "json", "binary", "properties")


class AuditMixin(models.AbstractModel):
    """Acts on a record that the audit log keeps; see `models/governance/audit_entry.py`."""

    _name = "woow_paas_platform.audit.mixin"
    _description = "Audit Mixin"

    @api.model
    def _audit_digest(self, value):
        """Digest of words or a person, which nobody without the database's own secret can guess at."""
        # sudo: ir.config_parameter - the secret of the database, which leaves no trace but in the digest
        return hmac(self.sudo().env, "woow_ai_audit", str(value))[:16]

    def _record_act(self, act, /, **codes):
        """Record an act in the audit log, in this transaction: a row for each record, one if there is no model.

        :param act: a key of `ACTS`
        :param codes: JSON without words; users become pseudonyms, other records ids
        """
        self.env["woow_paas_platform.audit_entry"]._record_act(act, self, **codes)


class AuditedMixin(models.AbstractModel):
    """A record of configuration: the audit log keeps who made, changed and deleted it.

    A change is told by the values of its fields, of those that people set: ids and codes, of words digests.
    """

    _name = "woow_paas_platform.audited.mixin"
    _description = "Audited Mixin"
    _inherit = ["woow_paas_platform.audit.mixin"]

    _audited_acts = {"create": "created", "write": "changed", "unlink": "deleted"}

    def _is_audited(self):
        """True if the log tells of the record: not while it is installed or upgraded with the app. A hook."""
        return self.env.registry.ready

    def _audit_codes(self):
        """Codes of the record when it is made and deleted. A hook."""
        return {}

    @api.model_create_multi
    def create(self, vals_list):
        records = super().create(vals_list)
        if act := self._audited_acts.get("create"):
            for record in records.sudo().filtered(
                lambda one: one._is_audited()
            ):  # sudo: for the log
                record._record_act(act, **record._audit_codes())
        return records

    def write(self, vals):
        act = self._audited_acts.get("write")
        names = self._audited_names(vals) if act else []
        if not names:
            return super().write(vals)
        # sudo: what it was is compared with what it is, and goes to the log
        records = self.sudo()
        before = [[record[name] for name in names] for record in records]
        result = super().write(vals)
        for record, values in zip(records, before, strict=True):
            changed = {
                name: [record._audit_value(name, value), record._audit_value(name, record[name])]
                for name, value in zip(names, values, strict=True)
                if value != record[name]
            }
            if changed and record._is_audited():
                record._record_act(act, **changed)
        return result

    def unlink(self):
        act = self._audited_acts.get("unlink")
        # sudo: its codes, for the log
        records = self.sudo().filtered(lambda one: one._is_audited()) if act else []
        gone = [(record, record._audit_codes()) for record in records]
        result = super().unlink()
        for record, codes in gone:
            record._record_act(act, **codes)
        return result

    @api.model
    def _audited_names(self, names):
        """Names of the fields among these that people set, without lists of lines, which are records of their own."""
        fields = [self._fields[name] for name in sorted(names) if name in self._fields]
        return [
            field.name
            for field in fields
            if (field.store or field.inherited) and not field.readonly and field.type != "one2many"
            if field.name not in MAGIC_COLUMNS
        ]

    def _audit_value(self, name, value):
        field = self._fields[name]
        if field.type in WORDS:
            return self._audit_digest(value) if value else None
        return value


class AppendOnlyMixin(models.AbstractModel):
    """Rows that nobody makes, changes or deletes over the ORM, not even Odoo itself."""

    _name = "woow_paas_platform.append_only.mixin"
    _description = "Append-Only Mixin"

    # pylint: disable=method-required-super,no-raise-unlink

    @api.model_create_multi
    def create(self, vals_list):
        raise self._append_only()

    def write(self, vals):
        raise self._append_only()

    def unlink(self):
        raise self._append_only()

    def _write(self, vals):
        raise self._append_only()

    def _append_only(self):
        return AccessError(self.env._("The audit log cannot be changed."))
