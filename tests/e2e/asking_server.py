"""An MCP server of 2026-07-28 that asks before it books: ``asking_server.py PORT FOLDER``.

It holds nothing while the person thinks: what it knows comes back in ``requestState``.
"""

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from services.testing.fake_mcp import FakeMcp
from services.testing.fake_tools import text

FORM = {
    "type": "object",
    "properties": {
        "seats": {"type": "integer", "title": "Seats", "minimum": 1, "maximum": 4},
        "meal": {"type": "string", "title": "Meal", "enum": ["rice", "noodles"], "default": "rice"},
    },
    "required": ["seats"],
}
ASK = {"mode": "form", "message": "How many seats?", "requestedSchema": FORM}


async def main(port: int, folder: Path) -> None:
    async def book(call):
        (folder / "called").open("ab").write(b".")
        if not (answers := call.params.get("inputResponses")):
            question = {"method": "elicitation/create", "params": ASK}
            state = json.dumps(call.arguments)
            return {
                "resultType": "input_required",
                "inputRequests": {"seats": question},
                "requestState": state,
            }
        answer = answers["seats"]
        if answer["action"] != "accept":
            return text(f"not booked: {answer['action']}")
        (folder / "booked").open("ab").write(b".")
        name = json.loads(call.params["requestState"])["name"]
        return text(f"booked {answer['content']} for {name}")

    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    fake = FakeMcp(eras=("modern",), tools={"book": (book, schema)})
    fake.port = port
    async with fake:
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
