from ast import literal_eval

from odoo import models

from ...services.openapi import recall
from ...tools.refusals import BadInput, NotThere


class ActionType(models.Model):
    """The record that an action type is about, and the values that it fixes."""

    _inherit = "woow_paas_platform.action_type"

    def _identity_names(self):
        names_ = (name.strip() for name in (self.identity_fields or "").split(","))
        return [name for name in names_ if name]

    def _find_record(self, identity):
        """The one record that is meant, under the caller's own rights.

        :param identity: what came as ``unique_identity``
        :raises Refusal: 400 with the details, 404
        """
        self.ensure_one()
        wanted = self._identity_names()
        missing = [name for name in wanted if identity.get(name) in (None, "")]
        wrong = [name for name, value in identity.items() if isinstance(value, dict | list)]
        unknown = sorted(identity.keys() - set(wanted))
        if missing or wrong or unknown:
            raise BadInput(
                self.env._(
                    "The unique_identity must have a value for each of: %(names)s.",
                    names=", ".join(wanted),
                ),
                "invalid_identity",
                missing=missing,
                invalid=wrong,
                unknown=unknown,
            )
        gone = NotThere(self.env._("This object does not exist."))
        Model = self.env[self.model]
        if not Model.has_access("read"):
            raise gone
        try:
            leaves = [
                (name, "=", self._identity_value(Model._fields[name], identity[name]))
                for name in wanted
            ]
        except ValueError as error:
            raise gone from error
        found = Model.search(leaves, limit=2)
        if not found:
            raise gone
        if len(found) > 1:
            raise BadInput(
                self.env._("More than one object has this unique_identity."),
                "ambiguous_identity",
                fields=wanted,
            )
        return found

    def _identity_value(self, field, value):
        if field.type in ("integer", "many2one") or field.name == "id":
            number = int(value)
            if not 0 <= number < 2**31:
                raise ValueError(value)
            return number
        return value

    def _applies_to(self, record):
        return bool(record.filtered_domain(literal_eval(self.domain or "[]")))

    def _fixed(self, record, account=None):
        """The fixed values for a record, read with the rights of the record's environment.

        :param account: the caller's ``x-account-*`` headers, for operations that ask for them
        :return: ({(location, name): value}, names of those that the record has nothing for)
        """
        self.ensure_one()
        # sudo: action_parameter - the recipe is the administrator's, the record is read as the caller
        lines = self.sudo().parameter_ids
        slots = {(slot.location, slot.name): slot for slot in self.sudo()._slots()}
        fixed, empty = {}, []
        for line in lines.filtered(lambda p: p.source != "dynamic"):
            value = line._fixed_value(record)
            slot = slots.get(line._slot)
            if value is None:
                empty.append(line)
            else:
                fixed[line._slot] = recall.fitting(value, slot.schema if slot else {})
        for location, name in slots:
            lower = name.lower()
            if location == "header" and lower in (account or {}):
                fixed.setdefault((location, name), account[lower])
        required_empty = [
            line.name for line in empty if line._slot in slots and slots[line._slot].required
        ]
        return fixed, required_empty
