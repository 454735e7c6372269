"""A server that fails is left alone, one that is slow is not overrun, and both recover."""

import asyncio
from dataclasses import replace

import pytest
from conftest import POLICY, fake_of, spec_of

from services.errors import (
    AuthRequired,
    BlockedAddress,
    ConnectFailed,
    PoolFull,
    ProtocolError,
    ServerBusy,
    ServerPaused,
    ServerRefused,
    ServerTimeout,
)
from services.mcp.pool import limiter
from services.mcp.pool.breaker import Breaker
from services.mcp.pool.pool import Pool
from services.semaphore import FairSemaphore
from services.testing.fake_faults import rst
from services.testing.fake_http import respond
from services.testing.fake_mcp import FakeMcp

SIGN_OF_LIFE = {"json": "ping", "modern": "server/discover"}


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def one(clock):
    return Breaker(clock=clock)


def fail(one, error, times=1):
    for _ in range(times):
        one.leave(one.enter(), error)


@pytest.mark.parametrize("error", [ConnectFailed(), ServerTimeout(), ServerRefused(status=503)])
def test_opens_after_three_failures_and_closes_after_one_success(one, clock, error):
    fail(one, error, 2)
    assert one.state == "closed"
    fail(one, error)
    assert one.state == "open" and one.reason == str(error)
    with pytest.raises(ServerPaused) as caught:
        one.enter()
    assert caught.value.retry_after == 30
    clock.now += 30
    trial = one.enter()
    assert one.state == "half_open"
    with pytest.raises(ServerPaused):  # only one may try
        one.enter()
    one.leave(trial, None)
    assert one.state == "closed" and one.reason == ""


def test_a_trial_that_fails_opens_it_again(one, clock):
    fail(one, ConnectFailed(), 3)
    clock.now += 31
    fail(one, ConnectFailed())
    assert one.state == "open"
    with pytest.raises(ServerPaused):
        one.enter()


@pytest.mark.parametrize(
    "error", [AuthRequired(), ProtocolError(), ServerRefused(status=404), ServerRefused()]
)
def test_what_shows_that_the_server_is_there_does_not_count(one, error):
    fail(one, ConnectFailed(), 2)
    fail(one, error)
    fail(one, ConnectFailed(), 2)
    assert one.state == "closed"


def test_a_cancelled_request_says_nothing(one, clock):
    fail(one, ConnectFailed(), 3)
    clock.now += 31
    one.leave(one.enter(), asyncio.CancelledError())
    one.leave(one.enter(), None)  # the next one may try
    assert one.state == "closed"


def test_requests_that_fail_together_count_once(one):
    together = [one.enter() for _ in range(8)]
    later = one.enter()
    for ticket in together:
        one.leave(ticket, ServerTimeout())
    assert one.state == "closed"
    one.leave(later, ServerTimeout())  # began before the failure was known
    fail(one, ServerTimeout())
    assert one.state == "closed"
    fail(one, ServerTimeout())
    assert one.state == "open"


def test_who_began_before_the_pause_does_not_end_the_trial(one, clock):
    straggler = one.enter()
    fail(one, ConnectFailed(), 3)
    clock.now += 31
    trial = one.enter()
    one.leave(straggler, ServerTimeout())
    assert one.state == "half_open"
    with pytest.raises(ServerPaused):
        one.enter()
    one.leave(trial, None)
    assert one.state == "closed"


async def test_who_hears_that_a_server_is_well_asks_it_again(fake):
    pool = Pool(POLICY)
    fake.guard = lambda headers: (503, {})
    for _ in range(3):
        with pytest.raises(ServerRefused):
            await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    fake.guard = None
    database, id_, _url = fake.spec.address
    for other in (("another database", id_), (database, id_ + 1)):
        pool.reset_breaker(*other)
        with pytest.raises(ServerPaused):
            await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    pool.reset_breaker(database, id_)
    await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    await pool.close()


async def test_a_dead_server_costs_nothing_more(fake, clock):
    states = []
    told = lambda spec, state, reason: states.append((spec.id, state))  # noqa: E731
    pool = Pool(POLICY, on_state=told, clock=clock)
    fake.guard = lambda headers: (503, {})
    for _ in range(3):
        with pytest.raises(ServerRefused):
            await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    before = len(fake.methods)
    for conversation in range(20):
        with pytest.raises(ServerPaused, match="HTTP 503"):
            await pool.call(fake.spec, conversation, "echo", {"message": "x"}, timeout=60)
    assert len(fake.methods) == before
    async with FakeMcp() as other:  # of the same id, at another address
        result = await pool.call(spec_of(other), 1, "echo", {"message": "well"}, timeout=60)
        assert result["content"][0]["text"] == "well"
    fake.guard = None
    clock.now += 31
    await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    assert states == [(1, "open"), (1, "half_open"), (1, "closed")]
    await pool.close()


async def test_so_many_calls_at_once(fake, pool, monkeypatch):
    monkeypatch.setattr(limiter, "server_capacity", lambda: FairSemaphore(2, 2))
    await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    running = [
        asyncio.create_task(pool.call(fake.spec, 1, "slow", {"seconds": 30}, timeout=30))
        for _ in range(2)
    ]
    await fake.until(lambda: sum(name == "slow" for _, name, _ in fake.calls) == 2)
    with pytest.raises(ServerBusy):
        await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=0.1)
    running[0].cancel()
    await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    running[1].cancel()
    await asyncio.wait(running)
    assert pool.limiter(fake.spec).capacity.in_use == 0


async def paused(pool, spec):
    try:
        await pool.call(spec, 99, "echo", {"message": "x"}, timeout=60)
    except ServerPaused:
        return True
    except ServerTimeout:
        pass
    return False


async def test_who_is_in_a_hurry_says_nothing_about_the_server(fake, pool):
    await pool.info(fake.spec, 1)
    for _ in range(4):
        with pytest.raises(ServerTimeout):
            await pool.call(fake.spec, 1, "slow", {"seconds": 30}, timeout=0.02)
    assert not await paused(pool, fake.spec)
    assert "ping" not in fake.methods


async def test_who_cannot_wait_for_the_handshake_says_nothing_either(fake, pool):
    go_on = asyncio.Event()

    async def late(call, writer):
        await go_on.wait()
        fake.faults.clear()
        await respond(writer, 503)

    fake.faults["initialize"] = late
    for _ in range(4):
        with pytest.raises(ConnectFailed):
            await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=0.02)
    go_on.set()
    assert not await paused(pool, fake.spec)


@pytest.mark.parametrize("kind", ["json", "modern"])
async def test_one_slow_tool_pauses_nobody(kind):
    async with fake_of(kind) as fake:
        pool, spec = Pool(POLICY), replace(fake.spec, call_timeout=0.05)
        await pool.info(spec, 1)
        fake.methods.clear()
        for number in range(5):
            with pytest.raises(ServerTimeout):
                await pool.call(spec, 1, "slow", {"seconds": 30}, timeout=0.2)
            await fake.until(lambda n=number: n < 2 or SIGN_OF_LIFE[kind] in fake.methods)
        assert not await paused(pool, spec)
        await pool.close()


async def test_a_tool_that_answers_503_pauses_nobody(fake, pool):
    fake.faults["count"] = lambda call, writer: respond(writer, 503)
    for _ in range(5):
        with pytest.raises(ServerRefused):
            await pool.call(fake.spec, 1, "count", {}, timeout=60)
    assert not await paused(pool, fake.spec)


@pytest.mark.parametrize("answer", [lambda _, writer: respond(writer, 503), rst])
async def test_a_server_that_gives_no_sign_of_life_is_left_alone(fake, answer):
    opened = asyncio.Event()
    pool = Pool(POLICY, on_state=lambda spec, state, reason: opened.set())
    spec = replace(fake.spec, call_timeout=0.1)
    await pool.info(spec, 1)
    fake.faults["ping"] = answer
    for _ in range(3):
        with pytest.raises(ServerTimeout):
            await pool.call(spec, 1, "slow", {"seconds": 30}, timeout=0.2)
    async with asyncio.timeout(5):
        await opened.wait()
    assert await paused(pool, spec)
    await pool.close()


async def test_one_person_with_a_key_of_its_own_pauses_itself_only(fake, pool):
    def by_key(headers):
        return (503, {}) if headers.get("authorization") == "Bearer odd" else None

    fake.guard = by_key
    odd, well = (spec_of(fake, api_key=key) for key in ("odd", "good"))
    for _ in range(3):
        with pytest.raises(ServerRefused):
            await pool.call(odd, 1, "echo", {"message": "x"}, timeout=60)
    assert await paused(pool, odd) and not await paused(pool, well)


@pytest.mark.parametrize("error", [PoolFull(), ServerBusy(), ServerPaused(), BlockedAddress()])
def test_who_was_not_asked_is_not_well_for_that(one, error):
    fail(one, ConnectFailed(), 2)
    fail(one, error)
    assert not one.is_untouched
    fail(one, ConnectFailed())
    assert one.state == "open"


async def test_nothing_is_remembered_of_servers_that_are_well(fake, pool):
    for number in range(5):
        await pool.call(spec_of(fake, api_key=str(number)), 1, "count", {}, timeout=60)
    assert not pool._limiters and not pool._capacities


async def test_a_reset_lets_requests_through_at_once():
    breaker = Breaker(clock=lambda: 0.0)
    fail(breaker, ConnectFailed(), 3)
    with pytest.raises(ServerPaused):
        breaker.enter()
    breaker.reset()
    breaker.enter()
    assert (breaker.state, breaker.reason) == ("closed", "")
