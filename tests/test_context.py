"""Long conversations: what fits is shown whole, what does not is summed up by the model, once."""

import asyncio
import copy
from types import SimpleNamespace
from unittest.mock import patch

from odoo import Command
from odoo.exceptions import UserError
from odoo.tests import tagged
from odoo.tools import mute_logger

from ..models.turn.ai_turn import Question
from ..runtime.records import read
from ..services.context import budget
from ..services.errors import LeaseLost, LlmUnavailable
from ..services.llm.diagnose import Found
from ..services.net.diagnostic_steps import Diagnosis
from ..services.testing.scripted_llm import Reply, ScriptedLlm
from ..services.turn import ai_client
from ..services.turn.journal import TurnJournal
from ..services.turn.queue.turn_run import ending
from ..services.turn.tools import TurnTools
from .common import TAIPEI, TurnByHandCase

SUMMARY = "## Decided\nThe order S00042 goes to Tainan."
EVENT = "conversation_summary"


class ContextCase(TurnByHandCase):
    """A conversation with a model that takes 4,096 tokens; its runner is the test."""

    def setUp(self):
        super().setUp()
        self.turn._request_stop()
        self.provider.write({"context_length": 4096, "tool_protocol": "native"})
        self.channel = self._conversation(self.member)
        self._sign_in(self.member)
        # what is estimated counts: the scripted model says of each request that it had 10 tokens
        self.startPatcher(patch.object(budget, "RATIOS", (1.0, 1.0)))
        self.requests = []  # of the last run, as the provider got them

    def _past(self, count, chars=400, **progress):
        """Turns that are over, each of about a hundred tokens."""
        turns = self.env["woow_paas_platform.ai_turn"]
        for number in range(count):
            turn = self.channel._ask(Question(f"Question {number}.")).sudo()
            answer = {"role": "assistant", "content": "x" * chars, "tool_calls": []}
            turn.transcript = {"step": 1, "messages": [answer], **progress}
            turn._end("done", "<p>x</p>")
            turns |= turn
        return turns

    def _say(self, *script, content="And now?", **options):
        return self._run(self.channel._ask(Question(content)).sudo(), *script, **options)

    def _compact(self, *script, note="", **options):
        return self._run(
            self.channel._ask(Question(note, compacts=True)).sudo(), *script, **options
        )

    def _run(self, turn, *script, dies=False, stops=False):
        """What a runner does with the turn.

        :param dies: before anything that the model has said is on disk
        :param stops: the person stops it as soon as the model was asked
        """
        self.turn = turn
        self.env.flush_all()
        with mute_logger("odoo.addons.woow_paas_platform.services.turn.queue.turn_run"):
            asyncio.run(self._run_async(script, dies, stops))
        self.env.invalidate_all()
        return turn

    async def _run_async(self, script, dies, stops):
        async def at_once(method, *args, **_options):
            return method(*args)

        stop = asyncio.Event()
        async with ScriptedLlm(*script) as llm:
            self.requests = llm.requests
            with patch.object(type(self.provider), "_llm_spec", self._spec_at(llm.base_url)):
                (claim,) = self.store.claim("one", 1, 15.0)
                self.assertEqual(claim.turn_id, self.turn.id)
                loaded = self.store.load(claim)
            journal = TurnJournal(claim, self.store, at_once, lambda *_journal: None)
            if dies:
                journal.lose()
            if stops:
                llm.arrived = SimpleNamespace(set=stop.set)
            tools = TurnTools(loaded.request, SimpleNamespace(is_connected=lambda *_: False))
            try:
                result = await ai_client.run_turn(
                    loaded.request, loaded.progress, journal, tools, stop
                )
            except LeaseLost:
                return self.store.release("one")
            html = f"<p>{result.text}</p>" if result.text else ""
            loaded.progress.epoch = claim.epoch
            await journal.finish(lambda seq: ending(result, loaded.progress, 0.0, seq, html))

    def _spec_at(self, address):
        """Not by a change of the provider: of another address other things would be known."""
        make = type(self.provider)._llm_spec

        def spec(provider, **options):
            made = make(provider, **options)
            object.__setattr__(made, "base_url", address)
            return made

        return spec

    def _said(self, index=-1):
        """What the model was asked, without the system prompt."""
        return [m["content"] for m in self.requests[index]["messages"] if m["role"] != "system"]

    def _page(self):
        return self._call("GET", f"/api/ai/conversations/{self.channel.id}")[1]


@tagged("post_install", "-at_install")
class TestContext(ContextCase):
    def test_what_fits_is_shown_whole(self):
        self._past(12)
        turn = self._say(Reply("Fine."))
        self.assertEqual((turn.state, len(self._said())), ("done", 25))
        self.assertFalse(turn.summary_until)

    def test_what_does_not_fit_is_summed_up_once(self):
        past = self._past(24)
        turn = self._say(Reply(SUMMARY), Reply("Fine."))
        writing, asking = self.requests
        self.assertTrue("Question 0." in self._said(0)[0])
        self.assertNotIn("tools", writing)
        self.assertTrue("S00042" in self._said()[0])
        self.assertFalse("Question 0." in str(asking))
        self.assertTrue("Question 23." in str(asking))
        self.assertEqual((turn.state, turn.summary_until in past.ids), ("done", True))
        (event,) = self._events(EVENT)
        self.assertEqual((event["content"], event["model"]), (SUMMARY, "test"))
        self.assertLess(event["tokens_after"], event["tokens_before"])
        self.assertEqual(event["messages"], 2 * past.ids.index(event["until"]) + 2)

        later = self._say(Reply("Fine, too."))
        self.assertEqual((later.state, later.error_message), ("done", False))
        self.assertEqual(len(self.requests), 1, "half of the room is free again")
        begun = asking["messages"]
        self.assertEqual(self.requests[0]["messages"][: len(begun)], begun, "its cache knows it")
        self.assertEqual(self.requests[0]["tools"], asking["tools"])

    def test_a_summary_is_summed_up_with_what_followed(self):
        self._past(24)
        self._say(Reply(SUMMARY), Reply("Fine."))
        self._past(20)
        self._say(Reply("S00042 and S00043"), Reply("Fine."))
        self.assertTrue("S00042" in self._said(0)[0], "the former one")
        self.assertTrue("S00043" in self._said()[0])
        self.assertFalse(SUMMARY in str(self.requests[1]))

    def test_after_a_refusal_the_beginning_is_summed_up(self):
        self.provider.context_length = 0
        past = self._past(24)
        refusal = "maximum context length is 4096 tokens"
        refused = self._say(Reply(status=400, error=refusal))
        self.assertEqual((refused.state, refused.error_code), ("failed", "llm_context_too_long"))
        turn = self._say(Reply(SUMMARY), Reply("Fine."))
        self.assertEqual((turn.state, turn.summary_until in past.ids), ("done", True))

    def test_after_a_refusal_of_what_should_have_fitted_less_is_sent_here(self):
        self.startPatcher(patch.object(budget, "RATIOS", (1.0, 1.5)))
        self._past(2)
        refused = Reply(status=400, error="maximum context length is 4096 tokens, you sent 5000")
        first = self._say(refused)
        self.assertEqual(first.error_code, "llm_context_too_long")
        self.assertEqual(self.provider._context_tokens(), 4096, "which was known")
        retry = first.with_user(self.member).sudo(False)._retry().sudo()
        self.assertEqual(retry._turn_request().context.ratio, 1.333)
        self._run(retry, refused)
        later = self.channel._ask(Question("Shorter?")).sudo()
        self.assertEqual(later._turn_request().context.ratio, 1.5, "at most")
        self._run(later, Reply("Fine."))
        self.assertEqual(later.transcript["context"]["ratio"], 1.0, "as it was counted then")
        other = self._conversation(self.member)._ask(Question("And here?")).sudo()
        self.assertEqual(other._turn_request().context.ratio, 1.0)

    def test_two_hundred_turns_that_were_never_summed_up(self):
        past = self._past(200, chars=100)
        turn = self._say(Reply(SUMMARY), Reply("Fine."))
        self.assertEqual(turn.state, "done")
        for request in self.requests:
            self.assertLess(len(str(request["messages"])), 4 * 4096 * 2)
        self.assertTrue("Question 199." in str(self.requests[-1]))
        self.assertIn(turn.summary_until, past.ids)
        self._say(Reply("Fine."))
        self.assertEqual(len(self.requests), 1)

    def test_the_page_tells_of_it(self):
        self._past(24)
        self._say(Reply(SUMMARY), Reply("Fine."))
        page = self._page()
        timeline = page["messages"][-1]["turn"]["timeline"]
        self.assertEqual([entry["type"] for entry in timeline], [EVENT, "text_block"])
        self.assertEqual(timeline[0]["content"], SUMMARY)
        self.assertIn("<h2>Decided</h2>", timeline[0]["html"])
        self.assertEqual(self._events(EVENT)[0]["html"], timeline[0]["html"])
        held = copy.deepcopy(self.turn.transcript)
        del held["summary"]["event"]["html"]  # as an earlier version left it
        self.turn.transcript = held
        self.assertEqual(self._page()["messages"][-1]["turn"]["timeline"], timeline)
        held = page["context"]
        self.assertEqual(held, self._events("usage")[0]["context"])
        self.assertEqual(held["limit"], 4096)
        self.assertEqual(
            held["used"], held["definitions"] + held["summary"] + held["messages"], held
        )
        self.assertTrue(held["summary"] and held["used"] < 4096)

    def test_what_the_provider_counts_corrects_the_estimate(self):
        for ratio, requests in ((1.0, 2), (0.5, 1)):
            with self.subTest(ratio=ratio), patch.object(budget, "RATIOS", (ratio, 2.0)):
                self.channel = self._conversation(self.member)
                self._past(12)
                self._say(Reply("Fine."))  # which is said to have had 10 tokens
                self.assertEqual(self.turn.transcript["context"]["ratio"], ratio)
                self._past(12, context=self.turn.transcript["context"])
                self._say(Reply("Fine."))
                self.assertEqual(len(self.requests), requests)

    # ------------------------------------------------------------ what goes wrong

    def test_where_it_fails_the_turn_goes_on_and_it_is_not_tried_each_time(self):
        self._past(40)
        refused = Reply(status=400, error="no")
        turn = self._say(refused, Reply("Fine."))
        self.assertEqual((turn.state, turn.summary_failures, len(self.requests)), ("done", 1, 2))
        self.assertTrue("Question 39." in str(self.requests[1]))
        self.assertFalse("Question 0." in str(self.requests[1]))
        (notice,) = self._events("notice")
        self.assertEqual(notice["code"], "not_summed_up")
        self.assertFalse(self._events(EVENT))
        self._say(Reply("Fine."))
        self.assertEqual(len(self.requests), 1, "not at once again")
        turn = self._say(Reply("  "), Reply("  "), Reply("Fine."))
        self.assertEqual((turn.summary_failures, turn.state), (2, "done"), "an empty one")
        for _turn in range(3):
            self._say(Reply("Fine."))
            self.assertEqual(len(self.requests), 1, "twice as long now")
        turn = self._say(Reply(SUMMARY), Reply("Fine."))
        self.assertTrue(turn.summary_until)
        self.assertFalse(turn.summary_failures)

    def test_a_runner_that_dies_before_it_is_on_disk_leaves_it_to_the_next(self):
        self._past(24)
        turn = self._say(Reply(SUMMARY), dies=True)
        self.assertEqual((turn.state, turn.summary_until), ("queued", 0))
        self._run(turn, Reply("S00043"), Reply("Fine."))
        self.assertEqual(turn.state, "done")
        (event,) = self._events(EVENT)
        self.assertEqual(event["content"], "S00043")

    def test_who_takes_the_turn_up_goes_on_with_the_summary(self):
        self._past(24)
        turn = self._say(Reply(SUMMARY), Reply(status=400, error="no"))
        self.assertEqual(turn.state, "failed")
        self.assertTrue(turn.summary_until)
        retry = turn.with_user(self.member).sudo(False)._retry().sudo()
        self._run(retry, Reply("Fine."))
        self.assertEqual((retry.state, len(self.requests)), ("done", 1))
        self.assertTrue("S00042" in self._said()[0])
        self.assertEqual(len(self._events(EVENT)), 1, "its own log tells of it, too")

    def test_stop_ends_the_turn_meanwhile(self):
        self._past(24)
        turn = self._say(Reply(SUMMARY, wait=5.0), stops=True)
        self.assertEqual((turn.state, turn.summary_until), ("stopped", 0))
        self.assertFalse(self._events(EVENT))

    def test_what_attached_records_say_takes_room(self):
        self.provider.context_length = 16_384
        self.assistant.record_access_ids = [Command.create({"model": "res.partner"})]
        partners = self.env["res.partner"].create(
            [{"name": f"Long {number}", "comment": "x" * 4_000} for number in range(3)]
        )
        self.channel = self._conversation(self.internal)
        self._past(18, 1_600)
        self.assertFalse(self._say(Reply("Fine.")).summary_until)
        attached = [{"model": one._name, "id": one.id, "name": one.name} for one in partners]
        with patch.object(read, "read_records", side_effect=read.read_records) as reading:
            turn = self._run(
                self.channel._ask(Question("Compare them.", mentions=attached)).sudo(),
                Reply(SUMMARY),
                Reply("Fine."),
            )
        self.assertTrue(turn.summary_until)
        self.assertEqual(len(self.requests), 2)
        self.assertGreater(self._said()[-1].count("x"), 9_000)
        self.assertEqual(reading.call_count, 3, "each is read once")

    # ------------------------------------------------------------ whose it is

    def test_a_summary_counts_on_the_path_that_it_covers(self):
        past = self._past(24)
        covering = self._say(Reply(SUMMARY), Reply("Fine."))
        edited = self.channel._ask(Question("Question 23, anew?", edits=past[-1])).sudo()
        self._run(edited, Reply("S00043"), Reply("Fine."))
        self.assertFalse("S00042" in str(self.requests), "it was made on the other branch")
        edited.with_user(self.member).sudo(False)
        past[-1].with_user(self.member).sudo(False)._show_version()
        self.assertEqual((covering.hidden, bool(edited.hidden)), (0, True))
        self._say(Reply("Fine."))
        self.assertEqual(len(self.requests), 1)
        self.assertTrue("S00042" in self._said()[0])

    def test_what_was_read_before_the_summary_still_taints(self):
        self.forecast.annotations = '{"destructiveHint": true}'
        self.tools.approval_policy = "auto"
        for number, (outcome, kind) in enumerate((("denied", "run"), ("ok", "ask")), 1):
            with self.subTest(outcome=outcome):
                self.channel = self._conversation(self.member)
                first = self._past(1)
                self.env["woow_paas_platform.tool_call"].create(
                    {
                        "turn_id": first.id,
                        "user_id": self.member.id,
                        "call_id": f"read-{outcome}",
                        "round": 1,
                        "tool_id": self.alerts.id,
                        "tool_name": "alerts",
                        "server_name": "weather",
                        "outcome": outcome,
                        "taint": outcome == "ok" and "untrusted",
                    }
                )
                self._past(24)
                turn = self._say(Reply(SUMMARY), Reply("Fine."))
                self.assertGreater(turn.summary_until, first.id)
                self.turn, self.claim = self.channel._ask(Question("Delete it")).sudo(), None
                (verdict,) = self._begin((self.forecast, TAIPEI), round_=number)
                self.assertEqual(verdict.kind, kind)
                self.store.release("one")
                self.env.invalidate_all()
                self.turn._request_stop()


@tagged("post_install", "-at_install")
class TestCompact(ContextCase):
    """`/compact`: a turn that only sums up."""

    def _post(self, content="", **body):
        path = f"/api/ai/conversations/{self.channel.id}/messages"
        return self._call("POST", path, {"content": content, "compact": True, **body})

    def test_it_sums_up_now(self):
        self._past(6)
        status, accepted = self._post("the order", client_token="t")
        self.assertEqual(status, 202, accepted)
        self.assertEqual(self._post("the order", client_token="t")[1], accepted, "once")
        turn = self.turn.browse(accepted["turn_id"])
        self._run(turn, Reply(SUMMARY))
        self.assertEqual(len(self.requests), 1)
        self.assertTrue("the order" in self._said(0)[0])
        self.assertEqual((turn.state, turn.answer_message_id.ids), ("done", []))
        (event,) = self._events(EVENT)
        self.assertEqual(event["messages"], 12)
        self.assertIn("12 earlier messages summed up: about", turn._summary_sentence())
        question, ending = self._page()["messages"][-2:]
        self.assertEqual(question["text"], "/compact the order")
        self.assertEqual([entry["type"] for entry in ending["turn"]["timeline"]], [EVENT])
        self._say(Reply("Fine."))
        self.assertEqual(len(self._said()), 3, "the summary, its answer, and the question")
        self.assertFalse("/compact" in str(self.requests[-1]))

    def test_a_second_one_sums_up_what_came_since_then(self):
        self._past(6)
        self._compact(Reply(SUMMARY))
        self._past(2)
        self._compact(Reply("S00043"))
        self.assertEqual(self._events(EVENT)[0]["messages"], 4)
        self._compact(Reply("S00044"))
        self.assertEqual(self.requests, [])
        self.assertEqual(self._events("notice")[0]["code"], "nothing_to_sum_up")
        self._say(Reply("Fine."))
        self.assertTrue("S00043" in self._said()[0])

    def test_a_failure_is_told_and_can_be_tried_again(self):
        self._past(6)
        turn = self._compact(Reply(status=400, error="no"))
        self.assertEqual(turn.state, "failed")
        self.assertTrue(turn.error_message)
        retry = turn.with_user(self.member).sudo(False)._retry().sudo()
        self._run(retry, Reply(SUMMARY))
        self.assertEqual((retry.state, len(self._events(EVENT))), ("done", 1))

    def test_it_leaves_the_name_to_the_first_question(self):
        former = self._post("the order")[1]
        turn = self.turn.browse(former["turn_id"])
        name = self.channel.name
        turn._end("done")
        self._post("the price", edit_of=former["message_id"])
        self.assertEqual(self.channel.name, name)
        self.channel.execute_command_compact(body="/compact")
        self.assertEqual(self.channel.name, name)
        self.channel._ask(Question("Which orders are late?"))
        self.assertEqual(self.channel.name, "Which orders are late?")

    def test_it_can_be_stopped(self):
        self._past(6)
        turn = self._compact(Reply(SUMMARY, wait=5.0), stops=True)
        self.assertEqual((turn.state, turn.summary_until), ("stopped", 0))

    def test_in_discuss_the_assistant_says_what_came_of_it(self):
        self._past(6)
        channel = self.channel.with_user(self.member)
        channel.execute_command_compact(body="/compact the order")
        turn = self.turn.search([("channel_id", "=", channel.id)], limit=1)
        self.assertTrue(turn.is_compact)
        self._run(turn, Reply(SUMMARY))
        said = channel.sudo().message_ids[0]
        self.assertEqual(said.author_id, self.assistant.partner_id)
        self.assertIn("12 earlier messages summed up", said.body)
        with self.assertRaises(UserError):
            channel.with_user(self.stranger).sudo().execute_command_compact(body="/compact")

    def test_in_other_words_it_sums_up_anew(self):
        self._past(3)
        former = self._run(self.turn.browse(self._post("the order")[1]["turn_id"]), Reply(SUMMARY))
        status, accepted = self._post("the price", edit_of=former.message_id.id)
        self.assertEqual(status, 202, accepted)
        anew = self.turn.browse(accepted["turn_id"])
        self.assertEqual((anew.is_compact, anew.version_of_id), (True, former))
        self.assertTrue(former.hidden)
        self._run(anew, Reply("S00043"))
        (written,) = self.requests
        self.assertTrue("Question 0." in str(written) and "the price" in str(written))
        self.assertFalse("S00042" in str(written) or "the order" in str(written))
        self._say(Reply("Fine."))
        self.assertTrue("S00043" in self._said()[0])
        self.assertEqual(len(self._said()), 3)
        former.with_user(self.member).sudo(False)._show_version()
        self._say(Reply("Fine."))
        self.assertTrue("S00042" in self._said()[0])

    def test_it_can_stand_in_the_place_of_a_question(self):
        past = self._past(3)
        self._run(
            self.turn.browse(self._post(edit_of=past[-1].message_id.id)[1]["turn_id"]),
            Reply(SUMMARY),
        )
        self.assertFalse("Question 2." in str(self.requests))
        self.assertEqual(self._events(EVENT)[0]["messages"], 4)
        self.assertEqual(self._post(edit_of=past[-1].message_id.id)[0], 404, "it is left")

    def test_who_wants_it_again_has_it_written_again(self):
        self._past(6)
        first = self._compact(Reply(SUMMARY))
        retry = first.with_user(self.member).sudo(False)._retry().sudo()
        self._run(retry, Reply("S00043"))
        self.assertEqual((retry.state, retry.is_compact, len(self.requests)), ("done", True, 1))
        self.assertFalse("S00042" in str(self.requests))
        self.assertEqual([event["content"] for event in self._events(EVENT)], ["S00043"])
        self._say(Reply("Fine."))
        self.assertTrue("S00043" in self._said()[0])

    def test_a_question_in_its_place_leaves_its_summary(self):
        self._past(2)
        turn = self._compact(Reply(SUMMARY))
        anew = self.channel._ask(Question("What now?", edits=turn)).sudo()
        self._run(anew, Reply("Fine."))
        self.assertEqual(self._said()[-1], "What now?")
        self.assertEqual(len(self._said()), 5, "the two turns and the question")


@tagged("post_install", "-at_install")
class TestContextLength(TurnByHandCase):
    def _length_of(self, provider):
        return provider._context_tokens()

    def test_what_is_entered_found_or_usual_counts_in_this_order(self):
        provider = self.provider
        self.assertEqual(self._length_of(provider), 32_768)
        provider.api_base_url = "https://api.mistral.ai/v1"
        self.assertEqual(self._length_of(provider), 128_000)
        found = Found(models=["test"], context_length=16_000, protocol="native")
        provider._record_test(Diagnosis(found=found))
        self.assertEqual(self._length_of(provider), 16_000)
        provider.context_length = 8_000
        self.assertEqual(self._length_of(provider), 8_000)
        provider.write({"context_length": 0, "model": "other"})
        self.assertEqual(self._length_of(provider), 128_000, "nothing was found of this one")

    def test_a_test_that_reaches_nothing_forgets_nothing(self):
        provider = self.provider
        provider._record_test(Diagnosis(found=Found(models=["test"], context_length=16_000)))
        provider._record_test(Diagnosis(found=Found(), error=LlmUnavailable()))
        self.assertEqual(self._length_of(provider), 16_000)
        provider._record_test(Diagnosis(found=Found(models=["test"])))
        self.assertEqual(self._length_of(provider), 32_768, "it is no longer told")

    def test_what_a_proxy_refuses_for_its_bytes_says_nothing_of_the_model(self):
        """A picture is much for it, and few tokens."""
        for refusal in (
            "<title>413 Request Entity Too Large</title> nginx/1.26.3",
            "Request exceeds the maximum allowed number of bytes.",
        ):
            self.assertFalse(self.provider._note_refusal(refusal))
        self.assertEqual(self._length_of(self.provider), 32_768)

    def test_what_a_provider_refuses_is_not_sent_again(self):
        provider = self.provider
        for length in (24_576, 18_432, 13_824, 10_368, 8_192, 8_192):
            provider._note_refusal("Too many tokens.")
            self.assertEqual(self._length_of(provider), length)
        for _time in range(3):  # by messages that are too long by themselves
            provider._note_refusal(
                "This model's maximum context length is 4096 tokens, you sent 9000."
            )
            self.assertEqual(self._length_of(provider), 4_096)
        provider._note_refusal("maximum context length is 1024 tokens")
        self.assertEqual(self._length_of(provider), 2_048)
        provider.model = "other"
        self.assertEqual(self._length_of(provider), 32_768)
