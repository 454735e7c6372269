import base64
import json
import uuid

from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError, ValidationError

from ...services import const, text
from ...services.errors import ConfigError, EngineError
from ...services.net import egress
from ...services.openapi import loader, parser
from ...services.sentence import _lt
from ...services.specs import OperationSpec, ServerSpec, ToolSpec
from ...services.turn import names
from ...tools import host, sentences


class Toolbox(models.Model):
    """An HTTP service that an OpenAPI document describes; each of its operations is a tool."""

    _name = "woow_paas_platform.toolbox"
    _description = "Toolbox"
    _inherit = ["woow_paas_platform.secret.mixin"]
    _order = "name, id"

    name = fields.Char(required=True)
    active = fields.Boolean(
        default=True, help="Switching it off takes effect immediately, even for running turns."
    )
    description = fields.Text()
    box_id = fields.Char(
        "Toolbox ID",
        required=True,
        copy=False,
        readonly=True,
        default=lambda self: str(uuid.uuid4()),
        help="Identifies the toolbox in the action recall API.",
    )
    document_file = fields.Binary(
        "OpenAPI Document",
        attachment=False,
        store=False,
        compute="_compute_document_file",
        inverse="_inverse_document_file",
        help="JSON or YAML, OpenAPI 3.0 or 3.1.",
    )
    document_url = fields.Char(
        "Document URL", help="URL from which the document can be imported again."
    )
    version = fields.Char(readonly=True, copy=False)
    last_import = fields.Datetime(readonly=True, copy=False)
    base_url = fields.Char(
        "Base URL", help="Base URL of the operations. Leave empty to use the one in the document."
    )
    credential_type = fields.Selection(
        [
            ("none", "None"),
            ("bearer", "Bearer token"),
            ("header", "Header"),
            ("query", "Query parameter"),
        ],
        required=True,
        default="none",
    )
    credential_name = fields.Char(
        help="Name of the header or query parameter that contains the credential."
    )
    credential = fields.Char(
        compute="_compute_credential",
        inverse="_inverse_credential",
        help="Stored encrypted. Leave empty to keep the current one.",
    )
    credential_encrypted = fields.Char(groups=fields.NO_ACCESS, copy=False)
    has_credential = fields.Boolean(compute="_compute_has_credential", compute_sudo=True)
    call_timeout = fields.Float("Call Timeout (s)", default=const.CALL_TIMEOUT)
    operation_ids = fields.One2many(
        "woow_paas_platform.toolbox_operation",
        "toolbox_id",
        string="Operations",
        context={"active_test": False},
    )
    operation_count = fields.Integer("Number of Operations", compute="_compute_operation_count")

    _box_id_unique = models.Constraint("UNIQUE (box_id)", "Another toolbox already uses this ID.")
    _name_unique = models.Constraint("UNIQUE (name)", "A toolbox with this name already exists.")
    _timeout_positive = models.Constraint(
        "CHECK (call_timeout > 0 AND call_timeout <= 600)",
        "The timeout must be positive and at most 600 seconds.",
    )

    @api.depends("credential_encrypted")
    def _compute_credential(self):
        self._blank_secrets("credential")

    @api.depends("credential_encrypted")
    def _compute_has_credential(self):
        for box in self:
            box.has_credential = bool(box.credential_encrypted)

    def _compute_document_file(self):
        self.document_file = False

    @api.depends("operation_ids.available")
    def _compute_operation_count(self):
        for box in self:
            box.operation_count = len(box.operation_ids.filtered("available"))

    def _inverse_credential(self):
        self._store_secret("credential")

    def _secret_facts(self):
        """The credential belongs to who was at the address; before there was one, to that of the document."""
        facts = super()._secret_facts()
        if self.base_url:
            facts["credential"] = egress.origin(self.base_url)
        return facts

    def _inverse_document_file(self):
        for box in self:
            if box.document_file:
                try:
                    box._import(base64.b64decode(box.document_file))
                except ConfigError as error:
                    raise ValidationError(sentences.translated(self.env, str(error))) from error

    @api.constrains("base_url", "document_url")
    def _check_urls(self):
        for box in self:
            for url in filter(None, (box.base_url, box.document_url)):
                try:
                    egress.check_url(url)
                except ConfigError as error:
                    raise ValidationError(sentences.translated(self.env, str(error))) from error

    @api.constrains("credential_type", "credential_name")
    def _check_credential_name(self):
        for box in self.filtered(lambda b: b.credential_type in ("header", "query")):
            try:
                if not box.credential_name:
                    raise ConfigError(self.env._("Enter the name of the header or parameter."))
                if box.credential_type == "header":
                    egress.check_headers({box.credential_name: "x"})
            except ConfigError as error:
                raise ValidationError(sentences.translated(self.env, str(error))) from error

    def action_import(self):
        """Read the document at its address again, in the background."""
        self.ensure_one()
        self.check_access("write")
        if not self.document_url:
            raise UserError(self.env._("Enter the address of the document, or upload it."))
        try:
            self._check_copy()
        except ConfigError as error:
            raise UserError(sentences.translated(self.env, str(error))) from error
        box_id, url, uid = self.id, self.document_url, self.env.uid
        dbname = self.env.cr.dbname
        self.env.cr.postcommit.add(lambda: host.current().import_later(dbname, box_id, url, uid))
        return {
            "type": "ir.actions.client",
            "tag": "display_notification",
            "params": {
                "type": "info",
                "message": self.env._(
                    "The document of “%(toolbox)s” is being imported. You will be notified of the result.",
                    toolbox=self.name,
                ),
            },
        }

    def _keep_document(self, source, url, uid):
        """Import what was read at an address for this person, unless the toolbox has another one by now."""
        own = self.with_user(uid).filtered(lambda box: box.document_url == url)
        if not own:
            return
        try:
            with self.env.cr.savepoint():
                own.check_access("write")
                own._import(source, url)
        except (EngineError, UserError) as error:
            own._tell(uid, error)
            return
        own._tell(uid)

    def _tell(self, uid, error=None):
        """Notify who wanted the document read."""
        user = self.env["res.users"].browse(uid)
        # sudo: toolbox - its name and a number, for somebody who may write it
        box = self.with_user(user).sudo().with_context(lang=user.lang)
        if error:
            is_ours = isinstance(error, EngineError)
            message = (
                sentences.for_reader(error, sentences.Reader.manager(box.env))
                if is_ours
                else str(error)
            )
            notice = {"type": "danger", "message": message}
        else:
            message = box.env._("%(count)s operations were imported.", count=box.operation_count)
            notice = {"type": "success", "message": message}
        user._bus_send("simple_notification", {"title": box.name, **notice})
        if not error:
            user._bus_send("woow_ai/toolbox", {"id": box.id})

    def action_view_operations(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.toolbox_operation_action"
        )
        return {**action, "name": self.name, "domain": [("toolbox_id", "=", self.id)]}

    def _import(self, source, url=""):
        """Bring the operations up to date: none is deleted, none is switched on again.

        :raises ConfigError: the document cannot be used
        """
        self.ensure_one()
        document = parser.read(text.storable(loader.load(source)), url)
        # sudo: toolbox_operation - definitions come from the document only; the caller may write the box
        Operation = self.env["woow_paas_platform.toolbox_operation"].sudo()
        known = {
            operation.name: operation
            for operation in Operation.with_context(active_test=False).search(
                [("toolbox_id", "=", self.id)]
            )
        }
        added = []
        for found in document.operations:
            vals = Operation._vals_from_document(found)
            if operation := known.pop(found.key, None):
                operation.write(vals)
            else:
                added.append({**vals, "toolbox_id": self.id})
        Operation.create(added)
        Operation.union(*known.values()).available = False
        vals = {"version": document.version, "last_import": fields.Datetime.now()}
        if not self.base_url and document.base_url:
            vals["base_url"] = document.base_url
        kind, name = document.credential
        if kind and self.credential_type == "none" and not self.last_import:
            vals |= {"credential_type": kind, "credential_name": name}
        self.write(vals)

    def _server_spec(self, _person=None):
        """Stand-in for the service where calls name their server; its credential is everybody's."""
        self.ensure_one()
        self._check_copy()
        return ServerSpec(
            id=-self.id,
            name=self.name,
            description=self.description or "",
            url=self.base_url or "",
            call_timeout=self.call_timeout,
        )

    def _credential_parts(self):
        """(headers, query) that sign in.

        :raises SecretUnreadable: the stored credential does not open
        """
        secret = self._read_secret("credential")
        if not secret or self.credential_type == "none":
            return {}, {}
        if self.credential_type == "bearer":
            return {"Authorization": f"Bearer {secret}"}, {}
        if self.credential_type == "header":
            return {self.credential_name: secret}, {}
        return {}, {self.credential_name: secret}


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
