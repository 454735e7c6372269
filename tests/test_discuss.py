from datetime import timedelta

from markupsafe import Markup
from odoo import fields
from odoo.addons.mail.tools.discuss import Store
from odoo.addons.woow_paas_platform.models.conversation.discuss_channel_discuss import (
    SIDEBAR_CONVERSATIONS,
)
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import new_test_user, tagged

from ..models.turn.ai_turn import Question
from ..models.turn.ai_turn_request import DELETED
from .common import AiCase

BOLD = "<b>What</b> time is it?"


@tagged("post_install", "-at_install")
class TestDiscuss(AiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chat = cls._conversation(cls.internal)
        cls.Turn = cls.env["woow_paas_platform.ai_turn"]
        cls.before = cls.Turn.search([])

    def _post(self, channel, body=BOLD, user=None, **values):
        """As Discuss does: with sudo, in the name of the person."""
        values = {"message_type": "comment", "subtype_xmlid": "mail.mt_comment", **values}
        channel = channel.with_user(user or self.internal).sudo()
        return channel.message_post(body=body, body_is_html=True, **values)

    def _turns(self, channel):
        return self.Turn.search([("channel_id", "=", channel.id)], order="id")

    def _new_turns(self):
        return self.Turn.search([]) - self.before

    # ------------------------------------------------------------ conversations

    def test_an_assistant_is_shown_as_a_bot(self):
        partners = self.assistant.partner_id | self.internal.partner_id
        statuses = partners.with_user(self.internal).mapped("im_status")
        self.assertEqual(statuses, ["bot", "offline"])

    def test_a_message_queues_the_same_turn(self):
        message = self._post(self.chat)
        turn = self._turns(self.chat)
        self.assertEqual((turn.state, turn.prompt), ("queued", "*What* time is it?"))
        self.assertEqual((turn.message_id, turn.user_id), (message, self.internal))
        self.assertTrue(turn.is_from_discuss)
        self.assertEqual(self.chat.sudo().name, "*What* time is it?")

    def test_the_model_reads_a_question_as_it_was_edited(self):
        message = self._post(self.chat, "Is <b>rain</b> likely?")
        turn = self._turns(self.chat)
        turn.state = "done"
        edit = self.chat.with_user(self.internal)._message_update_content
        for body, said in (
            (Markup("<p>Is snow <b>likely</b> &amp; soon?</p>"), "Is snow *likely* & soon?"),
            ("", DELETED),
        ):
            edit(message, body=body, attachment_ids=[])
            self._post(self.chat, "And now?")
            question = self._turns(self.chat)[-1]._turn_request().history[0]
            self.assertEqual(" ".join(question["content"].split()), said)
        self.assertFalse(turn.prompt)

    def test_a_question_that_is_deleted_is_not_answered(self):
        first, second, third = (self._post(self.chat, body) for body in ("One", "Two", "Three"))
        running, edited, deleted = self._turns(self.chat)
        running.state = "running"
        edit = self.chat.with_user(self.internal)._message_update_content
        edit(second, body="Two, please", attachment_ids=[])
        for message in (first, third):
            edit(message, body="", attachment_ids=[])
        self.assertEqual((running.state, running.stop_requested), ("running", True))
        self.assertEqual((edited.state, edited.stop_requested), ("queued", False))
        self.assertEqual(deleted.state, "stopped")

    def test_what_entered_an_answer_is_edited_there(self):
        question, entered = self._post(self.chat, "Rain?"), self._post(self.chat, "In Tainan")
        turn, more = self._turns(self.chat)
        self.assertEqual(turn.message_id, question)
        more.write({"entered_id": turn.id, "state": "done"})
        told = {"role": "user", "content": "In Tainan", "turn": more.id}
        messages = {"transcript": {"messages": [told]}, "ended_at": fields.Datetime.now()}
        turn.write({**messages, "state": "stopped"})
        again = turn.copy({**messages, "retry_of_id": turn.id})
        edit = self.chat.with_user(self.internal)._message_update_content
        for body, kept in (("In Keelung", [{**told, "content": "In Keelung"}]), ("", [])):
            edit(entered, body=body, attachment_ids=[])
            for one in turn | again:
                self.assertEqual(one.transcript["messages"], kept)

    def test_a_second_message_is_queued_behind(self):
        self._post(self.chat, "One")
        self._post(self.chat, "Two")
        self.assertEqual(self._turns(self.chat).mapped("state"), ["queued", "queued"])

    def test_nothing_but_a_persons_comment_starts_a_turn(self):
        self._post(self.chat, "joined", message_type="notification")
        self.chat.sudo()._post_answer(self.assistant, "<p>Hello</p>")
        self._post(self.chat, "<p><br></p>")
        self._post(self.env["discuss.channel"].create({"name": "General talk"}), user=self.admin)
        self.assertFalse(self._new_turns())

    def test_the_chat_of_the_portal_starts_one_turn_not_two(self):
        self._ask(self.member)
        self.assertEqual(len(self._new_turns()), 1)

    def test_who_lost_the_assistant_is_told(self):
        self.assistant.group_ids = self.env.ref("base.group_system")
        with self.assertRaisesRegex(UserError, "no longer available"):
            self._post(self.chat)
        self.assistant.write({"group_ids": False, "active": False})
        with self.assertRaisesRegex(UserError, "no longer available"):
            self._post(self.chat)

    def test_the_answer_tells_its_calls_and_chats_show_cards_instead(self):
        self._post(self.chat)
        turn = self._turns(self.chat)
        self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": turn.id,
                "call_id": "call-1",
                "server_name": "weather",
                "tool_name": "<img src=x onerror=alert(1)>",
                "outcome": "timeout",
                "duration_ms": 30_000,
            }
        )
        # that never ran, so took no time
        self.env["woow_paas_platform.tool_call"].create(
            {"turn_id": turn.id, "call_id": "call-2", "tool_name": "wipe", "outcome": "denied"}
        )
        turn.state = "running"
        turn._end("done", "<p>Tea time.</p>")
        message = turn.answer_message_id
        self.assertIn('<div class="o_ai_call_summary">', message.body)
        self.assertIn("Timed out · 30.0 s", message.body)
        self.assertIn("<code>wipe</code> · Not allowed</li>", message.body)
        self.assertIn("weather.&lt;img", message.body)
        self.assertNotIn("<img", message.body)
        page = self.chat._conversation_page(limit=30)
        answer = page["messages"][-1]
        self.assertEqual((answer["html"], answer["text"]), ("<p>Tea time.</p>", "Tea time."))
        self.assertEqual(answer["turn"]["tool_calls"][0]["outcome"], "timeout")

    def test_a_failure_is_told_where_it_was_asked(self):
        self._post(self.chat)
        self._turns(self.chat)._end("failed", error=("llm_down", "The model is away."))
        last = self.chat.sudo().message_ids.sorted("id")[-1]
        self.assertEqual(last.message_type, "notification")
        self.assertIn("The model is away.", last.body)
        count = len(self.chat.sudo().message_ids)
        self.chat._ask(Question("From the chat")).sudo()._end("failed", error=("llm_down", "Away."))
        self.assertEqual(len(self.chat.sudo().message_ids), count + 1, "only the question came")

    def test_an_answer_watched_in_the_chat_is_not_unread_in_discuss(self):
        member = self.chat.channel_member_ids.filtered(
            lambda m: m.partner_id == self.internal.partner_id
        )
        self.chat._ask(Question("From the chat")).sudo()._end("done", "<p>Answer</p>")
        member.invalidate_recordset()
        self.assertEqual(member.message_unread_counter, 0)
        self._post(self.chat)
        self._turns(self.chat)[-1]._end("done", "<p>Answer</p>")
        member.invalidate_recordset()
        self.assertEqual(member.message_unread_counter, 1)

    def test_members_are_fixed(self):
        with self.assertRaises(ValidationError):
            self.chat.sudo().add_members(partner_ids=self.admin.partner_id.ids)
        with self.assertRaisesRegex(ValidationError, "cannot be changed"):
            self.chat.channel_member_ids.filtered("is_self").unlink()
        self.chat._delete_ai_conversation()
        self.assertFalse(self.chat.exists())

    def test_it_stands_in_the_sidebar(self):
        Channel = self.env["discuss.channel"].with_user(self.internal)
        self.assertIn(self.chat, Channel._get_channels_as_member())
        self.assertNotIn(self.chat, Channel.with_user(self.admin)._get_channels_as_member())

    def test_the_sidebar_has_the_latest_conversations_and_the_unread_ones(self):
        Channel = self.env["discuss.channel"].with_user(self.internal)
        unread = self._conversation(self.internal)
        self._post(unread)
        self._turns(unread)._end("done", "<p>Answer</p>")
        old = (self.chat | unread).sudo()
        old.last_interest_dt = fields.Datetime.now() - timedelta(days=1)
        latest = Channel
        for _number in range(SIDEBAR_CONVERSATIONS):
            latest |= self._conversation(self.internal)
        latest.sudo().last_interest_dt = fields.Datetime.now()
        listed = Channel._get_channels_as_member()
        self.assertLessEqual(latest | unread, listed)
        self.assertNotIn(self.chat, listed)

    # ------------------------------------------------------------ mentions

    def _channel(self, allow=True):
        channel = (
            self.env["discuss.channel"]
            .with_user(self.internal)
            ._create_channel("Team", group_id=self.env.ref("base.group_user").id)
        )
        if allow:
            channel.woow_ai_mentions = True
        return channel

    def _mention(self, channel, user=None):
        return self._post(
            channel,
            "@Helper what time is it?",
            user=user,
            partner_ids=self.assistant.partner_id.ids,
        )

    def test_a_mention_is_answered_in_a_thread_of_its_own(self):
        channel = self._channel()
        message = self._mention(channel)
        thread = channel.sub_channel_ids
        self.assertEqual(thread.from_message_id, message)
        self.assertEqual(thread.name, "what time is it?")
        turn = self._turns(thread)
        self.assertEqual((turn.assistant_id, turn.user_id), (self.assistant, self.internal))
        self.assertEqual(turn._check_still_allowed(), "")
        turn.state = "running"
        turn._end("done", "<p>Late.</p>")
        answer = turn.answer_message_id
        self.assertEqual((answer.model, answer.res_id), ("discuss.channel", thread.id))
        self._mention(thread)
        self.assertEqual(len(self._turns(thread)), 2)
        self.assertEqual(len(channel.sub_channel_ids), 1)

    def test_only_where_the_owner_allowed_it(self):
        channel = self._channel(allow=False)
        channel.sudo().group_public_id = False  # so that anybody can be mentioned
        message = self._mention(channel)
        self.assertEqual(message.partner_ids, self.assistant.partner_id)
        self.assertFalse(channel.sub_channel_ids)
        self.assertFalse(self._new_turns())

    def test_only_the_owner_allows_it(self):
        channel = self._channel(allow=False)
        other = self.env.ref("base.user_demo", False) or self.owner
        other.group_ids = self.env.ref("base.group_user")
        with self.assertRaises(AccessError):
            channel.with_user(other).woow_ai_mentions = True
        self.assertTrue(channel.with_user(self.admin)._may_allow_ai_mentions())
        channel.woow_ai_mentions = True
        self.assertTrue(channel.woow_ai_mentions)

    def test_discuss_is_told_who_may_allow_it(self):
        channel = self._channel()
        self._mention(channel)
        other = new_test_user(self.env, "discuss_other", groups="base.group_user")

        def told(channel, user):
            rows = Store().add(channel.with_user(user).sudo()).get_result()["discuss.channel"]
            (row,) = (row for row in rows if row["id"] == channel.id)
            return row.get("woow_may_allow_mentions")

        self.assertIs(told(channel, self.internal), True)
        self.assertIs(told(channel, self.admin), True)
        self.assertIs(told(channel, other), False)
        self.assertIsNone(told(channel.sub_channel_ids, self.internal))
        self.assertIsNone(told(self.chat, self.internal))

    def test_a_mention_of_an_assistant_that_is_not_offered_does_nothing(self):
        self.assistant.group_ids = self.env.ref("base.group_system")
        channel = self._channel()
        self._mention(channel)
        self.assertFalse(self._new_turns())

    def test_a_thread_that_others_read_has_no_personal_tools(self):
        server = self.env["woow_paas_platform.mcp_server"].create(
            {
                "name": "diary",
                "url": "https://diary.example.com/mcp",
                "scope": "user",
                "owner_user_id": self.internal.id,
            }
        )
        secret = self.env["woow_paas_platform.mcp_tool"].create(
            {"name": "read", "server_id": server.id}
        )
        channel = self._channel()
        self._mention(channel)
        turn = self._turns(channel.sub_channel_ids)
        self.assertEqual(turn._tools(), self.forecast | self.alerts)
        self._post(self.chat)
        self.assertIn(secret, self._turns(self.chat)._tools())

    def test_assistants_are_suggested_where_they_answer(self):
        Partner = self.env["res.partner"].with_user(self.internal)
        for allow in (True, False):
            channel = self._channel(allow=allow)
            data = Partner.get_mention_suggestions_from_channel(channel.id, "Helper")
            found = [row["id"] for row in data.get("res.partner", [])]
            self.assertEqual(self.assistant.partner_id.id in found, allow)
