from urllib.parse import quote

from odoo import Command, api, fields, models
from odoo.exceptions import UserError, ValidationError

from ...services.catalog import stdio_templates, template_file
from ...services.errors import ConfigError
from ...tools import sentences, server_files


class McpTemplate(models.Model):
    """A template of a well-known server: the form to fill in, and the server made of it (document 004, §5)."""

    _name = "woow_paas_platform.mcp_template"
    _description = "MCP Server Template"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _order = "sequence, name, id"

    code = fields.Char(required=True, help="Stable technical name.")
    name = fields.Char(required=True, translate=True)
    active = fields.Boolean(default=True)
    sequence = fields.Integer(default=10)
    for_owners = fields.Boolean(
        "Offered to Owners",
        default=True,
        help="Whether people may add servers from this template to their cloud services or for themselves. "
        "For a template with a command, the operator has to allow that, too.",
    )
    description = fields.Text(translate=True)
    category = fields.Selection(
        [
            ("automation", "Automation"),
            ("communication", "Communication"),
            ("data", "Data"),
            ("development", "Development"),
            ("knowledge", "Knowledge"),
            ("search", "Search"),
        ],
        required=True,
    )
    icon = fields.Char(default="fa-plug", help="Font Awesome class.")
    website = fields.Char(help="Page that describes the server.")
    url = fields.Char("URL", help="Can contain {names} of fields as placeholders.")
    transport = fields.Selection(
        [
            ("auto", "Automatic"),
            ("streamable_http", "Streamable HTTP"),
            ("sse", "SSE (legacy)"),
            ("stdio", "Command (stdio)"),
        ],
        required=True,
        default="auto",
        help="Commands are defined in the operator's file, which must enable the template.",
    )
    authorization = fields.Selection(
        [
            ("key", "Key, headers or none"),
            ("oauth_server", "OAuth, one sign-in for everyone"),
            ("oauth_user", "OAuth, each user signs in"),
        ],
        required=True,
        default="key",
    )
    field_ids = fields.One2many(
        "woow_paas_platform.mcp_template_field", "template_id", "Fields", copy=True
    )
    operator_lines = fields.Text(
        "Lines for the Operator",
        compute="_compute_operator_lines",
        help="Lines that mcp_servers.toml needs before servers can be created from this template.",
    )

    _code_unique = models.UniqueIndex("(code)", "Another template already uses this code.")

    @api.depends("code", "transport")
    def _compute_operator_lines(self):
        known = stdio_templates.TEMPLATES
        for template in self:
            is_known = template.transport != "stdio" or template.code in known
            template.operator_lines = is_known and template._operator_lines("system")

    @api.constrains(
        "authorization",
        "category",
        "code",
        "description",
        "field_ids",
        "icon",
        "name",
        "transport",
        "url",
        "website",
    )
    def _check_entries(self):
        """Refuse in the form what a file may not hold."""
        if self.env.registry.ready:  # a module's data bring a template before its fields
            self._checked_file()

    def copy_data(self, default=None):
        result = super().copy_data(default)
        for template, vals in zip(self, result, strict=True):
            vals["code"] = self._free_code(template.code)
            vals["name"] = self.env._("%(template)s (copy)", template=template.name)
        return result

    @api.model
    def _free_code(self, wanted):
        # sudo: mcp_template - codes that are taken, of switched-off templates too
        known = (
            self.sudo()
            .with_context(active_test=False)
            .search([("code", "!=", False)])
            .mapped("code")
        )
        code, number = wanted, 2
        while code in known:
            code, number = f"{wanted}_{number}", number + 1
        return code

    @api.model
    def _listed(self):
        """Templates that the caller may look at; with a command only those that the code knows how to start."""
        known = [("transport", "=", "stdio"), ("code", "in", list(stdio_templates.TEMPLATES))]
        return self.search(["|", ("transport", "!=", "stdio"), "&", *known])

    def _release(self):
        """The operator's release of the command, None without one."""
        self.ensure_one()
        if self.transport != "stdio":
            return None
        return server_files.current().templates.get(self.code)

    def _operator_lines(self, scope):
        """Lines that the operator has to add for servers of this scope; ``""`` where they can be made."""
        self.ensure_one()
        if self.transport != "stdio":
            return ""
        release = self._release()
        return stdio_templates.lines(self.code, release, owners=scope == "user")

    def _api_data(self, scope):
        """:param scope: of the server that is about to be made"""
        self.ensure_one()
        lines = self._operator_lines(scope)
        fields = [field._api_data(scope) for field in self.field_ids]
        environments = self._environments()
        return {
            "id": self.code,
            "name": self.name,
            "description": self.description or "",
            "category": self.category,
            "icon": self.icon or "",
            "website": self.website or "",
            "is_system_only": bool(self._operator_lines("user")),
            "is_command": self.transport == "stdio",
            "available": not lines,
            "operator_lines": lines,
            "fields": fields,
            "required_fields": [field["name"] for field in fields if field["required"]],
            "optional_fields": [field["name"] for field in fields if not field["required"]],
            "field_labels": {field["name"]: field["label"] for field in fields},
            "field_placeholders": {field["name"]: field["placeholder"] for field in fields},
            "field_help_texts": {field["name"]: field["help"] for field in fields},
            "default_config": {
                "url": self.url or "",
                "transport": self.transport,
                "authorization": self.authorization,
                "env_type": environments[0].env_type if environments else None,
            },
            "environments": [
                {"env_type": one.env_type, "env_config": dict(one.env_config)}
                for one in environments
                if self.env.user.has_group("woow_paas_platform.group_admin")
            ],
        }

    def _environments(self):
        """Environments in which servers may start, none where the operator has released nothing."""
        release = self._release()
        return stdio_templates.environments(release) if release else []

    def _given(self, values):
        """The entered values, trimmed.

        :param values: ``{name of a field: text}``
        :raises UserError: a field is missing, or there is no such field
        """
        self.ensure_one()
        known = {field.name: field for field in self.field_ids}
        if unknown := sorted(values.keys() - known.keys()):
            raise UserError(
                self.env._(
                    "The template “%(template)s” has no field “%(field)s”.",
                    template=self.name,
                    field=unknown[0],
                )
            )
        given = {name: text.strip() for name, text in values.items() if text.strip()}
        for field in self.field_ids:
            if field.required and field.name not in given:
                raise UserError(self.env._("“%(field)s” is required.", field=field.label))
        return given

    def _server_vals(self, values):
        """Values of an HTTP server made from this template, without scope and owner; see `_given`."""
        given = self._given(values)
        known = {field.name: field for field in self.field_ids}
        url = self.url or ""
        headers, vals = {}, {}
        for name, text in given.items():
            field = known[name]
            match field.target:
                case "address":
                    url = text
                case "path":
                    url = url.replace(f"{{{name}}}", quote(text, safe=""))
                case "header":
                    headers[field.header] = text
                case "api_key" | "description" as column:
                    vals[column] = text
        vals |= {"url": url, "transport": self.transport}
        if self.authorization != "key":
            vals["authorization"] = self.authorization
        vals.setdefault("description", self.description or "")
        return vals | ({"headers": headers} if headers else {})

    # ------------------------------------------------------------ as a file, see `services.catalog.template_file`

    @api.model
    def _create_of_entry(self, entry, **vals):
        fields = [Command.create({"sequence": n, **one}) for n, one in enumerate(entry["fields"])]
        own = {key: value for key, value in entry.items() if key not in ("id", "fields")}
        own["icon"] = own["icon"] or "fa-plug"
        return self.create({"code": entry["id"], **own, "field_ids": fields, **vals})

    @api.model
    def _import_templates(self, document):
        """Make a template of each entry that can be one; those that are there already stay as they are.

        :return: (templates, ``[{"name", "message"}]`` of what was left out)
        :raises ConfigError: it is no such document
        """
        self.check_access("create")
        found, skipped = template_file.read(document)
        notes = [
            {"name": entry.name, "message": sentences.translated(self.env, entry.message)}
            for entry in skipped
        ]
        known = set(
            self.with_context(active_test=False).search([("code", "!=", False)]).mapped("code")
        )
        released = server_files.current().templates
        templates = self.browse()
        for entry in found:
            message = ""
            if entry["id"] in known:
                message = self.env._("A template with this ID already exists.")
            elif entry["transport"] == "stdio" and entry["id"] not in released:
                message = self.env._("The operator has not enabled this template.")
            if message:
                notes.append({"name": entry["id"], "message": message})
            else:
                templates |= self._create_of_entry(entry, for_owners=False)
        self.env["woow_paas_platform.audit.mixin"]._record_act(
            "configuration_imported", templates=templates
        )
        return templates, notes

    def _export_templates(self):
        self.env["woow_paas_platform.audit.mixin"]._record_act(
            "configuration_exported", templates=self
        )
        return self._checked_file()

    def _checked_file(self):
        """
        :raises ValidationError: one of them is none that a file takes
        """
        document = template_file.write(template._entry() for template in self)
        for template, entry in zip(self, document["mcpTemplates"], strict=True):
            try:
                template_file.check(entry)
            except ConfigError as error:
                reason = sentences.translated(self.env, str(error))
                said = f"{template.name}: {reason}"
                raise ValidationError(said) from error
        return document

    def _entry(self):
        self.ensure_one()
        names = ("name", "description", "icon", "website", "url", "category", "transport")
        return {
            "id": self.code,
            **{name: self[name] or "" for name in names},
            "authorization": self.authorization if self.authorization != "key" else "",
            "fields": [field._entry() for field in self.field_ids],
        }

    def action_export(self):
        """Download these as a file."""
        self.check_access("write")
        codes = ",".join(self.mapped("code"))
        return {
            "type": "ir.actions.act_url",
            "url": f"/api/mcp/templates/export?ids={codes}",
            "target": "download",
        }


class McpTemplateField(models.Model):
    """One question of a template's form."""

    _name = "woow_paas_platform.mcp_template_field"
    _description = "MCP Server Template Field"
    _inherit = ["woow_paas_platform.audited.mixin"]
    _order = "sequence, id"

    template_id = fields.Many2one(
        "woow_paas_platform.mcp_template", required=True, ondelete="cascade", index=True
    )
    sequence = fields.Integer(default=10)
    name = fields.Char(required=True, help="Stable technical name.")
    label = fields.Char(required=True, translate=True)
    placeholder = fields.Char()
    help = fields.Char(translate=True)
    required = fields.Boolean()
    secret = fields.Boolean()
    target = fields.Selection(
        [
            ("address", "The address"),
            ("path", "A part of the address"),
            ("api_key", "The API key"),
            ("header", "A header"),
            ("description", "The description"),
            ("command", "The command"),
        ],
        required=True,
    )
    header = fields.Char(help="Name of the header.")

    _name_unique = models.Constraint(
        "UNIQUE (template_id, name)", "The template already has a field with this name."
    )

    def _entry(self):
        """Entry of a file, see `services.catalog.template_file`."""
        self.ensure_one()
        texts = ("name", "label", "placeholder", "help", "header", "target")
        return {name: self[name] or "" for name in texts} | {
            "required": self.required,
            "secret": self.secret,
        }

    def _api_data(self, scope):
        self.ensure_one()
        return {
            "name": self.name,
            "label": self.label,
            "placeholder": self._example(scope),
            "help": self.help or "",
            "required": self.required,
            "secret": self.secret,
        }

    def _example(self, scope):
        """Text of the empty field: of folders one that would be accepted, for who may know it."""
        release = self.template_id._release()
        is_admin = self.env.user.has_group("woow_paas_platform.group_admin")
        owners = scope == "user" or not is_admin
        folder = release and stdio_templates.folder_example(release, self.name, owners=owners)
        return (self.placeholder or "") if folder is None else folder
