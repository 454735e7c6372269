"""Turns that wait for a person: calls that ask, denials, rounds to confirm."""

import asyncio
from dataclasses import replace

import pytest
from turns import Turn, request_of, tools_of, turn

from services.llm.transcript import DIFFERS
from services.specs import Limits, Verdict
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm


async def test_a_call_that_asks_waits_for_the_others_and_then_holds_nothing(fake):
    calls = [("fake__echo", {"message": "ask"}), ("fake__add", {"a": 1, "b": 2})]
    journal = MemoryJournal({"echo": Verdict(kind="ask")})
    async with ScriptedLlm(Reply(calls=calls), Reply("Both.")) as llm:
        waits = await turn(llm, fake, journal=journal)
        assert waits.result.state == "waiting" and len(llm.requests) == 1
        assert [result.outcome for result in journal.results] == ["ok"], "only the sum is there"
        assert waits.progress.round == 0
        decided = MemoryJournal({"echo": Verdict(kind="run", arguments={"message": "changed"})})
        done = await turn(llm, fake, journal=decided, progress=waits.progress)
    assert done.result.state == "done" and done.result.text == "Both."
    assert [call.tool.name for call in decided.begun] == ["echo"], "the sum is not repeated"
    assert decided.results[0].display == "changed"
    told = str(llm.requests[-1]["messages"])
    assert "The user changed the arguments" in told
    assert done.progress.round == 1


@pytest.mark.parametrize("change", ["alias", "definition", "gone"])
async def test_a_call_that_waited_is_made_of_the_tool_that_was_asked_for(fake, change):
    """Another tool has the alias when the call is taken up."""
    journal = MemoryJournal({"echo": Verdict(kind="ask")})
    async with ScriptedLlm(Reply(calls=[("fake__echo", {"message": "x"})]), Reply("Done.")) as llm:
        waits = await turn(llm, fake, journal=journal)
        echo, slow = tools_of(fake, only=("echo", "slow"))
        now = {
            "alias": [replace(echo, alias="fake__slow")],
            "definition": [replace(echo, alias="fake__slow", definition="another")],
            "gone": [],
        }
        tools = (replace(slow, alias="fake__echo"), *now[change])
        later = MemoryJournal()
        done = await turn(llm, fake, journal=later, progress=waits.progress, tools=tools)
    assert done.result.state == "done"
    (result,) = later.results
    expected = ("ok", "x") if change == "alias" else ("denied", DIFFERS)
    assert (result.outcome, result.display) == expected


async def test_a_denial_with_its_reason_reaches_the_model(fake):
    denied = MemoryJournal({"echo": Verdict(kind="deny", reason="The user says: not today.")})
    async with ScriptedLlm(
        Reply(calls=[("fake__echo", {"message": "x"})]), Reply("As you wish.")
    ) as llm:
        done = await turn(llm, fake, journal=denied)
    assert "not today" in str(llm.requests[-1]["messages"]) and done.result.state == "done"
    assert denied.results[0].outcome == "denied"


async def test_nobody_is_asked_about_a_call_that_cannot_be_made(fake):
    journal = MemoryJournal({"add": Verdict(kind="ask"), "": Verdict(kind="ask")})
    wrong = [("fake__add", {"a": "one"}), ("fake__add", "{broken"), ("fake__nothing", {})]
    async with ScriptedLlm(Reply(calls=wrong), Reply("Sorry.")) as llm:
        done = await turn(llm, fake, journal=journal)
    assert done.result.state == "done"
    assert sorted(result.outcome for result in journal.results) == [
        "invalid_args",
        "invalid_args",
        "unknown_tool",
    ]


async def test_stop_ends_a_call_that_asks(fake):
    class Stopping(MemoryJournal):
        async def begin_call(self, call):
            verdict = await super().begin_call(call)
            if call.tool.name == "slow":
                asyncio.get_running_loop().call_later(0.1, running.stop.set)
            return verdict

    calls = [("fake__echo", {"message": "ask"}), ("fake__slow", {"seconds": 9})]
    async with ScriptedLlm(Reply(calls=calls)) as llm:
        running = Turn(request_of(llm, fake), journal=Stopping({"echo": Verdict(kind="ask")}))
        await running.run()
    assert running.result.state == "stopped"
    assert [result.outcome for result in running.journal.results] == ["cancelled", "cancelled"]


@pytest.mark.parametrize("decision", ["continue", "stop"])
async def test_a_round_waits_for_a_word(fake, decision):
    call = [("fake__echo", {"message": "again"})]
    script = [Reply(calls=call), Reply(calls=call), Reply("Enough.")]
    limits = Limits(confirm_round=2)
    async with ScriptedLlm(*(script if decision == "continue" else script[1:])) as llm:
        waits = await turn(llm, fake, limits=limits)
        assert (waits.result.state, waits.result.confirm) == ("waiting", 2)
        assert len(llm.requests) == 1
        waits.progress.confirmed, waits.progress.sum_up = 2, decision == "stop"
        done = await turn(llm, fake, limits=limits, progress=waits.progress)
    assert (done.result.state, done.result.text) == ("done", "Enough.")
    assert done.progress.round == (2 if decision == "continue" else 1)
    assert ("tools" not in llm.requests[-1]) == (decision == "stop")
