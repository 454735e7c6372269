"""What the benchmarks of turns share: Odoo with the scripted model, and a person with a conversation."""

import asyncio
import contextlib
import json
import statistics
import threading
import time
import uuid

import httpx

from dev import processes
from dev.checks import testbed
from dev.paths import LOGS
from dev.servers import mcp_servers
from services.testing.scripted_llm import Reply, ScriptedLlm

ROUNDS = 20
PAUSE = 0.3  # s between an answer and the next question of a person
TIME = ("time__get_current_time", {"timezone": "UTC"})
TURN_TABLE = "woow_paas_platform_ai_turn"


class _TimedLlm(ScriptedLlm):
    """:ivar sent_at: when the last answer was out, by `time.monotonic`"""

    sent_at = 0.0

    async def _reply(self, reply, reader, writer):
        await super()._reply(reply, reader, writer)
        self.sent_at = time.monotonic()


class Llm:
    """The scripted model in a thread of its own; it notes when each request was answered."""

    def __init__(self):
        self.answer = lambda _body: Reply("Hello.")
        self.answered = []
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.server = _TimedLlm(self._reply)
        asyncio.run_coroutine_threadsafe(self.server.__aenter__(), self.loop).result(5)
        self.base_url = self.server.base_url

    def _reply(self, body):
        reply = self.answer(body)
        self.answered.append(time.monotonic())
        return reply

    def forget(self):
        """Drop what was asked so far."""
        self.answered.clear()
        self.server.requests[:-1] = []
        self.server.headers.clear()


@contextlib.contextmanager
def deployment():
    """The scripted model, and what makes a running Odoo with the demo data that uses it: ``llm, new_odoo``.

    ``new_odoo(name, operator=…, options=…)`` gives a context manager of an Odoo with two workers.
    """
    template = testbed.template()
    with testbed.running_postgres(template), contextlib.ExitStack() as stack:
        testbed.prepare_template(template, fresh=False)
        llm = Llm()
        mcp = mcp_servers.start_time(processes.free_port(), folder=LOGS / "bench")
        stack.callback(mcp.stop)
        mcp.wait()
        facts = {
            "WOOW_AI_DEMO_LLM_URL": llm.base_url,
            "WOOW_AI_DEMO_LLM_KEY": "test",
            "WOOW_AI_DEMO_MCP_TIME_URL": mcp.url,
        }
        source = testbed.with_demo_servers(template, facts)

        @contextlib.contextmanager
        def new_odoo(name, operator=None, options=None):
            odoo = testbed.OdooServer(
                source,
                f"bench_{name}",
                workers=2,
                environment=facts,
                operator=operator,
                options=options,
            )
            odoo.start()
            try:
                yield odoo
            finally:
                odoo.stop()

        yield llm, new_odoo


class Person:
    """One user with one conversation."""

    def __init__(self, odoo, login="user", assistant=None):
        """:param assistant: id, None for the first"""
        self.http = odoo.session(login)
        if assistant is None:
            assistant = self.http.get("/api/ai/assistants").json()["assistants"][0]["id"]
        made = self.http.post("/api/ai/conversations", json={"assistant_id": assistant})
        self.id = made.json()["id"]

    def ask(self, text="Hi"):
        question = {"content": text, "client_token": uuid.uuid4().hex}
        path = f"/api/ai/conversations/{self.id}/messages"
        try:
            answer = self.http.post(path, json=question)
        except httpx.RemoteProtocolError:
            # The server has closed the line that was kept since the last question.
            answer = self.http.post(path, json=question)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def events(self, turn, patience=120.0):
        """(when, event) up to the end.

        :param patience: s until it must have come
        """
        until = time.monotonic() + patience
        with self.http.stream("GET", turn["stream_url"]) as answer:
            for line in answer.iter_lines():
                if time.monotonic() > until:
                    raise TimeoutError(f"{turn['stream_url']} does not end")
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                    yield time.monotonic(), event
                    if event["type"] in ("done", "error"):
                        return


def new_people(odoo, number):
    """Portal users made for this, each with a conversation."""
    portal = [("module", "=", "base"), ("name", "=", "group_portal")]
    (group,) = odoo.rpc("ir.model.data", "search_read", portal, ["res_id"])
    logins = [f"bench{uuid.uuid4().hex[:12]}" for _person in range(number)]
    users = [
        {"name": login, "login": login, "password": login, "group_ids": [[6, 0, [group["res_id"]]]]}
        for login in logins
    ]
    odoo.rpc("res.users", "create", users, context={"no_reset_password": True})
    return [Person(odoo, login) for login in logins]


def median_of(work, rounds=ROUNDS):
    return statistics.median(work() for _round in range(rounds))


def took(work):
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def page(odoo):
    return took(lambda: httpx.get(f"{odoo.url}/web/login", timeout=30).raise_for_status())


def wait_for(odoo, states, is_right, seconds=120):
    """Until the number of turns in these states is right; a benchmark that cannot get there says so.

    :param is_right: gets the number
    """
    query = f"SELECT COUNT(*) FROM {TURN_TABLE} WHERE state IN ({states}) AND prompt <> 'bench'"
    deadline = time.monotonic() + seconds
    while not is_right(number := int(odoo.sql(query))):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{number} turns are {states} after {seconds} s")
        time.sleep(0.05)
