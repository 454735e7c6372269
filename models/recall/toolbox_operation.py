import json

from odoo import api, fields, models
from odoo.exceptions import AccessError

from ...services.sentence import _lt
from ...services.specs import OperationSpec, ToolSpec
from ...services.turn import names
from ...tools import sentences


class ToolboxOperation(models.Model):
    """One operation of a toolbox. `active` is the administrator's switch, `available` the document's word."""

    _name = "woow_paas_platform.toolbox_operation"
    _description = "Toolbox Operation"
    _inherit = ["woow_paas_platform.callable.mixin"]
    _order = "toolbox_id, path, method, id"

    toolbox_id = fields.Many2one(
        "woow_paas_platform.toolbox", required=True, ondelete="cascade", index=True
    )
    name = fields.Char(required=True, readonly=True, help="ID of the operation in its document.")
    title = fields.Char(readonly=True)
    description = fields.Text(readonly=True)
    method = fields.Char(readonly=True, required=True)
    path = fields.Char(readonly=True, required=True)
    input_schema = fields.Text(readonly=True, help="JSON Schema of the arguments, in layers.")
    content_type = fields.Char(readonly=True)
    joined = fields.Json(
        readonly=True, help="Query parameters whose list values are joined by commas."
    )
    problem = sentences.SentenceField(readonly=True)
    active = fields.Boolean(
        default=True, help="Switching it off takes effect immediately, even for running turns."
    )
    available = fields.Boolean(
        default=True, readonly=True, help="The operation is still in the document."
    )
    is_usable = fields.Boolean(compute="_compute_is_usable")

    _name_unique = models.Constraint(
        "UNIQUE (toolbox_id, name)", "The toolbox already has an operation with this name."
    )

    @api.depends("active", "available", "problem", "toolbox_id.active", "toolbox_id.base_url")
    def _compute_is_usable(self):
        for operation in self:
            box = operation.toolbox_id
            operation.is_usable = (
                operation.active
                and operation.available
                and not operation.problem
                and box.active
                and bool(box.base_url)
            )

    @api.depends("name", "toolbox_id.name")
    def _compute_display_name(self):
        for operation in self:
            operation.display_name = f"{operation.toolbox_id.name}.{operation.name}"

    def write(self, vals):
        if not self.env.su and vals.keys() - {"active"}:
            raise AccessError(self.env._("The definition of an operation comes from its document."))
        return super().write(vals)

    @api.model
    def _vals_from_document(self, found):
        return {
            "name": found.key,
            "title": found.title,
            "description": found.description,
            "method": found.method,
            "path": found.path,
            "input_schema": json.dumps(found.input_schema, ensure_ascii=False),
            "content_type": found.content_type,
            "joined": list(found.joined),
            "problem": found.problem,
            "available": True,
        }

    def action_enable(self):
        self.write({"active": True})

    def action_disable(self):
        self.write({"active": False})

    # ------------------------------------------------------------ calls

    def _pinned_source(self):
        address = f"{self.toolbox_id.base_url or ''} {self.path}"
        return f"{self.method} {address} {self.input_schema or ''}"

    def _annotations(self):
        """Annotations that the HTTP method promises."""
        return {
            "readOnlyHint": self.method in ("GET", "HEAD"),
            "destructiveHint": self.method == "DELETE",
        }

    def _policy_facts(self):
        return {
            "policy": "default",
            "annotations": self._annotations(),
            "trust": "annotations",
        }

    def _switch_refusal(self):
        self.ensure_one()
        return "" if self.is_usable else _lt("This operation is switched off.")

    def _tool_spec(self):
        """A frozen copy that carries the credential.

        :raises SecretUnreadable: the stored credential does not open
        """
        self.ensure_one()
        box = self.toolbox_id
        headers, query = box._credential_parts()
        return ToolSpec(
            id=self.id,
            server_id=-box.id,
            name=self.name,
            alias=names.make_aliases([(box.name, self.name)])[0],
            title=self.title or "",
            description=self.description or "",
            input_schema=json.loads(self.input_schema or "{}"),
            annotations=self._annotations(),
            definition=self._definition(),
            operation=OperationSpec(
                method=self.method,
                path=self.path,
                base_url=box.base_url or "",
                content_type=self.content_type or "",
                headers=headers,
                query=query,
                joined=tuple(self.joined or ()),
            ),
        )
