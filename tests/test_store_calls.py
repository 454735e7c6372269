import base64
from dataclasses import asdict

from odoo import fields
from odoo.tests import tagged

from ..models.turn.ai_turn import Question
from ..services.llm import transcript
from ..services.llm.transcript import DIFFERS
from ..services.specs import CallResult, ToolCall, TurnProgress
from ..services.turn import read_result
from ..services.turn.ports import Ending
from .common import retention
from .store_data import LEASE, StoreCase


@tagged("post_install", "-at_install")
class TestStoreCalls(StoreCase):
    """Calls: which may start or run again, their results and the files of these."""

    def _keep_long_result(self, turn, call_id):
        """A finished call with 30 000 characters of which the model has read less."""
        return self.env["woow_paas_platform.tool_call"].create(
            {
                "turn_id": turn.id,
                "user_id": turn.user_id.id,
                "call_id": call_id,
                "tool_name": "forecast",
                "outcome": "ok",
                "llm_text": "head … tail",
                "whole_text": "x" * 25_000 + "END",
                "truncated": True,
            }
        )

    def _read_on(self, claim, call_id, start=20_000, own_id="call_r"):
        call = ToolCall(
            id=own_id,
            alias=read_result.NAME,
            round=1,
            tool=read_result.TOOL,
            arguments={"id": call_id, "start": start},
        )
        self._step(claim, call)
        verdict = self.store.begin_call(claim, call)
        self.assertEqual(verdict.kind, "answered")
        self.store.end_call(claim, own_id, verdict.result, [])
        return verdict.result

    def test_a_cut_result_is_read_on_in_a_later_turn(self):
        earlier = self._claim()
        self._keep_long_result(self.turn, "call_long")
        self.store.finish(earlier, Ending(state="done", html="<p>Hi</p>", next_seq=2), [])
        self.turn = self.turn.channel_id.with_user(self.member)._ask(Question("Next")).sudo()
        self.env.flush_all()
        result = self._read_on(self._claim(), "call_long")
        self.assertEqual(result.outcome, "ok")
        self.assertTrue(result.text.startswith("xxx") and "END" in result.text)
        row = self.turn.call_ids
        self.assertEqual((row.tool_name, row.outcome), (read_result.NAME, "ok"))

    def test_nobody_reads_on_in_another_conversation(self):
        mine = self._ask(self.member).sudo()
        self._keep_long_result(mine, "call_mine")
        theirs = self._ask(self.owner, service=self.service).sudo()
        self._keep_long_result(theirs, "call_theirs")
        self.env.flush_all()
        claim = self._claim()
        self.assertEqual(claim.turn_id, self.turn.id)
        for number, call_id in enumerate(("call_mine", "call_theirs", "call_none")):
            result = self._read_on(claim, call_id, own_id=f"call_r{number}")
            self.assertEqual(result.outcome, "invalid_args")
            self.assertNotIn("x" * 100, result.text)

    def test_a_result_that_was_removed_is_not_read(self):
        claim = self._claim()
        row = self._keep_long_result(self.turn, "call_long")
        row.write({"whole_text": False, "llm_text": False, "result_pruned": True})
        self.env.flush_all()
        self.assertEqual(self._read_on(claim, "call_long").outcome, "error")

    def test_a_result_that_was_removed_is_not_told_again(self):
        """Neither to the model of a later turn nor by a retry, whenever that was made."""
        claim = self._claim()
        call = self._call()
        told = CallResult(outcome="ok", text="SECRET 7", display="SECRET 7", truncated=True)
        asked = transcript.assistant_message("Let me see.", [call])
        messages = [asked, transcript.tool_message("call_1", told)]
        progress = asdict(TurnProgress(step=1, started=True, messages=messages))
        self.store.save_step(claim, progress, (call,), [])
        self.store.end_call(claim, "call_1", told, [])
        ending = Ending(state="failed", error_code="internal_error", next_seq=2)
        self.store.finish(claim, ending, [])
        self.env.invalidate_all()
        channel = self.turn.channel_id.with_user(self.member)
        before = self.turn.with_user(self.member)._retry().sudo()
        self.assertIn("SECRET 7", str(before.transcript))
        self.env.flush_all()
        (claim,) = self.store.claim("one", 1, LEASE)
        self.store.finish(claim, Ending(state="stopped", next_seq=before._last_seq() + 1), [])
        self.env.cr.execute("UPDATE woow_paas_platform_tool_call SET create_date = '2001-01-01'")
        retention(self.env)
        self.env.invalidate_all()
        history = channel._ask(Question("And now?")).sudo()._turn_request().history
        after = before.with_user(self.member)._retry().sudo()
        for said in (self.turn.transcript, before.transcript, after.transcript, history):
            self.assertNotIn("SECRET 7", str(said))
            self.assertIn("no longer kept", str(said))
            self.assertIn("Let me see.", str(said))

    def test_files_of_a_result_belong_to_the_conversation(self):
        claim = self._claim()
        self._step(claim, self._call())
        self.store.begin_call(claim, self._call())
        picture = {"name": "dot.png", "mimetype": "image/png", "data": "aGVsbG8="}
        result = CallResult(outcome="ok", text="A picture.", attachments=(picture,))
        event = {"type": "tool_result", "id": "call_1", "attachments": []}
        self.store.end_call(claim, "call_1", result, [(2, event)])
        (named,) = self._events()[-1]["attachments"]
        self.assertEqual((named["name"], named["mimetype"]), ("dot.png", "image/png"))
        self.assertNotIn("aGVsbG8=", str(self._events()), "the log stays small")
        for user, status in ((self.member, 200), (self.stranger, 404), (self.guest, 404)):
            self._sign_in(user)
            answer = self.url_open(named["url"])
            self.assertEqual(answer.status_code, status)
        self.authenticate(None, None)
        self.assertEqual(self.url_open(named["url"]).status_code, 401)

    def test_what_was_kept_as_a_picture_and_is_none_is_shown_to_no_model(self):
        claim = self._claim()
        self._step(claim, self._call())
        self.store.begin_call(claim, self._call())
        huge = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4, "big") * 2
        contents = (b"<html>503</html>", huge, b"\xff\xd8\xff\xe0")
        kept = tuple(
            {"name": f"{n}.png", "mimetype": "image/png", "data": base64.b64encode(one).decode()}
            for n, one in enumerate(contents)
        )
        result = CallResult(outcome="ok", text="Pictures.", attachments=kept)
        self.store.end_call(claim, "call_1", result, [])
        self.env.invalidate_all()
        self.assertEqual(len(self.turn.call_ids.attachment_ids), 3)
        (shown,) = self.turn._pictures_of_calls()["call_1"]
        self.assertEqual((shown["name"], shown["mimetype"]), ("2.png", "image/jpeg"))

    def test_a_call_in_flight_is_never_run_again(self):
        claim = self._claim("one")
        self._step(claim, self._call())
        self.assertEqual(self.store.begin_call(claim, self._call()).kind, "run")
        self.store.release("one")
        claim = self._claim("two")
        self.assertEqual(self.store.begin_call(claim, self._call()).kind, "lost")

    def test_a_harmless_call_in_flight_may_run_again_on_a_trusted_server(self):
        for said, trust, kind in (
            ("true", "none", "lost"),
            ("true", "annotations", "run"),
            ('"false"', "annotations", "lost"),
        ):
            with self.subTest(said=said, trust=trust):
                self.forecast.annotations = f'{{"readOnlyHint": {said}}}'
                self.server.trust_level = trust
                self.turn.call_ids.unlink()
                self.store.release("two")
                claim = self._claim("one")
                self._step(claim, self._call())
                self.store.begin_call(claim, self._call())
                self.store.release("one")
                claim = self._claim("two")
                self.assertEqual(self.store.begin_call(claim, self._call()).kind, kind)

    def test_a_finished_call_gives_its_result_again(self):
        claim = self._claim("one")
        self._step(claim, self._call())
        self.store.begin_call(claim, self._call())
        self.store.end_call(claim, "call_1", CallResult(outcome="ok", text="sunny"), [])
        self.store.release("one")
        verdict = self.store.begin_call(self._claim("two"), self._call())
        self.assertEqual((verdict.kind, verdict.result.text), ("done", "sunny"))

    def test_a_switch_counts_at_once(self):
        for name, switch_off in {
            "tool": lambda: self.run_flow.write({"active": False}),
            "server": lambda: self.user_server.write({"active": False}),
            "assistant's tool": lambda: self.assistant.write(
                {"mcp_tool_disabled_ids": [fields.Command.link(self.run_flow.id)]}
            ),
            "membership": lambda: self.workspace.access_ids.filtered(
                lambda a: a.user_id == self.member
            ).unlink(),
            "group": lambda: self.assistant.write(
                {"group_ids": [fields.Command.link(self.env.ref("base.group_user").id)]}
            ),
            "user": lambda: self.member.write({"active": False}),
        }.items():
            with self.subTest(switch=name):
                point = self.env.cr.savepoint()
                claim = self._claim()
                self._step(claim, call := self._call(self.run_flow))
                switch_off()
                self.env.flush_all()
                verdict = self.store.begin_call(claim, call)
                self.assertEqual(verdict.kind, "deny")
                self.assertNotIn(verdict.reason, ("", DIFFERS))
                point.rollback()
                self.env.invalidate_all()
