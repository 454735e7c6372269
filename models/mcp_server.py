import json
import logging
import uuid
from datetime import timedelta

from odoo import api, fields, models
from odoo.exceptions import UserError, ValidationError
from odoo.orm.models import NO_ACCESS

from ..runtime import limits, process, sentences
from ..services import const, egress
from ..services.errors import ConfigError, EngineError
from ..services.specs import ServerSpec

_logger = logging.getLogger(__name__)


class McpServer(models.Model):
    """A registered MCP server: where it is, who may use it, how it is."""

    _name = "woow_paas_platform.mcp_server"
    _description = "MCP Server"
    _inherit = ["woow_paas_platform.secret.mixin"]
    _order = "sequence, name, id"

    name = fields.Char(required=True, help="Short name; the model sees it before each tool's name.")
    mcp_id = fields.Char(
        "MCP ID",
        default=lambda self: str(uuid.uuid4()),
        readonly=True,
        copy=False,
        help="Names the server in the action recall API.",
    )
    sequence = fields.Integer(default=10)
    active = fields.Boolean(default=True, help="Off counts at once, also for running turns.")
    description = fields.Text()
    url = fields.Char("URL", required=True, help="Endpoint of the server (streamable HTTP or SSE).")
    transport = fields.Selection(
        [
            ("auto", "Automatic"),
            ("streamable_http", "Streamable HTTP"),
            ("sse", "SSE (legacy)"),
        ],
        required=True,
        default="auto",
    )
    api_key = fields.Char(
        "API Key",
        compute="_compute_secrets",
        inverse="_inverse_api_key",
        help="Sent as a bearer token. Stored encrypted. Leave empty to keep the current key.",
    )
    api_key_encrypted = fields.Char(groups=NO_ACCESS, copy=False)
    has_api_key = fields.Boolean(compute="_compute_has_secrets", compute_sudo=True)
    headers_json = fields.Text(
        "Headers (JSON)",
        compute="_compute_secrets",
        inverse="_inverse_headers_json",
        help='Further HTTP headers, such as {"X-Team": "blue"}. Stored encrypted. '
        "Leave empty to keep the current headers; {} removes them.",
    )
    headers_json_encrypted = fields.Text(groups=NO_ACCESS, copy=False)
    header_names = fields.Char(readonly=True, copy=False, help="Names of the stored headers.")
    scope = fields.Selection(
        [("system", "System"), ("user", "User")], required=True, default="system", index=True
    )
    cloud_service_id = fields.Many2one(
        "woow_paas_platform.cloud_service", ondelete="cascade", index="btree_not_null"
    )
    owner_user_id = fields.Many2one(
        "res.users", string="Personal Server of", ondelete="cascade", index="btree_not_null"
    )
    trust_level = fields.Selection(
        [
            ("none", "Not trusted"),
            ("annotations", "Its annotations are trusted"),
            ("full", "Fully trusted"),
        ],
        required=True,
        default="none",
        help="What the server says of its tools (read-only, idempotent …) counts only when trusted.",
    )
    connect_timeout = fields.Float(default=const.CONNECT_TIMEOUT, help="Seconds.")
    call_timeout = fields.Float(default=const.CALL_TIMEOUT, help="Seconds.")
    tool_ids = fields.One2many(
        "woow_paas_platform.mcp_tool", "server_id", string="Tools", context={"active_test": False}
    )
    tool_count = fields.Integer("Number of Tools", compute="_compute_tool_count")
    call_count = fields.Integer("Tool Calls", compute="_compute_call_count")
    state = fields.Selection(
        [("draft", "Not tested"), ("connected", "Connected"), ("error", "Error")],
        required=True,
        default="draft",
        readonly=True,
        copy=False,
    )
    state_message = fields.Char(readonly=True, copy=False)
    state_sentence = fields.Char("Reason", compute="_compute_state_sentence")
    last_sync = fields.Datetime(readonly=True, copy=False)
    last_attempt = fields.Datetime(
        readonly=True, copy=False, help="When it was last asked, whatever came of it."
    )
    protocol_version = fields.Char(readonly=True, copy=False)
    detected_transport = fields.Char(readonly=True, copy=False)

    _mcp_id_unique = models.UniqueIndex("(mcp_id)", "Each MCP server has an ID of its own.")
    _name_unique = models.UniqueIndex(
        "(name, scope, COALESCE(cloud_service_id, 0), COALESCE(owner_user_id, 0))",
        "There is already an MCP server of this name here.",
    )
    _scope_owner = models.Constraint(
        "CHECK ((scope = 'system' AND cloud_service_id IS NULL AND owner_user_id IS NULL)"
        " OR (scope = 'user' AND (cloud_service_id IS NULL) <> (owner_user_id IS NULL)))",
        "A system server belongs to nobody; a user server belongs to one cloud service or one person.",
    )
    _timeouts_positive = models.Constraint(
        "CHECK (connect_timeout > 0 AND connect_timeout <= 60"
        " AND call_timeout > 0 AND call_timeout <= 600)",
        "Time-outs must be positive; a connection may take 60 seconds and a call 600 at most.",
    )

    def _init_column(self, column_name):
        """Servers that are there already get an id each, not one for all."""
        if column_name != "mcp_id":
            return super()._init_column(column_name)
        self.env.cr.execute(
            "UPDATE woow_paas_platform_mcp_server SET mcp_id = gen_random_uuid() WHERE mcp_id IS NULL"
        )
        return None

    @api.depends("state_message")
    @api.depends_context("lang")
    def _compute_state_sentence(self):
        for server in self:
            message = server.state_message
            server.state_sentence = message and sentences.translated(self.env, message)

    @api.depends("api_key_encrypted", "headers_json_encrypted")
    def _compute_secrets(self):
        self._blank_secrets("api_key", "headers_json")

    @api.depends("api_key_encrypted")
    def _compute_has_secrets(self):
        for server in self:
            server.has_api_key = bool(server.api_key_encrypted)

    @api.depends("tool_ids")
    def _compute_tool_count(self):
        for server in self:
            server.tool_count = len(server.tool_ids.filtered("available"))

    def _compute_call_count(self):
        counts = dict(
            self.env["woow_paas_platform.tool_call"]._read_group(
                [("server_id", "in", self.ids)], ["server_id"], ["__count"]
            )
        )
        for server in self:
            server.call_count = counts.get(server, 0)

    def _inverse_api_key(self):
        self._store_secret("api_key")

    def _inverse_headers_json(self):
        for server in self:
            if not server.headers_json:
                continue
            try:
                headers = json.loads(server.headers_json)
                egress.check_headers(headers)
            except (ValueError, ConfigError) as error:
                raise ValidationError(
                    self.env._("The headers are not usable: %(reason)s", reason=error)
                ) from error
            server.header_names = ", ".join(headers)
        self._store_secret("headers_json")

    @api.constrains("url")
    def _check_url(self):
        for server in self:
            try:
                egress.check_url(server.url)
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
                        "A cloud service or a person can have at most %(limit)s MCP servers.",
                        limit=limit,
                    )
                )

    @api.model_create_multi
    def create(self, vals_list):
        servers = super().create(vals_list)
        servers._sync_after_commit()
        return servers

    def write(self, vals):
        result = super().write(vals)
        if vals.keys() & {"scope", "cloud_service_id", "owner_user_id"}:
            self.check_access("write")  # who moves a server must manage the place it goes to
        if vals.keys() & {"url", "api_key", "headers_json", "transport"}:
            self.sudo().write({"state": "draft", "state_message": False})  # sudo: readonly state
        return result

    # ------------------------------------------------------------ actions

    def action_test_connection(self):
        """Connect and count the tools; changes nothing but the state."""
        self.ensure_one()
        self.check_access("write")
        try:
            discovery = self._discover()
        except UserError as error:
            return self._notify(str(error), kind="danger")
        self._record_health(discovery)
        if len(discovery.tools) == 1:
            return self._notify(
                self.env._("“%(server)s” answers and offers one tool.", server=self.name)
            )
        return self._notify(
            self.env._(
                "“%(server)s” answers and offers %(count)s tools.",
                server=self.name,
                count=len(discovery.tools),
            )
        )

    def action_sync_tools(self):
        """Read `tools/list` and bring the tool records up to date; many servers in the background."""
        self.check_access("write")
        if len(self) > 1:
            self._sync_after_commit()
            return self._notify(
                self.env._(
                    "The tools of %(count)s servers are being read. Their states follow in a moment.",
                    count=len(self),
                ),
                kind="info",
            )
        try:
            added, changed, gone = self._apply_discovery(self._discover())
        except UserError as error:
            return self._notify(str(error), kind="danger")
        if not (added or changed or gone):
            return self._notify(
                self.env._(
                    "“%(server)s” is up to date: %(count)s tools.",
                    server=self.name,
                    count=self.tool_count,
                )
            )
        return self._notify(
            self.env._(
                "“%(server)s”: %(added)s new tools, %(changed)s changed, %(gone)s no longer offered.",
                server=self.name,
                added=added,
                changed=changed,
                gone=gone,
            )
        )

    def action_enable(self):
        self.write({"active": True})

    def action_disable(self):
        self.write({"active": False})

    def action_view_tools(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.mcp_tool_action")
        return {
            **action,
            "domain": [("server_id", "=", self.id)],
            "context": {"active_test": False},
        }

    def action_view_calls(self):
        self.ensure_one()
        action = self.env["ir.actions.actions"]._for_xml_id("woow_paas_platform.tool_call_action")
        return {**action, "domain": [("server_id", "=", self.id)], "context": {}}

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

    @api.model
    def _cron_sync_tools(self):
        """Read the tools of servers again that were not read for long, one after the other.

        Each result is written in a transaction of its own, so nothing is locked while a server is awaited.
        """
        before = fields.Datetime.now() - timedelta(
            hours=limits.get(self.env, "sync_interval_hours")
        )
        due = self.search(
            ["|", ("last_attempt", "=", False), ("last_attempt", "<", before)],
            order="last_attempt asc nulls first, id",
        )
        Cron = self.env["ir.cron"]
        Cron._commit_progress(remaining=len(due))
        store = process.store(self.env.cr.dbname)
        for server in due:
            try:
                discovery = process.discover(server._server_spec())
            except EngineError as error:
                store.server_failed(server.id, str(error))
            else:
                store.server_synced(server.id, discovery)
            if not Cron._commit_progress(1):
                break

    # ------------------------------------------------------------ engine

    def _server_spec(self):
        """:raises SecretUnreadable: a stored secret does not open"""
        self.ensure_one()
        headers = self._read_secret("headers_json")
        return ServerSpec(
            id=self.id,
            name=self.name,
            title=self.name,
            url=self.url,
            transport=self.transport,
            headers=json.loads(headers) if headers else {},
            api_key=self._read_secret("api_key"),
            trust_level=self.trust_level,
            connect_timeout=self.connect_timeout,
            call_timeout=self.call_timeout,
        )

    def _discover(self):
        """:raises UserError: with a sentence; the state is kept in a cursor of its own"""
        self.ensure_one()
        try:
            return process.discover(self._server_spec())
        except EngineError as error:
            _logger.info("Discovery of MCP server %s failed: %s %s", self.id, error, error.detail)
            process.store(self.env.cr.dbname).server_failed(self.id, str(error))
            raise UserError(sentences.translated(self.env, str(error))) from error

    def _sync_after_commit(self):
        ids, dbname = self.ids, self.env.cr.dbname
        if ids and not self.env.context.get("woow_no_sync"):
            self.env.cr.postcommit.add(lambda: process.sync_later(dbname, ids))

    def _record_health(self, discovery):
        # sudo: mcp_server - state fields are readonly for people; the caller could write the server
        self.sudo().write(
            {
                "state": "connected",
                "state_message": False,
                "last_attempt": fields.Datetime.now(),
                "protocol_version": discovery.protocol_version,
                "detected_transport": discovery.transport,
            }
        )

    def _record_failure(self, sentence):
        # sudo: mcp_server - see `_record_health`
        self.sudo().write(
            {
                "state": "error",
                "state_message": sentence,
                "last_attempt": fields.Datetime.now(),
            }
        )
        self._tell_admins()

    def _tell_admins(self):
        """Forms that show the server read it again."""
        # sudo: res.groups - only to address its members on the bus
        admins = self.env.ref("woow_paas_platform.group_admin").sudo()
        for server in self:
            admins._bus_send("woow_ai/mcp_server", {"id": server.id})

    def _apply_discovery(self, discovery):
        """Never deletes a tool and never switches one on again.

        :return: numbers of (new, changed, gone) tools
        """
        self.ensure_one()
        Tool = self.env["woow_paas_platform.mcp_tool"].sudo()  # sudo: rows follow their server
        known = {
            tool.name: tool
            for tool in Tool.with_context(active_test=False).search([("server_id", "=", self.id)])
        }
        added = changed = 0
        limit = limits.get(self.env, "max_tools_per_server")
        room = limit - sum(tool.active for tool in known.values())
        for found in discovery.tools:
            vals = Tool._vals_from_discovery(found)
            if tool := known.pop(found.name, None):
                if tool.definition_hash != vals["definition_hash"] or not tool.available:
                    changed += 1
                    tool.write(vals)
                continue
            added += 1
            Tool.create({**vals, "server_id": self.id, "active": room > 0})
            room -= 1
        gone = Tool.union(*known.values()).filtered("available")
        gone.available = False
        self._record_health(discovery)
        message = (
            self.env._(
                "The server offers more than %(limit)s tools: the rest was added switched off.",
                limit=limit,
            )
            if room < 0
            else False
        )
        self.sudo().write({"last_sync": fields.Datetime.now(), "state_message": message})
        self._tell_admins()
        return added, changed, len(gone)
