"""Behind PgBouncer: tenants' databases in transaction mode, as hosts of many run them, and the control database."""

import contextlib

import pytest
from chat import Chat, calls, first, of, then
from counter import count
from test_approval import asked, decide, new_id
from waiting import eventually

from dev.checks import testbed
from dev.servers.pooler import POOL, Pooler

HELD = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory'"
SERVERS = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = '{}' AND pid <> pg_backend_pid()"
ANSWER = {"content": "Here."}


@pytest.fixture
def pooled(demo_template, demo_facts, tmp_path, _scripted_llm):
    """``pooled(control_mode)``: an Odoo with workers and a runner of all databases."""
    _scripted_llm.reset()
    with contextlib.ExitStack() as made:

        def start(control_mode):
            pooler = Pooler(demo_template.postgres, tmp_path, control_mode=control_mode)
            pooler.start()
            made.callback(pooler.stop)
            odoo = testbed.OdooServer(
                demo_template,
                "pooled",
                workers=2,
                operator={"in_process_runner": False},
                environment={**demo_facts, **pooler.environment},
            )
            made.callback(odoo.stop)
            odoo.start()
            made.callback(odoo.start_runner("all", serve_all=True, in_process_runner=True).stop)
            return odoo

        yield start


def health(odoo):
    found = odoo.session("admin").get("/api/ai/health").json()
    return found["wakeup"], found["wakeup_reason"]


def test_a_turn_with_a_call_that_asks(pooled, counter, _scripted_llm):
    odoo = pooled("session")
    counter.register(odoo, trust_level="none")
    name = new_id()
    _scripted_llm.script(first("do it", calls(count(name))), then("do it", ANSWER))
    chats = [Chat(odoo) for _chat in range(POOL + 2)]
    turns = [chat.ask("do it") for chat in chats]
    for turn in turns:
        (question,) = asked(turn)
        decide(turn, question["id"], "approve_once")
    for turn in turns:
        events = turn.events()
        assert [event["outcome"] for event in of(events, "tool_result")] == ["ok"]
        assert events[-1]["state"] == "done"
    assert counter.executions(name) == len(turns)
    eventually(lambda: health(odoo) == ("heard", None))
    assert int(odoo.instance.postgres.sql("postgres", SERVERS.format(odoo.db))) <= POOL
    assert odoo.sql(HELD) == "0"


def test_one_that_swallows_notifications_is_named(pooled, _scripted_llm):
    odoo = pooled("transaction")
    odoo.expect_log("wake-up channel is deaf")
    odoo.expect_log("wake-up channel is deaf", of="all")
    _scripted_llm.script(first("Hello", ANSWER))
    assert Chat(odoo).ask("Hello").wait_ended() == "done"
    eventually(lambda: health(odoo) == ("deaf", "pooler"), lambda: health(odoo))
