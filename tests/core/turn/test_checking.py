"""Answers of assistants that take facts from tools only."""

from dataclasses import replace

import pytest
from turns import Turn, request_of

from services.errors import BudgetExhausted
from services.specs import Limits
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import text
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm

SIGN = "not from a tool"


def tool(answer, **more):
    """A server's tool that answers always the same."""

    async def call(_call):
        return text(answer, **more)

    return {"look": (call, {"type": "object"})}


def shown(journal):
    """What a page shows at the end."""
    said = ""
    for event in journal.events:
        if event["type"] == "state":
            said = ""
        elif event["type"] == "text":
            said += event["content"]
    return said


async def checked(llm, fake=None, **options):
    more = {name: options.pop(name) for name in ("history", "pictures") if name in options}
    request = replace(request_of(llm, fake, **options), unsupported_sign=SIGN, **more)
    return await Turn(request).run()


async def test_an_invented_time_is_asked_for_again_with_the_tools():
    call = ("fake__look", {"city": "Lyon"})
    replies = Reply("It is 18:27 in Lyon."), Reply("", [call]), Reply("It is 10:42 in Lyon.")
    async with FakeMcp(tools=tool("10:42 in Lyon")) as fake, ScriptedLlm(*replies) as llm:
        done = await checked(llm, fake, question="What time is it in Lyon?")
    assert done.result.text == shown(done.journal) == "It is 10:42 in Lyon."
    assert [event.get("step") for event in done.journal.of("state")] == [0]
    invented, asked = llm.requests[1]["messages"][-2:]
    assert invented["content"] == "It is 18:27 in Lyon."
    assert "18:27" in asked["content"] and "What time is it in Lyon?" in asked["content"]
    assert llm.requests[1]["tools"]
    assert "18:27" not in str(llm.requests[2]["messages"])
    assert done.progress.usage["input_tokens"] == 30


async def test_what_comes_again_is_marked(fake):
    async with ScriptedLlm(Reply("It is **18:27**."), Reply("Sorry: it is **18:28**.")) as llm:
        done = await checked(llm, fake)
    said = "Sorry: it is **18:28** *(not from a tool)*."
    assert done.result.text == shown(done.journal) == done.progress.messages[-1]["content"] == said
    assert done.journal.of("text_block")[-1]["html"].endswith("<em>(not from a tool)</em>.</p>\n")
    assert len(llm.requests) == 2 and done.result.state == "done"


async def test_without_tools_it_is_marked_at_once():
    async with ScriptedLlm(Reply("It is 18:27.")) as llm:
        done = await checked(llm)
    assert done.result.text == "It is 18:27 *(not from a tool)*." and len(llm.requests) == 1


async def test_after_the_last_round_it_is_marked(fake):
    call = ("fake__echo", {"message": "Hi"})
    async with ScriptedLlm(Reply("", [call]), Reply("It is 18:27.")) as llm:
        done = await checked(llm, fake, limits=Limits(max_rounds=1))
    assert done.result.text == "It is 18:27 *(not from a tool)*." and len(llm.requests) == 2


async def test_the_marked_answer_is_what_pages_show():
    """The blocks of one text are numbered anew, and what was thought is shown once."""
    async with ScriptedLlm(Reply("<think>Hm.</think>One.\n\nIt is 18:27.")) as llm:
        done = await checked(llm)
    withdrawn = done.journal.events.index(done.journal.of("state")[0])
    again = done.journal.events[withdrawn + 1 :]
    assert [event["type"] for event in again] == ["thinking"] + 2 * ["text", "text_block"]
    assert [event["index"] for event in again[2::2]] == [0, 1]
    assert again[0]["content"] == "Hm."


async def test_values_of_the_question_and_of_instructions_are_held(fake):
    async with ScriptedLlm(Reply("You said 18:27, which is 6:27 PM.")) as llm:
        done = await checked(llm, fake, question="Remember 18:27")
    assert done.result.text == "You said 18:27, which is 6:27 PM." and len(llm.requests) == 1


async def test_an_error_that_repeats_what_was_invented_holds_nothing():
    failing = tool("No time zone Europe/Lyon was found (code 404).", isError=True)
    call = ("fake__look", {"zone": "Europe/Lyon"})
    answer = "There is no Europe/Lyon: code 404."
    replies = Reply("", [call]), Reply(answer), Reply(answer)
    async with FakeMcp(tools=failing) as fake, ScriptedLlm(*replies) as llm:
        done = await checked(llm, fake)
    assert done.result.text == "There is no Europe/Lyon *(not from a tool)*: code 404."


async def test_after_failed_calls_there_are_not_none():
    """After a call that failed, nobody knows whether there are any; after one that succeeded, it is its answer."""
    call, none = ("fake__look", {"state": "opened"}), "There are no open orders."
    async with (
        FakeMcp(tools=tool("Unknown state", isError=True)) as fake,
        ScriptedLlm(Reply("", [call]), Reply(none), Reply(none)) as llm,
    ):
        done = await checked(llm, fake)
    assert done.result.text == "There are no open orders *(not from a tool)*."
    assert "Your call failed" in llm.requests[2]["messages"][-1]["content"]

    async with (
        FakeMcp(tools=tool("[]")) as fake,
        ScriptedLlm(Reply("", [call]), Reply(none)) as llm,
    ):
        assert (await checked(llm, fake)).result.text == none


@pytest.mark.parametrize("said", ["There are no open orders", "目前沒有未結的訂單"])
async def test_a_marked_denial_of_an_earlier_answer_is_no_source(said):
    call = ("fake__look", {"state": "opened"})
    history = ({"role": "assistant", "content": f"{said} *(not from a tool)*."},)
    replies = Reply("", [call]), Reply(said), Reply(said)
    async with (
        FakeMcp(tools=tool("Unknown state", isError=True)) as fake,
        ScriptedLlm(*replies) as llm,
    ):
        done = await checked(llm, fake, history=history)
    assert done.result.text == f"{said} *(not from a tool)*"


async def test_a_marked_value_of_an_earlier_answer_stays_one(fake):
    history = (
        {"role": "user", "content": "What time is it in Lyon?"},
        {"role": "assistant", "content": "It is 18:27 *(not from a tool)*."},
        {"role": "user", "content": "Are you sure?"},
    )
    async with ScriptedLlm(Reply("Yes, 18:27."), Reply("Yes, 18:27.")) as llm:
        done = await checked(llm, fake, history=history)
    assert done.result.text == "Yes, 18:27 *(not from a tool)*."


async def test_a_provider_that_fails_when_asked_again_costs_the_answer_nothing(fake):
    async with ScriptedLlm(Reply("It is 18:27."), Reply(status=400), Reply(status=400)) as llm:
        done = await checked(llm, fake)
    assert done.result.state == "done"
    assert done.result.text == shown(done.journal) == "It is 18:27 *(not from a tool)*."
    assert done.progress.usage == {"input_tokens": 10, "output_tokens": 5}


async def test_a_budget_that_ends_before_it_is_asked_again_costs_the_answer_nothing(fake):
    class Poor(MemoryJournal):
        async def reserve(self, request, spent):
            if self.reserved:
                raise BudgetExhausted
            return await super().reserve(request, spent)

    async with ScriptedLlm(Reply("It is 18:27.")) as llm:
        request = replace(request_of(llm, fake), unsupported_sign=SIGN)
        done = await Turn(request, journal=Poor()).run()
    said = "It is 18:27 *(not from a tool)*."
    assert done.result.text == shown(done.journal) == done.progress.messages[-1]["content"] == said
    assert len(llm.requests) == 1


async def test_a_stop_while_it_is_asked_again_costs_the_answer_nothing(fake):
    def stopping(_body):
        turn.stop.set()
        return Reply("late", wait=30)

    async with ScriptedLlm(Reply("It is 18:27."), stopping) as llm:
        turn = Turn(replace(request_of(llm, fake), unsupported_sign=SIGN))
        await turn.run()
    assert turn.result.text == shown(turn.journal) == "It is 18:27 *(not from a tool)*."


@pytest.mark.parametrize("pictures", [({"mimetype": "image/png", "data": "aGk="},), ()])
async def test_what_a_picture_shows_cannot_be_checked(pictures):
    question = {"role": "user", "content": "Read the clock.", "pictures": pictures}
    async with ScriptedLlm(Reply("It is 18:27.")) as llm:
        done = await checked(llm, history=(question,), supports_vision=True)
    assert ("not from a tool" in done.result.text) is not bool(pictures)


async def test_other_assistants_are_not_checked(fake):
    async with ScriptedLlm(Reply("It is 18:27.")) as llm:
        done = await Turn(request_of(llm, fake)).run()
    assert done.result.text == "It is 18:27." and len(llm.requests) == 1
