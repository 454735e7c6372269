from datetime import timedelta

from markupsafe import escape
from odoo import SUPERUSER_ID, api, fields, models
from odoo.exceptions import AccessError

from ...services import text
from ...services.errors import AuthRequired
from ...tools import db, host, limits, mcp_switch, notify, sentences, server_files

DOWN_AFTER = 2  # failed checks in a row; the first one only makes it degraded
TELL_AFTER = 3  # failed checks in a row until its owner is told
CHECK_BATCH = 100  # servers of one run of the cron
MAX_KNOWN = 2_000  # tools of one server, with those that it has no more
ACTIVITY = "mail.mail_activity_data_warning"
URGENCY = ("error", "auth_required", "degraded", "draft", "connected", "disabled")
KEPT_DAYS = 7  # that a process which says nothing more is remembered


class McpServer(models.Model):
    """The state of a server, its cause and since when, and the sync of its tools."""

    _inherit = "woow_paas_platform.mcp_server"

    state = fields.Selection(
        [
            ("draft", "Not tested"),
            ("connected", "Connected"),
            ("degraded", "Degraded"),
            ("error", "Error"),
            ("auth_required", "Credentials needed"),
            ("disabled", "Switched off"),
        ],
        required=True,
        default="draft",
        readonly=True,
        copy=False,
        group_expand="_by_urgency",
    )
    state_message = sentences.SentenceField(readonly=True, copy=False)
    state_inside = fields.Char(
        readonly=True,
        copy=False,
        groups="woow_paas_platform.group_admin",
        help="Location of the problem in the internal network.",
    )
    state_sentence = fields.Char("Reason", compute="_compute_state_sentence")
    state_since = fields.Datetime("Since", readonly=True, copy=False, default=fields.Datetime.now)
    last_check = fields.Datetime(readonly=True, copy=False, index=True)
    failed_checks = fields.Integer(
        readonly=True, copy=False, help="Number of consecutive failures."
    )
    process_ids = fields.One2many(
        "woow_paas_platform.mcp_server_process",
        "server_id",
        "Processes",
        readonly=True,
        groups="woow_paas_platform.group_admin",
    )
    is_paused = fields.Boolean(
        compute="_compute_is_paused", groups="woow_paas_platform.group_admin"
    )

    last_sync = fields.Datetime("Tools Last Loaded", readonly=True, copy=False)
    last_attempt = fields.Datetime(
        readonly=True, copy=False, help="Time of the last attempt, whether it succeeded or not."
    )
    protocol_version = fields.Char(readonly=True, copy=False)
    detected_transport = fields.Char(readonly=True, copy=False)
    is_first_contact = fields.Boolean(compute="_compute_is_first_contact")

    # Odoo leaves these to everybody, and they read the activities, which are for internal users.
    activity_exception_decoration = fields.Selection(groups="base.group_user")
    activity_exception_icon = fields.Char(groups="base.group_user")
    activity_type_icon = fields.Char(groups="base.group_user")

    @api.model
    def _by_urgency(self, states, domain):
        """States among these, the worst first."""
        return sorted(states, key=URGENCY.index)

    @api.depends("state_message", "state_inside")
    @api.depends_context("lang", "uid")
    def _compute_state_sentence(self):
        for server in self:
            message = server.state_message
            sentence = message and sentences.translated(self.env, message)
            # sudo: mcp_server - shown to administrators only, see `with_network_detail`
            inside = server.sudo().state_inside
            server.state_sentence = message and sentences.with_network_detail(
                self.env, sentence, inside
            )

    @api.depends("process_ids.state")
    def _compute_is_paused(self):
        for server in self:
            server.is_paused = any(p.state != "closed" for p in server.process_ids)

    @api.depends("active", "state", "last_attempt", "authorization", "sign_in_ids")
    def _compute_is_first_contact(self):
        """Servers that are being asked what they have, for the first time."""
        for server in self:
            is_new = server.active and server.state == "draft" and not server.last_attempt
            waits = server.authorization == "oauth_server" and not server.sign_in_ids
            server.is_first_contact = is_new and not waits and bool(server._asked_by_odoo())

    # ------------------------------------------------------------ what was found out

    def _set_state(self, state, message=False, inside=False, **values):
        # sudo: mcp_server - state fields are readonly for people; callers have checked the access
        for server in self.sudo():
            is_news = (server.state, server.state_message) != (state, message)
            if server.state != state:
                values = {**values, "state_since": fields.Datetime.now()}
            vals = {"state": state, "state_message": message, "state_inside": inside}
            server.write({**values, **vals})
            if is_news:
                server._tell_managers()

    def _reset_state(self):
        """Nothing is known any more: it was switched, or something about the connection has changed."""
        for server in self:
            server._set_state("draft" if server.active else "disabled", failed_checks=0)
            server.sudo().activity_unlink([ACTIVITY])  # sudo: whoever it was for

    def _record_health(self, discovery):
        self._set_state(
            "connected" if self.active else "disabled",
            failed_checks=0,
            last_attempt=fields.Datetime.now(),
            protocol_version=discovery.protocol_version,
            detected_transport=discovery.transport,
        )
        self._forget_pauses()
        self.sudo().activity_unlink([ACTIVITY])  # sudo: whoever it was for

    def _record_failure(self, error):
        """:param error: what a test or a sync ran into"""
        state = "auth_required" if isinstance(error, AuthRequired) else "error"
        now = fields.Datetime.now()
        for server in self:
            server._set_state(
                state if server.active else "disabled",
                text.storable(error.full_message()),
                text.storable(error.network_detail),
                last_attempt=now,
            )

    def _record_check(self, error):
        """Record a regular check: one failure is tolerated, the second one changes the state."""
        self.ensure_one()
        if not self.active:
            return
        now = fields.Datetime.now()
        if error is None:
            message = self.state_message if self.state == "connected" else False
            self._set_state("connected", message, failed_checks=0, last_check=now)
            self.sudo().activity_unlink([ACTIVITY])  # sudo: whoever it was for
            if not self.last_sync:  # it was down whenever its tools were to be read
                self._sync_after_commit()
            return
        failed = self.failed_checks + 1
        if isinstance(error, AuthRequired):
            state = "auth_required"
        elif failed < DOWN_AFTER and self.state in ("connected", "degraded"):
            state = "degraded"
        else:
            state = "error"
        message, inside = text.storable(error.full_message()), text.storable(error.network_detail)
        self._set_state(state, message, inside, failed_checks=failed, last_check=now)
        if failed == TELL_AFTER:
            self._tell_owners()

    def _record_variant(self, transport, protocol_version):
        """Record the transport variant that a session has found, to be tried first from now on."""
        for server in self:
            if (server.detected_transport, server.protocol_version) != (
                transport,
                protocol_version,
            ):
                server.write(
                    {"detected_transport": transport, "protocol_version": protocol_version}
                )

    def _forget_pauses(self):
        """The server has just answered: whatever processes thought of it is out of date, and they hear of it."""
        # sudo: mcp_server_process - system data; the caller could write the server
        rows = self.sudo().process_ids.filtered(lambda p: p.state != "closed")
        rows.write({"state": "closed", "reason": False, "since": fields.Datetime.now()})
        for server in self:
            notify.server_recovered(self.env.cr, server.id)

    def _end_sessions(self):
        """Have every process close what is open to these servers, with the commit."""
        for server in self:
            notify.server_off(self.env.cr, server.id)

    # ------------------------------------------------------------ who hears of it

    def _owners(self):
        """Users to notify when it stays down."""
        self.ensure_one()
        if self.scope == "system":
            admins = self.env.ref("woow_paas_platform.group_admin").all_user_ids
            users = admins.filtered(self._is_managed_by)
        elif self.owner_user_id:
            users = self.owner_user_id
        else:
            accesses = self.cloud_service_id.workspace_id.access_ids
            users = accesses.filtered(lambda access: access.role == "owner").user_id
        return users.filtered(lambda user: user.active and user.id != SUPERUSER_ID)

    def _tell_owners(self):
        # sudo: mcp_server - the activities are for people who may see the server
        server = self.sudo()
        for user in server._owners():
            in_language = server.with_context(lang=user.lang)
            read = in_language.with_user(user).sudo()  # sudo: see above; what this person may know
            summary = in_language.env._(
                "The MCP server “%(name)s” is down", name=server.display_name
            )
            note = escape(read.state_sentence or "")  # it may quote the server
            if user._is_internal():
                in_language.activity_schedule(ACTIVITY, user_id=user.id, summary=summary, note=note)
            else:  # who has no list of activities gets a mail that leads to the page
                user._woow_ai_mail(summary, note, server._portal_path())

    def _portal_path(self):
        """The page of the portal on which its owner looks after it."""
        service = self.cloud_service_id
        return f"/my/services/{service.id}/mcp" if service else "/my/ai-servers"

    def _tell_synced(self, uid, added, changed, gone):
        """Notify who has asked for a sync, in their language.

        :param uid: None where nobody waits for it
        """
        if not uid:
            return
        user = self.env["res.users"].browse(uid)
        server = self.with_context(lang=user.lang)
        if added or changed or gone:
            message = server.env._(
                "“%(server)s”: %(added)s new tools, %(changed)s changed, %(gone)s no longer offered.",
                server=server.name,
                added=added,
                changed=changed,
                gone=gone,
            )
        else:
            message = server.env._(
                "“%(server)s” is up to date: %(count)s tools.",
                server=server.name,
                count=server.tool_count,
            )
        user._bus_send("simple_notification", {"type": "success", "message": message})

    def _tell_failed(self, uid, error):
        """Tell of a failure, as `_tell_synced`."""
        if not uid:
            return
        user = self.env["res.users"].browse(uid)
        message = sentences.for_reader(
            error, sentences.Reader.manager(self.with_user(user).with_context(lang=user.lang).env)
        )
        user._bus_send(
            "simple_notification", {"type": "danger", "title": self.name, "message": message}
        )

    # ------------------------------------------------------------ who may write to people

    # Portal users manage servers of their own; Odoo would let them write to anybody from there. It is the person that
    # is asked about, not the environment: Odoo's own routes post with sudo.

    def _mail_get_operation_for_mail_message_operation(self, message_operation):
        if message_operation != "read" and not self._may_write_to_people():
            return dict.fromkeys(self)
        return super()._mail_get_operation_for_mail_message_operation(message_operation)

    def _mail_group_by_operation_for_mail_message_operation(self, message_operation):
        groups = super()._mail_group_by_operation_for_mail_message_operation(message_operation)
        groups.pop(None, None)
        return groups

    def message_post(self, **kwargs):
        self._check_may_write_to_people()
        return super().message_post(**kwargs)

    def message_notify(self, **kwargs):
        self._check_may_write_to_people()
        return super().message_notify(**kwargs)

    def message_mail_with_source(self, *args, **kwargs):
        self._check_may_write_to_people()
        return super().message_mail_with_source(*args, **kwargs)

    def message_subscribe(self, *args, **kwargs):
        self._check_may_write_to_people()
        return super().message_subscribe(*args, **kwargs)

    def activity_schedule(self, *args, **kwargs):
        self._check_may_write_to_people()
        return super().activity_schedule(*args, **kwargs)

    def _may_write_to_people(self):
        return self.env.user._is_internal()

    def _check_may_write_to_people(self):
        if not self._may_write_to_people():
            raise AccessError(self.env._("Only internal users can post messages on a server."))

    # ------------------------------------------------------------ sync of tools

    def _asked_by_odoo(self):
        """Servers that Odoo can ask without a person; none while MCP is switched off."""
        if not mcp_switch.is_on(self.env):
            return self.browse()
        return self.filtered(lambda server: server.authorization != "oauth_user")

    def _count_checks(self):
        """:raises TooOften: a person had servers asked too often; administrators are not counted"""
        if not self.env.su and not self.env.user.has_group("woow_paas_platform.group_admin"):
            for _server in self:
                self.env["woow_paas_platform.mcp_check"]._count_one()

    def _sync_after_commit(self, notify=False):
        """:param notify: tell the current user what came of it"""
        ids, dbname, uid = self.ids, self.env.cr.dbname, self.env.uid if notify else None
        if ids and not self.env.context.get("woow_no_sync"):
            self._count_checks()
            self.env.cr.postcommit.add(lambda: host.current().sync_later(dbname, ids, uid))

    def _apply_discovery(self, discovery):
        """Never deletes a tool that somebody has decided about, and never switches one on again.

        :return: numbers of (new, changed, gone) tools
        """
        self.ensure_one()
        self._lock()  # of two readings at once the second one is run again and sees the tools of the first
        Tool = self.env["woow_paas_platform.mcp_tool"].sudo()  # sudo: rows follow their server
        known = {
            tool.name: tool
            for tool in Tool.with_context(active_test=False).search([("server_id", "=", self.id)])
        }
        names = {found.name for found in discovery.tools}
        known = self._with_room(known, names)
        known_names = set(known)
        at_first = self.sudo().tools_at_first or {}  # sudo: its own, of an import
        off, policies = set(at_first.get("off") or ()), at_first.get("policy") or {}
        left = MAX_KNOWN - len(known)
        added = changed = 0
        limit = limits.get(self.env, "max_tools_per_server")
        room = limit - sum(tool.active for tool in known.values())
        for found in discovery.tools:
            vals = Tool._vals_from_discovery(found)
            if tool := known.pop(found.name, None):
                changed += tool._found_again(vals)
                continue
            if added >= left:
                break
            added += 1
            is_on = room > 0 and found.name not in off
            policy = {"approval_policy": policies.get(found.name, "default")}
            Tool._add_discovered(self, vals | policy, active=is_on)
            room -= found.name not in off
        gone = Tool.union(*known.values()).filtered("available")
        gone.available = False
        self._record_health(discovery)
        notes = []
        if room < 0:
            notes.append(
                self.env._(
                    "The server offers more than %(limit)s tools. The remaining ones were added switched off.",
                    limit=limit,
                )
            )
        if discovery.too_large:
            notes.append(
                self.env._(
                    "%(count)s tools were left out because their definitions are too large.",
                    count=discovery.too_large,
                )
            )
        if discovery.is_cut or len(names - known_names) > left:
            notes.append(
                self.env._("The server's list of tools is too long to be read completely.")
            )
        message = " ".join(notes) or False
        self.sudo().write({"last_sync": fields.Datetime.now(), "state_message": message})
        self._tell_managers()
        return added, changed, len(gone)

    def _with_room(self, known, names):
        """Forget tools that are gone, the oldest first, where a server that renames its tools again and again has
        filled its place. What somebody has decided about stays: it might come back.

        :param known: tools by name
        :param names: of those that the server offers now
        :return: `known` without those that were forgotten
        """
        surplus = len(known) + len(names - known.keys()) - MAX_KNOWN
        if surplus <= 0:
            return known
        gone = self.env["woow_paas_platform.mcp_tool"].union(
            *(tool for name, tool in known.items() if name not in names)
        )
        forgotten = gone._undecided().sorted("id")[:surplus]
        remaining = {name: tool for name, tool in known.items() if tool not in forgotten}
        forgotten._forget()
        return remaining

    # ------------------------------------------------------------ cron

    @api.model
    def _cron_check_health(self):
        """Ask the servers whose last check is old enough, all at once and in the background."""
        dbname = self.env.cr.dbname
        if ids := db.transaction(dbname, lambda env: env[self._name]._take_due_for_check().ids):
            host.current().check_later(dbname, ids)

    @api.model
    def _take_due_for_check(self):
        """Servers whose last check is old enough; the next run does not ask them again meanwhile."""
        due = self._due_for_check()
        due.last_check = fields.Datetime.now()
        return due

    @api.model
    def _due_for_check(self):
        interval = server_files.current().health_check_interval
        interval = interval or 60 * limits.get(self.env, "health_interval_minutes")
        before = fields.Datetime.now() - timedelta(seconds=interval)
        return self.search(
            ["|", ("last_check", "=", False), ("last_check", "<=", before)],
            order="last_check asc nulls first, id",
        )._asked_by_odoo()[:CHECK_BATCH]

    @api.model
    def _cron_sync_tools(self):
        """Read the tools of servers again that were not read for long, in the background."""
        dbname = self.env.cr.dbname
        if ids := db.transaction(dbname, lambda env: env[self._name]._take_due_for_sync().ids):
            host.current().sync_later(dbname, ids)

    @api.model
    def _take_due_for_sync(self):
        """Servers that were not read for long; the next run does not ask them again meanwhile."""
        now = fields.Datetime.now()
        before = now - timedelta(hours=limits.get(self.env, "sync_interval_hours"))
        due = self.search(
            ["|", ("last_attempt", "=", False), ("last_attempt", "<", before)],
            order="last_attempt asc nulls first, id",
        )._asked_by_odoo()
        due.last_attempt = now
        return due


class McpServerProcess(models.Model):
    """The state of a server in one process of Odoo: each has its own connections and circuit breaker."""

    _name = "woow_paas_platform.mcp_server_process"
    _description = "MCP Server State per Process"
    _order = "write_date desc, id desc"

    server_id = fields.Many2one(
        "woow_paas_platform.mcp_server", required=True, readonly=True, ondelete="cascade"
    )
    name = fields.Char("Process", required=True, readonly=True, help="Host and process.")
    state = fields.Selection(
        [
            ("closed", "Closed"),
            ("open", "Open (paused)"),
            ("half_open", "Half-open"),
        ],
        required=True,
        readonly=True,
        default="closed",
        help="After three failures in a row, a process pauses calls to the server for 30 seconds. The "
        "next call then tests whether it works again.",
    )
    reason = sentences.SentenceField(readonly=True, help="Message of the last failure.")
    reason_sentence = fields.Char("Pause Reason", compute="_compute_reason_sentence")
    since = fields.Datetime(readonly=True)
    stderr = fields.Text(
        "Output", readonly=True, prefetch=False, help="Last output of the server's process."
    )

    _server_process_unique = models.UniqueIndex(
        "(server_id, name)", "There can be only one row per server and process."
    )

    @api.depends("reason")
    @api.depends_context("lang")
    def _compute_reason_sentence(self):
        for process in self:
            reason = process.reason
            process.reason_sentence = reason and sentences.translated(self.env, reason)

    @api.model
    def _put(self, server_id, name, **values):
        """Write down what a process has learned. A server that is gone meanwhile is nobody's business."""
        server = self.env["woow_paas_platform.mcp_server"].browse(server_id).exists()
        if not server:
            return
        row = self.search([("server_id", "=", server_id), ("name", "=", name)])
        if row:
            row.write(values)
        else:
            self.create({"server_id": server_id, "name": name, **values})
        server._tell_managers()

    @api.model
    def _put_state(self, server_id, name, state, reason):
        """:param reason: the engine's sentence"""
        self._put(
            server_id,
            name,
            state=state,
            reason=text.storable(reason) or False,
            since=fields.Datetime.now(),
        )

    @api.autovacuum
    def _gc_processes(self):
        old = fields.Datetime.now() - timedelta(days=KEPT_DAYS)
        self.search([("write_date", "<", old)]).unlink()
