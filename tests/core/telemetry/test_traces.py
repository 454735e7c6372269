"""What a collector is told of turns: spans, how they hang together, and nothing that anybody has said."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import POLICY
from memory_store import MemoryStore
from memory_store import request_of as bare_request
from test_concurrency import in_child
from turns import request_of, tools_of

from dev import processes
from dev.setup import extras
from services import traces
from services.mcp.pool.pool import Pool
from services.mcp.session.call_options import CallOptions
from services.specs import ToolCall, Verdict
from services.telemetry import otel
from services.testing.fake_tools import OBJECT, text
from services.testing.scripted_llm import Reply, ScriptedLlm
from services.turn.ai_client import run_turn
from services.turn.tools import TurnTools

ROOT = Path(__file__).parents[3]
SAID = "between-us"  # by people, models and servers
CALL = [("fake__look", {"message": SAID})]
REQUEST = bare_request(1)
TOOL_CALL = ToolCall(id="call_1", alias="x", round=1)


class Store(MemoryStore):
    """:ivar verdict: of the host, for each call that has no result yet"""

    request = None
    verdict = Verdict(kind="run")

    def load(self, claim):
        return replace(super().load(claim), request=self.request)

    def take_steering(self, claim, known):
        return []

    def begin_call(self, claim, asked):
        known = super().begin_call(claim, asked)
        return known if known.kind == "done" else self.verdict

    def go_on(self, turn_id):
        """Somebody has decided."""
        with self.changed:
            del self.endings[turn_id]
            self.turns[turn_id].update(state="queued")
            self.changed.notify_all()


async def engine(request, progress, journal, stop):
    pool = Pool(POLICY)
    try:
        return await run_turn(request, progress, journal, TurnTools(request, pool), stop)
    finally:
        await pool.close()


@pytest.fixture
def store():
    return Store()


@pytest.fixture(scope="module", autouse=True)
def sdk():
    """The optional packages, for these tests only."""
    path = str(extras.folder())
    sys.path.insert(0, path)
    yield
    sys.path.remove(path)


@pytest.fixture
def memory():
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    return InMemorySpanExporter()


@pytest.fixture
def traced(memory):
    """``traced()`` begins; gives what was told, by name."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    def begin(**options):
        traces.install(otel.OtelTracer(SimpleSpanProcessor(memory), **options))

    yield begin
    traces.install(None)


def told(memory, name):
    return [span for span in memory.get_finished_spans() if span.name == name]


@pytest.fixture
async def fake(fake):
    """Its tool `look` shows what came beside the arguments."""

    async def look(call):
        fake.metas.append(call.params.get("_meta"))
        return text(SAID)

    fake.metas = []
    fake.tools["look"] = (look, OBJECT)
    return fake


async def run(store, start, llm, fake, turn_id=1, **options):
    """Let a new runner take the turn; its ending."""
    if not store.request:
        tools = tools_of(fake)
        request = request_of(llm, fake, question=SAID, tools=tools, **options)
        store.request = replace(request, turn_id=turn_id, conversation_id=7, key=f"one/{turn_id}")
        store.queue(turn_id)
    runner = start(engine)
    ending = await asyncio.to_thread(store.wait_ended, turn_id)
    await asyncio.to_thread(runner.stop, 5)
    return ending


async def test_a_turn_its_model_its_tool_and_its_server_are_one_tree(
    store, start, fake, memory, traced
):
    traced()
    async with ScriptedLlm(Reply(calls=CALL), Reply(SAID)) as llm:
        assert (await run(store, start, llm, fake, max_tokens=50)).state == "done"
    (turn,) = told(memory, "invoke_agent Ada")
    first, second = told(memory, "chat scripted")
    (tool,) = told(memory, "execute_tool look")
    (opening,) = told(memory, "initialize")
    assert len(memory.get_finished_spans()) == 5
    assert turn.parent is None
    below = {turn.context.span_id: [first, tool, second], tool.context.span_id: [opening]}
    for parent, spans in below.items():
        assert [span.parent.span_id for span in spans] == [parent] * len(spans)
        assert {span.context.trace_id for span in spans} == {turn.context.trace_id}
    assert turn.start_time < first.start_time <= first.end_time <= tool.start_time
    assert dict(turn.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "Ada",
        "gen_ai.conversation.id": "7",
        "woow_ai.turn.id": 1,
        "woow_ai.turn.attempt": 1,
        "woow_ai.turn.state": "done",
    }
    assert dict(second.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": 50,
        "gen_ai.response.model": "scripted",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
    }
    assert dict(first.attributes) == {
        **second.attributes,
        "gen_ai.response.finish_reasons": ("tool_calls",),
    }
    assert dict(opening.attributes) == {"mcp.method.name": "initialize", "woow_ai.server.id": 1}
    (call_id,) = store.calls
    assert dict(tool.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.type": "extension",
        "woow_ai.server.id": 1,
        "woow_ai.call.outcome": "ok",
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2025-11-25",
        "network.transport": "tcp",
    }
    assert [span.kind.name for span in (turn, first, tool, opening)] == [
        "INTERNAL",
        "CLIENT",
        "CLIENT",
        "CLIENT",
    ]
    (meta,) = fake.metas
    trace_id, span_id = f"{tool.context.trace_id:032x}", f"{tool.context.span_id:016x}"
    assert meta["traceparent"] == f"00-{trace_id}-{span_id}-01"


async def test_both_eras_carry_it_beside_what_else_is_there(any_fake, traced):
    metas = []

    async def look(call):
        metas.append(call.params["_meta"])
        return text("")

    any_fake.tools["look"] = (look, OBJECT)
    pool = Pool(POLICY)
    options = CallOptions(on_progress=lambda *_: None)
    traced()
    with traces.opening(any_fake.spec):
        await pool.call(any_fake.spec, 1, "look", {}, timeout=30, options=options)
    traces.install(None)
    await pool.call(any_fake.spec, 1, "look", {}, timeout=30, options=options)
    await pool.close()
    with_it, without = metas
    assert "progressToken" in with_it and set(with_it) - set(without) == {"traceparent"}


async def test_what_goes_wrong_has_a_kind(store, start, fake, memory, traced):
    traced()
    fake.tools["look"] = (fake.tools["fail"][0], OBJECT)
    wrong = [*CALL, (f"fake__{SAID}", {}), ("fake__add", {"a": SAID})]
    replies = (Reply(calls=wrong), Reply(status=401, error=SAID))
    async with ScriptedLlm(*replies) as llm:
        assert (await run(store, start, llm, fake)).state == "failed"
    kinds = {}
    for span in memory.get_finished_spans():
        kinds.setdefault(span.name, []).append(span.attributes.get("error.type"))
        assert (span.status.status_code.name == "ERROR") == ("error.type" in span.attributes)
    assert kinds == {
        "invoke_agent Ada": ["llm_auth_failed"],
        "chat scripted": [None, "llm_auth_failed"],
        "execute_tool look": ["tool_error"],
        "execute_tool add": ["invalid_args"],
        "execute_tool": ["unknown_tool"],
        "initialize": [None],
    }
    written = json.dumps([span.to_json() for span in memory.get_finished_spans()])
    assert SAID not in written and "secret-key" not in written


async def test_a_server_that_is_not_there_is_the_cause(store, start, fake, memory, traced):
    traced()
    await fake.stop()
    async with ScriptedLlm(Reply(calls=CALL), Reply("Sorry.")) as llm:
        assert (await run(store, start, llm, fake)).state == "done"
    for name in ("execute_tool look", "initialize"):
        assert told(memory, name)[0].attributes["error.type"] == "connect_failed"


async def test_after_a_wait_another_runner_goes_on_in_the_same_trace(
    store, start, fake, memory, traced
):
    traced()
    store.verdict = Verdict(kind="ask")
    async with ScriptedLlm(Reply(calls=CALL), Reply(SAID)) as llm:
        assert (await run(store, start, llm, fake)).state == "waiting"
        (begun,) = told(memory, "invoke_agent Ada")
        (asked,) = told(memory, "execute_tool look")
        assert begun.attributes["woow_ai.turn.state"] == "waiting"
        assert asked.attributes["woow_ai.call.outcome"] == "waiting"
        assert asked.status.is_unset and fake.metas == []
        traced()  # as another process has
        store.verdict = Verdict(kind="run")
        store.go_on(1)
        assert (await run(store, start, llm, fake)).state == "done"
    _begun, ended = told(memory, "invoke_agent Ada")
    assert ended.context.trace_id == begun.context.trace_id
    assert ended.parent.span_id == begun.context.span_id
    assert ended.attributes["woow_ai.turn.attempt"] == 2
    _asked, made = told(memory, "execute_tool look")
    assert made.parent.span_id == ended.context.span_id
    assert fake.metas[0]["traceparent"].split("-")[1] == f"{begun.context.trace_id:032x}"


async def test_what_is_not_sampled_is_not_told_by_any_attempt(
    store, start, fake, memory, traced, monkeypatch
):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0")
    traced()
    store.verdict = Verdict(kind="ask")
    async with ScriptedLlm(Reply(calls=CALL), Reply(SAID)) as llm:
        await run(store, start, llm, fake)
        store.verdict = Verdict(kind="run")
        store.go_on(1)
        await run(store, start, llm, fake)
    assert memory.get_finished_spans() == ()
    assert fake.metas[0]["traceparent"].endswith("-00")


def test_who_they_are_of_is_told_if_the_operator_wants_it(memory, traced):
    for tells_databases in (False, True):
        traced(tells_databases=tells_databases)
        with traces.model(replace(REQUEST.llm, database="customer_db"), "openai"):
            pass
    names = [span.attributes.get("woow_ai.database") for span in memory.get_finished_spans()]
    assert names == [None, "customer_db"]


def test_a_turn_is_another_one_than_its_neighbours_and_every_process_knows_it():
    assert otel.identity("one/1") == otel.identity("one/1")
    ids = {number for turn in range(100) for number in otel.identity(f"one/{turn}")}
    assert len(ids) == 200


def test_the_operator_s_environment_names_the_service(memory, traced, monkeypatch):
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging")
    for name in ("odoo-ai", "assistants"):
        if name != "odoo-ai":
            monkeypatch.setenv("OTEL_SERVICE_NAME", name)
        traced()
        with traces.tool(TOOL_CALL):
            pass
        about = memory.get_finished_spans()[-1].resource.attributes
        assert about["service.name"] == name
        assert about["deployment.environment.name"] == "staging"


def test_a_dead_collector_is_said_once_and_holds_up_nobody(monkeypatch, caplog):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5")
    said = []
    address = f"http://127.0.0.1:{processes.free_port()}"
    tracer = otel.to_collector(address, said.append)
    traces.install(tracer)
    try:
        begun = time.monotonic()
        for _ in range(1000):
            with traces.tool(TOOL_CALL):
                pass
            assert time.monotonic() - begun < 20  # who waited for it would wait 200 s
    finally:
        traces.install(None)
        begun = time.monotonic()
        tracer.close()
    assert time.monotonic() - begun < otel.CLOSE_TIMEOUT + 1
    assert set(said) == {False}
    assert not caplog.records


def test_who_ends_does_not_wait_for_a_collector_that_hangs():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        tracer = otel.to_collector(address, lambda _is_taken: None)
        traces.install(tracer)
        try:
            with traces.tool(TOOL_CALL):
                pass
        finally:
            traces.install(None)
        begun = time.monotonic()
        tracer.close()
        assert time.monotonic() - begun < otel.CLOSE_TIMEOUT + 1


def test_a_child_begins_with_none(traced):
    traced()
    assert traces.turn(REQUEST, 1, 0) is not traces.NOTHING
    assert in_child(lambda: traces.turn(REQUEST, 1, 0) is traces.NOTHING) == "True"


def test_what_is_off_is_not_there():
    """Nothing is imported, and each span is the same object."""
    code = (
        "import sys\n"
        "from services import traces\n"
        "from services.specs import LlmSpec, ServerSpec, ToolCall\n"
        "from services.turn import ai_client, tools\n"
        "from services.turn.queue import queue_worker\n"
        "from services.telemetry import otel\n"
        "call, llm = ToolCall(id='1', alias='x', round=1), LlmSpec(id=1, base_url='', model='m')\n"
        "spans = traces.tool(call), traces.model(llm, ''), traces.opening(ServerSpec(id=1, name='')),"
        " traces.turn(None, 1, 0), traces.current()\n"
        "assert {id(span) for span in spans} == {id(traces.NOTHING)} and traces.carrier() == {}\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    environment = {**os.environ, "PYTHONPATH": str(extras.folder())}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert done.stdout.strip() == "[]"
