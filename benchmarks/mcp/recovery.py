"""What faults and restarts of a server cost the next call; a part of `mcp`."""

import asyncio
import statistics
import time

from services.errors import EngineError
from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.specs import ServerSpec
from services.testing.fake_faults import FAULTS
from services.testing.fake_mcp import FakeMcp

POLICY = EgressPolicy.parse("127.0.0.1:*")
TRIES = 3  # of each measurement; the median counts


async def timed(pool, spec, conversation=1):
    """Milliseconds of one call, and the code of its error or ""."""
    code, begun = "", time.perf_counter()
    try:
        await pool.call(spec, conversation, "echo", {"message": "x"}, timeout=10)
    except EngineError as error:
        code = error.code
    return (time.perf_counter() - begun) * 1000, code


async def faults():
    """(milliseconds, name) of the slowest typed error, and how many faults became the right one."""
    taken, right = [], 0
    for era in ("legacy", "modern"):
        for name, (fault, wanted) in FAULTS.items():
            async with FakeMcp(listen=False, eras=(era,)) as fake:
                pool, spec = Pool(POLICY), ServerSpec(id=1, name="s", url=fake.url)
                tries = []
                for _ in range(TRIES):
                    fake.faults.clear()
                    await timed(pool, spec)
                    fake.faults["echo"] = fault
                    tries.append(await timed(pool, spec))
                right += all(code == wanted for _, code in tries)
                taken.append((statistics.median(ms for ms, _ in tries), f"{name}, {era}"))
                await pool.close()
    return max(taken), right, 2 * len(FAULTS)


async def new_connections(calls=50):
    """Connections that so many calls of a warm session open."""
    async with FakeMcp() as fake:
        pool, spec = Pool(POLICY), ServerSpec(id=1, name="s", url=fake.url)
        for _ in range(3):
            await timed(pool, spec)
        before = fake.connections
        for _ in range(calls):
            await timed(pool, spec)
        opened = fake.connections - before
        await pool.close()
        return opened


async def restart():
    """Milliseconds that a call takes longer after a quiet restart, and the code of its error or ""."""
    async with FakeMcp() as fake:
        pool, spec = Pool(POLICY), ServerSpec(id=1, name="s", url=fake.url)
        more = []
        for _ in range(TRIES):
            await timed(pool, spec)
            warm, _ = await timed(pool, spec)
            await fake.restart()
            await asyncio.sleep(0.05)
            first, code = await timed(pool, spec)
            more.append((first - warm, code))
        await pool.close()
        return sorted(more)[TRIES // 2]
