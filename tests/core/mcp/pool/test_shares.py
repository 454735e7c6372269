"""Nobody takes what a process has from the others: places at a server, sessions, programs."""

import asyncio
from dataclasses import replace

import pytest
from conftest import POLICY, spec_of

from services.errors import PoolFull, ServerBusy
from services.mcp.pool.breaker import Breaker
from services.mcp.pool.limiter import Limiter
from services.mcp.pool.pool import Pool
from services.mcp.session.elicitation import ElicitRequest
from services.semaphore import FairSemaphore

pytestmark = pytest.mark.asyncio


async def nothing_moves():
    for _ in range(5):
        await asyncio.sleep(0)


def taking(semaphore, *people):
    return [asyncio.ensure_future(semaphore.acquire(person)) for person in people]


async def test_a_share_leaves_room_for_others():
    semaphore = FairSemaphore(3, 2)
    ann = taking(semaphore, "ann", "ann", "ann")
    await nothing_moves()
    assert [task.done() for task in ann] == [True, True, False]
    bob = taking(semaphore, "bob")
    await nothing_moves()
    assert bob[0].done() and not ann[2].done()
    semaphore.release("ann")
    await nothing_moves()
    assert ann[2].done() and semaphore.in_use == 3


async def test_who_holds_fewest_is_next():
    semaphore = FairSemaphore(3, 3)
    taking(semaphore, "ann", "ann", "bob")
    await nothing_moves()
    ann, bob, cid = taking(semaphore, "ann", "bob", "cid")
    await nothing_moves()
    semaphore.release("ann")
    await nothing_moves()
    assert cid.done() and not ann.done() and not bob.done()
    ann.cancel()
    bob.cancel()


async def test_who_goes_away_while_it_waits_leaves_nothing_behind():
    semaphore = FairSemaphore(1, 1)
    await semaphore.acquire("ann")
    bob, cid = taking(semaphore, "bob", "cid")
    await nothing_moves()
    semaphore.release("ann")
    bob.cancel()  # it has been given the place, and does not know yet
    await nothing_moves()
    assert cid.done() and semaphore.in_use == 1


async def test_sessions_of_one_person(fake):
    """Who has a share already loses the own idle ones, and nobody else does."""
    pool = Pool(POLICY, max_sessions=4, share=2)
    ann, bob = (replace(fake.spec, person=person) for person in (1, 2))
    await pool.call(bob, "bob", "count", {}, timeout=60)
    for conversation in range(6):
        await pool.call(ann, conversation, "count", {}, timeout=60)
    assert pool.is_connected(bob, "bob")
    assert [number for number in range(6) if pool.is_connected(ann, number)] == [4, 5]
    await pool.close()


async def test_who_has_most_makes_room(fake):
    pool = Pool(POLICY, max_sessions=3, share=2)
    people = [replace(fake.spec, person=person) for person in (1, 2, 3)]
    for spec, conversation in ((people[0], 1), (people[1], 2), (people[1], 3), (people[2], 4)):
        await pool.call(spec, conversation, "count", {}, timeout=60)
    assert [pool.is_connected(people[1], number) for number in (2, 3)] == [False, True]
    assert pool.is_connected(people[0], 1)
    await pool.close()


async def test_one_person_with_slow_servers_of_its_own_leaves_sessions_to_others(fake):
    pool = Pool(POLICY, max_sessions=6, share=3)
    hog = [
        asyncio.create_task(
            pool.call(replace(fake.spec, id=n, person=1), n, "slow", {"seconds": 30}, timeout=60)
        )
        for n in range(2, 12)
    ]
    await fake.until(lambda: sum(name == "slow" for _, name, _ in fake.calls) == 3)
    for person in (2, 3, 4):
        await pool.call(replace(fake.spec, person=person), person, "count", {}, timeout=60)
    for task in hog:
        task.cancel()
    await asyncio.wait(hog)
    await pool.close()


async def test_a_call_waits_for_a_session_within_its_own_time(fake):
    pool = Pool(POLICY, max_sessions=2, share=2)

    async def one(number, timeout=60):
        spec = replace(fake.spec, id=number % 4 + 1, person=number)
        return await pool.call(spec, number, "slow", {"seconds": 0.02}, timeout=timeout)

    results = await asyncio.gather(*(one(number) for number in range(16)))
    assert all(result["content"][0]["text"] == "slept" for result in results)
    running = [
        asyncio.create_task(pool.call(fake.spec, n, "slow", {"seconds": 30}, timeout=60))
        for n in (101, 102)
    ]
    await fake.until(lambda: sum(a == {"seconds": 30} for _, _, a in fake.calls) == 2)
    with pytest.raises(PoolFull):
        await one(103, timeout=0.05)
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    await pool.close()


async def test_a_session_that_was_opened_a_moment_ago_is_not_taken_from_its_caller(fake):
    pool = Pool(POLICY, max_sessions=1, share=1)
    texts = await asyncio.gather(
        *(
            pool.call(replace(fake.spec, person=n), n, "echo", {"message": str(n)}, timeout=60)
            for n in range(8)
        )
    )
    assert [result["content"][0]["text"] for result in texts] == [str(n) for n in range(8)]
    assert sum(method == "tools/call" for method in fake.methods) == 8
    await pool.close()


async def test_requests_of_one_person_to_a_server(fake, pool):
    slow = {"seconds": 30}
    ann, bob = (replace(fake.spec, person=person) for person in (1, 2))
    running = [
        asyncio.create_task(pool.call(ann, n % 2, "slow", slow, timeout=30)) for n in range(12)
    ]
    await fake.until(lambda: sum(name == "slow" for _, name, _ in fake.calls) == 8)
    with pytest.raises(ServerBusy):
        await pool.call(ann, 1, "echo", {"message": "x"}, timeout=0.05)
    await pool.call(bob, 1, "echo", {"message": "x"}, timeout=60)
    assert sum(name == "slow" for _, name, _ in fake.calls) == 8
    for task in running:
        task.cancel()
    await asyncio.wait(running)


def limiter_of(limit):
    return Limiter(Breaker(), FairSemaphore(limit, limit))


async def test_who_stops_while_it_is_asked_waits_for_no_room():
    limiter, asked, go_on = limiter_of(1), asyncio.Event(), asyncio.Event()

    async def person(_):
        asked.set()
        await asyncio.Event().wait()

    async def with_question():
        async with limiter.acquire("ann", 60) as admission:
            await admission.releasing(person)(ElicitRequest(message="?"))

    async def other():
        async with limiter.acquire("bob", 60):
            await go_on.wait()

    asking = asyncio.ensure_future(with_question())
    await asked.wait()
    running = asyncio.ensure_future(other())
    await nothing_moves()
    asking.cancel()
    await asyncio.wait({asking}, timeout=60)
    assert asking.cancelled() and not running.done()
    go_on.set()
    await running
    assert limiter.capacity.in_use == 0


async def test_two_questions_of_one_request_give_one_place():
    limiter, answered = limiter_of(2), asyncio.Event()

    async def person(_):
        await answered.wait()

    async with limiter.acquire("ann", 60) as admission:
        ask = admission.releasing(person)
        both = [asyncio.ensure_future(ask(ElicitRequest(message="?"))) for _ in range(2)]
        await nothing_moves()
        assert limiter.capacity.in_use == 0
        answered.set()
        await asyncio.gather(*both)
        assert limiter.capacity.in_use == 1
    assert limiter.capacity.in_use == 0


async def test_a_server_dropped_while_its_session_is_opened_gets_none(fake, pool):
    handshake = asyncio.Event()

    async def never(call, writer):
        handshake.set()
        await asyncio.Event().wait()

    fake.faults["initialize"] = never
    for end in (
        lambda: pool.drop(fake.spec.database, 1),
        lambda: pool.release(fake.spec.database, 1),
    ):
        handshake.clear()
        call = asyncio.create_task(
            pool.call(spec_of(fake), 1, "echo", {"message": "x"}, timeout=60)
        )
        await handshake.wait()
        end()
        await asyncio.wait({call}, timeout=60)
        assert call.exception().code == "session_lost" and call.exception().safe_to_retry
        assert not pool.is_connected(fake.spec, 1)
    await fake.until(lambda: "tools/call" not in fake.methods)
