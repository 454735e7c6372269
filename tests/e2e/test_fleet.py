"""One runner for all databases of a PostgreSQL: those with work, those that come and go, and those it cannot serve."""

import contextlib
import time
from types import SimpleNamespace

import psycopg2
import pytest
from chat import Chat, first
from waiting import eventually

from dev.checks import testbed
from dev.servers.addon import ADDON

ANSWER = {"content": "Here."}
STATE = "UPDATE ir_module_module SET state = '{}' WHERE name = '{}'"
CONNECTIONS = (
    "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = '{}' AND application_name = 'odoo-{}'"
)
LOCKED = "LOCK TABLE ir_module_module, ir_config_parameter, woow_paas_platform_ai_turn"


@pytest.fixture(scope="module")
def fleet(demo_template, demo_facts, _scripted_llm):
    """Three tenants behind one Odoo that runs no turns, a fourth for later, and databases of other kinds."""
    made = contextlib.ExitStack()

    def tenant(name):
        operator = {"in_process_runner": False, "idle_seconds": 1}
        one = testbed.OdooServer(
            demo_template,
            f"fleet_{name}",
            # A cron would meet databases that a test locks and drops.
            options={"dbfilter": "^woow_fleet_", "max_cron_threads": 0},
            operator=operator,
            environment=demo_facts,
        )
        made.callback(one.stop)
        return one

    with made:
        odoo, beside, broken = tenant("a"), tenant("b"), tenant("half")
        broken.sql(STATE.format("to upgrade", ADDON))
        postgres = demo_template.postgres
        postgres.copy(testbed.without_addon(demo_template).database, "woow_fleet_plain")
        made.callback(postgres.drop, "woow_fleet_plain")
        odoo.instance.database = f"{odoo.db},{beside.db}"
        odoo.process.start()
        odoo.process.wait("/web/health")
        beside.url = odoo.url
        runner = odoo.start_runner("all", serve_all=True, in_process_runner=True)
        made.callback(runner.stop)
        yield SimpleNamespace(
            odoo=odoo, beside=beside, broken=broken, runner=runner, tenant=tenant, postgres=postgres
        )


@pytest.fixture(autouse=True)
def _answers(_scripted_llm):
    _scripted_llm.reset()
    _scripted_llm.script(first("Hello", ANSWER))


def _lines(fleet, text):
    return [line for line in fleet.runner.log.read_text().splitlines() if text in line]


def _connections(fleet, tenant):
    """Those of the runner."""
    return int(fleet.postgres.sql("postgres", CONNECTIONS.format(tenant.db, fleet.runner.pid)))


def test_each_tenant_with_work_is_served_and_let_go(fleet):
    for one in (fleet.odoo, fleet.beside):
        assert Chat(one).ask("Hello").wait_ended() == "done"
    assert _connections(fleet, fleet.beside) > 0
    eventually(lambda: not _connections(fleet, fleet.beside))
    assert Chat(fleet.beside).ask("Hello").wait_ended() == "done", "it is served again"


def test_what_cannot_be_served_costs_one_line(fleet):
    eventually(lambda: _lines(fleet, "woow_fleet_plain"))
    eventually(lambda: _lines(fleet, fleet.broken.db))
    assert "does not have the addon" in _lines(fleet, "woow_fleet_plain")[0]
    assert "being installed, updated" in _lines(fleet, fleet.broken.db)[0]
    chat = Chat(fleet.odoo)
    until = time.monotonic() + 12  # s, more than one round
    while time.monotonic() < until:
        assert chat.ask("Hello").wait_ended() == "done"
    assert len(_lines(fleet, "woow_fleet_plain")) == len(_lines(fleet, fleet.broken.db)) == 1


def test_databases_come_and_go(fleet):
    new = fleet.tenant("new")
    new.url = fleet.odoo.url
    assert Chat(new).ask("Hello").wait_ended() == "done"
    new.forget_sessions()
    fleet.postgres.drop(new.db)
    eventually(lambda: _lines(fleet, f"{new.db} is gone"))


def test_a_database_that_hangs_stops_nobody(fleet):
    chats = Chat(fleet.odoo), Chat(fleet.beside)
    eventually(lambda: not _connections(fleet, fleet.beside))
    hanging = psycopg2.connect(
        host=fleet.postgres.host,
        port=fleet.postgres.port,
        user=fleet.postgres.user,
        dbname=fleet.beside.db,
    )
    with contextlib.closing(hanging), hanging.cursor() as cr:
        cr.execute(LOCKED)
        for _turn in range(4):
            assert chats[0].ask("Hello").wait_ended() == "done"
        eventually(lambda: _lines(fleet, f"{fleet.beside.db} are not run here"))
        assert chats[0].ask("Hello").wait_ended() == "done"
    assert chats[1].ask("Hello").wait_ended() == "done"
    assert len(_lines(fleet, f"{fleet.beside.db} are not run here")) == 1
