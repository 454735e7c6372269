from ast import literal_eval
from dataclasses import replace

from odoo import api, models
from odoo.exceptions import AccessError
from odoo.fields import Domain

from ...services.errors import UnusableSchema
from ...services.openapi import recall
from ...services.turn import names
from ...tools import sentences

MAX_CANDIDATES = 50  # records that are compared with the arguments of one direct call


class ActionType(models.Model):
    """Calls of an action type's tool: in a chat about a record, and directly with its values."""

    _inherit = "woow_paas_platform.action_type"

    # ------------------------------------------------------------ chat

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
            return {"problem": sentences.translated(self.env, str(error))}
        if empty:
            sentence = self.env._(
                "The record has no value for: %(names)s.", names=", ".join(sorted(empty))
            )
            return {"problem": sentence}
        return {"fixed": fixed}

    def _problem_of_server(self, problems):
        problem = problems.get(self.tool_id.server_id.id)
        return {"problem": sentences.translated(self.env, problem.outline)} if problem else {}

    def _server_specs(self, person):
        """As those of `mcp_server`, with what stands for the toolboxes."""
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

    @api.model
    def _for_record(self, record):
        """The action types that the caller may use for a record now."""
        if not record or not record.has_access("read"):
            return self.browse()
        found = self.search([("model", "=", record._name), ("source", "!=", "manual")])
        return found.filtered(lambda action: action._is_usable() and action._applies_to(record))


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
