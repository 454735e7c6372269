"""How soon a turn of a tenant at rest is claimed, while the wake-up channel carries and while it carries nothing."""

import random
import statistics
import time

from services.testing.scripted_llm import Reply

from ..bed import TURN_TABLE
from ..figures import ms, none_of, row
from .tenants import ear

TURNS = 60
PAUSE = 1.2  # s between two questions, each in another tenant
REST = 10  # s without turns, then a tenant is let go
CLAIMED = f"SELECT EXTRACT(EPOCH FROM started_at - create_date)::float FROM {TURN_TABLE} WHERE id = ANY(%s)"
DEAF = {
    "ODOO_NOTIFY_FUNCTION": "concat"
}  # a function that tells nobody, as a pooler that swallows what is sent


def claims(fleet):
    fleet.llm.answer = lambda _body: Reply("Hello.")
    # Of the sleepers in random order; no tenant is asked twice, so none is loaded when it is asked.
    tenants = random.Random(TURNS).sample(fleet.tenants, min(2 * TURNS, len(fleet.tenants)))
    half = len(tenants) // 2
    with fleet.runner("claims", WOOW_AI_IDLE_SECONDS=str(REST)) as runner, ear(fleet) as heard:
        before = runner.memory_full_info().uss
        waits, asked = _ask(tenants[:half], fleet, tells=True)
        _tell("channel heard", waits, "≤ 1000 ms")
        firsts = list(_first_events(asked, heard))
        row(
            "  question → its first event, the tenant loaded",
            ms(statistics.median(firsts)),
            f"slowest {ms(max(firsts))}, {len(firsts)} of {len(asked)} heard",
        )
        none_of(tenants_whose_events_were_not_heard=len(asked) - len(firsts))
        time.sleep(3 * REST)
        after = runner.memory_full_info().uss
        row(
            f"memory of the runner after {half} tenants, at rest",
            f"{after >> 20} MB",
            f"before {before >> 20} MB",
        )
    with fleet.runner("deaf", WOOW_AI_IDLE_SECONDS=str(REST), **DEAF) as runner:
        used, begun = sum(runner.cpu_times()[:2]), time.monotonic()
        time.sleep(REST)
        used, took = sum(runner.cpu_times()[:2]) - used, time.monotonic() - begun
        waits, _asked = _ask(tenants[half:], fleet, tells=False)
        _tell("channel dead", waits, "≤ 1500 ms")
        row("  a look into each tenant every second", f"{used / took * 100:.0f} %", "of a core")


def _ask(tenants, fleet, tells):
    """:return: seconds to each claim, and by tenant when its turn was there"""
    random_, asked, turns = random.Random(1), {}, {}
    for tenant in tenants:
        turns[tenant] = tenant.queue(tells=tells)
        asked[tenant] = time.monotonic()
        time.sleep(random_.uniform(0.5, 1.5) * PAUSE)
    waits = []
    for tenant, ids in turns.items():
        tenant.wait_ended()
        waits += [wait for (wait,) in tenant.sql(CLAIMED, [ids])]
        tenant.close()
    return sorted(waits), asked


def _first_events(asked, heard):
    """Seconds until something was said of each tenant's log."""
    for tenant, begun in asked.items():
        said = (
            at
            for at, message in heard
            if at > begun
            and message["by"] != "bench"
            and "events" in message["to"].get(tenant.token, ())
        )
        if at := next(said, None):
            yield at - begun


def _tell(what, waits, aim):
    most = waits[min(len(waits) - 1, len(waits) * 99 // 100)]
    row(
        f"question → claim in a tenant at rest, {what}, p99",
        ms(most),
        f"p50 {ms(statistics.median(waits))}, {len(waits)} turns",
        aim,
    )
