"""What the official conformance suite of MCP starts as the client under test: ``client.py <server-url>``.

Everything goes through the product's own egress, sessions and `TurnTools`: it lists what the server offers and
uses all of it once. The suite watches from the server's side.
"""

import asyncio
import json
import logging
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import httpx

from services.errors import ServerError, SignInRequired
from services.mcp.pool.pool import Pool
from services.mcp.session.call_options import CallOptions
from services.mcp.session.elicitation import ElicitResult
from services.net.egress import EgressPolicy
from services.specs import Limits, OAuthSpec, ServerSpec, ToolCall, ToolSpec
from services.testing.memory_tokens import MemoryTokens
from services.turn.execution import execute
from services.turn.names import make_aliases

TIMEOUT = 60  # s; the suite starts a client for each scenario at once
SIGN_INS = 4
SAMPLES = {"integer": 2, "number": 2.5, "boolean": True, "array": [], "object": {}, "string": "hi"}


def sample(schema):
    """A value for each required property; the rest is left to defaults."""
    properties = schema.get("properties") or {}
    return {
        name: properties.get(name, {}).get(
            "default", SAMPLES[properties[name].get("type", "string")]
        )
        for name in schema.get("required") or ()
        if name in properties
    }


async def accept(asked):
    return ElicitResult(action="accept", content=sample(asked.schema))


async def use_tools(pool, server, context):
    found = await signed_in(pool, server, lambda: pool.list_tools(server, 1))
    aliases = make_aliases((server.name, tool.name) for tool in found)
    tools = {
        tool.name: ToolSpec(
            id=number,
            server_id=server.id,
            name=tool.name,
            alias=alias,
            input_schema=tool.input_schema,
        )
        for number, (tool, alias) in enumerate(zip(found, aliases, strict=True))
    }
    print("tools:", *tools)
    if "json_schema_echo" in tools:
        schema = tools.pop("json_schema_2020_12_tool").input_schema
        asked = [("json_schema_echo", {"schema": schema})]
    else:
        asked = [(tool.name, sample(tool.input_schema)) for tool in tools.values()]
    if calls := context.get("toolCalls"):
        asked = [(call["name"], call["arguments"]) for call in calls if call["name"] in tools]
    for name, arguments in asked:
        await signed_in(pool, server, lambda n=name, a=arguments: call(pool, server, tools[n], a))


async def call(pool, server, tool, arguments):
    done = await execute(
        ToolCall(id="1", alias=tool.alias, round=1, tool=tool, server=server, arguments=arguments),
        pool,
        1,
        timeout=TIMEOUT,
        limits=Limits(),
        options=CallOptions(on_elicit=accept),
    )
    print(f"{tool.name}: {done.result.outcome}: {done.result.text[:200]}")
    if isinstance(done.error, SignInRequired):
        raise done.error


async def use_the_rest(pool, server):
    """Resources and prompts, where the server has them."""
    listed = (
        ("resources/list", "resources", "resources/read", "uri"),
        ("prompts/list", "prompts", "prompts/get", "name"),
    )
    for list_, key, use, by in listed:
        try:
            page = await pool.request(server, 1, list_, timeout=TIMEOUT)
            for item in page.get(key) or ():
                await pool.request(server, 1, use, {by: item[by]}, timeout=TIMEOUT)
        except ServerError as error:
            print(f"{list_}: {error}")


async def signed_in(pool, server, work):
    """Do the work; where a person would have to sign in, be that person."""
    for _ in range(SIGN_INS):
        try:
            return await work()
        except SignInRequired as wanted:
            async with httpx.AsyncClient() as browser:
                answer = await browser.get(wanted.url)
            back = httpx.URL(answer.headers["location"])
            callback = back.path.removeprefix("/callback").removeprefix("/")
            await pool.oauth(server).complete({**back.params, "callback": callback})
    raise SystemExit("The server wants a sign-in again and again.")


def oauth_of(scenario, context):
    if not scenario.startswith("auth/"):
        return None
    by_client = scenario.startswith("auth/client-credentials")
    return OAuthSpec(
        key="conformance",
        redirect_uri="http://localhost:3000/callback",
        grant="client_credentials" if by_client else "authorization_code",
        client_metadata_url="https://conformance-test.local/client-metadata.json",
        client_id=context.get("client_id", ""),
        client_secret=context.get("client_secret", ""),
        private_key=context.get("private_key_pem", ""),
        private_key_algorithm=context.get("signing_algorithm", "ES256"),
    )


async def main(url):
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    server = ServerSpec(
        id=1,
        name="conformance",
        url=url,
        oauth=oauth_of(os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), context),
        connect_timeout=TIMEOUT,
        sync_timeout=TIMEOUT,
    )
    policy = EgressPolicy.parse("localhost:*, 127.0.0.1:*, [::1]:*")
    pool = Pool(policy, tokens=MemoryTokens(), can_ask=True)
    try:
        await use_tools(pool, server, context)
        await use_the_rest(pool, server)
    finally:
        await pool.close()


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(sys.argv[-1]), TIMEOUT))
