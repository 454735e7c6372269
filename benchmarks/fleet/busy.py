"""Twenty tenants with people, thirty whose answers stream: connections, messages to all processes, turns a second."""

import threading
import time

from services.testing.scripted_llm import Reply

from ..bed import TURN_TABLE, Person
from ..figures import none_of, row
from .tenants import ear

PEOPLE = 20  # tenants in which somebody is signed in, asks and reads
STREAMING = 30  # tenants, those among them
FLOW = 5  # s until all answers flow
SECONDS = 15.0
ANSWER = Reply("word " * 800, gap=0.05)  # about 25 s
TURNS = 10  # of each tenant, for the throughput
RUNNING = f"SELECT COUNT(*) FROM {TURN_TABLE} WHERE state = 'running'"
EVENTS = "SELECT COUNT(*), COUNT(DISTINCT xmin::text) FROM woow_paas_platform_ai_turn_event"


def busy(fleet):
    tenants = fleet.tenants[:STREAMING]
    with fleet.runner("busy") as runner:
        people = [Person(tenant) for tenant in tenants[:PEOPLE]]
        fleet.llm.answer = lambda _body: Reply("Hello.")
        _once(tenants)  # each is loaded
        _streaming(fleet, runner, tenants, people)
        fleet.llm.answer = lambda _body: Reply("Hello.")
        _throughput(runner, tenants[:PEOPLE])


def _once(tenants, turns=1):
    for tenant in tenants:
        tenant.queue(turns)
    for tenant in tenants:
        tenant.wait_ended()


def _streaming(fleet, runner, tenants, people):
    fleet.llm.answer = lambda _body: ANSWER
    readers = [
        threading.Thread(target=lambda p=person: list(p.events(p.ask())), daemon=True)
        for person in people
    ]
    for reader in readers:
        reader.start()
    for tenant in tenants[len(people) :]:
        tenant.queue()
    time.sleep(FLOW)
    watched = {"runner": runner, "HTTP worker": fleet.worker, "gevent": fleet.gevent}
    lines, behind = dict.fromkeys(watched, 0), 0
    _check_streaming(tenants)
    counted, before = time.monotonic(), _written(tenants)
    with ear(fleet) as heard:
        begun, used = time.monotonic(), sum(runner.cpu_times()[:2])
        while (took := time.monotonic() - begun) < SECONDS:
            for name, process in watched.items():
                lines[name] = max(lines[name], fleet.connections(process))
            behind = max(behind, fleet.backends())
            time.sleep(0.2)
        used = (sum(runner.cpu_times()[:2]) - used) / took * 100
    counted, after = time.monotonic() - counted, _written(tenants)
    _check_streaming(tenants)
    events, transactions = ((b - a) / counted for a, b in zip(before, after, strict=True))
    said = [message["by"] for at, message in heard if begun <= at <= begun + took]
    rates = {name: said.count(name) / took for name in set(said) - {"bench"}}
    row(
        f"messages a second of the busiest process, {STREAMING} tenants stream",
        f"{max(rates.values()):.1f}",
        "",
        "≤ 25",
    )
    none_of(processes_with_more_than_25_messages_a_second=sum(rate > 26 for rate in rates.values()))
    row(
        "  events written",
        f"{events:.0f}/s",
        f"in {transactions:.0f} commits/s; {used:.0f} % of a core",
    )
    for name, most in lines.items():
        row(
            f"connections of the {name}, {STREAMING} of {len(fleet.tenants)} tenants busy",
            str(most),
        )
    row("PostgreSQL's processes then", str(behind))
    for reader in readers:
        reader.join(120)
    for tenant in tenants:
        tenant.wait_ended()


def _check_streaming(tenants):
    silent = [tenant.db for tenant in tenants if tenant.sql(RUNNING) != [(1,)]]
    if silent:
        raise RuntimeError(f"No answer is written in {', '.join(silent)}")


def _written(tenants):
    """Events, and the transactions that wrote them."""
    counts = [tenant.sql(EVENTS)[0] for tenant in tenants]
    return [sum(column) for column in zip(*counts, strict=True)]


def _throughput(runner, tenants):
    used, begun = sum(runner.cpu_times()[:2]), time.monotonic()
    _once(tenants, TURNS)
    took, used = time.monotonic() - begun, sum(runner.cpu_times()[:2]) - used
    turns = TURNS * len(tenants)
    row(
        f"turns a second of a runner, {len(tenants)} tenants that are loaded",
        f"{turns / took:.1f}",
        f"a model that answers at once; {used / took * 100:.0f} % of a core",
    )
