from datetime import timedelta

from markupsafe import escape
from odoo import SUPERUSER_ID, api, fields, models
from odoo.exceptions import AccessError

from ...services import text
from ...services.errors import AuthRequired
from ...tools import db, host, limits, sentences, server_files

DOWN_AFTER = 2  # failed checks in a row; the first one only makes it degraded
TELL_AFTER = 3  # failed checks in a row until its owner is told
CHECK_BATCH = 100  # servers of one run of the cron
ACTIVITY = "mail.mail_activity_data_warning"
URGENCY = ("error", "auth_required", "degraded", "draft", "connected", "disabled")


class McpServer(models.Model):
    """The state of a server, its cause, and since when."""

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
    state_message = fields.Char(readonly=True, copy=False)
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

    # Odoo leaves these to everybody, and they read the activities, which are for internal users.
    activity_exception_decoration = fields.Selection(groups="base.group_user")
    activity_exception_icon = fields.Char(groups="base.group_user")
    activity_type_icon = fields.Char(groups="base.group_user")

    @api.model
    def _by_urgency(self, states, domain):
        """These states, the worst first."""
        return sorted(states, key=URGENCY.index)

    @api.depends("state_message", "state_inside")
    @api.depends_context("lang", "uid")
    def _compute_state_sentence(self):
        for server in self:
            message = server.state_message
            sentence = message and sentences.translated(self.env, message)
            # sudo: mcp_server - shown to administrators only, see `with_inside`
            inside = server.sudo().state_inside
            server.state_sentence = message and sentences.with_inside(self.env, sentence, inside)

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
                text.storable(error.at_length()),
                text.storable(error.inside),
                last_attempt=now,
            )

    def _record_check(self, error):
        """What the regular check found: one failure is a bad moment, the second one is a state."""
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
        message, inside = text.storable(error.at_length()), text.storable(error.inside)
        self._set_state(state, message, inside, failed_checks=failed, last_check=now)
        if failed == TELL_AFTER:
            self._tell_owners()

    # ------------------------------------------------------------ who hears of it

    def _owners(self):
        """Who has to do something when it stays down."""
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

    # ------------------------------------------------------------ cron

    @api.model
    def _cron_check_health(self):
        """Ask the servers whose last check is old enough, all at once and in the background."""
        dbname = self.env.cr.dbname
        if ids := db.transaction(dbname, lambda env: env[self._name]._take_due_for_check().ids):
            host.current().check_later(dbname, ids)

    @api.model
    def _take_due_for_check(self):
        """Those whose last check is old enough; the next run does not ask them again meanwhile."""
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
