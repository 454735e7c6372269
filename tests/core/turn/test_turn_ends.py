"""Turns that are stopped, cut or taken over, and those that go on from what is on disk."""

import asyncio

import pytest
from turns import Turn, request_of, turn

from services.errors import LeaseLost
from services.specs import TurnProgress, Verdict
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm


async def test_stop_during_the_llm(fake):
    async with ScriptedLlm(Reply("one two three " * 200, gap=0.02)) as llm:
        running = Turn(request_of(llm, fake))
        task = asyncio.create_task(running.run())
        while not running.journal.text:
            await asyncio.sleep(0.005)
        running.stop.set()
        await task
        assert len(running.journal.text.split()) < 300, "far from the end"
        async with asyncio.timeout(2):
            while llm.open_streams:
                await asyncio.sleep(0.005)
    assert running.result.state == "stopped" and running.result.text == running.journal.text
    assert running.progress.messages[-1]["content"] == running.result.text, "later turns read it"


async def test_what_was_said_before_the_model_failed_is_kept(fake):
    async with ScriptedLlm(Reply("One two three", cut=True)) as llm:
        failed = await turn(llm, fake)
    assert failed.result.state == "failed" and failed.result.text
    assert failed.progress.messages[-1]["content"] == failed.result.text


async def test_a_retry_numbers_its_blocks_behind_those_taken_over(fake):
    call = {"id": "one", "alias": "fake__count", "arguments": {}}
    said = {"role": "assistant", "content": "Let me see.", "tool_calls": [call]}
    result = {"role": "tool", "call_id": "one", "content": "1", "outcome": "ok"}
    taken_over = TurnProgress(step=1, round=1, messages=[said, result])
    async with ScriptedLlm(Reply("It is one.")) as llm:
        again = await turn(llm, fake, progress=taken_over)
    blocks = [event for event in again.journal.events if event["type"] == "text_block"]
    assert [block["index"] for block in blocks] == [1]


async def test_stop_during_a_call(fake):
    async with ScriptedLlm(
        Reply("Wait. ", [("fake__slow", {"seconds": 30}), ("fake__count", {})])
    ) as llm:
        running = Turn(request_of(llm, fake))
        task = asyncio.create_task(running.run())
        await fake.until(lambda: any(name == "slow" for _, name, _ in fake.calls))
        running.stop.set()
        async with asyncio.timeout(60):
            await task
    assert running.result.state == "stopped" and running.result.text == "Wait. "
    assert running.journal.results[0].outcome == "cancelled"
    await fake.until(lambda: fake.cancelled)
    assert len(llm.requests) == 1


async def test_resume_in_mid_step_runs_only_what_is_left(fake):
    async with ScriptedLlm(
        Reply("Both. ", [("fake__count", {}), ("fake__echo", {"message": "again"})]),
        Reply("unreached"),
    ) as llm:
        first = await turn(llm, fake)
    crashed = first.journal.saved[0]
    assert crashed.step == 1 and len(crashed.messages) == 1
    before = len(fake.calls)
    finished = first.journal.results[0]
    journal = MemoryJournal({"count": Verdict(kind="done", result=finished)})
    async with ScriptedLlm(Reply("Resumed.")) as llm:
        second = await turn(llm, fake, journal=journal, progress=crashed)
    assert second.result.text == "Resumed."
    assert [name for _, name, _ in fake.calls[before:]] == ["echo"]
    assert [call.id for call in journal.begun] == [
        call["id"] for call in crashed.messages[0]["tool_calls"]
    ]
    assert list(journal.ended) == [journal.begun[1].id]
    assert "turn_started" not in journal.types()
    assert journal.of("text_block")[0]["index"] == 1
    assert llm.requests[0]["messages"][-2:][0]["content"] == finished.text


async def test_resume_of_a_cut_llm_call_and_of_a_finished_turn(fake):
    async with ScriptedLlm(Reply(calls=[("fake__count", {})]), Reply("The end.")) as llm:
        first = await turn(llm, fake)
    asked_again = first.journal.saved[1]
    async with ScriptedLlm(Reply("Once more.")) as llm:
        second = await turn(llm, fake, progress=asked_again)
    assert second.result.text == "Once more." and len(llm.requests) == 1
    assert "turn_started" not in second.journal.types()
    finished = first.journal.saved[-1]
    async with ScriptedLlm(Reply("never")) as llm:
        third = await turn(llm, fake, progress=finished)
    assert third.result.state == "done" and third.result.text == "The end." and not llm.requests


@pytest.mark.parametrize("method", ["save_step", "begin_call", "end_call"])
async def test_lost_lease_ends_everything(fake, method):
    journal = MemoryJournal(lose_at=method, error=LeaseLost())
    calls = [("fake__slow", {"seconds": 30}), ("fake__count", {})]
    async with ScriptedLlm(Reply(calls=calls), Reply("never")) as llm:
        async with asyncio.timeout(60):
            with pytest.raises(LeaseLost):
                await turn(llm, fake, journal=journal)
    assert len(llm.requests) == 1


async def test_progress_is_json(fake):
    import json
    from dataclasses import asdict

    async with ScriptedLlm(Reply(calls=[("fake__echo", '{"bad')]), Reply("ok")) as llm:
        done = await turn(llm, fake)
    for saved in done.journal.saved:
        assert TurnProgress(**json.loads(json.dumps(asdict(saved)))) == saved
