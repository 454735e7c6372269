"""A client of the official SDK that knows nothing but the address, and a person who signs in in a real browser."""

import asyncio
import json
import queue
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from axe import violations
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from playwright.sync_api import expect

from dev import processes
from dev.checks import conformance
from dev.setup import node

CLIENTS = "woow_paas_platform.oauth_client"
SCENARIOS = 2  # of the suite's authorization mode
SERVERS = "woow_paas_platform.mcp_server"
TOOL = "counter__count"
PATIENCE = 60  # s
PHONE = {"width": 390, "height": 844}


class Callback(BaseHTTPRequestHandler):
    """The page of the client that takes the code."""

    def do_GET(self):
        self.server.answers.put(parse_qs(urlsplit(self.path).query))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Back in the client.")

    def log_message(self, *_args):
        pass


@pytest.fixture
def callback() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Callback)
    server.answers = queue.Queue()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def tool(each_odoo, counter) -> Iterator[None]:
    counted = counter.register(each_odoo)
    yield
    each_odoo.rpc(SERVERS, "unlink", [counted])


class Storage:
    """What the client remembers."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Client:
    """One client: `asked` has the addresses that it opens in a browser."""

    def __init__(self, url, callback):
        self.url, self.callback = url, callback
        self.asked, self.storage = queue.Queue(), Storage()

    async def _open(self, url):
        self.asked.put(url)

    async def _wait(self):
        answer = await asyncio.to_thread(self.callback.answers.get, timeout=PATIENCE)
        return answer["code"][0], answer["state"][0]

    async def call(self, name):
        """Call the tool.

        :return: its text
        """
        uri = f"http://127.0.0.1:{self.callback.server_port}/callback"
        auth = OAuthClientProvider(
            server_url=self.url,
            client_metadata=OAuthClientMetadata(client_name="Editor", redirect_uris=[uri]),
            storage=self.storage,
            redirect_handler=self._open,
            callback_handler=self._wait,
        )
        async with (
            httpx.AsyncClient(auth=auth, timeout=PATIENCE) as http,
            streamable_http_client(self.url, http_client=http) as (reading, writing, _session_id),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            called = await session.call_tool(TOOL, {"id": name})
            return called.content[0].text


def test_a_person_signs_a_client_in(each_odoo, tool, callback, browser):
    client = Client(f"{each_odoo.url}/mcp", callback)
    context = browser.new_context(base_url=each_odoo.url, viewport=PHONE)
    page = context.new_page()
    try:
        with ThreadPoolExecutor(1) as pool:
            called = pool.submit(asyncio.run, client.call(f"signed-in-{each_odoo.db}"))
            page.goto(client.asked.get(timeout=PATIENCE))
            page.locator("#login").fill("user")
            page.locator("#password").fill("user")
            page.get_by_role("button", name="Log in", exact=True).click()
            expect(page.get_by_role("heading")).to_have_text("Connect “Editor”?")
            expect(page.locator(".o_woow_place")).to_contain_text("127.0.0.1")
            expect(page.locator(".o_woow_who")).to_contain_text("(user)")
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
            assert violations(page, ".o_woow_consent") == []
            page.get_by_role("button", name="Allow").click()
            expect(page.locator("body")).to_have_text("Back in the client.")
            assert called.result(PATIENCE) == f"counted signed-in-{each_odoo.db}"
            again = pool.submit(asyncio.run, client.call(f"again-{each_odoo.db}"))
            assert again.result(PATIENCE) == f"counted again-{each_odoo.db}"
            assert client.asked.empty(), "nobody is asked a second time"

        page.goto("/my/ai/connections")
        page.get_by_role("button", name="Disconnect Editor").click()
        page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
        expect(page.locator("[data-client]")).to_have_count(0)
    finally:
        context.close()
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"Authorization": f"Bearer {client.storage.tokens.access_token}"}
    answers = [
        httpx.post(f"{each_odoo.url}/mcp", json=ping, headers=headers, timeout=PATIENCE)
        for _ in range(8)  # connections, so both workers
    ]
    assert {answer.status_code for answer in answers} == {401}


def test_the_official_suite_signs_in(each_odoo, browser, tmp_path):
    """Its authorization mode: metadata and the code grant, without a warning."""
    port = processes.free_port()
    redirect = f"http://127.0.0.1:{port}/callback"
    values = {"name": "Suite", "redirect_uris": redirect}
    (known,) = each_odoo.rpc(CLIENTS, "create", [values])
    (client,) = each_odoo.rpc(CLIENTS, "read", [known], ["client_id"])
    command = [node.node(conformance.NODE), conformance.program(), "authorization"]
    options = {
        "--url": f"{each_odoo.url}/woow/oauth",
        "--client-id": client["client_id"],
        "--resource": f"{each_odoo.url}/mcp",
        "--port": str(port),
        "--output-dir": tmp_path,
    }
    command += [part for option in options.items() for part in option]
    suite = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    context = browser.new_context(base_url=each_odoo.url)
    try:
        said = []
        for line in suite.stdout:
            said.append(line)
            if "/woow/oauth/authorize?" in line and line.startswith("http"):
                break
        assert said[-1].startswith("http"), said
        page = context.new_page()
        page.goto(said[-1].strip())
        page.locator("#login").fill("user")
        page.locator("#password").fill("user")
        page.get_by_role("button", name="Log in", exact=True).click()
        expect(page.get_by_role("heading")).to_have_text("Connect “Suite”?")
        page.get_by_role("button", name="Allow").click()
        page.wait_for_url(f"{redirect}?*")
        said += suite.communicate(timeout=PATIENCE)[0].splitlines(keepends=True)
    finally:
        context.close()
        suite.kill()
        suite.wait()
    output = "".join(said)
    results = [json.loads(path.read_text()) for path in tmp_path.rglob("checks.json")]
    statuses = [check["status"] for checks in results for check in checks]
    assert len(results) == SCENARIOS, output
    assert {*statuses} == {"SUCCESS"}, output
    each_odoo.rpc(CLIENTS, "unlink", [known])
