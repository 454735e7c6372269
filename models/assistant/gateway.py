from dataclasses import replace
from datetime import timedelta

from markupsafe import Markup
from odoo import api, fields, models
from odoo.exceptions import ValidationError
from odoo.fields import Domain

from ...services.gateway import asking
from ...services.oauth_server import const, metadata
from ...services.records import catalog
from ...services.specs import ServerSpec
from ...tools.refusals import Refusal

PERIOD = timedelta(hours=1)
MAX_CODE = 40  # characters, see `const.CODE`
READING = {tool.name: tool for tool in catalog.OF_CLIENTS}


class Gateway(models.Model):
    """Gateway: an address of its own below `/mcp`, which shows a part of what its users may use in chats.

    An empty recordset is everybody's personal gateway, `/mcp` itself, which shows all of it. Methods that begin with an
    underscore are about the current user, whatever `sudo` the record was found with.
    """

    _name = "woow_paas_platform.gateway"
    _description = "MCP Gateway"
    _inherit = ["woow_paas_platform.company.mixin", "woow_paas_platform.audited.mixin"]
    _order = "sequence, name, id"

    name = fields.Char(required=True, translate=True, help="Shown to users who connect a client.")
    active = fields.Boolean(default=True)
    sequence = fields.Integer(default=10)
    code = fields.Char(
        required=True,
        copy=False,
        compute="_compute_code",
        store=True,
        readonly=False,
        precompute=True,
        help="Last part of the address. A change disconnects all clients.",
    )
    address = fields.Char(compute="_compute_address", help="Address for MCP clients.")
    group_ids = fields.Many2many(
        "res.groups",
        string="Available To",
        default=lambda self: self.env.ref("base.group_user", raise_if_not_found=False),
        help="Leave empty to offer it to everyone who can sign in, including portal users.",
    )
    workspace_id = fields.Many2one(
        "woow_paas_platform.workspace",
        ondelete="cascade",
        index="btree_not_null",
        help="Only for members of this workspace.",
    )
    server_ids = fields.Many2many(
        "woow_paas_platform.mcp_server",
        "woow_gateway_mcp_server_rel",
        "gateway_id",
        "server_id",
        string="MCP Servers",
        domain=["|", ("scope", "=", "system"), ("cloud_service_id", "!=", False)],
        check_company=True,
        context={"active_test": False},
        help="All their tools, prompts and resources.",
    )
    tool_ids = fields.Many2many(
        "woow_paas_platform.mcp_tool",
        "woow_gateway_mcp_tool_rel",
        "gateway_id",
        "tool_id",
        string="Single Tools",
        domain=[
            "|",
            ("server_id.scope", "=", "system"),
            ("server_id.cloud_service_id", "!=", False),
        ],
        context={"active_test": False},
        help="Tools of other servers.",
    )
    record_access_ids = fields.Many2many(
        "woow_paas_platform.record_access",
        "woow_gateway_record_access_rel",
        "gateway_id",
        "access_id",
        string="Odoo Records",
        domain=[
            ("assistant_id.is_open_to_clients", "=", True),
            ("assistant_id.draft_of_id", "=", False),  # lines of a draft go with it
        ],
        help="Models that assistants open to MCP clients, to be read, and changed where the assistant allows that.",
    )
    assistant_ids = fields.Many2many(
        "ai.assistant",
        "woow_gateway_assistant_rel",
        "gateway_id",
        "assistant_id",
        string="Assistants",
        domain=[("cloud_service_id", "=", False)],
        check_company=True,
        help="Each is a tool that asks it one question.",
    )
    has_prompts = fields.Boolean("Prompts", default=True, help="Prompts of these MCP servers.")
    has_resources = fields.Boolean(
        "Resources", default=True, help="Resources of these MCP servers."
    )
    calls_per_hour = fields.Integer(
        "Calls an Hour", help="Of each user, with all clients together. 0 means no limit."
    )
    grant_ids = fields.One2many("woow_paas_platform.oauth_grant", "gateway_id", "Connected Clients")
    grant_count = fields.Integer("Clients", compute="_compute_grant_count")
    preview_user_id = fields.Many2one("res.users", "Preview as", store=False)
    preview = fields.Html(compute="_compute_preview", sanitize=False)

    _code_unique = models.UniqueIndex("(code)", "Another gateway already has this code.")
    _calls_per_hour_positive = models.Constraint(
        "CHECK (calls_per_hour >= 0)", "The number of calls cannot be negative."
    )

    @api.depends("name")
    def _compute_code(self):
        """A name that has no Latin letters gives none: then somebody has to write one."""
        for gateway in self.filtered(lambda one: not one.code):
            slug = self.env["ir.http"]._slugify(gateway.name or "", max_length=MAX_CODE)
            gateway.code = slug if const.CODE.fullmatch(slug) else False

    @api.depends("code")
    def _compute_address(self):
        for gateway in self:
            base = gateway.get_base_url().rstrip("/")
            gateway.address = metadata.Addresses(base, gateway.code or "").resource

    def _compute_grant_count(self):
        connected = Domain("gateway_id", "in", self.ids) & Domain("last_used_at", "!=", False)
        counts = dict(
            self.env["woow_paas_platform.oauth_grant"]._read_group(
                connected, ["gateway_id"], ["__count"]
            )
        )
        for gateway in self:
            gateway.grant_count = counts.get(gateway._origin, 0)

    @api.depends(
        "preview_user_id",
        "group_ids",
        "workspace_id",
        "company_id",
        "server_ids",
        "tool_ids",
        "record_access_ids",
        "assistant_ids",
    )
    def _compute_preview(self):
        for gateway in self:
            user = gateway.preview_user_id
            gateway.preview = user and gateway.with_user(user).with_context(
                allowed_company_ids=user.company_ids.ids
            )._preview_of_caller(self.env)

    @api.constrains("code")
    def _check_code(self):
        for gateway in self:
            if not const.CODE.fullmatch(gateway.code):
                raise ValidationError(
                    self.env._(
                        "The code may have up to %(limit)s lower-case letters, digits and hyphens.",
                        limit=MAX_CODE,
                    )
                )

    def write(self, vals):
        changed = self.filtered(lambda one: one.code != vals["code"]) if "code" in vals else self
        result = super().write(vals)
        if "code" in vals:
            # sudo: oauth_grant - tokens are for an address, which is another one now
            changed.sudo().grant_ids._end("its gateway has another address")
        return result

    def action_view_clients(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.oauth_grant_action")
        domain = [("gateway_id", "=", self.id), ("last_used_at", "!=", False)]
        return {**action, "domain": domain}

    def action_view_calls(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.tool_call_action")
        return {**action, "domain": [("gateway_id", "=", self.id)], "context": {}}

    # ------------------------------------------------------------ who may use it

    @api.model
    def _of_caller(self, code=None):
        """Gateways that the current user may use; nobody can tell others from such as do not exist.

        :param code: of one of them, not checked
        :return: records with sudo
        """
        # sudo: gateway - those of the current user alone; what they show is narrowed to what the user may use
        found = self.sudo().search([] if code is None else [("code", "=", code)])
        return found.filtered(lambda gateway: gateway._is_open_to_caller())

    def _is_open_to_caller(self):
        caller = self._of_user()
        # sudo: gateway, workspace - who may use it, read to decide
        gateway, user = self.sudo(), caller.env.user
        groups, workspace = gateway.group_ids._origin, gateway.workspace_id._origin
        is_in_company = not gateway.company_id or bool(
            gateway.company_id._origin & caller.env.companies.parent_ids
        )
        is_member = not workspace or (workspace.active and bool(workspace._role_of(user)))
        is_in_group = not groups or bool(groups & user.all_group_ids)
        return bool(user.active and gateway.active and is_in_company and is_member and is_in_group)

    def _of_user(self):
        """The same records with the rights of the current user, whose those are that it shows."""
        return self.sudo(False)

    # ------------------------------------------------------------ what it shows
    # Each is what the user may use in some chat, and of that what the gateway names. Lists and calls ask the same.

    def _tools(self, among=None, assistants=None):
        """Tools that the current user may call here, also those that never run; see `_listed_tools`.

        :param among: as `assistants` see `AiAssistant._tools_of_caller`
        """
        return self._shown_tools(self._assistant()._tools_of_caller(among, assistants))

    def _listed_tools(self):
        return self._shown_tools(self._assistant()._tools_of_client())

    def _shown_tools(self, tools):
        if not self:
            return tools
        # sudo: gateway - what it names; the tools are the user's already
        own = self.sudo()
        servers, single = own.server_ids._origin, own.tool_ids._origin
        return tools.filtered(lambda tool: tool.server_id in servers or tool in single)

    def _servers(self, kind):
        """Servers whose prompts or resources the current user may read here.

        :param kind: "prompts" or "resources"
        """
        servers = self._assistant()._servers_of_client()
        if not self:
            return servers
        # sudo: gateway - see `_shown_tools`
        own = self.sudo()
        return servers & own.server_ids if own[f"has_{kind}"] else servers.browse()

    def _record_access(self):
        """``{model: Access}`` of the current user here, to read."""
        access = self._assistant()._record_access_of_client()
        if not self:
            return access
        # sudo: gateway, record_access - see `_shown_tools`
        shown = set(self.sudo().record_access_ids.mapped("model"))
        return {model: one for model, one in access.items() if model in shown}

    def _changed_by(self):
        """``[(assistant, {model: Access})]``: records that clients of the current user may ask to change here."""
        # sudo: ai.assistant - which of those that the user may chat with are open to changes
        open_ones = self._assistant()._everywhere().sudo()
        open_ones = open_ones.filtered(
            lambda one: one.is_open_to_clients and one.is_changed_by_clients
        )
        # sudo: gateway, record_access - see `_shown_tools`
        lines, found = self.sudo().record_access_ids, []
        for assistant in open_ones:
            shown = set(
                lines.filtered(lambda line, of=assistant: line.assistant_id == of).mapped("model")
            )
            access = assistant._record_access().items()
            found.append(
                (assistant, {name: one for name, one in access if not self or name in shown})
            )
        return found

    def _changing(self):
        """``{name: RecordTool}`` that change records."""
        allowed = {
            name
            for _one, access in self._changed_by()
            for one in access.values()
            for name in one.operations
        }
        return {tool.name: tool for tool in catalog.CHANGING if tool.operation in allowed}

    def _changer(self, tool, model):
        """The assistant that changes records of this model with this tool.

        :param model: as the client names it, not checked
        :return: the assistant and the names of all models that it may use here; empty if nobody may
        """
        for assistant, access in self._changed_by():
            if model in access and tool.operation in access[model].operations:
                return assistant, sorted(access)
        return self._assistant(), []

    def _assistants(self):
        """``{name of the tool: assistant}`` that the current user may ask here; the personal gateway shows none."""
        offered = self._assistant()._everywhere()
        # sudo: gateway - see `_shown_tools`
        shown, found = offered & self.sudo().assistant_ids._origin, {}
        for assistant in shown.sorted("id"):
            # sudo: ai.assistant - its name in the language of the source, so that the tool's stays the same for all
            name = asking.tool_name(assistant.sudo().with_context(lang=None).name, assistant.id)
            found[f"{name}_{assistant.id}" if name in found else name] = offered.browse(
                assistant.id
            )
        return found

    def _assistant(self):
        return self._of_user().env["ai.assistant"]

    def _list(self, scopes=const.SCOPES):
        """Definitions of the tools that an MCP client of the current user is shown: `ToolSpec`.

        :param scopes: of the client's token

        Hints of a server that nobody trusts stay here: a client would take them for those of this Odoo.
        """
        offered = self._listed_tools()
        trusted = {tool.id for tool in offered if tool.server_id.trust_level != "none"}
        specs = [
            spec if spec.id in trusted else replace(spec, annotations={})
            for spec in offered._tool_specs()
        ]
        reading = READING.values() if self._record_access() else ()
        changing = self._changing().values() if const.RECORDS in scopes else ()
        ask = self._assistants() if const.ASSISTANTS in scopes else {}
        return [
            *specs,
            *(tool.spec for tool in (*reading, *changing)),
            *(asking.tool_spec(name, one.name, one.description or "") for name, one in ask.items()),
        ]

    def _listed_servers(self):
        """``{id: ServerSpec}`` of the listed tools, without what connects to them."""
        # sudo: mcp_server - names and descriptions of those whose tools the user is shown
        return {
            server.id: ServerSpec(
                id=server.id,
                name=server.name,
                title=server.title or "",
                description=server.description or "",
            )
            for server in self._listed_tools().server_id.sudo()
        }

    def _preview_of_caller(self, reader):
        """HTML for an administrator: what a client of the current user would be listed.

        :param reader: environment of the administrator
        """
        if not self._is_open_to_caller():
            return Markup("<p>%s</p>") % reader._("This user cannot use the gateway.")
        listed = sorted((spec.alias, spec.title or "") for spec in self._list())
        if not listed:
            return Markup("<p>%s</p>") % reader._("This user has none of these tools.")
        item = Markup("<li><code>%s</code> %s</li>")
        return Markup("<ul>%s</ul>") % Markup("").join(item % one for one in listed)

    # ------------------------------------------------------------ limits

    def _check_rate(self, more=0):
        """Refuse a call beyond the hour's.

        :param more: calls of the same request before it
        :raises Refusal: the current user has made too many
        """
        # sudo: gateway, tool_call - a limit, and how many calls of the current user count for it
        limit = self.sudo().calls_per_hour
        if not limit:
            return
        since = fields.Datetime.now() - PERIOD
        counted = Domain("gateway_id", "=", self.id) & Domain("create_date", ">", since)
        counted &= Domain("user_id", "=", self.env.uid)
        if (
            self.env["woow_paas_platform.tool_call"].sudo().search_count(counted, limit=limit)
            + more
            >= limit
        ):
            raise Refusal(
                self.env._(
                    "This gateway takes %(limit)s calls of a user an hour. Try again later.",
                    limit=limit,
                ),
                "too_many_calls",
            )
