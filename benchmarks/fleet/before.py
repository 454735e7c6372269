"""Beside the first release, in an Odoo of its own: the first text of an answer, and what a tenant costs a runner."""

import contextlib
import os
import statistics
import time

import psutil

from dev import processes
from dev.paths import LOGS

from .. import former
from ..bed import PAUSE, Person, ms, row

ROUNDS = 40
SERVER = "woow_paas_platform.mcp_server"
FEW, MANY = 2, 12  # tenants; each costs the first release a registry
SECONDS = 20
CONNECTIONS = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'odoo-{}'"
TRANSACTIONS = """
    SELECT SUM(xact_commit + xact_rollback) FROM pg_stat_database WHERE datname ~ '^woow_former_'
    """


def before(llm, new_odoo):
    with former.odoo(workers=2) as then, new_odoo("beside_former") as now:
        then.use_llm(llm)
        _same_server(now, then)
        first_text(llm, now, then)
        rest(then)


def _same_server(now, then):
    """The first release's demo asks the MCP server that today's asks."""
    ((url,),) = {
        (one["url"],)
        for one in now.rpc(SERVER, "search_read", [("state", "=", "connected")], ["url"])
    }
    named = [("name", "=", "mcp_server_demo_time")]
    (found,) = then.rpc("ir.model.data", "search_read", named, ["res_id"])
    then.rpc(SERVER, "write", [found["res_id"]], {"url": url})
    then.sync_tools(found["res_id"])


def first_text(llm, now, then):
    people = [Person(now), Person(then)]
    waits = [[], []]
    for number in range(ROUNDS + 3):
        for index in (0, 1) if number % 2 else (1, 0):
            time.sleep(PAUSE)
            llm.forget()
            begun = time.monotonic()
            turn = people[index].ask()
            accepted = time.monotonic()
            seen = [at for at, event in people[index].events(turn) if event["type"] == "text"]
            if number >= 3:  # each worker loads what it needs
                moments = (accepted, llm.answered[0], seen[0])
                waits[index].append([moment - begun for moment in moments])
    sides = [map(statistics.median, zip(*side, strict=True)) for side in waits]
    for part, today, first in zip(("202", "the model is asked", "first text"), *sides, strict=True):
        beside = f"first release {ms(first)}, ratio {today / first:.2f}"
        row(f"POST → {part}", ms(today), beside, "ratio ≤ 1" if part == "first text" else "")


def rest(then):
    """What a tenant at rest costs a runner of the first release."""
    postgres = then.instance.postgres
    names = [f"woow_former_{number}" for number in range(MANY)]
    then.process.stop()
    with contextlib.ExitStack() as made:
        for name in names:
            made.callback(postgres.drop, name)
            postgres.copy(then.db, name)
        used = {}
        for number in (FEW, MANY):
            with _runner(then, names[:number]) as process:
                used[number] = process.memory_full_info().uss
                lines = int(postgres.sql("postgres", CONNECTIONS.format(process.pid)))
                ended, begun = int(postgres.sql("postgres", TRANSACTIONS)), time.monotonic()
                time.sleep(SECONDS)
                ended = int(postgres.sql("postgres", TRANSACTIONS)) - ended
                took = time.monotonic() - begun
    each = (used[MANY] - used[FEW]) / (MANY - FEW)
    row("first release: memory of a runner, each tenant at rest", f"{each / 2**20:.1f} MB")
    row(
        f"first release: connections of a runner, {MANY} tenants at rest",
        str(lines),
        f"{ended / MANY / took * 10:.1f} transactions of each in 10 s",
    )


@contextlib.contextmanager
def _runner(then, names):
    process = processes.start(
        "former",
        then.instance.odoo("ai_runner", f"--database={','.join(names)}"),
        log=LOGS / "bench-fleet-former.log",
        env={
            **os.environ,
            **then.instance.postgres.environment,
            "ODOO_RC": str(then.instance.config),
        },
    )
    try:
        process.wait_until(lambda: "The AI runner serves" in process.log.read_text(), timeout=180)
        time.sleep(10)
        yield psutil.Process(process.pid)
    finally:
        process.stop()
