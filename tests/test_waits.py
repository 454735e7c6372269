"""How many requests one person may let wait for servers at a time."""

import asyncio
import json
import socket
from contextlib import ExitStack, closing
from unittest.mock import patch

from odoo.exceptions import AccessError
from odoo.tests import TransactionCase, tagged
from odoo.tools import config

from ..runtime.turns import listeners
from ..runtime.web import slots
from ..services.testing.fake_tools import text
from ..tools.pg_connection import PgConnection
from .common import SCHEMA, AiHttpCase, served_mcp
from .recall_data import PLAN, RecallData

ONE = "/api/mcp/execute-tool"
CALL = {"toolName": "forecast", "arguments": {}}
LIMIT = 2


def limited(case):
    case.enterContext(patch.object(slots, "per_person", lambda: LIMIT))


@tagged("post_install", "-at_install")
class TestWaits(RecallData, AiHttpCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._make_recall()

    def setUp(self):
        super().setUp()
        limited(self)
        self.fake = self.enterContext(served_mcp())
        self.fake.tools |= {
            "forecast": (self._forecast, json.loads(SCHEMA)),
            "make_plan": (self._forecast, PLAN),
        }
        (self.server | self.crm).url = self.fake.url
        self.assistant.mcp_server_ids += self.crm
        self.chat = self._conversation(self.internal)
        self.env.flush_all()
        self._sign_in(self.internal)
        self.dbname, self.free_meanwhile = self.env.cr.dbname, []

    async def _forecast(self, _call):
        self.free_meanwhile.append(await asyncio.to_thread(self._free_elsewhere))
        return text("Sunny.")

    def _free_elsewhere(self):
        """How many slots another process could take now."""
        with ExitStack() as stack:
            other = stack.enter_context(closing(slots.Slots(self.dbname)))
            return sum(stack.enter_context(other.hold(self.internal.id)) for _ in range(LIMIT))

    def _fill(self):
        """Requests of the internal user hold all slots until the test ends."""
        for _ in range(LIMIT):
            self.enterContext(listeners.slots(self.dbname).hold(self.internal.id))

    def test_a_place_is_held_while_a_server_answers(self):
        for _ in range(LIMIT + 1):
            self.assertEqual(self._call("POST", ONE, CALL)[0], 200)
            self.assertEqual(self._free_elsewhere(), LIMIT)
        self.assertEqual(self.free_meanwhile, [LIMIT - 1] * (LIMIT + 1))

    def test_one_person_holds_no_more_threads(self):
        self._fill()
        chat = f"/api/ai/conversations/{self.chat.id}"
        server = {"server_id": self.server.id}
        proxy = f"/api/agent-retrieval/in/v1/mcp/proxy/{self.crm.mcp_id}/tools/make_plan/call"
        for method, path, body in (
            ("POST", ONE, CALL),
            ("POST", "/api/mcp/execute-tools", {"calls": [{"name": "forecast"}]}),
            ("POST", "/api/ai-reply", {"aiMessage": "Hi", "assistant_id": self.assistant.id}),
            ("GET", f"{chat}/prompts", None),
            ("GET", f"{chat}/resources", None),
            ("POST", f"{chat}/prompts/get", {**server, "name": "greet"}),
            ("POST", f"{chat}/resources/read", {**server, "uri": "note://one"}),
            ("POST", proxy, {"partner_id": self.ada.id, "deep": "true", "items": []}),
        ):
            with self.subTest(path):
                url = self.base_url() + path
                response = self.opener.request(method, url, json=body, timeout=20)
                error = response.json()["error"]
                self.assertEqual((response.status_code, error["code"]), (429, "too_many_waits"))
                self.assertTrue(error["message"].endswith("."))
                self.assertEqual(response.headers["Retry-After"], "5")
                self.assertEqual(error["details"]["retry_after"], 5)
        self.assertFalse(self.fake.calls)
        rows = self.env["woow_paas_platform.tool_call"].search([("user_id", "=", self.internal.id)])
        self.assertEqual(rows.mapped("outcome"), ["denied"] * 3)
        self.assertIn("Too many of your requests", rows[0].llm_text)

    def test_whatever_waits_ends_in_time(self):
        """A tool, a list and a test of a server that never answers, where requests may take a second."""
        silent = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        self.server.url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        self.env.flush_all()
        chat = f"/api/ai/conversations/{self.chat.id}"
        with patch.dict(config.options, {"limit_time_real": 1}):
            status, answer = self._call("POST", ONE, CALL)
            self.assertEqual((status, answer["success"]), (200, False))
            listed = self._call("GET", f"{chat}/prompts")
            self.assertEqual((listed[0], listed[1]["error"]["code"]), (502, "timeout"))
            self._sign_in(self.admin)
            tested = self._call("POST", f"/api/mcp/servers/{self.server.id}/test")
            self.assertEqual((tested[0], tested[1]["error"]["code"]), (502, "timeout"))

    def test_what_a_dead_process_held_falls_free(self):
        dead = slots.Slots(self.dbname)
        held = [dead.hold(self.internal.id) for _ in range(LIMIT)]
        for one in held:
            one.__enter__()
        self.addCleanup(self._rows, "DELETE FROM woow_paas_platform_request_slot WHERE uid = %s")
        dead.close()
        self.assertEqual(self._call("POST", ONE, CALL)[0], 429)
        self._rows("UPDATE woow_paas_platform_request_slot SET until = now() WHERE uid = %s")
        self.assertEqual(self._call("POST", ONE, CALL)[0], 200)

    def _rows(self, statement):
        with closing(PgConnection(self.dbname, 5.0)) as line:
            line.query(statement, [self.internal.id])

    def test_nobody_takes_the_slots_of_another(self):
        for user in (self.internal, self.member, self.public):
            with self.subTest(user.login), self.assertRaises(AccessError):
                self.env["woow_paas_platform.request_slot"].with_user(user).search([])

    def test_others_are_not_held_up(self):
        self._fill()
        self._sign_in(self.member)
        self.assertEqual(self._call("POST", ONE, CALL)[0], 200)

    def test_a_refusal_speaks_the_language_of_its_reader(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        self.internal.lang = "zh_TW"
        self.env.flush_all()
        self._sign_in(self.internal)
        self._fill()
        status, answer = self._call("POST", ONE, CALL)
        self.assertEqual(status, 429)
        self.assertIn("請", answer["error"]["message"])


@tagged("post_install", "-at_install")
class TestPlaces(TransactionCase):
    def test_one_worker_stays_for_the_others(self):
        for workers, limit in ((0, 8), (2, 2), (3, 2), (4, 3), (20, 8)):
            with self.subTest(workers=workers), patch.dict(config.options, {"workers": workers}):
                self.assertEqual(slots.per_person(), limit)

    def test_a_wait_ends_before_odoo_ends_its_process(self):
        for limit, longest in ((120, 105), (20, 10), (8, 4), (0, 600)):
            with (
                self.subTest(limit=limit),
                patch.dict(config.options, {"limit_time_real": limit}),
            ):
                self.assertEqual(slots.at_most(600), longest)
                self.assertEqual(slots.at_most(3), 3)

    def test_places_count_over_processes(self):
        limited(self)
        here, there = (
            self.enterContext(closing(slots.Slots(self.env.cr.dbname))) for _ in range(2)
        )
        with here.hold(7) as first, there.hold(7) as second, here.hold(7) as third:
            self.assertEqual((first, second, third), (True, True, False))
            with there.hold(7) as fourth, there.hold(8) as other:
                self.assertEqual((fourth, other), (False, True))
        with there.hold(7) as first, there.hold(7) as second:
            self.assertEqual((first, second), (True, True))

    def test_a_broken_connection_is_opened_anew(self):
        limited(self)
        here = self.enterContext(closing(slots.Slots(self.env.cr.dbname)))
        with here.hold(7) as first:
            here._line.close()
            with here.hold(7) as second, here.hold(7) as third:
                self.assertEqual((first, second, third), (True, True, False))
