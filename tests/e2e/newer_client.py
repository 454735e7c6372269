"""A client of the SDK that speaks every revision: ``newer_client.py URL MODE TOOL ARGUMENTS [ANSWER]``, with a key in
``KEY``.

With an answer, "accept" or "decline", it shows questions to its user, who answers so. Prints what it has seen as JSON.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult


async def main(url: str, mode: str, tool: str, arguments: str, answer: str = "") -> None:
    asked, told = [], []

    async def ask(_context, params):
        asked.append(params.message)
        return ElicitResult(action=answer)

    async def on_progress(progress, total, _message):
        told.append((progress, total))

    headers = {"Authorization": f"Bearer {os.environ['KEY']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=mode,
            elicitation_callback=ask if answer else None,
        ) as client,
    ):
        listed, prompts = await client.list_tools(), await client.list_prompts()
        resources = await client.list_resources()
        read = [await client.read_resource(one.uri) for one in resources.resources[:1]]
        called = await client.call_tool(tool, json.loads(arguments), progress_callback=on_progress)
        seen = {
            "version": client.protocol_version,
            "tools": [known.name for known in listed.tools],
            "text": called.content[0].text,
            "is_error": called.is_error,
            "asked": asked,
            "progress": told,
            "prompts": [known.name for known in prompts.prompts],
            "resources": [str(known.uri) for known in resources.resources],
            "read": [part.text for one in read for part in one.contents],
        }
        sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
