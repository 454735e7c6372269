from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from .common import AiCase

SAID = [
    {
        "role": "assistant",
        "content": "Let me **see**.",
        "tool_calls": [{"id": "one", "alias": "weather__forecast", "arguments": {}}],
    },
    {"role": "tool", "call_id": "one", "content": "sunny", "outcome": "ok"},
]
THOUGHT = {**SAID[0], "thinking": "Rain?", "thinking_ms": 12_400}
FINAL = {"role": "assistant", "content": "It is *sunny*.", "tool_calls": []}
SKIPPED = {"type": "notice", "code": "tool_skipped", "message": "One is left out."}


@tagged("post_install", "-at_install")
class TestTimeline(AiCase):
    """The history of a turn has the order that people saw while it ran."""

    def setUp(self):
        super().setUp()
        self.turn = self._ask(self.member).sudo()
        self._call("one", round=1)

    def _call(self, call_id, **values):
        self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": self.turn.id,
                "user_id": self.member.id,
                "call_id": call_id,
                "tool_name": "forecast",
                "outcome": "ok",
                **values,
            }
        )

    def _timeline(self):
        channel = self.turn.channel_id.with_user(self.member).sudo(False)
        (answer,) = [m for m in channel._conversation_page(30)["messages"] if m["turn"]]
        return answer["turn"]["timeline"], answer

    def _end_and_retry(self, html):
        """The events with which the retry begins."""
        self.turn._end("stopped", html)
        retry = self.turn.with_user(self.member).sudo(False)._retry()
        events = self.env["woow_paas_platform.ai_turn_event"].sudo()
        return events.search([("turn_id", "=", retry.id)], order="seq").mapped("payload")

    def _kinds(self):
        return [
            (entry["type"], entry.get("text") or entry.get("id") or entry.get("code"))
            for entry in self._timeline()[0]
        ]

    def test_what_the_model_thought_is_for_the_reader_only(self):
        self.turn.transcript = {"step": 2, "messages": [THOUGHT, SAID[1], FINAL]}
        self.turn._end("done", "<p>It is <em>sunny</em>.</p>")
        self.assertEqual(self._kinds()[0], ("thinking", "Rain?"))
        self.assertEqual(self._timeline()[0][0]["ms"], 12_400)
        later = (
            self.turn.channel_id.with_user(self.member)
            .sudo(False)
            ._ask(Question("And then?"))
            .sudo()
        )
        self.assertNotIn("Rain?", str(later._turn_request().history))
        self.assertIn("Let me **see**.", str(later._turn_request().history))

    def test_text_and_calls_stand_in_the_order_of_events(self):
        asides = [{"step": 0, "event": SKIPPED}]
        self.turn.transcript = {"step": 2, "messages": [*SAID, FINAL], "asides": asides}
        self.turn._end("done", "<p>It is <em>sunny</em>.</p>")
        self.assertEqual(
            self._kinds(),
            [
                ("notice", "tool_skipped"),
                ("text_block", "Let me **see**."),
                ("tool_call", "one"),
                ("text_block", "It is *sunny*."),
            ],
        )
        timeline, answer = self._timeline()
        self.assertEqual(timeline[1]["html"].strip(), "<p>Let me <strong>see</strong>.</p>")
        self.assertEqual(answer["turn"]["tool_calls"][0]["max_rounds"], 5)

    def test_what_was_said_before_a_stopped_call_stands_once(self):
        self.turn.transcript = {"step": 1, "messages": SAID}
        self.turn._end("stopped", "<p>Let me <strong>see</strong>.</p>")
        self.assertEqual(self._kinds(), [("text_block", "Let me **see**."), ("tool_call", "one")])

    def test_half_an_answer_comes_after_the_calls(self):
        self.turn.transcript = {"step": 1, "messages": SAID}
        self.turn._end("stopped", "<p>It is</p>")
        self.assertEqual(self._kinds()[1:], [("tool_call", "one"), ("text_block", "It is")])

    def test_an_answer_that_was_deleted_is_gone_from_the_history(self):
        self.turn.transcript = {"step": 2, "messages": [*SAID, FINAL]}
        self.turn._end("done", "<p>It is <em>sunny</em>.</p>")
        self.turn.answer_message_id.body = ""
        self.assertEqual(self._kinds()[1:], [("tool_call", "one")])

    def test_a_call_without_a_transcript_is_not_lost(self):
        self.turn._end("failed", error=("internal_error", "Sorry."))
        self.assertEqual(self._kinds(), [("tool_call", "one")])

    def test_a_confirmed_round_stays_where_it_was_asked(self):
        self.turn.write(
            {
                "transcript": {"step": 1, "messages": SAID},
                "state": "waiting",
                "waiting_round": 2,
                "waiting_until": "2030-01-01",
            }
        )
        self.turn._decide_round("stop", by="Ada")
        transcript = self.turn.transcript
        self.turn.transcript = {**transcript, "step": 2, "messages": [*SAID, FINAL]}
        self.turn.state = "running"
        self.turn._end("done", "<p>It is <em>sunny</em>.</p>")
        self.assertEqual(self._kinds()[2], ("confirm_required", "round-2"))

    def test_a_retry_begins_with_what_was_said_and_done(self):
        self.turn.transcript = {"step": 1, "messages": SAID}
        events = self._end_and_retry("<p>Let me <strong>see</strong>.</p>")
        self.assertEqual(
            [event["type"] for event in events],
            ["state", "text", "text_block", "tool_call", "tool_result"],
        )

    def test_the_blocks_of_a_retry_are_numbered_as_in_a_stream(self):
        said = {**SAID[0], "content": "Let me see.\n\nOne moment."}
        self.turn.transcript = {"step": 2, "messages": [said, *SAID[1:], SAID[0]]}
        events = self._end_and_retry("")
        blocks = [event for event in events if event["type"] == "text_block"]
        self.assertEqual(
            [(block["index"], block["step"]) for block in blocks], [(0, 0), (1, 0), (2, 1)]
        )
        told = [event["content"].strip() for event in events if event["type"] == "text"]
        self.assertEqual(
            told, ["Let me see.", "One moment.", SAID[0]["content"]], "as in a stream, to be copied"
        )
