"""Each step of a test fails in its own way, and the test stops there."""

import asyncio
import re
import socket
import sys
from types import SimpleNamespace

import pytest
from conftest import POLICY, spec_of

from services.errors import EngineError
from services.mcp.discovery import health
from services.mcp.discovery.diagnose import diagnose
from services.mcp.discovery.discovery import discover
from services.net.egress import EgressPolicy
from services.specs import ServerSpec
from services.testing.fake_mcp import respond


def states(diagnosis):
    return {step.name: step.state for step in diagnosis.steps}


def failed(diagnosis):
    """The step that failed; those before it are fine, those after it were not taken."""
    names = [step.name for step in diagnosis.steps]
    at = [step.state for step in diagnosis.steps].index("failed")
    assert set(list(states(diagnosis).values())[:at]) <= {"ok", "skipped"}
    assert all(step.state == "skipped" for step in diagnosis.steps[at + 1 :])
    step = diagnosis.steps[at]
    assert step.message.endswith((".", "”"))
    assert step.advice.endswith(".")
    assert diagnosis.error is not None
    assert not diagnosis.ok
    assert len(names) == len(set(names))
    return step


def spec(url, **more):
    return ServerSpec(id=1, name="x", url=url, **more)


async def test_every_step_of_a_good_server(any_fake):
    diagnosis = await diagnose(any_fake.spec, POLICY)
    assert diagnosis.ok, diagnosis.error
    assert states(diagnosis) == {
        "name": "ok",
        "address": "ok",
        "connection": "ok",
        "tls": "skipped",
        "http": "ok",
        "authorization": "ok",
        "protocol": "ok",
        "tools": "ok",
    }
    assert diagnosis.steps[-1].message == str(len(diagnosis.found.tools))
    told = {step.name: step.message for step in diagnosis.steps}
    assert told["tls"] == "Not encrypted (http)."
    assert re.fullmatch(r"(Streamable HTTP|HTTP\+SSE), MCP \d{4}-\d\d-\d\d", told["protocol"])


async def test_name():
    assert failed(await diagnose(spec("http://no-such-host.invalid/mcp"), POLICY)).name == "name"


async def test_nobody_learns_which_names_exist_inside(monkeypatch):
    """A name that means an address of our network fails like one that there is not, here and in a call."""

    def resolve(host, *_, **__):
        if host == "db.internal":
            return [(2, 1, 6, "", ("10.0.0.5", 80))]
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    seen = []
    for host in ("db.internal", "no-such.internal"):
        server = spec(f"http://{host}/mcp")
        diagnosis = await diagnose(server, EgressPolicy())
        (steps,) = {tuple((s.name, s.state, s.message, s.advice) for s in diagnosis.steps)}
        with pytest.raises(EngineError) as called:
            await discover(server, EgressPolicy())
        told = {(type(e), e.code, str(e)) for e in (diagnosis.error, called.value)}
        assert host not in str((steps, told)) and "10.0.0.5" not in str((steps, told))
        seen.append((steps, told))
        assert "10.0.0.5" in diagnosis.error.network_detail or host == "no-such.internal"
    assert seen[0] == seen[1]


async def test_a_url_that_is_none():
    assert failed(await diagnose(spec("ftp://example.com"), POLICY)).name == "name"


async def test_address(fake):
    step = failed(await diagnose(fake.spec, EgressPolicy()))
    assert step.name == "address"
    assert not fake.headers  # nothing was sent


async def test_connection():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    step = failed(await diagnose(spec(f"http://127.0.0.1:{port}/mcp"), POLICY))
    assert step.name == "connection"


async def test_a_connection_is_tried_three_times(fake, monkeypatch):
    pauses = []

    async def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            await fake.start()

    await fake.stop()
    clock = SimpleNamespace(sleep=pause, get_running_loop=asyncio.get_running_loop)
    monkeypatch.setattr(health, "asyncio", clock)
    assert (await diagnose(spec(fake.url), POLICY)).ok
    assert pauses == [1.0, 1.0]
    await fake.stop()
    hurried = spec(fake.url, connect_timeout=5.0, sync_timeout=6.0)
    assert failed(await diagnose(hurried, POLICY)).name == "connection"
    assert len(pauses) == 2


async def test_tls(fake):
    """A server that does not speak TLS is asked for it."""
    step = failed(await diagnose(spec(fake.url.replace("http:", "https:")), POLICY))
    assert step.name == "tls"


async def test_http(fake):
    fake.guard = lambda headers: (503, {})
    step = failed(await diagnose(fake.spec, POLICY))
    assert step.name == "http"
    assert "503" in step.message


async def test_authorization(fake):
    fake.guard = lambda headers: None if headers.get("authorization") == "Bearer k" else (401, {})
    assert failed(await diagnose(fake.spec, POLICY)).name == "authorization"
    assert (await diagnose(spec_of(fake, api_key="k"), POLICY)).ok


async def test_protocol():
    async def answer(_reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        step = failed(await diagnose(spec(f"http://127.0.0.1:{port}/"), POLICY))
    assert step.name == "protocol"
    assert "/mcp" in step.advice


async def test_tools(fake):
    fake.faults["tools/list"] = lambda call, writer: respond(writer, 500)
    assert failed(await diagnose(fake.spec, POLICY)).name == "tools"


async def test_time(fake):
    """A server that accepts and says nothing."""
    fake.faults["initialize"] = lambda call, writer: asyncio.sleep(30)
    diagnosis = await diagnose(
        spec_of(fake, era="legacy", sync_timeout=0.7, connect_timeout=5), POLICY
    )
    step = failed(diagnosis)
    assert (step.name, diagnosis.error.code) == ("http", "timeout")


async def test_a_process():
    code = "import sys; sys.exit(3)"
    dead = ServerSpec(id=1, name="x", transport="stdio", command=(sys.executable, "-c", code))
    assert failed(await diagnose(dead, POLICY)).name == "process"
    missing = ServerSpec(id=2, name="x", transport="stdio", command=("no-such-program",))
    assert failed(await diagnose(missing, POLICY)).name == "process"
