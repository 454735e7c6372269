"""fastmcp as a client: ``fastmcp_client.py URL MODE TOOL ARGUMENTS``, with a key in ``KEY``, else after a sign-in.

Prints what it has seen as JSON.
"""

import asyncio
import json
import os
import sys

from fastmcp import Client


async def main(url: str, mode: str, tool: str, arguments: str) -> None:
    async with Client(url, auth=os.environ.get("KEY", "oauth"), mode=mode, timeout=60) as client:
        listed = await client.list_tools()
        called = await client.call_tool(tool, json.loads(arguments), raise_on_error=False)
        seen = {
            "version": client.protocol_version,
            "tools": [known.name for known in listed],
            "text": called.content[0].text,
            "is_error": called.is_error,
        }
        sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
