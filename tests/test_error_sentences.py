from unittest.mock import patch

from odoo.tests import tagged

from ..runtime.turns import listeners
from ..services import errors
from .common import AiHttpCase


@tagged("post_install", "-at_install")
class TestErrorSentences(AiHttpCase):
    def test_every_fault_of_a_model_has_a_sentence_in_the_persons_language(self):
        turn = self._ask(self.member).sudo()
        for error in errors.LlmError.__subclasses__():
            with self.subTest(code=error.code):
                sentence = turn._error_sentence(error.code, "")
                self.assertTrue(sentence.endswith("."), sentence)

    def test_what_the_engine_knows_better_is_kept(self):
        turn = self._ask(self.member).sudo()
        quota = "The quota of the language model is used up. An administrator must check it."
        self.assertEqual(turn._error_sentence("llm_rate_limited", quota), quota)

    def test_more_streams_than_allowed_are_told_to_wait(self):
        turn = self._ask(self.member)
        self._sign_in(self.member)
        with patch.object(listeners, "is_full", lambda *_: True):
            answer = self.url_open(turn._stream_url())
        self.assertEqual((answer.status_code, answer.json()["error"]["code"]), (503, "busy"))
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
