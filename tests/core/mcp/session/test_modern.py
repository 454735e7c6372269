"""The 2026-07-28 revision: headers, metadata, and input that is required."""

import json

import pytest
from conftest import POLICY
from elicitations import NAME, QUESTION, asks

from services.errors import ProtocolError, ServerRefused
from services.mcp.discovery.discovery import discover
from services.mcp.session.call_options import CallOptions
from services.mcp.session.elicitation import ElicitResult, with_defaults
from services.mcp.transport import param_headers
from services.schemas import arguments
from services.testing.fake_http import respond
from services.testing.fake_tools import text

META = "io.modelcontextprotocol/"
REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {
            "type": "object",
            "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}},
        },
    },
}


async def test_every_request_carries_its_metadata(modern_fake, pool):
    bodies = []
    answer = modern_fake._reply

    async def reply(message, *rest, **options):
        bodies.append(message)
        await answer(message, *rest, **options)

    modern_fake._reply = reply
    await pool.call(modern_fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    for body, headers in zip(bodies, modern_fake.headers, strict=True):
        meta = body["params"]["_meta"]
        assert meta[f"{META}protocolVersion"] == headers["mcp-protocol-version"] == "2026-07-28"
        assert meta[f"{META}clientInfo"]["name"] and f"{META}clientCapabilities" in meta
        assert headers["mcp-method"] == body["method"]
        assert "application/json" in headers["accept"] and "text/event-stream" in headers["accept"]
    assert modern_fake.headers[-1]["mcp-name"] == "echo"
    assert "mcp-session-id" not in modern_fake.headers[-1]
    assert modern_fake.methods == ["server/discover", "tools/call"]


async def test_arguments_are_mirrored_into_headers(modern_fake, pool):
    given = {"region": "台北", "deep": {"count": 3}, "message": "x"}
    await pool.call(
        modern_fake.spec, 1, "echo", given, timeout=60, options=CallOptions(schema=REGION)
    )
    headers = modern_fake.headers[-1]
    assert (
        headers["mcp-param-region"] == "=?base64?5Y+w5YyX?=" and headers["mcp-param-count"] == "3"
    )
    await pool.call(
        modern_fake.spec,
        1,
        "echo",
        {"region": None},
        timeout=60,
        options=CallOptions(schema=REGION),
    )
    assert not [name for name in modern_fake.headers[-1] if name.startswith("mcp-param")]


async def test_a_tool_whose_headers_changed_is_looked_up_again(modern_fake, pool):
    modern_fake.tools["where"] = (lambda call: _said(call.headers["mcp-param-region"]), REGION)

    async def mismatch(call, writer):
        modern_fake.faults.clear()
        error = {"code": -32020, "message": "Header mismatch"}
        await respond(writer, 400, {"jsonrpc": "2.0", "id": call.id, "error": error})

    modern_fake.faults["where"] = mismatch
    result = await pool.call(modern_fake.spec, 1, "where", {"region": "eu"}, timeout=60)
    assert result["content"][0]["text"] == "eu"


async def _said(value):
    return text(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "string", "x-mcp-header": ""}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}},
        {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": "object", "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": ["string", "null"], "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": 5}}},
        {"properties": {n: {"type": "string", "x-mcp-header": n} for n in ("a", "A")}},
        {"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}},
        {"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
        {"$defs": {"a": {"type": "string", "x-mcp-header": "A"}}},
    ],
)
async def test_tools_with_unusable_headers_are_left_out(modern_fake, schema, caplog):
    assert param_headers.problem(schema)
    modern_fake.tools["bad"] = (_said, schema)
    modern_fake.tools["good"] = (_said, REGION)
    names = [tool.name for tool in (await discover(modern_fake.spec, POLICY)).tools]
    assert "bad" not in names and "good" in names
    assert "bad is left out" in caplog.text


def test_an_annotation_as_data_or_name_is_none():
    schema = {
        "properties": {
            "x-mcp-header": {"type": "string"},
            "a": {"type": "string", "default": {"x-mcp-header": "A"}},
        }
    }
    assert param_headers.problem(schema) == "" and param_headers.of_call(schema, {"a": "b"}) == {}


# ---------------------------------------------------------------- input that is required


async def test_input_is_asked_for_and_sent_back(modern_fake, pool, pass_time):
    modern_fake.tools["ask"] = (asks(QUESTION, state="opaque"), {"type": "object"})
    seen = []

    async def on_elicit(asked):
        seen.append(asked)
        await pass_time(60)  # longer than the call may take
        return ElicitResult(action="accept")

    result = await pool.call(
        modern_fake.spec, 1, "ask", {}, timeout=30, options=CallOptions(on_elicit=on_elicit)
    )
    given, state = json.loads(result["content"][0]["text"])
    assert given == {"q": {"action": "accept", "content": {"name": "Ann"}}} and state == "opaque"
    assert seen[0].message == "Who?" and seen[0].schema == NAME


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_input_that_is_refused(modern_fake, pool, action):
    modern_fake.tools["ask"] = (asks(QUESTION), {"type": "object"})

    async def on_elicit(asked):
        return ElicitResult(action=action, content={"name": "x"})

    result = await pool.call(
        modern_fake.spec, 1, "ask", {}, timeout=60, options=CallOptions(on_elicit=on_elicit)
    )
    assert json.loads(result["content"][0]["text"]) == [{"q": {"action": action}}, None]


async def test_input_without_somebody_to_ask_is_cancelled(modern_fake, pool):
    modern_fake.tools["ask"] = (asks(QUESTION), {"type": "object"})
    result = await pool.call(modern_fake.spec, 1, "ask", {}, timeout=60)
    assert json.loads(result["content"][0]["text"])[0]["q"] == {"action": "cancel"}


async def test_a_server_that_never_stops_asking(modern_fake, pool):
    modern_fake.tools["ask"] = (asks(*[QUESTION] * 50), {"type": "object"})
    with pytest.raises(ServerRefused, match="keeps asking"):
        await pool.call(modern_fake.spec, 1, "ask", {}, timeout=60)


@pytest.mark.parametrize(
    "asked", [{}, {"inputRequests": {"a": {"method": "sampling/createMessage"}}}]
)
async def test_input_that_nobody_can_give(modern_fake, pool, asked):
    async def tool(call):
        return {"resultType": "input_required", **asked}

    modern_fake.tools["ask"] = (tool, {"type": "object"})
    with pytest.raises(ProtocolError):
        await pool.call(modern_fake.spec, 1, "ask", {}, timeout=60)


def test_defaults_fill_what_was_left_out():
    schema = {"properties": {"a": {"default": 1}, "b": {"default": 2}, "c": {}, "d": "junk"}}
    assert with_defaults({"a": 5}, schema) == {"a": 5, "b": 2}
    assert with_defaults({}, {"properties": "junk"}) == {}


async def test_unknown_method_is_an_answer(modern_fake, pool):
    async def not_found(call, writer):
        error = {"code": -32601, "message": "Method not found"}
        await respond(writer, 404, {"jsonrpc": "2.0", "id": call.id, "error": error})

    modern_fake.faults["prompts/list"] = not_found
    with pytest.raises(ServerRefused, match="Method not found"):
        await pool.request(modern_fake.spec, 1, "prompts/list", timeout=60)
    await pool.call(modern_fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    assert pool.opened == 1


async def test_legacy_questions_during_a_call(legacy_fake, pool, pass_time):
    async def ask(call):
        await call.send(
            {"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": QUESTION}
        )
        answer = await call.fake.answered("q1")
        return text(json.dumps(answer))

    legacy_fake.stream = True
    legacy_fake.tools["ask"] = (ask, {"type": "object"})
    beside = []

    async def on_elicit(asked):
        assert asked.message == "Who?"
        beside.append(await pool.call(legacy_fake.spec, 1, "echo", {"message": "x"}, timeout=1))
        await pass_time(60)  # longer than the call may take
        return ElicitResult(action="accept", content={"name": "Bob"})

    result = await pool.call(
        legacy_fake.spec, 1, "ask", {}, timeout=30, options=CallOptions(on_elicit=on_elicit)
    )
    answer = json.loads(result["content"][0]["text"])
    assert answer == {"action": "accept", "content": {"name": "Bob"}} and beside
    result = await pool.call(legacy_fake.spec, 1, "ask", {}, timeout=60)
    assert json.loads(result["content"][0]["text"])["action"] == "cancel"


def test_null_for_what_is_optional_counts_as_left_out():
    schema = {"properties": {"a": {"type": "boolean"}}, "required": ["a"]}
    assert arguments.problem({"a": None}, schema)
    assert not arguments.problem({"a": None}, {"properties": schema["properties"]})
