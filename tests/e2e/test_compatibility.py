"""The addon in the Odoos of other people: installed beside their packages, and used once.

``make compatibility`` names one environment after the other, each with a database in which the addon is installed
already; without a name one of the two that differ most installs it into a database that has Odoo.
"""

import os
import re

import pytest
import sampling
from chat import Chat, calls, first, of, then

from dev.checks import compatibility, testbed
from dev.paths import ADDON
from dev.setup import environments

CHOSEN = os.environ.get(compatibility.CHOICE)
NAMES = [CHOSEN] if CHOSEN else sampling.some(environments.SHORT, 2)
SERVERS = "woow_paas_platform.mcp_server"
TAIPEI = ("time__get_current_time", {"timezone": "Asia/Taipei"})


@pytest.fixture(scope="module", params=NAMES)
def environment(request):
    return environments.named(request.param)


@pytest.fixture(scope="module")
def used(request, environment, mcp_time):
    """A running Odoo of this environment that knows one MCP server; with what the installation said."""
    if CHOSEN:
        source = compatibility.place(environment)
    else:
        source = testbed.without_addon(request.getfixturevalue("template"))
        source.python = environment.python_program()
    odoo = testbed.OdooServer(source, f"compatibility_{environment.name.replace('-', '_')}")
    said = odoo.install()
    odoo.expect_log("DeprecationWarning")  # of what is older than `make test` has it
    odoo.start()
    [server] = odoo.rpc(SERVERS, "search", [("name", "=", "time")])
    odoo.rpc(SERVERS, "write", [server], {"url": mcp_time.url})
    odoo.sync_tools(server)
    yield odoo, said
    odoo.stop()


def test_pip_leaves_odoos_packages_alone(environment):
    assert environment.changed() == []


def test_the_installation_has_no_complaints(used):
    _odoo, said = used
    assert not re.findall(rf"^.* (?:WARNING|ERROR|CRITICAL) .*{ADDON}.*$", said, re.M)


def test_a_portal_user_chats_with_a_tool(used, scripted_llm):
    odoo, _said = used
    odoo.use_llm(scripted_llm)
    scripted_llm.script(
        first("What time is it?", calls(TAIPEI)), then("What time is it?", {"content": "Late."})
    )
    page = odoo.session("user").get("/my/ai")
    assert page.status_code == 200 and "o_ai_chat" in page.text
    events = Chat(odoo).ask("What time is it?").events()
    [result] = of(events, "tool_result")
    assert re.search(r"T\d\d:\d\d:\d\d\+08:00", str(result["result"]))
    assert events[-1]["type"] == "done" and "Late." in of(events, "text_block")[-1]["html"]
    assert odoo.session("user").get("/api/ai/health").json()["status"] == "ok"
