import json
import logging
import uuid
from ast import literal_eval
from dataclasses import replace
from urllib.parse import quote

from odoo import api, fields, models
from odoo.exceptions import AccessError, ValidationError
from odoo.fields import Command, Domain

from ...services.errors import UnusableSchema
from ...services.openapi import recall
from ...services.openapi.recall import DEPTH
from ...services.turn import names
from ...tools import sentences
from ...tools.moments import utc
from ...tools.refusals import BadInput, Broken, NotThere

_logger = logging.getLogger(__name__)

MAX_CANDIDATES = 50  # records that are compared with the arguments of one direct call
MAX_RELATED = 200  # records of a to-many field that become a list of values

PREFIX = "/api/agent-retrieval/in/v1"
STRATEGY = "kn_action_recall"
ACCOUNT_HEADERS = ("x-account-id", "x-account-type")

UNSUPPORTED = "ErrExtActionRecallUnsupportedType"
TOOL_NOT_FOUND = "ErrExtActionRecallToolNotFound"
MCP_CALL_FAILED = "ErrExtActionRecallMCPCallFailed"
TOOL_CALL_FAILED = "ErrExtActionRecallToolCallFailed"
SCHEMA_FAILED = "ErrExtActionRecallSchemaConvertFailed"


class ActionType(models.Model):
    """An action type: a tool for the records of a model, and the arguments that the record fixes."""

    _name = "woow_paas_platform.action_type"
    _description = "Action Type"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _order = "network_id, sequence, name, id"

    name = fields.Char(required=True, translate=True)
    sequence = fields.Integer(default=10)
    active = fields.Boolean(
        default=True, help="Switching it off takes effect immediately, even for running turns."
    )
    at_id = fields.Char(
        "Action Type ID",
        required=True,
        copy=False,
        default=lambda self: str(uuid.uuid4()),
        help="Identifies the action type in the action recall API.",
    )
    description = fields.Text(
        translate=True, help="Shown to the model instead of the tool's own description."
    )
    network_id = fields.Many2one(
        "woow_paas_platform.knowledge_network", required=True, ondelete="cascade", index=True
    )
    model_id = fields.Many2one(
        "ir.model",
        "Applies To",
        required=True,
        ondelete="cascade",
        domain=[("transient", "=", False), ("abstract", "=", False)],
        groups="woow_paas_platform.group_admin",
    )
    model = fields.Char(related="model_id.model", store=True, index=True, string="Model")
    identity_fields = fields.Char(
        "Identified By",
        required=True,
        default="id",
        help="Fields of unique_identity, separated by commas, such as id or ref, company_id.",
    )
    domain = fields.Char(
        "Record Filter",
        help="The action is only offered for records that match this filter.",
        default="[]",
    )
    source = fields.Selection(
        [
            ("mcp", "MCP tool"),
            ("tool", "Toolbox operation"),
            ("manual", "Manual"),
        ],
        string="Action Source",
        required=True,
        default="mcp",
    )
    tool_id = fields.Many2one(
        "woow_paas_platform.mcp_tool",
        "MCP Tool",
        ondelete="cascade",
        index="btree_not_null",
        domain=[("server_id.scope", "=", "system")],
        context={"active_test": False},
        groups="woow_paas_platform.group_admin",
    )
    operation_id = fields.Many2one(
        "woow_paas_platform.toolbox_operation",
        "Toolbox Operation",
        ondelete="cascade",
        index="btree_not_null",
        context={"active_test": False},
        groups="woow_paas_platform.group_admin",
    )
    parameter_ids = fields.One2many(
        "woow_paas_platform.action_parameter",
        "action_id",
        "Parameters",
        copy=True,
        groups="woow_paas_platform.group_admin",
    )

    _at_id_unique = models.Constraint(
        "UNIQUE (network_id, at_id)", "Another action type in this network already uses this ID."
    )
    _source_complete = models.Constraint(
        "CHECK ((source <> 'mcp' OR tool_id IS NOT NULL)"
        " AND (source <> 'tool' OR operation_id IS NOT NULL))",
        "Choose the tool that the action calls.",
    )

    @api.constrains("domain", "model_id")
    def _check_domain(self):
        for action in self:
            try:
                Domain(literal_eval(action.domain or "[]")).validate(self.env[action.model])
            except (ValueError, SyntaxError, TypeError, KeyError) as error:
                raise ValidationError(
                    self.env._("The condition of “%(action)s” is not valid.", action=action.name)
                ) from error

    @api.constrains("tool_id")
    def _check_tool(self):
        """A server of one service or person, with its credential, serves nobody else."""
        for action in self:
            if action.tool_id and action.tool_id.server_id.scope != "system":
                raise ValidationError(self.env._("Choose a tool of a system MCP server."))

    @api.constrains("identity_fields", "model_id")
    def _check_identity(self):
        for action in self:
            known = self.env[action.model]._fields
            wanted = action._identity_names()
            wrong = [name for name in wanted if name not in known or not known[name].store]
            if wrong or not wanted:
                raise ValidationError(
                    self.env._(
                        "“%(names)s” are not stored fields of %(model)s.",
                        names=", ".join(wrong),
                        model=action.model_id.name,
                    )
                )

    @api.model_create_multi
    def create(self, vals_list):
        actions = super().create(vals_list)
        actions._offer_chat()
        return actions

    def write(self, vals):
        result = super().write(vals)
        if "model_id" in vals:
            self._offer_chat()
        return result

    def _offer_chat(self):
        """The action menu of the models' forms opens a chat about the record."""
        self.env["woow_paas_platform.service_link"]._offer_chat_on(set(self.mapped("model")))

    @api.onchange("source", "tool_id", "operation_id")
    def _onchange_source(self):
        """A line for each argument of the tool; lines that fit stay as they are."""
        try:
            slots = self._slots()
        except UnusableSchema as error:
            message = sentences.translated(self.env, str(error))
            return {"warning": {"title": self.env._("Tool"), "message": message}}
        known = {parameter._slot for parameter in self.parameter_ids}
        wanted = {(slot.location, slot.name) for slot in slots}
        self.parameter_ids = [
            *(
                Command.delete(line.id) if line._origin else Command.unlink(line.id)
                for line in self.parameter_ids
                if line._slot not in wanted
            ),
            *(
                Command.create(
                    {
                        "location": slot.location or False,
                        "name": slot.name,
                        "source": "dynamic",
                        "sequence": number,
                    }
                )
                for number, slot in enumerate(slots)
                if (slot.location, slot.name) not in known
            ),
        ]
        return None

    def action_try(self):
        """Choose a record and see what the model would get."""
        self.ensure_one()
        return {
            "type": "ir.actions.act_window",
            "name": self.env._("Try “%(action)s”", action=self.name),
            "res_model": "woow_paas_platform.action_try",
            "view_mode": "form",
            "target": "new",
            "context": {"default_action_id": self.id},
        }

    # ------------------------------------------------------------ source

    @property
    def _layered(self):
        return self.source == "tool"

    def _input_schema(self):
        # sudo: mcp_tool, toolbox_operation - the definition of what the action offers anyway
        action = self.sudo()
        described = action.operation_id if self._layered else action.tool_id
        return json.loads(described.input_schema or "{}")

    def _slots(self):
        """:raises UnusableSchema: the tool cannot be offered to a model"""
        if self.source == "manual" or not (self.tool_id or self.operation_id):
            return []
        cleaned = recall.parameters(self._input_schema(), layered=self._layered)
        return recall.slots(cleaned, layered=self._layered)

    def _is_usable(self):
        """True if every switch between the action and its tool is on."""
        self.ensure_one()
        # sudo: mcp_tool, toolbox_operation - only their switches
        action = self.sudo()
        if not (action.active and action.network_id.active):
            return False
        if self.source == "mcp":
            tool = action.tool_id
            is_shared = tool.server_id.scope == "system"
            return is_shared and tool.is_usable and tool.approval_policy != "never"
        return self.source == "tool" and action.operation_id.is_usable

    def _own_descriptions(self):
        return {
            line._slot: line.description
            for line in self.parameter_ids
            if line.description and line.source == "dynamic"
        }

    def _tool_description(self):
        # sudo: mcp_tool, toolbox_operation - see `_recall`
        source = self.sudo()
        tool = source.operation_id if self._layered else source.tool_id
        return self.description or tool.description or tool.title or self.name

    # ------------------------------------------------------------ the record, and the values that it fixes

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

    @api.model
    def _for_record(self, record):
        """The action types that the caller may use for a record now."""
        if not record or not record.has_access("read"):
            return self.browse()
        found = self.search([("model", "=", record._name), ("source", "!=", "manual")])
        return found.filtered(lambda action: action._is_usable() and action._applies_to(record))

    # ------------------------------------------------------------ tools of a chat about a record

    def _tool_specs(self, record, problems):
        """Frozen copies of the tools, with what the record fixes, in a stable order.

        :param record: read with the rights of its environment, the chat's person
        :param problems: why MCP servers cannot be used now, by their ids
        """
        # sudo: mcp_tool, toolbox_operation - definition and credential, for the engine
        actions = self.sudo().sorted("id")
        sources = [a.operation_id if a._layered else a.tool_id for a in actions]
        aliases = names.make_aliases([(None, source.name) for source in sources])
        return tuple(
            replace(
                source._tool_spec(),
                alias=alias,
                title=action.name,
                description=f"{action.name}: {action._tool_description()}",
                action_id=action.id,
                definition=source._definition(action),
                notes=action._own_descriptions(),
                **(action._problem_of_server(problems) or action._fixed_or_problem(record)),
            )
            for action, source, alias in zip(actions, sources, aliases, strict=True)
        )

    def _fixed_or_problem(self, record):
        try:
            fixed, empty = self._fixed(record)
        except AccessError:
            return {
                "problem": self.env._(
                    "You are not allowed to read the values that it needs from the record."
                )
            }
        except UnusableSchema as error:
            return {"problem": str(error)}
        if empty:
            sentence = self.env._(
                "The record has no value for: %(names)s.", names=", ".join(sorted(empty))
            )
            return {"problem": sentence}
        return {"fixed": fixed}

    def _problem_of_server(self, problems):
        problem = problems.get(self.tool_id.server_id.id)
        return {"problem": problem.public_message} if problem else {}

    def _server_specs(self, person):
        """Specifications as those of `mcp_server`, with what stands for the toolboxes."""
        # sudo: mcp_server, toolbox - addresses and credentials, for the engine
        actions = self.sudo()
        specs, problems = actions.tool_id.server_id._server_specs(person)
        boxes = (box._server_spec() for box in actions.operation_id.toolbox_id)
        return specs | {spec.id: spec for spec in boxes}, problems

    # ------------------------------------------------------------ direct calls

    @api.model
    def _that_allows(self, field, source, arguments):
        """An action type by which the caller may call this tool with these arguments, or an empty set.

        A tool that comes with an action type only may be called for the records that the caller may
        read: the arguments must hold the fixed values of one of them.

        :param field: ``tool_id`` or ``operation_id``
        """
        # sudo: action_type - the field is the administrator's; the types are those the caller sees
        found = self.sudo().search([(field, "=", source.id)]).sudo(self.env.su)
        for action in found._filtered_access("read"):
            if action._is_usable() and action._fits(arguments):
                return action
        return self.browse()

    def _fits(self, arguments):
        Model = self.env[self.model]
        if not Model.has_access("read"):
            return False
        # sudo: action_parameter - see `_fixed`
        lines = self.sudo().parameter_ids.filtered(lambda p: p.source == "field")
        domain = Domain(literal_eval(self.domain or "[]"))
        for line in lines:
            layer = arguments.get(line.location) if line.location else arguments
            given = layer.get(line.name) if isinstance(layer, dict) else None
            if given is None:
                return False
            field = _searchable(Model, line.field_path)
            if field in ("char", "id") and isinstance(given, str | int):
                if field == "id" and not str(given).isdigit():
                    return False
                domain &= Domain(line.field_path, "=", int(given) if field == "id" else str(given))
        for record in Model.search(domain, limit=MAX_CANDIDATES if lines else 1):
            try:
                fixed, _empty = self._fixed(record)
            except (AccessError, UnusableSchema):
                continue
            if recall.merged(arguments, fixed) == arguments:
                return True
        return False

    # ------------------------------------------------------------ the API (document 002): a function, where to call it

    @api.model
    def _visible(self, kn_id, at_id):
        """The action type that these ids mean to the caller, or an empty set."""
        return self.search([("network_id.kn_id", "=", kn_id), ("at_id", "=", at_id)], limit=1)

    def _recall(self, record, account=None):
        """One entry of ``_dynamic_tools`` (document 002, 5.1).

        :raises Refusal: with the statuses and codes of 002, 7
        """
        self.ensure_one()
        if self.source not in ("mcp", "tool"):
            raise BadInput(
                self.env._("Actions of this source cannot be called through the API."),
                UNSUPPORTED,
                type=self.source,
            )
        # sudo: mcp_tool, toolbox_operation - what the action type offers to the caller
        source = self.sudo()
        tool_name = (source.operation_id if self._layered else source.tool_id).name
        if not self._is_usable():
            raise NotThere(
                self.env._("The tool “%(tool)s” does not exist.", tool=tool_name),
                TOOL_NOT_FOUND,
                tool_name=tool_name,
            )
        if not self._applies_to(record):
            raise NotThere(self.env._("The action does not apply to this object."))
        original = source._input_schema()
        try:
            cleaned = recall.parameters(original, layered=self._layered)
            fixed, empty = self._fixed(record, account)
        except UnusableSchema as error:
            _logger.error(
                "The schema of an action's tool cannot be converted: mcp_id=%s tool_name=%s: %s %s",
                source.tool_id.server_id.mcp_id or source.operation_id.toolbox_id.box_id,
                tool_name,
                error,
                error.detail,
            )
            sentence = sentences.translated(self.env, str(error))
            raise Broken(sentence, SCHEMA_FAILED, tool_name=tool_name) from error
        if empty:
            raise BadInput(
                self.env._(
                    "The object has no value for: %(names)s.", names=", ".join(sorted(empty))
                ),
                "missing_value",
                missing=sorted(empty),
            )
        return {
            "name": names.function_name(tool_name),
            "description": self._tool_description(),
            "parameters": recall.described(
                recall.optional(cleaned, fixed), source._own_descriptions()
            ),
            "api_url": self._base_url() + self._call_path(),
            "original_schema": original,
            "fixed_params": recall.arguments(fixed, layered=self._layered),
            "api_call_strategy": STRATEGY,
        }

    def _call_path(self):
        # sudo: mcp_tool, toolbox_operation - see `_recall`
        source = self.sudo()
        if self._layered:
            operation = source.operation_id
            box = quote(operation.toolbox_id.box_id, safe="")
            return f"{PREFIX}/tool/proxy/{box}/tools/{quote(operation.name, safe='')}/call"
        server = quote(source.tool_id.server_id.mcp_id, safe="")
        return f"{PREFIX}/mcp/proxy/{server}/tools/{quote(source.tool_id.name, safe='')}/call"

    @api.model
    def _base_url(self):
        """Address at which programs reach this Odoo; internal ones may need another name for it."""
        # sudo: ir.config_parameter - an address, no secret
        parameters = self.env["ir.config_parameter"].sudo()
        url = parameters.get_param("woow_paas_platform.recall_base_url")
        return (url or parameters.get_param("web.base.url") or "").rstrip("/")


def _searchable(model, path):
    """``char`` or ``id`` when a path can be searched for exactly, else ``""``."""
    *parts, last = path.split(".")
    for part in parts:
        field = model._fields[part]
        if not field.store:
            return ""
        model = model.env[field.comodel_name]
    field = model._fields[last]
    if not (field.store or last == "id"):
        return ""
    if field.type == "many2one" or last == "id":
        return "id"
    return "char" if field.type == "char" else ""


class ActionParameter(models.Model):
    """One argument of an action's tool: fixed by the record or a constant, or left to the model."""

    _name = "woow_paas_platform.action_parameter"
    _description = "Action Type Parameter"
    _order = "sequence, id"

    action_id = fields.Many2one(
        "woow_paas_platform.action_type", required=True, ondelete="cascade", index=True
    )
    model = fields.Char(related="action_id.model", string="Technical Model Name")
    sequence = fields.Integer(default=10)
    location = fields.Selection(
        [("path", "Path"), ("query", "Query"), ("header", "Header"), ("body", "Body")],
        help="Where a toolbox operation expects the parameter; empty for MCP tools.",
    )
    name = fields.Char("Parameter", required=True)
    source = fields.Selection(
        [
            ("dynamic", "Chosen by the model"),
            ("field", "From the record"),
            ("constant", "Constant"),
        ],
        required=True,
        default="dynamic",
    )
    field_path = fields.Char(
        "Field", help="A field of the record, or a path such as partner_id.email."
    )
    constant = fields.Char(help="Text, or a JSON value such as 5, true or [1, 2].")
    description = fields.Char(help="Shown to the model instead of the tool's own description.")

    _source_complete = models.Constraint(
        "CHECK ((source <> 'field' OR field_path IS NOT NULL)"
        " AND (source <> 'constant' OR constant IS NOT NULL))",
        "A fixed parameter requires a field or a constant.",
    )
    _name_unique = models.UniqueIndex(
        "(action_id, COALESCE(location, ''), name)", "Each parameter can be listed only once."
    )

    @api.constrains("source", "field_path", "action_id")
    def _check_field_path(self):
        for parameter in self.filtered(lambda p: p.source == "field"):
            model = self.env[parameter.action_id.model]
            parts = parameter.field_path.split(".")
            for depth, part in enumerate(parts):
                field = model._fields.get(part) if model is not None else None
                if field is None or depth > DEPTH:
                    raise ValidationError(
                        self.env._(
                            "“%(path)s” is not a valid field path of %(model)s.",
                            path=parameter.field_path,
                            model=parameter.action_id.model_id.name,
                        )
                    )
                model = self.env[field.comodel_name] if field.relational else None

    @property
    def _slot(self):
        return (self.location or "", self.name)

    def _fixed_value(self, record):
        """The value for a record, as JSON has it; None where the record has nothing there.

        :param record: read with the rights of its environment
        :raises AccessError: these rights do not cover the path
        """
        self.ensure_one()
        if self.source == "constant":
            return self._constant_value()
        found = record
        *path, last = self.field_path.split(".")
        for part in path:
            found = found[part]
        field = found._fields[last]
        if len(found) > 1:
            values = [_plain(field, item[last]) for item in found[:MAX_RELATED]]
            return [value for value in values if value is not None]
        return _plain(field, found[last]) if found else None

    def _constant_value(self):
        text = (self.constant or "").strip()
        try:
            return json.loads(text)
        except ValueError:
            return text


def _plain(field, value):
    """A field's value as JSON has it: the id of a record, ISO 8601 for dates, None for nothing."""
    if field.relational:
        return value[:MAX_RELATED].ids if field.type.endswith("2many") else value.id or None
    if field.type == "boolean":
        return value
    if value is False or value is None or value == "":
        return None
    if field.type == "date":
        return fields.Date.to_string(value)
    if field.type == "datetime":
        return utc(value)
    if field.type == "binary":
        return value.decode() if isinstance(value, bytes) else None
    return value if isinstance(value, bool | int | float | str | list | dict) else str(value)


class KnowledgeNetwork(models.Model):
    """A named set of action types, and who may use them."""

    _name = "woow_paas_platform.knowledge_network"
    _description = "Knowledge Network"
    _order = "name, id"

    name = fields.Char(required=True, translate=True)
    kn_id = fields.Char(
        "Network ID",
        required=True,
        copy=False,
        default=lambda self: str(uuid.uuid4()),
        help="Identifies the network in the action recall API.",
    )
    active = fields.Boolean(default=True)
    description = fields.Text(translate=True)
    group_ids = fields.Many2many(
        "res.groups",
        string="Available To",
        help="Leave empty to offer its actions to all signed-in users, including portal users.",
    )
    action_type_ids = fields.One2many("woow_paas_platform.action_type", "network_id")

    _kn_id_unique = models.Constraint("UNIQUE (kn_id)", "Another network already uses this ID.")
