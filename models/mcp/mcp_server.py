import uuid

from odoo import api, fields, models
from odoo.exceptions import AccessError, ValidationError
from odoo.fields import Domain

from ...services import const
from ...services.errors import ConfigError
from ...services.net import egress
from ...services.turn import names
from ...tools import limits, sentences

OWNER = {"scope", "cloud_service_id", "owner_user_id"}  # whose a server is


class McpServer(models.Model):
    """A registered MCP server: its address, scope and state."""

    _name = "woow_paas_platform.mcp_server"
    _description = "MCP Server"
    _inherit = [
        "woow_paas_platform.readonly.mixin",
        "mail.thread",
        "mail.activity.mixin",
        "woow_paas_platform.api_key.mixin",
        "woow_paas_platform.company.mixin",
    ]
    _order = "sequence, name, id"
    _rec_names_search = ["name", "title"]

    name = fields.Char(
        required=True, help="Short name, shown to the model before the name of each tool."
    )
    title = fields.Char(help="Shown to users instead of the name. The model sees the name.")
    mcp_id = fields.Char(
        "MCP ID",
        default=lambda self: str(uuid.uuid4()),
        readonly=True,
        copy=False,
        help="Identifies the server in the action recall API.",
    )
    sequence = fields.Integer(default=10)
    active = fields.Boolean(
        default=True,
        tracking=True,
        help="Switching it off takes effect immediately, even for running turns.",
    )
    auto_start = fields.Boolean(
        "Connect at Startup",
        help="The tools are reloaded whenever Odoo or a runner starts.",
    )
    description = fields.Text()
    url = fields.Char("URL", help="Endpoint of the server (streamable HTTP or SSE).")
    transport = fields.Selection(
        [
            ("auto", "Automatic"),
            ("streamable_http", "Streamable HTTP"),
            ("sse", "SSE (legacy)"),
            ("stdio", "Command (stdio)"),
        ],
        required=True,
        default="auto",
    )
    scope = fields.Selection(
        [("system", "System"), ("user", "Service or user")],
        "Used By",
        required=True,
        default="system",
        index=True,
    )
    cloud_service_id = fields.Many2one(
        "woow_paas_platform.cloud_service", ondelete="cascade", index="btree_not_null"
    )
    owner_user_id = fields.Many2one(
        "res.users", string="Owner", ondelete="cascade", index="btree_not_null"
    )
    trust_level = fields.Selection(
        [
            ("none", "Not trusted"),
            ("annotations", "Annotations trusted"),
            ("full", "Fully trusted"),
        ],
        required=True,
        default="none",
        tracking=True,
        help="The annotations of the server's tools (read-only, idempotent …) are only used if they are trusted.",
    )
    review_new_tools = fields.Boolean(
        help="New tools are offered only after a review. Tools whose definition changes later always need a review."
    )
    connect_timeout = fields.Float("Connect Timeout (s)", default=const.CONNECT_TIMEOUT)
    call_timeout = fields.Float("Call Timeout (s)", default=const.CALL_TIMEOUT)
    tool_ids = fields.One2many(
        "woow_paas_platform.mcp_tool", "server_id", string="Tools", context={"active_test": False}
    )

    tools_at_first = fields.Json(
        readonly=True,
        copy=False,
        help='Of an import: {"off": names of tools that come switched off, "policy": {name: policy}}.',
    )

    _mcp_id_unique = models.UniqueIndex("(mcp_id)", "Another MCP server already uses this ID.")
    _name_unique = models.UniqueIndex(
        "(name, scope, COALESCE(cloud_service_id, 0), COALESCE(owner_user_id, 0))",
        "An MCP server with this name already exists here.",
    )
    _scope_owner = models.Constraint(
        "CHECK ((scope = 'system' AND cloud_service_id IS NULL AND owner_user_id IS NULL)"
        " OR (scope = 'user' AND (cloud_service_id IS NULL) <> (owner_user_id IS NULL)))",
        "A system server has no owner; a user server belongs to one cloud service or one user.",
    )
    _company_of_system = models.Constraint(
        "CHECK (company_id IS NULL OR scope = 'system')",
        "Only a system server can have a company; a user server belongs to its cloud service or its user.",
    )
    _url_unless_stdio = models.Constraint(
        "CHECK (transport = 'stdio' OR COALESCE(url, '') <> '')", "An MCP server needs an address."
    )
    _timeouts_positive = models.Constraint(
        "CHECK (connect_timeout > 0 AND connect_timeout <= 60"
        " AND call_timeout > 0 AND call_timeout <= 600)",
        "Timeouts must be positive; a connection may take at most 60 seconds and a call at most 600.",
    )

    def _init_column(self, column_name):
        """Servers that are there already get an id each, not one for all."""
        if column_name != "mcp_id":
            return super()._init_column(column_name)
        self.env.cr.execute(
            "UPDATE woow_paas_platform_mcp_server SET mcp_id = gen_random_uuid() WHERE mcp_id IS NULL"
        )
        return None

    @api.depends("name", "title")
    def _compute_display_name(self):
        for server in self:
            server.display_name = server.title or server.name

    @api.constrains("url", "transport")
    def _check_url(self):
        for server in self.filtered(lambda server: server.transport != "stdio"):
            try:
                egress.check_url(server.url or "")
            except ConfigError as error:
                raise ValidationError(sentences.translated(self.env, str(error))) from error

    @api.constrains("scope", "cloud_service_id", "owner_user_id")
    def _check_number(self):
        """Each one is asked again and again: nobody turns this Odoo against a list of addresses."""
        limit = limits.get(self.env, "max_servers_per_assistant")
        for name in ("cloud_service_id", "owner_user_id"):
            owners = self[name]
            # sudo: mcp_server - a number, nothing is shown
            counts = (
                self.sudo()
                .with_context(active_test=False)
                ._read_group([(name, "in", owners.ids)], [name], ["__count"])
            )
            if any(count > limit for _owner, count in counts):
                raise ValidationError(
                    self.env._(
                        "A cloud service or a user can have at most %(limit)s MCP servers.",
                        limit=limit,
                    )
                )

    @api.model
    def _check_owner(self, owner):
        """Asked before a row is written: a name that is taken would tell who may not know of the names there.

        :param owner: ``{"scope", "cloud_service_id", "owner_user_id"}``; what is missing is the default
        :raises AccessError: the caller may not manage servers there
        """
        if self.env.su:
            return
        owner = self.default_get(list(OWNER)) | {name: owner[name] for name in OWNER & owner.keys()}
        rules = self.env["ir.rule"]._compute_domain(self._name, "write")
        # sudo: mcp_server - the rules read the owner's workspace, nothing is shown
        if not self.new(owner).sudo().filtered_domain(rules):
            raise AccessError(self.env._("You are not allowed to add MCP servers there."))

    @api.model_create_multi
    def create(self, vals_list):
        for vals in vals_list:
            self._check_owner(vals)
        servers = super().create(vals_list)
        servers.filtered(lambda server: not server.active)._reset_state()
        servers.filtered("active")._sync_after_commit()
        return servers

    def write(self, vals):
        self._check_write(vals)
        self._lock()
        result = super().write(vals)
        self._after_write(vals)
        return result

    def _check_write(self, vals):
        """Hook of `write`: what may not be written is refused before anything is."""
        if vals.keys() & OWNER:
            for server in self:
                self._check_owner(
                    {
                        "scope": server.scope,
                        "cloud_service_id": server.cloud_service_id.id,
                        "owner_user_id": server.owner_user_id.id,
                        **vals,
                    }
                )

    def _after_write(self, vals):
        """Hook of `write`: what follows from values that were written."""
        if vals.keys() & {"active", "url", "api_key", "api_key_env", "headers_json", "transport"}:
            self._reset_state()
        if vals.keys() & {"url", "transport"}:
            # sudo: mcp_server - readonly; what the old address spoke says nothing about the new one
            self.sudo().write({"detected_transport": False, "protocol_version": False})
        if vals.get("active"):
            self._sync_after_commit()

    def unlink(self):
        self.check_access("unlink")
        self._lock()
        self._before_unlink()
        return super().unlink()

    def _before_unlink(self):
        """Hook of `unlink`, for what goes with a server; the caller may delete it."""

    def _lock(self):
        """Who writes while the background does is run again, and Odoo's log has no error of it."""
        self.env.cr.execute(
            "SELECT id FROM woow_paas_platform_mcp_server WHERE id = ANY(%s) ORDER BY id"
            " FOR NO KEY UPDATE",
            [self.ids],
            log_exceptions=False,
        )

    @api.model
    def _of_person(self, person, cloud_services):
        """The user servers of these cloud services, unless archived, and the person's own; both may be empty."""
        own = Domain.FALSE
        if person:
            own |= Domain("owner_user_id", "=", person.id)
        if cloud_services:
            own |= Domain("cloud_service_id", "in", cloud_services.filtered("active").ids)
        return self.search(Domain("scope", "=", "user") & own)

    def _unambiguous_names(self):
        """``{server: name}``, as programs and models call these servers and all others that the current user could be
        told of, whatever is switched on and whatever it is asked for: see `names.server_names`."""
        known = self._known_to_caller()
        called = names.server_names((one.id, one.name, one._whose()) for one in known)
        return {server: called[server.id] for server in known}

    def _known_to_caller(self):
        """These, all system servers, the user's own, and those of all services that the user can see."""
        Service = self.env["woow_paas_platform.cloud_service"].with_user(self.env.user).sudo(False)
        services = Service.with_context(active_test=False).search([("workspace_id", "!=", False)])
        known = (
            Domain("scope", "=", "system")
            | Domain("owner_user_id", "=", self.env.uid)
            | Domain("cloud_service_id", "in", services.ids)
        )
        # sudo: mcp_server - names and whose they are, for the user to tell servers apart
        Server = self.sudo().with_context(active_test=False)
        read = ["name", "scope", "owner_user_id", "cloud_service_id"]
        return self.sudo() | Server.search_fetch(known, read, order="id")

    def _whose(self):
        """:return: `names.SYSTEM`, `names.OWN` or `names.OTHERS`, as the current user sees it"""
        if self.scope == "system":
            return names.SYSTEM
        user = self.env.user
        is_own = user in (self.owner_user_id, self.cloud_service_id.workspace_id.owner_id)
        return names.OWN if is_own else names.OTHERS

    def _named(self, wanted):
        """Those of these servers that are called so."""
        called = self._unambiguous_names()
        return self.filtered(lambda server: called[server] in wanted)

    @api.model
    def _of_person_anywhere(self, person):
        """The user servers of all chats that this person could have."""
        Service = self.env["woow_paas_platform.cloud_service"]
        Service = Service.with_user(person).sudo(False)
        # sudo: mcp_server - the person's own, and those of the person's services; found, not shown
        return self.sudo()._of_person(person, Service.search([("workspace_id", "!=", False)]))
