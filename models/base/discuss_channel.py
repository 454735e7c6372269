from odoo import api, fields, models

CONVERSATION = "woow_ai_chat"  # type of the channels that hold a conversation with an assistant
LISTED = [
    ("woow_is_of_program", "!=", True),
    ("woow_is_of_run", "!=", True),
    ("woow_temporary_until", "=", False),
]


def readable(user, model, res_id):
    """A record with a user's rights, None without them, or if it or its model is gone.

    :param model: technical name, may be empty like the id
    """
    if not model or not res_id or model not in user.env:
        return None
    record = user.env[model].with_user(user).sudo(False).browse(res_id).exists()
    return record if record and record.has_access("read") else None


class DiscussChannel(models.Model):
    """Conversation: an assistant, its person, and what they talk about, for all that works for one.

    Hooks for turns, which package `conversation` fills: `_narrowed`, `_folder_words`, `_post_answer`, `_post_ending`,
    `_show_typing`, `_mark_read_by`, `_stop_answers_by`, `_lines_of_calls`.
    """

    _inherit = "discuss.channel"

    channel_type = fields.Selection(
        selection_add=[(CONVERSATION, "AI Conversation")],
        ondelete={CONVERSATION: "cascade"},
    )
    woow_assistant_id = fields.Many2one(
        "ai.assistant", "AI Assistant", readonly=True, ondelete="set null", index="btree_not_null"
    )
    woow_user_id = fields.Many2one(
        "res.users",
        "AI Conversation Owner",
        readonly=True,
        ondelete="cascade",
        index="btree_not_null",
    )
    woow_cloud_service_id = fields.Many2one(
        "woow_paas_platform.cloud_service", "Cloud Service", readonly=True, ondelete="set null"
    )
    woow_res_model = fields.Char("Related Model", readonly=True)
    woow_res_id = fields.Many2oneReference(
        "Related Record", model_field="woow_res_model", readonly=True
    )
    woow_is_of_program = fields.Boolean(
        "Asked by a Program",
        readonly=True,
        help="The question came through the OpenAI-compatible API. The chat and Discuss do not list the conversation.",
    )

    woow_is_of_run = fields.Boolean(
        "Asked by an Action",
        readonly=True,
        help="A server action or a mail has asked the question. The chat and Discuss do not list the conversation.",
    )

    woow_temporary_until = fields.Datetime(
        "Temporary Until",
        readonly=True,
        help="The conversation is deleted then, if not before. The chat and Discuss do not list it.",
    )

    _woow_of_programs = models.Index(
        "(woow_user_id, last_interest_dt) WHERE woow_is_of_program OR woow_is_of_run"
    )
    _woow_temporary = models.Index("(woow_temporary_until) WHERE woow_temporary_until IS NOT NULL")

    def _about(self, user):
        """The record that the conversation is about, with this person's rights; None without them, and where the
        assistant does not answer about records."""
        # sudo: discuss.channel - which record it is; reading it is up to the person's rights
        channel = self.sudo()
        record = readable(user, channel.woow_res_model, channel.woow_res_id)
        return record if record is not None and channel._answers_about(record) else None

    def _is_member(self, user):
        # sudo: discuss.channel.member - whether one person belongs to it
        Member = self.env["discuss.channel.member"].sudo()
        own = [("channel_id", "=", self.id), ("partner_id", "=", user.partner_id.id)]
        return bool(Member.search_count(own, limit=1))

    @api.model
    def _last_assistant(self, assistants):
        """The one of these assistants with which the caller had the last conversation."""
        own = [
            ("channel_type", "=", CONVERSATION),
            ("woow_user_id", "=", self.env.uid),
            ("woow_assistant_id", "in", assistants.ids),
            *LISTED,
        ]
        # sudo: discuss.channel - the user's own conversations, of which only the assistant is read
        last = self.sudo().search(own, order="last_interest_dt desc, id desc", limit=1)
        return last.woow_assistant_id.sudo(False)

    # ------------------------------------------------------------ hooks

    def _answers_about(self, record):
        """True if the assistant of the conversation answers about records."""
        return True

    def _narrowed(self, servers, person):
        """MCP servers among these that the person left on in this conversation."""
        return servers

    def _folder_words(self, user):
        """:return: the `FolderWords` of the folder in which this person keeps the conversation, None without one"""
        return None

    def _post_answer(self, assistant, html, silent=False):
        """Post an answer as the assistant.

        :return: the `mail.message`
        """
        return self.env["mail.message"]

    def _post_ending(self, assistant, sentence):
        """Say in Discuss why there is no (whole) answer; chats show it at the turn."""

    def _show_typing(self, assistant, is_typing):
        """Tell the members that the assistant is writing, or no longer."""

    @api.model
    def _stop_answers_by(self, providers):
        """Stop the answers under way of these providers, which are switched off."""

    def _lines_of_calls(self, calls, reader):
        """Calls that wait, and what they would change, as lines of HTML for a user."""
        return []

    def _mark_read_by(self, user, message):
        """Count an answer as read that was watched in the chat."""
