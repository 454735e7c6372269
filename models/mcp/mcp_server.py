import contextlib
import uuid
from collections import Counter
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from odoo import api, fields, models
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.fields import Domain

from ...services import const
from ...services.catalog import mcp_json
from ...services.errors import ConfigError
from ...services.net import egress
from ...services.turn import names
from ...services.versions.exchange import Shape
from ...tools import limits, mcp_switch, sentences, settings
from ...tools.moments import utc
from ...tools.refusals import Refusal

OWNER = {"scope", "cloud_service_id", "owner_user_id"}  # whose a server is
SYSTEM = {"scope": "system", "cloud_service_id": False, "owner_user_id": False}
TROUBLE = ("error", "auth_required")  # states of a server
MAX_VERSIONS = 50  # of one server
# What a version holds: how the server is asked and what is thought of it, never a secret, a command or whose it is.
VERSIONED = ("name", "description", "url", "transport", *mcp_json.CONFIGURATION)
OPT_OUT = "woow_paas_platform.server_opt_out"


class McpServer(models.Model):
    """A registered MCP server: its address, scope and owner, who manages, sees and uses it.

    Its secrets are in `mcp_server_secrets`, the operator's file and templates in `mcp_server_source`, its health and
    the sync of its tools in `mcp_server_state`.
    """

    _name = "woow_paas_platform.mcp_server"
    _description = "MCP Server"
    _inherit = [
        "woow_paas_platform.readonly.mixin",
        "mail.thread",
        "mail.activity.mixin",
        "woow_paas_platform.api_key.mixin",
        "woow_paas_platform.company.mixin",
        "woow_paas_platform.lock.mixin",
        "woow_paas_platform.exchange.mixin",
    ]
    _order = "sequence, name, id"
    _exchanged = VERSIONED
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
    is_for_owners = fields.Boolean(
        "Offered to Service Owners",
        copy=False,
        groups="woow_paas_platform.group_admin",
        help="Owners of cloud services may choose it for their assistants.",
    )
    connect_timeout = fields.Float("Connect Timeout (s)", default=const.CONNECT_TIMEOUT)
    call_timeout = fields.Float("Call Timeout (s)", default=const.CALL_TIMEOUT)
    tool_ids = fields.One2many(
        "woow_paas_platform.mcp_tool", "server_id", string="Tools", context={"active_test": False}
    )
    assistant_ids = fields.Many2many(
        "ai.assistant",
        "ai_assistant_mcp_server_rel",
        "server_id",
        "assistant_id",
        string="Assistants",
        copy=False,
        context={"active_test": False},
        groups="woow_paas_platform.group_admin",
    )

    tools_at_first = fields.Json(
        readonly=True,
        copy=False,
        help='Of an import: {"off": names of tools that come switched off, "policy": {name: policy}}.',
    )

    is_locked = fields.Boolean(tracking=True)
    lock_reason = fields.Char(tracking=True)
    version_ids = fields.One2many(
        "woow_paas_platform.mcp_server_version", "server_id", "Versions", readonly=True, copy=False
    )
    is_on_for_me = fields.Boolean(
        "Used in My Conversations", compute="_compute_is_on_for_me", exportable=False
    )
    my_policy = fields.Char("My Own Rule", compute="_compute_my_policy", exportable=False)

    tool_count = fields.Integer("Number of Tools", compute="_compute_tool_count")
    review_count = fields.Integer("Tools to Review", compute="_compute_tool_count")
    unreviewed_count = fields.Integer("Tools Not Reviewed", compute="_compute_tool_count")
    refused_count = fields.Integer("Refused Tools", compute="_compute_tool_count")
    warned_count = fields.Integer(
        "Suspicious Tools",
        compute="_compute_tool_count",
        help="Tools in use whose definition contains a link, or mentions passwords or keys.",
    )
    call_count = fields.Integer("Tool Calls", compute="_compute_call_count")
    total_call_count = fields.Integer(
        "Total Calls",
        compute="_compute_total_call_count",
        groups="woow_paas_platform.group_admin",
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
    _locked_is_off = models.Constraint(
        "CHECK (is_locked IS NOT TRUE OR active IS NOT TRUE)",
        "A locked MCP server is switched off.",
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

    @api.depends_context("uid")
    def _compute_is_on_for_me(self):
        off = self.env[OPT_OUT]._servers_of(self.env.user)
        for server in self:
            server.is_on_for_me = server not in off

    @api.depends_context("uid")
    def _compute_my_policy(self):
        own = self.env["woow_paas_platform.person_rule"]._own(servers=self)
        for server in self:
            server.my_policy = own.get(server.id, "default")

    @api.depends(
        "tool_ids.available",
        "tool_ids.active",
        "tool_ids.review_state",
        "tool_ids.is_unreviewed",
        "tool_ids.warning_codes",
    )
    def _compute_tool_count(self):
        for server in self:
            tools = server.tool_ids.filtered("available")
            of_state = tools.grouped("review_state")
            count = {state: len(of_these) for state, of_these in of_state.items()}
            in_use = of_state.get("approved", tools.browse()).filtered("active")
            server.tool_count = len(tools)
            server.review_count = count.get("new", 0) + count.get("changed", 0)
            server.unreviewed_count = len(in_use.filtered("is_unreviewed"))
            server.refused_count = count.get("refused", 0)
            server.warned_count = len(in_use.filtered("warning_codes"))

    def _compute_call_count(self):
        counts = self._counts("woow_paas_platform.tool_call")
        for server in self:
            server.call_count = counts.get(server, 0)

    def _compute_total_call_count(self):
        counts = self._counts("woow_paas_platform.tool_call_report")
        for server in self:
            server.total_call_count = counts.get(server, 0)

    def _counts(self, model):
        """Number of the model's records of each server: ``{server: number}``."""
        in_these = [("server_id", "in", self.ids)]
        return dict(self.env[model]._read_group(in_these, ["server_id"], ["__count"]))

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

    @api.constrains("company_id")
    def _check_company_of_assistants(self):
        # sudo: ai.assistant - those of other companies use it, too
        self.sudo().assistant_ids._check_company()

    @api.model_create_multi
    def create(self, vals_list):
        for vals in vals_list:
            self._check_not_locked_out(vals.get("url"))
        for vals in vals_list:
            self._check_owner(vals)
        servers = super().create(vals_list)
        if servers._has_system():  # its name may be that of another
            self.env.registry.clear_cache()
        servers.filtered(lambda server: not server.active)._reset_state()
        servers.filtered("active")._sync_after_commit()
        servers._keep_version()
        return servers

    def write(self, vals):
        self._check_write(vals)
        self._lock()
        with self._renaming() if vals.keys() & {"name", "scope"} else contextlib.nullcontext():
            result = super().write(vals)
        self._after_write(vals)
        return result

    def _check_write(self, vals):
        """Refuse what may not be written, before anything is."""
        self._check_write_of_source(vals)
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
        if "url" in vals:
            self._check_move(vals["url"])
        self._check_lock(vals)

    def _after_write(self, vals):
        """Do what follows from values that were written."""
        self._lock_for_owners(vals)
        if "is_locked" in vals:
            self._tell_managers()
        if vals.get("oauth_client_secret"):
            self._forget_sign_ins()
        if vals.get("active") is False:
            self._end_sessions()
        if vals.keys() & {"active", "url", "api_key", "api_key_env", "headers_json", "transport"}:
            self._reset_state()
        if vals.keys() & {"url", "transport"}:
            # sudo: mcp_server - readonly; what the old address spoke says nothing about the new one
            self.sudo().write({"detected_transport": False, "protocol_version": False})
        if vals.get("active"):
            self._sync_after_commit()
        if vals.keys() & OWNER:
            # sudo: mcp_server_version - the new owner may not read what the former one had here
            self.sudo().version_ids.unlink()
        if vals.keys() & {*VERSIONED, *OWNER}:
            self._keep_version()

    def unlink(self):
        self.check_access("unlink")
        self._lock()
        self._check_delete()
        self._end_sign_ins()
        self._end_sessions()
        with self._renaming():
            return super().unlink()

    def _lock(self):
        """Lock rows; a request that meets a background write is retried without an error in Odoo's log."""
        self.env.cr.execute(
            "SELECT id FROM woow_paas_platform_mcp_server WHERE id = ANY(%s) ORDER BY id"
            " FOR NO KEY UPDATE",
            [self.ids],
            log_exceptions=False,
        )

    # ------------------------------------------------------------ buttons

    def action_test_connection(self):
        """Show the test of `POST /api/mcp/servers/<id>/test`, step by step."""
        self.ensure_one()
        self.check_access("write")
        return {
            "type": "ir.actions.client",
            "tag": "woow_connection_test",
            "params": {"path": f"/api/mcp/servers/{self.id}/test"},
        }

    def action_sync_tools(self):
        """Read `tools/list` in the background and bring the tool records up to date; what came of it is notified."""
        self.check_access("write")
        if notice := mcp_switch.notice(self.env):
            raise UserError(notice)
        self._sync_after_commit(notify=True)
        if len(self) > 1:
            return self._notify(
                self.env._(
                    "The tools of %(count)s servers are being reloaded. Their states will be updated shortly.",
                    count=len(self),
                ),
                kind="info",
            )
        return self._notify(
            self.env._(
                "The tools of “%(server)s” are being reloaded. You will be notified of the result.",
                server=self.name,
            ),
            kind="info",
        )

    def _notify(self, message, kind="success"):
        return {
            "type": "ir.actions.client",
            "tag": "display_notification",
            "params": {
                "type": kind,
                "message": message,
                "next": {"type": "ir.actions.client", "tag": "soft_reload"},
            },
        }

    def action_enable(self):
        self.write({"active": True})

    def action_disable(self):
        self.write({"active": False})

    def action_export(self):
        """Download the ``mcpServers`` document of these servers."""
        ids = ",".join(map(str, self.ids))
        return {"type": "ir.actions.act_url", "url": f"/api/mcp/export?ids={ids}&download=1"}

    def action_view_tools(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.mcp_tool_action")
        return {
            **action,
            "domain": [("server_id", "=", self.id)],
            "context": {"active_test": False},
        }

    def action_review(self):
        """Show the definitions in use that nobody has accepted."""
        return self.tool_ids.filtered(
            lambda tool: tool.available and tool.is_unreviewed
        ).action_review()

    def action_review_tools(self):
        action = self.action_view_tools()
        return {**action, "context": {**action["context"], "search_default_to_review": 1}}

    def action_view_statistics(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id(
            "woow_paas_platform.tool_call_report_action"
        )
        return {**action, "domain": [("server_id", "=", self.id)], "context": {}}

    def action_view_calls(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.tool_call_action")
        return {**action, "domain": [("server_id", "=", self.id)], "context": {}}

    # ------------------------------------------------------------ who manages a server

    # The record rules (`security/mcp_rules.xml`) say the same to Odoo, which enforces it; `tests/test_managers.py`
    # holds them to it.

    def _is_managed_by(self, user):
        """True if it is the person's, or the person is an administrator of its company."""
        self.ensure_one()
        if not user.has_group("woow_paas_platform.group_admin"):
            return user in self._managers()
        # sudo: res.users, mcp_server - the companies of both, read to decide
        companies = self.env.companies if user == self.env.user else user.sudo().company_ids
        return bool(self.sudo().filtered_domain(self._check_company_domain(companies.ids)))

    def _managers(self):
        """Managers beside administrators, nobody of a system server."""
        # sudo: mcp_server - whose they are, read to decide
        servers = self.sudo()
        people = servers.owner_user_id | servers.cloud_service_id.workspace_id._managers()
        return people.filtered(lambda user: not user._is_public())

    def _tell_managers(self):
        """Pages and forms that show the server read it again."""
        # sudo: res.groups, res.partner - only to address them on the bus
        admins = self.env.ref("woow_paas_platform.group_admin").sudo()
        for server in self:
            for audience in (admins, *server._managers().partner_id.sudo()):
                audience._bus_send("woow_ai/mcp_server", {"id": server.id})

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

    # ------------------------------------------------------------ whom a server serves, and its names

    @api.model
    def _of_person(self, person, cloud_services):
        """The user servers of these cloud services, unless archived, and the person's own; both may be empty."""
        own = Domain.FALSE
        if person:
            own |= Domain("owner_user_id", "=", person.id)
        if cloud_services:
            own |= Domain("cloud_service_id", "in", cloud_services.filtered("active").ids)
        return self.search(Domain("scope", "=", "user") & own)

    @api.model
    def _of_person_anywhere(self, person):
        """The user servers of all chats that this person could have."""
        Service = self.env["woow_paas_platform.cloud_service"]
        Service = Service.with_user(person).sudo(False)
        services = Service.search_fetch([("workspace_id", "!=", False)], ["active"])
        # sudo: mcp_server - the person's own, and those of the person's services; found, not shown
        return self.sudo()._of_person(person, services)

    def _unambiguous_names(self):
        """``{server: name}``, as programs and models call these servers and all others that the current user could be
        told of, whatever is switched on and whatever it is asked for: see `names.server_names`."""
        return self._known_to_caller()._server_names()

    @api.model
    def _names_of_system(self):
        """The part of `_unambiguous_names` that holds for everybody, as no other server changes it."""
        return self._with_names(Domain("scope", "=", "system"))._server_names()

    @contextlib.contextmanager
    def _renaming(self):
        """Around a change of their names or of their tools': all processes read those of the system anew."""
        was_system = self._has_system()
        yield
        if was_system or self.exists()._has_system():
            self.env.registry.clear_cache()

    def _has_system(self):
        # sudo: mcp_server - whose they are, not shown
        return any(server.scope == "system" for server in self.sudo())

    def _server_names(self):
        called = names.server_names((one.id, one.name, one._whose()) for one in self)
        return {server: called[server.id] for server in self}

    def _known_to_caller(self):
        """Add to these all system servers, the user's own, and those of all services that the user can see."""
        Service = self.env["woow_paas_platform.cloud_service"].with_user(self.env.user).sudo(False)
        services = Service.with_context(active_test=False).search([("workspace_id", "!=", False)])
        known = (
            Domain("scope", "=", "system")
            | Domain("owner_user_id", "=", self.env.uid)
            | Domain("cloud_service_id", "in", services.ids)
        )
        return self.sudo() | self._with_names(known)

    def _with_names(self, domain):
        # sudo: mcp_server - names and whose they are, for the user to tell servers apart
        Server = self.sudo().with_context(active_test=False)
        read = ["name", "scope", "owner_user_id", "cloud_service_id"]
        return self.sudo().browse(Server.search_fetch(domain, read, order="id").ids)

    def _whose(self):
        """:return: `names.SYSTEM`, `names.OWN` or `names.OTHERS`, as the current user sees it"""
        if self.scope == "system":
            return names.SYSTEM
        user = self.env.user
        is_own = user in (self.owner_user_id, self.cloud_service_id.workspace_id.owner_id)
        return names.OWN if is_own else names.OTHERS

    def _named(self, wanted):
        """Servers among these that are called so."""
        called = self._unambiguous_names()
        return self.filtered(lambda server: called[server] in wanted)

    # ------------------------------------------------------------ who sees a server

    # Who manages a server is told all but secrets. Of system servers everybody of their company who signs in sees
    # name and tools (document 004, §4.2), never address, headers or errors: they may tell of the inside of a network.

    @api.model
    def _system_domain(self):
        """The system servers that the caller sees as everybody does."""
        return Domain("scope", "=", "system") & Domain(
            self._check_company_domain(self.env.companies.ids)
        )

    @api.model
    def _listed(self, cloud_service=None):
        """The servers that the caller may see, oldest first.

        :param cloud_service: of the user scope only those of this service
        """
        domain = [("cloud_service_id", "=", cloud_service.id)] if cloud_service else []
        managed = self.with_context(active_test=False).search(domain)
        # sudo: mcp_server - what is shown of them is up to `_api_data`
        return (managed | self.sudo().search(self._system_domain()).sudo(False)).sorted("id")

    def _visible(self):
        """The servers among these that the caller may see."""
        managed = self.exists()._filtered_access("read")
        # sudo: mcp_server - see `_listed`
        seen = self._system_domain() & Domain("active", "=", True)
        system = (self - managed).sudo().exists().filtered_domain(seen)
        return managed | system.sudo(False)

    def _usable_by_caller(self):
        """Servers among these that the caller sees, or meets in chats about a cloud service."""
        # sudo: mcp_server - whose it is; the service is read with the caller's rights
        rest = (self - self._visible()).sudo().exists()
        services = rest.cloud_service_id.sudo(False)._filtered_access("read")
        of_services = rest.filtered(lambda s: s.active and s.cloud_service_id.id in services.ids)
        return self._visible() | of_services.sudo(False)

    # ------------------------------------------------------------ switches: a person's own, and the one of all servers

    @api.model
    def _attention(self, services):
        """Number of things to look at for managers of services: ``{service: number}``, without the zeros.

        Servers in trouble, and tools of the others that wait for a review.
        """
        managed = services.filtered("is_manager")
        counts = Counter()
        for server in self.search([("cloud_service_id", "in", managed.ids)]):
            counts[server.cloud_service_id] += (server.state in TROUBLE) + server.review_count
        return dict(+counts)

    def _switch_for_me(self, is_on):
        """Switch it in all conversations of the current user that have no choice of their own."""
        self.ensure_one()
        self.env[OPT_OUT]._switch(self.env.user, self, is_on)
        self.invalidate_recordset(["is_on_for_me"])

    def _set_my_policy(self, policy):
        self.ensure_one()
        Rule = self.env["woow_paas_platform.person_rule"]
        Rule._set_own(self, self.env["woow_paas_platform.mcp_tool"], policy)
        self.invalidate_recordset(["my_policy"])

    @api.model
    def _switch_mcp(self, is_on):
        """Apply the setting of all MCP servers; the caller has checked the person."""
        if is_on == mcp_switch.is_on_in_settings(self.env):
            return
        # sudo: ir.config_parameter, mcp_server - the database's own switch, and who has a session to close
        self.env["ir.config_parameter"].sudo().set_param(
            mcp_switch.PARAMETER, not is_on and mcp_switch.OFF
        )
        servers = self.sudo().search([("active", "=", True)])
        if is_on:
            servers.filtered(lambda server: server.state == "draft")._sync_after_commit()
        else:
            servers._end_sessions()
        servers.tool_ids.invalidate_recordset(["is_usable"])

    # ------------------------------------------------------------ locks

    # What an administrator has locked, itself or a tool of it, its owner cannot replace. Deleting it, moving it to
    # another address or adding its address once more would make a server that nobody has locked.

    def _is_run_by(self, user):
        self.ensure_one()
        # sudo: mcp_server - whose it is, read to decide
        return self.sudo().scope == "system" or user in self._managers()

    def _is_free_to(self):
        """True if locks do not apply to the caller: an administrator, or Odoo itself."""
        return self.env.su or self._may_lock()

    def _with_locks(self):
        """Servers among these that are locked themselves, or a tool of which is."""
        # sudo: mcp_server, mcp_tool - switches, read to decide
        return self.filtered(lambda s: s.sudo().is_locked or s._locked_tools())

    def _locked_tools(self):
        # sudo: mcp_tool - switches, read to decide
        return self.sudo().tool_ids.filtered("is_locked")

    def _refusal_by_lock(self):
        self.ensure_one()
        # sudo: mcp_server - see `_with_locks`
        return (self if self.sudo().is_locked else self._locked_tools()[0])._locked()

    def _check_move(self, url):
        """:raises Locked: a server that is locked, or a tool of which is, would leave its address or be added anew"""
        if self._is_free_to():
            return
        moved = self.filtered(lambda server: (server.url or "") != (url or ""))
        moved._check_no_locks()
        if moved:
            self._check_not_locked_out(url)

    def _check_delete(self):
        """:raises Locked: a server that is locked, or a tool of which is, would be deleted"""
        if not self._is_free_to():
            self._check_no_locks()

    def _check_no_locks(self):
        for server in self._with_locks():
            raise server._refusal_by_lock()

    @api.model
    def _check_not_locked_out(self, url):
        """:raises Locked: the caller manages a server at this address that is locked, or a tool of which is"""
        if server := url and self._locked_at_address(url):
            raise server._refusal_by_lock()

    @api.model
    def _locked_at_address(self, url):
        if self._is_free_to():
            return self.browse()
        is_locked = Domain("is_locked", "=", True)
        locks = is_locked | Domain("tool_ids", "any", is_locked)
        known = self.with_context(active_test=False).search(Domain("scope", "=", "user") & locks)
        wanted = _address(url)
        return known.filtered(lambda server: _address(server.url or "") == wanted)[:1]

    # ------------------------------------------------------------ versions of its configuration

    def _configuration(self):
        """Content of a version of this server now; parameters of the address that look like secrets are hidden."""
        self.ensure_one()
        texts = ("char", "text", "selection")
        values = {
            name: (self[name] or "") if self._fields[name].type in texts else self[name]
            for name in VERSIONED
        }
        # A placeholder of no name: the same address is the same after the server was called otherwise.
        return {**values, "url": mcp_json.without_secrets("", values["url"])}

    def _keep_version(self):
        """Add a version to each server whose configuration is not that of its latest one."""
        # sudo: mcp_server_version - written by Odoo only; the caller may change the server
        Version = self.env["woow_paas_platform.mcp_server_version"].sudo()
        for server in self.sudo().filtered(lambda server: not server.managed_by_file):
            versions = Version.search([("server_id", "=", server.id)])
            last, configuration = versions[:1], server._configuration()
            before = last.configuration or {}
            if last and before == configuration:
                continue
            changed = [name for name, value in configuration.items() if before.get(name) != value]
            Version.create(
                {
                    "server_id": server.id,
                    "number": last.number + 1,
                    "configuration": configuration,
                    "changed": ", ".join(changed) if last else False,
                }
            )
            versions[MAX_VERSIONS - 1 :].unlink()

    # ------------------------------------------------------------ JSON

    def _api_data(self, with_tools=False):
        """One server as JSON; more of it for who may change it."""
        self.ensure_one()
        manages = self.has_access("write")
        # sudo: mcp_server - a manager reads all but secrets, everybody else only what is listed here
        server = self.sudo()
        tools = server.tool_ids.filtered("available")
        usable = tools.filtered("is_usable")
        data = {
            "id": server.id,
            "name": server.name,
            "title": server.title or "",
            "display_name": server.title or "",
            "description": server.description or "",
            "scope": server.scope,
            "active": server.active,
            "enabled": server.active,
            "state": server.state,
            "tool_count": len(tools),
            "active_tool_count": len(usable),
            "token_estimate": sum(usable.mapped("token_estimate")),
            "can_edit": manages,
        }
        if manages:
            data |= server._managed_data()
        if with_tools:
            shown = server.tool_ids if manages else usable
            data["tools"] = [tool._api_data() for tool in shown.sorted("name")]
        return data | {"enabled_for_me": self.is_on_for_me, "my_policy": self.my_policy}

    def _managed_data(self):
        service = self.cloud_service_id
        return {
            "url": self.url or "",
            "template": self.template_code or "",
            "transport": self.transport,
            "has_api_key": self.has_api_key,
            "header_names": self._header_names(),
            "trust_level": self.trust_level,
            "connect_timeout": self.connect_timeout,
            "call_timeout": self.call_timeout,
            "cloud_service": {"id": service.id, "name": service.name} if service else None,
            "is_personal": bool(self.owner_user_id),
            "user_id": self.owner_user_id.id or None,
            "state_message": self.state_sentence or "",
            "protocol_version": self.protocol_version or "",
            "review_count": self.review_count,
            "refused_count": self.refused_count,
            "warned_count": self.warned_count,
            "last_sync": utc(self.last_sync),
            "last_attempt": utc(self.last_attempt),
            "lock": self._lock_data(),
            "auto_start": self.auto_start,
            "created_at": utc(self.create_date),
            "updated_at": utc(self.write_date),
            "api_key_env": self.api_key_env or "",
            **self._environment_data(),
            **self._authorization_data(),
        }

    def _header_names(self):
        return [name for name in (self.header_names or "").split(", ") if name]

    # ------------------------------------------------------------ import and export

    @api.model
    def _free_name(self, wanted, owner):
        """The name, with a number where it is taken already.

        :param owner: ``{"scope", "cloud_service_id", "owner_user_id"}`` of the server
        """
        taken, name, number = set(self._names_in(owner)), wanted, 2
        while name in taken:
            name, number = f"{wanted} {number}", number + 1
        return name

    @api.model
    def _names_in(self, owner):
        """The names that this owner's servers have.

        :raises AccessError: the caller may not add a server there
        """
        self._check_owner(owner)
        domain = [(field, "=", value) for field, value in owner.items()]
        # sudo: mcp_server - names of the servers beside which the caller is about to add one
        return self.sudo().with_context(active_test=False).search(domain).mapped("name")

    @api.model
    def _import_servers(self, document, owner, *, is_confirmed=False):
        """Make a server of each entry of an ``mcpServers`` document that can be one.

        :param is_confirmed: somebody has read what the document decides beside addresses
        :raises AccessError: the caller may not add servers there, and learns no name of those that are there
        :return: (servers, ``[{"name", "message"}]`` of what was left out or is still missing)
        :raises ConfigError: it is no such document
        :raises Refusal: nobody has confirmed what it decides; its notes say what
        """
        found, skipped = mcp_json.read(document)
        notes = [
            {"name": entry.name, "message": sentences.translated(self.env, entry.message)}
            for entry in skipped
        ]
        known = set(self._names_in(owner))
        usable = []
        for entry in found:
            if entry.name in known:
                message = self.env._("An MCP server with this name already exists here.")
                notes.append({"name": entry.name, "message": message})
                continue
            if locked := self._locked_at_address(entry.url):
                message = str(locked._refusal_by_lock())
                notes.append({"name": entry.name, "message": message})
                continue
            known.add(entry.name)
            usable.append(_that_fits(entry, owner))
        asks = [ask for entry in usable for ask in self._asks_of_import(entry)]
        if asks and not is_confirmed:
            message = self.env._("First confirm what this document sets.")
            raise Refusal(message, "confirmation_required", notes=asks)
        servers = self
        for entry in usable:
            server = self.create({**owner, **_vals_of_import(entry)})
            # sudo: mcp_server - readonly for people; they have just made it of this document
            server.sudo().tools_at_first = _tools_of_import(entry)
            servers |= server
            if entry.missing:
                message = self.env._(
                    "Server added. Enter the values that the document did not contain: %(names)s.",
                    names=", ".join(entry.missing),
                )
                notes.append({"name": entry.name, "message": message})
        self.env["woow_paas_platform.audit.mixin"]._record_act(
            "configuration_imported", servers=servers
        )
        return servers, notes

    def _asks_of_import(self, entry):
        """Decisions for a person to confirm: that calls run unasked, or that a key of the operator's leaves."""
        messages, decided = [], entry.settings
        if (level := decided.get("trust_level", "none")) != "none":
            levels = dict(self._fields["trust_level"]._description_selection(self.env))
            messages.append(
                self.env._(
                    "This server comes with the trust level “%(level)s”. Check whether you trust it.",
                    level=levels[level],
                )
            )
        policies = decided.get("tools_policy", {})
        if unasked := sorted(name for name, policy in policies.items() if policy == "auto"):
            messages.append(
                self.env._("These of its tools always run: %(tools)s.", tools=", ".join(unasked))
            )
        if variable := decided.get("api_key_env"):
            messages.append(
                self.env._(
                    "%(url)s is sent the key in the operator's variable %(variable)s.",
                    url=entry.url,
                    variable=variable,
                )
            )
        return [{"name": entry.name, "message": message} for message in messages]

    def _export_servers(self):
        """The ``mcpServers`` document of these servers, without secrets; stdio servers stay with the operator."""
        self.env["woow_paas_platform.audit.mixin"]._record_act(
            "configuration_exported", servers=self
        )
        return mcp_json.write(
            {
                "name": server.name,
                "url": server.url,
                "transport": server.transport,
                "description": server.description or "",
                "has_api_key": server.has_api_key,
                "header_names": server._header_names(),
                "settings": server._settings_to_export(),
            }
            for server in self
            if server.url
        )

    def _settings_to_export(self):
        """Settings that differ from a new server's, by `mcp_json.SETTINGS`."""
        new = self.default_get(list(mcp_json.SETTINGS.keys() & self._fields.keys()))
        found = {
            key: self[key]
            for key in mcp_json.SETTINGS
            if key in self._fields and self[key] != new.get(key, False)
        }
        # sudo: mcp_tool - names and switches of the tools of a server that the caller manages
        tools = self.sudo().tool_ids
        at_first = {} if tools else self.sudo().tools_at_first or {}
        off = tools.filtered(lambda tool: not tool.active).mapped("name") or at_first.get("off")
        decided = tools.filtered(lambda tool: tool.approval_policy != "default")
        policy = {tool.name: tool.approval_policy for tool in decided} or at_first.get("policy")
        found |= {"tools_off": sorted(off)} if off else {}
        return found | ({"tools_policy": policy} if policy else {})

    # ------------------------------------------------------------ configuration files, of system servers

    @api.model
    def _exchange_shapes(self):
        tools = {"tools_off": Shape("names"), "tools_policy": Shape("pairs")}
        return {**super()._exchange_shapes(), "active": Shape("switch"), **tools}

    def _exchange_data(self):
        settings_of = self._settings_to_export()
        return {
            **super()._exchange_data(),
            **self._configuration(),
            "active": self.active,
            "tools_off": settings_of.get("tools_off", []),
            "tools_policy": settings_of.get("tools_policy", {}),
        }

    def _exchange_key(self):
        """The operator's file calls a server by its name in each database."""
        return f"file:{self.name}" if self.managed_by_file else super()._exchange_key()

    @api.model
    def _exchange_find(self, key):
        of_file = key.removeprefix("file:")
        if of_file == key:
            return super()._exchange_find(key).filtered(lambda server: server.scope == "system")
        domain = [("name", "=", of_file), ("managed_by_file", "=", True)]
        # sudo: mcp_server - found by name, not shown
        every = self.sudo().with_context(active_test=False)
        return every.search(domain, limit=1).sudo(False)

    @api.model
    def _exchange_check(self, entry):
        if entry["transport"] == "stdio":
            raise ConfigError(
                self.env._(
                    "Servers started by a command can only be defined in the operator's configuration file."
                )
            )
        egress.check_url(entry["url"], settings.get().egress_allow)
        mcp_json.checked_settings({name: entry[name] for name in mcp_json.SETTINGS})
        return super()._exchange_check(entry)

    def _exchange_fit(self, entry, coming):
        entry, notes = super()._exchange_fit(entry, coming)
        if self.managed_by_file or self.template_code:
            raise Refusal(self._sentence_read_only())
        if self.is_locked:
            raise self._locked()
        if self:  # its switch is this database's own
            entry["active"] = self.active
        elif entry["name"] in self._names_in(SYSTEM):
            raise Refusal(self.env._("An MCP server with this name already exists here."))
        url = entry["url"]
        if mcp_json.has_placeholder(url) and not (self and url == self._configuration()["url"]):
            raise Refusal(
                self.env._("Its address contains a secret, which files do not. Add it here first.")
            )
        if entry["api_key_env"] not in ("", *settings.get().released_env):
            entry["api_key_env"] = ""
            notes.append(self.env._("The operator has not released the variable of its key."))
        lacking = set(entry["secrets"])
        if self and egress.origin(url) == egress.origin(self.url):
            lacking -= self._held_secrets()
        if lacking:
            labels = [self._exchange_label(name) for name in sorted(lacking & self._fields.keys())]
            notes.append(self.env._("Enter after the import: %(names)s.", names=", ".join(labels)))
        decided = ("trust_level", "tools_policy", "api_key_env")
        now = self._exchange_data() if self else {}
        asked = {name: entry[name] for name in decided if entry[name] != now.get(name)}
        asks = self._asks_of_import(
            mcp_json.ImportedServer(name=entry["name"], url=url, settings=asked)
        )
        return entry, [*notes, *(ask["message"] for ask in asks)]

    @api.model
    def _exchange_create(self, entry):
        vals = {**self._exchange_vals(entry, VERSIONED), **SYSTEM, "active": entry["active"]}
        if entry["company"]:
            vals["company_id"] = self.env.company.id
        return self._exchange_made(self.create(vals), entry)

    def _exchange_write(self, entry, changed):
        columns = [name for name in changed if name in VERSIONED]
        result = super()._exchange_write(entry, [name for name in columns if name != "url"])
        if "url" in columns and not mcp_json.has_placeholder(entry["url"]):
            self.url = entry["url"]
        off, policies = set(entry["tools_off"]), entry["tools_policy"]
        known = {tool.name: tool for tool in self.tool_ids}
        for name in sorted(known.keys() | off | policies.keys()):
            tool = known.get(name) or self.env["woow_paas_platform.mcp_tool"]._expected(self, name)
            if tool.active == (name in off) and not tool.is_locked:
                tool.active = name not in off
            if tool.approval_policy != policies.get(name, "default"):
                tool.approval_policy = policies.get(name, "default")
        return result

    @api.model
    def _exchange_label(self, name):
        own = {"tools_off": self.env._("Disabled Tools"), "tools_policy": self.env._("When Called")}
        return own.get(name) or super()._exchange_label(name)


def name_of(url):
    """A name for a server that got none: ``https://mcp.example.com/mcp`` is "example"."""
    try:
        labels = (urlsplit(url).hostname or "").split(".")
    except ValueError:  # the constraint says what is wrong with it
        labels = []
    telling = [label for label in labels if label not in ("", "www", "api", "mcp")]
    return telling[0] if telling and not telling[0].isdecimal() else "server"


def _vals_of_import(entry):
    return {
        "name": entry.name,
        "url": entry.url,
        "transport": entry.transport,
        "description": entry.description,
        "api_key": entry.api_key,
        "headers_json": entry.headers_json,
        **{key: value for key, value in entry.settings.items() if not key.startswith("tools_")},
    }


def _tools_of_import(entry):
    named = {"off": entry.settings.get("tools_off"), "policy": entry.settings.get("tools_policy")}
    return {key: value for key, value in named.items() if value} or False


def _that_fits(entry, owner):
    """The entry without what only system servers can have; a person enters a key instead."""
    kept, is_system = dict(entry.settings), owner["scope"] == "system"
    released = settings.get().released_env if is_system else ()
    lacks_key = kept.get("api_key_env", "") not in ("", *released)
    if lacks_key:
        del kept["api_key_env"]
    if not is_system:
        lacks_key |= kept.pop("wants_own_keys", False)
    missing = (*entry.missing, *(["Authorization"] if lacks_key else []))
    return replace(entry, settings=kept, missing=missing)


def _address(url):
    """The address that a URL leads to, however it is written.

    >>> _address("https://MCP.example.com:443/mcp/?x=1") == _address("https://mcp.example.com./%6Dcp")
    True
    """
    where = egress.origin(url)
    return (*where, unquote(urlsplit(url.strip()).path).rstrip("/")) if where else url


class McpServerVersion(models.Model):
    """A configuration that a server had, to compare and to restore. Written by Odoo when it changes."""

    _name = "woow_paas_platform.mcp_server_version"
    _description = "MCP Server Version"
    _order = "id desc"

    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server",
        required=True,
        readonly=True,
        ondelete="cascade",
        index=True,
    )
    number = fields.Integer("Version", required=True, readonly=True, aggregator=None)
    configuration = fields.Json(required=True, readonly=True)
    changed = fields.Char(readonly=True, help="Differences from the previous version.")
    difference = fields.Text(
        compute="_compute_difference",
        help="Differences from the current configuration: this version → current value.",
    )
    is_current = fields.Boolean(compute="_compute_difference")

    @api.depends_context("lang")
    def _compute_difference(self):
        for version in self:
            changes = version._changes()
            version.is_current = not changes
            version.difference = "\n".join(
                f"{change['label']}: {change['from'] or '–'} → {change['to'] or '–'}"
                for change in changes
            )

    def _changes(self):
        """Changes that a restore would make: ``[{"field", "label", "from", "to"}]``, from this version to now."""
        self.ensure_one()
        # sudo: mcp_server - who may read the version manages the server
        now = self.server_id.sudo()._configuration()
        Server = self.env["woow_paas_platform.mcp_server"]
        return [
            {
                "field": name,
                "label": Server._fields[name]._description_string(self.env),
                "from": was,
                "to": now[name],
            }
            for name, was in self.configuration.items()
            if name in now and now[name] != was
        ]

    def action_restore(self):
        """Give the server this configuration again, by the same checks as any change of it."""
        self.ensure_one()
        server = self.server_id
        server.check_access("write")
        values = {change["field"]: change["from"] for change in self._changes()}
        if mcp_json.has_placeholder(values.get("url") or ""):
            raise UserError(
                self.env._(
                    "The address of this version contained a secret, which versions do not keep."
                    " Enter the address again."
                )
            )
        if values:
            server.write(values)
        return True

    def _api_data(self):
        return {
            "id": self.id,
            "number": self.number,
            "created_at": utc(self.create_date),
            "created_by": self.create_uid.sudo().name,  # sudo: res.users - the name of who manages the server
            "configuration": self.configuration,
            "changes": self._changes(),
        }


class ServerOptOut(models.Model):
    """An opt-out: a shared server that a person's conversations do not use, unless one has a choice of its own."""

    _name = "woow_paas_platform.server_opt_out"
    _description = "MCP Server Not Used by a User"

    user_id = fields.Many2one("res.users", required=True, readonly=True, ondelete="cascade")
    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server",
        required=True,
        readonly=True,
        ondelete="cascade",
        index=True,
    )

    _once = models.UniqueIndex("(user_id, server_id)", "This server is already switched off.")

    @api.model
    def _servers_of(self, person):
        # sudo: server_opt_out - the person's own switches, read to decide what a chat may use
        return self.sudo().search([("user_id", "=", person.id)]).server_id

    @api.model
    def _switch(self, person, server, is_on):
        # sudo: server_opt_out - people have no access to write; the caller's own switch
        own = self.sudo()
        known = own.search([("user_id", "=", person.id), ("server_id", "=", server.id)])
        if is_on:
            known.unlink()
        elif not known:
            own.create({"user_id": person.id, "server_id": server.id})
