"""What a message that a person posts in Discuss sets going. Nothing waits here: a turn is queued."""

from markupsafe import Markup
from odoo import api, fields, models
from odoo.addons.mail.tools.discuss import Store
from odoo.exceptions import AccessError, UserError
from odoo.tools import html2plaintext

from .discuss_channel import CONVERSATION

SUMMARY_CLASS = "o_ai_call_summary"


class DiscussChannel(models.Model):
    _inherit = "discuss.channel"

    woow_ai_mentions = fields.Boolean(
        "Assistants Answer Mentions",
        help="Who mentions an AI assistant here gets its answer in a thread that everybody here can read.",
    )

    def write(self, vals):
        if "woow_ai_mentions" in vals and not self._may_allow_ai_mentions():
            raise AccessError(
                self.env._("Only who made a channel decides whether assistants answer in it.")
            )
        return super().write(vals)

    def _may_allow_ai_mentions(self):
        if self.env.su or self.env.user.has_group("woow_paas_platform.group_admin"):
            return True
        return all(channel.create_uid == self.env.user for channel in self)

    # ------------------------------------------------------------ a message was posted

    def _message_post_after_hook(self, message, msg_vals):
        result = super()._message_post_after_hook(message, msg_vals)
        if self._is_said_by_a_person(message):
            if self.channel_type == CONVERSATION:
                self._answer_in_conversation(message)
            elif message.partner_ids:
                self._answer_mentions(message)
        return result

    def _is_said_by_a_person(self, message):
        return (
            not self.env.context.get("woow_ai_no_turn")
            and message.message_type == "comment"
            and message.author_id == self.env.user.partner_id
        )

    def _answer_in_conversation(self, message):
        # sudo: Discuss posts with sudo; the rights that count are the person's
        channel = self.sudo(False)
        content = html2plaintext(message.body, include_references=False).strip()
        is_empty = not content and not message.attachment_ids
        if is_empty or channel.woow_user_id != self.env.user:
            return
        if not channel.sudo().woow_assistant_id.active:  # sudo: ai.assistant - whether it is there
            raise UserError(self.env._("This assistant is not available any more."))
        try:
            channel._ask(content, message=message)
        except AccessError as error:
            raise UserError(self.env._("This assistant is not available any more.")) from error

    def _answer_mentions(self, message):
        """Each mentioned assistant answers in a thread of the message, where the owner allowed it."""
        # sudo: discuss.channel - reads the switch of the channel that the person writes in
        if not (self.sudo().parent_channel_id or self.sudo()).woow_ai_mentions:
            return
        assistants = self._assistants_of(message.partner_ids)
        content = html2plaintext(message.body, include_references=False).strip()
        if not assistants or not content:
            return
        # sudo: discuss.channel - the owner allowed the thread; its members are the channel's own
        channel = self.sudo()
        thread = channel if channel.parent_channel_id else channel._create_sub_channel(message.id)
        Turn = self.env["woow_paas_platform.ai_turn"].sudo(False)
        for assistant in assistants:
            Turn._start(thread.sudo(False), content, message=message, assistant=assistant)

    @api.model
    def _assistants_of(self, partners):
        """The assistants with these contacts that the person may use."""
        return self.env["ai.assistant"].sudo(False).search([("partner_id", "in", partners.ids)])

    def _get_allowed_message_partner_ids(self, partner_ids):
        """Where the owner allowed it, an assistant can be mentioned though it is no member."""
        allowed = super()._get_allowed_message_partner_ids(partner_ids)
        # sudo: discuss.channel - reads the switch of the channel that the person writes in
        if (self.sudo().parent_channel_id or self.sudo()).woow_ai_mentions:
            partners = self.env["res.partner"].browse(partner_ids)
            # sudo: ai.assistant - the contact's id only, of assistants that the person may use
            allowed += self._assistants_of(partners).sudo().partner_id.ids
        return list(dict.fromkeys(allowed))

    def _to_store_defaults(self, target):
        return [*super()._to_store_defaults(target), "woow_ai_mentions"]

    # ------------------------------------------------------------ the assistant posts

    def _assistant_member(self, assistant):
        # sudo: discuss.channel.member - the assistant's own membership
        members = self.sudo().channel_member_ids
        return members.filtered(lambda member: member.partner_id == assistant.partner_id)

    def _show_typing(self, assistant, is_typing):
        self._assistant_member(assistant)._notify_typing(is_typing)

    def _mark_read_by(self, user, message):
        """The answer was watched in the chat; Discuss does not call it unread."""
        # sudo: discuss.channel.member - the membership of the turn's own user
        member = self.sudo().channel_member_ids.filtered(lambda m: m.partner_id == user.partner_id)
        if member:
            member._set_last_seen_message(message, notify=False)
            member._set_new_message_separator(message.id + 1)

    def _post_ending(self, assistant, sentence):
        """Say in Discuss why there is no (whole) answer; chats show it at the turn."""
        self._post_as_assistant(
            assistant,
            body=Markup('<div class="o_mail_notification">%s</div>') % sentence,
            message_type="notification",
        )


class AiTurn(models.Model):
    _inherit = "woow_paas_platform.ai_turn"

    def _call_summary(self):
        """The turn's calls and how they ended, for readers who have no cards; escaped."""
        calls = self._calls_with_taken_over()
        if not calls:
            return ""
        outcomes = dict(calls._fields["outcome"]._description_selection(self.env))
        lines = Markup().join(
            Markup("<li><code>%s</code> · %s · %s</li>")
            % (
                f"{call.server_name}.{call.tool_name}" if call.server_name else call.tool_name,
                outcomes.get(call.outcome or "unknown"),
                self.env._("%(seconds)s s", seconds=f"{(call.duration_ms or 0) / 1000:.1f}"),
            )
            for call in calls
        )
        return Markup('<div class="%s"><span>%s</span><ul>%s</ul></div>') % (
            SUMMARY_CLASS,
            self.env._("Tools used"),
            lines,
        )

    def _tell_discuss(self, message):
        """After the end: who asked in Discuss hears of it there, who asked in a chat has read it there."""
        channel = self.channel_id
        if not self.is_from_discuss:
            if message:
                channel._mark_read_by(self.user_id, message)
            return
        channel._show_typing(self.assistant_id, False)
        if self.state == "stopped":
            channel._post_ending(self.assistant_id, self.env._("The answer was stopped."))
        elif self.state == "failed":
            fallback = self.env._("The assistant could not answer.")
            channel._post_ending(self.assistant_id, self.error_message or fallback)


class ResPartner(models.Model):
    _inherit = "res.partner"

    def _compute_im_status(self):
        result = super()._compute_im_status()
        # sudo: ai.assistant - only which of these partners is one, as OdooBot shows it
        assistants = self.env["ai.assistant"].sudo().with_context(active_test=False)
        assistants.search([("partner_id", "in", self.ids)]).partner_id.im_status = "bot"
        return result

    @api.readonly
    @api.model
    def get_mention_suggestions_from_channel(self, channel_id, search, limit=8):
        """Assistants are offered where they answer."""
        data = super().get_mention_suggestions_from_channel(channel_id, search, limit)
        channel = self.env["discuss.channel"].search([("id", "=", channel_id)])
        root = channel.parent_channel_id or channel
        if root.woow_ai_mentions:
            for model, rows in self._assistant_suggestions(root, search, limit).items():
                data.setdefault(model, []).extend(rows)
        return data

    def _assistant_suggestions(self, channel, search, limit):
        assistants = self.env["ai.assistant"].search([("name", "ilike", search)], limit=limit)
        # sudo: res.partner - name and picture of assistants that the person may use
        partners = assistants.sudo().partner_id
        store = Store().add(partners, extra_fields=partners._get_store_mention_fields())
        for partner in partners:
            # the web client offers only contacts of the group that the channel is restricted to
            store.add(partner, {"group_ids": [("ADD", channel.group_public_id.ids)]})
        return store.get_result()
