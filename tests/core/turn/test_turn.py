import asyncio

import pytest
from turns import Turn, request_of, tools_of, turn

from services import const
from services.specs import Limits, ToolSpec, TurnProgress, Verdict
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import OBJECT, text
from services.testing.memory_journal import MemoryJournal
from services.testing.scripted_llm import Reply, ScriptedLlm, chunk
from services.turn.calls import Calls


async def test_plain_answer(fake):
    async with ScriptedLlm(Reply("# 你好\n\nIt is **sunny**.\n\n- a\n- b")) as llm:
        done = await turn(llm, fake)
    journal = done.journal
    assert (
        done.result.state == "done"
        and done.result.text == journal.text == "# 你好\n\nIt is **sunny**.\n\n- a\n- b"
    )
    started = journal.events[0]
    assert started["type"] == "turn_started" and started["assistant"] == "Ada"
    assert started["tools"] == len(fake.tools) and started["servers"] == [
        {"name": "fake", "state": "idle"}
    ]
    blocks = journal.of("text_block")
    assert [block["index"] for block in blocks] == [0, 1, 2]
    assert blocks[1]["html"] == "<p>It is <strong>sunny</strong>.</p>\n"
    assert done.progress.usage == {"input_tokens": 10, "output_tokens": 5}
    assert done.progress.step == 1 and done.progress.round == 0


async def test_request_to_the_endpoint(fake):
    async with ScriptedLlm(Reply("ok")) as llm:
        await turn(llm, fake, temperature=0.3, max_tokens=77)
    body, headers = llm.requests[0], llm.headers[0]
    assert headers["authorization"] == "Bearer secret-key"
    assert (
        body["model"] == "scripted"
        and body["stream"]
        and body["stream_options"] == {"include_usage": True}
    )
    assert body["temperature"] == 0.3 and body["max_tokens"] == 77
    assert body["messages"] == [
        {"role": "system", "content": "You are Ada."},
        {"role": "user", "content": "Hello?"},
    ]
    assert [tool["function"]["name"] for tool in body["tools"]] == [
        f"fake__{name}" for name in fake.tools
    ]


async def test_the_environment_changes_nothing(fake, monkeypatch):
    for name in (
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "OPENAI_PROXY",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "LANGSMITH_API_KEY"):
        monkeypatch.setenv(name, "leak")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leak")
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:1")
    async with ScriptedLlm(Reply("ok")) as llm:
        assert (await turn(llm, fake)).result.state == "done"
    assert "leak" not in str(llm.headers) and "openai-organization" not in llm.headers[0]


async def test_one_round(fake):
    async with ScriptedLlm(
        Reply("Let me look. ", [("fake__echo", {"message": "台北"})]), Reply("It says 台北.")
    ) as llm:
        done = await turn(llm, fake)
    assert done.result.text == "It says 台北."
    assert [r.outcome for r in done.journal.results] == ["ok"] and done.journal.results[
        0
    ].text == "台北"
    assert done.journal.types() == [
        "turn_started",
        "text",
        "text_block",
        "tool_call",
        "tool_result",
        "text",
        "text_block",
    ]
    assert [event["step"] for event in done.journal.of("text_block")] == [0, 1]
    assert done.progress.round == 1 and done.progress.step == 2
    asked, answered = llm.requests[1]["messages"][2:]
    assert asked["content"] == "Let me look. "
    assert asked["tool_calls"][0]["function"] == {
        "name": "fake__echo",
        "arguments": '{"message": "台北"}',
    }
    assert (
        answered["tool_call_id"] == asked["tool_calls"][0]["id"] and answered["content"] == "台北"
    )
    assert (
        asked["tool_calls"][0]["id"].startswith("call_") and len(asked["tool_calls"][0]["id"]) == 37
    )


async def test_parallel_calls_take_as_long_as_the_slowest(fake):
    calls = [("fake__slow", {"seconds": 1.5})] * 3 + [("fake__add", {"a": 1, "b": 2})]
    async with ScriptedLlm(Reply(calls=calls), Reply("done")) as llm:
        done = await turn(llm, fake)
    assert [r.text for r in done.journal.results] == ["slept", "slept", "slept", "3"]
    assert 1.5 <= done.progress.tools_seconds < 4.5
    assert len({call.id for call in done.journal.begun}) == 4


async def test_prompt_prefix_stays_the_same_over_rounds(fake):
    async with ScriptedLlm(
        Reply(calls=[("fake__count", {})]), Reply(calls=[("fake__count", {})]), Reply("2")
    ) as llm:
        await turn(llm, fake)
    first, second, third = llm.requests
    assert first["tools"] == second["tools"] == third["tools"]
    assert third["messages"][: len(second["messages"])] == second["messages"]


async def test_after_the_last_round_it_sums_up_without_tools(fake):
    async with ScriptedLlm(
        lambda body: (
            Reply(calls=[("fake__count", {})]) if body.get("tools") else Reply("I counted to 2.")
        )
    ) as llm:
        done = await turn(llm, fake, limits=Limits(max_rounds=2))
    assert done.result.state == "done" and done.result.text == "I counted to 2."
    assert done.progress.round == 2 and len(llm.requests) == 3
    assert "tools" not in llm.requests[-1]
    assert "all rounds" in llm.requests[-1]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("call", "outcome", "said"),
    [
        (("fake__nope", {}), "unknown_tool", "fake__nope"),
        (("fake__echo", {}), "invalid_args", "message"),
        (("fake__add", {"a": "x", "b": 1}), "invalid_args", "a: 'x' is not of type"),
        (("fake__echo", '{"message": "cut'), "invalid_args", "JSON"),
        (("fake__echo", "[1, 2]"), "invalid_args", "JSON"),
        (("fake__echo", '{"message": NaN}'), "invalid_args", "JSON"),
        (("fake__fail", {}), "error", "it went wrong"),
        (("fake__lines", {"count": 3000}), "ok", "第 2999 行"),
    ],
)
async def test_outcomes(fake, call, outcome, said):
    async with ScriptedLlm(Reply(calls=[call]), Reply("I see.")) as llm:
        done = await turn(llm, fake)
    assert done.result.state == "done"
    (result,) = done.journal.results
    assert result.outcome == outcome and said in result.text
    message = next(m for m in done.progress.messages if m["role"] == "tool")
    assert message["outcome"] == outcome and len(message["content"]) <= 24_000
    assert llm.requests[1]["messages"][-1]["content"].startswith(result.text)


async def test_cut_call_is_not_run_although_its_arguments_parse(fake):
    async with ScriptedLlm(
        Reply(calls=[("fake__echo", {"message": "x"})], finish="length"), Reply("Too long.")
    ) as llm:
        done = await turn(llm, fake)
    assert done.journal.results[0].outcome == "invalid_args" and not fake.calls


async def test_halves_of_characters_are_put_together_or_left_out(fake):
    halves = Reply(
        calls=[("fake__echo", {"message": "a\ud83d"}), ("fake__add", '{"a": 1e999, "b": 1}')],
        raw=(chunk({"content": "Hi \ud83d"}), chunk({"content": "\ude00 \ude00"})),
    )
    async with ScriptedLlm(halves, Reply("Done.")) as server:
        done = await turn(server, fake)
    assert done.result.state == "done" and done.journal.text == "Hi 😀 Done."
    assert done.journal.results[0].text == "a"
    assert [r.outcome for r in done.journal.results] == ["ok", "invalid_args"]
    assert "Hi 😀" in str(server.requests[1]["messages"])


async def test_picture_becomes_an_attachment(fake):
    async with ScriptedLlm(Reply(calls=[("fake__picture", {})]), Reply("Nice.")) as llm:
        done = await turn(llm, fake)
    (result,) = done.journal.results
    assert result.attachments[0]["mimetype"] == "image/png" and "image-1.png" in result.text


async def test_progress_events(fake):
    async with ScriptedLlm(Reply(calls=[("fake__progress", {})]), Reply("Done.")) as llm:
        done = await turn(llm, fake)
    steps = done.journal.of("tool_progress")
    assert steps[0]["message"] == "step 1" and steps[-1]["progress"] == steps[-1]["total"] == 3
    assert all(step["id"] == done.journal.begun[0].id for step in steps)


async def test_denied_and_done_calls_do_not_run(fake):
    journal = MemoryJournal(
        {"echo": Verdict(kind="deny", reason="Switched off."), "count": Verdict(kind="run")}
    )
    async with ScriptedLlm(
        Reply(calls=[("fake__echo", {"message": "x"}), ("fake__count", {})]), Reply("ok")
    ) as llm:
        done = await turn(llm, fake, journal=journal)
    assert [r.outcome for r in journal.results] == ["denied", "ok"]
    assert [name for _, name, _ in fake.calls] == ["count"]
    assert done.progress.messages[1]["content"] == "Switched off."


async def test_one_broken_schema_and_one_dead_server_cost_only_themselves(fake):
    from services.specs import ServerSpec

    bad = ToolSpec(
        id=90, server_id=1, name="bad", alias="fake__bad", input_schema={"type": "array"}
    )
    dead = ToolSpec(id=91, server_id=2, name="x", alias="dead__x")
    orphan = ToolSpec(id=92, server_id=3, name="y", alias="gone__y")
    async with ScriptedLlm(
        Reply(calls=[("dead__x", {}), ("fake__count", {}), ("fake__bad", {})]), Reply("Half of it.")
    ) as llm:
        request = request_of(llm, fake, tools=(*tools_of(fake), bad, dead, orphan))
        servers = (*request.servers, ServerSpec(id=2, name="dead", url="http://127.0.0.1:9/mcp"))
        object.__setattr__(request, "servers", servers)
        done = await Turn(request).run()
    assert [r.outcome for r in done.journal.results] == ["error", "ok", "unknown_tool"]
    assert done.result.text == "Half of it."
    assert [notice["code"] for notice in done.journal.of("notice")] == ["tool_skipped"] * 2


async def test_call_timeout_and_exhausted_budget(fake):
    from conftest import spec_of

    slow = ("fake__slow", {"seconds": 30})
    async with ScriptedLlm(
        Reply(calls=[slow]), Reply(calls=[slow]), Reply(calls=[slow]), Reply("Sorry.")
    ) as llm:
        done = await turn(
            llm, fake, server=spec_of(fake, call_timeout=0.2), limits=Limits(turn_tools_timeout=0.3)
        )
    results = done.journal.results
    assert [r.outcome for r in results] == ["timeout"] * 3
    assert "used up" in results[-1].text and done.progress.tools_seconds < 10
    assert sum(name == "slow" for _, name, _ in fake.calls) == 2
    await fake.until(lambda: len(fake.cancelled) >= 1)


async def test_merged_names_missing_ids_and_objects_as_arguments(fake):
    raw = (
        chunk(
            {
                "tool_calls": [
                    {"index": 0, "function": {"name": "fake__echo", "arguments": '{"mess'}}
                ]
            }
        ),
        chunk(
            {
                "tool_calls": [
                    {"index": 0, "function": {"name": "fake__echo", "arguments": 'age": "a"}'}}
                ]
            }
        ),
        chunk(
            {
                "tool_calls": [
                    {"index": 1, "function": {"name": "fake__echo", "arguments": {"message": "b"}}}
                ]
            }
        ),
        chunk({"content": [{"type": "text", "text": "in parts"}]}),
        chunk({}, "tool_calls"),
        "[DONE]",
    )
    async with ScriptedLlm(Reply(finish=None, raw=raw), Reply("ok")) as llm:
        done = await turn(llm, fake)
    assert sorted(r.text for r in done.journal.results) == ["a", "b"]
    assert done.progress.messages[0]["content"] == "in parts"


async def test_what_is_sent_meanwhile_enters_between_two_steps(fake):
    calls = [("fake__add", {"a": 1, "b": 2})]
    journal = MemoryJournal()
    journal.steering = [{"turn": 7, "message_id": 70, "content": "In Tainan, please."}]
    async with ScriptedLlm(Reply(calls=calls), Reply(calls=calls), Reply("Done.")) as llm:
        done = await turn(llm, fake, journal=journal)
    assert done.result.text == "Done."
    roles = [message["role"] for message in llm.requests[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    sent = [m["content"] for m in llm.requests[2]["messages"] if m["role"] == "user"]
    assert sent == ["Hello?", "In Tainan, please."], "once, and where it entered"
    assert journal.of("steered") == [
        {"type": "steered", "turn_id": 7, "content": "In Tainan, please.", "message_id": 70}
    ]
    assert "In Tainan" not in str(llm.requests[0])


async def test_a_turn_that_died_after_it_was_saved_goes_on_with_it(fake):
    async with ScriptedLlm(Reply(calls=[("fake__add", {"a": 1, "b": 2})]), Reply("Done.")) as llm:
        journal = MemoryJournal()
        journal.steering = [{"turn": 7, "message_id": None, "content": "More."}]
        await turn(llm, fake, journal=journal)
        saved = next(p for p in journal.saved if p.messages[-1]["role"] == "user")
        again = await turn(llm, fake, progress=saved)
    assert again.result.state == "done"
    assert [m["content"] for m in llm.requests[-1]["messages"]].count("More.") == 1


async def test_what_could_not_enter_is_left_for_the_next_answer(fake):
    """Its log would not tell of what its transcript says, and the message would count as read."""

    class Refusing(MemoryJournal):
        async def save_step(self, progress, calls=(), more_events=()):
            if more_events:
                raise ValueError("refused")
            await super().save_step(progress, calls, more_events)

    journal, progress = Refusing(), TurnProgress()
    journal.steering = [{"turn": 7, "message_id": None, "content": "More."}]
    async with ScriptedLlm(Reply(calls=[("fake__add", {"a": 1, "b": 2})])) as llm:
        with pytest.raises(ValueError, match="refused"):
            await turn(llm, fake, journal=journal, progress=progress)
    assert [message["role"] for message in progress.messages] == ["assistant", "tool"]


async def test_one_person_has_so_many_results_in_memory_and_no_more(monkeypatch):
    """A result counts until it is on disk, however quickly its tool has answered."""
    monkeypatch.setattr(const, "MAX_CALLS_OF_ONE", 6)
    started, most, on_disk = [], [], asyncio.Event()

    class SlowJournal(MemoryJournal):
        async def end_call(self, call, result):
            if len(started) >= 6:
                on_disk.set()
            await on_disk.wait()
            await super().end_call(call, result)

    async def quick(_call):
        started.append(1)
        most.append(len(started) - sum(map(len, journal.ended.values())))
        return text("quick")

    journal = SlowJournal()
    replies = (Reply(calls=[("fake__quick", {})] * 20), Reply("Done."))
    async with FakeMcp(tools={"quick": (quick, OBJECT)}) as fake, ScriptedLlm(*replies) as llm:
        ran = await turn(llm, fake, journal=journal)
    assert (ran.result.state, len(started)) == ("done", 20)
    assert max(most) == 6


async def test_a_result_that_is_on_disk_is_kept_only_as_the_model_reads_it(monkeypatch):
    """A turn may wait long for the last of its calls."""
    kept, run = [], Calls.run

    async def spied(self, calls):
        results, seconds = await run(self, calls)
        kept.extend(results.values())
        return results, seconds

    async def long(_call):
        return text("word " * 50_000)

    monkeypatch.setattr(Calls, "run", spied)
    replies = (Reply(calls=[("fake__long", {})]), Reply("Done."))
    async with FakeMcp(tools={"long": (long, OBJECT)}) as fake, ScriptedLlm(*replies) as llm:
        ran = await turn(llm, fake)
    (on_disk,), (result,) = ran.journal.results, kept
    assert on_disk.display and on_disk.whole
    assert (result.text, result.display, result.whole) == (on_disk.text, "", "")
