"""What servers send again and again is kept few: progress, messages, tools, pictures."""

import itertools
import json
from types import SimpleNamespace

import pytest
from conftest import POLICY

from services import const, large
from services.errors import ConfigError, ResultTooLarge
from services.llm import files, transcript
from services.mcp.discovery import discovery
from services.mcp.pool.pool import Pool
from services.mcp.session import paging
from services.mcp.session.call_options import CallOptions
from services.mcp.session.session import Request
from services.mcp.transport import noise
from services.openapi import parser
from services.openapi.request import request_parts
from services.specs import OperationSpec, ToolCall
from services.testing.memory_journal import MemoryJournal
from services.turn import calls


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def report_of(journal, clock, reports=None):
    reports = reports or calls.Reports(journal, clock)
    return reports.of(ToolCall(id="c", alias="a", round=1)), reports


def test_progress_that_says_it_is_done_is_told_once():
    journal, clock = MemoryJournal(), Clock()
    report, _ = report_of(journal, clock)
    for _ in range(60_000):
        report(1, 1, "")
    assert len(journal.events) == 1


def test_progress_comes_at_its_interval_and_later_more_rarely():
    journal, clock = MemoryJournal(), Clock()
    report, _ = report_of(journal, clock)
    for tick in range(60_000):  # ten minutes
        clock.now = 1 + tick / 100
        report(tick, 1_000_000, "")
    assert calls.PROGRESS_QUICK < len(journal.events) < 2 * 600 + calls.PROGRESS_QUICK


def test_the_progress_of_a_whole_turn_is_bounded(monkeypatch):
    monkeypatch.setattr(calls, "PROGRESS_OF_TURN", 20)
    journal, clock, reports = MemoryJournal(), Clock(), None
    for _ in range(10):
        report, reports = report_of(journal, clock, reports)
        for step in range(10):
            clock.now += 1
            report(step, None, "")
    assert len(journal.events) == 20


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 10**4_000, True and "1", None])
def test_progress_that_is_no_number_is_passed_over(odd):
    seen = []
    Request(
        method="x", options=CallOptions(on_progress=lambda *step: seen.append(step))
    ).progressed(odd, 1, "")
    assert seen == []


def test_messages_beside_the_answers_keep_to_a_rate():
    heard = noise.Noise(const.WIRE_CAP)
    assert sum(heard.passes(60) for _ in range(10_000)) <= noise.BURST + 50
    assert not noise.Noise(const.WIRE_CAP).passes(large.SMALL + 1)


def test_a_server_that_only_talks_ends_its_stream():
    heard = noise.Noise(1_000)
    with pytest.raises(ResultTooLarge):
        for _ in range(20):
            heard.passes(60)
    quiet = noise.Noise(1_000)
    for _ in range(100):
        quiet.passes(60)
        quiet.answered()


def listed(pages):
    async def ask(_method, params):
        return pages[int((params or {}).get("cursor") or 0)]

    return paging.Listing(ask, "tools/list", "tools")


async def read(tools):
    session = SimpleNamespace(era="legacy")

    async def request(_method, _params, timeout):
        return {"tools": tools}

    session.request = request
    session.info = session.spec = None
    return await discovery.read(session, 10)


def a_tool(name, size):
    """As the largest that are known: texts in a schema of many levels."""
    text = "What this property of the message stands for. "
    count = size // (len(text) + 46)
    properties = {f"p{n}": {"type": "string", "description": text} for n in range(count)}
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


async def test_a_definition_that_is_too_large_costs_only_itself():
    tools = [a_tool("real", 89_000), a_tool("bomb", 400_000), a_tool("deep", 100)]
    assert 80_000 < len(json.dumps(tools[0])) < 100_000
    found = await read(tools)
    assert [tool.name for tool in found.tools] == ["real", "deep"]
    assert (found.too_large, found.is_cut) == (1, False)


async def test_the_largest_list_that_is_known_passes():
    tools = [a_tool(f"t{number}", 6_300) for number in range(344)]
    body = json.dumps({"result": {"tools": tools}}).encode()
    assert 2_100_000 < len(body) < 2_400_000
    large.check(body)
    found = await read(tools)
    assert (len(found.tools), found.too_large, found.is_cut) == (344, 0, False)


async def test_a_list_that_is_too_long_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(paging, "MAX_WEIGHT", 10_000)
    pages = [{"tools": [{"name": "x" * 3_000}], "nextCursor": str(n + 1)} for n in range(90)]
    listing = listed(pages)
    found = [entry async for page in listing.pages() for entry in page]
    assert len(found) == 4 and listing.is_cut
    listing = listed([{"tools": [{}] * 1_500}])
    assert [len(page) async for page in listing.pages()] == [paging.MAX_ENTRIES]
    assert listing.is_cut


def test_pictures_of_one_request_have_a_size():
    picture = {"mimetype": "image/png", "data": "A" * (files.PICTURES_CAP // 2 - 10), "name": "a"}
    messages = [{"role": "user", "content": "?", "pictures": [picture, picture]}]
    messages += [{"role": "tool", "call_id": "c", "content": "."}]
    first, last = transcript.with_pictures(messages, {"c": [picture]}, 8)
    assert len(last["pictures"]) == 1 and len(first["pictures"]) == 1
    assert first["content"].startswith("?\n[1 of the pictures")


def test_variables_within_variables_of_an_address_end():
    names = [chr(97 + n) for n in range(26)]
    variables = {
        name: {"default": f"{{{after}}}" * 20} for name, after in itertools.pairwise(names)
    }
    server = {"url": "https://x.example/{a}", "variables": variables}
    assert parser._base_url({"servers": [server]}, "") == ""


def test_a_path_does_not_grow_without_end():
    operation = OperationSpec(method="GET", path="/{a}" * 200, base_url="https://x.example")
    with pytest.raises(ConfigError, match="too long"):
        request_parts(operation, {"path": {"a": "x" * 100_000}})


async def test_components_that_all_operations_share_are_not_kept_for_each():
    huge = {f"p{n}": {"type": "string", "description": "x" * 500} for n in range(400)}
    schemas = {f"S{n}": {"type": "object", "properties": huge} for n in range(30)}
    body = {
        "content": {
            "application/json": {
                "schema": {"anyOf": [{"$ref": f"#/components/schemas/S{n}"} for n in range(30)]}
            }
        }
    }
    paths = {f"/p{n}": {"post": {"requestBody": body}} for n in range(300)}
    found = parser.read({"openapi": "3.1.0", "paths": paths, "components": {"schemas": schemas}})
    assert sum(len(json.dumps(o.input_schema)) for o in found.operations) < parser.MAX_SCHEMAS * 2
    assert "too large" in found.operations[0].problem


async def test_a_session_hands_large_results_past_its_client(any_fake):
    """The client of the SDK would read them again, on the loop."""

    async def big(_call):
        return {"content": [{"type": "text", "text": "x" * 300_000}]}

    any_fake.tools["big"] = (big, {"type": "object"})
    pool = Pool(POLICY)
    try:
        result = await pool.call(any_fake.spec, 1, "big", {}, timeout=20)
        assert len(result["content"][0]["text"]) == 300_000
    finally:
        await pool.close()
