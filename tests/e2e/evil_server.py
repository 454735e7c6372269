"""An MCP server that says payloads wherever it may say something: ``evil_server.py PORT START END`` of the corpus."""

import asyncio
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from xss_corpus import PAYLOADS

from services.testing import fake_features
from services.testing.fake_http import respond
from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import OBJECT, text
from services.text import clean

ASK = "elicit"


def tool(said):
    """The host leaves out what has an invisible character in its name."""
    field = {"type": "string", "title": said, "description": said}
    schema = {"type": "object", "properties": {said: field}}
    hints = {"destructiveHint": False, "openWorldHint": False}
    about = {"name": clean(said), "title": said, "description": said}
    return {**about, "inputSchema": schema, "annotations": hints}


def prompt(said):
    arguments = [{"name": said, "description": said}]
    return {"name": clean(said), "title": said, "description": said, "arguments": arguments}


def resource(said):
    return {"uri": f"evil://{clean(said)}", "name": clean(said), "title": said, "description": said}


def results(said):
    """The ways in which a server answers or fails."""
    link = {"type": "resource_link", "uri": f"javascript:{said}", "name": said, "title": said}
    return (
        text(said),
        text(said, isError=True),
        {"content": [], "structuredContent": {"rows": [{said: said, "n": 1}]}},
        {"content": [link]},
        None,
    )


def question(said_by_all):
    field = {"type": "string", "enum": list(said_by_all), "enumNames": list(said_by_all)}
    fields = {
        said: {"type": "string", "title": said, "description": said, "default": said}
        for said in said_by_all
    }
    form = {"type": "object", "properties": {"choice": field, **fields}}
    params = {"mode": "form", "message": "\n".join(said_by_all), "requestedSchema": form}
    return {
        "resultType": "input_required",
        "inputRequests": {"evil": {"method": "elicitation/create", "params": params}},
        "requestState": "asked",
    }


async def main(port: int, payloads: tuple[str, ...]) -> None:
    turns = itertools.cycle(range(5))

    async def call_tool(call, writer):
        name = call.params["name"]
        if name == ASK:
            return await send(call, writer, result=question(payloads))
        result = results(name)[next(turns)]
        if result is None:
            return await send(call, writer, error={"code": -32000, "message": name})
        return await send(call, writer, result=result)

    async def send(call, writer, **answer):
        await respond(writer, 200, {"jsonrpc": "2.0", "id": call.id, **answer})

    def listing(key, entries):
        async def answer(call, writer):
            await send(call, writer, result=fake_features.page(call, key, entries))

        return answer

    async def discover(call, writer):
        result = {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": fake.capabilities,
            "serverInfo": {"name": payloads[0], "title": payloads[1], "version": payloads[2]},
            "instructions": "\n".join(payloads),
        }
        await send(call, writer, result=result)

    fake = FakeMcp(eras=("modern",))
    ask = {"name": ASK, "description": payloads[0], "inputSchema": OBJECT}
    fake.faults = {
        "server/discover": discover,
        "tools/list": listing("tools", [*map(tool, payloads), ask]),
        "tools/call": call_tool,
        "prompts/list": listing("prompts", [*map(prompt, payloads)]),
        "resources/list": listing("resources", [*map(resource, payloads)]),
    }
    fake.port = port
    async with fake:
        await asyncio.Event().wait()


if __name__ == "__main__":
    start, end = map(int, sys.argv[2:])
    asyncio.run(main(int(sys.argv[1]), PAYLOADS[start:end]))
