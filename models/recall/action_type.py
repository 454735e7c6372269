import json
import uuid
from ast import literal_eval

from odoo import api, fields, models
from odoo.exceptions import ValidationError
from odoo.fields import Command, Domain

from ...services.errors import UnusableSchema
from ...services.openapi import recall
from ...tools import sentences


class ActionType(models.Model):
    """An action type: a tool for the records of a model, and the arguments that the record fixes."""

    _name = "woow_paas_platform.action_type"
    _description = "Action Type"
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
        """Whether every switch between the action and its tool is on."""
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
