"""One gevent process with the streams of many tenants: is each event there once, in order, and how late?"""

import asyncio
import functools
import json
import os
import time

from psycopg2.extras import execute_values

from ..figures import row
from ..watch import Watch

STREAMS = int(os.environ.get("STREAMS", "2000"))
SHARED_BY = 20  # tenants
RATE = 1.0  # events a second of each stream
TICK = 0.2  # s between two writes into a tenant
SECONDS = 15.0
INSERT = "INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload) VALUES %s"


def streams(fleet):
    tenants = fleet.tenants[:SHARED_BY]
    turns = {each: each.watched(STREAMS // len(tenants)) for each in tenants}
    cookies = {each: each.session("user").cookies["session_id"] for each in tenants}
    readers = {(each, turn): (turn, cookies[each]) for each in tenants for turn in turns[each]}
    watch = Watch(int(fleet.odoo.gevent_url.rsplit(":", 1)[1]), fleet.gevent, readers)
    asyncio.run(watch.run(functools.partial(_write, fleet, turns)))
    for tenant, ids in turns.items():
        tenant.forget(ids)
    watch.tell(RATE, f"2000 of {SHARED_BY} tenants")
    watch.check()


def _write(fleet, turns):
    """What runners do: a transaction for the events of a tenant's turns, then a word to all processes.

    :param turns: ids of each tenant's
    :return: the number of the last event of each turn
    """
    ticks, begun = int(1 / RATE / TICK), time.monotonic()
    lines = {tenant: fleet.connect(tenant.db) for tenant in turns}
    for tick in range(int(SECONDS * RATE) * ticks):
        time.sleep(max(0.0, begun + tick * TICK - time.monotonic()))
        seq = tick // ticks + 1
        for tenant, ids in turns.items():
            event = json.dumps({"type": "text", "content": "word " * 4, "at": time.time()})
            some = [(turn, seq, event) for turn in ids[tick % ticks :: ticks]]
            if some:
                execute_values(lines[tenant].cursor(), INSERT, some, page_size=len(some))
        fleet.publish(turns, "events", [0])
    row("  connections of the gevent process", str(fleet.connections(fleet.gevent)))
    for line in lines.values():
        line.close()
    return seq
