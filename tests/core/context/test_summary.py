"""Earlier turns are summed up by the model before it is asked, once."""

import asyncio
from dataclasses import replace

from turns import Turn, request_of

from services.context import budget, summary
from services.llm import client
from services.specs import Compaction, Context, LlmSpec
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm

SAID = ({"role": "user", "content": "Where to?"}, {"role": "assistant", "content": "Tainan."})
EVENT = "conversation_summary"


def requested(llm, *, is_command=False, **changes):
    request = request_of(llm, question="And now?")
    compaction = Compaction(
        messages=SAID,
        kept=(),
        until=7,
        path="p",
        count=summary.count(SAID),
        room=1_000,
        **changes,
    )
    context = Context(limit=4_000, compaction=compaction, is_command=is_command)
    return replace(request, history=(*SAID, *request.history), context=context)


def asked(llm, index=-1):
    return [m["content"] for m in llm.requests[index]["messages"]]


async def test_what_is_asked_builds_on_it():
    async with ScriptedLlm(Reply("To Tainan."), Reply("Fine.")) as llm:
        done = await Turn(requested(llm, note="the city")).run()
    assert done.result.state == "done"
    _system, question = asked(llm, 0)
    assert "Person: Where to?" in question and '"the city"' in question
    _system, head, ready, last = asked(llm)
    assert head.endswith("To Tainan.") and ready == summary.READY and last == "And now?"
    first = done.journal.saved[0]
    assert first.summary["path"] == "p" and first.step == 0, "on disk before anything builds on it"
    (event,) = [event for event in done.journal.events if event["type"] == EVENT]
    assert (event["content"], event["until"], event["messages"]) == ("To Tainan.", 7, 2)
    held = done.progress.context
    assert held["used"] == held["definitions"] + held["summary"] + held["messages"]
    assert done.progress.usage["input_tokens"] == 20, "both are paid for"


async def test_the_question_is_asked_as_it_stands():
    async with ScriptedLlm(Reply("To Tainan."), Reply("Fine.")) as llm:
        request = requested(llm)
        record = {"role": "user", "content": "And now?\n\nS00042: to Tainan"}
        await Turn(replace(request, history=(*SAID, record))).run()
    assert asked(llm)[-1].endswith("S00042: to Tainan"), "what a record says is added late"


async def test_another_model_sums_up_where_the_first_is_down(monkeypatch):
    monkeypatch.setattr(client, "RETRY_DELAY", 0.01)
    for is_command in (False, True):
        async with (
            ScriptedLlm(Reply(status=503)) as down,
            ScriptedLlm(Reply("To Tainan."), Reply("Fine.")) as up,
        ):
            request = requested(down, is_command=is_command)
            instead = LlmSpec(id=2, base_url=up.base_url, model="other")
            llm = replace(request.llm, fallback=instead)
            done = await Turn(replace(request, llm=llm)).run()
        assert (done.result.state, done.progress.llm) == ("done", 2)
        assert done.progress.summary["event"]["model"] == "other"
        assert not done.progress.summary_failures
        assert [notice["code"] for notice in done.journal.of("notice")] == ["provider_fallback"]


async def test_people_read_it_as_markdown_without_what_runs():
    said = "## Decided\n\n- <b onclick=x>Tainan</b> [now](javascript:x)"
    async with ScriptedLlm(Reply(said), Reply("Fine.")) as llm:
        done = await Turn(requested(llm)).run()
    (event,) = [event for event in done.journal.events if event["type"] == EVENT]
    assert event["content"] == said and "<h2>Decided</h2>" in event["html"]
    assert "<b" not in event["html"] and "href" not in event["html"]


async def test_a_failure_costs_the_turn_nothing():
    empty = Reply(" ")  # which is asked for once more
    for script in ([Reply(status=400, error="no")], [empty, empty], [Reply("x", cut=True)]):
        async with ScriptedLlm(*script, Reply("Fine.")) as llm:
            done = await Turn(requested(llm, failures=2, left_out=True)).run()
        assert (done.result.state, done.progress.summary) == ("done", {})
        assert done.progress.summary_failures == 3
        assert asked(llm)[1:] == ["Where to?", "Tainan.", "And now?"]
        codes = [event.get("code") for event in done.journal.events]
        assert "not_summed_up" in codes


async def test_a_command_asks_for_nothing_else():
    async with ScriptedLlm(Reply("To Tainan.")) as llm:
        done = await Turn(requested(llm, is_command=True)).run()
        assert (done.result.state, done.result.text, len(llm.requests)) == ("done", "", 1)
        context = replace(done.request.context, compaction=None)
        again = await Turn(replace(done.request, context=context), progress=done.progress).run()
        assert (again.result.state, len(llm.requests)) == ("done", 1)
    notices = [event for event in again.journal.events if event["type"] == "notice"]
    assert notices == [], "there was something to sum up"


async def test_a_command_that_fails_says_so():
    async with ScriptedLlm(Reply(status=400, error="no")) as llm:
        done = await Turn(requested(llm, is_command=True)).run()
    assert done.result.state == "failed" and done.result.error


async def test_stop_ends_it():
    for is_command in (False, True):
        async with ScriptedLlm(Reply("To Tainan.", wait=20.0)) as llm:
            turn = Turn(requested(llm, is_command=is_command))
            running = asyncio.ensure_future(turn.run())
            await llm.arrived.wait()
            turn.stop.set()
            await running
        assert turn.result.state == "stopped"
        assert not turn.progress.summary and not turn.progress.summary_failures


async def test_a_turn_that_has_said_something_is_not_begun_anew():
    call = {"role": "assistant", "content": "One moment.", "tool_calls": []}
    async with ScriptedLlm(Reply("Fine.")) as llm:
        turn = Turn(requested(llm))
        turn.progress.started, turn.progress.messages = True, [call]
        await turn.run()
    assert llm.requests == [] and not turn.progress.summary


async def test_what_the_model_says_is_capped():
    async with ScriptedLlm(Reply("x" * 50_000, piece=5_000), Reply("Fine.")) as llm:
        done = await Turn(requested(llm), journal=MemoryJournal()).run()
    assert len(done.progress.summary["event"]["content"]) <= summary.MAX_CHARS
    assert budget.tokens_of(summary.as_messages("x" * summary.MAX_CHARS)) <= summary.MAX_TOKENS


def test_of_too_much_the_latest_is_read():
    messages = [{"role": "user", "content": f"{number} " + "x" * 400} for number in range(50)]
    said = summary.written(messages, 1_000)
    assert said.startswith(summary.LEFT_OUT) and "Person: 49 " in said
    assert budget.text.tokens(said) < 1_100


def test_calls_and_results_are_told():
    call = {"id": "a", "alias": "shop__order", "arguments": {"city": "Tainan"}}
    said = summary.written(
        [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "call_id": "a", "content": "S00042 " + "x" * 9_000, "outcome": "ok"},
        ],
        9_000,
    )
    assert "calls shop__order with" in said and "Tainan" in said and "S00042" in said
    assert len(said) < 2_500
