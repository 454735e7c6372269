"""Turns that write, and what they are in, are killed: each write happened once or not at all, and its row says which.

`--kills=300` kills as often as a run of its own should.
"""

import contextlib
import json
import os
import random
import signal
import time

import pytest
from chat import Chat, calls, first, of, then
from test_crash import CALLS, LEASE, TURNS, Fleet, owner, wait_for
from test_records import IS_OUTSIDE, OUTSIDE, busy_with, use_partners

from dev import processes
from dev.checks import testbed
from dev.progress import DevError
from dev.servers.postgres import Postgres
from services.turn.journal import RECORD_TRIES

SEED = 20_261
RUNNERS = 3
QUEUED = 12  # turns that are kept open
COUNT_UP = """
record.write({'ref': str(int(record.ref or 0) + 1)})
env.cr.execute('SELECT pg_sleep(0.5)')
"""
SLEEP = """
record.write({'ref': 'slept'})
for _second in range(60):
    env.cr.execute('SELECT pg_sleep(1)')
"""
ASLEEP = busy_with("SELECT pg_sleep(1)")
IDLE = """
record.write({'ref': 'idle'})
record.flush_recordset()
time.sleep(5)
record.write({'ref': 'awake'})
"""
IN_A_WRITE = busy_with("SELECT pg_sleep(0.5)")

ACTIONS = {"Count up": COUNT_UP, "Sleep": SLEEP, "Wait outside": OUTSIDE, "Idle": IDLE}


@pytest.fixture(scope="module")
def odoo_of_writers(new_odoo):
    """An Odoo that runs no turn itself."""
    server = new_odoo(
        "writers",
        operator={"lease_seconds": LEASE, "in_process_runner": False, "runner_capacity": 4},
    )
    let_write(server)
    return server


def let_write(server):
    """Its assistants change contacts without asking."""
    (model,) = server.rpc("ir.model", "search", [("model", "=", "res.partner")])
    actions = [
        {"name": name, "model_id": model, "state": "code", "code": code}
        for name, code in ACTIONS.items()
    ]
    ids = server.rpc("ir.actions.server", "create", actions)
    use_partners(server, can_create=True, policy="auto", action_ids=[(6, 0, ids)])


@pytest.fixture
def writers(odoo_of_writers):
    fleet = Fleet(odoo_of_writers)
    yield fleet
    fleet.end()


def calls_of(odoo, process):
    """How many calls stand in the turns that this runner holds."""
    sql = f"SELECT COUNT(*) FROM {CALLS} WHERE turn_id IN (SELECT id FROM {TURNS} WHERE {owner(process)})"
    return int(odoo.sql(sql))


class Writing:
    """Turns of conversations of their own: each creates a contact, and counts another one up, in one step."""

    def __init__(self, odoo, llm):
        self.odoo = odoo
        self.llm = llm
        self.counted = {}  # turn id -> (what it is called, id of the contact that it counts up)

    def fill(self, number):
        names = [f"w{len(self.counted) + n}x" for n in range(max(number - self.left(), 0))]
        partners = self.odoo.rpc("res.partner", "create", [{"name": f"of {n}"} for n in names])
        for name, partner in zip(names, partners if names else (), strict=True):
            create = ("create_record", {"model": "res.partner", "values": {"name": f"by {name}"}})
            count = ("run_action", {"model": "res.partner", "ids": [partner], "action": "Count up"})
            self.llm.script(
                first(name, calls(create, count)), then(name, {"content": "It is written."})
            )
            self.counted[Chat(self.odoo, "admin").ask(f"{name} {partner}").id] = (name, partner)

    def left(self):
        sql = f"SELECT COUNT(*) FROM {TURNS} WHERE state NOT IN ('done', 'failed', 'stopped')"
        return int(self.odoo.sql(sql))

    def rows(self):
        """``{turn id: {tool: outcome}}``"""
        found = self.odoo.sql(
            f"SELECT turn_id, json_object_agg(tool_name, outcome) FROM {CALLS} GROUP BY turn_id"
        )
        split = (row.split("|", 1) for row in found.splitlines())
        return {int(turn): json.loads(outcomes) for turn, outcomes in split}

    def happened(self):
        """``{name: (contacts that were created, times that the other was counted up)}``"""
        found = self.odoo.sql(
            "SELECT substr(p.name, 4), COALESCE(p.ref, '0'),"
            " (SELECT COUNT(*) FROM res_partner c WHERE c.name = 'by ' || substr(p.name, 4))"
            " FROM res_partner p WHERE p.name LIKE 'of w%x'"
        )
        split = (row.split("|") for row in found.splitlines())
        return {name: (int(created), int(counted)) for name, counted, created in split}


def test_a_write_happened_once_or_not_at_all_and_its_row_says_which(
    writers, scripted_llm, pytestconfig
):
    random_ = random.Random(SEED)
    odoo = writers.odoo
    writing = Writing(odoo, scripted_llm)
    writing.fill(QUEUED)
    for _runner in range(RUNNERS):
        writers.start()
    kills, in_a_write = pytestconfig.getoption("kills"), 0
    for kill in range(kills):
        writing.fill(QUEUED)
        # One that is killed before it has called anything never writes.
        at_work = wait_for(
            lambda: [one for one in writers.processes if calls_of(odoo, one)], "a runner has calls"
        )
        if in_a_write or kill < kills - 1:
            # The moment itself is what is random here; nothing is waited for.
            time.sleep(random_.uniform(0.0, 1.0))
        else:
            wait_for(lambda: odoo.sql(IN_A_WRITE).strip(), "a runner writes")
        in_a_write += bool(odoo.sql(IN_A_WRITE).strip())
        writers.kill(random_.choice(at_work))
        writers.start()
    wait_for(lambda: not writing.left(), "all turns end")

    states = odoo.sql(f"SELECT DISTINCT state FROM {TURNS}").split()
    assert states == ["done"]
    rows, happened = writing.rows(), writing.happened()
    assert set(rows) == set(writing.counted)
    for turn, (name, _partner) in writing.counted.items():
        outcomes = rows[turn]
        created, counted = happened[name]
        assert set(outcomes) == {"create_record", "run_action"}, (name, outcomes)
        assert (created, counted) == (
            int(outcomes["create_record"] == "ok"),
            int(outcomes["run_action"] == "ok"),
        ), (name, outcomes)
        assert None not in outcomes.values(), (name, outcomes)
        assert outcomes["create_record"] != "unknown", "it is one transaction"
    assert any(outcomes["run_action"] == "ok" for outcomes in rows.values())


@pytest.mark.parametrize(
    ("action", "is_at_it"),
    [("Sleep", ASLEEP), ("Wait outside", IS_OUTSIDE)],
    ids=["statement", "outside"],
)
def test_sigterm_beside_a_slow_change_gives_everything_back(
    writers, scripted_llm, action, is_at_it
):
    odoo = writers.odoo
    (partner,) = odoo.rpc("res.partner", "create", [{"name": "slow"}])
    sleep = ("run_action", {"model": "res.partner", "ids": [partner], "action": action})
    scripted_llm.script(
        first("asleep", calls(sleep)),
        then("asleep", {"content": "It did not."}),
        first("endless", {"content": "and on " * 400}, latency=60, chunkSize=7),
    )
    runner = writers.ready()
    turns = [Chat(odoo, "admin").ask(text) for text in (f"asleep {partner}", "endless")]
    wait_for(lambda: odoo.sql(is_at_it).strip(), "the action runs")
    runner.popen.send_signal(signal.SIGTERM)
    assert runner.popen.wait(20) == 0
    assert [turn.state() for turn in turns] == ["queued", "queued"]
    assert odoo.sql(f"SELECT COUNT(*) FROM {TURNS} WHERE lease_owner IS NOT NULL") == "0"
    assert not odoo.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()
    turns[1].stop()
    writers.ready()
    assert turns[0].wait_ended() == "done"
    rows = odoo.sql(f"SELECT outcome FROM {CALLS} WHERE turn_id = {turns[0].id}")
    assert rows.split() == ["unknown"], "an action may have sent something"


def test_a_database_that_allows_less_ends_a_change_that_idles(writers, scripted_llm):
    odoo = writers.odoo
    setting = f"ALTER DATABASE {odoo.db} {{}} idle_in_transaction_session_timeout"
    odoo.sql(setting.format("SET") + " = '2s'")
    try:
        writers.ready()
        (partner,) = odoo.rpc("res.partner", "create", [{"name": "idle"}])
        idle = ("run_action", {"model": "res.partner", "ids": [partner], "action": "Idle"})
        scripted_llm.script(first("idle", calls(idle)), then("idle", {"content": "It did not."}))
        turn = Chat(odoo, "admin").ask(f"idle {partner}")
        assert turn.wait_ended() == "done"
        (result,) = of(turn.events(), "tool_result")
    finally:
        odoo.sql(setting.format("RESET"))
    # What PostgreSQL says of it reaches the client, or only that the line is closed.
    assert result["outcome"] in ("timeout", "error")
    assert not odoo.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()
    losses = odoo.sql(f"SELECT losses FROM {CALLS} WHERE turn_id = {turn.id}")
    assert int(losses or 0) in (0, RECORD_TRIES)
    assert turn.value("lease_epoch") == "1"


@pytest.mark.parametrize("way", ["socket", "tcp"])
def test_a_call_that_costs_the_database_each_time_is_given_up(
    demo_template, demo_facts, scripted_llm, tmp_path, way
):
    """As by a kernel without memory, which takes the backend that carries it, and PostgreSQL with it."""
    settings = {"listen_addresses": "127.0.0.1", "synchronous_commit": "on"}
    postgres = Postgres(tmp_path / "pg", throw_away=True, own=True, settings=settings)
    postgres.port = str(processes.free_port())
    options = {"db_host": "127.0.0.1"} if way == "tcp" else {}
    with testbed.apart(demo_template, postgres.folder, postgres) as source:
        odoo = testbed.OdooServer(source, f"killed_{way}", options=options, environment=demo_facts)
        odoo.expect_log("psycopg2|bad query|unusable|in cron")
        odoo.start()
        try:
            let_write(odoo)
            (partner,) = odoo.rpc("res.partner", "create", [{"name": "heavy"}])
            sleep = ("run_action", {"model": "res.partner", "ids": [partner], "action": "Sleep"})
            scripted_llm.script(
                first("heavy", calls(sleep)), then("heavy", {"content": "It did not."})
            )
            turn = Chat(odoo, "admin").ask(f"heavy {partner}")

            def said(statement):
                with contextlib.suppress(DevError):  # it starts again
                    return odoo.sql(statement).strip()

            for _time in range(RECORD_TRIES):
                os.kill(int(wait_for(lambda: said(ASLEEP), "the action runs")), signal.SIGKILL)
                wait_for(lambda: said("SELECT 1"), "PostgreSQL answers")
            ended = f"SELECT state FROM {TURNS} WHERE id = {turn.id} AND ended_at IS NOT NULL"
            assert wait_for(lambda: said(ended), "the turn ends") == "done"
            (result,) = of(turn.events(is_patient=True), "tool_result")
            assert (result["outcome"], "lost each time" in result["result"]) == ("error", True)
            assert not odoo.sql(f"SELECT ref FROM res_partner WHERE id = {partner}").strip()
            assert turn.value("lease_epoch") == "1"
        finally:
            odoo.stop()
