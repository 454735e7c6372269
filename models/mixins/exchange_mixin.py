import uuid

from odoo import api, fields, models
from odoo.tools import SQL

from ...services.versions.exchange import Shape
from ...tools.refusals import Refusal

KINDS = {
    "char": "text",
    "text": "text",
    "boolean": "switch",
    "integer": "whole",
    "float": "number",
    "selection": "choice",
    "many2one": "reference",
    "many2many": "references",
}


class ExchangeMixin(models.AbstractModel):
    """A record that a configuration file brings from one database into another, known by an id that stays.

    A model names the fields that travel in `_exchanged`; secrets never do. The hooks below say more.
    """

    _name = "woow_paas_platform.exchange.mixin"
    _description = "Configuration Exchange Mixin"

    _exchanged = ()

    exchange_id = fields.Char(
        "Configuration ID",
        default=lambda _self: str(uuid.uuid4()),
        readonly=True,
        copy=False,
        help="Identifies the record in configuration files, in each database.",
    )

    _exchange_id_unique = models.UniqueIndex(
        "(exchange_id)", "Another record already has this configuration ID."
    )

    def _init_column(self, column_name):
        """Records that are there already get the same ids in each copy of their database."""
        if column_name != "exchange_id":
            return super()._init_column(column_name)
        self.env.cr.execute(
            SQL(
                "UPDATE %s SET exchange_id = md5(concat_ws('/', %s, id, create_date))::uuid"
                " WHERE exchange_id IS NULL",
                SQL.identifier(self._table),
                self._table,
            )
        )
        return None

    # ------------------------------------------------------------ out

    @api.model
    def _exchange_shapes(self):
        """Shapes of the fields of an entry. A hook."""
        shapes = {name: shape_of(self, name) for name in self._exchanged}
        if "company_id" in self._fields:
            shapes["company"] = Shape("text")
        if hasattr(self, "_held_secrets"):
            shapes["secrets"] = Shape("names")
        return shapes

    def _exchange_data(self):
        """Entry of the record in a configuration file; of its secrets only names. A hook."""
        self.ensure_one()
        record = self.with_context(lang=None, active_test=False)
        data = {name: value_of(record, name) for name in self._exchanged}
        if "company_id" in self._fields:
            data["company"] = record.company_id.name or ""
        if hasattr(self, "_held_secrets"):
            data["secrets"] = sorted(record._held_secrets())
        return {"id": record.exchange_id, **data}

    def _exchange_key(self):
        """Id by which entries refer to the record. A hook."""
        return self.exchange_id

    # ------------------------------------------------------------ in

    @api.model
    def _exchange_find(self, key):
        """Record with this key, none where there is no such; also one that the caller may not read. A hook."""
        # sudo: found to be refused where the caller may not write it
        every = self.sudo().with_context(active_test=False)
        return every.search([("exchange_id", "=", key)], limit=1).sudo(False)

    @api.model
    def _exchange_check(self, entry):
        """Refuse values that no database takes. A hook.

        :raises EngineError: the whole file is refused
        """

    def _exchange_fit(self, entry, coming):
        """The entry as this database can take it. A hook.

        :param self: the record that is there, or none
        :param coming: keys of what the same file brings, by model
        :return: (entry, sentences about what is left out or has to be entered)
        :raises Refusal: the entry cannot be taken at all
        """
        entry, notes = {**entry}, []
        if self and not self.has_access("write"):
            raise Refusal(self.env._("You may not change it: it belongs to another company."))
        installed = {"en_US", *(code for code, _name in self.env["res.lang"].get_installed())}
        for name in self._exchanged:
            field, value = self._fields[name], entry[name]
            if field.translate:
                entry[name] = {lang: said for lang, said in value.items() if lang in installed}
            elif field.type == "many2one" and value:
                if not self._is_here(field.comodel_name, value["id"], coming):
                    if field.required:
                        raise self._lacks(value["name"])
                    entry[name] = None
                    notes.append(self._left_out([value["name"]]))
            elif field.type == "many2many":
                entry[name] = self._those_here(name, value, coming, notes)
        if not self and entry.get("company"):
            notes.append(
                self.env._("It will belong to “%(company)s”.", company=self.env.company.name)
            )
        return entry, notes

    @api.model
    def _exchange_expects(self, key, coming):
        """True if there is a record with this key, or will be after the import. A hook."""
        return key in coming.get(self._name, ()) or bool(self._exchange_find(key))

    @api.model
    def _is_here(self, model, key, coming):
        if model == "res.groups":
            return bool(found(self.env, model, key))
        return self.env[model]._exchange_expects(key, coming)

    @api.model
    def _those_here(self, name, value, coming, notes):
        """References of a field that lead somewhere; sentences about the others are added to the notes."""
        model = self._fields[name].comodel_name
        here = [one for one in value if self._is_here(model, one["id"], coming)]
        if gone := [one["name"] for one in value if one not in here]:
            if model == "res.groups":  # with fewer groups it would be offered to others
                raise self._lacks(", ".join(gone))
            notes.append(self._left_out(gone))
        return here

    def _lacks(self, name):
        return Refusal(self.env._("It needs “%(name)s”, which is not here.", name=name))

    def _left_out(self, names):
        return self.env._("Left out, since it is not here: %(names)s.", names=", ".join(names))

    @api.model
    def _exchange_create(self, entry):
        """Make a record of what does not refer to others, but for what is required."""
        names = [
            name
            for name in self._exchanged
            if self._fields[name].type not in ("many2one", "many2many")
            or self._fields[name].required
        ]
        vals = self._exchange_vals(entry, names)
        if entry.get("company"):
            vals["company_id"] = self.env.company.id
        return self._exchange_made(self.create(vals), entry)

    @api.model
    def _exchange_made(self, record, entry):
        # sudo: readonly for people; the caller has just made the record
        record.sudo().exchange_id = entry["id"]
        return record

    def _exchange_write(self, entry, changed):
        """Give the record these values. A hook.

        :param changed: names of the fields that differ
        """
        self.ensure_one()
        if vals := self._exchange_vals(entry, changed):
            self.write(vals)
        for name in changed:
            if name in self._fields and self._fields[name].translate and entry[name]:
                self.update_field_translations(name, {**entry[name]})

    @api.model
    def _exchange_vals(self, entry, names):
        vals = {}
        for name in names:
            field, value = self._fields[name], entry[name]
            if field.translate:
                value = value.get("en_US", False)
            elif field.type == "many2one":
                value = value and found(self.env, field.comodel_name, value["id"]).id
            elif field.type == "many2many":
                here = [found(self.env, field.comodel_name, one["id"]).id for one in value]
                value = [fields.Command.set(here)]
            elif value == "":
                value = False
            vals[name] = value
        return vals

    # ------------------------------------------------------------ in words

    @api.model
    def _exchange_label(self, name):
        """Label of a field of an entry. A hook."""
        return self._fields[name]._description_string(self.env)

    @api.model
    def _exchange_words(self, name, value):
        """Value of a field of an entry as text to read, in lines. A hook."""
        if isinstance(value, bool):
            return self.env._("Yes") if value else self.env._("No")
        if not value and value != 0:
            return ""
        if isinstance(value, dict) and value.keys() == {"id", "name"}:
            return value["name"]
        if isinstance(value, dict):
            return "\n".join(f"{key}: {said}" for key, said in sorted(value.items()))
        if isinstance(value, list):
            return "\n".join(one["name"] if isinstance(one, dict) else one for one in value)
        field = self._fields.get(name)
        if field and field.type == "selection":
            return dict(field._description_selection(self.env)).get(value, value)
        return str(value)


def shape_of(model, name):
    """`Shape` of a field in an entry."""
    field = model._fields[name]
    is_required = bool(field.required)
    if field.translate:
        return Shape("words", is_required=is_required)
    choices = ()
    if field.type == "selection":
        values = field.get_values(model.env)
        choices = tuple(values) if is_required else ("", *values)
    return Shape(KINDS[field.type], choices, is_required=is_required)


def value_of(record, name):
    """Value of a field in an entry."""
    field, value = record._fields[name], record[name]
    if field.translate:
        return field._get_stored_translations(record) or {}
    if field.type == "many2one":
        return reference(value) if value else None
    if field.type == "many2many":
        return sorted(map(reference, value), key=lambda one: one["id"])
    if field.type in ("char", "text", "selection"):
        return value or ""
    return value


def reference(record):
    """``{"id", "name"}`` of a record that an entry refers to; of a group, its external id."""
    if record._name == "res.groups":
        # sudo: res.groups - the name of a group that the caller has chosen
        name = record.sudo().display_name
        return {"id": record.get_external_id()[record.id] or "-", "name": name}
    return {"id": record._exchange_key(), "name": record.display_name}


def found(env, model, key):
    """The record to which `reference` referred, none where there is no such."""
    if model != "res.groups":
        return env[model]._exchange_find(key)
    group = env.ref(key, raise_if_not_found=False) if "." in key else None
    return group if group and group._name == model else env[model]
