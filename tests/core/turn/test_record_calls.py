"""Calls of record tools in a turn: what a model is told, what waits, what is recorded once."""

import asyncio
import collections
import json
import random
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from runners import until
from turns import Turn, request_of, tools_of

from services import text
from services.approval import approval
from services.errors import LeaseLost
from services.records import catalog, id_check
from services.records.errors import ConnectionLost, RecordError, TryAgain, unknown
from services.specs import (
    CallResult,
    ClosingCall,
    GivenCall,
    Limits,
    ToolCall,
    TurnProgress,
    TurnResult,
    Verdict,
)
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm
from services.turn import journal
from services.turn.calls import Calls, Reports
from services.turn.interrupt import Interrupt
from services.turn.journal import TurnJournal
from services.turn.ports import Claim, NotNow
from services.turn.tools import TurnTools

ALL = tuple(tool.spec for tool in catalog.TOOLS.values())

DONE = CallResult(outcome="ok", text="Done.")


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


class SlowToBegin(MemoryJournal):
    """A store whose transactions end in any order."""

    async def begin_call(self, call):
        await asyncio.sleep(random.uniform(0, 0.02))
        return await super().begin_call(call)


@pytest.mark.parametrize("seed", range(3))
async def test_calls_on_records_are_made_in_the_order_of_the_answer(seed, fake):
    """What comes later may need what came before, also what waits for a person.

    Calls of servers wait for none of them.
    """
    random.seed(seed)
    journal, made = SlowToBegin({"delete_records": Verdict(kind="ask")}), []
    has_added = asyncio.Event()

    async def perform(done):
        made.append((done.tool.name, done.arguments["model"]))
        await has_added.wait()
        return CallResult(outcome="ok", text="Done.")

    async def rehearse(done):
        made.append((done.tool.name, done.arguments["model"]))

    journal.records |= dict.fromkeys(("search_records", "create_record"), perform)
    journal.records["delete_records"] = rehearse
    wanted = [
        ("create_record", "a.a", {"values": {"b": 1}}),
        ("search_records", "a.a", {}),
        ("delete_records", "a.b", {"ids": [1]}),
        ("create_record", "a.c", {"values": {"b": 2}}),
        ("search_records", "a.c", {}),
        ("delete_records", "a.d", {"ids": [1]}),
    ]
    calls = [call(name, model=model, **more) for name, model, more in wanted]
    calls.append(("fake__add", {"a": 1, "b": 2}))
    async with ScriptedLlm(Reply(calls=calls), Reply("Done.")) as llm:
        request = request_of(
            llm, fake, tools=(*ALL, *tools_of(fake)), question="What about record 1?"
        )
        turn = Turn(request, journal=journal)
        running = asyncio.ensure_future(turn.run())
        while not journal.of("tool_result"):
            await asyncio.sleep(0)
        has_added.set()
        await asyncio.wait_for(running, 10)
        assert turn.result.state == "waiting"
        in_order = [(name, model) for name, model, _more in wanted]
        assert made == [*in_order[:3], in_order[-1]], "what asks is asked, the rest comes after it"
        first = journal.of("tool_result")[0]["id"]
        assert first == journal.of("tool_call")[-1]["id"], "a server's call waits for none of them"
        assert len(journal.results) == 3

        made.clear()
        journal.verdicts, journal.records["delete_records"] = {}, perform
        again = await Turn(request, journal=journal, progress=turn.progress).run()
    assert again.result.state == "done" and made == in_order[2:]


async def test_what_is_read_behind_a_change_that_asks_is_read_after_it():
    """Else a model is told the old value, and an answer that a person allows is about nothing."""
    journal = MemoryJournal({"update_records": Verdict(kind="ask")})
    phone = ["before"]

    async def update(_call):
        phone[0] = "after"
        return DONE

    async def rehearse(_call):
        return None

    async def read(_call):
        return CallResult(outcome="ok", text=phone[0])

    journal.records = {"update_records": rehearse, "read_records": read}
    given = {"model": "a.b", "ids": [1]}
    calls = [call("update_records", **given, values={"phone": 1}), call("read_records", **given)]
    async with ScriptedLlm(Reply(calls=calls), Reply("Done.")) as llm:
        request = request_of(llm, tools=ALL, question="What about record 1?")
        turn = await Turn(request, journal=journal).run()
        assert (turn.result.state, journal.results) == ("waiting", [])
        journal.verdicts, journal.records["update_records"] = {}, update
        again = await Turn(request, journal=journal, progress=turn.progress).run()
    assert again.result.state == "done"
    assert [result.text for (result,) in journal.ended.values()] == ["Done.", "after"]


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
    known = id_check.known
    monkeypatch.setattr(id_check, "known", lambda *said: searched.append(1) or known(*said))

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


# ------------------------------------------------------------ tries, and their end


class Records:
    """A store of which only calls on records are asked; `tries` says what becomes of each, the last of all others."""

    def __init__(self, *tries, result=None):
        self.tries, self.made, self.losses, self.result = list(tries), 0, 0, result

    def perform_call(self, _claim, _call_id, _events=(), *, interrupt):
        self.made += 1
        said = self.tries.pop(0) if len(self.tries) > 1 else self.tries[0]
        if callable(said):
            said = said(interrupt)
        if isinstance(said, Exception):
            raise said
        return said

    read_records = perform_call

    def lose_call(self, _claim, _call_id):
        self.losses += 1
        return self.result, self.losses

    async def journal_call(self, interrupt=None):
        async def db(method, *args, **_options):
            return await asyncio.to_thread(method, *args)

        journal = TurnJournal(Claim(1, 1, 2), self, db, lambda *_: None)
        made = ToolCall(id="call_1", alias="x", round=1, arguments={})
        return await journal.perform_call(made, interrupt or Interrupt())


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(journal, "RECORD_PAUSE", 0.0)


async def test_a_record_that_others_keep_changing_is_given_up():
    store = Records(TryAgain())
    with pytest.raises(RecordError, match="Others keep changing"):
        await store.journal_call()
    assert store.made == journal.RECORD_TRIES

    store = Records(TryAgain(), TryAgain(), DONE)
    assert await store.journal_call() == DONE and store.made == 3


async def test_what_had_been_sent_is_not_sent_again():
    store = Records(TryAgain(has_left=True))
    with pytest.raises(RecordError) as failed:
        await store.journal_call()
    assert (store.made, failed.value.outcome) == (1, "unknown")


async def test_a_call_that_costs_the_connection_each_time_is_given_up_whoever_runs_it():
    store = Records(ConnectionLost())
    store.losses = 3  # of other runners
    with pytest.raises(RecordError, match="connection"):
        await store.journal_call()
    assert (store.made, store.losses) == (2, 5)

    store = Records(ConnectionLost(has_left=True), result=DONE)
    assert await store.journal_call() == DONE, "only the answer of its commit was lost"
    assert store.made == 1


@pytest.mark.parametrize("error", [NotNow(), RuntimeError("refused")])
async def test_a_change_of_which_nobody_knows_gives_no_number_again(error):
    """It may be on disk, with its event: only the next runner can read that."""
    store = Records(ConnectionLost())

    def refuse(*_):
        raise error

    store.lose_call = refuse
    with pytest.raises(LeaseLost):
        await store.journal_call()
    assert store.made == 1


async def test_nobody_tries_again_for_who_has_stopped():
    def meanwhile(interrupt):
        interrupt.set()
        return TryAgain()

    store = Records(meanwhile)
    with pytest.raises(RecordError):
        await store.journal_call()
    assert store.made == 1


def stuck(journal, name, stop):
    """A tool that waits until it is interrupted."""
    made, cancelled = [], threading.Event()

    async def waits(_call, interrupt):
        made.append(interrupt)
        stop()
        await asyncio.to_thread(waits_for, interrupt)
        raise RecordError("whatever was cut")

    def waits_for(interrupt):
        with interrupt.by(cancelled.set, cancelled.set):
            assert interrupt.is_set or cancelled.wait(60)

    journal.interruptible[name] = waits
    return made


@pytest.mark.parametrize("name", ["create_record", "search_records"])
@pytest.mark.parametrize("ends", ["stop", "time"])
async def test_a_stop_and_the_end_of_the_time_end_what_a_call_waits_for(name, ends):
    journal = MemoryJournal()
    values = {"values": {"name": "c"}} if name == "create_record" else {}
    async with ScriptedLlm(Reply(calls=[call(name, model="a.b", **values)]), Reply("Oh.")) as llm:
        limits = Limits(turn_tools_timeout=0.2 if ends == "time" else 60.0)
        turn = Turn(request_of(llm, tools=ALL, limits=limits), journal=journal)
        made = stuck(journal, name, turn.stop.set if ends == "stop" else lambda: None)
        done = await turn.run()
    assert made[0].is_set
    (result,) = journal.results
    assert result.outcome == ("cancelled" if ends == "stop" else "timeout")
    assert done.result.state == ("stopped" if ends == "stop" else "done")


def test_slow_calls_of_some_leave_threads_to_others(store, start):
    """Who waits for a thread waits without one, nobody has more than two, and the last one is for who has none."""
    gate, reading, most = threading.Event(), collections.Counter(), collections.Counter()

    def read_records(claim, _call_id, interrupt):
        reading[claim.person] += 1
        most[claim.person] = max(most[claim.person], reading[claim.person])
        if claim.person < 3:
            assert gate.wait(60)
        reading[claim.person] -= 1
        return DONE

    async def reads(_request, _progress, journal, _stop):
        made = ToolCall(id="call_1", alias="x", round=1, arguments={})
        await journal.read_records(made, Interrupt())
        return TurnResult(state="done")

    store.read_records = read_records
    for turn_id in range(1, 13):
        store.queue(turn_id, person=1 + turn_id % 2)
    runner = start(reads)
    until(lambda: (store.name, journal.RECORDS) in runner._lines, 30)
    line = runner._lines[store.name, journal.RECORDS]
    until(lambda: len(line._places._waiting) == 9, 30)
    for turn_id in (13, 14):
        store.queue(turn_id, person=3)
        runner.wake(store.name)
        assert store.wait_ended(turn_id).state == "done"
    assert sorted(reading.values()) == [0, 1, 2]
    gate.set()
    for turn_id in range(1, 13):
        assert store.wait_ended(turn_id).state == "done"
    assert max(most.values()) == 2


async def makes(request, progress, journal, stop):
    """A turn that makes one call on records: turns below 100 change something, the others read."""
    name, given = "search_records", {}
    if request.turn_id < 100:
        name, given = "create_record", {"values": {"name": "c"}}
    made = ToolCall(
        id=f"call_{request.turn_id}",
        alias=name,
        round=1,
        tool=catalog.TOOLS[name].spec,
        arguments={"model": "a.b", **given},
    )
    await journal.save_step(progress, (made,))
    calls = Calls(
        journal,
        TurnTools(request, None),
        stop,
        Reports(journal),
        budget=request.limits.turn_tools_timeout,
        deadline=time.monotonic() + 600,
    )
    await calls.run([made])
    return TurnResult(state="stopped" if stop.is_set() else "done")


@pytest.mark.parametrize("kind", ["change", "read"])
def test_a_stop_does_not_wait_for_the_thread_that_a_call_waits_for(store, start, kind):
    held, gate, made = threading.Semaphore(0), threading.Event(), []

    def blocks(claim, _call_id, _events=(), *, interrupt):
        made.append(claim.turn_id)
        held.release()
        assert gate.wait(60)
        return DONE

    store.perform_call = store.read_records = blocks
    first = 1 if kind == "change" else 101
    for turn_id in range(first, first + 3):
        store.queue(turn_id)
    runner = start(makes)
    try:
        assert held.acquire(timeout=30) and held.acquire(timeout=30)
        (last,) = set(store.turns) - set(made)
        line = runner._lines[store.name, journal.RECORDS]
        until(lambda: line._places._waiting, 30)
        runner.request_stop(store.name, last)
        assert store.wait_ended(last).state == "stopped"
        assert store.calls[f"call_{last}"]["result"].outcome == "cancelled"
        assert last not in made and len(store.endings) == 1
    finally:
        gate.set()


def test_an_interrupt_ends_what_is_waited_for_and_nothing_after_it():
    interrupt, cancelled = Interrupt(), threading.Event()

    def cancel():
        cancelled.set()

    with interrupt.by(cancel, cancel):
        interrupt.set()
        assert cancelled.wait(5)
    cancelled.clear()
    interrupt.set()
    interrupt.over.result(5)
    assert not cancelled.is_set()


class Blocked:
    """What a call does that waits outside the database, where nothing ends it; `gate` does, after the test."""

    def __init__(self, store, left=(), commits=False):
        self.is_in, self.is_cut, self.gate = (threading.Event() for _ in range(3))
        self.is_back = threading.Event()
        self._store, self._left, self._commits = store, left, commits
        store.perform_call, store.lose_call = self.perform_call, self.lose_call

    def perform_call(self, claim, call_id, numbered, *, interrupt):
        if self._commits:
            self._store.end_call(claim, call_id, DONE, numbered)
            self.is_in.set()
            self.gate.wait()
        with interrupt.by(lambda: None, self.is_cut.set):
            interrupt.left += self._left
            self.is_in.set()
            self.gate.wait()
        self.is_back.set()
        raise ConnectionLost

    def lose_call(self, _claim, call_id):
        assert self._commits or self.is_cut.is_set()
        return self._store.calls[call_id]["result"], 1


@pytest.mark.parametrize("left", [[], ["the network"]])
@pytest.mark.parametrize("ends", ["stop", "time"])
def test_a_change_that_waits_outside_the_database_is_given_up(store, start, ends, left):
    blocked = Blocked(store, left)
    store.limits = Limits(turn_tools_timeout=0.2 if ends == "time" else 600)
    store.queue(1)
    runner = start(makes)
    try:
        assert blocked.is_in.wait(30)
        if ends == "stop":
            runner.request_stop(store.name, 1)
        store.wait_ended(1)
        result = store.calls["call_1"]["result"]
        outcome = "unknown" if left else {"stop": "cancelled", "time": "timeout"}[ends]
        assert result.outcome == outcome and not blocked.is_back.is_set()
        assert runner._lines[store.name, journal.RECORDS]._places.in_use == 1, "its thread"
    finally:
        blocked.gate.set()
    assert blocked.is_back.wait(30)


def test_what_follows_a_commit_for_ever_costs_neither_the_result_nor_a_number(store, start):
    blocked = Blocked(store, commits=True)
    store.queue(1)
    runner = start(makes)
    try:
        assert blocked.is_in.wait(30)
        runner.request_stop(store.name, 1)
        assert store.wait_ended(1).state == "stopped"
        assert store.calls["call_1"]["result"] == DONE
        assert sorted(store.events[1]) == list(range(1, len(store.events[1]) + 1))
        assert store.types(1)[-2:] == ["tool_result", "done"]
        assert store.turns[1]["epoch"] == 1
    finally:
        blocked.gate.set()


def test_a_runner_that_stops_gives_the_turn_of_such_a_call_back(store, start):
    blocked = Blocked(store)
    store.queue(1)
    runner = start(makes)
    try:
        assert blocked.is_in.wait(30)
        runner.stop(0.1)
        assert store.turns[1]["state"] == "queued"
        assert blocked.is_cut.wait(30) and not blocked.is_back.is_set()
    finally:
        blocked.gate.set()


def test_a_process_ends_without_the_thread_of_a_call():
    code = (
        "import time\n"
        "from services.turn.queue.runner import executor\n"
        "executor('db', 'records').submit(time.sleep, 86_400)"
    )
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True, timeout=120)


# ------------------------------------------------------------ the call with the answer

CLOSING = ClosingCall(
    tool=catalog.TOOLS["post_message"].spec,
    arguments={"model": "res.partner", "id": 1},
    path=("body",),
)


async def closing(journal, *replies, progress=None):
    """A turn whose answer is posted; and the bodies that were."""
    posted = []

    async def post(made):
        posted.append(made.arguments["body"])
        return DONE

    journal.records["post_message"] = post
    async with ScriptedLlm(*replies) as llm:
        request = replace(request_of(llm, tools=ALL), closing=CLOSING)
        return await Turn(request, journal=journal, progress=progress).run(), posted


async def test_the_host_makes_a_call_with_the_answer_once():
    done, posted = await closing(MemoryJournal(), Reply("It is sunny."))
    assert (done.result.state, done.result.text, posted) == (
        "done",
        "It is sunny.",
        ["It is sunny."],
    )
    # The process died before the end was on disk: no model is asked again, and nothing is posted.
    again, posted = await closing(MemoryJournal(), progress=done.progress)
    assert (again.result.state, again.result.text, posted) == ("done", "It is sunny.", [])
    # A retry answers anew and takes over what was made.
    messages = done.progress.messages
    retry, posted = await closing(
        MemoryJournal(), Reply("It rains."), progress=TurnProgress(messages=messages)
    )
    assert (retry.result.text, posted) == ("It rains.", [])


async def test_the_call_with_the_answer_waits_for_its_decision_as_any_other():
    journal = MemoryJournal({"post_message": Verdict(kind="ask")})

    async def rehearse(made):
        return None

    journal.records["post_message"] = rehearse
    async with ScriptedLlm(Reply("It is sunny.")) as llm:
        request = replace(request_of(llm, tools=ALL), closing=CLOSING)
        waits = await Turn(request, journal=journal).run()
    assert waits.result.state == "waiting"
    allowed, posted = await closing(MemoryJournal(), progress=waits.progress)
    assert (allowed.result.state, posted) == ("done", ["It is sunny."])
    denied = MemoryJournal({"post_message": Verdict(kind="deny", reason="No.")})
    async with ScriptedLlm(Reply("It is sunny.")) as llm:
        request = replace(request_of(llm, tools=ALL), closing=CLOSING)
        done = await Turn(request, journal=denied).run()
    assert (done.result.state, done.result.text) == ("done", "It is sunny.")
    assert [result.outcome for result in denied.results] == ["denied"]


# ------------------------------------------------------------ the call that a program has asked for

GIVEN = GivenCall(
    alias="update_records",
    arguments={"model": "res.partner", "ids": [1], "values": {"city": "Linz"}},
)


async def given(journal, progress=None, tools=ALL):
    """A turn that makes one call, and the arguments with which it was made; no model is there to be asked."""
    made = []

    async def update(call):
        made.append(call.arguments)
        return DONE

    journal.records.setdefault("update_records", update)
    async with ScriptedLlm() as llm:
        request = replace(request_of(llm, tools=tools), given=GIVEN)
        turn = await Turn(request, journal=journal, progress=progress).run()
        assert llm.requests == []
    return turn, made


async def test_a_given_call_is_all_that_a_turn_does():
    done, made = await given(MemoryJournal())
    assert (done.result.state, made) == ("done", [dict(GIVEN.arguments)])
    again, made = await given(MemoryJournal(), progress=done.progress)
    assert (again.result.state, made) == ("done", [])


async def test_a_given_call_waits_for_its_decision_as_any_other():
    journal = MemoryJournal({"update_records": Verdict(kind="ask")})

    async def rehearse(_call):
        return None

    journal.records["update_records"] = rehearse
    waits, made = await given(journal)
    assert (waits.result.state, made) == ("waiting", [])
    allowed, made = await given(MemoryJournal(), progress=waits.progress)
    assert (allowed.result.state, made) == ("done", [dict(GIVEN.arguments)])
    denied = MemoryJournal({"update_records": Verdict(kind="deny", reason="No.")})
    done, made = await given(denied)
    assert (done.result.state, made, denied.results[0].outcome) == ("done", [], "denied")


async def test_a_given_call_of_a_tool_that_is_not_offered_is_not_made():
    journal = MemoryJournal()
    done, made = await given(journal, tools=())
    assert (done.result.state, made) == ("done", [])
    assert [result.outcome for result in journal.results] == ["unknown_tool"]
