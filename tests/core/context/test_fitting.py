"""Results of a turn are cut before its requests are more than the model takes, the oldest first."""

from dataclasses import replace

from turns import Turn, request_of

from services.context import budget, fitting
from services.specs import Context, TurnProgress
from services.testing.scripted_llm import Reply, ScriptedLlm

LENGTH = 8_192


def call(number):
    calls = [{"id": f"call_{number}", "alias": "fake__read", "arguments": {}}]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(number, content):
    return {"role": "tool", "call_id": f"call_{number}", "content": content}


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
        request = replace(request_of(llm), context=Context(limit=LENGTH))
        done = await Turn(request, progress=progress).run()
    assert done.result.state == "done"
    (sent,) = llm.requests
    assert sum(len((one["content"] or "").encode()) for one in sent["messages"]) < 4 * LENGTH
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["read_result"]
    assert len(done.progress.messages[3]["content"]) == 20_000, "on disk all of it stays"
    assert done.progress.context["used"] < LENGTH
