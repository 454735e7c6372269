"""A database is copied while a turn waits in it: the turn is run once, by the database that had it first."""

import pytest
from chat import Chat, calls, first, then
from counter import count
from waiting import eventually

from dev.checks import testbed
from services import const

STATE = "SELECT state FROM woow_paas_platform_ai_turn ORDER BY id DESC LIMIT 1"
ASK = (
    "user = env.ref('woow_paas_platform.user_user')\n"
    "assistant = env.ref('woow_paas_platform.ai_assistant_demo').with_user(user)\n"
    "channel = env['discuss.channel'].with_user(user)._create_ai_conversation(assistant)\n"
    "from odoo.addons.woow_paas_platform.models.turn.ai_turn import Question\n"
    "channel._ask(Question('Only once'))\n"
    "provider = env.ref('woow_paas_platform.ai_config_demo')\n"
    "provider.write({{'api_base_url': {url!r}, 'model': 'gpt-4o', 'api_key': 'test'}})\n"
    # As the server does that took its last turn.
    "from odoo.addons.woow_paas_platform.tools import copies\n"
    "copies.settle(env.cr)\n"
)


@pytest.fixture(params=["", "woow_copies_as_it_was"], ids=["", "renamed"])
def databases(template, _scripted_llm, request):
    """The original, which may be renamed, Odoo's duplicate and a copy by PostgreSQL, in one server that runs turns
    of all of them."""
    _scripted_llm.reset()
    _scripted_llm.script(first("Only once", {"content": "Once."}))
    all_of_them = {"dbfilter": "^woow_copies.*$"}
    odoo = testbed.OdooServer(template, "copies", options=all_of_them)
    odoo.shell(ASK.format(url=_scripted_llm.base_url))
    names = [odoo.db, "woow_copies_odoo", "woow_copies_postgres"]
    odoo.duplicate(names[1])
    odoo.instance.postgres.copy(odoo.db, names[2])
    if request.param:
        odoo.instance.postgres.sql(
            "postgres", f"ALTER DATABASE {odoo.db} RENAME TO {request.param}"
        )
        names[0] = request.param
    odoo.instance.database = ",".join(names)
    odoo.process.start()
    yield odoo, names
    odoo.stop()
    for name in {*names} - {odoo.db}:
        odoo.instance.drop(name)


def test_a_turn_is_run_by_the_original_only(databases, _scripted_llm):
    odoo, names = databases
    sql = odoo.instance.postgres.sql

    def states():
        return [sql(name, STATE) for name in names]

    eventually(lambda: set(states()) <= {"done", "stopped", "failed"}, states)
    assert states() == ["done", "stopped", "stopped"]
    asked = [one["body"]["messages"] for one in _scripted_llm.requests()]
    assert sum("Only once" in str(messages) for messages in asked) == 1


# At once: who looks between these, or before, finds the database away, and then one of this name.
SWAP = """
    BEGIN;
    ALTER DATABASE {live} RENAME TO {old};
    ALTER DATABASE {new} RENAME TO {live};
    COMMIT;
    ALTER DATABASE {old} ALLOW_CONNECTIONS true
"""


def test_a_copy_that_takes_the_name_of_the_original_runs_nothing_of_it(
    new_odoo, scripted_llm, counter
):
    """Under a server that goes on: a call is about to begin, and the turn's lease is copied, too."""
    odoo = new_odoo("swap", operator={"lease_seconds": 2})
    odoo.expect_log("psycopg2|not currently accepting|terminating connection|in cron|bad query")
    counter.register(odoo)
    places = [
        ("counter__count", {"id": f"place{number}", "until": "swap.go"})
        for number in range(const.MAX_CALLS_OF_ONE)
    ]
    scripted_llm.script(
        first("swap", calls(*places, count("after the swap"))), then("swap", {"content": "Done."})
    )
    turn = Chat(odoo).ask("swap")
    eventually(lambda: all(counter.executions(about["id"]) for _name, about in places))
    sql, old = odoo.instance.postgres.sql, f"{odoo.db}_old"
    sql("postgres", f"ALTER DATABASE {odoo.db} ALLOW_CONNECTIONS false")
    sql(
        "postgres",
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{odoo.db}'",
    )
    odoo.instance.postgres.copy(odoo.db, f"{odoo.db}_new")
    sql("postgres", SWAP.format(live=odoo.db, old=old, new=f"{odoo.db}_new"))
    original = odoo.start_runner("original", database=old)
    try:
        counter.release("swap.go")
        state = f"SELECT state FROM woow_paas_platform_ai_turn WHERE id = {turn.id}"
        ended = ["stopped", "done"]
        eventually(lambda: [sql(name, state) for name in (odoo.db, old)] == ended)
        assert counter.executions("after the swap") == 1
        assert all(counter.executions(about["id"]) == 1 for _name, about in places)
    finally:
        original.stop()
        odoo.instance.drop(old)
