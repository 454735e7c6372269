"""Every schema of real MCP servers, over stdio, through the one resolver and into LangChain."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from jsonschema import Draft202012Validator

from dev.servers import mcp_servers
from dev.setup import node, venvs
from services.mcp.discovery.discovery import discover
from services.net.egress import EgressPolicy
from services.openapi import recall
from services.schemas import schema
from services.specs import ServerSpec
from services.turn import names

# name: (command, the least number of tools that it has)
SERVERS = {
    "everything": (lambda _: _node("server-everything", "stdio"), 13),
    "filesystem": (lambda folder: _node("server-filesystem", str(folder)), 14),
    "memory": (lambda _: _node("server-memory"), 9),
    "time": (lambda _: _python("mcp-server-time", "--local-timezone", "UTC"), 2),
    "git": (lambda _: _python("mcp-server-git"), 12),
    "fetch": (lambda _: _python("mcp-server-fetch"), 1),
}


def _node(package, *arguments):
    return (str(node.node()), str(mcp_servers.script(package)), *arguments)


def _python(program, *arguments):
    return (str(venvs.extra("mcp") / "bin" / program), *arguments)


@pytest.mark.parametrize("name", SERVERS)
def test_every_tool_of_a_real_server_is_offered(name, tmp_path):
    from langchain_openai import ChatOpenAI

    command, least = SERVERS[name]
    spec = ServerSpec(
        id=1, name=name, command=command(tmp_path), connect_timeout=60, sync_timeout=60
    )
    with ThreadPoolExecutor(1) as pool:  # the browser tests leave a loop running in this thread
        tools = pool.submit(asyncio.run, discover(spec, EgressPolicy())).result().tools
    assert len(tools) >= least
    functions = []
    for tool, alias in zip(
        tools, names.make_aliases([(name, tool.name) for tool in tools]), strict=True
    ):
        cleaned = schema.clean(tool.input_schema)
        Draft202012Validator.check_schema(cleaned)
        given = set((tool.input_schema.get("properties") or {}).keys())
        assert set(cleaned["properties"]) == given, tool.name
        short = recall.parameters(tool.input_schema, layered=False)
        assert {slot.name for slot in recall.slots(short, layered=False)} == given
        functions.append({"type": "function", "function": {"name": alias, "parameters": cleaned}})
    ChatOpenAI(model="x", api_key="x", base_url="http://127.0.0.1:9/v1").bind_tools(functions)
