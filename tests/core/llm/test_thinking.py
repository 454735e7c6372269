"""Models that think aloud: it is shown apart from the answer, and never sent back."""

import json

import pytest
from turns import turn

from services.llm import thinking
from services.testing.fake_mcp import FakeMcp
from services.testing.scripted_llm import Reply, ScriptedLlm, chunk


def thought_of(done):
    said = [e for e in done.journal.events if e["type"] == "thinking"]
    return "".join(event["content"] for event in said)


def raw(*deltas):
    return Reply(raw=tuple(chunk(delta) for delta in deltas))


ALOUD = {
    "a field of its own": Reply("It is 4.", thinking="Two and two …"),
    "the field's other name": raw({"reasoning": "Two and two …"}, {"content": "It is 4."}),
    "tags": Reply("<think>Two and two …</think>\n\nIt is 4.", piece=3),
    "parts of the content": raw(
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Two and "}]}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "two …"}]}]},
        {"content": [{"type": "text", "text": "It is 4."}]},
    ),
}


@pytest.mark.parametrize("protocol", ["native", "prompt"])
@pytest.mark.parametrize("how", ALOUD)
async def test_it_is_told_apart_from_the_answer(how, protocol):
    async with ScriptedLlm(ALOUD[how]) as llm:
        done = await turn(llm, tool_protocol=protocol)
    assert (done.result.state, done.result.text) == ("done", "It is 4.")
    assert (thought_of(done), done.journal.text) == ("Two and two …", "It is 4.")
    message = done.progress.messages[-1]
    assert message["thinking"] == "Two and two …"
    last = [e for e in done.journal.events if e["type"] == "thinking"][-1]
    assert message["thinking_ms"] == last["ms"] >= 0


@pytest.mark.parametrize("protocol", ["native", "prompt"])
async def test_it_comes_before_the_answer_and_is_never_sent_back(protocol):
    call = ("fake__add", {"a": 1, "b": 2})
    asks = (
        Reply(calls=[call], thinking="Secret plan.")
        if protocol == "native"
        else Reply(
            json.dumps({"tool_calls": [{"name": call[0], "arguments": call[1]}]}),
            thinking="Secret plan.",
        )
    )
    async with FakeMcp() as fake, ScriptedLlm(asks, Reply("It is 3.")) as llm:
        done = await turn(llm, fake, tool_protocol=protocol)
    kinds = [event["type"] for event in done.journal.events]
    assert kinds.index("thinking") < kinds.index("tool_call")
    assert done.result.text == "It is 3." and len(llm.requests) == 2
    assert "Secret plan" not in json.dumps(llm.requests)


async def test_a_tag_that_is_not_closed_hides_nothing_for_ever():
    async with ScriptedLlm(Reply("<think>Hm …")) as llm:
        done = await turn(llm)
    assert thought_of(done) == "Hm …"
    assert (done.result.state, done.result.error.code) == ("failed", "llm_protocol_error")


@pytest.mark.parametrize("said", ["<thing> is a tag.", "  <", "Use <think> so.", "<b>x</b>"])
async def test_what_only_looks_like_it_is_the_answer(said):
    async with ScriptedLlm(Reply(said, piece=1)) as llm:
        done = await turn(llm)
    assert (done.result.text, thought_of(done)) == (said, "")


async def test_endless_thinking_is_kept_up_to_a_cap():
    async with ScriptedLlm(Reply("Yes.", thinking="x" * 100_000, piece=10_000)) as llm:
        done = await turn(llm)
    assert len(thought_of(done)) == thinking.MAX_KEPT and done.result.text == "Yes."
