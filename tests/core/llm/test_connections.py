"""Connections to a model's endpoint stay open between steps and turns."""

import asyncio
from dataclasses import replace

import pytest
from turns import Turn, request_of, turn

from services.llm import client, connections
from services.llm.connections import Connections
from services.specs import Limits
from services.testing.fake_mcp import FakeMcp
from services.testing.scripted_llm import Reply, ScriptedLlm


@pytest.fixture
async def kept():
    kept = Connections()
    yield kept
    await kept.close()


@pytest.fixture(autouse=True)
def no_second_try(monkeypatch):
    """Whatever is repeated is repeated below the retry of a step."""
    monkeypatch.setattr(client, "RETRY_DELAY", 1e9)


async def until(is_so):
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0.001)


async def test_twenty_steps_and_the_next_turn_make_one_connection(kept):
    steps = [Reply(calls=[("fake__add", {"a": 1, "b": n})]) for n in range(20)]
    async with FakeMcp() as fake, ScriptedLlm(*steps, Reply("Done.")) as llm:
        limits = Limits(max_rounds=30)
        first = await turn(llm, fake, limits=limits, connections=kept)
        assert (first.result.state, len(llm.requests)) == ("done", 21)
        second = await turn(llm, connections=kept)
        assert (second.result.text, llm.connections) == ("Done.", 1)


async def test_a_connection_that_was_closed_meanwhile_is_replaced(kept):
    async with ScriptedLlm(Reply("Here.")) as llm:
        await turn(llm, connections=kept)
        for task in list(llm._tasks):
            task.cancel()
        await until(lambda: not llm.open_connections)
        assert (await turn(llm, connections=kept)).result.text == "Here."
        assert (llm.connections, len(llm.requests)) == (2, 2)


class Impatient(ScriptedLlm):
    """Closes a kept connection in the moment in which it is used again."""

    def __init__(self, *script):
        super().__init__(*script)
        self.used = set()

    async def _reply(self, reply, reader, writer):
        if writer in self.used:
            writer.transport.abort()
            raise ConnectionError
        self.used.add(writer)
        return await super()._reply(reply, reader, writer)


async def test_a_connection_that_is_closed_as_it_is_used_is_replaced_in_the_same_step(kept):
    async with Impatient(Reply("Here.")) as llm:
        for number in range(1, 4):
            done = await turn(llm, connections=kept)
            assert (done.result.state, done.result.text) == ("done", "Here.")
            assert llm.connections == number


async def test_a_new_connection_that_fails_is_no_stale_one(kept):
    class Broken(ScriptedLlm):
        async def _reply(self, reply, reader, writer):
            writer.transport.abort()
            raise ConnectionError

    async with Broken(Reply("Here.")) as llm:
        done = await turn(llm, connections=kept)
    assert (done.result.state, len(llm.requests)) == ("failed", 1)


async def test_an_answer_that_was_stopped_leaves_no_connection_behind(kept):
    async with ScriptedLlm(Reply("word " * 500, gap=0.005)) as llm:
        running = Turn(request_of(llm), connections=kept)
        task = asyncio.create_task(running.run())
        await until(lambda: running.journal.text)
        running.stop.set()
        assert (await task).result.state == "stopped"
        await until(lambda: not llm.open_connections)


@pytest.mark.parametrize("change", [{"database": "other"}, {"api_key": "other-key"}])
async def test_databases_and_credentials_share_none(kept, change):
    async with ScriptedLlm(Reply("Here.")) as llm:
        request = request_of(llm)
        await Turn(request, connections=kept).run()
        other = replace(request, llm=replace(request.llm, **change))
        await Turn(other, connections=kept).run()
        assert llm.connections == 2


async def test_what_nobody_uses_is_closed(kept, monkeypatch):
    monkeypatch.setattr(connections, "KEEPALIVE", 0.02)
    async with ScriptedLlm(Reply("Here.")) as llm:
        await turn(llm, connections=kept)
        await until(lambda: not llm.open_connections)
        assert not kept._lines
