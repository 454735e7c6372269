"""Results of a turn are cut before its requests are more than the model takes, the oldest first."""

import re
from dataclasses import replace
from types import SimpleNamespace

from turns import Turn, request_of

from services.context import budget, fitting
from services.specs import Context, Limits, TurnProgress
from services.testing.scripted_llm import Reply, ScriptedLlm
from services.turn import read_result
from services.turn.tools import TurnTools

LENGTH = 8_192


def call(number):
    calls = [{"id": f"call_{number}", "alias": "fake__read", "arguments": {}}]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(number, content):
    return {"role": "tool", "call_id": f"call_{number}", "content": content, "outcome": "ok"}


def messages(*contents):
    return [
        one
        for number, content in enumerate(contents)
        for one in (call(number), result(number, content))
    ]


def test_nothing_is_cut_that_fits():
    whole = messages("a" * 9_000, "b" * 9_000)
    assert fitting.fitted(whole, 9_000) == whole


def test_the_oldest_are_cut_first_and_the_new_one_least():
    first, second, last = (
        one
        for one in fitting.fitted(messages("a" * 9_000, "b" * 9_000, "c" * 9_000), 5_200)
        if one["role"] == "tool"
    )
    assert len(first["content"]) < 2_200 and first["truncated"]
    assert "read_result with id 'call_0' and start 2000" in first["content"]
    assert second["content"] == "b" * 9_000 and last["content"] == "c" * 9_000
    room = 3_000
    fitted = fitting.fitted(messages("a" * 9_000, "b" * 9_000, "界" * 9_000), room)
    assert budget.tokens_of(fitted) <= room
    assert len(fitted[-1]["content"]) > 2_200, "nobody has answered to it yet"


async def test_a_turn_goes_on_where_its_results_are_too_long_together():
    """Also where another process takes it up, or it is asked for once more."""
    progress = TurnProgress(
        started=True, messages=messages("大" * 9_000, "b" * 20_000), step=2, round=2
    )
    async with ScriptedLlm(Reply("Done.")) as llm:
        request = replace(request_of(llm), context=Context(limit=LENGTH, is_known=True))
        done = await Turn(request, progress=progress).run()
    assert done.result.state == "done"
    (sent,) = llm.requests
    assert sum(len((one["content"] or "").encode()) for one in sent["messages"]) < 4 * LENGTH
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["read_result"]
    assert len(done.progress.messages[3]["content"]) == 20_000, "on disk all of it stays"
    assert done.progress.context["used"] < LENGTH


async def sent_last(**context):
    """Characters of two results that a request holds when nothing is left of the rounds."""
    whole = messages("a" * 12_000, "b" * 16_000)
    async with ScriptedLlm(Reply("Done.")) as llm:
        request = replace(request_of(llm), context=Context(limit=LENGTH, **context))
        request = replace(request, limits=Limits(max_rounds=2))
        await Turn(request, progress=TurnProgress(started=True, messages=whole, round=2)).run()
    sent = "".join(str(one["content"]) for one in llm.requests[0]["messages"])
    return [len(max(re.findall(f"{sign}+", sent), key=len)) for sign in "ab"]


async def test_a_guess_cuts_nothing():
    assert await sent_last() == [12_000, 16_000]
    assert await sent_last(is_known=True) == [2_000, 16_000]


def test_who_takes_a_turn_up_offers_what_it_has_called():
    calls = [{"id": "call_1", "alias": read_result.NAME, "arguments": {"id": "call_0", "start": 9}}]
    tools = TurnTools(request_of(SimpleNamespace(base_url="http://127.0.0.1:9")), None)
    tools.take_in([{"role": "assistant", "content": "", "tool_calls": calls}])
    assert tools.resolve(read_result.NAME) == (read_result.TOOL, None)
