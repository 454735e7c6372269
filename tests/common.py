"""Records that most tests need. The turns of these tests are run by hand: no runner thread is started."""

import asyncio
import json
import os
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import jsonschema
from odoo import Command, fields
from odoo.addons.base.tests.common import HttpCase
from odoo.tests import TransactionCase

from ..controllers import openapi_document
from ..models.base.res_users import MCP_SCOPE
from ..models.turn.ai_turn import Question
from ..runtime import process
from ..runtime.turns.store import OdooStore
from ..services.specs import ServerSpec, ToolCall, TurnProgress
from ..services.testing.fake_mcp import FakeMcp
from ..services.turn.ports import Ending
from ..tools import server_files, settings

DOCUMENT = openapi_document.document("0", "")
TAIPEI = {"city": "Taipei"}
ADDS = '{"readOnlyHint": false, "destructiveHint": false}'  # annotations of a tool that destroys nothing
SCHEMA = json.dumps({"type": "object", "properties": {"city": {"type": "string"}}})


class AiData:
    """Two workspaces, their people, a provider, an assistant with a server of two tools."""

    @classmethod
    def _be_the_operator(cls):
        """Whatever odoo.conf says: this machine's servers may be asked, and no runner takes a turn."""
        own = {"WOOW_AI_EGRESS_ALLOW": "127.0.0.1:*", "WOOW_AI_IN_PROCESS_RUNNER": "False"}
        cls.addClassCleanup(settings.get.cache_clear)
        cls.startClassPatcher(patch.dict(os.environ, own))
        settings.get.cache_clear()

    @classmethod
    def _speak_english(cls, env):
        """Whatever languages this database and its websites have: pages come in English without a redirect."""
        english = env["res.lang"]._activate_lang("en_US")
        env["ir.default"].set("res.partner", "lang", "en_US")
        if "website" in env:
            sites = env["website"].search([])
            sites.write({"language_ids": [Command.link(english.id)], "default_lang_id": english.id})

    @classmethod
    def _make_data(cls):
        cls._be_the_operator()
        env = cls.env(context=dict(cls.env.context, woow_no_sync=True))
        cls._speak_english(env)
        groups = {
            "ai_admin": "woow_paas_platform.group_admin",
            "ai_internal": "base.group_user",
            "ai_owner": "base.group_portal",
            "ai_member": "base.group_portal",
            "ai_guest": "base.group_portal",
            "ai_stranger": "base.group_portal",
        }
        # No invitation is written.
        users = env["res.users"].with_context(no_reset_password=True, tracking_disable=True)
        cls.admin, cls.internal, cls.owner, cls.member, cls.guest, cls.stranger = users.create(
            [
                {
                    "login": login,
                    "name": f"{login} ({group})",
                    "email": "a.a@example.com",
                    "password": "secret-of-a-test",
                    "lang": "en_US",
                    "group_ids": [Command.set(env.ref(group).ids)],
                }
                for login, group in groups.items()
            ]
        )
        cls.public = env.ref("base.public_user")
        cls.workspace = env["woow_paas_platform.workspace"].create(
            {
                "name": "Acme",
                "owner_id": cls.owner.id,
                "access_ids": [
                    Command.create({"user_id": cls.member.id, "role": "user"}),
                    Command.create({"user_id": cls.guest.id, "role": "guest"}),
                ],
            }
        )
        cls.other_workspace = env["woow_paas_platform.workspace"].create(
            {"name": "Other", "owner_id": cls.stranger.id}
        )
        cls.service = env["woow_paas_platform.cloud_service"].create(
            {
                "name": "n8n",
                "workspace_id": cls.workspace.id,
                "state": "running",
                "description": "Flows",
            }
        )
        Server = env["woow_paas_platform.mcp_server"]
        names = [("name", "in", ("weather", "flows"))]
        for taken in Server.with_context(active_test=False).search(names):
            taken.name = f"taken_{taken.id}"
        env.flush_all()
        cls.server = Server.create({"name": "weather", "url": "https://weather.example.com/mcp"})
        cls.user_server = Server.create(
            {
                "name": "flows",
                "url": "https://flows.example.com/mcp",
                "scope": "user",
                "cloud_service_id": cls.service.id,
            }
        )
        Tool = env["woow_paas_platform.mcp_tool"]
        tool = {"input_schema": SCHEMA, "approval_policy": "auto", "is_accepted": True}
        cls.forecast, cls.alerts, cls.run_flow = Tool.create(
            [
                {"name": "forecast", "server_id": cls.server.id, **tool},
                {"name": "alerts", "server_id": cls.server.id, **tool},
                {"name": "run_flow", "server_id": cls.user_server.id, **tool},
            ]
        )
        cls.provider = env["ai.config"].create(
            {
                "name": "Test",
                "api_base_url": "http://127.0.0.1:9/v1",
                "model": "test",
                "api_key": "sk-provider-secret",
            }
        )
        cls.assistant = env["ai.assistant"].create(
            {
                "name": "Helper",
                "config_id": cls.provider.id,
                "group_ids": False,
                "mcp_server_ids": [Command.link(cls.server.id)],
            }
        )

    @classmethod
    def _conversation(cls, user, service=None, record=None):
        Channel = cls.env["discuss.channel"].with_user(user)
        assistant = cls.assistant.with_user(user)
        service = service.with_user(user) if service else None
        record = record.with_user(user) if record else None
        return Channel._create_ai_conversation(assistant, service, record=record)

    @classmethod
    def _ask(cls, user, content="Hello", service=None, channel=None, **values):
        channel = channel.with_user(user) if channel else cls._conversation(user, service)
        return channel._ask(Question(content, **values))


class AiCase(AiData, TransactionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._make_data()


class OperatorFile:
    """Mixed into a test case: the operator's ``mcp_servers.toml`` is one of its own."""

    def setUp(self):
        super().setUp()
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = folder / "mcp_servers.toml"
        options = replace(settings.get(), mcp_servers_file=str(self.path))
        self.enterContext(patch.object(settings, "get", lambda: options))
        self.enterContext(patch.object(server_files, "_known", server_files._Known()))
        self.enterContext(patch.object(server_files, "config", {"data_dir": str(folder)}))
        self.Server = self.env["woow_paas_platform.mcp_server"].with_context(
            active_test=False, woow_no_sync=True
        )

    def _apply(self, text):
        """The file says this now.

        :return: its servers
        """
        self.path.write_text(text)
        os.utime(self.path, ns=(0, hash(text) % 10**15))
        self.Server._apply_file()
        return self.Server.search([("managed_by_file", "=", True)])


def retention(env):
    """Run the cron as if each of its commits left time for more."""
    with patch.object(env.registry["ir.cron"], "_commit_progress", lambda *_, **__: 1.0):
        env["woow_paas_platform.ai_turn"]._cron_retention()


class ApiCase(HttpCase):
    """Requests to the API; whose data there is says the class beside it."""

    def _sign_in(self, user):
        self.authenticate(user.login, "secret-of-a-test")

    def _call(self, method, path, body=None, headers=None, **options):
        """:return: (status, JSON or None)"""
        response = self.opener.request(
            method,
            self.base_url() + path,
            json=body,
            headers=headers,
            timeout=20,
            **options,
        )
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        data = response.json() if is_json else None
        self._hold_against_document(method, path, response.status_code, data)
        return response.status_code, data

    def _assert_error(self, answer, status, code):
        self.assertEqual((answer[0], answer[1]["error"]["code"]), (status, code))

    def _upload(self, name, content, headers=None):
        """A file that is chosen for a message; what a page sends with it, unless other headers are given."""
        headers = {"X-Woow-Language": "en_US"} if headers is None else headers
        path = "/api/ai/attachments"
        return self._call("POST", path, headers=headers, files={"file": (name, content)})

    def _client_key(self, user, scope=MCP_SCOPE):
        """A new key of this person, for MCP clients or for something else."""
        keys = self.env["res.users.apikeys"].with_user(user).sudo()
        key = keys._generate(scope, "test", fields.Datetime.now() + timedelta(days=1))
        self.env.flush_all()
        return key

    def _rpc(self, key, method, params=None, path="/mcp", **headers):
        """A request of a legacy MCP client.

        :param path: of a gateway
        :return: (status, JSON or None)
        """
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        headers = {"Authorization": f"Bearer {key}", **headers}
        return self._call("POST", path, message, headers)

    def _hold_against_document(self, method, path, status, data):
        """Every answer of the API is what its OpenAPI document says."""
        operations = DOCUMENT["paths"].get(openapi_document.match(path), {})
        if operation := operations.get(method.lower()):
            answers = operation["responses"]
            answer = answers.get(str(status), answers["default"])
            if "content" in answer:
                schema = answer["content"]["application/json"]["schema"]
                components = {"components": DOCUMENT["components"]}
                jsonschema.Draft202012Validator({**schema, **components}).validate(data)
            elif status == 204:
                self.assertIsNone(data)


class AiHttpCase(AiData, ApiCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._make_data()


@contextmanager
def served_mcp(**options):
    """A `FakeMcp` that this process's real runner can call."""
    loop, fake = asyncio.new_event_loop(), FakeMcp(**options)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(fake.start(), loop).result(5)
    try:
        yield fake
    finally:
        process.wait_for(lambda engine: engine.pool.close(), 5)
        asyncio.run_coroutine_threadsafe(fake.stop(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


class TurnByHandCase(AiHttpCase):
    """A turn of the member whose runner is the test: the store's methods are called by hand."""

    def setUp(self):
        super().setUp()
        self.store = OdooStore(self.env.cr.dbname)
        self.tools = self.forecast | self.alerts
        self.tools.approval_policy = "default"
        self.turn = self._ask(self.member).sudo()
        self.path = f"/api/ai/turns/{self.turn.id}/decision"
        self.claim = None
        self.specs = {}  # of the calls that were begun, by id
        self.prefix = "call"  # of ids of calls, another one for each turn of a test

    # ------------------------------------------------------------ what the runner does

    def _begin(self, *calls, round_=1):
        """Claim the turn and begin these calls.

        :param calls: (tool, arguments); ids are ``call_1_1``, ``call_1_2`` …
        :return: the verdicts
        """
        self.env.flush_all()
        if not self.claim:
            (self.claim,) = self.store.claim("one", 1, 15.0)
        specs = [
            ToolCall(
                id=f"{self.prefix}_{round_}_{number}",
                alias=tool.alias,
                round=round_,
                tool=tool._tool_spec(),
                server=ServerSpec(id=tool.server_id.id, name=tool.server_id.name),
                arguments=arguments,
            )
            for number, (tool, arguments) in enumerate(calls, 1)
        ]
        self.specs |= {spec.id: spec for spec in specs}
        self.store.save_step(self.claim, asdict(TurnProgress(step=round_)), specs, [])
        return [self.store.begin_call(self.claim, spec) for spec in specs]

    def _channel(self, *members):
        """A channel of Discuss, which all of these read."""
        channel = self.env["discuss.channel"].create({"name": "General"})
        for user in members:
            channel._add_members(users=user)
        return channel

    def _mention(self, channel, user):
        """Go on with a turn of this user in the channel."""
        self._stop()
        channel = channel.with_user(user)
        question = Question("Hi", message=channel.message_post(body="Hi"))
        turns = self.env["woow_paas_platform.ai_turn"].with_user(user)
        self.turn = turns._start(channel, question, assistant=self.assistant).sudo()

    def _stop(self):
        """The person stops the turn, which no runner has."""
        self.turn._request_stop()

    def _allow_always(self, tool):
        self.env["woow_paas_platform.tool_grant"]._grant(self.turn, tool, "always")

    def _wait(self, confirm=0):
        self._finish_turn("waiting", confirm=confirm, progress=asdict(TurnProgress(step=1)))

    def _finish_turn(self, state="done", **values):
        claim, self.claim = self.claim, None
        ending = Ending(state=state, next_seq=self.turn._last_seq() + 1, **values)
        self.store.finish(claim, ending, [])
        self.env.invalidate_all()

    def _resume(self, *call_ids):
        self.env.flush_all()
        (self.claim,) = self.store.claim("two", 1, 15.0)
        return [self.store.begin_call(self.claim, self.specs[call_id]) for call_id in call_ids]

    def _asked(self, *calls):
        """A turn of the member that waits for these calls."""
        verdicts = self._begin(*(calls or [(self.forecast, TAIPEI)]))
        self._wait()
        self._sign_in(self.member)
        return verdicts

    def _decide(self, decision, question="call_1_1", **values):
        answer = self._call("POST", self.path, {"id": question, "decision": decision, **values})
        self.env.invalidate_all()
        return answer

    def _events(self, kind):
        self.env.invalidate_all()
        rows = self.env["woow_paas_platform.ai_turn_event"].search(
            [("turn_id", "=", self.turn.id)], order="seq"
        )
        return [row.payload for row in rows if row.payload["type"] == kind]
