"""MCP servers of the soak: ``server.py legacy|modern PORT LEDGER``.

*legacy* is one of the SDK, *modern* asks before it books and holds nothing meanwhile. Both write each execution of
``note`` to the ledger, so that a call that ran twice shows.
"""

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

FORM = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
ASK = {"mode": "form", "message": "How many seats?", "requestedSchema": FORM}


def legacy(port: int, ledger: Path) -> None:
    from mcp.server.fastmcp import Context, FastMCP  # noqa: PLC0415 the other kind starts without
    from pydantic import BaseModel  # noqa: PLC0415

    server = FastMCP("legacy", host="127.0.0.1", port=port, log_level="WARNING")

    class Seats(BaseModel):
        seats: int

    @server.tool()
    async def note(id: str, seconds: float = 0.0) -> str:
        """Write `id` down, then take some seconds."""
        write(ledger, id)
        await asyncio.sleep(seconds)
        return f"noted {id}"

    @server.tool()
    async def big(characters: int) -> str:
        """A long text."""
        return "長い " * (characters // 3)

    @server.tool()
    async def fail() -> str:
        """Fail."""
        raise ValueError("it went wrong")

    @server.tool()
    async def ask(ctx: Context) -> str:
        """Ask in the middle of the call, which keeps the session waiting."""
        answer = await ctx.elicit("How many seats?", Seats)
        return f"{answer.action}"

    server.run(transport="streamable-http")


async def modern(port: int, ledger: Path) -> None:
    from services.testing.fake_mcp import FakeMcp  # noqa: PLC0415
    from services.testing.fake_tools import OBJECT, text  # noqa: PLC0415

    async def note(call):
        write(ledger, call.arguments["id"])
        await asyncio.sleep(call.arguments.get("seconds", 0))
        return text(f"noted {call.arguments['id']}")

    async def book(call):
        if answers := call.params.get("inputResponses"):
            return text(f"booked: {answers['seats']['action']}")
        question = {"method": "elicitation/create", "params": ASK}
        return {
            "resultType": "input_required",
            "inputRequests": {"seats": question},
            "requestState": "x",
        }

    schema = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "seconds": {"type": "number"}},
        "required": ["id"],
    }
    fake = FakeMcp(eras=("modern",), tools={"note": (note, schema), "book": (book, OBJECT)})
    fake.port = port
    async with fake:
        await asyncio.Event().wait()


def write(ledger: Path, name: str) -> None:
    out = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(out, f"{name}\n".encode())
    os.close(out)


if __name__ == "__main__":
    kind, port, ledger = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    if kind == "legacy":
        legacy(port, ledger)
    else:
        asyncio.run(modern(port, ledger))
