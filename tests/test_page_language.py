from unittest.mock import PropertyMock, patch

import psycopg2
from odoo.api import Environment
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..services import events
from ..services.sentence import _lt
from ..services.specs import CallResult
from ..services.turn.execution import MAYBE, failure
from ..services.turn.ports import Ending
from .common import TAIPEI, AiHttpCase, TurnByHandCase

TAIWAN = {"X-Woow-Language": "zh_TW"}


class Chinese:
    """Mixed into a test case: pages may be in Traditional Chinese; everybody prefers English."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.env["res.lang"]._activate_lang("zh_TW")
        module = cls.env["ir.module.module"].search([("name", "=", "woow_paas_platform")])
        module._update_translations("zh_TW")


@tagged("post_install", "-at_install")
class TestPageLanguage(Chinese, AiHttpCase):
    """What the API says is in the language of the page that asks."""

    def test_answers_are_in_the_language_of_the_page(self):
        self._sign_in(self.member)
        chat = self._conversation(self.member)
        path = f"/api/ai/conversations/{chat.id}/messages"
        self._call("POST", path, {"content": "One"}, headers=TAIWAN)
        self.assertEqual(chat.sudo().woow_turn_ids.lang, "zh_TW")
        told = {
            lang: self._call("POST", path, {"content": "Two"}, headers=headers)[1]["error"]
            for lang, headers in (
                ("zh", TAIWAN),
                ("en", None),
                ("none", {**TAIWAN, "X-Woow-Language": "xx"}),
            )
        }
        self.assertEqual({error["code"] for error in told.values()}, {"turn_running"})
        self.assertEqual(
            told["en"]["message"], "The assistant is still busy with the last message."
        )
        self.assertEqual(told["none"]["message"], told["en"]["message"])
        self.assertRegex(told["zh"]["message"], "助理")

    def test_a_failure_is_told_in_the_readers_language(self):
        turn = self._ask(self.member).sudo()
        turn.write({"state": "failed", "error_code": "llm_timeout"})
        turn.error_message = turn._error_sentence("llm_timeout", "")
        self._sign_in(self.member)
        path = f"/api/ai/turns/{turn.id}"
        english, chinese = (
            self._call("GET", path, headers=headers)[1]["error"]["message"]
            for headers in (None, TAIWAN)
        )
        self.assertEqual(english, "The language model did not answer in time. Try again.")
        self.assertRegex(chinese, "[一-龥]")

    @mute_logger("odoo.addons.woow_paas_platform.runtime.web.api_error", "odoo.http")
    def test_a_fault_is_told_in_the_readers_language(self):
        self._sign_in(self.member)
        broken = patch.object(type(self.env["ai.assistant"]), "_api_face", side_effect=KeyError)
        unreadable = patch.object(
            Environment, "lang", PropertyMock(side_effect=psycopg2.InterfaceError)
        )
        with broken:
            status, told = self._call("GET", "/api/ai/assistants", headers=TAIWAN)
            with unreadable:
                without = self._call("GET", "/api/ai/assistants", headers=TAIWAN)
        self.assertEqual((status, told["error"]["code"]), (500, "internal_error"))
        self.assertRegex(told["error"]["message"], "[一-龥]")
        self.assertIn(without[0], (500, 503))
        self.assertRegex(without[1]["error"]["message"], "[一-龥]")

    def test_what_a_person_forgot_is_told_in_the_readers_language(self):
        self._sign_in(self.member)
        for given in ({}, {"url": "https://a.example.com/mcp", "name": "x" * 101}):
            status, told = self._call("POST", "/api/mcp/servers", given, headers=TAIWAN)
            self.assertEqual((status, told["error"]["code"]), (400, "invalid_field"))
            self.assertRegex(told["error"]["message"], "[一-龥]")


@tagged("post_install", "-at_install")
class TestTurnLanguage(Chinese, TurnByHandCase):
    def test_what_a_turn_asks_is_in_the_language_of_its_page(self):
        self.turn.lang = "zh_TW"
        self._asked((self.forecast, {"city": "Taipei"}))
        (asked,) = self._events("approval_required")
        self.assertRegex(asked["reason"], "[一-龥]")

    def test_remarks_and_results_are_in_the_language_of_its_page(self):
        self.turn.lang = "zh_TW"
        self._begin((self.forecast, TAIPEI))
        cut = events.notice("answer_cut", "The answer reached its maximum length and was cut off.")
        self.store.append({self.claim: [(self.turn._last_seq() + 1, cut)]})
        said = _lt(
            "The tool did not answer within %(seconds)s s. %(reason)s", seconds="30", reason=MAYBE
        )
        failed = CallResult(outcome="timeout", text=said, display=said)
        result = events.result_of("call_1_1")
        seq = self.turn._last_seq() + 1
        self.store.end_call(self.claim, "call_1_1", failed, [(seq, result)])
        ((notice,), (told,)) = (self._events(kind) for kind in ("notice", "tool_result"))
        self.assertRegex(notice["message"], "[一-龥]")
        self.assertRegex(told["result"], "[一-龥]")

    def test_a_denial_is_in_the_language_of_its_page(self):
        self.turn.lang = "zh_TW"
        self._begin((self.forecast, TAIPEI))
        self.env.invalidate_all()
        call = self.turn.call_ids
        call.write({"approval": "denied", "decision_reason": "Not now."})
        denied = failure("denied", call._denial())
        seq = self.turn._last_seq() + 1
        self.store.end_call(self.claim, call.call_id, denied, [(seq, events.result_of("call_1_1"))])
        (told,) = self._events("tool_result")
        self.assertEqual(told["result"], "使用者拒絕了此呼叫。使用者的理由：Not now.")
        self.assertEqual(
            call.llm_text, "The user denied this call. The user's reason: Not now.", "for models"
        )

    def test_a_call_that_nobody_finished_is_in_the_language_of_its_page(self):
        self.turn.lang = "zh_TW"
        self._begin((self.forecast, TAIPEI))
        self.env.invalidate_all()
        (told,) = self.turn._close_open_calls()
        self.assertEqual(told["result"], "此呼叫未完成。")

    def test_an_error_is_stored_once_and_read_in_each_language(self):
        self.turn.lang = "zh_TW"
        self._begin((self.forecast, TAIPEI))
        reason = _lt("The folder %(name)s does not exist on this host.", name="/srv")
        ending = Ending(
            state="failed",
            error_code="config_error",
            error_message=reason,
            next_seq=self.turn._last_seq() + 1,
        )
        self.store.finish(self.claim, ending, [])
        self.env.invalidate_all()
        chinese = "此主機上沒有資料夾 /srv。"
        self.assertEqual(self._events("error")[-1]["message"], chinese)
        self.assertEqual(self.turn.with_context(lang="zh_TW").error_sentence, chinese)
        self.assertEqual(self.turn.with_context(lang="en_US").error_sentence, reason)
        self.assertEqual(self.turn.error_message, reason)

    def test_a_language_that_is_gone_is_the_persons_own(self):
        # Not the one of the other tests: a website may use that, and then it cannot be switched off.
        french = self.env["res.lang"]._activate_lang("fr_BE")
        self.turn.lang = french.code
        self.assertEqual(self.turn._language(), "fr_BE")
        french.active = False
        self.assertEqual(self.turn._language(), self.member.lang)
