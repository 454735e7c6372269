from datetime import timedelta

from odoo import api, fields, models
from odoo.exceptions import AccessError, ConcurrencyError, ValidationError
from odoo.fields import Domain
from odoo.tools import html_escape
from psycopg2.errors import UniqueViolation

from ...services import text
from ...tools import db
from ...tools.moments import utc
from ...tools.refusals import BadInput, Busy, TooLate, TooOften
from .ai_turn import FINAL_STATES
from .ai_turn_view import without_summary

MAX_REPLY = 1_000  # characters
NAMES_CHARS = 500  # of the tools used
MAX_REASONS = 100  # that who manages a service is shown of one assistant
MAX_REPORTS = 10  # of one person within 24 hours


class AnswerRating(models.Model):
    """A person's rating of an answer: good or bad, with a reason. Administrators read and may reply.

    A bad one may be a report, of which a mail tells who is responsible for the assistant. Of the conversation,
    administrators see here only what the person shares.
    """

    _name = "woow_paas_platform.answer_rating"
    _description = "Answer Rating"
    _inherit = ["woow_paas_platform.filter.mixin"]
    _order = "id desc"

    turn_id = fields.Many2one(
        "woow_paas_platform.ai_turn",
        "Question Asked",
        required=True,
        readonly=True,
        ondelete="cascade",
        index=True,
    )
    user_id = fields.Many2one(
        "res.users", required=True, readonly=True, ondelete="cascade", index=True
    )
    value = fields.Selection(
        [("good", "Good"), ("bad", "Bad")], "Rating", required=True, readonly=True
    )
    reason = fields.Selection(
        [
            ("inaccurate", "Inaccurate"),
            ("incomplete", "Incomplete"),
            ("wrong_tool", "Wrong tool"),
            ("slow", "Too slow"),
            ("harmful", "Harmful"),
            ("other", "Other"),
        ],
        readonly=True,
    )
    text = fields.Text("Comment", readonly=True)
    is_shared = fields.Boolean(
        "Text Shared",
        readonly=True,
        help="The user lets administrators read the question and the answer, and those who manage the cloud service of "
        "the assistant the reason and the comment.",
    )
    assistant_id = fields.Many2one(related="turn_id.assistant_id", store=True, index=True)
    version_id = fields.Many2one(
        related="turn_id.version_id",
        string="Version",
        store=True,
        index="btree_not_null",
        groups="woow_paas_platform.group_admin",
    )
    version_number = fields.Integer("Version Number", related="version_id.number")
    reported_at = fields.Datetime("Reported On", readonly=True)
    error_code = fields.Char(related="turn_id.error_code", string="Error Code")
    tool_ids = fields.Many2many(
        "woow_paas_platform.mcp_tool",
        "woow_paas_platform_answer_rating_tool_rel",
        string="MCP Tools",
        readonly=True,
    )
    tool_names = fields.Char("Tools Used", readonly=True)
    shared_question = fields.Text(
        "Question",
        compute="_compute_shared",
        compute_sudo=True,
        groups="woow_paas_platform.group_admin",
    )
    shared_answer = fields.Html(
        "Answer",
        compute="_compute_shared",
        compute_sudo=True,
        groups="woow_paas_platform.group_admin",
    )
    seen_at = fields.Datetime("Read On", readonly=True)
    seen_by_id = fields.Many2one("res.users", "Read By", readonly=True, ondelete="set null")
    reply = fields.Text(help="Shown to the user below the answer.")

    _once = models.UniqueIndex("(turn_id, user_id)", "You have already rated this answer.")
    _created = models.Index("(create_date)")

    @api.depends("user_id", "value")
    def _compute_display_name(self):
        labels = dict(self._fields["value"]._description_selection(self.env))
        for rating in self:
            rating.display_name = f"{rating.user_id.name} · {labels.get(rating.value, '')}"

    @api.depends("is_shared", "turn_id.prompt", "turn_id.answer_message_id.body")
    def _compute_shared(self):
        for rating in self:
            turn = rating.turn_id if rating.is_shared else rating.turn_id.browse()
            rating.shared_question = turn.prompt
            rating.shared_answer = without_summary(turn.answer_message_id.body or "")

    @api.constrains("reply")
    def _check_reply(self):
        for rating in self:
            if len(rating.reply or "") > MAX_REPLY:
                raise ValidationError(
                    self.env._("A reply has at most %(limit)s characters.", limit=MAX_REPLY)
                )

    def write(self, vals):
        """People write nothing but the reply, and who replies has read the rating."""
        if self.env.su:
            return super().write(vals)
        for name in vals.keys() - {"reply"}:
            field = self._fields[name]._description_string(self.env)
            raise AccessError(
                self.env._("“%(field)s” can only be set by Odoo itself.", field=field)
            )
        result = super().write({"reply": text.storable((vals.get("reply") or "").strip()) or False})
        if vals.get("reply"):
            self.action_mark_read()
        return result

    @api.model
    def _fields_to_filter(self):
        return super()._fields_to_filter() | {
            "assistant_id",
            "create_date",
            "is_shared",
            "reason",
            "seen_at",
            "seen_by_id",
            "reported_at",
            "text",
            "tool_ids",
            "tool_names",
            "user_id",
            "value",
            "version_id",
            "version_number",
        }

    # ------------------------------------------------------------ the person

    @api.model
    def _rate(self, turn, value, reason=None, comment=None, *, is_shared=False, is_report=False):
        """Keep the caller's rating of the answer to their own question; a changed one is unread again.

        :param is_report: the person responsible for the assistant is told, once
        :raises Busy: the answer is not complete
        :raises BadInput: a reason for a good rating, or a report without one
        :raises TooOften: the caller has reported too many answers
        """
        if turn.state not in FINAL_STATES:
            raise Busy(
                self.env._("Rate the answer when it is complete."), "turn_running", state=turn.state
            )
        if reason and value == "good":
            raise BadInput(self.env._("Only a bad rating has a reason."), field="reason")
        if is_report and not reason:
            raise BadInput(self.env._("Choose what was wrong, to report it."), field="reason")
        vals = {
            "value": value,
            "reason": reason or False,
            "text": (comment or "").strip() or False,
            "is_shared": bool(is_shared),
        }
        # sudo: answer_rating - people have no write access; the caller is the turn's own user
        rating = turn._own_rating().sudo()
        if is_report and not rating.reported_at:
            self._check_reports()
        if not rating:
            rating = self.sudo()._first_of(turn, vals)
        elif any(rating[name] != given for name, given in vals.items()):
            rating.write({**vals, "seen_at": False, "seen_by_id": False})
        if is_report and not rating.reported_at:
            rating._report()
        return rating

    @api.model
    def _check_reports(self):
        """:raises TooOften: the caller has reported too many answers"""
        since = fields.Datetime.now() - timedelta(days=1)
        # sudo: answer_rating - the caller's own, counted
        own = self.sudo().search_count(
            [("user_id", "=", self.env.uid), ("reported_at", ">", since)], limit=MAX_REPORTS
        )
        if own >= MAX_REPORTS:
            raise TooOften(
                self.env._("You have reported many answers today. Try again tomorrow."),
                "too_many_reports",
                retry_after=3600,
            )

    def _report(self):
        """Tell who is responsible for the assistant, else the administrators.

        :param self: with sudo
        """
        self.write({"reported_at": fields.Datetime.now(), "seen_at": False, "seen_by_id": False})
        for user in self.assistant_id._responsible_users():
            # sudo: answer_rating - what administrators read of it; the mail comes from Odoo
            told = self.with_context(lang=user.lang, **db.SEND_LATER)
            subject = told.env._(
                "An answer of “%(assistant)s” was reported", assistant=told.assistant_id.name
            )
            reasons = dict(told._fields["reason"]._description_selection(told.env))
            user.with_env(told.env)._woow_ai_mail(
                subject, html_escape(reasons[told.reason]), f"/odoo/ai-ratings/{self.id}"
            )

    def _take_back(self):
        """:raises TooLate: it was reported"""
        # sudo: answer_rating - people have no right to delete; this one is the caller's own
        rating = self.sudo()
        if rating.reported_at:
            raise TooLate(
                self.env._("A report cannot be taken back. You can change it."), "already_reported"
            )
        rating.unlink()

    def _first_of(self, turn, vals):
        calls = turn.sudo()._calls_with_taken_over()
        names = ", ".join(dict.fromkeys(call.title or call.tool_name for call in calls))
        own = {
            "turn_id": turn.id,
            "user_id": turn.user_id.id,
            "tool_ids": calls.tool_id.ids,
            "tool_names": text.one_line(names, NAMES_CHARS) or False,
        }
        try:
            with self.env.cr.savepoint():
                return self.create(own | vals)
        except UniqueViolation as error:
            raise ConcurrencyError("The same answer was rated twice at once.") from error

    def _rating_data(self):
        """The rating as its person sees it, None without one."""
        if not self:
            return None
        return {
            "value": self.value,
            "reason": self.reason or None,
            "text": self.text or "",
            "share": self.is_shared,
            "reported": bool(self.reported_at),
            "seen_at": utc(self.seen_at),
            "reply": self.reply or "",
        }

    # ------------------------------------------------------------ administrators

    def action_mark_read(self):
        """Let the people who rated know that their ratings were read."""
        self.check_access("write")
        unread = self.filtered(lambda rating: not rating.seen_at)
        # sudo: columns that only Odoo writes; the caller may write the reply
        unread.sudo().write({"seen_at": fields.Datetime.now(), "seen_by_id": self.env.uid})
        return True

    # ------------------------------------------------------------ who manages a cloud service with its assistants

    @api.model
    def _counts(self, assistants):
        """``{assistant id: {"good": number, "bad": number}}`` of one service's; the caller has checked who asks."""
        of_service = Domain("assistant_id", "in", assistants.ids) & self._since_move(assistants)
        # sudo: answer_rating - numbers, nothing of who has rated what
        rows = self.sudo()._read_group(of_service, ["assistant_id", "value"], ["__count"])
        counts = {assistant.id: {"good": 0, "bad": 0} for assistant in assistants}
        for assistant, value, count in rows:
            counts[assistant.id][value] = count
        return counts

    @api.model
    def _since_move(self, assistants):
        # sudo: ai.assistant - whose they are
        service = assistants.sudo().cloud_service_id
        return service._since_move() if service else Domain.TRUE

    @api.model
    def _shared_reasons(self, assistant):
        """Reasons and comments of those who share their answers, the latest first; neither who they are nor what they
        have talked about. The caller has checked who asks."""
        shared = Domain("assistant_id", "=", assistant.id) & Domain("is_shared", "=", True)
        shared &= self._since_move(assistant)
        # sudo: answer_rating - what is shared of it
        found = self.sudo().search(shared, limit=MAX_REASONS)
        labels = dict(self._fields["reason"]._description_selection(self.env))
        return [
            {
                "value": rating.value,
                "reason": labels.get(rating.reason, ""),
                "text": rating.text or "",
            }
            for rating in found
            if rating.reason or rating.text
        ]
