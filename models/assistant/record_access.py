"""Record access of an assistant: what it may do with one model, always within the user's own rights."""

import collections
import dis
import functools
import inspect
import re

from odoo import api, fields, models, tools
from odoo.exceptions import ValidationError

from ...services.records import actions, deny_list
from ...services.records.catalog import Access
from ...services.records.errors import unknown

FLAGS = {
    "can_create": "create",
    "can_update": "update",
    "can_archive": "archive",
    "can_delete": "delete",
    "can_message": "message",
    "can_schedule": "activity",
}
PRESETS = {  # the first model tells whether the application is installed
    "contacts": ("res.partner", "res.partner.category"),
    "crm": ("crm.lead", "crm.stage", "crm.team", "crm.tag", "res.partner"),
    "sales": (
        "sale.order",
        "sale.order.line",
        "product.product",
        "product.template",
        "res.partner",
    ),
    "invoices": ("account.move", "account.move.line", "product.product", "res.partner"),
    "purchase": ("purchase.order", "purchase.order.line", "product.product", "res.partner"),
    "projects": ("project.project", "project.task", "project.task.type", "project.tags"),
    "stock": ("stock.picking", "stock.move", "stock.quant", "product.product"),
    "calendar": ("calendar.event",),
    "employees": ("hr.employee", "hr.department", "hr.job"),
    "timeoff": ("hr.leave", "hr.leave.type"),
}

MAX_LISTED = 40  # fields of one sentence
CALLS = 5  # methods that call each other and are looked into for what a field is computed from
MAX_NAME = 200  # characters of a text in code that may name fields
_SQL = re.compile(r"\b(SELECT|FROM|WHERE|JOIN)\b")


class RecordAccess(models.Model):
    _name = "woow_paas_platform.record_access"
    _description = "Record Access"
    _order = "assistant_id, sequence, id"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _rec_name = "model"

    assistant_id = fields.Many2one("ai.assistant", required=True, ondelete="cascade", index=True)
    sequence = fields.Integer(default=10)
    model = fields.Selection("_selection_model", required=True)
    can_create = fields.Boolean("Create")
    can_update = fields.Boolean("Update")
    can_archive = fields.Boolean("Archive")
    can_delete = fields.Boolean("Delete")
    can_message = fields.Boolean("Post Messages")
    can_schedule = fields.Boolean("Schedule Activities")
    can_act = fields.Boolean(
        "Run Standard Actions",
        help="Steps of Odoo's own buttons, such as confirming an order or posting an invoice.",
    )
    standard_actions = fields.Char(
        compute="_compute_standard_actions",
        help="Actions of Odoo that the assistant can be allowed to run.",
    )
    policy = fields.Selection(
        [("ask", "Ask first"), ("auto", "Run")],
        "Changes",
        required=True,
        default="ask",
        help="“Run” changes records without asking the user, except for what cannot be taken back after the "
        "assistant has read other people's content.",
    )
    hidden_fields = fields.Char(
        help="Technical names of fields that the assistant never sees, separated by commas."
    )
    also_hidden = fields.Char(
        compute="_compute_also_hidden",
        help="What else hiding these fields hides, because it is computed from them, and fields of the same name that "
        "stay visible.",
    )
    action_ids = fields.Many2many(
        "ir.actions.server",
        "woow_record_access_action_rel",
        "access_id",
        "action_id",
        "Released Actions",
        domain="[('model_name', '=', model)]",
        groups="base.group_system",
        help="Server actions that the assistant may run on these records.",
    )

    _model_unique = models.Constraint(
        "UNIQUE (assistant_id, model)", "The assistant already has this model."
    )

    @api.depends("model")
    def _compute_standard_actions(self):
        for access in self:
            access.standard_actions = ", ".join(actions.ACTIONS.get(access.model, ()))

    @api.model
    def _selection_model(self):
        """Every model that can be chosen at all, with its label."""
        # sudo: ir.model - what administrators choose from, in one query
        names = {one.model: one.name for one in self.env["ir.model"].sudo().search([])}
        options = [
            (name, f"{names.get(name) or model._description} ({name})")
            for name, model in self.env.items()
            if not (model._abstract or model._transient or deny_list.is_denied(name))
        ]
        return sorted(options, key=lambda option: option[1].lower())

    @api.depends(
        "model",
        "hidden_fields",
        "assistant_id.record_access_ids.model",
        "assistant_id.record_access_ids.hidden_fields",
    )
    def _compute_also_hidden(self):
        for access in self:
            access.also_hidden = access._told_of_hidden()

    def _told_of_hidden(self):
        """Hidden fields of the models that the assistant has; others are out of its reach anyway."""
        hidden = {name for name in self._hidden() if name in self._known_fields()}
        if not hidden:
            return False
        lines = self.assistant_id.record_access_ids
        chosen = {self.model, *(line.model for line in lines if line.model in self.env)}
        closed = self._closed_fields(frozenset((self.model, name) for name in hidden))
        also = [
            self._path(model, name)
            for model in sorted(chosen & closed.keys(), key=lambda name: (name != self.model, name))
            for name in sorted(closed[model])
            if (model, name) not in {(self.model, one) for one in hidden}
        ]
        elsewhere = set(also) | {
            self._path(line.model, name) for line in lines for name in line._hidden()
        }
        labels = {self._known_fields()[name].string for name in hidden}
        alike = [
            self._path(model, name)
            for model in sorted(chosen - {self.model})
            for name, field in self.env[model]._fields.items()
            if (name in hidden or field.string in labels)
            and self._path(model, name) not in elsewhere
        ]
        _ = self.env._
        told = []
        if also:
            told.append(_("Hides also: %(fields)s.", fields=self._listed(also)))
        if alike:
            told.append(_("Stay visible: %(fields)s.", fields=self._listed(alike)))
        return " ".join(told) or False

    def _known_fields(self):
        return self.env[self.model]._fields if self.model in self.env else {}

    def _path(self, model, name):
        return name if model == self.model else f"{model}.{name}"

    def _listed(self, names):
        more = len(names) - MAX_LISTED
        listed = ", ".join(names[:MAX_LISTED])
        if more > 0:
            return self.env._("%(fields)s and %(count)s more", fields=listed, count=more)
        return listed

    @api.constrains("model")
    def _check_model(self):
        options = dict(self._selection_model())
        for access in self.filtered(lambda line: line.model not in options):
            raise ValidationError(
                self.env._("Assistants can never use the model “%(model)s”.", model=access.model)
            )

    @api.constrains("model", "hidden_fields")
    def _check_hidden_fields(self):
        for access in self.filtered(lambda line: line.model in self.env):
            for name in access._hidden() - self.env[access.model]._fields.keys():
                raise ValidationError(str(unknown("field", name, self.env[access.model]._fields)))

    @api.constrains("model", "action_ids")
    def _check_actions(self):
        # sudo: ir.actions.server - code that an administrator releases here, read to be checked
        for access in self.sudo():
            for action in access.action_ids:
                if action.model_name != access.model:
                    raise ValidationError(
                        self.env._(
                            "The action “%(action)s” belongs to another model.", action=action.name
                        )
                    )
                if _commits(action):
                    raise ValidationError(
                        self.env._(
                            "The action “%(action)s” commits or opens a cursor by itself, so it cannot be released.",
                            action=action.name,
                        )
                    )

    @api.model
    @tools.ormcache("hidden", "group_ids")
    def _closed_to_groups(self, hidden, group_ids):
        """`_closed_fields` of what is hidden, of secrets, and of what the groups of this user do not show."""
        closed = {
            field
            for model in self.env.values()
            if not model._abstract
            for field in model._fields.values()
            if deny_list.is_secret(field.name)
            or (field.groups and not model._has_field_access(field, "read"))
        }
        return _by_model(self._telling(closed, ()) | self._telling_of_hidden(hidden))

    @api.model
    @tools.ormcache("hidden")
    def _closed_fields(self, hidden):
        """Fields that disclose hidden ones: those that depend on them, over all models, and inverses.

        A record's name is none of it, see `_out_of_names`.

        :param hidden: a frozenset of ``(model, field)``
        :return: ``{model: frozenset of fields}``
        """
        return _by_model(self._telling_of_hidden(hidden))

    @api.model
    @tools.ormcache("hidden")
    def _out_of_names(self, hidden):
        """Fields that names of records are made without, and what leads them to hidden ones, as `_closed_fields`."""
        telling = self._telling_of_hidden(hidden)
        if not telling:
            return {}
        by_model = dict(tools.groupby(telling, lambda field: field.model_name))
        spoken_of = self._computed_with()

        def is_told(name, step):
            """True if a step on the way to what a name is made of tells what is hidden."""
            return step in telling or any(
                name in spoken_of.get(one.name, ()) for one in by_model.get(step.comodel_name, ())
            )

        def is_name_told(step):
            return (
                step.relational and self.env[step.comodel_name]._fields["display_name"] in telling
            )

        leading = set()
        for model in self.env.values():
            if model._abstract:
                continue
            name = model._fields["display_name"]
            for path in self.env.registry.field_depends[name]:
                steps = self._steps(model._name, path)
                if any(is_told(name, step) or is_name_told(step) for step in steps):
                    leading.add(model._fields[path.partition(".")[0]])
            # Of a record and the one above it code speaks alike: there, what the name depends on is all that tells.
            leading |= {
                one
                for one in model._fields.values()
                if one.relational and one.comodel_name != model._name
                if name in spoken_of.get(one.name, ()) and is_told(name, one)
            }
        return _by_model(telling | leading)

    @api.model
    @tools.ormcache("hidden")
    def _telling_names(self, hidden):
        """:return: the models whose records' names may tell something of hidden fields"""
        telling = self._telling_of_hidden(hidden)
        return frozenset(field.model_name for field in telling if field.name == "display_name")

    @api.model
    def _telling_of_hidden(self, hidden):
        fields_of_all = {
            self.env[model]._fields[name]
            for model, name in hidden
            if name in self.env[model]._fields  # of a module that is gone
        }
        return self._telling(fields_of_all, {field.model_name for field in fields_of_all})

    @api.model
    def _telling(self, closed, read_by_code):
        """
        :param read_by_code: models of whose closed fields also code may tell that says nothing of it to Odoo
        """
        registry = self.env.registry
        triggers = registry._field_triggers
        todo, found, ends = list(closed), set(closed), set()
        while todo:
            field = todo.pop()
            using = {one for paths in triggers.get(field, {}).values() for one in paths}
            if field.relational:
                inverses = set(registry.field_inverses[field])
                # Whose lines are hidden: a line must not say so either, yet what else it says is its own.
                ends |= (single := {one for one in inverses if one.type == "many2one"})
                using |= inverses - single
            if read_by_code:
                by_code = self._read_by_code_of(field, read_by_code)
                # Names are told without what their code reads, so what is made of such names tells nothing.
                ends |= (names := {one for one in by_code - using if one.name == "display_name"})
                ends |= {
                    one
                    for one in self._computed_with()["display_name"]
                    if names and self._leads_anywhere(one)
                }
                using |= by_code - names
            todo += using - found
            found |= using
        return found | ends

    @api.model
    def _read_by_code_of(self, field, read_by_code):
        """Fields whose code may read this one without saying so.

        :param read_by_code: as `_telling` has it
        """
        is_read = field.model_name in read_by_code or field.related
        return {
            one
            for one, models in self._computed_with().get(field.name, {}).items()
            if one.name != self.env[one.model_name]._rec_name
            and (self._leads_anywhere(one) or (is_read and field.model_name in models))
        }

    @api.model
    @tools.ormcache()
    def _computed_with(self):
        """``{name: {field: models}}`` of fields whose code may speak of a field of this name of one of these models."""
        found = collections.defaultdict(dict)
        for model in self.env.values():
            if model._abstract or model._transient:
                continue
            for field in model._fields.values():
                for name, of_models in self._spoken_of(model, field).items():
                    found[name][field] = of_models
        return dict(found)

    def _spoken_of(self, model, field):
        """``{name: models}`` of names in the code of a field, with the models to which it may mean a field.

        Those are its own and those that it depends on. What is not said to depend on anything, such as a search, may
        lead to all of which it speaks.
        """
        depends = {one.comodel_name for one in self._depends_steps(field)} - {None}
        is_silent = not self.env.registry.field_depends[field]
        # Odoo itself follows the path of a related field; by their names, records are looked for by `RecordScope`.
        pieces = [(field.compute, is_silent), (field.name != "display_name" and field.search, True)]
        found = collections.defaultdict(set)
        for code, leads_on in pieces:
            if code and not (field.related and callable(code)):
                for name, models in self._spoken_in(model, code, depends, leads_on).items():
                    found[name] |= models
        if field.type in ("one2many", "many2many"):  # whose records are those that match it
            for name in _names_in_domain(field.domain):
                found[name] |= {model._name, field.comodel_name}
        return {name: frozenset(models) for name, models in found.items()}

    def _spoken_in(self, model, code, leading, leads_on):
        """
        :param leading: models to which it leads
        :param leads_on: whether it leads to all of which it speaks, too
        """
        names = _spoken_in([type(model)], code).keys()
        leading = leading | {
            one._name for one in self.env.values() if one._table in names
        }  # by SQL
        if leads_on:
            leading |= self.env.registry.keys() & names
            relations = (one for name, one in model._fields.items() if name in names)
            leading |= {one.comodel_name for one in relations if one.relational}
        others = (type(self.env[one]) for one in sorted(leading - {model._name}))
        found = _spoken_in([type(model), *others], code)
        return {
            name: models | leading if model._name in models else models
            for name, models in found.items()
        }

    @api.model
    def _leads_anywhere(self, field):
        """True if what a field depends on leads to records of any model, as of an activity."""
        return any(step.type == "many2one_reference" for step in self._depends_steps(field))

    @api.model
    def _depends_steps(self, field):
        for path in self.env.registry.field_depends[field]:
            yield from self._steps(field.model_name, path)

    @api.model
    def _steps(self, model, path):
        for name in path.split("."):
            field = self.env[model]._fields[name]
            yield field
            model = field.comodel_name

    def _hidden(self):
        return {name.strip() for name in (self.hidden_fields or "").split(",") if name.strip()}

    def _access(self):
        """:return: `services.records.catalog.Access`"""
        self.ensure_one()
        operations = {"read", *(name for flag, name in FLAGS.items() if self[flag])}
        released = dict.fromkeys(actions.ACTIONS.get(self.model, ()) if self.can_act else (), 0)
        released |= {action.name: action.id for action in self.action_ids if not _commits(action)}
        if released:
            operations.add("action")
        return Access(
            model=self.model,
            operations=frozenset(operations),
            hidden=frozenset(self._hidden()),
            asks=self.policy != "auto",
            actions=released,
        )


def _by_model(fields_of_all):
    by_model = tools.groupby(fields_of_all, lambda field: field.model_name)
    return {
        model: frozenset(field.name for field in some if field.name != "display_name")
        for model, some in by_model
    }


def _spoken_in(classes, method):
    """``{name: models}`` of names of which a method speaks, and those that it calls, with the models whose they are.

    :param classes: of its model, and of the others
    """
    functions, found = [(classes[0]._name, one) for one in _functions(classes[0], method)], {}
    for _ in range(CALLS):
        called = set()
        for model, function in functions:
            for name in _names_of(function.__code__):
                if name not in found:
                    called.add(name)
                found.setdefault(name, set()).add(model)
        called -= vars(models.BaseModel).keys()
        functions = [
            (each._name, one)
            for each in classes
            for name in called
            for one in _functions(each, name)
        ]
    return found


def _names_in_domain(domain):
    """
    >>> sorted(_names_in_domain("[('stage_id.fold', '=', False)]"))
    ['False', 'fold', 'stage_id']
    """
    return (
        set(_names_of(domain.__code__))
        if callable(domain)
        else set(re.findall(r"\w+", str(domain)))
    )


def _functions(model_class, method):
    """All overrides of a method."""
    if callable(method):
        return [method] if hasattr(method, "__code__") else []
    if not isinstance(method, str):
        return []
    found = (vars(one).get(method) for one in model_class.__mro__ if one is not models.BaseModel)
    return [inspect.unwrap(one) for one in found if inspect.isfunction(one)]


def _parts(text):
    """
    >>> sorted(_parts("product_min_qty:min"))
    ['min', 'product_min_qty', 'product_min_qty:min']
    """
    return {text, *text.replace(":", ".").split(".")}


@functools.cache
def _names_of(code):
    # A name that is only written, such as that of the computed field itself, tells nothing.
    names = {
        one.argval
        for one in dis.get_instructions(code)
        if one.opcode in dis.hasname and one.opname != "STORE_ATTR"
    }
    for one in code.co_consts:
        if isinstance(one, str) and _SQL.search(one):
            names.update(re.findall(r"\w+", one))
        elif isinstance(one, str) and len(one) <= MAX_NAME:
            names.update(_parts(one))
        elif isinstance(one, tuple):
            names.update(part for item in one if isinstance(item, str) for part in _parts(item))
        elif inspect.iscode(one):
            names |= _names_of(one)
    return frozenset(names)


def _commits(action):
    """True if the code of an action, or of one that it runs, ends the transaction or leaves it."""
    code = (action.code or "").lower() if action.state == "code" else ""
    words = ("commit", "rollback", "cursor(")
    return any(word in code for word in words) or any(map(_commits, action.child_ids))
