"""A client of the newer SDK that listens for other tools: ``listening_client.py URL``, with a key in ``KEY``.

Prints "listening" once the server has agreed, then, after the first change, the names of the tools as JSON.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(url: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['KEY']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        say("listening")
        async for _change in changes:
            listed = await client.list_tools()
            say(json.dumps([known.name for known in listed.tools]))
            return


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
