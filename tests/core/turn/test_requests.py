"""Requests to a provider: each is put on disk before it is sent, and what it took comes with the next one or step."""

import pytest
from turns import turn

from services.errors import EngineError
from services.llm import client
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(client, "RETRY_DELAY", 0.01)


def told(done):
    """What each request took, in the order in which they ended."""
    saved = [one for progress in done.journal.saved for one in progress.spent]
    ended = [*done.journal.settled, *saved, *done.progress.spent]
    return list({one["key"]: one for one in ended}.values())


def spent(done):
    return [one["usage"] for one in told(done)]


async def test_each_step_is_a_request_with_its_tools(fake):
    async with ScriptedLlm(Reply(calls=[("fake__add", {"a": 1, "b": 2})]), Reply("3")) as llm:
        done = await turn(llm, fake)
    first, second = done.journal.reserved
    assert (first.kind, first.key, second.key) == ("answer", "1", "2")
    assert first.input_tokens > 10 and not (first.is_retry or second.is_retry)
    assert {one["key"]: one["tools"] for one in told(done)} == {"1": ["fake__add"], "2": []}


async def test_a_second_try_is_a_request_and_a_refused_one_costs_nothing():
    async with ScriptedLlm(Reply(status=503), Reply("Hello.")) as llm:
        done = await turn(llm)
    assert [one.is_retry for one in done.journal.reserved] == [False, True]
    assert [one["key"] for one in done.journal.settled] == ["1"], "its budget waits for nothing"
    refused, answered = spent(done)
    assert refused == {} and answered["output_tokens"] > 0


async def test_what_an_empty_answer_took_is_counted_once():
    async with ScriptedLlm(Reply(), Reply(status=503)) as llm:
        done = await turn(llm)
    empty, refused = spent(done)
    assert empty["output_tokens"] == 5 and refused == {}


async def test_nobody_knows_what_a_request_took_that_was_never_answered():
    async with ScriptedLlm(Reply("late", wait=30)) as llm:
        done = await turn(llm, first_token_timeout=0.2)
    (usage,) = spent(done)
    assert usage["is_estimated"] and usage["input_tokens"] > 0


async def test_what_must_not_be_sent_is_not():
    refused = EngineError("The budget is used up.")
    journal = MemoryJournal(lose_at="reserve", error=refused)
    async with ScriptedLlm(Reply("Hello.")) as llm:
        with pytest.raises(EngineError, match="used up"):
            await turn(llm, journal=journal)
    assert llm.requests == []
