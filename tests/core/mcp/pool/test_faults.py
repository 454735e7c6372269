"""Every fault of an MCP server on one call: a typed error long before its time-out, and the calls beside it untouched.

A call that hung would end as `timeout`; how fast the errors come is measured by benchmarks/mcp/recovery.py.
"""

import asyncio
import json
import ssl

import httpcore
import httpx
import pytest
from conftest import POLICY, spec_of

from services.errors import AuthRequired, ConnectFailed, ServerRefused, SessionLost
from services.mcp.discovery.discovery import discover
from services.mcp.pool.pool import Pool
from services.net import faults
from services.testing.fake_faults import FAULTS, answer, body, data, status, stream
from services.testing.fake_http import start_stream
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import OBJECT, text


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("name", FAULTS)
async def test_fault_of_one_call(name, era):
    fault, code = FAULTS[name]
    go_on = asyncio.Event()

    async def held(call):
        await go_on.wait()
        return text("held")

    async with FakeMcp(listen=False, eras=(era,)) as fake:
        fake.faults["echo"] = fault
        pool, spec = Pool(POLICY), spec_of(fake)
        await pool.call(spec, 1, "count", {}, timeout=60)
        fake.tools["held"] = (held, OBJECT)
        beside = asyncio.create_task(pool.call(spec, 1, "held", {}, timeout=60))
        await fake.until(lambda: any(tool == "held" for _, tool, _ in fake.calls))
        with pytest.raises(Exception) as caught:
            await pool.call(spec, 1, "echo", {"message": "x"}, timeout=60)
        assert caught.value.code == code, (caught.value, caught.value.detail)
        go_on.set()
        assert (await beside)["content"][0]["text"] == "held"
        again = await pool.call(spec, 1, "count", {}, timeout=60)
        assert again["content"][0]["text"] in ("1", "2")
        await pool.close()


LEGACY = {
    "401": (status(401), "auth_required"),
    "404": (status(404), "session_lost"),
    "429": (status(429, retry_after="7"), "rate_limited"),
    "500": (status(500), "server_refused"),
}


@pytest.mark.parametrize("name", LEGACY)
async def test_refused_post_of_a_legacy_session(name):
    fault, code = LEGACY[name]
    async with FakeMcp() as fake:
        pool, spec = Pool(POLICY), spec_of(fake, legacy=True)
        await pool.call(spec, 1, "count", {}, timeout=60)
        fake.posts["echo"] = fault
        with pytest.raises(Exception) as caught:
            await pool.call(spec, 1, "echo", {"message": "x"}, timeout=60)
        assert caught.value.code == code
        await pool.call(spec, 1, "count", {}, timeout=60)
        await pool.close()


@pytest.mark.parametrize(
    "event",
    [b"data: {oops\n\n", b"data: [1, 2]\n\n", data({"jsonrpc": "2.0", "id": 4711, "result": {}})],
)
async def test_damaged_event_of_a_legacy_session(event):
    async def fault(call, writer):
        writer.write(event)
        await writer.drain()

    async with FakeMcp() as fake:
        fake.faults["echo"] = fault
        pool, spec = Pool(POLICY), spec_of(fake, legacy=True)
        with pytest.raises(Exception) as caught:
            await pool.call(spec, 1, "echo", {"message": "x"}, timeout=60)
        assert caught.value.code == "protocol_error"
        assert (await pool.call(spec, 1, "count", {}, timeout=60))["content"]
        assert pool.opened == 1
        await pool.close()


TLS_BROKE = "[SSL: DECRYPTION_FAILED_OR_BAD_RECORD_MAC] decryption failed or bad record mac"


def test_tls_that_breaks_in_mid_answer_may_have_happened():
    error = faults.of_exception(ssl.SSLError(1, TLS_BROKE))
    assert type(error) is SessionLost and not error.safe_to_retry


@pytest.mark.parametrize("kind", [httpx.ConnectError, httpcore.ConnectError])
def test_tls_that_never_came_about_was_not_sent(kind):
    refused = kind("certificate verify failed")
    refused.__cause__ = ssl.SSLCertVerificationError(1, "self-signed certificate")
    error = faults.of_exception(refused)
    assert isinstance(error, ConnectFailed)
    assert (
        str(error) == "The certificate of the server is not valid."
    )  # also of a toolbox's service


def refused(code, body, **headers):
    return faults.of_response(code, httpx.Headers(headers), body, in_session=True)


@pytest.mark.parametrize(
    "body",
    [
        b"Bad Request: No valid session ID provided",
        b"Invalid session ID\n",
        b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32000,'
        b' "message": "Bad Request: Server not initialized"}}',
        b'{"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600,'
        b' "message": "Bad Request: Missing session ID"}}',
        b'{"jsonrpc": "2.0", "id": 7, "error": {"code": -32022, "message": "Too new"}}',
    ],
)
def test_a_refusal_that_proves_that_nothing_happened(body):
    assert refused(400, body).safe_to_retry


@pytest.mark.parametrize(
    "body",
    [
        b"The order was placed, but your session has expired.",
        b'{"error": {"message": "Your shopping session is over"}}',
        b'{"jsonrpc": "2.0", "id": 7, "error": {"code": -32000, "message": "Session not found"}}',
        b"<html>session</html>",
    ],
)
def test_a_refusal_that_only_speaks_of_a_session(body):
    error = refused(400, body)
    assert not error.safe_to_retry and error.code == "server_refused"


async def test_what_was_executed_and_then_refused_is_not_made_again(fake, pool):
    await pool.call(fake.spec, 1, "count", {}, timeout=5)
    fake.faults["echo"] = status(400, b"Done, and your session has expired.")
    with pytest.raises(ServerRefused):
        await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=5)
    assert fake.methods.count("tools/call") == 2


def test_why_access_is_refused_is_told():
    said = b"Access is only allowed at localhost:8931"
    assert str(refused(403, said)).endswith(
        "denied access: Access is only allowed at localhost:8931"
    )
    plain = str(AuthRequired())
    assert str(refused(403, b"<html>Forbidden</html>")) == plain
    assert str(refused(403, b"no scope", **{"www-authenticate": "Bearer"})) == plain
    assert str(refused(401, said)) == plain


async def test_retry_after_reaches_the_caller(fake, pool):
    fake.faults["echo"] = status(429, retry_after="7")
    with pytest.raises(Exception) as caught:
        await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    assert caught.value.retry_after == 7


async def test_redirect_within_the_origin_is_followed(fake, pool):
    fake.faults["echo"] = status(307, location="/other")
    fake.paths["/other"] = fake.faults.clear
    result = await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    assert result["content"][0]["text"] == "x"


async def test_odd_but_legal_answers_pass(fake, pool):
    odd = {
        "batch": body(
            lambda call: [{"jsonrpc": "2.0", "method": "notifications/message"}, answer(call)]
        ),
        "text id": body(lambda call: {**answer(call), "id": str(call.id)}),
        "surrogate": body(
            lambda call: json.dumps(answer(call, {"content": [], "x": "\ud800"})).encode()
        ),
        "nan": body(
            lambda call: json.dumps(answer(call, {"content": [], "x": float("nan")})).encode()
        ),
        "charset": body(answer, "application/json; charset=utf-8"),
        "comments": stream(b": hi\n\n", b"\r\n", lambda call: data(answer(call)), then="wait"),
        "split": stream(
            lambda call: (
                b"event: message\r\ndata: " + json.dumps(answer(call)).encode() + b"\r\n\r\n"
            )
        ),
    }
    for name, fault in odd.items():
        fake.faults["echo"] = fault
        result = await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
        assert result["content"] == [], name
    assert pool.opened == 1


LOGGED = data({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}})


@pytest.mark.parametrize("said", [b"id: 7\ndata:\n\n", b"id: 1\ndata:\n\nid: 7\n" + LOGGED])
async def test_broken_stream_is_resumed(fake, pool, said):
    fake.faults["echo"] = stream(said)

    async def resume(headers, writer):
        assert headers["last-event-id"] == "7"
        await start_stream(writer)
        writer.write(
            data(
                {
                    "jsonrpc": "2.0",
                    "id": fake.last_id,
                    "result": {"content": [{"type": "text", "text": "back"}]},
                }
            )
        )
        await writer.drain()

    fake.resume = resume
    result = await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=60)
    assert result["content"][0]["text"] == "back"


async def test_black_hole_ends_with_the_timeout(fake, pool):
    async def hole(call, writer):
        await asyncio.Event().wait()

    await pool.info(fake.spec, 1)
    fake.faults["echo"] = hole
    async with asyncio.timeout(60):
        with pytest.raises(Exception) as caught:
            await pool.call(fake.spec, 1, "echo", {"message": "x"}, timeout=0.2)
    assert caught.value.code == "timeout"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_key_that_cannot_be_sent_is_not_logged(era):
    async with FakeMcp(eras=(era,)) as fake:
        for key in ("k3y-of\nall", "k3y-of\0all"):
            with pytest.raises(ConnectFailed, match="cannot be sent") as caught:
                await discover(spec_of(fake, api_key=key), POLICY)
            assert "k3y-of" not in caught.value.detail
        assert (await discover(spec_of(fake, api_key="k3y-of-all\n"), POLICY)).tools
        assert fake.headers[-1]["authorization"] == "Bearer k3y-of-all"


@pytest.mark.parametrize(
    ("method", "legacy"), [("initialize", False), ("initialize", True), ("tools/list", False)]
)
async def test_faults_of_the_handshake(method, legacy):
    async with FakeMcp() as fake:
        if legacy:
            fake.paths["/sse"] = lambda: None
            fake.refuse_sse = 401
        else:
            fake.faults[method] = status(401)
        with pytest.raises(AuthRequired):
            await discover(spec_of(fake, legacy=legacy), POLICY)
