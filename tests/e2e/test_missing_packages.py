"""A package is gone after the installation: that costs what it is imported for, with a sentence, never the database."""

from pathlib import Path

import pytest
from chat import Chat, calls, first, of, then
from conftest import WORKER

from dev.checks import testbed

HIDING = str(Path(__file__).parent / "hiding")
SERVERS = "woow_paas_platform.mcp_server"


@pytest.fixture
def odoo_without(demo_template, demo_facts):
    """Starts an Odoo that does not find these modules."""
    started = []

    def start(*modules):
        environment = {**demo_facts, "PYTHONPATH": HIDING, "HIDDEN": ",".join(modules)}
        odoo = testbed.OdooServer(demo_template, f"without_{WORKER}", environment=environment)
        started.append(odoo)
        odoo.expect_log("Python packages are missing on this host|The engine cannot be loaded")
        odoo.start()
        return odoo

    yield start
    for odoo in started:
        odoo.stop()


def test_without_the_model_s_packages_a_turn_says_so(odoo_without):
    odoo = odoo_without("openai", "langchain_openai", "markdown_it")
    end = Chat(odoo).ask("hello").events()[-1]
    assert (end["type"], end["code"]) == ("error", "package_missing")
    assert "langchain-openai, markdown-it-py, openai" in end["message"]
    [provider] = odoo.rpc("ai.config", "search_read", [], ["missing_packages"])
    assert provider["missing_packages"] == end["message"]
    health = odoo.session("user").get("/api/ai/health").json()
    assert health["status"] == "package_missing"
    assert health["missing_packages"] == ["langchain-openai", "markdown-it-py", "openai"]


def test_without_the_protocol_s_packages_servers_say_so_and_the_chat_goes_on(
    odoo_without, scripted_llm
):
    odoo = odoo_without("mcp", "langchain_mcp_adapters", "jsonschema")
    scripted_llm.script(
        first("time", calls(("time__get_current_time", {"timezone": "UTC"}))),
        then("time", {"content": "I cannot know."}),
    )
    events = Chat(odoo).ask("time").events()
    [result] = of(events, "tool_result")
    assert result["outcome"] == "error" and "langchain-mcp-adapters, mcp" in str(result)
    assert events[-1]["type"] == "done"
    [server] = odoo.rpc(SERVERS, "search", [("name", "=", "time")])
    said = odoo.session("admin").post(f"/api/mcp/servers/{server}/sync")
    assert said.status_code >= 400 and said.json()["error"]["code"] == "package_missing"
    [shown] = odoo.rpc(SERVERS, "read", [server], ["state", "state_sentence"])
    assert shown["state"] == "error" and "jsonschema" in shown["state_sentence"]


def test_without_the_package_that_everything_needs_odoo_still_answers(odoo_without):
    odoo = odoo_without("httpx", "anyio")
    assert odoo.login("admin").get("/odoo/settings").status_code == 200
    assert "The AI is switched off" in odoo.log_text()
