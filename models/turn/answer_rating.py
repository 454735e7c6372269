from odoo import api, fields, models
from odoo.exceptions import AccessError, ConcurrencyError, ValidationError
from psycopg2.errors import UniqueViolation

from ...services import text
from ...tools.moments import utc
from ...tools.refusals import BadInput, Busy
from .ai_turn import FINAL_STATES
from .ai_turn_view import without_summary

MAX_REPLY = 1_000  # characters
NAMES_CHARS = 500  # of the tools used
MAX_REASONS = 100  # that who manages a service is shown of one assistant


class AnswerRating(models.Model):
    """A person's rating of an answer: good or bad, with a reason. Administrators read and may reply.

    Of the conversation, administrators see here only what the person shares.
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
        help="The user lets administrators read the question and the answer.",
    )
    assistant_id = fields.Many2one(related="turn_id.assistant_id", store=True, index=True)
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
            "text",
            "tool_ids",
            "tool_names",
            "user_id",
            "value",
        }

    # ------------------------------------------------------------ the person

    @api.model
    def _rate(self, turn, value, reason=None, comment=None, is_shared=False):
        """Keep the caller's rating of the answer to their own question; a changed one is unread again.

        :raises Busy: the answer is not complete
        :raises BadInput: a reason for a good rating
        """
        if turn.state not in FINAL_STATES:
            raise Busy(
                self.env._("Rate the answer when it is complete."), "turn_running", state=turn.state
            )
        if reason and value == "good":
            raise BadInput(self.env._("Only a bad rating has a reason."), field="reason")
        vals = {
            "value": value,
            "reason": reason or False,
            "text": (comment or "").strip() or False,
            "is_shared": bool(is_shared),
        }
        # sudo: answer_rating - people have no write access; the caller is the turn's own user
        rating = turn._own_rating().sudo()
        if not rating:
            return self.sudo()._first_of(turn, vals)
        if any(rating[name] != given for name, given in vals.items()):
            rating.write({**vals, "seen_at": False, "seen_by_id": False})
        return rating

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
        """``{assistant id: {"good": number, "bad": number}}``; the caller has checked who asks."""
        # sudo: answer_rating - numbers, nothing of who has rated what
        rows = self.sudo()._read_group(
            [("assistant_id", "in", assistants.ids)], ["assistant_id", "value"], ["__count"]
        )
        counts = {assistant.id: {"good": 0, "bad": 0} for assistant in assistants}
        for assistant, value, count in rows:
            counts[assistant.id][value] = count
        return counts

    @api.model
    def _shared_reasons(self, assistant):
        """Reasons and comments of those who share their answers, the latest first; neither who they are nor what they
        have talked about. The caller has checked who asks."""
        shared = [("assistant_id", "=", assistant.id), ("is_shared", "=", True)]
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
