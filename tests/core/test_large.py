"""Answers at their caps hold up nobody: what they cost the loop, and what they take of memory."""

import asyncio
import json
import sys
import time
import tracemalloc
from multiprocessing import get_context
from pathlib import Path

import pytest
from conftest import POLICY
from processor_time import moments, slowness

from services import jsonrpc, large
from services.errors import ResultTooLarge
from services.mcp.pool.pool import Pool
from services.records import placeholders
from services.specs import ServerSpec, ToolCall, ToolSpec
from services.testing.fake_http import respond, start_stream
from services.testing.fake_mcp import FakeMcp
from services.turn.execution import execute

ROOT = Path(__file__).parents[2]
MOST = 0.05  # s of the processor that one callback of the loop, or one function in C, may take
ROOM = 30 * 1024 * 1024  # bytes that one answer may take
MANY = large.MAX_VALUES - 1_000

SHAPES = {
    "lists": b"[" + b",".join([b"[]"] * (MANY // 2)) + b"]",
    "objects": b"[" + b",".join([b'{"a":0}'] * (MANY // 2)) + b"]",
    "keys": b"{" + b",".join(b'"%d":0' % number for number in range(MANY)) + b"}",
    "numbers": b"[" + b",".join([b"1.2345e-7"] * MANY) + b"]",
    "texts": b"[" + b",".join([b'"ab"'] * MANY) + b"]",
    "wide text": b'["' + "😀".encode() + b"a" * (large.MAX_TEXT - 100) + b'"]',
    "escapes": b'["' + rb"\u2028" * (large.MAX_TEXT // 6 - 100) + b'"]',
    "long numbers": b"[" + b",".join([b"1" * 4_000] * 1_000) + b"]",
}
# a JPEG, of which more than its head is looked at
PICTURE = b'{"type":"image","mimeType":"image/png","data":"/9j/4AAA' + b"A" * 7_899_992 + b'"}'
RESULTS = {
    **{
        name: b'{"content":[],"structuredContent":{"r":' + body + b"}}"
        for name, body in SHAPES.items()
    },
    "blocks": b'{"content":['
    + b",".join([b'{"type":"text","text":"\\u001b["}'] * (MANY // 3))
    + b"]}",
    "hidden": b'{"content":[{"type":"text","text":"' + "\u200b\u202e".encode() * 600_000 + b'"}]}',
    "data as text": b'{"content":[{"type":"text","text":"['
    + b"[]," * 1_300_000
    + b'0]"}],"structuredContent":{}}',
    "picture": b'{"content":[{"type":"text","text":"' + "图😀".encode() + b'"},' + PICTURE + b"]}",
    "too many": b'{"content":[],"structuredContent":{"r":['
    + b",".join([b"[]"] * 2_600_000)
    + b"]}}",
    "too long": b'{"content":[{"type":"text","text":"' + b"a b " * 1_900_000 + b'"}]}',
}
REFUSED = ("too many", "too long")


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_read_in_one_go_takes_moments(name):
    large.check(SHAPES[name])
    assert moments(lambda: large._parse(SHAPES[name]), MOST * 1.5)


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        (b'"' + b"A" * 7_000_000 + b'"', True),
        (b'"' + rb"A\/" * 2_000_000 + b'"', True),
        (b'["' + b"A" * 7_000_000 + b'", "' + "é".encode() * 1_000_000 + b'"]', True),
        (b'"' + "😀".encode() + b"A" * 7_000_000 + b'"', False),
        (b'"' + b"A" * 7_000_000 + "😀".encode() + b'"', False),
        (b'"' + rb"\u00e9" * 1_000_000 + b'"', False),
        (b'"' + b"[{," * 1_000_000 + b'"', True),
        (b'"' + rb"\"[" * 1_000_000 + b'"', True),
        (b'"\\\\"' + b",[]" * 100_000, False),
        (b"[" * 100_001, False),
    ],
    ids=range(10),
)
def test_files_and_texts_do_not_count_as_values(body, fits):
    if fits:
        return large.check(body)
    with pytest.raises(ResultTooLarge):
        large.check(body)


async def test_large_json_means_what_small_json_means():
    for value in (
        "NaN",
        '"\\ud83d"',
        "[1e999, -Infinity]",
        '{"a": 1, "a": 2}',
        '"\\u0000"',
        "oops",
    ):
        small = value.encode()
        padded = small + b" " * large.SMALL
        assert repr(await large.parse(padded)) == repr(jsonrpc.parse(small))


def test_a_body_of_another_encoding_is_no_way_round_the_count():
    assert jsonrpc.parse(json.dumps(["a"]).encode("utf-16")) is None


def test_written_json_ends_at_its_limit():
    assert len(large.dump(["a" * 10] * 1_000, 100)) < 200


def test_a_prompt_full_of_one_field_ends_at_its_limit():
    tracemalloc.start()
    try:
        said = placeholders.fill_fields("{a}" * 5_000, {"a": "😀" * 4_000}, 32_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert said == "😀" * 32_000
    assert peak < ROOM


# ---------------------------------------------------------------- over the wire


def serve(pipe):
    """The server is another process: its work is not ours."""

    def answer_of(body):
        async def answer(call, writer):
            said = b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (call.id, body)
            headers = {"mcp-session-id": call.session} if call.session else {}
            if not call.fake.stream and writer not in call.fake._legacy.values():
                return await respond(writer, 200, said, headers)
            if writer not in call.fake._legacy.values():
                await start_stream(writer, headers)
            writer.write(b"data: " + said + b"\n\n")
            await writer.drain()
            if writer not in call.fake._legacy.values():
                writer.close()

        return answer

    async def main():
        kinds = {"json": ("legacy", False), "stream": ("legacy", True)}
        kinds |= {"modern": ("modern", False), "modern stream": ("modern", True)}
        fakes = {}
        for kind, (era, stream) in kinds.items():
            fakes[kind] = fake = FakeMcp(eras=(era,), stream=stream)
            fake.faults = {name: answer_of(body) for name, body in RESULTS.items()}
            await fake.start()
        addresses = {kind: fake.url for kind, fake in fakes.items()}
        pipe.send({**addresses, "sse": fakes["json"].sse_url})
        await asyncio.Event().wait()

    asyncio.run(main())


STDIO = """
import json, sys
sys.path[:0] = [{root!r}, {tests!r}]
from test_large import RESULTS
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        result = b'{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"a","version":"1"}}}}'
    else:
        result = RESULTS[message["params"]["name"]]
    sys.stdout.buffer.write(b'{{"jsonrpc":"2.0","id":%d,"result":%s}}\\n' % (message["id"], result))
    sys.stdout.buffer.flush()
"""


@pytest.fixture(scope="module")
def addresses():
    ours, theirs = get_context("fork").Pipe()
    process = get_context("fork").Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    yield ours.recv()
    process.kill()
    process.join()


@pytest.fixture
def spec(request, addresses):
    kind = request.param
    if kind == "stdio":
        code = STDIO.format(root=str(ROOT), tests=str(ROOT / "tests/core"))
        return ServerSpec(id=1, name="a", command=(sys.executable, "-c", code), connect_timeout=20)
    return ServerSpec(
        id=1,
        name="a",
        url=addresses[kind],
        transport="sse" if kind == "sse" else "streamable_http",
        era="modern" if kind.startswith("modern") else "legacy",
    )


class Longest:
    """The processor's seconds of the longest callback of the loop."""

    def __init__(self, monkeypatch):
        self.seconds, self.what = 0.0, ""
        run = asyncio.Handle._run

        def timed(handle):
            begun = time.thread_time()
            run(handle)
            took = time.thread_time() - begun
            if took > self.seconds:
                self.seconds, self.what = took, repr(handle)[:300]

        monkeypatch.setattr(asyncio.Handle, "_run", timed)


async def called(pool, spec, name):
    tool = ToolSpec(id=1, server_id=1, name=name, alias=name)
    call = ToolCall(id="c", alias=name, round=1, tool=tool, server=spec, arguments={})
    return (await execute(call, pool, 1, timeout=60)).result


TRANSPORTS = ["json", "stream", "sse", "modern", "modern stream", "stdio"]


@pytest.mark.parametrize("spec", TRANSPORTS, indirect=True)
async def test_no_answer_holds_the_loop(spec, monkeypatch):
    pool = Pool(POLICY)
    try:
        await called(pool, spec, "too long")  # opens the session, and loads what is loaded once
        few = ("keys", "picture", "data as text", *REFUSED)
        for name in RESULTS if spec.command or spec.url.endswith("/sse") else few:
            for _try in (1, 2, 3, 4, 5):
                with monkeypatch.context() as patch:
                    longest = Longest(patch)
                    result = await called(pool, spec, name)
                if longest.seconds < MOST or longest.seconds < MOST * slowness():
                    break
            else:
                pytest.fail(f"{name}: {longest.seconds:.3f} s: {longest.what}")
            assert result.outcome == ("error" if name in REFUSED else "ok"), (name, result.text)
            assert name not in REFUSED or "more data than is allowed" in result.text
            if name == "picture":
                assert len(result.attachments[0]["data"]) == 7_900_000
    finally:
        await pool.close()


@pytest.mark.parametrize("spec", ["json", "sse", "stdio"], indirect=True)
@pytest.mark.parametrize("name", ["picture", "wide text"])
async def test_no_answer_takes_much_memory(spec, name):
    pool = Pool(POLICY)
    try:
        await called(pool, spec, "too long")
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        await called(pool, spec, name)
        peak = tracemalloc.get_traced_memory()[1] - before
        assert peak < ROOM, f"{peak / 1024**2:.1f} MB"
    finally:
        tracemalloc.stop()
        await pool.close()
