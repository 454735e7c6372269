"""Ten servers of fifty tools in one turn: what fits is offered, the rest is looked up, by whoever runs the turn."""

import json
from dataclasses import replace

import pytest
from conftest import spec_of
from turns import Turn, request_of

from services.errors import LeaseLost
from services.specs import Limits, ToolSpec
from services.testing.fake_mcp import FakeMcp
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm
from services.toolset import definition
from services.turn.names import make_aliases
from services.turn.tools import TurnTools

THINGS = (
    "order",
    "invoice",
    "parcel",
    "ticket",
    "patient",
    "ship",
    "song",
    "field",
    "train",
    "coin",
)
VERBS = ("list", "create", "update", "delete", "export")
PARTS = ("head", "line", "note", "price", "owner", "photo", "label", "route", "draft", "seal")
SCHEMA = {"type": "object", "properties": {"id": {"type": "string", "description": "Which one"}}}
LAST = "coin__export_seal_coin"


async def answer(_call):
    return {"content": [{"type": "text", "text": "done"}]}


def names_of(thing):
    return [f"{verb}_{part}_{thing}" for verb in VERBS for part in PARTS]


@pytest.fixture
async def many():
    """Ten servers, which are one."""
    tools = {name: (answer, SCHEMA) for thing in THINGS for name in names_of(thing)}
    async with FakeMcp(tools=tools) as server:
        yield server


def request_for(llm, many, *, things=THINGS, question="Export the seal of coin 7.", **options):
    servers = [replace(spec_of(many), id=n, name=thing) for n, thing in enumerate(things, 1)]
    pairs = [(n, name) for n, thing in enumerate(things, 1) for name in names_of(thing)]
    aliases = make_aliases([(things[n - 1], name) for n, name in pairs])
    tools = [
        ToolSpec(
            id=number,
            server_id=server,
            name=name,
            alias=alias,
            description=f"Can {name.replace('_', ' ')}.",
            input_schema=SCHEMA,
        )
        for number, ((server, name), alias) in enumerate(zip(pairs, aliases, strict=True), 1)
    ]
    request = request_of(llm, tools=tuple(tools), question=question, **options)
    return replace(request, servers=tuple(servers))


def offered(body):
    return [tool["function"]["name"] for tool in body.get("tools", ())]


def finding(*queries):
    return Reply(calls=[("find_tools", {"queries": list(queries)})])


CALLING = Reply(calls=[(LAST, {"id": "7"})])


async def test_the_last_of_five_hundred_is_found_and_called(many):
    async with ScriptedLlm(finding("export the seal of a coin"), CALLING, Reply("Done.")) as llm:
        done = await Turn(request_for(llm, many)).run()
    assert done.result.text == "Done."
    assert [name for _, name, _ in many.calls] == ["export_seal_coin"]
    first, second, third = llm.requests
    assert offered(first) == ["find_tools", "describe_tools"]
    assert offered(second)[:2] == offered(first) and LAST in offered(second)
    assert offered(third) == offered(second), "what a provider has cached stays the beginning"
    calls = done.journal.of("tool_call")
    assert [(call["tool"], call["round"]) for call in calls] == [
        ("find_tools", 1),
        ("export_seal_coin", 2),
    ]
    assert done.progress.round == 2
    tokens = sum(map(definition.tokens, second["tools"]))
    assert tokens < 8_000 and tokens < 0.15 * sum(
        definition.tokens(definition.function(tool)) for tool in done.request.tools
    )


async def test_the_catalogue_names_each_server_outside_of_the_system_prompt(many):
    async with ScriptedLlm(Reply("Hello.")) as llm:
        done = await Turn(request_for(llm, many)).run()
    (body,) = llm.requests
    told = body["tools"][0]["function"]["description"]
    assert len(told) <= definition.MAX_DESCRIPTION
    assert all(f"{thing} (50): " in told for thing in THINGS)
    assert body["messages"][0] == {"role": "system", "content": "You are Ada."}
    (notice,) = done.journal.of("notice")
    assert notice["message"].startswith("500 tools of 10 servers are available.")
    assert done.journal.of("turn_started")[0]["tools"] == 500


async def test_what_fits_is_offered_at_once(many):
    async with ScriptedLlm(Reply("Hello.")) as llm:
        done = await Turn(request_for(llm, many, things=THINGS[:1])).run()
    assert len(offered(llm.requests[0])) == 50
    assert not done.journal.of("notice")


async def test_whoever_takes_the_turn_up_offers_the_same(many):
    script = finding("export seal coin", "create an invoice's note"), CALLING, Reply("Done.")
    async with ScriptedLlm(*script) as llm:
        done = await Turn(request_for(llm, many)).run()
        for saved in done.journal.saved[1:-1]:
            tools = TurnTools(done.request, None)
            tools.take_in(saved.messages)
            assert tools.functions == llm.requests[1]["tools"]


async def test_a_look_up_that_a_crash_has_cut_is_made_by_the_next(many):
    async with ScriptedLlm(finding("export seal coin"), CALLING, Reply("Done.")) as llm:
        request = request_for(llm, many)
        cut = MemoryJournal(lose_at="begin_call", error=LeaseLost())
        with pytest.raises(LeaseLost):
            await Turn(request, journal=cut).run()
        done = await Turn(request, progress=cut.saved[-1]).run()
    assert done.result.text == "Done." and [name for _, name, _ in many.calls] == [
        "export_seal_coin"
    ]


async def test_a_later_turn_starts_with_what_was_called_before(many):
    async with ScriptedLlm(Reply("Hello.")) as llm:
        request = request_for(llm, many)
        earlier = [
            {"role": "user", "content": "Export it."},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "call_1", "alias": LAST, "arguments": {}}],
            },
            {"role": "tool", "call_id": "call_1", "content": "done", "outcome": "ok"},
        ]
        done = await Turn(replace(request, history=(*earlier, *request.history))).run()
    assert offered(llm.requests[0]) == ["find_tools", "describe_tools", LAST]
    assert not done.journal.of("notice"), "said once a conversation"


async def test_a_name_that_was_guessed_right_is_called_and_offered(many):
    async with ScriptedLlm(CALLING, Reply("Done.")) as llm:
        done = await Turn(request_for(llm, many)).run()
    assert [r.outcome for r in done.journal.results] == ["ok"]
    assert offered(llm.requests[1])[-1] == LAST


async def test_what_cannot_be_called_is_not_found(many):
    async with ScriptedLlm(finding("export seal coin")) as llm:
        request = request_for(llm, many, limits=Limits(max_rounds=1))
        *rest, last = request.tools
        broken = replace(last, input_schema={"type": "array"})
        gone = replace(last, problem="It is gone.")
        for tool in (broken, gone, replace(last, is_blocked=True)):
            done = await Turn(replace(request, tools=(*rest, tool))).run()
            (found,) = done.journal.results
            assert "coin__export" in found.text and LAST not in found.text


async def test_what_nobody_wanted_for_longest_makes_room(many):
    limits = Limits(definition_tokens=800, max_rounds=9)
    queries = [f"list the head of a {thing}" for thing in THINGS[:5]]
    async with ScriptedLlm(*(finding(query) for query in queries), Reply("Done.")) as llm:
        done = await Turn(request_for(llm, many, limits=limits)).run()
    for number, body in enumerate(llm.requests[1:]):
        found = body["tools"][2:]
        assert sum(map(definition.tokens, found)) <= limits.definition_tokens // 2
        assert f"{THINGS[number]}__list_head_{THINGS[number]}" in offered(body)
    assert "order__list_head_order" not in offered(llm.requests[-1])
    assert "more" in json.loads(done.journal.results[0].text)


async def test_a_whole_definition_can_be_read(many):
    asking = Reply(calls=[("describe_tools", {"names": [LAST, "nothing"]})])
    async with ScriptedLlm(asking, Reply("Done.")) as llm:
        done = await Turn(request_for(llm, many)).run()
    shown, unknown = json.loads(done.journal.results[0].text)
    assert shown["name"] == LAST and shown["arguments"] == SCHEMA
    assert unknown == {"name": "nothing", "problem": "There is no such tool."}
    assert LAST in offered(llm.requests[1])


async def test_what_was_cut_can_be_read_where_all_is_offered(many):
    async with ScriptedLlm(Reply("Hello.")) as llm:
        request = request_for(llm, many, things=THINGS[:1])
        first, *rest = request.tools
        long = replace(first, description="It does this. " * 100 + "Never call it twice.")
        await Turn(replace(request, tools=(long, *rest))).run()
    (body,) = llm.requests
    assert body["tools"][0]["function"]["description"].endswith("It does this. …")
    assert offered(body)[-1] == "describe_tools"


async def test_no_tool_costs_more_than_all_may(many):
    words = {f"seal coin {n}": {"type": "string"} for n in range(3_000)}
    async with ScriptedLlm(finding("export seal coin")) as llm:
        request = request_for(llm, many, limits=Limits(max_rounds=1))
        *rest, last = request.tools
        huge = replace(last, input_schema={"type": "object", "properties": words})
        done = await Turn(replace(request, tools=(*rest, huge))).run()
    found = json.loads(done.journal.results[0].text)
    assert LAST not in found["tools"] and LAST in str(found["more"])


async def test_what_models_ask_wrongly_gets_a_sentence(many):
    wrong = [{}, {"queries": "coin"}, {"queries": []}, {"queries": ["x"] * 99}, {"queries": [""]}]
    async with ScriptedLlm(
        Reply(calls=[("find_tools", arguments) for arguments in wrong]), Reply("Sorry.")
    ) as llm:
        done = await Turn(request_for(llm, many)).run()
    outcomes = {r.text: r.outcome for r in done.journal.results}
    assert sorted(outcomes.values()) == ["invalid_args"] * (len(outcomes) - 1) + ["ok"]
    assert any("No tool fits" in said for said in outcomes)


async def test_words_of_the_prompt_find_too(many):
    async with ScriptedLlm(
        Reply(
            json.dumps(
                {
                    "tool_calls": [
                        {"name": "find_tools", "arguments": {"queries": ["export seal coin"]}}
                    ]
                }
            )
        ),
        Reply(json.dumps({"tool_calls": [{"name": LAST, "arguments": {"id": "7"}}]})),
        Reply("Done."),
    ) as llm:
        done = await Turn(request_for(llm, many, tool_protocol="prompt")).run()
    assert done.result.text == "Done." and [name for _, name, _ in many.calls] == [
        "export_seal_coin"
    ]
