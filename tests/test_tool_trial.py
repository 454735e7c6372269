from datetime import timedelta

from odoo import fields
from odoo.tests import tagged

from ..runtime.web import direct_call
from ..services.specs import CallResult, Executed
from ..services.turn.calls import STOPPED
from ..services.turn.execution import failure
from .common import TAIPEI, AiHttpCase

CALL = "woow_paas_platform.tool_call"


@tagged("post_install", "-at_install")
class TestToolTrial(AiHttpCase):
    def setUp(self):
        super().setUp()
        self.made = []
        self.patch(direct_call, "make", self._make)

    def _make(self, dbname, _uid, directs):
        self.made += [direct.call for direct in directs]
        picture = {"name": "p", "mimetype": "image/png", "data": "aGk="}
        page = {"name": "x", "mimetype": "text/html", "data": "aGk="}
        result = CallResult(
            outcome="ok", text="{}", display={"t": 1}, attachments=(picture, page), duration_ms=3
        )
        direct_call.close(dbname, {direct.call.id: result for direct in directs})
        return [Executed(result=result)] * len(directs)

    def _try(self, tool, arguments=None, **options):
        path = f"/api/mcp/tools/{tool.id}/try"
        return self._call("POST", path, {"arguments": arguments or TAIPEI}, **options)

    def _rows(self, tool):
        self.env.invalidate_all()
        return self.env[CALL].search([("tool_id", "=", tool.id)])

    def test_it_is_a_call_of_the_person_who_tries_and_its_result_is_that_of_a_chat(self):
        self._sign_in(self.owner)
        status, told = self._try(self.run_flow)
        self.assertEqual(status, 200)
        self.assertEqual(
            (told["outcome"], told["result"], told["is_error"]), ("ok", {"t": 1}, False)
        )
        self.assertEqual([picture["name"] for picture in told["pictures"]], ["p"])
        row = self._rows(self.run_flow)
        self.assertEqual((row.user_id, row.outcome, row.arguments), (self.owner, "ok", TAIPEI))

    def test_what_asks_has_asked_who_pressed_and_what_is_blocked_stays_blocked(self):
        self._sign_in(self.admin)
        self.forecast.approval_policy = "ask"
        self.assertEqual(self._try(self.forecast)[0], 200)
        rule = {
            "server_id": self.server.id,
            "tool_id": self.forecast.id,
            "policy": "never",
            "user_ids": self.admin.ids,
        }
        rule = self.env["woow_paas_platform.person_rule"].create(rule)
        self.assertEqual(self._try(self.forecast)[1]["error"]["code"], "denied")
        rule.unlink()
        self.forecast.approval_policy = "never"
        self.assertEqual(self._try(self.forecast)[1]["error"]["code"], "denied")
        self.forecast.write({"approval_policy": "auto", "active": False})
        self.assertEqual(self._try(self.forecast)[1]["error"]["code"], "denied")
        self.assertEqual(len(self.made), 1)
        outcomes = self._rows(self.forecast).mapped("outcome")
        self.assertEqual(sorted(outcomes), ["denied"] * 3 + ["ok"])

    def test_only_who_manages_the_tool_tries_it_and_no_program(self):
        for user in (self.member, self.stranger, self.internal):
            self._sign_in(user)
            self.assertIn(self._try(self.forecast)[0], (403, 404))
        key = (
            self.env["res.users.apikeys"]
            .with_user(self.admin)
            ._generate(None, "test", fields.Datetime.now() + timedelta(days=1))
        )
        self.authenticate(None, None)
        bearer = {"Authorization": f"Bearer {key}"}
        self.assertEqual(self._try(self.forecast, headers=bearer)[0], 403)
        self.assertFalse(self.made)

    def test_arguments_that_do_not_fit_are_told(self):
        self._sign_in(self.admin)
        status, told = self._try(self.forecast, {"city": 5})
        self.assertEqual((status, told["error"]["code"]), (422, "invalid_arguments"))
        self.assertFalse(self.made)

    def test_a_page_reads_the_engine_in_its_language(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        page = {"headers": {"X-Woow-Language": "zh_TW"}}
        self._sign_in(self.admin)
        told = self._try(self.forecast, {"city": 5}, **page)[1]
        self.assertRegex(told["error"]["message"], "^參數")
        executed = [Executed(result=failure("cancelled", STOPPED))]
        self.patch(direct_call, "make", lambda *_: executed)
        told = self._try(self.forecast, **page)[1]
        self.assertEqual(told["result"], "使用者在這次呼叫結束前停止了回答。")
