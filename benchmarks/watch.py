"""Readers of many streams of one gevent process: is each event there once, in order, and how late?"""

import asyncio
import contextlib
import itertools
import json
import time

from .figures import ms, none_of, row

PARALLEL_OPENS = 40  # streams that are being opened
ARRIVAL = 1.5  # s for the last events to arrive
EVENT_TIMEOUT = 30.0  # s until an event that has not arrived counts as lost


class Watch:
    """
    :param port: of the gevent process
    :param process: the gevent process, as psutil knows it
    :param readers: by what the caller calls a stream, its turn's id and the cookie of its reader's session
    """

    def __init__(self, port, process, readers):
        self._port, self._process, self._readers = port, process, readers
        self._seen = {stream: [] for stream in readers}  # numbers of events
        self._lags = []  # s
        self._opened = self._refused = self._last = 0

    async def run(self, write):
        """Open all streams, then read what is written.

        :param write: writes events with the numbers 1, 2, … into each turn; gives the last number
        """
        gate = asyncio.Semaphore(PARALLEL_OPENS)
        begun = time.monotonic()
        readers = [asyncio.create_task(self._read(stream, gate)) for stream in self._readers]
        while self._opened + self._refused < len(readers):
            await asyncio.sleep(0.05)
        self._opening = time.monotonic() - begun
        before, begun = self._process.cpu_times(), time.monotonic()
        self._last = await asyncio.to_thread(write)
        await asyncio.sleep(ARRIVAL)
        after = self._process.cpu_times()
        self._used = (sum(after[:2]) - sum(before[:2])) * 100 / (time.monotonic() - begun)
        self._memory = self._process.memory_info().rss >> 20
        await self._all_seen()
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)

    def tell(self, rate, aim=""):
        """Print what was seen.

        :param rate: events a second of each stream
        """
        self._lags.sort()
        p50, p95 = (
            self._lags[len(self._lags) * part // 100] if self._lags else 0.0 for part in (50, 95)
        )
        row(
            f"{self._opened} streams at {rate:.2g} events/s, lag p95",
            ms(p95),
            f"p50 {ms(p50)}, {self._used:.0f} % of a core",
            aim,
        )
        row(
            f"  of {len(self._readers) * self._last} events lost, doubled, misplaced",
            str(self._wrong()),
            f"{self._refused} refused, {self._memory} MB, opened at {self._opened / self._opening:.0f}/s",
            "0",
        )

    def check(self):
        """:raises Missed: a stream was refused, or told something else than was written"""
        none_of(
            streams_refused=self._refused,
            events_lost_doubled_or_misplaced=self._wrong(),
            streams_without_events=len(self._readers) if not self._last else 0,
        )

    def _wrong(self):
        """Events, of all streams."""
        wanted, wrong = set(range(1, self._last + 1)), 0
        for seen in self._seen.values():
            lost, doubled = len(wanted - set(seen)), len(seen) - len(set(seen))
            misplaced = sum(after < before for before, after in itertools.pairwise(seen))
            wrong += lost + doubled + misplaced
        return wrong

    async def _all_seen(self):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EVENT_TIMEOUT):
                while any(len(seen) < self._last for seen in self._seen.values()):
                    await asyncio.sleep(0.1)

    async def _read(self, stream, gate):
        """A stream that ends before all is over has lost what follows, whatever ended it."""
        is_open = False
        try:
            async for line in self._lines(*self._readers[stream], gate):
                if line.startswith(b"retry") and not is_open:
                    is_open = True
                    self._opened += 1
                elif line.startswith(b"id: "):
                    self._seen[stream].append(int(line[4:]))
                elif line.startswith(b"data: "):
                    self._lags.append(time.time() - json.loads(line[6:])["at"])
        finally:
            self._refused += not is_open

    async def _lines(self, turn, cookie, gate):
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(
                f"GET /api/ai/turns/{turn}/stream HTTP/1.1\r\nHost: bench\r\n"
                f"Cookie: session_id={cookie}\r\n\r\n".encode()
            )
            status = await reader.readline()
        with contextlib.closing(writer):
            while b" 200 " in status and (line := await reader.readline()):
                yield line
