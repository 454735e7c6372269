from odoo.exceptions import UserError
from odoo.tests import tagged
from odoo.tools.misc import file_open

from ..services.errors import ConfigError, LlmSwitchedOff
from .common import AiCase, OperatorFile, TurnByHandCase, served_mcp
from .test_execute_api import served_llm

FILE = """
[[mcp.servers]]
name = "notes"
url = "https://notes.example.com/mcp"
"""


def neutralize(env):
    """As ``odoo-bin neutralize`` does, after the sentence of Odoo's own modules."""
    env.flush_all()
    env["ir.config_parameter"].set_param("database.is_neutralized", True)
    with file_open("woow_paas_platform/data/neutralize.sql") as file:
        env.cr.execute(file.read())
    env.invalidate_all()


@tagged("post_install", "-at_install")
class TestNeutralize(TurnByHandCase):
    """A copy of a database calls nobody, whatever its people and its crons do."""

    def _reply(self):
        return self._call(
            "POST", "/api/ai-reply", {"assistant_id": self.assistant.id, "aiMessage": "Hello"}
        )

    def _ways_out(self):
        """Everything that asks a model or an MCP server by itself or for somebody who chats."""
        Server = self.env["woow_paas_platform.mcp_server"]
        turn = self._ask(self.member).sudo()
        self.env.flush_all()
        claims = self.store.claim("copy", 8, 15.0)
        self.assertEqual([claim.turn_id for claim in claims], [turn.id])
        for claim in claims:
            with self.assertRaises(LlmSwitchedOff):
                self.store.load(claim)
        conversation = f"/api/ai/conversations/{turn.channel_id.id}"
        self.assertEqual(self._reply()[0], 422)
        self._call("GET", f"{conversation}/prompts")
        self._call("GET", f"{conversation}/resources")
        tool = {"toolName": "weather__forecast", "arguments": {"city": "Taipei"}}
        self.assertNotEqual(self._call("POST", "/api/mcp/execute-tool", tool)[0], 200)
        self._call("POST", "/api/mcp/execute-tools", {"calls": [{"name": "forecast"}]})
        self.assertFalse(Server._due_for_check())
        self.assertFalse(Server.search([])._asked_by_odoo())
        self.env["woow_paas_platform.mcp_sign_in"].search([]).unlink()  # nothing to give back

    def test_no_way_out(self):
        self._begin((self.forecast, {"city": "Taipei"}))
        with served_mcp() as mcp, served_llm() as llm:
            self.provider.api_base_url = llm.base_url
            (self.server | self.user_server).url = mcp.url
            neutralize(self.env)
            self._sign_in(self.member)
            self._ways_out()
            self.assertEqual((llm.requests, mcp.methods, mcp.connections), ([], [], 0))

    def test_no_server_looks_connected(self):
        self.server._set_state("connected")
        neutralize(self.env)
        self.assertEqual((self.server.active, self.server.state), (False, "disabled"))

    def test_no_button_is_a_way_out(self):
        Toolbox = self.env["woow_paas_platform.toolbox"]
        with served_mcp() as mcp:
            self.server.write({"url": mcp.url, "authorization": "oauth_server"})
            box = Toolbox.create({"name": "orders", "document_url": mcp.url})
            neutralize(self.env)
            self._sign_in(self.admin)
            server = f"/api/mcp/servers/{self.server.id}"
            for path in (f"{server}/test", f"{server}/sync"):
                with self.subTest(path=path):
                    status, answer = self._call("POST", path)
                    self.assertGreaterEqual(status, 400)
                    self.assertIn("neutralized", answer["error"]["message"])
            page = self.url_open(f"/api/ai/oauth/start/{self.server.id}")
            self.assertIn("neutralized", page.text)
            with self.assertRaises(UserError):
                box.action_import()
            with self.assertRaises(ConfigError):
                box._server_spec()
            self.assertEqual(mcp.connections, 0)
            self.server.active = True  # somebody wants it in the copy
            self._call("POST", f"{server}/test")
            self.assertTrue(mcp.connections)

    def test_what_was_under_way_has_ended(self):
        self.forecast.approval_policy = "auto"
        self._begin((self.forecast, {"city": "Taipei"}))
        waits = self._ask(self.member).sudo()
        waits.state = "waiting"
        queued = self._ask(self.member).sudo()
        self.env.invalidate_all()
        call = self.turn.call_ids
        question = self.env["woow_paas_platform.call_question"].create(
            {"call_id": call.id, "kind": "form", "content_encrypted": "s3cret"}
        )
        self.env.flush_all()
        neutralize(self.env)
        turns = self.turn | waits | queued
        self.assertEqual(set(turns.mapped("state")), {"stopped"})
        self.assertTrue(all(turn.ended_at for turn in turns))
        self.assertEqual(call.outcome, "unknown")
        self.assertFalse(question.content_encrypted)
        self.assertEqual(question.action, "cancel")
        self.env["woow_paas_platform.ai_turn"]._cron_sweep()
        self.assertFalse(self.store.claim("copy", 8, 15.0))
        for turn in turns:
            with self.subTest(turn=turn):  # whoever watches it sees the end
                self.assertTrue(turn._is_streamed_until(turn._last_seq()))
                last = self.env["woow_paas_platform.ai_turn_event"].search(
                    [("turn_id", "=", turn.id)], order="seq desc", limit=1
                )
                self.assertEqual(last.payload, turn._final_event())

    def test_a_backup_of_an_older_version_is_neutralized(self):
        self.server.api_key = "s3cret"
        self.env.flush_all()
        with self.env.cr.savepoint() as savepoint:
            for table in ("oauth_client", "webhook"):  # of a later version than 1.1.0
                self.env.cr.execute(
                    f"ALTER TABLE woow_paas_platform_{table} RENAME TO later_{table}"
                )
            for column in ("state", "state_message", "state_detail"):  # than 1.0.0
                self.env.cr.execute(f"ALTER TABLE ai_config RENAME {column} TO later_{column}")
            with file_open("woow_paas_platform/data/neutralize.sql") as file:
                self.env.cr.execute(file.read())
            self.env.cr.execute(
                "SELECT 1 FROM woow_paas_platform_mcp_server WHERE api_key_encrypted IS NOT NULL"
                " UNION SELECT 2 FROM ai_config WHERE active OR api_key_encrypted IS NOT NULL"
            )
            self.assertFalse(self.env.cr.fetchall())
            savepoint.rollback()

    def test_no_secret_is_left_in_any_column(self):
        self.server.write({"api_key": "s3cret", "headers_json": '{"X-A": "s3cret"}'})
        neutralize(self.env)
        for model in self.env(context={"active_test": False}).values():
            for name, field in model._fields.items():
                if name.endswith("_encrypted") and field.store and not model._abstract:
                    with self.subTest(model=model._name, column=name):
                        self.assertFalse(
                            model.sudo()
                            .with_context(active_test=False)
                            .search_count([(name, "!=", False)])
                        )


@tagged("post_install", "-at_install")
class TestProviderSwitchedOff(TurnByHandCase):
    """An administrator who switches a provider off silences it."""

    def test_a_turn_ends_with_a_sentence(self):
        self.provider.active = False
        self.env.flush_all()
        (self.claim,) = self.store.claim("one", 1, 15.0)
        with self.assertRaises(LlmSwitchedOff) as caught:
            self.store.load(self.claim)
        self.assertEqual(caught.exception.code, "llm_switched_off")

    def test_a_program_is_told(self):
        self.provider.active = False
        self._sign_in(self.member)
        status, answer = self._call(
            "POST", "/api/ai-reply", {"assistant_id": self.assistant.id, "aiMessage": "Hello"}
        )
        self.assertEqual((status, answer["error"]["code"]), (422, "llm_switched_off"))
        self.assertIn("switched off", answer["error"]["message"])

    def test_turns_that_run_are_stopped(self):
        self.env.flush_all()
        (self.claim,) = self.store.claim("one", 1, 15.0)
        self.provider.active = False
        self.assertTrue(self.turn.stop_requested)
        other = self.provider.copy({"name": "Other", "active": True})
        other.active = False
        self.assertEqual(self.turn.state, "running")


@tagged("post_install", "-at_install")
class TestFileInACopy(OperatorFile, AiCase):
    def test_servers_of_the_operators_file_stay_off(self):
        (notes,) = self._apply(FILE)
        self.assertTrue(notes.active)
        neutralize(self.env)
        self.assertFalse(notes.active)
        self._apply(FILE.replace("notes.example", "other.example"))
        self.assertFalse(notes.active, "the entry has changed")
        added = self._apply(FILE + FILE.replace("notes", "more")) - notes
        self.assertFalse(added.active, "the entry is new")
        notes.active = True  # somebody wants it in the copy
        self._apply(FILE.replace("notes.example", "third.example"))
        self.assertTrue(notes.active)
