"""Reading on in results that were cut, and what the person hears of odd ones."""

import re
from dataclasses import replace

from turns import Turn, request_of, tools_of, turn

from services import text
from services.mcp.discovery import content
from services.specs import CallResult, TurnProgress, Verdict
from services.testing.fake_tools import OBJECT
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm
from services.turn import read_result

LINES = ("fake__lines", {"count": 6000})


def names(body):
    return [tool["function"]["name"] for tool in body["tools"]]


def test_the_cut_says_where_to_read_on():
    whole = "".join(f"row {n}\n" for n in range(9_000))
    read = content.read(
        {"content": [{"type": "text", "text": whole}]}, llm_cap=24_000, ui_cap=100, handle="call_9"
    )
    assert len(read.text) <= 24_000 and read.whole == whole and read.truncated
    start = int(re.search(r"read_result with id 'call_9' and start (\d+)", read.text)[1])
    assert whole.startswith(read.text[:start]) and read.text[start:].startswith("\n\n[...")


def test_parts_follow_each_other_without_a_gap():
    whole, start, seen = "x" * 45_000 + "end", 0, ""
    while True:
        said = read_result.part(whole, "call_1", start).text
        body, _, note = said.rpartition("\n\n[")
        seen += body
        if "This is the end" in note:
            break
        start = int(re.search(r"start (\d+)\.", note)[1])
    assert seen == whole


def test_a_start_that_is_not_there():
    for start in (-1, 3, "1", None, True):
        assert read_result.part("abc", "call_1", start).outcome == "invalid_args"


async def test_the_tool_is_offered_once_something_was_cut(fake):
    answer = CallResult(outcome="ok", text="the rest", display="the rest")
    journal = MemoryJournal({read_result.NAME: Verdict(kind="answered", result=answer)})
    async with ScriptedLlm(
        Reply("", [LINES]),
        Reply("", [("read_result", {"id": "call_1", "start": 9})]),
        Reply("done"),
    ) as llm:
        done = await turn(llm, fake, journal=journal)
    first, second, third = llm.requests
    assert "read_result" not in names(first)
    assert names(second) == names(third) == [*names(first), "read_result"]
    assert [r.text for r in journal.results][1] == "the rest"
    assert third["messages"][-1]["content"] == "the rest"
    assert fake.calls[-1][1] == "lines" and done.result.text == "done"


async def test_it_is_offered_in_later_turns_and_after_a_restart(fake):
    cut = {"role": "tool", "call_id": "c", "content": "…", "outcome": "ok", "truncated": True}
    asked = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "alias": "fake__lines", "arguments": {}}],
    }
    async with ScriptedLlm(Reply("ok"), Reply("ok")) as llm:
        request = request_of(llm, fake)
        earlier = {"role": "user", "content": "Before?"}
        later = Turn(_with_history(request, earlier, asked, cut))
        await later.run()
        await turn(llm, fake, progress=TurnProgress(started=True, step=1, messages=[asked, cut]))
    assert all("read_result" in names(body) for body in llm.requests)


def _with_history(request, *messages):
    return replace(request, history=(*messages, *request.history))


async def test_an_odd_structured_result_is_told_and_used(fake):
    schema = {"type": "object", "properties": {"temp": {"type": "string"}}, "required": ["wind"]}
    (tool,) = tools_of(fake, only=["structured"])
    tools = (replace(tool, output_schema=schema),)
    async with ScriptedLlm(Reply("", [("fake__structured", {})]), Reply("ok")) as llm:
        done = await turn(llm, fake, tools=tools)
    (notice,) = done.journal.of("notice")
    assert notice["code"] == "unexpected_result"
    assert "temp" in notice["message"] and "wind" in notice["message"]
    assert done.journal.results[0].outcome == "ok" and done.result.state == "done"


async def test_a_promised_or_unpromised_result_is_not_told(fake):
    fits = {"type": "object", "properties": {"temp": {"type": "integer"}}}
    (tool,) = tools_of(fake, only=["structured"])
    for schema in (fits, OBJECT, {}, {"$ref": "https://example.com/x"}, {"type": 5}):
        async with ScriptedLlm(Reply("", [("fake__structured", {})]), Reply("ok")) as llm:
            done = await turn(llm, fake, tools=(replace(tool, output_schema=schema),))
        assert not done.journal.of("notice"), schema


def test_cap_without_a_handle_is_as_before():
    assert "read_result" not in text.cap("x" * 500, 200)
