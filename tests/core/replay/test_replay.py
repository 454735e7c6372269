"""Replays of turns: recorded results, expectations, and no real call whatever the model asks for."""

import asyncio
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from services.errors import LlmError
from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.replay import recordings
from services.replay.expectations import Expectation, Seen, failures, includes, matches
from services.replay.recordings import Recording
from services.replay.replay import ReplaySpec, run
from services.specs import CallResult, LlmSpec, ServerSpec, ToolSpec, TurnRequest
from services.testing.fake_mcp import FakeMcp
from services.testing.memory_ledger import MemoryLedger
from services.testing.scripted_llm import Reply, ScriptedLlm
from services.turn.ai_client import run_turn
from services.turn.tools import TurnTools

ROOT = Path(__file__).resolve().parents[3]
TAIPEI = {"city": "Taipei"}
SUNNY = Recording("forecast", TAIPEI, "ok", "Sunny, 31 degrees.")
POLICY = EgressPolicy.parse("127.0.0.1:*")
TOOL = ToolSpec(
    id=1, server_id=1, name="forecast", alias="weather__forecast", input_schema={"type": "object"}
)
FIND = ToolSpec(id=0, server_id=0, name="search_records", alias="search_records", records="read")
CHANGE = ToolSpec(id=0, server_id=0, name="update_records", alias="update_records", records="write")


class Bed:
    """A scripted model, a recording server and the engine."""

    def __init__(self, llm, server, **spec):
        request = TurnRequest(
            turn_id=1,
            conversation_id=1,
            assistant="Helper",
            llm=LlmSpec(id=1, base_url=llm.base_url, model="test"),
            system_prompt="Be brief.",
            history=({"role": "user", "content": "Weather in Taipei?"},),
            servers=(ServerSpec(id=1, name="weather", url=server.url),),
            tools=spec.pop("tools", (TOOL,)),
        )
        self.spec = ReplaySpec(request=request, **spec)
        self.live = []
        self.ledger = MemoryLedger()
        self.stop = asyncio.Event()
        self.judge = "PASS It is kind."

    async def run(self):
        pool = Pool(POLICY)

        async def turn(request, progress, journal, stop):
            return await run_turn(request, progress, journal, TurnTools(request, pool), stop)

        async def live(call):
            self.live.append(call.arguments)
            return CallResult(outcome="ok", text="3 records")

        async def reply(request, _timeout, _faults, kind):
            assert kind == "judge"
            if isinstance(self.judge, Exception):
                raise self.judge
            self.judged = request.history[0]["content"]
            return type("Answer", (), {"text": self.judge})

        try:
            return await run(self.spec, turn, live, reply, self.ledger, self.stop)
        finally:
            await pool.close()


async def replayed(script, **spec):
    """:return: the bed, its outcome, the connections that the server has got, and the model"""
    judge = spec.pop("verdict", None)
    async with FakeMcp() as server, ScriptedLlm(*script) as llm:
        if "judged_by" in spec:
            spec.pop("judged_by")
            spec["judge"] = LlmSpec(id=2, base_url=llm.base_url, model="judge")
        bed = Bed(llm, server, **spec)
        bed.judge = judge or bed.judge
        outcome = await bed.run()
        return bed, outcome, server.connections, llm


def asks(name, arguments):
    return Reply(calls=[(name, arguments)])


async def test_a_recorded_result_is_read_and_no_server_is_asked():
    script = [asks("weather__forecast", {"city": "Taipei", "unit": None}), Reply("Sunny: 31.")]
    expected = (
        Expectation(kind="called", tool="forecast", arguments={"city": "Tai*"}),
        Expectation(kind="contains", text="sunny"),
        Expectation(kind="value", number=31),
        Expectation(kind="no_question"),
    )
    _bed, outcome, connections, llm = await replayed(script, recorded=(SUNNY,), expected=expected)
    assert outcome.failures == ()
    assert connections == 0
    assert "Sunny, 31 degrees." in str(llm.requests[1]["messages"])
    assert outcome.seen.calls == [
        ("forecast", "weather__forecast", {"city": "Taipei", "unit": None})
    ]


async def test_an_unknown_call_is_said_and_never_made():
    script = [asks("weather__forecast", {"city": "Tainan"}), Reply("I cannot say.")]
    _bed, outcome, connections, _llm = await replayed(script, recorded=(SUNNY,))
    assert outcome.failures == ('No recorded result for “forecast” with {"city": "Tainan"}.',)
    assert connections == 0


async def test_records_are_read_live_and_never_changed():
    script = [
        asks("search_records", {"model": "res.partner"}),
        asks("update_records", {"model": "res.partner", "values": {}}),
        Reply("Done."),
    ]
    tools = (FIND, CHANGE)
    bed, outcome, _connections, _llm = await replayed(script, tools=tools, is_live=True)
    assert bed.live == [{"model": "res.partner"}]
    assert [said.split("“")[1].split("”")[0] for said in outcome.failures] == ["update_records"]
    bed, outcome, _connections, _llm = await replayed(script[:1] + script[2:], tools=tools)
    assert (bed.live, len(outcome.failures)) == ([], 1)


async def test_questions_follow_each_other():
    script = [Reply("Sunny."), Reply("Rain.")]
    bed, outcome, _connections, llm = await replayed(script, questions=("And tomorrow?",))
    assert outcome.seen.answer == "Rain."
    said = [message["content"] for message in llm.requests[1]["messages"]]
    assert said[-3:] == ["Weather in Taipei?", "Sunny.", "And tomorrow?"]
    assert outcome.failures == () and bed.spec.questions


async def test_a_call_that_would_ask_is_a_question():
    script = [asks("weather__forecast", TAIPEI), Reply("Sunny.")]
    spec = {
        "recorded": (SUNNY,),
        "asks": {"weather__forecast"},
        "expected": (Expectation(kind="no_question"),),
    }
    _bed, outcome, _connections, _llm = await replayed(script, **spec)
    assert outcome.failures == ("The user would have been asked: forecast.",)


async def test_the_same_call_gets_one_result_after_the_other():
    later = SUNNY._replace(text="Rain.")
    found = recordings.Recordings([SUNNY, later])
    said = [found.take("forecast", TAIPEI).text for _ in range(3)]
    assert said == ["Sunny, 31 degrees.", "Rain.", "Rain."]
    assert found.take("alerts", TAIPEI) is None


async def test_an_error_of_the_model_fails_the_test():
    _bed, outcome, _connections, _llm = await replayed([Reply(status=401)])
    assert len(outcome.failures) == 1


async def test_a_stop_has_no_verdict():
    async with FakeMcp() as server, ScriptedLlm(Reply("Hi", wait=30)) as llm:
        bed = Bed(llm, server)
        running = asyncio.ensure_future(bed.run())
        await llm.arrived.wait()
        bed.stop.set()
        outcome = await running
    assert outcome.is_stopped and outcome.failures == ()


@pytest.mark.parametrize(
    ("verdict", "failed"),
    [("PASS It is.", 0), ("**PASS** It is.", 0), ("FAIL It is not.", 1), (LlmError("Away."), 1)],
)
async def test_a_judge_has_a_word(verdict, failed):
    spec = {"judged_by": True, "rubric": "Is it kind?", "verdict": verdict}
    _bed, outcome, _connections, _llm = await replayed([Reply("Hello.")], **spec)
    assert len(outcome.failures) == failed
    assert outcome.verdict == str(verdict)


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        (Expectation(kind="called", tool="alerts"), "The tool “alerts” was not called."),
        (
            Expectation(kind="called", tool="forecast", arguments={"city": "Tainan"}),
            "No call of “forecast” had the expected arguments. The last one had"
            ' {"city": "Taipei"}.',
        ),
        (Expectation(kind="not_called", tool="forecast"), "The tool “forecast” was called."),
        (Expectation(kind="contains", text="rain"), "The answer does not contain “rain”."),
        (Expectation(kind="not_contains", text="S*nny"), "The answer contains “S*nny”."),
        (Expectation(kind="value", text="Acme"), "The answer does not contain “Acme”."),
        (Expectation(kind="value", number=32), "The answer does not contain the value 32."),
        (Expectation(kind="tokens", number=9), "It took 10 tokens, more than 9."),
        (Expectation(kind="seconds", number=1.5), "It took 2.0 s, more than 1.5 s."),
    ],
    ids=lambda one: one.kind if isinstance(one, Expectation) else "",
)
def test_each_expectation_says_what_is_missing(expected, sentence):
    seen = Seen(
        answer="Sunny, 31.",
        calls=[("forecast", "weather__forecast", TAIPEI)],
        tokens=10,
        seconds=2.0,
    )
    assert failures([expected], seen) == [sentence]


def test_patterns_and_subsets():
    assert matches("*", "") and matches("a*a", "aba") and not matches("a*a", "a")
    assert includes({"ids": [1, 2.0]}, {"ids": [2]}) and not includes({"ids": []}, {"ids": [2]})
    assert includes({"a": {"b": None}}, {"a": {"b": None}}) and not includes({}, {"a": None})
    assert matches("a*" * 2000, "a" * 4000)  # in a moment, as no regular expression would


def test_what_is_kept_has_a_limit():
    row = {"tool": "forecast", "arguments": TAIPEI, "outcome": "ok", "text": "x"}
    long = {**row, "text": "x" * recordings.MAX_CHARS}
    kept = recordings.fitting([row] * (recordings.MAX_RESULTS + 1))
    assert len(kept) == recordings.MAX_RESULTS
    assert recordings.read(kept)[1] == ""
    assert recordings.read(recordings.fitting([long] * 20))[1] == ""
    assert recordings.read([long])[1] == "too_long"
    assert recordings.read([row] * 51)[1] == "too_many"
    assert recordings.read("x")[1] == recordings.read({})[1] == "not_a_list"
    assert recordings.read([{**row, "tool": 3}])[1] == "not_a_result"
    assert recordings.read([{**row, "outcome": "fine"}])[1] == "not_a_result"


DEMO = tomllib.loads((ROOT / "dev/demo/assistant_tests.toml").read_text())


def of_demo(about):
    """What the demo makes of a test without Odoo."""
    recorded, problem = recordings.read(about.get("recorded", []))
    assert problem == ""
    called = about.get("called", {})
    arguments = json.loads(called.get("arguments", "{}"))
    expected = [Expectation(kind="not_called", tool=name) for name in about.get("not_called", ())]
    if called:
        expected.append(Expectation(kind="called", tool=called["tool"], arguments=arguments))
    if said := about.get("contains"):
        expected.append(Expectation(kind="contains", text=said))
    return tuple(recorded), tuple(expected)


def test_the_demo_has_twelve_tests_of_each_assistant():
    assert {name: len(tests) for name, tests in DEMO.items()} == {
        "ai_assistant_demo": 12,
        "ai_assistant_sales": 12,
        "ai_assistant_orders": 12,
    }
    for about in (one for tests in DEMO.values() for one in tests):
        assert of_demo(about)[1] or about["value"], about["name"]


async def test_the_demo_s_tests_tell_a_worse_version_from_a_good_one():
    """With a model that does as it is told, and one that calls nothing."""
    passed = {"good": 0, "worse": 0}
    for about in DEMO["ai_assistant_demo"]:
        recorded, expected = of_demo(about)
        _first, *others = [part.strip() for part in about["questions"].split("---")]
        tools = tuple(
            replace(TOOL, name=one.tool, alias=f"weather__{one.tool}") for one in recorded
        )

        def good(body, recorded=recorded, others=others):
            last = body["messages"][-1]
            if last["role"] == "tool":
                return Reply(last["content"])
            is_due = recorded and (not others or last["content"] in others)
            if not is_due:
                return Reply("Hello.")
            return asks(f"weather__{recorded[0].tool}", recorded[0].arguments)

        for name, script in (("good", good), ("worse", lambda _body: Reply("Yes."))):
            spec = {"tools": tools, "recorded": recorded, "expected": expected}
            _bed, outcome, _connections, _llm = await replayed(
                [script], **spec, questions=tuple(others)
            )
            passed[name] += not outcome.failures
    assert passed == {"good": 12, "worse": 2}
