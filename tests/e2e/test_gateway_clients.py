"""Odoo as an MCP server, used and signed in to by clients that nobody here wrote: fastmcp, the TypeScript SDK and the
Inspector's command line; `test_gateway` has both Python SDKs.
"""

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect
from test_gateway import new_key, revoke_all

from dev import processes
from dev.checks import conformance
from dev.setup import node, venvs

HERE = Path(__file__).parent
SERVERS = "woow_paas_platform.mcp_server"
CLIENTS = "woow_paas_platform.oauth_client"
CALLS = "woow_paas_platform.tool_call"
TOOL = "counter__count"
AUTHORIZE = "/woow/oauth/authorize?"
PATIENCE = 120  # s
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


def fastmcp(url, mode, arguments, _key, _folder):
    """With a key it is in the environment, as for the next one."""
    python = venvs.extra("fastmcp") / "bin/python"
    return [python, HERE / "fastmcp_client.py", url, mode, TOOL, json.dumps(arguments)]


def typescript(url, mode, arguments, _key, _folder):
    script, modules = HERE / "typescript_client.mjs", node.client_packages()
    return [node.node(), script, modules, url, mode, TOOL, json.dumps(arguments)]


def inspector(url, mode, arguments, key, folder):
    """The command that makes one call."""
    options = {
        "--server-url": url,
        "--transport": "http",
        "--protocol-era": {"auto": "modern"}.get(mode, mode),  # which does not fall back
        "--format": "json",
        "--method": "tools/call",
        "--tool-name": TOOL,
        "--tool-args-json": json.dumps(arguments),
        "--client-config": folder / "client.json",
        "--callback-url": f"http://127.0.0.1:{processes.free_port()}/oauth/callback",
    }
    if key:
        options["--header"] = f"Authorization: Bearer {key}"
    program = node.client_packages() / ".bin/mcp-inspector"
    given = [part for option in options.items() for part in option]
    return [node.node(conformance.NODE), program, "--cli", *given]


EACH = pytest.mark.parametrize("client", [fastmcp, typescript, inspector])


class Running:
    """A client in a process of its own, which does what it does by itself, and ends with the block."""

    def __init__(self, client, url, mode, arguments, folder, key=""):
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),  # where clients keep what they know
            "BROWSER": "echo %s",
            "MCP_AUTO_OPEN_ENABLED": "true",
        }
        self.process = subprocess.Popen(
            [str(part) for part in client(url, mode, arguments, key, folder)],
            env=environment | ({"KEY": key} if key else {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = []
        self._timer = threading.Timer(PATIENCE, self.process.kill)

    def __enter__(self):
        self._timer.start()
        return self

    def __exit__(self, *_):
        self._timer.cancel()
        self.process.kill()
        self.process.wait()

    def address(self):
        """Where it sends its user to sign in."""
        for line in self.process.stdout:
            self.said.append(line)
            if AUTHORIZE in line:
                (found,) = (word for word in line.split() if AUTHORIZE in word)
                return found
        raise AssertionError(self._output())

    def result(self):
        """The last line of JSON that it has printed."""
        self.said += self.process.stdout
        self.process.wait()
        assert self.process.returncode == 0, self._output()
        return json.loads(next(line for line in reversed(self.said) if line.startswith("{")))

    def _output(self):
        return "".join(self.said)[-3000:]


@pytest.fixture
def counted(odoo_prefork, counter):
    """A tool that runs unasked, and no key or client that stays."""
    server = counter.register(odoo_prefork)
    yield counter
    revoke_all(odoo_prefork)
    odoo_prefork.rpc(SERVERS, "unlink", [server])
    odoo_prefork.rpc(CLIENTS, "unlink", odoo_prefork.rpc(CLIENTS, "search", []))


@EACH
@pytest.mark.parametrize("mode", ERAS)
def test_a_client_with_a_key(odoo_prefork, counted, client, mode, tmp_path):
    name = f"{client.__name__}-{mode}-{odoo_prefork.db}"
    url, key = f"{odoo_prefork.url}/mcp", new_key(odoo_prefork)
    with Running(client, url, mode, {"id": name}, tmp_path, key) as running:
        seen = running.result()
    assert f"counted {name}" in json.dumps(seen)
    assert seen.get("version", ERAS[mode]) == ERAS[mode]
    assert TOOL in seen.get("tools", [TOOL])
    assert counted.executions(name) == 1


@EACH
def test_a_user_signs_a_client_in(odoo_prefork, counted, client, browser, tmp_path):
    name = f"signed-in-{client.__name__}-{odoo_prefork.db}"
    url, context = f"{odoo_prefork.url}/mcp", browser.new_context(base_url=odoo_prefork.url)
    try:
        with Running(client, url, "auto", {"id": name}, tmp_path) as running:
            page = context.new_page()
            page.goto(running.address())
            page.locator("#login").fill("user")
            page.locator("#password").fill("user")
            page.get_by_role("button", name="Log in", exact=True).click()
            expect(page.get_by_role("heading")).to_contain_text("Connect “")
            page.get_by_role("button", name="Allow").click()
            page.wait_for_url("**/callback?*")
            assert f"counted {name}" in json.dumps(running.result())
    finally:
        context.close()
    assert counted.executions(name) == 1
    called = [("tool_name", "=", TOOL.rpartition("__")[2]), ("client_name", "!=", False)]
    (last,) = odoo_prefork.rpc(CALLS, "search_read", called, ["user_id"], limit=1, order="id desc")
    assert last["user_id"][1] == "Uma User"
