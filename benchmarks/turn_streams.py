"""One gevent process, many streams: is each event there once, in order, and how late?"""

import asyncio
import contextlib
import json
import os
import time

import psutil

from tools import notify

from .bed import TURN_TABLE, Person, ms, row

STREAMS = int(os.environ.get("STREAMS", "1000"))
RATE = 2.0  # events a second of each stream
SECONDS = 15.0  # that the streams are watched


def streams(odoo, _llm):
    """One gevent process, many streams: is each event there once, in order, and how late?"""
    person = Person(odoo)
    ids = [
        int(line)
        for line in odoo.sql(
            f"""
            INSERT INTO {TURN_TABLE} (channel_id, user_id, assistant_id, prompt, state, lease_owner,
                                      lease_epoch, lease_until, create_date)
            SELECT c.id, c.woow_user_id, c.woow_assistant_id, 'bench', 'waiting', 'bench', 1,
                   now() + interval '1 day', now()
              FROM discuss_channel c, generate_series(1, {STREAMS}) WHERE c.id = {person.id}
            RETURNING id
            """
        ).split()
    ]
    gevent = next(
        process
        for process in psutil.Process(odoo.process._odoo.pid).children()
        if "gevent" in process.cmdline()
    )
    for number in sorted({STREAMS // 4, STREAMS // 2, STREAMS}):
        result = asyncio.run(Watch(odoo, person, ids[:number], gevent).run())
        row(
            f"{number} streams at {RATE:g} events/s, lag p95",
            ms(result["p95"]),
            f"p50 {ms(result['p50'])}, {result['cpu']:.0f} % of a core",
            "1000 at ≤ 250 ms",
        )
        row(
            f"  of {result['sent']} events lost or doubled",
            str(result["wrong"]),
            f"{result['refused']} refused, {result['memory']} MB",
            "0",
        )


class Watch:
    def __init__(self, odoo, person, ids, gevent):
        self.odoo, self.ids, self.gevent = odoo, ids, gevent
        self.cookie = person.http.cookies["session_id"]
        self.port = odoo.gevent_url.rsplit(":", 1)[1]
        self.lags, self.seen, self.refused, self.open = [], {}, 0, 0
        self.first = 1 + int(
            odoo.sql(
                "SELECT COALESCE(MAX(seq), 0) FROM woow_paas_platform_ai_turn_event"
                f" WHERE turn_id = ANY(ARRAY{ids})"
            )
        )

    async def run(self):
        readers = [asyncio.create_task(self._read(turn)) for turn in self.ids]
        while self.open + self.refused < len(self.ids):
            await asyncio.sleep(0.05)
        before = self.gevent.cpu_times()
        begun = time.monotonic()
        sent = await asyncio.to_thread(self._write)
        await asyncio.sleep(1.5)
        after = self.gevent.cpu_times()
        cpu = sum(after[:2]) - sum(before[:2])
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        wanted = list(range(self.first, self.first + sent // len(self.ids)))
        self.lags.sort()
        return {
            "p50": self.lags[len(self.lags) // 2],
            "p95": self.lags[len(self.lags) * 95 // 100],
            "sent": sent,
            "wrong": sum(self.seen.get(turn) != wanted for turn in self.ids),
            "refused": self.refused,
            "cpu": cpu * 100 / (time.monotonic() - begun),
            "memory": self.gevent.memory_info().rss >> 20,
        }

    async def _read(self, turn):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        request = (
            f"GET /api/ai/turns/{turn}/stream?after={self.first - 1} HTTP/1.1\r\nHost: bench\r\n"
            f"Cookie: session_id={self.cookie}\r\n\r\n"
        )
        writer.write(request.encode())
        with contextlib.closing(writer):
            if b" 200 " not in await reader.readline():
                self.refused += 1
                return
            seen = self.seen[turn] = []
            while line := await reader.readline():
                if line.startswith(b"retry"):
                    self.open += 1
                elif line.startswith(b"id: "):
                    seen.append(int(line[4:]))
                elif line.startswith(b"data: "):
                    self.lags.append(time.time() - json.loads(line[6:])["at"])

    def _write(self):
        """What runners do: every 40 ms one transaction with the events of all turns that have some."""
        import psycopg2  # noqa: PLC0415
        from psycopg2.extras import execute_values  # noqa: PLC0415

        where = self.odoo.instance.postgres
        connection = psycopg2.connect(
            host=where.host, port=where.port, user=where.user, dbname=self.odoo.db
        )
        cr = connection.cursor()
        cr.execute(notify.SECRET)
        token = notify.token(self.odoo.db, cr.fetchone()[0])
        message = json.dumps({"by": "bench", "n": 1, "to": {token: {"events": [0]}}})
        control = psycopg2.connect(
            host=where.host, port=where.port, user=where.user, dbname="postgres"
        )
        control.autocommit = True
        ticks = int(1 / RATE / 0.04)
        sent, begun = 0, time.monotonic()
        for tick in range(int(SECONDS * RATE) * ticks):
            time.sleep(max(0.0, begun + tick * 0.04 - time.monotonic()))
            turns = self.ids[tick % ticks :: ticks]
            seq = self.first + tick // ticks
            payload = json.dumps({"type": "text", "content": "word " * 4, "at": time.time()})
            execute_values(
                cr,
                "INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload) VALUES %s",
                [(turn, seq, payload) for turn in turns],
            )
            connection.commit()
            control.cursor().execute("SELECT pg_notify(%s, %s)", [notify.CHANNEL, message])
            sent += len(turns)
        connection.close()
        control.close()
        return sent
