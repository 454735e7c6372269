"""The engine alone: calls at 20 a second, for minutes, while the servers restart and break.

.dev/venv/bin/python -m benchmarks.mcp.soak MINUTES
"""

import asyncio
import contextlib
import gc
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

from services.errors import EngineError
from services.mcp.pool import breaker
from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.specs import ServerSpec
from services.testing.fake_http import respond, start_stream
from services.testing.fake_mcp import FakeMcp

RATE = 20  # calls a second
TIMEOUT = 2.0  # s, of one call
HANG = TIMEOUT + 1.0  # s, a call that takes longer hangs
PAUSE = 1.5  # s between two restarts, on average
CONVERSATIONS = 6
WARM_UP = 20.0  # s before the first measurement
DRIFT = 10  # MB


async def half(call, writer):
    await start_stream(writer)
    writer.write(b'data: {"jsonrpc')
    writer.close()


async def error(call, writer):
    await respond(writer, 500)


async def hole(call, writer):
    await asyncio.sleep(60)


class Soak:
    def __init__(self, minutes):
        self.end = time.monotonic() + minutes * 60
        self.pool = Pool(EgressPolicy.parse("127.0.0.1:*"), idle=5)
        self.outcomes = Counter()
        self.hung = 0
        self.random = random.Random(1)

    async def run(self):
        async with contextlib.AsyncExitStack() as stack:
            kinds = [{}, {"stream": True}, {"eras": ("modern",)}, {}]
            fakes = [await stack.enter_async_context(FakeMcp(**kind)) for kind in kinds]
            for fake in fakes:
                fake.faults = {"half": half, "error": error, "hole": hole}
            specs = [
                ServerSpec(id=n, name=f"s{n}", url=fake.sse_url if n == 3 else fake.url)
                for n, fake in enumerate(fakes)
            ]
            before = self.measure()
            restarts = asyncio.create_task(self.restart(fakes))
            calls: set[asyncio.Task] = set()
            warm = time.monotonic() + WARM_UP
            warmed = None
            while time.monotonic() < self.end:
                await asyncio.sleep(1 / RATE)
                task = asyncio.create_task(self.call(self.random.choice(specs)))
                calls.add(task)
                task.add_done_callback(calls.discard)
                if warmed is None and time.monotonic() > warm:
                    warmed = memory()
            await asyncio.wait(calls, timeout=HANG) if calls else None
            self.hung += len(calls)
            restarts.cancel()
            await self.pool.close()
            for fake in fakes:
                await fake.stop()
            await asyncio.sleep(1)
        return before, self.measure(), memory() - (warmed or memory())

    async def call(self, spec):
        tool = self.random.choice(["echo"] * 6 + ["slow", "half", "error", "hole"])
        arguments = {"message": "x", "seconds": 0.2}
        begun = time.monotonic()
        try:
            conversation = self.random.randrange(CONVERSATIONS)
            await self.pool.call(spec, conversation, tool, arguments, timeout=TIMEOUT)
            self.outcomes["ok"] += 1
        except EngineError as caught:
            self.outcomes[caught.code] += 1
        if time.monotonic() - begun > HANG:
            self.hung += 1

    async def restart(self, fakes):
        while True:
            await asyncio.sleep(self.random.uniform(0, 2 * PAUSE))
            await self.random.choice(fakes).restart()

    def measure(self):
        gc.collect()
        return {
            "tasks": len(asyncio.all_tasks()),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "sessions": len(self.pool._alive),
        }


def memory():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


async def main(minutes):
    breaker.PAUSE = 1.0  # s, so that most calls are made
    soak = Soak(minutes)
    before, after, drift = await soak.run()
    print("outcomes:", dict(soak.outcomes))
    leaked = {what: after[what] - before[what] for what in after if after[what] > before[what]}
    print(f"hung calls: {soak.hung}, leaked: {leaked or 'nothing'}, memory: {drift:+.1f} MB")
    return 0 if not soak.hung and not leaked and drift <= DRIFT else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(float(sys.argv[1]))))
