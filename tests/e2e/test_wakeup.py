"""The wake-up channel between real processes: with it, and when it carries nothing."""

import contextlib
import json

import psycopg2
import pytest
from chat import Chat, first
from waiting import eventually

from dev.checks import testbed

ANSWER = {"content": "Here."}
TELLING = (
    "SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE '%pg_notify%payload' AND datname = "
)


@pytest.fixture
def served(template, scripted_llm):
    """``served(**environment)``: an Odoo that runs no turns beside a process that does nothing else."""
    made = []

    def serve(**environment):
        odoo = testbed.OdooServer(
            template,
            "wakeup",
            operator={"in_process_runner": False},
            environment=environment,
        )
        made.append(odoo)
        odoo.start()
        made.append(odoo.start_runner("runner", in_process_runner=True))
        odoo.use_llm(scripted_llm)
        return odoo

    yield serve
    for one in reversed(made):
        one.stop()


def _health(odoo, key="wakeup"):
    return odoo.session("admin").get("/api/ai/health").json()[key]


@contextlib.contextmanager
def _overhearing(postgres):
    """``heard()`` gives what other tenants, who may connect to the control database, have heard by now."""
    where = {"host": postgres.host, "port": postgres.port, "user": postgres.user}
    with contextlib.closing(psycopg2.connect(dbname="postgres", **where)) as ear:
        ear.autocommit = True
        with ear.cursor() as cr:
            cr.execute("LISTEN woow_ai_wakeup")

        def heard():
            ear.poll()
            return [json.loads(note.payload) for note in ear.notifies]

        yield heard


def _numbers(messages, kind):
    about = [notes for message in messages for notes in message["to"].values()]
    return [number for notes in about for number in notes.get(kind, ())]


def test_a_process_tells_another(served, scripted_llm):
    odoo = served()
    scripted_llm.script(first("Hello", ANSWER))
    eventually(lambda: _health(odoo) == "heard")
    with _overhearing(odoo.instance.postgres) as heard:
        assert Chat(odoo).ask("Hello").wait_ended() == "done"
        told = eventually(lambda: _numbers(heard(), "events"))
        assert set(told) == {0}, "which turn it is stays unknown"
        assert odoo.db not in str(heard()) and "Hello" not in str(heard())
    assert odoo.sql(f"{TELLING} 'postgres'") != "0"
    assert odoo.sql(f"{TELLING} '{odoo.db}'") == "0"


def test_without_it_everybody_looks(served, scripted_llm):
    """A function that sends nothing stands for a pooler that swallows what is sent."""
    scripted_llm.script(first("Hello", ANSWER), first("Again", ANSWER))
    odoo = served(ODOO_NOTIFY_FUNCTION="concat")
    odoo.expect_log("wake-up channel is deaf")
    odoo.expect_log("wake-up channel is deaf", of="runner")
    eventually(lambda: _health(odoo) == "deaf")
    chat = Chat(odoo)
    assert chat.ask("Hello").wait_ended() == "done"
    assert chat.ask("Again").wait_ended() == "done"
