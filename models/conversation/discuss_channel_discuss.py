from markupsafe import Markup
from odoo import api, models
from odoo.addons.mail.tools.discuss import Store
from odoo.exceptions import AccessError, UserError
from odoo.fields import Domain
from odoo.tools import html2plaintext

from ..base.discuss_channel import CONVERSATION
from ..turn.ai_turn import Question
from ..turn.ai_turn_request import COMPACT

THREAD_NAME_CHARS = 60
SIDEBAR_CONVERSATIONS = 10  # the latest; the list of the chat has all of them


class DiscussChannel(models.Model):
    """Channel in Discuss: a message there queues a turn, for which nothing waits, and its answer is posted there."""

    _inherit = "discuss.channel"

    def _may_allow_ai_mentions(self):
        return self.env.su or self._is_user_in_charge_of_mentions()

    def _is_user_in_charge_of_mentions(self):
        """Tell whether the user has made the channel or administers assistants, whatever `sudo` allows."""
        user = self.env.user
        if user.has_group("woow_paas_platform.group_admin"):
            return True
        return all(channel.create_uid == user for channel in self)

    def _has_mentions(self):
        return self.channel_type in ("channel", "group") and not self.parent_channel_id

    # ------------------------------------------------------------ the sidebar

    @api.model
    def _get_channels_as_member(self):
        """Leave out all conversations but the latest ones and those with an unread answer; the archive, too."""
        channels = super()._get_channels_as_member()
        talks = channels.filtered(lambda channel: channel.channel_type == CONVERSATION)
        archived = talks.filtered(lambda talk: talk._kept()["archived"])
        older = (talks - archived).sorted(
            lambda talk: (talk.last_interest_dt or talk.create_date, talk.id)
        )
        older = older[:-SIDEBAR_CONVERSATIONS] | archived
        return channels - older.filtered(
            lambda talk: not talk.self_member_id.message_unread_counter
        )

    def _to_store_defaults(self, target):
        told = [*super()._to_store_defaults(target), "woow_ai_mentions"]
        if target.is_current_user(self.env):
            told.append(
                Store.Attr(
                    "woow_may_allow_mentions",
                    lambda channel: channel._is_user_in_charge_of_mentions(),
                    predicate=lambda channel: channel._has_mentions(),
                )
            )
        return told

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
        content = _content_of(message)
        is_empty = not content and not message.attachment_ids
        if is_empty or channel.woow_user_id != self.env.user:
            return
        if not channel.sudo().woow_assistant_id.active:  # sudo: ai.assistant - whether it is there
            raise UserError(self.env._("This assistant is no longer available."))
        # sudo: ir.attachment - how many there are and how large
        channel._check_count(len(message.sudo().attachment_ids))
        # What Odoo keeps elsewhere has no size here.
        for file in message.sudo().attachment_ids.filtered(lambda file: file.type == "binary"):
            file._ai_check_size(file.file_size)
        try:
            channel._ask(Question(content, message=message))
        except AccessError as error:
            raise UserError(self.env._("This assistant is no longer available.")) from error

    def _answer_mentions(self, message):
        """Each mentioned assistant answers in a thread of the message, where the owner allowed it."""
        # sudo: discuss.channel - reads the switch of the channel that the person writes in
        if not (self.sudo().parent_channel_id or self.sudo()).woow_ai_mentions:
            return
        assistants = self._assistants_of(message.partner_ids)
        content = _content_of(message)
        if not assistants or not content:
            return
        # sudo: discuss.channel - the owner allowed the thread; its members are the channel's own
        channel = self.sudo()
        thread = channel
        if not channel.parent_channel_id:
            question = _without_mentions(content, assistants.mapped("name"))
            thread = channel._create_sub_channel(message.id, name=question[:THREAD_NAME_CHARS])
        Turn = self.env["woow_paas_platform.ai_turn"].sudo(False)
        for assistant in assistants:
            question = Question(content, message=message)
            Turn._start(thread.sudo(False), question, assistant=assistant)

    def _message_update_content(self, message, /, **kwargs):
        """A question that is edited is read as it is from then on; one that is deleted is not answered any more."""
        result = super()._message_update_content(message, **kwargs)
        if kwargs.get("body") is not None:
            # sudo: mail.message, ai_turn - who may edit the message decides what was asked
            message, Turn = message.sudo(), self.env["woow_paas_platform.ai_turn"].sudo()
            turns = Turn.search([("message_id", "=", message.id)])
            turns._reword(_content_of(message))
            if message._is_empty():
                for turn in turns.filtered(lambda turn: not turn.ended_at):
                    turn._request_stop()
        return result

    @api.model
    def _assistants_of(self, partners):
        """The assistants with these contacts that the person may use."""
        own = [("partner_id", "in", partners.ids), ("cloud_service_id", "=", False)]
        return self.env["ai.assistant"].sudo(False).search(own)

    def _get_allowed_message_partner_ids(self, partner_ids):
        """Let an assistant be mentioned that is no member, where the owner allowed it."""
        allowed = super()._get_allowed_message_partner_ids(partner_ids)
        # sudo: discuss.channel - reads the switch of the channel that the person writes in
        if (self.sudo().parent_channel_id or self.sudo()).woow_ai_mentions:
            partners = self.env["res.partner"].browse(partner_ids)
            # sudo: ai.assistant - the contact's id only, of assistants that the person may use
            allowed += self._assistants_of(partners).sudo().partner_id.ids
        return list(dict.fromkeys(allowed))

    # ------------------------------------------------------------ slash commands

    def _check_command(self):
        self.ensure_one()
        if self.channel_type != CONVERSATION or self.woow_user_id != self.env.user:
            raise UserError(
                self.env._("This command works in your conversations with an assistant.")
            )

    def execute_command_compact(self, **kwargs):
        """`/compact` in Discuss stands there like a question; the assistant says what came of it.

        :param kwargs: ``body``, the whole line
        """
        self._check_command()
        line = " ".join(kwargs.get("body", "").split()) or COMPACT
        message = self.with_context(woow_ai_no_turn=True).message_post(
            body=line, message_type="comment", subtype_xmlid="mail.mt_comment"
        )
        note = line.removeprefix(COMPACT).strip()
        self._ask(Question(note, message=message, compacts=True))

    def execute_command_mcp(self, **kwargs):
        """`/mcp`, `/mcp tools` and `/mcp reload` in Discuss; only who typed it sees the answer.

        :param kwargs: ``body``, the whole line
        """
        self._check_command()
        # sudo: ai.assistant - `_mcp_servers` checks what its person may use
        assistant = self.sudo().woow_assistant_id
        servers = self._mcp_servers()
        command = " ".join(kwargs.get("body", "").lower().split())
        if command == "/mcp reload":
            assistant._managed_of(servers)._sync_after_commit(notify=True)
            title, rows = self.env._("Reloading"), assistant._reload_rows(servers).values()
            started = self.env._(
                "The tools are being reloaded. You will be notified of the result."
            )
            rows = [{**row, "about": row["about"] or started} for row in rows]
            rows = [*assistant._reread_file(), *rows, *assistant._off_rows()]
        else:
            answer = assistant._command_answer(command, servers)
            title, rows = answer["title"], answer["rows"]
        self.env.user._bus_send_transient_message(self, _as_html(title, rows))

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


def _content_of(message):
    return html2plaintext(message.body, include_references=False).strip()


def _without_mentions(content, names):
    for name in names:
        content = content.replace(f"@{name}", "")
    return " ".join(content.split())


def _as_html(title, rows):
    lines = [Markup("<dt>%(name)s</dt><dd>%(about)s</dd>") % row for row in rows]
    return Markup("<b>%s</b><dl>%s</dl>") % (title, Markup().join(lines))


class MailMessage(models.Model):
    """Turn cards in Discuss: one for each call, at the answer or, while there is none, at the question."""

    _inherit = "mail.message"

    def _extras_to_store(self, store: Store, format_reply):
        for message, data in self._turn_cards().items():
            store.add(message, {"woow_ai_turn": data})
        return super()._extras_to_store(store, format_reply=format_reply)

    def _turn_cards(self):
        """``{message: data of its turn}``; everybody who reads the message may read the data."""
        messages = self.filtered(lambda message: message.model == "discuss.channel")
        if not messages:
            return {}
        # sudo: ai_turn - only what the summary below the answer tells its readers
        turns = self.env["woow_paas_platform.ai_turn"].sudo()
        found = turns.search(
            ["|", ("answer_message_id", "in", messages.ids), ("message_id", "in", messages.ids)],
            order="id",
        )
        turn_of = {}
        for turn in found:  # the last try at a question counts
            turn_of.pop(turn.message_id, None)
            shown_at = turn.answer_message_id or turn.message_id
            if shown_at in messages.sudo() and shown_at.res_id == turn.channel_id.id:
                turn_of[shown_at] = turn
        cards = turns.browse(turn.id for turn in turn_of.values())._cards()
        return {message.sudo(False): cards[turn.id] for message, turn in turn_of.items()}


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
    def name_search(self, name="", domain=None, operator="ilike", limit=100):
        """Assistants are offered nowhere as a customer, a contact or a follower."""
        return super().name_search(name, self._without_assistants(domain), operator, limit)

    @api.readonly
    @api.model
    def web_search_read(self, domain, specification, *args, **kwargs):
        """Lists of contacts show people and companies."""
        return super().web_search_read(
            self._without_assistants(domain), specification, *args, **kwargs
        )

    @api.readonly
    @api.model
    def web_read_group(self, domain, groupby, *args, **kwargs):
        """Groups of such a list, with what they count and show."""
        return super().web_read_group(self._without_assistants(domain), groupby, *args, **kwargs)

    @api.readonly
    @api.model
    def formatted_read_group(self, domain, *args, **kwargs):
        """Pivots and graphs of contacts count people and companies."""
        return super().formatted_read_group(self._without_assistants(domain), *args, **kwargs)

    @api.model
    def _without_assistants(self, domain):
        # sudo: ai.assistant - which contacts are those of one; nothing of them is shown
        assistants = (
            self.env["ai.assistant"]
            .sudo()
            .with_context(active_test=False)
            .search([("partner_id", "!=", False)])
        )
        return Domain(domain or Domain.TRUE) & Domain("id", "not in", assistants.partner_id.ids)

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
        found = [("name", "ilike", search), ("cloud_service_id", "=", False)]
        assistants = self.env["ai.assistant"].search(found, limit=limit)
        # sudo: res.partner - name and picture of assistants that the person may use
        partners = assistants.sudo().partner_id
        store = Store().add(partners, extra_fields=partners._get_store_mention_fields())
        for partner in partners:
            # the web client offers only contacts of the group that the channel is restricted to
            store.add(partner, {"group_ids": [("ADD", channel.group_public_id.ids)]})
        return store.get_result()
