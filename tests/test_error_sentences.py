from unittest.mock import patch

import psycopg2
from odoo.service import security
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..runtime import process
from ..runtime.turns import listeners
from ..runtime.web import api_error
from ..services import errors
from ..tools import db
from ..tools.refusals import TooOften
from ..tools.sentences import Reader
from .common import AiHttpCase


@tagged("post_install", "-at_install")
class TestErrorSentences(AiHttpCase):
    def test_every_fault_of_a_model_has_a_sentence_in_the_persons_language(self):
        turn = self._ask(self.member).sudo()
        for error in errors.LlmError.__subclasses__():
            with self.subTest(code=error.code):
                sentence = turn._error_sentence(error.code, "")
                self.assertTrue(sentence.endswith("."), sentence)

    def test_who_may_not_chat_any_more_reads_why_in_their_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        turn = self._ask(self.member).sudo()
        self.assistant.active = False
        said = turn._check_still_allowed()
        self.assertIn("to you", said)
        shown = turn.with_context(lang="zh_TW")._error_sentence("config_invalid", said)
        self.assertEqual(shown, "您已無法使用此助理。")

    def test_a_conversation_says_when_nothing_can_be_asked_in_it_any_more(self):
        channel = self._conversation(self.member, self.service)
        self._sign_in(self.member)
        url = f"/api/ai/conversations/{channel.id}"
        self.assertEqual(self._call("GET", url)[1]["closed"], "")
        self.workspace.access_ids.filtered(lambda a: a.user_id == self.member).unlink()
        self.env.flush_all()
        self.assertIn("no longer a member", self._call("GET", url)[1]["closed"])
        self.assistant.active = False
        self.env.flush_all()
        self.assertIn("no longer available to you", self._call("GET", url)[1]["closed"])

    def test_what_the_engine_knows_better_is_kept(self):
        turn = self._ask(self.member).sudo()
        quota = "The quota of the language model is used up. An administrator must check it."
        self.assertEqual(turn._error_sentence("llm_rate_limited", quota), quota)

    def test_a_user_reads_less_of_an_error_than_its_manager(self):
        error = errors.ConfigError("The folder /srv/tools is not readable.")
        blocked = errors.BlockedAddress(detail="10.0.0.7")
        readers = {
            "user": Reader(),
            "owner": Reader(manages=True),
            "administrator": Reader(manages=True, administers=True),
        }
        read = {name: api_error.of(error, reader).description for name, reader in readers.items()}
        self.assertEqual(read["user"], "The configuration is not valid.")
        self.assertEqual(read["owner"], str(error))
        self.assertEqual(read["administrator"], str(error))
        read = {name: api_error.of(blocked, reader).description for name, reader in readers.items()}
        self.assertNotIn("10.0.0.7", read["user"] + read["owner"])
        self.assertIn("10.0.0.7", read["administrator"])

    def test_a_wait_is_in_the_details_and_in_the_header(self):
        for error in (
            TooOften("Later.", retry_after=7),
            errors.RateLimited(retry_after=6.2),
            errors.LlmRateLimited(retry_after=6.2),
        ):
            with self.subTest(error=type(error).__name__):
                answer = api_error.of(error, Reader())
                self.assertEqual(answer.details["retry_after"], 7)
                self.assertEqual(answer.headers["Retry-After"], "7")
        endless = api_error.of(errors.LlmRateLimited(retry_after=float("inf")), Reader())
        self.assertNotIn("Retry-After", endless.headers)

    def test_an_unexpected_error_after_the_commit_is_the_apis_own(self):
        self._sign_in(self.member)
        values = {"aiMessage": "Hi", "assistant_id": self.assistant.id}
        fails = patch.object(process, "wait_for", side_effect=RuntimeError("secret of the inside"))
        with fails, self.assertLogs("odoo", "ERROR") as logged:
            status, data = self._call("POST", "/api/ai-reply", values)
        self.assertEqual((status, data["error"]["code"]), (500, "internal_error"))
        self.assertNotIn("secret", str(data))
        self.assertIn("secret of the inside", "\n".join(logged.output))

    def test_more_streams_than_allowed_are_told_to_wait(self):
        turn = self._ask(self.member)
        self._sign_in(self.member)
        with patch.object(listeners, "is_full", lambda *_: True):
            answer = self.url_open(turn._stream_url())
        self.assertEqual((answer.status_code, answer.json()["error"]["code"]), (503, "busy"))
        self.assertGreater(int(answer.headers["Retry-After"]), 0)

    def test_a_database_that_is_away_signs_nobody_out(self):
        """Odoo denies access to whoever asks while its database fails."""
        turn = self._ask(self.member)
        self._sign_in(self.member)
        gone = psycopg2.OperationalError("server closed the connection unexpectedly")
        for fails in (
            patch.object(security, "check_session", side_effect=gone),
            patch.object(type(turn), "_is_streamed_until", side_effect=gone),
            patch.object(type(turn), "_is_streamed_until", side_effect=db.DatabaseGone("gone")),
        ):
            with self.subTest(fails=fails), fails, mute_logger("odoo.http"):
                answer = self.url_open(turn._stream_url())
            self.assertEqual((answer.status_code, answer.json()["error"]["code"]), (503, "busy"))
            self.assertIn("database", answer.json()["error"]["message"])
            self.assertGreater(int(answer.headers["Retry-After"]), 0)
        self.assertEqual(self.url_open("/api/ai/assistants").status_code, 200)
