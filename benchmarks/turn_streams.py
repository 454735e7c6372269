"""One gevent process, many streams of many people: is each event there once, in order, and how late?"""

import asyncio
import functools
import json
import os
import time

import psutil
import psycopg2
from psycopg2.extras import execute_values

from tools import notify

from .bed import TURN_TABLE, new_people
from .watch import Watch

STREAMS = int(os.environ.get("STREAMS", "1000"))
OF_ONE = 63  # streams of one person; an operator's default allows one more
RATE = 2.0  # events a second of each stream
TICK = 0.04  # s between two writes, as of a runner
SECONDS = 15.0  # that the streams are watched
INSERT = "INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload) VALUES %s"


def streams(odoo, _llm):
    """A quarter, a half and all of the streams, at the operator's default limits.

    The server counts a reader that has left until its next keep-alive, so each time others read.
    """
    (gevent,) = (
        process
        for process in psutil.Process(odoo.process.pid).children()
        if "gevent" in process.cmdline()
    )
    port = int(odoo.gevent_url.rsplit(":", 1)[1])
    watches = []
    for number in sorted({STREAMS // 4, STREAMS // 2, STREAMS}):
        readers = {turn: (turn, cookie) for turn, cookie in _watched(odoo, number)}
        watch = Watch(port, gevent, readers)
        asyncio.run(watch.run(functools.partial(_write, odoo, list(readers))))
        watch.tell(RATE, "1000 at ≤ 250 ms")
        watches.append(watch)
        odoo.sql(f"DELETE FROM {TURN_TABLE} WHERE id IN ({', '.join(map(str, readers))})")
    for watch in watches:
        watch.check()


def _watched(odoo, number):
    """(id, cookie of its person's session) of new turns that streams may watch and no runner claims."""
    people = new_people(odoo, -(-number // OF_ONE))
    for index, person in enumerate(people):
        turns = len(range(index, number, len(people)))
        made = odoo.sql(
            f"""
            INSERT INTO {TURN_TABLE} (channel_id, user_id, assistant_id, prompt, state, lease_owner,
                                      lease_epoch, lease_until, create_date)
            SELECT c.id, c.woow_user_id, c.woow_assistant_id, 'bench', 'waiting', 'bench', 1,
                   now() + interval '1 day', now()
              FROM discuss_channel c, generate_series(1, {turns}) WHERE c.id = {person.id}
            RETURNING id
            """
        )
        for line in made.split():
            yield int(line), person.http.cookies["session_id"]


def _write(odoo, turns):
    """What runners do: every 40 ms one transaction with the events of all turns that have some.

    :return: the number of the last event of each turn
    """
    where = odoo.instance.postgres
    connect = functools.partial(psycopg2.connect, host=where.host, port=where.port, user=where.user)
    connection, control = connect(dbname=odoo.db), connect(dbname="postgres")
    control.autocommit = True
    cr = connection.cursor()
    cr.execute(notify.SECRET)
    token = notify.token(odoo.db, cr.fetchone()[0])
    message = json.dumps({"by": "bench", "n": 1, "to": {token: {"events": [0]}}})
    ticks, begun = int(1 / RATE / TICK), time.monotonic()
    for tick in range(int(SECONDS * RATE) * ticks):
        time.sleep(max(0.0, begun + tick * TICK - time.monotonic()))
        payload = json.dumps({"type": "text", "content": "word " * 4, "at": time.time()})
        seq = tick // ticks + 1
        if rows := [(turn, seq, payload) for turn in turns[tick % ticks :: ticks]]:
            execute_values(cr, INSERT, rows)
        connection.commit()
        control.cursor().execute("SELECT pg_notify(%s, %s)", [notify.CHANNEL, message])
    connection.close()
    control.close()
    return seq
