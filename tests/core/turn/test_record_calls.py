"""Calls of record tools in a turn: what a model is told, what waits, what is recorded once."""

import asyncio
import json

import pytest
from turns import Turn, request_of, tools_of

from services import text
from services.records import catalog, named
from services.records.errors import RecordError, unknown
from services.specs import CallResult, Verdict
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm
from services.turn import approval
from services.turn.tools import TurnTools

ALL = tuple(tool.spec for tool in catalog.TOOLS.values())


def call(name, **arguments):
    return name, json.dumps(arguments)


async def in_turn(journal, *replies):
    async with ScriptedLlm(*replies) as llm:
        request = request_of(llm, tools=ALL, question="What about record 1?")
        return await Turn(request, journal=journal).run()


# ------------------------------------------------------------ what a model is told


def test_all_schemas_together_are_small():
    async def functions():
        async with ScriptedLlm() as llm:
            return TurnTools(request_of(llm, tools=ALL), None).functions

    offered = asyncio.run(functions())
    assert [one["function"]["name"] for one in offered] == list(catalog.TOOLS)
    assert text.tokens(json.dumps(offered, ensure_ascii=False)) <= 2_050


def test_only_reading_runs_by_itself():
    for tool in catalog.TOOLS.values():
        decided = approval.decide(
            {}, policy="default", annotations=tool.annotations, trust="annotations"
        )
        assert decided.policy == ("ask" if tool.is_write else "auto"), tool.name


# ------------------------------------------------------------ calls


async def test_a_change_is_recorded_by_its_own_transaction_and_by_nothing_else():
    journal = MemoryJournal()
    order = []

    async def create(made):
        order.append(made.arguments["values"]["name"])
        return CallResult(outcome="ok", text="Created.")

    journal.records["create_record"] = create
    values = [{"name": name} for name in ("a", "b", "c")]
    calls = [call("create_record", model="res.partner", values=one) for one in values]
    done = await in_turn(journal, Reply(calls=calls), Reply("Done."))
    assert done.result.text == "Done." and order == ["a", "b", "c"]
    assert [result.text for result in journal.results] == ["Created."] * 3


async def test_what_cannot_be_carried_out_is_said_to_the_model():
    journal = MemoryJournal()

    async def refuses(_call):
        raise unknown("model", "res.partnr", ["res.partner"])

    journal.records["search_records"] = refuses
    done = await in_turn(
        journal, Reply(calls=[call("search_records", model="res.partnr")]), Reply("Oh.")
    )
    assert done.result.state == "done"
    (result,) = journal.results
    assert (result.outcome, "res.partner." in result.text) == ("invalid_args", True)


@pytest.mark.parametrize("name", ["read_records", "update_records", "post_message"])
async def test_an_id_that_the_model_has_made_up_reaches_no_record(name):
    """A small model that has not searched says 7, and means nothing by it."""
    journal = MemoryJournal({name: Verdict(kind="ask")})

    async def never(_call):
        raise AssertionError

    async def finds(_call):
        return CallResult(outcome="ok", text="id | name\n7 | Azure")

    journal.records |= {name: never, "search_records": finds}
    given = {"id": 7, "body": "b"} if name == "post_message" else {"ids": [7], "values": {"a": 1}}
    blind = call(name, model="a.b", **given)
    again = call(name, model="a.b", **given, fields=["name"])
    done = await in_turn(journal, Reply(calls=[blind]), Reply(calls=[again]), Reply("I said 7."))
    assert done.result.state == "done"
    for refused in journal.results:
        assert refused.outcome == "invalid_args" and "search_records" in refused.text
    assert len(journal.results) == 2, "a refusal that tells the id does not name it"

    journal.records[name] = finds
    seen = [Reply(calls=[call("search_records", model="a.b")]), Reply(calls=[blind])]
    done = await in_turn(journal, *seen, Reply("Well."))
    assert [one.outcome for one in journal.results[2:]] == ["ok"]
    assert done.result.state == "waiting", "the person is asked about the record that was found"


async def test_a_long_conversation_is_searched_for_ids_once(monkeypatch):
    journal, searched = MemoryJournal(), []
    known = named.known
    monkeypatch.setattr(named, "known", lambda *said: searched.append(1) or known(*said))

    async def finds(_call):
        return CallResult(outcome="ok", text="id | name\n1 | Azure")

    journal.records |= dict.fromkeys(("read_records", "search_records"), finds)
    asked = [call("read_records", model=f"a.{n}", ids=[1]) for n in range(9)]
    await in_turn(journal, Reply(calls=asked), Reply("Well."))
    assert [one.outcome for one in journal.results] == ["ok"] * 9 and len(searched) == 1
    await in_turn(journal, Reply(calls=[call("search_records", model="a.b")]), Reply("Well."))
    assert len(searched) == 1, "it names none"


async def test_the_same_question_is_not_asked_twice_unless_something_was_written():
    """A small model that has read a result asks for it until its rounds are over."""
    journal = MemoryJournal()
    made = []

    async def perform(done):
        made.append(done.tool.name)
        return CallResult(outcome="ok", text="id | name\n7 | Azure")

    journal.records |= dict.fromkeys(("search_records", "create_record"), perform)
    search = call("search_records", model="a.b")
    create = call("create_record", model="a.b", values={"name": "c"})
    replies = [Reply(calls=[one]) for one in (search, create, search, search)]
    async with ScriptedLlm(*replies, Reply("Azure.")) as llm:
        done = await Turn(request_of(llm, tools=ALL), journal=journal).run()
        last = llm.requests[-1]
    assert made == ["search_records", "create_record", "search_records"]
    assert [one.outcome for one in journal.results] == ["ok", "ok", "ok", "invalid_args"]
    assert "above" in journal.results[-1].text and done.result.text == "Azure."
    assert "tools" not in last and {one["role"] for one in last["messages"]} == {"system", "user"}
    assert "7 | Azure" in last["messages"][-1]["content"], "who goes round in circles answers now"

    made.clear()
    await in_turn(journal, Reply(calls=[search, search, create, create]), Reply("Azure."))
    assert made == ["search_records", "create_record", "create_record"], "two reads are one"

    async def refuses(_call):
        raise unknown("field", "emial", ["email"])

    journal.records["search_records"] = refuses
    await in_turn(journal, *[Reply(calls=[search])] * 2, Reply("There is none."))
    assert all("email" in one.text for one in journal.results[-2:])
    assert "made already" in journal.results[-1].text


async def test_what_may_have_changed_meanwhile_is_read_again(fake):
    """By a tool of somebody else, or by the person, who says so."""
    journal, made = MemoryJournal(), []

    async def finds(done):
        made.append(done.tool.name)
        return CallResult(outcome="ok", text="id | name\n7 | Azure")

    journal.records["search_records"] = finds
    search, add = call("search_records", model="a.b"), ("fake__add", {"a": 1, "b": 2})
    replies = [Reply(calls=[one]) for one in (search, add, search)]
    async with ScriptedLlm(*replies, Reply("Azure.")) as llm:
        request = request_of(llm, fake, tools=(*ALL, *tools_of(fake)))
        done = await Turn(request, journal=journal).run()
    assert [one.outcome for one in journal.results] == ["ok"] * 3
    assert done.result.text == "Azure." and len(made) == 2

    made.clear()
    journal.steering = [{"turn": 7, "message_id": 70, "content": "Look again, I have changed it."}]
    await in_turn(journal, *[Reply(calls=[search])] * 2, Reply("Azure."))
    assert len(made) == 2


async def test_who_stops_does_not_wait_for_a_query():
    journal = MemoryJournal()
    begun = asyncio.Event()

    async def sleeps(_call):
        begun.set()
        await asyncio.Event().wait()

    journal.records["search_records"] = sleeps
    async with ScriptedLlm(Reply(calls=[call("search_records", model="a.b")])) as llm:
        turn = Turn(request_of(llm, tools=ALL), journal=journal)
        running = asyncio.ensure_future(turn.run())
        await begun.wait()
        turn.stop.set()
        await asyncio.wait_for(running, 5)
    assert turn.result.state == "stopped" and journal.results[0].outcome == "cancelled"


async def test_a_change_that_asks_is_rehearsed_and_waits():
    journal = MemoryJournal({"delete_records": Verdict(kind="ask")})
    rehearsed = []

    async def rehearse(made):
        rehearsed.append(made.arguments["ids"])

    journal.records["delete_records"] = rehearse
    done = await in_turn(journal, Reply(calls=[call("delete_records", model="a.b", ids=[1])]))
    assert done.result.state == "waiting" and not journal.ended and rehearsed == [[1]]


async def test_nobody_is_asked_about_a_change_that_fails():
    journal = MemoryJournal({"delete_records": Verdict(kind="ask")})

    async def fails(_call):
        raise RecordError("It is in use.")

    journal.records["delete_records"] = fails
    asks = Reply(calls=[call("delete_records", model="a.b", ids=[1])])
    done = await in_turn(journal, asks, Reply("It cannot be deleted."))
    assert done.result.state == "done" and journal.results[0].text == "It is in use."


async def test_what_would_be_something_else_than_was_allowed_waits_again():
    journal = MemoryJournal()

    async def differs(_call):
        return None

    journal.records["delete_records"] = differs
    done = await in_turn(journal, Reply(calls=[call("delete_records", model="a.b", ids=[1])]))
    assert done.result.state == "waiting" and not journal.ended
