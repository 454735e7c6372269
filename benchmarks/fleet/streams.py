"""One gevent process with the streams of many tenants: is each event there once, in order, and how late?"""

import asyncio
import contextlib
import itertools
import json
import os
import time

from psycopg2.extras import execute_values

from ..bed import ms, row

STREAMS = int(os.environ.get("STREAMS", "2000"))
SHARED_BY = 20  # tenants
RATE = 1.0  # events a second of each stream
TICK = 0.2  # s between two writes into a tenant
SECONDS = 15.0
AT_ONCE = 40  # streams that are being opened
INSERT = "INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload) VALUES %s"


def streams(fleet):
    tenants = fleet.tenants[:SHARED_BY]
    cookies = {each: each.session("user").cookies["session_id"] for each in tenants}
    turns = {each: each.watched(STREAMS // SHARED_BY) for each in tenants}
    watch = Watch(fleet, cookies, turns)
    asyncio.run(watch.run())
    for tenant, ids in turns.items():
        tenant.forget(ids)
    watch.lags.sort()
    row(
        f"{watch.opened} streams of {SHARED_BY} tenants at {watch.rate:.2f} events/s, lag p95",
        ms(watch.lags[len(watch.lags) * 95 // 100]),
        f"p50 {ms(watch.lags[len(watch.lags) // 2])}, {watch.cpu:.0f} % of a core",
        "2000 of a process",
    )
    row(
        f"  of {watch.sent} events lost, doubled or out of order",
        str(watch.wrong()),
        f"{watch.refused} refused, {watch.memory} MB",
        "0",
    )
    row(
        "  connections of the gevent process",
        str(watch.connections),
        f"opened at {watch.opened / watch.opening:.0f} a second",
    )


class Watch:
    """
    :param cookies: by tenant, the session of who reads
    :param turns: by tenant, the ids of what is read
    """

    def __init__(self, fleet, cookies, turns):
        self._fleet, self._cookies, self._turns = fleet, cookies, turns
        self._port = fleet.odoo.gevent_url.rsplit(":", 1)[1]
        self._seen = {(tenant, turn): [] for tenant in turns for turn in turns[tenant]}
        self.lags, self.opened, self.refused, self.sent, self._rounds = [], 0, 0, 0, 0

    async def run(self):
        gate = asyncio.Semaphore(AT_ONCE)
        begun = time.monotonic()
        readers = [asyncio.create_task(self._read(*which, gate)) for which in self._seen]
        while self.opened + self.refused < len(readers):
            await asyncio.sleep(0.05)
        self.opening = time.monotonic() - begun
        process = self._fleet.gevent
        before, begun = process.cpu_times(), time.monotonic()
        await asyncio.to_thread(self._write)
        await asyncio.sleep(1.5)
        after = process.cpu_times()
        self.cpu = (sum(after[:2]) - sum(before[:2])) * 100 / (time.monotonic() - begun)
        self.memory = process.memory_info().rss >> 20
        self.connections = self._fleet.connections(process)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)

    def wrong(self):
        """Events, of all streams."""
        wanted, wrong = set(range(1, self._rounds + 1)), 0
        for seen in self._seen.values():
            lost, doubled = len(wanted - set(seen)), len(seen) - len(set(seen))
            late = sum(after < before for before, after in itertools.pairwise(seen))
            wrong += lost + doubled + late
        return wrong

    async def _read(self, *which):
        """A stream that ends before all is over has lost what follows, whatever ended it."""
        is_open = False
        try:
            async for line in self._lines(*which):
                if line.startswith(b"retry") and not is_open:
                    is_open = True
                    self.opened += 1
                elif line.startswith(b"id: "):
                    self._seen[which[:2]].append(int(line[4:]))
                elif line.startswith(b"data: "):
                    self.lags.append(time.time() - json.loads(line[6:])["at"])
        finally:
            self.refused += not is_open

    async def _lines(self, tenant, turn, gate):
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(
                f"GET /api/ai/turns/{turn}/stream HTTP/1.1\r\nHost: bench\r\n"
                f"Cookie: session_id={self._cookies[tenant]}\r\n\r\n".encode()
            )
            status = await reader.readline()
        with contextlib.closing(writer):
            while b" 200 " in status and (line := await reader.readline()):
                yield line

    def _write(self):
        """What runners do: a transaction for the events of a tenant's turns, then a word to all processes."""
        ticks = int(1 / RATE / TICK)
        lines = {tenant: self._fleet.connect(tenant.db) for tenant in self._turns}
        begun = time.monotonic()
        for tick in range(int(SECONDS * RATE) * ticks):
            time.sleep(max(0.0, begun + tick * TICK - time.monotonic()))
            self._rounds = tick // ticks + 1
            for tenant, ids in self._turns.items():
                event = {"type": "text", "content": "word " * 4, "at": time.time()}
                some = [
                    (turn, self._rounds, json.dumps(event)) for turn in ids[tick % ticks :: ticks]
                ]
                execute_values(lines[tenant].cursor(), INSERT, some, page_size=len(some))
                self.sent += len(some)
            self._fleet.publish(self._turns, "events", [0])
        self.rate = self.sent / len(self._seen) / max(SECONDS, time.monotonic() - begun)
        for line in lines.values():
            line.close()
